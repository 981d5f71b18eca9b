#pragma once
/// The processes of one job: those that mpirun has started, or this one alone.

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/plugin.hpp"

namespace myriad::cli {

/// Thrown on the other ranks where rank 0 ends the job, which also says why.
struct Stopped {};

class Ranks {
 public:
  struct Message {
    int from;
    std::string text;
  };

  /// This process among the others; alone until open().
  static Ranks& all();

  /// Joins the other processes if mpirun or another launcher of MPI has started this one. Throws UsageError where that cannot be done.
  void open();
  /// Waits for the others.
  void close();

  [[nodiscard]] int rank() const { return plugin_->rank; }
  [[nodiscard]] int size() const { return plugin_->size; }
  [[nodiscard]] bool several() const { return size() > 1; }
  /// Whether this is rank 0, which speaks for all.
  [[nodiscard]] bool first() const { return rank() == 0; }
  [[nodiscard]] int local_rank() const { return plugin_->local_rank; }
  [[nodiscard]] int hosts() const { return plugin_->hosts; }
  /// CPU threads for this rank: its share of the cores, unless MYRIAD_NUM_THREADS or OMP_NUM_THREADS is set; 0 where it is alone.
  [[nodiscard]] int threads() const;

  /// Whether stderr ends at a terminal, directly or through an mpirun that has started this process.
  [[nodiscard]] bool show_progress() const;

  void send(int to, std::string_view text) const { plugin_->send(to, text.data(), text.size()); }
  void send_to_others(std::string_view text) const;
  /// The next message, if one has come.
  [[nodiscard]] std::optional<Message> receive() const;
  /// Waits for the next message.
  [[nodiscard]] Message wait() const;

  /// Throws UsageError on rank 0 where any rank was started with other arguments, and Stopped on the others.
  void compare(std::vector<std::string> const& arguments) const;

  /// The ranks meet once, before the work: each says what keeps it from working, if anything, and describes the job as it sees it. Calls
  /// plan() on rank 0, and returns its result on all ranks. Throws UsageError on rank 0 where any rank has a problem or sees another job,
  /// or what plan() throws; and Stopped on the others.
  std::string meet(std::string const& problem, nlohmann::json const& job, std::function<std::string()> const& plan);
  [[nodiscard]] bool met() const { return met_; }

 private:
  MpiPlugin alone_;
  MpiPlugin const* plugin_ = &alone_;
  bool met_ = false;
};

/// "rank 3: problem"; the problem alone for rank 0, which is the first to see what all ranks see.
[[nodiscard]] std::string problem_of(int rank, std::string const& problem);

}  // namespace myriad::cli
