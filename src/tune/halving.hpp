#pragma once
/// The search for the fastest config: successive halving, which times slow candidates rarely and fast ones often.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace myriad::tuning {

/// Times of one candidate.
struct Times {
  std::vector<double> seconds{};
  [[nodiscard]] double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    std::size_t const n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  }
  /// Uncertainty of the median: half the interquartile range over the square root of the number of times.
  [[nodiscard]] double uncertainty() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    std::size_t const n = sorted.size();
    return n < 4 ? sorted.back() - sorted.front() : (sorted[3 * n / 4] - sorted[n / 4]) / 2 / std::sqrt(static_cast<double>(n) / 4);
  }
};

struct Fastest {
  std::size_t number = 0;  ///< of the candidate; 0 is the plan
  double seconds = 0;
  double first_seconds = 0;  ///< of candidate 0, in the same rounds
  std::size_t tried = 0;
};

/// The fastest of `count` candidates. `time(number)` gives seconds of one call, or infinity if the candidate does not run. Candidate 0
/// stays in to the end; if nothing runs, seconds are infinite. `carry_on(part)` gets the fraction of the work done; if it returns false,
/// the times so far decide.
inline Fastest fastest(std::size_t count, std::function<double(std::size_t)> const& time, std::function<bool(double)> const& carry_on) {
  constexpr std::size_t finalists = 3;    // and candidate 0
  constexpr std::size_t most_turns = 40;  // of the last round
  constexpr std::size_t least_times = 8;  // of a config that replaces candidate 0
  constexpr double least_gain = 0.005;    // smallest relative gain over candidate 0
  std::vector<Times> times(count);
  std::vector<std::size_t> left(count);
  std::iota(left.begin(), left.end(), std::size_t{0});
  bool going = true;
  auto const by_median = [&](std::size_t a, std::size_t b) { return times[a].median() < times[b].median(); };
  double rounds = std::max(1.0, std::ceil(std::log2(static_cast<double>(count) / finalists)) + 1), round = 0;
  std::size_t repeats = 2;
  for (;;) {
    std::size_t done = 0;
    for (std::size_t const number : left) {
      for (std::size_t repeat = 0; repeat < repeats; ++repeat) times[number].seconds.push_back(time(number));
      ++done;
      going = going && carry_on((round + static_cast<double>(done) / static_cast<double>(left.size())) / (rounds + 1));
      if (!going) break;
    }
    ++round;
    std::erase_if(left, [&](std::size_t number) { return times[number].seconds.empty() || !std::isfinite(times[number].median()); });
    std::sort(left.begin(), left.end(), by_median);
    if (!going || left.size() <= finalists) break;
    left.resize(std::max(finalists, (left.size() + 1) / 2));
    if (std::find(left.begin(), left.end(), 0) == left.end() && std::isfinite(times[0].median())) left.push_back(0);
    if (left.size() <= finalists + 1) break;
    repeats *= 2;
  }
  // Candidates are timed in turns, so that drifts of the machine affect all, until the best is distinct from candidate 0.
  for (std::size_t turn = 0; going && turn < most_turns; ++turn) {
    for (std::size_t const number : left) times[number].seconds.push_back(time(number));
    going = carry_on((rounds + static_cast<double>(turn) / most_turns) / (rounds + 1));
    if (turn < 5 || left.empty()) continue;
    std::size_t const best = *std::min_element(left.begin(), left.end(), by_median);
    double const apart = std::abs(times[0].median() - times[best].median());
    if (best != 0 && apart > 4 * (times[0].uncertainty() + times[best].uncertainty())) break;
  }
  Fastest out;
  for (Times const& t : times) out.tried += t.seconds.empty() ? 0 : 1;
  if (left.empty()) {
    out.seconds = out.first_seconds = std::numeric_limits<double>::infinity();
    return out;
  }
  std::size_t const best = *std::min_element(left.begin(), left.end(), by_median);
  auto const is_better = [&] { return times[best].median() + times[best].uncertainty() < times[0].median() * (1 - least_gain); };
  bool better = best != 0 && (times[0].seconds.empty() || is_better());
  // After an early end there may be too few times to trust.
  while (better && times[best].seconds.size() < least_times) {
    for (std::size_t const number : {std::size_t{0}, best}) times[number].seconds.push_back(time(number));
    better = is_better();
  }
  double const first = times[0].seconds.empty() ? INFINITY : times[0].median();
  out.number = better ? best : 0;
  out.seconds = better ? times[best].median() : first;
  out.first_seconds = first;
  return out;
}

}  // namespace myriad::tuning
