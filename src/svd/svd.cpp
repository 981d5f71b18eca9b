#include "svd/svd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "runtime/backend.hpp"
#include "svd/svd_cpu.hpp"
#include "svd/svd_gpu.hpp"

namespace myriad {
namespace {

/// U needs as many columns, or V^H as many rows, as `job` asks for: k = min(m, n), or with SvdJob::full all.
void check_vectors(Check const& check, SvdJob job, UntypedBatch const& a, UntypedBatch const& x, bool left, Argument argument) {
  auto const each = [&](std::int64_t b) {
    std::int64_t const m = b < 0 ? a.shape.rows : a.shape.rows_of(b), n = b < 0 ? a.shape.cols : a.shape.cols_of(b);
    std::int64_t const rows = b < 0 ? x.shape.rows : x.shape.rows_of(b), cols = b < 0 ? x.shape.cols : x.shape.cols_of(b);
    std::int64_t const k = job == SvdJob::full ? left ? m : n : std::min(m, n);
    std::int64_t const needed_rows = left ? m : k, needed_cols = left ? k : n;
    if (rows != needed_rows || cols != needed_cols)
      check.require(false, argument,
                    fmt::format("is {} by {}{}; it needs {} by {}", rows, cols, b < 0 ? "" : fmt::format(" in matrix {}", b), needed_rows,
                                needed_cols));
  };
  each(-1);
  for (std::int64_t b = 0; (a.shape.ragged() || x.shape.ragged()) && check.arrays_readable() && b < a.shape.count; ++b) each(b);
}

/// gesvd, or with `relative` gejsv
template <typename T>
void decompose(char const* routine, bool relative, Queue& queue, SvdJob job, Batch<T> a, Batch<Real<T>> s, Batch<T> u, Batch<T> vt,
               int* info) {
  Check check(routine, queue);
  check.info(info, 14)
      .require(job == SvdJob::values || wants_u(job) || wants_vt(job), {1, "jobz"}, "must be values, thin, full, left or right")
      .matrix(a, {2, "m"}, {3, "n"}, {4, "a"}, {5, "lda"}, Access::write)
      .vector(s, {6, "s"}, {6, "s"}, Access::write)
      .same_count(a, s, {6, "s"})
      .diagonal_length(s, a, {6, "s"})
      .disjoint(s, a, {6, "s"}, "a");
  if (wants_u(job)) {
    check.matrix(u, {7, "u"}, {7, "u"}, {7, "u"}, {8, "ldu"}, Access::write).same_count(a, u, {7, "u"});
    check_vectors(check, job, a, u, true, {7, "u"});
    check.disjoint(u, a, {7, "u"}, "a").disjoint(u, s, {7, "u"}, "s");
  }
  if (wants_vt(job)) {
    check.matrix(vt, {9, "vt"}, {9, "vt"}, {9, "vt"}, {10, "ldvt"}, Access::write).same_count(a, vt, {9, "vt"});
    check_vectors(check, job, a, vt, false, {9, "vt"});
    check.disjoint(vt, a, {9, "vt"}, "a").disjoint(vt, s, {9, "vt"}, "s");
    if (wants_u(job)) check.disjoint(vt, u, {9, "vt"}, "u");
  }
  Batch<T> const none{.count = a.count};
  GesvdTask<T> const task{
      .job = job, .a = a, .s = s, .u = wants_u(job) ? u : none, .vt = wants_vt(job) ? vt : none, .info = info, .relative = relative};
  gpu::on_gpu(queue) ? gpu::gesvd(queue, task) : cpu::gesvd(queue, task);
}

}  // namespace

template <Element T>
void gesvd(Queue& queue, SvdJob job, Batch<T> a, Batch<Real<T>> s, Batch<T> u, Batch<T> vt, int* info) {
  decompose<T>("gesvd", false, queue, job, a, s, u, vt, info);
}
template <Element T>
void gejsv(Queue& queue, SvdJob job, Batch<T> a, Batch<Real<T>> s, Batch<T> u, Batch<T> vt, int* info) {
  decompose<T>("gejsv", true, queue, job, a, s, u, vt, info);
}

namespace {

template <typename R>
constexpr R eps = std::numeric_limits<R>::epsilon();

template <typename T>
void by_svd(Queue& queue, BySvdTask<T> const& task) {
  gpu::on_gpu(queue) ? gpu::by_svd(queue, task) : cpu::by_svd(queue, task);
}

/// A routine of the singular values alone: positions are m 1, n 2, a 3, lda 4.
template <typename T>
Check check_values(char const* routine, Queue const& queue, Batch<T const> const& a, int const* info, int info_position) {
  Check check(routine, queue);
  check.info(info, info_position).matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, Access::read);
  return check;
}

}  // namespace

template <Element T>
void pinv(Queue& queue, In<T> a, Real<T> rcond, Batch<T> x, int* rank, int* info) {
  using R = Real<T>;
  Check("pinv", queue)
      .info(info, 9)
      .optional(rank, {8, "rank"})
      .require(rcond == rcond, {5, "rcond"}, "is NaN")
      .matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, Access::read)
      .matrix(x, {2, "n"}, {1, "m"}, {6, "x"}, {7, "ldx"}, Access::write)
      .same_count(a, x, {6, "x"})
      .same(rows(a), cols(x), {1, "m"})
      .same(cols(a), rows(x), {2, "n"})
      .disjoint(x, a, {6, "x"}, "a");
  SvdCutoff<R> const cutoff{.absolute = 0, .relative = std::max(rcond, R(0)), .per_size = rcond < 0 ? eps<R> : R(0)};
  by_svd<T>(queue, {.routine = "pinv", .n_position = 2, .a = a, .x = x, .cutoff = cutoff, .rank = rank, .info = info});
}

template <Element T>
void gelsd(Queue& queue, Batch<T> a, Batch<T> b, Batch<Real<T>> s, Real<T> rcond, int* rank, int* info) {
  using R = Real<T>;
  Check check("gelsd", queue);
  check.info(info, 14)
      .optional(rank, {10, "rank"})
      .require(rcond == rcond, {9, "rcond"}, "is NaN")
      .matrix(a, {1, "m"}, {2, "n"}, {4, "a"}, {5, "lda"}, Access::write)
      .matrix(b, {6, "b"}, {3, "nrhs"}, {6, "b"}, {7, "ldb"}, Access::write)
      .same_count(a, b, {6, "b"});
  check.right_sides(b, a, {6, "b"}).disjoint(b, a, {6, "b"}, "a");
  if (s.data || s.pointers)
    check.vector(s, {8, "s"}, {8, "s"}, Access::write)
        .same_count(a, s, {8, "s"})
        .diagonal_length(s, a, {8, "s"})
        .disjoint(s, a, {8, "s"}, "a")
        .disjoint(s, b, {8, "s"}, "b");
  SvdCutoff<R> const cutoff{.absolute = 0, .relative = rcond < 0 ? eps<R> / 2 : rcond, .per_size = 0};
  by_svd<T>(queue, {.routine = "gelsd",
                    .n_position = 2,
                    .a = a,
                    .b = b,
                    .x = b,
                    .s = s,
                    .cutoff = cutoff,
                    .rank = rank,
                    .residuals = true,
                    .info = info});
}

template <Element T>
void matrix_rank(Queue& queue, In<T> a, Real<T> atol, Real<T> rtol, int* rank, int* info) {
  using R = Real<T>;
  check_values("matrix_rank", queue, a, info, 8)
      .require(atol >= 0, {5, "atol"}, "must not be negative or NaN")
      .require(rtol == rtol, {6, "rtol"}, "is NaN")
      .numbers(rank, a.count, {7, "rank"});
  SvdCutoff<R> const cutoff{.absolute = atol, .relative = std::max(rtol, R(0)), .per_size = rtol < 0 && atol == 0 ? eps<R> : R(0)};
  by_svd<T>(queue, {.routine = "matrix_rank", .n_position = 2, .a = a, .cutoff = cutoff, .rank = rank, .info = info});
}

template <Element T>
void cond(Queue& queue, In<T> a, Real<T>* condition, int* info) {
  check_values("cond", queue, a, info, 6).numbers(condition, a.count, {5, "cond"});
  by_svd<T>(queue, {.routine = "cond", .n_position = 2, .a = a, .cond = condition, .info = info});
}

template <Element T>
void norm2(Queue& queue, In<T> a, Real<T>* norm, int* info) {
  check_values("norm2", queue, a, info, 6).numbers(norm, a.count, {5, "norm"});
  by_svd<T>(queue, {.routine = "norm2", .n_position = 2, .a = a, .norm2 = norm, .info = info});
}

#define MYRIAD_INSTANTIATE(T)                                                                 \
  template void gesvd<T>(Queue&, SvdJob, Batch<T>, Batch<Real<T>>, Batch<T>, Batch<T>, int*); \
  template void gejsv<T>(Queue&, SvdJob, Batch<T>, Batch<Real<T>>, Batch<T>, Batch<T>, int*); \
  template void pinv<T>(Queue&, In<T>, Real<T>, Batch<T>, int*, int*);                        \
  template void gelsd<T>(Queue&, Batch<T>, Batch<T>, Batch<Real<T>>, Real<T>, int*, int*);    \
  template void matrix_rank<T>(Queue&, In<T>, Real<T>, Real<T>, int*, int*);                  \
  template void cond<T>(Queue&, In<T>, Real<T>*, int*);                                       \
  template void norm2<T>(Queue&, In<T>, Real<T>*, int*);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
