#pragma once
/// A batch of matrices as kernels see it: myriad::Batch with the element types of the device.

#include "simt/types.hpp"

namespace myriad::simt {

template <typename T>
struct Matrices {
  T* data;
  T* const* pointers;  ///< one per matrix, or null
  Index rows, cols;    ///< of every matrix; ragged: an upper bound
  Index row_stride, col_stride, batch_stride;
  Index count;
  Index const* row_sizes;  ///< ragged: see myriad::Batch
  Index const* col_sizes;
  Index const* row_strides;
  Index const* col_strides;
  Index row_offset, col_offset;
  bool conjugated;

  SIMT_INLINE bool given() const { return data != nullptr || pointers != nullptr; }
  SIMT_INLINE int rows_of(Index b) const { return row_sizes ? within(row_sizes[b] - row_offset, rows) : static_cast<int>(rows); }
  SIMT_INLINE int cols_of(Index b) const { return col_sizes ? within(col_sizes[b] - col_offset, cols) : static_cast<int>(cols); }
  SIMT_INLINE Index row_stride_of(Index b) const { return row_strides ? row_strides[b] : row_stride; }
  SIMT_INLINE Index col_stride_of(Index b) const { return col_strides ? col_strides[b] : col_stride; }
  SIMT_INLINE T* at(Index b, int i, int j) const {
    return (pointers ? pointers[b] : data + b * batch_stride) + (i + row_offset) * row_stride_of(b) + (j + col_offset) * col_stride_of(b);
  }
  /// Rows [i, i + m) and columns [j, j + n) of each matrix, clipped to its size.
  SIMT_INLINE Matrices part(Index i, Index m, Index j, Index n) const {
    Matrices out = *this;
    out.row_offset += i;
    out.rows = smaller(m, rows - i);
    out.col_offset += j;
    out.cols = smaller(n, cols - j);
    return out;
  }
  SIMT_INLINE Matrices<T const> as_const() const {
    return {data,      pointers,  rows,        cols,        row_stride, col_stride, batch_stride, count,
            row_sizes, col_sizes, row_strides, col_strides, row_offset, col_offset, conjugated};
  }

 private:
  SIMT_INLINE static int within(Index size, Index bound) { return static_cast<int>(size < 0 ? 0 : size > bound ? bound : size); }
};

}  // namespace myriad::simt
