#include "gpu/run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "commit.hpp"
#include "core/dtype.hpp"
#include "gpu/bench.hpp"
#include "gpu/peers.hpp"
#include "gpu/ragged_bench.hpp"
#include "gpu/report.hpp"
#include "myriad/myriad.hpp"
#include "plot/chart.hpp"

namespace myriad::bench {
namespace {

double copy_rate(Queue& queue) {
  std::int64_t const elements = std::int64_t{1} << (queue.backend() == Backend::gpu ? 27 : 20);
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

/// Every size, and every triangle where the routine has that argument.
std::vector<std::pair<Uplo, int>> triangles_and_sizes(Options const& options, std::string const& routine) {
  std::vector<std::pair<Uplo, int>> out;
  std::vector<std::string> const any{"lower"};
  for (std::string const& uplo : measured_of(routine).routine->has_on_gpu('u') ? options.uplos : any)
    for (int const n : options.sizes) out.emplace_back(uplo == "lower" ? Uplo::lower : Uplo::upper, n);
  return out;
}

}  // namespace

bool run(Options const& options) {
  Queue queue({.backend = options.on_cpu ? Backend::cpu : Backend::gpu, .device = options.device});
  Device device;
  device.name = "CPU";
  if (!options.on_cpu) device = queue.device();
  Peers peers(options.on_cpu ? nullptr : queue.stream(), !options.no_peers && !options.on_cpu);
  if (!peers.problem().empty()) fmt::print(stderr, "{}: {}\n", options.program, peers.problem());
  EnergyMeter const meter(device);
  double const rate = copy_rate(queue);
  Json out;
  out["gpu"] = device.name;
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
    if (!options.json.empty())
      plot::write_file(options.json, out.dump(1) + "\n");  // saved after each row, so that an interruption loses nothing
  };
  Session const session{queue, options, peers, meter, device.l2_bytes, rate};
  if (options.ragged.second > 0) {
    for (std::string const& dtype : options.dtypes)
      with_dtype(dtype_named(dtype).value(), [&]<typename T>() { add(RaggedBench<T>(session).row()); });
  } else {
    for (std::string const& routine : options.routines)
      for (std::string const& dtype : options.dtypes)
        for (std::string const& layout : options.layouts)
          for (auto const& [uplo, n] : triangles_and_sizes(options, routine))
            add(row_of(session, routine, dtype_named(dtype).value(), n, layout, uplo));
  }
  draw(out, options);
  if (!pass) fmt::print(stderr, "{}: a residual is too large\n", options.program);
  return pass;
}

}  // namespace myriad::bench
