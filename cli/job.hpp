#pragma once
/// One run of a subcommand that works on a batch: common options, the queue, result files, failures, time, and the final summary. Under
/// mpirun each rank has a share of the matrices.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "io/results.hpp"
#include "io/source.hpp"
#include "journal.hpp"
#include "myriad/error.hpp"
#include "myriad/queue.hpp"
#include "myriad/stream.hpp"
#include "myriad/types.hpp"
#include "progress.hpp"
#include "ranks.hpp"

namespace myriad::cli {

/// Options of every computing subcommand.
struct Options {
  std::string output;
  std::string info;
  std::string backend = "auto";
  std::string device;  ///< empty: the first GPU, under mpirun that of the local rank
  OnGpuFailure on_gpu_failure = OnGpuFailure::stop;
  int threads = 0;
  std::string dtype;
  std::uint64_t chunk = std::uint64_t{256} << 20;
  bool verify = false;
  double tolerance = 0;  ///< 0: none
  bool json = false;
  bool resume = false;
  CLI::App const* command = nullptr;  ///< the subcommand, which knows what was given

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

class Job;

/// The action of a subcommand that works on a batch: runs work(job) and returns its status. Under mpirun an error of any rank ends all of
/// them, and rank 0 throws it.
[[nodiscard]] Action batch(std::string command, std::string verb, Options const& options, std::function<int(Job&)> work);

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

  /// Opens the result files: that of -o, with these fields, and that of --info. Called once, after the inputs have been checked.
  void open_results(std::vector<io::Field> fields, io::Layout layout);
  /// The matrices that this process has to do. `cost(b)`: time that matrix b takes, in any unit; the same for all unless `ragged`.
  /// Outcomes recorded before concern the whole batch.
  [[nodiscard]] Ranges share(bool ragged, std::function<std::int64_t(std::int64_t)> const& cost);
  /// Saves the results of matrices first to first + count - 1: one pointer per field, and the statuses for --info.
  void save(std::int64_t first, std::int64_t count, std::span<void const* const> data, int const* info);
  /// Ends a chunk of matrices whose results were saved. What was recorded since the one before belongs to it.
  void finish_chunk(std::int64_t first, std::int64_t count);

  /// compute(operands..., work) calls work(queue, arguments...) on the queues of --backend and --device, as Streamer::run does, and adds up
  /// the time.
  template <typename... Arguments>
  void compute(Arguments&&... operands_and_work) {
    try {
      // Kernels are loaded first, so that the time of computing excludes it.
      for (Queue& gpu : gpus_) try {
          gpu.prepare([&] { streamer_.run(operands_and_work...); });
        } catch (Error const&) {
          if (gpus_.size() == 1) throw;  // else the run meets the error again, names the GPU, and does as --on-gpu-failure says
        }
      count(streamer_.run(operands_and_work...));
    } catch (Unavailable const& reason) {
      if (!gpus_.empty()) throw UsageError(std::string("--backend gpu: ") + reason.what());
      throw;
    } catch (GpuError const& reason) {
      throw UsageError(with_progress(reason.what()));
    } catch (OutOfMemory const& reason) {
      throw UsageError(with_progress(reason.what()));
    }
  }

  /// Records that matrix b failed. `reason` is only called for the few that are listed.
  void fail(std::int64_t b, int info, std::function<std::string()> const& reason);
  /// Records the result of --verify for matrix b, which fails above the tolerance or, without one, above what rounding explains.
  void verified(std::int64_t b, Verified const& found);
  /// Records a warning for the summary; the status does not change. `text` is only called for the few that are listed.
  void warn(std::function<std::string()> const& text);
  /// Completes the result files, prints the summary and what failed; returns the exit status.
  [[nodiscard]] int finish();
  /// Ends the job of all ranks after an error of this one, and keeps what is finished for --resume. Throws a UsageError with the problem,
  /// that of another rank if it came first. Ranks other than 0 return the exit status instead.
  int stop(std::string const& problem);
  /// Whether the result files are open on all ranks.
  [[nodiscard]] bool started() const { return opened_; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool kept() const { return journal_ || (opened_ && !ranks_.first()); }
  [[nodiscard]] nlohmann::json description() const;
  [[nodiscard]] static nlohmann::json view(nlohmann::json description);
  void open_first(std::vector<io::Field> const& fields, io::Layout const& layout, nlohmann::json const& job);
  void open_files(std::vector<io::Field> const& fields, io::Layout const& layout, io::Access access);
  [[nodiscard]] std::vector<io::FileIdentity> identities() const;
  void record();
  void receive(Ranks::Message const& message);
  void wait_for_others();
  int wait_for_status();
  void show_progress();
  void discard_unless_finished();
  void complete_files();
  [[nodiscard]] std::string label(std::int64_t b) const;
  [[nodiscard]] std::string file_of(std::int64_t b) const;
  void count(StreamReport const& report);
  [[nodiscard]] std::string with_progress(std::string const& problem) const;
  [[nodiscard]] std::string gpus_text() const;
  void warn_of_failed_gpus();
  void print_summary(double seconds) const;
  void print_json(double seconds) const;

  Ranks& ranks_ = Ranks::all();
  std::string command_, verb_;
  Options options_;
  Queue host_;
  std::string gpu_problem_;                 ///< why --backend auto is the CPU
  std::vector<StreamShare> unopened_gpus_;  ///< failed while their queues were opened; filled before gpus_ is
  std::vector<Queue> gpus_;
  Streamer streamer_;
  StreamReport computed_;              ///< sums over all calls, and over all ranks in the end; shares are those of this rank
  StreamReport others_computed_;       ///< sums over the other ranks
  double slowest_ = 0;                 ///< seconds of computing by the rank that took longest
  std::optional<HostLink> link_;       ///< if data went over it
  std::vector<io::ResultFile> files_;  ///< that of -o, that of --info
  bool opened_ = false;
  bool committed_ = false;          ///< the result files have their names
  Ranges pending_;                  ///< matrices that no earlier run has finished
  std::optional<Journal> journal_;  ///< of rank 0, if others or a later run need it
  Chunk chunk_;                     ///< the current one
  std::vector<Chunk> finished_;     ///< chunks of this process that are not recorded
  std::vector<Chunk> chunks_;       ///< finished chunks of a process that keeps no journal
  Clock::time_point recorded_ = Clock::now();
  std::size_t listed_failures_ = 0, listed_warnings_ = 0;  ///< by this process
  std::int64_t done_ = 0, resumed_ = 0;                    ///< matrices in all; by earlier runs
  int others_done_ = 0;                                    ///< ranks that have ended their work
  bool ending_ = false;                                    ///< rank 0 has asked the others to stop
  std::optional<std::string> other_problem_;               ///< of another rank
  std::optional<int> status_;                              ///< from rank 0

  std::vector<io::Source const*> inputs_;
  std::string what_;
  Dtype dtype_ = Dtype::f64;
  std::int64_t count_ = 0;
  Chunk all_;  ///< outcome of the whole batch
  Clock::time_point start_ = Clock::now();
  ProgressBar bar_{ranks_.show_progress()};
};

}  // namespace myriad::cli
