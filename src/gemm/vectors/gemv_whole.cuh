#pragma once
/// y = alpha A x + beta y for many matrices with short rows, or small ones: whole rows in shared memory, one row per lane.

#include "gemm/vectors/gemv_config.cuh"

namespace myriad {

/// The copies of a warp.
template <typename T, GemvWhole C>
class GemvWholeCopies {
  static constexpr GemvWholeMemory memory{sizeof(T), C};
  static constexpr int of_chunk = 16 / sizeof(T), lane_count = 32;

 public:
  /// Starts the copies of `rows` rows of `terms` elements (by columns in one piece: of all of the matrix), and returns the address of the
  /// first one in shared memory. Everything between `begin` and `end` in their 16-byte chunks may be read, too.
  SIMT_INLINE static T const* load(T* to, T const* first, simt::Index row_stride, int rows, int terms, T const* begin, T const* end) {
    using namespace simt;
    int const lane = lane_index();
    auto const address = reinterpret_cast<unsigned long long>(first);
    if constexpr (C.in_one_piece != 0) {
      int const phase = static_cast<int>(address % 16 / sizeof(T));
      T const* const from = first - phase;
      int const count = rows * C.k, chunks = ceil_div(phase + count, of_chunk);
      constexpr int steps = ceil_div(ceil_div(C.rows * C.k + of_chunk - 1, of_chunk), lane_count);
      SIMT_UNROLL_BY(8)
      for (int s = 0; s < steps; ++s) {
        int const c = lane + s * lane_count;
        if (c >= chunks) continue;
        T const* const chunk = from + c * of_chunk;
        if (chunk >= begin && chunk + of_chunk <= end) {
          copy_async_16(to + c * of_chunk, chunk);
        } else {
          SIMT_LOOP
          for (int e = 0; e < of_chunk; ++e)
            if (chunk + e >= first && chunk + e < first + count) copy_async<T>(to + c * of_chunk + e, chunk + e);
        }
      }
      return to + phase;
    } else {
      if (of_chunk > 1 && terms % of_chunk == 0 && (address | static_cast<unsigned long long>(row_stride) * sizeof(T)) % 16 == 0)
        load_lines<of_chunk>(to, first, row_stride, rows, terms);
      else
        load_lines<1>(to, first, row_stride, rows, terms);
      return to;
    }
  }

 private:
  template <int size>
  SIMT_INLINE static void load_lines(T* to, T const* from, simt::Index row_stride, int rows, int terms) {
    constexpr int of_line = simt::ceil_div(C.k, size);
    SIMT_UNROLL_BY(8)
    for (int e = simt::lane_index(); e < of_line * C.rows; e += lane_count) {
      int const line = e / of_line, at = e % of_line * size;
      if (line >= rows || at >= terms) continue;
      if constexpr (size > 1)
        simt::copy_async_16(to + (line * memory.pitch + at), from + (line * row_stride + at));
      else
        simt::copy_async<T>(to + (line * memory.pitch + at), from + (line * row_stride + at));
    }
  }
};

/// Computes some rows of y = alpha A x + beta y of one matrix by a warp. `shared`: GemvWholeMemory's of_warp elements of shared memory at a
/// multiple of 16 bytes. Rows of A are contiguous, or its columns where matrices are in one piece and have C.rows rows; x and y have any
/// stride. Sums are those of gemv. Before another call the lanes meet at sync_warp().
template <typename T, GemvWhole C>
SIMT_INLINE void gemv_of_warp(GemmArguments<T> const& args, GemvPlace const& place, T* shared) {
  using namespace simt;
  constexpr GemvWholeMemory memory(sizeof(T), C);
  constexpr int held = ceil_div(C.rows, 32), of_chunk = 16 / sizeof(T);
  constexpr bool by_columns = C.a == Lines::columns;
  static_assert(C.in_one_piece || !by_columns);
  int const lane = lane_index(), i0 = place.i0, rows = place.rows;
  Index const b = place.b;
  if (rows <= 0) return;
  int const depth = args.depth == 0 ? 0 : args.a.cols_of(b);

  T const* a = shared;
  T* const x = shared + memory.x;
  if (depth > 0) {
    T const* const matrix = args.a.at(b, 0, 0);
    Index const row_stride = by_columns ? 0 : args.a.row_stride_of(b);
    a = GemvWholeCopies<T, C>::load(shared, matrix + i0 * row_stride, row_stride, rows, depth, matrix, matrix + args.c.rows * C.k);
    T const* const from = args.b.at(b, 0, 0);
    Index const x_stride = args.b.row_stride_of(b);
    SIMT_UNROLL
    for (int p = 0; p < C.k; p += 32)
      if (p + lane < depth) copy_async<T>(x + p + lane, from + (p + lane) * x_stride);
  }
  bool const reads_y = !(args.beta == from_real<T>(0));
  T former[held], sum[held];
  SIMT_UNROLL
  for (int r = 0; r < held; ++r) {
    int const i = lane + r * 32;
    former[r] = reads_y && i < rows ? *args.c.at(b, i0 + i, 0) : from_real<T>(0);
    sum[r] = from_real<T>(0);
  }
  wait_copies();
  sync_warp();
  auto const add = [&](int r, T const& left, T const& right) {
    sum[r] = multiply_add(conjugate_if(args.a.conjugated, left), conjugate_if(args.b.conjugated, right), sum[r]);
  };
  constexpr int row_distance = by_columns ? 1 : memory.pitch, term_distance = by_columns ? memory.pitch : 1;
  auto const row = [&](int r) { return smaller(lane + r * 32, C.rows - 1) * row_distance; };
  int p = 0;
  SIMT_UNROLL_BY(8)
  for (; p + of_chunk <= depth; p += of_chunk) {
    Chunked<T> const right(load_chunk(x + p));
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      Chunked<T> left;
      T const* const from = a + row(r) + p * term_distance;
      if constexpr (C.in_one_piece == 0) left.chunk = load_chunk(from);
      SIMT_UNROLL
      for (int t = 0; t < of_chunk; ++t) {
        if constexpr (C.in_one_piece != 0) left.x[t] = from[t * term_distance];
        add(r, left.x[t], right.x[t]);
      }
    }
  }
  SIMT_LOOP
  for (; p < depth; ++p) {
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) add(r, a[row(r) + p * term_distance], x[p]);
  }
  SIMT_UNROLL
  for (int r = 0; r < held; ++r)
    if (int const i = lane + r * 32; i < rows)
      *args.c.at(b, i0 + i, 0) = gemm_element<Written::whole>(args, reads_y, false, depth, sum[r], former[r]);
}

/// Launch: blocks for args.c.count * ceil(args.c.rows / C.rows) warps, with a schedule any number, of C.threads() threads with
/// GemvWholeMemory's bytes of dynamic shared memory.
template <typename T, GemvWhole C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemv_whole(GemmArguments<T> const args) {
  using namespace simt;
  constexpr GemvWholeMemory memory(sizeof(T), C);
  int const warp = thread_index() / 32;
  T* const shared = reinterpret_cast<T*>(shared_memory()) + warp * memory.of_warp;
  GemvPlaces<C.rows, C.scheduled != 0, 1> const places(args);
  Index at = block_index() * C.warps + warp;
  if constexpr (C.scheduled != 0) {
    SIMT_LOOP
    for (; at < places.count(args); at += block_count() * C.warps) {
      gemv_of_warp<T, C>(args, places.at(args, at, 0), shared);
      sync_warp();
    }
  } else {
    gemv_of_warp<T, C>(args, places.at(args, at, 0), shared);
  }
}

}  // namespace myriad
