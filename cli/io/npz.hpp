#pragma once
/// NumPy's .npz: a zip archive of .npy files, here without compression and of any size (zip64).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/npy.hpp"
#include "io/output_file.hpp"

namespace myriad::io {

/// Writes arrays in C order one after another.
class NpzWriter {
 public:
  explicit NpzWriter(std::string path);
  ~NpzWriter();
  NpzWriter(NpzWriter const&) = delete;
  NpzWriter& operator=(NpzWriter const&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return file_.path(); }

  /// Claims space on the disk for so many bytes of arrays. Throws Error where there is not enough.
  void reserve(std::uint64_t size) { file_.reserve(size); }
  /// Starts the array that numpy.load(...)[name] gives; the one before must be complete.
  void begin(std::string_view name, std::string_view descr, Shape const& shape, std::size_t item_size);
  void append(void const* data, std::size_t size);
  /// Gives the file its name. Throws Error if elements are missing.
  void commit();

 private:
  void end();
  void check(int status) const;

  OutputFile file_;
  void* zip_ = nullptr;
  std::uint64_t left_ = 0;
  bool open_ = false;
};

}  // namespace myriad::io
