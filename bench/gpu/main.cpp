// `gpu_bench`: the GPU routines against cuBLAS in one run; see tools/gpu-check.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <complex>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "commit.hpp"
#include "gpu/bench.hpp"
#include "gpu/half_bench.hpp"
#include "gpu/peers.hpp"
#include "gpu/ragged_bench.hpp"
#include "gpu/report.hpp"
#include "myriad/myriad.hpp"
#include "plot/chart.hpp"
#include "runtime/driver.hpp"

namespace myriad::bench {
namespace {

namespace driver = gpu::driver;
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

/// Every size, for every triangle where the routine is told one.
std::vector<std::pair<Uplo, int>> triangles_and_sizes(Options const& options, std::string const& routine) {
  std::vector<std::pair<Uplo, int>> out;
  std::vector<std::string> const any{"lower"};
  for (std::string const& uplo : Bench<double>::has_uplo(routine) ? options.uplos : any)
    for (int const n : options.sizes) out.emplace_back(uplo == "lower" ? Uplo::lower : Uplo::upper, n);
  return out;
}

int run(Options const& options) {
  Queue queue({.backend = Backend::gpu, .device = options.device});
  if (options.name) {
    fmt::print("{}\n", queue.device().name);
    return 0;
  }
  Peers peers(queue.stream());
  if (!peers.problem().empty()) fmt::print(stderr, "gpu_bench: {}\n", peers.problem());
  EnergyMeter const meter(queue.device());
  double const rate = copy_rate(queue);
  Json out;
  out["gpu"] = queue.device().name;
  out["driver"] = driver::load().version;
  out["cublas"] = peers.cublas_version();
  out["cusolver"] = peers.cusolver_version();
  out["commit"] = MYRIAD_COMMIT;
  out["command"] = options.command;
  out["date"] = fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(std::time(nullptr)));
  out["copy_rate"] = rate;
  out["rows"] = Json::array();
  bool pass = true;
  auto const add = [&](Json const& row) {
    pass = pass && row["pass"];
    out["rows"].push_back(row);
    if (!options.json.empty()) plot::write_file(options.json, out.dump(1) + "\n");  // nothing is lost if this is stopped
  };
  auto const of_type = [](std::string const& dtype, auto const& use) {
    return dtype == "s"   ? use(float())
           : dtype == "d" ? use(double())
           : dtype == "c" ? use(std::complex<float>())
                          : use(std::complex<double>());
  };
  if (options.ragged.second > 0) {
    for (std::string const& dtype : options.dtypes)
      add(of_type(dtype, [&]<typename T>(T) { return RaggedBench<T>(queue, options, peers, meter, rate).row(); }));
  } else {
    for (std::string const& routine : options.routines)
      for (std::string const& dtype : options.dtypes)
        for (std::string const& layout : options.layouts)
          for (auto const& [uplo, n] : triangles_and_sizes(options, routine)) {
            auto const bench = [&]<typename T>(T) { return Bench<T>(queue, options, peers, meter, rate, routine, n, layout, uplo).row(); };
            auto const half_bench = [&]<typename T>(T) {
              return HalfBench<T>(queue, options, peers, meter, rate, routine, n, layout).row();
            };
            add(dtype == "half"           ? half_bench(half())
                : dtype == "bfloat16"     ? half_bench(bfloat16())
                : dtype == "complex_half" ? half_bench(complex_half())
                                          : of_type(dtype, bench));
          }
  }
  report(out, options);
  if (!pass) fmt::print(stderr, "gpu_bench: a residual is too large\n");
  return pass ? 0 : 1;
}

}  // namespace
}  // namespace myriad::bench

int main(int count, char** arguments) {
  myriad::bench::Options options;
  for (int n = 1; n <= 32; ++n) options.sizes.push_back(n);
  CLI::App app("Times the GPU routines against cuBLAS and cuSOLVER in one run.");
  app.add_option("--routine", options.routines, fmt::format("of {}", fmt::join(myriad::bench::Bench<double>::routines, ", ")))
      ->delimiter(',');
  app.add_option("--n", options.sizes, "sizes")->delimiter(',');
  app.add_option("--dtype", options.dtypes, "of s, d, c, z, and of gemm half, bfloat16, complex_half")
      ->delimiter(',')
      ->check(CLI::IsMember({"s", "d", "c", "z", "half", "bfloat16", "complex_half"}));
  app.add_option("--k", options.k, "terms of products of half, bfloat16 and complex_half, columns of A of gemv; 0: n")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--ragged", options.ragged,
                 "two sizes: products of matrices of all sizes between them in one call, of s, d, c, z; with --routine gemv with vectors")
      ->check(CLI::PositiveNumber);
  app.add_option("--groups", options.groups, "of --ragged: a call of gemm_grouped with so many groups instead")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--layout", options.layouts, "of column_major, row_major, interleaved, pointers")
      ->delimiter(',')
      ->check(CLI::IsMember({"column_major", "row_major", "interleaved", "pointers"}));
  app.add_option("--uplo", options.uplos, "of lower, upper: the triangle that symv and hemv read")
      ->delimiter(',')
      ->check(CLI::IsMember({"lower", "upper"}));
  app.add_option("--arithmetic", options.arithmetic, "of standard, tf32, tf32x3: how gemm of single numbers multiplies")
      ->check(CLI::IsMember({"standard", "tf32", "tf32x3"}));
  app.add_option("--count", options.count, "matrices; 0: a million, 16 million up to n = 4, as far as --gigabytes goes, and at least one");
  app.add_option("--gigabytes", options.gigabytes, "of a matrix array, without --count; a quarter of it of 16-bit numbers")
      ->check(CLI::PositiveNumber);
  app.add_option("--energy", options.energy_seconds, "seconds to run each for its energy; 0: not measured");
  app.add_option("--repeats", options.repeats, "of which the median counts")->check(CLI::PositiveNumber);
  app.add_option("--device", options.device, "number of the GPU");
  app.add_flag("--no-peers", options.no_peers, "do not run cuBLAS");
  app.add_flag("--name", options.name, "only print the name of the GPU");
  app.add_option("--json", options.json, "file for all numbers");
  app.add_option("--plot", options.plot, "file for a picture (SVG): share of the copy rate against n");
  app.add_option("--curves", options.curves, "file for a picture (SVG): time of a matrix against n");
  app.add_option("--intensity", options.intensity,
                 "file for a picture (SVG): operations to a byte, and in a second, of products of complex_half, interleaved and planar");
  std::vector<std::string> draw;
  app.add_option("--draw", draw, "measure nothing: print and draw what these files hold, which --json wrote; needs no GPU")
      ->delimiter(',')
      ->check(CLI::ExistingFile);
  CLI11_PARSE(app, count, arguments);
  if (options.ragged.first > options.ragged.second) std::swap(options.ragged.first, options.ragged.second);
  options.command = fmt::format("gpu_bench {}", fmt::join(arguments + 1, arguments + count, " "));
  try {
    if (!draw.empty()) {
      myriad::bench::report(myriad::bench::read_results(draw), options);
      return 0;
    }
    return myriad::bench::run(options);
  } catch (std::exception const& error) {
    fmt::print(stderr, "gpu_bench: {}\n", error.what());
    return 2;
  }
}
