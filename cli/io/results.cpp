#include "io/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/error.hpp"

namespace myriad::io {
namespace {

Shape whole_shape(Field const& field, Layout const& layout) {
  Shape shape = field.shape(0);
  if (!layout.single) shape.insert(shape.begin(), layout.count);
  return shape;
}

std::size_t bytes_of(Field const& field, std::int64_t b) {
  return static_cast<std::size_t>(element_count(field.shape(b))) * field.item_size;
}

/// Whether the name is that of an archive. Throws Error where it does not fit the fields.
bool is_archive(std::string const& path, std::vector<Field> const& fields, Layout const& layout) {
  std::string const extension = std::filesystem::path(path).extension().string();
  bool const archive = extension == ".npz";
  if (!archive && extension != ".npy") throw Error(fmt::format("{}: the name of a result ends in .npy or .npz", path));
  if (!archive && layout.ragged)
    throw Error(fmt::format("{}: the matrices differ in size, so the result is an .npz archive; give a name that ends in .npz", path));
  if (!archive && fields.size() > 1 && !layout.fields_first)
    throw Error(fmt::format("{}: the result is several arrays in an .npz archive; give a name that ends in .npz", path));
  return archive;
}

}  // namespace

ResultFile::ResultFile(std::string const& path, std::vector<Field> fields, Layout layout, Access access)
    : fields_(std::move(fields)),
      layout_(layout),
      archive_(is_archive(path, fields_, layout_)),
      complete_(access == Access::complete),
      file_(path, access) {
  try {
    std::uint64_t const size = lay_out(path);
    if (access == Access::alone || access == Access::create || access == Access::resume) file_.reserve(size);
  } catch (...) {
    if (access == Access::create) file_.remove();
    throw;
  }
}

/// Gives each byte its place. Returns how many there are, without the directory of an archive.
std::uint64_t ResultFile::lay_out(std::string const& path) {
  if (archive_) {
    std::size_t const members = fields_.size() * (layout_.ragged ? static_cast<std::size_t>(layout_.count) : 1);
    for (std::size_t m = 0; m < members; ++m) {
      std::size_t const f = m % fields_.size();
      Shape const shape = shape_of(f, static_cast<std::int64_t>(m / fields_.size()));
      zip_.add(member_name(m), npy_preamble(fields_[f].descr, shape).size() +
                                   static_cast<std::uint64_t>(element_count(shape, path)) * fields_[f].item_size);
    }
    return zip_.directory();
  }
  Shape shape = shape_of(0, 0);
  if (layout_.fields_first) shape.insert(shape.begin(), static_cast<std::int64_t>(fields_.size()));
  preamble_ = npy_preamble(fields_[0].descr, shape);
  return preamble_.size() + static_cast<std::uint64_t>(element_count(shape, path)) * fields_[0].item_size;
}

std::string ResultFile::member_name(std::size_t member) const {
  std::string const& field = fields_[member % fields_.size()].name;
  return layout_.ragged ? fmt::format("{}_{}.npy", field, member / fields_.size()) : field + ".npy";
}

Shape ResultFile::shape_of(std::size_t field, std::int64_t b) const {
  return layout_.ragged ? fields_[field].shape(b) : whole_shape(fields_[field], layout_);
}

Piece const& ResultFile::write(std::int64_t first, std::int64_t count, std::span<void const* const> data) {
  if (first < 0 || first + count > layout_.count) throw Error(fmt::format("{}: more elements than its shape holds", file_.path()));
  Piece piece{first, count, {}};
  if (!layout_.ragged) {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      std::size_t const matrix = bytes_of(fields_[f], 0), bytes = static_cast<std::size_t>(count) * matrix;
      std::uint64_t const begin = archive_ ? zip_.contents_of(f) + npy_preamble(fields_[f].descr, shape_of(f, 0)).size()
                                           : preamble_.size() + f * static_cast<std::uint64_t>(layout_.count) * matrix;
      file_.write_at(begin + static_cast<std::uint64_t>(first) * matrix, data[f], bytes);
      if (archive_) piece.checksums.push_back(checksum_of(data[f], bytes));
    }
    return pieces_.emplace_back(std::move(piece));
  }
  // The members of a range of matrices are neighbours in the archive. They are written many at a time, with their headers.
  std::vector<char const*> at(data.size());
  std::transform(data.begin(), data.end(), at.begin(), [](void const* p) { return static_cast<char const*>(p); });
  std::string text;
  std::size_t member = static_cast<std::size_t>(first) * fields_.size();
  std::uint64_t begin = count > 0 ? zip_.header_of(member) : 0;
  for (std::int64_t b = first; b < first + count; ++b)
    for (std::size_t f = 0; f < fields_.size(); ++f, ++member) {
      Field const& field = fields_[f];
      std::size_t const bytes = bytes_of(field, b);
      std::string const preamble = npy_preamble(field.descr, field.shape(b));
      std::uint32_t const checksum = joined_checksum(checksum_of(preamble.data(), preamble.size()), checksum_of(at[f], bytes), bytes);
      text += zip_.header(member, member_name(member), checksum);
      text += preamble;
      text.append(at[f], bytes);
      at[f] += bytes;
      piece.checksums.push_back(checksum);
      if (text.size() < std::size_t{1} << 20) continue;
      file_.write_at(begin, text.data(), text.size());
      begin += text.size();
      text.clear();
    }
  file_.write_at(begin, text.data(), text.size());
  return pieces_.emplace_back(std::move(piece));
}

void ResultFile::complete() {
  if (complete_) return;
  std::sort(pieces_.begin(), pieces_.end(), [](Piece const& a, Piece const& b) { return a.first < b.first; });
  std::int64_t next = 0;
  for (Piece const& piece : pieces_) {
    if (piece.first < next) throw Error(fmt::format("{}: more elements than its shape holds", file_.path()));
    if (piece.first > next) break;
    next += piece.count;
  }
  if (next != layout_.count) throw Error(fmt::format("{}: fewer elements than its shape holds", file_.path()));
  archive_ ? complete_npz() : file_.write_at(0, preamble_.data(), preamble_.size());
  complete_ = true;
}

void ResultFile::commit() {
  if (!complete_) complete();
  file_.commit();
}

void ResultFile::complete_npz() {
  std::vector<std::uint32_t> checksums(zip_.members());
  if (layout_.ragged) {
    auto out = checksums.begin();
    for (Piece const& piece : pieces_) out = std::copy(piece.checksums.begin(), piece.checksums.end(), out);
  } else {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      std::string const preamble = npy_preamble(fields_[f].descr, shape_of(f, 0));
      checksums[f] = checksum_of(preamble.data(), preamble.size());
      for (Piece const& piece : pieces_)
        checksums[f] =
            joined_checksum(checksums[f], piece.checksums.at(f), static_cast<std::uint64_t>(piece.count) * bytes_of(fields_[f], 0));
      std::string const head = zip_.header(f, member_name(f), checksums[f]) + preamble;
      file_.write_at(zip_.header_of(f), head.data(), head.size());
    }
  }
  zip_.write_directory([this](std::size_t member) { return member_name(member); }, checksums,
                       [this](std::uint64_t offset, std::string_view text) { file_.write_at(offset, text.data(), text.size()); });
}

}  // namespace myriad::io
