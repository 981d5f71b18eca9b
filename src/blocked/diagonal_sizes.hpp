#pragma once
/// Sizes of diagonals on a machine: of batches in which singular matrices are empty, for example.

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "blocked/diagonal_sizes_config.cuh"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "runtime/views.hpp"

namespace myriad {

inline constexpr gpu::KernelName diagonal_sizes_kernel{"blocked/diagonal_sizes"};

/// See DiagonalSizesArguments. The offset of a view goes with each list of sizes.
template <typename T, Machine<T> M>
void diagonal_sizes_of(M& machine, Batch<T const> const& a, bool looks_for_zeros, int* info, std::initializer_list<std::int64_t*> sizes,
                       std::initializer_list<std::int64_t> more) {
  DiagonalSizesArguments<gpu::DeviceElement<T>> args{
      .a = gpu::matrices_of(a), .looks_for_zeros = looks_for_zeros, .info = info, .sizes = {}, .more = {}};
  std::transform(sizes.begin(), sizes.end(), args.sizes, [](std::int64_t* p) { return reinterpret_cast<simt::Index*>(p); });
  std::copy(more.begin(), more.end(), args.more);
  constexpr int warps = diagonal_sizes_threads / 32;
  machine.run(diagonal_sizes_kernel, {.blocks = (a.count + warps - 1) / warps, .threads = diagonal_sizes_threads}, args, dtype_of<T>);
}

}  // namespace myriad
