#pragma once
/// syrk, herk, syr2k and her2k by products of which only the lower triangle is written.

#include "blocked/machine.hpp"
#include "core/local_matrix.hpp"
#include "syrk/syrk.hpp"

namespace myriad {

template <Element T, Machine<T> M>
void syrk_by_products(M& machine, SyrkTask<T> const& task) {
  if (task.beta == T(1) && (task.alpha == T(0) || task.a.cols == 0)) return;
  bool const hermitian = is_complex<T> && task.symmetry == Symmetry::hermitian, lower = task.uplo == Uplo::lower;
  auto const turned = [&](Batch<T const> const& x) { return hermitian ? conjugate_transposed(x) : transposed(x); };
  // alpha X Y' + beta C or, for the upper triangle, the transposed product
  auto const add = [&](T alpha, Batch<T const> const& x, Batch<T const> const& y, T beta) {
    Written const written = hermitian ? Written::lower_hermitian : Written::lower;
    GemmTask<T> const product =
        lower ? GemmTask<T>{.alpha = alpha, .a = x, .b = turned(y), .beta = beta, .c = task.c}
              : GemmTask<T>{.alpha = alpha, .a = transposed(turned(y)), .b = transposed(x), .beta = beta, .c = transposed(task.c)};
    machine.gemm(product, Structure::general, written);
  };
  if (!task.of_two) return add(task.alpha, task.a, task.a, task.beta);
  add(task.alpha, task.a, task.b, task.beta);
  if (task.alpha != T(0)) add(conjugate_if(hermitian, task.alpha), task.b, task.a, T(1));
}

}  // namespace myriad
