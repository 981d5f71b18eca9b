#pragma once
/// Scalar: alpha and beta of products, as numbers or in memory.

#include <concepts>
#include <type_traits>

#include "myriad/types.hpp"

namespace myriad {

/// A factor, alpha or beta: a number, or the address of a number that is read when the work runs; see Scalar.
template <typename T>
class ScalarArgument {
 public:
  constexpr ScalarArgument() = default;  ///< zero
  constexpr ScalarArgument(T number) : number_(number) {}
  /// A complex number from real ones: `2`, or `{1, 2}` for 1 + 2i.
  constexpr ScalarArgument(Real<T> re, Real<T> im = 0) requires is_complex<T> : number_(re, im) {}
  /// A number of another class that converts implicitly, such as a 16-bit one.
  template <typename Number>
  requires std::is_class_v<Number> && std::convertible_to<Number, T>
  constexpr ScalarArgument(Number number) : number_(number) {}
  /// A template, so that the literal 0 is a number.
  template <typename Address>
  requires std::is_pointer_v<Address> && std::convertible_to<Address, T const*>
  constexpr ScalarArgument(Address address) : address_(address), in_memory_(true) {}

  [[nodiscard]] constexpr bool in_memory() const noexcept { return in_memory_; }  ///< whether an address was given
  [[nodiscard]] constexpr T const* address() const noexcept { return address_; }  ///< null for a number
  /// The number. One in memory is read now, so the host must be able to access it.
  [[nodiscard]] constexpr T value() const noexcept { return in_memory_ ? *address_ : number_; }

 private:
  T number_{};
  T const* address_ = nullptr;
  bool in_memory_ = false;
};

/// alpha or beta of a routine: a number, or the address of one. T is not deduced from it.
///
///     gemm<float>(queue, 2, a, b, 0, c);                       // numbers
///     gemm<float>(queue, alpha.data(), a, b, beta.data(), c);  // in memory; one of them may be a number
///
/// A number in memory is read when the work runs, as in cublasSetPointerMode's device mode: it may be the result of earlier work of the
/// queue, and each launch of a captured CUDA graph reads it again. On a GPU queue it must be in memory that the GPU can access, aligned to
/// its size, and stay valid and unchanged until the work has run. On the CPU the call reads it. It must not be in an element of the output:
/// BadArgument with the position of alpha or beta, unless only the GPU can read where the elements are (ragged, pointers).
///
/// GPUs then compute a product with alpha = 1 and beta = 0 into workspace, and a second kernel adds it to C: alpha and beta decide
/// there what is read and written. The workspace, in addition to that of the product, has the size of C in the type in which products are
/// summed, and at most 256 MiB or one matrix; larger batches are computed in parts. A and B are
/// read whatever alpha is, but with alpha = 0 have no effect, even if they hold NaN. Triangular products and solves (trmm, trsm) are
/// multiplied by alpha in place afterwards, unless it is one.
template <typename T>
using Scalar = ScalarArgument<std::type_identity_t<T>>;

}  // namespace myriad
