#pragma once
/// The benchmark of the GPU routines against cuBLAS and cuSOLVER, as `gpu_bench` and `myriad bench --backend gpu` run it.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace myriad::bench {

/// Names of what can be measured: routines that have kernels; "trsm-square" is trsm with as many right-hand sides as rows.
[[nodiscard]] std::vector<std::string> measured_routines();

struct Options {
  std::vector<std::string> routines{"getrf", "solve", "inverse", "potrf", "posv", "solve_positive_definite", "geqrf"};
  std::vector<int> sizes{};
  std::vector<std::string> dtypes{"s", "d"};
  std::vector<std::string> layouts{"column_major"};
  std::vector<std::string> uplos{"lower"};
  std::string arithmetic = "standard";  ///< of products of single numbers
  std::int64_t count = 0;
  double energy_seconds = 0;
  int repeats = 7;
  int device = 0;
  int k = 0;                                       ///< terms of products of 16-bit numbers, and columns of A of gemv; 0: n
  double gigabytes = 4;                            ///< a matrix array has at most, unless `count` says how many matrices
  std::pair<std::int64_t, std::int64_t> ragged{};  ///< bounds of sizes, of a ragged batch; 0: none
  std::int64_t groups = 0;                         ///< of which a batch of such sizes is made; 0: a ragged one
  bool no_peers = false;
  bool on_cpu = false;  ///< to test the benchmark
  std::string json, plot, curves, intensity;
  std::string command{};              ///< as it was given
  std::string program = "gpu_bench";  ///< what messages begin with
};

/// Prints a table, line by line as it is measured, and writes the files that the options name; false where a result is wrong. Throws Error.
bool run(Options const& options);

}  // namespace myriad::bench
