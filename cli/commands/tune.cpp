/// `myriad tune`: finds the fastest configs of GPU kernels by trying, and keeps them for this user.

#include "myriad/tune.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "command.hpp"
#include "core/dtype.hpp"
#include "io/element.hpp"
#include "myriad/myriad.hpp"
#include "plot/chart.hpp"

namespace myriad::cli {
namespace {

struct Options {
  std::string routine;
  std::vector<std::string> sizes{"2-32"};
  std::vector<std::string> dtypes{"f8"};
  double budget = 600;
  std::int64_t count = 0;
  std::size_t candidates = 48;
  int threads = 0;
  int device = 0;
  bool again = false;
  std::string plot;
};

/// "2-32" or "8".
std::vector<int> sizes_of(std::vector<std::string> const& texts) {
  std::vector<int> out;
  for (std::string const& text : texts) {
    int first = 0, last = 0;
    char const* const end = text.data() + text.size();
    auto [at, problem] = std::from_chars(text.data(), end, first);
    last = first;
    if (problem == std::errc() && at != end && *at == '-') {
      auto const second = std::from_chars(at + 1, end, last);
      at = second.ptr, problem = second.ec;
    }
    if (problem != std::errc() || at != end || first < 1 || last < first || last > 4096)
      throw UsageError(fmt::format("--n '{}' is no size and no range of sizes such as 2-32, of 1 to 4096", text));
    for (int n = first; n <= last; ++n) out.push_back(n);
  }
  return out;
}

/// A routine on a batch of n-by-n matrices in the GPU's memory.
template <typename T>
class Work {
 public:
  Work(Queue& queue, std::string const& routine, int n, std::int64_t count)
      : n_(n),
        count_(count),
        in_place_(routine == "posv"),
        original_(queue, count * n * n),
        a_(queue, count * n * n),
        b_(queue, routine == "gemm" ? count * n * n : count * n),
        c_(queue, routine == "gemm" || routine == "inverse" ? count * n * n : count * n),
        pivots_(queue, count * n),
        info_(queue, count) {
    // A diagonal that dominates suits all of them.
    std::mt19937 random(1);
    std::uniform_real_distribution<Real<T>> number(-1, 1);
    std::int64_t const matrix = std::int64_t{n} * n;
    std::vector<T> some(static_cast<std::size_t>(std::min<std::int64_t>(count, std::max<std::int64_t>(1, (1 << 18) / matrix)) * matrix));
    for (std::size_t i = 0; i < some.size(); ++i) {
      auto const at = static_cast<std::int64_t>(i) % matrix;
      some[i] = T(number(random)) + (at % n == at / n ? T(static_cast<Real<T>>(2 * n)) : T(0));
    }
    for (auto* const array : {&original_, &b_, &c_})
      for (std::int64_t done = 0; done < array->size();) {
        std::int64_t const step = std::min<std::int64_t>(array->size() - done, static_cast<std::int64_t>(some.size()));
        copy<T>(queue, some.data(), step, array->data() + done);
        done += step;
      }
    refresh(queue);
    queue.wait();
    work_ = find(routine);
  }

  static constexpr std::array routines{
      "gemm", "gemv", "ger", "getrf", "solve", "inverse", "det", "potrf", "posv", "solve_positive_definite", "geqrf"};

  void operator()(Queue& queue) { work_(queue); }
  /// What routines that work in place change; the others get it as well, which leaves their inputs out of the caches.
  void refresh(Queue& queue) {
    copy<T>(queue, original_.data(), original_.size(), a_.data());
    if (in_place_) copy<T>(queue, c_.data(), c_.size(), b_.data());
  }

 private:
  std::function<void(Queue&)> find(std::string const& routine) {
    auto const matrices = [this](DeviceArray<T>& x) { return batch(x.data(), n_, n_, {.count = count_}); };
    auto const columns = [this](DeviceArray<T>& x) { return batch(x.data(), n_, 1, {.count = count_}); };
    if (routine == "gemm") return [=, this](Queue& q) { gemm<T>(q, T(1), matrices(a_), matrices(b_), T(1), matrices(c_)); };
    if (routine == "gemv") return [=, this](Queue& q) { gemv<T>(q, T(1), matrices(a_), columns(b_), T(0), columns(c_)); };
    if (routine == "ger") return [=, this](Queue& q) { ger<T>(q, T(1), columns(b_), columns(c_), matrices(a_)); };
    auto const pivots = [this] { return vectors(pivots_.data(), n_, count_); };
    int* const info = info_.data();
    if (routine == "getrf") return [=, this](Queue& q) { getrf<T>(q, matrices(a_), pivots(), info); };
    if (routine == "solve") return [=, this](Queue& q) { solve<T>(q, matrices(a_), columns(b_), columns(c_), info); };
    if (routine == "inverse") return [=, this](Queue& q) { inverse<T>(q, matrices(a_), matrices(c_), info); };
    if (routine == "det") return [=, this](Queue& q) { det<T>(q, matrices(a_), c_.data()); };
    if (routine == "potrf") return [=, this](Queue& q) { potrf<T>(q, Uplo::lower, matrices(a_), info); };
    if (routine == "posv") return [=, this](Queue& q) { posv<T>(q, Uplo::lower, matrices(a_), columns(b_), info); };
    if (routine == "solve_positive_definite")
      return [=, this](Queue& q) { solve_positive_definite<T>(q, Uplo::lower, matrices(a_), columns(b_), columns(c_), info); };
    if (routine == "geqrf") return [=, this](Queue& q) { geqrf<T>(q, matrices(a_), columns(c_)); };
    throw UsageError(fmt::format("'{}' is not tuned; there are {}", routine, fmt::join(routines, ", ")));
  }

  int n_;
  std::int64_t count_;
  bool in_place_;  ///< whether right-hand sides are
  DeviceArray<T> original_, a_, b_, c_;
  DeviceArray<int> pivots_, info_;
  std::function<void(Queue&)> work_;
};

std::atomic<bool> interrupted = false;

void print_heading(std::string const& gpu, std::string const& path) {
  fmt::print("{}: results go to {}\n", gpu, path);
  fmt::print("{:<12} {:<7} {:>5} {:>5} {:>5}  {:>10} {:>10}  {:>5}  {:>5}  {}\n", "kernel", "type", "m", "n", "k", "plan, us", "tuned, us",
             "gain", "tried", "config");
}

void print_row(TunedConfig const& entry) {
  std::string config;
  for (auto const& [name, value] : entry.config) config += fmt::format("{}{} {}", config.empty() ? "" : ", ", name, value);
  fmt::print("{:<12} {:<7} {:>5} {:>5} {:>5}  {:>10.2f} {:>10.2f}  {:>5.2f}  {:>5}  {}\n", entry.kernel, io::name_of(entry.dtype),
             entry.sizes[0], entry.sizes[1], entry.sizes[2], entry.planned_seconds * 1e6, entry.seconds * 1e6, entry.gain(), entry.tried,
             config);
  std::fflush(stdout);
}

int tune_all(Options const& options) {
  std::vector<int> const sizes = sizes_of(options.sizes);
  std::vector<Dtype> dtypes;
  for (std::string const& text : options.dtypes) {
    auto const dtype = io::parse_dtype(text);
    if (!dtype || is_half(*dtype)) throw UsageError(fmt::format("--dtype '{}' is not known; there are f4, f8, c8 and c16", text));
    dtypes.push_back(*dtype);
  }
  if (std::find(Work<float>::routines.begin(), Work<float>::routines.end(), options.routine) == Work<float>::routines.end())
    throw UsageError(fmt::format("'{}' is not tuned; there are {}", options.routine, fmt::join(Work<float>::routines, ", ")));

  Queue queue({.backend = Backend::gpu, .device = options.device});
  std::string const path = tuned_path(queue.device().name);
  if (path.empty()) throw UsageError("there is no folder for the results: MYRIAD_TUNED_DIR is off, or HOME is not set");
  // The first interrupt ends the search after the call under way; what is finished is kept already.
  auto const former = std::signal(SIGINT, [](int) {
    interrupted = true;
    std::signal(SIGINT, SIG_DFL);  // who does not want to wait interrupts again
  });
  auto const start = std::chrono::steady_clock::now();
  bool const shows = isatty(STDERR_FILENO) != 0;
  std::size_t const problems = sizes.size() * dtypes.size();
  std::size_t number = 0, known = 0;
  std::vector<TunedConfig> all;
  for (Dtype const dtype : dtypes)
    for (int const n : sizes) {
      double const spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      double const left = options.budget - spent;
      if (interrupted || left <= 0) break;
      with_dtype(dtype, [&]<typename T>() {
        // A gigabyte, so that nothing is found in a cache; batches of tiny matrices are limited by time to fill them.
        std::int64_t const matrix = static_cast<std::int64_t>(sizeof(T)) * n * n;
        std::int64_t const count = options.count > 0 ? options.count : std::clamp<std::int64_t>(1'000'000'000 / (4 * matrix), 1, 4'000'000);
        Work<T> work(queue, options.routine, n, count);
        bool searched = false;
        auto const found = tune(queue, [&](Queue& q) { work(q); },
                                {.budget = left / static_cast<double>(problems - number),
                                 .refresh = [&](Queue& q) { work.refresh(q); },
                                 .progress =
                                     [&](std::size_t, std::size_t, double done) {
                                       searched = true;
                                       if (shows)
                                         fmt::print(stderr, "\r{} of {}: {} {} n = {}, {:3.0f}%  ", number + 1, problems, options.routine,
                                                    io::name_of(dtype), n, 100 * done);
                                       return !interrupted;
                                     },
                                 .candidates = options.candidates,
                                 .threads = options.threads,
                                 .again = options.again});
        if (shows) fmt::print(stderr, "\r{:60}\r", "");
        if (found.empty() && !searched) ++known;
        if (found.empty() && searched && !interrupted)
          fmt::print("{} {} n = {}: the plan was the fastest of those that there was time for\n", options.routine, io::name_of(dtype), n);
        for (TunedConfig const& entry : found) {
          if (all.empty()) print_heading(entry.gpu, path);
          print_row(entry);
          all.push_back(entry);
        }
      });
      ++number;
    }
  std::signal(SIGINT, former);
  if (known > 0) fmt::print("{} of {} were tuned before (--again tunes them anew)\n", known, problems);
  if (number < problems)
    fmt::print("{} after {} of {}; the same command goes on\n", interrupted ? "interrupted" : "the budget was spent", number, problems);
  if (!options.plot.empty() && !all.empty()) {
    plot::Chart chart{.title = "Gain of tuning: " + options.routine,
                      .subtitle = "Time with the planned config over time with the tuned one",
                      .x = {.label = "n"},
                      .y = {.label = "times faster", .low = 0.95},
                      .series = {}};
    for (TunedConfig const& entry : all) {
      std::string const label(io::name_of(entry.dtype));
      auto series = std::find_if(chart.series.begin(), chart.series.end(), [&](plot::Series const& s) { return s.label == label; });
      if (series == chart.series.end()) series = chart.series.insert(series, {.label = label, .x = {}, .y = {}});
      series->x.push_back(static_cast<double>(entry.sizes[0]));
      series->y.push_back(entry.gain());
    }
    plot::write_file(options.plot, plot::svg({chart}, {.footnote = fmt::format("{}, {}", all.front().gpu, all.front().date)}));
  }
  return exit_good;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("tune", "Find the fastest configs of GPU kernels on this machine, and keep them");
  command.add_option("routine", options->routine, "Routine, such as gemm")->required();
  command.add_option("--n", options->sizes, "Sizes and ranges of sizes, like 2-32,48,64 (2-32)")->delimiter(',');
  command.add_option("--dtype", options->dtypes, "Types: f4,f8,c8,c16 (f8)")->delimiter(',');
  command.add_option("--budget", options->budget, "Seconds for all of it (600); what is not reached can be done by the same command later")
      ->check(CLI::PositiveNumber);
  command.add_option("--count", options->count, "Matrices in a batch (as many as make a gigabyte)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}));
  command.add_option("--candidates", options->candidates, "Configs that are tried for a size, at most (48)")->check(CLI::PositiveNumber);
  command.add_option("--threads", options->threads, "Compilations at a time (one per core)")->check(CLI::NonNegativeNumber);
  command.add_option("--device", options->device, "Number of the GPU (0)")->check(CLI::NonNegativeNumber);
  command.add_flag("--again", options->again, "Also what was tuned before");
  command.add_option("--plot", options->plot, "A picture of the gain against n (SVG)");
  command.callback([options, &action] { action = [options] { return tune_all(*options); }; });
}

}  // namespace myriad::cli
