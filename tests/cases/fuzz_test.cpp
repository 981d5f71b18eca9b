/// Random problems: sizes, counts, layouts, variants and kinds of input in every combination. On a GPU every run has the same ones.

#include "sweep.hpp"

namespace myriad::cases {
namespace {

class Fuzz : public CaseTest {};

TEST_P(Fuzz, RandomProblems) {
  Problem origin;
  origin.seed = on_gpu() ? 20240229 : tests::seed();
  std::vector<Problem> problems;
  Random random(origin, 0, static_cast<std::uint64_t>(GetParam().dtype));
  for (int turn = 0; turn < (quickly ? 30 : 150); ++turn) {
    std::int64_t const limit = random.below(8) == 0 ? 40 : 13;
    Problem p = problem(random.below(limit), random.below(limit), random.below(9), random.below(26),
                        all_layouts[static_cast<std::size_t>(random.below(12))]);
    vary(routine(), p, static_cast<unsigned>(random.below(1000)));
    p.ragged = random.below(2) == 0;
    constexpr std::array kinds{Input::random,   Input::random, Input::random,        Input::conditioned,
                               Input::dominant, Input::graded, Input::singular_last, Input::ties};
    p.input = kinds[static_cast<std::size_t>(random.below(8))];
    if (p.count > 0 && random.below(4) == 0) p.bad_place = random.below(p.count);
    p.seed = random.bits();
    problems.push_back(p);
  }
  all_right(problems);
}

INSTANTIATE_TEST_SUITE_P(All, Fuzz, testing::ValuesIn(all_subjects()), subject_name);

}  // namespace
}  // namespace myriad::cases
