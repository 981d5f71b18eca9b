#pragma once
/// Sums of products of 16-bit matrices in shared memory, on tensor cores.

#include "gemm/gemm_arguments.cuh"
#include "simt/tile.hpp"

namespace myriad {

/// A or B in shared memory, by lines: rows of A, columns of B. Terms of a line are `term_step` elements apart, lines `line_step`. `beyond`:
/// lines after the `lines` that exist are read as another one, multiplied, and discarded. `aligned`: the first element is at a multiple of
/// 16 bytes, and the number of terms is a multiple of 8. `swizzle`: see Tile.
template <typename T, int line_step, int term_step, int lines, bool beyond, bool aligned, simt::Swizzle swizzle = simt::no_swizzle>
struct HalfOperand {
  static constexpr int count = lines;
  /// Terms per word.
  static constexpr int together = simt::is_complex<T> ? 1 : 2;
  /// Whether ldmatrix can read it, as 8 lines by 8 terms.
  static constexpr bool by_eights = aligned && together == 2 && lines % 8 == 0 &&
                                    (term_step == 1   ? line_step % 8 == 0
                                     : line_step == 1 ? term_step % 8 == 0
                                                      : false);

  T const* data;
  bool conjugated;

  SIMT_INLINE simt::Compute<T> element(int line, int term) const { return simt::conjugate_if(conjugated, simt::widened(*at(line, term))); }
  /// The word that begins with `term`. Unless `all` of its terms exist, those from `terms` on are zero, whatever is in memory: in both
  /// operands, since zero times NaN is NaN.
  template <bool all>
  SIMT_INLINE unsigned word(int line, int term, int terms) const {
    if (!all && term >= terms) return 0;
    int const inside = beyond ? simt::smaller(line, lines - 1) : line;
    // Two neighbours are a word where every line begins at an even element.
    if constexpr (together == 1 || (term_step == 1 && line_step % 2 == 0)) {
      unsigned const both = simt::load_word(at(inside, term));
      return all || term + together <= terms ? both : both & 0xffff;
    } else {
      unsigned const first = at(inside, term)->bits;
      return all || term + 1 < terms ? first | static_cast<unsigned>(at(inside, term + 1)->bits) << 16 : first;
    }
  }
  /// This lane's words, as `word` gives them, by ldmatrix: 8 lines from `line` on and 8 terms from `term` on; then the next 8 lines,
  /// `across` times in all; then the next 8 terms.
  template <int across, int parts>
  SIMT_INLINE void words(unsigned (&x)[parts], int line, int term) const {
    int const part = simt::lane_index() / 8 % parts, of_part = simt::lane_index() % 8;
    int const first_line = line + part % across * 8, first_term = term + part / across * 8;
    int const from = beyond ? simt::smaller(first_line, lines - 8) : first_line;
    if constexpr (term_step == 1)
      simt::load_matrices<false>(x, at(from + of_part, first_term));
    else
      simt::load_matrices<true>(x, at(from, first_term + of_part));
  }

 private:
  SIMT_INLINE T const* at(int line, int term) const {
    constexpr int per_chunk = 16 / sizeof(T);
    return data + ((line * line_step + term * term_step) ^ (swizzle.of(term_step == 1 ? line : term) * per_chunk));
  }
};

/// The sums of one lane of a warp, which has `down` by `across` tiles of C from (row, column) on, of 16 rows (complex: 8) by 8 columns
/// each.
///
/// Every kernel takes 16 (complex: 8) terms at a time from the first on, so each element has the same bits everywhere. A complex product is
/// a real one with twice the rows and terms: (re, -im) of a row of A gives real parts, (im, re) imaginary ones, with (re, im) of a column
/// of B.
template <typename T, int down, int across>
struct GemmSumsOfHalves {
  static constexpr bool complex = simt::is_complex<T>;
  static constexpr int tile_rows = complex ? 8 : 16, terms_at_once = complex ? 8 : 16;

  float sum[down][across][4];
  int row, column, group, of_group;

  SIMT_INLINE GemmSumsOfHalves(int first_row, int first_column)
      : row(first_row), column(first_column), group(simt::lane_index() / 4), of_group(simt::lane_index() % 4) {
    SIMT_UNROLL
    for (int d = 0; d < down; ++d) {
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) sum[d][c][0] = sum[d][c][1] = sum[d][c][2] = sum[d][c][3] = 0;
    }
  }

  /// Adds the products of terms_at_once terms from `first` on. Unless `all` exist, those from `terms` on are zero.
  template <bool all, typename A, typename B>
  SIMT_INLINE void add(A const& a, B const& b, int first, int terms) {
    // All words of A or of B are in registers, whichever are fewer.
    constexpr bool holds_a = 2 * down < across;
    unsigned left[holds_a ? down : 1][4], right[holds_a ? 1 : across][2];
    if constexpr (holds_a) {
      SIMT_UNROLL
      for (int d = 0; d < down; ++d) read_a<all>(left[d], a, row + tile_rows * d, first, terms);
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        read_b<all>(right[0], b, column + 8 * c, first, terms);
        SIMT_UNROLL
        for (int d = 0; d < down; ++d) simt::multiply_add_16x8x16<simt::Real<T>>(left[d], right[0], sum[d][c]);
      }
    } else {
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) read_b<all>(right[c], b, column + 8 * c, first, terms);
      SIMT_UNROLL
      for (int d = 0; d < down; ++d) {
        read_a<all>(left[0], a, row + tile_rows * d, first, terms);
        SIMT_UNROLL
        for (int c = 0; c < across; ++c) simt::multiply_add_16x8x16<simt::Real<T>>(left[0], right[c], sum[d][c]);
      }
    }
  }

  /// Adds all terms of a product so small that lanes sum it (see gemm_halves_by_lanes).
  template <typename A, typename B>
  SIMT_INLINE void add_in_order(A const& a, B const& b, int rows, int columns, int terms) {
    using S = simt::Compute<T>;
    SIMT_UNROLL
    for (int e = 0; e < 2; ++e) {
      int const i = row + group, j = column + 2 * of_group + e;
      S value = simt::from_real<S>(0);
      SIMT_LOOP
      for (int p = 0; p < terms; ++p)
        if (i < rows && j < columns) value = simt::multiply_add(a.element(i, p), b.element(j, p), value);
      sum[0][0][e] = simt::real_part(value);
      if constexpr (complex) sum[0][0][2 + e] = value.im;
    }
  }

  /// Calls use(i, j, sum) for this lane's elements.
  template <typename Use>
  SIMT_INLINE void for_each(Use use) const {
    SIMT_UNROLL
    for (int d = 0; d < down; ++d) {
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        SIMT_UNROLL
        for (int e = 0; e < (complex ? 2 : 4); ++e) {
          int const i = row + tile_rows * d + group + e / 2 * 8, j = column + 8 * c + 2 * of_group + e % 2;
          if constexpr (complex)
            use(i, j, simt::Complex<float>{sum[d][c][e], sum[d][c][2 + e]});
          else
            use(i, j, sum[d][c][e]);
        }
      }
    }
  }

 private:
  static constexpr int half = terms_at_once / 2;

  /// This lane's words of a tile's rows of A from `i` on, and of columns of B from `j` on.
  template <bool all, typename A>
  SIMT_INLINE void read_a(unsigned (&left)[4], A const& a, int i, int first, int terms) const {
    bool const second = all || first + half < terms;  // whether the second half of these terms exists
    int const term = first + of_group * A::together;
    if constexpr (complex) {
      unsigned const sign_of_real = a.conjugated ? 0 : 0x80000000u, sign_of_imaginary = a.conjugated ? 0x8000u : 0;
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) {
        unsigned const x = h == 0 || second ? a.template word<all>(i + group, term + h * half, terms) : 0;
        left[2 * h] = x ^ sign_of_real;
        left[2 * h + 1] = (x << 16 | x >> 16) ^ sign_of_imaginary;
      }
    } else if constexpr (A::by_eights) {
      constexpr int across_lines = A::count > 8 ? 2 : 1;
      if (across_lines == 2 && second) {
        a.template words<2>(left, i, first);
      } else {
        unsigned lines[2] = {}, one[1];  // of the first terms
        if constexpr (across_lines == 2) {
          a.template words<2>(lines, i, first);
        } else {
          a.template words<1>(one, i, first);
          lines[0] = one[0];
        }
        left[0] = lines[0], left[1] = lines[1], left[2] = left[3] = 0;
        if (across_lines == 1 && second) {
          a.template words<1>(one, i, first + half);
          left[2] = one[0];
        }
      }
    } else {
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) {
        bool const there = h == 0 || second;
        left[2 * h] = there ? a.template word<all>(i + group, term + h * half, terms) : 0;
        left[2 * h + 1] = there && A::count > 8 ? a.template word<all>(i + 8 + group, term + h * half, terms) : 0;
      }
    }
  }
  template <bool all, typename B>
  SIMT_INLINE void read_b(unsigned (&right)[2], B const& b, int j, int first, int terms) const {
    bool const second = all || first + half < terms;
    int const term = first + of_group * B::together;
    if constexpr (B::by_eights) {
      if (second) {
        b.template words<1>(right, j, first);
      } else {
        unsigned one[1];
        b.template words<1>(one, j, first);
        right[0] = one[0], right[1] = 0;
      }
    } else {
      right[0] = b.template word<all>(j + group, term, terms);
      right[1] = second ? b.template word<all>(j + group, term + half, terms) : 0;
    }
    if constexpr (complex) {
      unsigned const sign = b.conjugated ? 0x80000000u : 0;
      right[0] ^= sign, right[1] ^= sign;
    }
  }
};

}  // namespace myriad
