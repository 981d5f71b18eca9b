/// The oracles themselves: they accept LAPACK's results, and notice one damaged element of one matrix.

#include <numeric>

#include "lu/case.hpp"
#include "peers/peer.hpp"
#include "sweep.hpp"

namespace myriad::cases {
namespace {

class Oracles : public CaseTest {
 protected:
  void SetUp() override {
    if (other_simd_target()) GTEST_SKIP() << "the same whatever the SIMD target";
  }
};

TEST_P(Oracles, AcceptWhatLapackComputes) {
  auto const lapack = bench::make_lapack_peer();
  std::vector<Problem> problems;
  unsigned i = 0;
  for (Input const input : {Input::random, Input::conditioned, Input::dominant, Input::graded, Input::scaled, Input::singular_first,
                            Input::singular_middle, Input::singular_last, Input::nan, Input::growth})
    for (std::int64_t const n : {1, 2, 5, 16, 33, 64})
      for (bool const ragged : {false, true}) {
        Problem p = problem(n, n < 10 ? 9 : 3, i % 2 == 0 ? Layout::column_major : Layout::padded);
        if (routine().has('r')) p.m += i % 4;
        vary(routine(), p, i++);
        if ((quickly && n > 10) || (n == 64 && input != Input::growth)) continue;
        if (input == Input::growth && routine().family != "lu") continue;
        if (input == Input::scaled && routine().routine == "gerfs") continue;  // LAPACK's refinement stops too early
        // OpenBLAS loses the NaN of a 1-by-1 matrix
        if (input == Input::nan && (routine().routine == "solve_positive_definite" || routine().routine.starts_with("po"))) continue;
        // LAPACK does not check for NaN here
        if (input == Input::nan && (routine().family == "eigen" || routine().family == "svd")) continue;
        // OpenBLAS's products of small matrices read A and B even if alpha is zero, on processors with AVX-512
        if (input == Input::nan && routine().routine == "gemm" && p.alpha == std::complex<double>(0)) continue;
        p.ragged = ragged;
        p.input = input;
        problems.push_back(p);
      }
  for_problems(problems, tests::Budget::cases, 12, [&](Problem const& p) {
    auto const run = routine()(p);
    auto const work = lapack->prepare(*run, 2);
    if (!work) return true;
    work();
    Outcome const outcome = run->check();
    EXPECT_TRUE(outcome.pass) << "LAPACK's " << routine().routine << ": " << outcome.text();
    return outcome.pass;
  });
}

TEST_P(Oracles, NameTheMatrixThatWasDamaged) {
  constexpr std::int64_t count = 7;
  std::vector<Problem> problems;
  for (std::int64_t const n : quickly ? std::vector<std::int64_t>{1, 6} : std::vector<std::int64_t>{1, 6, 18, 33})
    for (Layout const layout : {Layout::padded, Layout::interleaved_padded, Layout::row_major_pointers})
      problems.push_back(problem(n, count, layout));
  for_problems(problems, tests::Budget::cases, 12, [&](Problem const& p) {
    auto const run = routine()(p);
    for (Spoil const kind : {Spoil::result, Spoil::result_nan, Spoil::info})
      for (std::int64_t const target : {std::int64_t{0}, count / 2, count - 1}) {
        run->prepare();
        run->run(queue);
        EXPECT_TRUE(run->check().pass) << run->check().text();
        if (!run->spoil(target, kind)) continue;
        Outcome const outcome = run->check();
        EXPECT_FALSE(outcome.pass) << "damage " << static_cast<int>(kind) << " of matrix " << target << " went unnoticed: " << p.text();
        EXPECT_EQ(outcome.matrix, target) << outcome.text();
        EXPECT_NE(outcome.text().find("seed 1,"), std::string::npos) << outcome.text();
      }
    for (Spoil const kind : {Spoil::padding, Spoil::input}) {
      run->prepare();
      run->run(queue);
      if (!run->spoil(count / 2, kind)) continue;
      EXPECT_FALSE(run->check().pass) << "damage " << static_cast<int>(kind) << " went unnoticed: " << p.text();
    }
    return !HasFailure();
  });
}

TEST_P(Oracles, NoticeThatNothingWasDone) {
  Problem const p = problem(6, 3, Layout::column_major);
  EXPECT_FALSE(routine()(p)->check().pass);
}

INSTANTIATE_TEST_SUITE_P(All, Oracles, testing::ValuesIn(all_subjects()), subject_name);

/// Factors with the second largest pivot at one step are also factors of A, up to rounding: only the pivots are wrong.
TEST(LuOracle, NoticesAWrongPivotWhateverTheGrowth) {
  with_dtype(Dtype::f64, []<typename T>() {
    for (Input const input : {Input::random, Input::growth})
      for (std::int64_t const step : {0, 20, 50, 62}) {
        Problem p;
        p.n = p.m = 64;
        p.count = 3;
        p.input = input;
        GetrfCase<T> run(p);
        run.run(test_queue());
        test_queue().wait();
        ASSERT_TRUE(run.check().pass) << run.check().text();
        auto lu = run.a.before_wide(1);
        std::vector<int> pivots(64);
        for (std::int64_t k = 0; k < 64; ++k) {
          std::vector<std::int64_t> rows(static_cast<std::size_t>(64 - k));
          std::iota(rows.begin(), rows.end(), k);
          std::stable_sort(rows.begin(), rows.end(), [&](auto i, auto j) { return std::abs(lu(i, k)) > std::abs(lu(j, k)); });
          std::int64_t const row = rows[k == step ? 1 : 0];
          pivots[static_cast<std::size_t>(k)] = static_cast<int>(row + 1);
          for (std::int64_t j = 0; j < 64; ++j) std::swap(lu(k, j), lu(row, j));
          for (std::int64_t i = k + 1; i < 64; ++i) {
            lu(i, k) /= lu(k, k);
            for (std::int64_t j = k + 1; j < 64; ++j) lu(i, j) -= lu(i, k) * lu(k, j);
          }
        }
        for (std::int64_t j = 0; j < 64; ++j) {
          run.pivots.set(1, j, 0, pivots[static_cast<std::size_t>(j)]);
          for (std::int64_t i = 0; i < 64; ++i) run.a.set(1, i, j, static_cast<T>(lu(i, j)));
        }
        Outcome const outcome = run.check();
        EXPECT_FALSE(outcome.pass) << p.text() << ", step " << step;
        EXPECT_EQ(outcome.matrix, 1);
        EXPECT_NE(outcome.text().find("pivot " + std::to_string(step + 1) + " is"), std::string::npos) << outcome.text();
      }
  });
}

TEST(Findings, NaNFails) {
  Findings found;
  found.at_most("x", std::numeric_limits<double>::quiet_NaN(), 30);
  EXPECT_FALSE(found.pass());
  EXPECT_TRUE(std::isnan(found.worst()));
}

}  // namespace
}  // namespace myriad::cases
