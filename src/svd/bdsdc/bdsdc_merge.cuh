#pragma once
/// Bidiagonal divide and conquer by the whole GPU (Gu and Eisenstat 1995): all merges of a level in parallel, without the products, which
/// are gemm's.
///
/// With the vectors of both problems a merge is M = diag(0, d_1, d_2, ...) + a row z. Its singular values are the roots of 1 + sum z_i^2 /
/// (d_i^2 - s^2), found in s^2, with differences of squares as products of sums and differences. Pole 0 has the row between both problems
/// as left vector; its right vector combines both null vectors.

#include "eigen/divide_and_conquer/secular.cuh"
#include "eigen/divide_and_conquer/stedc_merge.cuh"
#include "svd/bdsdc/bdsdc_config.cuh"
#include "svd/bdsdc/bdsdc_leaves.cuh"

namespace myriad {
namespace simt {

/// A column of a problem, and the halves in which it has elements in U and in V: 1 for the upper, 2 for the lower. Where V has none,
/// neither has U.
struct BdsdcOrigin {
  static constexpr int column_bits = 27;
  static constexpr unsigned right_only = 1u << column_bits;  ///< of a rotation: U is not rotated
  SIMT_INLINE static unsigned of(int column, unsigned left, unsigned right) {
    return static_cast<unsigned>(column) | left << 28 | right << 30;
  }
  SIMT_INLINE static int column(unsigned origin) { return static_cast<int>(origin & (right_only - 1)); }
  SIMT_INLINE static unsigned halves(int side, unsigned origin) { return origin >> (side == 0 ? 28 : 30) & 3u; }
  SIMT_INLINE static unsigned all_halves(unsigned origin) { return origin & 0xf0000000u; }
  static constexpr unsigned nothing = stedc_nothing;
};

/// A problem's merge and its parts of the arrays.
template <typename R>
struct BdsdcPart {
  BdsdcWork<R> const& work;
  StedcProblem of;
  int size;  ///< columns
  R *poles, *z;
  unsigned* origins;

  SIMT_INLINE BdsdcPart(BdsdcWork<R> const& all, StedcProblem const& problem)
      : work(all),
        of(problem),
        size(problem.rows()),
        poles(all.poles + all.at(problem)),
        z(all.z + all.at(problem)),
        origins(all.origins + all.at(problem)) {}
  SIMT_INLINE StedcMerge& merge() const { return work.merges[of.matrix * work.problems + of.number]; }
  SIMT_INLINE int upper_columns() const { return of.middle - of.begin; }
  SIMT_INLINE int row_between() const { return upper_columns() - 1; }  ///< in U; also the column of the upper null vector
  SIMT_INLINE SecularEquation<R, bdsdc_lanes_of_root, SquaredPoles<R>> equation() const { return {{poles}, z, merge().count, R(1)}; }
};

}  // namespace simt

/// Sorts the values of both problems as poles, ascending, behind pole 0; the null vector of the merge is last. Computes z, and the rotation
/// that combines both null vectors.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_sort(BdsdcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most, stedc_sorted_rows);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    BdsdcPart<R> const part(work, work.problem(at / chunks));
    int const size = part.size, upper = part.upper_columns(), between = part.row_between();
    int const p = static_cast<int>(at % chunks) * stedc_sorted_rows + thread_index() / stedc_lanes_of_place;
    R const* const values = work.values + work.at(part.of);
    bool const is = p < size;
    R const value = is ? values[p] : R(0);
    int place = 0;
    SIMT_UNROLL_BY(4)
    for (int other = thread_index() % stedc_lanes_of_place; is && other < size - 1; other += stedc_lanes_of_place)
      place += other != between && (values[other] < value || (values[other] == value && other < p)) ? 1 : 0;
    SIMT_UNROLL
    for (int mask = 1; mask < stedc_lanes_of_place; mask *= 2) place += shuffle_xor(place, mask);
    if (!is || thread_index() % stedc_lanes_of_place != 0) continue;
    R const* const v = work.vectors(1, part.of);
    R const diagonal = work.diagonal[work.at(part.of) + between], beside = work.beside[work.at(part.of) + between];
    if (p == between) {
      Rotation<R> const by(diagonal * v[between + between * work.ld], beside * v[upper + (size - 1) * work.ld]);
      // r may be negative where there is nothing to rotate.
      Index const first = work.at(part.of);
      work.rotated_out[first] = BdsdcOrigin::of(size - 1, 2, 2) | BdsdcOrigin::right_only;
      work.rotated[first] = BdsdcOrigin::of(between, 1, 1);
      work.cosines[first] = by.r < R(0) ? -by.c : by.c;
      work.sines[first] = by.r < R(0) ? -by.s : by.s;
      part.poles[0] = R(0);
      part.z[0] = magnitude(by.r);
      part.origins[0] = BdsdcOrigin::of(between, 1, 3);
    } else if (p == size - 1) {
      part.poles[p] = R(0);
      part.z[p] = R(0);
      part.origins[p] = BdsdcOrigin::of(p, 2, 3);
    } else {
      bool const is_upper = p < upper;
      unsigned const half = is_upper ? 1 : 2;
      part.poles[1 + place] = value;
      part.z[1 + place] = is_upper ? diagonal * v[between + p * work.ld] : beside * v[upper + p * work.ld];
      part.origins[1 + place] = BdsdcOrigin::of(p, half, half);
    }
  }
}

/// Deflation (LAPACK's lasd2): removes poles with a negligible element of z, negligible poles, and, of two nearly equal poles, one, the
/// latter two after a rotation that makes its element zero. The remaining poles move to the front.
///
/// Rotations need sequential work, by one warp; it records them for bdsdc_rotate.
///
/// Launch: any number of blocks of stedc_threads threads with stedc_shared_bytes of dynamic shared memory.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_deflate(BdsdcWork<R> const work) {
  using namespace simt;
  using Origin = BdsdcOrigin;
  int* const shared = reinterpret_cast<int*>(shared_memory());
  int& rotations = shared[stedc_warps];
  StedcPlaces places(shared);
  int const thread = thread_index(), lane = lane_index();
  for (Index at = block_index(); at < work.all_problems(); at += block_count()) {
    BdsdcPart<R> const part(work, work.problem(at));
    int const size = part.size;
    R const tolerance = work.tolerances[part.of.matrix];
    R* const out_values = work.out_values + work.at(part.of);
    unsigned* const out_origins = work.out_origins + work.at(part.of);

    // Negligible elements of z
    int candidates = 0, out = 0;
    SIMT_LOOP
    for (int first = 0; first < size - 1; first += stedc_threads) {
      int const i = first + thread;
      bool const is = i < size - 1;
      R const pole = part.poles[is ? i : 0], element = part.z[is ? i : 0];
      unsigned const origin = part.origins[is ? i : 0];
      bool const stays = is && (i == 0 || magnitude(element) > tolerance);
      places.find(stays);  // orders the loads before the writes
      if (stays) {
        int const to = candidates + places.before;
        part.poles[to] = pole;
        part.z[to] = element;
        part.origins[to] = origin;
      } else if (is) {
        int const to = i - candidates - places.before;
        out_values[to] = pole;
        out_origins[to] = origin;
      }
      candidates += places.all;
    }
    out = size == 0 ? 0 : size - 1 - candidates;
    sync_block();

    if (thread / 32 == 0 && size > 0) {
      int rotated = 1;  // the null vectors
      auto const record = [&](unsigned from, unsigned kept, R c, R s, R value, unsigned origin) {
        if (lane == 0) {
          Index const to = work.at(part.of) + rotated;
          work.rotated_out[to] = from;
          work.rotated[to] = kept;
          work.cosines[to] = c;
          work.sines[to] = s;
          out_values[out + rotated - 1] = value;
          out_origins[out + rotated - 1] = origin;
        }
        ++rotated;
      };
      // Negligible poles: the right vector is combined with that of pole 0.
      int next = 1;
      R first_z = part.z[0];
      unsigned const first_origin = part.origins[0];
      SIMT_LOOP
      for (; next < candidates && part.poles[next] <= tolerance; ++next) {
        Rotation<R> const by(first_z, part.z[next]);
        unsigned const origin = part.origins[next];
        record(origin | Origin::right_only, first_origin, by.c, by.s, part.poles[next] * by.c,
               Origin::of(Origin::column(origin), Origin::halves(0, origin), 3));
        first_z = by.r;
      }
      sync_warp();
      if (lane == 0) part.z[0] = first_z;
      for (int k = 1 + lane; k < next; k += 32) part.origins[k] = Origin::nothing;
      // Nearly equal poles
      SIMT_LOOP
      while (next + 1 < candidates) {
        int const i = next + lane;
        bool const is = i + 1 < candidates;
        bool const near = is && StedcPart<R>::are_near(tolerance, part.poles[is ? i : 0], part.z[is ? i : 0], part.poles[is ? i + 1 : 0],
                                                       part.z[is ? i + 1 : 0]);
        unsigned const all_near = ballot(near);
        if (all_near == 0) {
          next += 32;
          continue;
        }
        int const held = next + lowest_bit(all_near);
        R pole = part.poles[held], element = part.z[held];
        unsigned origin = part.origins[held];
        int j = held + 1;
        SIMT_LOOP
        for (; j < candidates; ++j) {
          R const next_pole = part.poles[j], next_element = part.z[j];
          unsigned const next_origin = part.origins[j];
          if (!StedcPart<R>::are_near(tolerance, pole, element, next_pole, next_element)) break;
          R const apart = next_pole - pole;
          Rotation<R> const by(next_element, element);
          unsigned const halves = Origin::all_halves(origin) | Origin::all_halves(next_origin);
          record(origin, next_origin, by.c, by.s, multiply_add(apart, by.s * by.s, pole),
                 static_cast<unsigned>(Origin::column(origin)) | halves);
          pole = multiply_add(apart, by.c * by.c, pole);
          element = by.r;
          origin = static_cast<unsigned>(Origin::column(next_origin)) | halves;
        }
        sync_warp();  // all lanes have read the elements that are now overwritten
        for (int k = held + lane; k < j - 1; k += 32) part.origins[k] = Origin::nothing;
        if (lane == 0) {
          part.poles[j - 1] = pole;
          part.z[j - 1] = element;
          part.origins[j - 1] = origin;
        }
        sync_warp();
        next = j;
      }
      if (lane == 0) rotations = rotated;
    }
    sync_block();
    int const rotated = size == 0 ? 0 : rotations;
    out += rotated;  // with the null vector of the merge

    StedcMerge const merge = stedc_group(part, places, candidates, out, rotated, [](unsigned origin) { return Origin::halves(1, origin); });
    int const count = merge.count;
    unsigned* const sources = work.sources + work.at_more(part.of);
    R* const values = work.values + work.at(part.of);
    for (int k = thread; k < out; k += stedc_threads) {
      bool const is_null = k == out - 1;
      sources[merge.terms + k] = is_null ? part.origins[size - 1] : out_origins[k];
      values[count + k] = is_null ? R(0) : out_values[k];
    }
    if (thread == 0) {
      part.merge() = merge;
      // Pole 0 is not deflated. A negligible element would make it equal to a root.
      if (count > 1) part.z[0] = larger(part.z[0], tolerance);
      int const upper = part.upper_columns();
      for (int side = 0; side < 2; ++side)
        for (int half = 0; half < 2; ++half) {
          R* const gathered = work.columns(side, part.of);
          R* const elements = work.matrix(side, part.of);
          R* const vectors = work.vectors(side, part.of);
          Index const k = 4 * at + 2 * side + half;
          work.a[k] = half == 0 ? gathered : gathered + upper + merge.both * work.ld;
          work.b[k] = half == 0 ? elements : elements + merge.both;
          work.c[k] = half == 0 ? vectors : vectors + upper;
          work.product_rows[k] = half == 0 ? upper : size - upper;
          work.product_terms[k] = half == 0 ? merge.lower : merge.terms - merge.both;
          work.product_columns[k] = count;
        }
    }
    sync_block();
  }
}

/// Rotates pairs of columns of U and V in order; one row per thread.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_rotate(BdsdcWork<R> const work) {
  using namespace simt;
  using Origin = BdsdcOrigin;
  Index const chunks = ceil_div(work.most, stedc_threads);
  for (Index at = block_index(); at < 2 * chunks * work.all_problems(); at += block_count()) {
    int const side = static_cast<int>(at % 2);
    BdsdcPart<R> const part(work, work.problem(at / 2 / chunks));
    int const i = static_cast<int>(at / 2 % chunks) * stedc_threads + thread_index();
    if (i >= part.size) continue;
    int const rotations = part.merge().rotations;
    unsigned const half = i < part.upper_columns() ? 1 : 2;
    R* const row = work.vectors(side, part.of) + i;
    Index const first = work.at(part.of);
    R held = R(0);
    int held_column = -1;
    SIMT_LOOP
    for (int r = 0; r < rotations; ++r) {
      unsigned const out = work.rotated_out[first + r], kept = work.rotated[first + r];
      if (side == 0 && (out & Origin::right_only) != 0) continue;
      R const c = work.cosines[first + r], s = work.sines[first + r];
      int const column = Origin::column(out), kept_column = Origin::column(kept);
      auto const load = [&](unsigned origin, int from) { return (Origin::halves(side, origin) & half) != 0 ? row[from * work.ld] : R(0); };
      // A column is held while it takes part in rotations one after the other.
      R const x = held_column == column ? held : load(out, column), y = held_column == kept_column ? held : load(kept, kept_column);
      if (held_column >= 0 && held_column != column && held_column != kept_column) row[held_column * work.ld] = held;
      row[column * work.ld] = multiply_add(c, x, -s * y);
      held = multiply_add(c, y, s * x);
      held_column = kept_column;
    }
    if (held_column >= 0) row[held_column * work.ld] = held;
  }
}

/// Copies columns of the vectors in the order of StedcMerge, one per warp.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_gather(BdsdcWork<R> const work) {
  using namespace simt;
  using Origin = BdsdcOrigin;
  Index const chunks = ceil_div(work.most + 4, stedc_warps);
  for (Index at = block_index(); at < 2 * chunks * work.all_problems(); at += block_count()) {
    int const side = static_cast<int>(at % 2);
    BdsdcPart<R> const part(work, work.problem(at / 2 / chunks));
    if (part.size == 0) continue;
    StedcMerge const merge = part.merge();
    int const j = static_cast<int>(at / 2 % chunks) * stedc_warps + thread_index() / 32, upper = part.upper_columns();
    if (j >= merge.columns) continue;
    unsigned const source = work.sources[work.at_more(part.of) + j], halves = Origin::halves(side, source);
    R const* const from = work.vectors(side, part.of) + Origin::column(source) * work.ld;
    R* const to = work.columns(side, part.of) + j * work.ld;
    // Columns of one half are not used in the product of the other.
    int const begin = j < merge.lower || j >= merge.terms ? 0 : upper, end = j < merge.both ? upper : part.size;
    SIMT_UNROLL_BY(8)
    for (int i = begin + lane_index(); i < end; i += 32) to[i] = (halves & (i < upper ? 1u : 2u)) != 0 ? from[i] : R(0);
  }
}

/// Roots of the secular equations.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_roots(BdsdcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most, bdsdc_roots_of_block);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    BdsdcPart<R> const part(work, work.problem(at / chunks));
    int const j = static_cast<int>(at % chunks) * bdsdc_roots_of_block + thread_index() / bdsdc_lanes_of_root;
    int const lane = thread_index() % bdsdc_lanes_of_root;
    bool const is = part.size > 0 && j < part.merge().count;
    if (ballot(is) == 0) continue;
    auto const secular = part.equation();
    R const offset = secular.root(is ? j : 0, is, lane);
    if (!is || lane != 0) continue;
    R const pole = part.poles[secular.origin(j, offset)], square = multiply_add(pole, pole, offset);
    R const value = square > R(0) ? square * reciprocal_square_root(square) : R(0);
    work.offsets[work.at(part.of) + j] = offset;
    work.values[work.at(part.of) + j] = secular.count == 1 ? part.z[0] : multiply_add(offset, reciprocal(pole + value), pole);
  }
}

/// The z for which the computed roots are exact (Gu and Eisenstat 1995).
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_fit(BdsdcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most, bdsdc_roots_of_block);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    BdsdcPart<R> const part(work, work.problem(at / chunks));
    int const i = static_cast<int>(at % chunks) * bdsdc_roots_of_block + thread_index() / bdsdc_lanes_of_root;
    int const lane = thread_index() % bdsdc_lanes_of_root;
    bool const is = part.size > 0 && i < part.merge().count;
    if (ballot(is) == 0) continue;
    R const element = part.equation().element_for_roots(work.offsets + work.at(part.of), is ? i : 0, is, lane);
    if (is && lane == 0) part.z[i] = copy_sign(element, part.z[i]);
  }
}

/// The vectors of the merges, with rows in the order of StedcMerge; a warp has column j of U and of V. Also copies deflated columns to
/// their places.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_vectors(BdsdcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most, stedc_warps);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    BdsdcPart<R> const part(work, work.problem(at / chunks));
    int const j = static_cast<int>(at % chunks) * stedc_warps + thread_index() / 32;
    if (j >= part.size) continue;
    StedcMerge const merge = part.merge();
    if (j >= merge.count) {
      for (int side = 0; side < 2; ++side) {
        R const* const from = work.columns(side, part.of) + (merge.terms + j - merge.count) * work.ld;
        R* const to = work.vectors(side, part.of) + j * work.ld;
        SIMT_UNROLL_BY(8)
        for (int i = lane_index(); i < part.size; i += 32) to[i] = from[i];
      }
      continue;
    }
    // Right: z_i / (d_i^2 - s^2). Left: d_i times that, and -1 for pole 0. A single pole has the unit vector in both.
    auto const secular = part.equation();
    R const offset = work.offsets[work.at(part.of) + j];
    auto const origin_pole = secular.poles[secular.origin(j, offset)];
    bool const single = merge.count == 1;
    auto const ratio = [&](int i) { return single ? R(-1) : secular.z[i] * reciprocal((secular.poles[i] - origin_pole) - offset); };
    auto const left_of = [&](int i, R right) { return i == 0 ? R(-1) : part.poles[i] * right; };
    R right_squares = R(0), left_squares = R(0);
    SIMT_UNROLL_BY(2)
    for (int i = lane_index(); i < merge.count; i += 32) {
      R const right = ratio(i), left = left_of(i, right);
      right_squares = multiply_add(right, right, right_squares);
      left_squares = multiply_add(left, left, left_squares);
    }
    R const right_scale = reciprocal_square_root(sum_of_lanes<32>(right_squares));
    R const left_scale = reciprocal_square_root(sum_of_lanes<32>(left_squares));
    int const* const rows = work.rows + work.at_more(part.of);
    R* const to_u = work.matrix(0, part.of) + j * work.ld;
    R* const to_v = work.matrix(1, part.of) + j * work.ld;
    SIMT_UNROLL_BY(4)
    for (int r = lane_index(); r < merge.terms; r += 32) {
      int const i = rows[r], some = i < 0 ? 0 : i;
      R const right = ratio(some), left = left_of(some, right);
      to_u[r] = i < 0 ? R(0) : left_scale * left;
      to_v[r] = i < 0 ? R(0) : right_scale * right;
    }
  }
}

/// Writes the order of the values, the sorted values, and info.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_order(BdsdcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.n, stedc_sorted_rows);
  for (Index at = block_index(); at < chunks * work.count; at += block_count()) {
    Index const b = at / chunks;
    int const n = work.rows_of(b), p = static_cast<int>(at % chunks) * stedc_sorted_rows + thread_index() / stedc_lanes_of_place;
    R const* const values = work.values + b * work.line;
    R const scale = work.scales[b], back = work.backs[b];
    if (n > 0 && at % chunks == 0 && thread_index() == 0 && work.info) {
      int info = 0;
      int const leaves = work.tree(b).problems(0);
      for (int leaf = 0; leaf < leaves; ++leaf) info += work.leaf_info[b * work.leaves + leaf];
      work.info[b] = back == back && scale == scale ? info : n;
    }
    bool const is = p < n;
    R const value = is ? values[p] : R(0);
    int const place = n - 1 - stedc_place(values, n, p, value);
    if (!is || thread_index() % stedc_lanes_of_place != 0) continue;
    work.order[b * work.line + place] = p;
    store_global(work.s.at(b, place, 0), scale * (back * value));
  }
}

}  // namespace myriad
