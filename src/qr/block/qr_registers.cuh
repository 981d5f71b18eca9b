#pragma once
/// QR of a matrix in the registers of a block.
///
/// As in qr_block, what reflector k changes in a column and the product of that column with column k + 1 are one pass, with one barrier.
/// The threads that have column k + 2 pass it on in shared memory, and every thread makes column k + 1 of it. Columns of reflectors take
/// part in the products: these are V^H V, of which a block reflector is made.

#include "qr/block/qr_registers_config.cuh"
#include "qr/range_scales.cuh"
#include "reflectors/reflector.cuh"

namespace myriad::simt {

template <typename T, QrRegisters C>
struct QrInRegisters {
  using R = Real<T>;
  static constexpr int lanes = C.lanes, groups = C.groups, height = C.height, width = C.width, parts = C.parts();
  static constexpr int lanes_of_part = lanes / parts, warps = C.threads() / warp_size;
  static_assert((width & (width - 1)) == 0 && width <= lanes_of_part && lanes % groups == 0);

  int m, n;
  int lane, part, group;
  T* shared;
  T a[width][height];
  T x[height];  ///< the column of the step at hand below its first row; zero elsewhere
  // The reflector made of x. The products of x with all columns are number `of`, and `back` undoes the scaling of x.
  Reflector<T> reflector;
  int of = 0;
  R back = R(1);

  SIMT_INLINE QrInRegisters(int rows, int cols)
      : m(rows),
        n(cols),
        lane(thread_index() % lanes),
        part(lane / lanes_of_part),
        group(thread_index() / lanes),
        shared(reinterpret_cast<T*>(shared_memory())),
        reflector(from_real<T>(0), R(Reflector<T>::identity)) {}

  SIMT_INLINE int row(int r) const { return lane + lanes * r; }
  SIMT_INLINE int column(int c) const { return group + groups * c; }
  SIMT_INLINE T* passed(int j) const { return shared + (j & 1) * C.rows(); }
  SIMT_INLINE T* products(int of) const { return shared + C.products_at() + of * parts * C.columns(); }
  SIMT_INLINE T* heads(int k) const { return shared + C.heads_at() + (k & 1) * C.columns(); }
  SIMT_INLINE T* tails() const { return shared + C.tails_at(); }
  SIMT_INLINE unsigned* words() const { return reinterpret_cast<unsigned*>(shared + C.words_at()); }
  SIMT_INLINE T product_of(int of, int j) const {
    T sum = products(of)[j];
    SIMT_UNROLL
    for (int p = 1; p < parts; ++p) sum = sum + products(of)[p * C.columns() + j];
    return sum;
  }

  /// Loads the matrix, zeros behind it. Returns the leading bits of its largest part, to all threads.
  SIMT_INLINE unsigned load(Matrices<T> const& from, Index b) {
    Index const row_stride = from.row_stride_of(b), col_stride = from.col_stride_of(b);
    T const* first = from.at(b, lane, group);
    SIMT_UNROLL
    for (int c = 0; c < width; ++c) {
      T const* place = first;
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) {
        a[c][r] = load_global_if(row(r) < m && column(c) < n, place);
        place += lanes * row_stride;
      }
      first += groups * col_stride;
    }
    unsigned most = 0;
    SIMT_UNROLL
    for (int c = 0; c < width; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) most = larger(most, leading_bits_of_parts(a[c][r]));
    }
    most = largest_of_warp(most);
    if (lane_index() == 0) words()[thread_index() / warp_size] = most;
    sync_block();
    SIMT_LOOP
    for (int w = 0; w < warps; ++w) most = larger(most, words()[w]);
    return most;
  }
  SIMT_INLINE void store(Matrices<T> const& to, Index b) const {
    // Places are computed anew: registers would hold them all the while.
    int const thread = static_cast<int>(unknown(static_cast<unsigned>(thread_index())));
    Index const row_stride = to.row_stride_of(b), col_stride = to.col_stride_of(b);
    T* first = to.at(b, thread % lanes, thread / lanes);
    SIMT_UNROLL
    for (int c = 0; c < width; ++c) {
      T* place = first;
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) {
        if (thread % lanes + lanes * r < m && thread / lanes + groups * c < n) store_global(place, a[c][r]);
        place += lanes * row_stride;
      }
      first += groups * col_stride;
    }
  }
  /// Multiplies the matrix by a power of two, or only what is not below the diagonal.
  SIMT_INLINE void scale(int exponent, bool upper) {
    R const factor = power<R>(exponent);
    SIMT_UNROLL
    for (int c = 0; c < width; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r)
        if (!upper || row(r) <= column(c)) a[c][r] = factor * a[c][r];
    }
  }

  /// Products of x with this thread's columns go to products `of`: lanes share the sums, each time half of them keep one of two.
  template <int begin>
  SIMT_INLINE void multiply_columns(int of) {
    T sum[width];
    SIMT_UNROLL
    for (int c = 0; c < width; ++c) sum[c] = from_real<T>(0);
    SIMT_UNROLL
    for (int r = begin; r < height; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < width; ++c) sum[c] = conjugate_multiply_add(x[r], a[c][r], sum[c]);
    }
    int c = 0, bit = 1;
    SIMT_UNROLL
    for (int mask = lanes_of_part / 2, number = width; mask > 0; mask /= 2) {
      bool const odd = (lane & mask) != 0;
      if (number > 1) {
        SIMT_UNROLL
        for (int p = 0; p < width / 2; ++p) {
          if (p >= number / 2) continue;
          T const low = sum[2 * p], high = sum[2 * p + 1], sent = odd ? low : high;
          sum[p] = (odd ? high : low) + shuffle_xor(sent, mask);
        }
        c += odd ? bit : 0;
        bit *= 2;
        number /= 2;
      } else {
        sum[0] = sum[0] + shuffle_xor(sum[0], mask);
      }
    }
    // Lanes that differ in lower bits have the same sum.
    if (lane % (lanes_of_part / width) == 0) products(of)[part * C.columns() + column(c)] = sum[0];
  }

  /// Makes reflector k of the column in x. Where its sum of squares has lost something, or is to be treated with care, x is scaled by a
  /// power of two that brings its largest part near one, and multiplied anew. All threads of the block call this.
  template <int begin>
  SIMT_INLINE void make_reflector(int k, bool careful) {
    // A real number needs no reflector.
    bool const last = !is_complex<T> && k == m - 1;
    bool none = last;
    T own = from_real<T>(0);
    R factor = R(1);
    of = k & 1;
    back = R(1);
    SIMT_LOOP
    while (true) {
      multiply_columns<begin>(of);
      // The column itself, as the others have it, is not scaled.
      if (of == 2 && group == 0 && lane % lanes_of_part == 0) tails()[part] = own;
      sync_block();
      T tail = of == 2 ? tails()[0] : product_of(of, k);
      SIMT_UNROLL
      for (int p = 1; p < parts; ++p)
        if (of == 2) tail = tail + tails()[p];
      reflector = Reflector<T>(factor * heads(k)[k], none ? R(Reflector<T>::identity) : real_part(tail));
      if (last || of == 2 || (reflector.usual && !careful)) return;
      unsigned most = 0;
      bool nonzero = false;
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) {
        most = larger(most, leading_bits_of_parts(x[r]));
        // A part that is not zero has leading bits, unless it is of the smallest numbers.
        nonzero |= !(x[r] == from_real<T>(0));
      }
      most = larger(most, nonzero ? 1u : 0u);
      SIMT_UNROLL
      for (int mask = lanes_of_part / 2; mask > 0; mask /= 2) most = larger(most, shuffle_xor(most, mask));
      if (group == 0 && lane % lanes_of_part == 0) words()[warps + part] = most;
      sync_block();
      most = 0;
      SIMT_UNROLL
      for (int p = 0; p < parts; ++p) most = larger(most, words()[warps + p]);
      none = most == 0;
      if constexpr (is_complex<T>) none = none && heads(k)[k].im == R(0);
      most = larger(most, leading_bits_of_parts(heads(k)[k]));
      constexpr int bits_below = sizeof(R) == 4 ? 0 : 32;
      using Bits = decltype(bits_of(R()));
      factor = none ? R(1) : reciprocal_power(number_of(static_cast<Bits>(most) << bits_below));
      back = reciprocal(factor);
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) {
        x[r] = factor * x[r];
        own = conjugate_multiply_add(x[r], x[r], own);
      }
      SIMT_UNROLL
      for (int mask = lanes_of_part / 2; mask > 0; mask /= 2) own = own + shuffle_xor(own, mask);
      of = 2;
    }
  }

  /// Reflector i - 1 changes the columns from i on; then column i is in x, and its reflector is made. Column i is in
  /// registers `s` of its group, number g; of column `width` there is only the reflector before.
  template <int s, typename Note, typename NoteProduct>
  SIMT_INLINE void step(int g, int steps, bool careful, Note note, NoteProduct note_product) {
    // Rows from i on are in registers from `begin` on. Where g is zero row i - 1 may be one register before.
    constexpr int begin = s * groups / lanes, before = s > 0 && s * groups % lanes == 0 ? begin - 1 : begin;
    int const i = s * groups + g, k = i - 1;
    bool const goes_on = i < steps;
    T next_factor = from_real<T>(0);
    if (s > 0 || k >= 0) {
      if (int const j = thread_index(); j < k)
        note_product(k, j, conjugate_multiply_add(reflector.v_scale, product_of(of, j), heads(k)[j]));
      // v = v_scale x
      SIMT_UNROLL
      for (int r = before; r <= begin && r < height; ++r) x[r] = row(r) == k ? reflector.difference : r < begin ? from_real<T>(0) : x[r];
      auto const keep = [&](T(&own)[height]) {
        SIMT_UNROLL
        for (int r = before; r < height; ++r) {
          T const value = reflector.v_scale * x[r];
          own[r] = r > begin || row(r) > k ? value : row(r) == k ? from_real<T>(back * reflector.beta) : own[r];
        }
        if (lane == 0) note(k, reflector.tau());
      };
      if constexpr (s < width)
        if (g > 0 && group == g - 1) keep(a[s]);
      if constexpr (s > 0)
        if (g == 0 && group == groups - 1) keep(a[s - 1]);
      if constexpr (s < width) {
        // The change of a column is a multiple of v, so one of x.
        T const scale = reflector.reciprocal_of_beta * reflector.v_scale;
        auto const factor_of = [&](int j) { return conjugate_multiply_add(reflector.difference, heads(k)[j], product_of(of, j)) * scale; };
        auto const change = [&](T(&own)[height], T factor) {
          SIMT_UNROLL
          for (int r = before; r < height; ++r) own[r] = multiply_add(factor, x[r], own[r]);
        };
        if (goes_on) next_factor = factor_of(i);
        if (group >= g) change(a[s], factor_of(column(s)));
        SIMT_UNROLL
        for (int c = s + 1; c < width; ++c) change(a[c], factor_of(column(c)));
      }
    }
    if constexpr (s < width) {
      if (!goes_on) return;
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) {
        T const value = multiply_add(next_factor, x[r], passed(i)[row(r)]);
        x[r] = r > begin || row(r) > i ? value : from_real<T>(0);
      }
      if (row(begin) == i) {
        SIMT_UNROLL
        for (int c = 0; c < width; ++c) heads(i)[column(c)] = a[c][begin];
      }
      if (g + 1 < groups) {
        if (group == g + 1) pass(a[s], i + 1);
      } else if constexpr (s + 1 < width) {
        if (group == 0) pass(a[s + 1], i + 1);
      }
      make_reflector<begin>(i, careful);
    }
  }
  template <int s, typename Note, typename NoteProduct>
  SIMT_INLINE void steps_from(int steps, bool careful, Note note, NoteProduct note_product) {
    if (s * groups > steps) return;
    int const end = s == width ? 1 : smaller(groups, steps + 1 - s * groups);
    SIMT_LOOP
    for (int g = 0; g < end; ++g) step<s>(g, steps, careful, note, note_product);
    if constexpr (s < width) steps_from<s + 1>(steps, careful, note, note_product);
  }

  /// `largest`: leading bits of the largest part of the matrix. `note(k, tau)` is called in one thread, `note_product(i, j, product)` for
  /// products of reflectors i > j in some threads.
  template <typename Note, typename NoteProduct>
  SIMT_INLINE void factor(unsigned largest, Note note, NoteProduct note_product) {
    // Products of columns with such elements might overflow once they are divided by a norm that is small.
    bool const careful = largest >= leading_bits_of_power<R>(sizeof(R) == 4 ? 50 : 160);
    SIMT_UNROLL
    for (int r = 0; r < height; ++r) x[r] = from_real<T>(0);
    if (group == 0) pass(a[0], 0);
    sync_block();
    steps_from<0>(smaller(m, n), careful, note, note_product);
  }

 private:
  SIMT_INLINE void pass(T const (&own)[height], int j) const {
    SIMT_UNROLL
    for (int r = 0; r < height; ++r) passed(j)[row(r)] = own[r];
  }
};

}  // namespace myriad::simt

namespace myriad {

/// Launch: any number of blocks of C.threads() threads, with C.shared_bytes(sizeof(T)) bytes of dynamic shared memory.
template <typename T, QrRegisters C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) qr_registers(QrRegistersArguments<T> const args) {
  using namespace simt;
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    if (m == 0 || n == 0) continue;
    QrInRegisters<T, C> qr(m, n);
    unsigned const largest = qr.load(args.a, b);
    using R = simt::Real<T>;
    int const exponent = args.scales ? static_cast<int>(RangeScales<R>::of(largest, leading_bits_of_power<R>(0)).of_a) : 0;
    if (exponent != 0) qr.scale(exponent, false);
    T* const gram = args.gram ? args.gram + b * args.line * args.line : nullptr;
    qr.factor(
        largest, [&](int k, T tau) { store_global(args.tau.at(b, k, 0), conjugate_if(args.tau.conjugated, tau)); },
        [&](int i, int j, T product) {
          if (gram) store_global(gram + (i * args.line + j), product);
        });
    if (args.exponents) {
      if (thread_index() == 0) store_global(args.exponents + b, exponent);
    } else if (exponent != 0) {
      qr.scale(-exponent, true);
    }
    qr.store(args.a, b);
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
