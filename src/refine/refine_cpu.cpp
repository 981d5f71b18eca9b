#include "refine/refine_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "refine/sweeps.hpp"
#include "simd/group.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// The larger; NaN where either is.
template <typename R>
R max_or_nan(R x, R y) {
  return y > x || std::isnan(y) ? y : x;
}

/// The exponent of the power of two that brings x > 0 into [1, 2), within the normal numbers; 0 where x is no finite number.
template <typename R>
int balancing_exponent(R x) {
  if (!std::isfinite(x)) return 0;
  return std::clamp(-std::ilogb(x), std::numeric_limits<R>::min_exponent - 1, std::numeric_limits<R>::max_exponent - 1);
}

/// Scalings of one matrix. Returns info.
template <typename T>
Int equilibrate(GeequTask<T> const& task, std::int64_t b) {
  using R = Real<T>;
  std::int64_t const m = task.a.rows_of(b), n = task.a.cols_of(b);
  std::int64_t const rs = task.a.row_stride_of(b), cs = task.a.col_stride_of(b);
  T const* const a = m > 0 && n > 0 ? task.a.matrix(b) : nullptr;
  auto const size = [&](std::int64_t i, std::int64_t j) { return abs1(a[i * rs + j * cs]); };
  auto const r = [&](std::int64_t i) -> R& { return *task.r.at(b, i, 0); };
  auto const c = [&](std::int64_t j) -> R& { return *task.c.at(b, j, 0); };
  R largest = 0;
  R rowcnd = 1, colcnd = 1;
  Int info = 0;
  // Largest elements first, then the scalings in their place; ratios of powers of two are exact.
  auto const scale = [&](std::int64_t length, auto const& x, std::int64_t first_info) {
    int low = std::numeric_limits<int>::max(), high = std::numeric_limits<int>::min();
    for (std::int64_t i = 0; i < length; ++i) {
      if (x(i) == 0 && info == 0) info = static_cast<Int>(first_info + i + 1);
      int const exponent = x(i) == 0 ? 0 : balancing_exponent(x(i));
      low = std::min(low, exponent);
      high = std::max(high, exponent);
      x(i) = std::ldexp(R(1), exponent);
    }
    return std::ldexp(R(1), low - high);
  };
  if (n > 0)
    for (std::int64_t i = 0; i < m; ++i) r(i) = 0;
  if (m > 0 && n > 0) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) r(i) = max_or_nan(r(i), size(i, j));
    for (std::int64_t i = 0; i < m; ++i) largest = max_or_nan(largest, r(i));
    rowcnd = scale(m, r, 0);
  }
  if (m > 0 && n > 0 && info == 0) {
    for (std::int64_t j = 0; j < n; ++j) {
      R column = 0;
      for (std::int64_t i = 0; i < m; ++i) column = max_or_nan(column, size(i, j) * r(i));
      c(j) = column;
    }
    colcnd = scale(n, c, m);
  }
  if (m == 0 || n == 0 || info != 0) {
    for (std::int64_t i = 0; i < m; ++i) r(i) = 1;
    for (std::int64_t j = 0; j < n; ++j) c(j) = 1;
    rowcnd = colcnd = 1;
  }
  if (task.rowcnd) task.rowcnd[b] = rowcnd;
  if (task.colcnd) task.colcnd[b] = colcnd;
  if (task.amax) task.amax[b] = largest;
  return info;
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

/// |(b - A x)_i| / (|A| |x| + |b|)_i, with 0/0 = 0.
template <typename T, typename Row, typename X>
double backward_error_of_row(std::int64_t n, T b, Row const& row, X const& x) {
  using R = Real<T>;
  double residual = 0;
  double scale = static_cast<double>(abs1(b));
  if constexpr (is_complex<T>) {
    DoubledSum<R> re(b.real()), im(b.imag());
    for (std::int64_t j = 0; j < n; ++j) {
      T const p = row(j), q = x(j);
      re.subtract(p.real(), q.real());
      re.subtract(-p.imag(), q.imag());
      im.subtract(p.real(), q.imag());
      im.subtract(p.imag(), q.real());
      scale += static_cast<double>(abs1(p)) * static_cast<double>(abs1(q));
    }
    residual = std::abs(re.value()) + std::abs(im.value());
  } else {
    DoubledSum<R> sum(b);
    for (std::int64_t j = 0; j < n; ++j) {
      sum.subtract(row(j), x(j));
      scale += static_cast<double>(abs1(row(j))) * static_cast<double>(abs1(x(j)));
    }
    residual = std::abs(sum.value());
  }
  return residual == 0 && !std::isnan(scale) ? 0 : residual / scale;
}

}  // namespace

template <Element T>
void geequ(Queue& queue, GeequTask<T> const& task) {
  parallel_for(queue.threads(), task.a.count, lane_grain(task.a.rows * task.a.cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      Int const info = equilibrate(task, b);
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
      for_part(Part::all, task.a.rows_of(b), task.a.cols_of(b), [&](auto i, auto j) { *task.a.at(b, i, j) *= r(i) * c(j); });
    }
  });
}

template <Element T>
void gerfs(Queue& queue, GerfsTask<T> const& task) {
  using R = Real<T>;
  using More = std::conditional_t<is_complex<T>, R, Int>;
  parallel_for(queue.threads(), task.a.count, 16, [&](std::int64_t begin, std::int64_t end) {
    Refiner<T> refiner;
    Scratch<T> scratch_a, scratch_af, scratch_b, scratch_x, scratch_copy, scratch_work;
    Scratch<R> scratch_error;
    Scratch<More> scratch_more;
    Scratch<Int> scratch_pivots;
    for (std::int64_t k = begin; k < end; ++k) {
      LocalMatrix<T const> const a(task.a, k, scratch_a);
      LocalMatrix<T const> const af(task.af, k, scratch_af);
      LocalMatrix<T const> const b(task.b, k, scratch_b);
      LocalMatrix<T> const x(task.x, k, scratch_x);
      Int const n = a.rows(), nrhs = x.cols();
      Int* const pivots = scratch_pivots.reserve(n);
      for (Int i = 0; i < n; ++i) pivots[i] = given(task.pivots) ? *task.pivots.at(k, i, 0) : i + 1;
      R* const ferr = scratch_error.reserve(3 * static_cast<std::int64_t>(nrhs));
      R* const berr = ferr + nrhs;
      R* const ignored = berr + nrhs;
      std::fill_n(ferr, 2 * nrhs, R(0));
      if (n > 0 && nrhs > 0) {
        std::int64_t const size = n;
        refiner.system(task.op, n, a.data(), a.ld(), af.data(), af.ld(), pivots);
        for (Int j = 0; j < nrhs; ++j)
          berr[j] = refiner.refine(b.data() + static_cast<std::int64_t>(j) * b.ld(), x.data() + static_cast<std::int64_t>(j) * x.ld());
        x.store();
        if (given(task.ferr)) {
          // LAPACK bounds the error of a copy, to which it makes a sweep of its own.
          T* const copy = scratch_copy.reserve(size * nrhs);
          for (Int j = 0; j < nrhs; ++j) std::copy_n(x.data() + static_cast<std::int64_t>(j) * x.ld(), size, copy + j * size);
          lapack::gerfs<T>(task.op, n, nrhs, a.data(), a.ld(), af.data(), af.ld(), pivots, b.data(), b.ld(), copy, n, ferr, ignored,
                           scratch_work.reserve(3 * size), scratch_more.reserve(size));
        }
      }
      for (Int j = 0; j < nrhs; ++j) {
        if (given(task.ferr)) *task.ferr.at(k, j, 0) = ferr[j];
        if (given(task.berr)) *task.berr.at(k, j, 0) = berr[j];
      }
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
      T* const x = scratch.reserve(std::max<std::int64_t>(n, 1));
      for (std::int64_t q = 0; q < task.x.cols_of(k); ++q) {
        for (std::int64_t j = 0; j < n; ++j) x[j] = conjugate_if(task.x.conjugated, *task.x.at(k, j, q));
        double worst = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          T const* const a = n > 0 ? task.a.matrix(k) + i * rs : nullptr;
          worst = max_or_nan(
              worst, backward_error_of_row<T>(
                         n, conjugate_if(task.b.conjugated, *task.b.at(k, i, q)),
                         [&](std::int64_t j) { return conjugate_if(task.a.conjugated, a[j * cs]); }, [&](std::int64_t j) { return x[j]; }));
        }
        *task.berr.at(k, q, 0) = static_cast<Real<T>>(worst);
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
