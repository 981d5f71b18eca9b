#pragma once
/// Helpers of the tests over all cases.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "backend.hpp"
#include "case/case.hpp"
#include "core/dtype.hpp"
#include "draw.hpp"
#include "myriad/error.hpp"
#include "myriad/queue.hpp"

namespace myriad::cases {

/// Fewer sizes: sanitizers make everything an order of magnitude slower, and GPU kernels are compiled for every size
/// (`MYRIAD_TEST_QUICKLY`, which `tools/gpu-check --quick` sets). On the CPU a run draws its problems from these (tests/draw.hpp); on a GPU
/// it takes all of them, so that their kernels can be compiled beforehand.
#ifdef MYRIAD_SANITIZED
inline bool const quickly = true;
#else
inline bool const quickly = std::getenv("MYRIAD_TEST_QUICKLY") != nullptr;
#endif

/// Whether this run tests another SIMD target than the best one. Tests that depend on no target are then skipped.
inline bool other_simd_target() {
  char const* const name = std::getenv("MYRIAD_SIMD");
  return name && *name;
}

/// A routine and an element type: the parameter of the tests.
struct Subject {
  Case const* routine;
  Dtype dtype;
};
inline void PrintTo(Subject const& subject, std::ostream* out) { *out << subject.routine->routine << " " << name(subject.dtype); }
inline std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects;
  for (Case const& c : all_cases()) {
    for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) subjects.push_back({&c, dtype});
    if (c.has('w'))
      for (Dtype const dtype : {Dtype::f16, Dtype::bf16, Dtype::c16}) subjects.push_back({&c, dtype});
  }
  return subjects;
}
inline std::string subject_name(testing::TestParamInfo<Subject> const& info) {
  return std::string(info.param.routine->routine) + "_" + name(info.param.dtype);
}

/// Sets the i-th variant of a routine. The sequence has every pair of choices, and every choice with every layout if layouts take turns
/// with i.
inline void vary(Case const& c, Problem& p, unsigned i) {
  p.seed = i + 1;
  i += i / all_layouts.size();  // else most choices, with periods of two, three and four, would always meet the same layouts
  constexpr std::array ops{Op::none, Op::transpose, Op::conjugate_transpose};
  constexpr std::array<std::complex<double>, 5> alphas{{{1, 0}, {-1, 0}, {0.75, -0.5}, {2, 0}, {0, 0}}};
  constexpr std::array<std::complex<double>, 4> betas{{{0, 0}, {1, 0}, {-0.25, 0.5}, {-1, 0}}};
  if (c.has('o')) p.op = ops[i % 3];
  if (c.has('q')) p.op_b = ops[i / 3 % 3];
  if (c.has('u')) p.uplo = i % 2 == 0 ? Uplo::lower : Uplo::upper;
  if (c.has('s')) p.side = i / 2 % 2 == 0 ? Side::left : Side::right;
  if (c.has('d')) p.diag = i / 4 % 2 == 0 ? Diag::non_unit : Diag::unit;
  if (c.has('a')) p.alpha = alphas[(i + i / 5) % 5];
  if (c.has('b')) p.beta = betas[(i + i / 4) % 4];
  if (c.has('v')) p.job = i % 3 == 2 ? Job::values : Job::vectors;
  constexpr std::array svd_jobs{SvdJob::thin, SvdJob::values, SvdJob::full, SvdJob::left, SvdJob::right};
  if (c.has('j')) p.svd_job = svd_jobs[(i + i / 5) % 5];
  if (c.has('f')) p.vect = i / 5 % 2 == 0 ? Vect::q : Vect::p;
  if (c.has('p')) p.pivots = i % 4 != 3;
}

class CaseTest : public testing::TestWithParam<Subject> {
 protected:
  [[nodiscard]] Case const& routine() const { return *GetParam().routine; }
  [[nodiscard]] Problem problem(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, Layout layout) const {
    Problem p;
    p.dtype = GetParam().dtype;
    p.m = m;
    p.n = n;
    p.k = k;
    p.count = count;
    p.layout = layout;
    return p;
  }
  /// A square problem with a few right-hand sides; products have an inner size of n.
  [[nodiscard]] Problem problem(std::int64_t n, std::int64_t count, Layout layout) const {
    return problem(n, n, routine().has('i') ? n : 1 + n % 3, count, layout);
  }
  /// Whether the problem has to run on a GPU.
  [[nodiscard]] bool has_kernel(Problem const& p) const {
    Shape const bounds = p.bounds();
    return routine().has_on_gpu('a') || (routine().has_on_gpu('m') && bounds.m <= 32 && bounds.n <= 32);
  }
  /// Runs a problem and checks it. Returns false after enough failures.
  bool right(Problem const& p, std::int64_t step = 1) {
    try {
      auto const run = routine()(p);
      run->run(queue);
      queue.wait();
      if (only_compiles()) return true;
      Outcome const outcome = run->check(step);
      if (!outcome.pass) {
        ++failures;
        ADD_FAILURE() << routine().routine << ": " << outcome.text();
      }
    } catch (Unavailable const&) {
      if (!on_gpu() || has_kernel(p)) {
        ++failures;
        ADD_FAILURE() << routine().routine << " has no kernel for " << p.text();
      }
    } catch (std::exception const& error) {
      ++failures;
      ADD_FAILURE() << routine().routine << " threw: " << error.what() << "\n  in " << p.text();
    }
    return failures < 3;
  }
  /// Calls `check` on the problems of a sweep (on the CPU: a random sample) until it returns false. `kind`: the seconds of all sweeps of a
  /// kind; each subject has `sweeps` of them.
  template <typename Check>
  void for_problems(std::vector<Problem> const& problems, double kind, int sweeps, Check check) {
    static auto const subjects = static_cast<double>(all_subjects().size());
    std::size_t const least = quickly ? 1 : std::min<std::size_t>(problems.size() / 40 + 2, 8);
    // Half the time where another run has tested the same with all seconds
    double const share = quickly || other_simd_target() ? 0.5 : 1;
    if (!on_gpu()) return tests::for_drawn(problems, share * kind / (subjects * sweeps), least, check);
    for (Problem const& p : problems)
      if (!check(p)) return;
  }
  /// Runs and checks the problems of a sweep.
  void all_right(std::vector<Problem> const& problems) {
    // Large batches: checking every seventh matrix is enough.
    for_problems(problems, tests::Budget::cases, 12, [&](Problem const& p) { return right(p, p.count > 100 ? 7 : 1); });
  }
  Queue& queue = test_queue();
  int failures = 0;
};

}  // namespace myriad::cases
