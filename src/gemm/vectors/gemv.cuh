#pragma once
/// y = alpha A x + beta y for many matrices: A through a pipeline in shared memory, one row per lane.

#include "gemm/vectors/gemv_config.cuh"

namespace myriad {

/// The copies of A and x by a group of lanes, stage after stage.
template <typename T, Gemv C>
class GemvCopies {
 public:
  /// Copies the first `rows` rows of A, whose first element is `a`, and x.
  SIMT_INLINE GemvCopies(T const* a, simt::Index line_stride, T const* x, simt::Index x_stride, int rows, int lane)
      : a_(a), x_(x), line_stride_(line_stride), x_stride_(x_stride), rows_(rows), lane_(lane) {
    // 16 bytes at a time if all lines begin at multiples of 16 bytes
    chunks_ =
        of_chunk > 1 && (reinterpret_cast<unsigned long long>(a) | static_cast<unsigned long long>(line_stride) * sizeof(T)) % 16 == 0;
  }

  /// Starts the copies of the next stage, which has `terms` terms.
  SIMT_INLINE void load(T* to, int terms) {
    int const count = by_columns ? rows_ : terms, lines = by_columns ? terms : rows_;
    // Memory behind the end of a line, in its last 16 bytes, may not belong to the matrix.
    if (chunks_ && count % of_chunk == 0)
      copy<of_chunk>(to, count, lines);
    else
      copy<1>(to, count, lines);
    SIMT_UNROLL
    for (int p = lane_; p < C.k; p += C.lanes)
      if (p < terms) simt::copy_async(to + memory.x + p, x_ + p * x_stride_);
    a_ += by_columns ? C.k * line_stride_ : C.k;
    x_ += C.k * x_stride_;
  }

 private:
  static constexpr GemvMemory memory{sizeof(T), C};
  static constexpr bool by_columns = C.a == Lines::columns;
  static constexpr int of_chunk = 16 / sizeof(T);
  static constexpr int length = by_columns ? C.rows : C.k, all_lines = by_columns ? C.k : C.rows;
  static_assert(C.rows % of_chunk == 0 && C.k % of_chunk == 0);

  /// Copies `size` elements at a time.
  template <int size>
  SIMT_INLINE void copy(T* to, int count, int lines) const {
    constexpr int of_line = length / size;
    SIMT_UNROLL_BY(8)
    for (int e = lane_; e < of_line * all_lines; e += C.lanes) {
      int const line = e / of_line, at = e % of_line * size;
      if (line >= lines || at >= count) continue;
      if constexpr (size * sizeof(T) == 16)
        simt::copy_async_16(to + (line * memory.pitch + at), a_ + (line * line_stride_ + at));
      else
        simt::copy_async(to + (line * memory.pitch + at), a_ + (line * line_stride_ + at));
    }
  }

  T const *a_, *x_;
  simt::Index line_stride_, x_stride_;
  int rows_, lane_;
  bool chunks_;
};

/// Loads 16 bytes of shared memory.
template <typename T, int count>
SIMT_INLINE void load_together(T (&to)[count], T const* from) {
  static_assert(count * sizeof(T) == sizeof(simt::Chunk));
  simt::Chunk const chunk = simt::load_chunk(from);
  memcpy(to, &chunk, sizeof(chunk));
}

/// Computes some rows of y = alpha A x + beta y of one matrix by a group of C.lanes lanes. Columns or rows of A are contiguous, as C says;
/// x and y have any stride. Each element of y is summed in the order of the columns, as by every product kernel. `ring`: C.stages *
/// GemvMemory::stage elements of shared memory at a multiple of 16 bytes, for this group alone.
///
/// Whole warps call this, also for groups without rows; before another call they meet at sync_warp().
template <typename T, Gemv C>
SIMT_INLINE void gemv_of_group(GemmArguments<T> const& args, GemvPlace const& place, T* ring) {
  using namespace simt;
  constexpr GemvMemory memory(sizeof(T), C);
  constexpr int held = ceil_div(C.rows, C.lanes), of_chunk = 16 / sizeof(T);
  constexpr bool by_columns = C.a == Lines::columns;
  int const lane = thread_index() % C.lanes, i0 = place.i0, rows = place.rows;
  Index const b = place.b;
  int const depth = args.depth == 0 || rows <= 0 ? 0 : args.a.cols_of(b);
  // All groups of a warp must reach its barriers, also those with fewer terms or none.
  int most = static_cast<int>(args.depth);
  if constexpr (C.scheduled != 0) {
    most = depth;
    SIMT_UNROLL
    for (int distance = C.lanes; distance < 32; distance *= 2) most = larger(most, shuffle_xor(most, distance));
  }

  bool const reads_y = !(args.beta == from_real<T>(0));
  T former[held];
  SIMT_UNROLL
  for (int r = 0; r < held; ++r) {
    int const i = lane + r * C.lanes;
    former[r] = reads_y && i < rows ? *args.c.at(b, i0 + i, 0) : from_real<T>(0);
  }

  bool const any = depth > 0;
  GemvCopies<T, C> copies(any ? args.a.at(b, i0, 0) : ring, any ? by_columns ? args.a.col_stride_of(b) : args.a.row_stride_of(b) : 0,
                          any ? args.b.at(b, 0, 0) : ring, any ? args.b.row_stride_of(b) : 0, rows, lane);
  T sum[held];
  SIMT_UNROLL
  for (int r = 0; r < held; ++r) sum[r] = from_real<T>(0);
  auto const row = [&](int r) { return smaller(lane + r * C.lanes, C.rows - 1); };
  auto const add = [&](int r, T const& left, T const& right) {
    sum[r] = multiply_add(conjugate_if(args.a.conjugated, left), conjugate_if(args.b.conjugated, right), sum[r]);
  };
  int part = 0, next_part = 0;
  SIMT_LOOP
  for (int first = -(C.stages - 1) * C.k; first < most; first += C.k) {
    if (first >= 0) {
      wait_copy_groups<C.stages - 2>();
      sync_warp();  // all lanes have their copies, and have used the stage that is loaded next
    }
    int const next = first + (C.stages - 1) * C.k;
    if (next < depth) copies.load(ring + next_part * memory.stage, smaller(depth - next, C.k));
    end_copy_group();
    next_part = next_part + 1 < C.stages ? next_part + 1 : 0;
    if (first < 0) continue;

    T const* const a = ring + part * memory.stage;
    T const* const x = a + memory.x;
    int const terms = smaller(depth - first, C.k);
    if (terms == C.k) {
      SIMT_UNROLL
      for (int p = 0; p < C.k; p += of_chunk) {
        T right[of_chunk], left[held][of_chunk];
        load_together(right, x + p);
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          T const* const from = a + (by_columns ? p * memory.pitch + row(r) : row(r) * memory.pitch + p);
          if constexpr (!by_columns) load_together(left[r], from);
          SIMT_UNROLL
          for (int t = 0; by_columns && t < of_chunk; ++t) left[r][t] = from[t * memory.pitch];
        }
        SIMT_UNROLL
        for (int t = 0; t < of_chunk; ++t) {
          SIMT_UNROLL
          for (int r = 0; r < held; ++r) add(r, left[r][t], right[t]);
        }
      }
    } else {
      SIMT_LOOP
      for (int p = 0; p < terms; ++p) {
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) add(r, a[by_columns ? p * memory.pitch + row(r) : row(r) * memory.pitch + p], x[p]);
      }
    }
    part = part + 1 < C.stages ? part + 1 : 0;
  }

  SIMT_UNROLL
  for (int r = 0; r < held; ++r)
    if (int const i = lane + r * C.lanes; i < rows)
      *args.c.at(b, i0 + i, 0) = gemm_element<Written::whole>(args, reads_y, false, depth, sum[r], former[r]);
}

/// Launch: blocks for args.c.count * ceil(args.c.rows / C.rows) groups, with a schedule any number, of C.threads() threads with
/// GemvMemory's bytes of dynamic shared memory.
template <typename T, Gemv C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemv(GemmArguments<T> const args) {
  using namespace simt;
  constexpr GemvMemory memory(sizeof(T), C);
  constexpr int of_warp = 32 / C.lanes;
  int const group = thread_index() / C.lanes;
  T* const ring = reinterpret_cast<T*>(shared_memory()) + group * (C.stages * memory.stage);
  GemvPlaces<C.rows, C.scheduled != 0, of_warp> const places(args);
  Index at = block_index() * C.groups() + group;
  if constexpr (C.scheduled != 0) {
    SIMT_LOOP
    for (; at - group % of_warp < places.count(args); at += block_count() * C.groups()) {
      gemv_of_group<T, C>(args, places.at(args, at, group % of_warp), ring);
      sync_warp();
    }
  } else {
    gemv_of_group<T, C>(args, places.at(args, at, group % of_warp), ring);
  }
}

}  // namespace myriad
