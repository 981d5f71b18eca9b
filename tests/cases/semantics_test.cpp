/// Promises of the headers other than accuracy: aliasing, elements that are not read, LAPACK's pivots and info, broadcast inputs, null
/// info.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "backend.hpp"
#include "cholesky/case.hpp"
#include "core/dtype.hpp"
#include "draw.hpp"
#include "eigen/case.hpp"
#include "eigen/tridiagonal/tridiagonal_case.hpp"
#include "gemm/case.hpp"
#include "lu/case.hpp"
#include "myriad/myriad.hpp"
#include "peers/peer.hpp"
#include "qr/case.hpp"
#include "symm/case.hpp"
#include "symv/case.hpp"
#include "syrk/case.hpp"
#include "trsm/case.hpp"

namespace myriad::cases {
namespace {

constexpr std::array all_dtypes{Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64};

/// The suites that tools/gpu-check names also run on a GPU: they wait for results before they read them.
Queue& queue() { return test_queue(); }
/// Makes the queue before the first case, since it sets the memory of all cases' arrays.
class WithQueue : public testing::Environment {
  void SetUp() override { queue(); }
};
[[maybe_unused]] testing::Environment* const with_queue = testing::AddGlobalTestEnvironment(new WithQueue);

Problem problem(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, Layout layout = Layout::column_major) {
  Problem p;
  p.dtype = dtype;
  p.m = m;
  p.n = n;
  p.k = k;
  p.count = count;
  p.layout = layout;
  return p;
}

/// Runs a case with Myriad and, on the same input, with LAPACK.
template <typename C>
std::pair<std::unique_ptr<C>, std::unique_ptr<C>> both(Problem const& p) {
  auto const lapack = bench::make_lapack_peer();
  auto mine = std::make_unique<C>(p);
  auto theirs = std::make_unique<C>(p);
  mine->run(queue());
  lapack->prepare(*theirs, 1)();
  return {std::move(mine), std::move(theirs)};
}

template <typename C>
void expect_equal_info(C const& mine, C const& theirs) {
  for (std::int64_t b = 0; b < mine.problem().count; ++b)
    EXPECT_EQ(mine.info.get(b, 0, 0), theirs.info.get(b, 0, 0)) << "info of matrix " << b << ": " << mine.problem().text();
}

TEST(AsLapack, PivotsAndInfoOfGetrf) {
  for (Dtype const dtype : {Dtype::f64, Dtype::c64})
    with_dtype(dtype, [&]<typename T>() {
      for (Input const input : {Input::random, Input::conditioned, Input::ties, Input::zero, Input::singular_first, Input::singular_middle,
                                Input::singular_last})
        for (std::int64_t const n : {1, 2, 3, 5, 8, 13, 16, 20, 32, 33, 48, 64}) {
          Problem p = problem(dtype, n % 3 == 0 ? n + 2 : n, n % 5 == 0 ? n + 3 : n, 1, n < 20 ? 33 : 5);
          p.input = input;
          auto const [mine, theirs] = both<GetrfCase<T>>(p);
          expect_equal_info(*mine, *theirs);
          for (std::int64_t b = 0; b < p.count; ++b)
            EXPECT_EQ(vector_of(mine->pivots, b), vector_of(theirs->pivots, b)) << "pivots of matrix " << b << ": " << p.text();
        }
    });
}

TEST(AsLapack, TiesTakeTheLowestRow) {
  for (Dtype const dtype : all_dtypes)
    with_dtype(dtype, [&]<typename T>() {
      for (std::int64_t const n : {2, 3, 4, 7, 8, 12, 16, 25, 32, 40}) {
        Problem p = problem(dtype, n, n, 1, 11, Layout::row_major);
        p.input = Input::ties;
        GetrfCase<T> run(p);
        run.run(queue());
        Outcome const outcome = run.check();  // requires the first of the largest candidates at every step
        EXPECT_TRUE(outcome.pass) << outcome.text();
      }
    });
}

TEST(AsLapack, ComplexPivotsGoByTheSumOfRealAndImaginaryPart) {
  // |3 + 3i| < |4.9| but 3 + 3 > 4.9
  std::complex<double> a[4] = {{4.9, 0}, {3, 3}, {1, 0}, {0, 1}};
  int pivots[2];
  int info = -1;
  getrf(queue(), batch(a, 2, 2), vectors(pivots, 2, 1), &info);
  EXPECT_EQ(pivots[0], 2);
  EXPECT_EQ(info, 0);
}

TEST(AsLapack, AZeroRowGivesItsNumberLast) {
  // elimination keeps a zero row exactly zero, so the last pivot is zero
  for (std::int64_t const n : {2, 4, 9, 17, 33}) {
    Array<double> a(problem(Dtype::f64, n, n, 1, 3), size_m, size_n);
    for (std::int64_t b = 0; b < 3; ++b) {
      auto made = general(problem(Dtype::f64, n, n, 1, 3), b, 1, n, n);
      for (std::int64_t j = 0; j < n; ++j) made(n / 2, j) = 0;
      a.assign(b, made);
    }
    std::vector<int> pivots(static_cast<std::size_t>(3 * n)), info(3, -1);
    getrf(queue(), a.view(), vectors(pivots.data(), n, 3), info.data());
    EXPECT_EQ(info, std::vector<int>(3, static_cast<int>(n)));
  }
}

TEST(AsLapack, InfoOfTheOtherRoutines) {
  for (Dtype const dtype : all_dtypes)
    with_dtype(dtype, [&]<typename T>() {
      for (Input const input : {Input::random, Input::singular_first, Input::singular_middle, Input::singular_last, Input::zero})
        for (std::int64_t const n : {1, 3, 8, 20, 33}) {
          Problem p = problem(dtype, n, n, 2, 5);
          p.input = input;
          auto const compare = [&]<template <typename> typename C>() {
            auto const [mine, theirs] = both<C<T>>(p);
            expect_equal_info(*mine, *theirs);
          };
          compare.template operator()<GesvCase>();
          compare.template operator()<GetriCase>();
          compare.template operator()<PotrfCase>();
          compare.template operator()<PosvCase>();
          compare.template operator()<SolvePositiveDefiniteCase>();
          compare.template operator()<PotriCase>();
          compare.template operator()<TrtriCase>();
        }
    });
}

TEST(InPlace, SolveIntoItsRightHandSidesAndInverseIntoItsMatrix) {
  for (Dtype const dtype : all_dtypes)
    with_dtype(dtype, [&]<typename T>() {
      for (Layout const layout : all_layouts)
        for (std::int64_t const n : {1, 4, 9, 33}) {
          Problem p = problem(dtype, n, n, 3, 9, layout);
          p.fix = square;
          p.bad = Input::singular_middle;
          p.bad_place = 4;
          SolveCase<T> apart(p);
          apart.run(queue());
          SolveCase<T> together(p);
          solve(queue(), together.a.view(), together.b.view(), together.b.view(), together.info.data());
          SolvePositiveDefiniteCase<T> definite_apart(p);
          definite_apart.run(queue());
          SolvePositiveDefiniteCase<T> definite_together(p);
          solve_positive_definite<T>(queue(), p.uplo, definite_together.a.view(), definite_together.b.view(), definite_together.b.view(),
                                     definite_together.info.data());
          InverseCase<T> away(p);
          away.run(queue());
          InverseCase<T> here(p);
          inverse(queue(), here.a.view(), here.a.view(), here.info.data());
          for (std::int64_t b = 0; b < p.count; ++b) {
            std::string x, y;
            apart.x.append_bytes(b, x);
            together.b.append_bytes(b, y);
            EXPECT_EQ(apart.info.get(b, 0, 0), together.info.get(b, 0, 0));
            if (b == 4) {
              EXPECT_FALSE(all_finite(together.b.now_wide(b))) << p.text();
            } else {
              EXPECT_EQ(x, y) << "solve, matrix " << b << ": " << p.text();
            }
            x.clear(), y.clear();
            definite_apart.x.append_bytes(b, x);
            definite_together.b.append_bytes(b, y);
            EXPECT_EQ(definite_apart.info.get(b, 0, 0), definite_together.info.get(b, 0, 0));
            if (b == 4) {
              EXPECT_FALSE(all_finite(definite_together.b.now_wide(b))) << p.text();
            } else {
              EXPECT_EQ(x, y) << "solve_positive_definite, matrix " << b << ": " << p.text();
            }
            x.clear(), y.clear();
            away.x.append_bytes(b, x);
            here.a.append_bytes(b, y);
            if (b == 4) {
              EXPECT_FALSE(all_finite(here.a.now_wide(b))) << p.text();
            } else {
              EXPECT_EQ(x, y) << "inverse, matrix " << b << ": " << p.text();
            }
          }
        }
    });
}

TEST(Gemm, OneMatrixForAll) {
  for (std::int64_t const n : {3, 8, 20, 40}) {
    Problem p = problem(Dtype::f64, n, n, n, 9);
    GemmCase<double> run(p);
    auto one = run.a.view();
    one.batch_stride = 0;
    gemm(queue(), 1.0, one, run.b.view(), 0.0, run.c.view());
    queue().wait();
    for (std::int64_t b = 0; b < p.count; ++b) {
      auto const error = run.c.now_wide(b) - run.a.now_wide(0) * run.b.now_wide(b);
      EXPECT_LT(static_cast<double>(norm1(error)), 1e-13 * static_cast<double>(n)) << "matrix " << b;
    }
  }
}

/// Groups of all kinds: large and small, one matrix and many, ragged, in every layout, with views, without matrices or elements.
template <typename T, typename Output>
void check_groups(Dtype dtype) {
  std::vector<std::unique_ptr<GemmCaseInto<T, Output>>> together, alone;
  std::vector<GemmGroup<T, Output>> groups;
  constexpr std::array ops{Op::none, Op::transpose, Op::conjugate_transpose};
  auto const add = [&](Problem const& p) {
    for (auto* const of : {&together, &alone}) of->push_back(std::make_unique<GemmCaseInto<T, Output>>(p));
    auto& run = *together.back();
    groups.push_back({.alpha = run.alpha, .a = run.a.view(), .b = run.b.view(), .beta = run.beta, .c = run.c.view()});
  };
  unsigned i = 0;
  for (std::int64_t const n : {1, 3, 8, 17, 40, 70})
    for (std::int64_t const count : {0, 1, 2, 37}) {
      ++i;
      Problem p = problem(dtype, i % 7 == 0 ? 0 : n + i % 3, n, i % 5 == 0 ? 0 : n + 2, count, all_layouts[i % all_layouts.size()]);
      p.seed = i;
      p.alpha = {0.25 * (1 + i % 4), -0.5};
      if (i % 3 != 0) p.beta = {0.25 * (i % 5), 0.5};
      p.op = ops[i % 3];
      p.op_b = ops[i / 3 % 3];
      p.ragged = i % 4 == 1;
      add(p);
    }
  // Some groups differ only in sizes and addresses
  for (Layout const layout : all_layouts)
    for (std::int64_t const n : {1, 2, 4, 9, 31, 33, 66}) {
      Problem p = problem(dtype, n + 1, n, n == 9 ? 0 : n + 3, 1 + n % 5, layout);
      p.seed = ++i;
      p.alpha = {1.5, -0.5}, p.beta = {0.5, 0.25};
      p.op_b = ops[2];
      add(p);
    }
  gemm_grouped<T>(queue(), groups);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    alone[g]->run(queue());
    queue().wait();
    EXPECT_TRUE(together[g]->check().pass) << together[g]->check().text();
    for (std::int64_t b = 0; b < groups[g].c.count; ++b) EXPECT_EQ(together[g]->result(b), alone[g]->result(b)) << "group " << g;
  }
}
TEST(Gemm, GroupsHaveTheBitsOfACallForEach) {
  std::vector<Dtype> const dtypes{Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64, Dtype::f16, Dtype::bf16, Dtype::c16};
  tests::for_drawn(dtypes, 3, 2, [](Dtype const dtype) {
    with_any_dtype(dtype, [&]<typename T>() {
      check_groups<T, T>(dtype);
      if constexpr (HalfElement<T>) check_groups<T, Compute<T>>(dtype);
    });
    return !testing::Test::HasFailure();
  });
  EXPECT_NO_THROW(gemm_grouped<double>(queue(), std::span<GemmGroup<double> const>{}));
}
TEST(Gemm, GroupsWithAConjugatedC) {
  using T = std::complex<double>;
  GemmCase<T> run(problem(Dtype::c64, 5, 6, 7, 3)), alone(problem(Dtype::c64, 5, 6, 7, 3));
  T const alpha(0.5, 2);
  GemmGroup<T> const groups[] = {{.alpha = alpha, .a = run.a.view(), .b = run.b.view(), .beta = 0, .c = conjugated(run.c.view())}};
  gemm_grouped<T>(queue(), groups);
  gemm(queue(), alpha, alone.a.view(), alone.b.view(), 0, conjugated(alone.c.view()));
  queue().wait();
  for (std::int64_t b = 0; b < 3; ++b) EXPECT_EQ(run.result(b), alone.result(b));
}

TEST(Gemm, OtherArithmeticIsAsExactAsItSays) {
  // Sizes within a tile, of several tiles, and with numbers of terms that are not multiples of a stage
  for (Layout const layout : {Layout::column_major, Layout::row_major, Layout::interleaved})
    for (auto const [m, n, k] : {std::array<std::int64_t, 3>{7, 5, 3}, {33, 40, 65}, {150, 130, 100}})
      for (Arithmetic const arithmetic : {Arithmetic::standard, Arithmetic::tf32x3, Arithmetic::tf32}) {
        Problem p = problem(Dtype::f32, m, n, k, 3, layout);
        p.beta = {0.5, 0};
        GemmCase<float> run(p);
        gemm(queue(), run.alpha, run.a.view(), run.b.view(), run.beta, run.c.view(), arithmetic);
        queue().wait();
        double const of_factors = arithmetic == Arithmetic::standard ? 0.0 : arithmetic == Arithmetic::tf32 ? 0x1p-10 : 0x1p-20;
        double worst = 0;
        for (std::int64_t q = 0; q < p.count; ++q) {
          auto const a = run.a.before_wide(q), b = run.b.before_wide(q), before = run.c.before_wide(q), result = run.c.now_wide(q);
          auto const product = a * b, bound = moduli(a) * moduli(b);
          for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t i = 0; i < m; ++i) {
              double const alpha = run.alpha, beta = run.beta;
              auto const off = std::abs(static_cast<double>(result(i, j)) -
                                        (alpha * static_cast<double>(product(i, j)) + beta * static_cast<double>(before(i, j))));
              double const allowed = (gamma_bound<float>(k + 2) + of_factors) * std::abs(alpha) * static_cast<double>(bound(i, j)) +
                                     gamma_bound<float>(2) * std::abs(beta * static_cast<double>(before(i, j)));
              worst = std::max(worst, off / allowed);
            }
        }
        EXPECT_LE(worst, 1) << p.text() << " arithmetic " << static_cast<int>(arithmetic);
      }
}
TEST(Gemm, OtherArithmeticIsOfFloatsAlone) {
  Problem const p = problem(Dtype::f64, 3, 3, 3, 2);
  GemmCase<double> run(p);
  auto const call = [&](Arithmetic arithmetic) { gemm(queue(), 1.0, run.a.view(), run.b.view(), 0.0, run.c.view(), arithmetic); };
  EXPECT_NO_THROW(call(Arithmetic::standard));
  for (Arithmetic const arithmetic : {Arithmetic::tf32, Arithmetic::tf32x3, static_cast<Arithmetic>(3)}) try {
      call(arithmetic);
      ADD_FAILURE() << static_cast<int>(arithmetic);
    } catch (BadArgument const& error) {
      EXPECT_EQ(error.position(), 14);
    }
  queue().wait();
}

TEST(Gemm, ZeroAlphaDoesNotReadAAndB) {
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64, Dtype::f16, Dtype::bf16, Dtype::c16})
    with_any_dtype(dtype, [&]<typename T>() {
      for (std::int64_t const n : {1, 5, 33}) {
        Problem p = problem(dtype, n, n, n, 5);
        p.alpha = 0;
        p.beta = {2, 0};
        p.input = Input::nan;
        GemmCase<T> run(p);
        run.run(queue());
        queue().wait();
        EXPECT_TRUE(run.check().pass) << run.check().text();
      }
    });
}

constexpr std::array half_dtypes{Dtype::f16, Dtype::bf16, Dtype::c16};

TEST(HalfGemm, GivesWhatIsComputedWithoutRounding) {
  unsigned i = 0;
  for (Dtype const dtype : half_dtypes)
    with_any_dtype(dtype, [&]<typename T>() {
      if constexpr (HalfElement<T>) {
        for (std::int64_t const n : {1, 2, 5, 8, 17, 40})
          for (Layout const layout : all_layouts)
            for (Input const input : {Input::random, Input::dominant, Input::graded, Input::nan}) {
              Problem p = problem(dtype, n + 1, n, n + 2, 7, layout);
              p.seed = ++i;
              Random random(p, 0, 4);
              p.alpha = {random.below(2) == 0 ? 1.0 : 1.0 / 3, -0.5};
              if (random.below(2) == 0) p.beta = {0.7, -0.25};
              p.op = random.below(2) == 0 ? Op::none : Op::conjugate_transpose;
              p.op_b = random.below(2) == 0 ? Op::none : Op::transpose;
              p.ragged = random.below(2) == 0;
              p.input = input;
              // On a GPU each has its own kernel to compile.
              if (on_gpu() && i % 9 != 0) continue;
              GemmCaseInto<T, Compute<T>> run(p);
              run.run(queue());
              queue().wait();
              EXPECT_TRUE(run.check().pass) << run.check().text();
              // The 16-bit result is this one, rounded. Sums of floats may have another order if C has no unit stride, and on a GPU if the
              // kernel differs.
              bool const side_by_side = run.c.view().row_stride == 1 || run.c.view().col_stride == 1;
              if (input == Input::nan || !side_by_side || on_gpu()) continue;
              GemmCase<T> rounded(p);
              rounded.run(queue());
              for (std::int64_t b = 0; b < p.count; ++b)
                for (std::int64_t c = 0; c < rounded.c.cols(b); ++c)
                  for (std::int64_t r = 0; r < rounded.c.rows(b); ++r) {
                    T const expected(run.c.get(b, r, c)), got = rounded.c.get(b, r, c);
                    EXPECT_EQ(Compute<T>(got), Compute<T>(expected)) << p.text();
                  }
            }
      }
    });
}

TEST(HalfGemm, OneMatrixForAll) {
  // More matrices than are widened at a time; one shared row, and one shared column.
  enum class Shared { a, b, row_of_a, column_of_b };
  for (Layout const layout : {Layout::column_major, Layout::row_major, Layout::interleaved})
    for (Shared const shared : {Shared::a, Shared::b, Shared::row_of_a, Shared::column_of_b}) {
      Problem const p = problem(Dtype::f16, 6, 9, 5, 211, layout);
      GemmCase<half> run(p), alone(p);
      auto a = run.a.view(), b = run.b.view();
      if (shared == Shared::a) a.batch_stride = 0;
      if (shared == Shared::b) b.batch_stride = 0;
      if (shared == Shared::row_of_a) a.row_stride = 0;
      if (shared == Shared::column_of_b) b.col_stride = 0;
      gemm(queue(), 1, a, b, 0, run.c.view());
      queue().wait();
      for (std::int64_t q = 0; q < p.count; ++q) {
        for (std::int64_t i = 0; i < p.m; ++i)
          for (std::int64_t k = 0; k < p.k; ++k) alone.a.set(q, i, k, *a.at(q, i, k));
        for (std::int64_t k = 0; k < p.k; ++k)
          for (std::int64_t j = 0; j < p.n; ++j) alone.b.set(q, k, j, *b.at(q, k, j));
      }
      gemm(queue(), 1, alone.a.view(), alone.b.view(), 0, alone.c.view());
      queue().wait();
      for (std::int64_t q = 0; q < p.count; ++q)
        EXPECT_EQ(run.result(q), alone.result(q)) << static_cast<int>(shared) << " " << q << " " << p.text();
    }
}

TEST(HalfGemm, SumsAreThoseOfFloats) {
  // 4096 terms of one: sums of halves would stay at 2048. An intermediate 70000 is infinite as a half, but not as a float.
  auto const product = [](std::int64_t k, float a, float b, float alpha) {
    GemmCase<half> run(problem(Dtype::f16, 1, 1, k, 1));
    for (std::int64_t i = 0; i < k; ++i) {
      run.a.set(0, 0, i, half(a));
      run.b.set(0, i, 0, half(b));
    }
    gemm<half>(queue(), alpha, run.a.view(), run.b.view(), 0, run.c.view());
    queue().wait();
    return static_cast<float>(run.c.get(0, 0, 0));
  };
  EXPECT_EQ(product(4096, 1, 1, 1), 4096.0F);
  EXPECT_EQ(product(1, 280, 250, 0.5F), 35008.0F);  // 35000 to a multiple of 32
  EXPECT_TRUE(std::isinf(product(1, 280, 250, 1)));
}

TEST(Gemv, HasTheBitsOfAProductWithOneColumn) {
  for (Dtype const dtype : all_dtypes)
    with_dtype(dtype, [&]<typename T>() {
      for (Layout const layout : {Layout::column_major, Layout::row_major, Layout::interleaved, Layout::spread})
        for (std::int64_t const n : {1, 5, 33}) {
          Problem p = problem(dtype, n + 2, n, 1, 7, layout);
          p.alpha = {0.75, -0.5};
          p.beta = {-0.25, 0.5};
          GemvCase<T> one(p), other(p);
          one.run(queue());
          gemm(queue(), other.alpha, other.a.view(), other.x.view(), other.beta, other.y.view());
          queue().wait();
          for (std::int64_t b = 0; b < p.count; ++b) EXPECT_EQ(one.result(b), other.result(b)) << p.text();
        }
    });
}

TEST(Gemv, OneMatrixAndOneVectorForAll) {
  Problem const p = problem(Dtype::f64, 6, 9, 1, 11);
  GemvCase<double> run(p);
  auto a = run.a.view(), x = run.x.view();
  a.batch_stride = x.batch_stride = 0;
  gemv(queue(), 1.0, a, x, 0.0, run.y.view());
  queue().wait();
  auto const expected = run.a.now_wide(0) * run.x.now_wide(0);
  for (std::int64_t b = 0; b < p.count; ++b) EXPECT_LT(static_cast<double>(norm1(run.y.now_wide(b) - expected)), 1e-14) << "matrix " << b;
}

TEST(Ger, OneOfEachVectorForAll) {
  Problem const p = problem(Dtype::f64, 6, 9, 1, 11);
  GerCase<double> run(p);
  auto x = run.x.view(), y = run.y.view();
  x.batch_stride = y.batch_stride = 0;
  ger(queue(), 1.0, x, y, run.a.view());
  queue().wait();
  auto const added = run.x.now_wide(0) * transpose(run.y.now_wide(0));
  for (std::int64_t b = 0; b < p.count; ++b)
    EXPECT_LT(static_cast<double>(norm1(run.a.now_wide(b) - run.a.before_wide(b) - added)), 1e-14) << "matrix " << b;
}

TEST(Symv, OneMatrixAndOneVectorForAll) {
  for (std::int64_t const n : {7, 40}) {
    Problem p = problem(Dtype::f64, n, n, 1, 11);
    p.uplo = Uplo::upper;
    SymvCase<double> run(p);
    auto a = run.a.view(), x = run.x.view();
    a.batch_stride = x.batch_stride = 0;
    symv(queue(), p.uplo, 1.0, a, x, 0.0, run.y.view());
    queue().wait();
    auto const expected = hermitian(p.uplo, run.a.now_wide(0)) * run.x.now_wide(0);
    for (std::int64_t b = 0; b < p.count; ++b) EXPECT_LT(static_cast<double>(norm1(run.y.now_wide(b) - expected)), 1e-13) << "matrix " << b;
  }
}

// The triangle that is not stored has no effect: if x has an infinity, all rows are infinite or NaN, and no element of the other triangle
// turns it into NaN.
TEST(Symv, InfinityInXIsAsInTheWholeProduct) {
  for (std::int64_t const n : {3, 70})
    for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
      Problem p = problem(Dtype::f64, n, n, 1, 1);
      p.uplo = uplo;
      SymvCase<double> run(p);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          if (i == j || (i > j) == (uplo == Uplo::lower)) run.a.set(0, i, j, 1.0);
      run.x.set(0, n / 2, 0, std::numeric_limits<double>::infinity());
      run.run(queue());
      queue().wait();
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(run.y.get(0, i, 0), std::numeric_limits<double>::infinity()) << i;
    }
}

TEST(Symm, OneMatrixForAll) {
  for (std::int64_t const n : {7, 40}) {
    Problem const p = problem(Dtype::c64, n, 3, 1, 11);
    HemmCase<std::complex<double>> run(p);
    auto a = run.a.view();
    a.batch_stride = 0;
    hemm(queue(), p.side, p.uplo, 1.0, a, run.b.view(), 0.0, run.c.view());
    queue().wait();
    auto const whole = hermitian(p.uplo, run.a.now_wide(0));
    for (std::int64_t b = 0; b < p.count; ++b)
      EXPECT_LT(static_cast<double>(norm1(run.c.now_wide(b) - whole * run.b.now_wide(b))), 1e-12) << "matrix " << b;
  }
}

TEST(Symm, InfinityInBStaysInItsColumn) {
  Problem const p = problem(Dtype::f64, 40, 5, 1, 1);
  SymmCase<double> run(p);
  run.b.set(0, 7, 2, std::numeric_limits<double>::infinity());
  run.run(queue());
  queue().wait();
  for (std::int64_t j = 0; j < 5; ++j)
    for (std::int64_t i = 0; i < 40; ++i) EXPECT_EQ(std::isfinite(run.c.get(0, i, j)), j != 2) << i << " " << j;
}

TEST(Syrk, ANaNStaysInItsRowAndColumn) {
  constexpr std::int64_t n = 70, bad = 37;
  for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
    Problem p = problem(Dtype::f64, n, n, 4, 1);
    p.uplo = uplo;
    SyrkCase<double> run(p);
    run.a.set(0, bad, 1, std::numeric_limits<double>::quiet_NaN());
    run.run(queue());
    queue().wait();
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        if (in_triangle(uplo, i, j)) {
          EXPECT_EQ(std::isnan(run.c.get(0, i, j)), i == bad || j == bad) << i << " " << j;
        }
  }
}

TEST(Triangles, ZeroAlphaDoesNotRead) {
  for (Dtype const dtype : all_dtypes)
    with_dtype(dtype, [&]<typename T>() {
      for (std::int64_t const n : {1, 5, 33}) {
        Problem p = problem(dtype, n, n, 1, 5);
        p.alpha = 0;
        p.input = Input::nan;
        TrmmCase<T> product(p);
        product.run(queue());
        queue().wait();
        EXPECT_TRUE(product.check().pass) << product.check().text();
        TrsmCase<T> solved(p);
        solved.run(queue());
        queue().wait();
        for (std::int64_t b = 0; b < p.count; ++b)
          for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(solved.b.get(b, i, 0), T(0)) << b << " " << i;
      }
    });
}

TEST(Triangles, OneForAllVectors) {
  for (Dtype const dtype : all_dtypes)
    with_dtype(dtype, [&]<typename T>() {
      Problem const p = problem(dtype, 9, 9, 1, 11);
      TrmvCase<T> product(p);
      auto a = product.a.view();
      a.batch_stride = 0;
      trmv<T>(queue(), p.uplo, p.diag, a, product.b.view());
      trsv<T>(queue(), p.uplo, p.diag, a, product.b.view());  // and back
      queue().wait();
      for (std::int64_t b = 0; b < p.count; ++b)
        EXPECT_LT(static_cast<double>(norm1(product.b.now_wide(b) - product.b.before_wide(b))), 1000 * unit_roundoff<T>) << "matrix " << b;
    });
}

TEST(Trsv, HasTheBitsOfTrsmWithOneColumn) {
  for (std::int64_t const n : {1, 6, 40, 130}) {
    if (n > 64 && on_gpu()) continue;  // there trsm multiplies by inverses, and trsv does not
    Problem const p = problem(Dtype::f64, n, n, 1, 5);
    TrsvCase<double> one(p), other(p);
    one.run(queue());
    trsm(queue(), Side::left, p.uplo, p.diag, 1.0, other.a.view(), other.b.view());
    queue().wait();
    for (std::int64_t b = 0; b < p.count; ++b) EXPECT_EQ(one.result(b), other.result(b)) << p.text();
  }
}

TEST(Trtri, InfoMayBeNullAndNeighboursAreDone) {
  Problem p = problem(Dtype::f64, 12, 12, 1, 7);
  p.bad = Input::singular_middle;
  p.bad_place = 3;
  TrtriCase<double> with_info(p), without(p);
  with_info.run(queue());
  queue().wait();
  EXPECT_TRUE(with_info.check().pass) << with_info.check().text();
  EXPECT_EQ(with_info.info.get(3, 0, 0), 7);
  trtri(queue(), p.uplo, p.diag, without.a.view(), nullptr);
  queue().wait();
  for (std::int64_t b = 0; b < p.count; ++b) {
    std::string x, y;
    with_info.a.append_bytes(b, x);
    without.a.append_bytes(b, y);
    EXPECT_EQ(x, y) << b;
  }
}

TEST(SymmetricProducts, ZeroAlphaDoesNotRead) {
  for (Dtype const dtype : all_dtypes)
    with_dtype(dtype, [&]<typename T>() {
      for (std::int64_t const n : {1, 5, 33}) {
        Problem p = problem(dtype, n, n, n, 5);
        p.alpha = 0;
        p.beta = {2, 0};
        p.input = Input::nan;
        auto const check = [&](auto&& run) {
          run.run(queue());
          queue().wait();
          EXPECT_TRUE(run.check().pass) << run.check().text();
        };
        check(SymmCase<T>(p));
        check(HemmCase<T>(p));
        check(SyrkCase<T>(p));
        check(HerkCase<T>(p));
        check(Syr2kCase<T>(p));
        check(Her2kCase<T>(p));
      }
    });
}

/// Eigenvalues without vectors have their own oracle, which must fail, too.
TEST(Syevd, AValueThatWasDamagedIsNamed) {
  Problem p = problem(Dtype::f64, 6, 6, 1, 5);
  p.job = Job::values;
  for (std::int64_t const target : {0, 2, 4}) {
    SyevdCase<double> run(p);
    run.run(queue());
    ASSERT_TRUE(run.check().pass) << run.check().text();
    run.w.set(target, 3, 0, run.w.get(target, 3, 0) * (1 + 1e-12));
    EXPECT_FALSE(run.check().pass);
    EXPECT_EQ(run.check().matrix, target) << run.check().text();
  }
}
// The same for orthogonal vectors of another matrix, and for vectors that are not orthogonal.
TEST(Syevd, AVectorThatWasDamagedIsNamed) {
  Problem const p = problem(Dtype::c64, 6, 6, 1, 5);
  for (bool const exchanged : {false, true}) {
    SyevdCase<std::complex<double>> run(p);
    run.run(queue());
    ASSERT_TRUE(run.check().pass) << run.check().text();
    for (std::int64_t i = 0; i < 6; ++i) {
      auto const x = run.a.get(2, i, 1), y = run.a.get(2, i, 4);
      run.a.set(2, i, 1, exchanged ? y : x * 1.0000001);
      if (exchanged) run.a.set(2, i, 4, x);
    }
    EXPECT_FALSE(run.check().pass);
    EXPECT_EQ(run.check().matrix, 2) << run.check().text();
  }
}
TEST(Syevd, ComplexNameAndSmallMatrices) {
  // [2, -i; i, 2]; the lower triangle is read
  std::complex<float> a[4] = {{2, 9}, {0, 1}, std::numeric_limits<float>::quiet_NaN(), {2, 5}};
  float w[2] = {-1, -1};
  int info = -1;
  heevd<std::complex<float>>(queue(), Job::vectors, Uplo::lower, batch(a, 2, 2), vectors(w, 2, 1), &info);
  queue().wait();
  EXPECT_EQ(info, 0);
  EXPECT_NEAR(w[0], 1, 1e-6);
  EXPECT_NEAR(w[1], 3, 1e-6);
  double b = -3, value = 0;
  syevd<double>(queue(), Job::vectors, Uplo::upper, batch(&b, 1, 1), vectors(&value, 1, 1), nullptr);
  queue().wait();
  EXPECT_EQ(value, -3);
  EXPECT_EQ(b, 1);
}

/// Imaginary parts on the diagonal are not read, also where matrices have to be scaled.
template <typename T>
void check_hermitian_diagonal() {
  using R = Real<T>;
  R const nan = std::numeric_limits<R>::quiet_NaN(), infinity = std::numeric_limits<R>::infinity();
  for (double const size : {1.0, sizeof(R) == 8 ? 1e200 : 1e30, sizeof(R) == 8 ? 1e-200 : 1e-30})
    for (R const imaginary : {nan, infinity})
      for (Job const job : {Job::values, Job::vectors}) {
        R const s = static_cast<R>(size);
        // Eigenvalues 1, 3 and 5
        T a[9] = {T(2 * s, imaginary), T(0, s), 0, nan, T(2 * s, 1), 0, nan, nan, T(5 * s, imaginary)};
        R w[3] = {-1, -1, -1};
        int info = -1;
        heevd<T>(queue(), job, Uplo::lower, batch(a, 3, 3), vectors(w, 3, 1), &info);
        queue().wait();
        SCOPED_TRACE(testing::Message() << "size " << size << ", imaginary part " << imaginary);
        EXPECT_EQ(info, 0);
        for (int i = 0; i < 3; ++i) EXPECT_NEAR(w[i] / s, 2 * i + 1, 1e-5);
      }
}
TEST(Syevd, ImaginaryPartsOfTheDiagonalAreNotRead) {
  check_hermitian_diagonal<std::complex<float>>();
  check_hermitian_diagonal<std::complex<double>>();
}

// Damages d in both places, an element of a reflector, a tau, and the triangle that must not be touched
TEST(Sytrd, WhatWasDamagedIsNamed) {
  using T = std::complex<double>;
  Problem p = problem(Dtype::c64, 6, 6, 1, 3);
  for (Uplo const uplo : {Uplo::lower, Uplo::upper})
    for (int const kind : {0, 1, 2, 3}) {
      p.uplo = uplo;
      SytrdCase<T> run(p);
      run.run(queue());
      ASSERT_TRUE(run.check().pass) << run.check().text();
      bool const lower = uplo == Uplo::lower;
      if (kind == 0) {
        double const moved = run.d.get(1, 2, 0) + 1e-10;
        run.d.set(1, 2, 0, moved);
        run.a.set(1, 2, 2, moved);
      } else if (kind == 1) {
        run.a.set(1, lower ? 4 : 1, lower ? 1 : 4, run.a.get(1, lower ? 4 : 1, lower ? 1 : 4) + 1e-10);
      } else if (kind == 2) {
        run.tau.set(1, 2, 0, run.tau.get(1, 2, 0) + 1e-10);
      } else {
        run.a.set(1, lower ? 1 : 4, lower ? 4 : 1, T(3));
      }
      EXPECT_FALSE(run.check().pass) << kind;
      EXPECT_EQ(run.check().matrix, 1) << run.check().text();
    }
}

/// Elements (i, j, value) of an upper triangle; the rest is zero.
template <typename T>
void values_are_those_beside_vectors(std::int64_t n, std::vector<std::tuple<int, int, T>> const& elements) {
  std::vector<T> a(static_cast<std::size_t>(n * n)), b;
  std::vector<Real<T>> alone(static_cast<std::size_t>(n)), beside(alone);
  for (auto const& [i, j, value] : elements) a[static_cast<std::size_t>(i + j * n)] = value;
  b = a;
  syevd<T>(queue(), Job::values, Uplo::upper, batch(a.data(), n, n), vectors(alone.data(), n, 1), nullptr);
  syevd<T>(queue(), Job::vectors, Uplo::upper, batch(b.data(), n, n), vectors(beside.data(), n, 1), nullptr);
  for (std::size_t k = 0; k < alone.size(); ++k)
    EXPECT_NEAR(alone[k], beside[k], Real<T>(100) * std::numeric_limits<Real<T>>::epsilon() * std::abs(beside.front())) << "value " << k;
}
/// LAPACK's sterf in OpenBLAS 0.3.21 is wrong by several digits for these.
TEST(Syevd, ValuesOfMatricesWithManyZeros) {
  using C = std::complex<float>;
  values_are_those_beside_vectors<C>(4, {{0, 2, C(1, -1)}, {0, 3, C(-2, -1)}});
  values_are_those_beside_vectors<float>(6, {{0, 4, -1.0F}, {0, 5, 1.0F}, {1, 1, -1.0F}, {3, 5, 1.0F}, {4, 4, -1.0F}});
}
TEST(Syevd, ValuesNearTheEndsOfTheRange) {
  for (double const size : {1e-320, 1e-300, 1e150, 1e300}) {
    double a[] = {2 * size, size, 0, 2 * size}, w[2];
    syevd<double>(queue(), Job::values, Uplo::lower, batch(a, 2, 2), vectors(w, 2, 1), nullptr);
    EXPECT_NEAR(w[0] / size, 1, size < 1e-310 ? 1e-2 : 1e-14) << size;
    EXPECT_NEAR(w[1] / size, 3, size < 1e-310 ? 1e-2 : 1e-14) << size;
  }
}

/// Matrices of integers, multiplied by powers of two down to subnormal numbers and up to the ends of the range.
TEST(Syevd, PowersOfTwoMultiplyValuesAndKeepVectors) {
  for (Dtype const dtype : all_dtypes)
    with_dtype(dtype, [&]<typename T>() {
      using R = Real<T>;
      std::mt19937 random(3);
      for (std::int64_t const n : {1, 2, 3, 8, 19, is_complex<T> ? 27 : 32}) {
        constexpr std::int64_t count = 5;
        auto const whole = [&] { return static_cast<R>(static_cast<int>(random() % 17) - 8); };
        std::vector<T> a(static_cast<std::size_t>(n * n * count));
        for (T& x : a)
          if constexpr (is_complex<T>)
            x = T(whole(), whole());
          else
            x = whole();
        auto const run = [&](int exponent, std::vector<R>& w) {
          auto q = a;
          for (T& x : q)
            if constexpr (is_complex<T>)
              x = T(std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent));
            else
              x = std::ldexp(x, exponent);
          w.assign(static_cast<std::size_t>(n * count), R(-1));
          syevd<T>(queue(), Job::vectors, Uplo::lower, batch(q.data(), n, n, {.count = count}), vectors(w.data(), n, count), nullptr);
          return q;
        };
        std::vector<R> w, scaled;
        auto const q = run(0, w);
        for (int const exponent : sizeof(R) == 4 ? std::array{-149, -126, -70, 115} : std::array{-1074, -1022, -600, 1010}) {
          EXPECT_EQ(run(exponent, scaled), q) << dtype_name(dtype) << ", n = " << n << ", 2^" << exponent;
          for (std::size_t i = 0; i < w.size(); ++i) EXPECT_EQ(scaled[i], std::ldexp(w[i], exponent)) << dtype_name(dtype) << ", n = " << n;
        }
      }
    });
}

/// Elements in memory that is read-only after `protect`.
class ReadOnlyMemory {
 public:
  explicit ReadOnlyMemory(std::size_t elements)
      : bytes_(elements * sizeof(double)),
        memory_(static_cast<double*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ReadOnlyMemory(ReadOnlyMemory const&) = delete;
  ~ReadOnlyMemory() { munmap(memory_, bytes_); }
  [[nodiscard]] double* data() const { return memory_; }
  void protect() const { ASSERT_EQ(mprotect(memory_, bytes_, PROT_READ), 0); }

 private:
  std::size_t bytes_;
  double* memory_;
};

/// LAPACK temporarily overwrites reflectors while it applies them. In a batch all matrices may share them, in several threads.
TEST(Reflectors, AreOnlyRead) {
  constexpr std::int64_t m = 200, n = 30, count = 5;
  ReadOnlyMemory const memory(m * n + n);
  double *const a = memory.data(), *const tau = a + m * n;
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::generate_n(a, m * n, [&] { return normal(random); });
  geqrf<double>(queue(), batch(a, m, n), vectors(tau, n, 1));
  memory.protect();
  ASSERT_FALSE(HasFatalFailure());
  std::vector<double> c(static_cast<std::size_t>(m * 3 * count), 1.0);
  auto const shared_by_all = [](Batch<double> view) {
    view.batch_stride = 0;
    view.count = count;
    return view;
  };
  ormqr<double>(queue(), Side::left, Op::none, shared_by_all(batch(a, m, n)), shared_by_all(vectors(tau, n, 1)),
                batch(c.data(), m, 3, {.count = count}));
  EXPECT_TRUE(std::equal(c.begin() + m * 3, c.end(), c.begin()));
  // A square part, used as if it came from sytrd
  for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
    std::fill(c.begin(), c.end(), 1.0);
    ormtr<double>(queue(), Side::left, uplo, Op::none, shared_by_all(batch(a, n, n, {.ld = m})), shared_by_all(vectors(tau, n - 1, 1)),
                  batch(c.data(), n, 3, {.count = count}));
    EXPECT_TRUE(std::equal(c.begin() + n * 3, c.begin() + n * 3 * count, c.begin()));
  }
}

TEST(Info, MayBeNull) {
  for (std::int64_t const n : {4, 40}) {
    Problem p = problem(Dtype::f64, n, n, 2, 3);
    GesvCase<double> gesv_run(p);
    gesv(queue(), gesv_run.a.view(), gesv_run.pivots.view(), gesv_run.b.view(), nullptr);
    GetrfCase<double> getrf_run(p);
    getrf(queue(), getrf_run.a.view(), getrf_run.pivots.view(), nullptr);
    getrf_nopiv(queue(), getrf_run.a.view(), nullptr);
    SolveCase<double> solve_run(p);
    solve(queue(), solve_run.a.view(), solve_run.b.view(), solve_run.x.view(), nullptr);
    InverseCase<double> inverse_run(p);
    inverse(queue(), inverse_run.a.view(), inverse_run.x.view(), nullptr);
    PosvCase<double> posv_run(p);
    posv(queue(), p.uplo, posv_run.a.view(), posv_run.b.view(), nullptr);
    SolvePositiveDefiniteCase<double> definite_run(p);
    solve_positive_definite<double>(queue(), p.uplo, definite_run.a.view(), definite_run.b.view(), definite_run.x.view(), nullptr);
    PotriCase<double> potri_run(p);
    potri(queue(), p.uplo, potri_run.a.view(), nullptr);
    PotrfCase<double> potrf_run(p);
    potrf(queue(), p.uplo, potrf_run.a.view(), nullptr);
    GelsCase<double> gels_run(p);
    gels(queue(), gels_run.a.view(), gels_run.b.view(), nullptr);
    SolveCase<double> expected(p);
    expected.run(queue());
    for (std::int64_t b = 0; b < p.count; ++b) {
      std::string x, y;
      solve_run.x.append_bytes(b, x);
      expected.x.append_bytes(b, y);
      EXPECT_EQ(x, y);
    }
  }
}

/// Matrix 0 converges; 1 has a number that is too large for single precision, 2 two rows that nearly agree, 3 a column of zeros (a negative
/// pivot), 4 a NaN, 5 a right-hand side that is too large; 6 converges.
template <typename T>
void each_matrix_decides(std::int64_t n, bool definite) {
  constexpr std::int64_t count = 7, nrhs = 2;
  std::vector<T> a(static_cast<std::size_t>(n * n * count)), b(static_cast<std::size_t>(n * nrhs * count));
  auto const of_a = [&](std::vector<T>& memory) { return batch(memory.data(), n, n, {.count = count}); };
  auto const of_b = [&](std::vector<T>& memory) { return batch(memory.data(), n, nrhs, {.count = count}); };
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = T(static_cast<double>(i * 7 % 11) - 4);
  for (std::int64_t q = 0; q < count; ++q)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        T const x = i == j ? T(static_cast<double>(2 * n)) : T(static_cast<double>((i * 5 + j * 3 + q) % 7) / 7);
        *of_a(a).at(q, i, j) = x;
        *of_a(a).at(q, j, i) = definite ? x : -x;
      }
  *of_a(a).at(1, n - 1, 0) = T(definite ? 1e45 : 1e200);
  if (definite) *of_a(a).at(1, n - 1, n - 1) = T(1e100);
  for (std::int64_t j = 0; j < n; ++j) {  // symmetric where A is
    T const x = *of_a(a).at(2, n - 2, j);
    if (j < n - 1) *of_a(a).at(2, n - 1, j) = x;
    if (definite && j < n - 1) *of_a(a).at(2, j, n - 1) = x;
  }
  *of_a(a).at(2, n - 1, n - 2) = *of_a(a).at(2, n - 2, n - 2);
  *of_a(a).at(2, n - 1, n - 1) = (definite ? *of_a(a).at(2, n - 2, n - 2) : *of_a(a).at(2, n - 2, n - 1)) + T(1e-10);
  for (std::int64_t i = 0; i < n; ++i) *of_a(a).at(3, i, 1) = T(0);
  if (definite) *of_a(a).at(3, 1, 1) = T(-1);
  *of_a(a).at(4, n - 1, 0) = T(std::numeric_limits<double>::quiet_NaN());
  *of_b(b).at(5, 0, 1) = T(1e50);
  struct Results {
    std::vector<T> a, x;
    std::vector<int> iter, info;
  };
  auto const solved = [&](std::int64_t first, std::int64_t some, bool mixed) {
    std::vector<int> const unset(count, -99);
    auto a_there = to_device(queue(), a), b_there = to_device(queue(), b), x_there = to_device(queue(), b);
    auto iter_there = to_device(queue(), unset), info_there = to_device(queue(), unset);
    auto const in_a = matrices(batch(a_there.data(), n, n, {.count = count}), first, some);
    auto const in_x = matrices(batch(x_there.data(), n, nrhs, {.count = count}), first, some);
    auto const right = matrices(batch(b_there.data(), n, nrhs, {.count = count}), first, some);
    int *const iter = iter_there.data() + first, *const info = info_there.data() + first;
    if (definite)
      mixed ? posv_mixed<T>(queue(), Uplo::lower, in_a, right, in_x, iter, info) : posv<T>(queue(), Uplo::lower, in_a, in_x, info);
    else
      mixed ? gesv_mixed<T>(queue(), in_a, {}, right, in_x, iter, info) : gesv<T>(queue(), in_a, {}, in_x, info);
    return Results{to_host(queue(), a_there), to_host(queue(), x_there), to_host(queue(), iter_there), to_host(queue(), info_there)};
  };
  auto const same = [](std::vector<T> const& x, std::vector<T> const& y, std::int64_t q) {
    auto const size = x.size() / count;
    return std::memcmp(x.data() + static_cast<std::size_t>(q) * size, y.data() + static_cast<std::size_t>(q) * size, size * sizeof(T)) == 0;
  };
  Results const all = solved(0, count, true), plain = solved(0, count, false);
  EXPECT_TRUE(all.iter[0] > 0 && all.iter[6] > 0) << all.iter[0] << ", " << all.iter[6];
  EXPECT_EQ(all.iter[1], -2);
  EXPECT_TRUE(all.iter[2] == -3 || all.iter[2] == -31) << all.iter[2];
  EXPECT_EQ(all.iter[3], -3);
  EXPECT_EQ(all.iter[4], -31);
  EXPECT_EQ(all.iter[5], -2);
  EXPECT_EQ(all.info, plain.info);
  EXPECT_EQ(all.info[3], 2);
  for (std::int64_t q = 0; q < count; ++q) {
    auto const at = static_cast<std::size_t>(q);
    Results const alone = solved(q, 1, true);
    EXPECT_EQ(alone.iter[at], all.iter[at]) << q;
    EXPECT_TRUE(same(alone.x, all.x, q) && same(alone.a, all.a, q)) << "other bits than alone: " << q;
    bool const refined = all.iter[at] >= 0;
    EXPECT_TRUE(same(all.a, refined ? a : plain.a, q)) << q;
    if (!refined && plain.info[at] == 0) {
      EXPECT_TRUE(same(all.x, plain.x, q)) << q;
    }
    auto const size = all.x.size() / count;
    for (std::size_t i = 0; i < size && plain.info[at] != 0; ++i) EXPECT_TRUE(std::isnan(std::real(all.x[at * size + i]))) << q;
  }
}

TEST(MixedPrecision, EachMatrixDecidesForItself) {
  for (std::int64_t const n : {5, 40, 150})
    for (bool const definite : {false, true}) {
      SCOPED_TRACE(testing::Message() << n << " rows" << (definite ? ", definite" : ""));
      each_matrix_decides<double>(n, definite);
      each_matrix_decides<std::complex<double>>(n, definite);
    }
}

TEST(MixedPrecision, AnInfiniteSolutionHasNotConverged) {
  std::vector<double> const a{1e-30}, b{1e10};
  for (bool const definite : {false, true}) {
    auto a_there = to_device(queue(), a), b_there = to_device(queue(), b), x_there = to_device(queue(), b);
    auto iter_there = to_device(queue(), std::vector<int>(1));
    auto const matrix = batch(a_there.data(), 1, 1), right = batch(b_there.data(), 1, 1), solution = batch(x_there.data(), 1, 1);
    if (definite)
      posv_mixed<double>(queue(), Uplo::lower, matrix, right, solution, iter_there.data(), nullptr);
    else
      gesv_mixed<double>(queue(), matrix, {}, right, solution, iter_there.data(), nullptr);
    EXPECT_EQ(to_host(queue(), iter_there)[0], -2);
    EXPECT_DOUBLE_EQ(to_host(queue(), x_there)[0], 1e40);
  }
}

TEST(Views, AFactorizationOfABlockLeavesTheRestAlone) {
  for (std::int64_t const n : {8, 40}) {
    Problem p = problem(Dtype::f64, n, n, 1, 5);
    GetrfCase<double> run(p);
    std::int64_t const size = n / 2;
    std::vector<int> pivots(static_cast<std::size_t>(size * 5)), info(5);
    getrf(queue(), block(run.a.view(), 1, 2, size, size), vectors(pivots.data(), size, 5), info.data());
    for (std::int64_t b = 0; b < 5; ++b)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          if (i < 1 || i >= 1 + size || j < 2 || j >= 2 + size) {
            EXPECT_TRUE(run.a.element_unchanged(b, i, j)) << b << " " << i << " " << j;
          }
  }
}

TEST(Determinant, OfNothingIsOne) {
  double value = -5;
  double log_abs = -5;
  double dummy = 0;
  det<double>(queue(), batch(&dummy, 0, 0), &value);
  EXPECT_EQ(value, 1.0);
  value = -5;
  logdet<double>(queue(), batch(&dummy, 0, 0), &value, &log_abs);
  EXPECT_EQ(value, 1.0);
  EXPECT_EQ(log_abs, 0.0);
}

TEST(Pivots, OfEqualsTheLowestRowWinsAtEverySize) {
  for (std::int64_t const n : {4, 9, 30, 62, 63, 100, 256, 257}) {
    std::int64_t const low = n / 3, high = n / 2;
    std::vector<double> a(static_cast<std::size_t>(n * n));
    auto const at = [&](std::int64_t i, std::int64_t j) -> double& { return a[static_cast<std::size_t>(i + j * n)]; };
    at(high, 0) = 2;            // row 0 is interchanged with row `high`
    at(0, 1) = at(low, 1) = 1;  // and is then below the equal element
    for (std::int64_t j = 2; j < n; ++j) at(j, j) = 1;
    std::vector<int> pivots(static_cast<std::size_t>(n)), info(1);
    getrf<double>(queue(), batch(a.data(), n, n), vectors(pivots.data(), n, 1), info.data());
    EXPECT_EQ(pivots[0], high + 1) << n;
    EXPECT_EQ(pivots[1], low + 1) << n;
  }
}

/// Factors that are the identity: solutions and inverses are interchanged rows, exactly.
TEST(Pivots, MayBeAboveTheirStep) {
  std::mt19937 random(7);
  for (Dtype const dtype : all_dtypes)
    with_dtype(dtype, [&]<typename T>() {
      for (int const n : {2, 5, 9, 24, 40, 70, 257}) {
        constexpr std::int64_t count = 3;
        auto const size = static_cast<std::size_t>(n);
        std::vector<T> factors(size * size * count, T(0));
        std::vector<int> pivots(size * count), info(count, -1);
        for (std::size_t i = 0; i < size * count; ++i) {
          factors[i * size + i % size] = T(1);
          pivots[i] = 1 + static_cast<int>(random() % size);
        }
        auto const interchange = [&](std::vector<T>& x, std::size_t columns, bool backwards) {
          for (std::size_t b = 0; b < count; ++b)
            for (std::size_t step = 0; step < size; ++step) {
              std::size_t const k = backwards ? size - 1 - step : step, p = static_cast<std::size_t>(pivots[b * size + k]) - 1;
              for (std::size_t j = b * columns; j < (b + 1) * columns; ++j) std::swap(x[j * size + k], x[j * size + p]);
            }
        };
        auto const view = [&](std::vector<T>& x, std::size_t columns) {
          return batch(x.data(), n, static_cast<std::int64_t>(columns), {.count = count});
        };
        Batch<int> const steps = vectors(pivots.data(), n, count);
        for (std::size_t const columns : {1, 5})
          for (Op const op : {Op::none, Op::conjugate_transpose}) {
            std::vector<T> x(size * columns * count);
            for (T& element : x) element = T(static_cast<Real<T>>(random() % 1000));
            auto expected = x;
            interchange(expected, columns, op != Op::none);
            getrs<T>(queue(), op, view(factors, size), steps, view(x, columns));
            EXPECT_EQ(x, expected) << dtype_name(dtype) << ", n = " << n << ", " << columns << " right-hand sides";
          }
        auto expected = factors;
        interchange(expected, size, false);
        getri<T>(queue(), view(factors, size), steps, info.data());
        EXPECT_EQ(factors, expected) << dtype_name(dtype) << ", n = " << n;
        EXPECT_EQ(info, std::vector<int>(count, 0));
      }
    });
}

}  // namespace
}  // namespace myriad::cases
