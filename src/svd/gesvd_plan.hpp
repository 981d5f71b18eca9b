#pragma once
/// Singular value decompositions of matrices that no block holds: workspace.

#include <algorithm>
#include <cstdint>

#include "blocked/arena.hpp"
#include "myriad/svd.hpp"
#include "svd/bdsdc/bdsdc_plan.hpp"
#include "svd/gesvd_config.cuh"

namespace myriad {

/// Bytes of workspace, which limit the number of matrices at a time, but at least one.
constexpr std::int64_t gesvd_workspace = std::int64_t{1} << 30;

/// Blocks per matrix that search for its largest element.
constexpr int gesvd_parts(std::int64_t count, int multiprocessors) { return static_cast<int>((4 * multiprocessors + count - 1) / count); }

/// Sizes of the workspace of a call: of every matrix, or upper bounds.
struct GesvdPlan {
  std::int64_t l, k;  ///< rows and columns of a matrix that is not wide
  bool ragged;
  int small;          ///< most rows of a small R
  bool some_by_qr;    ///< whether there may be matrices that are reduced to R
  bool some_small;    ///< whether there may be small R
  bool some_large;    ///< whether there may be matrices that are reduced to bidiagonal form
  std::int64_t rows;  ///< of the matrices that are reduced further
  bool is_wide;       ///< of a uniform batch
  bool by_jacobi;     ///< whether those matrices are rotated instead
  bool full, long_side, short_side;

  GesvdPlan(SvdJob job, std::int64_t m, std::int64_t n, bool of_ragged, std::int64_t most_of_small, bool relative = false)
      : l(std::max(m, n)),
        k(std::min(m, n)),
        ragged(of_ragged),
        small(static_cast<int>(most_of_small)),
        some_by_qr(ragged || shape(m, n).by_qr()),
        some_small(ragged || k <= small),
        some_large(k > small),
        rows(ragged ? std::min(l, (8 * k + 4) / 5) : shape(m, n).reduced_rows()),
        is_wide(m < n),
        by_jacobi(relative && some_large),
        full(job == SvdJob::full) {
    bool const both = job == SvdJob::thin || full || (ragged && job != SvdJob::values);
    long_side = both || job == (is_wide ? SvdJob::right : SvdJob::left);
    short_side = both || job == (is_wide ? SvdJob::left : SvdJob::right);
  }
  [[nodiscard]] GesvdShape shape(std::int64_t m, std::int64_t n) const { return {static_cast<int>(m), static_cast<int>(n), small}; }
  [[nodiscard]] bool vectors() const { return long_side || short_side; }
  [[nodiscard]] std::int64_t long_columns() const { return full ? l : k; }
};

template <typename T>
struct GesvdWorkspace {
  BdsdcWorkspace<Real<T>> bidiagonal;
  T *qr, *reduced, *sorted, *rotated, *long_side, *short_side, *tau, *tauq, *taup;
  int *rows, *columns, *places;
  Real<T>* lengths;
  std::int64_t* sizes;  ///< eight per matrix
  Real<T>* largest;

  GesvdWorkspace(Arena& arena, GesvdPlan const& p, std::int64_t count, int parts)
      : bidiagonal(arena, p.some_large && !p.by_jacobi ? p.k : 0, bdsdc_leaf, count, p.vectors()),
        qr(arena.take<T>(p.some_by_qr ? p.l * p.k * count : 0)),
        reduced(arena.take<T>(p.rows * p.k * count)),
        sorted(arena.take<T>(p.by_jacobi ? p.rows * p.k * count : 0)),
        rotated(arena.take<T>(p.by_jacobi ? p.k * p.k * count : 0)),
        long_side(arena.take<T>(p.long_side ? p.l * p.long_columns() * count : 0)),
        short_side(arena.take<T>(p.short_side ? p.k * p.k * count : 0)),
        tau(arena.take<T>(p.some_by_qr ? p.k * count : 0)),
        tauq(arena.take<T>(p.k * count)),
        taup(arena.take<T>(p.k * count)),
        rows(arena.take<int>(p.by_jacobi ? 2 * p.rows * count : 0)),
        columns(arena.take<int>(p.by_jacobi ? p.k * count : 0)),
        places(arena.take<int>(p.by_jacobi ? p.k * count : 0)),
        lengths(arena.take<Real<T>>(p.by_jacobi ? p.k * count : 0)),
        sizes(arena.take<std::int64_t>(p.ragged ? 8 * count : 0)),
        largest(arena.take<Real<T>>(parts * count)) {}
};

}  // namespace myriad
