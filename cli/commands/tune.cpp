/// `myriad tune`: measures configs of GPU kernels and saves the fastest for this user.

#include "myriad/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "case/case.hpp"
#include "command.hpp"
#include "core/dtype.hpp"
#include "io/element.hpp"
#include "myriad/myriad.hpp"
#include "plot/chart.hpp"
#include "progress.hpp"
#include "terminal.hpp"

namespace myriad::cli {
namespace {

struct TuneOptions {
  std::string routine;
  std::vector<std::string> sizes{"2-32"};
  std::vector<std::string> dtypes{"f8"};
  std::string op = "NN";
  double budget = 600;
  std::int64_t count = 0;
  std::size_t candidates = 40;
  int threads = 0;
  int device = 0;
  bool again = false;
  bool show = false;
  std::string table;
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

/// The routine of that name. Throws UsageError if it is unknown or has nothing to tune.
cases::Case const& routine_named(std::string const& name) {
  cases::Case const* const found = cases::find_case(name);
  if (found && found->has_on_gpu('t')) return *found;
  std::string names;
  for (cases::Case const& c : cases::all_cases())
    if (c.has_on_gpu('t')) names += fmt::format("{}{}", names.empty() ? "" : ", ", c.routine);
  if (name.empty()) throw UsageError(fmt::format("which routine? There are {}", names));
  throw UsageError(fmt::format("'{}' {}; there are {}", name, found ? "has nothing of its own to tune" : "is not tuned", names));
}

/// The routine on n-by-n matrices in the GPU's memory.
std::unique_ptr<cases::CaseRun> make_run(Queue& queue, cases::Case const& routine, Dtype dtype, std::string const& op, int n,
                                         std::int64_t count) {
  auto const op_of = [](char letter) { return letter == 'T' ? Op::transpose : Op::none; };
  cases::Problem p;
  p.dtype = dtype;
  p.m = p.n = n;
  p.k = routine.has('i') ? n : 1;
  p.count = count;
  if (routine.has('o')) p.op = op_of(op.at(0));
  if (routine.has('q')) p.op_b = op_of(op.at(1));
  if (routine.has_on_gpu('+')) p.beta = 1;
  return routine.placed(queue, p);
}

std::atomic<bool> interrupted = false;

/// Kernel names and configs come last, since their length varies.
void print_heading() {
  say("{:<12} {:>5} {:>5} {:>5}  {:>10} {:>10}  {:>5}  {:>5}  {}\n", "type", "m", "n", "k", "plan, us", "tuned, us", "gain", "tried",
      "kernel: config");
}
void print_row(TunedConfig const& entry) {
  std::string config;
  for (auto const& [name, value] : entry.config) config += fmt::format("{}{} {}", config.empty() ? "" : ", ", name, value);
  say("{:<12} {:>5} {:>5} {:>5}  {:>10.2f} {:>10.2f}  {:>5.2f}  {:>5}  {}: {}\n", io::name_of(entry.dtype), entry.sizes[0], entry.sizes[1],
      entry.sizes[2], entry.planned_seconds * 1e6, entry.seconds * 1e6, entry.gain(), entry.tried, entry.kernel, config);
  std::fflush(stdout);
}

/// Chart of gain against the first size, with a line for each kernel and type.
void draw(std::string const& path, std::string const& of, std::vector<TunedConfig> entries) {
  std::sort(entries.begin(), entries.end(), [](TunedConfig const& a, TunedConfig const& b) {
    return std::tie(a.kernel, a.dtype, a.sizes) < std::tie(b.kernel, b.dtype, b.sizes);
  });
  bool const one_kernel = entries.front().kernel == entries.back().kernel;
  plot::Chart chart{.title = "Gain of tuning: " + of,
                    .subtitle = "Time with the planned config over time with the tuned one",
                    .x = {.label = "n"},
                    .y = {.label = "times faster", .low = 0.95},
                    .series = {}};
  for (TunedConfig const& entry : entries) {
    std::string const label = fmt::format("{}{}{}", one_kernel ? "" : entry.kernel, one_kernel ? "" : " ", io::name_of(entry.dtype));
    if (chart.series.empty() || chart.series.back().label != label) chart.series.push_back({.label = label, .x = {}, .y = {}});
    chart.series.back().x.push_back(static_cast<double>(entry.sizes[0]));
    chart.series.back().y.push_back(entry.gain());
  }
  auto const [first, last] =
      std::minmax_element(entries.begin(), entries.end(), [](auto const& a, auto const& b) { return a.date < b.date; });
  std::string const dates = first->date == last->date ? first->date : fmt::format("{} to {}", first->date, last->date);
  plot::write_file(path, plot::svg({chart}, {.footnote = fmt::format("{}, {}", entries.front().gpu, dates)}));
}

/// Prints a table.
int show(TuneOptions const& options) {
  std::string path = options.table;
  if (path.empty()) path = tuned_path(Queue({.backend = Backend::gpu, .device = options.device}).device().name);
  if (path.empty()) throw UsageError("there is no folder for tables: MYRIAD_TUNED_DIR is off, or HOME is not set");
  std::vector<TunedConfig> entries = read_tuned(path);
  std::erase_if(entries, [&](TunedConfig const& entry) { return !entry.kernel.starts_with(options.routine); });
  if (entries.empty()) throw UsageError(fmt::format("{} has no entry of a kernel '{}'", path, options.routine));
  say("{}: {}\n", entries.front().gpu, path);
  print_heading();
  for (TunedConfig const& entry : entries) print_row(entry);
  if (!options.plot.empty()) draw(options.plot, options.routine.empty() ? "all kernels" : options.routine, entries);
  return exit_good;
}

int tune_all(TuneOptions const& options) {
  if (options.show) return show(options);
  if (!options.table.empty()) throw UsageError("--table goes with --show");
  cases::Case const& routine = routine_named(options.routine);
  std::vector<int> const sizes = sizes_of(options.sizes);
  std::vector<Dtype> dtypes;
  for (std::string const& text : options.dtypes) {
    auto const dtype = io::parse_any_dtype(text);
    if (!dtype)
      throw UsageError(fmt::format("--dtype '{}' is not known; there are f4, f8, c8, c16, half, bfloat16 and complex_half", text));
    if (is_half(*dtype) && !routine.has('w'))
      throw UsageError(fmt::format("--dtype {}: elements of 16 bits have products only, by gemm", text));
    dtypes.push_back(*dtype);
  }

  Queue queue({.backend = Backend::gpu, .device = options.device});
  std::string const path = tuned_path(queue.device().name);
  if (path.empty()) throw UsageError("there is no folder for the results: MYRIAD_TUNED_DIR is off, or HOME is not set");
  // The first interrupt ends the search after the current call; finished entries have been saved.
  auto const former = std::signal(SIGINT, [](int) {
    interrupted = true;
    std::signal(SIGINT, SIG_DFL);  // a second interrupt ends at once
  });
  auto const start = std::chrono::steady_clock::now();
  std::size_t const problems = sizes.size() * dtypes.size();
  std::size_t number = 0, known = 0, without = 0;
  std::vector<TunedConfig> all;
  auto const spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  ProgressBar bar;
  for (Dtype const dtype : dtypes)
    for (int const n : sizes) {
      double const left = options.budget - spent();
      if (interrupted || left <= 0) break;
      auto const show_progress = [&](double part) {
        double const seconds = spent();
        if (!bar.due(seconds)) return;
        bar.draw({.done = static_cast<double>(number) + part,
                  .total = static_cast<double>(problems),
                  .seconds = seconds,
                  .what = fmt::format("{} of {}: {} {} n = {}", number + 1, problems, routine.routine, io::name_of(dtype), n),
                  .skipped = static_cast<double>(known + without),
                  .budget = options.budget});
      };
      show_progress(0);  // making the matrices takes time, too
      // A gigabyte, so that no cache helps. Batches of tiny matrices are smaller, since filling them takes long.
      std::int64_t const matrix = std::int64_t{element_bytes(dtype)} * n * n;
      std::int64_t const count = options.count > 0 ? options.count : std::clamp<std::int64_t>(1'000'000'000 / (4 * matrix), 1, 4'000'000);
      auto const run = make_run(queue, routine, dtype, options.op, n, count);
      bool any = false, searched = false, stopped = false;
      auto const found = tune(queue, [&](Queue& q) { run->run(q); },
                              {.budget = left / static_cast<double>(problems - number),
                               .refresh = [&](Queue& q) { run->refresh(q); },
                               .progress =
                                   [&](std::size_t kernel, std::size_t kernels, double done) {
                                     any = true;
                                     searched = searched || done < 1;
                                     show_progress((static_cast<double>(kernel) + done) / static_cast<double>(kernels));
                                     stopped = interrupted;
                                     return !stopped;
                                   },
                               .candidates = options.candidates,
                               .threads = options.threads,
                               .again = options.again});
      bar.clear();
      for (TunedConfig const& entry : found) {
        if (all.empty()) {
          say("{}: results go to {}\n", entry.gpu, path);
          print_heading();
        }
        print_row(entry);
        all.push_back(entry);
      }
      if (stopped) continue;  // it is not finished
      ++number;
      if (!any)
        ++without;
      else if (found.empty() && !searched)
        ++known;
      else if (found.empty())
        say("{} {} n = {}: the plan was the fastest of those that there was time for\n", routine.routine, io::name_of(dtype), n);
    }
  std::signal(SIGINT, former);
  if (without > 0 && without == problems)
    throw UsageError(
        fmt::format("{} comes to no kernel that is tuned at {}", routine.routine, problems == 1 ? "this size" : "these sizes"));
  if (without > 0) say("{} of {} come to no kernel that is tuned\n", without, problems);
  if (known > 0) say("{} of {} were tuned before (--again tunes them anew)\n", known, problems);
  if (number < problems)
    say("{} after {} of {}; the same command goes on\n", interrupted ? "interrupted" : "the budget was spent", number, problems);
  if (!options.plot.empty() && all.empty())
    say("nothing new to draw; myriad tune --show --plot FILE draws what is in the table\n");
  else if (!options.plot.empty())
    draw(options.plot, options.routine, all);
  return exit_good;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App& command = *app.add_subcommand("tune", "Find the fastest configs of GPU kernels on this machine and keep them");
  command.add_option("routine", options->routine, "Routine, such as gemm; with --show the beginning of kernel names");
  command.add_option("--n", options->sizes, "Sizes and ranges of sizes, like 2-32,48,64 (2-32)")->delimiter(',');
  command.add_option("--dtype", options->dtypes, "Types: f4,f8,c8,c16, of gemm also half,bfloat16,complex_half (f8)")->delimiter(',');
  command.add_option("--op", options->op, "Which of A and B are transposed, where a routine takes them so (NN)")
      ->check(CLI::IsMember({"NN", "NT", "TN", "TT"}));
  command.add_option("--budget", options->budget, "Seconds for everything (600); the same command goes on later")->check(positive_number());
  command.add_option("--count", options->count, "Matrices in a batch (a gigabyte of them)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}));
  command.add_option("--candidates", options->candidates, "Most configs that are tried for a size (40)")->check(positive_number());
  command.add_option("--threads", options->threads, "Compilations at a time (one per core)")->check(non_negative_number());
  command.add_option("--device", options->device, "Number of the GPU (0)")->check(non_negative_number());
  command.add_flag("--again", options->again, "Tune again what was tuned before");
  command.add_flag("--show", options->show, "Print what was found on this machine; tune nothing");
  command.add_option("--table", options->table, "With --show: another table, such as one of src/tune/tables");
  command.add_option("--plot", options->plot, "Draw the gain against n (SVG)");
  command.callback([options, &action] { action = [options] { return tune_all(*options); }; });
}

}  // namespace myriad::cli
