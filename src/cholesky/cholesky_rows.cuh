#pragma once
/// Cholesky, its solves and its inverse of one matrix: in the registers of one lane, or by rows in those of several lanes of a warp.
///
/// Only elements (i, j) with i >= j and the real parts of the diagonal are used; registers for others hold garbage that goes nowhere.
/// Steps update with (a_ik / a_kk) conj(a_jk), so that the next step waits for a reciprocal and one barrier, not for a root; roots are
/// taken beside that, for what is written. Both forms do the same arithmetic in the same order.
///
/// A step that finds no positive pivot is noted in `info`, and what follows in that matrix is not to be used. An infinite pivot is taken as
/// one, as in LAPACK. Quotients a_ik / a_kk are to be representable, which only pivots below the least normal number can violate.

#include "simt/divisor.hpp"

namespace myriad::simt {

/// The pivot x as a step needs it: its root, and divisions by the pivot and by the root.
template <typename R>
struct CholeskyPivot {
  RealDivisor<R> divisor;
  R root, inverse_of_root;

  SIMT_INLINE explicit CholeskyPivot(R x) : divisor(x) {
    R up = 1, down = 1;  // roots of the divisor's scale and its reciprocal
    if (!divisor.usual) {
      bool const small = x < R(1);
      bool const infinite = divisor.scale == R(0);
      up = small ? power_of_two<R, 500, 50> : infinite ? R(0) : power_of_two<R, -50, -25>;
      down = small ? power_of_two<R, -500, -50> : infinite ? R(infinity()) : power_of_two<R, 50, 25>;
    }
    take_root();
    root = down * root;
    inverse_of_root = up * inverse_of_root;
  }
  /// The same of an x whose reciprocal is usual: without scales.
  SIMT_INLINE static CholeskyPivot usual(R x) {
    CholeskyPivot out;
    out.divisor = RealDivisor<R>::of_usual(x);
    out.take_root();
    return out;
  }

 private:
  CholeskyPivot() = default;
  SIMT_INLINE void take_root() {
    inverse_of_root = reciprocal_square_root(divisor.scaled);
    R const close = divisor.scaled * inverse_of_root;
    root = multiply_add(multiply_add(-close, close, divisor.scaled), R(0.5) * inverse_of_root, close);
  }
};

/// All N rows of a matrix, and nrhs right-hand sides, in one lane.
template <typename T, int N, int nrhs>
struct CholeskyInOneLane {
  static constexpr int held = N;
  T a[N][N];
  T b[N][larger(nrhs, 1)];
  int info = 0;

  SIMT_INLINE CholeskyInOneLane(int, T*) {}
  static constexpr bool exists(int) { return true; }
  SIMT_INLINE int row(int r) const { return r; }
  SIMT_INLINE T& rhs(int r, int c) { return b[r][c]; }

  /// Takes the lower triangle from `at(i, j)`.
  template <typename At>
  SIMT_INLINE void take(At at) {
    SIMT_UNROLL
    for (int i = 0; i < N; ++i) {
      SIMT_UNROLL
      for (int j = 0; j <= i; ++j) a[i][j] = at(i, j);
    }
  }

  /// A = L L^H and, of the right-hand sides, D^(1/2) L^-1 B, D being the squares of L's diagonal. Elements of L go to `finish(r, k,
  /// value)`.
  template <typename Finish>
  SIMT_INLINE void factor(Finish finish) {
    SIMT_UNROLL
    for (int k = 0; k < N; ++k) {
      Real<T> const pivot = real_part(a[k][k]);
      if (!(pivot > 0) && info == 0) info = k + 1;
      CholeskyPivot<Real<T>> const by(pivot);
      SIMT_UNROLL
      for (int i = k + 1; i < N; ++i) {
        T const minus_l = -by.divisor.divide(a[i][k]);
        SIMT_UNROLL
        for (int j = k + 1; j <= i; ++j) a[i][j] = multiply_add(minus_l, conjugate(a[j][k]), a[i][j]);
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) b[i][c] = multiply_add(minus_l, b[k][c], b[i][c]);
      }
      a[k][k] = from_real<T>(by.root);
      SIMT_UNROLL
      for (int i = k; i < N; ++i) {
        if (i > k) a[i][k] = by.inverse_of_root * a[i][k];
        finish(i, k, a[i][k]);
      }
    }
  }

  /// B becomes L^-1 B, or with `adjoint` L^-H B.
  template <bool adjoint, typename At>
  SIMT_INLINE void substitute(At) {
    SIMT_UNROLL
    for (int step = 0; step < N; ++step) {
      int const k = adjoint ? N - 1 - step : step;
      divide_row(k);
      SIMT_UNROLL
      for (int i = 0; i < N; ++i) {
        if (adjoint ? i >= k : i <= k) continue;
        T const l = adjoint ? conjugate(a[k][i]) : a[i][k];
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) b[i][c] = subtract_product(b[i][c], l, b[k][c]);
      }
    }
  }
  /// B becomes L^-H D^(-1/2) B.
  template <typename At>
  SIMT_INLINE void finish_solve(At at) {
    SIMT_UNROLL
    for (int k = 0; k < N; ++k) divide_row(k);
    substitute<true>(at);
  }

  /// The lower triangle of L^-H L^-1, in place in `at(i, j)`.
  template <typename At>
  SIMT_INLINE void invert(At at) {
    take(at);
    SIMT_UNROLL
    for (int k = 0; k < N; ++k) {
      RealDivisor<Real<T>> const by(real_part(a[k][k]));
      if (real_part(a[k][k]) == Real<T>(0) && info == 0) info = k + 1;
      SIMT_UNROLL
      for (int j = 0; j < k; ++j) {
        T sum = from_real<T>(0);
        SIMT_UNROLL
        for (int p = j; p < k; ++p) sum = subtract_product(sum, a[k][p], a[p][j]);
        a[k][j] = by.divide(sum);
      }
      a[k][k] = by.divide(from_real<T>(1));
    }
    if (info) return;
    SIMT_UNROLL
    for (int i = 0; i < N; ++i) {
      SIMT_UNROLL
      for (int j = 0; j <= i; ++j) {
        T sum = from_real<T>(0);
        SIMT_UNROLL
        for (int k = N - 1; k >= i; --k) sum = multiply_add(conjugate(a[k][i]), a[k][j], sum);
        at(i, j) = i == j ? from_real<T>(real_part(sum)) : sum;
      }
    }
  }

 private:
  SIMT_INLINE void divide_row(int k) {
    RealDivisor<Real<T>> const by(real_part(a[k][k]));
    SIMT_UNROLL
    for (int c = 0; c < nrhs; ++c) b[k][c] = by.divide(b[k][c]);
  }
};

/// A matrix of which lane l of `lanes` holds rows l, l + lanes, ..., each up to the diagonal. The column at hand goes to all lanes through
/// shared memory.
///
/// Steps are a loop, so that code stays small enough for the instruction cache; for that the columns rotate: the column at hand is always
/// the first. `block` steps at a time work on ever fewer columns and rows. See GaussJordanAcrossLanes.
template <typename T, int N, int nrhs, int lanes>
struct CholeskyAcrossLanes {
  static constexpr int held = ceil_div(N, lanes);
  static constexpr int block = N <= 24 ? 4 : 8;
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(T));
  static constexpr int buffered = ceil_div(N, per_chunk) * per_chunk;  // of a column in the buffer; right-hand sides follow
  static constexpr int buffer_column = buffered + ceil_div(nrhs, per_chunk) * per_chunk;

  T a[held][N];
  T b[held][larger(nrhs, 1)];
  int lane;
  T* buffer;  ///< of two columns, see CholeskyTinyMemory
  int info = 0;

  SIMT_INLINE CholeskyAcrossLanes(int lane_of_matrix, T* buffer_of_matrix) : lane(lane_of_matrix), buffer(buffer_of_matrix) {}
  SIMT_INLINE bool exists(int r) const { return N % lanes == 0 || row(r) < N; }
  SIMT_INLINE int row(int r) const { return lane + r * lanes; }
  SIMT_INLINE T& rhs(int r, int c) { return b[r][c]; }

  template <typename At>
  SIMT_INLINE void take(At at) {
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int j = 0; j < columns(r); ++j) a[r][j] = exists(r) ? at(row(r), j) : from_real<T>(0);
    }
  }

  template <typename Finish>
  SIMT_INLINE void factor(Finish finish) {
    factor_blocks<0>(finish);
  }

  /// Takes L from `at(i, j)`, in shared memory.
  template <bool adjoint, typename At>
  SIMT_INLINE void substitute(At at) {
    RealDivisor<Real<T>> divisor[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) divisor[r] = diagonal(at, r);
    substitute<adjoint>(divisor, at);
  }
  template <typename At>
  SIMT_INLINE void finish_solve(At at) {
    sync_warp();  // lanes read what others wrote to shared memory
    RealDivisor<Real<T>> divisor[held];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      divisor[r] = diagonal(at, r);
      SIMT_UNROLL
      for (int c = 0; c < nrhs; ++c) b[r][c] = divisor[r].divide(b[r][c]);
    }
    substitute<true>(divisor, at);
  }

  /// Here a lane has columns of the inverse W of L, as many as rows elsewhere. Rows of W take the place of those of L, then rows of W^H W
  /// that of W. A matrix with a zero on L's diagonal is left alone.
  template <typename At>
  SIMT_INLINE void invert(At at) {
    SIMT_LOOP
    for (int k = N - 1; k >= 0; --k)
      if (real_part(at(k, k)) == Real<T>(0)) info = k + 1;
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int p = 0; p < N; ++p) a[r][p] = from_real<T>(p == lane ? 1 : 0);  // row r * lanes + p
    }
    Real<T> next = real_part(at(0, 0));
    sync_warp();
    invert_blocks<0>(at, next);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int p = 0; p < N; ++p) a[r][p] = from_real<T>(0);
    }
    multiply_blocks<N>(at);
  }

 private:
  /// Columns of the matrix that the r-th rows of some lanes reach.
  static constexpr int columns(int r) { return smaller(N, (r + 1) * lanes); }
  /// The first row, counted in a lane, that has not been finished in all lanes before step k.
  static constexpr int first_held(int k) { return k / lanes; }
  SIMT_INLINE T* column_buffer(int step) const { return buffer + step % 2 * buffer_column; }

  template <typename At>
  SIMT_INLINE RealDivisor<Real<T>> diagonal(At at, int r) const {
    return RealDivisor<Real<T>>(exists(r) ? real_part(at(row(r), row(r))) : Real<T>(1));
  }

  template <int first, typename Finish>
  SIMT_INLINE void factor_blocks(Finish finish) {
    if constexpr (first < N) {
      constexpr int last = smaller(first + block, N);  // of the block, exclusive
      SIMT_LOOP
      for (int k = first; k < last; ++k) {
        T* const u = column_buffer(k);
        SIMT_UNROLL
        for (int r = first_held(first); r < held; ++r) {
          if (!exists(r)) continue;
          if (r * lanes >= last || row(r) >= k) u[row(r) - k] = a[r][0];
          if (r * lanes >= last || row(r) != k) continue;
          SIMT_UNROLL
          for (int c = 0; c < nrhs; ++c) u[buffered + c] = b[r][c];
        }
        sync_warp();
        Real<T> const pivot = real_part(u[0]);
        if (!(pivot > 0) && info == 0) info = k + 1;
        T minus_l[held], l[held];
        Real<T> root;
        auto const divide = [&](CholeskyPivot<Real<T>> const& by) {
          root = by.root;
          SIMT_UNROLL
          for (int r = first_held(first); r < held; ++r) {
            minus_l[r] = -by.divisor.divide(a[r][0]);
            l[r] = by.inverse_of_root * a[r][0];
          }
        };
        // The path of an unusual pivot is skipped as a whole, where products with a scale of one would be in each step.
        if (has_usual_reciprocal(magnitude(pivot)))
          divide(CholeskyPivot<Real<T>>::usual(pivot));
        else
          divide(CholeskyPivot<Real<T>>(pivot));
        SIMT_UNROLL
        for (int r = first_held(first); r < held; ++r) {
          bool const all_below = r * lanes >= last;
          minus_l[r] = all_below || row(r) > k ? minus_l[r] : from_real<T>(0);
          SIMT_UNROLL
          for (int c = 0; c < nrhs; ++c) b[r][c] = multiply_add(minus_l[r], u[buffered + c], b[r][c]);
          T const finished = all_below || row(r) != k ? l[r] : from_real<T>(root);
          if (exists(r) && (all_below || row(r) >= k)) finish(r, k, finished);
        }
        rotate<first>(u, minus_l);
      }
      factor_blocks<first + block>(finish);
    }
  }

  /// Moves columns one place forward and subtracts l times those of conj(u) from them, u being the column at hand of all rows.
  template <int first>
  SIMT_INLINE void rotate(T const* u, T const (&minus_l)[held]) {
    SIMT_UNROLL
    for (int c = 0; c < ceil_div(N - first, per_chunk); ++c) {
      Chunked<T> const part(load_chunk(u + c * per_chunk));
      SIMT_UNROLL
      for (int i = 0; i < per_chunk; ++i) {
        int const j = c * per_chunk + i;
        SIMT_UNROLL
        for (int r = first_held(first); r < held; ++r)
          if (j > 0 && j < columns(r) - first) a[r][j - 1] = multiply_add(minus_l[r], conjugate(part.x[i]), a[r][j]);
      }
    }
  }

  template <bool adjoint, typename At>
  SIMT_INLINE void substitute(RealDivisor<Real<T>> const (&divisor)[held], At at) {
    sync_warp();  // buffers are free
    SIMT_LOOP
    for (int step = 0; step < N; ++step) {
      int const k = adjoint ? N - 1 - step : step;
      T* const x = column_buffer(step);
      T l[held];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        l[r] = !exists(r) ? from_real<T>(0) : adjoint ? conjugate(at(k, row(r))) : at(row(r), k);
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c) {
          T const solution = divisor[r].divide(b[r][c]);
          if (row(r) == k) x[c] = b[r][c] = solution;
        }
      }
      sync_warp();
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < nrhs; ++c)
          if (adjoint ? row(r) < k : row(r) > k) b[r][c] = subtract_product(b[r][c], l[r], x[c]);
      }
    }
  }

  /// L^-1 by forward substitution: in step k the first elements are row k of the inverse.
  template <int first, typename At>
  SIMT_INLINE void invert_blocks(At at, Real<T> next) {
    if constexpr (first < N) {
      constexpr int last = smaller(first + smaller(block, lanes), N);  // so that no columns begin within a block
      SIMT_LOOP
      for (int k = first; k < last; ++k) {
        RealDivisor<Real<T>> const by(next);
        T w[held];
        SIMT_UNROLL
        for (int r = 0; r <= first_held(first); ++r) {
          w[r] = by.divide(a[r][0]);
          if (row(r) <= k && info == 0) at(k, row(r)) = w[r];
        }
        SIMT_UNROLL
        for (int p = 1; p < N - first; ++p) {
          T const l = k + p < N ? at(k + p, k) : from_real<T>(0);
          SIMT_UNROLL
          for (int r = 0; r <= first_held(first); ++r) a[r][p - 1] = subtract_product(a[r][p], l, w[r]);
        }
        if (k + 1 < N) next = real_part(at(k + 1, k + 1));
        sync_warp();
      }
      invert_blocks<last>(at, next);
    }
  }

  /// W^H W, row by row from the last one: in step k the first elements are row k of the product, the next ones row k - 1.
  template <int end, typename At>
  SIMT_INLINE void multiply_blocks(At at) {
    if constexpr (end > 0) {
      constexpr int begin = (end - 1) / smaller(block, lanes) * smaller(block, lanes);
      SIMT_LOOP
      for (int k = end - 1; k >= begin; --k) {
        T w[held], product[held];
        T const diagonal = conjugate(at(k, k));
        SIMT_UNROLL
        for (int r = 0; r <= first_held(begin); ++r) {
          w[r] = row(r) <= k ? at(k, row(r)) : from_real<T>(0);
          product[r] = multiply_add(diagonal, w[r], a[r][0]);
        }
        SIMT_UNROLL
        for (int p = 1; p < end; ++p) {
          T const other = k >= p ? conjugate(at(k, k - p)) : from_real<T>(0);
          SIMT_UNROLL
          for (int r = 0; r <= first_held(begin); ++r)
            if (p < end - r * lanes) a[r][p - 1] = multiply_add(other, w[r], a[r][p]);
        }
        sync_warp();  // all lanes have read row k
        SIMT_UNROLL
        for (int r = 0; r <= first_held(begin); ++r)
          if (row(r) <= k && info == 0) at(k, row(r)) = row(r) == k ? from_real<T>(real_part(product[r])) : product[r];
      }
      multiply_blocks<begin>(at);
    }
  }
};

}  // namespace myriad::simt
