#pragma once
/// The journal of a job that several processes, or several runs, work on: what it computes, and which matrices are finished.
///
/// X.npy.journal is text: a line that says what is missing, a line of JSON that describes the job, and a line of JSON for each chunk whose
/// results are on the disk in X.npy.part. A line before these has the identities of the unfinished result files. The last line has sizes
/// and times of the result files: they were complete then, and being renamed.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/output_file.hpp"
#include "io/results.hpp"

namespace myriad::cli {

/// The outcome of some matrices.
struct Chunk {
  struct Failure {
    std::int64_t matrix;
    int info;
    std::string reason;
  };

  static constexpr std::size_t listed = 5;  ///< most failures, and most warnings, that are kept

  std::int64_t first = 0, count = 0;
  std::vector<Failure> failures;  ///< the first few
  std::int64_t failed = 0;
  std::vector<std::string> warnings;  ///< the first few
  std::int64_t warned = 0;
  std::optional<double> worst{};  ///< backward error; NaN if any is NaN
  std::int64_t worst_matrix = -1;
  std::vector<io::Piece> pieces;  ///< one per result file

  /// Keeps the larger backward error. NaN is the worst, for good.
  void keep_worse(double error, std::int64_t matrix);
  /// Adds the outcome of matrices that come later.
  void add(Chunk const& later);
};

[[nodiscard]] nlohmann::json to_json(Chunk const& chunk);
[[nodiscard]] Chunk chunk_of(nlohmann::json const& json);

/// Ranges of matrices: first and count.
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The matrices of `count` that are in no chunk.
[[nodiscard]] Ranges missing_from(std::vector<Chunk> const& chunks, std::int64_t count);

/// "X.npy is not complete: 3 of 10 matrices are done, and 0 to 4, 6, 9 are missing; --resume goes on from there"
[[nodiscard]] std::string missing_text(std::string const& output, std::vector<Chunk> const& chunks, std::int64_t count);

class Journal {
 public:
  /// Path of the journal of an output file.
  [[nodiscard]] static std::string path_for(std::string const& output) { return io::target_of(output) + ".journal"; }

  /// Opens the journal of `output`, whose job has `count` matrices and is described by `job`. With `resume` goes on with that of an earlier
  /// run, if there is one. Throws UsageError where that is of another job, where it has finished chunks and is not to be resumed, and where
  /// another process is at work on it.
  Journal(std::string const& command, std::string const& output, std::int64_t count, nlohmann::json const& job, bool resume);
  ~Journal();
  Journal(Journal const&) = delete;
  Journal& operator=(Journal const&) = delete;

  /// The chunks that are finished, in the order in which that was recorded.
  [[nodiscard]] std::vector<Chunk> const& chunks() const { return chunks_; }
  [[nodiscard]] std::string missing() const { return missing_text(output_, chunks_, count_); }
  /// Records the unfinished result files, before the first chunk.
  void begin(std::vector<io::FileIdentity> const& unfinished);
  /// Throws UsageError unless result file number f, whose unfinished file is open as `path`, is that of the chunks.
  void expect_unfinished(std::size_t f, io::FileIdentity const& file, std::string const& path) const;
  /// Records chunks whose results are on the disk.
  void add(std::vector<Chunk> chunks);
  /// Records that the result files are complete, before they get their names. `files`: where they are now.
  void complete(std::vector<std::string> const& files);
  /// Whether an earlier run has completed result file number f, and given it its name `path`.
  [[nodiscard]] bool has_completed(std::size_t f, std::string const& path) const;
  /// Deletes the file.
  void remove() noexcept;

 private:
  void read(std::string const& text, nlohmann::json const& job, bool resume);
  void start(nlohmann::json const& job);
  void append(std::string_view text);
  void write_missing();
  void write(std::string_view text, std::int64_t offset) const;

  std::string command_, output_, path_;
  std::int64_t count_;
  std::vector<Chunk> chunks_;
  std::vector<io::FileIdentity> unfinished_;
  nlohmann::json files_;  ///< identities of complete result files; null: they are not complete
  std::int64_t end_ = 0;  ///< bytes of the file
  int fd_ = -1;
};

/// Installs a handler by which one of the processes that a signal ends prints on stderr what the output lacks, as its journal says.
void report_missing_on_signal(std::string const& output);
void report_nothing_on_signal() noexcept;

}  // namespace myriad::cli
