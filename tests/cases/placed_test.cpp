/// Batches in the queue's memory, as in benchmarks: inputs repeat a smaller number of matrices, and a sample of results is checked.

#include <set>

#include "sweep.hpp"

namespace myriad::cases {
namespace {

class Placed : public CaseTest {
 protected:
  void SetUp() override {
    if (on_gpu() && !routine().has_on_gpu('m')) GTEST_SKIP() << "has no kernels";
  }
  /// Checks that unwritten results are found wrong, and then runs and checks the batch.
  void expect_checked(Problem const& p, bool behind_pointers = false) {
    auto const run = routine().placed(queue, p, behind_pointers, 300);
    run->poison(queue);
    run->refresh(queue);
    queue.wait();
    if (only_compiles()) {
      run->run(queue);
      return;
    }
    EXPECT_FALSE(run->check_placed(queue, 2).pass) << routine().routine << " did nothing: " << p.text();
    run->run(queue);
    Outcome const outcome = run->check_placed(queue, 2);
    EXPECT_TRUE(outcome.pass) << routine().routine << ": " << outcome.text();
  }
};
class LargePlaced : public Placed {};

TEST_P(Placed, InEveryLayoutWithoutGaps) {
  unsigned i = 0;
  for (Layout const layout : {Layout::column_major, Layout::row_major, Layout::interleaved})
    for (std::int64_t const n : {3, 9}) {
      Problem p = problem(n, 101, layout);
      p.uplo = i++ % 2 == 0 ? Uplo::lower : Uplo::upper;
      if (routine().has('b')) p.beta = 1;
      expect_checked(p);
      if (layout == Layout::column_major) expect_checked(p, true);
    }
}

/// Checks a sample of columns, rows or vectors.
TEST_P(LargePlaced, HaveRightParts) {
  for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
    Problem p = problem(routine().routine.starts_with("or") ? 260 : 140, 4, Layout::column_major);
    p.uplo = uplo;
    expect_checked(p);
  }
}

/// The host has one part of the input, which repeats.
TEST(PlacedInputs, RepeatWhereTheyAreHuge) {
  Problem p;
  p.dtype = Dtype::c32;
  p.m = p.n = 4100;
  for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
    p.uplo = uplo;
    auto const run = find_case("hemv")->placed(test_queue(), p);
    EXPECT_FALSE(run->check_placed(test_queue(), 1).pass);
    run->run(test_queue());
    Outcome const outcome = run->check_placed(test_queue(), 1);
    EXPECT_TRUE(outcome.pass) << outcome.text();
  }
}

/// Routines that also take large matrices on GPUs.
std::vector<Subject> large_subjects() {
  std::vector<Subject> subjects = all_subjects();
  std::erase_if(subjects, [](Subject const& s) {
    static std::set<std::string_view> const families{"gemm", "symm", "syrk", "symv", "trsm", "eigen"};
    return !families.contains(s.routine->family);
  });
  return subjects;
}

INSTANTIATE_TEST_SUITE_P(All, Placed, testing::ValuesIn(all_subjects()), subject_name);
INSTANTIATE_TEST_SUITE_P(All, LargePlaced, testing::ValuesIn(large_subjects()), subject_name);

}  // namespace
}  // namespace myriad::cases
