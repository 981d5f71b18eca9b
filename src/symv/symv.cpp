#include "symv/symv.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "runtime/backend.hpp"
#include "symv/symv_cpu.hpp"
#include "symv/symv_gpu.hpp"

namespace myriad {
namespace {

template <Element T>
void multiply(char const* routine, Queue& queue, SymvTask<T> task) {
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
      .disjoint(task.y, task.x, {9, "y"}, "x");
  if (task.y.empty()) return;
  if (task.y.conjugated) {  // conj(y) = conj(alpha) conj(A) conj(x) + conj(beta) conj(y)
    task.alpha = conjugate_if(true, task.alpha);
    task.beta = conjugate_if(true, task.beta);
    task.a = conjugated(task.a);
    task.x = conjugated(task.x);
    task.y = conjugated(task.y);
  }
  gpu::on_gpu(queue) ? gpu::symv(queue, task) : cpu::symv(queue, task);
}

}  // namespace

template <Element T>
void symv(Queue& queue, Uplo uplo, std::type_identity_t<T> alpha, In<T> a, In<T> x, std::type_identity_t<T> beta, Batch<T> y) {
  multiply<T>("symv", queue, {.symmetry = Symmetry::symmetric, .uplo = uplo, .alpha = alpha, .a = a, .x = x, .beta = beta, .y = y});
}

template <Element T>
void hemv(Queue& queue, Uplo uplo, std::type_identity_t<T> alpha, In<T> a, In<T> x, std::type_identity_t<T> beta, Batch<T> y) {
  constexpr Symmetry symmetry = is_complex<T> ? Symmetry::hermitian : Symmetry::symmetric;
  multiply<T>("hemv", queue, {.symmetry = symmetry, .uplo = uplo, .alpha = alpha, .a = a, .x = x, .beta = beta, .y = y});
}

#define MYRIAD_INSTANTIATE(T)                                                                                    \
  template void symv<T>(Queue&, Uplo, std::type_identity_t<T>, In<T>, In<T>, std::type_identity_t<T>, Batch<T>); \
  template void hemv<T>(Queue&, Uplo, std::type_identity_t<T>, In<T>, In<T>, std::type_identity_t<T>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
