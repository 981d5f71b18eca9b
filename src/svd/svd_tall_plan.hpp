#pragma once
/// Plan of the singular value decomposition of tall matrices by QR of their parts.

#include <array>
#include <cstdint>
#include <vector>

#include "blocked/arena.hpp"
#include "qr/block/qr_block_plan.hpp"
#include "runtime/kernel_name.hpp"
#include "svd/svd_tall_config.cuh"

namespace myriad {

inline constexpr gpu::KernelName svd_tall_parts_kernel{"svd/svd_tall", "svd_tall_parts"};
inline constexpr gpu::KernelName svd_tall_stack_kernel{"svd/svd_tall", "svd_tall_stack"};
inline constexpr gpu::KernelName svd_tall_values_kernel{"svd/svd_tall", "svd_tall_values"};
inline constexpr gpu::KernelName svd_tall_vectors_kernel{"svd/svd_tall", "svd_tall_vectors"};

/// The most columns of a tall matrix. QR in registers has 32 at most, of double complex 16.
constexpr std::int64_t svd_tall_columns(int element_bytes) { return element_bytes == 16 ? 16 : 32; }
/// The most rows of a part.
constexpr std::int64_t svd_tall_rows(int element_bytes) { return element_bytes == 4 ? 512 : 256; }

/// The kernel that factors parts of so many rows. Up to 16 columns have half of the threads of those that geqrf has for 32.
constexpr std::array<QrRegisters, 2> svd_tall_narrow{{{16, 4, 8, 4, 8}, {32, 4, 8, 4, 4}}};
constexpr QrRegisters svd_tall_qr(int element_bytes, std::int64_t rows, std::int64_t n, std::int64_t shared_bytes) {
  if (element_bytes == 8 && n <= 16)
    for (QrRegisters const& c : svd_tall_narrow)
      if (rows > c.rows() / 2 && rows <= c.rows()) return c;
  return qr_registers_configs(element_bytes)[static_cast<std::size_t>(qr_registers_plan(element_bytes, rows, n, shared_bytes))];
}

constexpr SvdTallKernel svd_tall_plan(std::int64_t rows, std::int64_t n) {
  return {.columns = static_cast<int>((n + 7) / 8 * 8), .threads = rows <= 128 ? 64 : 128};
}

/// QR of `parts` parts of a matrix of so many rows. R of all parts are the next one.
struct SvdTallLevel {
  std::int64_t rows, parts;
  [[nodiscard]] constexpr std::int64_t rows_of_part() const { return (rows + parts - 1) / parts; }
};
inline std::vector<SvdTallLevel> svd_tall_levels(int element_bytes, std::int64_t rows, std::int64_t n) {
  std::int64_t const most = svd_tall_rows(element_bytes);
  std::vector<SvdTallLevel> levels;
  do {
    levels.push_back({.rows = rows, .parts = (rows + most - 1) / most});
    rows = levels.back().parts * n;
  } while (levels.back().parts > 1);
  return levels;
}

/// Workspace of one level.
template <typename T>
struct SvdTallLevelWork {
  T *tau, *gram, *stack, *vectors;
  T** pointers;
  std::int64_t* sizes;

  SvdTallLevelWork(Arena& arena, SvdTallLevel const& level, std::int64_t n, std::int64_t count, bool with_vectors)
      : tau(arena.take<T>(n * level.parts * count)),
        gram(arena.take<T>(with_vectors ? n * n * level.parts * count : 0)),
        stack(arena.take<T>(n * n * level.parts * count)),
        vectors(arena.take<T>(with_vectors ? n * n * level.parts * count : 0)),
        pointers(arena.take<T*>(level.parts > 1 ? level.parts * count : 0)),
        sizes(arena.take<std::int64_t>(level.parts > 1 ? level.parts * count : 0)) {}
};

template <typename T>
struct SvdTallWorkspace {
  std::vector<SvdTallLevelWork<T>> levels;
  int *exponents, *exponent;

  SvdTallWorkspace(Arena& arena, std::vector<SvdTallLevel> const& of, std::int64_t n, std::int64_t count, bool with_vectors) {
    for (SvdTallLevel const& level : of) levels.emplace_back(arena, level, n, count, with_vectors);
    exponents = arena.take<int>(of.front().parts * count);
    exponent = arena.take<int>(count);
  }
};

}  // namespace myriad
