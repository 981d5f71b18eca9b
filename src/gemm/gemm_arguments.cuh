#pragma once
/// Arguments of the product kernels.

#include "simt/matrices.hpp"

namespace myriad {

/// Whether columns or rows of a matrix are contiguous.
enum class Lines : int { columns, rows };

/// The structure of A. All but `general` read one triangle: the named one, or the lower one of a symmetric or Hermitian matrix.
enum class Structure : int { general, symmetric, hermitian, lower, unit_lower, upper, unit_upper };
/// Which elements of C are read and written. The diagonal of a Hermitian matrix is real.
enum class Written : int { whole, lower, lower_hermitian };

/// Whether element (i, j) of a matrix of this structure is read.
SIMT_INLINE constexpr bool is_stored(Structure structure, int i, int j) {
  switch (structure) {
    case Structure::general:
      return true;
    case Structure::unit_lower:
      return i > j;
    case Structure::upper:
      return i <= j;
    case Structure::unit_upper:
      return i < j;
    default:
      return i >= j;
  }
}
SIMT_INLINE constexpr bool is_triangular(Structure structure) { return structure >= Structure::lower; }

/// A launch of a schedule: `count` listed matrices from number `first` on, and their tiles.
struct GemmSchedulePart {
  simt::Index first, count, tiles;
};
/// The tiles of a ragged batch, see gemm_schedule.
struct GemmSchedule {
  simt::Index const* starts;  ///< for each listed matrix: the tiles of its launch that come before
  int const* matrices;        ///< numbers of the listed matrices, or of groups of neighbours that are computed together
  GemmSchedulePart const* part;
};

/// C = alpha A B + beta C; with 16-bit A and B, C may have the compute type.
template <typename T, typename Output = T>
struct GemmArguments {
  simt::Compute<T> alpha, beta;
  simt::Matrices<T const> a, b;
  simt::Matrices<Output> c;
  simt::Index depth;  ///< columns of A, in a ragged batch an upper bound; 0: A and B are not read
  /// A ragged batch takes several launches, each for the matrices C whose larger side is in (above, upto].
  simt::Index above = 0, upto = 0x7fffffff;
  GemmSchedule schedule{};  ///< for kernels with `scheduled` in their config
};

/// The new value of element c of C, where `sum` is that of A B. Without terms the product is zero and alpha is not read.
template <Written written, typename T, typename Output>
SIMT_INLINE Output gemm_element(GemmArguments<T, Output> const& args, bool reads_c, bool diagonal, simt::Index terms, simt::Compute<T> sum,
                                Output const& c) {
  using S = simt::Compute<T>;
  S value = terms == 0 ? simt::from_real<S>(0) : args.alpha * sum;
  if constexpr (written == Written::lower_hermitian && simt::is_complex<T>) {
    if (reads_c) value = {simt::multiply_add(args.beta.re, c.re, value.re), simt::multiply_add(args.beta.re, c.im, value.im)};
    return diagonal ? simt::from_real<T>(value.re) : value;
  } else {
    if (reads_c) {
      S const former = simt::widened(c);
      value = terms == 0 ? args.beta * former : simt::multiply_add(args.beta, former, value);
    }
    return simt::rounded<Output>(value);
  }
}
/// Whether C stays as it is, including imaginary parts on the diagonal.
template <Written written, typename T, typename Output>
SIMT_INLINE bool gemm_changes_nothing(GemmArguments<T, Output> const& args, simt::Index terms) {
  return written != Written::whole && terms == 0 && args.beta == simt::from_real<simt::Compute<T>>(1);
}

/// 16-bit products of at most this many rows, columns and terms are summed by lanes, in the order of k; larger ones on tensor cores. The
/// two round differently, so every kernel decides like this, for each matrix of a ragged batch.
inline constexpr int gemm_halves_by_lanes = 4;

}  // namespace myriad
