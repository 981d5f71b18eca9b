#pragma once
/// Element types and the small enumerations of BLAS and LAPACK.

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace myriad {

/// Element type of a batch. The values are those of `myriad_dtype` in the C interface.
enum class Dtype : int { f32 = 0, f64 = 1, c32 = 2, c64 = 3 };

/// Which triangle of the (viewed) matrix is used.
enum class Uplo : char { upper = 'U', lower = 'L' };
/// On which side of B the matrix A stands.
enum class Side : char { left = 'L', right = 'R' };
/// Whether the diagonal of a triangular matrix is taken as one and not read.
enum class Diag : char { non_unit = 'N', unit = 'U' };
/// What an eigenproblem is solved for: the values alone, or with the vectors.
enum class Job : char { values = 'N', vectors = 'V' };
/// What is applied to a factored matrix. Plain matrices are transposed by a view instead (`transposed`).
enum class Op : char { none = 'N', transpose = 'T', conjugate_transpose = 'C' };

/// float, double and their complex types: the types that every routine is built for.
template <typename T>
concept Element =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

namespace detail {
template <typename T>
struct RealOf {
  using type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using type = T;
};
}  // namespace detail

/// The real type that goes with T: float for std::complex<float>, T itself for a real T.
template <typename T>
using Real = typename detail::RealOf<std::remove_const_t<T>>::type;

template <typename T>
inline constexpr bool is_complex = !std::is_same_v<Real<T>, std::remove_const_t<T>>;

template <typename T>
inline constexpr Dtype dtype_of = is_complex<T> ? (sizeof(Real<T>) == 4 ? Dtype::c32 : Dtype::c64)
                                                : (sizeof(Real<T>) == 4 ? Dtype::f32 : Dtype::f64);

}  // namespace myriad
