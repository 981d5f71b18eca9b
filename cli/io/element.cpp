#include "io/element.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/dtype.hpp"
#include "io/error.hpp"

namespace myriad::io {
namespace {

constexpr char byte_order(std::size_t size) { return size == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>'; }

template <typename T>
constexpr char kind_of() {
  if constexpr (std::is_same_v<T, bool>)
    return 'b';
  else if constexpr (std::is_integral_v<T>)
    return std::is_signed_v<T> ? 'i' : 'u';
  else
    return is_complex<T> ? 'c' : 'f';
}

template <typename T>
T with_bytes_swapped(T value) {
  if constexpr (is_complex<T>) {
    return {with_bytes_swapped(value.real()), with_bytes_swapped(value.imag())};
  } else {
    auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    std::reverse(bytes.begin(), bytes.end());
    return std::bit_cast<T>(bytes);
  }
}

template <typename F>
void with_stored(Stored stored, F&& f) {
  switch (stored) {
    case Stored::b1:
      return f.template operator()<std::uint8_t>();
    case Stored::i1:
      return f.template operator()<std::int8_t>();
    case Stored::i2:
      return f.template operator()<std::int16_t>();
    case Stored::i4:
      return f.template operator()<std::int32_t>();
    case Stored::i8:
      return f.template operator()<std::int64_t>();
    case Stored::u1:
      return f.template operator()<std::uint8_t>();
    case Stored::u2:
      return f.template operator()<std::uint16_t>();
    case Stored::u4:
      return f.template operator()<std::uint32_t>();
    case Stored::u8:
      return f.template operator()<std::uint64_t>();
    case Stored::f2:
      return f.template operator()<half>();
    case Stored::f4:
      return f.template operator()<float>();
    case Stored::f8:
      return f.template operator()<double>();
    case Stored::c8:
      return f.template operator()<std::complex<float>>();
    case Stored::c16:
      return f.template operator()<std::complex<double>>();
  }
  throw Error("unknown stored type");
}

}  // namespace

std::size_t size_of(Dtype dtype) {
  return with_dtype(dtype, []<typename T>() { return sizeof(T); });
}

std::size_t size_of(Stored stored) {
  std::size_t size = 0;
  with_stored(stored, [&]<typename T>() { size = sizeof(T); });
  return size;
}

std::optional<Dtype> native(Stored stored) {
  switch (stored) {
    case Stored::f4:
      return Dtype::f32;
    case Stored::f8:
      return Dtype::f64;
    case Stored::c8:
      return Dtype::c32;
    case Stored::c16:
      return Dtype::c64;
    default:
      return std::nullopt;
  }
}

std::string_view name_of(Dtype dtype) {
  if (is_half(dtype)) return dtype_name(dtype);
  constexpr std::array<std::string_view, 4> names{"f4", "f8", "c8", "c16"};
  return names.at(static_cast<std::size_t>(dtype));
}

std::optional<Dtype> parse_dtype(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Dtype>, 12> names{{{"f4", Dtype::f32},
                                                                      {"f8", Dtype::f64},
                                                                      {"c8", Dtype::c32},
                                                                      {"c16", Dtype::c64},
                                                                      {"float32", Dtype::f32},
                                                                      {"float64", Dtype::f64},
                                                                      {"complex64", Dtype::c32},
                                                                      {"complex128", Dtype::c64},
                                                                      {"s", Dtype::f32},
                                                                      {"d", Dtype::f64},
                                                                      {"c", Dtype::c32},
                                                                      {"z", Dtype::c64}}};
  for (auto const& [name, dtype] : names)
    if (name == text) return dtype;
  return std::nullopt;
}

std::optional<Dtype> parse_any_dtype(std::string_view text) {
  auto const dtype = dtype_named(text);
  return dtype && is_half(*dtype) ? dtype : parse_dtype(text);
}

Dtype promote(Dtype a, Dtype b) {
  bool const wide = a == Dtype::f64 || a == Dtype::c64 || b == Dtype::f64 || b == Dtype::c64;
  if (is_complex_dtype(a) || is_complex_dtype(b)) return wide ? Dtype::c64 : Dtype::c32;
  return wide ? Dtype::f64 : Dtype::f32;
}

template <typename T>
std::string descr_of() {
  return std::string{byte_order(sizeof(T)), kind_of<T>()} + std::to_string(sizeof(T));
}
template std::string descr_of<bool>();
template std::string descr_of<std::int8_t>();
template std::string descr_of<std::int16_t>();
template std::string descr_of<std::int32_t>();
template std::string descr_of<std::int64_t>();
template std::string descr_of<std::uint8_t>();
template std::string descr_of<std::uint16_t>();
template std::string descr_of<std::uint32_t>();
template std::string descr_of<std::uint64_t>();
template std::string descr_of<float>();
template std::string descr_of<double>();
template std::string descr_of<std::complex<float>>();
template std::string descr_of<std::complex<double>>();

std::string descr_of(Dtype dtype) {
  return with_dtype(dtype, []<typename T>() { return descr_of<T>(); });
}

void convert(Stored from, void const* in, std::int64_t stride, Dtype to, void* out, std::int64_t out_stride, std::int64_t count,
             bool swapped) {
  with_stored(from, [&]<typename S>() {
    with_dtype(to, [&]<typename T>() {
      if constexpr (is_complex<S> && !is_complex<T>) {
        throw Error("a complex number cannot be converted to a real one");
      } else {
        auto const* source = static_cast<char const*>(in);
        auto* target = static_cast<T*>(out);
        if constexpr (std::is_same_v<S, T>) {
          if (stride == 1 && out_stride == 1 && !swapped) {
            if (count > 0) std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(T));
            return;
          }
        }
        for (std::int64_t i = 0; i < count; ++i) {
          S value;
          std::memcpy(&value, source + static_cast<std::size_t>(i * stride) * sizeof(S), sizeof(S));
          if (swapped) value = with_bytes_swapped(value);
          if constexpr (is_complex<S>)
            target[i * out_stride] = T(static_cast<Real<T>>(value.real()), static_cast<Real<T>>(value.imag()));
          else
            target[i * out_stride] = static_cast<T>(static_cast<Real<T>>(value));
        }
      }
    });
  });
}

}  // namespace myriad::io
