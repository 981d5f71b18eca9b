#include "symm/symm.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "myriad/blas3.hpp"
#include "runtime/backend.hpp"
#include "scale_add/scale_add_gpu.hpp"

namespace myriad {
namespace {

template <Element T>
void multiply(Queue& queue, Side side, SymmTask<T> task) {
  if (task.c.conjugated) {  // conj(C) = conj(alpha) conj(A) conj(B) + conj(beta) conj(C)
    task.alpha = conjugate_if(true, task.alpha);
    task.beta = conjugate_if(true, task.beta);
    task.a = conjugated(task.a);
    task.b = conjugated(task.b);
    task.c = conjugated(task.c);
  }
  if (side == Side::right) {  // C^T = alpha A^T B^T + beta C^T, and A^T is A or its conjugate
    if (task.symmetry == Symmetry::hermitian) task.a = conjugated(task.a);
    task.b = transposed(task.b);
    task.c = transposed(task.c);
  }
  gpu::on_gpu(queue) ? gpu::symm(queue, task) : cpu::symm(queue, task);
}

/// Checks the arguments and multiplies; alpha and beta replace those of the task.
template <Element T>
void multiply(char const* routine, Queue& queue, Side side, Scalar<T> alpha, Scalar<T> beta, SymmTask<T> task) {
  bool const left = side == Side::left;
  Argument const order = left ? Argument{3, "m"} : Argument{4, "n"};
  Check(routine, queue)
      .side(side, 1)
      .uplo(task.uplo, 2)
      .matrix(task.c, {3, "m"}, {4, "n"}, {11, "c"}, {12, "ldc"}, Access::write)
      .matrix(task.a, order, order, {6, "a"}, {7, "lda"}, Access::read)
      .matrix(task.b, {3, "m"}, {4, "n"}, {8, "b"}, {9, "ldb"}, Access::read)
      .same(rows(task.a), cols(task.a), order)
      .same_count(task.c, task.a, {6, "a"})
      .same_count(task.c, task.b, {8, "b"})
      .same(rows(task.a), left ? rows(task.c) : cols(task.c), order)
      .same(rows(task.b), rows(task.c), {3, "m"})
      .same(cols(task.b), cols(task.c), {4, "n"})
      .disjoint(task.c, task.a, {11, "c"}, "a")
      .disjoint(task.c, task.b, {11, "c"}, "b")
      .scalar(alpha, {5, "alpha"}, task.c, "c")
      .scalar(beta, {10, "beta"}, task.c, "c");
  if (task.c.empty()) return;
  if (!gpu::reads_scalars(queue, alpha, beta)) {
    task.alpha = alpha.value();
    task.beta = beta.value();
    return multiply(queue, side, task);
  }
  gpu::add_product<T, T>(queue, {.alpha = gpu::factor_of<T>(alpha), .beta = gpu::factor_of<T>(beta), .c = task.c},
                         [&](std::int64_t first, std::int64_t count, Batch<T> const& p) {
                           SymmTask<T> some = task;
                           some.alpha = T(1);
                           some.a = matrices(task.a, first, count);
                           some.b = matrices(task.b, first, count);
                           some.beta = T(0);
                           some.c = p;
                           multiply(queue, side, some);
                         });
}

}  // namespace

template <Element T>
void symm(Queue& queue, Side side, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c) {
  multiply<T>("symm", queue, side, alpha, beta,
              {.symmetry = Symmetry::symmetric, .uplo = uplo, .alpha = {}, .a = a, .b = b, .beta = {}, .c = c});
}

template <Element T>
void hemm(Queue& queue, Side side, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c) {
  multiply<T>("hemm", queue, side, alpha, beta,
              {.symmetry = Symmetry::hermitian, .uplo = uplo, .alpha = {}, .a = a, .b = b, .beta = {}, .c = c});
}

#define MYRIAD_INSTANTIATE(T)                                                              \
  template void symm<T>(Queue&, Side, Uplo, Scalar<T>, In<T>, In<T>, Scalar<T>, Batch<T>); \
  template void hemm<T>(Queue&, Side, Uplo, Scalar<T>, In<T>, In<T>, Scalar<T>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
