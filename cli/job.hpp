#pragma once
/// One run of a subcommand: common options, the queue, failures, time, and the final summary.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "io/source.hpp"
#include "myriad/error.hpp"
#include "myriad/queue.hpp"
#include "myriad/stream.hpp"
#include "myriad/types.hpp"
#include "progress.hpp"

namespace myriad::cli {

/// Options of every computing subcommand.
struct Options {
  std::string output;
  std::string info;
  std::string backend = "auto";
  int threads = 0;
  std::string dtype;
  std::uint64_t chunk = std::uint64_t{256} << 20;
  bool verify = false;
  double tolerance = 0;  ///< 0: none
  bool json = false;

  [[nodiscard]] std::optional<Dtype> convert_to() const;
};

/// The options that a subcommand has.
struct Offers {
  bool info = true;
  bool verify = true;
  char const* verify_help = "";
  char const* output_help = "";
};

/// Declares the options on a subcommand.
void add_options(CLI::App& app, Options& options, Offers const& offers);

/// Help text, wrapped to the column beside the names of the options.
[[nodiscard]] std::string wrapped(std::string_view text);

/// "64M", "2GiB" or "1000" in bytes. Throws UsageError.
[[nodiscard]] std::uint64_t parse_size(std::string const& text);

/// "auto", "cpu" or "gpu".
[[nodiscard]] Backend parse_backend(std::string const& text);
[[nodiscard]] char const* name_of(Backend backend);

/// The backward error of a result.
struct Verified {
  double error = 0;
  double bound = 0;                  ///< the largest error that rounding explains
  std::optional<double> normwise{};  ///< judged instead of a componentwise `error` that the routine does not promise to keep small
  std::string place{};               ///< where `error` is largest, if known
};

class Job {
 public:
  Job(std::string command, std::string verb, Options const& options);
  Job(Job const&) = delete;
  Job& operator=(Job const&) = delete;

  [[nodiscard]] Options const& options() const { return options_; }
  /// A CPU queue for all work other than the command's routines, such as checks.
  [[nodiscard]] Queue& queue() { return host_; }

  /// Describes the inputs for the summary; the first one names the matrices.
  void describe(std::vector<io::Source const*> inputs, std::int64_t count, std::string what, Dtype dtype);

  /// compute(operands..., work) calls work(queue, arguments...) on the queue of --backend, as Streamer::run does, and adds up the time.
  template <typename... Arguments>
  void compute(Arguments&&... operands_and_work) {
    try {
      // Kernels are loaded first, so that the time of computing excludes it.
      if (gpu_) gpu_->prepare([&] { streamer_.run(operands_and_work...); });
      count(streamer_.run(operands_and_work...));
    } catch (Unavailable const& reason) {
      if (gpu_) throw UsageError(std::string("--backend gpu: ") + reason.what());
      throw;
    }
  }

  /// Records that matrix b failed. `reason` is only called for the few that are listed.
  void fail(std::int64_t b, int info, std::function<std::string()> const& reason);
  /// Records the result of --verify for matrix b, which fails above the tolerance or, without one, above what rounding explains.
  void verified(std::int64_t b, Verified const& found);
  /// Records a warning for the summary; the status does not change. `text` is only called for the few that are listed.
  void warn(std::function<std::string()> const& text);
  /// Shows progress on a terminal, after the first second.
  void progress(std::int64_t done);
  /// Prints the summary and what failed; returns the exit status.
  [[nodiscard]] int finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Failure {
    std::int64_t matrix;
    int info;
    std::string reason;
  };

  [[nodiscard]] std::string label(std::int64_t b) const;
  [[nodiscard]] std::string file_of(std::int64_t b) const;
  void count(StreamReport const& report);
  void print_summary(double seconds) const;
  void print_json(double seconds) const;

  std::string command_, verb_;
  Options options_;
  Queue host_;
  std::string gpu_problem_;  ///< why --backend auto is the CPU
  std::optional<Queue> gpu_;
  Streamer streamer_;
  StreamReport computed_;         ///< sums over all calls
  std::optional<HostLink> link_;  ///< if data went over it
  std::vector<io::Source const*> inputs_;
  std::string what_;
  Dtype dtype_ = Dtype::f64;
  std::int64_t count_ = 0;
  std::vector<Failure> failures_;  ///< the first few
  std::int64_t failed_ = 0;
  std::vector<std::string> warnings_;  ///< the first few
  std::int64_t warned_ = 0;
  std::optional<double> worst_;  ///< NaN if any error is NaN
  std::int64_t worst_matrix_ = -1;
  Clock::time_point start_ = Clock::now();
  ProgressBar bar_;
};

}  // namespace myriad::cli
