#pragma once
/// The benchmark of GPU routines against cuBLAS and cuSOLVER, for `gpu_bench` and `myriad bench --backend gpu`.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace myriad::bench {

/// Names of measurable routines, which have kernels; "trsm-square" is trsm with as many right-hand sides as rows.
[[nodiscard]] std::vector<std::string> measured_routines();

struct Options {
  std::vector<std::string> routines{"getrf", "solve", "inverse", "potrf", "posv", "solve_positive_definite", "geqrf"};
  std::vector<int> sizes{};
  std::vector<std::string> dtypes{"s", "d"};
  std::vector<std::string> layouts{"column_major"};
  std::vector<std::string> uplos{"lower"};
  std::string arithmetic = "standard";  ///< of products in single precision
  std::int64_t count = 0;
  double energy_seconds = 0;
  int repeats = 7;
  int device = 0;
  int k = 0;                                       ///< terms of 16-bit products, and columns of A in gemv and gesvd; 0: n
  double gigabytes = 4;                            ///< limit of an array of matrices, unless `count` is given
  std::pair<std::int64_t, std::int64_t> ragged{};  ///< bounds of the sizes of a ragged batch; 0: uniform
  std::int64_t groups = 0;                         ///< number of groups of such sizes; 0: a ragged batch
  bool no_peers = false;
  bool on_cpu = false;  ///< in tests of the benchmark
  std::string json, plot, curves, intensity;
  std::string command{};              ///< the command line
  std::string program = "gpu_bench";  ///< prefix of messages
};

/// Prints a table, line by line while measuring, and writes the files that the options name. Returns false if a result is wrong. Throws
/// Error.
bool run(Options const& options);

}  // namespace myriad::bench
