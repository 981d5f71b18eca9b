/// `several_gpus_bench`: links of a host with several GPUs, and routines on 1, 2, 4, ... of them. Makes its own data, checks results, and
/// writes a file from which tools/report makes the table of docs/scaling.md.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "commit.hpp"
#include "myriad/myriad.hpp"
#include "several_gpus/resident_batch.hpp"

namespace {

using namespace myriad;
using Json = nlohmann::ordered_json;

struct Options {
  double scale = 1;
  int repeats = 5;
  bool on_cpu = false;
  std::string json;
  std::vector<std::string> only{};  ///< empty: all
};

constexpr std::array parts{"solve", "pageable", "syevd", "gesvd", "resident"};

std::string gpus(std::size_t number) { return number == 1 ? "1 GPU" : fmt::format("{} GPUs", number); }

/// 1, 2, 4, ... and all.
std::vector<std::size_t> numbers_up_to(std::size_t all) {
  std::vector<std::size_t> out;
  for (std::size_t k = 1; k < all; k *= 2) out.push_back(k);
  out.push_back(all);
  return out;
}

/// Entry k of the data, uniform in [-1, 1).
double entry(std::int64_t k) {
  auto x = static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15U + 0x632be59bd9b4e019U;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
  x ^= x >> 32;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1;
}

/// Fills matrices of n x n with random entries, of which the diagonal is raised.
void fill(std::span<double> out, std::int64_t n, double diagonal) {
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(out.size()); ++k)
    out[static_cast<std::size_t>(k)] = entry(k) + (k / n % n == k % n ? diagonal : 0);
}

std::uint64_t hash_of(std::vector<std::span<double>> const& arrays) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::span<double const> const array : arrays)
    for (double const value : array) hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3;
  return hash;
}

/// Host memory, pinned or not.
class Host {
 public:
  Host(Queue& queue, std::int64_t size, bool pinned) {
    if (pinned)
      pinned_ = PinnedArray<double>(queue, size);
    else
      pageable_.resize(static_cast<std::size_t>(size));
  }
  std::span<double> span() { return pageable_.empty() ? std::span(pinned_.data(), static_cast<std::size_t>(pinned_.size())) : pageable_; }
  double* data() { return span().data(); }

 private:
  PinnedArray<double> pinned_;
  std::vector<double> pageable_;
};

/// A routine on a batch in host memory.
struct Streamed {
  std::string routine, memory;
  std::int64_t n, count;
  std::function<StreamReport(Streamer&)> run;
  std::function<double()> error;  ///< of some matrices, in units of n times the unit roundoff
  std::vector<std::span<double>> results;
  std::span<int> info;  ///< zeros, or a matrix failed
};

/// Matrices that are checked on the host.
std::vector<std::int64_t> sample(std::int64_t count) { return {0, count / 3, count / 2, count - 1}; }

struct Bench {
  Options options;
  std::vector<Queue> queues{};
  std::vector<HostLink> links{};  ///< of the GPUs in numbers_up_to
  Json rows = Json::array();
  bool pass = true;

  [[nodiscard]] std::int64_t scaled(std::int64_t count) const {
    return std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(count) * options.scale), 4);
  }

  void add(Json row, std::string const& text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
    rows.push_back(std::move(row));
  }

  void measure(Streamed const& streamed) {
    double of_one = 0;
    std::uint64_t hash = 0;
    auto const numbers = numbers_up_to(queues.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      Streamer streamer(std::span<Queue>(queues).first(numbers[i]));
      for (std::span<double> const array : streamed.results) std::fill(array.begin(), array.end(), NAN);
      std::fill(streamed.info.begin(), streamed.info.end(), -1);
      streamed.run(streamer);  // loads kernels and allocates
      StreamReport best = streamed.run(streamer);
      for (int repeat = 1; repeat < options.repeats; ++repeat)
        if (StreamReport const report = streamed.run(streamer); report.seconds < best.seconds) best = report;
      double const rate = static_cast<double>(streamed.count) / best.seconds;
      if (i == 0) {
        of_one = rate;
        hash = hash_of(streamed.results);
      }
      bool const solved = std::all_of(streamed.info.begin(), streamed.info.end(), [](int i) { return i == 0; });
      double const error = solved ? streamed.error() : INFINITY;
      bool const same_bits = hash_of(streamed.results) == hash;
      pass = pass && error <= 30 && same_bits;
      Json row{{"routine", streamed.routine},
               {"n", streamed.n},
               {"from", streamed.memory + " memory"},
               {"gpus", numbers[i]},
               {"count", streamed.count},
               {"matrices_per_second", rate},
               {"bytes_per_second", best.rate()},
               {"times_one", rate / of_one},
               {"error", error},
               {"same_bits", same_bits}};
      std::string rates;
      if (!links.empty()) {
        row["share_of_link"] = best.share_of(links[i]);
        rates = fmt::format(", {:.1f} GB/s, {:.0f}% of the link", best.rate() * 1e-9, 100 * best.share_of(links[i]));
      }
      add(std::move(row),
          fmt::format("{}, n = {}, {} memory, {}: {:.3g} matrices/s, {:.2f} times one{}; error {:.2g}{}", streamed.routine, streamed.n,
                      streamed.memory, gpus(numbers[i]), rate, rate / of_one, rates, error, same_bits ? "" : ", OTHER BITS than on one"));
    }
  }

  void measure_solve(bool pinned) {
    constexpr std::int64_t n = 16;
    std::int64_t const count = scaled(1'000'000);
    Host a(queues[0], n * n * count, pinned), b(queues[0], n * count, pinned), x(queues[0], n * count, pinned);
    PinnedArray<int> info(queues[0], count);
    fill(a.span(), n, 8);
    fill(b.span(), n, 0);
    measure({.routine = "solve",
             .memory = pinned ? "pinned" : "pageable",
             .n = n,
             .count = count,
             .run =
                 [&](Streamer& streamer) {
                   return streamer.run(in(batch(a.data(), n, n, {.count = count})), in(vectors(b.data(), n, count)),
                                       out(vectors(x.data(), n, count)), out(info.data()),
                                       [](Queue& q, auto da, auto db, auto dx, int* di) { solve<double>(q, da, db, dx, di); });
                 },
             .error =
                 [&] {
                   double worst = 0;
                   for (std::int64_t const m : sample(count))
                     for (std::int64_t i = 0; i < n; ++i) {
                       double r = b.data()[m * n + i], size = std::abs(r);
                       for (std::int64_t j = 0; j < n; ++j) {
                         double const term = a.data()[(m * n + j) * n + i] * x.data()[m * n + j];
                         r -= term;
                         size += std::abs(term);
                       }
                       worst = std::max(worst, in_units(std::abs(r) / size, n));
                     }
                   return worst;
                 },
             .results = {x.span()},
             .info = std::span(info.data(), static_cast<std::size_t>(count))});
  }

  void measure_syevd() {
    constexpr std::int64_t n = 128;
    std::int64_t const count = scaled(8192);
    Host a(queues[0], n * n * count, true), v(queues[0], n * n * count, true), w(queues[0], n * count, true);
    PinnedArray<int> info(queues[0], count);
    fill(a.span(), n, 0);
    measure({.routine = "syevd",
             .memory = "pinned",
             .n = n,
             .count = count,
             .run =
                 [&](Streamer& streamer) {
                   return streamer.run(in(batch(a.data(), n, n, {.count = count})), out(batch(v.data(), n, n, {.count = count})),
                                       out(vectors(w.data(), n, count)), out(info.data()),
                                       [](Queue& q, auto da, auto dv, auto dw, int* di) {
                                         copy<double>(q, da.data, da.rows * da.cols * da.count, dv.data);
                                         syevd<double>(q, Job::vectors, Uplo::lower, dv, dw, di);
                                       });
                 },
             .error =
                 [&] {
                   double worst = 0;
                   for (std::int64_t const m : sample(count)) {
                     double const *const am = a.data() + m * n * n, *const vm = v.data() + m * n * n, *const wm = w.data() + m * n;
                     double const norm = std::max(std::abs(wm[0]), std::abs(wm[n - 1]));
                     for (std::int64_t k = 0; k < n; ++k)
                       for (std::int64_t i = 0; i < n; ++i) {
                         double r = -wm[k] * vm[k * n + i];
                         for (std::int64_t j = 0; j < n; ++j) r += am[std::min(i, j) * n + std::max(i, j)] * vm[k * n + j];
                         worst = std::max(worst, in_units(std::abs(r) / norm, n));
                       }
                   }
                   return worst;
                 },
             .results = {w.span(), v.span()},
             .info = std::span(info.data(), static_cast<std::size_t>(count))});
  }

  void measure_gesvd() {
    constexpr std::int64_t n = 64;
    std::int64_t const count = scaled(32'768);
    Host a(queues[0], n * n * count, true), u(queues[0], n * n * count, true), vt(queues[0], n * n * count, true),
        s(queues[0], n * count, true);
    PinnedArray<int> info(queues[0], count);
    fill(a.span(), n, 0);
    measure({.routine = "gesvd",
             .memory = "pinned",
             .n = n,
             .count = count,
             .run =
                 [&](Streamer& streamer) {
                   if (options.on_cpu) fill(a.span(), n, 0);  // where gesvd overwrites it
                   return streamer.run(
                       StreamOperand<Batch<double>>{batch(a.data(), n, n, {.count = count}), StreamUse::in},
                       out(vectors(s.data(), n, count)), out(batch(u.data(), n, n, {.count = count})),
                       out(batch(vt.data(), n, n, {.count = count})), out(info.data()),
                       [](Queue& q, auto da, auto ds, auto du, auto dvt, int* di) { gesvd<double>(q, SvdJob::thin, da, ds, du, dvt, di); });
                 },
             .error =
                 [&] {
                   if (options.on_cpu) fill(a.span(), n, 0);
                   double worst = 0;
                   for (std::int64_t const m : sample(count))
                     for (std::int64_t j = 0; j < n; ++j)
                       for (std::int64_t i = 0; i < n; ++i) {
                         double r = a.data()[(m * n + j) * n + i];
                         for (std::int64_t k = 0; k < n; ++k)
                           r -= u.data()[(m * n + k) * n + i] * s.data()[m * n + k] * vt.data()[(m * n + j) * n + k];
                         worst = std::max(worst, in_units(std::abs(r) / s.data()[m * n], n));
                       }
                   return worst;
                 },
             .results = {s.span(), u.span(), vt.span()},
             .info = std::span(info.data(), static_cast<std::size_t>(count))});
  }

  void measure_resident() {
    std::vector<ResidentBatch> batches;
    std::int64_t const count = scaled(200'000);
    for (Queue& queue : queues)
      batches.emplace_back(
          options.on_cpu ? QueueOptions{.backend = Backend::cpu} : QueueOptions{.backend = Backend::gpu, .device = queue.device().ordinal},
          count);
    int const steps = steps_of_half_a_second(batches);
    double of_one = 0;
    for (std::size_t const k : numbers_up_to(batches.size())) {
      double const seconds = seconds_together(std::span(batches).first(k), steps);
      double const rate = static_cast<double>(k) * static_cast<double>(count) * steps / seconds;
      if (of_one == 0) of_one = rate;
      double worst = 0;
      for (ResidentBatch& batch : std::span(batches).first(k)) worst = std::max(worst, batch.error());
      double const error = in_units(worst, ResidentBatch::n);
      pass = pass && error <= 30;
      add({{"routine", "solve"},
           {"n", ResidentBatch::n},
           {"from", "resident"},
           {"gpus", k},
           {"count", static_cast<std::int64_t>(k) * count},
           {"matrices_per_second", rate},
           {"times_one", rate / of_one},
           {"error", error}},
          fmt::format("solve, n = {}, resident, {}: {:.3g} matrices/s, {:.2f} times one; error {:.2g}", ResidentBatch::n, gpus(k), rate,
                      rate / of_one, error));
    }
  }

  /// A relative residual in units of n times the unit roundoff. NaN is infinite.
  static double in_units(double residual, std::int64_t n) {
    return std::isnan(residual) ? INFINITY : residual / (static_cast<double>(n) * 0x1p-53);
  }
};

/// An object as JSON, with a line for each value and for each element of its lists.
std::string text_of(Json const& object) {
  std::vector<std::string> lines;
  for (auto const& [key, value] : object.items()) {
    std::vector<std::string> elements;
    if (value.is_array())
      for (Json const& element : value) elements.push_back("\n  " + element.dump());
    lines.push_back(
        fmt::format("{}: {}", Json(key).dump(), value.is_array() ? fmt::format("[{}]", fmt::join(elements, ",")) : value.dump()));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
}

int run(Options const& options) {
  Bench bench{.options = options};
  if (options.on_cpu)
    bench.queues.emplace_back(QueueOptions{.backend = Backend::cpu});
  else
    for (Device const& gpu : devices()) bench.queues.emplace_back(QueueOptions{.backend = Backend::gpu, .device = gpu.ordinal});
  if (bench.queues.empty()) bench.queues.emplace_back(QueueOptions{.backend = Backend::gpu});  // throws, and says why there is none
  std::vector<Queue>& queues = bench.queues;
  Json out{{"gpu", options.on_cpu ? "CPU" : queues[0].device().name},
           {"gpus", queues.size()},
           {"cores", std::thread::hardware_concurrency()},
           {"driver", gpu_report().driver_version},
           {"commit", MYRIAD_COMMIT},
           {"date", fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(std::time(nullptr)))},
           {"command", fmt::format("several_gpus_bench --scale {} --repeats {}", options.scale, options.repeats)},
           {"links", Json::array()},
           {"peers", Json::array()}};
  fmt::print("{} x {}\n", queues.size(), out["gpu"].get<std::string>());
  if (!options.on_cpu) {
    for (std::size_t const k : numbers_up_to(queues.size())) {
      HostLink const link = host_link(std::span(queues).first(k));
      bench.links.push_back(link);
      out["links"].push_back({{"gpus", k}, {"to_device", link.to_device}, {"to_host", link.to_host}, {"both", link.both}});
      fmt::print("link of {}: {:.1f} GB/s from the host, {:.1f} GB/s to the host, {:.1f} GB/s both at once\n", gpus(k),
                 link.to_device * 1e-9, link.to_host * 1e-9, link.both * 1e-9);
    }
    for (std::size_t k = 1; k < queues.size(); ++k) try {
        PeerLink const link = peer_link(queues[0], queues[k]);
        out["peers"].push_back({{"from", 0}, {"to", k}, {"copy", link.copy}, {"direct", link.direct}});
        fmt::print("GPU 0 to GPU {}: {:.1f} GB/s by copy, {:.1f} GB/s direct\n", k, link.copy * 1e-9, link.direct * 1e-9);
      } catch (Error const& problem) {
        fmt::print(stderr, "several_gpus_bench: GPU 0 to GPU {}: {}\n", k, problem.what());  // the other measurements do not need it
      }
  }
  auto const save = [&] {
    out["rows"] = bench.rows;
    if (options.json.empty()) return;
    std::ofstream file(options.json);
    file << text_of(out);
    if (!file.flush()) throw Error(fmt::format("{} cannot be written", options.json));
  };
  std::array const measurements{std::function([&] { bench.measure_solve(true); }), std::function([&] { bench.measure_solve(false); }),
                                std::function([&] { bench.measure_syevd(); }), std::function([&] { bench.measure_gesvd(); }),
                                std::function([&] { bench.measure_resident(); })};
  static_assert(measurements.size() == parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (!options.only.empty() && std::count(options.only.begin(), options.only.end(), parts[k]) == 0) continue;
    measurements[k]();
    save();
  }
  if (!bench.pass) fmt::print(stderr, "several_gpus_bench: a result is wrong\n");
  return bench.pass ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  CLI::App app("Measures the links of a host with several GPUs, and batches that are streamed or resident on 1, 2, 4, ... of them.");
  app.add_option("--json", options.json, "file for all numbers");
  app.add_option("--scale", options.scale, "factor for the numbers of matrices")->check(CLI::PositiveNumber);
  app.add_option("--repeats", options.repeats, "runs, of which the fastest counts")->check(CLI::PositiveNumber);
  app.add_option("--only", options.only, "measurements to make, of all of them")->delimiter(',')->check(CLI::IsMember(parts));
  app.add_flag("--cpu", options.on_cpu, "run on the CPU instead, to test the benchmark itself");
  CLI11_PARSE(app, count, arguments);
  try {
    return run(options);
  } catch (std::exception const& error) {
    fmt::print(stderr, "several_gpus_bench: {}\n", error.what());
    return 2;
  }
}
