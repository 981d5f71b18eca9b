#include "mixed/mixed.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "mixed/mixed_cpu.hpp"
#include "mixed/mixed_gpu.hpp"
#include "runtime/backend.hpp"

namespace myriad {
namespace {

template <typename T>
void solve_mixed(Queue& queue, MixedTask<T> const& task) {
  gpu::on_gpu(queue) ? gpu::solve_mixed(queue, task) : cpu::solve_mixed(queue, task);
}

}  // namespace

template <Element T>
void gesv_mixed(Queue& queue, Batch<T> a, Batch<int> pivots, In<T> b, Batch<T> x, int* iter, int* info) {
  Check check("gesv_mixed", queue);
  check.optional(iter, {12, "iter"})
      .info(info, 13)
      .matrix(a, {1, "n"}, {1, "n"}, {3, "a"}, {4, "lda"}, writes)
      .same(rows(a), cols(a), {1, "n"})
      .matrix(b, {1, "n"}, {2, "nrhs"}, {6, "b"}, {7, "ldb"}, reads)
      .matrix(x, {1, "n"}, {2, "nrhs"}, {8, "x"}, {9, "ldx"}, writes)
      .same_count(a, b, {6, "b"})
      .same_count(a, x, {8, "x"})
      .same(rows(a), rows(b), {1, "n"})
      .same(rows(b), rows(x), {1, "n"})
      .same(cols(b), cols(x), {2, "nrhs"})
      .disjoint(a, b, {3, "a"}, "b")
      .disjoint(x, a, {8, "x"}, "a")
      .disjoint_or_same(x, b, {8, "x"}, "b");
  if (given(pivots))
    check.vector(pivots, {5, "ipiv"}, {5, "ipiv"}, writes)
        .same_count(a, pivots, {5, "ipiv"})
        .diagonal_length(pivots, a, {5, "ipiv"})
        .disjoint(pivots, a, {5, "ipiv"}, "a")
        .disjoint(pivots, b, {5, "ipiv"}, "b")
        .disjoint(pivots, x, {5, "ipiv"}, "x");
  if (a.conjugated) {  // conj(A) X = B is A conj(X) = conj(B), and conj(A) has the conjugate factors
    a.conjugated = false;
    b = conjugated(b);
    x = conjugated(x);
  }
  solve_mixed(queue, MixedTask<T>{.a = a, .pivots = pivots, .b = b, .x = x, .iter = iter, .info = info, .hermitian = false});
}

template <Element T>
void posv_mixed(Queue& queue, Uplo uplo, Batch<T> a, In<T> b, Batch<T> x, int* iter, int* info) {
  Check("posv_mixed", queue)
      .optional(iter, {12, "iter"})
      .info(info, 13)
      .uplo(uplo, 1)
      .matrix(a, {2, "n"}, {2, "n"}, {4, "a"}, {5, "lda"}, writes)
      .same(rows(a), cols(a), {2, "n"})
      .matrix(b, {2, "n"}, {3, "nrhs"}, {6, "b"}, {7, "ldb"}, reads)
      .matrix(x, {2, "n"}, {3, "nrhs"}, {8, "x"}, {9, "ldx"}, writes)
      .same_count(a, b, {6, "b"})
      .same_count(a, x, {8, "x"})
      .same(rows(a), rows(b), {2, "n"})
      .same(rows(b), rows(x), {2, "n"})
      .same(cols(b), cols(x), {3, "nrhs"})
      .disjoint(a, b, {4, "a"}, "b")
      .disjoint(x, a, {8, "x"}, "a")
      .disjoint_or_same(x, b, {8, "x"}, "b");
  // The upper triangle of A is the lower one of A^T = conj(A).
  if ((uplo == Uplo::upper) != a.conjugated) {
    b = conjugated(b);
    x = conjugated(x);
  }
  if (uplo == Uplo::upper) a = transposed(a);
  a.conjugated = false;
  solve_mixed(queue, MixedTask<T>{.a = a, .pivots = {}, .b = b, .x = x, .iter = iter, .info = info, .hermitian = true});
}

#define MYRIAD_INSTANTIATE(T)                                                             \
  template void gesv_mixed<T>(Queue&, Batch<T>, Batch<int>, In<T>, Batch<T>, int*, int*); \
  template void posv_mixed<T>(Queue&, Uplo, Batch<T>, In<T>, Batch<T>, int*, int*);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
