#pragma once
/// Argument checks. Every entry point runs them before anything is written; each failure is a BadArgument with LAPACK's position.

#include <cstdint>
#include <string_view>

#include "myriad/batch.hpp"
#include "myriad/error.hpp"
#include "myriad/queue.hpp"

namespace myriad {

/// A position in LAPACK's argument list and the name that stands there.
struct Argument {
  int position;
  char const* name;
};

/// Whether a routine only reads a batch or also writes it.
enum class Access { read, write };

/// A batch without its element type: what the checks need.
struct UntypedBatch {
  char const* data;
  char const* const* pointers;
  std::int64_t element_size;
  Batch<char const> shape;  ///< sizes and strides in elements; its data and pointers are not used

  template <typename T>
  UntypedBatch(Batch<T> const& b)
      : data(reinterpret_cast<char const*>(b.data)),
        pointers(reinterpret_cast<char const* const*>(b.pointers)),
        element_size(sizeof(T)),
        shape{nullptr,     nullptr,     b.rows,        b.cols,        b.row_stride, b.col_stride, b.batch_stride, b.count,
              b.row_sizes, b.col_sizes, b.row_strides, b.col_strides, b.row_offset, b.col_offset, b.conjugated} {}
};

/// The rows or the columns of a batch, in the expression in which it is named.
struct Dimension {
  UntypedBatch const& batch;
  bool columns;
  [[nodiscard]] std::int64_t bound() const { return columns ? batch.shape.cols : batch.shape.rows; }
  [[nodiscard]] std::int64_t of(std::int64_t b) const { return columns ? batch.shape.cols_of(b) : batch.shape.rows_of(b); }
};
inline Dimension rows(UntypedBatch const& a) { return {a, false}; }
inline Dimension cols(UntypedBatch const& a) { return {a, true}; }

/// The checks of one call: `Check("gesv", queue).matrix(...).matrix(...).same_count(...)`.
///
/// On a GPU queue the arrays of sizes, strides and pointers are the GPU's: what is in them is the caller's word, and everything else is
/// checked. Host memory that the GPU does not reach is refused, since the error of a kernel would cost the process its device. Elements
/// have to lie there at multiples of their size, also complex ones, for which C++ and LAPACK are content with the size of a real one: a GPU
/// moves an element in one piece. Matrices there have 2^30 rows and columns at most.
class Check {
 public:
  explicit Check(char const* routine) : routine_(routine) {}
  Check(char const* routine, Queue const& queue) : routine_(routine), queue_(&queue), arrays_readable_(queue.backend() == Backend::cpu) {}

  /// Sizes are not negative, pointers are there where there is something to point at, and strides keep elements apart (a stride of zero is
  /// fine where it is only read). `data` and `ld` are where LAPACK has the array and its leading dimension, `rows` and `cols` its sizes.
  Check const& matrix(UntypedBatch const& a, Argument rows, Argument cols, Argument data, Argument ld, Access access) const;

  /// Like `matrix` for a vector per matrix.
  Check const& vector(UntypedBatch const& x, Argument length, Argument data, Access access) const;

  /// The same where BLAS has an increment between the entries. Each vector that has entries has one column, in ragged batches, too.
  Check const& vector(UntypedBatch const& x, Argument length, Argument data, Argument increment, Access access) const;

  /// `count` numbers of the caller, one per matrix.
  template <typename T>
  Check const& numbers(T const* data, std::int64_t count, Argument argument) const {
    if (count > 0) require(data != nullptr, argument, "is a null pointer").usable(data, sizeof(T), argument);
    return *this;
  }

  /// Numbers that may be null; where they are given, the processor reaches them.
  template <typename T>
  Check const& optional(T const* data, Argument argument) const {
    if (data) usable(data, sizeof(T), argument);
    return *this;
  }
  Check const& info(int const* info, int position) const { return optional(info, {position, "info"}); }

  /// Both have as many matrices.
  Check const& same_count(UntypedBatch const& a, UntypedBatch const& b, Argument b_data) const;

  /// Two dimensions agree, matrix by matrix; the message names `size`: `.same(rows(a), cols(a), {1, "n"})` for a square A.
  Check const& same(Dimension x, Dimension y, Argument size) const;

  /// `x` has at least min(m, n) rows per matrix of the m-by-n batch `a` (pivots, tau).
  Check const& diagonal_length(UntypedBatch const& x, UntypedBatch const& a, Argument data) const;

  /// The written batch shares no element with `input`.
  Check const& disjoint(UntypedBatch const& output, UntypedBatch const& input, Argument output_data, char const* input_name) const;

  /// As `disjoint`, but the very same matrices are allowed (in place).
  Check const& disjoint_or_same(UntypedBatch const& output, UntypedBatch const& input, Argument output_data, char const* input_name) const;

  /// An enumeration has one of its values.
  Check const& side(Side side, int position) const {
    return require(side == Side::left || side == Side::right, {position, "side"}, "must be left or right");
  }
  Check const& uplo(Uplo uplo, int position) const {
    return require(uplo == Uplo::upper || uplo == Uplo::lower, {position, "uplo"}, "must be upper or lower");
  }
  Check const& diag(Diag diag, int position) const {
    return require(diag == Diag::unit || diag == Diag::non_unit, {position, "diag"}, "must be unit or non_unit");
  }

  /// Whether arrays of sizes, strides and pointers are in memory that the host reads.
  [[nodiscard]] bool arrays_readable() const noexcept { return arrays_readable_; }

  /// Throws unless `good`.
  Check const& require(bool good, Argument argument, std::string_view problem) const;

 private:
  /// On a GPU: at a multiple of the size of an element, in memory that the GPU reaches.
  void usable(void const* data, std::int64_t element_size, Argument argument) const;
  [[noreturn]] void fail(Argument argument, std::string_view problem) const;
  [[nodiscard]] bool meet(UntypedBatch const& a, UntypedBatch const& b) const;

  char const* routine_;
  Queue const* queue_ = nullptr;
  bool arrays_readable_ = true;
};

}  // namespace myriad
