#include "trsm/trsm.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "myriad/blas2.hpp"
#include "myriad/blas3.hpp"
#include "runtime/backend.hpp"
#include "scale_add/scale_add_gpu.hpp"
#include "trsm/trsm_cpu.hpp"
#include "trsm/trsm_gpu.hpp"

namespace myriad {
namespace {

/// The task for A from the left and a B that is not conjugated.
template <Element T>
TrsmTask<T> from_the_left(Side side, TrsmTask<T> task) {
  if (task.b.conjugated) {  // conj(A) conj(X) = conj(alpha) conj(B)
    task.alpha = conjugate_if(true, task.alpha);
    task.a = conjugated(task.a);
    task.b = conjugated(task.b);
  }
  if (side == Side::right) {  // A^T X^T = alpha B^T
    task.uplo = other(task.uplo);
    task.a = transposed(task.a);
    task.b = transposed(task.b);
  }
  return task;
}

/// Checks the arguments of trsm or trmm.
template <Element T>
void check(char const* routine, Queue const& queue, Side side, Scalar<T> const& alpha, TrsmTask<T> const& task) {
  bool const left = side == Side::left;
  Argument const order = left ? Argument{5, "m"} : Argument{6, "n"};
  Check(routine, queue)
      .side(side, 1)
      .uplo(task.uplo, 2)
      .diag(task.diag, 4)
      .matrix(task.b, {5, "m"}, {6, "n"}, {10, "b"}, {11, "ldb"}, Access::write)
      .matrix(task.a, order, order, {8, "a"}, {9, "lda"}, Access::read)
      .same(rows(task.a), cols(task.a), order)
      .same_count(task.b, task.a, {8, "a"})
      .same(rows(task.a), left ? rows(task.b) : cols(task.b), order)
      .disjoint(task.b, task.a, {10, "b"}, "a")
      .scalar(alpha, {7, "alpha"}, task.b, "b");
}

/// Calls compute(task), for A from the left, with the value of alpha. One that the GPU has to read multiplies the results.
template <Element T, typename Compute>
void with_alpha(Queue& queue, Side side, Scalar<T> const& alpha, TrsmTask<T> task, Compute const& compute) {
  bool const in_memory = gpu::reads_scalars(queue, alpha, alpha);
  task.alpha = in_memory ? T(1) : alpha.value();
  if (task.b.empty()) return;
  if (!in_memory) return compute(from_the_left(side, task));
  gpu::scale_after(queue, alpha, task.b, [&] { compute(from_the_left(side, task)); });
}

/// Checks the arguments of trsv or trmv; returns the task.
template <Element T>
TrsmTask<T> checked(char const* routine, Queue const& queue, TrsmTask<T> const& task) {
  Check(routine, queue)
      .uplo(task.uplo, 1)
      .diag(task.diag, 3)
      .matrix(task.a, {4, "n"}, {4, "n"}, {5, "a"}, {6, "lda"}, Access::read)
      .vector(task.b, {4, "n"}, {7, "x"}, {8, "incx"}, Access::write)
      .same(rows(task.a), cols(task.a), {4, "n"})
      .same_count(task.b, task.a, {5, "a"})
      .same(rows(task.a), rows(task.b), {4, "n"})
      .disjoint(task.b, task.a, {7, "x"}, "a");
  return from_the_left(Side::left, task);
}

}  // namespace

template <Element T>
void trsm(Queue& queue, Side side, Uplo uplo, Diag diag, Scalar<T> alpha, In<T> a, Batch<T> b) {
  TrsmTask<T> const given{.uplo = uplo, .diag = diag, .alpha = {}, .a = a, .b = b};
  check<T>("trsm", queue, side, alpha, given);
  with_alpha<T>(queue, side, alpha, given,
                [&](TrsmTask<T> const& task) { gpu::on_gpu(queue) ? gpu::trsm(queue, task) : cpu::trsm(queue, task); });
}

template <Element T>
void trsv(Queue& queue, Uplo uplo, Diag diag, In<T> a, Batch<T> x) {
  TrsmTask<T> const task = checked<T>("trsv", queue, {.uplo = uplo, .diag = diag, .alpha = T(1), .a = a, .b = x});
  if (task.b.empty()) return;
  gpu::on_gpu(queue) ? gpu::trsv(queue, task) : cpu::trsm(queue, task);
}

template <Element T>
void trmm(Queue& queue, Side side, Uplo uplo, Diag diag, Scalar<T> alpha, In<T> a, Batch<T> b) {
  TrsmTask<T> const given{.uplo = uplo, .diag = diag, .alpha = {}, .a = a, .b = b};
  check<T>("trmm", queue, side, alpha, given);
  with_alpha<T>(queue, side, alpha, given,
                [&](TrsmTask<T> const& task) { gpu::on_gpu(queue) ? gpu::trmm(queue, task) : cpu::trmm(queue, task); });
}

template <Element T>
void trmv(Queue& queue, Uplo uplo, Diag diag, In<T> a, Batch<T> x) {
  TrsmTask<T> const task = checked<T>("trmv", queue, {.uplo = uplo, .diag = diag, .alpha = T(1), .a = a, .b = x});
  if (task.b.empty()) return;
  gpu::on_gpu(queue) ? gpu::trmv(queue, task) : cpu::trmm(queue, task);
}

#define MYRIAD_INSTANTIATE(T)                                                  \
  template void trsm<T>(Queue&, Side, Uplo, Diag, Scalar<T>, In<T>, Batch<T>); \
  template void trmm<T>(Queue&, Side, Uplo, Diag, Scalar<T>, In<T>, Batch<T>); \
  template void trsv<T>(Queue&, Uplo, Diag, In<T>, Batch<T>);                  \
  template void trmv<T>(Queue&, Uplo, Diag, In<T>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
