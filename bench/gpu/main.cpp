// `gpu_bench`: the GPU routines against cuBLAS in one run; see tools/gpu-check.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <complex>
#include <cstdio>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "case/case.hpp"
#include "commit.hpp"
#include "gpu/peers.hpp"
#include "myriad/myriad.hpp"
#include "plot/chart.hpp"
#include "runtime/driver.hpp"

namespace myriad::bench {
namespace {

namespace driver = gpu::driver;
using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> routines{"getrf", "solve", "inverse"};
  std::vector<int> sizes{};
  std::vector<std::string> dtypes{"s", "d"};
  std::vector<std::string> layouts{"column_major"};
  std::int64_t count = 0;
  double energy_seconds = 0;
  int repeats = 7;
  int device = 0;
  bool name = false;
  bool no_peers = false;
  std::string json, plot;
};

struct Timing {
  double seconds = 0;  ///< median
  double joules = 0;   ///< of one call; 0 where it was not measured
};

/// Times `work`, after `refresh` each time, which is not timed.
Timing time(Queue& queue, Options const& options, std::function<void()> const& refresh, std::function<void()> const& work,
            EnergyMeter const& meter) {
  Event start(queue), stop(queue);
  std::vector<double> seconds;
  for (int repeat = -2; repeat < options.repeats; ++repeat) {
    refresh();
    start.record();
    work();
    stop.record();
    double const elapsed = stop.seconds_since(start);
    if (repeat >= 0) seconds.push_back(elapsed);
  }
  std::sort(seconds.begin(), seconds.end());
  Timing timing{.seconds = seconds[seconds.size() / 2], .joules = 0};
  if (options.energy_seconds > 0) {
    auto const calls = std::max<std::int64_t>(1, static_cast<std::int64_t>(options.energy_seconds / timing.seconds));
    auto const joules_of = [&](auto const& call) {
      queue.wait();
      double const before = meter.joules();
      for (std::int64_t k = 0; k < calls; ++k) call();
      queue.wait();
      return (meter.joules() - before) / static_cast<double>(calls);
    };
    // Inputs are fresh each time; what that takes is measured alone and taken off.
    timing.joules = joules_of([&] { refresh(), work(); }) - joules_of(refresh);
  }
  return timing;
}

double copy_rate(Queue& queue) {
  std::int64_t const elements = std::int64_t{1} << 27;
  DeviceArray<double> const from(queue, elements), to(queue, elements);
  Event start(queue), stop(queue);
  std::vector<double> rates;
  for (int repeat = 0; repeat < 9; ++repeat) {
    start.record();
    copy(queue, from.data(), elements, to.data());
    stop.record();
    rates.push_back(2.0 * 8.0 * static_cast<double>(elements) / stop.seconds_since(start));
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

/// Random numbers on the GPU: some from the host, over and over.
template <typename T>
DeviceArray<T> random_array(Queue& queue, std::int64_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<Real<T>> normal;
  std::int64_t const fresh = std::min<std::int64_t>(size, (1 << 20) + 7);
  std::vector<T> host(static_cast<std::size_t>(fresh));
  for (T& x : host) {
    if constexpr (is_complex<T>)
      x = T(normal(random), normal(random));
    else
      x = normal(random);
  }
  DeviceArray<T> array(queue, size);
  copy<T>(queue, host.data(), fresh, array.data());
  for (std::int64_t done = fresh; done < size; done *= 2) copy<T>(queue, array.data(), std::min(done, size - done), array.data() + done);
  queue.wait();
  return array;
}

/// Matrices of a batch of the host, as the oracles want them.
template <typename T>
cases::Dense<cases::Wide<T>> wide(T const* a, std::int64_t rows, std::int64_t cols, bool by_rows) {
  cases::Dense<cases::Wide<T>> out(rows, cols);
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < rows; ++i) out(i, j) = cases::widened<cases::Wide<T>>(a[by_rows ? i * cols + j : i + j * rows]);
  return out;
}

template <typename T>
class Bench {
 public:
  Bench(Queue& queue, Options const& options, Cublas& cublas, EnergyMeter const& meter, double rate)
      : queue_(queue), options_(options), cublas_(cublas), meter_(meter), rate_(rate) {}

  Json row(std::string const& routine, int n, std::string const& layout) {
    std::int64_t const by_memory = std::int64_t{4'000'000'000} / (static_cast<std::int64_t>(sizeof(T)) * n * n);
    std::int64_t const count = options_.count > 0 ? options_.count : std::min<std::int64_t>(n <= 4 ? 16'000'000 : 1'000'000, by_memory);
    bool const by_rows = layout == "row_major";
    auto const original = random_array<T>(queue_, count * n * n, 1);
    auto const right = random_array<T>(queue_, count * n, 2);
    DeviceArray<T> a(queue_, count * n * n), b(queue_, count * n), x(queue_, routine == "inverse" ? count * n * n : 0);
    DeviceArray<int> pivots(queue_, count * n), info(queue_, count);
    auto const view = [&](T* data) {
      return by_rows                   ? row_major(data, n, n, {.count = count})
             : layout == "interleaved" ? interleaved(data, n, n, count)
                                       : batch(data, n, n, {.count = count});
    };
    auto const refresh = [&] {
      copy<T>(queue_, original.data(), count * n * n, a.data());
      copy<T>(queue_, right.data(), count * n, b.data());
    };
    Batch<T> const rhs = layout == "interleaved" ? interleaved(b.data(), n, 1, count) : batch(b.data(), n, 1, {.count = count});
    std::function<void()> work;
    double elements = 2.0 * n * n;
    if (routine == "getrf") {
      work = [&] { getrf<T>(queue_, view(a.data()), vectors(pivots.data(), n, count), info.data()); };
    } else if (routine == "solve") {
      elements = 1.0 * n * n + 2.0 * n;
      work = [&] { solve<T>(queue_, view(a.data()), rhs, rhs, info.data()); };
    } else if (routine == "inverse") {
      work = [&] { inverse<T>(queue_, view(a.data()), view(x.data()), info.data()); };
    } else {
      throw Error("gpu_bench knows getrf, solve and inverse; " + routine + " is none of them");
    }
    Timing const mine = time(queue_, options_, refresh, work, meter_);
    refresh();
    work();
    double const error = worst(routine, n, count, layout, original.data(), right.data(), a.data(), b.data(), x.data(), pivots.data());

    double const bytes = elements * sizeof(T) * static_cast<double>(count);
    Json out;
    out["routine"] = routine;
    out["dtype"] = std::string(1, "sdcz"[static_cast<std::size_t>(dtype_of<T>)]);
    out["n"] = n;
    out["layout"] = layout;
    out["count"] = count;
    out["ns_per_matrix"] = mine.seconds / static_cast<double>(count) * 1e9;
    out["share_of_copy_rate"] = bytes / mine.seconds / rate_;
    if (mine.joules > 0) out["nanojoules_per_matrix"] = mine.joules / static_cast<double>(count) * 1e9;
    out["error"] = error;
    out["pass"] = error <= 30;
    out["peers"] =
        layout == "column_major" && !options_.no_peers ? peers(routine, n, count, refresh, a, b, x, pivots, info) : Json::object();
    double best = 0;
    for (auto const& [name, peer] : out["peers"].items())
      if (double const ns = peer["ns_per_matrix"]; best == 0 || ns < best) best = ns;
    if (best > 0) out["times_faster_than_best_peer"] = best / out["ns_per_matrix"].get<double>();
    return out;
  }

 private:
  Json peers(std::string const& routine, int n, std::int64_t count, std::function<void()> const& refresh, DeviceArray<T> const& a,
             DeviceArray<T> const& b, DeviceArray<T> const& x, DeviceArray<int> const& pivots, DeviceArray<int> const& info) {
    Json out = Json::object();
    if (!cublas_.problem().empty()) return out;
    auto const pointers = [&](T* data, std::int64_t stride) {
      std::vector<T*> host;
      for (std::int64_t k = 0; k < count; ++k) host.push_back(data + k * stride);
      return to_device(queue_, host);
    };
    auto const pa = pointers(a.data(), n * n), pb = pointers(b.data(), n), px = pointers(x.data(), n * n);
    auto const as_void = [](DeviceArray<T*> const& p) { return reinterpret_cast<void* const*>(p.data()); };
    queue_.wait();
    auto const measure = [&](char const* name, std::function<void()> const& work) {
      Timing const timing = time(queue_, options_, refresh, work, meter_);
      out[name]["ns_per_matrix"] = timing.seconds / static_cast<double>(count) * 1e9;
      if (timing.joules > 0) out[name]["nanojoules_per_matrix"] = timing.joules / static_cast<double>(count) * 1e9;
    };
    int const batch_count = static_cast<int>(count);
    Dtype const dtype = dtype_of<T>;
    auto const factor = [&] { cublas_.getrf(dtype, n, as_void(pa), pivots.data(), info.data(), batch_count); };
    if (routine == "getrf") measure("cuBLAS getrfBatched", factor);
    if (routine == "solve")
      measure("cuBLAS getrfBatched, getrsBatched", [&] {
        factor();
        cublas_.getrs(dtype, n, 1, as_void(pa), pivots.data(), as_void(pb), batch_count);
      });
    if (routine == "inverse") {
      measure("cuBLAS getrfBatched, getriBatched", [&] {
        factor();
        cublas_.getri(dtype, n, as_void(pa), pivots.data(), as_void(px), info.data(), batch_count);
      });
      measure("cuBLAS matinvBatched", [&] { cublas_.matinv(dtype, n, as_void(pa), as_void(px), info.data(), batch_count); });
    }
    return out;
  }

  /// The largest residual, in the units of docs/accuracy.md, over matrices at the beginning, in the middle and at the end of the batch.
  double worst(std::string const& routine, int n, std::int64_t count, std::string const& layout, T const* original, T const* right,
               T const* a, T const* b, T const* x, int const* pivots) {
    bool const by_rows = layout == "row_major";
    std::int64_t const some = std::min<std::int64_t>(count, 100);
    double largest = 0;
    for (std::int64_t const first : {std::int64_t{0}, (count - some) / 2, count - some}) {
      auto const fetch = [&](auto const* data, std::int64_t elements, bool woven) {
        std::vector<std::remove_cvref_t<decltype(*data)>> packed(static_cast<std::size_t>(some * elements)), host(packed.size());
        for (std::int64_t e = 0; woven && e < elements; ++e)
          copy(queue_, data + e * count + first, some, &host[static_cast<std::size_t>(e * some)]);
        if (!woven) copy(queue_, data + first * elements, some * elements, packed.data());
        queue_.wait();
        for (std::int64_t e = 0; woven && e < elements; ++e)
          for (std::int64_t k = 0; k < some; ++k)
            packed[static_cast<std::size_t>(k * elements + e)] = host[static_cast<std::size_t>(e * some + k)];
        return packed;
      };
      bool const woven = layout == "interleaved";
      auto const ha = fetch(original, n * n, woven), hr = fetch(routine == "inverse" ? x : a, n * n, woven);
      auto const hb = fetch(right, n, woven), hx = fetch(b, n, woven);
      auto const hp = fetch(pivots, n, false);
      for (std::int64_t k = 0; k < some; ++k) {
        auto const m = wide(&ha[static_cast<std::size_t>(k * n * n)], n, n, by_rows);
        auto const r = wide(&hr[static_cast<std::size_t>(k * n * n)], n, n, by_rows);
        double error = 0;
        if (routine == "inverse") {
          error = cases::inverse_error<T>(m, r);
        } else if (routine == "solve") {
          error = cases::solution_error<T>(m, wide(&hx[static_cast<std::size_t>(k * n)], n, 1, false),
                                           wide(&hb[static_cast<std::size_t>(k * n)], n, 1, false));
        } else {
          auto permuted = m;
          for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) std::swap(permuted(i, j), permuted(hp[static_cast<std::size_t>(k * n + i)] - 1, j));
          cases::Dense<cases::Wide<T>> lower = cases::identity<cases::Wide<T>>(n), upper(n, n);
          for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) (i > j ? lower : upper)(i, j) = r(i, j);
          error = cases::factor_error<T>(permuted - lower * upper, m, n);
        }
        largest = cases::larger(largest, error);
      }
    }
    return largest;
  }

  Queue& queue_;
  Options const& options_;
  Cublas& cublas_;
  EnergyMeter const& meter_;
  double rate_;
};

std::string table(Json const& rows) {
  std::string out =
      "| routine | type | layout | n | ns per matrix | share of copy rate | best peer, ns | times faster | residual "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (Json const& row : rows) {
    double best = 0;
    std::string name = "-";
    for (auto const& [peer, value] : row["peers"].items())
      if (double const ns = value["ns_per_matrix"]; best == 0 || ns < best) {
        best = ns;
        name = peer;
      }
    out += fmt::format("| {} | {} | {} | {} | {:.3f} | {:.0f}% | {} | {} | {:.2g} |\n", row["routine"].get<std::string>(),
                       row["dtype"].get<std::string>(), row["layout"].get<std::string>(), row["n"].get<int>(),
                       row["ns_per_matrix"].get<double>(), 100 * row["share_of_copy_rate"].get<double>(),
                       best > 0 ? fmt::format("{:.3f} ({})", best, name) : "-",
                       best > 0 ? fmt::format("{:.1f}", best / row["ns_per_matrix"].get<double>()) : "-", row["error"].get<double>());
  }
  return out;
}

/// Share of the copy rate against n: a chart per routine, a line per type and layout, and the best peer of each type.
std::vector<plot::Chart> charts(Json const& rows) {
  std::vector<plot::Chart> out;
  for (Json const& row : rows) {
    std::string const title = row["routine"];
    if (out.empty() || out.back().title != title)
      out.push_back({.title = title,
                     .subtitle = "Least traffic over time, as a share of a copy's rate",
                     .x = {.label = "n"},
                     .y = {.label = "share of the copy rate, %", .low = 0, .high = 105},
                     .series = {}});
    auto const add = [&](std::string const& label, double share, bool dashed) {
      auto& series = out.back().series;
      auto found = std::find_if(series.begin(), series.end(), [&](plot::Series const& s) { return s.label == label; });
      if (found == series.end()) found = series.insert(series.end(), plot::Series{.label = label, .x = {}, .y = {}, .dashed = dashed});
      found->x.push_back(row["n"]);
      found->y.push_back(100 * share);
    };
    std::string const layout = row["layout"];
    std::string const type = row["dtype"];
    double const share = row["share_of_copy_rate"];
    add(type + (layout == "column_major" ? "" : " " + layout), share, false);
    if (row.contains("times_faster_than_best_peer")) add(type + " cuBLAS", share / row["times_faster_than_best_peer"].get<double>(), true);
  }
  return out;
}

int run(Options const& options) {
  Queue queue({.backend = Backend::gpu, .device = options.device});
  if (options.name) {
    fmt::print("{}\n", queue.device().name);
    return 0;
  }
  Cublas cublas(queue.stream());
  if (!cublas.problem().empty()) fmt::print(stderr, "gpu_bench: {}\n", cublas.problem());
  EnergyMeter const meter(options.device);
  double const rate = copy_rate(queue);
  Json out;
  out["gpu"] = queue.device().name;
  out["driver"] = driver::load().version;
  out["cublas"] = cublas.version();
  out["commit"] = MYRIAD_COMMIT;
  out["date"] = fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(std::time(nullptr)));
  out["copy_rate"] = rate;
  out["rows"] = Json::array();
  bool pass = true;
  for (std::string const& routine : options.routines)
    for (std::string const& dtype : options.dtypes)
      for (std::string const& layout : options.layouts)
        for (int const n : options.sizes) {
          auto const bench = [&]<typename T>(T) { return Bench<T>(queue, options, cublas, meter, rate).row(routine, n, layout); };
          Json const row = dtype == "s"   ? bench(float())
                           : dtype == "d" ? bench(double())
                           : dtype == "c" ? bench(std::complex<float>())
                                          : bench(std::complex<double>());
          pass = pass && row["pass"];
          out["rows"].push_back(row);
        }
  fmt::print("{}, copy {:.0f} GB/s, commit {}\n\n{}", out["gpu"].get<std::string>(), rate * 1e-9, MYRIAD_COMMIT, table(out["rows"]));
  if (!options.json.empty()) plot::write_file(options.json, out.dump(1) + "\n");
  if (!options.plot.empty())
    plot::write_file(options.plot, plot::svg(charts(out["rows"]),
                                             {.title = "LU of small matrices on " + out["gpu"].get<std::string>(),
                                              .footnote = fmt::format("{}, commit {}", out["date"].get<std::string>(), MYRIAD_COMMIT),
                                              .columns = 2}));
  if (!pass) fmt::print(stderr, "gpu_bench: a residual is too large\n");
  return pass ? 0 : 1;
}

}  // namespace
}  // namespace myriad::bench

int main(int count, char** arguments) {
  myriad::bench::Options options;
  for (int n = 1; n <= 32; ++n) options.sizes.push_back(n);
  CLI::App app("Times the GPU routines against cuBLAS in one run.");
  app.add_option("--routine", options.routines, "of getrf, solve, inverse")->delimiter(',');
  app.add_option("--n", options.sizes, "sizes")->delimiter(',');
  app.add_option("--dtype", options.dtypes, "of s, d, c, z")->delimiter(',')->check(CLI::IsMember({"s", "d", "c", "z"}));
  app.add_option("--layout", options.layouts, "of column_major, row_major, interleaved")
      ->delimiter(',')
      ->check(CLI::IsMember({"column_major", "row_major", "interleaved"}));
  app.add_option("--count", options.count, "matrices; 0: a million, 16 million up to n = 4, at most 4 GB");
  app.add_option("--energy", options.energy_seconds, "seconds to run each for its energy; 0: not measured");
  app.add_option("--repeats", options.repeats, "of which the median counts")->check(CLI::PositiveNumber);
  app.add_option("--device", options.device, "number of the GPU");
  app.add_flag("--no-peers", options.no_peers, "do not run cuBLAS");
  app.add_flag("--name", options.name, "only print the name of the GPU");
  app.add_option("--json", options.json, "file for all numbers");
  app.add_option("--plot", options.plot, "file for a picture (SVG)");
  CLI11_PARSE(app, count, arguments);
  try {
    return myriad::bench::run(options);
  } catch (std::exception const& error) {
    fmt::print(stderr, "gpu_bench: {}\n", error.what());
    return 2;
  }
}
