#pragma once
/// Result files: one .npy file, or an .npz archive for several arrays or matrices of different sizes.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/npy.hpp"
#include "io/npz.hpp"
#include "io/output_file.hpp"

namespace myriad::io {

/// One array of a result.
struct Field {
  std::string name;
  std::string descr;                         ///< NumPy's type string
  std::size_t item_size = 0;                 ///< bytes of one element
  std::function<Shape(std::int64_t)> shape;  ///< of the part of matrix b, or of every matrix if the batch is not ragged
};

/// Layout of a result with one part per matrix.
struct Layout {
  std::int64_t count = 1;
  bool single = false;        ///< one matrix without a batch axis
  bool ragged = false;        ///< the shapes differ from matrix to matrix
  bool fields_first = false;  ///< in an .npy file the fields are stacked along a first axis: [field, matrix, ...]
};

/// Writes the results of a batch, matrix by matrix, to a file that appears when it is complete.
///
/// name.npy holds one field, or several of one type and shape with `fields_first`. name.npz holds a member per field; for a ragged batch a
/// member per field and matrix: x_0, x_1, ...
class ResultFile {
 public:
  /// Checks that the name is writable and its extension fits the fields. Throws Error.
  ResultFile(std::string const& path, std::vector<Field> fields, Layout layout);
  ~ResultFile();
  ResultFile(ResultFile&&) noexcept;

  /// Appends matrices first to first + count - 1: one pointer per field, to matrices without gaps.
  void write(std::int64_t first, std::int64_t count, std::span<void const* const> data);
  void commit();

 private:
  std::vector<Field> fields_;
  Layout layout_;
  std::unique_ptr<NpyWriter> npy_;
  std::unique_ptr<NpzWriter> npz_;
  std::vector<SpoolFile> spools_;  ///< for all fields but the first, until the first is complete
};

}  // namespace myriad::io
