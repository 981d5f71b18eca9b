// `gpu_bench`: the GPU routines against cuBLAS in one run; see tools/gpu-check.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "gpu/report.hpp"
#include "gpu/run.hpp"
#include "myriad/queue.hpp"

int main(int count, char** arguments) {
  myriad::bench::Options options;
  for (int n = 1; n <= 32; ++n) options.sizes.push_back(n);
  CLI::App app("Times the GPU routines against cuBLAS and cuSOLVER in one run.");
  app.add_option("--routine", options.routines, "names out of --list")->delimiter(',');
  app.add_option("--n", options.sizes, "sizes")->delimiter(',');
  app.add_option("--dtype", options.dtypes, "of s, d, c, z, and of gemm half, bfloat16, complex_half")
      ->delimiter(',')
      ->check(CLI::IsMember({"s", "d", "c", "z", "half", "bfloat16", "complex_half"}));
  app.add_option("--k", options.k, "terms of gemm, columns of A of gemv and gesvd; 0: n")->check(CLI::NonNegativeNumber);
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
  app.add_flag("--cpu", options.on_cpu, "run on the CPU instead, to test the benchmark itself");
  bool only_name = false, list = false;
  app.add_flag("--name", only_name, "only print the name of the GPU");
  app.add_flag("--list", list, "only print the routines that can be measured, one a line");
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
  if (options.ragged.second > 0)
    for (std::string const& dtype : options.dtypes)
      if (dtype.size() > 1) {
        fmt::print(stderr, "gpu_bench: --ragged is of s, d, c, z, not of {}\n", dtype);
        return 2;
      }
  options.command = fmt::format("gpu_bench {}", fmt::join(arguments + 1, arguments + count, " "));
  if (list) {
    fmt::print("{}\n", fmt::join(myriad::bench::measured_routines(), "\n"));
    return 0;
  }
  try {
    if (!draw.empty()) {
      myriad::bench::Json const results = myriad::bench::read_results(draw);
      fmt::print("{}\n{}", myriad::bench::headline(results), myriad::bench::table(results["rows"]));
      myriad::bench::draw(results, options);
      return 0;
    }
    if (only_name) {
      fmt::print("{}\n", myriad::Queue({.backend = myriad::Backend::gpu, .device = options.device}).device().name);
      return 0;
    }
    return myriad::bench::run(options) ? 0 : 1;
  } catch (std::exception const& error) {
    fmt::print(stderr, "gpu_bench: {}\n", error.what());
    return 2;
  }
}
