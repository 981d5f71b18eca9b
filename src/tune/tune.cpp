#include "myriad/tune.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include "myriad/error.hpp"
#include "myriad/event.hpp"
#include "runtime/driver.hpp"
#include "runtime/kernel_file.hpp"
#include "runtime/messages.hpp"
#include "tune/halving.hpp"
#include "tune/table_file.hpp"
#include "tune/tuned.hpp"

namespace myriad {
namespace tuning {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool same_problem(TunedConfig const& a, TunedConfig const& b) { return a.kernel == b.kernel && a.dtype == b.dtype && a.sizes == b.sizes; }

/// One process at a time changes the tables of a folder.
class FolderLock {
 public:
  explicit FolderLock(std::string const& folder) : descriptor_(::open((folder + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX) != 0)
      throw Error(fmt::format("{}/lock cannot be locked: {}", folder, std::strerror(errno)));
  }
  ~FolderLock() { ::close(descriptor_); }
  FolderLock(FolderLock const&) = delete;
  FolderLock& operator=(FolderLock const&) = delete;

 private:
  int descriptor_;
};

constexpr std::size_t least_tried = 8;  // of a problem that is begun, whatever the budget

/// Loads the kernels of these candidates for point `number`, several at a time; returns which of them there are.
std::vector<Values> loaded(Queue& queue, std::function<void(Queue&)> const& calls, Search const& search, std::size_t number,
                           std::vector<Values> const& candidates, int threads, std::function<bool()> const& in_time) {
  std::vector<char> good(candidates.size(), 0);
  std::atomic<std::size_t> next = 0;
  auto const work = [&] {
    try {
      Queue own({.backend = Backend::gpu, .device = queue.device().ordinal});
      Search mine = search;
      set_search(own, &mine);
      for (std::size_t i = next++; i < candidates.size() && (i < least_tried || in_time()); i = next++) {
        mine.taken[number] = candidates[i];
        try {
          own.prepare([&] { calls(own); });
          good[i] = 1;
        } catch (Error const& problem) {
          gpu::message(fmt::format("tune: a candidate is left out: {}", problem.what()));
        }
      }
      set_search(own, nullptr);
    } catch (Error const& problem) {
      gpu::message(fmt::format("tune: {}", problem.what()));
    }
  };
  std::vector<std::thread> helpers;
  for (int t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  std::vector<Values> out;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (good[i]) out.push_back(candidates[i]);
  return out;
}

}  // namespace

void keep(TunedConfig const& entry) {
  std::string const path = tuned_path(entry.gpu);
  if (path.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(tuned_folder(), error);
  if (error) throw Error(fmt::format("{} cannot be made: {}", tuned_folder(), error.message()));
  FolderLock const lock(tuned_folder());
  std::vector<TunedConfig> entries;
  if (gpu::read_file(path)) entries = read_tuned(path);
  std::erase_if(entries, [&](TunedConfig const& other) { return same_problem(other, entry); });
  entries.push_back(entry);
  std::sort(entries.begin(), entries.end(), [](TunedConfig const& a, TunedConfig const& b) {
    return std::tie(a.kernel, a.dtype, a.sizes) < std::tie(b.kernel, b.dtype, b.sizes);
  });
  if (std::string const problem = gpu::write_file(path, text_of(entry.gpu, entries), 0644); !problem.empty()) throw Error(problem);
}

}  // namespace tuning

std::vector<TunedConfig> tune(Queue& queue, std::function<void(Queue&)> const& calls, TuneOptions const& options) {
  using namespace tuning;
  if (queue.backend() != Backend::gpu) throw BadArgument("tune", 1, "queue", "is on the CPU, whose kernels are not tuned");
  if (!calls) throw BadArgument("tune", 2, "calls", "is empty");
  if (!(options.budget > 0)) throw BadArgument("tune", 3, "options", fmt::format("has a budget of {} seconds", options.budget));
  auto const start = Clock::now();
  int const threads = options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));

  Search search;
  set_search(queue, &search);
  struct Ending {
    Queue& queue;
    ~Ending() { set_search(queue, nullptr); }
  } const ending{queue};
  queue.prepare([&] { calls(queue); });

  std::vector<TunedConfig> known;
  if (std::string const path = tuned_path(queue.device().name); !options.again && !path.empty() && gpu::read_file(path))
    known = read_tuned(path);
  std::vector<TunedConfig> out;
  Event before(queue), after(queue);
  for (std::size_t number = 0; number < search.points.size(); ++number) {
    Search::Point const& point = search.points[number];
    TunedConfig entry{.kernel = point.kernel, .dtype = point.dtype, .sizes = point.sizes, .gpu = queue.device().name};
    if (std::any_of(known.begin(), known.end(), [&](TunedConfig const& other) { return same_problem(other, entry); })) continue;
    double const begun = seconds_since(start);
    double const share = (options.budget - begun) / static_cast<double>(search.points.size() - number);
    if (number > 0 && share <= 0) break;
    bool stopped = false;
    auto const in_time = [&](double part) { return seconds_since(start) - begun < part * share; };
    std::size_t timed = 0;
    auto const carry_on = [&](double done) {
      stopped = stopped || (options.progress && !options.progress(number, search.points.size(), done));
      return !stopped && (++timed < least_tried || in_time(1));
    };

    std::vector<Values> candidates{point.plan};
    std::set<Values> seen{point.plan};
    for (Values const& other : {point.current})
      if (seen.insert(other).second) candidates.push_back(other);
    for (Values const& candidate : point.candidates)
      if (candidates.size() < options.candidates && seen.insert(candidate).second) candidates.push_back(candidate);
    candidates = loaded(queue, calls, search, number, candidates, threads, [&] { return in_time(0.6); });
    if (candidates.empty() || candidates.front() != point.plan)
      throw Error(fmt::format("tune: the kernel {} of the plan cannot be loaded", point.kernel));

    std::vector<char> warm(candidates.size(), 0);
    auto const time = [&](std::size_t i) {
      search.taken[number] = candidates[i];
      try {
        for (bool const timed : {false, true}) {
          if (!timed && warm[i]) continue;
          if (options.refresh) options.refresh(queue);
          before.record();
          calls(queue);
          after.record();
          double const seconds = after.seconds_since(before);
          if (timed) return seconds;
          warm[i] = 1;
        }
      } catch (GpuError const& problem) {
        gpu::message(fmt::format("tune: a candidate is left out: {}", problem.what()));
      }
      return std::numeric_limits<double>::infinity();
    };
    Fastest const best = fastest(candidates.size(), time, [&](double done) { return carry_on(0.5 + 0.5 * done); });
    search.taken[number] = candidates[best.number];  // for the points to come, which may be in the same calls
    if (stopped) break;
    if (!std::isfinite(best.seconds)) throw Error(fmt::format("tune: the kernel {} of the plan does not run", point.kernel));
    for (std::size_t i = 0; i < point.names.size(); ++i) entry.config.emplace_back(point.names[i], candidates[best.number][i]);
    entry.seconds = best.seconds;
    entry.planned_seconds = best.first_seconds;
    entry.tried = static_cast<std::int64_t>(best.tried);
    entry.driver = gpu::driver::load().version;
    entry.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
    table_of(queue).set(entry);
    keep(entry);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace myriad
