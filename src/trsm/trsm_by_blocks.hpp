#pragma once
/// Solves and products with triangles of any order, by diagonal blocks and products with off-diagonal blocks.

#include <algorithm>
#include <cstdint>

#include "blocked/machine.hpp"
#include "trsm/trsm.hpp"

namespace myriad {

/// Solves by blocks of `order` rows: one product subtracts the contribution of solved blocks, then solve(TrsmTask) solves with the diagonal
/// block.
///
/// Blocks begin at multiples of `order` for both triangles, so that a matrix of a ragged batch gets the same bits as alone.
template <typename T, Machine<T> M, typename Solve>
void trsm_by_blocks(M& machine, TrsmTask<T> const& task, std::int64_t order, Solve solve) {
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
      machine.gemm(GemmTask<T>{.alpha = T(-1),
                               .a = block(task.a, i, first, m, solved),
                               .b = block(task.b, first, 0, solved, task.b.cols),
                               .beta = task.alpha,
                               .c = part.b});
      part.alpha = T(1);
    }
    solve(part);
  }
}

/// B = alpha A B by blocks of `order` rows, at most gpu::gemm_rows_in_place: each is multiplied by its diagonal block in place, then the
/// product with the off-diagonal blocks is added.
template <typename T, Machine<T> M>
void trmm_by_blocks(M& machine, TrsmTask<T> const& task, std::int64_t order) {
  std::int64_t const n = task.b.rows, number = (n + order - 1) / order;
  bool const lower = task.uplo == Uplo::lower, unit = task.diag == Diag::unit;
  Structure const triangle = lower ? (unit ? Structure::unit_lower : Structure::lower) : (unit ? Structure::unit_upper : Structure::upper);
  for (std::int64_t step = 0; step < number; ++step) {
    // Rows that other blocks read come last.
    std::int64_t const i = (lower ? number - 1 - step : step) * order, m = std::min(order, n - i);
    Batch<T> const b = block(task.b, i, 0, m, task.b.cols);
    machine.gemm(GemmTask<T>{.alpha = task.alpha, .a = block(task.a, i, i, m, m), .b = b, .beta = T(0), .c = b}, triangle);
    std::int64_t const first = lower ? 0 : i + m, others = lower ? i : n - first;
    if (others > 0 && task.alpha != T(0))
      machine.gemm(GemmTask<T>{.alpha = task.alpha,
                               .a = block(task.a, i, first, m, others),
                               .b = block(task.b, first, 0, others, task.b.cols),
                               .beta = T(1),
                               .c = b});
  }
}

}  // namespace myriad
