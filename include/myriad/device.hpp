#pragma once
/// The GPUs of this machine.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "myriad/export.h"

namespace myriad {

/// Properties of a GPU that the choice of a kernel depends on.
struct Device {
  int ordinal = 0;                           ///< number for QueueOptions::device, as the CUDA driver counts (CUDA_VISIBLE_DEVICES applies)
  std::string name;                          ///< from the driver: "NVIDIA H200"
  std::array<unsigned char, 16> uuid{};      ///< as nvidia-smi shows it
  int major = 0;                             ///< compute capability, major: 9 for sm_90
  int minor = 0;                             ///< compute capability, minor: 0 for sm_90
  int multiprocessors = 0;                   ///< number of SMs
  int max_threads_per_multiprocessor = 0;    ///< resident at a time
  int max_blocks_per_multiprocessor = 0;     ///< resident at a time
  int max_threads_per_block = 0;             ///< the largest block
  int registers_per_multiprocessor = 0;      ///< of 32 bits
  int registers_per_block = 0;               ///< of 32 bits, at most
  int shared_memory_per_multiprocessor = 0;  ///< bytes
  int shared_memory_per_block = 0;           ///< bytes that one block can have, static and dynamic together
  int reserved_shared_memory_per_block = 0;  ///< bytes that the system reserves in each block
  std::int64_t l2_bytes = 0;                 ///< size of the L2 cache
  std::int64_t memory_bytes = 0;             ///< size of the GPU's memory
};

/// The GPUs that the CUDA driver finds; empty without a driver. Throws only std::bad_alloc.
MYRIAD_API std::vector<Device> devices();

}  // namespace myriad
