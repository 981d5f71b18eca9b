#include "syrk/syrk.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "myriad/blas3.hpp"
#include "runtime/backend.hpp"

namespace myriad {
namespace {

template <Element T>
void update(char const* routine, Queue& queue, SyrkTask<T> task) {
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
  if (task.c.empty()) return;
  if (task.c.conjugated) {  // conjugates both sides
    task.alpha = conjugate_if(true, task.alpha);
    task.beta = conjugate_if(true, task.beta);
    task.a = conjugated(task.a);
    task.b = conjugated(task.b);
    task.c = conjugated(task.c);
  }
  gpu::on_gpu(queue) ? gpu::syrk(queue, task) : cpu::syrk(queue, task);
}

}  // namespace

template <Element T>
void syrk(Queue& queue, Uplo uplo, std::type_identity_t<T> alpha, In<T> a, std::type_identity_t<T> beta, Batch<T> c) {
  update<T>("syrk", queue,
            {.symmetry = Symmetry::symmetric, .of_two = false, .uplo = uplo, .alpha = alpha, .a = a, .b = {}, .beta = beta, .c = c});
}

template <Element T>
void herk(Queue& queue, Uplo uplo, std::type_identity_t<Real<T>> alpha, In<T> a, std::type_identity_t<Real<T>> beta, Batch<T> c) {
  update<T>("herk", queue,
            {.symmetry = Symmetry::hermitian, .of_two = false, .uplo = uplo, .alpha = alpha, .a = a, .b = {}, .beta = beta, .c = c});
}

template <Element T>
void syr2k(Queue& queue, Uplo uplo, std::type_identity_t<T> alpha, In<T> a, In<T> b, std::type_identity_t<T> beta, Batch<T> c) {
  update<T>("syr2k", queue,
            {.symmetry = Symmetry::symmetric, .of_two = true, .uplo = uplo, .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c});
}

template <Element T>
void her2k(Queue& queue, Uplo uplo, std::type_identity_t<T> alpha, In<T> a, In<T> b, std::type_identity_t<Real<T>> beta, Batch<T> c) {
  update<T>("her2k", queue,
            {.symmetry = Symmetry::hermitian, .of_two = true, .uplo = uplo, .alpha = alpha, .a = a, .b = b, .beta = beta, .c = c});
}

#define MYRIAD_INSTANTIATE(T)                                                                                         \
  template void syrk<T>(Queue&, Uplo, std::type_identity_t<T>, In<T>, std::type_identity_t<T>, Batch<T>);             \
  template void herk<T>(Queue&, Uplo, std::type_identity_t<Real<T>>, In<T>, std::type_identity_t<Real<T>>, Batch<T>); \
  template void syr2k<T>(Queue&, Uplo, std::type_identity_t<T>, In<T>, In<T>, std::type_identity_t<T>, Batch<T>);     \
  template void her2k<T>(Queue&, Uplo, std::type_identity_t<T>, In<T>, In<T>, std::type_identity_t<Real<T>>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
