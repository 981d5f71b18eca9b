#pragma once
/// Triangular solves with matrices of up to 32 rows: A is read once, B read and written once.

#include "trsm/trsm_rows.cuh"
#include "trsm/trsm_tiny_config.cuh"

namespace myriad {

/// Launch: any number of blocks of C.threads() threads with TrsmTinyMemory(sizeof(T), C).bytes of dynamic shared memory.
template <typename T, TrsmTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) trsm_tiny(TrsmTinyArguments<T> const args) {
  using namespace simt;
  constexpr TrsmTinyMemory memory(sizeof(T), C);
  constexpr bool interchanges = C.interchange != Interchange::never;
  constexpr bool in_place = C.right == RightSide::identity_in_place, identity = in_place || C.right == RightSide::identity;
  constexpr bool divides = C.lower == Triangle::non_unit || C.upper == Triangle::non_unit;
  // Whether element (i, j) of the inverse replaces that of A.
  auto const is_written = [](int i, int j) { return i == j ? divides : C.lower != Triangle::unused ? i > j : i < j; };
  Tile<T, C.n, C.n, C.matrices, C.lanes, C.threads(), C.a> a(shared_memory());
  Tile<T, C.n, C.nrhs, C.matrices, C.lanes, C.threads(), C.b> x(shared_memory() + memory.b);
  Tile<int, C.n, 1, C.matrices, 1, C.threads(), Layout::packed_columns> pivots(shared_memory() + memory.pivots);
  int const q = thread_index() / C.lanes;
  int const lane = thread_index() % C.lanes;
  bool const reads_a = args.alpha != from_real<T>(0);

  for (Index first = block_index() * C.matrices; first < args.b.count; first += block_count() * C.matrices) {
    int const active = args.b.count - first < C.matrices ? static_cast<int>(args.b.count - first) : C.matrices;
    Index const b = first + q;
    if (reads_a) a.template load<C.a>(args.a, first, active);
    if constexpr (interchanges) pivots.template load<C.pivots>(args.pivots, first, active);
    [[maybe_unused]] int const steps = interchanges && q < active ? smaller(args.a.rows_of(b), args.pivots.rows_of(b)) : 0;
    int info = 0;
    for (Index j = 0; j < args.columns; j += C.nrhs) {
      Matrices<T> const part = args.b.part(0, args.b.rows, j, C.nrhs);
      if constexpr (!identity) x.template load<C.b>(part.as_const(), first, active);
      wait_copies();
      sync_block();

      TrsmAcrossLanes<T, C.n, C.nrhs, C.lanes> rows(lane);
      auto const place = [&](int r) {
        if constexpr (!interchanges)
          return rows.row(r);
        else
          return place_after<C.n, C.interchange == Interchange::after>(rows.row(r), steps, [&](int k) { return pivots.at(q, k, 0) - 1; });
      };
      SIMT_UNROLL
      for (int r = 0; r < rows.held; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < C.nrhs; ++c) {
          T value = from_real<T>(rows.row(r) == j + c ? 1 : 0);
          if (!identity && rows.exists(r)) value = args.alpha * conjugate_if(args.b.conjugated, x.at(q, rows.row(r), c));
          rows.x[r][c] = reads_a ? value : from_real<T>(0);
        }
      }
      auto const interchange = [&] {
        exchange_rows(
            rows, [&](int i, int c) -> T& { return x.at(q, i, c); }, place);
      };
      auto const element = [&](int i, int k) { return conjugate_if(args.a.conjugated, a.at(q, i, k)); };
      if constexpr (C.interchange == Interchange::before) interchange();
      if (reads_a) {
        if constexpr (C.lower != Triangle::unused) rows.template substitute<true, C.lower == Triangle::unit>(element);
        if constexpr (C.upper != Triangle::unused) rows.template substitute<false, C.upper == Triangle::unit>(element);
        if (identity && divides && j == 0) info = rows.zero_on_diagonal(q < active ? args.a.rows_of(b) : 0, element);
      }
      if constexpr (C.interchange == Interchange::after) interchange();
      SIMT_UNROLL
      for (int r = 0; r < rows.held; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < C.nrhs; ++c) {
          T value = conjugate_if(args.b.conjugated, rows.x[r][c]);
          // A singular matrix is stored unchanged: the inverse replaces A in memory, and the tile still has A.
          int const column = static_cast<int>(j) + c;
          bool const stays = info != 0 || (in_place && !is_written(rows.row(r), column));
          if (identity && stays && rows.exists(r) && column < C.n) value = a.at(q, rows.row(r), column);
          if (rows.exists(r)) x.at(q, rows.row(r), c) = value;
        }
      }
      sync_block();
      x.template store<C.b>(part, first, active);
      if (j + C.nrhs < args.columns) sync_block();
    }
    if (identity && args.info && lane == 0 && q < active) args.info[b] = info;
    if (first + block_count() * C.matrices < args.b.count) sync_block();
  }
}

}  // namespace myriad
