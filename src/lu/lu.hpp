#pragma once
/// LU: tasks of the lane kernels, and the sizes up to which these are used.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/scalar.hpp"
#include "myriad/lu.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// Whether matrices of this shape (and right-hand sides beside them) are factored side by side in SIMD lanes: the packs of the matrix and
/// of a few right-hand sides fit the workspace, and row numbers fit a 64-bit set.
template <typename T>
constexpr bool lu_fits_lanes(std::array<std::int64_t, 4> const& shape) {
  std::int64_t const m = shape[0];
  std::int64_t const n = shape[1];
  return m <= 64 && n <= 64 && (m + 1) * (n + 2) * lane_element_bytes<T> <= lane_workspace_bytes;
}

/// The product of the pivots, plain or as sign and logarithm. The plain product is kept within the range of R by powers of two, so that it
/// is right wherever it can be represented, whatever the order of the factors.
template <typename T>
class DiagonalProduct {
  using R = Real<T>;

 public:
  explicit DiagonalProduct(bool logarithm) : logarithm_(logarithm) {}
  void multiply(T u) {
    if (logarithm_) {
      int const exponent = normalize(u);
      R const size = std::abs(u);
      logabs_ += std::log(size) + static_cast<R>(exponent) * std::numbers::ln2_v<R>;
      product_ = size == 0 ? T(0) : product_ * (u / size);
      return;
    }
    exponent_ += normalize(u);
    product_ *= u;
    exponent_ += normalize(product_);
  }
  void negate() { product_ = -product_; }
  [[nodiscard]] T sign_or_det() const { return shifted(product_, exponent_); }
  [[nodiscard]] R logabs() const { return logabs_; }

 private:
  static T shifted(T x, int exponent) {
    if constexpr (is_complex<T>)
      return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
    else
      return std::ldexp(x, exponent);
  }
  /// Scales x by a power of two where it is so large or small that a product could leave the range; returns the exponent of its inverse.
  static int normalize(T& x) {
    constexpr R most = sizeof(R) == 4 ? R(0x1p60) : static_cast<R>(0x1p500);
    R const size = std::max(std::abs(std::real(x)), std::abs(std::imag(x)));
    if ((size <= most && size >= 1 / most) || size == 0 || !is_finite(x)) return 0;
    int const exponent = std::ilogb(size);
    x = shifted(x, -exponent);
    return exponent;
  }

  T product_{1};
  int exponent_ = 0;
  R logabs_{0};
  bool logarithm_;
};

/// getrf, getrf_nopiv (`pivoting` false)
template <typename T>
struct GetrfTask {
  Batch<T> a;
  Batch<int> pivots;
  int* info;
  bool pivoting;
};
MYRIAD_LANES_DECLARE(getrf_lanes, GetrfTask);

/// getrs: x = op(A)^-1 x from the factors in a.
template <typename T>
struct GetrsTask {
  Op op;
  Batch<T const> a;
  Batch<int const> pivots;
  Batch<T> b;
};
MYRIAD_LANES_DECLARE(getrs_lanes, GetrsTask);

/// gesv and solve. Where `factors` has no data, the factors are not written; where `pivots` has none, nor are they. b may be x.
template <typename T>
struct GesvTask {
  Batch<T const> a;
  Batch<T const> b;
  Batch<T> x;
  Batch<T> factors;
  Batch<int> pivots;
  int* info;
  bool nan_where_singular;  ///< otherwise x is left as it was
};
MYRIAD_LANES_DECLARE(gesv_lanes, GesvTask);

/// inverse (factor = true: from A) and getri (factor = false: from factors and pivots).
template <typename T>
struct InverseTask {
  Batch<T const> a;
  Batch<int const> pivots;
  Batch<T> x;
  int* info;
  bool factor;
};
MYRIAD_LANES_DECLARE(inverse_lanes, InverseTask);

/// det (logabs null) and logdet.
template <typename T>
struct DetTask {
  Batch<T const> a;
  T* sign_or_det;
  Real<T>* logabs;
};
MYRIAD_LANES_DECLARE(det_lanes, DetTask);

}  // namespace myriad
