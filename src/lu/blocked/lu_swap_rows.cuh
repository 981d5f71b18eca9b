#pragma once
/// Interchanges of rows, some at a time: every row that changes is found and read before any is written.

#include "lu/blocked/lu_swap_rows_config.cuh"

namespace myriad {

/// Launch: any number of blocks of lu_swap_threads threads with lu_swap_bytes of dynamic shared memory; `parts` blocks to a matrix.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(lu_swap_threads, 3) lu_swap_rows(LuSwapRowsArguments<T> const args) {
  using namespace simt;
  constexpr int some = lu_swap_pivots, places = 2 * some, of_thread = places * lu_swap_columns / lu_swap_threads;
  constexpr int per_row = lu_swap_threads / lu_swap_columns, per_column = lu_swap_threads / places;
  int* const pivots = reinterpret_cast<int*>(shared_memory());
  int* const to = pivots + some;  // or negative: nothing changes
  int* const from = to + places;
  int const t = thread_index();
  for (Index work = block_index(); work < args.x.count * args.parts; work += block_count()) {
    Index const b = work / args.parts;
    int const rows = args.x.rows_of(b), columns = args.x.cols_of(b);
    int const first_column = static_cast<int>(work % args.parts) * lu_swap_columns;
    int const end = smaller(args.end, args.of_factors ? smaller(rows, columns) : rows);
    Index const row = args.x.row_stride_of(b), column = args.x.col_stride_of(b);
    T* const x = args.x.at(b, 0, 0);
    bool const by_rows = column < row;
    int const groups = ceil_div(larger(end - args.first, 0), some);
    SIMT_LOOP
    for (int group = 0; group < groups; ++group) {
      int const k = args.first + (args.backward ? groups - 1 - group : group) * some, number = smaller(some, end - k);
      if (t < number) pivots[t] = *args.pivots.at(b, k + t, 0) - 1;
      sync_block();
      if (t < places) {
        int const i = t % some;
        int place = i >= number ? -1 : t < some ? k + i : pivots[i];
        if (t >= some && place >= 0) {
          if (place >= k && place < k + number) place = -1;  // among the others
          SIMT_LOOP
          for (int other = 0; other < i; ++other)
            if (pivots[other] == place) place = -1;
        }
        int source = place;
        SIMT_LOOP
        for (int step = 0; step < number; ++step) {
          int const s = args.backward ? step : number - 1 - step, p = pivots[s];
          source = source == k + s ? p : source == p ? k + s : source;
        }
        to[t] = source == place ? -1 : place;
        from[t] = source;
      }
      sync_block();
      T moved[of_thread];
      auto const each = [&](auto use) {
        SIMT_UNROLL
        for (int e = 0; e < of_thread; ++e) {
          int const place = by_rows ? t / lu_swap_columns + e * per_row : t % places;
          int const c = first_column + (by_rows ? t % lu_swap_columns : t / places + e * per_column), j = args.column(c);
          if (to[place] >= 0 && c < args.columns() && j < columns) use(moved[e], place, j * column);
        }
      };
      each([&](T& value, int place, Index at) { value = x[from[place] * row + at]; });
      sync_block();
      each([&](T& value, int place, Index at) { x[to[place] * row + at] = value; });
      sync_block();
    }
  }
}

}  // namespace myriad
