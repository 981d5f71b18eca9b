#include "symv/symv.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "runtime/backend.hpp"
#include "scale_add/scale_add_gpu.hpp"
#include "symv/symv_cpu.hpp"
#include "symv/symv_gpu.hpp"

namespace myriad {
namespace {

template <Element T>
void multiply(Queue& queue, SymvTask<T> task) {
  if (task.y.conjugated) {  // conj(y) = conj(alpha) conj(A) conj(x) + conj(beta) conj(y)
    task.alpha = conjugate_if(true, task.alpha);
    task.beta = conjugate_if(true, task.beta);
    task.a = conjugated(task.a);
    task.x = conjugated(task.x);
    task.y = conjugated(task.y);
  }
  gpu::on_gpu(queue) ? gpu::symv(queue, task) : cpu::symv(queue, task);
}

/// Checks the arguments and multiplies; alpha and beta replace those of the task.
template <Element T>
void multiply(char const* routine, Queue& queue, Scalar<T> alpha, Scalar<T> beta, SymvTask<T> task) {
  Check(routine, queue)
      .uplo(task.uplo, 1)
      .matrix(task.a, {2, "n"}, {2, "n"}, {4, "a"}, {5, "lda"}, Access::read)
      .vector(task.x, {2, "n"}, {6, "x"}, {7, "incx"}, Access::read)
      .vector(task.y, {2, "n"}, {9, "y"}, {10, "incy"}, Access::write)
      .same(rows(task.a), cols(task.a), {2, "n"})
      .same_count(task.y, task.a, {4, "a"})
      .same_count(task.y, task.x, {6, "x"})
      .same(rows(task.a), rows(task.y), {2, "n"})
      .same(rows(task.a), rows(task.x), {2, "n"})
      .disjoint(task.y, task.a, {9, "y"}, "a")
      .disjoint(task.y, task.x, {9, "y"}, "x")
      .scalar(alpha, {3, "alpha"}, task.y, "y")
      .scalar(beta, {8, "beta"}, task.y, "y");
  if (task.y.empty()) return;
  if (!gpu::reads_scalars(queue, alpha, beta)) {
    task.alpha = alpha.value();
    task.beta = beta.value();
    return multiply(queue, task);
  }
  gpu::add_product<T, T>(queue, {.alpha = gpu::factor_of<T>(alpha), .beta = gpu::factor_of<T>(beta), .c = task.y},
                         [&](std::int64_t first, std::int64_t count, Batch<T> const& p) {
                           SymvTask<T> some = task;
                           some.alpha = T(1);
                           some.a = matrices(task.a, first, count);
                           some.x = matrices(task.x, first, count);
                           some.beta = T(0);
                           some.y = p;
                           multiply(queue, some);
                         });
}

}  // namespace

template <Element T>
void symv(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> x, Scalar<T> beta, Batch<T> y) {
  multiply<T>("symv", queue, alpha, beta, {.symmetry = Symmetry::symmetric, .uplo = uplo, .alpha = {}, .a = a, .x = x, .beta = {}, .y = y});
}

template <Element T>
void hemv(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> x, Scalar<T> beta, Batch<T> y) {
  constexpr Symmetry symmetry = is_complex<T> ? Symmetry::hermitian : Symmetry::symmetric;
  multiply<T>("hemv", queue, alpha, beta, {.symmetry = symmetry, .uplo = uplo, .alpha = {}, .a = a, .x = x, .beta = {}, .y = y});
}

#define MYRIAD_INSTANTIATE(T)                                                        \
  template void symv<T>(Queue&, Uplo, Scalar<T>, In<T>, In<T>, Scalar<T>, Batch<T>); \
  template void hemv<T>(Queue&, Uplo, Scalar<T>, In<T>, In<T>, Scalar<T>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
