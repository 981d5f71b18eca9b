#pragma once
/// C = alpha A B + beta C for matrices of 16-bit numbers that are larger than a block holds, by the warpgroups of compute capability 9.0,
/// which multiply what is in shared memory while copies go on.

#include "gemm/gemm_halves_blocks.cuh"
#include "gemm/gemm_halves_warpgroups_config.cuh"

namespace myriad {

/// Up to `lines` lines (rows of A, columns of B) of up to k terms, for products.
template <typename T, bool by_terms, int lines, int k, int threads>
struct GemmHalvesOperand {
  static constexpr GemmHalvesSpans spans{by_terms, lines, k};
  static constexpr int of_span = spans.length / 2, of_chunk = 8;

  /// Starts to bring the first `terms` terms of the first `count` lines; terms beyond are zero. `stride` elements are from line to line, or
  /// from term to term; as many elements as they and the address admit are moved at once. Nothing else is read.
  SIMT_INLINE static void bring(char* to, T const* from, simt::Index stride, int count, int terms) {
    auto const alignment = reinterpret_cast<unsigned long long>(from) | static_cast<unsigned long long>(stride) * sizeof(T);
    if (alignment % 16 == 0)
      bring_by<8>(to, from, stride, count, terms);
    else if (alignment % 8 == 0)
      bring_by<4>(to, from, stride, count, terms);
    else if (alignment % 4 == 0)
      bring_by<2>(to, from, stride, count, terms);
    else
      bring_by<1>(to, from, stride, count, terms);
  }
  /// A or B in a part of the ring from line `first` on, a multiple of 64, for the first product of 16 terms; the next one's is
  /// to_next_terms bytes further on.
  SIMT_INLINE static simt::ProductOperand operand(char const* part, int first) {
    return simt::product_operand(part + first / 64 * to_next_lines, spans.length, 8 * spans.length, by_terms ? to_next_lines : 0);
  }
  static constexpr int to_next_terms = by_terms ? 16 * spans.length : 32;

 private:
  static constexpr int to_next_lines = by_terms ? k * spans.length : 64 * spans.length;

  template <int unit>
  SIMT_INLINE static void bring_by(char* to, T const* from, simt::Index stride, int count, int terms) {
    constexpr int pieces = of_span / unit, at_once = threads / pieces;
    // By terms, 64 lines after the other; else all lines at once.
    constexpr int in_a_row = by_terms ? k : spans.count, steps = simt::ceil_div(in_a_row, at_once);
    static_assert(threads % pieces == 0);
    // What follows from it is not to be kept in registers, of which sums take most.
    int const thread = static_cast<int>(simt::unknown(static_cast<unsigned>(simt::thread_index())));
    int const first = thread / pieces, element = thread % pieces * unit;
    T const* const of_thread = from + (first * stride + element);
    auto const bring_piece = [&](int lines_before, int span, T const* piece) {
      if (in_a_row % at_once != 0 && span >= in_a_row) return;
      if ((by_terms ? lines_before + element : span) >= count) return;
      int const inside = by_terms ? (span < terms ? count - lines_before - element : 0) : terms - element;
      T const* const place_in_memory = inside > 0 ? piece : from;
      int const chunk = GemmHalvesSpans::place(spans.length, (by_terms ? lines_before / of_span * k : 0) + span, element / of_chunk);
      T* const place = reinterpret_cast<T*>(to + chunk) + element % of_chunk;
      if constexpr (unit == 1) {
        T const x = simt::load_global(place_in_memory);  // of what is not there too, so that no load waits for another
        *place = inside > 0 ? x : T{};
      } else {
        simt::copy_async_part<unit>(place, place_in_memory, simt::smaller(simt::larger(inside, 0), unit));
      }
    };
    SIMT_UNROLL
    for (int lines_before = 0; lines_before < (by_terms ? lines : 1); lines_before += of_span) {
      T const* piece = of_thread + lines_before;
      auto const next = [&](int s) {
        bring_piece(lines_before, first + s * at_once, piece);
        piece += at_once * stride;
      };
      if constexpr (unit == 8) {
        SIMT_UNROLL
        for (int s = 0; s < steps; ++s) next(s);
      } else {
        SIMT_UNROLL_BY(4)
        for (int s = 0; s < steps; ++s) next(s);
      }
    }
  }
};

/// What one block does.
template <typename T, typename Output, GemmHalvesWarpgroups C>
class GemmWarpgroups {
 public:
  static constexpr GemmHalvesWarpgroupsMemory memory{sizeof(Output), C};
  static constexpr int columns = C.columns();
  static_assert(sizeof(T) == 2 && !simt::is_complex<T> && C.m % 8 == 0 && C.n % 8 == 0 && columns <= 256 && C.stages > 1);
  static_assert((C.k == 32 || C.k == 64) && memory.a.bytes() % 1024 == 0 && memory.b.bytes() % 1024 == 0);

  SIMT_INLINE explicit GemmWarpgroups(GemmArguments<T, Output> const& args)
      : args_(args),
        down_(static_cast<int>((simt::smaller(args.c.rows, args.upto) + C.m - 1) / C.m)),
        tiles_(down_ * static_cast<int>((simt::smaller(args.c.cols, args.upto) + C.n - 1) / C.n)) {}

  SIMT_INLINE void run() {
    Place now{simt::block_index() / tiles_, static_cast<int>(simt::block_index() % tiles_)};
    next_ = now;
    find_next();
    int part = 0, first_step = 1 - C.stages;  // before the first tile parts are to be filled
    SIMT_LOOP
    for (; now.matrix < args_.c.count; advance(now)) {
      Tile const tile = tile_at(now);
      if (tile.rows <= 0) continue;
      Output* const to = args_.c.at(now.matrix, tile.i0, tile.j0);
      simt::Index const stride = args_.c.row_stride_of(now.matrix);
      if (tile.depth <= 0) {
        scale(to, stride, tile);
        continue;
      }
      bool const reads_c = !(args_.beta == 0);
      Output* const c = reinterpret_cast<Output*>(simt::shared_memory() + memory.c);
      int const steps = simt::ceil_div(tile.depth, C.k);
      float sum[columns / 2];
      SIMT_UNROLL
      for (int i = 0; i < columns / 2; ++i) sum[i] = 0;
      SIMT_LOOP
      for (int step = first_step; step < steps; ++step) {
        if (step >= 0) {
          simt::wait_copy_groups<C.stages - 2>();
          simt::show_to_products();
          // So that all threads have their copies, have stored from the tile of C before, and need no longer the part before, which is next
          // to be brought.
          simt::sync_block();
          multiply(sum, simt::shared_memory() + part * memory.stage);
          part = part + 1 < C.stages ? part + 1 : 0;
        }
        if (step == 0 && reads_c) bring_c(c, to, stride, tile, now.matrix);
        bring_next();
        simt::wait_products(sum);
      }
      first_step = 0;
      // C came with the part that was asked for in the first step.
      if (steps < C.stages) {
        simt::wait_copies();
        simt::sync_block();
      }
      // With constants
      if (reads_c)
        update<true>(sum, c, to, stride, tile);
      else
        update<false>(sum, c, to, stride, tile);
      simt::sync_block();
      LinesOfC::store(c, to, stride, tile.columns, tile.rows);
    }
    simt::wait_copies();
  }

 private:
  using OperandA = GemmHalvesOperand<T, C.a == Lines::columns, 64 * C.warpgroups(), C.k, C.threads()>;
  using OperandB = GemmHalvesOperand<T, C.b == Lines::rows, columns, C.k, C.threads()>;
  using LinesOfC = GemmLines<Output, C.n, C.m, memory.c_pitch, C.threads()>;

  /// A tile by its number: the matrix, and the tile of it.
  struct Place {
    simt::Index matrix;
    int tile;
  };
  /// Rows and columns of C, and terms; no rows where there is no such tile, in a ragged batch.
  struct Tile {
    int i0, j0, rows, columns, depth;
  };
  SIMT_INLINE void advance(Place& place) const {
    auto const further = static_cast<unsigned>(place.tile) + static_cast<unsigned>(simt::block_count());
    auto const tiles = static_cast<unsigned>(tiles_);
    place.matrix += further / tiles;
    place.tile = static_cast<int>(further % tiles);
  }
  SIMT_INLINE Tile tile_at(Place const& place) const {
    int const i0 = place.tile % down_ * C.m, j0 = place.tile / down_ * C.n;
    int const all_rows = args_.c.rows_of(place.matrix), all_columns = args_.c.cols_of(place.matrix);
    int const side = simt::larger(all_rows, all_columns);
    int const rows = simt::smaller(all_rows - i0, C.m), columns_of_tile = simt::smaller(all_columns - j0, C.n);
    bool const there = rows > 0 && columns_of_tile > 0 && side > args_.above && side <= args_.upto;
    return {i0, j0, there ? rows : 0, columns_of_tile, args_.depth == 0 ? 0 : args_.a.cols_of(place.matrix)};
  }

  /// Goes on from next_ to a tile that has terms, if there is one, for bring_next.
  SIMT_INLINE void find_next() {
    SIMT_LOOP
    for (; next_.matrix < args_.c.count; advance(next_)) {
      Tile const tile = tile_at(next_);
      if (tile.rows <= 0 || tile.depth <= 0) continue;
      next_rows_ = tile.rows, next_columns_ = tile.columns, next_terms_ = tile.depth;
      next_a_ = args_.a.at(next_.matrix, tile.i0, 0);
      next_b_ = args_.b.at(next_.matrix, 0, tile.j0);
      return;
    }
  }
  /// Starts to bring the next terms of A and B that there is a part of the ring for; these are a group of copies, which may be empty.
  SIMT_INLINE void bring_next() {
    if (next_.matrix < args_.c.count) {
      char* const to = simt::shared_memory() + next_part_ * memory.stage;
      constexpr bool a_by_terms = C.a == Lines::columns, b_by_terms = C.b == Lines::rows;
      simt::Index const a_stride = a_by_terms ? args_.a.col_stride_of(next_.matrix) : args_.a.row_stride_of(next_.matrix);
      simt::Index const b_stride = b_by_terms ? args_.b.row_stride_of(next_.matrix) : args_.b.col_stride_of(next_.matrix);
      int const terms = simt::smaller(next_terms_, C.k);
      OperandA::bring(to, next_a_, a_stride, next_rows_, terms);
      OperandB::bring(to + memory.a.bytes(), next_b_, b_stride, next_columns_, terms);
      next_a_ += a_by_terms ? C.k * a_stride : C.k;
      next_b_ += b_by_terms ? C.k * b_stride : C.k;
      next_terms_ -= C.k;
      next_part_ = next_part_ + 1 < C.stages ? next_part_ + 1 : 0;
      if (next_terms_ <= 0) {
        advance(next_);
        find_next();
      }
    }
    simt::end_copy_group();
  }
  SIMT_INLINE void bring_c(Output* c, Output const* from, simt::Index stride, Tile const& tile, simt::Index matrix) const {
    Output const* const begin = args_.c.at(matrix, 0, 0);
    Output const* const end = args_.c.at(matrix, args_.c.rows_of(matrix) - 1, args_.c.cols_of(matrix) - 1) + 1;
    LinesOfC::template bring<false>(c, from, stride, tile.columns, tile.rows, begin, end);
  }

  /// Starts to add the products of all terms of a part; of those that are not there zeros.
  SIMT_INLINE static void multiply(float (&sum)[columns / 2], char const* part) {
    simt::ProductOperand const a = OperandA::operand(part, simt::thread_index() / 128 * 64);
    simt::ProductOperand const b = OperandB::operand(part + memory.a.bytes(), 0);
    simt::begin_products();
    SIMT_UNROLL
    for (int s = 0; s < C.k / 16; ++s)
      simt::start_product<T, C.a == Lines::columns, C.b == Lines::rows, columns>(sum, simt::further_on(a, s * OperandA::to_next_terms),
                                                                                 simt::further_on(b, s * OperandB::to_next_terms));
    simt::end_product_group();
  }

  /// A tile of no terms.
  SIMT_INLINE void scale(Output* to, simt::Index stride, Tile const& tile) const {
    bool const reads_c = !(args_.beta == 0);
    SIMT_LOOP
    for (int i = simt::thread_index() / 32; i < tile.rows; i += C.threads() / 32) {
      SIMT_LOOP
      for (int j = simt::lane_index(); j < tile.columns; j += 32) {
        Output* const at = to + (i * stride + j);
        *at = gemm_element<Written::whole>(args_, reads_c, false, 0, 0.0F, reads_c ? *at : Output{});
      }
    }
  }
  /// Brings the tile of C in shared memory up to date.
  template <bool reads_c>
  SIMT_INLINE void update(float const (&sum)[columns / 2], Output* c, Output const* memory_of_c, simt::Index stride,
                          Tile const& tile) const {
    int const row = simt::thread_index() / 32 * 16 + simt::lane_index() / 4, column = simt::lane_index() % 4 * 2;
    constexpr int in_chunk = 16 / sizeof(Output) - 1;
    int const phase = gemm_phase(memory_of_c);
    auto const value = [&](float x, Output const& former) { return gemm_element<Written::whole>(args_, reads_c, false, 1, x, former); };
    bool const in_words = sizeof(Output) == 2 && phase % 2 == 0 && stride % 2 == 0 && tile.columns % 2 == 0;
    SIMT_UNROLL
    for (int h = 0; h < 2; ++h) {
      int const i = row + 8 * h;
      if (i >= tile.rows) continue;
      Output* const line = c + (i * memory.c_pitch + ((phase + i * static_cast<int>(stride & in_chunk)) & in_chunk)) + column;
      if (in_words) {
        if constexpr (sizeof(Output) == 2) {
          SIMT_UNROLL
          for (int j = 0; j < C.n; j += 8) {
            if (column + j >= tile.columns) continue;
            Output both[2];
            unsigned word = reads_c ? simt::load_word(line + j) : 0;
            memcpy(both, &word, sizeof(word));
            both[0] = value(sum[j / 2 + 2 * h], both[0]), both[1] = value(sum[j / 2 + 2 * h + 1], both[1]);
            memcpy(&word, both, sizeof(word));
            simt::store_word(line + j, word);
          }
        }
      } else {
        SIMT_UNROLL
        for (int j = 0; j < C.n; j += 8) {
          SIMT_UNROLL
          for (int e = 0; e < 2; ++e)
            if (column + j + e < tile.columns) line[j + e] = value(sum[j / 2 + 2 * h + e], reads_c ? line[j + e] : Output{});
        }
      }
    }
  }

  GemmArguments<T, Output> const& args_;
  int down_, tiles_;
  // What is brought next
  Place next_{};
  int next_rows_ = 0, next_columns_ = 0, next_terms_ = 0, next_part_ = 0;
  T const *next_a_ = nullptr, *next_b_ = nullptr;
};

/// Each matrix of A and B has its elements side by side, down the columns or along the rows as C says, and each matrix of C along the rows.
/// No product is so small that lanes would sum it (see gemm_halves_by_lanes). For compute capability 9.0 alone.
///
/// Launch: any number of blocks of C.threads() threads with GemmHalvesWarpgroupsMemory's bytes of dynamic shared memory.
template <typename T, typename Output, GemmHalvesWarpgroups C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemm_halves_warpgroups(GemmArguments<T, Output> const args) {
  GemmWarpgroups<T, Output, C>(args).run();
}

}  // namespace myriad
