#pragma once
/// The inputs A and B of a command, and the check that their shapes match.

#include <memory>
#include <string>

#include "io/results.hpp"
#include "job.hpp"
#include "stream.hpp"

namespace myriad::cli {

/// A and B, with matching shapes.
struct Operands {
  std::unique_ptr<io::Source> a, b;
  Input a_input, b_input;
  Dtype dtype = Dtype::f64;  ///< of both after conversion
  std::int64_t count = 0;
  bool single = false;  ///< neither has a batch axis

  [[nodiscard]] bool ragged() const { return a->ragged() || b->ragged(); }
  /// Sizes of matrix m of A and B; those of the only matrix where all share it.
  [[nodiscard]] std::int64_t a_rows(std::int64_t m) const { return a->rows_of(a_input.broadcast ? 0 : m); }
  [[nodiscard]] std::int64_t a_cols(std::int64_t m) const { return a->cols_of(a_input.broadcast ? 0 : m); }
  [[nodiscard]] std::int64_t b_cols(std::int64_t m) const { return b->cols_of(b_input.broadcast ? 0 : m); }
};

/// The dimension of A that the rows of B must match; `vectors`: A is square and B a vector per matrix.
enum class Match { rows, cols, vectors };

/// Opens A and B, and checks that their shapes match. Throws io::Error.
[[nodiscard]] Operands open_operands(std::string const& a, std::string const& b, Match match, Options const& options);

/// Opens the one input of a command; `square` says whether its matrices must be. Throws io::Error.
[[nodiscard]] std::unique_ptr<io::Source> open_matrices(std::string const& name, bool square, Options const& options);

/// "100 matrices of 8 x 8" or "a matrix of 8 x 8".
[[nodiscard]] std::string how_many(std::int64_t count, bool single, char const* one, char const* many, io::Source const& sizes);

/// A field of a result with a matrix rows(m) by cols(m), or a column without its second axis, for every m.
template <typename Rows, typename Cols>
[[nodiscard]] io::Field matrix_field(std::string name, Dtype dtype, bool vectors, Rows rows, Cols cols) {
  return {std::move(name), io::descr_of(dtype), io::size_of(dtype), [=](std::int64_t m) {
            return vectors ? io::Shape{rows(m)} : io::Shape{rows(m), cols(m)};
          }};
}

/// Help text of the arguments A and B.
extern char const* const matrices_help;
extern char const* const right_hand_sides_help;

}  // namespace myriad::cli
