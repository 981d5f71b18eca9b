#pragma once
/// Eigenvalues only of tridiagonal matrices of any size, by bisection with Sturm counts (LAPACK's stebz, larrd).

#include "eigen/divide_and_conquer/stedc_config.cuh"

namespace myriad {
namespace simt {

/// Counts negative pivots of a matrix of norm one. Pivots smaller than `least` in modulus are replaced by -least.
template <typename R>
struct SturmCount {
  R const *d, *e;
  int n;

  SIMT_INLINE int below(R x) const {
    constexpr R least = power_of_two<R, -900, -100>;
    int count = 0;
    R pivot = R(1), beside = R(0);
    SIMT_UNROLL_BY(8)
    for (int i = 0; i < n; ++i) {
      pivot = (d[i] - x) - beside * beside * reciprocal(pivot);
      pivot = magnitude(pivot) < least ? -least : pivot;
      count += pivot < R(0) ? 1 : 0;
      beside = e[i];
    }
    return count;
  }
};

/// A bound of all |values|, from the tolerance of a matrix.
template <typename R>
SIMT_INLINE R bound_of_values(R tolerance) {
  constexpr R eighth_of_inverse_roundoff = power_of_two<R, 50, 21>;
  return R(3.125) * eighth_of_inverse_roundoff * tolerance;  // three elements per row, with a margin
}

/// Shared point `p`.
template <typename R>
SIMT_INLINE R point_of_bisection(R bound, int p) {
  return bound * (R(p) * (R(2) / R(points_of_bisection)) - R(1));
}

}  // namespace simt

/// Counts the values below each of the shared points.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_points(StedcWork<R> const work) {
  using namespace simt;
  constexpr int chunks = points_of_bisection / stedc_threads;
  for (Index at = block_index(); at < chunks * work.count; at += block_count()) {
    Index const b = at / chunks;
    int const p = static_cast<int>(at % chunks) * stedc_threads + thread_index();
    SturmCount<R> const sturm{work.values + b * work.line, work.beside + b * work.line, work.rows_of(b)};
    work.below[b * points_of_bisection + p] = sturm.below(point_of_bisection(bound_of_values(work.tolerances[b]), p));
  }
}

/// Computes each value by its lanes: every lane evaluates one point of the value's interval, until that is negligible relative to the
/// matrix. The values overwrite `offsets`.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_bisect(StedcWork<R> const work) {
  using namespace simt;
  constexpr R u = power_of_two<R, -53, -24>;
  constexpr int values = stedc_threads / lanes_of_value;
  Index const chunks = ceil_div(work.n, values);
  for (Index at = block_index(); at < chunks * work.count; at += block_count()) {
    Index const b = at / chunks;
    int const n = work.rows_of(b), part = thread_index() % lanes_of_value;
    int const k = static_cast<int>(at % chunks) * values + thread_index() / lanes_of_value;
    SturmCount<R> const sturm{work.values + b * work.line, work.beside + b * work.line, n};
    R const bound = bound_of_values(work.tolerances[b]), enough = R(0.0625) * u * bound;
    // Even if rounding makes the counts non-monotonic, there is a point with too few values below it, followed by one with enough.
    int first = 0, last = points_of_bisection;
    while (last - first > 1) {
      int const middle = (first + last) / 2;
      (work.below[b * points_of_bisection + middle] > k ? last : first) = middle;
    }
    R low = point_of_bisection(bound, first), high = point_of_bisection(bound, last);
    bool done = k >= n;
    SIMT_LOOP
    while (ballot(!done) != 0) {
      R const step = (high - low) * (R(1) / R(lanes_of_value + 1));
      bool const above = (done ? 0 : sturm.below(multiply_add(step, R(part + 1), low))) > k;
      unsigned const of_value = ballot(above) >> lane_index() / lanes_of_value * lanes_of_value & ((1u << lanes_of_value) - 1);
      int const place = of_value == 0 ? lanes_of_value : lowest_bit(of_value);  // index of the first point above the value
      R const next_low = multiply_add(step, R(place), low);
      if (!done) {
        R const next_high = place < lanes_of_value ? multiply_add(step, R(place + 1), low) : high;
        done = !(next_high - next_low > enough) || (next_low == low && next_high == high);  // there may be no number in between
        low = next_low;
        high = next_high;
      }
    }
    if (k < n && part == 0) work.offsets[b * work.line + k] = multiply_add(R(0.5), high - low, low);
  }
}

}  // namespace myriad
