#pragma once
/// Lists of kernels (MYRIAD_KERNEL_LIST): text files with one kernel a line, from which packs are built.

#include <string>
#include <vector>

#include "runtime/kernel_store.hpp"

namespace myriad::gpu {

/// Appends a kernel to the list `path`, which is made if necessary. Processes may append to one list. Returns the error, empty on success.
std::string append_to_kernel_list(std::string const& path, KernelSource const& source);

/// The kernels of a list, each once, in their order. Throws Error if the file cannot be read or is no list.
std::vector<KernelSource> read_kernel_list(std::string const& path);

}  // namespace myriad::gpu
