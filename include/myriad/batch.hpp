#pragma once
/// Batch: the descriptor of a batch of matrices, and its views.
///
/// Element (i, j) of matrix b lies at `data[b*batch_stride + i*row_stride + j*col_stride]`, or, with an array of pointers, at
/// `pointers[b][i*row_stride + j*col_stride]`. Column-major has row_stride = 1, row-major (NumPy, PyTorch) col_stride = 1, interleaved
/// ("compact") batch_stride = 1. Strides count elements, not bytes. They are positive; a dimension that is only read may have stride zero
/// (broadcast).
///
/// A descriptor owns nothing and is cheap to copy. The memory that it points to, including the size and stride arrays of a ragged batch,
/// must stay valid until the work that uses it has run (`Queue::wait`).

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "myriad/types.hpp"

namespace myriad {

/// A batch of matrices with elements of type T: addresses, sizes and strides.
template <typename T>
struct Batch {
  T* data = nullptr;                          ///< first element of matrix 0, unless `pointers` is set
  T* const* pointers = nullptr;               ///< one pointer per matrix, or null
  std::int64_t rows = 0;                      ///< rows of every matrix; ragged: an upper bound
  std::int64_t cols = 0;                      ///< columns of every matrix; ragged: an upper bound
  std::int64_t row_stride = 1;                ///< distance from (i, j) to (i + 1, j)
  std::int64_t col_stride = 0;                ///< distance from (i, j) to (i, j + 1)
  std::int64_t batch_stride = 0;              ///< distance from matrix b to matrix b + 1; unused with `pointers`
  std::int64_t count = 0;                     ///< number of matrices
  std::int64_t const* row_sizes = nullptr;    ///< ragged: rows of each matrix, or null
  std::int64_t const* col_sizes = nullptr;    ///< ragged: columns of each matrix, or null
  std::int64_t const* row_strides = nullptr;  ///< ragged: row stride of each matrix, or null for `row_stride`
  std::int64_t const* col_strides = nullptr;  ///< ragged: column stride of each matrix, or null for `col_stride`
  std::int64_t row_offset = 0;                ///< first row of the view, see `block`
  std::int64_t col_offset = 0;                ///< first column of the view
  bool conjugated = false;                    ///< the matrix is the elementwise conjugate of the stored one

  /// Whether there is nothing to do: no matrices, or no elements in them.
  [[nodiscard]] bool empty() const noexcept { return count <= 0 || rows <= 0 || cols <= 0; }
  /// Whether matrices may differ in size.
  [[nodiscard]] bool ragged() const noexcept { return row_sizes != nullptr || col_sizes != nullptr; }

  /// Rows of matrix b.
  [[nodiscard]] std::int64_t rows_of(std::int64_t b) const noexcept {
    return row_sizes ? std::clamp<std::int64_t>(row_sizes[b] - row_offset, 0, rows) : rows;
  }
  /// Columns of matrix b.
  [[nodiscard]] std::int64_t cols_of(std::int64_t b) const noexcept {
    return col_sizes ? std::clamp<std::int64_t>(col_sizes[b] - col_offset, 0, cols) : cols;
  }
  /// Row stride of matrix b.
  [[nodiscard]] std::int64_t row_stride_of(std::int64_t b) const noexcept { return row_strides ? row_strides[b] : row_stride; }
  /// Column stride of matrix b.
  [[nodiscard]] std::int64_t col_stride_of(std::int64_t b) const noexcept { return col_strides ? col_strides[b] : col_stride; }

  /// Address of element (0, 0) of matrix b of the view.
  [[nodiscard]] T* matrix(std::int64_t b) const noexcept {
    T* const base = pointers ? pointers[b] : data + b * batch_stride;
    return base + row_offset * row_stride_of(b) + col_offset * col_stride_of(b);
  }
  /// Address of element (i, j) of matrix b of the view.
  [[nodiscard]] T* at(std::int64_t b, std::int64_t i, std::int64_t j) const noexcept {
    return matrix(b) + i * row_stride_of(b) + j * col_stride_of(b);
  }

  /// Converts to a read-only batch.
  operator Batch<T const>() const noexcept requires(!std::is_const_v<T>) {
    return {data,      pointers,  rows,        cols,        row_stride, col_stride, batch_stride, count,
            row_sizes, col_sizes, row_strides, col_strides, row_offset, col_offset, conjugated};
  }
};

/// An input of a routine. T is not deduced from it, so that Batch<T> and Batch<T const> are both accepted.
template <typename T>
using In = Batch<std::type_identity_t<T> const>;

/// Storage of a batch as in LAPACK: a leading dimension, and the distance between matrices.
struct Strided {
  std::int64_t ld = 0;      ///< leading dimension; 0: the number of rows
  std::int64_t stride = 0;  ///< elements from one matrix to the next; 0: ld * cols
  std::int64_t count = 1;   ///< number of matrices
};

/// Column-major matrices, `stride` elements apart.
template <typename T>
requires(!std::is_pointer_v<T>) [[nodiscard]] Batch<T> batch(T* data, std::int64_t rows, std::int64_t cols, Strided s = {}) noexcept {
  std::int64_t const ld = s.ld != 0 ? s.ld : std::max<std::int64_t>(rows, 1);
  return {.data = data,
          .rows = rows,
          .cols = cols,
          .row_stride = 1,
          .col_stride = ld,
          .batch_stride = s.stride != 0 ? s.stride : ld * cols,
          .count = s.count};
}

/// Column-major matrices behind an array of pointers (`stride` is ignored).
template <typename T>
[[nodiscard]] Batch<T> batch(T* const* pointers, std::int64_t rows, std::int64_t cols, Strided s = {}) noexcept {
  return {.pointers = pointers,
          .rows = rows,
          .cols = cols,
          .row_stride = 1,
          .col_stride = s.ld != 0 ? s.ld : std::max<std::int64_t>(rows, 1),
          .count = s.count};
}

/// Row-major matrices, as in NumPy and PyTorch; `ld` is the distance between rows (0: cols).
template <typename T>
requires(!std::is_pointer_v<T>) [[nodiscard]] Batch<T> row_major(T* data, std::int64_t rows, std::int64_t cols, Strided s = {}) noexcept {
  std::int64_t const ld = s.ld != 0 ? s.ld : std::max<std::int64_t>(cols, 1);
  return {.data = data,
          .rows = rows,
          .cols = cols,
          .row_stride = ld,
          .col_stride = 1,
          .batch_stride = s.stride != 0 ? s.stride : ld * rows,
          .count = s.count};
}

/// Row-major matrices behind an array of pointers (`stride` is ignored).
template <typename T>
[[nodiscard]] Batch<T> row_major(T* const* pointers, std::int64_t rows, std::int64_t cols, Strided s = {}) noexcept {
  return {.pointers = pointers,
          .rows = rows,
          .cols = cols,
          .row_stride = s.ld != 0 ? s.ld : std::max<std::int64_t>(cols, 1),
          .col_stride = 1,
          .count = s.count};
}

/// Interleaved ("compact") matrices: element (i, j) of all `count` matrices is contiguous; rows vary faster than columns.
template <typename T>
[[nodiscard]] Batch<T> interleaved(T* data, std::int64_t rows, std::int64_t cols, std::int64_t count) noexcept {
  return {.data = data, .rows = rows, .cols = cols, .row_stride = count, .col_stride = count * rows, .batch_stride = 1, .count = count};
}

/// One vector per matrix (pivots, tau, scalings): a batch of length-by-1 matrices; `stride` 0: length.
template <typename T>
[[nodiscard]] Batch<T> vectors(T* data, std::int64_t length, std::int64_t count, std::int64_t stride = 0) noexcept {
  std::int64_t const step = stride != 0 ? stride : length;
  return {.data = data,
          .rows = length,
          .cols = 1,
          .row_stride = 1,
          .col_stride = std::max<std::int64_t>(length, 1),
          .batch_stride = step,
          .count = count};
}

/// The same memory seen as the transposed matrices.
template <typename T>
[[nodiscard]] Batch<T> transposed(Batch<T> a) noexcept {
  std::swap(a.rows, a.cols);
  std::swap(a.row_stride, a.col_stride);
  std::swap(a.row_sizes, a.col_sizes);
  std::swap(a.row_strides, a.col_strides);
  std::swap(a.row_offset, a.col_offset);
  return a;
}

/// The same memory seen as the conjugate matrices (nothing changes for real types).
template <typename T>
[[nodiscard]] Batch<T> conjugated(Batch<T> a) noexcept {
  a.conjugated = !a.conjugated && is_complex<T>;
  return a;
}

/// The same memory seen as the conjugate transposes.
template <typename T>
[[nodiscard]] Batch<T> conjugate_transposed(Batch<T> a) noexcept {
  return conjugated(transposed(a));
}

/// The m-by-n block that starts at row i and column j of every matrix. Ragged: clipped to each matrix.
template <typename T>
[[nodiscard]] Batch<T> block(Batch<T> a, std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) noexcept {
  a.row_offset += i;
  a.col_offset += j;
  a.rows = m;
  a.cols = n;
  return a;
}
/// Rows i to i + m - 1 of every matrix.
template <typename T>
[[nodiscard]] Batch<T> rows(Batch<T> a, std::int64_t i, std::int64_t m) noexcept {
  return block(a, i, 0, m, a.cols);
}
/// Columns j to j + n - 1 of every matrix.
template <typename T>
[[nodiscard]] Batch<T> columns(Batch<T> a, std::int64_t j, std::int64_t n) noexcept {
  return block(a, 0, j, a.rows, n);
}
/// Matrices b to b + count - 1.
template <typename T>
[[nodiscard]] Batch<T> matrices(Batch<T> a, std::int64_t b, std::int64_t count) noexcept {
  if (a.pointers)
    a.pointers += b;
  else if (a.data)
    a.data += b * a.batch_stride;
  for (auto* p : {&a.row_sizes, &a.col_sizes, &a.row_strides, &a.col_strides})
    if (*p) *p += b;
  a.count = count;
  return a;
}

}  // namespace myriad
