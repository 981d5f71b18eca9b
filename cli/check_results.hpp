#pragma once
/// Checks of results: failed matrices of a chunk with the reason, and the errors of the others.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/dtype.hpp"
#include "job.hpp"
#include "matrices.hpp"
#include "myriad/myriad.hpp"
#include "stream.hpp"

namespace myriad::cli {

/// The reason of a failed matrix whose U(info, info) is zero.
inline std::string singular(int info) { return fmt::format("singular: U({0}, {0}), counted from 1, is exactly zero", info); }

/// Runs f(b) for b = 0 ... count - 1 on the threads of the queue, each of which has an equal share of consecutive matrices.
template <typename F>
void for_each_matrix(Queue const& queue, std::int64_t count, F&& f) {
  std::int64_t const threads = std::clamp<std::int64_t>(count, 1, queue.threads());
  auto const share = [&](std::int64_t thread) {
    for (std::int64_t b = count * thread / threads; b < count * (thread + 1) / threads; ++b) f(b);
  };
  std::vector<std::thread> others;
  for (std::int64_t thread = 1; thread < threads; ++thread) others.emplace_back(share, thread);
  share(0);
  for (std::thread& other : others) other.join();
}

/// Whether every element is finite. Tests the bits, so that the compiler can vectorize.
template <typename T>
[[nodiscard]] bool all_finite(T const* data, std::int64_t elements) {
  using R = Real<T>;
  using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<R>::infinity());
  auto const* const numbers = reinterpret_cast<R const*>(data);  // the standard lays out a complex number as an array of two
  std::int64_t const length = elements * static_cast<std::int64_t>(sizeof(T) / sizeof(R));
  Bits bad = 0;
  for (std::int64_t i = 0; i < length; ++i) bad |= (std::bit_cast<Bits>(numbers[i]) & exponent) == exponent;
  return bad == 0;
}

/// The place of the first NaN or infinity of matrix b of an input: "A.npy holds nan at (2, 3)"; empty if there is none.
template <typename T>
[[nodiscard]] std::string first_not_finite(Input const& input, std::int64_t b) {
  io::Source const& source = *input.source;
  std::int64_t const m = input.broadcast ? 0 : b;
  std::int64_t const rows = source.rows_of(m), cols = source.cols_of(m);
  std::vector<T> elements(static_cast<std::size_t>(rows * cols));
  source.read(m, 1, dtype_of<T>, elements.data());
  for (std::int64_t k = 0; k < rows * cols; ++k) {
    T const x = elements[static_cast<std::size_t>(k)];
    if (all_finite(&x, 1) || (input.uses && !input.uses(k / cols, k % cols))) continue;
    char const* kind = "infinity";
    if constexpr (is_complex<T>) {
      if (std::isnan(x.real()) || std::isnan(x.imag())) kind = "NaN";
    } else {
      if (std::isnan(x)) kind = "NaN";
    }
    std::string const place = source.vectors() ? fmt::format("{}", k) : fmt::format("({}, {})", k / cols, k % cols);
    return fmt::format("{} holds {} at {}, counted from 0", source.file_of(m).empty() ? source.name() : source.file_of(m), kind, place);
  }
  return {};
}

/// Reports the matrices with info > 0 (`singular(info)` says why) and those whose results (one batch per field) are not finite, whose info
/// becomes -1.
template <typename T>
void judge(Job& job, std::int64_t first, std::int64_t count, int* info, std::span<Matrices<T> const* const> results,
           std::span<Input const> inputs, std::function<std::string(int)> const& singular,
           std::string const& overflow = "the result is not finite: overflow, or a nearly singular matrix") {
  for_each_matrix(job.queue(), count, [&](std::int64_t b) {
    if (info[b] != 0) return;
    for (Matrices<T> const* result : results)
      if (!all_finite(result->matrix(b), result->elements_of(b))) info[b] = -1;
  });
  for (std::int64_t b = 0; b < count; ++b) {
    if (info[b] == 0) continue;
    job.fail(first + b, info[b], [&]() -> std::string {
      for (Input const& input : inputs)
        if (std::string place = first_not_finite<T>(input, first + b); !place.empty()) return place;
      return info[b] > 0 ? singular(info[b]) : overflow;
    });
  }
}

/// worst = max(worst, x), where NaN is larger than all.
template <typename R>
void keep_larger(R& worst, R x) {
  if (x > worst || std::isnan(x)) worst = x;
}

/// Fills the results of matrices with info > 0 with NaN, so that leftovers are not mistaken for results.
template <typename T>
void spoil_failed(Matrices<T> const& result, std::int64_t count, int const* info) {
  Real<T> const nan = std::numeric_limits<Real<T>>::quiet_NaN();
  for (std::int64_t b = 0; b < count; ++b)
    if (info[b] > 0) std::fill_n(result.matrix(b), result.elements_of(b), T(nan));
}

/// The precision in which the checks below accumulate.
template <typename T>
using Wide = std::conditional_t<is_complex<T>, std::complex<std::conditional_t<sizeof(Real<T>) == 4, double, long double>>,
                                std::conditional_t<sizeof(Real<T>) == 4, double, long double>>;

/// The largest backward error, normwise or componentwise, that rounding explains with sums of up to `terms` terms. The componentwise limits
/// of docs/accuracy.md are smaller.
template <typename T>
[[nodiscard]] double rounding_bound(std::int64_t terms) {
  return 30 * static_cast<double>(std::max<std::int64_t>(terms, 1)) * static_cast<double>(std::numeric_limits<Real<T>>::epsilon()) / 2;
}

template <typename T>
[[nodiscard]] T conjugate(T x) {
  if constexpr (is_complex<T>)
    return std::conj(x);
  else
    return x;
}

/// Element (i, j) of matrix b, with the conjugation of the view.
template <typename T>
[[nodiscard]] std::remove_const_t<T> element(Batch<T> const& a, std::int64_t b, std::int64_t i, std::int64_t j) {
  if constexpr (is_complex<T>)
    if (a.conjugated) return std::conj(*a.at(b, i, j));
  return *a.at(b, i, j);
}

/// Reports check(b), a Verified, of every matrix that did not fail.
template <typename F>
void verify_each(Job& job, std::int64_t first, std::int64_t count, int const* info, F&& check) {
  std::vector<Verified> found(static_cast<std::size_t>(count));
  for_each_matrix(job.queue(), count, [&](std::int64_t b) {
    if (info[b] == 0) found[static_cast<std::size_t>(b)] = check(b);
  });
  for (std::int64_t b = 0; b < count; ++b)
    if (info[b] == 0) job.verified(first + b, found[static_cast<std::size_t>(b)]);
}

/// The quantity relative to which a routine keeps the residual R = B - A X small, in 1-norms unless it says componentwise.
enum class Promise {
  rows,     ///< componentwise: each |R(i, j)| against (|A| |X| + |B|)(i, j). Products and refined solutions
  columns,  ///< |r| against the sum of |a_k| |x_k| over the columns of A, and |b|. LU, which is invariant to scaling columns of A
  scaled,   ///< the same after dividing the rows of A by their largest elements. LU of an equilibrated matrix
  norms,    ///< |r| against |A| |x| + |b| for each right-hand side. Cholesky
  whole     ///< |R| against |A| |X| + |B|. Inverses
};

/// The backward error of matrix m of A X = B, in a wider type that does not overflow. Errors of underflow are ignored.
template <typename T>
[[nodiscard]] Verified solution_error(Batch<T const> const& a, Batch<T const> const& x, Batch<T const> const& b, std::int64_t m,
                                      Promise promise) {
  using W = Wide<T>;
  using R = Real<W>;
  std::int64_t const rows = a.rows_of(m), n = a.cols_of(m);
  Verified found{.bound = rounding_bound<T>(n)};
  R const tiny = R(n + 1) * R(std::numeric_limits<Real<T>>::denorm_min());
  std::vector<R> column(static_cast<std::size_t>(n), R(0)), weight(static_cast<std::size_t>(rows), R(1));
  for (std::int64_t i = 0; promise == Promise::scaled && i < rows; ++i) {
    R largest = 0;
    for (std::int64_t k = 0; k < n; ++k) keep_larger(largest, R(std::abs(W(element(a, m, i, k)))));
    if (largest != 0) weight[static_cast<std::size_t>(i)] = 1 / largest;
  }
  R a_norm = 0, componentwise = 0, normwise = 0, whole_residual = 0, whole_scale = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    R& sum = column[static_cast<std::size_t>(k)];
    for (std::int64_t i = 0; i < rows; ++i) sum += weight[static_cast<std::size_t>(i)] * std::abs(W(element(a, m, i, k)));
    keep_larger(a_norm, sum);
  }
  bool const by_columns = promise == Promise::columns || promise == Promise::scaled;
  for (std::int64_t j = 0; j < x.cols_of(m); ++j) {
    R residual = 0, scale = 0;
    for (std::int64_t k = 0; k < n; ++k)
      scale += (by_columns ? column[static_cast<std::size_t>(k)] : a_norm) * std::abs(W(element(x, m, k, j)));
    for (std::int64_t i = 0; i < rows; ++i) {
      W sum = W(element(b, m, i, j));
      R terms = std::abs(sum), row = 0;
      scale += weight[static_cast<std::size_t>(i)] * terms;
      for (std::int64_t k = 0; k < n; ++k) {
        W const left = W(element(a, m, i, k)), right = W(element(x, m, k, j));
        sum -= left * right;
        row += std::abs(left);
        terms += std::abs(left) * std::abs(right);
      }
      R error = std::abs(sum) - tiny * (1 + row);
      if (error < 0) error = 0;  // NaN stays
      R const share = error == 0 ? R(0) : error / terms;
      if (share > componentwise || (std::isnan(share) && !std::isnan(componentwise)))
        found.place = x.cols_of(m) == 1 ? fmt::format("row {}", i) : fmt::format("row {} of column {}", i, j);
      keep_larger(componentwise, share);
      residual += weight[static_cast<std::size_t>(i)] * error;
    }
    keep_larger(normwise, residual == 0 ? R(0) : residual / scale);
    keep_larger(whole_residual, residual);
    keep_larger(whole_scale, scale);
  }
  if (promise == Promise::whole) normwise = whole_residual == 0 ? R(0) : whole_residual / whole_scale;
  found.error = static_cast<double>(componentwise);
  if (promise != Promise::rows) found.normwise = static_cast<double>(normwise);
  return found;
}

/// --verify of A X = B: the largest componentwise backward error over the columns, for every matrix that did not fail. Where rounding does
/// not explain it, also the normwise error, which is never larger.
template <typename T>
void verify_solution(Job& job, std::int64_t first, Batch<T const> a, Batch<T const> x, Batch<T const> b, int const* info, Promise promise) {
  Matrices<Real<T>> errors;
  errors.resize(sizes_like(
      sizes_of(x), [&](std::int64_t m) { return x.cols_of(m); }, [](std::int64_t) { return std::int64_t{1}; }));
  backward_error<T>(job.queue(), a, x, b, errors.batch());
  job.queue().wait();
  verify_each(job, first, x.count, info, [&](std::int64_t m) {
    Verified found{.bound = rounding_bound<T>(a.cols_of(m))};
    for (std::int64_t j = 0; j < errors.elements_of(m); ++j) keep_larger(found.error, static_cast<double>(errors.matrix(m)[j]));
    return found.error <= found.bound ? found : solution_error(a, x, b, m, promise);
  });
}

/// A copy of a batch whose element (i, j) of matrix b is f(b, i, j).
template <typename T, typename F>
void copy_elements(Job& job, Batch<T const> const& a, Matrices<T>& copy, F&& f) {
  copy.resize(sizes_of(a));
  Batch<T> const out = copy.batch();
  for_each_matrix(job.queue(), a.count, [&](std::int64_t b) {
    for (std::int64_t i = 0; i < a.rows_of(b); ++i)
      for (std::int64_t j = 0; j < a.cols_of(b); ++j) *out.at(b, i, j) = f(b, i, j);
  });
}

/// Element of a Hermitian matrix: that of `a`, without an imaginary part if i = j.
template <typename T>
[[nodiscard]] T hermitian_element(Batch<T const> const& a, std::int64_t b, std::int64_t i, std::int64_t j) {
  T const value = element(a, b, i, j);
  if constexpr (is_complex<T>)
    if (i == j) return T(value.real());
  return value;
}

/// Warns about each matrix used as Hermitian with imaginary parts on its diagonal, which routines ignore. Returns whether there are any.
template <typename T>
bool warn_of_imaginary_diagonal(Job& job, Input const& input, std::int64_t first, Batch<T const> const& a) {
  bool any = false;
  if constexpr (is_complex<T>) {
    for (std::int64_t b = 0; b < (input.broadcast ? std::min<std::int64_t>(a.count, 1) : a.count); ++b)
      for (std::int64_t i = 0; i < a.rows_of(b); ++i) {
        T const x = element(a, b, i, i);
        if (x.imag() == 0) continue;
        any = true;
        if (!input.broadcast || first == 0)
          job.warn([&] {
            std::string const file = input.source->file_of(first + b);
            return fmt::format(
                "{}{} holds {:g}{:+g}i at ({}, {}), counted from 0; imaginary parts on the diagonal of a Hermitian matrix are ignored",
                file.empty() ? input.source->name() : file,
                file.empty() && !input.source->single() ? fmt::format(", matrix {},", first + b) : "", x.real(), x.imag(), i, i);
          });
        break;
      }
  }
  return any;
}

/// norm1(A - F G) / norm1(A) for one matrix, where f(i, k) g(k, j) are the factors with `inner` columns and rows and a(i, j) is the matrix.
template <typename T, typename A, typename F, typename G>
[[nodiscard]] double product_error(std::int64_t rows, std::int64_t cols, std::int64_t inner, A&& a, F&& f, G&& g) {
  using W = Wide<T>;
  Real<W> const underflow = Real<W>(inner + 1) * Real<W>(std::numeric_limits<Real<T>>::denorm_min());  // ignored
  Real<W> difference = 0, norm = 0;
  for (std::int64_t j = 0; j < cols; ++j) {
    Real<W> column_difference = 0, column_norm = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      W sum = W(a(i, j));
      column_norm += std::abs(sum);
      for (std::int64_t k = 0; k < inner; ++k) sum -= W(f(i, k)) * W(g(k, j));
      Real<W> const error = std::abs(sum);
      if (!(error <= underflow)) column_difference += error - underflow;
    }
    keep_larger(difference, column_difference);
    keep_larger(norm, column_norm);
  }
  return norm == 0 ? (difference == 0 ? 0.0 : std::numeric_limits<double>::infinity()) : static_cast<double>(difference / norm);
}

}  // namespace myriad::cli
