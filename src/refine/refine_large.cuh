#pragma once
/// Scalings and backward errors of matrices of any size: stripes of 32 rows, a block to each.

#include "refine/refine_large_config.cuh"

namespace myriad {
namespace simt {

/// The place of a thread in a stripe: neighbouring threads have neighbouring rows where columns are contiguous, else neighbouring terms.
struct PlaceInStripe {
  int row, part;
  SIMT_INLINE explicit PlaceInStripe(bool by_rows) {
    int const lane = lane_index(), warp = thread_index() / warp_size;
    row = by_rows ? warp_size / refine_parts * warp + lane / refine_parts : lane;
    part = by_rows ? lane % refine_parts : warp;
  }
};

}  // namespace simt

/// Launch: any number of blocks of refine_threads threads with as many real numbers of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(refine_threads, 2) geequ_sizes(LineSizesArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  R* const parts = reinterpret_cast<R*>(shared_memory());
  Index const all = args.a.count * args.stripes;
  for (Index at = block_index(); at < all; at += block_count()) {
    Index const b = at / args.stripes;
    int const m = args.a.rows_of(b), n = args.a.cols_of(b), first = static_cast<int>(at % args.stripes) * refine_stripe;
    if (first >= m) continue;
    Index const right = args.a.col_stride_of(b);
    PlaceInStripe const place(right < args.a.row_stride_of(b));
    R size = 0;
    if (first + place.row < m && place.part < n) {
      T const* const line = args.a.at(b, first + place.row, 0);
      SIMT_UNROLL_BY(4)
      for (int j = place.part; j < n; j += refine_parts) {
        R const power = args.weights.given() ? balancing_power(*args.weights.at(b, j, 0)) : R(1);
        size = larger_or_nan(size, scaled_size(finite_magnitude(line[j * right]), power));
      }
    }
    parts[place.part * refine_stripe + place.row] = size;
    sync_block();
    if (int const row = thread_index(); row < refine_stripe && first + row < m) {
      for (int part = 0; part < refine_parts; ++part) size = larger_or_nan(part == 0 ? R(0) : size, parts[part * refine_stripe + row]);
      store_global(args.sizes.at(b, first + row, 0), size);
    }
    sync_block();
  }
}

/// Launch: any number of blocks of refine_threads threads with 4 of their numbers of dynamic shared memory; a block to a matrix.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(refine_threads, 2) geequ_write(GeequWriteArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  R* const numbers = reinterpret_cast<R*>(shared_memory());
  int* const places = reinterpret_cast<int*>(numbers + 3 * refine_threads);
  int const thread = thread_index();
  struct Found {
    int zero;  ///< the first line of zeros, from one; 0 without any
    R largest, ratio;
  };
  /// The result for lines of these sizes. All threads call it.
  auto const look = [&](Matrices<R> const& sizes, Index b, int count) {
    constexpr int none = 0x7fffffff;
    R largest = 0, low = R(infinity()), high = 0;
    int zero = none;
    for (int i = thread; i < count; i += refine_threads) {
      R const size = *sizes.at(b, i, 0), power = balancing_power(size);
      largest = larger_or_nan(largest, size);
      low = smaller(low, power);
      high = larger(high, power);
      if (size == R(0) && zero == none) zero = i;
    }
    numbers[thread] = largest;
    numbers[refine_threads + thread] = low;
    numbers[2 * refine_threads + thread] = high;
    places[thread] = zero;
    for (int distance = refine_threads / 2; distance > 0; distance /= 2) {
      sync_block();
      if (thread >= distance) continue;
      numbers[thread] = larger_or_nan(numbers[thread], numbers[thread + distance]);
      numbers[refine_threads + thread] = smaller(numbers[refine_threads + thread], numbers[refine_threads + thread + distance]);
      numbers[2 * refine_threads + thread] = larger(numbers[2 * refine_threads + thread], numbers[2 * refine_threads + thread + distance]);
      places[thread] = smaller(places[thread], places[thread + distance]);
    }
    sync_block();
    Found const found{places[0] == none ? 0 : places[0] + 1, numbers[0],
                      count > 0 ? numbers[refine_threads] / numbers[2 * refine_threads] : R(1)};
    sync_block();
    return found;
  };
  for (Index b = block_index(); b < args.r.count; b += block_count()) {
    int const m = args.r.rows_of(b), n = args.c.rows_of(b);
    Found const rows = look(args.r, b, n > 0 ? m : 0);
    Found const columns = look(args.c, b, m > 0 && rows.zero == 0 ? n : 0);
    int const info = rows.zero != 0 ? rows.zero : columns.zero != 0 ? m + columns.zero : 0;
    bool const scales = m > 0 && n > 0 && info == 0;
    auto const write = [&](Matrices<R> const& sizes, int count) {
      for (int i = thread; i < count; i += refine_threads) {
        R* const to = sizes.at(b, i, 0);
        store_global(to, scales ? balancing_power(*to) : R(1));
      }
    };
    write(args.r, m);
    write(args.c, n);
    if (thread != 0) continue;
    if (args.rowcnd) args.rowcnd[b] = scales ? rows.ratio : R(1);
    if (args.colcnd) args.colcnd[b] = scales ? columns.ratio : R(1);
    if (args.amax) args.amax[b] = rows.largest;
    if (args.info) args.info[b] = info;
  }
}

/// Launch: any number of blocks of refine_threads threads with as many RowResidual of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(refine_threads, 2) residuals(ResidualsArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  auto* const parts = reinterpret_cast<RowResidual<T>*>(shared_memory());
  Index const of_matrix = args.x.cols * args.stripes;
  for (Index at = block_index(); at < args.x.count * of_matrix; at += block_count()) {
    Index const b = at / of_matrix;
    int const c = static_cast<int>(at % of_matrix / args.stripes), first = static_cast<int>(at % args.stripes) * refine_stripe;
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    if (first >= m || c >= args.x.cols_of(b) || (args.active && args.active[b * args.x.cols + c] == 0)) continue;
    Index const right = args.a.col_stride_of(b), down_x = args.x.row_stride_of(b);
    PlaceInStripe const place(right < args.a.row_stride_of(b));
    int const row = first + place.row;
    RowResidual<T> sum(place.part == 0 && row < m ? conjugate_if(args.b.conjugated, *args.b.at(b, smaller(row, m - 1), c))
                                                  : from_real<T>(0));
    int const parts_of_sum = m <= refine_one_part && n <= refine_one_part ? 1 : refine_parts;
    if (row < m && place.part < smaller(n, parts_of_sum)) {
      T const* const line = args.a.at(b, row, 0);
      T const* const x = args.x.at(b, 0, c);
      SIMT_UNROLL_BY(4)
      for (int j = place.part; j < n; j += parts_of_sum)
        sum.subtract(conjugate_if(args.a.conjugated, line[j * right]), conjugate_if(args.x.conjugated, x[j * down_x]));
    }
    parts[place.part * refine_stripe + place.row] = sum;
    sync_block();
    if (thread_index() < refine_stripe) {
      int const mine = thread_index();
      R worst = 0;
      if (first + mine < m) {
        RowResidual<T> whole = parts[mine];
        for (int part = 1; part < parts_of_sum; ++part) whole.add(parts[part * refine_stripe + mine]);
        if (args.residual.given()) store_global(args.residual.at(b, first + mine, c), args.plain ? whole.plain : whole.value());
        if (args.scale.given()) store_global(args.scale.at(b, first + mine, c), whole.scale);
        worst = whole.error();
      }
      for (int distance = warp_size / 2; distance > 0; distance /= 2) worst = larger_or_nan(worst, shuffle_xor(worst, distance));
      if (mine == 0) args.worst[at] = worst;
    }
    sync_block();
  }
}

/// The largest error of a column of matrix b.
template <typename R>
SIMT_INLINE R worst_of_stripes(R const* worst, int m) {
  R error = 0;
  for (int stripe = 0; stripe * refine_stripe < m; ++stripe) error = larger_or_nan(error, worst[stripe]);
  return error;
}

/// Launch: any number of blocks of refine_threads threads; a thread to a column.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(refine_threads, 2) backward_error_write(BackwardErrorWriteArguments<T> const args) {
  using namespace simt;
  Index const columns = args.b.cols;
  for (Index at = block_index() * refine_threads + thread_index(); at < args.b.count * columns; at += block_count() * refine_threads) {
    Index const b = at / columns;
    int const c = static_cast<int>(at % columns);
    if (c < args.b.cols_of(b)) store_global(args.berr.at(b, c, 0), worst_of_stripes(args.worst + at * args.stripes, args.b.rows_of(b)));
  }
}

}  // namespace myriad
