#pragma once
/// The singular value decomposition of a matrix of up to 4 columns in the registers of one lane.

#include "svd/svd_jacobi.cuh"

namespace myriad::simt {

/// One-sided Jacobi on the columns of A; V is accumulated, U is their directions.
template <typename T, int M, int N, bool vectors>
struct SvdOfLane {
  using R = Real<T>;
  T a[N][M];                  ///< columns
  T v[vectors ? N : 1][N]{};  ///< columns
  R s[N];                     ///< lengths of the columns
  int place[N];               ///< in descending order

  /// Returns whether it converged.
  SIMT_INLINE bool iterate() {
    SIMT_UNROLL
    for (int j = 0; vectors && j < N; ++j) v[j][j] = from_real<T>(1);
    bool done = N == 1;
    SIMT_LOOP
    for (int sweep = 0; sweep < most_svd_sweeps && !done; ++sweep) {
      SweepState state;
      R lengths[N], weights[N];  // squared; a column is a times the root of its weight
      SIMT_UNROLL
      for (int x = 0; x < N; ++x) {
        R const sum = squares(a[x]);
        lengths[x] = sum >= svd_least_square<R> ? sum : R(0);
        weights[x] = R(1);
      }
      SIMT_UNROLL
      for (int x = 0; x < N; ++x) {
        SIMT_UNROLL
        for (int y = x + 1; y < N; ++y)
          rotate(a[x], a[y], v[vectors ? x : 0], v[vectors ? y : 0], lengths[x], lengths[y], weights[x], weights[y], state);
      }
      SIMT_UNROLL
      for (int x = 0; x < N; ++x) {
        R const scale = square_root(weights[x]);
        SIMT_UNROLL
        for (int i = 0; i < M; ++i) a[x][i] = scale * a[x][i];
        SIMT_UNROLL
        for (int i = 0; vectors && i < N; ++i) v[vectors ? x : 0][i] = scale * v[vectors ? x : 0][i];
      }
      done = state.template is_last<R>(N);
    }
    SIMT_UNROLL
    for (int j = 0; j < N; ++j) s[j] = length(a[j]);
    SIMT_UNROLL
    for (int j = 0; j < N; ++j) {
      place[j] = 0;
      SIMT_UNROLL
      for (int k = 0; k < N; ++k) place[j] += s[k] > s[j] || (s[k] == s[j] && k < j) ? 1 : 0;
    }
    return done;
  }

 private:
  SIMT_INLINE static R squares(T const (&x)[M]) {
    R sum = R(0);
    SIMT_UNROLL
    for (int i = 0; i < M; ++i) sum = add_square(x[i], sum);
    return sum;
  }
  SIMT_INLINE static R length(T const (&x)[M]) {
    R const sum = squares(x);
    if (sum >= svd_least_square<R>) return square_root(sum);
    constexpr R up = power_of_two<R, 600, 100>;
    T scaled[M];
    SIMT_UNROLL
    for (int i = 0; i < M; ++i) scaled[i] = up * x[i];
    return (R(1) / up) * square_root(squares(scaled));
  }
  SIMT_INLINE static void rotate(T (&x)[M], T (&y)[M], T (&x_of_v)[N], T (&y_of_v)[N], R& alpha, R& beta, R& weight_x, R& weight_y,
                                 SweepState& state) {
    T product = from_real<T>(0);
    SIMT_UNROLL
    for (int i = 0; i < M; ++i) product = conjugate_multiply_add(x[i], y[i], product);
    ColumnRotation<T> const rotation(alpha, beta, product, weight_x, weight_y);
    if (!rotation.rotates) return;
    state.add(rotation);
    rotation.update_if(true, alpha, beta, weight_x, weight_y);
    rotation.apply_if(true, x, y);
    if constexpr (vectors) rotation.apply_if(true, x_of_v, y_of_v);
  }
};

}  // namespace myriad::simt
