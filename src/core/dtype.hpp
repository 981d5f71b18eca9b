#pragma once
/// The switch over element types, without and with 16-bit types.

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "myriad/error.hpp"
#include "myriad/types.hpp"

namespace myriad {

/// Calls `f.template operator()<T>()` with the T of `dtype`.
template <typename F>
decltype(auto) with_dtype(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::f32:
      return std::forward<F>(f).template operator()<float>();
    case Dtype::f64:
      return std::forward<F>(f).template operator()<double>();
    case Dtype::c32:
      return std::forward<F>(f).template operator()<std::complex<float>>();
    case Dtype::c64:
      return std::forward<F>(f).template operator()<std::complex<double>>();
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::c16:
      throw Error("elements of 16 bits have products only");
  }
  throw Error("unknown element type " + std::to_string(static_cast<int>(dtype)));
}

/// The same including the 16-bit types.
template <typename F>
decltype(auto) with_any_dtype(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::f16:
      return std::forward<F>(f).template operator()<half>();
    case Dtype::bf16:
      return std::forward<F>(f).template operator()<bfloat16>();
    case Dtype::c16:
      return std::forward<F>(f).template operator()<complex_half>();
    default:
      return with_dtype(dtype, std::forward<F>(f));
  }
}

[[nodiscard]] constexpr bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::c16; }
[[nodiscard]] constexpr bool is_complex_dtype(Dtype dtype) { return dtype == Dtype::c16 || dtype == Dtype::c32 || dtype == Dtype::c64; }

[[nodiscard]] constexpr int element_bytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
    case Dtype::bf16:
      return 2;
    case Dtype::f32:
    case Dtype::c16:
      return 4;
    case Dtype::f64:
    case Dtype::c32:
      return 8;
    case Dtype::c64:
      return 16;
  }
  return 0;
}

/// Names of types in tables, results and tests.
inline constexpr std::array dtype_names{
    std::pair{Dtype::f32, "s"},    std::pair{Dtype::f64, "d"},         std::pair{Dtype::c32, "c"},           std::pair{Dtype::c64, "z"},
    std::pair{Dtype::f16, "half"}, std::pair{Dtype::bf16, "bfloat16"}, std::pair{Dtype::c16, "complex_half"}};
[[nodiscard]] constexpr char const* dtype_name(Dtype dtype) {
  for (auto const& [known, name] : dtype_names)
    if (known == dtype) return name;
  return "?";
}
[[nodiscard]] constexpr std::optional<Dtype> dtype_named(std::string_view name) {
  for (auto const& [dtype, known] : dtype_names)
    if (name == known) return dtype;
  return std::nullopt;
}

}  // namespace myriad

/// Explicit instantiation of something for every element type: MYRIAD_FOR_EACH_ELEMENT(X) expands X(float) X(double) ...
#define MYRIAD_FOR_EACH_ELEMENT(X) X(float) X(double) X(std::complex<float>) X(std::complex<double>)
/// The same for the 16-bit types.
#define MYRIAD_FOR_EACH_HALF_ELEMENT(X) X(half) X(bfloat16) X(complex_half)
