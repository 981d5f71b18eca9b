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

/// Elements that lie in memory as they are in the file: element (i, j) of matrix b at data + b*batch_stride + i*row_stride + j*col_stride.
struct DirectView {
  void const* data = nullptr;
  std::int64_t row_stride = 1;
  std::int64_t col_stride = 1;
  std::int64_t batch_stride = 0;
};

/// A batch of matrices on disk that is read a few matrices at a time. Reading from several threads at once is fine.
class Source {
 public:
  virtual ~Source() = default;

  /// The input as the user named it.
  [[nodiscard]] std::string const& name() const { return name_; }
  /// The element type as which it is delivered: that of the file or the one to convert to.
  [[nodiscard]] Dtype dtype() const { return dtype_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }  ///< of every matrix, of a ragged batch the most
  [[nodiscard]] std::int64_t cols() const { return cols_; }
  [[nodiscard]] bool ragged() const { return ragged_; }
  /// One matrix without a batch axis.
  [[nodiscard]] bool single() const { return single_; }
  /// The matrices are columns that are stored without their second axis.
  [[nodiscard]] bool vectors() const { return vectors_; }
  [[nodiscard]] virtual std::int64_t rows_of(std::int64_t) const { return rows_; }
  [[nodiscard]] virtual std::int64_t cols_of(std::int64_t) const { return cols_; }

  /// "(100, 8, 8)" or "100 matrices of up to 8 x 8": for messages.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// The file that matrix b alone comes from, empty where all come from one.
  [[nodiscard]] virtual std::string file_of(std::int64_t) const { return {}; }
  /// The pattern that matches the files' folder, empty where the folder is given as it is.
  [[nodiscard]] virtual std::string folder_pattern() const { return {}; }

  /// A two-dimensional .npy array read as one vector per row instead of as one matrix. False where it is something else.
  virtual bool as_vectors() { return false; }

  /// Writes matrices first to first + count - 1 to `out`, each row-major, one behind the other, as elements of type `to`.
  virtual void read(std::int64_t first, std::int64_t count, Dtype to, void* out) const = 0;

  /// The file's own memory, where its elements are of type `to` and aligned.
  [[nodiscard]] virtual std::optional<DirectView> direct(Dtype) const { return std::nullopt; }
  /// Brings these matrices of a direct view into memory.
  virtual void populate(std::int64_t, std::int64_t) const {}
  /// They are not needed any more.
  virtual void release(std::int64_t, std::int64_t) const {}

 protected:
  std::string name_;
  Dtype dtype_ = Dtype::f64;
  std::int64_t count_ = 1, rows_ = 0, cols_ = 0;
  bool ragged_ = false, single_ = true, vectors_ = false;
};

/// Opens an .npy file, an array of an .npz archive ("a.npz" with one array or one set, "a.npz:name", and "a.npz:x" for a set x_0, x_1,
/// ...), a Matrix Market file, a quoted pattern of Matrix Market files, or a list of them (@file, or a name that ends in .txt, .lst or
/// .list).
///
/// `convert`: deliver as this type; without it integers are refused, and complex numbers are never made real. Throws Error.
[[nodiscard]] std::unique_ptr<Source> open_source(std::string const& name, std::optional<Dtype> convert = {});

}  // namespace myriad::io
