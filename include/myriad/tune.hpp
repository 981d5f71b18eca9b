#pragma once
/// Autotuning: finds the fastest configs of kernels for a GPU by measurement.
///
/// A config is the tunable constants of a kernel, such as tile sizes, lanes per matrix and registers per lane. A plan computes them from
/// the sizes. Measured configs of a table have precedence: the user's table, else the one that the library ships for the GPU. The config
/// changes times; it changes bits of results only where docs/tuning.md says so.

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

/// An entry of a table: the fastest config for a kernel, type and sizes, with its measured time.
struct TunedConfig {
  std::string kernel;                                 ///< "gemm_pipelined"
  Dtype dtype = Dtype::f32;                           ///< element type
  std::array<std::int64_t, 3> sizes{};                ///< the meaning depends on the kernel: m, n, k of a product
  std::vector<std::pair<std::string, int>> config{};  ///< names and values; the plan's if nothing was faster
  double seconds = 0;                                 ///< median time of a call
  double planned_seconds = 0;                         ///< the same with the plan's config, in the same run
  std::int64_t tried = 0;                             ///< configs that were timed
  std::string gpu{};                                  ///< GPU on which it was measured
  std::string date{};                                 ///< day of the measurement
  int driver = 0;                                     ///< 13000 is CUDA 13.0
  std::vector<std::pair<std::string, int>> plan{};    ///< the config of `planned_seconds`; empty in older tables

  /// Speedup over the plan's config.
  [[nodiscard]] double gain() const { return seconds > 0 ? planned_seconds / seconds : 1; }
};

struct TuneOptions {
  /// Seconds for the whole search, including compilation. Problems that no longer fit are not started; a started one tries at least eight
  /// configs.
  double budget = 60;
  /// Restores what a call changes. Called with the queue before each call; not timed.
  std::function<void(Queue&)> refresh{};
  /// Reports progress: index of the problem from 0, number of problems, and the part of the problem that is done, from 0 to 1 (1 at once if
  /// the user's table has it). Not called if the calls launch no tunable kernel. Return false to stop.
  std::function<bool(std::size_t problem, std::size_t problems, double done)> progress{};
  std::size_t candidates = 40;  ///< maximum number of configs tried per problem
  int threads = 0;              ///< concurrent compilations; 0: number of cores
  bool again = false;           ///< also tune problems that the user's table has
};

/// Times configs of the kernels that `calls` launches, stores the fastest in this process and in the user's table, and returns them.
///
/// `calls` gets a queue of the same GPU and must only call routines. It is called repeatedly and by several threads at once, only one of
/// which launches anything. The operands should be several times larger than the caches, or as large as in production if they are in cache
/// there. Each entry is stored as soon as it is known, so an interrupted search loses only the current problem.
///
/// The search is successive halving: all candidates are timed briefly, the faster half again and longer, and so on. The winner and the plan
/// are then timed in turns until they differ or a limit is reached. A config replaces the plan only if it is faster by more than the
/// scatter of the times.
///
/// Throws BadArgument (queue 1: is on the CPU, or being prepared or captured; calls 2; options 3: the budget), Unavailable without a
/// compiler, and Error if the table cannot be written.
MYRIAD_API std::vector<TunedConfig> tune(Queue& queue, std::function<void(Queue&)> const& calls, TuneOptions const& options = {});

/// Folder of the user's tables: MYRIAD_TUNED_DIR ("off": none), else $XDG_CONFIG_HOME/myriad, else ~/.config/myriad. Empty if there is
/// none.
MYRIAD_API std::string tuned_folder();

/// Reads the entries of a table, in the user's folder or elsewhere. Throws Error if the file cannot be read or is damaged.
MYRIAD_API std::vector<TunedConfig> read_tuned(std::string const& path);
/// Path of the user's table for GPUs of this name, such as NVIDIA-H200.json in tuned_folder(); empty if there is no folder.
MYRIAD_API std::string tuned_path(std::string_view gpu);

}  // namespace myriad
