#pragma once
/// LU of one matrix of middle size, where LAPACK's is slow: the columns are halved until a panel is narrow, and gemm does the rest.

#include "core/lapack.hpp"

namespace myriad {

/// Up to this size `getrf_recursive` takes the place of LAPACK's getrf.
inline constexpr lapack::Int getrf_recursive_largest = 256;

/// LAPACK's getrf of a column-major matrix, both sizes at most getrf_recursive_largest. Source: LAPACK getrf2 (Toledo 1997).
template <Element T>
lapack::Int getrf_recursive(lapack::Int m, lapack::Int n, T* a, lapack::Int lda, lapack::Int* pivots);

}  // namespace myriad
