#pragma once
/// Runs the kernels that reduce matrices in the registers of a block, on the host twin.

#include <cstddef>
#include <utility>

#include "eigen/tridiagonal/tridiagonal_block.cuh"
#include "eigen/tridiagonal/tridiagonal_plan.hpp"
#include "runtime/views.hpp"
#include "simt_host/host.hpp"

namespace myriad {

/// The number of the planned kernel for n rows.
template <typename T>
constexpr std::size_t tridiagonal_block_of(int n) {
  std::size_t k = 0;
  while (tridiagonal_blocks(sizeof(T), is_complex<T>)[k].rows() < n) ++k;
  return k;
}

/// Reduces matrices of more than args.above rows by kernels of numbers from `first` to `last`, as a ragged batch.
template <typename T, std::size_t last, std::size_t first = 0>
void reduce_in_blocks(TridiagonalArguments<gpu::DeviceElement<T>> args) {
  auto const run = [&]<std::size_t k>() {
    static constexpr TridiagonalBlock c = tridiagonal_blocks(sizeof(T), is_complex<T>)[first + k];
    if (c.rows() <= args.above) return;
    simt::run(2, c.threads(), c.shared_bytes(sizeof(T)), tridiagonal_block<gpu::DeviceElement<T>, c>, args);
    args.above = c.rows();
  };
  [&]<std::size_t... k>(std::index_sequence<k...>) { (run.template operator()<k>(), ...); }
  (std::make_index_sequence<last - first + 1>{});
}

}  // namespace myriad
