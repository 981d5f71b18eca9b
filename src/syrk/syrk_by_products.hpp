#pragma once
/// syrk, herk, syr2k and her2k from products of which the lower triangle is written.

#include "core/local_matrix.hpp"
#include "gemm/gemm_arguments.cuh"
#include "syrk/syrk.hpp"

namespace myriad {

/// multiply(alpha, a, b, beta, c, written): C = alpha A B + beta C
template <Element T, typename Multiply>
void syrk_by_products(SyrkTask<T> const& task, Multiply multiply) {
  if (task.beta == T(1) && (task.alpha == T(0) || task.a.cols == 0)) return;
  bool const hermitian = is_complex<T> && task.symmetry == Symmetry::hermitian, lower = task.uplo == Uplo::lower;
  auto const turned = [&](Batch<T const> const& x) { return hermitian ? conjugate_transposed(x) : transposed(x); };
  // alpha X Y' + beta C or, for the upper triangle, the transposed product
  auto const add = [&](T alpha, Batch<T const> const& x, Batch<T const> const& y, T beta) {
    Written const written = hermitian ? Written::lower_hermitian : Written::lower;
    if (lower)
      multiply(alpha, x, turned(y), beta, task.c, written);
    else
      multiply(alpha, transposed(turned(y)), transposed(x), beta, transposed(task.c), written);
  };
  if (!task.of_two) return add(task.alpha, task.a, task.a, task.beta);
  add(task.alpha, task.a, task.b, task.beta);
  if (task.alpha != T(0)) add(conjugate_if(hermitian, task.alpha), task.b, task.a, T(1));
}

}  // namespace myriad
