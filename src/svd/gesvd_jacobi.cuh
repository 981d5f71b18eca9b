#pragma once
/// Singular values and vectors of high relative accuracy of matrices that no block holds: rows in descending order of magnitude, QR with
/// column pivoting (geqp3), one-sided Jacobi on the columns of R^H.
///
/// A P = Q R and R^H J = W, whose columns are orthogonal, so A = (Q J) S (P W S^-1)^H with their lengths S.

#include "simt/powers.hpp"
#include "svd/gesvd_config.cuh"
#include "svd/svd_jacobi.cuh"

namespace myriad {
namespace simt {

template <typename R>
SIMT_INLINE R gesvd_sum_of_warp(R sum) {
  SIMT_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) sum = sum + shuffle_xor(sum, mask);
  return sum;
}

/// The largest number of all threads of a block; `of_warps`: a number per warp.
SIMT_INLINE int gesvd_largest_number(int value, int* of_warps) {
  auto const ordered = [](int x) { return static_cast<unsigned>(x) ^ 0x80000000u; };
  unsigned top = largest_of_warp(ordered(value));
  sync_block();
  if (lane_index() == 0) of_warps[thread_index() / 32] = static_cast<int>(top);
  sync_block();
  SIMT_LOOP
  for (int w = 0; w < gesvd_threads / 32; ++w) top = larger(top, static_cast<unsigned>(of_warps[w]));
  return static_cast<int>(top ^ 0x80000000u);
}

/// The decomposition of R by a block.
template <typename T>
class GesvdRotation {
  using R = simt::Real<T>;
  static constexpr int threads = gesvd_threads, warps = threads / 32;

 public:
  SIMT_INLINE GesvdRotation(Gesvd<T> const& work, Index b, int k)
      : b_(b),
        k_(k),
        w_(work.jacobi.rotated + b * work.short_stride),
        w_ld_(work.short_ld),
        j_(work.reduced + b * work.reduced_stride),
        j_ld_(work.reduced_ld),
        v_(work.short_side + b * work.short_stride),
        lengths_(work.jacobi.lengths + b * work.most().k()),
        places_(work.jacobi.places + b * work.most().k()),
        warp_(thread_index() / 32) {}

  /// W = R^H, scaled by a power of two, and J = I.
  SIMT_INLINE void load(T const* r, bool accumulates) {
    scale_ = SvdScale<R>(magnitude(real_part(r[0])));  // no other element of R is larger, but for rounding
    for_columns(k_, [&](int j) {
      SIMT_LOOP
      for (int i = lane_index(); i < k_; i += 32) {
        w_[i + j * w_ld_] = i >= j ? scale_.scaled(conjugate(r[j + i * j_ld_])) : from_real<T>(0);
        if (accumulates) j_[i + j * j_ld_] = from_real<T>(R(i == j ? 1 : 0));
      }
    });
  }

  /// Rotates the columns of W until they are orthogonal, and those of J. Returns whether they are.
  SIMT_INLINE bool rotate(bool accumulates, int* of_warps) {
    // Columns count as orthogonal when the square of the cosine between them is below n u^2, LAPACK's limit.
    int logarithm = 0;
    while (1 << logarithm < k_) ++logarithm;
    int const negligible = (larger(logarithm, 4) - (sizeof(R) == 4 ? 48 : 106)) * (1 << 16);
    int const players = k_ + k_ % 2;  // a tournament; one has no partner where k is odd
    bool done = k_ <= 1;
    SIMT_LOOP
    for (int sweep = 0; sweep < most_svd_sweeps && !done; ++sweep) {
      SweepState state;
      SIMT_LOOP
      for (int round = 0; round < players - 1; ++round) {
        SIMT_LOOP
        for (int pair = warp_; pair < players / 2; pair += warps) {
          int const one = pair == 0 ? players - 1 : (round + pair) % (players - 1);
          int const other = pair == 0 ? round : (round - pair + players - 1) % (players - 1);
          int const p = smaller(one, other), q = larger(one, other);
          if (q < k_) rotate_pair(p, q, negligible, accumulates, state);
        }
        sync_block();
      }
      state.cosine = gesvd_largest_number(state.cosine, of_warps);
      state.turn = gesvd_largest_number(state.turn, of_warps);
      done = state.cosine + state.turn <= negligible;
    }
    return done;
  }

  /// Writes the singular values, descending; returns how many are not zero.
  SIMT_INLINE int finish(Matrices<R> const& s, R back) {
    for_columns(k_, [&](int j) {
      R const length = length_of(w_ + j * w_ld_);
      if (lane_index() == 0) lengths_[j] = length;
    });
    sync_block();
    SIMT_LOOP
    for (int j = thread_index(); j < k_; j += threads) {
      R const mine = lengths_[j];
      int place = 0;
      SIMT_LOOP
      for (int i = 0; i < k_; ++i) place += lengths_[i] > mine || (lengths_[i] == mine && i < j) ? 1 : 0;
      places_[place] = j;
      store_global(s.at(b_, place, 0), back * scale_.back(mine));
    }
    sync_block();
    int rank = 0;
    while (rank < k_ && lengths_[places_[rank]] >= svd_least<R>) ++rank;
    return rank;
  }

  /// The vectors of the longer side, before Q: J in the order of the values with zeros below, and `all` - k columns of a unit matrix.
  SIMT_INLINE void write_long(T* to, Index ld, int rows, int all) {
    for_columns(all, [&](int j) {
      T const* const from = j_ + (j < k_ ? places_[j] : 0) * j_ld_;
      SIMT_LOOP
      for (int i = lane_index(); i < rows; i += 32)
        store_global(to + i + j * ld, j < k_ && i < k_ ? from[i] : from_real<T>(R(j >= k_ && i == j ? 1 : 0)));
    });
  }

  /// V = P W S^-1 in the order of the values; columns from `rank` on complete the basis. Overwrites W and the lengths.
  SIMT_INLINE void write_short(int const* columns, int rank) {
    for_columns(rank, [&](int j) {
      int const place = places_[j];
      R const inverse = reciprocal(lengths_[place]);
      SIMT_LOOP
      for (int i = lane_index(); i < k_; i += 32) v_[columns[i] - 1 + j * w_ld_] = inverse * w_[i + place * w_ld_];
    });
    sync_block();
    if (rank == k_) return;
    // 1 - |row|^2, the squared distances of unit vectors from the columns so far
    R* const distances = lengths_;
    T* const products = w_;
    SIMT_LOOP
    for (int i = thread_index(); i < k_; i += threads) {
      R rest = R(1);
      SIMT_LOOP
      for (int j = 0; j < rank; ++j) rest -= square_of(v_[i + j * w_ld_]);
      distances[i] = rest;
    }
    SIMT_LOOP
    for (int c = rank; c < k_; ++c) {
      sync_block();
      int farthest = 0;
      SIMT_LOOP
      for (int i = 1; i < k_; ++i)
        if (distances[i] > distances[farthest]) farthest = i;
      T* const x = v_ + c * w_ld_;
      SIMT_LOOP
      for (int i = thread_index(); i < k_; i += threads) x[i] = from_real<T>(R(i == farthest ? 1 : 0));
      SIMT_LOOP
      for (int turn = 0; turn < 2; ++turn) {
        sync_block();
        for_columns(c, [&](int j) {
          T sum = from_real<T>(0);
          SIMT_LOOP
          for (int i = lane_index(); i < k_; i += 32) sum = conjugate_multiply_add(v_[i + j * w_ld_], x[i], sum);
          sum = gesvd_sum_of_warp(sum);
          if (lane_index() == 0) products[j] = sum;
        });
        sync_block();
        SIMT_LOOP
        for (int i = thread_index(); i < k_; i += threads) {
          T rest = x[i];
          SIMT_LOOP
          for (int j = 0; j < c; ++j) rest = subtract_product(rest, v_[i + j * w_ld_], products[j]);
          x[i] = rest;
        }
      }
      sync_block();
      R square = R(0);
      SIMT_LOOP
      for (int i = lane_index(); i < k_; i += 32) square = add_square(x[i], square);
      R const inverse = reciprocal_square_root(gesvd_sum_of_warp(square));
      sync_block();
      SIMT_LOOP
      for (int i = thread_index(); i < k_; i += threads) {
        x[i] = inverse * x[i];
        distances[i] -= square_of(x[i]);
      }
    }
  }

 private:
  /// Calls use(j) for columns 0 to count - 1; a warp has a column.
  template <typename Use>
  SIMT_INLINE void for_columns(int count, Use use) const {
    SIMT_LOOP
    for (int j = warp_; j < count; j += warps) use(j);
  }

  SIMT_INLINE void rotate_pair(int p, int q, int negligible, bool accumulates, SweepState& state) {
    T* const x = w_ + p * w_ld_;
    T* const y = w_ + q * w_ld_;
    R of_x = R(0), of_y = R(0);
    T product = from_real<T>(0);
    SIMT_UNROLL_BY(4)
    for (int i = lane_index(); i < k_; i += 32) {
      T const x_i = x[i], y_i = y[i];
      of_x = add_square(x_i, of_x);
      of_y = add_square(y_i, of_y);
      product = conjugate_multiply_add(x_i, y_i, product);
    }
    of_x = gesvd_sum_of_warp(of_x);
    of_y = gesvd_sum_of_warp(of_y);
    product = gesvd_sum_of_warp(product);
    ColumnRotation<T> const rotation(of_x >= svd_least_square<R> ? of_x : R(0), of_y >= svd_least_square<R> ? of_y : R(0), product, R(1),
                                     R(1));
    if (!rotation.rotates || rotation.cosine <= negligible) return;
    state.add(rotation);
    R const cosine = reciprocal_square_root(rotation.growth);
    turn(x, y, rotation, cosine);
    if (accumulates) turn(j_ + p * j_ld_, j_ + q * j_ld_, rotation, cosine);
  }
  SIMT_INLINE void turn(T* x, T* y, ColumnRotation<T> const& rotation, R cosine) const {
    T const by_x = rotation.from_x, by_y = conjugate(rotation.from_y);
    SIMT_UNROLL_BY(4)
    for (int i = lane_index(); i < k_; i += 32) {
      T const x_i = x[i], y_i = y[i];
      x[i] = cosine * subtract_product(x_i, by_y, y_i);
      y[i] = cosine * multiply_add(by_x, x_i, y_i);
    }
  }
  SIMT_INLINE R length_of(T const* x) const {
    constexpr R up = power_of_two<R, 600, 100>;
    R sum = R(0);
    SIMT_LOOP
    for (int i = lane_index(); i < k_; i += 32) sum = add_square(x[i], sum);
    sum = gesvd_sum_of_warp(sum);
    if (sum >= svd_least_square<R>) return square_root(sum);
    sum = R(0);
    SIMT_LOOP
    for (int i = lane_index(); i < k_; i += 32) sum = add_square(up * x[i], sum);
    return (R(1) / up) * square_root(gesvd_sum_of_warp(sum));
  }

  Index b_;
  int k_;
  T* w_;
  Index w_ld_;
  T* j_;
  Index j_ld_;
  T* v_;
  R* lengths_;
  int* places_;
  int warp_;
  SvdScale<R> scale_;
};

}  // namespace simt

/// Copies matrices with their rows in descending order of their largest parts, to a factor of eight; those that are R keep their order.
///
/// Launch: any number of blocks of gesvd_threads threads with gesvd_threads numbers (int) of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gesvd_threads, 1) gesvd_sort_rows(Gesvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  int* const counts = reinterpret_cast<int*>(shared_memory());
  constexpr int classes = gesvd_threads, none = -4096;
  int const me = thread_index();
  for (Index b = block_index(); b < work.a.count; b += block_count()) {
    GesvdShape const shape = work.shape(b);
    if (shape.k() == 0 || shape.is_small()) continue;
    int const rows = shape.reduced_rows(), columns = shape.k();
    T const* const from = work.reduced + b * work.reduced_stride;
    T* const to = work.jacobi.sorted + b * work.reduced_stride;
    int* const order = work.jacobi.rows + 2 * b * work.jacobi.most_rows;
    int* const exponents = order + work.jacobi.most_rows;
    int top = none;
    SIMT_LOOP
    for (int i = me; i < rows; i += gesvd_threads) {
      R largest = R(0);
      SIMT_LOOP
      for (int j = 0; j < columns; ++j) {
        T const x = from[i + j * work.reduced_ld];
        largest = larger(largest, magnitude(real_part(x)));
        if constexpr (simt::is_complex<T>) largest = larger(largest, magnitude(x.im));
      }
      int exponent = 0;
      if (!(normalized(largest, exponent) > R(0))) exponent = none;
      exponents[i] = exponent;
      top = larger(top, exponent);
    }
    top = gesvd_largest_number(top, counts);
    sync_block();
    // Each thread counts the rows of a class, and later places them.
    auto const class_of = [&](int i) { return smaller((top - exponents[i]) / 3, classes - 1); };
    int count = 0;
    SIMT_LOOP
    for (int i = 0; i < rows; ++i) count += class_of(i) == me ? 1 : 0;
    counts[me] = count;
    sync_block();
    int place = 0;
    SIMT_LOOP
    for (int c = 0; c < me; ++c) place += counts[c];
    SIMT_LOOP
    for (int i = 0; i < rows && count > 0; ++i)
      if (class_of(i) == me) order[place++] = i;
    sync_block();
    bool const sorts = !shape.by_qr();
    SIMT_LOOP
    for (int i = me; i < rows; i += gesvd_threads) {
      int const source = sorts ? order[i] : i;
      SIMT_LOOP
      for (int j = 0; j < columns; ++j) store_global(to + i + j * work.reduced_ld, from[source + j * work.reduced_ld]);
    }
    sync_block();
  }
}

/// The singular values, the vectors of the shorter side, and those of the longer one before Q, of matrices that gesvd_sort_rows and geqp3
/// have factored. `reduced` is overwritten. Sets info where a matrix had NaN or infinity, or more than most_svd_sweeps sweeps would be
/// needed.
///
/// Launch: any number of blocks of gesvd_threads threads with gesvd_search_bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gesvd_threads, 1) gesvd_jacobi(Gesvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  int* const of_warps = reinterpret_cast<int*>(shared_memory());
  for (Index b = block_index(); b < work.a.count; b += block_count()) {
    GesvdShape const shape = work.shape(b);
    int const k = shape.k();
    if (k == 0 || shape.is_small()) continue;
    GesvdRotation<T> rotation(work, b, k);
    bool const accumulates = work.jacobi.of_long;
    rotation.load(work.jacobi.sorted + b * work.reduced_stride, accumulates);
    sync_block();
    bool const done = rotation.rotate(accumulates, of_warps);
    R const back = work.scales[b];
    int const rank = rotation.finish(work.s, back);
    if (thread_index() == 0 && work.info && (!done || back != back)) work.info[b] = k;
    if (accumulates)
      rotation.write_long(work.long_side + b * work.long_stride, work.long_ld, shape.l(),
                          work.columns == GesvdColumns::full ? shape.l() : k);
    if (work.jacobi.of_short) rotation.write_short(work.jacobi.columns + b * work.most().k(), rank);
    sync_block();
  }
}

}  // namespace myriad
