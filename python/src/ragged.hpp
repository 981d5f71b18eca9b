#pragma once
/// Batches of matrices that differ in size: one array for each matrix.

#include <cstdint>
#include <memory>
#include <vector>

#include "array.hpp"

namespace myriad::python {

/// The descriptor of a list of arrays, all of one type, in host memory. It keeps the arrays alive.
///
/// Arrays with two axes are matrices. Arrays with one axis are vectors, and columns for a routine that takes matrices.
class Ragged {
 public:
  /// rows, cols: bounds of the sizes; those of the arrays where they are larger.
  Ragged(nb::list const& arrays, std::int64_t rows, std::int64_t cols);
  Ragged(Ragged const&) = delete;
  Ragged& operator=(Ragged const&) = delete;

  /// The batch as matrices. `vectors`: the arrays must have one axis.
  [[nodiscard]] myriad_batch batch() const;

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(pointers_.size()); }
  [[nodiscard]] std::int64_t rows() const { return rows_bound_; }
  [[nodiscard]] std::int64_t cols() const { return cols_bound_; }
  [[nodiscard]] int dims() const { return dims_; }
  [[nodiscard]] bool read_only() const { return read_only_; }
  [[nodiscard]] std::int64_t element_size() const { return element_size_; }
  [[nodiscard]] nb::tuple arrays() const { return arrays_; }

 private:
  nb::tuple arrays_;  // not a list, which a caller could change: the pointers would still be those of the arrays before
  std::vector<std::unique_ptr<Array>> read_;
  std::vector<void*> pointers_;
  std::vector<std::int64_t> rows_, cols_, row_strides_, col_strides_;
  std::int64_t rows_bound_;
  std::int64_t cols_bound_;
  int dims_ = 2;
  myriad_dtype dtype_ = MYRIAD_F64;
  std::int64_t element_size_ = 8;
  bool read_only_ = false;
  bool conjugated_ = false;
};

}  // namespace myriad::python
