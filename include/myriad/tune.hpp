#pragma once
/// Kernels made to fit the GPU at hand by trying.
///
/// A kernel has values that are free: how large its tiles are, how many lanes work on a matrix, how many registers a lane may have. A plan
/// computes them from the sizes. Where somebody has measured what is fastest, a table has them instead: of the user's own, else one that
/// the library ships for the GPU. Which of them is taken changes times, and bits of results only where docs/tuning.md says so.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "myriad/export.h"
#include "myriad/queue.hpp"
#include "myriad/types.hpp"

namespace myriad {

/// An entry of a table: the fastest config for a kernel, a type and sizes, with its measurement.
struct TunedConfig {
  std::string kernel;                                 ///< "gemm_pipelined"
  Dtype dtype = Dtype::f32;                           ///< element type
  std::array<std::int64_t, 3> sizes{};                ///< what they mean is up to the kernel: m, n, k of a product
  std::vector<std::pair<std::string, int>> config{};  ///< names and values, those of the plan where nothing was faster
  double seconds = 0;                                 ///< median of a call
  double planned_seconds = 0;                         ///< the same with the values of the plan, in the same run
  std::int64_t tried = 0;                             ///< configs that were timed
  std::string gpu{};                                  ///< where it was measured
  std::string date{};                                 ///< and when
  int driver = 0;                                     ///< 13000 is CUDA 13.0
  std::vector<std::pair<std::string, int>> plan{};    ///< the config that `planned_seconds` is of; empty in older tables

  /// How many times as long the planned config takes.
  [[nodiscard]] double gain() const { return seconds > 0 ? planned_seconds / seconds : 1; }
};

struct TuneOptions {
  /// Seconds for everything, compiling included. What no longer fits is not begun; what is begun tries eight configs.
  double budget = 60;
  /// Puts back what a call changes; not timed. Called with the queue before each call.
  std::function<void(Queue&)> refresh{};
  /// Told what is going on: which problem of how many, and which part of it is done, from 0 to 1; of a problem that the user's table has,
  /// 1 at once. Where the calls come to no kernel that is tuned it is told nothing. Returns false to stop.
  std::function<bool(std::size_t problem, std::size_t problems, double done)> progress{};
  std::size_t candidates = 40;  ///< how many configs of a problem are tried at most
  int threads = 0;              ///< compilations at the same time; 0: as many as there are cores
  bool again = false;           ///< also what the user's table has already
};

/// Tries the configs of the kernels that `calls` come to, keeps the fastest in this process and in the user's table, and returns them.
///
/// `calls` is given a queue of the same GPU, several times and by several threads at once, though only one of these runs anything: it only
/// calls routines. What they take has to be larger than the caches several times over, or, if the calls to come find it there, as large as
/// it will be. An entry is kept as soon as it is known, so that nothing but the problem at hand is lost where the process is stopped.
///
/// Successive halving: all candidates are timed a little, the better half again and longer, and so on; what is left is timed in turns with
/// the plan until they are apart or have been timed often. A config is taken only if it beats the plan by more than the times scatter.
///
/// Throws BadArgument (queue 1: is on the CPU, or being prepared or captured; calls 2; options 3: the budget), Unavailable without a
/// compiler, Error where the table cannot be written.
MYRIAD_API std::vector<TunedConfig> tune(Queue& queue, std::function<void(Queue&)> const& calls, TuneOptions const& options = {});

/// The folder of the user's tables; empty: none. MYRIAD_TUNED_DIR ("off": none), else $XDG_CONFIG_HOME/myriad, else ~/.config/myriad.
MYRIAD_API std::string tuned_folder();

/// The entries of a table: a file of the user's folder, or another one. Throws Error where it cannot be read or is damaged.
MYRIAD_API std::vector<TunedConfig> read_tuned(std::string const& path);
/// The table of the user for GPUs of this name: NVIDIA-H200.json in their folder; empty where there is no folder.
MYRIAD_API std::string tuned_path(std::string_view gpu);

}  // namespace myriad
