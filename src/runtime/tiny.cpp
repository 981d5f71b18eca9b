#include "runtime/tiny.hpp"

#include <fmt/format.h>

#include <array>

#include "myriad/error.hpp"

namespace myriad::gpu {

void require_tiny(char const* routine, std::int64_t m, std::int64_t n) {
  if (m > tiny_largest || n > tiny_largest)
    throw Unavailable(fmt::format("{}: GPU kernels take matrices of up to {} rows and columns so far, and these have {} by {}", routine,
                                  tiny_largest, m, n));
}

char const* device_name(Dtype dtype) {
  // In the order of Dtype, which skips a number.
  constexpr std::array names{"float",
                             "double",
                             "myriad::simt::Complex<float>",
                             "myriad::simt::Complex<double>",
                             "",
                             "myriad::simt::Half",
                             "myriad::simt::Bfloat16",
                             "myriad::simt::Complex<myriad::simt::Half>"};
  return names.at(static_cast<std::size_t>(dtype));
}

}  // namespace myriad::gpu
