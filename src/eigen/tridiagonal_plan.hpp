#pragma once
/// Which kernels are used for the reduction to tridiagonal form on a GPU. Those of matrices that a block holds are planned as in
/// eigen_plan.hpp.

#include <algorithm>
#include <cstdint>

#include "eigen/eigen_plan.hpp"
#include "eigen/tridiagonal_config.cuh"
#include "symv/symv_plan.hpp"

namespace myriad {

/// Columns of V and W are read again for every column behind them, and the matrix once a panel.
constexpr int tridiagonal_width = 32;

constexpr TridiagonalPanel tridiagonal_panel_plan(int element_bytes, bool complex) {
  SymvPanels symv = symv_panels_plan(element_bytes, complex ? Symmetry::hermitian : Symmetry::symmetric, SymvColumns::in_chunks);
  symv.vector = SymvVector::written;
  return {.width = tridiagonal_width, .symv = symv};
}

constexpr TridiagonalUpdate tridiagonal_update_plan() { return {.width = tridiagonal_width}; }

constexpr TridiagonalResident tridiagonal_resident_plan() { return {.row_parts = 4, .column_parts = 4}; }
/// Rows of the largest matrix that so many blocks of so much shared memory hold.
constexpr int tridiagonal_resident_rows(TridiagonalResident const& c, int element_bytes, int blocks, int shared_bytes) {
  int m = 0;
  while (c.elements(m + 1, blocks) * element_bytes <= shared_bytes) ++m;
  return m;
}

/// Blocks that the largest part of the work keeps busy, as many as there is room for.
constexpr std::int64_t tridiagonal_panel_blocks(TridiagonalPanel const& c, int n, int multiprocessors) {
  std::int64_t const most = std::int64_t{c.symv.blocks_per_sm} * multiprocessors;
  std::int64_t const useful = std::int64_t{(n + 31) / 32} + 2 * c.width;
  return std::min(most, std::max<std::int64_t>(useful, multiprocessors));
}

/// What is in the workspace of a matrix, in bytes from its beginning.
struct TridiagonalWorkspace {
  std::int64_t ld;  ///< elements
  std::int64_t a, v, w, x, y, d, e, tau, products, squares, y_by_v, sums, largest, arrived, pairs, bytes;

  constexpr TridiagonalWorkspace(int element_bytes, int real_bytes, TridiagonalPanel const& c, int n, int copy_blocks)
      : ld((n + 31) / 32 * 32) {
    std::int64_t const groups = ld / 32;
    std::int64_t next = 0;
    auto const take = [&](std::int64_t count, int size) {
      std::int64_t const here = next;
      next += (count * size + 255) / 256 * 256;
      return here;
    };
    a = take(ld * n, element_bytes);
    v = take(ld * c.width, element_bytes);
    w = take(ld * c.width, element_bytes);
    x = take(ld, element_bytes);
    y = take(ld, element_bytes);
    d = take(ld, real_bytes);
    e = take(ld, real_bytes);
    tau = take(ld, element_bytes);
    products = take(std::int64_t{2} * c.width, element_bytes);
    squares = take(groups, real_bytes);
    y_by_v = take(groups, element_bytes);
    sums = take(symv_tiles(element_bytes, c.symv, n, true).elements(), element_bytes);
    largest = take(copy_blocks, real_bytes);
    arrived = take(1, 4);
    pairs = take(4 * ld, element_bytes);
    bytes = next;
  }

  /// From `arrived` on, numbers of 4 bytes that are zero before the last kernel is launched; before others the first one alone.
  [[nodiscard]] constexpr std::int64_t cleared() const { return (bytes - arrived) / 4; }

  /// Addresses of a workspace that begins at `memory`.
  template <typename T>
  [[nodiscard]] TridiagonalMatrix<T> matrix(std::int64_t number, char* memory) const {
    using R = simt::Real<T>;
    auto const as = [&]<typename X>(X*, std::int64_t offset) { return reinterpret_cast<X*>(memory + offset); };
    T* const t = nullptr;
    R* const r = nullptr;
    unsigned* const u = nullptr;
    return {.number = number,
            .a = as(t, a),
            .ld = ld,
            .v = as(t, v),
            .w = as(t, w),
            .x = as(t, x),
            .y = as(t, y),
            .d = as(r, d),
            .e = as(r, e),
            .tau = as(t, tau),
            .products = as(t, products),
            .squares = as(r, squares),
            .y_by_v = as(t, y_by_v),
            .sums = as(t, sums),
            .largest = as(r, largest),
            .arrived = as(u, arrived),
            .pairs = as(t, pairs)};
  }
};

}  // namespace myriad
