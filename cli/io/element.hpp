#pragma once
/// Element types and their names in files.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "myriad/types.hpp"

namespace myriad::io {

/// Element types of .npy files that Myriad can compute with, directly or after a conversion.
enum class Stored { b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, c8, c16 };

[[nodiscard]] std::size_t size_of(Dtype dtype);
[[nodiscard]] std::size_t size_of(Stored stored);

/// The routines' element type for this stored type; nothing where a conversion is needed (integers, booleans, 16-bit numbers).
[[nodiscard]] std::optional<Dtype> native(Stored stored);

/// "f4", "f8", "c8" or "c16", as NumPy abbreviates them.
[[nodiscard]] std::string_view name_of(Dtype dtype);

/// Understands f4 f8 c8 c16, float32 float64 complex64 complex128 and LAPACK's s d c z.
[[nodiscard]] std::optional<Dtype> parse_dtype(std::string_view text);
/// The same plus the 16-bit types half, bfloat16 and complex_half, which files do not have.
[[nodiscard]] std::optional<Dtype> parse_any_dtype(std::string_view text);

/// The smallest type that holds both without loss, as in NumPy: f8 and c8 give c16.
[[nodiscard]] Dtype promote(Dtype a, Dtype b);

/// NumPy's type string of a C++ element type, in the byte order of this machine: "<f8".
template <typename T>
[[nodiscard]] std::string descr_of();

/// NumPy's type string of an element type.
[[nodiscard]] std::string descr_of(Dtype dtype);

/// Copies `count` elements that lie `stride` elements apart in `in` to consecutive places of `out`.
///
/// `swapped`: the byte order of the numbers is not this machine's. `in` need not be aligned. Narrowing rounds; a complex
/// number must not be converted to a real one (checked where files are opened).
void convert(Stored from, void const* in, std::int64_t stride, Dtype to, void* out, std::int64_t out_stride, std::int64_t count,
             bool swapped = false);

}  // namespace myriad::io
