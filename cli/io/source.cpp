#include "io/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "core/dtype.hpp"
#include "io/error.hpp"
#include "io/mapped_file.hpp"
#include "io/matrix_market.hpp"
#include "io/npz.hpp"
#include "io/paths.hpp"

namespace myriad::io {
namespace {

void refuse_dropping_imaginary(std::string const& path, bool complex, std::optional<Dtype> convert) {
  if (complex && convert && !is_complex_dtype(*convert))
    throw Error(fmt::format("{}: holds complex numbers; --dtype {} would drop their imaginary parts", path, name_of(*convert)));
}

class NpySource final : public Source {
 public:
  /// `archive`: path of the archive that `file` is part of, if any.
  NpySource(MappedFile file, std::optional<Dtype> convert, std::string archive = {}) : file_(std::move(file)) {
    files_ = {archive.empty() ? file_.path() : std::move(archive)};
    std::string const& path = file_.path();
    name_ = path;
    header_ = parse_npy_header(file_.bytes(), path);
    stored_ = stored_type(header_, path);
    swapped_ = byte_swapped(header_);
    refuse_dropping_imaginary(path, stored_ == Stored::c8 || stored_ == Stored::c16, convert);
    if (!convert && stored_ == Stored::f2)
      throw Error(fmt::format("{}: holds numbers of 16 bits ('{}'); --dtype f4 converts them", path, header_.descr));
    if (!convert && !native(stored_)) throw Error(fmt::format("{}: holds integers ('{}'); --dtype f8 converts them", path, header_.descr));
    dtype_ = convert ? *convert : *native(stored_);

    Shape const& shape = header_.shape;
    std::uint64_t const needed = static_cast<std::uint64_t>(element_count(shape, path)) * size_of(stored_);
    std::uint64_t const there = file_.bytes().size() - header_.data_offset;
    if (there < needed)
      throw Error(fmt::format("{}: the file is cut short: shape {} of '{}' takes {} bytes, there are {}", path, to_string(shape),
                              header_.descr, needed, there));
    switch (shape.size()) {
      case 1:
        rows_ = shape[0];
        cols_ = 1;
        vectors_ = true;
        break;
      case 2:
        rows_ = shape[0];
        cols_ = shape[1];
        row_stride_ = header_.fortran_order ? 1 : cols_;
        col_stride_ = header_.fortran_order ? rows_ : 1;
        break;
      case 3:
        single_ = false;
        count_ = shape[0];
        rows_ = shape[1];
        cols_ = shape[2];
        batch_stride_ = header_.fortran_order ? 1 : rows_ * cols_;
        row_stride_ = header_.fortran_order ? count_ : cols_;
        col_stride_ = header_.fortran_order ? count_ * rows_ : 1;
        break;
      default:
        throw Error(fmt::format("{}: has {} dimensions, shape {}; 1 to 3 can be read", path, shape.size(), to_string(shape)));
    }
  }

  std::string describe() const override { return fmt::format("shape {}", to_string(header_.shape)); }

  bool as_vectors() override {
    if (header_.shape.size() != 2) return false;
    single_ = false;
    vectors_ = true;
    count_ = header_.shape[0];
    rows_ = header_.shape[1];
    cols_ = 1;
    batch_stride_ = header_.fortran_order ? 1 : rows_;
    row_stride_ = header_.fortran_order ? count_ : 1;
    col_stride_ = 1;
    return true;
  }

  void read(std::int64_t first, std::int64_t count, Dtype to, void* out) const override {
    std::size_t const size = size_of(to);
    std::int64_t const elements = rows_ * cols_;
    auto* const target = static_cast<char*>(out);
    if (col_stride_ == 1 && row_stride_ == cols_ && (batch_stride_ == elements || count_ == 1)) {
      io::convert(stored_, address(first), 1, to, target, 1, count * elements, swapped_);
      return;
    }
    if (batch_stride_ == 1) {
      // Neighbours in the file belong to different matrices; blocks of matrices keep the writes in the cache.
      constexpr std::int64_t block = 64;
      for (std::int64_t b = 0; b < count; b += block)
        for (std::int64_t i = 0; i < rows_; ++i)
          for (std::int64_t j = 0; j < cols_; ++j)
            io::convert(stored_, address(first + b, i, j), 1, to, target + static_cast<std::size_t>(b * elements + i * cols_ + j) * size,
                        elements, std::min(block, count - b), swapped_);
      return;
    }
    for (std::int64_t b = 0; b < count; ++b)
      for (std::int64_t i = 0; i < rows_; ++i)
        io::convert(stored_, address(first + b, i), col_stride_, to, target + static_cast<std::size_t>(b * elements + i * cols_) * size, 1,
                    cols_, swapped_);
  }

  std::optional<DirectView> direct(Dtype to) const override {
    char const* const data = file_.bytes().data() + header_.data_offset;
    if (native(stored_) != to || swapped_ || reinterpret_cast<std::uintptr_t>(data) % size_of(to) != 0) return std::nullopt;
    return DirectView{data, row_stride_, col_stride_, batch_stride_};
  }

  void populate(std::int64_t first, std::int64_t count) const override {
    each_range(first, count, [this](std::size_t offset, std::size_t size) { file_.populate(offset, size); });
  }
  void release(std::int64_t first, std::int64_t count) const override {
    each_range(first, count, [this](std::size_t offset, std::size_t size) { file_.release(offset, size); });
  }

 private:
  [[nodiscard]] char const* address(std::int64_t b, std::int64_t i = 0, std::int64_t j = 0) const {
    return file_.bytes().data() + header_.data_offset +
           static_cast<std::size_t>(b * batch_stride_ + i * row_stride_ + j * col_stride_) * size_of(stored_);
  }

  /// The byte ranges of these matrices.
  template <typename F>
  void each_range(std::int64_t first, std::int64_t count, F&& f) const {
    std::size_t const size = size_of(stored_);
    std::size_t const start = header_.data_offset;
    if (batch_stride_ != 1 || count_ == 1 || rows_ * cols_ == 1) {
      f(start + static_cast<std::size_t>(first * rows_ * cols_) * size, static_cast<std::size_t>(count * rows_ * cols_) * size);
      return;
    }
    for (std::int64_t k = 0; k < rows_ * cols_; ++k)
      f(start + static_cast<std::size_t>(k * count_ + first) * size, static_cast<std::size_t>(count) * size);
  }

  MappedFile file_;
  NpyHeader header_;
  Stored stored_ = Stored::f8;
  bool swapped_ = false;
  std::int64_t row_stride_ = 1, col_stride_ = 1, batch_stride_ = 0;
};

/// A batch of matrices, each at its own place, of possibly different sizes.
class SetSource : public Source {
 public:
  std::int64_t rows_of(std::int64_t b) const override { return row_sizes_[static_cast<std::size_t>(b)]; }
  std::int64_t cols_of(std::int64_t b) const override { return col_sizes_[static_cast<std::size_t>(b)]; }

 protected:
  void add(std::int64_t rows, std::int64_t cols) {
    row_sizes_.push_back(rows);
    col_sizes_.push_back(cols);
    rows_ = std::max(rows_, rows);
    cols_ = std::max(cols_, cols);
    count_ = static_cast<std::int64_t>(row_sizes_.size());
    ragged_ = ragged_ || rows != row_sizes_[0] || cols != col_sizes_[0];
  }
  /// "100 files of up to 8 x 8"
  [[nodiscard]] std::string describe_as(char const* what) const {
    return fmt::format("{} {} of {}{} x {}", count_, what, ragged_ ? "up to " : "", rows_, cols_);
  }

 private:
  std::vector<std::int64_t> row_sizes_, col_sizes_;
};

/// The arrays x_0, x_1, ... of an .npz archive, the form of results of different sizes.
class NpzSetSource final : public SetSource {
 public:
  NpzSetSource(std::string name, std::string path, std::string prefix, std::int64_t count, std::optional<Dtype> convert)
      : path_(std::move(path)), prefix_(std::move(prefix)), convert_(convert) {
    name_ = std::move(name);
    files_ = {path_};
    single_ = false;
    NpzReader const archive(path_);
    for (std::int64_t b = 0; b < count; ++b) {
      NpySource const one(archive.open(member(b)), convert_);
      if (!one.single() || (b > 0 && one.vectors() != vectors_))
        throw Error(fmt::format("{}: is {}; the arrays of a set are all matrices or all vectors", one.name(), one.describe()));
      vectors_ = one.vectors();
      dtype_ = b > 0 ? promote(dtype_, one.dtype()) : one.dtype();
      add(one.rows(), one.cols());
    }
  }

  std::string describe() const override { return describe_as("arrays"); }
  std::string file_of(std::int64_t b) const override { return path_ + ":" + member(b); }

  void read(std::int64_t first, std::int64_t count, Dtype to, void* out) const override {
    NpzReader const archive(path_);
    auto* target = static_cast<char*>(out);
    for (std::int64_t b = first; b < first + count; ++b) {
      NpySource const one(archive.open(member(b)), convert_);
      if (one.rows() != rows_of(b) || one.cols() != cols_of(b))
        throw Error(fmt::format("{}: the file changed while it was read", one.name()));
      one.read(0, 1, to, target);
      target += static_cast<std::size_t>(one.rows() * one.cols()) * size_of(to);
    }
  }

 private:
  [[nodiscard]] std::string member(std::int64_t b) const { return fmt::format("{}_{}", prefix_, b); }

  std::string path_, prefix_;
  std::optional<Dtype> convert_;
};

class MarketSource final : public SetSource {
 public:
  /// `folder_pattern`: see Source. A single path that no pattern or list gave is one matrix without a batch axis.
  MarketSource(std::string name, std::vector<std::string> paths, bool single, std::string folder_pattern, std::optional<Dtype> convert)
      : folder_pattern_(std::move(folder_pattern)) {
    files_ = std::move(paths);
    name_ = std::move(name);
    single_ = single;
    bool complex = false;
    for (std::string const& path : files_) {
      MappedFile const file(path);
      if (looks_like_npy(file.bytes()))
        throw Error(fmt::format("{}: is an .npy file; patterns and lists are of Matrix Market files", path));
      MarketHeader const header = parse_market_header(file.bytes(), path);
      bool const is_complex = header.field == MarketHeader::Field::complex;
      refuse_dropping_imaginary(path, is_complex, convert);
      complex = complex || is_complex;
      add(header.rows, header.cols);
    }
    dtype_ = convert ? *convert : complex ? Dtype::c64 : Dtype::f64;
  }

  std::string describe() const override { return single_ ? fmt::format("{} x {}", rows_, cols_) : describe_as("files"); }
  std::string file_of(std::int64_t b) const override { return single_ ? std::string() : files_[static_cast<std::size_t>(b)]; }
  std::string folder_pattern() const override { return folder_pattern_; }

  void read(std::int64_t first, std::int64_t count, Dtype to, void* out) const override {
    auto* target = static_cast<char*>(out);
    std::vector<double> real;
    std::vector<std::complex<double>> complex;
    for (std::int64_t b = first; b < first + count; ++b) {
      std::string const& path = files_[static_cast<std::size_t>(b)];
      MappedFile const file(path);
      MarketHeader const header = parse_market_header(file.bytes(), path);
      if (header.rows != rows_of(b) || header.cols != cols_of(b)) throw Error(fmt::format("{}: the file changed while it was read", path));
      std::int64_t const elements = header.rows * header.cols;
      if (header.field == MarketHeader::Field::complex) {
        complex.resize(static_cast<std::size_t>(elements));
        parse_market(file.bytes(), header, path, complex.data());
        io::convert(Stored::c16, complex.data(), 1, to, target, 1, elements);
      } else {
        real.resize(static_cast<std::size_t>(elements));
        parse_market(file.bytes(), header, path, real.data());
        io::convert(Stored::f8, real.data(), 1, to, target, 1, elements);
      }
      target += static_cast<std::size_t>(elements) * size_of(to);
    }
  }

 private:
  std::string folder_pattern_;
};

/// The number of arrays prefix_0, prefix_1, ... among the names.
std::int64_t set_size(std::vector<std::string> names, std::string const& prefix) {
  std::sort(names.begin(), names.end());
  std::int64_t count = 0;
  while (std::binary_search(names.begin(), names.end(), fmt::format("{}_{}", prefix, count))) ++count;
  return count;
}

/// `member`: the name of an array, or x for x_0, x_1, ...; empty for the only array.
std::unique_ptr<Source> open_npz(std::string const& name, std::string const& path, std::string member, std::optional<Dtype> convert) {
  NpzReader const archive(path);
  std::vector<std::string> const names = archive.names();
  if (member.empty()) {
    std::string const first = names.empty() ? std::string() : names[0];
    std::string const prefix = first.substr(0, std::min(first.rfind('_'), first.size()));
    if (names.size() == 1 && first != prefix + "_0")
      member = first;
    else if (names.size() > 0 && set_size(names, prefix) == static_cast<std::int64_t>(names.size()))
      member = prefix;
    else if (names.empty())
      throw Error(fmt::format("{}: the archive holds no array (no .npy file)", path));
    else
      throw Error(fmt::format("{}: the archive holds several arrays, {}; name one, as in {}:{}", path, first_of(names), path, first));
  }
  bool const there = std::find(names.begin(), names.end(), member) != names.end();
  if (std::int64_t const count = there ? 0 : set_size(names, member); count > 0)
    return std::make_unique<NpzSetSource>(name, path, member, count, convert);
  return std::make_unique<NpySource>(archive.open(member), convert, path);
}

bool is_list(std::string const& name) {
  if (name.size() > 1 && name[0] == '@') return true;
  std::string const extension = std::filesystem::path(name).extension().string();
  return extension == ".txt" || extension == ".lst" || extension == ".list";
}

}  // namespace

std::unique_ptr<Source> open_source(std::string const& name, std::optional<Dtype> convert) {
  if (is_pattern(name)) {
    std::string const folder = std::filesystem::path(name).parent_path().string();
    std::vector<std::string> paths = expand_pattern(name);
    return std::make_unique<MarketSource>(name, std::move(paths), false,
                                          folder.find_first_of("*?[") != std::string::npos ? folder : std::string(), convert);
  }
  std::error_code ignored;
  if (std::size_t const at = name.rfind(".npz:"); at != std::string::npos && !std::filesystem::exists(name, ignored))
    return open_npz(name, name.substr(0, at + 4), name.substr(at + 5), convert);
  std::string const path = name.size() > 1 && name[0] == '@' ? name.substr(1) : name;
  MappedFile file(path);
  std::string_view const bytes = file.bytes();
  if (looks_like_npy(bytes)) return std::make_unique<NpySource>(std::move(file), convert);
  if (looks_like_market(bytes)) return std::make_unique<MarketSource>(name, std::vector{path}, true, std::string(), convert);
  if (is_list(name)) return std::make_unique<MarketSource>(name, read_list(path), false, std::string(), convert);
  if (bytes.empty()) throw Error(fmt::format("{}: the file is empty", name));
  if (bytes.starts_with("PK")) return open_npz(name, path, {}, convert);
  if (bytes.starts_with("\x1f\x8b")) throw Error(fmt::format("{}: is compressed with gzip; unpack it first", name));
  throw Error(fmt::format(
      "{}: is neither an .npy file (it does not start with \\x93NUMPY) nor an .npz archive nor a Matrix Market file (%%MatrixMarket)",
      name));
}

}  // namespace myriad::io
