#include "syrk/syrk.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "gemm/gemm_gpu.hpp"
#include "myriad/blas3.hpp"
#include "runtime/backend.hpp"
#include "scale_add/scale_add_gpu.hpp"

namespace myriad {
namespace {

template <Element T>
void update(Queue& queue, SyrkTask<T> task) {
  if (task.c.conjugated) {  // conjugates both sides
    task.alpha = conjugate_if(true, task.alpha);
    task.beta = conjugate_if(true, task.beta);
    task.a = conjugated(task.a);
    task.b = conjugated(task.b);
    task.c = conjugated(task.c);
  }
  gpu::on_gpu(queue) ? gpu::syrk(queue, task) : cpu::syrk(queue, task);
}

/// Checks the arguments and updates C; alpha and beta replace those of the task.
template <Element T, typename Alpha, typename Beta>
void update(char const* routine, Queue& queue, ScalarArgument<Alpha> alpha, ScalarArgument<Beta> beta, SyrkTask<T> task) {
  Check const check(routine, queue);
  int const c = task.of_two ? 11 : 9;  // the position of C in BLAS
  check.uplo(task.uplo, 1)
      .matrix(task.c, {3, "n"}, {3, "n"}, {c, "c"}, {c + 1, "ldc"}, Access::write)
      .matrix(task.a, {3, "n"}, {4, "k"}, {6, "a"}, {7, "lda"}, Access::read)
      .same(rows(task.c), cols(task.c), {3, "n"})
      .same_count(task.c, task.a, {6, "a"})
      .same(rows(task.a), rows(task.c), {3, "n"})
      .disjoint(task.c, task.a, {c, "c"}, "a");
  if (task.of_two)
    check.matrix(task.b, {3, "n"}, {4, "k"}, {8, "b"}, {9, "ldb"}, Access::read)
        .same_count(task.c, task.b, {8, "b"})
        .same(rows(task.b), rows(task.c), {3, "n"})
        .same(cols(task.b), cols(task.a), {4, "k"})
        .disjoint(task.c, task.b, {c, "c"}, "b");
  check.scalar(alpha, {5, "alpha"}, task.c, "c").scalar(beta, {c - 1, "beta"}, task.c, "c");
  if (task.c.empty()) return;
  if (!gpu::reads_scalars(queue, alpha, beta)) {
    task.alpha = alpha.value();
    task.beta = beta.value();
    return update(queue, task);
  }
  bool const hermitian = is_complex<T> && task.symmetry == Symmetry::hermitian;
  gpu::add_product<T, T>(
      queue,
      {.alpha = gpu::factor_of<T>(alpha),
       .beta = gpu::factor_of<T>(beta),
       .c = task.c,
       .terms = gpu::terms_of(task.a),
       .written = hermitian ? Written::lower_hermitian : Written::lower,
       .uplo = task.uplo,
       .of_two = task.of_two},
      [&](std::int64_t first, std::int64_t count, Batch<T> const& p) {
        SyrkTask<T> some = task;
        some.alpha = T(1);
        some.a = matrices(task.a, first, count);
        some.b = matrices(task.b, first, count);
        some.beta = T(0);
        some.c = p;
        if (!task.of_two) return update(queue, some);
        // The whole of A B'; the kernel that adds it also adds its transpose.
        gpu::gemm<T>(
            queue, {.alpha = T(1), .a = some.a, .b = hermitian ? conjugate_transposed(some.b) : transposed(some.b), .beta = T(0), .c = p});
      });
}

}  // namespace

template <Element T>
void syrk(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, Scalar<T> beta, Batch<T> c) {
  update<T>("syrk", queue, alpha, beta,
            {.symmetry = Symmetry::symmetric, .of_two = false, .uplo = uplo, .alpha = {}, .a = a, .b = {}, .beta = {}, .c = c});
}

template <Element T>
void herk(Queue& queue, Uplo uplo, Scalar<Real<T>> alpha, In<T> a, Scalar<Real<T>> beta, Batch<T> c) {
  update<T>("herk", queue, alpha, beta,
            {.symmetry = Symmetry::hermitian, .of_two = false, .uplo = uplo, .alpha = {}, .a = a, .b = {}, .beta = {}, .c = c});
}

template <Element T>
void syr2k(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c) {
  update<T>("syr2k", queue, alpha, beta,
            {.symmetry = Symmetry::symmetric, .of_two = true, .uplo = uplo, .alpha = {}, .a = a, .b = b, .beta = {}, .c = c});
}

template <Element T>
void her2k(Queue& queue, Uplo uplo, Scalar<T> alpha, In<T> a, In<T> b, Scalar<Real<T>> beta, Batch<T> c) {
  update<T>("her2k", queue, alpha, beta,
            {.symmetry = Symmetry::hermitian, .of_two = true, .uplo = uplo, .alpha = {}, .a = a, .b = b, .beta = {}, .c = c});
}

#define MYRIAD_INSTANTIATE(T)                                                             \
  template void syrk<T>(Queue&, Uplo, Scalar<T>, In<T>, Scalar<T>, Batch<T>);             \
  template void herk<T>(Queue&, Uplo, Scalar<Real<T>>, In<T>, Scalar<Real<T>>, Batch<T>); \
  template void syr2k<T>(Queue&, Uplo, Scalar<T>, In<T>, In<T>, Scalar<T>, Batch<T>);     \
  template void her2k<T>(Queue&, Uplo, Scalar<T>, In<T>, In<T>, Scalar<Real<T>>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
