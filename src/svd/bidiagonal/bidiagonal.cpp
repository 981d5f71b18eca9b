#include "svd/bidiagonal/bidiagonal.hpp"

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "runtime/backend.hpp"
#include "svd/bidiagonal/bidiagonal_gpu.hpp"

namespace myriad {
namespace {

/// A without its first row and column: one column less than A has on its diagonal.
template <typename T>
Batch<T> without_first(Batch<T> const& a) {
  return block(a, 1, 1, std::max<std::int64_t>(a.rows - 1, 0), std::max<std::int64_t>(a.cols - 1, 0));
}

void check_vect(Check const& check, Vect vect) { check.require(vect == Vect::q || vect == Vect::p, {1, "vect"}, "must be q or p"); }
void check_ragged_size(Check const& check, RaggedSize k, Argument argument) {
  if (k.bound < 0) check.require(false, argument, fmt::format("is {}, negative", k.bound));
  check.optional(k.sizes, argument);
}

/// Calls f with matrix -1, the bounds of all, and, in ragged batches whose sizes the host can read, with every matrix.
template <typename F>
void for_sizes(Check const& check, bool ragged, std::int64_t count, F const& f) {
  f(-1);
  for (std::int64_t b = 0; ragged && check.arrays_readable() && b < count; ++b) f(b);
}
std::string of_matrix(std::int64_t b) { return b < 0 ? "" : fmt::format("of matrix {} ", b); }
std::string in_matrix(std::int64_t b) { return b < 0 ? "" : fmt::format(" in matrix {}", b); }

/// tau needs min(order, k) entries.
void check_tau(Check const& check, UntypedBatch const& tau, std::int64_t b, std::int64_t order, std::int64_t k, Argument argument) {
  std::int64_t const rows = b < 0 ? tau.shape.rows : tau.shape.rows_of(b), needed = std::min(order, k);
  if (rows < needed) check.require(false, argument, fmt::format("has {} entries{}; it needs {}", rows, in_matrix(b), needed));
}

}  // namespace

template <Element T>
void gebrd(Queue& queue, Batch<T> a, Batch<Real<T>> d, Batch<Real<T>> e, Batch<T> tauq, Batch<T> taup) {
  Check("gebrd", queue)
      .matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, writes)
      .vector(d, {5, "d"}, {5, "d"}, writes)
      .vector(e, {6, "e"}, {6, "e"}, writes)
      .vector(tauq, {7, "tauq"}, {7, "tauq"}, writes)
      .vector(taup, {8, "taup"}, {8, "taup"}, writes)
      .same_count(a, d, {5, "d"})
      .same_count(a, e, {6, "e"})
      .same_count(a, tauq, {7, "tauq"})
      .same_count(a, taup, {8, "taup"})
      .diagonal_length(d, a, {5, "d"})
      .diagonal_length(e, without_first(a), {6, "e"})
      .diagonal_length(tauq, a, {7, "tauq"})
      .diagonal_length(taup, a, {8, "taup"})
      .disjoint(d, a, {5, "d"}, "a")
      .disjoint(e, a, {6, "e"}, "a")
      .disjoint(e, d, {6, "e"}, "d")
      .disjoint(tauq, a, {7, "tauq"}, "a")
      .disjoint(tauq, d, {7, "tauq"}, "d")
      .disjoint(tauq, e, {7, "tauq"}, "e")
      .disjoint(taup, a, {8, "taup"}, "a")
      .disjoint(taup, d, {8, "taup"}, "d")
      .disjoint(taup, e, {8, "taup"}, "e")
      .disjoint(taup, tauq, {8, "taup"}, "tauq");
  GebrdTask<T> const task{.a = a, .d = d, .e = e, .tauq = tauq, .taup = taup};
  gpu::on_gpu(queue) ? gpu::gebrd(queue, task) : cpu::gebrd(queue, task);
}

template <Element T>
void orgbr(Queue& queue, Vect vect, RaggedSize k, Batch<T> a, In<T> tau) {
  Check check("orgbr", queue);
  check_vect(check, vect);
  check.matrix(a, {2, "m"}, {3, "n"}, {5, "a"}, {6, "lda"}, writes);
  check_ragged_size(check, k, {4, "k"});
  check.vector(tau, {7, "tau"}, {7, "tau"}, reads).same_count(a, tau, {7, "tau"});
  bool const q = vect == Vect::q;
  Batch<T> const columns = q ? a : conjugate_transposed(a);
  for_sizes(check, a.ragged() || k.sizes || tau.row_sizes, a.count, [&](std::int64_t b) {
    std::int64_t const order = b < 0 ? columns.rows : columns.rows_of(b), some = b < 0 ? columns.cols : columns.cols_of(b);
    std::int64_t const of_k = b < 0 ? k.bound : k.of(b), least = std::min(order, of_k);
    if (some > order || some < least)
      check.require(false, {3, "n"},
                    fmt::format("{}is {} with m = {} and k = {}; {} must be from {} to {}", of_matrix(b), q ? some : order,
                                q ? order : some, of_k, q ? "n" : "m", least, order));
    check_tau(check, tau, b, order, of_k, {7, "tau"});
  });
  check.disjoint(a, tau, {5, "a"}, "tau");
  OrgbrTask<T> const task{.vect = vect, .k = k, .a = columns, .tau = tau};
  gpu::on_gpu(queue) ? gpu::orgbr(queue, task) : cpu::orgbr(queue, task);
}

template <Element T>
void ormbr(Queue& queue, Vect vect, Side side, Op op, RaggedSize k, In<T> a, In<T> tau, Batch<T> c) {
  bool const left = side == Side::left, q = vect == Vect::q;
  Argument const size = left ? Argument{4, "m"} : Argument{5, "n"}, of_k{6, "k"};
  Check check("ormbr", queue);
  check_vect(check, vect);
  check.side(side, 2)
      .require(
          op == Op::none || op == Op::conjugate_transpose || (op == Op::transpose && !is_complex<T>), {3, "trans"},
          is_complex<T> ? "must be none or conjugate_transpose for complex elements" : "must be none, transpose or conjugate_transpose")
      .matrix(c, {4, "m"}, {5, "n"}, {10, "c"}, {11, "ldc"}, writes)
      .matrix(a, q ? size : of_k, q ? of_k : size, {7, "a"}, {8, "lda"}, reads);
  check_ragged_size(check, k, of_k);
  check.vector(tau, {9, "tau"}, {9, "tau"}, reads).same_count(c, a, {7, "a"}).same_count(c, tau, {9, "tau"});
  Batch<T const> const columns = q ? a : conjugate_transposed(a);
  check.same(rows(columns), left ? rows(c) : cols(c), size);
  for_sizes(check, columns.ragged() || k.sizes || tau.row_sizes, c.count, [&](std::int64_t b) {
    std::int64_t const order = b < 0 ? columns.rows : columns.rows_of(b), some = b < 0 ? columns.cols : columns.cols_of(b);
    std::int64_t const extent = b < 0 ? k.bound : k.of(b), needed = std::min(order, extent);
    if (some < needed)
      check.require(false, {7, "a"}, fmt::format("has {} {}{}; it needs {}", some, q ? "columns" : "rows", in_matrix(b), needed));
    check_tau(check, tau, b, order, extent, {9, "tau"});
  });
  check.disjoint(c, a, {10, "c"}, "a").disjoint(c, tau, {10, "c"}, "tau");
  // C op(Q) = (op(Q)^H C^H)^H
  Batch<T> const from_the_left = left ? c : conjugate_transposed(c);
  OrmbrTask<T> const task{.vect = vect, .adjoint = (op != Op::none) == left, .k = k, .a = columns, .tau = tau, .c = from_the_left};
  gpu::on_gpu(queue) ? gpu::ormbr(queue, task) : cpu::ormbr(queue, task);
}

#define MYRIAD_INSTANTIATE(T)                                                                   \
  template void gebrd<T>(Queue&, Batch<T>, Batch<Real<T>>, Batch<Real<T>>, Batch<T>, Batch<T>); \
  template void orgbr<T>(Queue&, Vect, RaggedSize, Batch<T>, In<T>);                            \
  template void ormbr<T>(Queue&, Vect, Side, Op, RaggedSize, In<T>, In<T>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
