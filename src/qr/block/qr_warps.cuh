#pragma once
/// QR of a matrix that few warps hold.
///
/// The left columns are in shared memory, the others in registers. Step k changes the columns by reflector k - 1 and makes reflector k.
/// Every group of lanes changes column k for itself, so that all threads know its norm without a barrier, and the square root is computed
/// beside the products of column k with the others. The term of the head, which needs the root, is added last. Then the lanes of a group
/// share the sums out, and the factors of the columns go through shared memory, with the one barrier of a step.

#include "qr/block/qr_warps_config.cuh"
#include "qr/range_scales.cuh"
#include "reflectors/reflector.cuh"

namespace myriad::simt {

template <typename T, QrWarps C>
struct QrByWarps {
  using R = Real<T>;
  static constexpr int lanes = C.lanes, groups = C.groups(), height = C.height(), left = C.left_width(), width = C.width();
  static constexpr QrWarpsMemory memory{C, sizeof(T)};
  static constexpr int rounds = lanes == 8 ? 3 : 4;  ///< in which the lanes of a group add up something
  static_assert(1 << rounds == lanes);
  static_assert(width % C.span == 0 && left % C.span == 0 && C.rows % lanes == 0 && left < width);
  static_assert(C.span * groups % lanes == 0, "a span has whole registers of rows");

  int m, n;
  int lane, group;
  T* shared;
  T a[width - left][height];  ///< columns of registers
  T x[height];                ///< column k below row k, as reflector k has it; row k is alpha - beta; zero above
  // Whether the column of the step was multiplied by a power of two, which one, and whether it is zero below its head.
  bool is_scaled = false, is_zero = false;
  R scale_of_column = R(1);

  SIMT_INLINE QrByWarps(int rows, int cols)
      : m(rows), n(cols), lane(thread_index() % lanes), group(thread_index() / lanes), shared(reinterpret_cast<T*>(shared_memory())) {}

  SIMT_INLINE static void sync() {
    if constexpr (C.warps == 1)
      sync_warp();
    else
      sync_block();
  }
  SIMT_INLINE int row(int r) const { return lane + lanes * r; }
  SIMT_INLINE int column(int c) const { return group + groups * c; }
  /// The rows of this thread of column c of its group, in shared memory
  SIMT_INLINE T* left_column(int c) const { return shared + column(c) * memory.ld + lane; }
  SIMT_INLINE T* passed(int j) const { return shared + memory.passed + (j & 1) * C.rows + lane; }
  /// Factors of the columns of a group, one after the other
  SIMT_INLINE T* factors(int k, int of_group) const { return shared + memory.factors + (k & 1) * C.rows + of_group * width; }
  /// Reflector k is v_scale column_scale times column k. The product of the two factors overflows where that is subnormal.
  SIMT_INLINE T& v_scale(int k) const { return shared[memory.v_scales + k]; }
  SIMT_INLINE T& column_scale(int k) const { return shared[memory.column_scales + k]; }
  SIMT_INLINE T& beta(int k) const { return shared[memory.betas + k]; }
  SIMT_INLINE T& tau(int k) const { return shared[memory.taus + k]; }
  SIMT_INLINE unsigned* words() const { return reinterpret_cast<unsigned*>(shared + memory.words); }

  /// Loads the matrix, zeros behind it. Returns the leading bits of its largest part, to all threads.
  SIMT_INLINE unsigned load(Matrices<T> const& from, Index b) {
    Index const row_stride = from.row_stride_of(b), col_stride = from.col_stride_of(b);
    T const* of_column = from.at(b, lane, group);
    SIMT_UNROLL_BY(2)
    for (int c = 0; c < left; ++c, of_column += groups * col_stride) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) {
        if (row(r) < m && column(c) < n)
          copy_async(left_column(c) + lanes * r, of_column + lanes * r * row_stride);
        else
          left_column(c)[lanes * r] = from_real<T>(0);
      }
    }
    SIMT_UNROLL
    for (int c = left; c < width; ++c, of_column += groups * col_stride) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) a[c - left][r] = load_changing_if(row(r) < m && column(c) < n, of_column + lanes * r * row_stride);
    }
    unsigned most = 0;
    SIMT_UNROLL
    for (int c = left; c < width; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) most = larger(most, leading_bits_of_parts(a[c - left][r]));
    }
    wait_copies();
    SIMT_UNROLL_BY(2)
    for (int c = 0; c < left; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) most = larger(most, leading_bits_of_parts(left_column(c)[lanes * r]));
    }
    most = largest_of_warp(most);
    if constexpr (C.warps > 1) {
      if (lane_index() == 0) words()[thread_index() / warp_size] = most;
      sync_block();
      SIMT_UNROLL
      for (int w = 0; w < C.warps; ++w) most = larger(most, words()[w]);
    }
    return most;
  }
  /// Stores R, times `back`, the reflectors, and tau.
  SIMT_INLINE void store(Matrices<T> const& to, Matrices<T> const& to_tau, Index b, R back) const {
    Index const row_stride = to.row_stride_of(b), col_stride = to.col_stride_of(b);
    int const steps = smaller(m, n);
    T* of_column = to.at(b, lane, group);
    // Elements below the diagonal become those of reflectors. Those on it are stored from `betas`.
    auto const store_column = [&](int c, auto element, auto may_be_above, auto may_be_below) {
      if (column(c) >= n) return;
      bool const is_reflector = column(c) < steps;
      T const below = is_reflector ? v_scale(column(c)) : from_real<T>(back);
      R const scale_of_value = is_reflector ? real_part(column_scale(column(c))) : R(1);
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) {
        bool const is_below = !may_be_above(r) || (may_be_below(r) && row(r) > column(c));
        bool const is_diagonal = may_be_above(r) && may_be_below(r) && row(r) == column(c);
        T const value = element(r);
        if (row(r) < m && !is_diagonal)
          store_global(of_column + lanes * r * row_stride, is_below ? below * (scale_of_value * value) : back * value);
      }
    };
    SIMT_LOOP
    for (int c = 0; c < left; ++c, of_column += groups * col_stride)
      store_column(
          c, [&](int r) { return left_column(c)[lanes * r]; }, [](int) { return true; }, [](int) { return true; });
    SIMT_UNROLL
    for (int c = left; c < width; ++c, of_column += groups * col_stride)
      store_column(
          c, [&](int r) { return a[c - left][r]; }, [&](int r) { return lanes * r < groups * (c + 1); },
          [&](int r) { return lanes * (r + 1) > groups * c; });
    for (int k = thread_index(); k < steps; k += C.threads()) {
      store_global(to.at(b, k, k), back * beta(k));
      store_global(to_tau.at(b, k, 0), conjugate_if(to_tau.conjugated, tau(k)));
    }
  }
  /// Multiplies the matrix by a power of two.
  SIMT_INLINE void scale(R factor) {
    SIMT_LOOP
    for (int c = 0; c < left; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) left_column(c)[lanes * r] = factor * left_column(c)[lanes * r];
    }
    SIMT_UNROLL
    for (int c = left; c < width; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) a[c - left][r] = factor * a[c - left][r];
    }
  }

  /// `largest`: leading bits of the largest part of the matrix.
  SIMT_INLINE void factor(unsigned largest) {
    // Products of columns with such elements might overflow once they are divided by a norm that is small.
    bool const careful = largest >= leading_bits_of_power<R>(sizeof(R) == 4 ? 50 : 160);
    SIMT_UNROLL
    for (int r = 0; r < height; ++r) x[r] = from_real<T>(0);
    for (int c = lane; c < width; c += lanes) factors(-1, group)[c] = from_real<T>(0);
    if (group == 0) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) passed(0)[lanes * r] = left > 0 ? left_column(0)[lanes * r] : a[0][r];
    }
    sync();
    steps_from<0>(smaller(m, n), careful);
  }

 private:
  /// Reflector k - 1 changes the columns from k on, and reflector k of column k is made. Column k is in registers [s, s + span). Behind the
  /// last reflector there may be such a step for the columns that have none. Returns whether the step is done; else column k was scaled,
  /// and the step is to be repeated.
  template <int s>
  SIMT_INLINE bool step(int k, int steps, bool careful) {
    // Rows from k on are in registers from `begin` on, row k in one of `heads`. Row k - 1 may be one register before.
    constexpr int begin = s * groups / lanes, heads = C.span * groups / lanes;
    bool const has_row_before = s > 0 && k == s * groups;
    T const next_factor = factors(k - 1, k % groups)[k / groups];
    T y[height], alpha = from_real<T>(0);
    SIMT_UNROLL
    for (int r = begin; r < height; ++r) {
      y[r] = multiply_add(next_factor, x[r], passed(k)[lanes * r]);
      if (r >= begin + heads) continue;
      alpha = row(r) == k ? y[r] : alpha;
      y[r] = row(r) > k ? y[r] : from_real<T>(0);
    }
    R tail = R(0);
    SIMT_UNROLL
    for (int r = begin; r < height; ++r) tail = add_square(y[r], tail);
    T factor[width - s];
    SIMT_UNROLL
    for (int c = s; c < width; ++c) {
      factor[c - s] = factors(k - 1, group)[c];
      // Columns before column k do not change.
      if (c < s + C.span && column(c) < k) factor[c - s] = from_real<T>(0);
    }
    alpha = shuffle(alpha, lane_index() - lane + k % lanes);
    // Columns in registers; meanwhile the lanes add up their squares.
    constexpr int first = s < left ? left : s;
    T sum[width - s];
    int mask = lanes / 2;
    R received = shuffle_xor(tail, mask);
    SIMT_UNROLL
    for (int c = first; c < width; ++c) {
      if constexpr (begin > 0)
        if (has_row_before) a[c - left][begin - 1] = multiply_add(factor[c - s], x[begin - 1], a[c - left][begin - 1]);
      sum[c - s] = from_real<T>(0);
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) {
        a[c - left][r] = multiply_add(factor[c - s], x[r], a[c - left][r]);
        if (r >= begin + heads) sum[c - s] = conjugate_multiply_add(y[r], a[c - left][r], sum[c - s]);
      }
      SIMT_UNROLL
      for (int round = 1; round <= rounds; ++round) {
        if (c != first + (width - first) * round / (rounds + 1)) continue;
        tail = tail + received;
        mask /= 2;
        if (mask > 0) received = shuffle_xor(tail, mask);
      }
    }
    // A real number needs no reflector.
    bool const none = (!is_complex<T> && k == m - 1) || k == steps || is_zero;
    if (none) tail = R(Reflector<T>::identity);
    Reflector<T> const reflector(alpha, tail);
    // Columns in shared memory: one is loaded while the one before is changed and multiplied.
    T value[2][height];
    SIMT_UNROLL
    for (int r = begin; s < left && r < height; ++r) value[s % 2][r] = left_column(s)[lanes * r];
    SIMT_UNROLL
    for (int c = s; c < left; ++c) {
      T* const own = left_column(c);
      SIMT_UNROLL
      for (int r = begin; c + 1 < left && r < height; ++r) value[(c + 1) % 2][r] = left_column(c + 1)[lanes * r];
      if constexpr (begin > 0)
        if (has_row_before) own[lanes * (begin - 1)] = multiply_add(factor[c - s], x[begin - 1], own[lanes * (begin - 1)]);
      sum[c - s] = from_real<T>(0);
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) {
        T& here = value[c % 2][r];
        here = multiply_add(factor[c - s], x[r], here);
        if (r >= begin + heads) sum[c - s] = conjugate_multiply_add(y[r], here, sum[c - s]);
      }
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) own[lanes * r] = value[c % 2][r];
      if (c > s + C.span || column(c) != k + 1) continue;
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) passed(k + 1)[lanes * r] = value[c % 2][r];
    }
    SIMT_UNROLL
    for (int c = first; c < width; ++c) {
      if (c > s + C.span || column(c) != k + 1) continue;
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) passed(k + 1)[lanes * r] = a[c - left][r];
    }
    if (!none && !is_scaled && (careful || !reflector.usual)) {
      scale_column<begin>(y, alpha, k);
      return false;
    }
    SIMT_UNROLL
    for (int r = begin; r < height; ++r) x[r] = r < begin + heads && row(r) == k ? reflector.difference : y[r];
    SIMT_UNROLL
    for (int c = s; c < width; ++c) {
      SIMT_UNROLL
      for (int r = begin; r < begin + heads; ++r)
        sum[c - s] = conjugate_multiply_add(x[r], c < left ? left_column(c)[lanes * r] : a[c - left][r], sum[c - s]);
    }
    // v = v_scale x
    share_factors<width - s, lanes / 2>(sum, reflector.reciprocal_of_beta * reflector.v_scale, factors(k, group) + s, width - s);
    if (thread_index() == 0) {
      v_scale(k) = reflector.v_scale;
      column_scale(k) = from_real<T>(scale_of_column);
      beta(k) = from_real<T>(reciprocal(scale_of_column) * reflector.beta);
      tau(k) = reflector.tau();
    }
    sync();
    return true;
  }
  /// Multiplies column k, with `alpha` above y, by the power of two that brings its largest part near one, and passes it on again, with no
  /// more changes by the reflector before.
  template <int begin>
  SIMT_INLINE void scale_column(T const (&y)[height], T alpha, int k) {
    sync();
    if (group == 0) {
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) passed(k)[lanes * r] = y[r];
    }
    sync();
    unsigned most = 0;
    bool nonzero = false;
    SIMT_LOOP
    for (int r = begin; r < height; ++r) {
      T const value = passed(k)[lanes * r];
      most = larger(most, leading_bits_of_parts(value));
      // A part that is not zero has leading bits, unless it is of the smallest numbers.
      nonzero |= !(value == from_real<T>(0));
    }
    most = larger(most, nonzero ? 1u : 0u);
    SIMT_LOOP
    for (int mask = lanes / 2; mask > 0; mask /= 2) most = larger(most, shuffle_xor(most, mask));
    is_scaled = true;
    is_zero = most == 0;
    if constexpr (is_complex<T>) is_zero = is_zero && alpha.im == R(0);
    most = larger(most, leading_bits_of_parts(alpha));
    constexpr int bits_below = sizeof(R) == 4 ? 0 : 32;
    using Bits = decltype(bits_of(R()));
    scale_of_column = is_zero ? R(1) : reciprocal_power(number_of(static_cast<Bits>(most) << bits_below));
    sync();
    if (group == 0) {
      SIMT_LOOP
      for (int r = begin; r < height; ++r) passed(k)[lanes * r] = scale_of_column * (row(r) == k ? alpha : passed(k)[lanes * r]);
    }
    SIMT_LOOP
    for (int c = lane; c < width; c += lanes) factors(k - 1, group)[c] = from_real<T>(0);
    sync();
  }
  /// Sums over the lanes of a group, times `scale`, go to `to`. Each time half of the lanes keep one of two sums, `there` of which are
  /// some.
  template <int number, int mask, int count>
  SIMT_INLINE void share_factors(T (&sum)[count], T scale, T* to, int there) const {
    if constexpr (mask > 0) {
      constexpr int half = (number + 1) / 2;
      bool const second = number > 1 && (lane & mask) != 0;
      SIMT_UNROLL
      for (int p = 0; p < half; ++p) {
        if constexpr (number == 1) {
          sum[0] = sum[0] + shuffle_xor(sum[0], mask);
        } else {
          T const high = p + half < number ? sum[p + half < number ? p + half : 0] : from_real<T>(0), sent = second ? sum[p] : high;
          sum[p] = (second ? high : sum[p]) + shuffle_xor(sent, mask);
        }
      }
      share_factors<half, mask / 2>(sum, scale, to + (second ? half : 0),
                                    number == 1 && (lane & mask) != 0 ? 0
                                    : second                          ? there - half
                                                                      : smaller(there, half));
    } else {
      SIMT_UNROLL
      for (int p = 0; p < number; ++p)
        if (p < there) to[p] = sum[p] * scale;
    }
  }
  template <int s>
  SIMT_INLINE void steps_from(int steps, bool careful) {
    int const all = n > steps ? steps + 1 : steps, end = smaller((s + C.span) * groups, all);
    SIMT_LOOP
    for (int k = s * groups; k < end;) {
      if (!step<s>(k, steps, careful)) continue;
      is_scaled = is_zero = false;
      scale_of_column = R(1);
      ++k;
    }
    if constexpr (s + C.span < width)
      if (end < all) steps_from<s + C.span>(steps, careful);
  }
};

}  // namespace myriad::simt

namespace myriad {

/// Launch: any number of blocks of C.threads() threads, with the bytes of QrWarpsMemory.
template <typename T, QrWarps C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) qr_warps(QrWarpsArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    if (m == 0 || n == 0) continue;
    QrByWarps<T, C> qr(m, n);
    unsigned const largest = qr.load(args.a, b);
    int const exponent = RangeScales<R>::of(largest, leading_bits_of_power<R>(0)).of_a;
    if (exponent != 0) qr.scale(power<R>(exponent));
    qr.factor(largest);
    qr.store(args.a, args.tau, b, power<R>(-exponent));
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
