#include "refine/refine.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "refine/refine_cpu.hpp"
#include "refine/refine_gpu.hpp"
#include "runtime/backend.hpp"

namespace myriad {
template <Element T>
void geequ(Queue& queue, Batch<T const> a, Batch<Real<T>> r, Batch<Real<T>> c, Real<T>* rowcnd, Real<T>* colcnd, Real<T>* amax, int* info) {
  Check("geequ", queue)
      .optional(rowcnd, {7, "rowcnd"})
      .optional(colcnd, {8, "colcnd"})
      .optional(amax, {9, "amax"})
      .info(info, 10)
      .matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, reads)
      .vector(r, {5, "r"}, {5, "r"}, writes)
      .vector(c, {6, "c"}, {6, "c"}, writes)
      .same_count(a, r, {5, "r"})
      .same_count(a, c, {6, "c"})
      .same(rows(a), rows(r), {5, "r"})
      .same(cols(a), rows(c), {6, "c"})
      .disjoint(r, a, {5, "r"}, "a")
      .disjoint(c, a, {6, "c"}, "a")
      .disjoint(c, r, {6, "c"}, "r");
  GeequTask<T> const task{.a = a, .r = r, .c = c, .rowcnd = rowcnd, .colcnd = colcnd, .amax = amax, .info = info};
  gpu::on_gpu(queue) ? gpu::geequ(queue, task) : cpu::geequ(queue, task);
}

template <Element T>
void laqge(Queue& queue, Batch<T> a, Batch<Real<T> const> r, Batch<Real<T> const> c) {
  Check check("laqge", queue);
  check.matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, writes);
  if (given(r))
    check.vector(r, {5, "r"}, {5, "r"}, reads).same_count(a, r, {5, "r"}).same(rows(a), rows(r), {5, "r"}).disjoint(a, r, {3, "a"}, "r");
  if (given(c))
    check.vector(c, {6, "c"}, {6, "c"}, reads).same_count(a, c, {6, "c"}).same(cols(a), rows(c), {6, "c"}).disjoint(a, c, {3, "a"}, "c");
  LaqgeTask<T> const task{.a = a, .r = r, .c = c};
  gpu::on_gpu(queue) ? gpu::laqge(queue, task) : cpu::laqge(queue, task);
}

template <Element T>
void gerfs(Queue& queue, Op op, In<T> a, In<T> af, Batch<int const> pivots, In<T> b, Batch<T> x, Batch<Real<T>> ferr, Batch<Real<T>> berr) {
  Check check("gerfs", queue);
  check
      .require(op == Op::none || op == Op::transpose || op == Op::conjugate_transpose, {1, "trans"},
               "must be none, transpose or conjugate_transpose")
      .matrix(a, {2, "n"}, {2, "n"}, {4, "a"}, {5, "lda"}, reads)
      .same(rows(a), cols(a), {2, "n"})
      .matrix(af, {2, "n"}, {2, "n"}, {6, "af"}, {7, "ldaf"}, reads)
      .matrix(b, {2, "n"}, {3, "nrhs"}, {9, "b"}, {10, "ldb"}, reads)
      .matrix(x, {2, "n"}, {3, "nrhs"}, {11, "x"}, {12, "ldx"}, writes)
      .same_count(a, af, {6, "af"})
      .same_count(a, b, {9, "b"})
      .same_count(a, x, {11, "x"})
      .same(rows(a), rows(af), {2, "n"})
      .same(cols(a), cols(af), {2, "n"})
      .same(rows(a), rows(b), {2, "n"})
      .same(rows(a), rows(x), {2, "n"})
      .same(cols(x), cols(b), {3, "nrhs"})
      .disjoint(x, a, {11, "x"}, "a")
      .disjoint(x, af, {11, "x"}, "af")
      .disjoint(x, b, {11, "x"}, "b");
  if (given(pivots))
    check.vector(pivots, {8, "ipiv"}, {8, "ipiv"}, reads).same_count(a, pivots, {8, "ipiv"}).diagonal_length(pivots, a, {8, "ipiv"});
  auto const check_error = [&](Batch<Real<T>> const& error, Argument argument) {
    if (!given(error)) return;
    check.vector(error, argument, argument, writes)
        .same_count(a, error, argument)
        .same(cols(x), rows(error), argument)
        .disjoint(error, x, argument, "x")
        .disjoint(error, a, argument, "a")
        .disjoint(error, af, argument, "af")
        .disjoint(error, b, argument, "b");
  };
  check_error(ferr, {13, "ferr"});
  check_error(berr, {14, "berr"});
  if (given(ferr) && given(berr)) check.disjoint(berr, ferr, {14, "berr"}, "ferr");
  GerfsTask<T> const task{.op = op, .a = a, .af = af, .pivots = pivots, .b = b, .x = x, .ferr = ferr, .berr = berr};
  gpu::on_gpu(queue) ? gpu::gerfs(queue, task) : cpu::gerfs(queue, task);
}

template <Element T>
void backward_error(Queue& queue, Batch<T const> a, In<T> x, In<T> b, Batch<Real<T>> berr) {
  Check("backward_error", queue)
      .matrix(a, {1, "m"}, {2, "n"}, {4, "a"}, {5, "lda"}, reads)
      .matrix(x, {2, "n"}, {3, "nrhs"}, {6, "x"}, {7, "ldx"}, reads)
      .matrix(b, {1, "m"}, {3, "nrhs"}, {8, "b"}, {9, "ldb"}, reads)
      .vector(berr, {10, "berr"}, {10, "berr"}, writes)
      .same_count(a, x, {6, "x"})
      .same_count(a, b, {8, "b"})
      .same_count(a, berr, {10, "berr"})
      .same(cols(a), rows(x), {2, "n"})
      .same(rows(a), rows(b), {1, "m"})
      .same(cols(x), cols(b), {3, "nrhs"})
      .same(cols(x), rows(berr), {10, "berr"})
      .disjoint(berr, a, {10, "berr"}, "a")
      .disjoint(berr, x, {10, "berr"}, "x")
      .disjoint(berr, b, {10, "berr"}, "b");
  BackwardErrorTask<T> const task{.a = a, .x = x, .b = b, .berr = berr};
  gpu::on_gpu(queue) ? gpu::backward_error(queue, task) : cpu::backward_error(queue, task);
}

#define MYRIAD_INSTANTIATE(T)                                                                                          \
  template void geequ<T>(Queue&, Batch<T const>, Batch<Real<T>>, Batch<Real<T>>, Real<T>*, Real<T>*, Real<T>*, int*);  \
  template void laqge<T>(Queue&, Batch<T>, Batch<Real<T> const>, Batch<Real<T> const>);                                \
  template void gerfs<T>(Queue&, Op, In<T>, In<T>, Batch<int const>, In<T>, Batch<T>, Batch<Real<T>>, Batch<Real<T>>); \
  template void backward_error<T>(Queue&, Batch<T const>, In<T>, In<T>, Batch<Real<T>>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
