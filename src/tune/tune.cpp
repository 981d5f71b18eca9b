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
#include <exception>
#include <filesystem>
#include <limits>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "myriad/error.hpp"
#include "myriad/event.hpp"
#include "runtime/driver.hpp"
#include "runtime/kernel_file.hpp"
#include "runtime/messages.hpp"
#include "runtime/queue_state.hpp"
#include "tune/halving.hpp"
#include "tune/table_file.hpp"
#include "tune/tuned.hpp"

namespace myriad {
namespace tuning {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool same_problem(TunedConfig const& a, TunedConfig const& b) { return a.kernel == b.kernel && a.dtype == b.dtype && a.sizes == b.sizes; }

/// Lock of a folder's tables: one process at a time changes them.
class FolderLock {
 public:
  /// Creates the folder if necessary. Throws Error.
  explicit FolderLock(std::string const& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Error(fmt::format("{} cannot be made: {}", folder, error.message()));
    descriptor_ = ::open((folder + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) == 0) return;
    std::string const problem = std::strerror(errno);
    if (descriptor_ >= 0) ::close(descriptor_);
    throw Error(fmt::format("{}/lock cannot be locked: {}", folder, problem));
  }
  ~FolderLock() { ::close(descriptor_); }
  FolderLock(FolderLock const&) = delete;
  FolderLock& operator=(FolderLock const&) = delete;

 private:
  int descriptor_ = -1;
};

constexpr std::size_t least_tried = 8;  // candidates of a started problem, whatever the budget

/// Loads the kernels of these candidates for point `number` in parallel; returns those that loaded. `carry_on` is called by the calling
/// thread with the number started.
std::vector<Values> loaded(Queue& queue, std::function<void(Queue&)> const& calls, Search const& search, std::size_t number,
                           std::vector<Values> const& candidates, int threads, std::function<bool(std::size_t)> const& carry_on) {
  std::vector<char> good(candidates.size(), 0);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> going = true;
  std::mutex mutex;
  std::exception_ptr other;  // an exception other than Error, which is the caller's
  auto const work = [&](bool asks) noexcept {
    try {
      Queue own({.backend = Backend::gpu, .device = queue.device().ordinal});
      Search mine = search;
      set_search(own, &mine);
      for (std::size_t i = next++; i < candidates.size() && going; i = next++) {
        mine.taken[number] = candidates[i];
        try {
          own.prepare([&] { calls(own); });
          good[i] = 1;
        } catch (Error const& problem) {
          gpu::message(fmt::format("tune: a candidate is left out: {}", problem.what()));
        }
        if (asks && !carry_on(i)) going = false;
      }
      set_search(own, nullptr);
    } catch (...) {
      std::scoped_lock const lock(mutex);
      other = std::current_exception();
      going = false;
    }
  };
  {
    std::vector<std::jthread> helpers;  // joined by their destructors
    int const most = static_cast<int>(std::min<std::size_t>(candidates.size(), 256));
    try {
      for (int t = 1; t < std::min(threads, most); ++t) helpers.emplace_back(work, false);
    } catch (std::system_error const& problem) {
      gpu::message(fmt::format("tune: {} threads compile: {}", helpers.size() + 1, problem.what()));
    }
    work(true);
  }
  if (other) std::rethrow_exception(other);
  std::vector<Values> out;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (good[i]) out.push_back(candidates[i]);
  return out;
}

}  // namespace

void keep(TunedConfig const& entry) {
  std::string const path = tuned_path(entry.gpu);
  if (path.empty()) return;
  FolderLock const lock(tuned_folder());
  std::vector<TunedConfig> entries;
  if (std::filesystem::exists(path)) entries = read_tuned(path);
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
  if (QueueAccess::state(queue).preparing > 0 || QueueAccess::state(queue).capturing())
    throw BadArgument("tune", 1, "queue", "is being prepared or captured, so that nothing can be timed");
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
  // Checks before the search that results can be stored.
  if (std::string const folder = tuned_folder(); !folder.empty() && !search.points.empty()) FolderLock const can_be_locked(folder);

  std::vector<TunedConfig> out;
  Event before(queue), after(queue);
  std::size_t const points = search.points.size();
  for (std::size_t number = 0; number < points; ++number) {
    Search::Point const point = search.points[number];  // a copy: calls may add points
    if (point.known && !options.again) {
      if (options.progress && !options.progress(number, points, 1)) break;
      continue;
    }
    double const begun = seconds_since(start);
    double const share = (options.budget - begun) / static_cast<double>(points - number);
    if (number > 0 && share <= 0) break;
    bool stopped = false;
    std::size_t asked = 0;
    auto const carry_on = [&](double part_of_time, double done) {
      stopped = stopped || (options.progress && !options.progress(number, points, done));
      return !stopped && (++asked < least_tried || seconds_since(start) - begun < part_of_time * share);
    };

    std::vector<Values> candidates{point.plan};
    std::set<Values> seen{point.plan};
    if (seen.insert(point.current).second) candidates.push_back(point.current);
    for (Values const& candidate : point.candidates)
      if (candidates.size() < options.candidates && seen.insert(candidate).second) candidates.push_back(candidate);
    std::size_t const wanted = candidates.size();
    bool all_loaded = true;
    candidates = loaded(queue, calls, search, number, candidates, threads, [&](std::size_t of_them) {
      all_loaded = carry_on(0.6, 0.5 * static_cast<double>(of_them) / static_cast<double>(wanted));
      return all_loaded;
    });
    if (stopped) break;
    if (candidates.empty() || candidates.front() != point.plan)
      throw Error(fmt::format("tune: the kernel {} of the plan cannot be loaded", point.kernel));

    asked = 0;
    std::vector<char> warm(candidates.size(), 0);
    auto const time = [&](std::size_t i) {
      search.taken[number] = candidates[i];
      try {
        for (bool const timed : {false, true}) {
          if (!timed && warm[i]) continue;
          if (options.refresh) {
            set_search(queue, nullptr);  // calls that restore inputs are not tuned
            options.refresh(queue);
            set_search(queue, &search);
          }
          before.record();
          calls(queue);
          after.record();
          double const seconds = after.seconds_since(before);
          if (timed) return seconds;
          warm[i] = 1;
        }
      } catch (GpuError const& problem) {
        set_search(queue, &search);
        gpu::message(fmt::format("tune: a candidate is left out: {}", problem.what()));
      }
      return std::numeric_limits<double>::infinity();
    };
    Fastest const best = fastest(candidates.size(), time, [&](double done) { return carry_on(1, 0.5 + 0.5 * done); });
    search.taken[number] = candidates[best.number];  // also for later points, which may be in the same calls
    if (stopped) break;
    if (!std::isfinite(best.seconds) || !std::isfinite(best.first_seconds))
      throw Error(fmt::format("tune: the kernel {} of the plan does not run", point.kernel));
    // The plan is known to be fastest only if all candidates were tried.
    if (best.number == 0 && !(all_loaded && best.tried == candidates.size())) continue;
    TunedConfig entry{.kernel = point.kernel, .dtype = point.dtype, .sizes = point.sizes, .gpu = queue.device().name};
    for (std::size_t i = 0; i < point.names.size(); ++i) {
      entry.config.emplace_back(point.names[i], candidates[best.number][i]);
      entry.plan.emplace_back(point.names[i], point.plan[i]);
    }
    entry.seconds = best.seconds;
    entry.planned_seconds = best.first_seconds;
    entry.tried = static_cast<std::int64_t>(best.tried);
    entry.driver = gpu::driver::load().version;
    entry.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
    keep(entry);
    table_of(queue).set(entry);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace myriad
