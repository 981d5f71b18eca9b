#pragma once
/// The singular value decomposition of a matrix by several lanes of a warp.
///
/// The rows are sorted by their largest element and A is factored by Householder reflectors with column pivoting: without the order of the
/// rows, matrices with graded rows would lose their small singular values. R^H, which Jacobi treats in fewer sweeps than R, keeps the
/// columns' original order as that of its rows, so that R^H J = V diag(s) has the right V. One-sided Jacobi makes the columns of R^H
/// orthogonal. It does not accumulate J, but finds it from V afterwards: where a diagonal element of R is larger than the singular value
/// by substitution, which is stable there since R is a diagonal matrix times a well conditioned one; elsewhere as R V / s. U = Q J.

#include "simt/lane_sums.hpp"
#include "svd/svd_jacobi.cuh"
#include "svd/svd_tiny_config.cuh"

namespace myriad::simt {

template <typename T, SvdTiny C>
class SvdAcrossLanes {
  using R = Real<T>;
  static constexpr int M = C.m, N = C.n, lanes = C.lanes;
  static constexpr bool vectors = C.vectors();
  static constexpr SvdTinyMemory memory{sizeof(T), sizeof(R), C};

 public:
  /// `matrix`: the matrix's shared memory
  SIMT_INLINE SvdAcrossLanes(char* matrix, int of_lane) : memory_(matrix), lane(of_lane) {}

  SIMT_INLINE T& tile(int i, int j) const { return reinterpret_cast<T*>(memory_)[j * memory.line + i]; }
  SIMT_INLINE R* singular_values() const { return factors() + N; }
  SIMT_INLINE int* row_order() const { return reinterpret_cast<int*>(memory_ + memory.numbers) + 4; }
  SIMT_INLINE int* pivots() const { return row_order() + M; }
  SIMT_INLINE T* scratch() const { return reinterpret_cast<T*>(memory_ + memory.scratch); }

  SvdScale<R> scale;

  /// Finds the scale and the order of the rows of the m-by-n matrix in the tile. Returns whether all elements are finite.
  SIMT_INLINE bool measure(int m, int n) {
    constexpr int held = ceil_div(M, lanes);
    R largest = R(0);
    unsigned keys[held];
    unsigned most = 0;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = lane + r * lanes;
      keys[r] = 0;
      if (i < m) SIMT_UNROLL_BY(4)
      for (int j = 0; j < n; ++j) {
        T const x = tile(i, j);
        keys[r] = larger(keys[r], leading_bits_of_parts(x));
        largest = larger(largest, magnitude(real_part(x)));
        if constexpr (is_complex<T>) largest = larger(largest, magnitude(x.im));
      }
      most = larger(most, keys[r]);
      if (i < M) row_order()[i] = static_cast<int>(keys[r]);
    }
    SIMT_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      most = larger(most, shuffle_xor(most, distance));
      largest = larger(largest, shuffle_xor(largest, distance));
    }
    sync_warp();
    int ranks[held]{};
    SIMT_UNROLL_BY(4)
    for (int k = 0; k < M; ++k) {
      unsigned const other = static_cast<unsigned>(row_order()[k]);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) ranks[r] += other > keys[r] || (other == keys[r] && k < lane + r * lanes) ? 1 : 0;
    }
    sync_warp();
    SIMT_UNROLL
    for (int r = 0; r < held; ++r)
      if (lane + r * lanes < M) row_order()[ranks[r]] = lane + r * lanes;
    sync_warp();
    bool const finite = most < leading_bits_of_power<R>(exponent_bias<R> + 1);
    if (finite) scale = SvdScale<R>(largest);
    return finite;
  }

  /// Factors P A = Q R for the scaled matrix, or a zero one, and writes R^H to the tile: its columns are rows of R, its rows in the order
  /// of the columns of A. `conjugated`: the tile has conj(A).
  SIMT_INLINE void factor(int n, bool conjugated, bool zero) {
    constexpr int held = ceil_div(N, lanes);
    T a[held][M];
    R norm[held], norm_before[held];  // squares for the rows that are left; as it was last computed
    unsigned wanted = 0;              // a bit per column that is no pivot so far
    constexpr unsigned most_columns = N > 32 ? 64 : 32, number_bits = 2 * most_columns - 1;
    SIMT_UNROLL
    for (int s = 0; s < held; ++s) {
      int const j = lane + s * lanes;
      R sum = R(0);
      SIMT_UNROLL
      for (int i = 0; i < M; ++i) {
        a[s][i] = j < n && !zero ? scale.scaled(conjugate_if(conjugated, tile(row_order()[i], j))) : from_real<T>(0);
        sum = add_square(a[s][i], sum);
      }
      norm[s] = norm_before[s] = sum;
      if (j < n) wanted |= 1u << s;
    }
    sync_warp();
    int const steps = steps_of(n);
    SIMT_LOOP
    for (int k = 0; k < steps; ++k) {
      unsigned best = 0;
      SIMT_UNROLL
      for (int s = 0; s < held; ++s)
        if ((wanted >> s & 1) != 0)
          best = larger(best, (leading_bits(bits_of(norm[s])) & ~number_bits) | (most_columns - static_cast<unsigned>(lane + s * lanes)));
      if constexpr (lanes == 32) {
        best = largest_of_warp(best);
      } else {
        SIMT_UNROLL
        for (int distance = lanes / 2; distance > 0; distance /= 2) best = larger(best, shuffle_xor(best, distance));
      }
      bool const works = best != 0;
      int const pivot = works ? static_cast<int>(most_columns - (best & number_bits)) : 0;
      T* const v = vector(k);
      SIMT_UNROLL
      for (int s = 0; s < held; ++s)
        if (lane + s * lanes == pivot) {
          wanted &= ~(1u << s);
          SIMT_UNROLL
          for (int first = 0; first < M; first += group) {
            if (k >= first + group) continue;
            SIMT_UNROLL
            for (int i = first; i < smaller(first + group, M); ++i) v[i] = works && i >= k ? a[s][i] : from_real<T>(0);
          }
        }
      sync_warp();
      T sums[held][chains], product[held], row[held];
      SIMT_UNROLL
      for (int s = 0; s < held; ++s) {
        row[s] = from_real<T>(0);
        SIMT_UNROLL
        for (int e = 0; e < chains; ++e) sums[s][e] = from_real<T>(0);
      }
      for_elements_from(k, v, [&](int i, T x) {
        SIMT_UNROLL
        for (int s = 0; s < held; ++s) sums[s][i % chains] = conjugate_multiply_add(x, a[s][i], sums[s][i % chains]);
      });
      SIMT_UNROLL
      for (int first = 0; first < M; first += group) {
        if (k < first || k >= first + group) continue;
        SIMT_UNROLL
        for (int i = first; i < smaller(first + group, M); ++i) {
          SIMT_UNROLL
          for (int s = 0; s < held; ++s) row[s] = choose(i == k ? ~0u : 0u, a[s][i], row[s]);
        }
      }
      SIMT_UNROLL
      for (int s = 0; s < held; ++s) product[s] = sum_of(sums[s]);
      R square = R(0);
      SIMT_UNROLL
      for (int s = 0; s < held; ++s)
        if (pivot / lanes == s) square = real_part(product[s]);
      square = shuffle(square, first_lane() + pivot % lanes);
      T const head = v[k < M ? k : 0];
      bool const reflects = works && square >= svd_least_square<R>;
      T beta = from_real<T>(0);
      R factor = R(0);
      if (reflects) {
        R const length = square_root(square), size = modulus(head);
        T const direction = size == R(0) ? from_real<T>(1) : is_complex<T> ? sign(head) : from_real<T>(copy_sign(R(1), real_part(head)));
        beta = -length * direction;
        factor = reciprocal(length * (length + size));
      }
      bool computes = false;  // a norm anew, since most of it is gone
      SIMT_UNROLL
      for (int s = 0; s < held; ++s) {
        int const j = lane + s * lanes;
        product[s] = factor * subtract_product(product[s], conjugate(beta), row[s]);
        T r = subtract_product(row[s], product[s], head - beta);
        if (j == pivot && reflects) r = beta;
        bool const left = (wanted >> s & 1) != 0;
        if (!works || !(left || j == pivot)) r = from_real<T>(0);
        if (vectors && j == pivot) {
          diagonal()[k] = r;
          pivots()[k] = works ? pivot : k;
        }
        if (j < N) tile(j, k) = conjugate(r);
        norm[s] -= square_of(r);
        computes = computes || (left && norm[s] < power_of_two<R, -10, -10> * norm_before[s]);
      }
      for_elements_from(k, v, [&](int i, T x) {
        SIMT_UNROLL
        for (int s = 0; s < held; ++s) a[s][i] = subtract_product(a[s][i], x, product[s]);
      });
      if (svd_any(computes)) {
        R squares[held][chains];
        SIMT_UNROLL
        for (int s = 0; s < held; ++s) {
          SIMT_UNROLL
          for (int e = 0; e < chains; ++e) squares[s][e] = R(0);
        }
        SIMT_UNROLL
        for (int first = 0; first < M; first += group) {
          if (k >= first + group) continue;
          SIMT_UNROLL
          for (int i = first; i < smaller(first + group, M); ++i) {
            SIMT_UNROLL
            for (int s = 0; s < held; ++s) squares[s][i % chains] = add_square(i > k ? a[s][i] : from_real<T>(0), squares[s][i % chains]);
          }
        }
        SIMT_UNROLL
        for (int s = 0; s < held; ++s)
          if (norm[s] < power_of_two<R, -10, -10> * norm_before[s]) norm[s] = norm_before[s] = sum_of(squares[s]);
      }
      sync_warp();
      if (vectors && lane == 0) {
        if (reflects) v[k] = head - beta;
        factors()[k] = factor;
      }
    }
    if constexpr (by_size) {  // the rest, as steps without a pivot would leave it
      SIMT_LOOP
      for (int k = n; k < N; ++k) {
        SIMT_LOOP
        for (int i = lane; i < M; i += lanes) vector(k)[i] = from_real<T>(0);
        SIMT_LOOP
        for (int j = lane; j < N; j += lanes) tile(j, k) = from_real<T>(0);
        if (lane != 0) continue;
        diagonal()[k] = from_real<T>(0);
        factors()[k] = R(0);
        pivots()[k] = k;
      }
    }
    sync_warp();
    if constexpr (vectors) {
      SIMT_LOOP
      for (int k = lane; k < N; k += lanes) {
        SIMT_LOOP
        for (int l = 0; l < k; ++l) vector(k)[l] = k < n ? conjugate(tile(pivots()[k], l)) : from_real<T>(0);
      }
    }
  }

  /// Makes the n columns of the tile orthogonal. Returns whether that converged.
  SIMT_INLINE bool iterate(int n) {
    int const most_n = static_cast<int>(largest_of_warp(static_cast<unsigned>(n)));
    SIMT_UNROLL
    for (int x = 0; x < 2; ++x) {
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) {
        bool const exists = column(x) < N && row(r) < N;
        w[x][r] = exists ? tile(row(r), column(x)) : from_real<T>(0);
      }
    }
    bool done = n <= 1;
    SIMT_LOOP
    for (int sweep = 0; sweep < most_svd_sweeps; ++sweep) {
      if (!svd_any(!done)) break;
      SIMT_UNROLL
      for (int x = 0; x < 2; ++x) {
        R const sum = squares(w[x]);
        square[x] = sum >= svd_least_square<R> ? sum : R(0);
        weight[x] = R(1);
      }
      SweepState state;
      SIMT_LOOP
      for (int level = 0; level <= levels; ++level) {
        int const count = rounds(n, level), most = rounds(most_n, level);
        SIMT_LOOP
        for (int round = 0; round < most; ++round) {
          bool const mine = round < count;
          rotate(mine && !done, state);
          turn(level, mine ? count : 0);  // also if all stay: the branch would cost more
        }
        if (level < levels) exchange(level);
      }
      if (!done) SIMT_UNROLL
      for (int x = 0; x < 2; ++x) {
        R const scaling = square_root(weight[x]);
        SIMT_UNROLL
        for (int r = 0; r < rows; ++r) w[x][r] = scaling * w[x][r];
      }
      return_home();
      SIMT_UNROLL
      for (int distance = lanes / 2; distance > 0; distance /= 2) {
        state.cosine = larger(state.cosine, shuffle_xor(state.cosine, distance));
        state.turn = larger(state.turn, shuffle_xor(state.turn, distance));
      }
      done = done || state.template is_last<R>(n);
    }
    return done;
  }

  /// Computes the singular values, in descending order. The tile becomes V; with fewer columns than n where singular values are zero.
  /// Returns the number of columns.
  SIMT_INLINE int finish(int n) {
    R length[2];
    SIMT_UNROLL
    for (int x = 0; x < 2; ++x) {
      R const sum = squares(w[x]);
      length[x] = square_root(sum);
      if (svd_any(sum < svd_least_square<R>)) {
        constexpr R up = power_of_two<R, 600, 100>;
        T scaled[rows];
        SIMT_UNROLL
        for (int r = 0; r < rows; ++r) scaled[r] = up * w[x][r];
        R const of_scaled = (R(1) / up) * square_root(squares(scaled));
        if (sum < svd_least_square<R>) length[x] = of_scaled;
      }
      if (part() == 0 && column(x) < N) singular_values()[column(x)] = length[x];
    }
    sync_warp();
    int rank = 0, mine[2] = {0, 0};
    SIMT_UNROLL_BY(4)
    for (int k = 0; k < N; ++k) {
      R const other = singular_values()[k];
      rank += k < n && other >= svd_least<R> ? 1 : 0;
      SIMT_UNROLL
      for (int x = 0; x < 2; ++x) mine[x] += other > length[x] || (other == length[x] && k < column(x)) ? 1 : 0;
    }
    sync_warp();
    SIMT_UNROLL
    for (int x = 0; x < 2; ++x) {
      if (column(x) >= N) continue;
      if (part() == 0) singular_values()[mine[x]] = length[x];
      if constexpr (vectors) {
        R const inverse = length[x] >= svd_least<R> ? reciprocal(length[x]) : R(0);
        SIMT_UNROLL
        for (int r = 0; r < rows; ++r)
          if (row(r) < N) tile(row(r), mine[x]) = inverse * w[x][r] + from_real<T>(0);  // no -0, see apply_if
      }
    }
    sync_warp();
    return rank;
  }

  /// The tile becomes U.
  SIMT_INLINE void form_u(int n, int rank) {
    bool inaccurate = false;
    SIMT_LOOP
    for (int c = lane; c < N; c += lanes) {
      if constexpr (finds_j_in_memory) find_column_of_j(c, steps_of(n));
      T x[N];  // of the column of V, in the order of R's columns; then of J
      SIMT_UNROLL
      for (int k = 0; k < N; ++k) x[k] = tile(pivots()[k], c);
      if constexpr (!finds_j_in_memory) find_column_of_j(x, singular_values()[c], steps_of(n));
      R sum = R(0);
      SIMT_UNROLL
      for (int k = 0; k < N; ++k) sum = add_square(x[k], sum);
      R const error = R(12 * n) * power_of_two<R, -53, -24>;
      if (c < rank && !(magnitude(sum - R(1)) <= error)) inaccurate = true;
      R const normalizing = multiply_add(R(-0.5), sum, R(1.5));
      SIMT_UNROLL
      for (int k = 0; k < N; ++k) tile(k, c) = c < n ? normalizing * x[k] : from_real<T>(R(k == c ? 1 : 0));
    }
    SIMT_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) inaccurate = shuffle_xor(inaccurate ? 1 : 0, distance) != 0 || inaccurate;
    sync_warp();
    complete_basis<N, lanes>([&](int i, int k) -> T& { return tile(i, k); }, n, inaccurate ? 0 : rank, rank, n, lane, scratch());
    SIMT_LOOP
    for (int k = lane; k < N; k += lanes) {
      SIMT_LOOP
      for (int l = k / group * group; l < k; ++l) vector(k)[l] = from_real<T>(0);
    }
    sync_warp();
    SIMT_LOOP
    for (int c = lane; c < C.columns; c += lanes) {
      T u[M];
      SIMT_UNROLL
      for (int i = 0; i < M; ++i) {
        u[i] = from_real<T>(R(c >= N && i == c ? 1 : 0));
        if (c < N && i < N) u[i] = tile(i, c);
      }
      SIMT_LOOP
      for (int k = steps_of(n) - 1; k >= 0; --k) {
        T sums[chains];
        SIMT_UNROLL
        for (int e = 0; e < chains; ++e) sums[e] = from_real<T>(0);
        for_elements_from(k, vector(k), [&](int i, T x) { sums[i % chains] = conjugate_multiply_add(x, u[i], sums[i % chains]); });
        T const product = factors()[k] * sum_of(sums);
        for_elements_from(k, vector(k), [&](int i, T x) { u[i] = subtract_product(u[i], x, product); });
      }
      SIMT_UNROLL
      for (int i = 0; i < M; ++i) tile(row_order()[i], c) = u[i] + from_real<T>(0);
    }
    sync_warp();
  }

  /// The columns of R^H that this lane holds, x = 0 or 1, and their singular values' places.
  SIMT_INLINE int column(int x) const { return 2 * pair() + x; }
  SIMT_INLINE int part() const { return lane / pairs; }

 private:
  static constexpr int pairs = N > lanes ? lanes : lanes / 2;  ///< places for two columns each
  static constexpr int levels = log_of(pairs);
  static_assert(2 * pairs >= N);
  static constexpr int parts = lanes / pairs;      ///< lanes that share two columns
  static constexpr int rows = ceil_div(N, parts);  ///< of a lane
  static constexpr int per_chunk = 16 / sizeof(T);

  char* memory_;
  int lane;
  T w[2][rows];  ///< of two columns of R^H
  R square[2];   ///< squared lengths of the columns
  R weight[2];   ///< the columns are w times their roots

  /// Kernels for more columns than lanes are for several sizes.
  static constexpr bool by_size = N > 32;
  /// Steps of QR for n columns; the matrices of a warp may differ.
  SIMT_INLINE static int steps_of(int n) { return by_size ? n : N; }

  SIMT_INLINE int pair() const { return lane % pairs; }
  SIMT_INLINE int row(int r) const { return part() + r * parts; }
  SIMT_INLINE static int first_lane() { return lane_index() & ~(lanes - 1); }
  SIMT_INLINE R* factors() const { return reinterpret_cast<R*>(memory_ + memory.reals); }
  SIMT_INLINE T* diagonal() const { return reinterpret_cast<T*>(memory_ + memory.diagonal); }
  /// Reflector k: the elements from row k on, after zeros; while Jacobi runs after those of R
  SIMT_INLINE T* vector(int k) const { return reinterpret_cast<T*>(memory_ + memory.vectors) + (vectors ? k * memory.vector_line : 0); }

  static constexpr int chains = !is_complex<T> ? 4 : sizeof(T) == 8 ? 2 : 1;  ///< sums that a lane forms side by side
  template <typename X>
  SIMT_INLINE static X sum_of(X const (&x)[chains]) {
    if constexpr (chains == 1)
      return x[0];
    else if constexpr (chains == 2)
      return x[0] + x[1];
    else
      return (x[0] + x[1]) + (x[2] + x[3]);
  }

  static constexpr int group = 8;  ///< rows that are skipped together

  /// Calls use(i, v[i]) with constants i for the rows of the group that has row k, and those below. v is a vector's begin.
  template <typename Use>
  SIMT_INLINE static void for_elements_from(int k, T const* v, Use use) {
    SIMT_UNROLL
    for (int first = 0; first < M; first += group) {
      if (k >= first + group) continue;
      SIMT_UNROLL
      for (int i = first; i < smaller(first + group, M); i += per_chunk) {
        Chunked<T> const x(load_chunk(v + i));
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e)
          if (i + e < M) use(i + e, x.x[e]);
      }
    }
  }

  /// As the next function, but in shared memory: in registers, large complex matrices take long to compile and spill. Rows stay
  /// in the order of R's columns.
  static constexpr bool finds_j_in_memory = is_complex<T> && N > 16;
  SIMT_INLINE void find_column_of_j(int c, int steps) const {
    R const value = singular_values()[c], inverse = value >= svd_least<R> ? reciprocal(value) : R(0);
    bool substitutes = true;
    SIMT_LOOP
    for (int k = 0; k < steps; ++k) {
      T const r = diagonal()[k], mine = tile(pivots()[k], c);
      substitutes = substitutes && modulus(r) > value;
      T sums[chains]{};  // as the next function's
      auto const x = [&](int l) { return tile(pivots()[l], c); };
      T result;
      if (substitutes) {
        SIMT_UNROLL_BY(2)
        for (int l = 0; l < k; l += 2) {
          sums[0] = conjugate_multiply_add(vector(k)[l], x(l), sums[0]);
          if (l + 1 < k) sums[chains - 1] = conjugate_multiply_add(vector(k)[l + 1], x(l + 1), sums[chains - 1]);
        }
        result = reciprocal(square_of(r)) * (r * (value * mine - sum_of(sums)));
      } else {
        SIMT_UNROLL_BY(2)
        for (int l = k / 2 * 2; l < N; l += 2) {
          if (l > k) sums[0] = multiply_add(vector(l)[k], x(l), sums[0]);
          if (l + 1 > k && l + 1 < N) sums[chains - 1] = multiply_add(vector(l + 1)[k], x(l + 1), sums[chains - 1]);
        }
        result = inverse * multiply_add(r, mine, sum_of(sums));
      }
      tile(pivots()[k], c) = result;
    }
  }
  /// Replaces a column of V by that of J.
  SIMT_INLINE void find_column_of_j(T (&x)[N], R value, int steps) const {
    R const inverse = value >= svd_least<R> ? reciprocal(value) : R(0);
    bool substitutes = true;
    SIMT_LOOP
    for (int k = 0; k < steps; ++k) {
      T const* const above = vector(k);  // the diagonal element
      T const r = diagonal()[k];
      substitutes = substitutes && modulus(r) > value;
      T before[chains], after[chains], mine = from_real<T>(0);
      SIMT_UNROLL
      for (int e = 0; e < chains; ++e) before[e] = after[e] = from_real<T>(0);
      SIMT_UNROLL
      for (int first = 0; first < N; first += group) {
        int const last = smaller(first + group, N);
        if (k >= last) {
          SIMT_UNROLL
          for (int l = first; l < last; ++l) before[l % chains] = conjugate_multiply_add(above[l], x[l], before[l % chains]);
        } else if (k < first) {
          SIMT_UNROLL
          for (int l = first; l < last; ++l) after[l % chains] = multiply_add(vector(l)[k], x[l], after[l % chains]);
        } else {
          SIMT_UNROLL
          for (int l = first; l < last; ++l) {
            before[l % chains] = conjugate_multiply_add(l < k ? above[l] : from_real<T>(0), x[l], before[l % chains]);
            after[l % chains] = multiply_add(l > k ? vector(l)[k] : from_real<T>(0), x[l], after[l % chains]);
            mine = choose(l == k ? ~0u : 0u, x[l], mine);
          }
        }
      }
      T const by_substitution = reciprocal(square_of(r)) * (r * (value * mine - sum_of(before)));
      T const by_product = inverse * multiply_add(r, mine, sum_of(after));
      mine = substitutes ? by_substitution : by_product;
      SIMT_UNROLL
      for (int first = 0; first < N; first += group)
        if (k >= first && k < first + group) {
          SIMT_UNROLL
          for (int l = first; l < smaller(first + group, N); ++l) x[l] = choose(l == k ? ~0u : 0u, mine, x[l]);
        }
    }
  }

  template <typename X>
  SIMT_INLINE static X of_parts(X sum) {
    return sum + shuffle_xor(sum, pairs);
  }
  /// Sums over a column, in an order that does not depend on the number of lanes: of rows 0, 4, ..., of rows 2, 6, ..., and so on.
  template <typename X, typename Add>
  SIMT_INLINE static X sum_of_rows(Add add) {
    constexpr int sums = 4 / parts;
    X sum[sums]{};
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) sum[r % sums] = add(r, sum[r % sums]);
    if constexpr (parts == 1)
      return (sum[0] + sum[2]) + (sum[1] + sum[3]);
    else
      return of_parts(sum[0] + sum[1]);
  }
  SIMT_INLINE static R squares(T const (&x)[rows]) {
    return sum_of_rows<R>([&](int r, R sum) { return add_square(x[r], sum); });
  }

  SIMT_INLINE void rotate(bool wanted, SweepState& state) {
    T const product = sum_of_rows<T>([&](int r, T sum) { return conjugate_multiply_add(w[0][r], w[1][r], sum); });
    ColumnRotation<T> const rotation(square[0], square[1], product, weight[0], weight[1]);
    bool const rotates = rotation.rotates && wanted;
    if (rotates) state.add(rotation);
    rotation.update_if(rotates, square[0], square[1], weight[0], weight[1]);
    rotation.apply_if(rotates, w[0], w[1]);
  }

  // Every sweep goes through levels. At each, the columns form groups, by their numbers modulo 2^level; the even ones of a group stay and
  // the odd ones turn, until each even one has met each odd one. Then the even ones make a group of the next level, and the odd ones
  // another.

  SIMT_INLINE static int rounds(int n, int level) { return (n + (2 << level) - 1) >> (level + 1); }
  /// Moves the second columns one lane on within each group, of `count` lanes.
  SIMT_INLINE void turn(int level, int count) {
    int const place = pair() >> level, next = place + 1 == count ? 0 : place + 1;
    int const source = lane_index() + (place < count ? (next - place) * (1 << level) : 0);
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) w[1][r] = shuffle(w[1][r], source);
    square[1] = shuffle(square[1], source);
    weight[1] = shuffle(weight[1], source);
  }
  /// Splits the groups of a level into those of the next.
  SIMT_INLINE void exchange(int level) {
    bool const upper = (pair() >> level & 1) != 0;
    auto const exchange_one = [&](auto& first, auto& second) {
      auto const received = shuffle_xor(upper ? first : second, 1 << level);
      first = upper ? received : first;
      second = upper ? second : received;
    };
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) exchange_one(w[0][r], w[1][r]);
    exchange_one(square[0], square[1]);
    exchange_one(weight[0], weight[1]);
  }
  /// After the last level lane p has columns p and p + pairs: moves them to where they were before the first.
  SIMT_INLINE void return_home() {
    if constexpr (pairs > 1) {
      bool const odd = (pair() & 1) != 0, upper = pair() >= pairs / 2;
      int const even_source = 2 * pair() - (upper ? pairs : 0) + lane_index() - pair();
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) {
        T const one = shuffle(odd ? w[1][r] : w[0][r], even_source + (upper ? 1 : 0));
        T const other = shuffle(odd ? w[0][r] : w[1][r], even_source + (upper ? 0 : 1));
        w[0][r] = upper ? other : one;
        w[1][r] = upper ? one : other;
      }
    }
  }
};

}  // namespace myriad::simt
