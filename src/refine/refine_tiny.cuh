#pragma once
/// Scalings of many matrices of up to 32 rows and columns, and backward errors of solutions: each matrix is read once.

#include "refine/refine_rows.cuh"
#include "refine/refine_tiny_config.cuh"
#include "simt/divisor.hpp"
#include "simt/powers.hpp"

namespace myriad {

/// r c x, whatever r c alone is: rounded by two products, and once more where it is subnormal.
template <typename R>
SIMT_OUTLINE R product_of_three(R r, R c, R x) {
  int exponent = 0;
  R const product = (simt::normalized(r, exponent) * simt::normalized(c, exponent)) * simt::normalized(x, exponent);
  return simt::times_power(product, exponent);
}
/// The same, where r c is far from the ends of the range by a product with it.
template <typename T, typename R>
SIMT_INLINE T scaled_by(R r, R c, T x) {
  using namespace simt;
  R const scale = r * c;
  if (has_usual_reciprocal(magnitude(scale))) return scale * x;
  if constexpr (is_complex<T>)
    return {product_of_three(r, c, x.re), product_of_three(r, c, x.im)};
  else
    return product_of_three(r, c, x);
}

/// State of geequ for the rows, or the columns, of a matrix.
template <typename R>
struct Scalings {
  int zero = 0;  ///< the first of which all elements are zero, from one; 0 without any
  R largest = 0;
  R ratio = 1;  ///< of the smallest scaling to the largest

  SIMT_INLINE Scalings(R const* size, int count) {
    R low = 0, high = 0;
    SIMT_LOOP
    for (int i = 0; i < count; ++i) {
      R const power = balancing_power(size[i]);
      low = i == 0 || power < low ? power : low;
      high = power > high ? power : high;
      largest = larger_or_nan(largest, size[i]);
      zero = zero == 0 && size[i] == R(0) ? i + 1 : zero;
    }
    if (count > 0) ratio = low / high;
  }
};

/// Launch: any number of blocks of C.threads() threads with GeequTinyMemory(sizeof(T), sizeof(Real<T>), C).bytes of dynamic shared memory.
template <typename T, RefineTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) geequ_tiny(GeequTinyArguments<T> const args) {
  using namespace simt;
  using R = Real<T>;
  constexpr GeequTinyMemory memory(sizeof(T), sizeof(R), C);
  Tile<T, C.m, C.n, C.matrices, C.lanes, C.threads(), C.a, true> a(shared_memory());
  int const q = thread_index() / C.lanes;
  int const lane = thread_index() % C.lanes;
  R* const rows = reinterpret_cast<R*>(shared_memory() + memory.rows) + q * C.m;
  R* const columns = reinterpret_cast<R*>(shared_memory() + memory.columns) + q * C.n;

  for (Index first = block_index() * C.matrices; first < args.a.count; first += block_count() * C.matrices) {
    int const active = args.a.count - first < C.matrices ? static_cast<int>(args.a.count - first) : C.matrices;
    Index const b = first + q;
    int const m = q < active ? args.a.rows_of(b) : 0, n = q < active ? args.a.cols_of(b) : 0;
    a.template load<C.a>(args.a, first, active);
    wait_copies();
    sync_block();
    for (int i = lane; i < m && n > 0; i += C.lanes) {
      R size = 0;
      for (int j = 0; j < n; ++j) size = larger_or_nan(size, finite_magnitude(a.at(q, i, j)));
      rows[i] = size;
    }
    sync_block();
    Scalings<R> const of_rows(rows, n > 0 ? m : 0);
    for (int j = lane; j < n && m > 0; j += C.lanes) {
      R size = 0;
      for (int i = 0; i < m; ++i) size = larger_or_nan(size, scaled_size(finite_magnitude(a.at(q, i, j)), balancing_power(rows[i])));
      columns[j] = size;
    }
    sync_block();
    Scalings<R> const of_columns(columns, m > 0 && of_rows.zero == 0 ? n : 0);
    int const info = of_rows.zero != 0 ? of_rows.zero : of_columns.zero != 0 ? m + of_columns.zero : 0;
    bool const scales = m > 0 && n > 0 && info == 0;
    for (int i = lane; i < m; i += C.lanes) *args.r.at(b, i, 0) = scales ? balancing_power(rows[i]) : R(1);
    for (int j = lane; j < n; j += C.lanes) *args.c.at(b, j, 0) = scales ? balancing_power(columns[j]) : R(1);
    if (lane == 0 && q < active) {
      if (args.rowcnd) args.rowcnd[b] = scales ? of_rows.ratio : R(1);
      if (args.colcnd) args.colcnd[b] = scales ? of_columns.ratio : R(1);
      if (args.amax) args.amax[b] = of_rows.largest;
      if (args.info) args.info[b] = info;
    }
    if (first + block_count() * C.matrices < args.a.count) sync_block();
  }
}

/// Launch: as geequ_tiny, with LaqgeTinyMemory(sizeof(T), C).bytes. Larger matrices go tile by tile.
template <typename T, RefineTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) laqge_tiny(LaqgeTinyArguments<T> const args) {
  using namespace simt;
  using R = Real<T>;
  Tile<T, C.m, C.n, C.matrices, C.lanes, C.threads(), C.a> a(shared_memory());
  int const q = thread_index() / C.lanes;
  int const lane = thread_index() % C.lanes;

  Index const down = (args.a.rows + C.m - 1) / C.m, tiles = down * ((args.a.cols + C.n - 1) / C.n);
  Index const all = (args.a.count + C.matrices - 1) / C.matrices * tiles;
  for (Index at = block_index(); at < all; at += block_count()) {
    Index const first = at / tiles * C.matrices, i0 = at % tiles % down * C.m, j0 = at % tiles / down * C.n;
    int const active = args.a.count - first < C.matrices ? static_cast<int>(args.a.count - first) : C.matrices;
    Index const b = first + q;
    Matrices<T> const tile = args.a.part(i0, C.m, j0, C.n);
    int const m = q < active ? tile.rows_of(b) : 0, n = q < active ? tile.cols_of(b) : 0;
    a.template load<C.a>(tile.as_const(), first, active);
    wait_copies();
    sync_block();
    for (int i = lane; i < m; i += C.lanes) {
      R const r = args.r.given() ? *args.r.at(b, static_cast<int>(i0) + i, 0) : R(1);
      for (int j = 0; j < n; ++j) {
        R const c = args.c.given() ? *args.c.at(b, static_cast<int>(j0) + j, 0) : R(1);
        a.at(q, i, j) = scaled_by(r, c, a.at(q, i, j));
      }
    }
    sync_block();
    a.template store<C.a>(tile, first, active);
    if (at + block_count() < all) sync_block();
  }
}

/// Launch: as geequ_tiny, with BackwardErrorTinyMemory(sizeof(T), C).bytes.
template <typename T, RefineTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) backward_error_tiny(BackwardErrorTinyArguments<T> const args) {
  using namespace simt;
  using R = Real<T>;
  constexpr BackwardErrorTinyMemory memory(sizeof(T), C);
  Tile<T, C.m, C.n, C.matrices, C.lanes, C.threads(), C.a> a(shared_memory());
  Tile<T, C.n, C.nrhs, C.matrices, 1, C.threads(), C.x> x(shared_memory() + memory.x);
  Tile<T, C.m, C.nrhs, C.matrices, C.lanes, C.threads(), C.b> right(shared_memory() + memory.b);
  int const q = thread_index() / C.lanes;
  int const lane = thread_index() % C.lanes;

  for (Index first = block_index() * C.matrices; first < args.a.count; first += block_count() * C.matrices) {
    int const active = args.a.count - first < C.matrices ? static_cast<int>(args.a.count - first) : C.matrices;
    Index const b = first + q;
    int const m = q < active ? args.a.rows_of(b) : 0, n = q < active ? args.a.cols_of(b) : 0;
    int const columns = q < active ? args.x.cols_of(b) : 0;
    a.template load<C.a>(args.a, first, active);
    for (Index j = 0; j < args.columns; j += C.nrhs) {
      x.template load<C.x>(args.x.part(0, C.n, j, C.nrhs), first, active);
      right.template load<C.b>(args.b.part(0, C.m, j, C.nrhs), first, active);
      wait_copies();
      sync_block();
      for (int c = 0; c < C.nrhs; ++c) {
        R worst = 0;
        for (int i = lane; i < m; i += C.lanes) {
          RowResidual<T> row(conjugate_if(args.b.conjugated, right.at(q, i, c)));
          for (int k = 0; k < n; ++k)
            row.subtract(conjugate_if(args.a.conjugated, a.at(q, i, k)), conjugate_if(args.x.conjugated, x.at(q, k, c)));
          worst = larger_or_nan(worst, row.error());
        }
        for (int distance = C.lanes / 2; distance > 0; distance /= 2) worst = larger_or_nan(worst, shuffle_xor(worst, distance));
        if (lane == 0 && j + c < columns) *args.berr.at(b, static_cast<int>(j) + c, 0) = worst;
      }
      if (j + C.nrhs < args.columns) sync_block();
    }
    if (first + block_count() * C.matrices < args.a.count) sync_block();
  }
}

}  // namespace myriad
