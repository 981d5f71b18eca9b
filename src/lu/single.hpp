#pragma once
/// LU and inverse of one matrix of middle size, too large for a matrix per lane and where LAPACK is slow.

#include "core/lapack.hpp"
#include "myriad/batch.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// Up to this size the kernels of `single_simd.cpp` take the place of LAPACK's.
inline constexpr std::int64_t single_largest = 256;

/// Reals of workspace for an m-by-n matrix: the matrix itself, and a few blocks of as many rows or columns as a vector has lanes.
template <typename T>
constexpr std::int64_t single_workspace(std::int64_t m, std::int64_t n) {
  std::int64_t const packs_of_rows = m * (n + 2 * max_lanes), packs_of_blocks = 4 * max_lanes * (std::max(m, n) + 2 * max_lanes);
  return (packs_of_rows + packs_of_blocks) * (is_complex<T> ? 2 : 1) + max_lanes;
}

/// LU with partial pivoting of matrix `index` of a batch, in place. pivots: rows counted from one; info as in LAPACK.
template <typename T>
struct SingleFactorTask {
  Batch<T> a;
  std::int64_t index;
  Real<T>* workspace;
  lapack::Int* pivots;
  lapack::Int* info;
};
/// The range of matrices is not used: a task is one matrix.
MYRIAD_LANES_DECLARE(factor_single, SingleFactorTask);

/// The inverse of matrix `index` of a, or where `factor` is false of what its factors and `pivots` stand for. a and x may be the same.
/// With an info above zero nothing is written to x.
template <typename T>
struct SingleInverseTask {
  Batch<T const> a;
  Batch<T> x;
  std::int64_t index;
  bool factor;
  Real<T>* workspace;
  lapack::Int* pivots;
  lapack::Int* info;
};
MYRIAD_LANES_DECLARE(invert_single, SingleInverseTask);

}  // namespace myriad
