#pragma once
/// Shapes of the gemm kernels that blocked algorithms share.

#include <array>
#include <cstdint>
#include <vector>

#include "gemm/gemm_gpu.hpp"

namespace myriad::gpu {

/// The shape that a product of m rows, n columns and k terms, `count` times, is planned for: the largest tile of which there are enough to
/// keep seven of eight multiprocessors busy. A smaller tile is used only where there are fewer than two per multiprocessor, so a block has
/// to keep all of it busy.
constexpr GemmShape blocked_product(int element_bytes, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count,
                                    int multiprocessors) {
  // For a panel's terms, or for as many as there are rows.
  std::int64_t const terms = k <= 128 ? 128 : 512, side = element_bytes == 4 ? 128 : 64;
  std::array const tiles{GemmShape{side, side, terms}, GemmShape{64, 64, terms}, GemmShape{64, 32, terms, 2}, GemmShape{64, 16, terms, 2}};
  for (GemmShape const& tile : tiles)
    if (8 * ((m + tile.m - 1) / tile.m) * ((n + tile.n - 1) / tile.n) * count >= 7 * multiprocessors) return tile;
  return tiles.back();
}

/// The kernels of all shapes of blocked_product, for operands with these layouts.
inline std::vector<KernelSource> blocked_product_kernels(Dtype dtype, int element_bytes, Lines a, Lines b, Lines c,
                                                         Written written = Written::whole) {
  std::vector<KernelSource> kernels;
  for (std::int64_t const k : {128, 512})
    for (int const multiprocessors : {1, 4, 8, 16}) {  // these select all tiles, from the largest on
      auto const of_shape = gemm_kernels_of(dtype, blocked_product(element_bytes, 128, 128, k, 1, multiprocessors), a, b, c, written);
      kernels.insert(kernels.end(), of_shape.begin(), of_shape.end());
    }
  return kernels;
}

}  // namespace myriad::gpu
