#pragma once
/// Element types and the small enumerations of BLAS and LAPACK.

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "myriad/half.hpp"

namespace myriad {

/// Element type of a batch. The values are those of `myriad_dtype` in the C interface.
enum class Dtype : int { f32 = 0, f64 = 1, c32 = 2, c64 = 3, f16 = 5, bf16 = 6, c16 = 7 };

/// Triangle of the (viewed) matrix that is used.
enum class Uplo : char { upper = 'U', lower = 'L' };
/// Side of B from which A multiplies.
enum class Side : char { left = 'L', right = 'R' };
/// Whether a triangular matrix has a unit diagonal, which is then not read.
enum class Diag : char { non_unit = 'N', unit = 'U' };
/// Results of an eigenproblem: eigenvalues only, or eigenvalues and eigenvectors.
enum class Job : char { values = 'N', vectors = 'V' };
/// Operation on a factored matrix. Other matrices are transposed by a view (`transposed`).
enum class Op : char { none = 'N', transpose = 'T', conjugate_transpose = 'C' };

/// float, double and their complex types: the types that every routine is built for.
template <typename T>
concept Element =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

/// 16-bit types, supported by `gemm` and `gemm_grouped` only.
template <typename T>
concept HalfElement = std::same_as<T, half> || std::same_as<T, bfloat16> || std::same_as<T, complex_half>;

namespace detail {
template <typename T>
struct RealOf {
  using type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <>
struct RealOf<complex_half> {
  using type = half;
};

template <typename T>
struct ComputeOf {
  using type = T;
};
template <HalfElement T>
struct ComputeOf<T> {
  using type = std::conditional_t<std::is_same_v<T, complex_half>, std::complex<float>, float>;
};

template <typename T>
struct DtypeOf;
template <Dtype value>
struct IsDtype {
  static constexpr Dtype dtype = value;
};
template <>
struct DtypeOf<float> : IsDtype<Dtype::f32> {};
template <>
struct DtypeOf<double> : IsDtype<Dtype::f64> {};
template <>
struct DtypeOf<std::complex<float>> : IsDtype<Dtype::c32> {};
template <>
struct DtypeOf<std::complex<double>> : IsDtype<Dtype::c64> {};
template <>
struct DtypeOf<half> : IsDtype<Dtype::f16> {};
template <>
struct DtypeOf<bfloat16> : IsDtype<Dtype::bf16> {};
template <>
struct DtypeOf<complex_half> : IsDtype<Dtype::c16> {};
}  // namespace detail

/// Arithmetic of products of float matrices (see `gemm`): `standard`, IEEE 754; `tf32`, elements rounded to 11 bits; `tf32x3`, elements
/// split into a sum of two such numbers.
enum class Arithmetic : int { standard = 0, tf32 = 1, tf32x3 = 2 };

/// The real type of T: float for std::complex<float>, half for complex_half, T itself for a real T.
template <typename T>
using Real = typename detail::RealOf<std::remove_const_t<T>>::type;

template <typename T>
inline constexpr bool is_complex = !std::is_same_v<Real<T>, std::remove_const_t<T>>;  ///< whether T is a complex type

/// The type in which products of T are accumulated: float for half and bfloat16, std::complex<float> for complex_half, else T.
template <typename T>
using Compute = typename detail::ComputeOf<T>::type;

template <typename T>
inline constexpr Dtype dtype_of = detail::DtypeOf<std::remove_const_t<T>>::dtype;  ///< the value of Dtype for T

}  // namespace myriad
