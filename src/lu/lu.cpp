#include "lu/lu.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "lu/lu_cpu.hpp"
#include "lu/lu_gpu.hpp"
#include "runtime/backend.hpp"

namespace myriad {
template <Element T>
void getrf(Queue& queue, Batch<T> a, Batch<int> pivots, int* info) {
  Check("getrf", queue)
      .info(info, 6)
      .matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, writes)
      .vector(pivots, {5, "ipiv"}, {5, "ipiv"}, writes)
      .same_count(a, pivots, {5, "ipiv"})
      .diagonal_length(pivots, a, {5, "ipiv"})
      .disjoint(pivots, a, {5, "ipiv"}, "a");
  GetrfTask<T> const task{.a = a, .pivots = pivots, .info = info, .pivoting = true};
  gpu::on_gpu(queue) ? gpu::getrf(queue, task) : cpu::getrf(queue, task);
}

template <Element T>
void getrf_nopiv(Queue& queue, Batch<T> a, int* info) {
  Check("getrf_nopiv", queue).info(info, 5).matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, writes);
  GetrfTask<T> const task{.a = a, .pivots = {}, .info = info, .pivoting = false};
  gpu::on_gpu(queue) ? gpu::getrf(queue, task) : cpu::getrf(queue, task);
}

template <Element T>
void getrs(Queue& queue, Op op, In<T> a, Batch<int const> pivots, Batch<T> b) {
  Check check("getrs", queue);
  check
      .require(op == Op::none || op == Op::transpose || op == Op::conjugate_transpose, {1, "trans"},
               "must be none, transpose or conjugate_transpose")
      .matrix(b, {2, "n"}, {3, "nrhs"}, {7, "b"}, {8, "ldb"}, writes)
      .matrix(a, {2, "n"}, {2, "n"}, {4, "a"}, {5, "lda"}, reads)
      .same(rows(a), cols(a), {2, "n"})
      .same_count(a, b, {7, "b"})
      .same(rows(a), rows(b), {2, "n"})
      .disjoint(b, a, {7, "b"}, "a");
  if (given(pivots))
    check.vector(pivots, {6, "ipiv"}, {6, "ipiv"}, reads).same_count(a, pivots, {6, "ipiv"}).diagonal_length(pivots, a, {6, "ipiv"});
  GetrsTask<T> const task{.op = op, .a = a, .pivots = pivots, .b = b};
  gpu::on_gpu(queue) ? gpu::getrs(queue, task) : cpu::getrs(queue, task);
}

template <Element T>
void gesv(Queue& queue, Batch<T> a, Batch<int> pivots, Batch<T> b, int* info) {
  Check check("gesv", queue);
  check.info(info, 8)
      .matrix(a, {1, "n"}, {1, "n"}, {3, "a"}, {4, "lda"}, writes)
      .same(rows(a), cols(a), {1, "n"})
      .matrix(b, {1, "n"}, {2, "nrhs"}, {6, "b"}, {7, "ldb"}, writes)
      .same_count(a, b, {6, "b"})
      .same(rows(a), rows(b), {1, "n"})
      .disjoint(b, a, {6, "b"}, "a");
  if (given(pivots))
    check.vector(pivots, {5, "ipiv"}, {5, "ipiv"}, writes)
        .same_count(a, pivots, {5, "ipiv"})
        .diagonal_length(pivots, a, {5, "ipiv"})
        .disjoint(pivots, a, {5, "ipiv"}, "a")
        .disjoint(pivots, b, {5, "ipiv"}, "b");
  GesvTask<T> const task{.a = a, .b = b, .x = b, .factors = a, .pivots = pivots, .info = info, .nan_where_singular = false};
  gpu::on_gpu(queue) ? gpu::gesv(queue, task) : cpu::gesv(queue, task);
}

template <Element T>
void solve(Queue& queue, In<T> a, In<T> b, Batch<T> x, int* info) {
  Check("solve", queue)
      .info(info, 9)
      .matrix(a, {1, "n"}, {1, "n"}, {3, "a"}, {4, "lda"}, reads)
      .same(rows(a), cols(a), {1, "n"})
      .matrix(b, {1, "n"}, {2, "nrhs"}, {5, "b"}, {6, "ldb"}, reads)
      .matrix(x, {1, "n"}, {2, "nrhs"}, {7, "x"}, {8, "ldx"}, writes)
      .same_count(a, b, {5, "b"})
      .same_count(a, x, {7, "x"})
      .same(rows(a), rows(b), {1, "n"})
      .same(rows(b), rows(x), {1, "n"})
      .same(cols(b), cols(x), {2, "nrhs"})
      .disjoint(x, a, {7, "x"}, "a")
      .disjoint_or_same(x, b, {7, "x"}, "b");
  GesvTask<T> const task{.a = a, .b = b, .x = x, .factors = {}, .pivots = {}, .info = info, .nan_where_singular = true};
  gpu::on_gpu(queue) ? gpu::gesv(queue, task) : cpu::gesv(queue, task);
}

template <Element T>
void getri(Queue& queue, Batch<T> a, Batch<int const> pivots, int* info) {
  Check check("getri", queue);
  check.info(info, 5).matrix(a, {1, "n"}, {1, "n"}, {2, "a"}, {3, "lda"}, writes).same(rows(a), cols(a), {1, "n"});
  if (given(pivots))
    check.vector(pivots, {4, "ipiv"}, {4, "ipiv"}, reads).same_count(a, pivots, {4, "ipiv"}).diagonal_length(pivots, a, {4, "ipiv"});
  InverseTask<T> const task{.a = a, .pivots = pivots, .x = a, .info = info, .factor = false};
  gpu::on_gpu(queue) ? gpu::inverse(queue, task) : cpu::inverse(queue, task);
}

template <Element T>
void inverse(Queue& queue, In<T> a, Batch<T> x, int* info) {
  Check("inverse", queue)
      .info(info, 6)
      .matrix(a, {1, "n"}, {1, "n"}, {2, "a"}, {3, "lda"}, reads)
      .same(rows(a), cols(a), {1, "n"})
      .matrix(x, {1, "n"}, {1, "n"}, {4, "x"}, {5, "ldx"}, writes)
      .same_count(a, x, {4, "x"})
      .same(rows(a), rows(x), {1, "n"})
      .same(cols(a), cols(x), {1, "n"})
      .disjoint_or_same(x, a, {4, "x"}, "a");
  InverseTask<T> const task{.a = a, .pivots = {}, .x = x, .info = info, .factor = true};
  gpu::on_gpu(queue) ? gpu::inverse(queue, task) : cpu::inverse(queue, task);
}

template <Element T>
void det(Queue& queue, In<T> a, T* determinant) {
  Check("det", queue)
      .matrix(a, {1, "n"}, {1, "n"}, {2, "a"}, {3, "lda"}, reads)
      .same(rows(a), cols(a), {1, "n"})
      .numbers(determinant, a.count, {4, "det"});
  DetTask<T> const task{.a = a, .sign_or_det = determinant, .logabs = nullptr};
  gpu::on_gpu(queue) ? gpu::det(queue, task) : cpu::det(queue, task);
}

template <Element T>
void logdet(Queue& queue, In<T> a, T* sign, Real<T>* logabs) {
  Check("logdet", queue)
      .matrix(a, {1, "n"}, {1, "n"}, {2, "a"}, {3, "lda"}, reads)
      .same(rows(a), cols(a), {1, "n"})
      .numbers(sign, a.count, {4, "sign"})
      .numbers(logabs, a.count, {5, "logabs"});
  DetTask<T> const task{.a = a, .sign_or_det = sign, .logabs = logabs};
  gpu::on_gpu(queue) ? gpu::det(queue, task) : cpu::det(queue, task);
}

#define MYRIAD_INSTANTIATE(T)                                            \
  template void getrf<T>(Queue&, Batch<T>, Batch<int>, int*);            \
  template void getrf_nopiv<T>(Queue&, Batch<T>, int*);                  \
  template void getrs<T>(Queue&, Op, In<T>, Batch<int const>, Batch<T>); \
  template void gesv<T>(Queue&, Batch<T>, Batch<int>, Batch<T>, int*);   \
  template void solve<T>(Queue&, In<T>, In<T>, Batch<T>, int*);          \
  template void getri<T>(Queue&, Batch<T>, Batch<int const>, int*);      \
  template void inverse<T>(Queue&, In<T>, Batch<T>, int*);               \
  template void det<T>(Queue&, In<T>, T*);                               \
  template void logdet<T>(Queue&, In<T>, T*, Real<T>*);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
