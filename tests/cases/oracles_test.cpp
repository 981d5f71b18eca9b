/// The oracles themselves: they accept what LAPACK computes, and notice one damaged element of one matrix.

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
  unsigned i = 0;
  for (Input const input : {Input::random, Input::conditioned, Input::dominant, Input::graded, Input::scaled, Input::singular_first,
                            Input::singular_middle, Input::singular_last, Input::nan})
    for (std::int64_t const n : {1, 2, 5, 16, 33})
      for (bool const ragged : {false, true}) {
        Problem p = problem(n, n < 10 ? 9 : 3, i % 2 == 0 ? Layout::column_major : Layout::padded);
        if (routine().has('r')) p.m += i % 4;
        vary(routine(), p, i++);
        if (quickly && n > 10) continue;
        if (input == Input::scaled && routine().routine == "gerfs") continue;  // LAPACK's refinement stops too early
        // OpenBLAS loses the NaN of a 1-by-1 matrix
        if (input == Input::nan && (routine().routine == "solve_positive_definite" || routine().routine.starts_with("po"))) continue;
        // LAPACK leaves it to the caller to look for NaN
        if (input == Input::nan && routine().family == "eigen") continue;
        // its products of small matrices read A and B even where alpha is zero, on processors with AVX-512
        if (input == Input::nan && routine().routine == "gemm" && p.alpha == std::complex<double>(0)) continue;
        p.ragged = ragged;
        p.input = input;
        auto const run = routine()(p);
        auto const work = lapack->prepare(routine().routine, *run, 2);
        if (!work) continue;
        work();
        Outcome const outcome = run->check();
        ASSERT_TRUE(outcome.pass) << "LAPACK's " << routine().routine << ": " << outcome.text();
      }
}

TEST_P(Oracles, NameTheMatrixThatWasDamaged) {
  constexpr std::int64_t count = 7;
  for (std::int64_t const n : quickly ? std::vector<std::int64_t>{1, 6} : std::vector<std::int64_t>{1, 6, 18, 33})
    for (Layout const layout : {Layout::padded, Layout::interleaved_padded, Layout::row_major_pointers}) {
      Problem const p = problem(n, count, layout);
      auto const run = routine()(p);
      for (Spoil const kind : {Spoil::result, Spoil::result_nan, Spoil::info})
        for (std::int64_t const target : {std::int64_t{0}, count / 2, count - 1}) {
          run->prepare();
          run->run(queue);
          ASSERT_TRUE(run->check().pass) << run->check().text();
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
    }
}

TEST_P(Oracles, NoticeThatNothingWasDone) {
  Problem const p = problem(6, 3, Layout::column_major);
  EXPECT_FALSE(routine()(p)->check().pass);
}

INSTANTIATE_TEST_SUITE_P(All, Oracles, testing::ValuesIn(all_subjects()), subject_name);

TEST(Findings, NaNFails) {
  Findings found;
  found.at_most("x", std::numeric_limits<double>::quiet_NaN(), 30);
  EXPECT_FALSE(found.pass());
  EXPECT_TRUE(std::isnan(found.worst()));
}

}  // namespace
}  // namespace myriad::cases
