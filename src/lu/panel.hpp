#pragma once
/// The two pieces of one matrix's LU that are too narrow for gemm.

#include "core/lapack.hpp"
#include "simd/dispatch.hpp"

namespace myriad {

/// Columns of a panel, and rows of a triangle, that are not halved further.
inline constexpr lapack::Int narrow = 8;

/// LU with partial pivoting of a column-major m-by-n panel, column by column. pivots: rows counted from one; info as in LAPACK.
template <typename T>
struct PanelTask {
  lapack::Int m, n;
  T* a;
  lapack::Int lda;
  lapack::Int* pivots;
  lapack::Int* info;
};
/// The range of matrices is not used: a task is one panel.
MYRIAD_LANES_DECLARE(factor_one_panel, PanelTask);

/// B = L^-1 B with the unit lower triangle of a column-major m-by-m matrix, m at most `narrow`.
template <typename T>
struct LowerTask {
  lapack::Int m, n;
  T const* l;
  lapack::Int ldl;
  T* b;
  lapack::Int ldb;
};
MYRIAD_LANES_DECLARE(solve_one_lower, LowerTask);

}  // namespace myriad
