#pragma once
/// What the copy engine is told of the matrices of a batch, to move boxes of them. For the host.

#include "simt/types.hpp"

namespace myriad::simt {

/// Matrices whose elements are side by side in lines, and the boxes in which they are moved. The first matrix, lines and matrices begin at
/// multiples of 16 bytes, and where boxes are stored, lines end at such. A box has 128 bytes of up to 256 lines of one matrix; what of it
/// is beyond the matrix is zero, and not written.
struct BoxedMatrices {
  void const* data;
  int element_bytes;                   ///< 2 or 4
  Index length, lines, matrices;       ///< of a line, in elements; of a matrix; in all
  Index line_further, matrix_further;  ///< bytes to the next one
  int lines_of_box;
};

namespace host {
/// What the twin's copies of boxes take; without an equal at the driver's.
TensorMap tensor_map(BoxedMatrices const& x);
}  // namespace host

}  // namespace myriad::simt
