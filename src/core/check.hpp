#pragma once
/// Argument checks. Every entry point runs them before anything is written; each failure is a BadArgument with LAPACK's position.

#include <cstdint>
#include <string_view>

#include "myriad/batch.hpp"
#include "myriad/error.hpp"
#include "myriad/queue.hpp"
#include "myriad/scalar.hpp"

namespace myriad {

/// A position in LAPACK's argument list and the argument's name.
struct Argument {
  int position;
  char const* name;
};

/// Whether a routine only reads a batch or also writes it.
enum class Access { read, write };
inline constexpr Access reads = Access::read, writes = Access::write;

/// Whether an optional batch was given.
template <typename T>
bool given(Batch<T> const& batch) {
  return batch.data || batch.pointers;
}

/// A batch without its element type, for the checks.
struct UntypedBatch {
  char const* data;
  char const* const* pointers;
  std::int64_t element_size;
  Batch<char const> shape;  ///< sizes and strides in elements; data and pointers are not used

  template <typename T>
  UntypedBatch(Batch<T> const& b)
      : data(reinterpret_cast<char const*>(b.data)),
        pointers(reinterpret_cast<char const* const*>(b.pointers)),
        element_size(sizeof(T)),
        shape{nullptr,     nullptr,     b.rows,        b.cols,        b.row_stride, b.col_stride, b.batch_stride, b.count,
              b.row_sizes, b.col_sizes, b.row_strides, b.col_strides, b.row_offset, b.col_offset, b.conjugated} {}
};

/// The rows or columns of a batch; valid within the full expression only.
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
/// On a GPU queue arrays of sizes, strides and pointers are in GPU memory and their contents are not checked; everything else is. Host
/// memory that the GPU cannot access is refused, since a faulting kernel would make the device unusable for the process. Elements must be
/// aligned to their size, also complex ones, for which C++ and LAPACK require only that of a real number: a GPU moves an element in one
/// access. Matrices have at most 2^30 rows and columns.
class Check {
 public:
  explicit Check(char const* routine) : routine_(routine) {}
  Check(char const* routine, Queue const& queue) : routine_(routine), queue_(&queue), arrays_readable_(queue.backend() == Backend::cpu) {}

  /// Sizes must not be negative, pointers must not be null unless there are no elements, and strides must not let elements overlap (zero is
  /// allowed for inputs). `data` and `ld` are LAPACK's array and leading dimension, `rows` and `cols` its sizes.
  Check const& matrix(UntypedBatch const& a, Argument rows, Argument cols, Argument data, Argument ld, Access access) const;

  /// Like `matrix` for a vector per matrix.
  Check const& vector(UntypedBatch const& x, Argument length, Argument data, Access access) const;

  /// The same for vectors with BLAS's increment. Each vector with entries must have one column, in ragged batches, too.
  Check const& vector(UntypedBatch const& x, Argument length, Argument data, Argument increment, Access access) const;

  /// An array of `count` numbers, one per matrix.
  template <typename T>
  Check const& numbers(T const* data, std::int64_t count, Argument argument) const {
    if (count > 0) require(data != nullptr, argument, "is a null pointer").usable(data, sizeof(T), argument);
    return *this;
  }

  /// An array that may be null; otherwise the processor must reach it.
  template <typename T>
  Check const& optional(T const* data, Argument argument) const {
    if (data) usable(data, sizeof(T), argument);
    return *this;
  }
  Check const& info(int const* info, int position) const { return optional(info, {position, "info"}); }

  /// A number in memory must have an address that the processor reaches, outside the elements of the output.
  template <typename T>
  Check const& scalar(ScalarArgument<T> const& x, Argument argument, UntypedBatch const& output, char const* output_name) const {
    if (!x.in_memory()) return *this;
    numbers(x.address(), 1, argument);
    return outside(reinterpret_cast<char const*>(x.address()), sizeof(T), argument, output, output_name);
  }

  /// Both must have the same number of matrices.
  Check const& same_count(UntypedBatch const& a, UntypedBatch const& b, Argument b_data) const;

  /// Two dimensions must agree, matrix by matrix; the message names `size`: `.same(rows(a), cols(a), {1, "n"})` for a square A.
  Check const& same(Dimension x, Dimension y, Argument size) const;

  /// `x` must have at least min(m, n) rows per matrix of the m-by-n batch `a` (pivots, tau).
  Check const& diagonal_length(UntypedBatch const& x, UntypedBatch const& a, Argument data) const;

  /// Right-hand sides and solutions `b` of least squares must have max(m, n) rows per matrix of the m-by-n batch `a`.
  Check const& right_sides(UntypedBatch const& b, UntypedBatch const& a, Argument data) const;

  /// The output must share no element with `input`.
  Check const& disjoint(UntypedBatch const& output, UntypedBatch const& input, Argument output_data, char const* input_name) const;

  /// As `disjoint`, but identical matrices are allowed (in place).
  Check const& disjoint_or_same(UntypedBatch const& output, UntypedBatch const& input, Argument output_data, char const* input_name) const;

  /// An enumeration must have one of its values.
  Check const& side(Side side, int position) const {
    return require(side == Side::left || side == Side::right, {position, "side"}, "must be left or right");
  }
  Check const& uplo(Uplo uplo, int position) const {
    return require(uplo == Uplo::upper || uplo == Uplo::lower, {position, "uplo"}, "must be upper or lower");
  }
  Check const& diag(Diag diag, int position) const {
    return require(diag == Diag::unit || diag == Diag::non_unit, {position, "diag"}, "must be unit or non_unit");
  }

  /// Whether the host can read arrays of sizes, strides and pointers.
  [[nodiscard]] bool arrays_readable() const noexcept { return arrays_readable_; }

  /// Throws unless `good`.
  Check const& require(bool good, Argument argument, std::string_view problem) const;

 private:
  /// On a GPU: requires alignment to the element size, and memory that the GPU can access.
  void usable(void const* data, std::int64_t element_size, Argument argument) const;
  [[noreturn]] void fail(Argument argument, std::string_view problem) const;
  [[nodiscard]] bool meet(UntypedBatch const& a, UntypedBatch const& b) const;
  Check const& outside(char const* data, std::int64_t bytes, Argument argument, UntypedBatch const& output, char const* output_name) const;

  char const* routine_;
  Queue const* queue_ = nullptr;
  bool arrays_readable_ = true;
};

}  // namespace myriad
