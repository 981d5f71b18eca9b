#pragma once
/// Random samples of sizes, layouts, choices and kernels for a run of the tests.
///
/// A sweep lists everything that it could test. A run takes the items in a random order until the budget of the sweep is spent, so that
/// runs together cover the list, and a longer list does not make runs longer. `MYRIAD_TEST_THOROUGH=1` (`tools/test --thorough`) takes all.
/// The seed is printed; `MYRIAD_TEST_SEED=<seed>` (`tools/test --seed <seed>`) repeats the order, of which a slower machine takes less:
/// `MYRIAD_TEST_BUDGET=<factor>` multiplies the seconds.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace myriad::tests {

/// Seconds of processor time that all tests of a kind may take beyond their fixed part.
struct Budget {
  static constexpr double cases = 30;       ///< tests/cases: every routine against its oracle
  static constexpr double invariance = 12;  ///< tests/cases: same bits in any batch
  static constexpr double guard_pages = 6;  ///< tests/cases: nothing is touched outside of arrays
  static constexpr double range = 6;        ///< tests/cases: the ends of the range
  static constexpr double kernels = 26;     ///< tests/simt: compiling kernels for GPUs
  static constexpr double program = 8;      ///< tests/cli: checks of results
};

[[nodiscard]] inline bool thorough() {
  char const* const text = std::getenv("MYRIAD_TEST_THOROUGH");
  return text && *text && std::string_view(text) != "0";
}

/// The number in an environment variable, or `otherwise` if it is not set. Ends the process if it is not a number of that type.
template <typename Number>
[[nodiscard]] Number number_from_environment(char const* name, Number otherwise) {
  char const* const text = std::getenv(name);
  if (!text) return otherwise;
  std::string_view const all = text;
  Number number{};
  auto const [end, error] = std::from_chars(all.data(), all.data() + all.size(), number);
  if (error != std::errc() || end != all.data() + all.size() || !(number >= 0)) {
    std::fprintf(stderr, "%s is '%s'; needs a number\n", name, text);
    std::exit(2);
  }
  return number;
}

/// The seed of this run: that of the environment, or a new one for every process.
[[nodiscard]] inline unsigned seed() {
  static unsigned const value = [] {
    unsigned const number = number_from_environment<unsigned>("MYRIAD_TEST_SEED", std::random_device()());
    std::printf("MYRIAD_TEST_SEED=%u\n", number);
    return number;
  }();
  return value;
}

/// Random numbers of this run for the current test; each test has its own sequence.
[[nodiscard]] inline std::mt19937 random_of_test() {
  std::string name;
  if (auto const* const test = testing::UnitTest::GetInstance()->current_test_info())
    name = std::string(test->test_suite_name()) + '.' + test->name();
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (char const c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::seed_seq sequence{seed(), hash};
  return std::mt19937(sequence);
}

/// Processor time of this process, all threads together, and of the programs that it ran. Wall time would include tests that run in
/// parallel.
[[nodiscard]] inline double seconds_used() {
  double seconds = 0;
  for (auto const who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (timeval const& time : {used.ru_utime, used.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
  return seconds;
}

/// Calls `check(item)` for `least` random items, and for more until `seconds` are spent; with --thorough for all, in their order. Ends
/// early if `check` returns false.
template <typename Item, typename Check>
void for_drawn(std::vector<Item> items, double seconds, std::size_t least, Check check) {
  if (!thorough()) {
    auto random = random_of_test();
    std::shuffle(items.begin(), items.end(), random);
  }
  seconds *= number_from_environment("MYRIAD_TEST_BUDGET", 1.0);
  double const begin = seconds_used();
  std::size_t taken = 0;
  for (Item const& item : items) {
    if (!thorough() && taken >= least && seconds_used() - begin >= seconds) break;
    ++taken;
    if (!check(item)) break;
  }
  if (testing::Test::HasFailure()) std::printf("drawn: %zu of %zu\n", taken, items.size());
}

}  // namespace myriad::tests
