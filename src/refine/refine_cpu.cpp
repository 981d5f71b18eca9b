#include "refine/refine_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "refine/wide_range.hpp"
#include "simd/group.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// The larger; NaN where either is.
template <typename R>
R max_or_nan(R x, R y) {
  return y > x || std::isnan(y) ? y : x;
}

/// ilogb of |re| + |im|; `of_zero` and `of_no_number` (NaN, infinity) for what has none.
constexpr int of_zero = std::numeric_limits<int>::min(), of_no_number = std::numeric_limits<int>::max();
template <typename T>
int exponent_of(T x) {
  if (x == T(0)) return of_zero;
  if (!is_finite(x)) return of_no_number;
  using R = Real<T>;
  R const size = abs1(x);
  return std::isfinite(size) ? std::ilogb(size) : std::numeric_limits<R>::max_exponent;
}

/// Scalings of one matrix. Returns info. Everything is reckoned in exponents of two, which neither overflow nor vanish.
template <typename T>
Int equilibrate(GeequTask<T> const& task, std::int64_t b, std::vector<int>& exponents) {
  using R = Real<T>;
  std::int64_t const m = task.a.rows_of(b), n = task.a.cols_of(b);
  std::int64_t const rs = task.a.row_stride_of(b), cs = task.a.col_stride_of(b);
  T const* const a = m > 0 && n > 0 ? task.a.matrix(b) : nullptr;
  R largest = 0;
  R rowcnd = 1, colcnd = 1;
  Int info = 0;
  exponents.assign(static_cast<std::size_t>(m + n), of_zero);
  int* const rows = exponents.data();
  int* const columns = rows + m;
  // Largest exponents first, then those of the scalings in their place. Returns the ratio of the smallest to the largest.
  auto const balance = [&](std::int64_t length, int* x, std::int64_t first_info) {
    int low = of_no_number, high = of_zero;
    for (std::int64_t i = 0; i < length; ++i) {
      if (x[i] == of_zero && info == 0) info = static_cast<Int>(first_info + i + 1);
      bool const has_none = x[i] == of_zero || x[i] == of_no_number;
      x[i] = has_none ? 0 : std::clamp(-x[i], std::numeric_limits<R>::min_exponent - 1, std::numeric_limits<R>::max_exponent - 1);
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
    return std::ldexp(R(1), low - high);
  };
  if (m > 0 && n > 0) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        T const x = a[i * rs + j * cs];
        R const size = abs1(x);
        largest = max_or_nan(largest, std::isinf(size) && is_finite(x) ? std::numeric_limits<R>::max() : size);
        rows[i] = std::max(rows[i], exponent_of(x));
      }
    rowcnd = balance(m, rows, 0);
  }
  if (m > 0 && n > 0 && info == 0) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        int const exponent = exponent_of(a[i * rs + j * cs]);
        bool const has_none = exponent == of_zero || exponent == of_no_number;
        columns[j] = std::max(columns[j], has_none ? exponent : exponent + rows[i]);
      }
    colcnd = balance(n, columns, m);
  }
  if (m == 0 || n == 0 || info != 0) {
    std::fill(exponents.begin(), exponents.end(), 0);
    rowcnd = colcnd = 1;
  }
  for (std::int64_t i = 0; i < m; ++i) *task.r.at(b, i, 0) = std::ldexp(R(1), rows[i]);
  for (std::int64_t j = 0; j < n; ++j) *task.c.at(b, j, 0) = std::ldexp(R(1), columns[j]);
  if (task.rowcnd) task.rowcnd[b] = rowcnd;
  if (task.colcnd) task.colcnd[b] = colcnd;
  if (task.amax) task.amax[b] = largest;
  return info;
}

/// x r c, right wherever it can be represented, although r c or x r may not be.
template <typename R>
R scaled(R x, R r, R c) {
  R const product = r * c;
  if (std::isnormal(product)) return x * product;
  if (std::abs(r) > std::abs(c)) std::swap(r, c);
  if (R const y = x * c; std::isfinite(y)) return y * r;
  constexpr R down = sizeof(R) == 4 ? R(0x1p-64) : static_cast<R>(0x1p-512);
  return x * down * c * r / down;
}
template <typename R>
std::complex<R> scaled(std::complex<R> x, R r, R c) {
  return {scaled(x.real(), r, c), scaled(x.imag(), r, c)};
}

/// A sum of products in twice the precision of R: double for float, an unevaluated pair for double (Ogita, Rump and Oishi 2005, Dot2).
template <typename R>
class DoubledSum;

template <>
class DoubledSum<float> {
 public:
  explicit DoubledSum(float x) : sum_(x) {}
  void subtract(float x, float y) { sum_ -= static_cast<double>(x) * static_cast<double>(y); }
  [[nodiscard]] double value() const { return sum_; }

 private:
  double sum_;
};

template <>
class DoubledSum<double> {
 public:
  explicit DoubledSum(double x) : high_(x) {}
  void subtract(double x, double y) {
    double const product = -x * y;
    double const product_error = std::fma(-x, y, -product);
    double const sum = high_ + product;
    double const part = sum - high_;
    double const sum_error = (high_ - (sum - part)) + (product - part);
    high_ = sum;
    low_ += product_error + sum_error;
  }
  [[nodiscard]] double value() const { return high_ + low_; }

 private:
  double high_;
  double low_ = 0;
};

/// A residual (b - A x)_i, and |A| |x| + |b| of that row to measure it by.
template <typename T>
struct Residual {
  T value;
  Real<T> scale;
  /// The componentwise backward error, with 0/0 = 0.
  [[nodiscard]] Real<T> error() const {
    Real<T> const size = abs1(value);
    return size == 0 && !std::isnan(scale) ? 0 : size / scale;
  }
};

/// Row `row` of b - A x, accumulated in twice the precision of T.
template <typename T, typename Row>
Residual<T> residual_of_row(std::int64_t n, T b, Row const& row, T const* x) {
  using R = Real<T>;
  R scale = abs1(b);
  if constexpr (is_complex<T>) {
    DoubledSum<R> re(b.real()), im(b.imag());
    for (std::int64_t j = 0; j < n; ++j) {
      T const p = row(j), q = x[j];
      re.subtract(p.real(), q.real());
      re.subtract(-p.imag(), q.imag());
      im.subtract(p.real(), q.imag());
      im.subtract(p.imag(), q.real());
      scale += abs1(p) * abs1(q);
    }
    return {T(static_cast<R>(re.value()), static_cast<R>(im.value())), scale};
  } else {
    DoubledSum<R> sum(b);
    for (std::int64_t j = 0; j < n; ++j) {
      T const p = row(j);
      sum.subtract(p, x[j]);
      scale += abs1(p) * abs1(x[j]);
    }
    return {static_cast<R>(sum.value()), scale};
  }
}

/// One matrix with its factors, as LAPACK gets them, and memory for its refinement.
template <typename T>
class Refinement {
  using R = Real<T>;

 public:
  Refinement(Op op, LocalMatrix<T const> const& a, LocalMatrix<T const> const& af, Int const* pivots)
      : op_(op),
        n_(a.rows()),
        a_(a),
        af_(af),
        pivots_(pivots),
        residual_(static_cast<std::size_t>(n_)),
        best_(residual_.size()),
        v_(residual_.size()),
        weights_(residual_.size()),
        signs_(residual_.size()) {}

  /// Refines x and returns its backward error.
  R improve(T const* b, T* x) {
    constexpr int most_sweeps = 5;
    constexpr R saturated = R(0.1);  // an error that large may fail to fall while X gets better
    constexpr R unit_roundoff = std::numeric_limits<R>::epsilon() / 2;
    R best = std::numeric_limits<R>::infinity();
    R last = best;
    for (int sweep = 0;; ++sweep) {
      R const error = measure(b, x);
      if (sweep == 0 || error < best) {
        best = error;
        std::copy_n(x, n_, best_.begin());
      }
      bool const falling = 2 * error <= last || last > saturated;
      if (sweep == most_sweeps || !(error > unit_roundoff) || !falling) break;
      last = error;
      solve(op_, residual_.data());
      for (Int i = 0; i < n_; ++i) x[i] += residual_[static_cast<std::size_t>(i)];
    }
    std::copy_n(best_.begin(), n_, x);
    return best;
  }

  /// Replaces x by `other` where that has the smaller backward error; returns the error of x.
  R better_of(T const* b, T* x, T const* other) {
    R const error = measure(b, x), other_error = measure(b, other);
    if (!(other_error < error)) return error;
    std::copy_n(other, n_, x);
    return other_error;
  }

  /// A bound on the relative error of x in the maximum norm, as in LAPACK: the norm of |op(A)^-1| (|r| + (n + 1) eps (|op(A)| |x| + |b|)).
  R forward_bound(T const* b, T const* x) {
    measure(b, x);
    R const slack = static_cast<R>(n_ + 1) * std::numeric_limits<R>::epsilon();
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = abs1(residual_[i]) + slack * weights_[i];
    Op const adjoint = op_ == Op::none ? Op::conjugate_transpose : Op::none;
    Op const plain = op_ == Op::none ? Op::none : Op::conjugate_transpose;
    Int kase = 0;
    Int state[3] = {};
    R estimate = 0;
    auto const weigh = [&] {
      for (std::size_t i = 0; i < weights_.size(); ++i) residual_[i] *= weights_[i];
    };
    for (;;) {
      lapack::lacn2<T>(n_, v_.data(), residual_.data(), signs_.data(), estimate, kase, state);
      if (kase == 0) break;
      if (kase == 1) {
        solve(adjoint, residual_.data());
        weigh();
      } else {
        weigh();
        solve(plain, residual_.data());
      }
    }
    R size = 0;
    for (Int i = 0; i < n_; ++i) size = max_or_nan(size, abs1(x[i]));
    if (std::isnan(estimate) && std::isfinite(size)) estimate = std::numeric_limits<R>::infinity();  // infinity times a vanished weight
    return size == 0 ? estimate : estimate / size;
  }

 private:
  /// Leaves the residual and |op(A)| |x| + |b|.
  R measure(T const* b, T const* x) {
    R worst = 0;
    for (Int i = 0; i < n_; ++i) {
      T const* const line = a_.data() + (op_ == Op::none ? i : static_cast<std::int64_t>(i) * a_.ld());
      std::int64_t const step = op_ == Op::none ? a_.ld() : 1;
      bool const conjugated = op_ == Op::conjugate_transpose;
      Residual<T> const r = residual_of_row<T>(
          n_, b[i], [&](std::int64_t j) { return conjugate_if(conjugated, line[j * step]); }, x);
      residual_[static_cast<std::size_t>(i)] = r.value;
      weights_[static_cast<std::size_t>(i)] = r.scale;
      worst = max_or_nan(worst, r.error());
    }
    return worst;
  }

  void solve(Op op, T* x) const { solve_factored<T>(op, n_, 1, af_.data(), af_.ld(), pivots_, x, std::max<Int>(n_, 1)); }

  Op op_;
  Int n_;
  LocalMatrix<T const> const& a_;
  LocalMatrix<T const> const& af_;
  Int const* pivots_;
  std::vector<T, LineAligned<T>> residual_, best_, v_;
  std::vector<R> weights_;
  std::vector<Int> signs_;
};

}  // namespace

template <Element T>
void geequ(Queue& queue, GeequTask<T> const& task) {
  parallel_for(queue.threads(), task.a.count, lane_grain(task.a.rows * task.a.cols), [&](std::int64_t begin, std::int64_t end) {
    std::vector<int> exponents;
    for (std::int64_t b = begin; b < end; ++b) {
      Int const info = equilibrate(task, b, exponents);
      if (task.info) task.info[b] = static_cast<int>(info);
    }
  });
}

template <Element T>
void laqge(Queue& queue, LaqgeTask<T> const& task) {
  using R = Real<T>;
  if (!given(task.r) && !given(task.c)) return;
  parallel_for(queue.threads(), task.a.count, lane_grain(task.a.rows * task.a.cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      auto const r = [&](std::int64_t i) { return given(task.r) ? *task.r.at(b, i, 0) : R(1); };
      auto const c = [&](std::int64_t j) { return given(task.c) ? *task.c.at(b, j, 0) : R(1); };
      for_part(Part::all, task.a.rows_of(b), task.a.cols_of(b), [&](auto i, auto j) {
        T& x = *task.a.at(b, i, j);
        x = scaled(x, r(i), c(j));
      });
    }
  });
}

template <Element T>
void gerfs(Queue& queue, GerfsTask<T> const& task) {
  using R = Real<T>;
  parallel_for(queue.threads(), task.a.count, 16, [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch_a, scratch_af, scratch_b, scratch_x, start;
    Scratch<Int> scratch_pivots;
    WideRangeRefiner<T> refiner;
    for (std::int64_t k = begin; k < end; ++k) {
      LocalMatrix<T const> const a(task.a, k, scratch_a);
      LocalMatrix<T const> const af(task.af, k, scratch_af);
      LocalMatrix<T const> const b(task.b, k, scratch_b);
      LocalMatrix<T> const x(task.x, k, scratch_x);
      Int const n = a.rows();
      Int* const pivots = scratch_pivots.reserve(n);
      for (Int i = 0; i < n; ++i) pivots[i] = given(task.pivots) ? *task.pivots.at(k, i, 0) : i + 1;
      Refinement<T> refinement(task.op, a, af, pivots);
      std::int64_t const nrhs = task.x.cols_of(k);
      for (std::int64_t j = 0; j < nrhs; ++j) {
        T const* const bj = b.data() + j * b.ld();
        T* const xj = x.data() + j * x.ld();
        std::copy_n(xj, n, start.reserve(n));
        R berr = n > 0 ? refinement.improve(bj, xj) : R(0);
        if (berr > refiner.enough(n)) {
          refiner.system(task.op, n, a.data(), a.ld(), af.data(), af.ld(), pivots);
          refiner.refine(bj, start.reserve(n));
          berr = refinement.better_of(bj, xj, start.reserve(n));
        }
        if (given(task.berr)) *task.berr.at(k, j, 0) = berr;
        if (given(task.ferr)) *task.ferr.at(k, j, 0) = n > 0 ? refinement.forward_bound(bj, xj) : R(0);
      }
      x.store();
    }
  });
}

template <Element T>
void backward_error(Queue& queue, BackwardErrorTask<T> const& task) {
  std::int64_t const work = task.a.rows * task.a.cols * std::max<std::int64_t>(task.x.cols, 1);
  parallel_for(queue.threads(), task.a.count, lane_grain(work), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch;
    for (std::int64_t k = begin; k < end; ++k) {
      std::int64_t const m = task.a.rows_of(k), n = task.a.cols_of(k);
      std::int64_t const rs = task.a.row_stride_of(k), cs = task.a.col_stride_of(k);
      T* const x = scratch.reserve(n);
      for (std::int64_t q = 0; q < task.x.cols_of(k); ++q) {
        for (std::int64_t j = 0; j < n; ++j) x[j] = conjugate_if(task.x.conjugated, *task.x.at(k, j, q));
        Real<T> worst = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          T const* const row = n > 0 ? task.a.matrix(k) + i * rs : nullptr;
          Residual<T> const r = residual_of_row<T>(
              n, conjugate_if(task.b.conjugated, *task.b.at(k, i, q)),
              [&](std::int64_t j) { return conjugate_if(task.a.conjugated, row[j * cs]); }, x);
          worst = max_or_nan(worst, r.error());
        }
        *task.berr.at(k, q, 0) = worst;
      }
    }
  });
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void geequ<T>(Queue&, GeequTask<T> const&); \
  template void laqge<T>(Queue&, LaqgeTask<T> const&); \
  template void gerfs<T>(Queue&, GerfsTask<T> const&); \
  template void backward_error<T>(Queue&, BackwardErrorTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
