#pragma once
/// QR of matrices that few warps hold: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// One compiled kernel, for matrices of up to `rows` rows and columns. `lanes` lanes are a group: lane l has rows l, l + lanes, ... of
/// columns g, g + groups, ... of group g.
struct QrWarps {
  int rows;           ///< a multiple of 16
  int left;           ///< columns in shared memory, a multiple of groups(); the others are in registers
  int lanes;          ///< of a group
  int span;           ///< columns of a thread with the same code for their steps
  int warps;          ///< of a block
  int blocks_per_sm;  ///< for which registers have to suffice
  constexpr bool operator==(QrWarps const&) const = default;

  SIMT_INLINE constexpr int threads() const { return 32 * warps; }
  SIMT_INLINE constexpr int groups() const { return threads() / lanes; }
  /// Rows of a thread
  SIMT_INLINE constexpr int height() const { return rows / lanes; }
  /// Columns of a thread: in shared memory and all
  SIMT_INLINE constexpr int left_width() const { return left / groups(); }
  SIMT_INLINE constexpr int width() const { return rows / groups(); }
};

/// The dynamic shared memory of a block, in elements: the left columns, columns that are passed on in odd and even steps, factors of all
/// columns in odd and even steps, and v_scale, column_scale, beta and tau of the reflectors; behind them words of 4 bytes, one for each
/// warp.
struct QrWarpsMemory {
  int ld, passed, factors, v_scales, column_scales, betas, taus, words;
  long long bytes;

  SIMT_INLINE constexpr QrWarpsMemory(QrWarps const& c, int element_bytes)
      : ld(c.rows + (c.lanes < 16       ? c.lanes
                     : c.rows % 32 == 0 ? 16
                                        : 0)),  // columns that a warp reads at a time are in different banks
        passed(ld * c.left),
        factors(passed + 2 * c.rows),
        v_scales(factors + 2 * c.rows),
        column_scales(v_scales + c.rows),
        betas(column_scales + c.rows),
        taus(betas + c.rows),
        words(taus + c.rows),
        bytes(static_cast<long long>(words) * element_bytes + 4 * c.warps) {}
};

/// A becomes R and the reflectors, as LAPACK's geqrf. A is not conjugated; tau is written as its view says.
template <typename T>
struct QrWarpsArguments {
  simt::Matrices<T> a, tau;
};

}  // namespace myriad
