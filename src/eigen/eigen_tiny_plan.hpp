#pragma once
/// Which kernel is used for eigenproblems of tiny matrices on a GPU.

#include <algorithm>

#include "eigen/eigen_tiny_config.cuh"
#include "myriad/types.hpp"
#include "runtime/tiny.hpp"

namespace myriad {

/// The layout is left as packed columns. Rotations are computed by every lane of a matrix, so that more lanes are more work in all, and
/// less for each: about four rows to a lane, which has that much to do while it waits for the next rotation. Not by measurement.
constexpr EigenTiny eigen_tiny_plan(EigenJob job, int n) {
  int const lanes = n <= 4 ? 1 : n <= 8 ? 2 : n <= 16 ? 4 : 8;
  return {.job = job, .n = n, .lanes = lanes, .matrices = 32 / lanes, .a = simt::Layout::packed_columns};
}

/// The same for interleaved batches: more matrices to a block, as far as shared memory holds them.
constexpr EigenTiny eigen_tiny_interleaved(EigenTiny c, int element_bytes, int real_bytes) {
  constexpr int most_bytes = 160 * 1024;
  c.a = simt::Layout::interleaved;
  EigenTiny wider = c;
  wider.matrices = gpu::matrices_of_block(c.matrices, c.lanes, true, element_bytes);
  return EigenTinyMemory(element_bytes, real_bytes, wider).bytes <= most_bytes ? wider : c;
}

}  // namespace myriad
