#pragma once
/// Reduction to bidiagonal form of matrices that a block holds: what host and kernel share.

#include "simt/matrices.hpp"

namespace myriad {

/// One compiled kernel. A thread has rows l, l + lanes, ... of columns g, g + groups, ...: `height` by `width` elements. The first
/// `kept_width` of its columns, which are done first, are in shared memory, the others in registers. Steps of `phase` columns of a thread
/// share their code, in which what is done after them is left out.
struct GebrdBlock {
  int lanes, groups, height, width, kept_width, phase, blocks_per_sm;
  constexpr bool operator==(GebrdBlock const&) const = default;

  SIMT_INLINE constexpr int threads() const { return lanes * groups; }
  SIMT_INLINE constexpr int warps() const { return threads() / 32; }
  SIMT_INLINE constexpr int rows() const { return lanes * height; }
  SIMT_INLINE constexpr int columns() const { return groups * width; }
  /// Whether it is for matrices of m by n, m >= n.
  SIMT_INLINE constexpr bool holds(simt::Index m, simt::Index n) const { return m <= rows() && n <= columns(); }
  // Dynamic shared memory, in elements: the next column, the products A u, a column that is passed on, products of columns, row k, u, each
  // warp's part of A u, factors of reflectors, d and e, of A u, numbers of each warp, where the matrix is, and columns of threads.
  SIMT_INLINE constexpr int products_at() const { return rows(); }
  SIMT_INLINE constexpr int passed_at() const { return 2 * rows(); }
  SIMT_INLINE constexpr int dots_at() const { return 3 * rows(); }
  SIMT_INLINE constexpr int heads_at() const { return dots_at() + columns(); }
  SIMT_INLINE constexpr int u_at() const { return heads_at() + columns(); }
  SIMT_INLINE constexpr int parts_at() const { return u_at() + columns(); }
  SIMT_INLINE constexpr int taus_at() const { return parts_at() + warps() * rows(); }
  SIMT_INLINE constexpr int of_product_at() const { return taus_at() + 4 * columns(); }
  SIMT_INLINE constexpr int words_at() const { return of_product_at() + 3; }
  /// A multiple of 8 bytes
  SIMT_INLINE constexpr int places_at(int element_bytes) const {
    return element_bytes == 4 ? (words_at() + warps() + 1) / 2 * 2 : words_at() + warps();
  }
  SIMT_INLINE constexpr int kept_at() const { return words_at() + warps() + 7; }
  SIMT_INLINE constexpr int shared_bytes(int element_bytes) const { return (kept_at() + kept_width * height * threads()) * element_bytes; }
};

/// Sizes of kernels for smaller matrices. In ragged batches each kernel leaves to these what they hold.
struct GebrdSmaller {
  static constexpr int most = 12;
  int count;
  short rows[most], columns[most];

  SIMT_INLINE bool hold(int m, int n) const {
    bool any = false;
    for (int k = 0; k < count; ++k) any |= m <= rows[k] && n <= columns[k];
    return any;
  }
};

inline constexpr int gebrd_width = 16;  ///< columns of a panel

/// The place of the part of a matrix that panels leave to a block: elements from (first, first) on. Panels stop as soon as the kernel for
/// matrices of `rows` by `columns` holds it; zeros: never.
template <typename T>
struct GebrdRest {
  int rows, columns;
  int first;  ///< 0: the whole matrix, which is where it belongs
  T const* a;
  simt::Index ld, stride;
  simt::Real<T> const* largest;  ///< largest parts of the whole matrix, one per part of it
  int parts;

  /// Steps by panels.
  SIMT_INLINE int steps(int m, int n) const {
    int const most = simt::larger(simt::larger(m - rows, n - columns), 0);
    return simt::smaller((most + gebrd_width - 1) / gebrd_width * gebrd_width, n);
  }
};

/// The factor that scales a matrix to norm one; NaN if it has NaN or infinity.
template <typename R>
SIMT_INLINE R gebrd_scale(R const* largest, int parts) {
  using namespace simt;
  auto top = ordered_bits(R(0));
  for (int k = 0; k < parts; ++k) top = larger(top, ordered_bits(largest[k]));
  R const size = number_of(top);
  return !(size < R(infinity())) ? R(quiet_nan()) : size == R(0) ? R(1) : reciprocal_power(size);
}

/// Matrices with fewer rows than columns are reduced as their transposes.
template <typename T>
struct GebrdArguments {
  simt::Matrices<T> a;
  simt::Matrices<simt::Real<T>> d, e;
  simt::Matrices<T> tauq, taup;
  GebrdSmaller others;
  GebrdRest<T> rest;
};

namespace simt {

/// Matrix b of a batch as a tall one, m by n.
template <typename T>
struct GebrdMatrix {
  int m, n;
  int steps;  ///< by panels
  int first = 0;
  bool wide;  ///< whether it is the transpose
  Index row_stride, col_stride;
  T* origin;

  SIMT_INLINE GebrdMatrix(GebrdArguments<T> const& args, Index b) {
    int const rows = args.a.rows_of(b), cols = args.a.cols_of(b);
    Index const down = args.a.row_stride_of(b), right = args.a.col_stride_of(b);
    wide = rows < cols;
    m = wide ? cols : rows;
    n = wide ? rows : cols;
    row_stride = wide ? right : down;
    col_stride = wide ? down : right;
    origin = args.a.at(b, 0, 0);
    if (args.others.hold(m, n)) m = n = 0;
    steps = args.rest.steps(m, n);
  }
  /// The part that panels have left, if it is to be reduced now, or nothing.
  SIMT_INLINE GebrdMatrix rest(int step) const {
    GebrdMatrix out = *this;
    bool const is = steps == step && step < n;
    out.first = step;
    out.m = is ? m - step : 0;
    out.n = is ? n - step : 0;
    return out;
  }
  SIMT_INLINE T* at(int i, int j) const { return origin + (first + i) * row_stride + (first + j) * col_stride; }
  SIMT_INLINE void set_real(Matrices<Real<T>> const& to, Index b, int k, Real<T> value) const {
    store_global(to.at(b, first + k, 0), value);
  }
  // The factors of the transpose are those of the conjugate transpose, conjugated.
  SIMT_INLINE void set_left(GebrdArguments<T> const& args, Index b, int k, T tau) const {
    auto const& to = wide ? args.taup : args.tauq;
    store_global(to.at(b, first + k, 0), conjugate_if((to.conjugated != args.a.conjugated) != wide, tau));
  }
  SIMT_INLINE void set_right(GebrdArguments<T> const& args, Index b, int k, T tau) const {
    auto const& to = wide ? args.tauq : args.taup;
    store_global(to.at(b, first + k, 0), conjugate_if((to.conjugated != args.a.conjugated) != wide, tau));
  }
};

}  // namespace simt
}  // namespace myriad
