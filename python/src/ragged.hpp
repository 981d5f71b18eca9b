#pragma once
/// Batches of matrices that differ in size: one array for each matrix.

#include <cstdint>
#include <memory>
#include <vector>

#include "array.hpp"

namespace myriad::python {

/// The descriptor of a list of arrays, all of one type and on one device. It keeps the arrays alive.
///
/// Arrays with two axes are matrices. Arrays with one axis are vectors, and columns for a routine that takes matrices.
class Ragged {
 public:
  /// rows, cols: bounds of the sizes; those of the arrays where they are larger. upload: a function that copies numbers, given as bytes, to
  /// an int32 array on the arrays' GPU, in the order of the current stream; None for arrays in host memory.
  Ragged(nb::list const& arrays, std::int64_t rows, std::int64_t cols, nb::object upload);
  Ragged(Ragged const&) = delete;
  Ragged& operator=(Ragged const&) = delete;

  /// The batch as matrices, for a queue on this stream; -1: on the CPU. On a GPU the pointers, sizes and strides are uploaded unless they
  /// were for the same stream. `memory` holds them: keep it until the work has been enqueued.
  [[nodiscard]] myriad_batch batch(std::intptr_t stream, nb::object& memory);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t rows() const { return rows_bound_; }
  [[nodiscard]] std::int64_t cols() const { return cols_bound_; }
  [[nodiscard]] int dims() const { return dims_; }
  [[nodiscard]] myriad_dtype dtype() const { return dtype_; }
  [[nodiscard]] bool read_only() const { return read_only_; }
  [[nodiscard]] bool on_gpu() const { return device_ != Device::cpu; }
  [[nodiscard]] int device_id() const { return device_id_; }
  [[nodiscard]] nb::tuple arrays() const { return arrays_; }

 private:
  /// Lists of one number for each matrix, one after the other in table_.
  enum List { pointers, row_sizes, col_sizes, row_strides, col_strides, lists };

  nb::tuple arrays_;  // not a list, which a caller could change: the pointers would still be those of the arrays before
  std::vector<std::unique_ptr<Array>> read_;
  std::int64_t count_;
  std::vector<std::int64_t> table_;
  nb::object upload_;
  nb::object uploaded_;  ///< table_ on the GPU
  std::intptr_t uploaded_for_ = -1;
  std::int64_t rows_bound_;
  std::int64_t cols_bound_;
  int dims_ = 2;
  myriad_dtype dtype_ = MYRIAD_F64;
  Device device_ = Device::cpu;
  int device_id_ = 0;
  bool read_only_ = false;
  bool conjugated_ = false;
};

}  // namespace myriad::python
