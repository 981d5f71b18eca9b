#include "gpu/run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

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

namespace myriad::bench {
namespace {

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

}  // namespace

bool run(Options const& options) {
  Queue queue({.backend = Backend::gpu, .device = options.device});
  Peers peers(queue.stream(), !options.no_peers);
  if (!peers.problem().empty()) fmt::print(stderr, "{}: {}\n", options.program, peers.problem());
  EnergyMeter const meter(queue.device());
  double const rate = copy_rate(queue);
  Json out;
  out["gpu"] = queue.device().name;
  out["driver"] = gpu_report().driver_version;
  if (peers.has_cublas()) out["cublas"] = peers.cublas_version();
  if (peers.has_cusolver()) out["cusolver"] = peers.cusolver_version();
  out["commit"] = MYRIAD_COMMIT;
  out["command"] = options.command;
  out["date"] = fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(std::time(nullptr)));
  out["copy_rate"] = rate;
  out["rows"] = Json::array();
  TableColumns const columns(options.ragged.second > 0 ? std::vector<std::string>{} : options.routines);
  bool pass = true;
  auto const add = [&](Json const& row) {
    pass = pass && row["pass"];
    if (out["rows"].empty()) fmt::print("{}\n{}", headline(out), table_head(columns));
    out["rows"].push_back(row);
    fmt::print("{}", table_row(row, columns));
    std::fflush(stdout);
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
  draw(out, options);
  if (!pass) fmt::print(stderr, "{}: a residual is too large\n", options.program);
  return pass;
}

}  // namespace myriad::bench
