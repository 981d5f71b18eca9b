#include "commands/operands.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "io/error.hpp"
#include "terminal.hpp"

namespace myriad::cli {

char const* const matrices_help =
    "File of matrices: .npy of shape (m, n) or (batch, m, n); FILE.npz:NAME, an array of an archive; FILE.npz, if the archive has one "
    "array or "
    "only matrices x_0, x_1, ... (else FILE.npz:x); a Matrix Market file; a quoted pattern of such files, 'cells/*/A.mtx', in natural "
    "order; a "
    "list of such files, one per line (@FILE, or a name that ends in .txt, .lst or .list)";
char const* const right_hand_sides_help =
    "As A, or vectors: (n), (n, k), (batch, n) or (batch, n, k). One matrix of A or B serves a whole batch of the other. With a batch of A "
    "two axes are (batch, n) where that fits, else (n, k)";

namespace {

void check_rectangular(io::Source const& source, bool square) {
  if (source.vectors()) throw io::Error(fmt::format("{}: {} is a vector, not a matrix", source.name(), source.describe()));
  if (!square) return;
  for (std::int64_t m = 0; m < (source.ragged() ? source.count() : 1); ++m) {
    if (source.rows_of(m) == source.cols_of(m)) continue;
    std::string const file = source.file_of(m);
    throw io::Error(fmt::format("{}: the matrices must be square, {} is {} x {}", file.empty() ? source.name() : file,
                                source.ragged() ? "this one" : "each", source.rows_of(m), source.cols_of(m)));
  }
}

/// Patterns with the same wildcards in the folder pair files folder by folder.
void check_folders(io::Source const& a, io::Source const& b) {
  if (a.folder_pattern().empty() || a.folder_pattern() != b.folder_pattern()) return;
  for (std::int64_t m = 0; m < std::min(a.count(), b.count()); ++m) {
    auto const folder = [m](io::Source const& s) { return std::filesystem::path(s.file_of(m)).parent_path(); };
    if (folder(a) != folder(b))
      throw io::Error(fmt::format("matrix {} would pair {} with {}: one of the folders lacks a file that '{}' or '{}' asks for", m,
                                  a.file_of(m), b.file_of(m), a.name(), b.name()));
  }
}

}  // namespace

Operands open_operands(std::string const& a_name, std::string const& b_name, Match match, Options const& options) {
  Operands o;
  o.a = io::open_source(a_name, options.convert_to());
  o.b = io::open_source(b_name, options.convert_to());
  check_rectangular(*o.a, match == Match::vectors);
  io::Source& a = *o.a;
  io::Source& b = *o.b;
  o.dtype = io::promote(a.dtype(), b.dtype());

  auto const needed = [&](std::int64_t m) { return match == Match::rows ? a.rows_of(m) : a.cols_of(m); };
  if (match == Match::vectors && !a.ragged() && b.single() && !b.vectors() && b.cols() == needed(0) && (b.cols() != 1 || b.rows() != 1))
    b.as_vectors();
  // (batch, n): one vector per matrix. This reading precedes that of one n x k matrix for all; a note says so where both fit.
  if (!a.single() && b.single() && !b.vectors() && !a.ragged() && b.rows() == a.count() && b.cols() == needed(0)) {
    bool const ambiguous = b.rows() == needed(0);
    if (b.as_vectors() && ambiguous)
      say(stderr, "myriad: note: {} with {} is taken as one vector per matrix of {}; as one matrix for all it would be {}\n", b.name(),
          b.describe(), a.name(), io::to_string({1, needed(0), b.rows()}));
  }
  check_folders(a, b);

  for (std::int64_t m = 0; match == Match::vectors && m < (b.ragged() ? b.count() : 1); ++m)
    if (b.cols_of(m) != 1)
      throw io::Error(fmt::format("{}: a vector per matrix is needed, and this has {} columns ({}); for more there is myriad multiply",
                                  b.file_of(m).empty() ? b.name() : b.file_of(m), b.cols_of(m), b.describe()));

  o.single = a.single() && b.single();
  o.a_input = {.source = &a, .broadcast = a.count() == 1 && b.count() != 1};
  o.b_input = {.source = &b, .broadcast = b.count() == 1 && a.count() != 1};
  if (a.count() != b.count() && !o.a_input.broadcast && !o.b_input.broadcast)
    throw io::Error(fmt::format("{} holds {} matrices ({}) and {} holds {} ({})", a.name(), a.count(), a.describe(), b.name(), b.count(),
                                b.describe()));
  o.count = o.a_input.broadcast ? b.count() : a.count();

  bool const ragged = o.ragged();
  for (std::int64_t m = 0; m < (ragged ? o.count : 1); ++m) {
    std::int64_t const i = o.a_input.broadcast || a.count() == 0 ? 0 : m, j = o.b_input.broadcast || b.count() == 0 ? 0 : m;
    if (needed(i) == b.rows_of(j)) continue;
    std::string const where = ragged ? fmt::format("matrix {}: ", m) : std::string();
    std::string const a_file = a.file_of(i).empty() ? a.name() : a.file_of(i), b_file = b.file_of(j).empty() ? b.name() : b.file_of(j);
    throw io::Error(fmt::format("{}the shapes do not match: a matrix of {} is {} x {}, so {} needs {} rows and has {} ({})", where, a_file,
                                a.rows_of(i), a.cols_of(i), b_file, needed(i), b.rows_of(j), b.describe()));
  }
  return o;
}

std::unique_ptr<io::Source> open_matrices(std::string const& name, bool square, Options const& options) {
  auto source = io::open_source(name, options.convert_to());
  check_rectangular(*source, square);
  return source;
}

std::string how_many(std::int64_t count, bool single, char const* one, char const* many, io::Source const& sizes) {
  std::string const size = fmt::format("{}{} x {}", sizes.ragged() ? "up to " : "", sizes.rows(), sizes.cols());
  bool const vowel = std::string_view("aeiou").find(one[0]) != std::string_view::npos;
  if (single) return fmt::format("{} {} of {}", vowel ? "an" : "a", one, size);
  return fmt::format("{} {} of {}", count, count == 1 ? one : many, size);
}

}  // namespace myriad::cli
