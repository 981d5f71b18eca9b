#include "runtime/packing.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/parallel.hpp"

namespace myriad::gpu {
namespace {

using Axis = Packing::Axis;
using Box = Packing::Box;

constexpr std::int64_t alignment = 256;
constexpr std::int64_t arrays = 4;                               ///< of 8 bytes per matrix: pointers, rows, columns, strides
constexpr std::int64_t bytes_per_piece = std::int64_t{1} << 19;  ///< unit of work of a thread

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// memcpy, with inline copies for the short runs of tiny matrices. The last piece may overlap the one before.
void copy_bytes(char* to, char const* from, std::size_t bytes) {
  if (bytes > 256) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    for (std::size_t k = 0; k + 16 < bytes; k += 16) std::memcpy(to + k, from + k, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  } else if (bytes >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + bytes - 8, from + bytes - 8, 8);
  } else if (bytes >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + bytes - 4, from + bytes - 4, 4);
  } else {
    for (std::size_t k = 0; k < bytes; ++k) to[k] = from[k];
  }
}

/// Copies `count` elements of `Bytes` bytes, with strides in elements.
template <std::int64_t Bytes>
void copy_elements(char* to, std::int64_t to_stride, char const* from, std::int64_t from_stride, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) std::memcpy(to + k * to_stride * Bytes, from + k * from_stride * Bytes, Bytes);
}
void copy_run(char* to, std::int64_t to_stride, char const* from, std::int64_t from_stride, std::int64_t count, std::int64_t bytes) {
  if (to_stride == 1 && from_stride == 1)
    copy_bytes(to, from, static_cast<std::size_t>(count * bytes));
  else if (bytes == 4)
    copy_elements<4>(to, to_stride, from, from_stride, count);
  else if (bytes == 8)
    copy_elements<8>(to, to_stride, from, from_stride, count);
  else if (bytes == 16)
    copy_elements<16>(to, to_stride, from, from_stride, count);
  else
    for (std::int64_t k = 0; k < count; ++k)
      std::memcpy(to + k * to_stride * bytes, from + k * from_stride * bytes, static_cast<std::size_t>(bytes));
}

/// The same elements with axes sorted by packed stride, and axes merged that are contiguous on both sides, so that runs of the first are as
/// long as possible. Unused axes have size 1.
Box merged(Box box) {
  std::sort(box.begin(), box.end(), [](Axis const& x, Axis const& y) { return x.moves() != y.moves() ? x.moves() : x.packed < y.packed; });
  Box out{Axis{1, 1, 1}, Axis{}, Axis{}};
  std::size_t used = 0;
  for (Axis const& axis : box) {
    if (!axis.moves()) break;
    if (used > 0 && axis.host == out[used - 1].host * out[used - 1].size && axis.packed == out[used - 1].packed * out[used - 1].size)
      out[used - 1].size *= axis.size;
    else
      out[used++] = axis;
  }
  return out;
}

/// Copies a merged box; Packs: from host memory, else to it.
template <bool Packs>
void copy_box(Box const& box, char* host, char* packed, std::int64_t bytes) {
  for (std::int64_t k = 0; k < box[2].size; ++k)
    for (std::int64_t j = 0; j < box[1].size; ++j) {
      char* const h = host + (j * box[1].host + k * box[2].host) * bytes;
      char* const p = packed + (j * box[1].packed + k * box[2].packed) * bytes;
      if constexpr (Packs)
        copy_run(p, box[0].packed, h, box[0].host, box[0].size, bytes);
      else
        copy_run(h, box[0].host, p, box[0].packed, box[0].size, bytes);
    }
}

/// The same on several threads, which divide the last dimension.
template <bool Packs>
void copy_box(int threads, Box const& box, char* host, char* packed, std::int64_t bytes) {
  std::size_t const last = box[2].size > 1 ? 2 : box[1].size > 1 ? 1 : 0;
  std::int64_t inner = bytes;
  for (std::size_t k = 0; k < last; ++k) inner *= box[k].size;
  parallel_for(threads, box[last].size, std::max<std::int64_t>(bytes_per_piece / inner, 1), [&](std::int64_t begin, std::int64_t end) {
    Box piece = box;
    piece[last].size = end - begin;
    copy_box<Packs>(piece, host + begin * box[last].host * bytes, packed + begin * box[last].packed * bytes, bytes);
  });
}

}  // namespace

Packing::Packing(detail::UntypedOperand const& operand) : operand_(operand) {
  Batch<char> const& a = operand_.batch;
  if (a.ragged())
    kind_ = Kind::ragged;
  else if (a.pointers || a.row_strides || a.col_strides)
    kind_ = Kind::each;
  if (a.empty()) return;
  if (kind_ == Kind::even) {
    shared_ = a.batch_stride == 0 && a.count > 1;
    Box const box = merged(box_of_chunk(shared_ ? 1 : a.count));
    bool const in_one_piece = box[0].host == 1 && box[0].packed == 1 && box[1].size == 1;
    contiguous_ = in_one_piece && (shared_ || a.count == 1 || a.batch_stride == elements_of(0));  // false if interleaved
  } else {
    // The first matrix with more than one row and column decides the storage order.
    std::int64_t b = 0;
    while (b + 1 < a.count && (a.rows_of(b) <= 1 || a.cols_of(b) <= 1)) ++b;
    by_rows_ = a.col_stride_of(b) < a.row_stride_of(b);
  }
}

std::int64_t Packing::elements_of(std::int64_t b) const noexcept {
  Batch<char> const& a = operand_.batch;
  if (kind_ != Kind::even) return a.rows_of(b) * a.cols_of(b);
  return (a.row_stride == 0 ? std::min<std::int64_t>(a.rows, 1) : a.rows) *
         (a.col_stride == 0 ? std::min<std::int64_t>(a.cols, 1) : a.cols);
}

std::int64_t Packing::bytes_of(std::int64_t b) const noexcept {
  return elements_of(b) * operand_.element_bytes + (ragged() ? arrays * 8 : 0);
}

std::int64_t Packing::array_bytes(std::int64_t count) const noexcept { return ragged() ? aligned(count * arrays * 8) : 0; }

std::int64_t Packing::bytes(std::int64_t first, std::int64_t count) const noexcept {
  std::int64_t elements = 0;
  if (ragged())
    for (std::int64_t b = first; b < first + count; ++b) elements += elements_of(b);
  else
    elements = count * elements_of(first);
  return array_bytes(count) + elements * operand_.element_bytes;
}

char* Packing::host(std::int64_t b) const noexcept {
  Batch<char> const& a = operand_.batch;
  char* base = a.data;
  if (a.pointers)
    std::memcpy(&base, a.pointers + b, sizeof(base));  // the array has pointers to another type
  else
    base += b * a.batch_stride * operand_.element_bytes;
  return base + (a.row_offset * a.row_stride_of(b) + a.col_offset * a.col_stride_of(b)) * operand_.element_bytes;
}

/// The box of `count` matrices of Kind::even. They are packed in the order of their host strides: column-major, row-major and interleaved
/// stay so.
Box Packing::box_of_chunk(std::int64_t count) const noexcept {
  Batch<char> const& a = operand_.batch;
  Box box{Axis{a.rows, a.row_stride}, Axis{a.cols, a.col_stride}, Axis{count, a.batch_stride}};
  std::array<Axis*, 3> order{&box[0], &box[1], &box[2]};
  std::sort(order.begin(), order.end(), [](Axis const* x, Axis const* y) { return x->host < y->host; });
  std::int64_t stride = 1;
  for (Axis* const axis : order)
    if (axis->size > 1 && axis->host > 0) {
      axis->packed = stride;
      stride *= axis->size;
    }
  // A dimension of size one gets the stride of a separate matrix.
  if (a.rows <= 1) box[0].packed = std::max<std::int64_t>(a.cols, 1);
  if (a.cols <= 1) box[1].packed = std::max<std::int64_t>(a.rows, 1);
  if (count <= 1) box[2].packed = elements_of(0);
  return box;
}

/// The result is merged already, without sorting, since this runs for each matrix.
Box Packing::box_of_matrix(std::int64_t b) const noexcept {
  Batch<char> const& a = operand_.batch;
  Axis inner{a.rows_of(b), a.row_stride_of(b), 1}, outer{a.cols_of(b), a.col_stride_of(b), 1};
  if (by_rows_) std::swap(inner, outer);
  outer.packed = inner.size;
  if (inner.size == 1) return {outer, Axis{}, Axis{}};
  if (outer.size > 1 && outer.host != inner.host * inner.size) return {inner, outer, Axis{}};
  inner.size *= outer.size;
  return {inner, Axis{}, Axis{}};
}

Batch<char> Packing::packed(std::int64_t count, char* at) const noexcept {
  Batch<char> const& a = operand_.batch;
  Batch<char> out{.data = at, .rows = a.rows, .cols = a.cols, .count = count, .conjugated = a.conjugated};
  if (kind_ == Kind::even) {
    Box const box = box_of_chunk(shared_ ? 1 : count);
    out.row_stride = box[0].packed;
    out.col_stride = box[1].packed;
    out.batch_stride = shared_ ? 0 : box[2].packed;
    return out;
  }
  out.row_stride = by_rows_ ? std::max<std::int64_t>(a.cols, 1) : 1;
  out.col_stride = by_rows_ ? 1 : std::max<std::int64_t>(a.rows, 1);
  out.batch_stride = a.rows * a.cols;
  if (kind_ == Kind::ragged) {
    auto* const numbers = reinterpret_cast<std::int64_t*>(at);
    out.data = nullptr;
    out.pointers = reinterpret_cast<char* const*>(at);
    out.row_sizes = numbers + count;
    out.col_sizes = numbers + 2 * count;
    (by_rows_ ? out.row_strides : out.col_strides) = numbers + 3 * count;
  }
  return out;
}

void Packing::write_arrays(std::int64_t first, std::int64_t count, char* to, char* at) const {
  static_assert(sizeof(char*) == 8);
  auto const put = [&](std::int64_t array, std::int64_t k, auto value) {
    static_assert(sizeof(value) == 8);
    std::memcpy(to + (array * count + k) * 8, &value, sizeof(value));
  };
  char* elements = at + array_bytes(count);
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t const rows = operand_.batch.rows_of(first + k), cols = operand_.batch.cols_of(first + k);
    put(0, k, elements);
    put(1, k, rows);
    put(2, k, cols);
    put(3, k, std::max<std::int64_t>(by_rows_ ? cols : rows, 1));
    elements += rows * cols * operand_.element_bytes;
  }
}

template <bool Packs>
void Packing::move_elements(int threads, std::int64_t first, std::int64_t count, char* packed) const {
  std::int64_t const bytes = operand_.element_bytes;
  if (operand_.batch.empty()) return;
  if (kind_ == Kind::even) {
    copy_box<Packs>(threads, merged(box_of_chunk(count)), host(first), packed, bytes);
    return;
  }
  if (kind_ == Kind::each && !operand_.batch.row_strides && !operand_.batch.col_strides) {
    // All matrices have the same shape, so the box is computed once.
    Box const box = box_of_matrix(first);
    std::int64_t const size = elements_of(first) * bytes;
    parallel_for(threads, count, std::max<std::int64_t>(bytes_per_piece / size, 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) copy_box<Packs>(box, host(first + k), packed + k * size, bytes);
    });
    return;
  }
  std::vector<std::int64_t> starts(static_cast<std::size_t>(count) + 1);
  for (std::int64_t k = 0; k < count; ++k)
    starts[static_cast<std::size_t>(k) + 1] = starts[static_cast<std::size_t>(k)] + elements_of(first + k) * bytes;
  std::int64_t const grain = std::max<std::int64_t>(bytes_per_piece / std::max<std::int64_t>(starts.back() / count, 1), 1);
  parallel_for(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      if (elements_of(first + k) > 0)
        copy_box<Packs>(box_of_matrix(first + k), host(first + k), packed + starts[static_cast<std::size_t>(k)], bytes);
  });
}

void Packing::pack(int threads, std::int64_t first, std::int64_t count, char* to, char* at) const {
  if (ragged()) write_arrays(first, count, to, at);
  if (reads()) move_elements<true>(threads, first, count, to + array_bytes(count));
}

void Packing::unpack(int threads, std::int64_t first, std::int64_t count, char const* from) const {
  move_elements<false>(threads, first, count, const_cast<char*>(from) + array_bytes(count));
}

}  // namespace myriad::gpu
