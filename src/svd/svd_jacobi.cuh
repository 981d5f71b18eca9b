#pragma once
/// One-sided Jacobi of small matrices: the rotation of two columns, and what else kernels with one lane and with several per matrix share.
///
/// Matrices are scaled by a power of two so that their largest part is near 2^200 (single: 2^20): squares do not overflow, and those of
/// columns 2^-680 (single: 2^-71) times as long do not underflow. Shorter columns count as zero for the rotations and the vectors.

#include "simt/powers.hpp"

namespace myriad::simt {

/// The exponent of the largest part of a scaled matrix.
template <typename R>
inline constexpr int svd_exponent = sizeof(R) == 4 ? 20 : 200;
/// The least length of a column that is not taken as zero, and its square.
template <typename R>
inline constexpr R svd_least = power_of_two<R, -480, -51>;
template <typename R>
inline constexpr R svd_least_square = power_of_two<R, -960, -102>;
/// LAPACK's limit of Jacobi sweeps. Few matrices need more than ten.
inline constexpr int most_svd_sweeps = 30;

SIMT_INLINE bool svd_any(bool condition) { return ballot(condition) != 0; }

/// |x|^2
template <typename T>
SIMT_INLINE Real<T> square_of(T x) {
  if constexpr (is_complex<T>)
    return multiply_add(x.re, x.re, x.im * x.im);
  else
    return x * x;
}
/// The square root of x >= 0, which is zero or far from the ends of the range, to half a unit in the last place, or hardly more.
template <typename R>
SIMT_INLINE R square_root(R x) {
  if (!(x > R(0))) return R(0);
  R const inverse = reciprocal_square_root(x), root = x * inverse;
  return multiply_add(R(0.5) * inverse, multiply_add(-root, root, x), root);
}

/// The power of two that scales a matrix, in two factors, and back.
template <typename R>
struct SvdScale {
  int exponent = 0;  ///< the matrix is multiplied by 2^exponent

  SvdScale() = default;
  /// `largest`: the largest part of the matrix
  SIMT_INLINE explicit SvdScale(R largest) {
    int of_largest = 0;
    if (normalized(largest, of_largest) > R(0)) exponent = svd_exponent<R> - of_largest;
  }
  template <typename T>
  SIMT_INLINE T scaled(T x) const {
    constexpr int most = sizeof(R) == 4 ? 100 : 900;
    int const first = smaller(exponent, most);
    return power<R>(exponent - first) * (power<R>(first) * x);
  }
  SIMT_INLINE R back(R x) const {
    int by = -exponent;
    x = normalized(x, by);
    return times_power(x, by);
  }
};

/// The rotation that makes columns x and y orthogonal: x' = c (x - conj(t) y), y' = c (y + t x).
///
/// Columns may be kept as X and Y with x = sqrt(v) X and y = sqrt(w) Y, by their weights v and w: X' = X - conj(from_y) Y and Y' = Y +
/// from_x X take half of the operations, with weights divided by `growth` = 1 / c^2.
template <typename T>
struct ColumnRotation {
  using R = Real<T>;
  bool rotates;  ///< whether the columns are not orthogonal to working precision
  T from_x, from_y;
  R growth;
  R lost;            ///< what |x|^2 loses and |y|^2 gains
  int cosine, turn;  ///< 2^16 times the binary logarithms of the squares of the cosine between x and y, and of t as if |x| were |y|

  /// `alpha` = |x|^2 and `beta` = |y|^2 are zero or at least svd_least_square; `product` = X^H Y. Columns that differ much in length are
  /// scaled, exactly, so that nothing underflows.
  SIMT_INLINE ColumnRotation(R alpha, R beta, T product, R weight_x, R weight_y) {
    constexpr int negligible = (sizeof(R) == 4 ? -44 : -102) * (1 << 16);  // (4 u)^2
    bool const usual = is_usual(alpha) && is_usual(beta);
    int const of_x = log_of(alpha) >> 17, of_y = log_of(beta) >> 17, most = larger(of_x, of_y);  // of the square roots
    from_x = weight_x * product;
    from_y = weight_y * product;
    bool const zero = alpha == R(0) || beta == R(0);
    if (!usual) {  // to [1, 4)
      R const down_x = power<R>(-of_x), down_y = power<R>(-of_y);
      alpha = down_x * (down_x * alpha);
      beta = down_y * (down_y * beta);
      from_x = down_y * (down_x * from_x);
      from_y = down_y * (down_x * from_y);
    }
    R square = product_of(from_x, from_y);
    int log_alpha = log_of(alpha), log_beta = log_of(beta);
    cosine = log_of(square) - log_alpha - log_beta;
    rotates = !zero && cosine > negligible;
    if (!usual) {
      R const small_x = power<R>(of_x - most), small_y = power<R>(of_y - most);  // one of them is 1
      alpha = small_x * (small_x * alpha);
      beta = small_y * (small_y * beta);
      from_x = small_x * (small_y * from_x);
      from_y = small_x * (small_y * from_y);
      square = product_of(from_x, from_y);
      log_alpha = log_of(alpha);
      log_beta = log_of(beta);
    }
    R const difference = beta - alpha;
    R const squares = multiply_add(difference, difference, R(4) * square);
    R const root = squares * reciprocal_square_root(squares);
    R const q = copy_sign(R(2) * reciprocal(magnitude(difference) + root), difference);
    turn = cosine + 2 * (log_of(magnitude(q)) + larger(log_alpha, log_beta));
    lost = q * square;
    growth = multiply_add(q, lost, R(1));
    from_x = q * from_x;
    from_y = q * from_y;
    if (!usual) lost = power<R>(most) * (power<R>(most) * lost);
  }

  /// Updates squared lengths and weights. Where almost all of a length is lost to rounding, it stays positive until it is computed anew.
  SIMT_INLINE void update_if(bool wanted, R& alpha, R& beta, R& weight_x, R& weight_y) const {
    R const change = wanted ? lost : R(0), shrinks = wanted ? reciprocal(growth) : R(1);
    alpha = magnitude(alpha - change);
    beta = magnitude(beta + change);
    weight_x = shrinks * weight_x;
    weight_y = shrinks * weight_y;
  }
  /// Without a branch, so that columns need not be copied. Where no rotation is wanted, -0 may become 0.
  template <int rows>
  SIMT_INLINE void apply_if(bool wanted, T (&x)[rows], T (&y)[rows]) const {
    T const by_x = wanted ? from_x : from_real<T>(0), by_y = wanted ? conjugate(from_y) : from_real<T>(0);
    SIMT_UNROLL
    for (int i = 0; i < rows; ++i) {
      T const former = x[i];
      x[i] = subtract_product(former, by_y, y[i]);
      y[i] = multiply_add(by_x, former, y[i]);
    }
  }

 private:
  SIMT_INLINE static bool is_usual(R x) {
    constexpr unsigned least = leading_bits_of_power<R>(sizeof(R) == 4 ? -25 : -300);
    constexpr unsigned most = leading_bits_of_power<R>(sizeof(R) == 4 ? 60 : 500);
    unsigned const bits = leading_bits(bits_of(x));
    return bits - least < most - least || bits == 0;
  }
  /// 2^16 log2(x) to a tenth, but a finite number for zero
  SIMT_INLINE static int log_of(R x) {
    return static_cast<int>(leading_bits(bits_of(x)) >> (leading_fraction<R> - 16)) - exponent_bias<R> * (1 << 16);
  }
  SIMT_INLINE static R product_of(T x, T y) {
    if constexpr (is_complex<T>)
      return multiply_add(x.re, y.re, x.im * y.im);
    else
      return x * y;
  }
};

/// The largest cosine and turn of a sweep. When their product is near u, a rotation that came later in the sweep spoilt no earlier one,
/// and no further sweep is needed.
struct SweepState {
  static constexpr int none = -2000 * (1 << 16);
  int cosine = none, turn = none;

  template <typename T>
  SIMT_INLINE void add(ColumnRotation<T> const& rotation) {
    cosine = larger(cosine, rotation.cosine);
    turn = larger(turn, rotation.turn);
  }
  /// For n columns.
  template <typename R>
  SIMT_INLINE bool is_last(int n) const {
    int const factor = n > 16 ? 2 : n > 8 ? 1 : n > 4 ? 0 : -1;  // n / 8 u
    int const limit = ((sizeof(R) == 4 ? -48 : -106) + 2 * factor) * (1 << 16);
    return cosine + turn <= limit;
  }
};

/// Makes columns first to last - 1 of a matrix with `rows` rows orthonormal, and orthogonal to those before, which are orthonormal; those
/// from `rank` on are made of unit vectors. Lanes of a warp share each matrix; all lanes call it. `bound`: most columns of any matrix;
/// `scratch`: as many elements.
template <int bound, int lanes, typename T, typename At>
SIMT_INLINE void complete_basis(At const& at, int rows, int first, int rank, int last, int lane, T* scratch) {
  using R = Real<T>;
  if (!svd_any(first < last)) return;
  SIMT_LOOP
  for (int c = 0; c < bound; ++c) {
    bool const mine = c >= first && c < last;
    if (!svd_any(mine)) continue;
    int const m = mine ? rows : 0, columns = mine ? c : 0;
    bool const is_new = mine && c >= rank;
    if (svd_any(is_new)) {  // the unit vector that is farthest from the columns so far
      SIMT_LOOP
      for (int i = lane; i < m && is_new; i += lanes) {
        R rest = R(1);
        SIMT_LOOP
        for (int l = 0; l < columns; ++l) rest -= square_of(at(i, l));
        at(i, c) = from_real<T>(rest);
      }
      sync_warp();
      int farthest = 0;
      SIMT_LOOP
      for (int i = 1; i < m && is_new; ++i)
        if (real_part(at(i, c)) > real_part(at(farthest, c))) farthest = i;
      sync_warp();
      SIMT_LOOP
      for (int i = lane; i < m && is_new; i += lanes) at(i, c) = from_real<T>(R(i == farthest ? 1 : 0));
      sync_warp();
    }
    SIMT_LOOP
    for (int turn = 0; turn < 2; ++turn) {
      SIMT_LOOP
      for (int l = lane; l < columns; l += lanes) {
        T sum = from_real<T>(0);
        SIMT_LOOP
        for (int i = 0; i < m; ++i) sum = conjugate_multiply_add(at(i, l), at(i, c), sum);
        scratch[l] = sum;
      }
      sync_warp();
      SIMT_LOOP
      for (int i = lane; i < m; i += lanes) {
        T x = at(i, c);
        SIMT_LOOP
        for (int l = 0; l < columns; ++l) x = subtract_product(x, at(i, l), scratch[l]);
        at(i, c) = x;
      }
      sync_warp();
    }
    R square = R(0);
    SIMT_LOOP
    for (int i = 0; i < m; ++i) square = add_square(at(i, c), square);
    sync_warp();
    R const inverse = reciprocal_square_root(square);
    SIMT_LOOP
    for (int i = lane; i < m; i += lanes) at(i, c) = inverse * at(i, c);
    sync_warp();
  }
}

}  // namespace myriad::simt
