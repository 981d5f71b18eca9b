#pragma once
/// Singular values only of bidiagonal matrices that a block holds, in one launch.
///
/// Counts at points that all values of a matrix share bracket each value. Then each value has a thread, which evaluates the characteristic
/// polynomial of B^T B: its sign changes narrow the bracket, and its logarithmic derivative gives the next point by Newton's method, with
/// the neighbouring values divided out as in Ehrlich and Aberth's method. Points outside the bracket and slow convergence lead to
/// bisection.

#include "svd/bdsdc/bdsdc_values.cuh"

namespace myriad {
namespace simt {

/// The values below x and the logarithmic derivative of det(B^T B - y I) at y = x^2: the count of BidiagonalCount and, from the derivatives
/// -g of the carried numbers, the sum of those of the logarithms of the pivots.
template <typename R>
struct BidiagonalDerivative {
  int below = 0;
  R derivative = R(0);

  SIMT_INLINE BidiagonalDerivative(R const* d, R const* e, int n, R x) {
    constexpr R least = power_of_two<R, -900, -100>;
    R const shift = -x * x;
    R carried = shift, g = R(1), sum = R(0);
    SIMT_UNROLL_BY(4)
    for (int i = 0; i < n; ++i) {
      R pivot = d[i] + carried;
      pivot = magnitude(pivot) < least ? -least : pivot;
      below += pivot < R(0) ? 1 : 0;
      R const inverse = reciprocal(pivot);
      sum = multiply_add(g, inverse, sum);
      g = multiply_add(g, (d[i] * inverse) * (e[i] * inverse), R(1));
      carried = multiply_add(carried * inverse, e[i], shift);
    }
    derivative = -sum;
  }
};

}  // namespace simt

/// All values of a matrix of up to bdsdc_block_most rows, in descending order, and info. Larger ones are passed over.
///
/// Launch: any number of blocks of bdsdc_block_threads(k) threads with bdsdc_block_bytes(sizeof(R), k) of dynamic shared memory, where k is
/// the smaller of work.n and bdsdc_block_most.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(bdsdc_block_most, 4) bdsdc_values_block(BdsdcValues<R> const work) {
  using namespace simt;
  constexpr R u = power_of_two<R, -53, -24>;
  constexpr int neighbours = 4, most_steps_of_newton = 32;  // in a row
  auto const root_of = [](R y) { return y * reciprocal_square_root(y); };
  int const threads = bdsdc_block_threads(smaller(work.n, bdsdc_block_most)), warps = threads / 32, k = thread_index();
  R* const d = reinterpret_cast<R*>(shared_memory());
  R *const e = d + threads, *const found = e + threads, *const squares = found + threads, *const of_warps = squares + 2 * threads;
  int* const below = reinterpret_cast<int*>(of_warps + 32);
  int* const working = below + bdsdc_points_of_matrix;  // two per warp
  for (Index b = block_index(); b < work.count; b += block_count()) {
    int const n = work.rows_of(b);
    if (n == 0 || n > bdsdc_block_most) continue;
    R const diagonal = k < n ? *work.d.at(b, k, 0) : R(0), beside = k + 1 < n ? *work.e.at(b, k, 0) : R(0);
    auto top = larger(ordered_bits(magnitude(diagonal)), ordered_bits(magnitude(beside)));
    SIMT_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
    if (lane_index() == 0) of_warps[k / 32] = number_of(top);
    sync_block();
    SIMT_LOOP
    for (int w = 0; w < warps; ++w) top = larger(top, ordered_bits(of_warps[w]));
    bool const finite = top < ordered_bits(R(infinity()));
    R const scale = !finite || top == bits_of(R(0)) ? R(1) : reciprocal_power(number_of(top));
    R const own = finite ? scale * diagonal : R(0), next_to = finite ? scale * beside : R(0);
    d[k] = own * own;
    e[k] = next_to * next_to;
    sync_block();

    // Two elements per row and column bound the values, with a margin.
    R const bound = finite ? R(2.125) * (scale * number_of(top)) : R(0);
    int const points = bdsdc_block_points(n);
    R const step = bound * (R(1) / R(points));
    BidiagonalCount<R> const sturm{d, e, n};
    SIMT_LOOP
    for (int p = k; p < points; p += threads) below[p] = p == 0 ? 0 : sturm.below(step * R(p));
    sync_block();
    // Even if rounding makes the counts non-monotonic, there is a point with too few values below it, followed by one with enough.
    int first = 0, last = points;
    while (last - first > 1) {
      int const middle = (first + last) / 2;
      (below[middle] > k ? last : first) = middle;
    }
    R low = step * R(first), high = step * R(last);
    int below_low = below[first], below_high = last < points ? below[last] : n;
    R x = multiply_add((R(k - below_low) + R(0.5)) * reciprocal(R(larger(below_high - below_low, 1))), high - low, low);
    bool done = k >= n || bound == R(0);
    squares[k] = x * x;
    R former_distance = bound, former_width = bound, reach = R(0.4);
    int buffer = 0;
    sync_block();
    SIMT_LOOP
    for (int turn = 0;; ++turn) {
      R estimate = x;
      if (!done) {
        BidiagonalDerivative<R> const at_x(d, e, n, x);
        (at_x.below > k ? high : low) = x;
        (at_x.below > k ? below_high : below_low) = at_x.below;
        R const width = high - low, enough = u * multiply_add(R(4), high, R(0.125) * bound);
        R const middle = high > R(16) * low ? root_of(larger(low, enough) * high) : multiply_add(R(0.5), width, low);
        done = !(width > enough) || middle <= low || middle >= high;
        // Several values in the bracket count as one of that multiplicity.
        int const together = below_high - below_low;
        R const square = x * x;
        R others = R(0);
        if (together == 1) SIMT_UNROLL
        for (int j = 1; j <= neighbours; ++j) {
          if (k - j >= 0) others += reciprocal(square - squares[buffer + k - j]);
          if (k + j < n) others += reciprocal(square - squares[buffer + k + j]);
        }
        R const change = R(together) * reciprocal(at_x.derivative - others), root_square = square - change;
        R root = root_square > R(0) ? root_of(root_square) : R(0);
        R const distance = magnitude(root - x);
        bool const converges = (turn < most_steps_of_newton || turn % 2 != 0 || width <= R(0.5) * former_width) &&
                               (distance <= R(0.5) * former_distance || width <= R(0.5) * former_width);
        bool const usable = converges && root_square == root_square && root >= low - enough && root <= high + enough;
        R next = middle;
        estimate = middle;
        if (usable) {
          // The next point is beyond the value once the iteration has converged, so that the bracket closes; each failure moves it farther.
          R const beyond = reach * enough;
          root = larger(smaller(root, high), low);
          estimate = root;
          R const point = root - low < beyond ? root + beyond : high - root < beyond ? root - beyond : root;
          if (point > low && point < high) next = point;
          reach = point == root ? R(0.4) : R(8) * reach;
        }
        former_distance = usable ? larger(distance, enough) : bound;
        former_width = width;
        x = next;
      }
      buffer = threads - buffer;
      squares[buffer + k] = estimate * estimate;
      unsigned const left = ballot(!done);
      if (lane_index() == 0) working[turn % 2 * warps + k / 32] = left != 0 ? 1 : 0;
      sync_block();
      bool any = false;
      SIMT_LOOP
      for (int w = 0; w < warps; ++w) any = any || working[turn % 2 * warps + w] != 0;
      if (!any) break;
    }
    // An interval that begins at zero has values that are negligible.
    R const value = low == R(0) ? R(0) : multiply_add(R(0.5), high - low, low);
    found[k] = value;
    sync_block();
    R const back = finite ? reciprocal_power(scale) : R(quiet_nan()), scale_of_matrix = work.scales[b];
    if (k == 0 && work.info) work.info[b] = back == back && scale_of_matrix == scale_of_matrix ? 0 : n;
    if (k < n) {
      int place = 0;
      SIMT_UNROLL_BY(4)
      for (int j = 0; j < n; ++j) place += found[j] > value || (found[j] == value && j > k) ? 1 : 0;
      store_global(work.s.at(b, place, 0), scale_of_matrix * (back * value));
    }
    sync_block();
  }
}

}  // namespace myriad
