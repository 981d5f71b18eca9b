#pragma once
/// Reduction to bidiagonal form of a matrix in the registers of a block.
///
/// A step reads and writes the rest of the matrix twice. The first pass subtracts what the reflector from the right of the step before
/// changes, and multiplies all columns with column k. These products give the left reflector and, with row k, row k after it, so also the
/// right reflector: neither needs an exchange of its own. The second pass applies the left reflector and multiplies the columns with u.
/// Sums over the warps make A u, and with it column k + 1.

#include "reflectors/reflector.cuh"
#include "simt/lane_sums.hpp"
#include "simt/powers.hpp"
#include "svd/bidiagonal/gebrd_block_config.cuh"

namespace myriad::simt {

/// The inverse of a power of two; NaN for NaN.
template <typename R>
SIMT_INLINE R reciprocal_power_or_nan(R x) {
  return x == x ? reciprocal_power(x) : x;
}

template <typename T, GebrdBlock C>
struct GebrdInRegisters {
  using R = Real<T>;
  static constexpr int lanes = C.lanes, groups = C.groups, height = C.height, width = C.width, kept = C.kept_width, threads = C.threads();
  static constexpr int groups_of_warp = warp_size / lanes;
  static_assert(lanes <= warp_size && warp_size % lanes == 0 && threads % warp_size == 0 && kept < width);

  int m, n;
  int lane = thread_index() % lanes, group = thread_index() / lanes, warp = thread_index() / warp_size;
  T* const shared = reinterpret_cast<T*>(shared_memory());
  T a[width - kept][height];

  SIMT_INLINE GebrdInRegisters(int rows, int cols) : m(rows), n(cols) {}

  SIMT_INLINE static void sync_threads() {
    if constexpr (threads == warp_size)
      sync_warp();
    else
      sync_block();
  }
  SIMT_INLINE int row(int r) const { return lane + lanes * r; }
  SIMT_INLINE int column(int c) const { return group + groups * c; }
  /// Column k below its first row; zero elsewhere
  SIMT_INLINE T* x() const { return shared; }
  /// tau A u of the step before
  SIMT_INLINE T* products() const { return shared + C.products_at(); }
  SIMT_INLINE T* passed() const { return shared + C.passed_at(); }
  /// Products of the columns with x, and row k
  SIMT_INLINE T* dots() const { return shared + C.dots_at(); }
  SIMT_INLINE T* heads() const { return shared + C.heads_at(); }
  /// u of the step at hand or before
  SIMT_INLINE T* of_u() const { return shared + C.u_at(); }
  SIMT_INLINE T* parts(int of_warp) const { return shared + C.parts_at() + of_warp * C.rows(); }
  SIMT_INLINE T* left_tau() const { return shared + C.taus_at(); }
  SIMT_INLINE T* right_tau() const { return left_tau() + C.columns(); }
  /// Factors of the sums, of the column at hand and of the next one in tau A u
  SIMT_INLINE T* of_product() const { return shared + C.of_product_at(); }
  SIMT_INLINE Index* places() const { return reinterpret_cast<Index*>(shared + C.places_at(sizeof(T))); }
  SIMT_INLINE R* diagonal() const { return reinterpret_cast<R*>(right_tau() + C.columns()); }
  SIMT_INLINE R* off_diagonal() const { return diagonal() + C.columns(); }
  SIMT_INLINE T* own_kept(int c, int r) const { return shared + C.kept_at() + (c * height + r) * threads + thread_index(); }
  SIMT_INLINE T element(int c, int r) const { return c < kept ? *own_kept(c, r) : a[larger(c - kept, 0)][r]; }
  SIMT_INLINE void set(int c, int r, T value) {
    if (c < kept)
      *own_kept(c, r) = value;
    else
      a[larger(c - kept, 0)][r] = value;
  }

  /// Loads the matrix, zeros behind it, and scales its largest part into [1, 2). Returns the inverse factor, NaN if there is NaN or
  /// infinity.
  SIMT_INLINE R load(T const* from, Index row_stride, Index col_stride) {
    auto top = bits_of(R(0));
    T const* first = from + lane * row_stride + group * col_stride;
    SIMT_LOOP
    for (int c = 0; c < kept; ++c) {
      SIMT_LOOP
      for (int r = 0; r < height; ++r) {
        if (row(r) < m && column(c) < n)
          copy_async(own_kept(c, r), first + r * lanes * row_stride);
        else
          *own_kept(c, r) = from_real<T>(0);
      }
      first += groups * col_stride;
    }
    SIMT_UNROLL
    for (int c = kept; c < width; ++c) {
      T const* place = first;
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) {
        a[c - kept][r] = load_global_if(row(r) < m && column(c) < n, place);
        place += lanes * row_stride;
      }
      first += groups * col_stride;
    }
    if constexpr (kept > 0) wait_copies();  // every thread uses its own
    SIMT_LOOP
    for (int at = 0; at < kept * height; ++at) top = larger(top, ordered_bits_of_parts(*own_kept(0, at)));
    SIMT_UNROLL
    for (int c = kept; c < width; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) top = larger(top, ordered_bits_of_parts(a[c - kept][r]));
    }
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
    R* const of_warps = reinterpret_cast<R*>(shared + C.words_at());
    if (lane_index() == 0) of_warps[warp] = number_of(top);
    sync_threads();
    SIMT_UNROLL
    for (int w = 0; w < C.warps(); ++w) top = larger(top, ordered_bits(of_warps[w]));
    if (!(number_of(top) < R(infinity()))) return R(quiet_nan());
    R const scale = top == bits_of(R(0)) ? R(1) : reciprocal_power(number_of(top));
    SIMT_LOOP
    for (int at = 0; at < kept * height; ++at) *own_kept(0, at) = scale * *own_kept(0, at);
    SIMT_UNROLL
    for (int c = kept; c < width; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) a[c - kept][r] = scale * a[c - kept][r];
    }
    return reciprocal_power(scale);
  }
  /// Keeps in shared memory where the results go: registers would hold it all the while.
  SIMT_INLINE void set_places(GebrdMatrix<T> const& to) const {
    if (thread_index() != 0) return;
    places()[0] = reinterpret_cast<Index>(to.at(0, 0));
    places()[1] = to.row_stride;
    places()[2] = to.col_stride;
  }
  SIMT_INLINE T* place(int i, int j) const { return reinterpret_cast<T*>(places()[0]) + i * places()[1] + j * places()[2]; }

  /// The first pass over columns `first` to `last` of a thread. Row k is in register `row_at`.
  template <int first, int last, int begin, int end>
  SIMT_INLINE void subtract_and_multiply(int row_at, bool has_row) {
    constexpr int count = last - first;
    T factor[count], sum[count];
    SIMT_UNROLL
    for (int c = 0; c < count; ++c) {
      factor[c] = -conjugate(of_u()[column(first + c)]);
      sum[c] = from_real<T>(0);
    }
    SIMT_UNROLL
    for (int r = begin; r < height; ++r) {
      T const of_x = x()[row(r)], product = products()[row(r)];
      SIMT_UNROLL
      for (int c = 0; c < count; ++c) {
        T const value = multiply_add(factor[c], product, element(first + c, r));
        set(first + c, r, value);
        sum[c] = conjugate_multiply_add(of_x, value, sum[c]);
      }
    }
    SIMT_UNROLL
    for (int r = begin; r < end; ++r) {
      if (r != row_at) continue;
      if (has_row) {
        SIMT_UNROLL
        for (int c = 0; c < count; ++c) heads()[column(first + c)] = element(first + c, r);
      }
    }
    sum_over_lanes<count, log_of(lanes), 1>(sum, lane, [&](int c, T value) { dots()[column(first + c)] = value; });
  }
  /// Step k, whose column is in registers `s` to s + phase.
  template <int s>
  SIMT_INLINE void step(int k, R back) {
    // Rows from k on are in registers from `begin` on, row k in one before `end`.
    constexpr int next = smaller(s + C.phase, width), begin = s * groups / lanes, end = smaller((next * groups - 1) / lanes + 1, height),
                  live = width - s, live_rows = height - begin;
    // Register and owner of row k and column k + 1: branches on registers are the same for all threads.
    int const row_at = k / lanes, next_at = (k + 1) / groups;
    bool const has_row = lane == k % lanes, has_next = group == (k + 1) % groups;
    constexpr int half = live > 8 ? (live + 1) / 2 : live;  // fewer sums at a time
    subtract_and_multiply<s, s + half, begin, end>(row_at, has_row);
    if constexpr (half < live) subtract_and_multiply<s + half, width, begin, end>(row_at, has_row);
    sync_threads();

    // Products of column k with the others, over the norm of column k, are row k after the left reflector. So the columns are multiplied
    // with them at once, while the reflectors are being made.
    T const alpha = heads()[k];
    Reflector<T> const left = reflector_of_column<T>(alpha, real_part(dots()[k]));
    bool const changes = !(left.reciprocal_of_beta == R(0)), goes_on = k + 1 < n;
    // Row k after it, in proportion to the weights below. Head and gain have another sum where both cancel: the reflector of such a row of
    // rounding errors would not be the one that the sums are for.
    auto const of_row_k = [&](T head, T dot) {
      return changes ? left.reciprocal_of_beta * conjugate_multiply_add(alpha, head, dot) : head;
    };
    T sum[live_rows];
    auto const factors_of = [&](int c, T& weight, T& factor) {
      T const head = heads()[column(s + c)], dot = dots()[column(s + c)];
      bool const is = s + c >= next || column(s + c) > k;
      weight = !is ? from_real<T>(0) : changes ? conjugate_multiply_add(alpha, head, dot) : head;
      factor = is ? left.gain(head, dot) * left.v_scale : from_real<T>(0);
    };
    auto const multiply_and_change = [&](int c, int r, T weight, T factor, T of_x) {
      T const value = element(s + c, r);
      sum[r - begin] = conjugate_multiply_add(weight, value, sum[r - begin]);
      set(s + c, r, multiply_add(factor, of_x, value));
    };
    SIMT_UNROLL
    for (int r = 0; r < live_rows; ++r) sum[r] = from_real<T>(0);
    if constexpr (kept > 0) {  // fewer registers
      T of_x[live_rows];
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) of_x[r - begin] = x()[row(r)];
      SIMT_UNROLL
      for (int c = 0; c < live; ++c) {
        T weight, factor;
        factors_of(c, weight, factor);
        SIMT_UNROLL
        for (int r = begin; r < height; ++r) multiply_and_change(c, r, weight, factor, of_x[r - begin]);
      }
    } else {
      T weight[live], factor[live];
      SIMT_UNROLL
      for (int c = 0; c < live; ++c) factors_of(c, weight[c], factor[c]);
      SIMT_UNROLL
      for (int r = begin; r < height; ++r) {
        T const of_x = x()[row(r)];
        SIMT_UNROLL
        for (int c = 0; c < live; ++c) multiply_and_change(c, r, weight[c], factor[c], of_x);
      }
    }
    // One warp makes the right reflector: each in turn, so that all schedulers get as much of it.
    if (C.warps() == 1 || warp == k % C.warps()) {
      constexpr int first = s * groups / warp_size, turns = ceil_div(C.columns(), warp_size) - first;
      T of_row[turns], crossed = from_real<T>(0);
      R tail = R(0);
      SIMT_UNROLL
      for (int q = 0; q < turns; ++q) {
        int const j = lane_index() + (first + q) * warp_size;
        bool const is = j > k && j < C.columns();
        T const head = is ? heads()[j] : from_real<T>(0), now = is ? of_row_k(head, dots()[j]) : from_real<T>(0);
        T const value = conjugate(now);
        crossed = multiply_add(now - head, value, crossed);
        of_row[q] = j > k + 1 ? value : from_real<T>(0);
        tail = multiply_add(real_part(of_row[q]), real_part(of_row[q]), tail);
        if constexpr (is_complex<T>) tail = multiply_add(of_row[q].im, of_row[q].im, tail);
      }
      SIMT_UNROLL
      for (int mask = warp_size / 2; mask > 0; mask /= 2) {
        tail = tail + shuffle_xor(tail, mask);
        crossed = crossed + shuffle_xor(crossed, mask);
      }
      int const after = goes_on ? k + 1 : k;
      Reflector<T> const right = goes_on ? reflector_of_column<T>(conjugate(of_row_k(heads()[after], dots()[after])), tail)
                                         : Reflector<T>(from_real<T>(0), R(Reflector<T>::identity));
      SIMT_UNROLL
      for (int q = 0; q < turns; ++q) {
        int const j = lane_index() + (first + q) * warp_size;
        if (j < C.columns()) of_u()[j] = j == k + 1 ? from_real<T>(1) : right.v_scale * of_row[q];
      }
      if (lane_index() == 0) {
        T const tau = right.tau(), scale = tau * right.v_scale;
        diagonal()[k] = back * left.beta;
        off_diagonal()[k] = back * right.beta;
        left_tau()[k] = left.tau();
        right_tau()[k] = tau;
        // tau A u, from the sums and what the left reflector has changed in them
        of_product()[0] = (changes ? left.reciprocal_of_beta : R(1)) * scale;
        of_product()[1] = scale * (left.v_scale * crossed);
        of_product()[2] = right.beta * scale;
      }
    }
    if (goes_on) {
      SIMT_UNROLL
      for (int c = s; c < smaller(next + 1, width); ++c) {
        if (c != next_at) continue;
        if (has_next) {
          SIMT_UNROLL
          for (int r = begin; r < height; ++r) passed()[row(r)] = element(c, r);
        }
      }
      sum_over_lanes<live_rows, log_of(groups_of_warp), lanes>(sum, lane_index() / lanes,
                                                               [&](int r, T value) { parts(warp)[row(begin + r)] = value; });
    }
    sync_threads();
    if (!goes_on) {
      SIMT_LOOP
      for (int i = k + 1 + thread_index(); i < m; i += threads) store_global(place(i, k), left.v_scale * x()[i]);
      return;
    }
    T const of_sum = of_product()[0], of_x = of_product()[1], of_next = of_product()[2];
    T* const to = place(0, k);
    Index const row_stride = places()[1];
    SIMT_LOOP
    for (int i = thread_index() + begin * lanes; i < C.rows(); i += threads) {
      T product = from_real<T>(0), next_element = from_real<T>(0);
      if (i > k) {
        T total = parts(0)[i];
        SIMT_UNROLL
        for (int w = 1; w < C.warps(); ++w) total = total + parts(w)[i];
        T const value = passed()[i], former = x()[i];
        product = multiply_add(of_sum, total, subtract_product(of_x * former, of_next, value));
        if (i > k + 1) next_element = value - product;
        if (i < m) store_global(to + i * row_stride, left.v_scale * former);
      }
      products()[i] = product;
      x()[i] = next_element;
    }
    T* const row = place(k, 0);
    Index const col_stride = places()[2];
    SIMT_LOOP
    for (int j = k + 2 + thread_index(); j < n; j += threads) store_global(row + j * col_stride, conjugate(of_u()[j]));
    sync_threads();
  }
  template <int s>
  SIMT_INLINE void steps_from(R back) {
    constexpr int next = s + C.phase;
    int const end = smaller(next * groups, n);
    SIMT_LOOP
    for (int k = s * groups; k < end; ++k) step<s>(k, back);
    if constexpr (next < width) steps_from<next>(back);
  }
  /// The matrix becomes its reflectors and the bidiagonal matrix, which `back` scales.
  SIMT_INLINE void reduce(R back) {
    for (int i = thread_index(); i < C.rows(); i += threads) products()[i] = from_real<T>(0);
    for (int j = thread_index(); j < C.columns(); j += threads) of_u()[j] = from_real<T>(0);
    if (group == 0) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) x()[row(r)] = row(r) > 0 ? element(0, r) : from_real<T>(0);
    }
    sync_threads();
    steps_from<0>(back);
    sync_threads();
  }
};

}  // namespace myriad::simt

namespace myriad {

/// Launch: any number of blocks of C.threads() threads, with C.shared_bytes(sizeof(T)) bytes of dynamic shared memory.
template <typename T, GebrdBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gebrd_block(GebrdArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    GebrdMatrix<T> const all(args, b), matrix = args.rest.first > 0 ? all.rest(args.rest.first) : all;
    int const n = matrix.n;
    if (n == 0 || !C.holds(matrix.m, n)) continue;
    GebrdInRegisters<T, C> reduction(matrix.m, n);
    reduction.set_places(matrix);
    bool const is_rest = args.rest.first > 0;
    R back = reduction.load(is_rest ? args.rest.a + b * args.rest.stride + args.rest.first * (args.rest.ld + 1) : matrix.at(0, 0),
                            is_rest ? 1 : matrix.row_stride, is_rest ? args.rest.ld : matrix.col_stride);
    if (is_rest) back = back * reciprocal_power_or_nan(gebrd_scale(args.rest.largest + b * args.rest.parts, args.rest.parts));
    if (back == back) {
      reduction.reduce(back);
      SIMT_LOOP
      for (int k = thread_index(); k < n; k += C.threads()) {
        R const d = reduction.diagonal()[k], e = reduction.off_diagonal()[k];
        matrix.set_real(args.d, b, k, d);
        store_global(reduction.place(k, k), from_real<T>(d));
        matrix.set_left(args, b, k, reduction.left_tau()[k]);
        matrix.set_right(args, b, k, reduction.right_tau()[k]);
        if (k + 1 >= n) continue;
        matrix.set_real(args.e, b, k, e);
        store_global(reduction.place(k, k + 1), from_real<T>(e));
      }
    } else {
      // A matrix with NaN or infinity gets NaN in all results.
      SIMT_LOOP
      for (int i = thread_index() / 8; i < matrix.m; i += C.threads() / 8)
        for (int j = thread_index() % 8; j < n; j += 8) store_global(matrix.at(i, j), not_a_number<T>());
      for (int k = thread_index(); k < n; k += C.threads()) {
        matrix.set_real(args.d, b, k, back);
        if (k + 1 < n) matrix.set_real(args.e, b, k, back);
        matrix.set_left(args, b, k, not_a_number<T>());
        matrix.set_right(args, b, k, not_a_number<T>());
      }
    }
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
