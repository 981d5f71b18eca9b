#pragma once
/// Reduction of a Hermitian matrix in shared memory to tridiagonal form by a block, and the back-transformation.
///
/// Every warp has the whole vector of a step in registers, lane l rows l, l + 32, ..., and computes norms and dot products itself, all in
/// the same way. Columns of the matrix are distributed over warps. So the bits depend only on the matrix, and a step has one barrier.

#include "reflectors/reflector.cuh"

namespace myriad::simt {

/// Last columns without a reflector: the last two of a real matrix are tridiagonal already; for complex matrices the last off-diagonal
/// element must become real.
template <typename T>
inline constexpr int columns_without_reflector = is_complex<T> ? 1 : 2;

template <typename T>
SIMT_INLINE T sum_of_warp(T x) {
  SIMT_UNROLL
  for (int mask = warp_size / 2; mask > 0; mask /= 2) x = x + shuffle_xor(x, mask);
  return x;
}

/// `at(i, j)`: element (i, j) of the matrix, of up to N rows.
template <typename T, int N, int threads, typename At>
struct ReductionByBlock {
  using R = Real<T>;
  static constexpr int warps = threads / warp_size;
  static constexpr int held = ceil_div(N, warp_size);  ///< rows of a lane
  static constexpr int columns = N / warps;            ///< of a warp
  static constexpr int at_once = N <= 128   ? columns
                                 : N <= 192 ? columns / 2
                                            : columns / 4;  ///< of these, limited by registers; does not
                                                            ///< change sums
  static_assert(columns == 8, "a power of two");

  At at;
  int n;
  T* v;  ///< vectors of the current and the previous step, n apart
  T* p;  ///< products of the matrix with them
  R* d;  ///< diagonal of the tridiagonal matrix
  R* e;  ///< its off-diagonal

  // unknown(): with few registers, values derived from the lane would be spilled for the whole kernel.
  int const lane = N > 192 ? static_cast<int>(unknown(static_cast<unsigned>(lane_index()))) : lane_index();
  int const warp = thread_index() / warp_size;

  /// `memory`: 4 rows elements of type T.
  SIMT_INLINE ReductionByBlock(At at_of_matrix, int rows, R* diagonal, R* beside, char* memory)
      : at(at_of_matrix), n(rows), v(reinterpret_cast<T*>(memory)), p(v + 2 * rows), d(diagonal), e(beside) {}

  SIMT_INLINE int row(int r) const { return lane + r * warp_size; }

  /// Completes the matrix from its triangle and scales its largest element into [1, 2) by a power of two. Returns the inverse factor; NaN
  /// if the triangle has NaN or infinity. Such a matrix is set to zero.
  SIMT_INLINE R make_whole(bool lower) {
    auto top = bits_of(R(0));
    for (int j = warp; j < n; j += warps) {
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const i = row(r);
        if (i >= n) continue;
        bool const stored = lower ? i >= j : i <= j;
        T value = conjugate_if(!stored, at(stored ? i : j, stored ? j : i));
        if (i == j) value = from_real<T>(real_part(value));
        if (!stored) at(i, j) = value;
        top = larger(top, ordered_bits(magnitude(real_part(value))));
        if constexpr (is_complex<T>) top = larger(top, ordered_bits(magnitude(value.im)));
      }
    }
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
    R* const of_warps = reinterpret_cast<R*>(v);
    if (lane == 0) of_warps[warp] = number_of(top);
    sync_block();
    SIMT_UNROLL_BY(4)
    for (int w = 0; w < warps; ++w) top = larger(top, ordered_bits(of_warps[w]));
    bool const finite = top < ordered_bits(R(infinity()));
    R const scale = !finite || top == bits_of(R(0)) ? R(1) : reciprocal_power(number_of(top));
    for (int j = warp; j < n; j += warps) {
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const i = row(r);
        if (i >= n) continue;
        T const value = scale * at(i, j);
        at(i, j) = !finite ? from_real<T>(0) : i == j ? from_real<T>(real_part(value)) : value;
      }
    }
    sync_block();
    return finite ? reciprocal_power(scale) : R(quiet_nan());
  }

  /// A = Q T Q^H, Q = H(0) H(1) ...: T goes to d and e, the vector of H(k) below the diagonal of column k, tau(k) to the diagonal.
  ///
  /// H^H A H = A - v w^H - w v^H with w = tau A v - (|tau|^2 / 2) (v^H A v) v. The update of a step is fused with the next step's
  /// matrix-vector product; only the next column is updated before, by every warp for itself.
  SIMT_INLINE void reduce() {
    int const steps = larger(n - columns_without_reflector<T>, 0);
    T own_v[held]{}, own_w[held]{};  // of the previous step
    T tau = from_real<T>(0);
    R half = R(0);
    // Elements j of v and w of the step before k.
    auto const former_v = [&](int k, int j) { return v[(k + 1) % 2 * n + j]; };
    auto const former_w = [&](int k, int j) { return tau * p[(k + 1) % 2 * n + j] - half * former_v(k, j); };
    auto const changed = [&](int r, T x, T of_v, T of_w) {
      return subtract_product(subtract_product(x, own_v[r], conjugate(of_w)), own_w[r], conjugate(of_v));
    };
    // Column j after the step before k, for the rows of the lane.
    auto const column = [&](int k, int j, T(&x)[held]) {
      T const of_v = k > 0 ? former_v(k, j) : from_real<T>(0), of_w = k > 0 ? former_w(k, j) : from_real<T>(0);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) x[r] = row(r) >= j && row(r) < n ? changed(r, at(row(r), j), of_v, of_w) : from_real<T>(0);
    };
    SIMT_LOOP
    for (int k = 0; k < steps; ++k) {
      T x[held];
      column(k, k, x);
      R tail = R(0);
      T first = from_real<T>(0);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        if (row(r) == k + 1) first = x[r];
        if (row(r) < k + 2) continue;
        tail = multiply_add(real_part(x[r]), real_part(x[r]), tail);
        if constexpr (is_complex<T>) tail = multiply_add(x[r].im, x[r].im, tail);
      }
      tail = sum_of_warp(tail);
      first = shuffle(first, (k + 1) % warp_size);
      Reflector<T> reflector(first, tail);
      // A column that is zero, or so small in a matrix of norm one that its square underflows, is taken as zero.
      if (!reflector.usual) reflector = Reflector<T>(first, R(Reflector<T>::identity));
      T const next_tau = reflector.tau();
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        if (row(r) == k && warp == 0) d[k] = real_part(x[r]);
        x[r] = row(r) <= k ? from_real<T>(0) : row(r) == k + 1 ? from_real<T>(1) : reflector.v_scale * x[r];
        if (row(r) < n && warp == 0) v[k % 2 * n + row(r)] = x[r];
      }
      if (lane == 0 && warp == 0) e[k] = reflector.beta;

      SIMT_UNROLL
      for (int first_column = 0; first_column < columns; first_column += at_once) {
        if (warp + (first_column + at_once - 1) * warps <= k) continue;
        T product[at_once]{};
        // A branch for each column: loading several columns before the first is used took a third longer.
        SIMT_UNROLL
        for (int c = 0; c < at_once; ++c) {
          int const j = warp + (first_column + c) * warps;
          if (j <= k || j >= n) continue;
          T const of_v = k > 0 ? former_v(k, j) : from_real<T>(0), of_w = k > 0 ? former_w(k, j) : from_real<T>(0);
          SIMT_UNROLL
          for (int r = 0; r < held; ++r) {
            if (row(r) <= k || row(r) >= n) continue;
            T const element = changed(r, at(row(r), j), of_v, of_w);
            at(row(r), j) = element;
            product[c] = conjugate_multiply_add(element, x[r], product[c]);
          }
        }
        // In each step a lane keeps half of its sums and passes on the others, until it has one.
        SIMT_UNROLL
        for (int count = at_once / 2, mask = warp_size / 2; mask > 0; count /= 2, mask /= 2) {
          bool const upper = (lane & mask) != 0;
          SIMT_UNROLL
          for (int c = 0; c < larger(count, 1); ++c) {
            T const kept = upper && count > 0 ? product[c + count] : product[c],
                    given = upper || count == 0 ? product[c] : product[c + count];
            product[c] = kept + shuffle_xor(given, mask);
          }
        }
        constexpr int lanes_of_column = warp_size / at_once;
        int const mine = warp + (first_column + lane / lanes_of_column) * warps;
        if (lane % lanes_of_column == 0 && mine > k && mine < n) p[k % 2 * n + mine] = product[0];
      }
      sync_block();

      tau = next_tau;
      R sum = R(0);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const i = row(r);
        bool const is = i > k && i < n;
        if (i == k && warp == 0) at(k, k) = tau;
        if (is && warp == 0) at(i, k) = x[r];
        own_v[r] = x[r];
        own_w[r] = is ? p[k % 2 * n + i] : from_real<T>(0);
        sum = multiply_add(real_part(own_v[r]), real_part(own_w[r]), sum);
        if constexpr (is_complex<T>) sum = multiply_add(own_v[r].im, own_w[r].im, sum);
      }
      sum = sum_of_warp(sum);
      R size = real_part(tau) * real_part(tau);
      if constexpr (is_complex<T>) size = multiply_add(tau.im, tau.im, size);
      half = R(0.5) * size * sum;
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) own_w[r] = tau * own_w[r] - half * own_v[r];
    }
    // The remaining columns.
    for (int j = steps; j < n; ++j) {
      T x[held];
      column(steps, j, x);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        if (warp != 0) continue;
        if (row(r) == j) d[j] = real_part(x[r]);
        if (row(r) == j + 1 && row(r) < n) e[j] = real_part(x[r]);
      }
    }
    sync_block();
  }
};

/// Back-transformation: applies Q of a reduction to vectors of the tridiagonal matrix, from the last reflector on. Several lanes share a
/// column in registers; the order of sums does not depend on their number.
template <typename T, int N, int threads>
struct ReflectorsByBlock {
  static constexpr bool is_small = N <= 128 && N * static_cast<int>(sizeof(T)) <= 1024;
  static constexpr int lanes = is_small ? 4 : 8;  ///< of a column
  static constexpr int held = N / lanes;          ///< rows of a lane
  static constexpr int passes = lanes * N / threads;
  static constexpr int at_once = N > 224 ? 2 : 4;  ///< rows, limited by registers
  static_assert(held % at_once == 0 && passes * threads == lanes * N);

  /// `from(i, j)`: elements of the vectors, n columns of n rows. `to(i, j)`: their destination in shared memory, which may overlap `from`,
  /// except that the columns of pass m > 0, from n m / passes on, must not be overwritten earlier. `v`: in global memory, the vector of
  /// H(k) below the diagonal of column k and its tau on the diagonal. `memory`: 4 n elements. All threads of the block call this, with a
  /// barrier before and after it.
  template <typename From, typename To>
  SIMT_INLINE static void apply(int n, From from, To to, T const* v, Index row_stride, Index col_stride, char* memory) {
    // unknown(): with few registers, values derived from the thread's index would be spilled for the whole kernel.
    int const thread = N > 160 ? static_cast<int>(unknown(static_cast<unsigned>(thread_index()))) : thread_index();
    int const part = thread % lanes;
    auto const row = [&](int r) { return part + r * lanes; };
    int const last = n - columns_without_reflector<T> - 1;
    // Reflectors are loaded two at a time, double-buffered: number m, counted from the last one, is in slot m % 4.
    T* const stage = reinterpret_cast<T*>(memory);
    auto const load_reflectors = [&](int first) {
      int const m = first + thread / N, k = last - m, i = thread % N;
      if (m < first + 2 && k >= 0 && i >= k && i < n) copy_async(stage + m % 4 * n + i, v + i * row_stride + k * col_stride);
    };
    SIMT_LOOP
    for (int pass = 0; pass < passes; ++pass) {
      int const j = n * pass / passes + thread / lanes;
      bool const is = j < n * (pass + 1) / passes;
      T x[held];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) x[r] = is && row(r) < n ? from_real<T>(from(row(r), j)) : from_real<T>(0);
      sync_block();
      load_reflectors(0);
      SIMT_LOOP
      for (int k = last; k >= 0; --k) {
        int const m = last - k;
        if (m % 2 == 0) {
          wait_copies();
          sync_block();
          load_reflectors(m + 2);
        }
        T const* const of_column = stage + m % 4 * n;
        auto const load = [&](int first, T(&of_v)[at_once]) {
          SIMT_UNROLL
          for (int r = 0; r < at_once; ++r) {
            int const i = row(first + r);
            of_v[r] = i > k && i < n ? of_column[i] : from_real<T>(0);
          }
        };
        T products[2]{};  // four lanes: two sums, of alternating rows; eight lanes: one sum
        SIMT_UNROLL
        for (int first = 0; first < held; first += at_once) {
          if ((first + at_once) * lanes <= k || first * lanes >= n) continue;
          T of_v[at_once];
          load(first, of_v);
          SIMT_UNROLL
          for (int r = 0; r < at_once; ++r) {
            T& product = products[lanes == 4 ? r % 2 : 0];
            product = conjugate_multiply_add(of_v[r], x[first + r], product);
          }
        }
        T product = products[0] + (lanes == 4 ? products[1] : shuffle_xor(products[0], 4));
        product = product + shuffle_xor(product, 1);
        product = product + shuffle_xor(product, 2);
        product = of_column[k] * product;
        SIMT_UNROLL
        for (int first = 0; first < held; first += at_once) {
          if ((first + at_once) * lanes <= k || first * lanes >= n) continue;
          T of_v[at_once];
          load(first, of_v);
          SIMT_UNROLL
          for (int r = 0; r < at_once; ++r) x[first + r] = subtract_product(x[first + r], of_v[r], product);
        }
      }
      SIMT_UNROLL
      for (int r = 0; r < held; ++r)
        if (is && row(r) < n) to(row(r), j) = x[r];
    }
  }
};

}  // namespace myriad::simt
