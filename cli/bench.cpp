/// `myriad bench`: time per matrix, share of the machine's best possible rate, and ratios to other libraries, all from one run.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "case/case.hpp"
#include "command.hpp"
#include "commit.hpp"
#include "core/dtype.hpp"
#include "floor.hpp"
#include "gpu/run.hpp"
#include "io/element.hpp"
#include "job.hpp"
#include "myriad/myriad.hpp"
#include "peers/peer.hpp"
#include "plot/chart.hpp"
#include "terminal.hpp"

namespace myriad::cli {
namespace {

using namespace cases;

struct BenchOptions {
  std::string routine;
  std::vector<std::int64_t> sizes{4, 8, 16, 32};
  std::int64_t rows = 0;
  std::int64_t k = 0;
  std::int64_t count = 0;
  std::vector<std::string> dtypes{"d"};
  std::vector<std::string> layouts{"column_major"};
  std::vector<int> threads{};
  std::vector<std::string> peers{};
  int repeats = 11;
  std::string backend = "cpu";
  int device = 0;
  /// Time spent on measuring the floor; short with one or two repeats, which are a trial.
  [[nodiscard]] double floor_seconds() const { return repeats < 3 ? 0.02 : 0.5; }
  bool cold = false;
  bool list = false;
  std::string json;
  std::string plot;
};

/// Times of one library on one problem.
struct Timing {
  std::string library;
  double best = 0;    ///< seconds per matrix
  double median = 0;  ///< seconds per matrix
  bool pass = true;
  std::string check{};
};

/// One line of the table: Myriad, then the peers that have this routine and size.
struct Row {
  Problem problem;
  int threads = 1;
  double flops = 0;      ///< per matrix
  double bytes = 0;      ///< per matrix
  double copy_rate = 0;  ///< bytes per second
  double peak = 0;       ///< flops per second
  std::vector<Timing> timings{};
  [[nodiscard]] double memory_floor() const { return bytes / copy_rate; }
  [[nodiscard]] double flops_floor() const { return flops / peak; }
  [[nodiscard]] double floor() const { return std::max(memory_floor(), flops_floor()); }
};

Dtype parse_dtype(std::string const& text) {
  if (auto const dtype = io::parse_any_dtype(text)) return *dtype;
  throw UsageError(fmt::format("--dtype: '{}' is none of s, d, c, z, half, bfloat16, complex_half", text));
}
char const* long_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "single";
    case Dtype::f64:
      return "double";
    case Dtype::c32:
      return "single complex";
    case Dtype::c64:
      return "double complex";
    case Dtype::f16:
    case Dtype::bf16:
      return name(dtype);
    case Dtype::c16:
      return "complex half";
  }
  return "?";
}

Layout parse_layout(std::string const& text) {
  std::string known;
  for (Layout const layout : all_layouts) {
    if (text == name(layout)) return layout;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name(layout));
  }
  throw UsageError(fmt::format("--layout: '{}' is none of {}", text, known));
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") || line.starts_with("CPU part")) return line.substr(line.find(':') + 2);
  return "unknown";
}
double last_level_cache() {
  double size = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    double value = 0;
    char unit = 'K';
    if (file >> value >> unit) size = std::max(size, value * (unit == 'M' ? 1 << 20 : 1 << 10));
  }
  return size > 0 ? size : 64.0 * (1 << 20);
}

/// One library that runs one problem, on one or several copies of its data.
class Contender {
 public:
  Contender(Case const& routine, Problem const& problem, int threads, bench::Peer const* peer, int copies)
      : library_(peer ? peer->label() : "Myriad") {
    if (!peer) queue_ = std::make_unique<Queue>(QueueOptions{.backend = Backend::cpu, .threads = threads});
    for (int copy = 0; copy < copies; ++copy) {
      auto run = routine(problem);
      std::function<void()> work;
      if (peer)
        work = peer->prepare(*run, threads);
      else
        work = [this, at = run.get()] {
          at->run(*queue_);
          queue_->wait();
        };
      if (!work) return;
      runs_.push_back(std::move(run));
      works_.push_back(std::move(work));
    }
  }
  [[nodiscard]] bool able() const { return !works_.empty(); }
  [[nodiscard]] CaseRun const& run() const { return *runs_.front(); }

  /// One repeat on fresh inputs.
  void repeat(int turn, bool keep) {
    std::size_t const copy = static_cast<std::size_t>(turn) % runs_.size();
    runs_[copy]->prepare();
    if (runs_.size() > 1) runs_[(copy + 1) % runs_.size()]->prepare();  // evicts the first copy from the cache
    using Clock = std::chrono::steady_clock;
    auto const begin = Clock::now();
    works_[copy]();
    double const seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (keep) seconds_.push_back(seconds);
    last_ = copy;
  }
  [[nodiscard]] Timing timing() {
    auto const count = static_cast<double>(run().problem().count);
    std::sort(seconds_.begin(), seconds_.end());
    Outcome const outcome = runs_[last_]->check(std::max<std::int64_t>(1, run().problem().count / 100));
    return {.library = library_,
            .best = seconds_.front() / count,
            .median = seconds_[seconds_.size() / 2] / count,
            .pass = outcome.pass,
            .check = outcome.text()};
  }

 private:
  std::string library_;
  std::unique_ptr<Queue> queue_;
  std::vector<std::unique_ptr<CaseRun>> runs_;
  std::vector<std::function<void()>> works_;
  std::vector<double> seconds_;
  std::size_t last_ = 0;
};

Row measure(Case const& routine, Problem const& problem, int threads, std::vector<std::unique_ptr<bench::Peer>> const& peers,
            BenchOptions const& options, double peak) {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(std::make_unique<Contender>(routine, problem, threads, nullptr, 1));
  int copies = 1;
  double footprint = contenders.front()->run().bytes();
  if (options.cold) {
    // Together with the restored copies, twice the cache size is touched between two uses of the same data.
    copies = 2 + static_cast<int>(2 * last_level_cache() / std::max(footprint, 1.0));
    contenders.front() = std::make_unique<Contender>(routine, problem, threads, nullptr, copies);
    footprint = std::max(footprint, 4 * last_level_cache());
  }
  Row row{.problem = contenders.front()->run().problem(), .threads = threads};
  auto const count = static_cast<double>(problem.count);
  row.flops = contenders.front()->run().flops() / count;
  row.bytes = contenders.front()->run().bytes() / count;
  row.copy_rate = bench::copy_rate(footprint, threads, options.floor_seconds());
  row.peak = peak;
  Problem plain = problem;
  plain.layout = Layout::column_major;
  for (auto const& peer : peers) contenders.push_back(std::make_unique<Contender>(routine, plain, threads, peer.get(), copies));
  // Libraries take turns, so that a slow moment of the machine affects all.
  for (int turn = -2; turn < options.repeats; ++turn)
    for (auto const& contender : contenders)
      if (contender->able()) contender->repeat(turn + 2, turn >= 0);
  for (auto const& contender : contenders)
    if (contender->able()) row.timings.push_back(contender->timing());
  return row;
}

std::string time_text(double seconds) {
  double const ns = seconds * 1e9;
  return ns < 10 ? fmt::format("{:.2f}", ns) : ns < 100 ? fmt::format("{:.1f}", ns) : fmt::format("{:.0f}", ns);
}

/// Heading of a table. Rows that differ only in size share a table and a pair of charts.
std::string heading(Case const& routine, Row const& row) {
  return fmt::format("{}, {}, {}, {} thread{}", routine.routine, long_name(row.problem.dtype), name(row.problem.layout), row.threads,
                     row.threads == 1 ? "" : "s");
}

void print_head(std::string const& title, std::vector<std::string> const& libraries) {
  say("\n{}: ns per matrix, shortest of the repeats (ratio: its time over Myriad's)\n{:>6} {:>5} {:>9} {:>10} {:>7}", title, "n", "k",
      "count", "floor", "bound");
  say(" {:>10} {:>9} {:>9}", "Myriad", "of floor", "Gflop/s");
  for (std::size_t i = 1; i < libraries.size(); ++i) say(" {:>24} {:>6}", libraries[i], "ratio");
  say("\n");
}
void print_row(Row const& row, std::vector<std::string> const& libraries) {
  Shape const s = row.problem.bounds();
  Timing const& mine = row.timings.front();
  say("{:>6} {:>5} {:>9} {:>10} {:>7} {:>10} {:>8.0f}% {:>9.2f}", s.m == s.n ? fmt::format("{}", s.n) : fmt::format("{}x{}", s.m, s.n), s.k,
      row.problem.count, time_text(row.floor()), row.memory_floor() >= row.flops_floor() ? "memory" : "flops", time_text(mine.best),
      100 * row.floor() / mine.best, row.flops / mine.best * 1e-9);
  for (std::size_t i = 1; i < libraries.size(); ++i) {
    auto const found = std::find_if(row.timings.begin(), row.timings.end(), [&](Timing const& t) { return t.library == libraries[i]; });
    if (found == row.timings.end())
      say(" {:>24} {:>6}", "-", "-");
    else
      say(" {:>24} {:>6.2f}", time_text(found->best), found->best / mine.best);
  }
  say("\n");
  for (Timing const& t : row.timings)
    if (!t.pass) say("       WRONG: {}: {}\n", t.library, t.check);
  std::fflush(stdout);
}

nlohmann::json to_json(Row const& row) {
  Shape const s = row.problem.bounds();
  nlohmann::json result{{"dtype", name(row.problem.dtype)},
                        {"layout", name(row.problem.layout)},
                        {"threads", row.threads},
                        {"m", s.m},
                        {"n", s.n},
                        {"k", s.k},
                        {"count", row.problem.count},
                        {"flops_per_matrix", row.flops},
                        {"bytes_per_matrix", row.bytes},
                        {"copy_rate_bytes_per_s", row.copy_rate},
                        {"peak_flops_per_s", row.peak},
                        {"floor_ns", row.floor() * 1e9},
                        {"floor_bound", row.memory_floor() >= row.flops_floor() ? "memory" : "flops"},
                        {"share_of_floor", row.floor() / row.timings.front().best},
                        {"libraries", nlohmann::json::array()}};
  for (Timing const& t : row.timings)
    result["libraries"].push_back({{"library", t.library},
                                   {"ns_min", t.best * 1e9},
                                   {"ns_median", t.median * 1e9},
                                   {"ratio_to_myriad", t.best / row.timings.front().best},
                                   {"correct", t.pass},
                                   {"check", t.check}});
  return result;
}

void add_charts(std::vector<plot::Chart>& charts, std::string const& title, std::vector<Row> const& rows,
                std::vector<std::string> const& libraries) {
  std::vector<double> ticks;
  for (Row const& row : rows) ticks.push_back(static_cast<double>(row.problem.bounds().n));
  plot::Chart times{.title = title,
                    .subtitle = "time per matrix; lower is better",
                    .x = {.label = "matrix size n", .logarithmic = true, .ticks = ticks},
                    .y = {.label = "time per matrix, ns", .logarithmic = true},
                    .series = {}};
  plot::Chart ratios{.title = "Speed-up of Myriad",
                     .subtitle = "time of the other library over Myriad's; above 1, Myriad is faster",
                     .x = {.label = "matrix size n", .logarithmic = true, .ticks = ticks},
                     .y = {.label = "ratio", .low = 0},
                     .series = {}};
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    plot::Series time{.label = libraries[i], .x = {}, .y = {}, .colour = static_cast<int>(i)};
    plot::Series ratio = time;
    for (Row const& row : rows)
      for (Timing const& t : row.timings)
        if (t.library == libraries[i]) {
          time.x.push_back(static_cast<double>(row.problem.bounds().n));
          ratio.x = time.x;
          time.y.push_back(t.best * 1e9);
          ratio.y.push_back(t.best / row.timings.front().best);
        }
    times.series.push_back(time);
    if (i > 0) ratios.series.push_back(ratio);
  }
  plot::Series floor{.label = "floor (copy, peak)", .x = ticks, .y = {}, .dashed = true, .markers = false, .colour = 6};
  for (Row const& row : rows) floor.y.push_back(row.floor() * 1e9);
  times.series.push_back(floor);
  charts.push_back(std::move(times));
  if (!ratios.series.empty()) {
    ratios.series.push_back(
        {.label = "as fast", .x = ticks, .y = std::vector<double>(ticks.size(), 1.0), .dashed = true, .markers = false, .colour = 6});
    charts.push_back(std::move(ratios));
  }
}

/// The command line of this process, without the folder of the program.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!text.empty() && text.back() == '\0') text.pop_back();
  std::size_t const end = std::min(text.find('\0'), text.size());
  if (auto const slash = text.rfind('/', end); slash != std::string::npos) text.erase(0, slash + 1);
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

/// Runs the GPU benchmark (bench/gpu).
int run_on_gpu(BenchOptions const& options) {
  auto const refuse = [](bool wrong, std::string const& text) {
    if (wrong) throw UsageError("--backend gpu: " + text);
  };
  auto const routines = bench::measured_routines();
  refuse(std::find(routines.begin(), routines.end(), options.routine) == routines.end(),
         fmt::format("'{}' is no routine that is measured there; these are {}", options.routine, fmt::join(routines, ", ")));
  refuse(options.rows > 0, "--m is for the CPU; matrices are square, but for --k");
  auto const is_of_16_bits = [](std::string const& text) { return is_half(parse_dtype(text)); };
  refuse(options.routine != "gemm" && std::any_of(options.dtypes.begin(), options.dtypes.end(), is_of_16_bits),
         "--dtype: of half, bfloat16 and complex_half there is gemm");
  bool const has_columns = options.routine == "gemv" || options.routine == "gesvd";
  refuse(options.k > 0 && !has_columns && !std::all_of(options.dtypes.begin(), options.dtypes.end(), is_of_16_bits),
         "--k is for gemv and gesvd (columns), and for gemm of half, bfloat16 and complex_half alone");
  refuse(options.k > 1 << 16, fmt::format("--k: {} is more than 65536", options.k));
  for (auto const& text : options.layouts) {
    Layout const layout = parse_layout(text);
    refuse(layout != Layout::column_major && layout != Layout::row_major && layout != Layout::interleaved,
           fmt::format("--layout: {} is none of column_major, row_major and interleaved", text));
  }
  refuse(!options.threads.empty(), "--threads is for the CPU");
  refuse(options.cold, "--cold is for the CPU; what is measured on a GPU is larger than its caches unless --count is small");
  refuse(!options.peers.empty() && options.peers != std::vector<std::string>{"none"},
         "--vs takes none; else cuBLAS and cuSOLVER are measured, too, where they are found");
  bench::Options of_gpu;
  of_gpu.routines = {options.routine};
  of_gpu.dtypes.clear();
  for (auto const& text : options.dtypes) of_gpu.dtypes.emplace_back(name(parse_dtype(text)));
  of_gpu.layouts = options.layouts;
  of_gpu.count = options.count;
  of_gpu.repeats = options.repeats;
  of_gpu.device = options.device;
  of_gpu.k = static_cast<int>(options.k);
  of_gpu.gigabytes = 1;
  of_gpu.no_peers = !options.peers.empty();
  of_gpu.json = options.json;
  of_gpu.plot = options.plot;
  of_gpu.command = command_line();
  of_gpu.program = "myriad bench";
  for (std::int64_t const n : options.sizes) {
    if (n > 1 << 16) throw UsageError(fmt::format("--n: {} is more than 65536, the largest size for a GPU", n));
    of_gpu.sizes.push_back(static_cast<int>(n));
  }
  try {
    return bench::run(of_gpu) ? exit_good : exit_failed_matrices;
  } catch (Unavailable const& reason) {
    throw UsageError(fmt::format("--backend gpu: {} (see myriad info)", reason.what()));
  }
}

int run(BenchOptions const& options) {
  if (options.list) {
    for (Case const& c : all_cases()) say("{}\n", c.routine);
    return exit_good;
  }
  for (std::int64_t const n : options.sizes)
    if (n < 1 || n > std::numeric_limits<std::int32_t>::max())
      throw UsageError(fmt::format("--n: {} is not a size from 1 to 2147483647", n));
  if (options.count < 0 || options.rows < 0 || options.k < 0) throw UsageError("--count, --m and --k take positive numbers");
  if (options.repeats < 1) throw UsageError("--repeats: at least 1");
  // `auto` is refused, so that the command line says what was measured.
  if (options.backend != "cpu" && options.backend != "gpu")
    throw UsageError(fmt::format("--backend: '{}' is not one of cpu, gpu", options.backend));
  if (options.backend == "gpu") return run_on_gpu(options);
  if (options.device != 0) throw UsageError("--device is for --backend gpu");
  Case const* const routine = find_case(options.routine);
  if (!routine) {
    std::string known;
    for (Case const& c : all_cases()) known += fmt::format("{}{}", known.empty() ? "" : ", ", c.routine);
    throw UsageError(fmt::format("'{}' is not a routine; routines are {}", options.routine, known));
  }
  std::vector<Dtype> dtypes;
  for (auto const& text : options.dtypes) {
    dtypes.push_back(parse_dtype(text));
    if (is_half(dtypes.back()) && !routine->has('w')) throw UsageError(fmt::format("--dtype: {} has no {}", options.routine, text));
  }
  std::vector<Layout> layouts;
  for (auto const& text : options.layouts) layouts.push_back(parse_layout(text));
  std::vector<int> threads = options.threads;
  for (int const t : threads)
    if (t < 1) throw UsageError(fmt::format("--threads: {} is not a number of threads", t));
  if (threads.empty()) threads.push_back(Queue({.backend = Backend::cpu}).threads());
  std::vector<std::unique_ptr<bench::Peer>> peers;
  std::vector<std::string> libraries{"Myriad"};
  for (auto const& peer : options.peers) {
    peers.push_back(bench::make_peer(peer));
    libraries.push_back(peers.back()->label());
  }

  std::string const machine = fmt::format("{}, {} cores", cpu_model(), std::thread::hardware_concurrency());
  std::time_t const now = std::time(nullptr);
  std::string const date = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(now));
  say("{}; myriad {} ({}), {}\n", machine, MYRIAD_VERSION, MYRIAD_COMMIT, date);
  nlohmann::json report{{"command", command_line()},
                        {"routine", options.routine},
                        {"cpu", cpu_model()},
                        {"cores", std::thread::hardware_concurrency()},
                        {"compiler", fmt::format("g++ {}", __VERSION__)},
                        {"version", MYRIAD_VERSION},
                        {"commit", MYRIAD_COMMIT},
                        {"date", date},
                        {"repeats", options.repeats},
                        {"buffers", options.cold ? "rotated beyond the last-level cache" : "reused"},
                        {"results", nlohmann::json::array()}};
  std::vector<plot::Chart> charts;
  bool pass = true;
  for (int const team : threads)
    for (Dtype const dtype : dtypes) {
      bool const single = dtype != Dtype::f64 && dtype != Dtype::c64;
      double const peak = bench::peak_flops(single, team, options.floor_seconds());
      for (Layout const layout : layouts) {
        std::vector<Row> rows;
        for (std::int64_t const n : options.sizes) {
          Problem p;
          p.dtype = dtype;
          p.n = n;
          p.m = options.rows > 0 ? options.rows : n;
          p.k = options.k > 0 ? options.k : routine->has('i') ? n : 1;
          p.count = options.count > 0 ? options.count : std::max<std::int64_t>(4000000 / (n * n), 16);
          p.layout = layout;
          Row row = measure(*routine, p, team, peers, options, peak);
          if (rows.empty()) print_head(heading(*routine, row), libraries);
          print_row(row, libraries);
          for (Timing const& t : row.timings) pass = pass && t.pass;
          nlohmann::json result = to_json(row);
          report["results"].push_back(std::move(result));
          rows.push_back(std::move(row));
        }
        add_charts(charts, heading(*routine, rows.front()), rows, libraries);
      }
    }
  if (!options.json.empty()) plot::write_file(options.json, json_text(report));
  if (!options.plot.empty())
    plot::write_file(options.plot,
                     plot::svg(charts, {.title = fmt::format("myriad bench {}", options.routine),
                                        .footnote = fmt::format("{}; myriad {} ({}), {}", machine, MYRIAD_VERSION, MYRIAD_COMMIT, date),
                                        .columns = options.peers.empty() ? 1 : 2,
                                        .chart_width = 640,
                                        .chart_height = 420}));
  return pass ? exit_good : exit_failed_matrices;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto const options = std::make_shared<BenchOptions>();
  auto* const bench =
      app.add_subcommand("bench", "Measure a routine: time, share of what the machine can do at best, ratio to other libraries");
  bench->add_option("routine", options->routine, "Routine, such as gemm, getrf, gesv, inverse, potrf, geqrf");
  bench->add_option("--n", options->sizes, "Matrix sizes (4,8,16,32)")->delimiter(',');
  bench->add_option("--m", options->rows, "Rows of rectangular matrices (n)");
  bench->add_option(
      "--k", options->k,
      "Right-hand sides, inner size of gemm, reflectors (1; gemm, ormqr, orgqr: n); on a GPU of gemv, gesvd and of gemm of 16 bits");
  bench->add_option(
      "--count", options->count,
      "Matrices in a batch (4e6 / n^2, at least 16; of a GPU as many as make a gigabyte, at most a million, of tiny matrices more)");
  bench->add_option("--dtype", options->dtypes, "Types out of s, d, c, z, and of gemm half, bfloat16, complex_half (d)")->delimiter(',');
  bench->add_option("--layout", options->layouts, "Layouts of Myriad's batches (column_major); the others always get column-major ones")
      ->delimiter(',');
  bench->add_option("--backend", options->backend, "Where to measure: cpu, or gpu, for square matrices in its memory (cpu)");
  bench->add_option("--device", options->device, "Number of the GPU (0)")->check(non_negative_number());
  bench->add_option("--threads", options->threads, "Numbers of threads of the CPU (all cores)")->delimiter(',');
  bench
      ->add_option(
          "--vs", options->peers,
          "Libraries to compare with out of lapack, eigen, libxsmm; a GPU is compared with cuBLAS and cuSOLVER, unless this is none")
      ->delimiter(',');
  bench->add_option("--repeats", options->repeats, "Timed repeats, each on fresh inputs (11)");
  bench->add_flag("--cold", options->cold, "Rotate over buffers larger than the last-level cache");
  bench->add_flag("--list", options->list, "Print the routines that can be measured, one a line");
  bench->add_option("--json", options->json, "Write everything measured, with machine, compiler, version and command");
  bench->add_option("--plot", options->plot, "Draw times and ratios (of a GPU: shares of the rate of a copy) as SVG");
  bench->callback([&app, options, &action] {
    (void)app;
    action = [options] { return run(*options); };
  });
}

}  // namespace myriad::cli
