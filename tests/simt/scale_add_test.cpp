/// The kernel for alpha and beta in memory on the host twin.

#include "scale_add/scale_add.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "core/local_matrix.hpp"
#include "runtime/views.hpp"
#include "scale_add/lines.hpp"
#include "scale_add/scale_add_lines.cuh"
#include "simt_host/host.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

/// A number, complex where T is.
template <typename T>
T number(double re, double im) {
  if constexpr (is_complex<T>)
    return T(Real<T>(re), Real<T>(im));
  else
    return T(re);
}
template <typename T>
constexpr T nan = T(std::numeric_limits<Real<T>>::quiet_NaN());

struct Sum {
  int m, n;
  Layout layout;
  Written written = Written::whole;
  bool of_two = false, conjugated = false, ragged = false;
};

/// Compares with a loop. What must not be read holds NaN.
template <typename T, typename Output = T>
void check(Sum const& sum) {
  using D = gpu::DeviceElement<T>;
  std::int64_t const count = 7;
  // Factors of a Hermitian C are real, except the one of a sum with its transpose.
  bool const hermitian = sum.written == Written::lower_hermitian, real_alpha = hermitian && !sum.of_two;
  T const two = number<T>(2, real_alpha ? 0 : -1), half_of = number<T>(0.5, hermitian ? 0 : 2);
  for (auto const& [alpha, beta] : {std::pair(two, T(1)), {T(-1), T(0)}, {T(0), T(1)}, {T(0), half_of}, {T(0), T(0)}, {two, half_of}}) {
    SCOPED_TRACE(testing::Message() << sum.m << " by " << sum.n << ", layout " << static_cast<int>(sum.layout) << ", alpha " << alpha
                                    << ", beta " << beta);
    Stored<T> p(sum.m, sum.n, count, sum.layout);
    Stored<Output> c(sum.m, sum.n, count, sum.layout);
    fill(p.memory, 1);
    for (std::size_t e = 0; e < c.memory.size(); ++e)
      c.memory[e] = Output(Compute<Output>(number<T>(double(e % 17) - 8, double(e % 5) - 2)));
    if (alpha == T(0)) std::fill(p.memory.begin(), p.memory.end(), nan<T>);
    if (beta == T(0)) std::fill(c.memory.begin(), c.memory.end(), Output(Compute<Output>(nan<T>)));
    std::vector<std::int64_t> sizes, terms;
    for (std::int64_t q = 0; q < count; ++q) {
      sizes.push_back(q % (std::min(sum.m, sum.n) + 1));
      terms.push_back(q % 2);
    }
    if (sum.ragged) p.view.row_sizes = p.view.col_sizes = c.view.row_sizes = c.view.col_sizes = sizes.data();
    c.view.conjugated = sum.conjugated;
    // Imaginary parts of the diagonal of a Hermitian matrix may be anything.
    for (std::int64_t q = 0; hermitian && beta != T(0) && q < count; ++q)
      for (std::int64_t i = 0; i < c.view.rows_of(q); ++i)
        *c.view.at(q, i, i) = Output(Compute<Output>(number<T>(double(i % 5), std::numeric_limits<double>::quiet_NaN())));
    Stored<Output> expected = c;
    expected.view.data = expected.memory.data() + (c.view.data - c.memory.data());
    for (std::int64_t q = 0; q < count; ++q)
      for (std::int64_t j = 0; j < c.view.cols_of(q); ++j)
        for (std::int64_t i = sum.written == Written::whole ? 0 : j; i < c.view.rows_of(q); ++i) {
          bool const has_terms = alpha != T(0) && (!sum.ragged || terms[static_cast<std::size_t>(q)] > 0);
          if (!has_terms && beta == T(1)) continue;
          T value = has_terms ? alpha * *p.view.at(q, i, j) : T(0);
          if (has_terms && sum.of_two) value += conjugate_if(hermitian, alpha * *p.view.at(q, j, i));
          T former = beta == T(0) ? T(0) : conjugate_if(sum.conjugated, T(Compute<Output>(*c.view.at(q, i, j))));
          if (hermitian && i == j) former = std::real(former), value = std::real(value);
          *expected.view.at(q, i, j) = Output(Compute<Output>(conjugate_if(sum.conjugated, value + beta * former)));
        }
    // Numbers in memory, real ones where C is Hermitian
    T const in_memory[]{alpha, beta};
    Real<T> const real_in_memory[]{std::real(alpha), std::real(beta)};
    auto const factor = [&](int which, bool real) {
      return Factor<D>{.value = {},
                       .at = real ? nullptr : reinterpret_cast<D const*>(in_memory + which),
                       .real_at = real ? real_in_memory + which : nullptr};
    };
    ScaleAddArguments<D, gpu::DeviceElement<Output>> const args{
        .alpha = factor(0, real_alpha),
        .beta = factor(1, hermitian),
        .p = gpu::matrices_of(Batch<T const>(p.view)),
        .c = gpu::matrices_of(c.view),
        .written = sum.written,
        .of_two = sum.of_two,
        .interleaved = sum.layout == Layout::interleaved,
        .terms = 1,
        .term_sizes = sum.ragged ? reinterpret_cast<simt::Index const*>(terms.data()) : nullptr,
        .term_offset = 0};
    double const bound = sizeof(Real<Output>) == 2 ? 0.01 : 8 * double(std::numeric_limits<Real<T>>::epsilon());
    auto const expect_right = [&] {
      for (std::size_t e = 0; e < c.memory.size(); ++e) {
        T const found = T(Compute<Output>(c.memory[e])), wanted = T(Compute<Output>(expected.memory[e]));
        if (std::isnan(std::abs(found)) && std::isnan(std::abs(wanted))) continue;
        ASSERT_LE(std::abs(found - wanted), bound * (1 + std::abs(wanted))) << "element " << e;
      }
    };
    auto const former = c.memory;
    simt::run(2, scale_add_threads, 0, scale_add<D, gpu::DeviceElement<Output>>, args);
    expect_right();
    if (sum.written != Written::whole || sum.of_two || sum.ragged) continue;
    std::copy(former.begin(), former.end(), c.memory.begin());
    auto lines = gpu::lines_of(args.p, args.c);
    lines.alpha = args.alpha;
    lines.beta = args.beta;
    lines.has_terms = true;
    simt::run(2, scale_add_threads, 0, scale_add_lines<D, gpu::DeviceElement<Output>>, lines);
    expect_right();
  }
}

template <typename T>
class ScaleAdd : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(ScaleAdd, Types);

TYPED_TEST(ScaleAdd, Layouts) {
  for (Layout const layout : layouts) {
    check<TypeParam>({.m = 1, .n = 1, .layout = layout});
    check<TypeParam>({.m = 13, .n = 29, .layout = layout});
    if (!sanitized) check<TypeParam>({.m = 70, .n = 41, .layout = layout, .conjugated = is_complex<TypeParam>});
  }
}
TYPED_TEST(ScaleAdd, Ragged) {
  check<TypeParam>({.m = 9, .n = 8, .layout = Layout::columns, .ragged = true});
  check<TypeParam>({.m = 8, .n = 8, .layout = Layout::rows, .written = Written::lower_hermitian, .of_two = true, .ragged = true});
}
TYPED_TEST(ScaleAdd, Triangles) {
  for (Layout const layout : {Layout::packed_columns, Layout::packed_rows, Layout::interleaved})
    for (bool const of_two : {false, true}) {
      check<TypeParam>({.m = 33, .n = 33, .layout = layout, .written = Written::lower, .of_two = of_two});
      check<TypeParam>(
          {.m = 33, .n = 33, .layout = layout, .written = Written::lower_hermitian, .of_two = of_two, .conjugated = is_complex<TypeParam>});
    }
}
/// Sums are exact in single precision but not in 16 bits, so each result has the bits of one rounding.
template <typename T, typename Output>
void expect_one_rounding() {
  using D = gpu::DeviceElement<T>;
  Stored<T> p(13, 29, 3, Layout::packed_columns);
  Stored<Output> c(13, 29, 3, Layout::packed_columns);
  T const alpha = number<T>(3, -1), beta = number<T>(5, 2);
  for (std::size_t e = 0; e < p.memory.size(); ++e) {
    auto const x = static_cast<double>(e);
    p.memory[e] = number<T>(1 + x * 0x1p-12, 2 - x * 0x1p-12);
    c.memory[e] = Output(number<T>((double(e % 17) - 8) / 4, double(e % 5) - 2));
  }
  std::vector<Output> expected(c.memory.begin(), c.memory.end());
  for (std::int64_t q = 0; q < c.view.count; ++q)
    for (std::int64_t j = 0; j < c.view.cols; ++j)
      for (std::int64_t i = 0; i < c.view.rows; ++i)
        expected[static_cast<std::size_t>(c.view.at(q, i, j) - c.memory.data())] =
            Output(T(alpha * *p.view.at(q, i, j) + beta * T(*c.view.at(q, i, j))));
  ScaleAddArguments<D, gpu::DeviceElement<Output>> const args{
      .alpha = {.value = {}, .at = reinterpret_cast<D const*>(&alpha), .real_at = nullptr},
      .beta = {.value = {}, .at = reinterpret_cast<D const*>(&beta), .real_at = nullptr},
      .p = gpu::matrices_of(Batch<T const>(p.view)),
      .c = gpu::matrices_of(c.view),
      .written = Written::whole,
      .of_two = false,
      .interleaved = false,
      .terms = 1,
      .term_sizes = nullptr,
      .term_offset = 0};
  simt::run(2, scale_add_threads, 0, scale_add<D, gpu::DeviceElement<Output>>, args);
  ASSERT_EQ(c.memory.size(), expected.size());
  EXPECT_EQ(std::memcmp(c.memory.data(), expected.data(), expected.size() * sizeof(Output)), 0);
}

TEST(ScaleAddHalves, AreRoundedOnce) {
  expect_one_rounding<float, half>();
  expect_one_rounding<float, bfloat16>();
  expect_one_rounding<std::complex<float>, complex_half>();
  check<float, half>({.m = 13, .n = 29, .layout = Layout::packed_columns});
  check<float, bfloat16>({.m = 13, .n = 29, .layout = Layout::packed_rows});
  check<std::complex<float>, complex_half>({.m = 13, .n = 29, .layout = Layout::interleaved, .conjugated = true});
}
/// beta is real, so an infinite part of C leaves the other part finite, as with numbers.
TEST(ScaleAddHermitian, MultipliesPartsByRealBeta) {
  using T = std::complex<double>;
  using D = gpu::DeviceElement<T>;
  double const infinity = std::numeric_limits<double>::infinity(), beta = 2;
  std::vector<T> of_p(4, T(1, 1)), of_c{T(3, 7), T(5, infinity), T(0, 0), T(infinity, 0)};
  Batch<T> const p = batch(of_p.data(), 2, 2, {.count = 1}), c = batch(of_c.data(), 2, 2, {.count = 1});
  for (simt::Index const terms : {1, 0}) {
    ScaleAddArguments<D, D> const args{.alpha = {.value = D{1, 0}, .at = nullptr, .real_at = nullptr},
                                       .beta = {.value = {}, .at = nullptr, .real_at = &beta},
                                       .p = gpu::matrices_of(Batch<T const>(p)),
                                       .c = gpu::matrices_of(c),
                                       .written = Written::lower_hermitian,
                                       .of_two = false,
                                       .interleaved = false,
                                       .terms = terms,
                                       .term_sizes = nullptr,
                                       .term_offset = 0};
    simt::run(1, scale_add_threads, 0, scale_add<D, D>, args);
    EXPECT_EQ(of_c[0], terms > 0 ? T(7, 0) : T(14, 0));
    EXPECT_EQ(of_c[1], terms > 0 ? T(11, infinity) : T(22, infinity));
    EXPECT_EQ(of_c[2], T(0, 0));
    EXPECT_EQ(of_c[3], T(infinity, 0));
  }
}
/// P is C: a triangular solve with alpha in memory.
TEST(ScaleAddInPlace, MultipliesByAlpha) {
  for (double const alpha : {2.0, 1.0, 0.0}) {
    std::vector<double> memory(6 * 5 * 3, alpha == 0 ? nan<double> : 3);
    Batch<double> const c = batch(memory.data(), 6, 5, {.count = 3});
    auto args = gpu::lines_of(gpu::matrices_of(Batch<double const>(c)), gpu::matrices_of(c));
    args.alpha = {.value = 7, .at = &alpha, .real_at = nullptr};
    args.has_terms = true;
    simt::run(1, scale_add_threads, 0, scale_add_lines<double, double>, args);
    for (double const x : memory) ASSERT_EQ(x, 3 * alpha);
  }
}
/// Lines go over all dimensions without gaps.
TEST(ScaleAddLines, AreAsLongAsMemoryAllows) {
  std::vector<float> of_p(2000), of_c(4000);
  auto const lines = [&](Batch<float> const& p, Batch<float> const& c) {
    return gpu::lines_of(gpu::matrices_of(Batch<float const>(p)), gpu::matrices_of(c));
  };
  auto const expect = [](auto const& args, std::array<simt::Index, 3> const& sizes, bool wide) {
    EXPECT_EQ((std::array{args.sizes[0], args.sizes[1], args.sizes[2]}), sizes);
    EXPECT_EQ(args.wide, wide);
  };
  Batch<float> const p = batch(of_p.data(), 8, 6, {.count = 5}), c = batch(of_c.data(), 8, 6, {.count = 5});
  expect(lines(p, c), {240, 1, 1}, true);
  expect(lines(transposed(p), transposed(c)), {240, 1, 1}, true);
  expect(lines(p, batch(of_c.data() + 1, 8, 6, {.count = 5})), {240, 1, 1}, false);
  expect(lines(p, batch(of_c.data(), 8, 6, {.ld = 12, .count = 5})), {8, 30, 1}, true);
  expect(lines(p, batch(of_c.data(), 8, 6, {.ld = 9, .count = 5})), {8, 30, 1}, false);
  expect(lines(batch(of_p.data(), 7, 6, {.count = 5}), batch(of_c.data(), 7, 6, {.ld = 8, .count = 5})), {7, 30, 1}, false);
  expect(lines(p, batch(of_c.data(), 8, 6, {.ld = 12, .stride = 100, .count = 5})), {8, 6, 5}, true);
  expect(lines(interleaved(of_p.data(), 3, 2, 8), matrices(interleaved(of_c.data(), 3, 2, 12), 0, 8)), {8, 6, 1}, true);
  expect(lines(block(p, 0, 0, 1, 6), block(c, 0, 0, 1, 6)), {30, 1, 1}, false);
}

/// Several blocks, lines that end within one, and elements after the last 16 bytes.
TEST(ScaleAddLines, OfManyElements) {
  for (auto const& [m, ld, count] : {std::array{41, 41, 1201}, {44, 48, 301}, {3, 4, 5001}, {1500, 1504, 3}}) {
    std::int64_t const n = m < 100 ? 2 : 3;
    std::vector<float> of_p(static_cast<std::size_t>(m * n * count), 3.0F), of_c(static_cast<std::size_t>(ld * n * count), 1.0F);
    Batch<float> const p = batch(of_p.data(), m, n, {.count = count}), c = batch(of_c.data(), m, n, {.ld = ld, .count = count});
    for (std::size_t e = 0; e < of_p.size(); ++e) of_p[e] = static_cast<float>(e % 8191);
    auto args = gpu::lines_of(gpu::matrices_of(Batch<float const>(p)), gpu::matrices_of(c));
    args.alpha = {.value = 2, .at = nullptr, .real_at = nullptr};
    args.beta = {.value = 5, .at = nullptr, .real_at = nullptr};
    args.has_terms = true;
    simt::run(3, scale_add_threads, 0, scale_add_lines<float, float>, args);
    for (std::size_t e = 0; e < of_c.size(); ++e) {
      std::size_t const i = e % static_cast<std::size_t>(ld), line = e / static_cast<std::size_t>(ld);
      float const expected = i < static_cast<std::size_t>(m) ? 2 * of_p[line * static_cast<std::size_t>(m) + i] + 5 : 1;
      ASSERT_EQ(of_c[e], expected) << m << " rows, element " << e;
    }
  }
}

}  // namespace
}  // namespace myriad
