#include "gemm/gemm_cpu.hpp"

#include <algorithm>
#include <vector>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "simd/group.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// An input of BLAS: op(data) with leading dimension ld.
template <typename T>
struct BlasInput {
  Op op;
  T const* data;
  Int ld;

  /// Takes matrix b in place if BLAS has an op for its layout, else copies it to `scratch`.
  BlasInput(Batch<T const> const& batch, std::int64_t b, Scratch<T>& scratch) {
    std::int64_t const m = batch.rows_of(b), n = batch.cols_of(b);
    std::int64_t const rs = batch.row_stride_of(b), cs = batch.col_stride_of(b);
    bool const column_major = (rs == 1 || m == 1) && (cs >= m || n == 1);
    if (cs == 1 && rs >= n && !(column_major && !batch.conjugated)) {
      op = batch.conjugated ? Op::conjugate_transpose : Op::transpose;
      data = batch.matrix(b);
      ld = static_cast<Int>(rs);
      if (!may_be_read_beyond(data, n, m, rs)) {
        LocalMatrix<T const> const local(transposed(batch.conjugated ? conjugated(batch) : batch), b, scratch);
        data = local.data();
        ld = local.ld();
      }
    } else {
      LocalMatrix<T const> const local(batch, b, scratch);
      op = Op::none;
      data = local.data();
      ld = local.ld();
    }
  }
};

/// C = beta C for one matrix.
template <Element T>
void scale(T beta, Batch<T> const& c, std::int64_t b) {
  T* const data = c.matrix(b);
  std::int64_t const rs = c.row_stride_of(b), cs = c.col_stride_of(b);
  for_part(Part::all, c.rows_of(b), c.cols_of(b), [&](auto i, auto j) {
    T& x = data[i * rs + j * cs];
    x = beta == T(0) ? T(0) : beta * x;
  });
}

template <Element T>
void gemm_by_blas(GemmTask<T> const& task, std::int64_t q) {
  if (task.c.rows_of(q) == 0 || task.c.cols_of(q) == 0) return;
  if (task.alpha == T(0) || task.a.cols_of(q) == 0) {
    scale<T>(task.beta, task.c, q);
    return;
  }
  // A row-major C is computed as the transposed product.
  bool const flip = task.c.row_stride_of(q) != 1 && task.c.col_stride_of(q) == 1;
  Scratch<T> scratch_a, scratch_b, scratch_c;
  BlasInput<T> const a(flip ? transposed(task.b) : task.a, q, scratch_a);
  BlasInput<T> const b(flip ? transposed(task.a) : task.b, q, scratch_b);
  LocalMatrix<T> const c(flip ? transposed(task.c) : task.c, q, scratch_c);
  lapack::gemm<T>(a.op, b.op, c.rows(), c.cols(), static_cast<Int>(task.a.cols_of(q)), task.alpha, a.data, a.ld, b.data, b.ld, task.beta,
                  c.data(), c.ld());
  c.store();
}

}  // namespace

template <Element T>
void gemm_range(GemmTask<T> const& task, std::int64_t begin, std::int64_t end) {
  bool const same = uniform(task.a) && uniform(task.b) && uniform(task.c);
  if (!same || gemm_is_small(task, begin)) gemm_small(task, begin, end);
  for (std::int64_t q = begin; q < end; ++q)
    if (!gemm_is_small(task, q)) gemm_by_blas<T>(task, q);
}

namespace {

/// Number of matrices that a thread takes at a time.
template <Element T>
std::int64_t grain_of(GemmTask<T> const& task) {
  std::int64_t const m = task.c.rows, n = task.c.cols, k = task.a.cols;
  // Enough work to hide the hand-out; whole groups of lanes and, where matrices are small, whole cache lines.
  std::int64_t const fair = 65536 / (m * n + k * (m + n));
  bool const grouped = is_interleaved(task) || fair > max_lanes;
  return grouped ? std::clamp<std::int64_t>(fair / max_lanes, 1, 256) * max_lanes : std::max<std::int64_t>(fair, 1);
}

}  // namespace

template <Element T>
void gemm(Queue& queue, GemmTask<T> const& task) {
  parallel_for(queue.threads(), task.c.count, grain_of(task), [&](std::int64_t begin, std::int64_t end) { gemm_range(task, begin, end); });
}

template <Element T>
void gemm_grouped(Queue& queue, std::span<GemmTask<T> const> tasks) {
  std::vector<std::int64_t> starts{0};  // number of each batch's first piece
  for (GemmTask<T> const& task : tasks) starts.push_back(starts.back() + (task.c.count + grain_of(task) - 1) / grain_of(task));
  parallel_for(queue.threads(), starts.back(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      auto const g = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), piece) - starts.begin() - 1);
      std::int64_t const grain = grain_of(tasks[g]), first = (piece - starts[g]) * grain;
      gemm_range(tasks[g], first, std::min(first + grain, tasks[g].c.count));
    }
  });
}

#define MYRIAD_INSTANTIATE(T)                                          \
  template void gemm<T>(Queue&, GemmTask<T> const&);                   \
  template void gemm_grouped<T>(Queue&, std::span<GemmTask<T> const>); \
  template void gemm_range<T>(GemmTask<T> const&, std::int64_t, std::int64_t);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
