#pragma once
/// Determinants from the diagonal of U, without overflow on the way.

#include "simt/powers.hpp"

namespace myriad {

/// A product with a power of two of its own: it leaves the range only where its value does. While factors and product stay well within, it
/// is what multiplying gives.
template <typename T>
class ScaledProduct {
 public:
  SIMT_INLINE explicit ScaledProduct(simt::Real<T> first) : product_(simt::from_real<T>(first)) {}
  SIMT_INLINE void multiply(T x) {
    using namespace simt;
    using R = simt::Real<T>;
    constexpr int bias = exponent_bias<R>, low = sizeof(R) == 4 ? -90 : -960, high = sizeof(R) == 4 ? 120 : 1015;
    constexpr unsigned least = leading_bits_of_power<R>(bias + low), most = leading_bits_of_power<R>(bias + high);
    if (leading_bits_of_parts(product_) + leading_bits_of_parts(x) - least >= most - least) {
      product_ = normalized(product_, exponent_);
      x = normalized(x, exponent_);
    }
    product_ = product_ * x;
  }
  SIMT_INLINE T value() const {
    using namespace simt;
    if (exponent_ == 0) return product_;
    int exponent = exponent_;
    T const product = normalized(product_, exponent);
    return times_power(product, exponent);
  }

 private:
  T product_;
  int exponent_ = 0;
};

/// The determinant of a matrix, or, where `logabs` is given, its sign and logarithm, by the lanes of a warp, which all call this.
/// `diagonal` gives element (k, k) of U; `odd`: interchanges. Factors are taken in their order.
template <typename T, typename Diagonal>
SIMT_INLINE void put_determinant(int n, bool odd, bool conjugated, Diagonal diagonal, T* sign_or_det, simt::Real<T>* logabs) {
  using namespace simt;
  ScaledProduct<T> product(simt::Real<T>(odd ? -1 : 1));
  T signs = from_real<T>(simt::Real<T>(odd ? -1 : 1));
  simt::Real<T> sum = 0;
  SIMT_LOOP
  for (int first = 0; first < n; first += warp_size) {
    T const mine = first + lane_index() < n ? diagonal(first + lane_index()) : from_real<T>(1);
    T const sign_of_mine = sign(mine);
    simt::Real<T> const logarithm = logabs ? logarithm_of_modulus(mine) : 0;
    SIMT_LOOP
    for (int k = 0; k < smaller(n - first, warp_size); ++k) {
      if (logabs) {
        signs = signs * shuffle(sign_of_mine, k);
        sum += shuffle(logarithm, k);
      } else {
        product.multiply(shuffle(mine, k));
      }
    }
  }
  if (lane_index() != 0) return;
  *sign_or_det = conjugate_if(conjugated, logabs ? signs : product.value());
  if (logabs) *logabs = sum;
}

}  // namespace myriad
