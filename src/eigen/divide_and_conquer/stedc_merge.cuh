#pragma once
/// Divide and conquer by the whole GPU: all merges of a level in parallel, without the products, which are gemm's.

#include "eigen/divide_and_conquer/secular.cuh"
#include "eigen/divide_and_conquer/stedc_config.cuh"

namespace myriad {
namespace simt {

/// Encodes a column of a problem and the halves in which it has elements: 1 for the upper, 2 for the lower.
inline constexpr int stedc_halves_at = 30;
SIMT_INLINE unsigned stedc_origin(int column, unsigned halves) { return static_cast<unsigned>(column) | halves << stedc_halves_at; }
SIMT_INLINE int stedc_column(unsigned origin) { return static_cast<int>(origin & ((1u << stedc_halves_at) - 1)); }
SIMT_INLINE unsigned stedc_halves(unsigned origin) { return origin >> stedc_halves_at; }
/// No column: zeros.
inline constexpr unsigned stedc_nothing = 0;

/// Prefix sum over the block: number of threads before this one, and in all, for which the condition holds. Every thread calls it.
struct StedcPlaces {
  int* of_warps;  ///< in shared memory, stedc_warps + 1 elements
  int before, all;

  SIMT_INLINE explicit StedcPlaces(int* shared) : of_warps(shared), before(0), all(0) {}
  SIMT_INLINE void find(bool is) {
    unsigned const votes = ballot(is);
    sync_block();
    if (lane_index() == 0) of_warps[thread_index() / 32] = count_bits(votes);
    sync_block();
    before = count_bits(votes & ((1u << lane_index()) - 1));
    all = 0;
    SIMT_UNROLL
    for (int w = 0; w < stedc_warps; ++w) {
      before += w < thread_index() / 32 ? of_warps[w] : 0;
      all += of_warps[w];
    }
  }
};

/// Rank of value p in ascending order, stable; counted by the lanes that share a row. All threads call this, also without a value p.
inline constexpr int stedc_lanes_of_place = stedc_threads / stedc_sorted_rows;
template <typename R>
SIMT_INLINE int stedc_place(R const* values, int size, int p, R value) {
  int place = 0;
  SIMT_UNROLL_BY(4)
  for (int other = thread_index() % stedc_lanes_of_place; p < size && other < size; other += stedc_lanes_of_place)
    place += values[other] < value || (values[other] == value && other < p) ? 1 : 0;
  SIMT_UNROLL
  for (int mask = 1; mask < stedc_lanes_of_place; mask *= 2) place += shuffle_xor(place, mask);
  return place;
}

/// A problem's merge and its parts of the arrays.
template <typename R>
struct StedcPart {
  StedcWork<R> const& work;
  StedcProblem of;
  int size;
  R *poles, *z;
  unsigned* origins;

  SIMT_INLINE StedcPart(StedcWork<R> const& all, StedcProblem const& problem)
      : work(all),
        of(problem),
        size(problem.rows()),
        poles(all.poles + all.at(problem)),
        z(all.z + all.at(problem)),
        origins(all.origins + all.at(problem)) {}
  SIMT_INLINE StedcMerge& merge() const { return work.merges[of.matrix * work.problems + of.number]; }
  SIMT_INLINE int upper_rows() const { return of.middle - of.begin; }
  template <int lanes>
  SIMT_INLINE SecularEquation<R, lanes> equation() const {
    return {poles, z, merge().count, work.strength(of)};
  }

  /// Whether a rotation that makes the first element of z zero is negligible relative to the matrix (LAPACK's laed2).
  SIMT_INLINE static bool are_near(R tolerance, R pole, R element, R next_pole, R next_element) {
    R const squares = multiply_add(next_element, next_element, element * element), apart = next_pole - pole;
    return magnitude(apart * next_element * element) <= tolerance * squares;
  }
};

/// Moves the columns that are left of `candidates` to the front and lists them by the halves in which they have elements, those of the
/// upper half padded to a multiple of four. `halves_of(origin)`: these halves. All threads call this.
template <typename Part, typename HalvesOf>
SIMT_INLINE StedcMerge stedc_group(Part const& part, StedcPlaces& places, int candidates, int out, int rotated, HalvesOf const& halves_of) {
  int const thread = thread_index();
  int count = 0;
  int of_kind[3] = {0, 0, 0};  // upper half, both, lower half
  int* const rows = part.work.rows + part.work.at_more(part.of);
  unsigned* const sources = part.work.sources + part.work.at_more(part.of);
  auto const is_kind = [](unsigned halves, int kind) { return halves == (kind == 0 ? 1u : kind == 1 ? 3u : 2u); };
  SIMT_LOOP
  for (int first = 0; first < candidates; first += stedc_threads) {
    int const i = first + thread;
    bool const is = i < candidates;
    auto const pole = part.poles[is ? i : 0], element = part.z[is ? i : 0];
    unsigned const origin = is ? part.origins[i] : stedc_nothing, halves = halves_of(origin);
    places.find(origin != stedc_nothing);
    if (origin != stedc_nothing) {
      int const to = count + places.before;
      part.poles[to] = pole;
      part.z[to] = element;
      part.origins[to] = origin;
    }
    count += places.all;
    SIMT_UNROLL
    for (int kind = 0; kind < 3; ++kind) {
      places.find(is_kind(halves, kind));
      of_kind[kind] += places.all;
    }
  }
  StedcMerge merge{};
  merge.count = count;
  merge.both = 4 * ceil_div(of_kind[0], 4);
  merge.lower = merge.both + of_kind[1];
  merge.terms = merge.lower + of_kind[2];
  merge.columns = merge.terms + out;
  merge.rotations = rotated;
  sync_block();

  int firsts[3] = {0, merge.both, merge.lower};
  SIMT_LOOP
  for (int first = 0; first < count; first += stedc_threads) {
    int const i = first + thread;
    unsigned const origin = i < count ? part.origins[i] : stedc_nothing, halves = halves_of(origin);
    SIMT_UNROLL
    for (int kind = 0; kind < 3; ++kind) {
      bool const is = is_kind(halves, kind);
      places.find(is);
      if (is) {
        rows[firsts[kind] + places.before] = i;
        sources[firsts[kind] + places.before] = origin;
      }
      firsts[kind] += places.all;
    }
  }
  if (thread < merge.both - of_kind[0]) {
    rows[of_kind[0] + thread] = -1;
    sources[of_kind[0] + thread] = stedc_nothing;
  }
  return merge;
}

}  // namespace simt

/// Sorts the values of both halves as poles, ascending. z is the last row of the upper vectors and the first row of the lower ones,
/// normalized.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_sort(StedcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most, stedc_sorted_rows);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    StedcPart<R> const part(work, work.problem(at / chunks));
    int const p = static_cast<int>(at % chunks) * stedc_sorted_rows + thread_index() / stedc_lanes_of_place;
    R const* const values = work.values + work.at(part.of);
    bool const is = p < part.size;
    R const value = values[is ? p : 0];
    int const place = stedc_place(values, part.size, p, value);
    if (!is || thread_index() % stedc_lanes_of_place != 0) continue;
    bool const upper = p < part.upper_rows();
    R const element = work.vectors(part.of)[part.upper_rows() - (upper ? 1 : 0) + p * work.ld];
    constexpr R root_of_half = R(0.70710678118654752440);
    part.poles[place] = value;
    part.z[place] = root_of_half * (!upper && work.tear(part.of) < R(0) ? -element : element);
    part.origins[place] = stedc_origin(p, upper ? 1 : 2);
  }
}

/// Deflation (LAPACK's laed2): removes poles with a negligible element of z and, of two nearly equal poles, one, after a rotation that
/// makes its element zero. Their vectors are those of the merge up to rounding. The remaining poles move to the front.
///
/// Only nearly equal neighbours need sequential work, by one warp; it records the rotations for stedc_rotate.
///
/// Launch: any number of blocks of stedc_threads threads with stedc_shared_bytes of dynamic shared memory.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_deflate(StedcWork<R> const work) {
  using namespace simt;
  int* const shared = reinterpret_cast<int*>(shared_memory());
  int& rotations = shared[stedc_warps];
  StedcPlaces places(shared);
  int const thread = thread_index(), lane = lane_index();
  for (Index at = block_index(); at < work.all_problems(); at += block_count()) {
    StedcPart<R> const part(work, work.problem(at));
    int const size = part.size;
    R const strength = size == 0 ? R(0) : work.strength(part.of), tolerance = work.tolerances[part.of.matrix];
    R* const out_values = work.out_values + work.at(part.of);
    unsigned* const out_origins = work.out_origins + work.at(part.of);

    // Negligible elements of z
    int candidates = 0, out = 0;
    SIMT_LOOP
    for (int first = 0; first < size; first += stedc_threads) {
      int const i = first + thread;
      bool const is = i < size;
      R const pole = part.poles[is ? i : 0], element = part.z[is ? i : 0];
      unsigned const origin = part.origins[is ? i : 0];
      bool const stays = is && strength * magnitude(element) > tolerance;
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
    out = size - candidates;
    sync_block();

    // Nearly equal poles
    if (thread / 32 == 0) {
      int rotated = 0;
      SIMT_LOOP
      for (int next = 0; next + 1 < candidates;) {
        int const i = next + lane;
        bool const is = i + 1 < candidates;
        bool const near =
            is && part.are_near(tolerance, part.poles[is ? i : 0], part.z[is ? i : 0], part.poles[is ? i + 1 : 0], part.z[is ? i + 1 : 0]);
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
          if (!part.are_near(tolerance, pole, element, next_pole, next_element)) break;
          R const squares = multiply_add(next_element, next_element, element * element), apart = next_pole - pole;
          R const scale = reciprocal_square_root(squares);
          R const c = next_element * scale, s = element * scale;
          unsigned const halves = stedc_halves(origin) | stedc_halves(next_origin);
          if (lane == 0) {
            Index const to = work.at(part.of) + rotated;
            work.rotated_out[to] = origin;
            work.rotated[to] = next_origin;
            work.cosines[to] = c;
            work.sines[to] = s;
            out_values[out + rotated] = multiply_add(apart, s * s, pole);
            out_origins[out + rotated] = stedc_origin(stedc_column(origin), halves);
          }
          ++rotated;
          pole = multiply_add(apart, c * c, pole);
          element = squares * scale;
          origin = stedc_origin(stedc_column(next_origin), halves);
        }
        sync_warp();  // all lanes have read the elements that are now overwritten
        for (int k = held + lane; k < j - 1; k += 32) part.origins[k] = stedc_nothing;
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
    int const rotated = rotations;
    out += rotated;

    StedcMerge const merge = stedc_group(part, places, candidates, out, rotated, [](unsigned origin) { return stedc_halves(origin); });
    int const count = merge.count;
    unsigned* const sources = work.sources + work.at_more(part.of);
    R* const values = work.values + work.at(part.of);
    for (int k = thread; k < out; k += stedc_threads) {
      sources[merge.terms + k] = out_origins[k];
      values[count + k] = out_values[k];
    }
    if (thread == 0) {
      part.merge() = merge;
      R* const gathered = work.columns(part.of);
      R* const elements = work.matrix(part.of);
      R* const vectors = work.vectors(part.of);
      int const upper = part.upper_rows();
      for (int half = 0; half < 2; ++half) {
        Index const k = 2 * at + half;
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

/// Rotates pairs of columns in order; one row per thread.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_rotate(StedcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most, stedc_threads);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    StedcPart<R> const part(work, work.problem(at / chunks));
    int const i = static_cast<int>(at % chunks) * stedc_threads + thread_index();
    if (i >= part.size) continue;
    int const rotations = part.merge().rotations;
    unsigned const half = i < part.upper_rows() ? 1 : 2;
    R* const row = work.vectors(part.of) + i;
    Index const first = work.at(part.of);
    R held = R(0);
    int held_column = -1;
    SIMT_LOOP
    for (int r = 0; r < rotations; ++r) {
      unsigned const out = work.rotated_out[first + r], kept = work.rotated[first + r];
      R const c = work.cosines[first + r], s = work.sines[first + r];
      int const column = stedc_column(out);
      R const y = (stedc_halves(kept) & half) != 0 ? row[stedc_column(kept) * work.ld] : R(0);
      R x = held;
      if (held_column != column) {
        if (held_column >= 0) row[held_column * work.ld] = held;
        x = (stedc_halves(out) & half) != 0 ? row[column * work.ld] : R(0);
      }
      row[column * work.ld] = multiply_add(c, x, -s * y);
      held = multiply_add(c, y, s * x);
      held_column = stedc_column(kept);
    }
    if (held_column >= 0) row[held_column * work.ld] = held;
  }
}

/// Copies columns of the vectors in the order of StedcMerge, one per warp.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_gather(StedcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most + 4, stedc_warps);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    StedcPart<R> const part(work, work.problem(at / chunks));
    if (part.size == 0) continue;
    StedcMerge const merge = part.merge();
    int const j = static_cast<int>(at % chunks) * stedc_warps + thread_index() / 32, upper = part.upper_rows();
    if (j >= merge.columns) continue;
    unsigned const source = work.sources[work.at_more(part.of) + j], halves = stedc_halves(source);
    R const* const from = work.vectors(part.of) + stedc_column(source) * work.ld;
    R* const to = work.columns(part.of) + j * work.ld;
    // Columns of one half are not used in the product of the other.
    int const begin = j < merge.lower || j >= merge.terms ? 0 : upper, end = j < merge.both ? upper : part.size;
    SIMT_UNROLL_BY(8)
    for (int i = begin + lane_index(); i < end; i += 32) to[i] = (halves & (i < upper ? 1u : 2u)) != 0 ? from[i] : R(0);
  }
}

/// Roots of the secular equations, one warp each.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_roots(StedcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most, stedc_warps);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    StedcPart<R> const part(work, work.problem(at / chunks));
    int const j = static_cast<int>(at % chunks) * stedc_warps + thread_index() / 32;
    if (part.size == 0 || j >= part.merge().count) continue;
    SecularEquation<R, 32> const secular = part.template equation<32>();
    R const offset = secular.root(j, true, lane_index());
    if (lane_index() != 0) continue;
    work.offsets[work.at(part.of) + j] = offset;
    work.values[work.at(part.of) + j] = secular.poles[secular.origin(j, offset)] + offset;
  }
}

/// The z for which the computed roots are exact (Gu and Eisenstat 1995), one warp per element.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_fit(StedcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most, stedc_warps);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    StedcPart<R> const part(work, work.problem(at / chunks));
    int const i = static_cast<int>(at % chunks) * stedc_warps + thread_index() / 32;
    if (part.size == 0 || i >= part.merge().count) continue;
    SecularEquation<R, 32> const secular = part.template equation<32>();
    R const element = secular.element_for_roots(work.offsets + work.at(part.of), i, true, lane_index());
    if (lane_index() == 0) part.z[i] = copy_sign(element, part.z[i]);
  }
}

/// The vectors of the merges, with rows in the order of StedcMerge, one warp each. Also copies deflated columns to their places.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_vectors(StedcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.most, stedc_warps);
  for (Index at = block_index(); at < chunks * work.all_problems(); at += block_count()) {
    StedcPart<R> const part(work, work.problem(at / chunks));
    int const j = static_cast<int>(at % chunks) * stedc_warps + thread_index() / 32;
    if (j >= part.size) continue;
    StedcMerge const merge = part.merge();
    if (j >= merge.count) {
      R const* const from = work.columns(part.of) + (merge.terms + j - merge.count) * work.ld;
      R* const to = work.vectors(part.of) + j * work.ld;
      SIMT_UNROLL_BY(8)
      for (int i = lane_index(); i < part.size; i += 32) to[i] = from[i];
      continue;
    }
    SecularEquation<R, 32> const secular = part.template equation<32>();
    R const offset = work.offsets[work.at(part.of) + j], origin_pole = secular.poles[secular.origin(j, offset)];
    R const scale = secular.scale_of_vector(j, offset, true, lane_index());
    int const* const rows = work.rows + work.at_more(part.of);
    R* const to = work.matrix(part.of) + j * work.ld;
    SIMT_UNROLL_BY(4)
    for (int r = lane_index(); r < merge.terms; r += 32) {
      int const i = rows[r];
      R const element = scale * secular.z[i < 0 ? 0 : i] * reciprocal((secular.poles[i < 0 ? 0 : i] - origin_pole) - offset);
      to[r] = i < 0 ? R(0) : element;
    }
  }
}

/// Writes the order of the values, the sorted values, and info.
///
/// Launch: any number of blocks of stedc_threads threads.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_order(StedcWork<R> const work) {
  using namespace simt;
  Index const chunks = ceil_div(work.n, stedc_sorted_rows);
  for (Index at = block_index(); at < chunks * work.count; at += block_count()) {
    Index const b = at / chunks;
    int const n = work.rows_of(b), p = static_cast<int>(at % chunks) * stedc_sorted_rows + thread_index() / stedc_lanes_of_place;
    R const* const values = work.values + b * work.line;
    R const back = work.backs[b];
    if (n > 0 && at % chunks == 0 && thread_index() == 0 && work.info) {
      int info = 0;
      int const leaves = work.leaf_info ? work.tree(b).problems(0) : 0;
      for (int leaf = 0; leaf < leaves; ++leaf) info += work.leaf_info[b * work.leaves + leaf];
      work.info[b] = back == back ? info : n;
    }
    bool const is = p < n;
    R const value = is ? values[p] : R(0);
    int const place = stedc_place(values, n, p, value);
    if (!is || thread_index() % stedc_lanes_of_place != 0) continue;
    work.order[b * work.line + place] = p;
    store_global(work.w.at(b, place, 0), work.scales[b] * (back * value));
  }
}

}  // namespace myriad
