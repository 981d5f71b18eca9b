#pragma once
/// Block reflectors that are applied to matrices, V^H V and T included: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// Columns of V at most
SIMT_INLINE constexpr int block_reflector_width_of(int element_bytes) { return element_bytes == 16 ? 16 : 32; }
template <typename T>
inline constexpr int block_reflector_width = block_reflector_width_of(sizeof(T));

/// How a block works. A warp has `rows` rows of as many columns of C in registers as 4096 bytes hold, and `parts` warps share columns. The
/// rows of all parts are in the block at a time. Double numbers lie as tensor cores want them.
struct BlockReflectorShape {
  static constexpr int rows = 64, most_threads = 512;

  /// Columns of a warp
  SIMT_INLINE static constexpr int columns(int element_bytes) { return 128 / element_bytes; }
  /// Elements from a row of V to the next: neighbouring rows are in different banks.
  SIMT_INLINE static constexpr int pitch(int element_bytes) { return block_reflector_width_of(element_bytes) + 16 / element_bytes; }
};

/// The dynamic shared memory of a block, in elements: rows of V; a square with V^H V below the diagonal and T; V^H C of all parts, by
/// columns.
struct BlockReflectorMemory {
  int square, products, products_of_part;
  long long bytes, square_bytes;

  SIMT_INLINE constexpr BlockReflectorMemory(int element_bytes, int parts, int groups) {
    using Shape = BlockReflectorShape;
    int const pitch = Shape::pitch(element_bytes);
    square = parts * Shape::rows * pitch;
    products = square + block_reflector_width_of(element_bytes) * pitch;
    square_bytes = static_cast<long long>(products - square) * element_bytes;
    products_of_part = groups * Shape::columns(element_bytes) * pitch;
    bytes = static_cast<long long>(products + parts * products_of_part) * element_bytes;
  }
};

enum class BlockReflectorJob : int {
  apply,  ///< C = (I - V T V^H) C, or with T^H
  gram,   ///< V^H V below the diagonal, of all panels
  factor  ///< T in place of V^H V, of all panels, by blocks of one warp
};

/// V is unit lower trapezoidal: what is on and above the diagonal of `a` is not read. It has args.a.cols columns, or in a ragged batch as
/// many as the smaller side of a matrix, and no more than there are in tau. Panel p of several begins at row and column p * line.
template <typename T>
struct BlockReflectorArguments {
  simt::Matrices<T const> a, tau;
  simt::Matrices<T> c;
  T* gram;  ///< V^H V below the diagonal, as QrRegistersArguments says, or T; one panel of all matrices after the other
  int line;
  int panels;                              ///< V^H V and T: of so many
  int begin, end;                          ///< columns of C that change, or columns of V^H V
  int parts, groups;                       ///< of a block: groups of warps with the same columns
  int square, products, products_of_part;  ///< of BlockReflectorMemory
  int first_loaded;                        ///< rows and columns of C before this one are those of a unit matrix, and not read
  bool adjoint;                            ///< T^H
  BlockReflectorJob job;
};

}  // namespace myriad
