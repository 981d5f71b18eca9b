#pragma once
/// Least squares of any rank from the factors of QR with column pivoting, by a block to a matrix.

#include "qr/pivoted/gelsy_config.cuh"
#include "qr/range_scales.cuh"
#include "reflectors/reflector.cuh"
#include "simt/powers.hpp"

namespace myriad::simt {

/// Estimates of the largest or the smallest singular value of a triangle that gets a column (w, gamma), from that of the triangle before
/// and alpha = x^H w with its approximate singular vector x (LAPACK's laic1; Bischof 1990). The new vector is (s x, c).
template <typename T>
struct ConditionStep {
  using R = Real<T>;
  R estimate;
  T s, c;

  SIMT_INLINE static R root(R x) { return x > R(0) ? x * reciprocal_square_root(x) : R(0); }
  SIMT_INLINE static T divided(T x, R by) {
    if constexpr (is_complex<T>)
      return {x.re / by, x.im / by};
    else
      return x / by;
  }
  SIMT_INLINE void choose(bool before, R value) {
    s = from_real<T>(before ? 1 : 0);
    c = from_real<T>(before ? 0 : 1);
    estimate = value;
  }
  /// Makes (s, c) of length one; returns the former length.
  SIMT_INLINE R normalize() {
    R const length = root(add_square(s, add_square(c, R(0))));
    s = divided(s, length);
    c = divided(c, length);
    return length;
  }

  SIMT_INLINE ConditionStep(bool largest, R before, T alpha, T gamma) {
    constexpr R eps = power_of_two<R, -53, -24>;
    R const size_a = modulus(alpha), size_g = modulus(gamma), most = larger(size_a, size_g);
    if (before == R(0)) {
      if (most == R(0)) {
        choose(!largest, R(0));
        return;
      }
      s = divided(largest ? alpha : -conjugate(gamma), most);
      c = divided(largest ? gamma : conjugate(alpha), most);
      R const length = normalize();
      estimate = largest ? most * length : R(0);
    } else if (size_g <= eps * before) {
      if (!largest) {
        choose(false, size_g);
        return;
      }
      R const scale = larger(before, size_a), x = before / scale, y = size_a / scale;
      choose(true, scale * root(multiply_add(x, x, y * y)));
    } else if (size_a <= eps * before) {
      bool const old = (size_g <= before) == largest;
      choose(old, old ? before : size_g);
    } else if (before <= eps * most) {
      R const ratio = smaller(size_a, size_g) / most, length = root(multiply_add(ratio, ratio, R(1)));
      s = divided(divided(largest ? alpha : -conjugate(gamma), most), length);
      c = divided(divided(largest ? gamma : conjugate(alpha), most), length);
      estimate = largest ? most * length : before * ((size_g <= size_a ? ratio : R(1)) / length);
    } else {
      R const x = size_a / before, y = size_g / before;
      T const a = divided(alpha, before), g = divided(gamma, before);
      if (largest) {
        R const half = R(0.5) * (R(1) - x * x - y * y), square = x * x, length = root(multiply_add(half, half, square));
        R const t = half > R(0) ? square / (half + length) : length - half;
        s = divided(-a, t);
        c = divided(-g, R(1) + t);
        estimate = root(t + R(1)) * before;
      } else {
        R const least = R(4) * eps * eps * larger(R(1) + x * x + x * y, x * y + y * y);
        if (R(1) + R(2) * (x - y) * (x + y) >= R(0)) {
          R const half = R(0.5) * (x * x + y * y + R(1)), square = y * y;
          R const t = square / (half + root(magnitude(multiply_add(half, half, -square))));
          s = divided(a, R(1) - t);
          c = divided(-g, t);
          estimate = root(t + least) * before;
        } else {
          R const half = R(0.5) * (y * y + x * x - R(1)), square = x * x, length = root(multiply_add(half, half, square));
          R const t = half >= R(0) ? -square / (half + length) : half - length;
          s = divided(-a, t);
          c = divided(-g, R(1) + t);
          estimate = root(R(1) + t + least) * before;
        }
      }
      normalize();
    }
  }
};

/// One matrix. Sums do not depend on the number of threads.
template <typename T>
struct LeastSquaresOfAnyRank {
  using R = Real<T>;
  int m, n, columns, k;
  T *a, *b;
  Index lda, ldb;
  int threads, warps, warp, lane;
  unsigned* words;

  SIMT_INLINE LeastSquaresOfAnyRank(GelsyArguments<T> const& args, Index of)
      : m(args.a.rows_of(of)),
        n(args.a.cols_of(of)),
        columns(args.b.cols_of(of)),
        k(smaller(m, n)),
        a(args.a.at(of, 0, 0)),
        b(args.b.at(of, 0, 0)),
        lda(args.a.col_stride_of(of)),
        ldb(args.b.col_stride_of(of)),
        threads(args.threads),
        warps(threads / warp_size),
        warp(thread_index() / warp_size),
        lane(lane_index()),
        words(reinterpret_cast<unsigned*>(shared_memory())) {}

  SIMT_INLINE T& at(int i, int j) const { return a[i + j * lda]; }
  template <typename Value>
  SIMT_INLINE static Value sum_of_warp(Value value) {
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) value = value + shuffle_xor(value, mask);
    return value;
  }
  /// Leading bits of the largest part of rows [0, rows(j)) of the columns of a matrix, to all threads.
  template <typename Rows>
  SIMT_INLINE unsigned largest(T const* x, Index ld, int cols, Rows rows) const {
    unsigned most = 0;
    SIMT_LOOP
    for (int j = warp; j < cols; j += warps) {
      int const end = rows(j);
      SIMT_UNROLL_BY(4)
      for (int i = lane; i < end; i += warp_size) most = larger(most, leading_bits_of_parts(x[i + j * ld]));
    }
    most = largest_of_warp(most);
    if (lane == 0) words[warp] = most;
    sync_block();
    SIMT_LOOP
    for (int w = 0; w < warps; ++w) most = larger(most, words[w]);
    sync_block();
    return most;
  }
  /// Sets rows [0, rows) of B.
  SIMT_INLINE void set_right(int rows, T value) const {
    SIMT_LOOP
    for (int j = warp; j < columns; j += warps) {
      SIMT_LOOP
      for (int i = lane; i < rows; i += warp_size) b[i + j * ldb] = value;
    }
  }

  /// The rank, by one warp; `lowest` and `highest` hold k elements.
  SIMT_INLINE int rank(R rcond, T* lowest, T* highest) const {
    R high = modulus(at(0, 0)), low = high;
    if (high == R(0)) return 0;
    if (lane == 0) lowest[0] = highest[0] = from_real<T>(1);
    SIMT_LOOP
    for (int i = 1; i < k; ++i) {
      T of_low = from_real<T>(0), of_high = from_real<T>(0);
      SIMT_UNROLL_BY(2)
      for (int l = lane; l < i; l += warp_size) {
        T const w = at(l, i);
        of_low = conjugate_multiply_add(lowest[l], w, of_low);
        of_high = conjugate_multiply_add(highest[l], w, of_high);
      }
      ConditionStep<T> const down(false, low, sum_of_warp(of_low), at(i, i)), up(true, high, sum_of_warp(of_high), at(i, i));
      if (!(up.estimate * rcond <= down.estimate)) return i;
      SIMT_UNROLL_BY(2)
      for (int l = lane; l < i; l += warp_size) {
        lowest[l] = down.s * lowest[l];
        highest[l] = up.s * highest[l];
      }
      if (i % warp_size == lane) lowest[i] = down.c, highest[i] = up.c;
      low = down.estimate, high = up.estimate;
    }
    return k;
  }

  /// (R11 R12) = (T 0) Z, from the last row up: a reflector takes the elements behind column `rank` to that of the diagonal.
  SIMT_INLINE void reduce_rows(int rank, T* taus) const {
    SIMT_LOOP
    for (int i = rank - 1; i >= 0; --i) {
      T const alpha = conjugate(at(i, i));
      unsigned most = 0;
      SIMT_LOOP
      for (int j = rank + lane; j < n; j += warp_size) {
        unsigned const bits = leading_bits_of_parts(at(i, j));
        most = larger(most, bits == 0 && !(at(i, j) == from_real<T>(0)) ? 1u : bits);
      }
      most = largest_of_warp(most);
      bool const none = most == 0 && (!is_complex<T> || alpha == from_real<T>(real_part(alpha)));
      using Bits = decltype(bits_of(R()));
      most = larger(most, leading_bits_of_parts(alpha));
      R const factor = none ? R(1) : reciprocal_power(number_of(static_cast<Bits>(most) << (sizeof(R) == 4 ? 0 : 32)));
      R tail = R(0);
      SIMT_LOOP
      for (int j = rank + lane; j < n; j += warp_size) tail = add_square(factor * at(i, j), tail);
      tail = sum_of_warp(tail);
      Reflector<T> const h(factor * alpha, none ? R(Reflector<T>::identity) : tail);
      T const tau = h.tau();
      sync_block();
      SIMT_LOOP
      for (int j = rank + thread_index(); j < n; j += threads) at(i, j) = h.v_scale * (factor * conjugate(at(i, j)));
      if (thread_index() == 0) {
        at(i, i) = from_real<T>(reciprocal(factor) * h.beta);
        taus[i] = tau;
      }
      sync_block();
      SIMT_LOOP
      for (int l = thread_index(); l < i; l += threads) {
        T sum[4] = {at(l, i), from_real<T>(0), from_real<T>(0), from_real<T>(0)};
        SIMT_LOOP
        for (int j0 = rank; j0 < n; j0 += 4) {
          SIMT_UNROLL
          for (int u = 0; u < 4; ++u)
            if (j0 + u < n) sum[u] = multiply_add(at(l, j0 + u), at(i, j0 + u), sum[u]);
        }
        T const product = -tau * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
        at(l, i) = at(l, i) + product;
        SIMT_UNROLL_BY(4)
        for (int j = rank; j < n; ++j) at(l, j) = multiply_add(product, conjugate(at(i, j)), at(l, j));
      }
      sync_block();
    }
  }

  /// A column x of B, by a warp: Q^H x, then the solution of the first `rank` rows, by Z^H and P. `place` holds n elements.
  SIMT_INLINE void solve(T* x, int rank, T const* tau, T const* taus, Matrices<int> const& jpvt, Index of, T* place) const {
    SIMT_LOOP
    for (int l = 0; l < k; ++l) {
      T const* const v = a + l * lda;
      T sum = from_real<T>(0);
      SIMT_UNROLL_BY(2)
      for (int i = l / warp_size * warp_size + lane; i < m; i += warp_size)
        if (i >= l) sum = conjugate_multiply_add(i == l ? from_real<T>(1) : v[i], x[i], sum);
      T const gain = -conjugate(tau[l]) * sum_of_warp(sum);
      SIMT_UNROLL_BY(2)
      for (int i = l / warp_size * warp_size + lane; i < m; i += warp_size)
        if (i >= l) x[i] = i == l ? x[i] + gain : multiply_add(gain, v[i], x[i]);
    }
    sync_warp();
    SIMT_LOOP
    for (int i = rank - 1; i >= 0; --i) {
      T const value = ConditionStep<T>::divided(x[i], real_part(at(i, i)));  // the diagonal is real
      sync_warp();
      if (lane == 0) x[i] = value;
      SIMT_UNROLL_BY(2)
      for (int l = lane; l < i; l += warp_size) x[l] = subtract_product(x[l], value, at(l, i));
      sync_warp();
    }
    SIMT_LOOP
    for (int i = rank + lane; i < n; i += warp_size) x[i] = from_real<T>(0);
    SIMT_LOOP
    for (int i = 0; i < rank && rank < n; ++i) {
      T sum = from_real<T>(0);
      SIMT_UNROLL_BY(2)
      for (int j = rank + lane; j < n; j += warp_size) sum = conjugate_multiply_add(at(i, j), x[j], sum);
      T const gain = -taus[i] * (x[i] + sum_of_warp(sum));
      SIMT_UNROLL_BY(2)
      for (int j = rank + lane; j < n; j += warp_size) x[j] = multiply_add(gain, at(i, j), x[j]);
      sync_warp();
      if (lane == 0) x[i] = x[i] + gain;
    }
    sync_warp();
    SIMT_LOOP
    for (int i = lane; i < n; i += warp_size) place[i] = x[i];
    sync_warp();
    SIMT_LOOP
    for (int i = lane; i < n; i += warp_size) x[*jpvt.at(of, i, 0) - 1] = place[i];
    sync_warp();
  }
};

}  // namespace myriad::simt

namespace myriad {

/// Launch: any number of blocks of args.threads threads with gelsy_shared_bytes bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gelsy_most_threads, 2) gelsy(GelsyArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  Index const most_k = smaller(args.a.rows, args.a.cols);
  for (Index of = block_index(); of < args.a.count; of += block_count()) {
    LeastSquaresOfAnyRank<T> const problem(args, of);
    int const m = problem.m, n = problem.n, k = problem.k, columns = problem.columns;
    T* const taus = args.memory + of * gelsy_elements(most_k, args.a.cols);
    int* const shared_rank = reinterpret_cast<int*>(problem.words + gelsy_most_threads / 32);
    if (k == 0) {
      problem.set_right(n, from_real<T>(0));
      if (args.rank && thread_index() == 0) args.rank[of] = 0;
      continue;
    }
    bool const finite = problem.largest(problem.a, problem.lda, n, [&](int j) { return smaller(j + 1, m); }) <
                        leading_bits_of_power<R>(exponent_bias<R> + 1);
    if (problem.warp == 0) {
      int const found = finite ? problem.rank(args.rcond, taus + most_k, taus + 2 * most_k) : 0;
      if (problem.lane == 0) *shared_rank = found;
    }
    sync_block();
    int const rank = *shared_rank;
    if (args.rank && thread_index() == 0) args.rank[of] = rank;
    if (rank == 0) {
      problem.set_right(finite ? larger(m, n) : n, finite ? from_real<T>(0) : not_a_number<T>());
    } else {
      if (rank < n) problem.reduce_rows(rank, taus);
      int const of_a = args.exponents[of];
      int const of_b = static_cast<int>(
          RangeScales<R>::of(leading_bits_of_power<R>(0), problem.largest(problem.b, problem.ldb, columns, [&](int) { return m; })).of_b);
      SIMT_LOOP
      for (int j = problem.warp; j < columns; j += problem.warps) {
        T* const x = problem.b + j * problem.ldb;
        int const lane = problem.lane;
        if (of_b != 0) {
          SIMT_LOOP
          for (int i = lane; i < m; i += warp_size) x[i] = power<R>(of_b) * x[i];
          sync_warp();
        }
        problem.solve(x, rank, args.tau + of * most_k, taus, args.jpvt, of, taus + 3 * most_k + problem.warp * args.a.cols);
        if (of_a == 0 && of_b == 0) continue;
        SIMT_LOOP
        for (int i = lane; i < larger(m, n); i += warp_size) x[i] = power<R>((i < n ? of_a : 0) - of_b) * x[i];
      }
      sync_block();
      if (of_a != 0) {
        SIMT_LOOP
        for (int j = problem.warp; j < rank; j += problem.warps) {
          SIMT_LOOP
          for (int i = problem.lane; i <= j; i += warp_size) problem.at(i, j) = power<R>(-of_a) * problem.at(i, j);
        }
      }
    }
    sync_block();
  }
}

}  // namespace myriad
