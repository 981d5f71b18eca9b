#pragma once
/// Which matrices of a chunk failed, why, and how good the others are.

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "job.hpp"
#include "matrices.hpp"
#include "myriad/myriad.hpp"
#include "stream.hpp"

namespace myriad::cli {

/// What is wrong with a matrix of which LU tells that U(info, info) is zero.
inline std::string singular(int info) { return fmt::format("singular: U({0}, {0}), counted from 1, is exactly zero", info); }

/// Runs f(b) for b = 0 ... count - 1 on the threads of the queue.
template <typename F>
void for_each_matrix(Queue const& queue, std::int64_t count, F&& f) {
  [[maybe_unused]] int const threads = queue.threads();
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t b = 0; b < count; ++b) f(b);
}

/// Whether every element is finite. Works on the bits, so that the compiler can do many at a time.
template <typename T>
[[nodiscard]] bool all_finite(T const* data, std::int64_t elements) {
  using R = Real<T>;
  using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<R>::infinity());
  auto const* const numbers = reinterpret_cast<R const*>(data);  // a complex number is an array of two, says the standard
  std::int64_t const length = elements * static_cast<std::int64_t>(sizeof(T) / sizeof(R));
  Bits bad = 0;
  for (std::int64_t i = 0; i < length; ++i) bad |= (std::bit_cast<Bits>(numbers[i]) & exponent) == exponent;
  return bad == 0;
}

/// Where the first NaN or infinity of matrix b of an input is: "A.npy holds nan at (2, 3)"; empty if there is none.
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

/// Fills the results of the matrices with info > 0 with NaN, so that nobody takes what is left there for a result.
template <typename T>
void spoil_failed(Matrices<T> const& result, std::int64_t count, int const* info) {
  Real<T> const nan = std::numeric_limits<Real<T>>::quiet_NaN();
  for (std::int64_t b = 0; b < count; ++b)
    if (info[b] > 0) std::fill_n(result.matrix(b), result.elements_of(b), T(nan));
}

/// --verify of A X = B: the largest componentwise backward error over the columns, of every matrix that did not fail.
template <typename T>
void verify_solution(Job& job, std::int64_t first, Batch<T const> a, Batch<T const> x, Batch<T const> b, int const* info) {
  Matrices<Real<T>> errors;
  errors.resize(sizes_like(
      sizes_of(x), [&](std::int64_t m) { return x.cols_of(m); }, [](std::int64_t) { return std::int64_t{1}; }));
  backward_error<T>(job.queue(), a, x, b, errors.batch());
  job.queue().wait();
  for (std::int64_t m = 0; m < x.count; ++m) {
    if (info[m] != 0) continue;
    double worst = 0;
    for (std::int64_t j = 0; j < errors.elements_of(m); ++j) keep_larger(worst, static_cast<double>(errors.matrix(m)[j]));
    job.verified(first + m, worst);
  }
}

/// The precision in which the checks below accumulate.
template <typename T>
using Wide = std::conditional_t<is_complex<T>, std::complex<std::conditional_t<sizeof(Real<T>) == 4, double, long double>>,
                                std::conditional_t<sizeof(Real<T>) == 4, double, long double>>;

/// norm1(A - F G) / norm1(A) for one matrix, where f(i, k) g(k, j) are the factors with `inner` columns and rows and a(i, j) is the matrix.
template <typename T, typename A, typename F, typename G>
[[nodiscard]] double product_error(std::int64_t rows, std::int64_t cols, std::int64_t inner, A&& a, F&& f, G&& g) {
  using W = Wide<T>;
  Real<W> difference = 0, norm = 0;
  for (std::int64_t j = 0; j < cols; ++j) {
    Real<W> column_difference = 0, column_norm = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      W sum = W(a(i, j));
      column_norm += std::abs(sum);
      for (std::int64_t k = 0; k < inner; ++k) sum -= W(f(i, k)) * W(g(k, j));
      column_difference += std::abs(sum);
    }
    keep_larger(difference, column_difference);
    keep_larger(norm, column_norm);
  }
  return norm == 0 ? (difference == 0 ? 0.0 : std::numeric_limits<double>::infinity()) : static_cast<double>(difference / norm);
}

/// Element (i, j) of matrix b, with the conjugation of the view.
template <typename T>
[[nodiscard]] std::remove_const_t<T> element(Batch<T> const& a, std::int64_t b, std::int64_t i, std::int64_t j) {
  if constexpr (is_complex<T>)
    if (a.conjugated) return std::conj(*a.at(b, i, j));
  return *a.at(b, i, j);
}

/// Reports error(b) of every matrix that did not fail.
template <typename F>
void verify_each(Job& job, std::int64_t first, std::int64_t count, int const* info, F&& error) {
  std::vector<double> errors(static_cast<std::size_t>(count), 0.0);
  for_each_matrix(job.queue(), count, [&](std::int64_t b) {
    if (info[b] == 0) errors[static_cast<std::size_t>(b)] = error(b);
  });
  for (std::int64_t b = 0; b < count; ++b)
    if (info[b] == 0) job.verified(first + b, errors[static_cast<std::size_t>(b)]);
}

}  // namespace myriad::cli
