#include <algorithm>
#include <limits>
#include <vector>

#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "myriad/gemm.hpp"
#include "svd/svd_cpu.hpp"

namespace myriad::cpu {
namespace {

/// Column-major matrices of this thread's own, with the sizes of a ragged batch.
template <typename T>
struct OwnMatrices {
  std::vector<T> elements;
  std::vector<std::int64_t> row_sizes, col_sizes;
  Batch<T> view;

  /// Takes `count` matrices of rows(b) by cols(b), at most `most_rows` by `most_cols`.
  template <typename Rows, typename Cols>
  void resize(std::int64_t count, bool ragged, std::int64_t most_rows, std::int64_t most_cols, Rows const& rows, Cols const& cols) {
    elements.resize(static_cast<std::size_t>(count * most_rows * most_cols));
    view = batch(elements.data(), most_rows, most_cols, {.count = count});
    if (!ragged) return;
    row_sizes.clear();
    col_sizes.clear();
    for (std::int64_t b = 0; b < count; ++b) {
      row_sizes.push_back(rows(b));
      col_sizes.push_back(cols(b));
    }
    view.row_sizes = row_sizes.data();
    view.col_sizes = col_sizes.data();
  }
};

/// Copies matrix b.
template <typename T, typename From>
void copy_matrix(Batch<From> const& from, std::int64_t from_b, Batch<T> const& to, std::int64_t b) {
  for_part(Part::all, to.rows_of(b), to.cols_of(b),
           [&](auto i, auto j) { *to.at(b, i, j) = conjugate_if(from.conjugated != to.conjugated, *from.at(from_b, i, j)); });
}

}  // namespace

template <Element T>
void pinv(Queue& queue, PinvTask<T> const& task) {
  using R = Real<T>;
  std::int64_t const m = task.a.rows, n = task.a.cols, k = std::min(m, n);
  if (task.a.count > 0) check_svd_workspace<T>("pinv", {2, "n"}, SvdJob::thin, m, n);  // before memory is taken
  bool const ragged = task.a.ragged() || task.x.ragged();
  constexpr std::int64_t workspace = std::int64_t{32} << 20;
  std::int64_t const bytes = (2 * m * n + (m + n) * k + k) * static_cast<std::int64_t>(sizeof(T));
  std::int64_t const chunk = std::max<std::int64_t>(workspace / std::max<std::int64_t>(bytes, 1), 1);
  OwnMatrices<T> a, u, vt, x;
  OwnMatrices<R> s;
  std::vector<int> info;
  for (std::int64_t first = 0; first < task.a.count; first += chunk) {
    std::int64_t const count = std::min(chunk, task.a.count - first);
    auto const rows = [&](std::int64_t b) { return task.a.rows_of(first + b); };
    auto const cols = [&](std::int64_t b) { return task.a.cols_of(first + b); };
    auto const values = [&](std::int64_t b) { return std::min(rows(b), cols(b)); };
    a.resize(count, ragged, m, n, rows, cols);
    u.resize(count, ragged, m, k, rows, values);
    vt.resize(count, ragged, k, n, values, cols);
    s.resize(count, ragged, k, 1, values, [](std::int64_t) { return std::int64_t{1}; });
    x.resize(count, ragged, n, m, cols, rows);
    info.assign(static_cast<std::size_t>(count), 0);
    parallel_for(queue.threads(), count, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) copy_matrix(task.a, first + b, a.view, b);
    });
    gesvd(queue, GesvdTask<T>{.job = SvdJob::thin, .a = a.view, .s = s.view, .u = u.view, .vt = vt.view, .info = info.data()});
    // U becomes U S^+.
    parallel_for(queue.threads(), count, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        std::int64_t const size = std::max(rows(b), cols(b));
        R const relative = task.rcond < 0 ? static_cast<R>(size) * std::numeric_limits<R>::epsilon() : task.rcond;
        int rank = 0;
        for (std::int64_t i = 0; i < values(b); ++i) {
          R const value = *s.view.at(b, i, 0);
          bool const counts = value > relative * *s.view.at(b, 0, 0);
          rank += counts;
          R const factor = counts ? 1 / value : R(0);  // zero times NaN stays NaN
          for (std::int64_t r = 0; r < rows(b); ++r) *u.view.at(b, r, i) *= factor;
        }
        if (task.rank) task.rank[first + b] = rank;
        if (task.info) task.info[first + b] = info[static_cast<std::size_t>(b)];
      }
    });
    // Into own memory, since the bits of products may depend on the layout of the result.
    gemm<T>(queue, T(1), conjugate_transposed(vt.view), conjugate_transposed(u.view), T(0), x.view);
    parallel_for(queue.threads(), count, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b)
        for_part(Part::all, cols(b), rows(b),
                 [&](auto i, auto j) { *task.x.at(first + b, i, j) = conjugate_if(task.x.conjugated, *x.view.at(b, i, j)); });
    });
  }
}

#define MYRIAD_INSTANTIATE(T) template void pinv<T>(Queue&, PinvTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
