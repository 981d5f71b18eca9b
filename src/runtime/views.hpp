#pragma once
/// Batches as kernels see them.

#include <complex>
#include <cstdint>
#include <type_traits>

#include "myriad/batch.hpp"
#include "myriad/types.hpp"
#include "simt/tile.hpp"

namespace myriad::gpu {

namespace detail {
template <typename T>
struct DeviceElement {
  using type = T;
};
template <typename R>
struct DeviceElement<std::complex<R>> {
  using type = simt::Complex<R>;
};
template <>
struct DeviceElement<half> {
  using type = simt::Half;
};
template <>
struct DeviceElement<bfloat16> {
  using type = simt::Bfloat16;
};
template <>
struct DeviceElement<complex_half> {
  using type = simt::Complex<simt::Half>;
};
template <typename T>
struct DeviceElement<T const> {
  using type = typename DeviceElement<T>::type const;
};
}  // namespace detail

/// The type of T in kernels, with the same bytes.
template <typename T>
using DeviceElement = typename detail::DeviceElement<T>::type;

template <typename T>
simt::Matrices<DeviceElement<T>> matrices_of(Batch<T> b) {
  using D = DeviceElement<T>;
  if (b.data && !b.pointers && !b.ragged() && !b.row_strides && !b.col_strides) {
    b.data += b.row_offset * b.row_stride + b.col_offset * b.col_stride;
    b.row_offset = b.col_offset = 0;
  }
  static_assert(sizeof(std::int64_t) == sizeof(simt::Index));
  auto const sizes = [](std::int64_t const* p) { return reinterpret_cast<simt::Index const*>(p); };
  return {.data = reinterpret_cast<D*>(b.data),
          .pointers = reinterpret_cast<D* const*>(b.pointers),
          .rows = b.rows,
          .cols = b.cols,
          .row_stride = b.row_stride,
          .col_stride = b.col_stride,
          .batch_stride = b.batch_stride,
          .count = b.count,
          .row_sizes = sizes(b.row_sizes),
          .col_sizes = sizes(b.col_sizes),
          .row_strides = sizes(b.row_strides),
          .col_strides = sizes(b.col_strides),
          .row_offset = b.row_offset,
          .col_offset = b.col_offset,
          .conjugated = b.conjugated};
}

/// The layout that selects how a kernel moves these matrices.
template <typename T>
simt::Layout layout_of(simt::Matrices<T> const& a) {
  using simt::Layout;
  bool const by_rows = a.col_stride < a.row_stride;
  // Kernels treat an empty matrix as a ragged one of size zero.
  bool const ragged = a.row_sizes || a.col_sizes || a.row_strides || a.col_strides || a.rows == 0 || a.cols == 0;
  if (ragged) return by_rows ? Layout::ragged_rows : Layout::ragged_columns;
  bool const close =
      !a.pointers && (a.batch_stride == a.rows * a.cols || a.count == 1) && reinterpret_cast<std::uintptr_t>(a.data) % 16 == 0;
  if (close && a.row_stride == 1 && (a.col_stride == a.rows || a.cols == 1)) return Layout::packed_columns;
  if (close && a.col_stride == 1 && (a.row_stride == a.cols || a.rows == 1)) return Layout::packed_rows;
  if (!a.pointers && a.batch_stride == 1 && a.count > 1) return Layout::interleaved;
  if (a.row_stride == 1 && (a.col_stride == a.rows || a.cols == 1)) return Layout::dense_columns;
  if (a.col_stride == 1 && (a.row_stride == a.cols || a.rows == 1)) return Layout::dense_rows;
  return by_rows ? Layout::rows : Layout::columns;
}

/// The layout for moving single elements: parts of matrices, or ragged ones.
constexpr simt::Layout by_elements(simt::Layout layout) {
  if (!simt::is_packed(layout) && !simt::is_dense(layout)) return layout;
  return simt::is_by_rows(layout) ? simt::Layout::rows : simt::Layout::columns;
}

}  // namespace myriad::gpu
