#pragma once
/// Result files: one .npy file, or an .npz archive for several arrays or matrices of different sizes.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/npy.hpp"
#include "io/output_file.hpp"
#include "io/stored_zip.hpp"

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

/// Matrices of a result that were written, by this process or another one.
struct Piece {
  std::int64_t first = 0, count = 0;
  std::vector<std::uint32_t> checksums;  ///< for .npz: CRC-32 per field; for a ragged batch per matrix and field
};

/// Writes the results of a batch, in any order, to a file that appears when it is complete.
///
/// name.npy holds one field, or several of one type and shape with `fields_first`. name.npz holds a member per field; for a ragged batch a
/// member per field and matrix: x_0, x_1, ... The place of each byte is known from the start, so several processes can write one file.
class ResultFile {
 public:
  /// Checks that the name is writable and its extension fits the fields. Throws Error.
  ResultFile(std::string const& path, std::vector<Field> fields, Layout layout, Access access = Access::alone);

  [[nodiscard]] std::string const& path() const noexcept { return file_.path(); }
  [[nodiscard]] std::string const& temporary_path() const noexcept { return file_.temporary_path(); }
  [[nodiscard]] FileIdentity identity() const { return file_.identity(); }

  /// Writes matrices first to first + count - 1: one pointer per field, to matrices without gaps. The piece that is returned lives until
  /// the next call.
  Piece const& write(std::int64_t first, std::int64_t count, std::span<void const* const> data);
  /// Takes account of what another process or an earlier run has written.
  void add(Piece piece) { pieces_.push_back(std::move(piece)); }
  /// Waits until what was written is on the disk.
  void sync() { file_.sync(); }
  /// Deletes the unfinished file.
  void remove() noexcept { file_.remove(); }
  /// Writes what makes a file of the pieces. Throws Error where pieces are missing.
  void complete();
  /// Gives the file its name, after complete() if that was not called.
  void commit();

 private:
  std::uint64_t lay_out(std::string const& path);
  [[nodiscard]] std::string member_name(std::size_t member) const;
  [[nodiscard]] Shape shape_of(std::size_t field, std::int64_t b) const;
  void complete_npz();

  std::vector<Field> fields_;
  Layout layout_;
  bool archive_;
  bool complete_;
  OutputFile file_;
  StoredZip zip_;
  std::string preamble_;  ///< of an .npy file
  std::vector<Piece> pieces_;
};

}  // namespace myriad::io
