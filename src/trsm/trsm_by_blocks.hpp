#pragma once
/// Triangles of any order, from solves with small ones, or products, and products of what is beside these.

#include <algorithm>
#include <cstdint>

#include "trsm/trsm.hpp"

namespace myriad {

/// Solves block by block of `order` rows: what the solved ones take from a block in one product, then its own triangle.
/// solve(TrsmTask) and multiply(alpha, a, b, beta, c): C = alpha A B + beta C.
///
/// Blocks begin at multiples of `order` whichever triangle it is, so that a matrix of a ragged batch gets the same bits as alone.
template <typename T, typename Solve, typename Multiply>
void trsm_by_blocks(TrsmTask<T> const& task, std::int64_t order, Solve solve, Multiply multiply) {
  std::int64_t const n = task.b.rows, number = (n + order - 1) / order;
  bool const lower = task.uplo == Uplo::lower;
  for (std::int64_t step = 0; step < number; ++step) {
    std::int64_t const i = (lower ? step : number - 1 - step) * order, m = std::min(order, n - i);
    TrsmTask<T> part = task;
    part.a = block(task.a, i, i, m, m);
    part.b = block(task.b, i, 0, m, task.b.cols);
    // alpha = 0 never reads A.
    if (step > 0 && task.alpha != T(0)) {
      std::int64_t const first = lower ? 0 : i + m, solved = lower ? i : n - first;
      multiply(T(-1), block(task.a, i, first, m, solved), Batch<T const>(block(task.b, first, 0, solved, task.b.cols)), task.alpha, part.b);
      part.alpha = T(1);
    }
    solve(part);
  }
}

/// B = alpha A B block by block of `order` rows: each is multiplied by its own triangle, then the product of what is beside that is added.
/// in_place(TrsmTask) and multiply(alpha, a, b, beta, c) as above.
template <typename T, typename InPlace, typename Multiply>
void trmm_by_blocks(TrsmTask<T> const& task, std::int64_t order, InPlace in_place, Multiply multiply) {
  std::int64_t const n = task.b.rows, number = (n + order - 1) / order;
  bool const lower = task.uplo == Uplo::lower;
  for (std::int64_t step = 0; step < number; ++step) {
    // Rows that the others need come last.
    std::int64_t const i = (lower ? number - 1 - step : step) * order, m = std::min(order, n - i);
    TrsmTask<T> part = task;
    part.a = block(task.a, i, i, m, m);
    part.b = block(task.b, i, 0, m, task.b.cols);
    in_place(part);
    std::int64_t const first = lower ? 0 : i + m, others = lower ? i : n - first;
    if (others > 0 && task.alpha != T(0))
      multiply(task.alpha, block(task.a, i, first, m, others), Batch<T const>(block(task.b, first, 0, others, task.b.cols)), T(1), part.b);
  }
}

}  // namespace myriad
