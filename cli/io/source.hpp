#pragma once
/// Sources of matrices: one interface for .npy files, arrays of .npz archives and sets of Matrix Market files.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/npy.hpp"
#include "myriad/types.hpp"

namespace myriad::io {

/// Elements in the file's own memory: element (i, j) of matrix b is at data + b*batch_stride + i*row_stride + j*col_stride.
struct DirectView {
  void const* data = nullptr;
  std::int64_t row_stride = 1;
  std::int64_t col_stride = 1;
  std::int64_t batch_stride = 0;
};

/// A batch of matrices on disk, read a few matrices at a time. Several threads may read at once.
class Source {
 public:
  virtual ~Source() = default;

  /// The input as the user named it.
  [[nodiscard]] std::string const& name() const { return name_; }
  /// The files that are read.
  [[nodiscard]] std::vector<std::string> const& files() const { return files_; }
  /// The element type of the output: that of the file or the one to convert to.
  [[nodiscard]] Dtype dtype() const { return dtype_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }  ///< of every matrix; the maximum for a ragged batch
  [[nodiscard]] std::int64_t cols() const { return cols_; }
  [[nodiscard]] bool ragged() const { return ragged_; }
  /// One matrix without a batch axis.
  [[nodiscard]] bool single() const { return single_; }
  /// The matrices are columns, stored without a second axis.
  [[nodiscard]] bool vectors() const { return vectors_; }
  [[nodiscard]] virtual std::int64_t rows_of(std::int64_t) const { return rows_; }
  [[nodiscard]] virtual std::int64_t cols_of(std::int64_t) const { return cols_; }

  /// "(100, 8, 8)" or "100 matrices of up to 8 x 8": for messages.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// The file of matrix b; empty if one file holds all.
  [[nodiscard]] virtual std::string file_of(std::int64_t) const { return {}; }
  /// The pattern of the files' folder; empty if the folder is given literally.
  [[nodiscard]] virtual std::string folder_pattern() const { return {}; }

  /// Reads a two-dimensional .npy array as one vector per row instead of as one matrix. Returns false for any other source.
  virtual bool as_vectors() { return false; }

  /// Writes matrices first to first + count - 1 to `out`, row-major without gaps, as elements of type `to`.
  virtual void read(std::int64_t first, std::int64_t count, Dtype to, void* out) const = 0;

  /// The file's own memory, where its elements are of type `to` and aligned.
  [[nodiscard]] virtual std::optional<DirectView> direct(Dtype) const { return std::nullopt; }
  /// Loads these matrices of a direct view into memory.
  virtual void populate(std::int64_t, std::int64_t) const {}
  /// Frees the memory of these matrices.
  virtual void release(std::int64_t, std::int64_t) const {}

 protected:
  std::string name_;
  std::vector<std::string> files_;
  Dtype dtype_ = Dtype::f64;
  std::int64_t count_ = 1, rows_ = 0, cols_ = 0;
  bool ragged_ = false, single_ = true, vectors_ = false;
};

/// Opens an .npy file, an array of an .npz archive ("a.npz" with one array or one set, "a.npz:name", and "a.npz:x" for a set x_0, x_1,
/// ...), a Matrix Market file, a quoted pattern of Matrix Market files, or a list of them (@file, or a name that ends in .txt, .lst or
/// .list).
///
/// `convert`: the type to convert to; without it integers are refused. Complex numbers are never made real. Throws Error.
[[nodiscard]] std::unique_ptr<Source> open_source(std::string const& name, std::optional<Dtype> convert = {});

}  // namespace myriad::io
