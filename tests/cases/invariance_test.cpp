/// Matrix b gets the same bits whatever the size of the batch, its place, its neighbours, the threads and the run.

#include "sweep.hpp"

namespace myriad::cases {
namespace {

class Invariance : public CaseTest {
 protected:
  std::vector<std::string> results(Problem const& p, Queue& on) {
    auto const run = routine()(p);
    run->run(on);
    on.wait();
    std::vector<std::string> bytes;
    for (std::int64_t b = 0; b < p.count; ++b) bytes.push_back(run->result(b));
    return bytes;
  }
  std::vector<std::string> results(Problem const& p) { return results(p, queue); }

  /// Whether gemm does the work, which has another kernel for interleaved batches.
  [[nodiscard]] bool is_product() const { return routine().family == "gemm" || routine().family == "symm" || routine().family == "syrk"; }

  /// Problems on both sides of every change of algorithm, in a few layouts, ragged too.
  std::vector<Problem> problems() {
    std::vector<Problem> all;
    unsigned i = 0;
    for (std::int64_t const n : quickly ? std::vector<std::int64_t>{3, 17} : std::vector<std::int64_t>{1, 3, 4, 8, 13, 16, 17, 32, 33, 40})
      for (bool const ragged : {false, true})
        for (Layout const layout : {Layout::column_major, Layout::row_major_padded, Layout::interleaved, Layout::pointers}) {
          Problem p = problem(n, 21, layout);
          vary(routine(), p, i++);
          p.ragged = ragged;
          if (!on_gpu() || has_kernel(p)) all.push_back(p);
        }
    return all;
  }
  /// Calls `check` on these problems (on the CPU: a random sample) until a failure.
  template <typename Check>
  void for_each_problem(Check check) {
    for_problems(problems(), tests::Budget::invariance, 3, [&](Problem const& p) {
      check(p);
      return !HasFailure();
    });
  }
};

TEST_P(Invariance, SameBitsWhateverCountAndPlace) {
  for_each_problem([&](Problem const& p) {
    auto const whole = results(p);
    for (std::int64_t const first : {0, 1, 9, 20}) {
      for (std::int64_t const count : {1, 2, 12}) {
        if (first + count > p.count) continue;
        if (count == 1 && p.layout == Layout::interleaved && is_product()) continue;  // an interleaved batch of one is column-major
        Problem part = p;
        part.first = first;
        part.count = count;
        auto const some = results(part);
        for (std::int64_t b = 0; b < count; ++b)
          ASSERT_EQ(some[static_cast<std::size_t>(b)], whole[static_cast<std::size_t>(first + b)])
              << "matrix " << first + b << " of 21 differs as number " << b << " of " << count << ": " << p.text();
      }
    }
  });
}

// Kernels for few matrices and for many sum in the same order.
TEST_P(Invariance, SymvOfFewAndOfManyOnAGpu) {
  if (!on_gpu() || routine().family != "symv") GTEST_SKIP() << "has no such kernels";
  unsigned i = 0;
  for (std::int64_t const n : {33, 64, 65, 97, 128, 129, 200, 256, 257, 300, 1000})
    for (Layout const layout : {Layout::column_major, Layout::row_major_padded}) {
      Problem p = problem(n, 50, layout);
      vary(routine(), p, i++);
      auto const many = results(p);
      for (std::int64_t const first : {0, 48}) {
        Problem few = p;
        few.first = first;
        few.count = 2;
        auto const some = results(few);
        for (std::int64_t b = 0; b < 2; ++b)
          ASSERT_EQ(some[static_cast<std::size_t>(b)], many[static_cast<std::size_t>(first + b)])
              << "matrix " << first + b << ": " << p.text();
      }
    }
}

TEST_P(Invariance, SameBitsFromRunToRunAndOnAnyNumberOfThreads) {
  Queue one{{.backend = Backend::cpu, .threads = 1}};
  Queue three{{.backend = Backend::cpu, .threads = 3}};
  for_each_problem([&](Problem const& p) {
    auto const first = results(p);
    ASSERT_EQ(first, results(p)) << p.text();
    if (on_gpu()) return;
    ASSERT_EQ(first, results(p, one)) << p.text();
    ASSERT_EQ(first, results(p, three)) << p.text();
  });
}

TEST_P(Invariance, ABadMatrixDoesNotDisturbItsNeighbours) {
  for_each_problem([&](Problem const& p) {
    auto const i = static_cast<unsigned>(p.seed);  // differs for each problem
    auto const good = results(p);
    Problem bad = p;
    constexpr std::array kinds{Input::nan,           Input::infinite, Input::singular_first, Input::singular_middle,
                               Input::singular_last, Input::zero};
    bad.bad = kinds[i % kinds.size()];
    constexpr std::array<std::int64_t, 3> places{0, 5, 20};
    for (std::int64_t const place : places) {
      bad.bad_place = place;
      auto const others = results(bad);
      for (std::int64_t b = 0; b < p.count; ++b)
        if (b != place) {
          ASSERT_EQ(others[static_cast<std::size_t>(b)], good[static_cast<std::size_t>(b)]) << "matrix " << b << " differs: " << bad.text();
        }
      // The neighbours have the same bits; whether these are right is only checked at one place, since that takes the most time.
      if (place == places[i / 2 % places.size()] && !right(bad)) return;
    }
  });
}

TEST_P(Invariance, SameBitsInEveryLayoutOnAGpu) {
  if (!on_gpu()) GTEST_SKIP() << "on the CPU layouts have algorithms of their own";
  unsigned i = 0;
  for (std::int64_t const n : {3, 8, 13, 16, 32, 40}) {
    Problem p = problem(n, 37, Layout::column_major);
    vary(routine(), p, i++);
    if (routine().family == "symv" && n > 32) continue;  // a triangle by rows is the other triangle, with another order of sums
    if (!has_kernel(p)) continue;
    auto const plain = results(p);
    for (Layout const layout : all_layouts) {
      if (layout == Layout::conjugated) continue;  // zero imaginary parts may have another sign
      p.layout = layout;
      ASSERT_EQ(results(p), plain) << p.text();
    }
  }
}

TEST_P(Invariance, SameBitsInARaggedBatchAsAlone) {
  // On a GPU the bounds of the sizes choose the kernel. Kernels of LU, triangles and LAPACK's Cholesky do the same arithmetic, except
  // inverses of 24 and of 29 to 32 rows in double, which are not among these sizes. The number of partial sums of QR and
  // solve_positive_definite depends on the kernel, and so do Q and P of gebrd, and gesvd of small matrices.
  bool const by_bounds = routine().family == "qr" || routine().routine == "solve_positive_definite" ||
                         (routine().family == "svd" && routine().routine != "gebrd");
  if (on_gpu() && by_bounds) GTEST_SKIP() << "depends on the bounds";
  unsigned i = 0;
  for (std::int64_t const n : {8, 20, 40})
    for (Layout const layout : {Layout::column_major, Layout::row_major_padded}) {
      Problem p = problem(n, 23, layout);
      vary(routine(), p, i++);
      p.ragged = true;
      p.fix = routine().fix;
      if (on_gpu() && !has_kernel(p)) continue;
      if (on_gpu() && n > 32 && (routine().family == "lu" || routine().routine == "gerfs")) continue;  // these depend on the bounds
      auto const ragged = results(p);
      for (std::int64_t b = 0; b < p.count; b += on_gpu() ? 4 : 1) {  // each shape has to be compiled on a GPU
        Problem alone = p;
        Shape const shape = p.shape_of(b);
        alone.m = shape.m;
        alone.n = shape.n;
        alone.k = shape.k;
        alone.ragged = false;
        alone.first = b;
        alone.count = 1;
        ASSERT_EQ(results(alone).front(), ragged[static_cast<std::size_t>(b)]) << "matrix " << b << " of " << p.text();
      }
    }
}

/// Batches of so many matrices that small and large ones get different kernels, and a schedule: same bits as in smaller batches.
TEST_P(Invariance, ManyRaggedProductsOnAGpu) {
  if (!on_gpu() || !is_product()) GTEST_SKIP() << "has one way for all";
  unsigned i = 0;
  for (Layout const layout : {Layout::column_major, Layout::row_major_padded, Layout::pointers}) {
    Problem p = problem(150, 1500, layout);
    vary(routine(), p, i++);
    p.ragged = true;
    p.fix = routine().fix;
    auto const many = results(p);
    for (auto const& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 200}, {700, 40}, {1499, 1}}) {
      Problem few = p;
      few.first = first;
      few.count = count;
      auto const some = results(few);
      for (std::int64_t b = 0; b < count; ++b)
        ASSERT_EQ(some[static_cast<std::size_t>(b)], many[static_cast<std::size_t>(first + b)])
            << "matrix " << first + b << " of " << p.text();
    }
    for (std::int64_t b = 0; b < p.count; b += 500) {
      Problem alone = p;
      Shape const shape = p.shape_of(b);
      alone.m = shape.m, alone.n = shape.n, alone.k = shape.k;
      alone.ragged = false;
      alone.first = b;
      alone.count = 1;
      ASSERT_EQ(results(alone).front(), many[static_cast<std::size_t>(b)]) << "matrix " << b << " of " << p.text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Invariance, testing::ValuesIn(all_subjects()), subject_name);

}  // namespace
}  // namespace myriad::cases
