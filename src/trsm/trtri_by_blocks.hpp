#pragma once
/// Inverses of triangles of any order, from those of small ones, solves and products.

#include <algorithm>
#include <cstdint>

#include "trsm/trsm.hpp"
#include "trsm/trtri.hpp"

namespace myriad {

/// Inverts block by block of `order` rows. What is beside a block of the diagonal, between this and the triangle that has not been inverted
/// yet, is solved with from both sides; then the block is inverted itself. invert(TrtriTask) of a block and solve(TrsmTask).
///
/// Blocks begin at multiples of `order` whichever triangle it is, so that a matrix of a ragged batch gets the same bits as alone.
template <typename T, typename Invert, typename Solve>
void trtri_by_blocks(TrtriTask<T> const& given, std::int64_t order, Invert invert, Solve solve) {
  // An upper triangle is a lower one, transposed.
  TrtriTask<T> task = given;
  bool const upper = given.uplo == Uplo::upper;
  if (upper) task.a = transposed(task.a);
  task.a.conjugated = false;  // the inverse of the conjugate is the conjugate of the inverse
  task.uplo = Uplo::lower;
  std::int64_t const n = task.a.rows;
  for (std::int64_t i = 0; i < n; i += order) {
    std::int64_t const m = std::min(order, n - i), below = n - i - m;
    TrtriTask<T> part = task;
    part.a = block(task.a, i, i, m, m);
    if (below > 0) {
      Batch<T> const beside = block(task.a, i + m, i, below, m);
      Batch<T const> const rest = block(task.a, i + m, i + m, below, below), mine = part.a;
      solve(TrsmTask<T>{.uplo = Uplo::lower, .diag = task.diag, .alpha = T(-1), .a = rest, .b = beside});
      // X A = B is A^T X^T = B^T.
      solve(TrsmTask<T>{.uplo = Uplo::upper, .diag = task.diag, .alpha = T(1), .a = transposed(mine), .b = transposed(beside)});
    }
    invert(part);
  }
}

}  // namespace myriad
