#pragma once
/// QR with column pivoting, by a block to a matrix.
///
/// A step reads and writes the rest of the matrix once: what reflector k - 1 changes in a column and the product of that column with
/// reflector k are one pass. That works although the pivot of step k depends on what reflector k - 1 changes: norms follow from the norms
/// before and from row k - 1, which is written before the pass (LAPACK's laqp2).

#include "qr/pivoted/geqp3_config.cuh"
#include "qr/range_scales.cuh"
#include "reflectors/reflector.cuh"
#include "simt/powers.hpp"

namespace myriad::simt {

/// Sums do not depend on the number of threads.
template <typename T, Geqp3 C>
struct PivotedQr {
  using R = Real<T>;
  using Offset = Choose<C.in_shared_memory(), int, Index>;
  static constexpr int at_once = sizeof(T) == 16 ? 2 : 4;  ///< columns of a warp
  static constexpr int rows_of_parts = warp_size * Geqp3::parts;

  int m, n, threads, warps, warp, lane, parts;
  T* a;
  Offset ld;
  Geqp3Arrays<T> of;
  R* tails;         ///< parts of a sum of squares; a second time for scaled columns
  unsigned* words;  ///< leading bits of the largest part of each part; a second time
  T* head;
  T minus_tau = from_real<T>(0);  ///< -conj(tau) of reflector k - 1

  SIMT_INLINE PivotedQr(int rows, int cols, int threads_of_block, T* matrix, Offset columns_apart, char* arrays)
      : m(rows),
        n(cols),
        threads(threads_of_block),
        warps(threads / warp_size),
        warp(thread_index() / warp_size),
        lane(lane_index()),
        parts(smaller(Geqp3::parts, (rows + warp_size - 1) / warp_size)),
        a(matrix),
        ld(columns_apart),
        of(arrays, cols),
        tails(reinterpret_cast<R*>(shared_memory() + Geqp3Memory<T>::tails)),
        words(reinterpret_cast<unsigned*>(shared_memory() + Geqp3Memory<T>::words)),
        head(reinterpret_cast<T*>(shared_memory() + Geqp3Memory<T>::head)) {}

  SIMT_INLINE T* column(int j) const { return a + j * ld; }

  template <typename Value>
  SIMT_INLINE static Value sum_of_warp(Value value) {
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) value = value + shuffle_xor(value, mask);
    return value;
  }
  /// Calls use(part, i) for the rows of this thread, of the parts of its warp; then end(part).
  template <typename Use, typename End>
  SIMT_INLINE void for_parts(int first, Use use, End end) const {
    SIMT_LOOP
    for (int q = warp; q < parts; q += warps) {
      SIMT_LOOP
      for (int i = warp_size * q + lane; i < m; i += rows_of_parts)
        if (i >= first) use(i);
      end(q);
    }
  }
  /// The leading bits of the largest part of x, and one for the smallest numbers.
  SIMT_INLINE static unsigned size_of(T x) {
    unsigned const bits = leading_bits_of_parts(x);
    return bits == 0 && !(x == from_real<T>(0)) ? 1 : bits;
  }
  /// A power of two that brings numbers with these leading bits near one.
  SIMT_INLINE static R factor_for(unsigned most) {
    using Bits = decltype(bits_of(R()));
    return reciprocal_power(number_of(static_cast<Bits>(most) << (sizeof(R) == 4 ? 0 : 32)));
  }

  /// Leading bits of the largest part of the matrix, to all threads.
  SIMT_INLINE unsigned largest() const {
    unsigned most = 0;
    SIMT_LOOP
    for (int j = warp; j < n; j += warps) {
      SIMT_UNROLL_BY(4)
      for (int i = lane; i < m; i += warp_size) most = larger(most, leading_bits_of_parts(column(j)[i]));
    }
    most = largest_of_warp(most);
    if (lane == 0) words[warp] = most;
    sync_block();
    SIMT_LOOP
    for (int w = 0; w < warps; ++w) most = larger(most, words[w]);
    sync_block();
    return most;
  }
  /// Multiplies rows [0, rows(j)) of each column by a power of two.
  template <typename Rows>
  SIMT_INLINE void scale(int exponent, Rows rows) const {
    R const factor = power<R>(exponent);
    SIMT_LOOP
    for (int j = warp; j < n; j += warps) {
      SIMT_LOOP
      for (int i = lane; i < rows(j); i += warp_size) column(j)[i] = factor * column(j)[i];
    }
    sync_block();
  }

  /// Exchanges columns, with all of their rows.
  SIMT_INLINE void exchange(int j, int l) const {
    for_parts(
        0,
        [&](int i) {
          T const former = column(j)[i];
          column(j)[i] = column(l)[i];
          column(l)[i] = former;
        },
        [](int) {});
  }
  /// Moves the columns that `given` names to the front. Returns their number.
  template <typename Given>
  SIMT_INLINE int begin(Given given) const {
    bool some = false;
    for (int j = thread_index(); j < n; j += threads) {
      of.places[j] = j + 1;
      some |= given(j);
    }
    unsigned const here = ballot(some);
    if (lane == 0) words[warp] = here;
    sync_block();
    unsigned any = 0;
    SIMT_LOOP
    for (int w = 0; w < warps; ++w) any |= words[w];
    int fixed = 0;
    if (any != 0) {
      SIMT_LOOP
      for (int j = 0; j < n; ++j) {
        if (!given(j)) continue;
        if (j != fixed) {
          exchange(fixed, j);
          if (thread_index() == 0) {
            of.places[j] = of.places[fixed];
            of.places[fixed] = j + 1;
          }
        }
        ++fixed;
      }
    }
    sync_block();
    return fixed;
  }

  /// The norm of rows [k, m) of column j after reflector k - 1, to all lanes of the warp that calls this.
  SIMT_INLINE R norm(int j, int k) const {
    T const gain = k > 0 ? minus_tau * of.products[j] : from_real<T>(0);
    T const *const own = column(j), *const v = column(larger(k - 1, 0));
    auto const value = [&](int i) { return k > 0 ? multiply_add(gain, v[i], own[i]) : own[i]; };
    unsigned most = 0;
    SIMT_LOOP
    for (int i = k + lane; i < m; i += warp_size) most = larger(most, size_of(value(i)));
    most = largest_of_warp(most);
    if (most == 0) return R(0);
    if (most >= leading_bits_of_power<R>(exponent_bias<R> + 1)) return R(quiet_nan());
    R const factor = factor_for(most);
    R sum = R(0);
    SIMT_LOOP
    for (int i = k + lane; i < m; i += warp_size) sum = add_square(factor * value(i), sum);
    sum = sum_of_warp(sum);
    return reciprocal(factor) * (sum * reciprocal_square_root(sum));
  }
  /// Row k - 1 of R, and the norms of rows [k, m): those before without that row (LAPACK's safeguard: Drmac and Bujanovic 2008), or where
  /// too few digits are left, and at the first step, anew.
  SIMT_INLINE void finish_row(int k, bool first, bool wanted) const {
    constexpr R enough = power_of_two<R, -53, -24>;
    SIMT_LOOP
    for (int base = k + warp_size * warp; base < n; base += warp_size * warps) {
      int const j = base + lane;
      bool again = wanted && first && j < n;
      if (k > 0 && j < n) {
        T const element = multiply_add(minus_tau, of.products[j], column(j)[k - 1]);
        column(j)[k - 1] = element;
        R const before = of.norms[j];
        if (wanted && !first && !(before == R(0))) {
          R square;
          if constexpr (is_complex<T>) {
            R const re = element.re / before, im = element.im / before;
            square = multiply_add(re, re, im * im);
          } else {
            square = element / before;
            square = square * square;
          }
          R const left = larger(R(1) - square, R(0)), ratio = before / of.former[j], kept = left * (ratio * ratio);
          // Comparing squares; NaN is computed anew.
          if (kept * kept > enough)
            of.norms[j] = before * (left * reciprocal_square_root(left));
          else
            again = true;
        }
      }
      SIMT_LOOP
      for (unsigned some = ballot(again); some != 0; some &= some - 1) {
        int const which = lowest_bit(some);
        R const computed = norm(base + which, k);
        if (lane == which) of.norms[j] = of.former[j] = computed;
      }
    }
  }
  /// The first column from k on with the largest norm; NaN is larger than all numbers. To all lanes.
  SIMT_INLINE int pivot(int k) const {
    using Bits = decltype(bits_of(R()));
    Bits best = 0;
    int place = n;
    SIMT_LOOP
    for (int j = k + lane; j < n; j += warp_size) {
      R const norm = of.norms[j];
      Bits const key = norm == norm ? bits_of(norm) + 1 : ~Bits(0);
      if (key > best) best = key, place = j;
    }
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) {
      Bits const other = shuffle_xor(best, mask);
      int const its = shuffle_xor(place, mask);
      if (other > best || (other == best && its < place)) best = other, place = its;
    }
    return place;
  }

  /// The reflector of column k, of which `head` and `tails` are known. `factor` is the power of two by which it is scaled.
  SIMT_INLINE Reflector<T> reflector(int k, R& factor) const {
    T const alpha = *head;
    R tail = R(0);
    unsigned most = 0;
    SIMT_LOOP
    for (int q = 0; q < parts; ++q) tail = tail + tails[q], most = larger(most, words[q]);
    factor = R(1);
    Reflector<T> result(alpha, tail);
    if (result.usual) return result;
    bool none = most == 0;
    if constexpr (is_complex<T>) none = none && alpha.im == R(0);
    if (none) return Reflector<T>(alpha, R(Reflector<T>::identity));
    factor = factor_for(larger(most, size_of(alpha)));
    T const* const x = column(k);
    R sum = R(0);
    for_parts(
        k + 1, [&](int i) { sum = add_square(factor * x[i], sum); },
        [&](int q) {
          sum = sum_of_warp(sum);
          if (lane == 0) tails[Geqp3::parts + q] = sum;
          sum = R(0);
        });
    sync_block();
    tail = R(0);
    SIMT_LOOP
    for (int q = 0; q < parts; ++q) tail = tail + tails[Geqp3::parts + q];
    return Reflector<T>(factor * alpha, tail);
  }

  /// Applies reflector k - 1 to `at_once` columns from j on, and multiplies them with reflector k. Column k was exchanged with `other`.
  SIMT_INLINE void change(int k, int j, int other) const {
    T const *const v = column(k), *const former = column(larger(k - 1, 0));
    T gain[at_once], sum[at_once];
    T* own[at_once];
    SIMT_UNROLL
    for (int c = 0; c < at_once; ++c) {
      int const place = smaller(j + c, n - 1);
      own[c] = column(place);
      gain[c] = k > 0 && j + c < n ? minus_tau * of.products[place == other ? k : place] : from_real<T>(0);
      sum[c] = from_real<T>(0);
    }
    SIMT_UNROLL_BY(2)
    for (int i = k / warp_size * warp_size + lane; i < m; i += warp_size) {
      if (i < k) continue;
      T const x = i == k ? from_real<T>(1) : v[i];
      T value[at_once];
      SIMT_UNROLL
      for (int c = 0; c < at_once; ++c) value[c] = j + c < n ? own[c][i] : from_real<T>(0);
      if (k > 0) {
        T const y = former[i];
        SIMT_UNROLL
        for (int c = 0; c < at_once; ++c) {
          value[c] = multiply_add(gain[c], y, value[c]);
          if (j + c < n) own[c][i] = value[c];
        }
      }
      SIMT_UNROLL
      for (int c = 0; c < at_once; ++c) sum[c] = conjugate_multiply_add(x, value[c], sum[c]);
    }
    SIMT_UNROLL
    for (int c = 0; c < at_once; ++c) sum[c] = sum_of_warp(sum[c]);
    sync_warp();  // all lanes have read the former products
    SIMT_UNROLL
    for (int c = 0; c < at_once; ++c)
      if (lane == 0 && j + c < n) of.products[j + c] = sum[c];
  }

  /// Columns from `fixed` on are chosen. `note(k, tau)` is called in one thread.
  template <typename Note>
  SIMT_INLINE void factor(int fixed, Note note) {
    int const steps = smaller(m, n);
    SIMT_LOOP
    for (int k = 0; k <= steps; ++k) {
      finish_row(k, k == fixed, k >= fixed && k < steps);
      sync_block();
      if (k == steps) break;
      int const other = k < fixed ? k : pivot(k);
      T* const x = column(k);
      {
        T const gain = k > 0 ? minus_tau * of.products[other] : from_real<T>(0);
        T const* const v = column(larger(k - 1, 0));
        T* const from = column(other);
        R sum = R(0);
        unsigned most = 0;
        for_parts(
            0,
            [&](int i) {
              T value = from[i];
              if (other != k) from[i] = x[i];
              if (k > 0 && i >= k) value = multiply_add(gain, v[i], value);
              x[i] = value;
              if (i == k) *head = value;
              if (i > k) sum = add_square(value, sum), most = larger(most, size_of(value));
            },
            [&](int q) {
              sum = sum_of_warp(sum);
              most = largest_of_warp(most);
              if (lane == 0) tails[q] = sum, words[q] = most;
              sum = R(0), most = 0;
            });
      }
      sync_block();
      R scale_of_x;
      Reflector<T> const h = reflector(k, scale_of_x);
      for_parts(
          k, [&](int i) { x[i] = i == k ? from_real<T>(reciprocal(scale_of_x) * h.beta) : h.v_scale * (scale_of_x * x[i]); }, [](int) {});
      T const tau = h.tau();
      if (thread_index() == 0) {
        note(k, tau);
        int const place = of.places[other];
        of.places[other] = of.places[k], of.places[k] = place;
        of.norms[other] = of.norms[k], of.former[other] = of.former[k];
      }
      sync_block();
      SIMT_LOOP
      for (int j = k + 1 + warp * at_once; j < n; j += warps * at_once) change(k, j, other);
      minus_tau = -conjugate(tau);
      sync_block();
    }
  }
};

}  // namespace myriad::simt

namespace myriad {

/// Launch: any number of blocks of args.threads threads, 32, 64, 128 or 256, with Geqp3Memory<T>::bytes(C, args.a.rows, args.a.cols) bytes
/// of dynamic shared memory.
template <typename T, Geqp3 C>
SIMT_KERNEL void SIMT_BOUNDS(Geqp3::most_threads, C.blocks_per_sm) geqp3(Geqp3Arguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  using Memory = Geqp3Memory<T>;
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    Index const row_stride = args.a.row_stride_of(b), col_stride = args.a.col_stride_of(b);
    T* const global = args.a.at(b, 0, 0);
    auto const for_each_element = [&](auto use) {
      int const warp = thread_index() / warp_size, warps = args.threads / warp_size;
      bool const by_rows = col_stride < row_stride;
      SIMT_LOOP
      for (int line = warp; line < (by_rows ? m : n); line += warps) {
        SIMT_UNROLL_BY(4)
        for (int at = lane_index(); at < (by_rows ? n : m); at += warp_size) {
          int const i = by_rows ? line : at, j = by_rows ? at : line;
          use(i, j, global + i * row_stride + j * col_stride);
        }
      }
    };
    auto const work = [&](PivotedQr<T, C> qr) {
      int const exponent = static_cast<int>(RangeScales<R>::of(qr.largest(), leading_bits_of_power<R>(0)).of_a);
      if (exponent != 0) qr.scale(exponent, [&](int) { return m; });
      int const fixed = qr.begin([&](int j) { return *args.jpvt.at(b, j, 0) != 0; });
      qr.factor(fixed, [&](int k, T tau) { store_global(args.tau.at(b, k, 0), conjugate_if(args.tau.conjugated, tau)); });
      if (exponent != 0 && !args.exponents) qr.scale(-exponent, [&](int j) { return smaller(j + 1, m); });
      if (args.exponents && thread_index() == 0) args.exponents[b] = static_cast<short>(exponent);
      for (int j = thread_index(); j < n; j += args.threads) store_global(args.jpvt.at(b, j, 0), qr.of.places[j]);
    };
    if constexpr (C.in_shared_memory()) {
      T* const tile = reinterpret_cast<T*>(shared_memory() + Memory::matrix);
      int const ld = Memory::ld(m);
      for_each_element([&](int i, int j, T const* from) { copy_async(tile + j * ld + i, from); });
      wait_copies();
      sync_block();
      work(PivotedQr<T, C>(m, n, args.threads, tile, ld, shared_memory() + Memory::arrays(m, n)));
      for_each_element([&](int i, int j, T* to) { store_global(to, tile[j * ld + i]); });
    } else {
      work(PivotedQr<T, C>(m, n, args.threads, global, col_stride, args.arrays + b * Geqp3Arrays<T>::bytes(args.a.cols)));
    }
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
