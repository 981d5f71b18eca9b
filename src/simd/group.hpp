#pragma once
/// Groups of matrices, one per lane: the target-independent part of lane kernels.

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/parallel.hpp"
#include "myriad/batch.hpp"
#include "myriad/queue.hpp"

namespace myriad {

/// Maximum lanes of a vector on any target: 64 bytes of float.
inline constexpr int max_lanes = 16;

/// Maximum workspace of a lane kernel per thread.
inline constexpr std::int64_t lane_workspace_bytes = 256 * 1024;

/// Bytes per element in the workspace of a lane kernel, with the widest vectors of any target.
template <typename T>
inline constexpr std::int64_t lane_element_bytes = is_complex<T> ? 128 : 64;

/// This thread's workspace for lane kernels: lane_workspace_bytes, aligned for any vector, allocated at the thread's first use.
void* lane_workspace();

/// Matrices of one shape, one per lane. Unused lanes repeat the first matrix and are not stored.
struct Group {
  std::array<std::int64_t, max_lanes> index;
  int active;
};

/// Shapes of a batch for the lane kernels: matrices of a group must have equal shapes.
struct Shapes {
  Batch<char const> a;  ///< sizes only
  Batch<char const> b;  ///< a second operand's, or empty
  [[nodiscard]] bool ragged() const { return a.ragged() || b.ragged(); }
  [[nodiscard]] std::array<std::int64_t, 4> of(std::int64_t k) const { return {a.rows_of(k), a.cols_of(k), b.rows_of(k), b.cols_of(k)}; }
};

namespace detail {
template <typename T>
Batch<char const> sizes_of(Batch<T> const& x) {
  return {.rows = x.rows,
          .cols = x.cols,
          .count = x.count,
          .row_sizes = x.row_sizes,
          .col_sizes = x.col_sizes,
          .row_offset = x.row_offset,
          .col_offset = x.col_offset};
}
}  // namespace detail

template <typename T>
Shapes shapes(Batch<T> const& a) {
  return {.a = detail::sizes_of(a), .b = {}};
}
template <typename T, typename U>
Shapes shapes(Batch<T> const& a, Batch<U> const& b) {
  return {.a = detail::sizes_of(a), .b = detail::sizes_of(b)};
}

/// Sorts indices of matrices by shape, then by index.
void sort_by_shape(Shapes const& shapes, std::int64_t* first, std::int64_t* last);

/// Calls `f(group)` for the matrices of [begin, end), `lanes` at a time. In a ragged batch matrices of equal shape share a group, and those
/// for which `fits(shape)` is false are skipped. Lanes are independent, so the order does not matter.
template <typename Fits, typename F>
void for_each_group(int lanes, std::int64_t begin, std::int64_t end, Shapes const& shapes, Fits fits, F f) {
  Group group{};
  auto const emit = [&] {
    for (int lane = group.active; lane < max_lanes; ++lane) group.index[static_cast<std::size_t>(lane)] = group.index[0];
    f(static_cast<Group const&>(group));
    group.active = 0;
  };
  auto const add = [&](std::int64_t k) {
    group.index[static_cast<std::size_t>(group.active++)] = k;
    if (group.active == lanes) emit();
  };
  if (!shapes.ragged()) {
    for (std::int64_t k = begin; k < end; ++k) add(k);
    if (group.active) emit();
    return;
  }
  constexpr std::int64_t window = 256;  // matrices sorted at a time, so that memory does not grow with the batch
  std::array<std::int64_t, window> order;
  for (std::int64_t first = begin; first < end; first += window) {
    std::int64_t* last = order.data();
    for (std::int64_t k = first; k < std::min(first + window, end); ++k)
      if (fits(shapes.of(k))) *last++ = k;
    // Equal shapes are in order of index: a group whose first and last are `lanes` - 1 apart is then consecutive, as GroupView assumes.
    sort_by_shape(shapes, order.data(), last);
    for (std::int64_t const* k = order.data(); k != last; ++k) {
      if (group.active && shapes.of(group.index[0]) != shapes.of(*k)) emit();
      add(*k);
    }
    if (group.active) emit();
  }
}

/// Matrices per piece of the parallel loop: enough work to hide scheduling, a multiple of every target's lanes.
inline std::int64_t lane_grain(std::int64_t elements_per_matrix) {
  std::int64_t const grain = 32768 / std::max<std::int64_t>(elements_per_matrix, 1);
  return std::clamp<std::int64_t>((grain + max_lanes - 1) / max_lanes * max_lanes, 2 * max_lanes, 4096);
}

/// Runs `lanes(begin, end)` over the matrices whose shape fits the lane kernels and `each(begin, end)` over the others; both are called
/// from several threads. The path of a matrix depends only on its own shape, so its result does not depend on the rest of the batch. In a
/// ragged batch `lanes` itself skips matrices that do not fit, and `each` gets one matrix at a time.
template <typename Fits, typename Lanes, typename Each>
void run_by_size(Queue& queue, Shapes const& shapes, Fits fits, Lanes lanes, Each each) {
  std::int64_t const count = shapes.a.count;
  if (count <= 0) return;
  std::array<std::int64_t, 4> const largest{shapes.a.rows, shapes.a.cols, shapes.b.rows, shapes.b.cols};
  std::int64_t const elements = largest[0] * largest[1] + largest[2] * largest[3];
  bool const all_fit = fits(largest);
  if (all_fit || shapes.ragged()) parallel_for(queue.threads(), count, lane_grain(elements), lanes);
  if (all_fit) return;
  if (shapes.ragged()) {
    parallel_for(queue.threads(), count, 1, [&](std::int64_t begin, std::int64_t) {
      if (!fits(shapes.of(begin))) each(begin, begin + 1);
    });
  } else {
    parallel_for(queue.threads(), count, std::clamp<std::int64_t>(count / (8 * queue.threads()), 1, 16), each);
  }
}

}  // namespace myriad
