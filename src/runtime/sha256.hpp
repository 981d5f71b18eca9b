#pragma once
/// SHA-256 (FIPS 180-4), for names of kernels in the cache and checksums of files.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace myriad::gpu {

using Hash = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  Sha256& add(std::string_view bytes);
  /// Adds the length first, so that ("ab", "c") and ("a", "bc") differ.
  Sha256& add_field(std::string_view bytes);
  /// The hash of everything added. The object cannot be used afterwards.
  [[nodiscard]] Hash finish();

 private:
  void block(std::uint8_t const* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> buffer_{};
  std::uint64_t length_ = 0;
};

inline Hash sha256(std::string_view bytes) { return Sha256().add(bytes).finish(); }

/// 64 hexadecimal digits.
std::string hex(Hash const& hash);

}  // namespace myriad::gpu
