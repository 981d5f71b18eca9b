#pragma once
/// A Householder reflector, from the column that it eliminates.

#include "simt/types.hpp"

namespace myriad::simt {

/// LAPACK's larfg: H with H^H x = beta e1, beta real, H = I - tau v v^H with v(0) = 1.
template <typename T>
struct Reflector {
  using R = Real<T>;
  R beta;
  R reciprocal_of_beta;
  T difference;  ///< alpha - beta: v is x divided by it
  T v_scale;     ///< 1 / difference
  bool usual;    ///< whether the sum of squares did not overflow or underflow, and is not zero

  static constexpr int identity = -1;                                         ///< value of `tail` for H = I
  static constexpr unsigned most = sizeof(R) == 4 ? 0x67800000 : 0x4c700000;  ///< 2^80, 2^200

  /// alpha: x(0); tail: the sum of squares of the rest of x.
  SIMT_INLINE Reflector(T alpha, R tail) {
    constexpr unsigned least = sizeof(R) == 4 ? 0x17800000 : 0x33700000;  // 2^-80, 2^-200
    bool const none = tail == R(identity);
    R const re = real_part(alpha);
    R squares = multiply_add(re, re, tail);
    bool eliminates = tail != R(0);
    if constexpr (is_complex<T>) {
      squares = multiply_add(alpha.im, alpha.im, squares);
      eliminates |= alpha.im != R(0);
    }
    usual = none | ((leading_bits(ordered_bits(squares)) - least < most - least) & eliminates);
    R const root = reciprocal_square_root(squares);
    beta = copy_sign(squares * root, -re);
    reciprocal_of_beta = none ? R(0) : copy_sign(root, -re);
    if constexpr (is_complex<T>) {
      difference = {re - beta, alpha.im};
      v_scale = reciprocal(multiply_add(difference.re, difference.re, difference.im * difference.im)) * conjugate_if(true, difference);
    } else {
      difference = re - beta;
      v_scale = reciprocal(difference);
    }
    beta = none ? re : beta;
    difference = none ? from_real<T>(0) : difference;
    v_scale = none ? from_real<T>(1) : v_scale;
  }
  /// (beta - alpha) / beta
  SIMT_INLINE T tau() const { return reciprocal_of_beta == R(0) ? from_real<T>(0) : -reciprocal_of_beta * difference; }
  /// Whether a gain is far enough from overflow that its product with v_scale does not overflow.
  SIMT_INLINE static bool is_usual(T gain) { return leading_bits(ordered_bits(magnitude(gain))) < most; }
  /// The factor h in H^H y = y + h v, for a column y with first element `first`, and `product` = x^H y without the first term.
  SIMT_INLINE T gain(T first, T product) const { return reciprocal_of_beta * conjugate_multiply_add(difference, first, product); }
};

/// The reflector of a column in a matrix of norm one. A column that is zero, or so small that its square underflows, is taken as zero.
template <typename T>
SIMT_INLINE Reflector<T> reflector_of_column(T alpha, Real<T> tail) {
  Reflector<T> const reflector(alpha, tail);
  return reflector.usual ? reflector : Reflector<T>(alpha, Real<T>(Reflector<T>::identity));
}

}  // namespace myriad::simt
