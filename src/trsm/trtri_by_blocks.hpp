#pragma once
/// Inverses of triangles of any order, by inverses of diagonal blocks, solves and products.

#include <algorithm>
#include <cstdint>

#include "blocked/machine.hpp"
#include "trsm/trsm.hpp"
#include "trsm/trtri.hpp"

namespace myriad {

/// Inverts by blocks of `order` rows. The off-diagonal block between a diagonal block and the part of the triangle that is not inverted yet
/// is solved from both sides. Then invert(TrtriTask) inverts the diagonal block.
///
/// Blocks begin at multiples of `order` for both triangles, so that a matrix of a ragged batch gets the same bits as alone.
template <typename T, Machine<T> M, typename Invert>
void trtri_by_blocks(M& machine, TrtriTask<T> task, std::int64_t order, Invert invert) {
  task.a.conjugated = false;  // the inverse of the conjugate is the conjugate of the inverse
  bool const lower = task.uplo == Uplo::lower;
  std::int64_t const n = task.a.rows, number = (n + order - 1) / order;
  for (std::int64_t step = 0; step < number; ++step) {
    std::int64_t const i = (lower ? step : number - 1 - step) * order, m = std::min(order, n - i);
    std::int64_t const first = lower ? i + m : 0, others = lower ? n - first : i;
    TrtriTask<T> part = task;
    part.a = block(task.a, i, i, m, m);
    if (others > 0) {
      Batch<T> const beside = block(task.a, first, i, others, m);
      Batch<T const> const rest = block(task.a, first, first, others, others), mine = part.a;
      machine.trsm_shared(TrsmTask<T>{.uplo = task.uplo, .diag = task.diag, .alpha = T(-1), .a = rest, .b = beside});
      // X A = B is A^T X^T = B^T.
      machine.trsm_shared(TrsmTask<T>{
          .uplo = lower ? Uplo::upper : Uplo::lower, .diag = task.diag, .alpha = T(1), .a = transposed(mine), .b = transposed(beside)});
    }
    invert(part);
  }
}

}  // namespace myriad
