#include "cholesky/cholesky.hpp"

#include "cholesky/cholesky_cpu.hpp"
#include "cholesky/cholesky_gpu.hpp"
#include "core/check.hpp"
#include "core/dtype.hpp"
#include "runtime/backend.hpp"

namespace myriad {
namespace {

Check const& check_triangle(Check const& check, Uplo uplo, UntypedBatch const& a, Argument data, Argument ld, Access access) {
  return check.uplo(uplo, 1).matrix(a, {2, "n"}, {2, "n"}, data, ld, access).same(rows(a), cols(a), {2, "n"});
}

/// A as its lower triangle.
template <typename T>
Batch<T> lower_of(Uplo uplo, Batch<T> a) {
  if (uplo == Uplo::upper) a = transposed(a);
  a.conjugated = false;
  return a;
}

/// B beside `lower_of(uplo, a)`, which is A or its conjugate.
template <typename T, typename U>
Batch<T> beside(Uplo uplo, Batch<U> const& a, Batch<T> b) {
  return (uplo == Uplo::upper) != a.conjugated ? conjugated(b) : b;
}

}  // namespace

template <Element T>
void potrf(Queue& queue, Uplo uplo, Batch<T> a, int* info) {
  check_triangle(Check("potrf", queue).info(info, 5), uplo, a, {3, "a"}, {4, "lda"}, writes);
  PotrfTask<T> const task{.a = lower_of(uplo, a), .info = info};
  gpu::on_gpu(queue) ? gpu::potrf(queue, task) : cpu::potrf(queue, task);
}

template <Element T>
void potrf_regularized(Queue& queue, Uplo uplo, Batch<T> a, Real<T> const* jitter, Real<T> const* floor, int* replaced, int* info) {
  check_triangle(Check("potrf_regularized", queue)
                     .optional(jitter, {5, "jitter"})
                     .optional(floor, {6, "floor"})
                     .optional(replaced, {7, "replaced"})
                     .info(info, 8),
                 uplo, a, {3, "a"}, {4, "lda"}, writes);
  PotrfTask<T> const task{.a = lower_of(uplo, a), .info = info, .regularization = {.jitter = jitter, .floor = floor, .replaced = replaced}};
  gpu::on_gpu(queue) ? gpu::potrf(queue, task) : cpu::potrf(queue, task);
}

template <Element T>
void posv_regularized(Queue& queue, Uplo uplo, Batch<T> a, Batch<T> b, Real<T> const* jitter, Real<T> const* floor, int* replaced,
                      int* info) {
  check_triangle(Check("posv_regularized", queue)
                     .optional(jitter, {8, "jitter"})
                     .optional(floor, {9, "floor"})
                     .optional(replaced, {10, "replaced"})
                     .info(info, 11),
                 uplo, a, {4, "a"}, {5, "lda"}, writes)
      .matrix(b, {2, "n"}, {3, "nrhs"}, {6, "b"}, {7, "ldb"}, writes)
      .same_count(a, b, {6, "b"})
      .same(rows(a), rows(b), {2, "n"})
      .disjoint(b, a, {6, "b"}, "a");
  Batch<T> const lower = lower_of(uplo, a), right = beside(uplo, a, b);
  PosvTask<T> const task{.a = lower,
                         .b = right,
                         .x = right,
                         .factor = lower,
                         .info = info,
                         .nan_where_not_definite = false,
                         .regularization = {.jitter = jitter, .floor = floor, .replaced = replaced}};
  gpu::on_gpu(queue) ? gpu::posv(queue, task) : cpu::posv(queue, task);
}

template <Element T>
void potrs(Queue& queue, Uplo uplo, In<T> a, Batch<T> b) {
  check_triangle(Check("potrs", queue), uplo, a, {4, "a"}, {5, "lda"}, reads)
      .matrix(b, {2, "n"}, {3, "nrhs"}, {6, "b"}, {7, "ldb"}, writes)
      .same_count(a, b, {6, "b"})
      .same(rows(a), rows(b), {2, "n"})
      .disjoint(b, a, {6, "b"}, "a");
  PotrsTask<T> const task{.a = lower_of(uplo, a), .b = beside(uplo, a, b)};
  gpu::on_gpu(queue) ? gpu::potrs(queue, task) : cpu::potrs(queue, task);
}

template <Element T>
void posv(Queue& queue, Uplo uplo, Batch<T> a, Batch<T> b, int* info) {
  check_triangle(Check("posv", queue).info(info, 8), uplo, a, {4, "a"}, {5, "lda"}, writes)
      .matrix(b, {2, "n"}, {3, "nrhs"}, {6, "b"}, {7, "ldb"}, writes)
      .same_count(a, b, {6, "b"})
      .same(rows(a), rows(b), {2, "n"})
      .disjoint(b, a, {6, "b"}, "a");
  Batch<T> const lower = lower_of(uplo, a), right = beside(uplo, a, b);
  PosvTask<T> const task{.a = lower, .b = right, .x = right, .factor = lower, .info = info, .nan_where_not_definite = false};
  gpu::on_gpu(queue) ? gpu::posv(queue, task) : cpu::posv(queue, task);
}

template <Element T>
void solve_positive_definite(Queue& queue, Uplo uplo, In<T> a, In<T> b, Batch<T> x, int* info) {
  check_triangle(Check("solve_positive_definite", queue).info(info, 10), uplo, a, {4, "a"}, {5, "lda"}, reads)
      .matrix(b, {2, "n"}, {3, "nrhs"}, {6, "b"}, {7, "ldb"}, reads)
      .matrix(x, {2, "n"}, {3, "nrhs"}, {8, "x"}, {9, "ldx"}, writes)
      .same_count(a, b, {6, "b"})
      .same_count(a, x, {8, "x"})
      .same(rows(a), rows(b), {2, "n"})
      .same(rows(b), rows(x), {2, "n"})
      .same(cols(b), cols(x), {3, "nrhs"})
      .disjoint(x, a, {8, "x"}, "a")
      .disjoint_or_same(x, b, {8, "x"}, "b");
  PosvTask<T> const task{
      .a = lower_of(uplo, a), .b = beside(uplo, a, b), .x = beside(uplo, a, x), .factor = {}, .info = info, .nan_where_not_definite = true};
  gpu::on_gpu(queue) ? gpu::posv(queue, task) : cpu::posv(queue, task);
}

template <Element T>
void potri(Queue& queue, Uplo uplo, Batch<T> a, int* info) {
  check_triangle(Check("potri", queue).info(info, 5), uplo, a, {3, "a"}, {4, "lda"}, writes);
  PotrfTask<T> const task{.a = lower_of(uplo, a), .info = info};
  gpu::on_gpu(queue) ? gpu::potri(queue, task) : cpu::potri(queue, task);
}

#define MYRIAD_INSTANTIATE(T)                                                                                      \
  template void potrf<T>(Queue&, Uplo, Batch<T>, int*);                                                            \
  template void potrf_regularized<T>(Queue&, Uplo, Batch<T>, Real<T> const*, Real<T> const*, int*, int*);          \
  template void potrs<T>(Queue&, Uplo, In<T>, Batch<T>);                                                           \
  template void posv<T>(Queue&, Uplo, Batch<T>, Batch<T>, int*);                                                   \
  template void posv_regularized<T>(Queue&, Uplo, Batch<T>, Batch<T>, Real<T> const*, Real<T> const*, int*, int*); \
  template void solve_positive_definite<T>(Queue&, Uplo, In<T>, In<T>, Batch<T>, int*);                            \
  template void potri<T>(Queue&, Uplo, Batch<T>, int*);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
