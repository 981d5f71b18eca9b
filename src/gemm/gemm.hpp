#pragma once
/// What the files of this room share: the task of the kernels, and how far these are used.

#include <array>

#include "myriad/gemm.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// C = alpha A B + beta C. C is not conjugated (see `gemm`, which moves that to the others).
template <typename T>
struct GemmTask {
  T alpha;
  Batch<T const> a;
  Batch<T const> b;
  T beta;
  Batch<T> c;
};
MYRIAD_LANES_DECLARE(gemm_small, GemmTask);

/// Whether a product of this shape (of A and B: m, k, k, n) goes to the kernels of this room. A copy of A, or of B where the product is
/// turned round, fits the workspace, padded to whole vectors.
template <typename T>
bool gemm_is_small(std::array<std::int64_t, 4> const& shape) {
  auto const [m, k, also_k, n] = shape;
  constexpr std::int64_t largest = 256;
  return m <= largest && n <= largest && k <= largest &&
         (std::max(m, n) + max_lanes) * k * static_cast<std::int64_t>(sizeof(T)) <= lane_workspace_bytes;
}

}  // namespace myriad
