#pragma once
/// Schedules of ragged batches: the tiles of the matrices C, and those that a block computes. Sizes are in GPU memory, so the GPU makes
/// these lists.

#include "gemm/ragged/gemm_schedule_config.cuh"

namespace myriad {

/// The launch of a matrix, its place in the order of that launch's matrices, and its number of tiles.
struct GemmScheduleKind {
  int kind;  ///< 2 * launch + (1 for few terms), or -1 without tiles
  simt::Index tiles;
};
SIMT_INLINE GemmScheduleKind gemm_schedule_kind(GemmScheduleArguments const& args, simt::Index entry) {
  simt::Index rows = 0, columns = 0, terms = 0;
  SIMT_LOOP
  for (int q = 0; q < args.together; ++q) {
    simt::Index const b = entry * args.together + q;
    if (b >= args.c.count) break;
    rows = simt::larger<simt::Index>(rows, args.c.rows_of(b));
    columns = simt::larger<simt::Index>(columns, args.c.cols_of(b));
    terms = simt::larger<simt::Index>(terms, args.a.cols_of(b));
  }
  simt::Index const side = simt::larger(rows, columns);
  GemmScheduleKind out{-1, 0};
  if (rows == 0 || columns == 0) return out;
  bool const few_terms = 2 * terms <= args.a.cols;
  SIMT_UNROLL
  for (int p = gemm_schedule_parts - 1; p >= 0; --p)
    if (p < args.parts && side <= args.part[p].upto) {
      int const m = args.part[p].m, n = args.part[p].n;
      out = {2 * p + (few_terms ? 1 : 0), ((rows + m - 1) / m) * ((columns + n - 1) / n)};
    }
  return out;
}

/// Lists the matrices of each launch, those of many terms first and otherwise in order, each with the number of tiles before it. A thread
/// has neighbouring matrices and passes over them twice; in between, prefix sums give the counts of all threads in front of it.
///
/// Launch: any number of blocks of `threads` threads, cooperative if there are several, with gemm_schedule_bytes(threads) of dynamic shared
/// memory.
template <int threads>
SIMT_KERNEL void SIMT_BOUNDS(threads, 1) gemm_schedule(GemmScheduleArguments const args) {
  using namespace simt;
  constexpr int kinds = gemm_schedule_kinds, warps = threads / 32;
  int const thread = thread_index(), lane = lane_index(), warp = thread / 32;
  Index const all_threads = block_count() * threads, each = (args.count() + all_threads - 1) / all_threads;
  Index const begin = (block_index() * threads + thread) * each, end = smaller(begin + each, args.count());
  Index count[2 * kinds];  // the number of matrices of each kind, then the number of tiles of each kind
  SIMT_UNROLL
  for (int i = 0; i < 2 * kinds; ++i) count[i] = 0;
  SIMT_LOOP
  for (Index b = begin; b < end; ++b) {
    GemmScheduleKind const of_b = gemm_schedule_kind(args, b);
    SIMT_UNROLL
    for (int k = 0; k < kinds; ++k) {
      count[k] += k == of_b.kind ? 1 : 0;
      count[kinds + k] += k == of_b.kind ? of_b.tiles : 0;
    }
  }

  // Prefix sums in front of this thread: in the warp, in the block, in all blocks
  Index* const of_warps = reinterpret_cast<Index*>(shared_memory());
  Index* const of_block = of_warps + 2 * kinds * warps;  // sums in front of the block, then totals of all blocks
  SIMT_UNROLL
  for (int i = 0; i < 2 * kinds; ++i) {
    Index sum = count[i];
    SIMT_UNROLL
    for (int distance = 1; distance < 32; distance *= 2) {
      Index const other = shuffle(sum, lane - distance);
      if (lane >= distance) sum += other;
    }
    if (lane == 31) of_warps[i * warps + warp] = sum;
    count[i] = sum - count[i];
  }
  sync_block();
  if (thread < 2 * kinds) {
    Index sum = 0;
    SIMT_LOOP
    for (int w = 0; w < warps; ++w) sum += of_warps[thread * warps + w];
    args.of_blocks[thread * block_count() + block_index()] = sum;
  }
  if (block_count() > 1)
    sync_grid_once(args.counts);
  else
    sync_block();
  SIMT_LOOP
  for (int i = warp; i < 2 * kinds; i += warps) {
    Index before = 0, all = 0;
    SIMT_LOOP
    for (Index block = lane; block < block_count(); block += 32) {
      Index const of_other = args.of_blocks[i * block_count() + block];
      before += block < block_index() ? of_other : 0;
      all += of_other;
    }
    SIMT_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) {
      before += shuffle_xor(before, distance);
      all += shuffle_xor(all, distance);
    }
    if (lane == 0) of_block[i] = before, of_block[2 * kinds + i] = all;
  }
  sync_block();
  Index const* const all = of_block + 2 * kinds;
  Index listed = 0, tiles = 0;  // of the kinds in front: matrices in all launches, tiles in the same one
  SIMT_UNROLL
  for (int k = 0; k < kinds; ++k) {
    if (k % 2 == 0) {
      tiles = 0;
      if (block_index() == 0 && thread == 0 && k / 2 < args.parts)
        args.of_parts[k / 2] = {listed, all[k] + all[k + 1], all[kinds + k] + all[kinds + k + 1]};
    }
    count[k] += listed + of_block[k];
    count[kinds + k] += tiles + of_block[kinds + k];
    SIMT_LOOP
    for (int w = 0; w < warp; ++w) {
      count[k] += of_warps[k * warps + w];
      count[kinds + k] += of_warps[(kinds + k) * warps + w];
    }
    listed += all[k];
    tiles += all[kinds + k];
  }

  SIMT_LOOP
  for (Index b = begin; b < end; ++b) {
    GemmScheduleKind const of_b = gemm_schedule_kind(args, b);
    SIMT_UNROLL
    for (int k = 0; k < kinds; ++k) {
      if (k != of_b.kind) continue;
      args.starts[count[k]] = count[kinds + k];
      args.matrices[count[k]] = static_cast<int>(b);
      ++count[k];
      count[kinds + k] += of_b.tiles;
    }
  }
}

/// A tile of C: its matrix and its first element.
struct GemmPlace {
  simt::Index b;
  int i0, j0;
};

/// Finds the one of `count` listed matrices that has a tile: the last one that starts at or before it. A 32-way search: each round compares
/// 32 equally spaced starts. To be called by whole warps.
SIMT_INLINE unsigned gemm_schedule_entry(simt::Index const* starts, simt::Index count, simt::Index tile) {
  unsigned entry = 0, among = static_cast<unsigned>(count);
  SIMT_LOOP
  while (among > 1) {
    unsigned const step = (among + 31) / 32, mine = simt::lane_index() * step;
    unsigned const before = simt::count_bits(simt::ballot(mine < among && starts[entry + simt::smaller(mine, among - 1)] <= tile)) - 1;
    entry += before * step;
    among = simt::smaller(step, among - before * step);
  }
  return entry;
}

/// The m-by-n tiles of a launch, each of `together` neighbouring matrices. In a ragged batch without a schedule every matrix has as many
/// places as the largest one has tiles, and the kernel skips those without a tile.
template <int m, int n, bool scheduled, int together = 1>
class GemmPlaces {
 public:
  template <typename Arguments>
  SIMT_INLINE explicit GemmPlaces(Arguments const& args) {
    using namespace simt;
    if constexpr (scheduled) {
      part_ = *args.schedule.part;
    } else {
      down_ = (smaller(args.c.rows, args.upto) + m - 1) / m;
      tiles_ = down_ * ((smaller(args.c.cols, args.upto) + n - 1) / n);
    }
  }
  template <typename Arguments>
  SIMT_INLINE simt::Index count(Arguments const& args) const {
    if constexpr (scheduled)
      return part_.tiles;
    else
      return (args.c.count + together - 1) / together * tiles_;
  }
  /// To be called by whole warps.
  template <typename Arguments>
  SIMT_INLINE GemmPlace at(Arguments const& args, simt::Index tile) const {
    using namespace simt;
    if constexpr (scheduled) {
      Index const* const starts = args.schedule.starts + part_.first;
      unsigned const entry = part_.tiles == part_.count ? static_cast<unsigned>(tile) : gemm_schedule_entry(starts, part_.count, tile);
      Index const b = Index{args.schedule.matrices[part_.first + entry]} * together;
      int const of_matrix = static_cast<int>(tile - starts[entry]);
      int rows = args.c.rows_of(b);
      SIMT_UNROLL_BY(8)
      for (int q = 1; q < together; ++q)
        if (b + q < args.c.count) rows = larger(rows, args.c.rows_of(b + q));
      int const down = ceil_div(rows, m);
      return {b, of_matrix % down * m, of_matrix / down * n};
    } else {
      return {tile / tiles_ * together, static_cast<int>(tile % tiles_ % down_ * m), static_cast<int>(tile % tiles_ / down_ * n)};
    }
  }

 private:
  GemmSchedulePart part_{};
  simt::Index down_ = 0, tiles_ = 0;
};

/// Rows of one matrix that a part of a warp has; none if there are no more.
struct GemvPlace {
  simt::Index b;
  int i0, rows;
};

/// The parts of up to `rows` rows of a product with a vector; a warp has `of_warp` neighbouring parts at a time. In a ragged batch without
/// a schedule every matrix has as many parts as the largest one.
template <int rows, bool scheduled, int of_warp>
class GemvPlaces {
 public:
  template <typename Arguments>
  SIMT_INLINE explicit GemvPlaces(Arguments const& args) {
    if constexpr (scheduled)
      part_ = *args.schedule.part;
    else
      parts_ = (args.c.rows + rows - 1) / rows;
  }
  template <typename Arguments>
  SIMT_INLINE simt::Index count(Arguments const& args) const {
    if constexpr (scheduled)
      return part_.tiles;
    else
      return args.c.count * parts_;
  }
  /// Part number `at`, which is number `of_these` of the warp. With a schedule whole warps call this, and the warp's first part exists.
  template <typename Arguments>
  SIMT_INLINE GemvPlace at(Arguments const& args, simt::Index at, int of_these) const {
    using namespace simt;
    Index b = 0;
    int i0 = 0;
    bool const used = at < count(args);
    if constexpr (scheduled) {
      Index const* const starts = args.schedule.starts + part_.first;
      Index const first = at - of_these;
      unsigned entry = part_.tiles == part_.count ? static_cast<unsigned>(first) : gemm_schedule_entry(starts, part_.count, first);
      if constexpr (of_warp > 1) {
        // Each listed matrix has at least one part, so the parts of a warp belong to at most as many neighbours in the list.
        Index const mine = entry + lane_index() < part_.count ? starts[entry + lane_index()] : part_.tiles;
        int before = 0;
        SIMT_UNROLL
        for (int step = 16; step > 0; step /= 2)
          if (shuffle(mine, before + step) <= (used ? at : first)) before += step;
        entry += static_cast<unsigned>(before);
      }
      b = args.schedule.matrices[part_.first + entry];
      i0 = static_cast<int>((used ? at : first) - starts[entry]) * rows;
    } else if (used) {
      // 64-bit division would take as long as a small matrix.
      bool const few = count(args) < 0x100000000ll;
      b = few ? static_cast<unsigned>(at) / static_cast<unsigned>(parts_) : at / parts_;
      i0 = static_cast<int>(at - b * parts_) * rows;
    }
    return {b, i0, used && args.c.cols_of(b) > 0 ? smaller(args.c.rows_of(b) - i0, rows) : 0};
  }

 private:
  GemmSchedulePart part_{};
  simt::Index parts_ = 0;
};

}  // namespace myriad
