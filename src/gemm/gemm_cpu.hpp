#pragma once
/// The CPU path of gemm: kernels of our own for small matrices, one BLAS call for each larger one.

#include <algorithm>
#include <span>

#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "gemm/gemm.hpp"

namespace myriad::cpu {

template <Element T>
void gemm(Queue& queue, GemmTask<T> const& task);

/// Multiplies several batches in one parallel loop, whose threads share all matrices.
template <Element T>
void gemm_grouped(Queue& queue, std::span<GemmTask<T> const> tasks);

/// 16-bit types: widens a few matrices at a time and multiplies them in the compute type.
template <HalfElement T, typename Output>
void gemm(Queue& queue, GemmTask<T, Output> const& task);

/// Multiplies matrices [begin, end) on this thread.
template <Element T>
void gemm_range(GemmTask<T> const& task, std::int64_t begin, std::int64_t end);

/// For routines that compute something beside a product: calls `f(first, count, memory)` for the matrices [first, first + count), on the
/// queue's threads, with `size` elements of memory per matrix. A chunk has as many matrices as stay in the L1 cache.
template <Element T, typename F>
void in_chunks(Queue& queue, std::int64_t count, std::int64_t size, F&& f) {
  constexpr std::int64_t bytes = 32 * 1024;
  std::int64_t chunk = std::max<std::int64_t>(bytes / (size * static_cast<std::int64_t>(sizeof(T))), 1);
  if (chunk > max_lanes) chunk -= chunk % max_lanes;  // whole groups of lanes
  std::int64_t const grain = chunk > 1 ? 4 * chunk : 1;
  parallel_for(queue.threads(), count, grain, [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch;
    T* const memory = scratch.reserve(std::min(chunk, end - begin) * size);
    for (std::int64_t first = begin; first < end; first += chunk) f(first, std::min(chunk, end - first), memory);
  });
}

}  // namespace myriad::cpu
