#pragma once
/// What the kernels of products are given.

#include "simt/matrices.hpp"

namespace myriad {

/// What of a matrix is side by side in memory: elements of a column or of a row.
enum class Lines : int { columns, rows };

/// What A is, of which in all but the first case one triangle is read: that of the name, or the lower one of a symmetric or Hermitian
/// matrix.
enum class Structure : int { general, symmetric, hermitian, lower, unit_lower, upper, unit_upper };
/// Which elements of C are read and written. The diagonal of a Hermitian matrix is real.
enum class Written : int { whole, lower, lower_hermitian };

/// Whether element (i, j) of such a matrix is read.
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

/// The tiles of one launch for matrices of a ragged batch: of `count` listed ones from number `first` on.
struct GemmSchedulePart {
  simt::Index first, count, tiles;
};
/// Which tiles a ragged batch has, see gemm_schedule.
struct GemmSchedule {
  simt::Index const* starts;  ///< of each listed matrix: how many tiles of its launch come before
  int const* matrices;        ///< which they are; of neighbours that are computed at the same time, which of these groups
  GemmSchedulePart const* part;
};

/// C = alpha A B + beta C; of A and B of 16-bit numbers C may be of what is computed.
template <typename T, typename Output = T>
struct GemmArguments {
  simt::Compute<T> alpha, beta;
  simt::Matrices<T const> a, b;
  simt::Matrices<Output> c;
  simt::Index depth;  ///< columns of A, of a ragged batch an upper bound; 0: A and B are not read
  /// A ragged batch is several launches, each for those C whose larger side is in (above, upto].
  simt::Index above = 0, upto = 0x7fffffff;
  GemmSchedule schedule{};  ///< of a kernel whose config says so
};

/// What element c of C becomes where `sum` is that of A B; of no terms it is zero, and alpha is not looked at.
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
/// Whether C stays as it is, also what is not real of a diagonal.
template <Written written, typename T, typename Output>
SIMT_INLINE bool gemm_changes_nothing(GemmArguments<T, Output> const& args, simt::Index terms) {
  return written != Written::whole && terms == 0 && args.beta == simt::from_real<simt::Compute<T>>(1);
}

/// Products of 16-bit numbers of so many rows, columns and terms at most are summed by lanes, in the order of the terms; larger ones on
/// tensor cores. So it is in every kernel and of each matrix of a ragged batch, since these round differently.
inline constexpr int gemm_halves_by_lanes = 4;

}  // namespace myriad
