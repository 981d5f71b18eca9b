#include "eigen/tridiagonal/tridiagonal.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "eigen/tridiagonal/tridiagonal_gpu.hpp"
#include "reflectors/reflectors_gpu.hpp"
#include "runtime/backend.hpp"

namespace myriad {
namespace {

/// A without its first row: n - 1 rows per matrix.
template <typename T>
Batch<T> without_first_row(Batch<T> const& a) {
  return rows(a, 1, std::max<std::int64_t>(a.rows - 1, 0));
}

}  // namespace

template <Element T>
void sytrd(Queue& queue, Uplo uplo, Batch<T> a, Batch<Real<T>> d, Batch<Real<T>> e, Batch<T> tau) {
  Check("sytrd", queue)
      .uplo(uplo, 1)
      .matrix(a, {2, "n"}, {2, "n"}, {3, "a"}, {4, "lda"}, writes)
      .vector(d, {5, "d"}, {5, "d"}, writes)
      .vector(e, {6, "e"}, {6, "e"}, writes)
      .vector(tau, {7, "tau"}, {7, "tau"}, writes)
      .same(rows(a), cols(a), {2, "n"})
      .same_count(a, d, {5, "d"})
      .same_count(a, e, {6, "e"})
      .same_count(a, tau, {7, "tau"})
      .same(rows(a), rows(d), {5, "d"})
      .same(rows(without_first_row(a)), rows(e), {6, "e"})
      .same(rows(without_first_row(a)), rows(tau), {7, "tau"})
      .disjoint(d, a, {5, "d"}, "a")
      .disjoint(e, a, {6, "e"}, "a")
      .disjoint(e, d, {6, "e"}, "d")
      .disjoint(tau, a, {7, "tau"}, "a")
      .disjoint(tau, d, {7, "tau"}, "d")
      .disjoint(tau, e, {7, "tau"}, "e");
  SytrdTask<T> const task{.uplo = uplo, .a = a, .d = d, .e = e, .tau = tau};
  if (gpu::on_gpu(queue))
    gpu::sytrd(queue, task);
  else
    cpu::sytrd(queue, task);
}

template <Element T>
void orgtr(Queue& queue, Uplo uplo, Batch<T> a, In<T> tau) {
  Check("orgtr", queue)
      .uplo(uplo, 1)
      .matrix(a, {2, "n"}, {2, "n"}, {3, "a"}, {4, "lda"}, writes)
      .vector(tau, {5, "tau"}, {5, "tau"}, reads)
      .same(rows(a), cols(a), {2, "n"})
      .same_count(a, tau, {5, "tau"})
      .same(rows(without_first_row(a)), rows(tau), {5, "tau"})
      .disjoint(a, tau, {3, "a"}, "tau");
  OrgtrTask<T> const task{.uplo = uplo, .a = a, .tau = tau};
  gpu::on_gpu(queue) ? gpu::orgtr(queue, task) : cpu::orgtr(queue, task);
}

template <Element T>
void ormtr(Queue& queue, Side side, Uplo uplo, Op op, In<T> a, In<T> tau, Batch<T> c) {
  bool const left = side == Side::left;
  Argument const size = left ? Argument{4, "m"} : Argument{5, "n"};
  Check("ormtr", queue)
      .side(side, 1)
      .uplo(uplo, 2)
      .require(
          op == Op::none || op == Op::conjugate_transpose || (op == Op::transpose && !is_complex<T>), {3, "trans"},
          is_complex<T> ? "must be none or conjugate_transpose for complex elements" : "must be none, transpose or conjugate_transpose")
      .matrix(c, {4, "m"}, {5, "n"}, {9, "c"}, {10, "ldc"}, writes)
      .matrix(a, size, size, {6, "a"}, {7, "lda"}, reads)
      .vector(tau, {8, "tau"}, {8, "tau"}, reads)
      .same(rows(a), cols(a), size)
      .same_count(c, a, {6, "a"})
      .same_count(c, tau, {8, "tau"})
      .same(rows(a), left ? rows(c) : cols(c), size)
      .same(rows(without_first_row(a)), rows(tau), {8, "tau"})
      .disjoint(c, a, {9, "c"}, "a")
      .disjoint(c, tau, {9, "c"}, "tau");
  // C op(Q) = (op(Q)^H C^H)^H
  Batch<T> const from_the_left = left ? c : conjugate_transposed(c);
  OrmtrTask<T> const task{.uplo = uplo, .adjoint = (op != Op::none) == left, .a = a, .tau = tau, .c = from_the_left};
  gpu::on_gpu(queue) ? gpu::ormtr(queue, task) : cpu::ormtr(queue, task);
}

#define MYRIAD_INSTANTIATE(T)                                                               \
  template void sytrd<T>(Queue&, Uplo, Batch<T>, Batch<Real<T>>, Batch<Real<T>>, Batch<T>); \
  template void orgtr<T>(Queue&, Uplo, Batch<T>, In<T>);                                    \
  template void ormtr<T>(Queue&, Side, Uplo, Op, In<T>, In<T>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
