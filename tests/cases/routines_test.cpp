/// Every routine and type over layouts, sizes, counts, variants, kinds of input and ragged batches.

#include <algorithm>
#include <array>
#include <complex>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "myriad/gemm.hpp"
#include "sweep.hpp"

namespace myriad::cases {
namespace {

class Routines : public CaseTest {};

std::vector<std::int64_t> sizes() {
  if (quickly) return {0, 1, 2, 5, 8, 17, 33};
  return {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65};
}

TEST_P(Routines, SizesInAllLayouts) {
  std::vector<Problem> problems;
  unsigned i = 0;
  for (std::int64_t const n : sizes()) {
    // A third of the layouts in turns for sizes that LAPACK computes, on a copy in any layout
    std::size_t const layouts = n > (quickly ? 20 : 40) ? all_layouts.size() / 3 : all_layouts.size();
    for (std::size_t l = 0; l < layouts; ++l) {
      // for small matrices several groups of SIMD lanes, and an incomplete one
      Problem p = problem(n, n <= 9 ? 37 : n <= 17 ? 19 : n <= 33 ? 9 : 3, all_layouts[i % all_layouts.size()]);
      vary(routine(), p, i++);
      problems.push_back(p);
    }
  }
  all_right(problems);
}

/// Every run has each size up to 34, and a quarter of those beyond; under sanitizers each up to 18, and a fifth of those beyond.
TEST_P(Routines, EverySize) {
  if (on_gpu()) GTEST_SKIP() << "SizesInAllLayouts has all that are compiled for GPUs";
  auto random = tests::random_of_test();
  for (std::int64_t n = 0; n <= 66; ++n) {
    auto const layout = all_layouts[random() % all_layouts.size()];
    auto const variant = static_cast<unsigned>(random() % 1000);
    if (n > 34 && n % 4 != static_cast<std::int64_t>(tests::seed() % 4) && !tests::thorough()) continue;
    if (quickly && n > 18 && n % 5 != static_cast<std::int64_t>(tests::seed() % 5) && !tests::thorough()) continue;
    Problem p = problem(n, n > 34 ? 1 : 3, layout);
    vary(routine(), p, variant);
    if (!right(p)) return;
  }
}

TEST_P(Routines, LargeMatrices) {
  std::vector<Problem> problems;
  unsigned i = 0;
  for (Layout const layout : {Layout::column_major, Layout::row_major, Layout::interleaved})
    for (std::int64_t const n : on_gpu()  ? std::vector<std::int64_t>{70, 200, 257}
                                : quickly ? std::vector<std::int64_t>{70}
                                          : std::vector<std::int64_t>{96, 97, 100, 128, 129, 300}) {
      // Beyond 129 rows only symv has different algorithms on the CPU.
      if (n == 300 && routine().routine != "symv" && routine().routine != "hemv") continue;
      Problem p = problem(n, 1, layout);
      vary(routine(), p, i++);
      problems.push_back(p);
    }
  all_right(problems);
}

TEST_P(Routines, SymvByRunsAndOfManyOnAGpu) {
  if (!on_gpu() || routine().family != "symv") GTEST_SKIP() << "has no such kernels";
  unsigned i = 0;
  // More rows than symv_strips takes for any type, and so many matrices that each has a block.
  for (auto const& [n, count] : {std::pair<std::int64_t, std::int64_t>{3100, 1}, {200, 50}, {1000, 50}})
    for (Layout const layout : all_layouts)
      for (bool const ragged : {false, true}) {
        if (ragged && layout != Layout::column_major && layout != Layout::pointers) continue;
        Problem p = problem(n, ragged && count == 1 ? 4 : count, layout);
        p.ragged = ragged;
        vary(routine(), p, i++);
        if (!right(p)) return;
      }
}

TEST_P(Routines, EigenproblemsByTheWholeGpu) {
  if (!on_gpu() || (routine().routine != "syevd" && routine().routine != "heevd")) GTEST_SKIP() << "has no such kernel";
  unsigned i = 0;
  // More rows than fit a block for any type; leaves and merges of several sizes.
  for (Input const input : {Input::conditioned, Input::dominant, Input::graded, Input::scaled, Input::singular_middle, Input::nan,
                            Input::infinite, Input::ties, Input::zero})
    for (bool const ragged : {false, true}) {
      bool const larger = input == Input::conditioned || input == Input::ties;
      Problem p = problem(larger ? 390 : 241 + i, ragged ? 5 : 2, all_layouts[i % all_layouts.size()]);
      p.ragged = ragged;
      vary(routine(), p, i++);
      p.input = input;
      if (!right(p)) return;
    }
}

TEST_P(Routines, FactorizationsByPanelsOnAGpu) {
  static constexpr std::array families{"lu", "cholesky", "qr"};
  if (!on_gpu() || std::find(families.begin(), families.end(), routine().family) == families.end()) GTEST_SKIP() << "has no such kernels";
  unsigned i = 0;
  // More rows than a block factors, by blocks that share a matrix.
  for (Layout const layout : {Layout::column_major, Layout::row_major})
    for (bool const ragged : {false, true}) {
      Problem p = problem(600, ragged ? 3 : 1, layout);
      p.ragged = ragged;
      vary(routine(), p, i++);
      if (!right(p)) return;
    }
}

TEST_P(Routines, FromKernelsForSingleMatricesToLapack) {
  static constexpr std::array of_lu{"getrf", "getri", "inverse", "gesv"};
  if (quickly || std::find(of_lu.begin(), of_lu.end(), routine().routine) == of_lu.end()) GTEST_SKIP() << "changes nothing at this size";
  std::vector<Problem> problems;
  unsigned i = 0;
  for (std::int64_t const n : {256, 257}) {
    Problem p = problem(n, 1, Layout::column_major);
    vary(routine(), p, i++);
    problems.push_back(p);
  }
  all_right(problems);
}

TEST_P(Routines, AllVariants) {
  std::vector<Problem> problems;
  unsigned i = 0;
  for (std::int64_t const n : quickly ? std::vector<std::int64_t>{3, 20} : std::vector<std::int64_t>{1, 3, 6, 8, 14, 20, 35})
    for (unsigned variant = 0; variant < 60; ++variant) {
      if (quickly && variant % 3 != 0) continue;
      Problem p = problem(n, n < 10 ? 21 : 5, all_layouts[i % all_layouts.size()]);
      vary(routine(), p, i++);
      p.seed += 1000;
      problems.push_back(p);
    }
  all_right(problems);
}

TEST_P(Routines, Counts) {
  std::vector<Problem> problems;
  unsigned i = 0;
  for (std::int64_t const count : {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 64, 65, 127, 513})
    for (std::int64_t const n : {1, 4, 6}) {
      if (quickly && count > 100) continue;
      Problem p = problem(n, count, all_layouts[i % all_layouts.size()]);
      vary(routine(), p, i++);
      problems.push_back(p);
    }
  all_right(problems);
}

TEST_P(Routines, ManyTinyMatrices) {
  if (quickly || other_simd_target()) GTEST_SKIP() << "too many for a sanitizer; whatever the SIMD target";
  if (!on_gpu() && !tests::thorough() && tests::random_of_test()() % 4 != 0) GTEST_SKIP() << "not drawn";
  for (std::int64_t const count : {65535, 65536}) {
    Problem p = problem(2, count, count % 2 == 0 ? Layout::column_major : Layout::interleaved);
    if (!right(p, 61)) return;
  }
  if (!on_gpu()) return;
  // Far more matrices than a grid's second dimension has blocks: checks the ends and the middle
  constexpr std::int64_t count = 200'003;
  (void)right(problem(3, count, Layout::column_major), (count - 1) / 2);
}

TEST_P(Routines, RectangularMatrices) {
  if (!routine().has('r')) GTEST_SKIP() << "takes square matrices";
  std::vector<Problem> problems;
  unsigned i = 0;
  for (auto const& [m, n] : std::vector<std::pair<int, int>>{{3, 7},
                                                             {7, 3},
                                                             {1, 9},
                                                             {9, 1},
                                                             {0, 5},
                                                             {5, 0},
                                                             {2, 4},
                                                             {4, 2},
                                                             {16, 33},
                                                             {33, 16},
                                                             {8, 32},
                                                             {32, 8},
                                                             {40, 65},
                                                             {65, 7},
                                                             {70, 96},
                                                             {96, 70},
                                                             {7, 65}})
    for (std::int64_t const k : {0, 1, 2, 5, 40}) {
      if (quickly && m + n > 50) continue;
      Problem p = problem(m, n, k, m + n < 20 ? 19 : 3, all_layouts[i % all_layouts.size()]);
      vary(routine(), p, i++);
      problems.push_back(p);
    }
  all_right(problems);
}

TEST_P(Routines, ManyRightHandSides) {
  if (!routine().has('k')) GTEST_SKIP() << "takes no right-hand sides";
  std::vector<Problem> problems;
  unsigned i = 0;
  for (std::int64_t const n : {1, 4, 9, 16, 33})
    for (std::int64_t const k : {0, 1, 2, 3, 4, 5, 8, 13, 40}) {
      Problem p = problem(n, n, k, n < 10 ? 17 : 3, all_layouts[i % all_layouts.size()]);
      vary(routine(), p, i++);
      problems.push_back(p);
    }
  all_right(problems);
}

TEST_P(Routines, RaggedBatches) {
  std::vector<Problem> problems;
  unsigned i = 0;
  for (std::int64_t const n : quickly ? std::vector<std::int64_t>{4, 20} : std::vector<std::int64_t>{1, 4, 9, 20, 34, 66})
    for (Layout const layout : all_layouts) {
      Problem p = problem(n, routine().has('r') ? n + 3 : n, 5, n < 30 ? 23 : 7, layout);
      p.ragged = true;
      vary(routine(), p, i++);
      problems.push_back(p);
    }
  all_right(problems);
}

/// C = A B with elements -1, 0 and 1 (and i times these), whose sums are exact in any order and type. The check is quick for large or many
/// matrices.
template <typename T>
void check_whole_numbers(Queue& queue, Problem const& p) {
  using S = Compute<T>;
  Array<T> a(p, size_m, size_k, p.op), b(p, size_k, size_n, p.op_b), c(p, size_m, size_n);
  std::mt19937 random(p.seed);
  auto const part = [&] { return static_cast<float>(static_cast<int>(random() % 3) - 1); };
  auto const number = [&] {
    if constexpr (is_complex<T>) {
      float const re = part();
      return S(re, part());
    } else {
      return S(part());
    }
  };
  for (auto* const x : {&a, &b})
    for (std::int64_t q = 0; q < p.count; ++q)
      for (std::int64_t j = 0; j < x->cols(q); ++j)
        for (std::int64_t i = 0; i < x->rows(q); ++i) x->set(q, i, j, T(number()));
  gemm<T>(queue, S(1), a.view(), b.view(), S(0), c.view());
  queue.wait();
  std::vector<S> row, column;
  for (std::int64_t q = 0; q < p.count; ++q) {
    std::int64_t const m = c.rows(q), n = c.cols(q), k = a.cols(q);
    column.resize(static_cast<std::size_t>(n * k));
    row.resize(static_cast<std::size_t>(k));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t t = 0; t < k; ++t) column[static_cast<std::size_t>(j * k + t)] = S(b.get(q, t, j));
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t t = 0; t < k; ++t) row[static_cast<std::size_t>(t)] = S(a.get(q, i, t));
      for (std::int64_t j = 0; j < n; ++j) {
        S const expected = std::inner_product(row.begin(), row.end(), column.begin() + j * k, S(0));
        ASSERT_EQ(S(c.get(q, i, j)), S(T(expected))) << "matrix " << q << ", " << i << "," << j << ": " << p.text();
      }
    }
  }
}

TEST_P(Routines, LargeRectangularProducts) {
  if (routine().routine != "gemm") GTEST_SKIP() << "of products alone";
  unsigned i = 0;
  for (auto const& [m, n, k] : quickly ? std::vector<std::array<std::int64_t, 3>>{{300, 7, 400}, {400, 5, 200}}
                                       : std::vector<std::array<std::int64_t, 3>>{{1000, 37, 3000}, {3000, 5, 2000}, {3, 1500, 1000}}) {
    Problem p = problem(m, n, k, 1, i % 2 == 0 ? Layout::column_major : Layout::row_major);
    vary(routine(), p, i++);
    with_any_dtype(p.dtype, [&]<typename T>() { check_whole_numbers<T>(queue, p); });
  }
}

/// On a GPU small and large matrices of such batches have different kernels.
TEST_P(Routines, ManyRaggedProducts) {
  if (routine().routine != "gemm") GTEST_SKIP() << "of products alone";
  unsigned i = 0;
  // On a GPU without and with a schedule; on the CPU the number does not matter
  for (std::int64_t const count : on_gpu() ? std::vector<std::int64_t>{200, 1500} : std::vector<std::int64_t>{quickly ? 10 : 40})
    for (Layout const layout : {Layout::column_major, Layout::row_major_padded, Layout::pointers}) {
      Problem p = problem(150, 130, 140, count, layout);
      p.ragged = true;
      vary(routine(), p, i++);
      with_any_dtype(p.dtype, [&]<typename T>() { check_whole_numbers<T>(queue, p); });
    }
}

TEST_P(Routines, KindsOfInput) {
  std::vector<Problem> problems;
  unsigned i = 0;
  for (Input const input :
       {Input::conditioned, Input::dominant, Input::graded, Input::scaled, Input::singular_first, Input::singular_middle,
        Input::singular_last, Input::nan, Input::infinite, Input::ties, Input::zero, Input::growth})
    for (std::int64_t const n :
         quickly ? std::vector<std::int64_t>{1, 5, 18} : std::vector<std::int64_t>{1, 2, 4, 5, 8, 12, 16, 17, 31, 32, 33, 40, 64}) {
      if (input == Input::growth && routine().family != "lu") continue;
      Problem p = problem(n, n < 20 ? 11 : 3, all_layouts[i % all_layouts.size()]);
      vary(routine(), p, i++);
      p.input = input;
      problems.push_back(p);
      if (!routine().has('r')) continue;
      p.m += n % 2 == 0 ? 3 : 0;
      p.n += n % 2 == 0 ? 0 : 3;
      problems.push_back(p);
    }
  all_right(problems);
}

INSTANTIATE_TEST_SUITE_P(All, Routines, testing::ValuesIn(all_subjects()), subject_name);

TEST(Variants, EveryPairOfChoicesComesUpAndEachInEveryLayout) {
  for (Case const& c : all_cases()) {
    constexpr std::size_t kinds = 12;
    std::array<std::set<std::pair<int, int>>, kinds * kinds> pairs;  // pairs of choices, at index first * kinds + second
    std::array<std::set<int>, kinds> choices;
    for (unsigned i = 0; i < 200; ++i) {
      Problem p;
      vary(c, p, i);
      std::array const chosen{static_cast<int>(i % all_layouts.size()),
                              static_cast<int>(p.op),
                              static_cast<int>(p.op_b),
                              static_cast<int>(p.uplo),
                              static_cast<int>(p.side),
                              static_cast<int>(p.diag),
                              static_cast<int>(p.job),
                              static_cast<int>(p.pivots),
                              static_cast<int>(p.svd_job),
                              static_cast<int>(p.vect),
                              static_cast<int>(100 * p.alpha.real()),
                              static_cast<int>(100 * p.beta.real())};
      for (std::size_t first = 0; first < chosen.size(); ++first) {
        choices[first].insert(chosen[first]);
        for (std::size_t second = 0; second < first; ++second) pairs[first * kinds + second].emplace(chosen[first], chosen[second]);
      }
    }
    for (std::size_t first = 0; first < choices.size(); ++first)
      for (std::size_t second = 0; second < first; ++second)
        EXPECT_EQ(pairs[first * kinds + second].size(), choices[first].size() * choices[second].size())
            << c.routine << ": choices " << second << " and " << first;
  }
}

/// Names of the routines that the public headers declare.
std::set<std::string> declared_routines() {
  std::set<std::string> names;
  std::regex const declaration("MYRIAD_API void ([a-z0-9_]+)\\(Queue& ");
  for (auto const& header : std::filesystem::directory_iterator(MYRIAD_HEADERS)) {
    if (header.path().extension() != ".hpp") continue;
    std::ifstream file(header.path());
    std::string const text((std::istreambuf_iterator<char>(file)), {});
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) names.insert((*at)[1]);
  }
  return names;
}

TEST(Registry, EveryRoutineOfTheHeadersHasACase) {
  std::set<std::string> declared = declared_routines(), cases;
  EXPECT_EQ(declared.erase("gemm_grouped"), 1U);  // several gemm batches in one call; its own tests compare it with gemm
  for (Case const& c : all_cases()) cases.emplace(c.routine);
  EXPECT_EQ(cases, declared);
  std::set<std::string> tested;  // routines that ctest entries test
  std::istringstream names(MYRIAD_TESTED_ROUTINES);
  for (std::string name; names >> name;) tested.insert(name);
  EXPECT_EQ(cases, tested);
  EXPECT_EQ(find_case("nothing"), nullptr);
}

}  // namespace
}  // namespace myriad::cases
