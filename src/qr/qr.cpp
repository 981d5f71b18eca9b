#include "qr/qr.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "qr/qr_cpu.hpp"
#include "qr/qr_gpu.hpp"
#include "runtime/backend.hpp"

namespace myriad {
namespace {

/// tau holds at most min(m, n) reflectors; where it is ragged, of every matrix.
void check_reflectors(Check const& check, UntypedBatch const& a, UntypedBatch const& tau, Argument k) {
  std::int64_t const most = std::min(a.shape.rows, a.shape.cols);
  if (tau.shape.rows > most)
    check.require(false, k,
                  fmt::format("is {}, more than the {} that a {}-by-{} matrix has", tau.shape.rows, most, a.shape.rows, a.shape.cols));
  for (std::int64_t b = 0; check.arrays_readable() && tau.shape.row_sizes && b < a.shape.count; ++b) {
    std::int64_t const here = std::min(a.shape.rows_of(b), a.shape.cols_of(b));
    if (tau.shape.rows_of(b) > here)
      check.require(false, k, fmt::format("of matrix {} is {}, more than {}", b, tau.shape.rows_of(b), here));
  }
}

/// jpvt needs a number for each column.
void check_column_numbers(Check const& check, UntypedBatch const& jpvt, UntypedBatch const& a, Argument argument) {
  auto const check_one = [&](std::int64_t has, std::int64_t columns) {
    if (has < columns) check.require(false, argument, fmt::format("has {} entries, fewer than the {} columns", has, columns));
  };
  check_one(jpvt.shape.rows, a.shape.cols);
  for (std::int64_t b = 0; check.arrays_readable() && (jpvt.shape.row_sizes || a.shape.col_sizes) && b < a.shape.count; ++b)
    check_one(jpvt.shape.rows_of(b), a.shape.cols_of(b));
}

}  // namespace

template <Element T>
void geqrf(Queue& queue, Batch<T> a, Batch<T> tau) {
  Check("geqrf", queue)
      .matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, writes)
      .vector(tau, {5, "tau"}, {5, "tau"}, writes)
      .same_count(a, tau, {5, "tau"})
      .diagonal_length(tau, a, {5, "tau"})
      .disjoint(tau, a, {5, "tau"}, "a");
  GeqrfTask<T> const task{.a = a, .tau = tau};
  gpu::on_gpu(queue) ? gpu::geqrf(queue, task) : cpu::geqrf(queue, task);
}

template <Element T>
void ormqr(Queue& queue, Side side, Op op, In<T> a, In<T> tau, Batch<T> c) {
  Check check("ormqr", queue);
  check.side(side, 1)
      .require(
          op == Op::none || op == Op::conjugate_transpose || (op == Op::transpose && !is_complex<T>), {2, "trans"},
          is_complex<T> ? "must be none or conjugate_transpose for complex elements" : "must be none, transpose or conjugate_transpose")
      .matrix(c, {3, "m"}, {4, "n"}, {9, "c"}, {10, "ldc"}, writes)
      .matrix(a, side == Side::left ? Argument{3, "m"} : Argument{4, "n"}, {5, "k"}, {6, "a"}, {7, "lda"}, reads)
      .vector(tau, {5, "k"}, {8, "tau"}, reads)
      .same_count(c, a, {6, "a"})
      .same_count(c, tau, {8, "tau"});
  if (side == Side::left)
    check.same(rows(a), rows(c), {3, "m"});
  else
    check.same(rows(a), cols(c), {4, "n"});
  check_reflectors(check, a, tau, {5, "k"});
  check.disjoint(c, a, {9, "c"}, "a").disjoint(c, tau, {9, "c"}, "tau");
  // C op(Q) = (op(Q)^H C^H)^H
  bool const adjoint = (op != Op::none) == (side == Side::left);
  OrmqrTask<T> const task{.adjoint = adjoint, .a = a, .tau = tau, .c = side == Side::left ? c : conjugate_transposed(c)};
  gpu::on_gpu(queue) ? gpu::ormqr(queue, task) : cpu::ormqr(queue, task);
}

template <Element T>
void orgqr(Queue& queue, Batch<T> a, In<T> tau) {
  Check check("orgqr", queue);
  check.matrix(a, {1, "m"}, {2, "n"}, {4, "a"}, {5, "lda"}, writes).vector(tau, {3, "k"}, {6, "tau"}, reads).same_count(a, tau, {6, "tau"});
  if (a.rows < a.cols) check.require(false, {2, "n"}, fmt::format("is {}, more than m = {}", a.cols, a.rows));
  for (std::int64_t b = 0; check.arrays_readable() && a.ragged() && b < a.count; ++b)
    if (a.rows_of(b) < a.cols_of(b))
      check.require(false, {2, "n"}, fmt::format("of matrix {} is {}, more than m = {}", b, a.cols_of(b), a.rows_of(b)));
  check_reflectors(check, a, tau, {3, "k"});
  check.disjoint(a, tau, {4, "a"}, "tau");
  OrgqrTask<T> const task{.a = a, .tau = tau};
  gpu::on_gpu(queue) ? gpu::orgqr(queue, task) : cpu::orgqr(queue, task);
}

template <Element T>
void gels(Queue& queue, Batch<T> a, Batch<T> b, int* info) {
  Check check("gels", queue);
  check.info(info, 9)
      .matrix(a, {2, "m"}, {3, "n"}, {5, "a"}, {6, "lda"}, writes)
      .matrix(b, {7, "b"}, {4, "nrhs"}, {7, "b"}, {8, "ldb"}, writes)
      .same_count(a, b, {7, "b"});
  check.right_sides(b, a, {7, "b"});
  check.disjoint(b, a, {7, "b"}, "a");
  GelsTask<T> const task{.a = a, .b = b, .info = info};
  gpu::on_gpu(queue) ? gpu::gels(queue, task) : cpu::gels(queue, task);
}

template <Element T>
void geqp3(Queue& queue, Batch<T> a, Batch<int> jpvt, Batch<T> tau) {
  Check check("geqp3", queue);
  check.matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, writes)
      .vector(jpvt, {5, "jpvt"}, {5, "jpvt"}, writes)
      .same_count(a, jpvt, {5, "jpvt"})
      .vector(tau, {6, "tau"}, {6, "tau"}, writes)
      .same_count(a, tau, {6, "tau"})
      .diagonal_length(tau, a, {6, "tau"});
  check_column_numbers(check, jpvt, a, {5, "jpvt"});
  check.disjoint(jpvt, a, {5, "jpvt"}, "a").disjoint(tau, a, {6, "tau"}, "a").disjoint(tau, jpvt, {6, "tau"}, "jpvt");
  Geqp3Task<T> const task{.a = a, .jpvt = jpvt, .tau = tau};
  gpu::on_gpu(queue) ? gpu::geqp3(queue, task) : cpu::geqp3(queue, task);
}

template <Element T>
void gelsy(Queue& queue, Batch<T> a, Batch<T> b, Batch<int> jpvt, Real<T> rcond, int* rank) {
  Check check("gelsy", queue);
  check.matrix(a, {1, "m"}, {2, "n"}, {4, "a"}, {5, "lda"}, writes)
      .matrix(b, {6, "b"}, {3, "nrhs"}, {6, "b"}, {7, "ldb"}, writes)
      .same_count(a, b, {6, "b"});
  check.right_sides(b, a, {6, "b"});
  check.vector(jpvt, {8, "jpvt"}, {8, "jpvt"}, writes).same_count(a, jpvt, {8, "jpvt"});
  check_column_numbers(check, jpvt, a, {8, "jpvt"});
  check.require(!std::isnan(rcond), {9, "rcond"}, "is NaN").optional(rank, {10, "rank"});
  check.disjoint(b, a, {6, "b"}, "a").disjoint(jpvt, a, {8, "jpvt"}, "a").disjoint(jpvt, b, {8, "jpvt"}, "b");
  GelsyTask<T> const task{.a = a, .b = b, .jpvt = jpvt, .rcond = rcond, .rank = rank};
  gpu::on_gpu(queue) ? gpu::gelsy(queue, task) : cpu::gelsy(queue, task);
}

#define MYRIAD_INSTANTIATE(T)                                       \
  template void geqrf<T>(Queue&, Batch<T>, Batch<T>);               \
  template void ormqr<T>(Queue&, Side, Op, In<T>, In<T>, Batch<T>); \
  template void orgqr<T>(Queue&, Batch<T>, In<T>);                  \
  template void gels<T>(Queue&, Batch<T>, Batch<T>, int*);          \
  template void geqp3<T>(Queue&, Batch<T>, Batch<int>, Batch<T>);   \
  template void gelsy<T>(Queue&, Batch<T>, Batch<T>, Batch<int>, Real<T>, int*);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
