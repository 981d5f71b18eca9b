#pragma once
/// Triangular solves with many right-hand sides, row by row: a lane has whole right-hand sides.

#include "trsm/trsm_columns.cuh"
#include "trsm/trsm_panels_config.cuh"

namespace myriad {

/// The right-hand sides of a warp in shared memory, one per lane.
template <typename T, TrsmPanels C>
class TrsmPanelsRightSides {
  static constexpr TrsmPanelsMemory memory{sizeof(simt::Real<T>), simt::is_complex<T>, C};
  static constexpr TrsmColumnsMemory of_triangle = trsm_columns_memory<T>(C.triangle());
  static constexpr int of_chunk = 16 / sizeof(T), panel = of_triangle.panel, all = C.columns_of_warp();
  static_assert(panel % of_chunk == 0);
  using Triangle = TrsmTriangle<T, C.triangle()>;

 public:
  SIMT_INLINE explicit TrsmPanelsRightSides(char* shared)
      : x_(reinterpret_cast<T*>(shared + memory.right) + simt::thread_index() / 32 * (all * memory.pitch)) {}

  /// Starts loading columns from `first` on of a matrix.
  SIMT_INLINE void load(simt::Matrices<T> const& b, simt::Index number, int first, int rows, int columns) {
    move(
        b, number, first, rows, columns, [](T* shared, T* global) { simt::copy_async<T>(shared, global); },
        [](T* shared, T* global) { simt::copy_async_16(shared, global); });
  }
  SIMT_INLINE void store(simt::Matrices<T> const& b, simt::Index number, int first, int rows, int columns) {
    move(
        b, number, first, rows, columns, [](T* shared, T* global) { simt::store_global(global, *shared); },
        [](T* shared, T* global) { simt::store_global(reinterpret_cast<simt::Chunk*>(global), simt::load_chunk(shared)); });
  }
  SIMT_INLINE void clear(int rows) {
    SIMT_LOOP
    for (int i = 0; i < rows; ++i) column()[i] = simt::from_real<T>(0);
  }

  /// Substitution by panels of rows: subtracts the contributions of solved rows, in order, and then solves with the panel's triangle.
  SIMT_INLINE void substitute(Triangle const& a, T alpha, int rows) {
    using namespace simt;
    int const panels = ceil_div(rows, panel);
    SIMT_LOOP
    for (int round = 0; round < panels; ++round) {
      int const p = C.lower ? round : panels - 1 - round, first = p * panel;
      T x[panel];
      read(x, column() + first);
      SIMT_UNROLL
      for (int i = 0; i < panel; ++i) x[i] = first + i < rows ? alpha * x[i] : from_real<T>(0);
      SIMT_LOOP
      for (int turn = 0; turn < round; ++turn) {
        int const solved = C.lower ? turn : panels - 1 - turn, pitch = of_triangle.pitch(solved);
        T const* const factors = a.address(solved, 0, first);
        SIMT_UNROLL
        for (int step = 0; step < panel; step += of_chunk) {
          int const begin = C.lower ? step : panel - of_chunk - step;
          T solution[of_chunk];
          read(solution, column() + solved * panel + begin);
          SIMT_UNROLL
          for (int e = 0; e < of_chunk; ++e) {
            int const k = C.lower ? e : of_chunk - 1 - e;
            T factor[panel];
            read(factor, factors + (begin + k) * pitch);
            SIMT_UNROLL
            for (int i = 0; i < panel; ++i) x[i] = subtract_product(x[i], factor[i], solution[k]);
          }
        }
      }
      SIMT_UNROLL
      for (int step = 0; step < panel; ++step) {
        int const k = C.lower ? step : panel - 1 - step;
        T factor[panel];
        read(factor, a.address(p, k, first));
        // Beyond the matrix is the identity.
        if (first + k < rows) x[k] = (a.scale(first + k) * x[k]) * a.reciprocal(first + k);
        SIMT_UNROLL
        for (int i = C.lower ? k + 1 : 0; i < (C.lower ? panel : k); ++i) x[i] = subtract_product(x[i], factor[i], x[k]);
      }
      SIMT_UNROLL
      for (int i = 0; i < panel; i += of_chunk) {
        Chunked<T> part;
        SIMT_UNROLL
        for (int e = 0; e < of_chunk; ++e) part.x[e] = x[i + e];
        store_chunk(column() + first + i, part.chunk);
      }
    }
  }

 private:
  SIMT_INLINE T* column() const { return x_ + simt::lane_index() * memory.pitch; }
  template <int count>
  SIMT_INLINE static void read(T (&to)[count], T const* from) {
    SIMT_UNROLL
    for (int e = 0; e < count; e += of_chunk) {
      simt::Chunked<T> const part(simt::load_chunk(from + e));
      SIMT_UNROLL
      for (int i = 0; i < of_chunk; ++i) to[e + i] = part.x[i];
    }
  }
  /// Calls move_element or move_chunk (in shared memory, in memory), with lanes along columns, or along rows if these have unit stride.
  template <typename MoveElement, typename MoveChunk>
  SIMT_INLINE void move(simt::Matrices<T> const& b, simt::Index number, int first, int rows, int columns, MoveElement move_element,
                        MoveChunk move_chunk) {
    using namespace simt;
    Index const row_stride = b.row_stride_of(number), column_stride = b.col_stride_of(number);
    T* const matrix = b.at(number, 0, 0) + first * column_stride;
    int const lane = lane_index(), count = smaller(columns - first, all);
    if (rows % of_chunk == 0 && trsm_columns_of_chunks(matrix, row_stride, column_stride)) {
      constexpr int of_line = C.n / of_chunk;
      SIMT_UNROLL_BY(4)
      for (int e = lane; e < of_line * all; e += 32) {
        int const j = e / of_line, i = e % of_line * of_chunk;
        if (i < rows && j < count) move_chunk(x_ + (j * memory.pitch + i), matrix + (j * column_stride + i));
      }
    } else if (row_stride == 1) {
      int i = lane, j = 0;
      SIMT_UNROLL_BY(4)
      for (int e = lane; e < rows * count; e += 32, i += 32) {
        while (i >= rows) {
          i -= rows;
          ++j;
        }
        move_element(x_ + (j * memory.pitch + i), matrix + (j * column_stride + i));
      }
    } else {
      SIMT_UNROLL_BY(4)
      for (int i = 0; i < rows; ++i)
        if (lane < count) move_element(x_ + (lane * memory.pitch + i), matrix + (i * row_stride + lane * column_stride));
    }
  }

  T* x_;
};

/// Divisions and sums are those of trsm_tiny, in the same order.
///
/// Launch: any number of blocks of C.threads() threads with TrsmPanelsMemory's bytes of dynamic shared memory.
template <typename T, TrsmPanels C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) trsm_panels(TrsmColumnsArguments<T> const args) {
  using namespace simt;
  TrsmTriangle<T, C.triangle()> triangle(shared_memory());
  TrsmPanelsRightSides<T, C> x(shared_memory());
  Index const all = args.b.count * args.parts;
  bool const reads_a = !(args.alpha == from_real<T>(0));
  for (Index at = block_index(); at < all; at += block_count()) {
    Index const b = args.parts == 1 ? at : at / args.parts, begin = (at - b * args.parts) * args.columns_of_block;
    int const rows = args.b.rows_of(b);
    int const columns = static_cast<int>(smaller<Index>(args.b.cols_of(b), begin + args.columns_of_block));
    if (rows == 0 || columns <= begin) continue;  // of a ragged batch
    if (reads_a) triangle.load(args.a, b, rows);
    int first = static_cast<int>(begin) + shuffle(thread_index() / 32, 0) * C.columns_of_warp();
    SIMT_LOOP
    for (bool prepared = false;; first += C.warps * C.columns_of_warp()) {
      if (reads_a && first < columns) x.load(args.b, b, first, rows, columns);
      wait_copies();
      sync_warp();
      if (!prepared && reads_a) {
        sync_block();
        if (args.unit || args.a.conjugated) {
          triangle.change(rows, args.a.conjugated, args.unit);
          sync_block();
        }
        triangle.invert_diagonal(rows);
        sync_block();
        prepared = true;
      }
      if (first >= columns) break;
      if (reads_a)
        x.substitute(triangle, args.alpha, rows);
      else
        x.clear(rows);
      sync_warp();
      x.store(args.b, b, first, rows, columns);
      sync_warp();
    }
    if (at + block_count() < all) sync_block();
  }
}

}  // namespace myriad
