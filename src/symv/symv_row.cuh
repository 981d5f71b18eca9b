#pragma once
/// Products row by row, which symv kernels use for small matrices.

#include "simt/types.hpp"
#include "symv/symmetry.cuh"

namespace myriad::simt {

/// Row i of A x, summed in the order of columns. Only a triangle of A is read: element(i, j) returns its elements, x(j) those of x.
template <Symmetry symmetry, typename T, typename Element, typename X>
SIMT_INLINE T symv_row(int n, int i, bool lower, Element element, X x) {
  constexpr bool hermitian = symmetry == Symmetry::hermitian;
  T sum = from_real<T>(0);
  SIMT_UNROLL_BY(4)
  for (int j = 0; j < n; ++j) {
    bool const stored = lower ? i >= j : i <= j;
    T value = element(stored ? i : j, stored ? j : i);
    if (hermitian && i == j) value = from_real<T>(real_part(value));
    sum = multiply_add(conjugate_if(hermitian && !stored, value), x(j), sum);
  }
  return sum;
}

}  // namespace myriad::simt
