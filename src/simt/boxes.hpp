#pragma once
/// Host description of the TMA boxes of a batch's matrices.

#include "simt/types.hpp"

namespace myriad::simt {

/// Matrices with contiguous lines (unit stride), and the TMA boxes that move them. The first matrix, all lines and all matrices begin at
/// multiples of 16 bytes; if boxes are stored, lines also end at such. A box has 128 bytes of up to 256 lines of one matrix. Parts beyond
/// the matrix are loaded as zero and not stored.
struct BoxedMatrices {
  void const* data;
  int element_bytes;                   ///< 2 or 4
  Index length, lines, matrices;       ///< elements per line; lines per matrix; number of matrices
  Index line_further, matrix_further;  ///< strides in bytes
  int lines_of_box;
};

namespace host {
/// The descriptor of the twin's box copies; not a driver's descriptor.
TensorMap tensor_map(BoxedMatrices const& x);
}  // namespace host

}  // namespace myriad::simt
