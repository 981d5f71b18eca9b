#pragma once
/// The kernels that gesvd and gejsv of larger matrices share, for the host twin.

#include "blocked/copy_matrices.cuh"
#include "qr/blocked/block_reflector.cuh"
#include "qr/blocked/qr_passes.cuh"
#include "qr/blocked/qr_step.cuh"
#include "reflectors/reflectors_panels.cuh"
#include "simt_host/machine.hpp"
#include "svd/gesvd_blocked.hpp"
#include "svd/gesvd_kernels.cuh"

namespace myriad {

/// A machine without shared memory, where reductions go by panels, which are fewer kernels to compile.
template <typename T>
HostMachine gesvd_machine(std::int64_t most_blocks) {
  using D = gpu::DeviceElement<T>;
  HostMachine machine(most_blocks);
  machine.device().shared_memory_per_block = machine.device().shared_memory_per_multiprocessor = 0;
  auto const add = [&](gpu::KernelName const& kernel, auto function) { machine.add(gpu::source_of(kernel, dtype_of<T>), function); };
  add(gesvd_sizes_kernel, gesvd_sizes<D>);
  add(gesvd_largest_kernel, gesvd_largest<D>);
  add(gesvd_load_kernel, gesvd_load<D>);
  add(gesvd_place_kernel, gesvd_place<D>);
  add(gesvd_write_kernel, gesvd_write<D>);
  add(gesvd_scale_values_kernel, gesvd_scale_values<D>);
  add(reflectors_load_kernel, reflectors_load<D>);
  add(reflectors_factor_kernel, reflectors_factor<D>);
  add(block_reflector_kernel, block_reflector<D>);
  add(qr_step_kernel, qr_step<D>);
  add(qr_passes_kernel, qr_passes<D>);
  add(copy_matrices_kernel, copy_matrices<D>);
  return machine;
}

}  // namespace myriad
