/// No routine touches memory before the first or behind the last element of an array: every array of a case is flush against inaccessible
/// pages.

#include "guarded_memory.hpp"
#include "sweep.hpp"

namespace myriad::cases {
namespace {

/// Allocates the arrays of cases in `memory` during its lifetime.
class ArraysIn {
 public:
  explicit ArraysIn(std::pmr::memory_resource& memory) : before_(array_memory()) { array_memory() = &memory; }
  ~ArraysIn() { array_memory() = before_; }
  ArraysIn(ArraysIn const&) = delete;
  ArraysIn& operator=(ArraysIn const&) = delete;

 private:
  std::pmr::memory_resource* before_;
};

class GuardPages : public CaseTest {
 protected:
  void SetUp() override {
    if (on_gpu()) GTEST_SKIP() << "arrays are in pinned memory";
  }
  /// Runs a problem with all arrays flush against inaccessible pages on either side. Returns false after enough failures.
  bool stays_inside(Problem p) {
    p.flush = true;
    std::vector<std::string> results;
    for (Flush const flush : {Flush::first_element, Flush::last_element}) {
      GuardedMemory memory(flush);
      ArraysIn const guarded(memory);
      auto const run = routine()(p);
      run->run(queue);
      queue.wait();
      for (GuardedMemory::Fault const& fault : memory.faults()) {
        ++failures;
        bool const before = fault.distance < 0;
        ADD_FAILURE() << routine().routine << (fault.write ? " writes " : " reads ") << (before ? -fault.distance : fault.distance)
                      << (before ? " bytes before the beginning" : " bytes behind the end") << " of " << run->operand_at(fault.piece)
                      << "\n  in " << p.text();
        if (failures >= 3) return false;
      }
      // The bits do not depend on the place of the arrays.
      for (std::int64_t b = 0; b < p.count; ++b) {
        auto const at = static_cast<std::size_t>(b);
        if (flush == Flush::first_element) {
          results.push_back(run->result(b));
        } else if (run->result(b) != results[at]) {
          ++failures;
          ADD_FAILURE() << routine().routine << ": matrix " << b << " differs with the address of the arrays in " << p.text();
          return false;
        }
      }
    }
    return failures < 3;
  }
  void all_stay_inside(std::vector<Problem> const& problems) {
    for_problems(problems, tests::Budget::guard_pages, 2, [&](Problem const& p) { return stays_inside(p); });
  }
};

// Kernels with a matrix per lane, up to the first sizes beyond them; counts that leave lanes empty.
TEST_P(GuardPages, SmallMatrices) {
  std::vector<Problem> problems;
  auto i = static_cast<unsigned>(GetParam().dtype);
  for (std::int64_t const n : quickly ? std::vector<std::int64_t>{3, 17} : std::vector<std::int64_t>{1, 2, 3, 5, 6, 7, 9, 16, 17, 31, 33})
    for (std::int64_t const count : {1, 3, 19})
      for (unsigned turn = 0; turn < 4; ++turn) {
        Problem p = problem(n, count, all_layouts[i % all_layouts.size()]);
        vary(routine(), p, i++);
        p.ragged = i % 3 == 0;
        if (routine().has('r') && i % 2 == 0) p.m += 3;
        if (routine().has('r') && i % 4 == 0) std::swap(p.m, p.n);
        problems.push_back(p);
      }
  all_stay_inside(problems);
}

// Kernels for single matrices, and LAPACK.
TEST_P(GuardPages, LargeMatrices) {
  std::vector<Problem> problems;
  auto i = static_cast<unsigned>(GetParam().dtype);
  struct Size {
    std::int64_t m, n;
    Layout layout;
  };
  for (Size const& s : quickly ? std::vector<Size>{{65, 65, Layout::column_major}}
                               : std::vector<Size>{{65, 65, Layout::column_major},
                                                   {100, 97, Layout::pointers},
                                                   {130, 130, Layout::row_major},
                                                   {260, 257, Layout::row_major_padded},
                                                   {270, 273, Layout::column_major}}) {
    // BLAS has a kernel per triangle and op for vectors.
    unsigned const turns = routine().routine == "trsv" || routine().routine == "trmv" ? 6 : 1;
    for (unsigned turn = 0; turn < turns; ++turn) {
      Problem p = problem(s.n, 1, s.layout);
      vary(routine(), p, i++);
      if (routine().has('r')) p.m = s.m;
      problems.push_back(p);
    }
  }
  all_stay_inside(problems);
}

INSTANTIATE_TEST_SUITE_P(All, GuardPages, testing::ValuesIn(all_subjects()), subject_name);

// The tests above rely on this: accesses on either side of an array are recorded.
TEST(GuardedMemory, NotesAccessOnEitherSide) {
  for (Flush const flush : {Flush::first_element, Flush::last_element}) {
    GuardedMemory memory(flush);
    auto* const piece = static_cast<char volatile*>(memory.allocate(5, 1));
    bool const front = flush == Flush::first_element;
    piece[0] = 1;
    piece[4] = 1;
    EXPECT_TRUE(memory.faults().empty());
    (void)piece[front ? -1 : 5];
    ASSERT_EQ(memory.faults().size(), 1U);
    EXPECT_EQ(memory.faults()[0].piece, const_cast<char*>(piece));
    EXPECT_EQ(memory.faults()[0].distance, front ? -1 : 0);
    EXPECT_FALSE(memory.faults()[0].write);
    piece[front ? -5000 : 5000] = 1;
    ASSERT_EQ(memory.faults().size(), 2U);
    EXPECT_EQ(memory.faults()[1].distance, front ? -5000 : 4995);
    memory.deallocate(const_cast<char*>(piece), 5, 1);
  }
}

}  // namespace
}  // namespace myriad::cases
