#pragma once
/// The GPU path of sytrd.

#include <vector>

#include "eigen/tridiagonal/tridiagonal.hpp"
#include "eigen/tridiagonal/tridiagonal_config.cuh"
#include "runtime/kernel_filter.hpp"
#include "runtime/launch.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {

template <typename T>
void sytrd(Queue& queue, SytrdTask<T> const& task);

/// Reduction of matrices of more than args.above rows that blocks have in their registers. Those of a ragged batch take several kernels, so
/// that the bits of a matrix depend on its own size alone.
template <typename T>
class TridiagonalInBlocks {
 public:
  /// Finds the kernels.
  TridiagonalInBlocks(Queue& queue, TridiagonalArguments<DeviceElement<T>> const& args);
  void launch(Queue& queue);

 private:
  struct Step {
    Kernel const* kernel;
    TridiagonalBlock config;
    int above;
  };
  TridiagonalArguments<DeviceElement<T>> args_;
  std::vector<Step> steps_;
};

/// Kernels of the reduction for packs.
std::vector<KernelSource> tridiagonal_kernels(KernelFilter const& filter);
/// Kernels for packs that reduce matrices of more than `above` rows in registers.
std::vector<KernelSource> tridiagonal_block_kernels(KernelFilter const& filter, Dtype dtype, int element_bytes, bool complex, int above);

}  // namespace myriad::gpu
