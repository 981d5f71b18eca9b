#pragma once
/// Solutions of one positive definite system whose factor nobody wants: in the registers of one lane, or by rows in those of several lanes
/// of a warp.
///
/// A = L D L^H with a unit triangle L takes no roots: a step waits for a reciprocal. Elements of L replace those of A in the registers
/// and are never written. The right-hand sides go along: B becomes D^-1 L^-1 B while A is factored.
///
/// Only elements (i, j) with i >= j and the real parts of the diagonal are used; registers for others hold garbage that goes nowhere.
/// A step that finds no positive pivot is noted in `info`, and what follows in that matrix is not to be used. An infinite pivot is taken as
/// one, as in LAPACK. Quotients a_ik / a_kk are to be representable, which only pivots below the least normal number can violate.

#include "simt/divisor.hpp"

namespace myriad::simt {

/// The number whose reciprocal is taken for a pivot. Almost all are such that it is that of the pivot itself, and these are positive:
/// whether a pivot is, has to be asked of the others alone. Where the reciprocal would overflow or vanish, or the pivot is infinite, it is
/// the pivot times a power of two, or one, and `scale(power)` is to multiply what is going to be divided.
template <typename R, typename Scale>
SIMT_INLINE R divisor_of_pivot(R pivot, int step, int& info, Scale scale) {
  if (has_usual_reciprocal(pivot)) return pivot;
  if (!(pivot > 0) && info == 0) info = step + 1;
  bool const infinite = pivot == R(infinity());
  R const power = infinite ? R(0) : pivot < R(1) ? power_of_two<R, 1000, 100> : power_of_two<R, -100, -50>;
  scale(power);
  return infinite ? R(1) : power * pivot;
}

/// All N rows of a matrix, and nrhs right-hand sides, in one lane.
template <typename T, int N, int nrhs>
struct CholeskySolveInOneLane {
  static constexpr int held = N;
  T a[N][N];
  T b[N][larger(nrhs, 1)];
  int info = 0;

  SIMT_INLINE CholeskySolveInOneLane(int, T*) {}
  static constexpr bool exists(int) { return true; }
  SIMT_INLINE int row(int r) const { return r; }
  SIMT_INLINE T& rhs(int r, int c) { return b[r][c]; }

  /// Takes the lower triangle from `at(i, j)`.
  template <typename At>
  SIMT_INLINE void take(At at) {
    SIMT_UNROLL
    for (int j = 0; j < N; ++j) {
      SIMT_UNROLL
      for (int i = j; i < N; ++i) a[i][j] = at(i, j);
    }
  }

  /// B becomes A^-1 B.
  SIMT_INLINE void solve() {
    SIMT_UNROLL
    for (int k = 0; k < N; ++k) {
      T column[N], right[larger(nrhs, 1)];
      SIMT_UNROLL
      for (int i = k + 1; i < N; ++i) column[i] = a[i][k];
      SIMT_UNROLL
      for (int c = 0; c < nrhs; ++c) right[c] = b[k][c];
      Real<T> const divisor = divisor_of_pivot(real_part(a[k][k]), k, info, [&](Real<T> power) {
        SIMT_UNROLL
        for (int i = k + 1; i < N; ++i) column[i] = power * column[i];
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) right[c] = power * right[c];
      });
      Real<T> const inverse = reciprocal(divisor);
      SIMT_UNROLL
      for (int i = N - 1; i > k; --i) {
        T const l = inverse * column[i];
        SIMT_UNROLL
        for (int j = k + 1; j <= i; ++j) a[i][j] = subtract_product(a[i][j], l, conjugate(a[j][k]));
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) b[i][c] = subtract_product(b[i][c], l, b[k][c]);
        a[i][k] = l;
      }
      SIMT_UNROLL
      for (int c = 0; c < nrhs; ++c) b[k][c] = inverse * right[c];
    }
    SIMT_UNROLL
    for (int k = N - 1; k > 0; --k) {
      SIMT_UNROLL
      for (int i = 0; i < k; ++i) {
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) b[i][c] = subtract_product(b[i][c], conjugate(a[k][i]), b[k][c]);
      }
    }
  }
};

/// The memory that lanes of one matrix share, in elements: the column at hand with its right-hand sides, twice, so that one barrier a step
/// is enough; and the squares of L on its diagonal, of `lanes` rows each.
struct CholeskySolveBuffer {
  int right, column, squares, size;
  SIMT_INLINE constexpr CholeskySolveBuffer(int element_bytes, int n, int nrhs, int lanes)
      : right(ceil_div(ceil_div(n, lanes) * lanes, 16 / element_bytes) * (16 / element_bytes)),
        column(right + ceil_div(nrhs, 16 / element_bytes) * (16 / element_bytes)),
        squares(2 * column),
        size(squares + ceil_div(n, lanes) * lanes * lanes) {}
};

/// A matrix of which lane l of `lanes` holds rows l, l + lanes, ..., each up to the diagonal.
///
/// Steps go in blocks of `lanes` columns, whose pivots stand in the same row of all lanes. Where all steps together do not fit the
/// instruction cache, those of a block are a loop. For that the columns of the block rotate: the column at hand is always the first, and
/// goes to the end when it is finished. There it is left alone because zeros stand in its places of the column at hand; after the last step
/// all are where they were.
///
/// The next column goes to the other lanes, and the reciprocal of its pivot is taken, while those behind it are still being updated.
template <typename T, int N, int nrhs, int lanes>
struct CholeskySolveAcrossLanes {
  static constexpr int held = ceil_div(N, lanes);
  static constexpr bool unrolled = N <= 16;
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(T));
  static constexpr CholeskySolveBuffer place{sizeof(T), N, nrhs, lanes};

  T a[held][N];
  T b[held][larger(nrhs, 1)];
  int lane;
  T* buffer;
  int info = 0;

  SIMT_INLINE CholeskySolveAcrossLanes(int lane_of_matrix, T* buffer_of_matrix) : lane(lane_of_matrix), buffer(buffer_of_matrix) {}
  SIMT_INLINE bool exists(int r) const { return N % lanes == 0 || row(r) < N; }
  SIMT_INLINE int row(int r) const { return lane + r * lanes; }
  SIMT_INLINE T& rhs(int r, int c) { return b[r][c]; }

  template <typename At>
  SIMT_INLINE void take(At at) {
    SIMT_UNROLL
    for (int j = 0; j < N; ++j) {
      SIMT_UNROLL
      for (int r = j / lanes; r < held; ++r) a[r][j] = exists(r) ? at(row(r), j) : from_real<T>(0);
    }
  }

  /// B becomes A^-1 B.
  SIMT_INLINE void solve() {
    share<0>(0);
    inverse_ = reciprocal(divisor<0>(0));
    eliminate<0>();
    sync_warp();
    substitute_back<held - 1>();
  }

 private:
  Real<T> inverse_;  ///< of the next pivot

  /// The matrix's first lane in the warp.
  SIMT_INLINE int first_lane() const { return lane_index() - lane; }
  /// Columns of the matrix that the r-th rows of some lanes reach.
  static constexpr int columns(int r) { return smaller(N, (r + 1) * lanes); }
  SIMT_INLINE int column_buffer(int step) const { return step % 2 * place.column; }

  /// Gives the first column of the block at `first` to all lanes, for step t of the block: rows from the pivot's on, and zeros in place of
  /// others of the block; with the pivot's right-hand sides.
  template <int first>
  SIMT_INLINE void share(int t) {
    constexpr int block = first / lanes;
    T* const u = buffer + column_buffer(first + t);
    T* const mine = u + lane;
    bool const finished = lane < t;
    if (!unrolled)
      u[static_cast<unsigned>(lane - t) % lanes] = finished ? from_real<T>(0) : a[block][first];
    else if (!finished)
      (mine - t)[0] = a[block][first];
    SIMT_UNROLL
    for (int r = block + 1; r < held; ++r) mine[(r - block) * lanes] = a[r][first];
    SIMT_UNROLL
    for (int c = 0; c < nrhs; ++c)
      if (lane == t) u[place.right + c] = b[block][c];
  }
  /// The divisor of that step's column.
  template <int first>
  SIMT_INLINE Real<T> divisor(int t) {
    constexpr int block = first / lanes;
    return divisor_of_pivot(shuffle(real_part(a[block][first]), first_lane() + t), first + t, info, [&](Real<T> power) {
      SIMT_UNROLL
      for (int r = block; r < held; ++r) a[r][first] = power * a[r][first];
      SIMT_UNROLL
      for (int c = 0; c < nrhs; ++c)
        if (lane == t) b[block][c] = power * b[block][c];
    });
  }

  template <int first>
  SIMT_INLINE void eliminate() {
    if constexpr (first < N) {
      constexpr int steps = smaller(lanes, N - first);
      if constexpr (unrolled) {
        SIMT_UNROLL
        for (int t = 0; t < steps; ++t) step<first, steps>(t);
      } else {
        SIMT_LOOP
        for (int t = 0; t < steps; ++t) step<first, steps>(t);
      }
      eliminate<first + lanes>();
    }
  }

  template <int first, int steps>
  SIMT_INLINE void step(int t) {
    constexpr int block = first / lanes;
    int const k = first + t;
    T const* const u = buffer + column_buffer(k);
    T l[held];
    SIMT_UNROLL
    for (int r = block; r < held; ++r) l[r] = inverse_ * a[r][first];
    if (lane <= t) l[block] = from_real<T>(0);
    sync_warp();
    SIMT_UNROLL
    for (int c = 0; c < nrhs; ++c) {
      T const right = u[place.right + c];
      SIMT_UNROLL
      for (int r = block; r < held; ++r) b[r][c] = subtract_product(b[r][c], l[r], right);
      if (lane == t) b[block][c] = inverse_ * b[block][c];
    }
    (buffer + lane)[place.squares + k * lanes] = l[block];

    auto const update = [&](int j, T other) {
      SIMT_UNROLL
      for (int r = block; r < held; ++r) {
        if (first + j >= columns(r)) continue;
        T& to = a[r][j < lanes ? first + j - 1 : first + j];
        to = unrolled && j < lanes && j >= steps - t ? a[r][first + j] : subtract_product(a[r][first + j], l[r], conjugate(other));
      }
    };
    // The next column first: the second of this block, or the first of the next one.
    constexpr bool is_last = first + lanes >= N;  // block
    constexpr int second = 1 / per_chunk, beyond = lanes / per_chunk;
    Chunked<T> const with_second(load_chunk(u + second * per_chunk)), with_beyond(load_chunk(u + (is_last ? 0 : beyond * per_chunk)));
    if constexpr (steps > 1) update(1, with_second.x[1 % per_chunk]);
    if constexpr (!is_last) update(lanes, with_beyond.x[lanes % per_chunk]);
    Real<T> next = 1;
    if (t + 1 < steps) {
      share<first>(t + 1);
      next = divisor<first>(t + 1);
    } else if constexpr (!is_last) {
      share<first + lanes>(0);
      next = divisor<first + lanes>(0);
    }
    inverse_ = reciprocal(next);
    SIMT_UNROLL
    for (int c = 0; c < ceil_div(N - first, per_chunk); ++c) {
      Chunked<T> const part = c == second ? with_second : c == beyond && !is_last ? with_beyond : Chunked<T>(load_chunk(u + c * per_chunk));
      SIMT_UNROLL
      for (int i = 0; i < per_chunk; ++i) {
        int const j = c * per_chunk + i;
        if (j < N - first && ((j > 1 && j < steps) || j > lanes)) update(j, part.x[i]);
      }
    }
    SIMT_UNROLL
    for (int r = block + 1; r < held; ++r) a[r][first + steps - 1] = l[r];
  }

  /// Solves for the rows of a block of lanes, of which those below have been solved.
  template <int block>
  SIMT_INLINE void substitute_back() {
    if constexpr (block >= 0) {
      constexpr int first = block * lanes;
      SIMT_UNROLL
      for (int c = 0; c < nrhs; ++c) {
        if constexpr (block + 1 < held) {
          // Products of the solved rows of this lane with each row of the block; then each lane gets the sum for its own.
          T sum[lanes];
          SIMT_UNROLL
          for (int i = 0; i < lanes; ++i) {
            sum[i] = from_real<T>(0);
            SIMT_UNROLL
            for (int r = block + 1; r < held; ++r) sum[i] = multiply_add(conjugate(a[r][first + i]), b[r][c], sum[i]);
          }
          scatter_sums<lanes / 2>(sum);
          b[block][c] = b[block][c] - sum[0];
        }
      }
      T l[lanes];  // column `lane` of the square on the diagonal
      if constexpr (lanes % per_chunk == 0) {
        SIMT_UNROLL
        for (int i = 0; i < lanes; i += per_chunk) {
          Chunked<T> const part(load_chunk(buffer + (place.squares + (first + lane) * lanes + i)));
          SIMT_UNROLL
          for (int e = 0; e < per_chunk; ++e) l[i + e] = part.x[e];
        }
      } else {
        SIMT_UNROLL
        for (int i = 0; i < lanes; ++i) l[i] = buffer[place.squares + (first + lane) * lanes + i];
      }
      SIMT_UNROLL
      for (int i = smaller(lanes, N - first) - 1; i > 0; --i) {
        if (!exists(block)) l[i] = from_real<T>(0);  // there was no step that wrote it
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) b[block][c] = subtract_product(b[block][c], conjugate(l[i]), shuffle(b[block][c], first_lane() + i));
      }
      substitute_back<block - 1>();
    }
  }

  /// Adds up over the lanes: lane l gets sum l of 2 half, as the first.
  template <int half>
  SIMT_INLINE void scatter_sums(T (&sum)[lanes]) {
    if constexpr (half > 0) {
      bool const upper = (lane & half) != 0;
      SIMT_UNROLL
      for (int i = 0; i < half; ++i) {
        T const sent = upper ? sum[i] : sum[i + half];
        T const kept = upper ? sum[i + half] : sum[i];
        sum[i] = kept + exchange(sent, half);
      }
      scatter_sums<half / 2>(sum);
    }
  }
  template <typename U>
  SIMT_INLINE static U exchange(U value, int mask) {
    if constexpr (is_complex<U>)
      return {shuffle_xor(value.re, mask), shuffle_xor(value.im, mask)};
    else
      return shuffle_xor(value, mask);
  }
};

}  // namespace myriad::simt
