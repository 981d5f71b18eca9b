#pragma once
/// Reduction to tridiagonal form of a matrix in the registers of a block.
///
/// A step reads and writes what is left of the lower triangle once. It subtracts what the reflector of the step before changes, and
/// multiplies the matrix with x, column k below its first row: each element once for its row and once for its column. A v of the reflector
/// v = e1 + f x is then column k + 1 + f A x, and v^H A v follows from x^H A x. So the reflector is made meanwhile, and a step has two
/// barriers.

#include "eigen/tridiagonal/tridiagonal_config.cuh"
#include "reflectors/reflector.cuh"
#include "simt/lane_sums.hpp"
#include "simt/powers.hpp"

namespace myriad {
namespace simt {

template <typename T, TridiagonalBlock C>
struct TridiagonalInRegisters {
  using R = Real<T>;
  static constexpr int lanes = C.lanes, groups = C.groups, height = C.height, width = C.width(), threads = C.threads();
  static constexpr int groups_of_warp = warp_size / lanes;
  static_assert(warp_size % lanes == 0 && threads % warp_size == 0 && C.side() % lanes == 0 && C.side() % groups == 0);
  static_assert(C.rows() % C.side() == 0);

  TridiagonalResult result;
  int n;
  int lane = thread_index() % lanes, group = thread_index() / lanes, warp = thread_index() / warp_size;
  T* const shared = reinterpret_cast<T*>(shared_memory());
  T a[width][height];

  SIMT_INLINE TridiagonalInRegisters(TridiagonalResult wanted, int rows) : result(wanted), n(rows) {}

  SIMT_INLINE static void sync_threads() {
    if constexpr (threads == warp_size)
      sync_warp();
    else
      sync_block();
  }
  SIMT_INLINE int row(int r) const { return lane + lanes * r; }
  SIMT_INLINE int column(int c) const { return group + groups * c; }
  /// Column k below row k + 1, with zeros above
  SIMT_INLINE T* x() const { return shared; }
  /// Vectors of the step before: A - v w^H - w v^H
  SIMT_INLINE T* v() const { return shared + C.rows(); }
  SIMT_INLINE T* w() const { return shared + 2 * C.rows(); }
  /// Column k + 1
  SIMT_INLINE T* next() const { return shared + 3 * C.rows(); }
  /// Sums over the columns, and of each warp over the rows
  SIMT_INLINE T* dots() const { return shared + 4 * C.rows(); }
  SIMT_INLINE T* parts(int of_warp) const { return shared + C.parts_at() + of_warp * C.rows(); }
  SIMT_INLINE T* taus() const { return shared + C.taus_at(); }
  SIMT_INLINE T& alpha() const { return shared[C.numbers_at()]; }
  SIMT_INLINE T& v_scale() const { return shared[C.numbers_at() + 1]; }
  SIMT_INLINE R* diagonal() const { return reinterpret_cast<R*>(shared + C.diagonal_at()); }
  SIMT_INLINE R* off_diagonal() const { return diagonal() + C.rows(); }
  SIMT_INLINE R* of_warps() const { return reinterpret_cast<R*>(shared + C.words_at()); }
  SIMT_INLINE Index* places() const { return reinterpret_cast<Index*>(shared + C.places_at()); }
  SIMT_INLINE T* place(int i, int j) const { return reinterpret_cast<T*>(places()[0]) + i * places()[1] + j * places()[2]; }

  /// Loads the lower triangle, conjugated on request, with zeros behind it, and scales its largest part into [1, 2). Returns the inverse
  /// factor, NaN if there is NaN or infinity.
  SIMT_INLINE R load(T const* from, Index row_stride, Index col_stride, bool conjugates) {
    auto top = bits_of(R(0));
    SIMT_UNROLL
    for (int c = 0; c < width; ++c) {
      SIMT_UNROLL
      for (int r = C.first_row(c); r < height; ++r) {
        int const i = row(r), j = column(c);
        bool const stored = r >= C.first_row_below(c) || i >= j;
        a[c][r] = load_global_if(larger(i, j) < n, from + (stored ? i : j) * row_stride + (stored ? j : i) * col_stride);
      }
    }
    SIMT_UNROLL
    for (int c = 0; c < width; ++c) {
      SIMT_UNROLL
      for (int r = C.first_row(c); r < height; ++r) {
        bool const stored = r >= C.first_row_below(c) || row(r) >= column(c);
        T const value = conjugate_if(conjugates == stored, a[c][r]);
        a[c][r] = r < C.first_row_below(c) && row(r) == column(c) ? from_real<T>(real_part(value)) : value;
        top = larger(top, ordered_bits_of_parts(a[c][r]));
      }
    }
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
    if (lane_index() == 0) of_warps()[warp] = number_of(top);
    sync_threads();
    SIMT_UNROLL
    for (int q = 0; q < C.warps(); ++q) top = larger(top, ordered_bits(of_warps()[q]));
    if (!(number_of(top) < R(infinity()))) return R(quiet_nan());
    R const scale = top == bits_of(R(0)) ? R(1) : reciprocal_power(number_of(top));
    SIMT_UNROLL
    for (int c = 0; c < width; ++c) {
      SIMT_UNROLL
      for (int r = C.first_row(c); r < height; ++r) a[c][r] = scale * a[c][r];
    }
    return reciprocal_power(scale);
  }
  /// Keeps in shared memory where the results go: registers would hold it all the while.
  SIMT_INLINE void set_places(T* to, Index row_stride, Index col_stride) const {
    if (thread_index() != 0) return;
    places()[0] = reinterpret_cast<Index>(to);
    places()[1] = row_stride;
    places()[2] = col_stride;
  }

  /// The real part of conj(x) y + sum
  SIMT_INLINE static R add_product(T x, T y, R sum) {
    sum = multiply_add(real_part(x), real_part(y), sum);
    if constexpr (is_complex<T>) sum = multiply_add(x.im, y.im, sum);
    return sum;
  }
  SIMT_INLINE static R sum_of_warp(R value) {
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) value = value + shuffle_xor(value, mask);
    return value;
  }

  /// The pass over columns `first` to `last` of a thread. Adds to the sums of rows from `begin` on, and to x^H A x.
  template <int first, int last, int begin>
  SIMT_INLINE void subtract_and_multiply(T (&sum_of_row)[height - begin], R& square) {
    constexpr int count = last - first;
    T of_v[count], of_w[count], of_x[count], sum[count];
    SIMT_UNROLL
    for (int c = 0; c < count; ++c) {
      int const j = column(first + c);
      of_v[c] = conjugate(v()[j]);
      of_w[c] = conjugate(w()[j]);
      of_x[c] = x()[j];
      sum[c] = from_real<T>(0);
    }
    SIMT_UNROLL
    for (int r = C.first_row(first); r < height; ++r) {
      T const row_of_v = v()[row(r)], row_of_w = w()[row(r)], row_of_x = x()[row(r)];
      T across = from_real<T>(0);
      SIMT_UNROLL
      for (int c = 0; c < count; ++c) {
        if (r < C.first_row(first + c)) continue;
        T const value = subtract_product(subtract_product(a[first + c][r], row_of_v, of_w[c]), row_of_w, of_v[c]);
        a[first + c][r] = value;
        sum[c] = conjugate_multiply_add(value, row_of_x, sum[c]);
        if (r >= C.first_row_below(first + c)) across = multiply_add(value, of_x[c], across);
      }
      if (r < C.first_row_below(first)) continue;
      square = add_product(row_of_x, across, square);
      sum_of_row[r - begin] = sum_of_row[r - begin] + across;
    }
    SIMT_UNROLL
    for (int c = 0; c < count; ++c) square = add_product(of_x[c], sum[c], square);
    sum_over_lanes<count, log_of(lanes), 1>(sum, lane, [&](int c, T value) { dots()[column(first + c)] = value; });
  }
  template <int first, int begin>
  SIMT_INLINE void pass(T (&sum_of_row)[height - begin], R& square) {
    constexpr int last = smaller(first + C.at_once, width);
    subtract_and_multiply<first, last, begin>(sum_of_row, square);
    if constexpr (last < width) pass<last, begin>(sum_of_row, square);
  }
  /// Step k, whose column is in registers `s` to s + phase.
  template <int s>
  SIMT_INLINE void step(int k) {
    constexpr int after = smaller(s + C.phase, width), begin = C.first_row(s);
    // One warp makes the reflector: each in turn, so that all schedulers get as much of it.
    if (C.warps() == 1 || warp == k % C.warps()) {
      R tail = R(0);
      SIMT_UNROLL
      for (int i = begin * lanes / warp_size * warp_size; i < C.rows(); i += warp_size) {
        int const mine = i + lane_index();
        if (C.rows() % warp_size != 0 && mine >= C.rows()) continue;
        tail = add_product(x()[mine], x()[mine], tail);
      }
      tail = sum_of_warp(tail);
      Reflector<T> const reflector = reflector_of_column<T>(alpha(), tail);
      if (lane_index() == 0) {
        off_diagonal()[k] = reflector.beta;
        v_scale() = reflector.v_scale;
        taus()[k] = reflector.tau();
      }
    }
    T sum_of_row[height - begin];
    R square = R(0);
    SIMT_UNROLL
    for (int r = begin; r < height; ++r) sum_of_row[r - begin] = from_real<T>(0);
    pass<s, begin>(sum_of_row, square);
    sum_over_lanes<height - begin, log_of(groups_of_warp), lanes>(sum_of_row, lane_index() / lanes,
                                                                  [&](int r, T value) { parts(warp)[row(begin + r)] = value; });
    square = sum_of_warp(square);
    if (lane_index() == 0) of_warps()[warp] = square;
    int const next_at = (k + 1) / groups;  // branches on it are the same for all threads
    SIMT_UNROLL
    for (int c = s; c < smaller(after + 1, width); ++c) {
      if (c != next_at) continue;
      if (group == (k + 1) % groups) {
        SIMT_UNROLL
        for (int r = C.first_row(c); r < height; ++r) next()[row(r)] = a[c][r];
      }
    }
    sync_threads();

    // w = tau A v - (|tau|^2 / 2) (v^H A v) v; the next column needs its first element.
    auto const product_of = [&](int i) {
      T sum = dots()[i];
      SIMT_UNROLL
      for (int q = 0; q < C.warps(); ++q) sum = sum + parts(q)[i];
      return sum;
    };
    T const tau = taus()[k], scale = v_scale(), first_product = scale * product_of(k + 1);
    R const first_element = real_part(next()[k + 1]);
    R of_x = of_warps()[0];
    SIMT_UNROLL
    for (int q = 1; q < C.warps(); ++q) of_x = of_x + of_warps()[q];
    R const half = R(0.5) * add_product(tau, tau, R(0)) *
                   multiply_add(add_product(scale, scale, R(0)), of_x, multiply_add(R(2), real_part(first_product), first_element));
    T const first_w = tau * (from_real<T>(first_element) + first_product) - from_real<T>(half);
    bool const stores = result != TridiagonalResult::values;
    T* const to = place(0, k);
    Index const row_stride = places()[1];
    SIMT_LOOP
    for (int i = thread_index() + begin * lanes; i < C.rows(); i += threads) {
      T of_v = from_real<T>(0), of_w = of_v, following = of_v;
      if (i > k) {
        T const element = next()[i];
        of_v = i == k + 1 ? from_real<T>(1) : scale * x()[i];
        of_w = tau * multiply_add(scale, product_of(i), element) - half * of_v;
        following = subtract_product(element, of_v, conjugate(first_w)) - of_w;
        if (i == k + 1) diagonal()[k + 1] = real_part(following);
        if (i == k + 2) alpha() = following;
        if (stores && i > k + 1 && i < n) store_global(to + i * row_stride, of_v);
      }
      v()[i] = of_v;
      w()[i] = of_w;
      x()[i] = i > k + 2 ? following : from_real<T>(0);
    }
    sync_threads();
  }
  template <int s>
  SIMT_INLINE void steps_from() {
    constexpr int after = s + C.phase;
    int const end = smaller(after * groups, n - 1);
    SIMT_LOOP
    for (int k = s * groups; k < end; ++k) step<s>(k);
    if constexpr (after < width) steps_from<after>();
  }
  /// The matrix becomes the tridiagonal one, in shared memory.
  SIMT_INLINE void reduce() {
    for (int i = thread_index(); i < C.rows(); i += threads) v()[i] = w()[i] = from_real<T>(0);
    if (group == 0) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) {
        int const i = row(r);
        if (i == 0) diagonal()[0] = real_part(a[0][r]);
        if (i == 1) alpha() = a[0][r];
        x()[i] = i > 1 ? a[0][r] : from_real<T>(0);
      }
    }
    sync_threads();
    steps_from<0>();
  }
};

}  // namespace simt

/// Launch: any number of blocks of C.threads() threads, with C.shared_bytes(sizeof(T)) bytes of dynamic shared memory.
template <typename T, TridiagonalBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) tridiagonal_block(TridiagonalArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  bool const of_lapack = args.result == TridiagonalResult::lapack, of_vectors = args.result == TridiagonalResult::vectors;
  int const thread = thread_index();
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const n = args.a.rows_of(b);
    if (n <= args.above || n > C.rows()) continue;
    TridiagonalInRegisters<T, C> reduction(args.result, n);
    Index const down = args.a.row_stride_of(b), right = args.a.col_stride_of(b);
    // As LAPACK reduces an upper triangle, it is a lower one with rows and columns in the opposite order; else its transpose is reduced.
    bool const reverses = of_lapack && !args.lower, transposes = !of_lapack && !args.lower;
    T* const origin = args.a.at(b, reverses ? n - 1 : 0, reverses ? n - 1 : 0);
    Index const row_stride = reverses ? -down : transposes ? right : down, col_stride = reverses ? -right : transposes ? down : right;
    reduction.set_places(origin, of_vectors ? down : row_stride, of_vectors ? right : col_stride);
    R const back = reduction.load(origin, row_stride, col_stride, transposes);
    T* const last = args.a.at(b, n - 1, n - 1);
    if (back == back)
      reduction.reduce();
    else
      reduction.sync_threads();
    if (of_lapack) {
      auto const place = [&](int k, int count) { return args.lower ? k : count - 1 - k; };
      bool const conjugates = args.tau.conjugated != args.a.conjugated;
      T const nothing = back == back ? from_real<T>(0) : not_a_number<T>();  // a matrix with NaN gets NaN in all results
      SIMT_LOOP
      for (int k = thread; k < n; k += C.threads()) {
        R const d = back * reduction.diagonal()[k];
        store_global(args.d.at(b, place(k, n), 0), d + real_part(nothing));
        store_global(reduction.place(k, k), from_real<T>(d) + nothing);
        if (k + 1 >= n) continue;
        R const e = back * reduction.off_diagonal()[k];
        store_global(args.e.at(b, place(k, n - 1), 0), e + real_part(nothing));
        store_global(reduction.place(k + 1, k), from_real<T>(e) + nothing);
        store_global(args.tau.at(b, place(k, n - 1), 0), conjugate_if(conjugates, reduction.taus()[k]) + nothing);
      }
      if (!(back == back)) {
        SIMT_LOOP
        for (int i = thread / 8; i < n; i += C.threads() / 8)
          for (int j = thread % 8; j < i; j += 8) store_global(reduction.place(i, j), nothing);
      }
    } else {
      if (thread == 0) store_global(last, from_real<T>(back));
      SIMT_LOOP
      for (int k = thread; k < n && back == back; k += C.threads()) {
        store_global(args.d.at(b, k, 0), reduction.diagonal()[k]);
        if (k + 1 >= n) continue;
        T const e = from_real<T>(reduction.off_diagonal()[k]);
        if (of_vectors) {
          store_global(reduction.place(k, k), reduction.taus()[k]);
          store_global(reduction.place(k + 1, k), from_real<T>(1));
          store_global(reduction.place(k, k + 1), e);
        } else {
          store_global(reduction.place(k + 1, k), e);
        }
      }
    }
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
