#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "myriad/gemm.hpp"
#include "svd/svd_cpu.hpp"

namespace myriad::cpu {
namespace {

/// Column-major matrices of this call's own, with the sizes of a ragged batch.
template <typename T>
struct OwnMatrices {
  std::vector<T> elements;
  std::vector<std::int64_t> row_sizes, col_sizes;
  Batch<T> view;

  /// Takes `count` matrices of rows(q) by cols(q), at most `most_rows` by `most_cols`.
  template <typename Rows, typename Cols>
  void resize(std::int64_t count, bool ragged, std::int64_t most_rows, std::int64_t most_cols, Rows const& rows, Cols const& cols) {
    elements.resize(static_cast<std::size_t>(count * most_rows * most_cols));
    view = batch(elements.data(), most_rows, most_cols, {.count = count});
    if (!ragged) return;
    row_sizes.clear();
    col_sizes.clear();
    for (std::int64_t q = 0; q < count; ++q) {
      row_sizes.push_back(rows(q));
      col_sizes.push_back(cols(q));
    }
    view.row_sizes = row_sizes.data();
    view.col_sizes = col_sizes.data();
  }
};

/// Multiplies by 2^exponent and rounds once, also where the power itself leaves the range.
template <typename R>
class PowerOfTwo {
 public:
  explicit PowerOfTwo(int exponent) : exponent_(exponent), power_(std::ldexp(R(1), exponent)), usual_(std::isnormal(power_)) {}

  R operator*(R x) const { return usual_ ? x * power_ : std::ldexp(x, exponent_); }
  std::complex<R> operator*(std::complex<R> x) const { return {*this * x.real(), *this * x.imag()}; }

 private:
  int exponent_;
  R power_;
  bool usual_;
};

/// Divides the elements of matrix p of `x` from row `row` on, in columns j to j + columns - 1, by the power of two that leaves a largest
/// part between 1 and 2. Returns its exponent: zero if all are zeros, or with NaN or infinity.
template <typename T>
int scale_to_one(Batch<T> const& x, std::int64_t p, std::int64_t j, std::int64_t columns) {
  using R = Real<T>;
  R largest = 0, sum = 0;
  auto const for_all = [&](auto const& use) {
    for_part(Part::all, x.rows_of(p), columns, [&](auto i, auto l) { use(*x.at(p, i, j + l)); });
  };
  for_all([&](T const& element) {
    for (R const part : {std::abs(std::real(element)), std::abs(std::imag(element))}) {
      largest = std::max(largest, part);
      sum += part * 0;
    }
  });
  if (largest == 0 || sum != 0) return 0;
  int const exponent = std::ilogb(largest);
  PowerOfTwo<R> const scale(-exponent);
  if (exponent != 0) for_all([&](T& element) { element = scale * element; });
  return exponent;
}

/// Copies the first rows of matrix q of `from` to matrix `p` of `to`.
template <typename T>
void load(Batch<T const> const& from, std::int64_t q, Batch<T> const& to, std::int64_t p) {
  for_part(Part::all, to.rows_of(p), to.cols_of(p),
           [&](auto i, auto j) { *to.at(p, i, j) = conjugate_if(from.conjugated, *from.at(q, i, j)); });
}

/// Workspace for some matrices at a time.
template <typename T>
struct BySvdMemory {
  OwnMatrices<T> a, b, u, vt, products, quotients, x;
  OwnMatrices<Real<T>> s;
  std::vector<int> of_a, of_b, info;  ///< exponents of the scales, of B one per column; info of gesvd
};

/// Singular values, rank, condition number and norm of matrix q of the task, which is matrix p in `memory`.
template <typename T>
void numbers_of(BySvdTask<T> const& task, std::int64_t q, BySvdMemory<T>& memory, std::int64_t p) {
  using R = Real<T>;
  std::int64_t const m = task.a.rows_of(q), n = task.a.cols_of(q), k = std::min(m, n);
  int const exponent = memory.of_a[static_cast<std::size_t>(p)];
  auto const value = [&](std::int64_t i) { return *memory.s.view.at(p, i, 0); };
  R const relative = task.cutoff.relative_of(static_cast<int>(m), static_cast<int>(n)), back = std::ldexp(R(1), exponent);
  int rank = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    rank += SvdCutoff<R>::counts(value(i), value(0), back, relative, task.cutoff.absolute);
    if (task.has_s()) *task.s.at(q, i, 0) = std::ldexp(value(i), exponent);
  }
  if (task.rank) task.rank[q] = rank;
  if (task.norm2) task.norm2[q] = k == 0 ? R(0) : std::ldexp(value(0), exponent);
  if (task.cond)
    task.cond[q] = k == 0 ? R(0) : value(k - 1) == 0 ? std::numeric_limits<R>::infinity() : value(0) / value(k - 1);  // NaN stays NaN
  if (task.info) task.info[q] = memory.info[static_cast<std::size_t>(p)];
}

/// diag(1 / s) times `products`, without the singular values that do not count.
template <typename T>
void divide(BySvdTask<T> const& task, std::int64_t q, BySvdMemory<T>& memory, std::int64_t p, Batch<T> const& products,
            Batch<T> const& quotients) {
  using R = Real<T>;
  std::int64_t const m = task.a.rows_of(q), n = task.a.cols_of(q);
  R const relative = task.cutoff.relative_of(static_cast<int>(m), static_cast<int>(n));
  R const back = std::ldexp(R(1), memory.of_a[static_cast<std::size_t>(p)]), divisor_scale = SvdCutoff<R>::divisor_scale(relative);
  for_part(Part::all, products.rows_of(p), products.cols_of(p), [&](auto i, auto j) {
    R const value = *memory.s.view.at(p, i, 0), largest = *memory.s.view.at(p, 0, 0);
    T &product = *products.at(p, i, j), &to = *quotients.at(p, i, j);
    if (SvdCutoff<R>::counts(value, largest, back, relative, task.cutoff.absolute))
      to = product / (divisor_scale * value);
    else
      to = product = product - product;  // NaN stays NaN
  });
}

/// Writes X and the residuals.
template <typename T>
void write(BySvdTask<T> const& task, std::int64_t q, BySvdMemory<T>& memory, std::int64_t p) {
  using R = Real<T>;
  std::int64_t const m = task.a.rows_of(q), n = task.a.cols_of(q), columns = memory.x.view.cols_of(p);
  if (n == 0) return;
  R const relative = task.cutoff.relative_of(static_cast<int>(m), static_cast<int>(n));
  int const of_a = std::ilogb(SvdCutoff<R>::divisor_scale(relative)) - memory.of_a[static_cast<std::size_t>(p)];
  for (std::int64_t j = 0; j < columns; ++j) {
    int const of_b = task.has_b() ? memory.of_b[static_cast<std::size_t>(p * memory.x.view.cols + j)] : 0;
    PowerOfTwo<R> const scale(of_b + of_a);
    for (std::int64_t i = 0; i < n; ++i)
      *task.x.at(q, i, j) = conjugate_if(task.x.conjugated, m > 0 ? scale * *memory.x.view.at(p, i, j) : T(0));
    if (!task.residuals || m <= n) continue;
    int const of_residual = scale_to_one(memory.b.view, p, j, 1);  // squares could underflow
    R sum = 0;
    for (std::int64_t i = 0; i < m; ++i) sum += std::norm(*memory.b.view.at(p, i, j));
    for (std::int64_t i = n; i < m; ++i) *task.x.at(q, i, j) = T(i == n ? std::ldexp(std::sqrt(sum), of_b + of_residual) : R(0));
  }
}

}  // namespace

template <Element T>
void by_svd(Queue& queue, BySvdTask<T> const& task) {
  std::int64_t const m = task.a.rows, n = task.a.cols, k = std::min(m, n);
  std::int64_t const columns = !task.solves() ? 0 : task.has_b() ? task.b.cols : m;
  SvdJob const job = task.solves() ? SvdJob::thin : SvdJob::values;
  if (task.a.count > 0) check_svd_workspace<T>(task.routine, {task.n_position, "n"}, job, m, n);  // before memory is taken
  bool const ragged = task.a.ragged() || task.x.ragged();
  constexpr std::int64_t workspace = std::int64_t{32} << 20;
  std::int64_t const elements = m * n + k + (task.solves() ? (m + n) * k + n * columns : 0) + (task.has_b() ? (m + 2 * k) * columns : 0);
  std::int64_t const chunk = std::max<std::int64_t>(workspace / std::max<std::int64_t>(elements * std::int64_t{sizeof(T)}, 1), 1);
  BySvdMemory<T> memory;
  for (std::int64_t first = 0; first < task.a.count; first += chunk) {
    std::int64_t const count = std::min(chunk, task.a.count - first);
    auto const rows = [&](std::int64_t p) { return task.a.rows_of(first + p); };
    auto const cols = [&](std::int64_t p) { return task.a.cols_of(first + p); };
    auto const values = [&](std::int64_t p) { return std::min(rows(p), cols(p)); };
    auto const sides = [&](std::int64_t p) { return task.has_b() ? task.b.cols_of(first + p) : rows(p); };
    auto const for_each = [&](auto const& work) {
      parallel_for(queue.threads(), count, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p) work(p);
      });
    };
    memory.a.resize(count, ragged, m, n, rows, cols);
    memory.s.resize(count, ragged, k, 1, values, [](std::int64_t) { return std::int64_t{1}; });
    memory.of_a.assign(static_cast<std::size_t>(count), 0);
    memory.info.assign(static_cast<std::size_t>(count), 0);
    if (task.solves()) {
      memory.u.resize(count, ragged, m, k, rows, values);
      memory.vt.resize(count, ragged, k, n, values, cols);
      memory.x.resize(count, ragged, n, columns, cols, sides);
    }
    if (task.has_b()) {
      memory.of_b.assign(static_cast<std::size_t>(count * columns), 0);
      memory.b.resize(count, ragged, m, columns, rows, sides);
      memory.products.resize(count, ragged, k, columns, values, sides);
      memory.quotients.resize(count, ragged, k, columns, values, sides);
    }
    for_each([&](std::int64_t p) {
      load<T>(task.a, first + p, memory.a.view, p);
      memory.of_a[static_cast<std::size_t>(p)] = scale_to_one(memory.a.view, p, 0, cols(p));
      if (!task.has_b()) return;
      load<T>(task.b, first + p, memory.b.view, p);
      for (std::int64_t j = 0; j < sides(p); ++j)
        memory.of_b[static_cast<std::size_t>(p * columns + j)] = scale_to_one(memory.b.view, p, j, 1);
    });
    GesvdTask<T> decomposed{.job = job, .a = memory.a.view, .s = memory.s.view, .u = {}, .vt = {}, .info = memory.info.data()};
    decomposed.u.count = decomposed.vt.count = count;
    if (task.solves()) decomposed.u = memory.u.view, decomposed.vt = memory.vt.view;
    gesvd(queue, decomposed);
    Batch<T> const uh = conjugate_transposed(memory.u.view);
    Batch<T> const products = task.has_b() ? memory.products.view : uh, quotients = task.has_b() ? memory.quotients.view : uh;
    if (task.has_b() && columns > 0) gemm<T>(queue, T(1), uh, memory.b.view, T(0), products);
    for_each([&](std::int64_t p) {
      numbers_of(task, first + p, memory, p);
      if (task.solves()) divide(task, first + p, memory, p, products, quotients);
    });
    if (!task.solves() || columns == 0) continue;
    // Into own memory, since the bits of products may depend on the layout of the result.
    gemm<T>(queue, T(1), conjugate_transposed(memory.vt.view), quotients, T(0), memory.x.view);
    if (task.residuals && (ragged || m > n)) gemm<T>(queue, T(-1), memory.u.view, products, T(1), memory.b.view);
    for_each([&](std::int64_t p) { write(task, first + p, memory, p); });
  }
}

#define MYRIAD_INSTANTIATE(T) template void by_svd<T>(Queue&, BySvdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
