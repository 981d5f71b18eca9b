#pragma once
/// QR of panels by clusters of blocks: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// Blocks of a cluster, whatever the panel: sums depend on it.
inline constexpr int qr_cluster_blocks = 8;
inline constexpr int qr_cluster_most_warps = 8;
/// Columns of a panel at most, eight times as many as a thread has.
SIMT_INLINE constexpr int qr_cluster_columns(int element_bytes) { return element_bytes == 16 ? 16 : 32; }

/// Warps of a block for panels of so many rows, 32 of them to a warp.
SIMT_INLINE constexpr int qr_cluster_warps(simt::Index rows) {
  return static_cast<int>((rows + 32 * qr_cluster_blocks - 1) / (32 * qr_cluster_blocks));
}

/// The dynamic shared memory of a block in elements: each twice sums of warps, those of blocks, and the first row of what is left; products
/// of reflectors, and tau on their diagonal.
struct QrClusterMemory {
  int columns, of_blocks, heads, products, elements;
  SIMT_INLINE constexpr explicit QrClusterMemory(int element_bytes, int warps)
      : columns(qr_cluster_columns(element_bytes)),
        of_blocks(2 * warps * columns),
        heads(of_blocks + 2 * qr_cluster_blocks * columns),
        products(heads + 4 * columns),
        elements(products + columns * columns) {}
};

/// The panel becomes R and the reflectors, as LAPACK's geqrf. Its columns are near one: see QrPass.
template <typename T>
struct QrClusterArguments {
  simt::Matrices<T> a, tau;  ///< a is not conjugated; tau is written as its view says
  T* gram;                   ///< where V^H V goes, `line` by `line` for each matrix, what is below its diagonal; or null
  int line;
  int warps;  ///< of a block
};

}  // namespace myriad
