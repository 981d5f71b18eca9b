/// 16-bit products on the host twin: kernels of gemm/halves/gemm_halves.cuh, gemm/halves/gemm_halves_stream.cuh and
/// gemm/halves/gemm_halves_blocks.cuh against sums term by term.

#include "gemm/halves/gemm_halves.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "candidates.hpp"
#include "gemm/halves/gemm_halves_blocks.cuh"
#include "gemm/halves/gemm_halves_space.hpp"
#include "gemm/halves/gemm_halves_stream.cuh"
#include "product.hpp"
#include "products_table.hpp"
#include "schedule.hpp"
#include "sizes.hpp"

namespace myriad {
namespace {

constexpr Layout columns = Layout::columns, rows = Layout::rows, packed = Layout::packed_columns, packed_rows = Layout::packed_rows,
                 interleaved_ = Layout::interleaved;

template <typename T>
constexpr T not_a_number() {
  if constexpr (is_complex<T>) {
    constexpr Real<T> nan = std::numeric_limits<Real<T>>::quiet_NaN();
    return T(nan, nan);
  } else {
    return std::numeric_limits<T>::quiet_NaN();
  }
}

/// A batch of normally distributed numbers, with NaN in its memory between elements.
template <typename T>
void fill_elements(Stored<T>& x, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::fill(x.memory.begin(), x.memory.end(), not_a_number<T>());
  for (std::int64_t q = 0; q < x.view.count; ++q)
    for (std::int64_t j = 0; j < x.view.cols_of(q); ++j)
      for (std::int64_t i = 0; i < x.view.rows_of(q); ++i) {
        float const re = normal(random);
        if constexpr (is_complex<T>)
          *x.view.at(q, i, j) = T(std::complex<float>(re, normal(random)));
        else
          *x.view.at(q, i, j) = T(re);
      }
}

/// A sum of products. Lanes add in the order of terms and round each sum. Tensor cores add 16 products at a time (complex: those of 8
/// terms) to the sum with one rounding.
template <typename S>
class SumOfProducts {
 public:
  explicit SumOfProducts(bool by_lanes) : by_lanes_(by_lanes) {}
  void add(S a, S b) {
    if (by_lanes_) {
      sum_ = simt::multiply_add(a, b, sum_);
      return;
    }
    if constexpr (simt::is_complex<S>) {
      add(0, a.re, b.re), add(0, -a.im, b.im), add(1, a.im, b.re), add(1, a.re, b.im);
    } else {
      add(0, a, b);
    }
    if (++terms_ % (simt::is_complex<S> ? 8 : 16) == 0) round();
  }
  S value() {
    if (!by_lanes_) round();
    return sum_;
  }

 private:
  void add(std::size_t part, float a, float b) { products_[part] = std::fma(double{a}, double{b}, products_[part]); }
  void round() {
    auto const rounded = [&](std::size_t part, float sum) { return static_cast<float>(sum + std::exchange(products_[part], 0)); };
    if constexpr (simt::is_complex<S>)
      sum_ = {rounded(0, sum_.re), rounded(1, sum_.im)};
    else
      sum_ = rounded(0, sum_);
  }

  bool by_lanes_;
  int terms_ = 0;
  S sum_ = simt::from_real<S>(0);
  std::array<double, 2> products_{};
};

template <typename T, typename Output, Product p>
void run_kernel(GemmArguments<gpu::DeviceElement<T>, gpu::DeviceElement<Output>> const& args) {
  using D = gpu::DeviceElement<T>;
  using O = gpu::DeviceElement<Output>;
  constexpr bool interleaved = p.a == interleaved_ || p.b == interleaved_ || p.c == interleaved_;
  constexpr bool ragged = p.ragged_m || p.ragged_n || p.ragged_k;
  if constexpr (gemm_halves_whole(p.m, p.n, p.k) || interleaved) {
    constexpr GemmHalves c = [] {
      GemmHalves plan = gemm_halves_plan(sizeof(T), sizeof(Output), is_complex<T>, p.m, p.n, p.k, interleaved && !ragged);
      auto const layout = [&](Layout given, bool differs) {
        return differs ? ragged_layout(given) : plan.whole() ? given : gpu::by_elements(given);
      };
      plan.a = p.shared_a ? Layout::columns : layout(p.a, p.ragged_m || p.ragged_k);
      plan.b = layout(p.b, p.ragged_k || p.ragged_n);
      plan.c = layout(p.c, p.ragged_m || p.ragged_n);
      plan.scheduled = p.scheduled ? 1 : 0;
      return plan;
    }();
    auto given = args;
    std::optional<Schedule> schedule;
    if constexpr (p.scheduled)
      given.schedule = schedule.emplace(args.a, args.c, Schedule::Parts{{1000, c.m, c.n}}, 1, c.matrices).of_part(0);
    simt::run(2, c.threads(), GemmHalvesMemory(sizeof(T), sizeof(Output), c).bytes, gemm_halves<D, O, c>, given);
  } else {
    constexpr GemmHalvesBlocks c = [] {
      auto const lines = [](Layout layout) { return simt::is_by_rows(layout) ? Lines::rows : Lines::columns; };
      // 2: all lines of A and B are aligned; 1: those of matrices that begin at a multiple of 16 bytes
      auto const aligned = [](Layout layout, int down, int across) {
        bool const by_rows = simt::is_by_rows(layout), pointers = layout == Layout::columns;
        int const length = by_rows ? across : down, of_chunk = 16 / sizeof(T);
        return length % of_chunk != 0 ? 0 : pointers ? 1 : 2;
      };
      return gemm_halves_blocks_plan(sizeof(T), sizeof(Output), is_complex<T>, p.m, p.n, p.k,
                                     {.a = lines(p.a),
                                      .b = lines(p.b),
                                      .c = lines(p.c),
                                      .aligned = std::min(aligned(p.a, p.m, p.k), aligned(p.b, p.k, p.n)),
                                      .shared_memory = 99 * 1024});
    }();
    constexpr int bytes = GemmHalvesBlocksMemory(sizeof(T), sizeof(Output), is_complex<T>, c).bytes;
    if constexpr (p.scheduled) {
      constexpr GemmHalvesBlocks scheduled = [](GemmHalvesBlocks plan) {
        plan.scheduled = 1;
        return plan;
      }(c);
      auto given = args;
      Schedule const schedule(args.a, args.c, {{1000, c.m, c.n}}, 1);
      given.schedule = schedule.of_part(0);
      simt::run(3, c.threads(), bytes, gemm_halves_blocks<D, O, scheduled>, given);
    } else {
      simt::run(3, c.threads(), bytes, gemm_halves_blocks<D, O, c>, args);
    }
  }
}

/// Runs gemm_halves_stream, with `gap` elements between lines of A, B and C.
template <typename T, typename Output, Product p, int gap>
void run_stream(GemmArguments<gpu::DeviceElement<T>, gpu::DeviceElement<Output>> const& args) {
  constexpr GemmHalvesStream c = [] {
    auto const lines = [](Layout layout) { return simt::is_by_rows(layout) ? Lines::rows : Lines::columns; };
    bool words = true;
    auto const unit = [&](Layout layout, int down, int across, int bytes, bool behind_pointers = false) {
      bool const by_rows = simt::is_by_rows(layout), anywhere = layout != packed && layout != packed_rows;
      int const length = by_rows ? across : down, count = by_rows ? down : across, of_chunk = 16 / bytes;
      int const of_lines = std::gcd(of_chunk, std::gcd(length, length + gap));
      int const of_all = behind_pointers ? of_lines : anywhere ? 1 : std::gcd(of_lines, (length + gap) * count);
      words = words && (of_all * bytes % 4 == 0) && !behind_pointers;
      return gap == 0 && of_all < of_chunk ? 0 : of_all;
    };
    int const a = unit(p.a, p.m, p.k, sizeof(T), p.pointers), b = unit(p.b, p.k, p.n, sizeof(T), p.pointers || p.b == Layout::columns),
              of_c = unit(p.c, p.m, p.n, sizeof(Output), p.pointers);
    return gemm_halves_stream_plan(sizeof(T), sizeof(Output), is_complex<T>, p.m, p.n, p.k,
                                   {.a = lines(p.a), .b = lines(p.b), .a_unit = a, .b_unit = b, .c_unit = of_c, .words = words ? 1 : 0});
  }();
  simt::run(2, c.threads(), GemmHalvesStreamMemory(sizeof(T), sizeof(Output), is_complex<T>, c).bytes,
            gemm_halves_stream<gpu::DeviceElement<T>, gpu::DeviceElement<Output>, c>, args);
}
constexpr int by_others = -1;

/// Checks `run` with `gap` elements between lines. Compiled once per pair of types, not for every kernel.
template <typename T, typename Output>
void check(Product const& p, int gap, Compute<T> alpha, Compute<T> beta, std::int64_t count,
           void (*run)(GemmArguments<gpu::DeviceElement<T>, gpu::DeviceElement<Output>> const&)) {
  using D = gpu::DeviceElement<T>;
  using O = gpu::DeviceElement<Output>;
  using S = simt::Compute<D>;
  SCOPED_TRACE(testing::Message() << p.m << " x " << p.n << " x " << p.k << ", alpha " << alpha << ", beta " << beta);
  auto const stored = [gap]<typename U>(U, int down, int across, std::int64_t matrices, Layout layout) {
    bool const by_rows = simt::is_by_rows(layout);
    Stored<U> x(down + (by_rows ? 0 : std::max(gap, 0)), across + (by_rows ? std::max(gap, 0) : 0), matrices, layout);
    if (gap > 0) x.view = by_rows ? myriad::columns(x.view, 0, across) : myriad::rows(x.view, 0, down);
    return x;
  };
  auto a = p.transposed_a ? myriad::stored<T>(p.m, p.k, count, p.a, true) : stored(T(), p.m, p.k, count, p.a);
  auto b = p.transposed_b ? myriad::stored<T>(p.k, p.n, count, p.b, true) : stored(T(), p.k, p.n, count, p.b);
  auto product = stored(Output(), p.m, p.n, count, p.c);
  auto const sizes = [&](int bound, std::int64_t step) {
    std::array<std::int64_t, 5> const some{bound, 0, (bound + 1) / 2, 1, std::min(bound, 4)};
    std::vector<std::int64_t> out;
    for (std::int64_t q = 0; q < count; ++q) out.push_back(some[static_cast<std::size_t>((step * q + q / 5) % 5)]);
    return out;
  };
  auto const m = sizes(p.m, 1), n = sizes(p.n, 1), k = sizes(p.k, 3);
  if (p.ragged_m) a.view.row_sizes = product.view.row_sizes = m.data();
  if (p.ragged_n) b.view.col_sizes = product.view.col_sizes = n.data();
  if (p.ragged_k) a.view.col_sizes = b.view.row_sizes = k.data();
  if (p.shared_a) a.view.batch_stride = 0;
  fill_elements(a, 1);
  fill_elements(b, 2);
  fill_elements(product, 3);
  if (beta == Compute<T>(0)) std::fill(product.memory.begin(), product.memory.end(), not_a_number<Output>());
  auto const before = product.memory;

  bool const none = alpha == Compute<T>(0);
  Batch<T const> a_in = a.view, b_in = b.view;
  if (p.conjugated_a) a_in = conjugated(a_in);
  if (p.conjugated_b) b_in = conjugated(b_in);
  Batch<Output> c_in = product.view;
  std::vector<T const*> of_a, of_b;
  std::vector<Output*> of_c;
  if (p.pointers || (p.b == Layout::columns && !p.ragged_k && !p.ragged_n)) b_in = behind(b_in, of_b);
  if (p.pointers) a_in = behind(a_in, of_a), c_in = behind(c_in, of_c);
  GemmArguments<D, O> args{.alpha = std::bit_cast<S>(alpha),
                           .beta = std::bit_cast<S>(beta),
                           .a = gpu::matrices_of(a_in),
                           .b = gpu::matrices_of(b_in),
                           .c = gpu::matrices_of(c_in),
                           .depth = none ? 0 : p.k};
  if (none) {  // neither A nor B is read
    args.a.data = args.b.data = nullptr;
    args.a.pointers = args.b.pointers = nullptr;
  }
  run(args);

  auto expected = before;
  for (std::int64_t q = 0; q < count; ++q) {
    std::int64_t const rows_of_c = product.view.rows_of(q), columns_of_c = product.view.cols_of(q);
    std::int64_t const terms = none ? 0 : a.view.cols_of(q);
    bool const by_lanes = std::max({rows_of_c, columns_of_c, terms}) <= gemm_halves_by_lanes;
    for (std::int64_t j = 0; j < columns_of_c; ++j)
      for (std::int64_t i = 0; i < rows_of_c; ++i) {
        SumOfProducts<S> products(by_lanes);
        for (std::int64_t t = 0; t < terms; ++t)
          products.add(simt::conjugate_if(p.conjugated_a, simt::widened(std::bit_cast<D>(*a.view.at(q, i, t)))),
                       simt::conjugate_if(p.conjugated_b, simt::widened(std::bit_cast<D>(*b.view.at(q, t, j)))));
        S const sum = products.value();
        Output& to = expected[static_cast<std::size_t>(product.view.at(q, i, j) - product.memory.data())];
        S value = terms == 0 ? simt::from_real<S>(0) : args.alpha * sum;
        S const former = simt::widened(std::bit_cast<O>(to));
        if (beta != Compute<T>(0)) value = terms == 0 ? args.beta * former : simt::multiply_add(args.beta, former, value);
        to = Output(std::bit_cast<Compute<T>>(value));
      }
  }
  for (std::size_t e = 0; e < expected.size(); ++e)
    ASSERT_EQ(std::memcmp(&expected[e], &product.memory[e], sizeof(Output)), 0)
        << "element " << e << " of the memory: " << Compute<T>(product.memory[e]) << " instead of " << Compute<T>(expected[e]);
}

/// Checks gemm_halves_stream or, with gap = by_others, other kernels.
template <typename T, typename Output, Product p, int gap>
void check(Compute<T> alpha, Compute<T> beta, std::int64_t count) {
  if constexpr (gap == by_others)
    check<T, Output>(p, gap, alpha, beta, count, run_kernel<T, Output, p>);
  else
    check<T, Output>(p, gap, alpha, beta, count, run_stream<T, Output, p, gap>);
}

/// Several blocks, the last of which is not full; with a C of 16 bits and one of the computed type.
template <typename T, Product p, int gap = by_others>
void check_scalars() {
  using S = Compute<T>;
  constexpr bool interleaved = p.a == interleaved_ || p.b == interleaved_ || p.c == interleaved_;
  constexpr int matrices = gemm_halves_whole(p.m, p.n, p.k) || interleaved
                               ? gemm_halves_plan(sizeof(T), sizeof(T), is_complex<T>, p.m, p.n, p.k, interleaved).matrices
                               : 1;
  constexpr int least = p.ragged_m || p.ragged_n || p.ragged_k ? 12 : 2;
  std::int64_t const count = gap == by_others ? std::max(matrices + 1, least) : 5;
  check<T, T, p, gap>(S(-0.75F), S(1), count);
  check<T, T, p, gap>(S(1), S(0), count);
  check<T, T, p, gap>(S(0), S(2), count);
  if constexpr (!sanitized) check<T, S, p, gap>(S(0.5F), S(-1), count);
}

template <typename T>
class GemmHalvesOf : public testing::Test {};
using Types = testing::Types<half, bfloat16, complex_half>;
TYPED_TEST_SUITE(GemmHalvesOf, Types);

/// Every layout and odd size, with the kernel that a GPU would use; gemm_table_test.cpp has the other types.
TYPED_TEST(GemmHalvesOf, EveryLayoutAndOddSize) {
  using T = TypeParam;
  using S = Compute<T>;
  for_each_product([]<StoredAs as, int n, bool transposed_a, bool transposed_b>() {
    SCOPED_TRACE(testing::Message() << "stored " << static_cast<int>(as) << ", transposed " << transposed_a << transposed_b);
    static constexpr Product p = product_of(as, n, transposed_a, transposed_b);
    constexpr bool by_columns = !simt::is_by_rows(p.c), stream = n > 32 && by_columns && as != StoredAs::interleaved && !p.ragged_m;
    static_assert(!stream || gemm_halves_streams(is_complex<T>, n, n, n, 2));
    std::int64_t const count = n <= 4 ? 131 : n <= 16 ? 33 : 5;
    for (int conjugates = 0; conjugates < (is_complex<T> ? 4 : 1); ++conjugates) {
      Product given = p;
      given.conjugated_a = conjugates % 2 != 0, given.conjugated_b = conjugates / 2 != 0;
      auto const run = [&] {
        if constexpr (stream)
          return run_stream<T, T, p, 0>;
        else
          return run_kernel<T, T, p>;
      }();
      check<T, T>(given, by_others, S(-0.75F), S(1), count, run);
      if (conjugates == 0) check<T, T>(given, by_others, S(1), S(0), count, run);
    }
  });
}
TYPED_TEST(GemmHalvesOf, OneLane) {
  using T = TypeParam;
  check_scalars<T, Product{2, 2, 2, packed, packed, packed}>();
  check_scalars<T, Product{3, 3, 3, packed, packed_rows, packed}>();
  check_scalars<T, Product{4, 4, 4, packed_rows, packed, packed_rows}>();
  check_scalars<T, Product{4, 3, 2, columns, rows, columns}>();
  if constexpr (!sanitized) {
    check_scalars<T, Product{1, 1, 1, packed, packed, packed}>();
    check_scalars<T, Product{4, 1, 4, packed, packed, packed, false, false, false, true}>();
    check_scalars<T, Product{4, 4, 4, packed, packed, packed}>();
    check_scalars<T, Product{4, 4, 3, interleaved_, interleaved_, interleaved_}>();
  }
  check_scalars<T, Product{4, 3, 4, packed, packed, packed_rows, true, true, true}>();
}
TYPED_TEST(GemmHalvesOf, Whole) {
  using T = TypeParam;
  check_scalars<T, Product{5, 5, 5, packed, packed, packed}>();
  check_scalars<T, Product{8, 8, 8, packed_rows, packed, packed}>();
  check_scalars<T, Product{17, 9, 16, packed, packed_rows, packed_rows}>();
  check_scalars<T, Product{20, 3, 33, columns, rows, columns}>();
  if constexpr (!sanitized) {
    check_scalars<T, Product{16, 16, 16, packed, packed, packed}>();
    check_scalars<T, Product{10, 12, 7, packed_rows, packed_rows, packed}>();
    check_scalars<T, Product{32, 32, 32, packed, packed, packed}>();
    check_scalars<T, Product{2, 1, 40, packed, packed, packed}>();
    check_scalars<T, Product{33, 24, 1, packed, packed, packed_rows}>();
    check_scalars<T, Product{5, 6, 7, Layout::dense_rows, Layout::dense_columns, Layout::dense_columns, false, false, false, true}>();
  }
}
TYPED_TEST(GemmHalvesOf, SeveralWarps) {
  using T = TypeParam;
  check_scalars<T, Product{64, 64, 64, packed, packed, packed}>();
  if constexpr (!sanitized) {
    check_scalars<T, Product{40, 48, 40, packed, packed_rows, packed}>();
    check_scalars<T, Product{63, 61, 64, packed_rows, packed, packed}>();
  }
}
TYPED_TEST(GemmHalvesOf, Interleaved) {
  using T = TypeParam;
  check_scalars<T, Product{7, 3, 5, interleaved_, interleaved_, interleaved_}>();
  check_scalars<T, Product{40, 6, 70, interleaved_, packed, interleaved_}>();
  if constexpr (!sanitized) check_scalars<T, Product{34, 35, 33, interleaved_, interleaved_, packed_rows}>();
  check_scalars<T, Product{.m = 70,
                           .n = 40,
                           .k = 20,
                           .a = interleaved_,
                           .b = interleaved_,
                           .c = interleaved_,
                           .ragged_m = true,
                           .ragged_n = true,
                           .ragged_k = true,
                           .scheduled = true}>();
}
TYPED_TEST(GemmHalvesOf, Ragged) {
  using T = TypeParam;
  check_scalars<T, Product{12, 10, 9, packed, packed, packed, true, true, true}>();
  check_scalars<T, Product{70, 40, 20, packed, packed_rows, packed, true, true, true}>();
  if constexpr (!sanitized) {
    check_scalars<T, Product{33, 8, 17, packed_rows, packed_rows, packed_rows, true, false, true}>();
    check_scalars<T, Product{16, 16, 16, packed, interleaved_, packed, false, false, true}>();
    check_scalars<T, Product{66, 7, 68, packed_rows, packed, packed_rows, true, true, true}>();
  }
}
TYPED_TEST(GemmHalvesOf, RaggedByASchedule) {
  constexpr auto of = [](int m, int n, int k, Layout layout) {
    return Product{.m = m,
                   .n = n,
                   .k = k,
                   .a = layout,
                   .b = layout,
                   .c = layout,
                   .ragged_m = true,
                   .ragged_n = true,
                   .ragged_k = true,
                   .scheduled = true};
  };
  check_scalars<TypeParam, of(140, 70, 20, packed)>();
  if constexpr (!sanitized) check_scalars<TypeParam, of(66, 150, 41, packed_rows)>();
}
TYPED_TEST(GemmHalvesOf, Blocks) {
  using T = TypeParam;
  check_scalars<T, Product{72, 40, 35, packed, packed, packed}>();
  check_scalars<T, Product{65, 9, 20, packed_rows, packed_rows, packed_rows}>();
  if constexpr (!sanitized) {
    check_scalars<T, Product{128, 128, 64, packed, packed_rows, packed}>();
    check_scalars<T, Product{100, 100, 100, packed, packed, packed}>();
    check_scalars<T, Product{144, 1, 3, packed_rows, packed, packed, false, false, false, true}>();
    check_scalars<T, Product{5, 200, 16, packed_rows, columns, packed_rows}>();
    check_scalars<T, Product{6, 7, 90, columns, rows, rows}>();
    check_scalars<T, Product{130, 72, 48, columns, columns, columns}>();
    check_scalars<T, Product{129, 131, 67, packed, packed, packed}>();
  }
}
/// Matrices without gaps, aligned or not, and with gaps between lines; one chunk of columns, several, and a smaller last one.
TYPED_TEST(GemmHalvesOf, Stream) {
  using T = TypeParam;
  check_scalars<T, Product{33, 33, 33, packed, packed, packed}, 0>();
  check_scalars<T, Product{72, 40, 40, packed, packed, packed}, 0>();
  check_scalars<T, Product{34, 70, 19, columns, columns, columns}, 0>();
  check_scalars<T, Product{20, 35, 24, packed_rows, packed_rows, packed}, 3>();
  // B and C are small compared with the tiles of A.
  check_scalars<T, Product{33, 1, 1, packed, packed, packed}, 0>();
  check_scalars<T, Product{37, 7, 105, packed_rows, packed, packed}, 0>();
  // Fewer columns than a tile has, which are every other one, of a B by lines of 16 bytes
  check_scalars<T, Product{9, 1, 40, packed_rows, packed, packed}, 0>();
  if constexpr (!sanitized) {
    check_scalars<T, Product{64, 64, 64, packed, packed, packed}, 0>();
    check_scalars<T, Product{65, 65, 65, packed, packed, packed}, 0>();
    using S = Compute<T>;
    check<T, T, Product{100, 100, 100, packed, packed, packed}, 0>(S(1), S(0), 2);
    check<T, T, Product{128, 128, 128, packed, packed, packed}, 0>(S(-0.75F), S(1), 3);
    check_scalars<T, Product{127, 66, 99, packed_rows, packed, packed}, 0>();
    check_scalars<T, Product{63, 37, 35, packed_rows, packed_rows, columns}, 0>();
    check_scalars<T, Product{40, 80, 96, packed, packed_rows, packed}, 0>();
    check_scalars<T, Product{96, 33, 31, packed_rows, columns, packed}, 8>();
    check_scalars<T, Product{40, 24, 48, packed, columns, packed}, 8>();
    check_scalars<T, Product{40, 48, 16, columns, packed_rows, packed}, 4>();
    check_scalars<T, Product{1, 90, 70, packed, packed, packed}, 0>();
    check_scalars<T, Product{80, 1, 2, packed, packed, packed}, 0>();
    check_scalars<T, Product{38, 50, 1, packed, packed, packed}, 2>();
    check_scalars<T, Product{36, 36, 36, packed, packed, packed, false, false, false, true}, 0>();
    check_scalars<T, Product{36, 40, 38, columns, columns, columns}, 0>();
    check_scalars<T, Product{35, 52, 38, packed, columns, packed}, 0>();
    check_scalars<T, Product{50, 49, 41, packed, packed, packed}, 0>();
  }
}
TEST(GemmHalves, StreamOfLargeMatrices) {
  if constexpr (sanitized) {
    GTEST_SKIP() << "the same code as of smaller ones";
  } else {
    check_scalars<half, Product{256, 40, 256, packed, packed, packed}, 0>();
    check_scalars<bfloat16, Product{199, 33, 201, packed, packed, packed}, 0>();  // A in one order of terms
    check_scalars<half, Product{100, 67, 175, packed, packed, packed}, 0>();
    check_scalars<complex_half, Product{192, 24, 16, packed, packed, packed}, 0>();
  }
}
/// Columns of B that begin in the second half of a word: the element behind a column, even infinity, does not affect its products.
TEST(GemmHalves, WhatIsBehindAColumnCountsNothing) {
  constexpr int n = 40, count = 3;
  constexpr GemmHalvesStream c = gemm_halves_stream_plan(
      2, 2, false, n, n, n, {.a = Lines::columns, .b = Lines::columns, .a_unit = 8, .b_unit = 0, .c_unit = 8, .words = 0});
  std::vector<half> a(n * n * count, half(0.5F)), b(n * n * count + 2, half(0.25F)), product(n * n * count, half(0));
  half const infinite(std::numeric_limits<float>::infinity());
  half* const of_b = b.data() + 1;
  auto const first_of = [](int q, int j) { return static_cast<std::size_t>((q * n + j) * n); };
  of_b[first_of(0, 5)] = infinite;
  of_b[first_of(1, 0)] = infinite;
  b.back() = infinite;
  using D = simt::Half;
  GemmArguments<D, D> const args{.alpha = 1,
                                 .beta = 0,
                                 .a = gpu::matrices_of(Batch<half const>(batch(a.data(), n, n, {.count = count}))),
                                 .b = gpu::matrices_of(Batch<half const>(batch(of_b, n, n, {.count = count}))),
                                 .c = gpu::matrices_of(batch(product.data(), n, n, {.count = count})),
                                 .depth = n};
  simt::run(2, c.threads(), GemmHalvesStreamMemory(2, 2, false, c).bytes, gemm_halves_stream<D, D, c>, args);
  for (int q = 0; q < count; ++q)
    for (int j = 0; j < n; ++j) {
      bool const has_it = (q == 0 && j == 5) || (q == 1 && j == 0);
      EXPECT_EQ(static_cast<float>(product[first_of(q, j)]), has_it ? std::numeric_limits<float>::infinity() : 5.0F)
          << "matrix " << q << ", column " << j;
    }
}
TEST(GemmHalves, Conjugated) {
  constexpr auto of = [](int n, bool a, bool b) {
    return Product{.m = n, .n = n, .k = n, .a = packed, .b = packed, .c = packed, .conjugated_a = a, .conjugated_b = b};
  };
  check_scalars<complex_half, of(33, false, true), 0>();
  check_scalars<complex_half, of(36, true, false), 0>();
  check_scalars<complex_half, of(34, false, false), 2>();
  check_scalars<complex_half, of(4, false, true)>();
  check_scalars<complex_half, of(9, false, false)>();
  check_scalars<complex_half, of(9, true, true)>();
  check_scalars<complex_half, of(66, false, true)>();
}

/// All candidates of a search give the bits of the plan, for square column-major matrices without gaps.
template <typename T, int n, int... values>
void check_candidate_of_halves() {
  static constexpr GemmHalves c = with<GemmHalvesSpace>(gemm_halves_plan(sizeof(T), sizeof(T), is_complex<T>, n, n, n, false), values...);
  expect_candidate(GemmHalvesSpace{{dtype_of<T>, false, n, n, n}}, c);
  using D = gpu::DeviceElement<T>;
  check<T, T>(Product{n, n, n, packed, packed, packed}, by_others, Compute<T>(-0.75F), Compute<T>(1), c.matrices + 1, [](auto const& args) {
    simt::run(2, c.threads(), GemmHalvesMemory(sizeof(T), sizeof(T), c).bytes, gemm_halves<D, D, c>, args);
  });
}
template <typename T, int n, int... values>
void check_candidate_of_stream() {
  static constexpr int unit = n * sizeof(T) % 16 == 0 ? 16 / sizeof(T) : 0;
  static constexpr GemmHalvesStreamOperands operands{Lines::columns, Lines::columns, unit, unit, unit, n % 2 == 0 ? 1 : 0};
  static constexpr GemmHalvesStream c =
      with<GemmHalvesStreamSpace>(gemm_halves_stream_plan(sizeof(T), sizeof(T), is_complex<T>, n, n, n, operands), values...);
  expect_candidate(GemmHalvesStreamSpace{{dtype_of<T>, false, n, n, n}, operands}, c);
  using D = gpu::DeviceElement<T>;
  check<T, T>(Product{n, n, n, packed, packed, packed}, 0, Compute<T>(-0.75F), Compute<T>(1), 3, [](auto const& args) {
    simt::run(2, c.threads(), GemmHalvesStreamMemory(sizeof(T), sizeof(T), is_complex<T>, c).bytes, gemm_halves_stream<D, D, c>, args);
  });
}
template <typename T, int n, int... values>
void check_candidate_of_blocks() {
  static constexpr GemmHalvesBlocksOperands operands{Lines::columns, Lines::columns, Lines::columns, 0, 232448};
  static constexpr GemmHalvesBlocks c =
      with<GemmHalvesBlocksSpace>(gemm_halves_blocks_plan(sizeof(T), sizeof(T), is_complex<T>, n, n, n, operands), values...);
  expect_candidate(GemmHalvesBlocksSpace{{dtype_of<T>, false, n, n, n}, operands}, c);
  using D = gpu::DeviceElement<T>;
  check<T, T>(Product{n, n, n, packed, packed, packed}, by_others, Compute<T>(-0.75F), Compute<T>(1), 2, [](auto const& args) {
    simt::run(3, c.threads(), GemmHalvesBlocksMemory(sizeof(T), sizeof(T), is_complex<T>, c).bytes, gemm_halves_blocks<D, D, c>, args);
  });
}
TEST(GemmHalves, CandidatesGiveTheSameBits) {
  check_candidate_of_halves<half, 4, 1, 0, 0, 32, 0, 21>();
  check_candidate_of_halves<half, 33, 6, 3, 1, 8, 0, 4>();
  check_candidate_of_halves<complex_half, 24, 3, 1, 3, 4, 2, 6>();
  check_candidate_of_stream<half, 33, 24, 3, 2, 2, 10>();
  check_candidate_of_stream<complex_half, 40, 16, 3, 3, 1, 8>();
  check_candidate_of_blocks<half, 65, 48, 40, 16, 3, 1, 1, 12>();
  if constexpr (!sanitized) {
    check_candidate_of_halves<half, 8, 1, 1, 1, 16, 1, 32>();
    check_candidate_of_halves<bfloat16, 64, 8, 4, 1, 4, 2, 2>();
    check_candidate_of_stream<half, 65, 40, 3, 3, 2, 4>();
    check_candidate_of_stream<bfloat16, 72, 24, 4, 5, 1, 5>();
    check_candidate_of_blocks<complex_half, 50, 32, 56, 8, 4, 1, 1, 8>();
  }
}

// Plans fit the registers and shared memory of a block in every layout, also with 99 KiB.
TEST(GemmHalves, PlansFitABlock) {
  for (bool const complex : {false, true})
    for (bool const interleaved : {false, true})
      for (bool const wide : {false, true})
        for (std::int64_t m = 1; m <= 200; m += m < 66 ? 1 : 7)
          for (std::int64_t const n :
               {std::int64_t{1}, std::int64_t{4}, std::int64_t{5}, std::int64_t{8}, std::int64_t{24}, std::int64_t{64}, m})
            for (std::int64_t const k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{32}, std::int64_t{64}, m, std::int64_t{999}}) {
              int const bytes = complex ? 4 : 2, output = wide ? 2 * bytes : bytes;
              if (!interleaved && !gemm_halves_whole(m, n, k)) continue;
              GemmHalves c = gemm_halves_plan(bytes, output, complex, m, n, k, interleaved);
              auto const name = testing::Message() << m << " " << n << " " << k << " " << complex << interleaved << wide;
              EXPECT_LE(c.threads(), 512) << name;
              EXPECT_GE(c.threads(), 32) << name;
              EXPECT_EQ(c.threads() % c.matrices == 0 || !interleaved, true) << name;
              if (c.by_lanes()) {
                EXPECT_EQ(c.threads(), c.matrices) << name;
              } else {
                EXPECT_EQ(c.warps % c.warps_of_tile(), 0) << name;
                EXPECT_LE(c.down(complex) * c.across(), 12) << name;
              }
              for (Layout const x : {packed, packed_rows, columns, interleaved_})
                for (Layout const y : {packed, packed_rows, rows, interleaved_})
                  for (Layout const z : {packed, packed_rows, interleaved_}) {
                    if (!interleaved && (x == interleaved_ || y == interleaved_ || z == interleaved_)) continue;
                    c.a = x, c.b = y, c.c = z;
                    EXPECT_LE(GemmHalvesMemory(bytes, output, c).bytes, 99 * 1024) << name;
                  }
            }
}

TEST(GemmHalves, BlocksFit) {
  for (bool const complex : {false, true})
    for (bool const wide : {false, true})
      for (int const aligned : {0, 1, 2})
        for (Lines const lines : {Lines::columns, Lines::rows})
          for (std::int64_t const m : {1, 17, 40, 65, 100, 128, 129, 300, 999})
            for (std::int64_t const n : {1, 8, 33, 64, 128, 200, 1000})
              for (std::int64_t const k : {1, 16, 100, 1000}) {
                int const bytes = complex ? 4 : 2, output = wide ? 2 * bytes : bytes;
                auto const c = gemm_halves_blocks_plan(
                    bytes, output, complex, m, n, k, {.a = lines, .b = lines, .c = lines, .aligned = aligned, .shared_memory = 99 * 1024});
                auto const name = testing::Message() << m << " " << n << " " << k << " " << complex << wide << aligned;
                EXPECT_LE(GemmHalvesBlocksMemory(bytes, output, complex, c).bytes, 99 * 1024) << name;
                EXPECT_LE(c.down() * c.across() * (complex ? 8 : 4), 128) << name;
                EXPECT_EQ(c.down() * 16 * c.warps_down, c.m) << name;
                EXPECT_EQ(c.across() * 8 * c.warps_across, c.n) << name;
              }
}

TEST(GemmHalves, EveryColumnIsInATile) {
  for (int columns = 1; columns <= 256; ++columns)
    for (int const step : {1, 2, 4, 8})
      for (bool const alternates : {false, true})
        for (bool const side_by_side : {false, true}) {
          GemmHalvesColumns const tiles(columns, step, alternates, side_by_side);
          auto const name = testing::Message() << columns << " by " << step << alternates << side_by_side;
          std::vector<int> times(static_cast<std::size_t>(columns));
          ASSERT_LE(tiles.groups, 5) << name;
          for (int g = 0; g < tiles.groups; ++g)
            for (int t = 0; t < tiles.group[g].tiles; ++t)
              for (int i = 0; i < 8; ++i) {
                int const column = tiles.group[g].column(t) + i * tiles.group[g].step();
                EXPECT_TRUE(column < columns || (!tiles.group[g].full && i > 0)) << name;
                EXPECT_TRUE(!tiles.alternate || (column - tiles.group[g].column(t)) % 2 == 0) << name;
                if (column < columns) ++times[static_cast<std::size_t>(column)];
              }
          EXPECT_EQ(std::count(times.begin(), times.end(), 1), columns) << name;
        }
}

}  // namespace
}  // namespace myriad
