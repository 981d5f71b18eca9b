/// `myriad tune`: finds the fastest configs of GPU kernels by trying, and keeps them for this user.

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
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "command.hpp"
#include "core/dtype.hpp"
#include "io/element.hpp"
#include "myriad/myriad.hpp"
#include "plot/chart.hpp"
#include "progress.hpp"
#include "terminal.hpp"

namespace myriad::cli {
namespace {

struct Options {
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

/// What is called of a routine with arrays a, b and c of matrices or vectors.
struct Routine {
  std::string_view name;
  bool b_is_matrix = false, c_is_matrix = false;
  bool b_in_place = false;  ///< it is made what c is before each call
};
constexpr std::array routines{
    Routine{"gemm", true, true},
    Routine{"symm", true, true},
    Routine{"hemm", true, true},
    Routine{"syrk", false, true},
    Routine{"herk", false, true},
    Routine{"syr2k", true, true},
    Routine{"her2k", true, true},
    Routine{"trmm", true, true, true},
    Routine{"trsm", true, true, true},
    Routine{"trtri"},
    Routine{"gemv"},
    Routine{"ger"},
    Routine{"symv"},
    Routine{"hemv"},
    Routine{"trmv", false, false, true},
    Routine{"trsv", false, false, true},
    Routine{"getrf"},
    Routine{"getrf_nopiv"},
    Routine{"getrs", false, false, true},
    Routine{"gesv", false, false, true},
    Routine{"solve"},
    Routine{"getri"},
    Routine{"inverse", false, true},
    Routine{"det"},
    Routine{"logdet"},
    Routine{"potrf"},
    Routine{"potrs", false, false, true},
    Routine{"posv", false, false, true},
    Routine{"solve_positive_definite"},
    Routine{"potri"},
    Routine{"geqrf"},
    Routine{"syevd"},
};
/// Those whose kernels have no values that are free, but for what they call of the others.
constexpr std::array<std::string_view, 10> not_tuned{"ormqr", "orgqr", "gels",  "sytrd", "orgtr",
                                                     "ormtr", "gerfs", "geequ", "laqge", "backward_error"};

Routine const& routine_named(std::string const& name) {
  auto const at = std::find_if(routines.begin(), routines.end(), [&](Routine const& r) { return r.name == name; });
  if (at != routines.end()) return *at;
  std::string names;
  for (Routine const& r : routines) names += fmt::format("{}{}", names.empty() ? "" : ", ", r.name);
  if (name.empty()) throw UsageError(fmt::format("which routine? There are {}", names));
  bool const known = std::find(not_tuned.begin(), not_tuned.end(), name) != not_tuned.end();
  throw UsageError(fmt::format("'{}' {}; there are {}", name, known ? "has nothing of its own to tune" : "is not tuned", names));
}

/// A routine on a batch of n-by-n matrices in the GPU's memory.
template <typename T>
class Work {
 public:
  Work(Queue& queue, Routine const& routine, std::string const& op, int n, std::int64_t count)
      : n_(n),
        count_(count),
        b_in_place_(routine.b_in_place),
        op_(op),
        original_(queue, count * n * n),
        a_(queue, count * n * n),
        b_(queue, count * n * (routine.b_is_matrix ? n : 1)),
        c_(queue, count * n * (routine.c_is_matrix ? n : 1)),
        values_(queue, count * n),
        pivots_(queue, count * n),
        info_(queue, count) {
    // A diagonal that dominates suits all of them, but for products of 16-bit numbers, which it would make infinite.
    std::mt19937 random(1);
    std::uniform_real_distribution<float> number(-1, 1);
    std::int64_t const matrix = std::int64_t{n} * n;
    std::vector<T> some(static_cast<std::size_t>(std::min<std::int64_t>(count, std::max<std::int64_t>(1, (1 << 18) / matrix)) * matrix));
    for (std::size_t i = 0; i < some.size(); ++i) {
      auto const at = static_cast<std::int64_t>(i) % matrix;
      bool const diagonal = !is_half(dtype_of<T>) && at % n == at / n;
      some[i] = T(number(random) + (diagonal ? static_cast<float>(2 * n) : 0));
    }
    for (auto* const array : {&original_, &b_, &c_})
      for (std::int64_t done = 0; done < array->size();) {
        std::int64_t const step = std::min<std::int64_t>(array->size() - done, static_cast<std::int64_t>(some.size()));
        copy<T>(queue, some.data(), step, array->data() + done);
        done += step;
      }
    // Row i is exchanged with itself.
    std::vector<int> order(static_cast<std::size_t>(count) * static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i % static_cast<std::size_t>(n)) + 1;
    copy<int>(queue, order.data(), pivots_.size(), pivots_.data());
    refresh(queue);
    queue.wait();
    work_ = find(routine.name);
  }

  void operator()(Queue& queue) { work_(queue); }
  /// What routines that work in place change; the others get it as well, which leaves their inputs out of the caches.
  void refresh(Queue& queue) {
    copy<T>(queue, original_.data(), original_.size(), a_.data());
    if (b_in_place_) copy<T>(queue, c_.data(), c_.size(), b_.data());
  }

 private:
  std::function<void(Queue&)> find(std::string_view routine) {
    auto const matrices = [this](DeviceArray<T>& x) { return batch(x.data(), n_, n_, {.count = count_}); };
    auto const columns = [this](DeviceArray<T>& x) { return batch(x.data(), n_, 1, {.count = count_}); };
    auto const operand = [=, this](DeviceArray<T>& x, std::size_t which) {
      return op_.at(which) == 'T' ? transposed(matrices(x)) : matrices(x);
    };
    using S = Compute<T>;
    S const one(1);
    if (routine == "gemm") return [=, this](Queue& q) { gemm(q, one, operand(a_, 0), operand(b_, 1), one, matrices(c_)); };
    if constexpr (!is_half(dtype_of<T>)) {
      using R = Real<T>;
      constexpr Uplo lower = Uplo::lower;
      constexpr Side left = Side::left;
      constexpr Diag general = Diag::non_unit;
      auto const pivots = [this] { return vectors(pivots_.data(), n_, count_); };
      int* const info = info_.data();
      if (routine == "symm") return [=, this](Queue& q) { symm<T>(q, left, lower, one, matrices(a_), matrices(b_), one, matrices(c_)); };
      if (routine == "hemm") return [=, this](Queue& q) { hemm<T>(q, left, lower, one, matrices(a_), matrices(b_), one, matrices(c_)); };
      if (routine == "syrk") return [=, this](Queue& q) { syrk<T>(q, lower, one, matrices(a_), one, matrices(c_)); };
      if (routine == "herk") return [=, this](Queue& q) { herk<T>(q, lower, R(1), matrices(a_), R(1), matrices(c_)); };
      if (routine == "syr2k") return [=, this](Queue& q) { syr2k<T>(q, lower, one, matrices(a_), matrices(b_), one, matrices(c_)); };
      if (routine == "her2k") return [=, this](Queue& q) { her2k<T>(q, lower, one, matrices(a_), matrices(b_), R(1), matrices(c_)); };
      if (routine == "trmm") return [=, this](Queue& q) { trmm<T>(q, left, lower, general, one, matrices(a_), matrices(b_)); };
      if (routine == "trsm") return [=, this](Queue& q) { trsm<T>(q, left, lower, general, one, matrices(a_), matrices(b_)); };
      if (routine == "trtri") return [=, this](Queue& q) { trtri<T>(q, lower, general, matrices(a_), info); };
      if (routine == "gemv") return [=, this](Queue& q) { gemv<T>(q, one, operand(a_, 0), columns(b_), T(0), columns(c_)); };
      if (routine == "ger") return [=, this](Queue& q) { ger<T>(q, one, columns(b_), columns(c_), matrices(a_)); };
      if (routine == "symv") return [=, this](Queue& q) { symv<T>(q, lower, one, matrices(a_), columns(b_), T(0), columns(c_)); };
      if (routine == "hemv") return [=, this](Queue& q) { hemv<T>(q, lower, one, matrices(a_), columns(b_), T(0), columns(c_)); };
      if (routine == "trmv") return [=, this](Queue& q) { trmv<T>(q, lower, general, matrices(a_), columns(b_)); };
      if (routine == "trsv") return [=, this](Queue& q) { trsv<T>(q, lower, general, matrices(a_), columns(b_)); };
      if (routine == "getrf") return [=, this](Queue& q) { getrf<T>(q, matrices(a_), pivots(), info); };
      if (routine == "getrf_nopiv") return [=, this](Queue& q) { getrf_nopiv<T>(q, matrices(a_), info); };
      if (routine == "getrs") return [=, this](Queue& q) { getrs<T>(q, Op::none, matrices(a_), pivots(), columns(b_)); };
      if (routine == "gesv") return [=, this](Queue& q) { gesv<T>(q, matrices(a_), pivots(), columns(b_), info); };
      if (routine == "solve") return [=, this](Queue& q) { solve<T>(q, matrices(a_), columns(b_), columns(c_), info); };
      if (routine == "getri") return [=, this](Queue& q) { getri<T>(q, matrices(a_), pivots(), info); };
      if (routine == "inverse") return [=, this](Queue& q) { inverse<T>(q, matrices(a_), matrices(c_), info); };
      if (routine == "det") return [=, this](Queue& q) { det<T>(q, matrices(a_), c_.data()); };
      if (routine == "logdet") return [=, this](Queue& q) { logdet<T>(q, matrices(a_), c_.data(), values_.data()); };
      if (routine == "potrf") return [=, this](Queue& q) { potrf<T>(q, lower, matrices(a_), info); };
      if (routine == "potrs") return [=, this](Queue& q) { potrs<T>(q, lower, matrices(a_), columns(b_)); };
      if (routine == "posv") return [=, this](Queue& q) { posv<T>(q, lower, matrices(a_), columns(b_), info); };
      if (routine == "solve_positive_definite")
        return [=, this](Queue& q) { solve_positive_definite<T>(q, lower, matrices(a_), columns(b_), columns(c_), info); };
      if (routine == "potri") return [=, this](Queue& q) { potri<T>(q, lower, matrices(a_), info); };
      if (routine == "geqrf") return [=, this](Queue& q) { geqrf<T>(q, matrices(a_), columns(c_)); };
      if (routine == "syevd")
        return [=, this](Queue& q) { syevd<T>(q, Job::vectors, lower, matrices(a_), vectors(values_.data(), n_, count_), info); };
    }
    throw UsageError(fmt::format("{}: elements of 16 bits have products only, by gemm", routine));
  }

  int n_;
  std::int64_t count_;
  bool b_in_place_;
  std::string op_;
  DeviceArray<T> original_, a_, b_, c_;
  DeviceArray<Real<T>> values_;
  DeviceArray<int> pivots_, info_;
  std::function<void(Queue&)> work_;
};

std::atomic<bool> interrupted = false;

/// Names of kernels and configs are of any length, and so come last.
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

/// The gain of each entry against its first size: a line for each kernel and type.
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

/// What is in a table.
int show(Options const& options) {
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

int tune_all(Options const& options) {
  if (options.show) return show(options);
  if (!options.table.empty()) throw UsageError("--table goes with --show");
  Routine const& routine = routine_named(options.routine);
  std::vector<int> const sizes = sizes_of(options.sizes);
  std::vector<Dtype> dtypes;
  for (std::string const& text : options.dtypes) {
    auto const dtype = io::parse_any_dtype(text);
    if (!dtype)
      throw UsageError(fmt::format("--dtype '{}' is not known; there are f4, f8, c8, c16, half, bfloat16 and complex_half", text));
    if (is_half(*dtype) && routine.name != "gemm")
      throw UsageError(fmt::format("--dtype {}: elements of 16 bits have products only, by gemm", text));
    dtypes.push_back(*dtype);
  }

  Queue queue({.backend = Backend::gpu, .device = options.device});
  std::string const path = tuned_path(queue.device().name);
  if (path.empty()) throw UsageError("there is no folder for the results: MYRIAD_TUNED_DIR is off, or HOME is not set");
  // The first interrupt ends the search after the call under way; what is finished is kept already.
  auto const former = std::signal(SIGINT, [](int) {
    interrupted = true;
    std::signal(SIGINT, SIG_DFL);  // who does not want to wait interrupts again
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
                  .what = fmt::format("{} of {}: {} {} n = {}", number + 1, problems, routine.name, io::name_of(dtype), n),
                  .skipped = static_cast<double>(known + without),
                  .budget = options.budget});
      };
      show_progress(0);  // making the matrices takes a while, too
      with_any_dtype(dtype, [&]<typename T>() {
        // A gigabyte, so that nothing is found in a cache; batches of tiny matrices are limited by time to fill them.
        std::int64_t const matrix = static_cast<std::int64_t>(sizeof(T)) * n * n;
        std::int64_t const count = options.count > 0 ? options.count : std::clamp<std::int64_t>(1'000'000'000 / (4 * matrix), 1, 4'000'000);
        Work<T> work(queue, routine, options.op, n, count);
        bool any = false, searched = false, stopped = false;
        auto const found = tune(queue, [&](Queue& q) { work(q); },
                                {.budget = left / static_cast<double>(problems - number),
                                 .refresh = [&](Queue& q) { work.refresh(q); },
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
        if (stopped) return;  // it is not finished
        ++number;
        if (!any)
          ++without;
        else if (found.empty() && !searched)
          ++known;
        else if (found.empty())
          say("{} {} n = {}: the plan was the fastest of those that there was time for\n", routine.name, io::name_of(dtype), n);
      });
    }
  std::signal(SIGINT, former);
  if (without > 0 && without == problems)
    throw UsageError(fmt::format("{} comes to no kernel that is tuned at {}", routine.name, problems == 1 ? "this size" : "these sizes"));
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
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("tune", "Find the fastest configs of GPU kernels on this machine and keep them");
  command.add_option("routine", options->routine, "Routine, such as gemm; with --show the beginning of kernel names");
  command.add_option("--n", options->sizes, "Sizes and ranges of sizes, like 2-32,48,64 (2-32)")->delimiter(',');
  command.add_option("--dtype", options->dtypes, "Types: f4,f8,c8,c16, of gemm also half,bfloat16,complex_half (f8)")->delimiter(',');
  command.add_option("--op", options->op, "Of gemm, and gemv: which of A and B are transposed (NN)")
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
