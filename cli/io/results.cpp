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

}  // namespace

ResultFile::ResultFile(std::string const& path, std::vector<Field> fields, Layout layout) : fields_(std::move(fields)), layout_(layout) {
  std::string const extension = std::filesystem::path(path).extension().string();
  bool const archive = extension == ".npz";
  if (!archive && extension != ".npy") throw Error(fmt::format("{}: the name of a result ends in .npy or .npz", path));
  if (!archive && layout_.ragged)
    throw Error(fmt::format("{}: the matrices differ in size, so the result is an .npz archive; give a name that ends in .npz", path));
  if (!archive && fields_.size() > 1 && !layout_.fields_first)
    throw Error(fmt::format("{}: the result is several arrays in an .npz archive; give a name that ends in .npz", path));

  if (!archive) {
    Shape shape = whole_shape(fields_[0], layout_);
    if (layout_.fields_first) shape.insert(shape.begin(), static_cast<std::int64_t>(fields_.size()));
    npy_ = std::make_unique<NpyWriter>(path, fields_[0].descr, shape, fields_[0].item_size, fields_.size());
    return;
  }
  npz_ = std::make_unique<NpzWriter>(path);
  std::uint64_t size = 0;
  for (Field const& field : fields_) {
    if (!layout_.ragged) size += static_cast<std::uint64_t>(element_count(whole_shape(field, layout_), path)) * field.item_size;
    for (std::int64_t b = 0; layout_.ragged && b < layout_.count; ++b) size += bytes_of(field, b);
  }
  npz_->reserve(size);
  if (layout_.ragged) return;
  npz_->begin(fields_[0].name, fields_[0].descr, whole_shape(fields_[0], layout_), fields_[0].item_size);
  for (std::size_t f = 1; f < fields_.size(); ++f) spools_.emplace_back(path);
}

ResultFile::~ResultFile() = default;
ResultFile::ResultFile(ResultFile&&) noexcept = default;

void ResultFile::write(std::int64_t first, std::int64_t count, std::span<void const* const> data) {
  if (layout_.ragged) {
    std::vector<char const*> at(data.size());
    std::transform(data.begin(), data.end(), at.begin(), [](void const* p) { return static_cast<char const*>(p); });
    for (std::int64_t b = first; b < first + count; ++b)
      for (std::size_t f = 0; f < fields_.size(); ++f) {
        Field const& field = fields_[f];
        std::size_t const bytes = bytes_of(field, b);
        npz_->begin(fmt::format("{}_{}", field.name, b), field.descr, field.shape(b), field.item_size);
        npz_->append(at[f], bytes);
        at[f] += bytes;
      }
    return;
  }
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    std::size_t const bytes = static_cast<std::size_t>(count) * bytes_of(fields_[f], 0);
    if (npy_)
      npy_->append(data[f], bytes, f);
    else if (f == 0)
      npz_->append(data[f], bytes);
    else
      spools_[f - 1].append(data[f], bytes);
  }
}

void ResultFile::commit() {
  if (npy_) {
    npy_->commit();
    return;
  }
  std::vector<char> buffer(spools_.empty() ? 0 : std::size_t{1} << 20);
  for (std::size_t f = 1; f <= spools_.size(); ++f) {
    SpoolFile const& spool = spools_[f - 1];
    npz_->begin(fields_[f].name, fields_[f].descr, whole_shape(fields_[f], layout_), fields_[f].item_size);
    for (std::uint64_t offset = 0; offset < spool.size();) {
      std::size_t const got = spool.read_at(offset, buffer.data(), buffer.size());
      if (got == 0) throw Error(fmt::format("{}: cannot be written: its spooled part was cut short", npz_->path()));
      npz_->append(buffer.data(), got);
      offset += got;
    }
  }
  npz_->commit();
}

}  // namespace myriad::io
