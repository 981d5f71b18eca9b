#pragma once
/// QR of a matrix in shared memory, by a block.
///
/// A step reads and writes the rest of the matrix once: what reflector k changes in a column and the product of that column with column
/// k + 1 are one pass. For that every group has its rows of columns k and k + 1 in registers. Products with column k + 1 give the norm, and
/// all that a reflector needs of the others; a step has one barrier.

#include "qr/block/qr_block_config.cuh"
#include "qr/range_scales.cuh"
#include "reflectors/reflector.cuh"

namespace myriad::simt {

/// `1 << log_parts` groups share the rows of a column.
template <typename T, QrBlock C>
struct QrByBlock {
  using R = Real<T>;
  static constexpr int held = C.held, lanes = C.lanes, at_once = C.at_once(sizeof(T));

  QrBlockMemory const& memory;
  int m, n, threads, warps;
  T* tile;
  int log_parts, parts;
  int lane, part, first_column;
  int columns_apart;  ///< a power of two
  int rows_end;       ///< registers of this part that hold rows
  T x[held];          ///< the column of the step at hand below its first row; zero elsewhere
  T y[held];          ///< the same of the next column

  SIMT_INLINE QrByBlock(QrBlockMemory const& of, int rows, int cols, int threads_of_block)
      : memory(of),
        m(rows),
        n(cols),
        threads(threads_of_block),
        warps(threads / warp_size),
        tile(reinterpret_cast<T*>(shared_memory())),
        log_parts(C.log_parts(rows)),
        parts(1 << log_parts) {
    int const group = thread_index() / lanes;
    lane = thread_index() % lanes;
    part = group & (parts - 1);
    first_column = group >> log_parts;
    columns_apart = (threads / lanes) >> log_parts;
    int const granules = (m + lanes - 1) / lanes;
    rows_end = (granules - part + parts - 1) >> log_parts;
  }

  SIMT_INLINE int row(int r) const { return lane + lanes * (part + (r << log_parts)); }
  /// The first register with a row of at least i.
  SIMT_INLINE int register_of(int i) const { return larger(((i / lanes) - part + parts - 1) >> log_parts, 0); }
  SIMT_INLINE bool has_row(int i) const { return i % lanes == lane && ((i / lanes) & (parts - 1)) == part; }
  SIMT_INLINE T* column(int j) const { return tile + j * memory.ld; }
  SIMT_INLINE T* products(int of) const { return tile + memory.products + of * parts * n; }
  SIMT_INLINE T* heads(int k) const { return tile + memory.heads + (k & 1) * n; }
  SIMT_INLINE unsigned* words() const { return reinterpret_cast<unsigned*>(tile + memory.words); }

  /// The first of this group's columns from j on.
  SIMT_INLINE int own_column_from(int j) const { return j + ((first_column - j) & (columns_apart - 1)); }
  SIMT_INLINE bool owns(int j) const { return (j & (columns_apart - 1)) == first_column; }
  SIMT_INLINE T product_of(int of, int j) const {
    T sum = products(of)[j];
    SIMT_LOOP
    for (int p = 1; p < parts; ++p) sum = sum + products(of)[p * n + j];
    return sum;
  }
  template <typename Value>
  SIMT_INLINE static Value sum_of_group(Value value) {
    SIMT_UNROLL
    for (int mask = lanes / 2; mask > 0; mask /= 2) value = value + shuffle_xor(value, mask);
    return value;
  }
  SIMT_INLINE static R square(T value) {
    R sum = real_part(value) * real_part(value);
    if constexpr (is_complex<T>) sum = multiply_add(value.im, value.im, sum);
    return sum;
  }

  /// Calls use(i, j) for the elements that this thread moves. By rows a warp has 32 bytes of each of some rows: what it has in shared
  /// memory is in different banks, or in fewer of the same than a row would be.
  template <typename Use>
  SIMT_INLINE void for_each_element(bool by_rows, Use use) const {
    int const warp = thread_index() / warp_size, here = lane_index();
    if (by_rows) {
      constexpr int across = sizeof(T) == 4 ? 8 : 4, down = warp_size / across;
      for (int i = warp * down + here % down; i < m; i += warps * down) {
        SIMT_UNROLL_BY(4)
        for (int j = here / down; j < n; j += across) use(i, j);
      }
    } else {
      for (int j = warp; j < n; j += warps) {
        SIMT_UNROLL_BY(4)
        for (int i = here; i < m; i += warp_size) use(i, j);
      }
    }
  }
  /// Loads the matrix; zeros behind its columns. Returns the leading bits of its largest part, to all threads.
  SIMT_INLINE unsigned load(Matrices<T> const& a, Index b) {
    int const warp = thread_index() / warp_size, here = lane_index();
    Index const row_stride = a.row_stride_of(b), col_stride = a.col_stride_of(b);
    T const* const from = a.at(b, 0, 0);
    auto const load_element = [&](int i, int j) { copy_async(column(j) + i, from + i * row_stride + j * col_stride); };
    for_each_element(col_stride < row_stride, load_element);
    int const padding = (m + lanes - 1) / lanes * lanes - m;
    for (int at = thread_index(); at < padding * n; at += threads) column(at / padding)[m + at % padding] = from_real<T>(0);
    wait_copies();
    sync_block();
    unsigned most = 0;
    for (int j = warp; j < n; j += warps) {
      SIMT_UNROLL_BY(4)
      for (int i = here; i < m; i += warp_size) most = larger(most, leading_bits_of_parts(column(j)[i]));
    }
    most = largest_of_warp(most);
    if (here == 0) words()[warp] = most;
    sync_block();
    SIMT_LOOP
    for (int w = 0; w < warps; ++w) most = larger(most, words()[w]);
    return most;
  }
  /// Multiplies rows [0, rows(j)) of each column by a power of two.
  template <typename Rows>
  SIMT_INLINE void scale(int exponent, Rows rows) {
    R const factor = power<R>(exponent);
    for (int j = thread_index() / warp_size; j < n; j += warps)
      for (int i = lane_index(); i < rows(j); i += warp_size) column(j)[i] = factor * column(j)[i];
    sync_block();
  }
  SIMT_INLINE void store(Matrices<T> const& a, Index b) const {
    Index const row_stride = a.row_stride_of(b), col_stride = a.col_stride_of(b);
    T* const to = a.at(b, 0, 0);
    for_each_element(col_stride < row_stride, [&](int i, int j) { store_global(to + i * row_stride + j * col_stride, column(j)[i]); });
  }

  /// The column in x, with `alpha` above it, is scaled by a power of two that brings its largest part near one, and multiplied with the
  /// others anew: products number 2. Returns the reflector; `back` takes back the scale. All threads of the block call this.
  SIMT_INLINE Reflector<T> scaled_reflector(int k, T alpha, R& back) {
    unsigned most = 0;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) most = larger(most, leading_bits_of_parts(x[r]));
    // A part that is not zero has leading bits, unless it is of the smallest numbers.
    bool nonzero = false;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) nonzero |= !(x[r] == from_real<T>(0));
    most = larger(most, nonzero ? 1u : 0u);
    SIMT_UNROLL
    for (int mask = lanes / 2; mask > 0; mask /= 2) most = larger(most, shuffle_xor(most, mask));
    if (first_column == 0 && lane == 0) words()[warps + part] = most;
    sync_block();
    most = 0;
    SIMT_LOOP
    for (int p = 0; p < parts; ++p) most = larger(most, words()[warps + p]);
    bool none = most == 0;
    if constexpr (is_complex<T>) none = none && alpha.im == R(0);
    most = larger(most, leading_bits_of_parts(alpha));
    constexpr int bits_below = sizeof(R) == 4 ? 0 : 32;
    using Bits = decltype(bits_of(R()));
    R const factor = none ? R(1) : reciprocal_power(number_of(static_cast<Bits>(most) << bits_below));
    back = reciprocal(factor);
    alpha = factor * alpha;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) x[r] = factor * x[r];
    SIMT_LOOP
    for (int base = k; base < n; base += columns_apart) {
      int const j = own_column_from(base);
      T sum = from_real<T>(0);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r)
        if (r < rows_end && j < n) sum = conjugate_multiply_add(x[r], j == k ? x[r] : column(j)[row(r)], sum);
      sum = sum_of_group(sum);
      if (lane == 0 && j < n) products(2)[part * n + j] = sum;
    }
    sync_block();
    return Reflector<T>(alpha, none ? R(Reflector<T>::identity) : real_part(product_of(2, k)));
  }

  struct Step {
    int k, begin;
    bool goes_on;
    T v_scale;
    T const* head;
    T *next_head, *next_products;
  };
  /// Step k in `count` of this group's columns from j on, of which `all` are there or not, by two registers at a time.
  template <int count, bool all, typename Gain>
  SIMT_INLINE void change(Step const& step, int j, Gain gain_of) {
    if (!all && lanes == warp_size && j >= n) return;
    T factor[count], sum[count], gain[count];
    T* own[count];
    bool is[count];
    SIMT_UNROLL
    for (int c = 0; c < count; ++c) {
      is[c] = all || j + c * columns_apart < n;
      own[c] = column(j + c * columns_apart);
      gain[c] = is[c] ? gain_of(j + c * columns_apart) : from_real<T>(0);
      factor[c] = gain[c] * step.v_scale;
      sum[c] = from_real<T>(0);
    }
    SIMT_UNROLL
    for (int r0 = 0; r0 < held; r0 += 2) {
      if (r0 + 1 < step.begin || r0 >= rows_end) continue;
      bool const second = r0 + 1 < rows_end;
      T value[2][count];
      SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < count; ++c) value[r][c] = is[c] && (r == 0 || second) ? own[c][row(r0 + r)] : from_real<T>(0);
      }
      SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < count; ++c) {
          value[r][c] = multiply_add(factor[c], x[r0 + r], value[r][c]);
          sum[c] = conjugate_multiply_add(y[r0 + r], value[r][c], sum[c]);
        }
      }
      SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < count; ++c)
          if (is[c] && (r == 0 || second)) own[c][row(r0 + r)] = value[r][c];
      }
    }
    SIMT_UNROLL
    for (int c = 0; c < count; ++c) {
      T const total = sum_of_group(sum[c]);
      if (!is[c]) continue;
      if (lane == 0) step.next_products[j + c * columns_apart] = total;
      if (step.k >= 0 && has_row(step.k)) own[c][step.k] = step.head[j + c * columns_apart] + gain[c];
      if (step.goes_on && has_row(step.k + 1)) step.next_head[j + c * columns_apart] = own[c][step.k + 1];
    }
  }

  /// `largest`: leading bits of the largest part of the matrix. `note(k, tau)` is called in one thread.
  template <typename Note>
  SIMT_INLINE void factor(unsigned largest, Note note) {
    int const steps = smaller(m, n);
    // Products of columns with such elements might overflow once they are divided by a norm that is small.
    bool const careful = largest >= leading_bits_of_power<R>(sizeof(R) == 4 ? 50 : 160);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) x[r] = from_real<T>(0);
    SIMT_LOOP
    for (int k = -1; k < steps; ++k) {
      int of = k & 1;
      T const* const head = heads(k);
      T difference = from_real<T>(0), v_scale = from_real<T>(0);
      R reciprocal_of_beta = R(0);
      if (k >= 0) {
        T const alpha = head[k];
        // A real number needs no reflector.
        bool const last = !is_complex<T> && k == m - 1;
        Reflector<T> reflector(alpha, last ? R(Reflector<T>::identity) : real_part(product_of(of, k)));
        R back = R(1);
        if (!last && (careful || !reflector.usual)) {
          reflector = scaled_reflector(k, alpha, back);
          of = 2;
        }
        difference = reflector.difference;
        reciprocal_of_beta = reflector.reciprocal_of_beta;
        v_scale = reflector.v_scale;
        if (owns(k)) {
          int const begin = register_of(k);
          SIMT_UNROLL
          for (int r = 0; r < held; ++r)
            if (r >= begin && r < rows_end && row(r) > k) column(k)[row(r)] = v_scale * x[r];
          if (has_row(k)) {
            column(k)[k] = from_real<T>(back * reflector.beta);
            note(k, reflector.tau());
          }
        }
      }
      auto const gain_of = [&](int j) {
        return k < 0 ? from_real<T>(0) : reciprocal_of_beta * conjugate_multiply_add(difference, head[j], product_of(of, j));
      };
      int const begin = register_of(larger(k, 0));
      bool const goes_on = k + 1 < steps;
      T* const next_head = heads(k + 1);
      T* const next_products = products((k + 1) & 1) + part * n;
      if (goes_on) {
        T const gain = gain_of(k + 1), factor = gain * v_scale;
        T* const own = column(k + 1);
        bool const is_own = owns(k + 1);
        R tail = R(0);
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          y[r] = from_real<T>(0);
          // Row k is written below.
          if (r < begin || r >= rows_end || row(r) <= k) continue;
          T const value = multiply_add(factor, x[r], own[row(r)]);
          if (row(r) == k + 1 && is_own) next_head[k + 1] = value;
          y[r] = row(r) > k + 1 ? value : from_real<T>(0);
          tail = tail + square(y[r]);
        }
        if (is_own && k >= 0 && has_row(k)) own[k] = head[k + 1] + gain;
        tail = sum_of_group(tail);
        if (is_own && lane == 0) next_products[k + 1] = from_real<T>(tail);
      } else {
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) y[r] = from_real<T>(0);
      }
      // The first of this group's columns that step k changes; then as many at a time as there are of every group.
      int base = goes_on ? k + 2 : k + 1;
      int const behind = own_column_from(base) - base;
      Step const step{.k = k,
                      .begin = begin,
                      .goes_on = goes_on,
                      .v_scale = v_scale,
                      .head = head,
                      .next_head = next_head,
                      .next_products = next_products};
      SIMT_LOOP
      for (; base + at_once * columns_apart <= n; base += at_once * columns_apart) change<at_once, true>(step, base + behind, gain_of);
      if constexpr (at_once > 1) {
        SIMT_LOOP
        for (; base + columns_apart < n; base += 2 * columns_apart) change<2, false>(step, base + behind, gain_of);
      }
      SIMT_LOOP
      for (; base < n; base += columns_apart) change<1, false>(step, base + behind, gain_of);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) x[r] = y[r];
      sync_block();
    }
  }
};

}  // namespace myriad::simt

namespace myriad {

/// Launch: any number of blocks of args.threads threads, a power of two, at most C.most_threads and enough for the rows, with
/// QrBlockMemory(C, sizeof(T), args.a.rows, args.a.cols).bytes of dynamic shared memory.
template <typename T, QrBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.most_threads, C.blocks_per_sm) qr_block(QrBlockArguments<T> const args) {
  using namespace simt;
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    if (m == 0 || n == 0) continue;
    QrBlockMemory const memory(C, sizeof(T), m, n);
    QrByBlock<T, C> qr(memory, m, n, args.threads);
    unsigned const largest = qr.load(args.a, b);
    using R = simt::Real<T>;
    int const exponent = args.scales ? static_cast<int>(RangeScales<R>::of(largest, leading_bits_of_power<R>(0)).of_a) : 0;
    if (exponent != 0) qr.scale(exponent, [&](int) { return m; });
    qr.factor(largest, [&](int k, T tau) { store_global(args.tau.at(b, k, 0), conjugate_if(args.tau.conjugated, tau)); });
    if (exponent != 0) qr.scale(-exponent, [&](int j) { return smaller(j + 1, m); });
    qr.store(args.a, b);
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
