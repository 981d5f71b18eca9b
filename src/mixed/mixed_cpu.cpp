#include "mixed/mixed_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "blocked/arena.hpp"
#include "cholesky/cholesky_cpu.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "core/scalar.hpp"
#include "lu/lu_cpu.hpp"
#include "simd/group.hpp"

namespace myriad::cpu {
namespace {

/// z - x y, with x conjugated or not. std::complex would look for infinities.
template <typename T>
T subtract_product(T z, T x, T y) {
  if constexpr (is_complex<T>)
    return {z.real() - (x.real() * y.real() - x.imag() * y.imag()), z.imag() - (x.real() * y.imag() + x.imag() * y.real())};
  else
    return z - x * y;
}

template <typename S, typename T>
S rounded(T x) {
  if constexpr (is_complex<T>)
    return S(static_cast<float>(x.real()), static_cast<float>(x.imag()));
  else
    return static_cast<S>(x);
}

/// Whether x becomes infinite in single precision.
template <typename T>
bool overflows(T x) {
  constexpr double most = std::numeric_limits<float>::max();
  return std::abs(std::real(x)) > most || std::abs(std::imag(x)) > most;
}

/// Solves by factors in double, as gesv or posv; X of a matrix without a solution becomes NaN.
template <typename T>
void solve_plainly(Queue& queue, bool hermitian, Batch<T> const& a, Batch<int> const& pivots, Batch<T> const& x, int* info) {
  if (hermitian)
    posv(queue, PosvTask<T>{.a = a, .b = x, .x = x, .factor = a, .info = info, .nan_where_not_definite = false});
  else
    gesv(queue, GesvTask<T>{.a = a, .b = x, .x = x, .factors = a, .pivots = pivots, .info = info, .nan_where_singular = false});
  for (std::int64_t b = 0; b < x.count; ++b)
    if (info[b] != 0) fill_with_nan(x, b);
}

/// X = B, unless they are the same.
template <typename T>
void copy(Batch<T const> const& b, Batch<T> const& x, std::int64_t k) {
  for_part(Part::all, x.rows_of(k), x.cols_of(k),
           [&](auto i, auto j) { *x.at(k, i, j) = conjugate_if(b.conjugated != x.conjugated, *b.at(k, i, j)); });
}

/// Some matrices of a batch in double precision.
template <typename T>
class Mixed {
  using R = Real<T>;
  using S = SingleOf<T>;

 public:
  Mixed(Queue& queue, MixedTask<T> const& task)
      : queue_(queue),
        task_(task),
        stride_((task.a.rows * task.a.rows + 15) / 16 * 16),
        single_(static_cast<std::size_t>(stride_ * task.a.count)),
        y_(static_cast<std::size_t>(task.x.rows * task.x.cols * task.a.count)),
        x_(y_.size()),
        r_(y_.size()),
        enough_(per_matrix()),
        iter_(per_matrix()),
        info_(per_matrix()),
        pivots_(has_pivots() ? 0 : static_cast<std::size_t>(task.a.rows * task.a.count)) {
    for (auto* sizes : {&rows_, &columns_, &a_rows_, &a_columns_, &x_rows_, &x_columns_}) sizes->resize(per_matrix());
  }

  void solve() {
    Batch<S> single = batch(single_.data(), task_.a.rows, task_.a.rows, {.stride = stride_, .count = task_.a.count});
    Batch<S> y = batch(y_.data(), task_.x.rows, task_.x.cols, {.count = task_.a.count});
    Batch<int> const pivots = has_pivots() ? task_.pivots : vectors(pivots_.data(), task_.a.rows, task_.a.count);
    single.row_sizes = single.col_sizes = y.row_sizes = rows_.data();
    y.col_sizes = columns_.data();
    for_all([&](std::int64_t b) { begin(b); });
    if (task_.hermitian)
      potrf(queue_, PotrfTask<S>{.a = single, .info = info_.data()});
    else
      getrf(queue_, GetrfTask<S>{.a = single, .pivots = pivots, .info = info_.data(), .pivoting = true});
    for_all([&](std::int64_t b) {
      if (iter_[at(b)] == mixed_is_active && info_[at(b)] != 0) iter_[at(b)] = mixed_is_singular;
    });
    for (int round = 0; refines(); ++round) {
      if (task_.hermitian)
        potrs(queue_, PotrsTask<S>{.a = single, .b = y});
      else
        getrs(queue_, GetrsTask<S>{.op = Op::none, .a = single, .pivots = pivots, .b = y});
      for_all([&](std::int64_t b) {
        if (iter_[at(b)] == mixed_is_active) correct(b, round);
      });
    }
    bool falls_back = false;
    for (int const iter : iter_) falls_back = falls_back || iter < 0;
    for_all([&](std::int64_t b) { finish(b); });
    if (falls_back) {
      Batch<T> a = task_.a, x = task_.x;
      a.row_sizes = a_rows_.data(), a.col_sizes = a_columns_.data();
      x.row_sizes = x_rows_.data(), x.col_sizes = x_columns_.data();
      solve_plainly(queue_, task_.hermitian, a, task_.pivots, x, info_.data());
    }
    for (std::size_t b = 0; b < iter_.size(); ++b) {
      if (task_.iter) task_.iter[b] = iter_[b];
      if (task_.info) task_.info[b] = iter_[b] < 0 ? info_[b] : 0;
    }
  }

  /// Bytes for one matrix.
  static std::int64_t bytes(MixedTask<T> const& task) {
    std::int64_t const n = task.a.rows, of_x = n * task.x.cols, whole = sizeof(T), half = sizeof(S);
    return (n * n + 64) * half + of_x * (2 * whole + half) + 128;
  }

 private:
  static std::size_t at(std::int64_t b) { return static_cast<std::size_t>(b); }
  [[nodiscard]] std::size_t per_matrix() const { return static_cast<std::size_t>(task_.a.count); }
  [[nodiscard]] bool has_pivots() const { return task_.pivots.data || task_.pivots.pointers; }
  template <typename F>
  void for_all(F f) {
    parallel_for(queue_.threads(), task_.a.count, lane_grain(task_.a.rows * task_.a.rows), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t b = first; b < last; ++b) f(b);
    });
  }
  /// Calls f(i, j, element) for the elements of A that are read, column by column.
  template <typename F>
  void for_elements(std::int64_t b, F f) const {
    std::int64_t const down = task_.a.row_stride_of(b), right = task_.a.col_stride_of(b), n = task_.a.rows_of(b);
    if (n == 0) return;
    T const* const a = task_.a.matrix(b);
    for_part(task_.hermitian ? Part::lower : Part::all, n, n, [&](auto i, auto j) {
      T const x = a[i * down + j * right];
      f(i, j, task_.hermitian && i == j ? T(std::real(x)) : x);
    });
  }

  /// A and B in single precision, and how small residuals have to become.
  void begin(std::int64_t b) {
    std::int64_t const n = task_.a.rows_of(b), columns = task_.x.cols_of(b), most = task_.a.rows;
    rows_[at(b)] = n;
    columns_[at(b)] = columns;
    bool overflow = false;
    std::vector<R> sums(static_cast<std::size_t>(n));
    S* const single = single_.data() + b * stride_;
    for_elements(b, [&](std::int64_t i, std::int64_t j, T x) {
      single[i + j * most] = rounded<S>(x);
      overflow = overflow || overflows(x);
      R const size = std::abs(x);
      sums[at(i)] += size;
      if (task_.hermitian && i != j) sums[at(j)] += size;
    });
    R norm = 0;
    for (R const sum : sums) norm = sum > norm || std::isnan(sum) ? sum : norm;
    for_right_sides(b, [&](std::int64_t i, std::int64_t c, std::int64_t place) {
      T const right = conjugate_if(task_.b.conjugated, *task_.b.at(b, i, c));
      overflow = overflow || overflows(right);
      x_[at(place)] = T(0);
      y_[at(place)] = rounded<S>(right);
    });
    enough_[at(b)] = norm * (std::numeric_limits<R>::epsilon() / 2) * std::sqrt(static_cast<R>(n));
    iter_[at(b)] = std::isnan(norm) ? mixed_diverges : overflow ? mixed_overflows : mixed_is_active;
  }

  /// X is corrected by what was solved for, and Y becomes the residual.
  void correct(std::int64_t b, int round) {
    std::int64_t const n = task_.a.rows_of(b), most = task_.x.rows, first = b * most * task_.x.cols;
    for_right_sides(b, [&](std::int64_t i, std::int64_t c, std::int64_t place) {
      x_[at(place)] += T(y_[at(place)]);
      r_[at(place)] = conjugate_if(task_.b.conjugated, *task_.b.at(b, i, c));
    });
    std::int64_t const columns = task_.x.cols_of(b);
    for_elements(b, [&](std::int64_t i, std::int64_t j, T a) {
      for (std::int64_t c = 0; c < columns; ++c) {
        T *const r = r_.data() + first + c * most, *const x = x_.data() + first + c * most;
        r[i] = subtract_product(r[i], a, x[j]);
        if (task_.hermitian && i != j) r[j] = subtract_product(r[j], conjugate_if(true, a), x[i]);
      }
    });
    bool converged = true, overflow = false, has_nan = false;
    for (std::int64_t c = 0; c < columns; ++c) {
      R of_r = 0, of_x = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t const place = first + c * most + i;
        R const size = abs1(r_[at(place)]);
        of_r = size > of_r || std::isnan(size) ? size : of_r;
        of_x = std::max(of_x, abs1(x_[at(place)]));
        overflow = overflow || overflows(r_[at(place)]);
        y_[at(place)] = rounded<S>(r_[at(place)]);
      }
      converged = converged && of_r <= of_x * enough_[at(b)];
      has_nan = has_nan || std::isnan(of_r);
    }
    if (overflow)
      iter_[at(b)] = mixed_overflows;
    else if (converged)
      iter_[at(b)] = round;
    else if (has_nan || round == mixed_rounds)
      iter_[at(b)] = mixed_diverges;
  }

  /// Whether there is a matrix that is still refined; all others become empty for the solves.
  bool refines() {
    bool any = false;
    for (std::size_t b = 0; b < iter_.size(); ++b) {
      bool const active = iter_[b] == mixed_is_active;
      if (!active) rows_[b] = columns_[b] = 0;
      any = any || active;
    }
    return any;
  }

  /// X, or B where X is still to be solved for.
  void finish(std::int64_t b) {
    bool const falls_back = iter_[at(b)] < 0;
    if (falls_back)
      copy(task_.b, task_.x, b);
    else
      for_right_sides(b, [&](std::int64_t i, std::int64_t c, std::int64_t place) {
        *task_.x.at(b, i, c) = conjugate_if(task_.x.conjugated, x_[at(place)]);
      });
    a_rows_[at(b)] = task_.a.row_offset + (falls_back ? task_.a.rows_of(b) : 0);
    a_columns_[at(b)] = task_.a.col_offset + (falls_back ? task_.a.rows_of(b) : 0);
    x_rows_[at(b)] = task_.x.row_offset + (falls_back ? task_.x.rows_of(b) : 0);
    x_columns_[at(b)] = task_.x.col_offset + (falls_back ? task_.x.cols_of(b) : 0);
  }

  /// Calls f(i, c, place in the workspace) for the elements of X.
  template <typename F>
  void for_right_sides(std::int64_t b, F f) const {
    std::int64_t const first = b * task_.x.rows * task_.x.cols;
    for_part(Part::all, task_.x.rows_of(b), task_.x.cols_of(b), [&](auto i, auto c) { f(i, c, first + c * task_.x.rows + i); });
  }

  Queue& queue_;
  MixedTask<T> task_;
  std::int64_t stride_;
  std::vector<S, LineAligned<S>> single_, y_;
  std::vector<T> x_, r_;
  std::vector<R> enough_;
  std::vector<int> iter_, info_, pivots_;
  std::vector<std::int64_t> rows_, columns_, a_rows_, a_columns_, x_rows_, x_columns_;
};

}  // namespace

template <typename T>
void solve_mixed(Queue& queue, MixedTask<T> const& task) {
  if constexpr (std::is_same_v<T, SingleOf<T>>) {
    std::vector<int> info(static_cast<std::size_t>(task.a.count));
    parallel_for(queue.threads(), task.a.count, 64, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t b = first; b < last; ++b) copy(task.b, task.x, b);
    });
    solve_plainly(queue, task.hermitian, task.a, task.pivots, task.x, info.data());
    if (task.iter) std::fill_n(task.iter, task.a.count, mixed_is_single);
    if (task.info) std::copy(info.begin(), info.end(), task.info);
  } else {
    constexpr std::int64_t workspace = std::int64_t{1} << 26;
    std::int64_t const some = most_at_once(task.a.count, workspace, Mixed<T>::bytes(task));
    for (std::int64_t first = 0; first < task.a.count; first += some) {
      std::int64_t const count = std::min(some, task.a.count - first);
      bool const has_pivots = task.pivots.data || task.pivots.pointers;
      Mixed<T>(queue, MixedTask<T>{.a = matrices(task.a, first, count),
                                   .pivots = has_pivots ? matrices(task.pivots, first, count) : task.pivots,
                                   .b = matrices(task.b, first, count),
                                   .x = matrices(task.x, first, count),
                                   .iter = task.iter ? task.iter + first : nullptr,
                                   .info = task.info ? task.info + first : nullptr,
                                   .hermitian = task.hermitian})
          .solve();
    }
  }
}

#define MYRIAD_INSTANTIATE(T) template void solve_mixed<T>(Queue&, MixedTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
