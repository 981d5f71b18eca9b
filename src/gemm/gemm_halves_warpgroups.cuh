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
  /// from term to term; as many elements as they and the address admit are moved at once. Nothing else is read but what there is in their
  /// chunks of 16 bytes between `begin` and `end`.
  SIMT_INLINE static void bring(int thread, char* to, T const* from, simt::Index stride, int count, int terms, T const* begin,
                                T const* end) {
    auto const alignment = reinterpret_cast<unsigned long long>(from) | static_cast<unsigned long long>(stride) * sizeof(T);
    if (alignment % 16 == 0)
      bring_by<8>(thread, to, from, stride, count, terms);
    else if (alignment % 8 == 0)
      bring_by<4>(thread, to, from, stride, count, terms);
    else if (alignment % 4 == 0)
      bring_by<2>(thread, to, from, stride, count, terms);
    else
      bring_shifted(thread, to, from, stride, count, terms, begin, end);
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
  SIMT_INLINE static void bring_by(int thread, char* to, T const* from, simt::Index stride, int count, int terms) {
    constexpr int pieces = of_span / unit, at_once = threads / pieces;
    // By terms, 64 lines after the other; else all lines at once.
    constexpr int in_a_row = by_terms ? k : spans.count, steps = simt::ceil_div(in_a_row, at_once);
    static_assert(threads % pieces == 0);
    int const first = thread / pieces, element = thread % pieces * unit;
    T const* const of_thread = from + (first * stride + element);
    auto const bring_piece = [&](int lines_before, int span, T const* piece) {
      if (in_a_row % at_once != 0 && span >= in_a_row) return;
      if ((by_terms ? lines_before + element : span) >= count) return;
      int const inside = by_terms ? (span < terms ? count - lines_before - element : 0) : terms - element;
      T const* const place_in_memory = inside > 0 ? piece : from;
      int const chunk = GemmHalvesSpans::place(spans.length, (by_terms ? lines_before / of_span * k : 0) + span, element / of_chunk);
      T* const place = reinterpret_cast<T*>(to + chunk) + element % of_chunk;
      simt::copy_async_part<unit>(place, place_in_memory, simt::smaller(simt::larger(inside, 0), unit));
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

  /// Lines that begin anywhere: of each chunk the two are read in which it is in memory.
  SIMT_INLINE static void bring_shifted(int thread, char* to, T const* from, simt::Index stride, int count, int terms, T const* begin,
                                        T const* end) {
    constexpr int pieces = of_span / of_chunk, at_once = threads / pieces, together = 8;  // as many as registers hold
    constexpr int steps = simt::ceil_div(spans.count, at_once);
    static_assert(!by_terms || k % at_once == 0);
    int const first = thread / pieces, element = thread % pieces * of_chunk;
    auto const there = [&](int span) {
      int const term = by_terms ? span % k : element, line = by_terms ? span / k * of_span + element : span;
      int const inside = span >= spans.count || term >= terms || line >= count ? 0 : (by_terms ? count - line : terms - term);
      T const* const address = from + (by_terms ? term * stride + line : line * stride + term);
      return There{address, inside};
    };
    SIMT_LOOP
    for (int s0 = 0; s0 < steps; s0 += together) {
      simt::Chunk both[together][2];
      SIMT_UNROLL
      for (int s = 0; s < together; ++s) {
        There const x = there(first + (s0 + s) * at_once);
        int const phase = gemm_phase(x.address);
        T const* const chunk = x.address - phase;
        both[s][0] = simt::load_global_if(x.inside > 0 && is_between(chunk, begin, end), reinterpret_cast<simt::Chunk const*>(chunk));
        both[s][1] = simt::load_global_if(x.inside > of_chunk - phase && is_between(chunk + of_chunk, begin, end),
                                          reinterpret_cast<simt::Chunk const*>(chunk + of_chunk));
      }
      SIMT_UNROLL
      for (int s = 0; s < together; ++s) {
        int const span = static_cast<int>(simt::unknown(static_cast<unsigned>(first + (s0 + s) * at_once)));
        if (span >= spans.count) continue;
        There const x = there(span);
        int const phase = gemm_phase(x.address);
        T const* const chunk = x.address - phase;
        char* const place = to + GemmHalvesSpans::place(spans.length, span, element / of_chunk);
        simt::store_chunk(place, shifted(both[s], phase));
        bool const whole = is_between(chunk, begin, end) && is_between(chunk + (phase > 0 ? of_chunk : 0), begin, end);
        if (x.inside < of_chunk || !whole) {
          T* const elements = reinterpret_cast<T*>(place);
          SIMT_LOOP
          for (int e = whole ? simt::larger(x.inside, 0) : 0; e < of_chunk; ++e)
            elements[e] = e < x.inside ? simt::load_global(x.address + e) : T{};
        }
      }
    }
  }
  /// A chunk of a line in memory, and how many elements of the line begin there.
  struct There {
    T const* address;
    int inside;
  };
  SIMT_INLINE static bool is_between(T const* chunk, T const* begin, T const* end) { return chunk >= begin && chunk + of_chunk <= end; }
  /// The eight elements from number `phase` of sixteen on.
  SIMT_INLINE static simt::Chunk shifted(simt::Chunk const (&both)[2], int phase) {
    unsigned words[8];
    memcpy(words, both, sizeof(words));
    SIMT_UNROLL
    for (int i = 0; i < 6; ++i) words[i] = phase & 4 ? words[i + 2] : words[i];
    SIMT_UNROLL
    for (int i = 0; i < 5; ++i) words[i] = phase & 2 ? words[i + 1] : words[i];
    simt::Chunk piece;
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) piece.words[i] = simt::select_bytes(words[i], words[i + 1], phase & 1 ? 0x5432 : 0x3210);
    return piece;
  }
};

/// What one block does.
template <typename T, typename Output, GemmHalvesWarpgroups C>
class GemmWarpgroups {
 public:
  static constexpr GemmHalvesWarpgroupsMemory memory{sizeof(Output), C};
  static constexpr int columns = C.columns();
  static_assert(sizeof(T) == 2 && !simt::is_complex<T> && C.m % 8 == 0 && C.n % 8 == 0 && columns <= 256 && C.stages > memory.c_parts &&
                2 * C.stages <= 15);  // barriers of a block beside that of all
  static_assert((C.k == 32 || C.k == 64) && memory.a.bytes() % 1024 == 0 && memory.b.bytes() % 1024 == 0);

  SIMT_INLINE explicit GemmWarpgroups(GemmArguments<T, Output> const& args)
      : args_(args),
        down_(static_cast<int>((simt::smaller(args.c.rows, args.upto) + C.m - 1) / C.m)),
        tiles_(down_ * static_cast<int>((simt::smaller(args.c.cols, args.upto) + C.n - 1) / C.n)) {}

  SIMT_INLINE void run() {
    if (simt::thread_index() >= C.summing())
      bring_all();
    else
      multiply_all();
  }

 private:
  using OperandA = GemmHalvesOperand<T, C.a == Lines::columns, 64 * C.warpgroups(), C.k, C.bringing()>;
  using OperandB = GemmHalvesOperand<T, C.b == Lines::rows, columns, C.k, C.bringing()>;
  /// Of a warpgroup, which are brought, and of a warp, which are stored.
  using BroughtLines = GemmLines<Output, C.n, 64, memory.c_pitch, C.bringing()>;
  using StoredLines = GemmLines<Output, C.n, 16, memory.c_pitch, 32>;

  /// A tile by its number: the matrix, and the tile of it.
  struct Place {
    simt::Index matrix;
    int tile;
  };
  /// Rows and columns of C, and terms; no rows where there is no such tile, in a ragged batch.
  struct Tile {
    int i0, j0, rows, columns, depth;
  };
  SIMT_INLINE Place first_place() const { return {simt::block_index() / tiles_, static_cast<int>(simt::block_index() % tiles_)}; }
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

  /// Barriers of this block: a part of the ring is full, or is free again.
  SIMT_INLINE static void arrive_full(int part) { simt::arrive_at(1 + part, C.threads()); }
  SIMT_INLINE static void wait_full(int part) { simt::sync_at(1 + part, C.threads()); }
  SIMT_INLINE static void arrive_free(int part) { simt::arrive_at(1 + C.stages + part, C.threads()); }
  SIMT_INLINE static void wait_free(int part) { simt::sync_at(1 + C.stages + part, C.threads()); }
  SIMT_INLINE static int after(int part) { return part + 1 < C.stages ? part + 1 : 0; }
  SIMT_INLINE static char* part_at(int part) { return simt::shared_memory() + part * memory.part; }
  SIMT_INLINE static Output* rows_at(char* part, int warpgroup) {
    return reinterpret_cast<Output*>(part + warpgroup % memory.c_together * memory.c);
  }

  /// Brings A, B and C of all tiles of this block, a part of the ring after the other.
  SIMT_INLINE void bring_all() const {
    int const thread = simt::thread_index() - C.summing();
    bool const reads_c = !(args_.beta == 0);
    int part = 0, arriving = 0, under_way = 0;
    auto const go_on = [&] {
      simt::end_copy_group();
      part = after(part);
      if (under_way < memory.lag) {
        ++under_way;
        return;
      }
      simt::wait_copy_groups<memory.lag>();
      simt::show_to_products();
      arrive_full(arriving);
      arriving = after(arriving);
    };
    SIMT_LOOP
    for (Place now = first_place(); now.matrix < args_.c.count; advance(now)) {
      Tile const tile = tile_at(now);
      if (tile.rows <= 0 || tile.depth <= 0) continue;
      constexpr bool a_by_terms = C.a == Lines::columns, b_by_terms = C.b == Lines::rows;
      int const all_rows = args_.c.rows_of(now.matrix), all_columns = args_.c.cols_of(now.matrix);
      simt::Index const a_stride = a_by_terms ? args_.a.col_stride_of(now.matrix) : args_.a.row_stride_of(now.matrix);
      simt::Index const b_stride = b_by_terms ? args_.b.row_stride_of(now.matrix) : args_.b.col_stride_of(now.matrix);
      T const* a = args_.a.at(now.matrix, tile.i0, 0);
      T const* b = args_.b.at(now.matrix, 0, tile.j0);
      T const* const begin_a = args_.a.at(now.matrix, 0, 0);
      T const* const end_a = args_.a.at(now.matrix, all_rows - 1, tile.depth - 1) + 1;
      T const* const begin_b = args_.b.at(now.matrix, 0, 0);
      T const* const end_b = args_.b.at(now.matrix, tile.depth - 1, all_columns - 1) + 1;
      SIMT_LOOP
      for (int terms = tile.depth; terms > 0; terms -= C.k) {
        wait_free(part);
        OperandA::bring(thread, part_at(part), a, a_stride, tile.rows, simt::smaller(terms, C.k), begin_a, end_a);
        OperandB::bring(thread, part_at(part) + memory.a.bytes(), b, b_stride, tile.columns, simt::smaller(terms, C.k), begin_b, end_b);
        a += a_by_terms ? C.k * a_stride : C.k;
        b += b_by_terms ? C.k * b_stride : C.k;
        go_on();
      }
      simt::Index const stride = args_.c.row_stride_of(now.matrix);
      Output const* c = args_.c.at(now.matrix, tile.i0, tile.j0);
      Output const* const begin = args_.c.at(now.matrix, 0, 0);
      Output const* const end = args_.c.at(now.matrix, all_rows - 1, all_columns - 1) + 1;
      SIMT_LOOP
      for (int first = 0; first < C.warpgroups(); first += memory.c_together) {
        wait_free(part);
        SIMT_LOOP
        for (int w = first; w < simt::smaller(first + memory.c_together, C.warpgroups()); ++w) {
          int const rows = simt::smaller(tile.rows - 64 * w, 64);
          if (reads_c && rows > 0)
            BroughtLines::template bring<false>(rows_at(part_at(part), w), c + 64 * w * stride, stride, tile.columns, rows, begin, end,
                                                thread);
        }
        go_on();
      }
    }
    simt::wait_copies();
    simt::show_to_products();
    SIMT_LOOP
    for (; under_way > 0; --under_way) {
      arrive_full(arriving);
      arriving = after(arriving);
    }
    // Each part is free once more than it is filled.
    SIMT_LOOP
    for (int s = 0; s < C.stages; ++s) wait_free(s);
  }

  /// Sums all tiles of this block.
  SIMT_INLINE void multiply_all() const {
    int part = 0;
    SIMT_LOOP
    for (int s = 0; s < C.stages; ++s) arrive_free(s);
    SIMT_LOOP
    for (Place now = first_place(); now.matrix < args_.c.count; advance(now)) {
      Tile const tile = tile_at(now);
      if (tile.rows <= 0) continue;
      Output* const to = args_.c.at(now.matrix, tile.i0, tile.j0);
      simt::Index const stride = args_.c.row_stride_of(now.matrix);
      if (tile.depth <= 0) {
        scale(to, stride, tile);
        continue;
      }
      int const steps = simt::ceil_div(tile.depth, C.k);
      float sum[columns / 2];
      SIMT_UNROLL
      for (int i = 0; i < columns / 2; ++i) sum[i] = 0;
      SIMT_LOOP
      for (int step = 0; step < steps; ++step) {
        wait_full(part);
        multiply(sum, part_at(part));
        simt::wait_products(sum);
        arrive_free(part);
        part = after(part);
      }
      // All warpgroups wait for all of C, and keep the part that has their rows.
      int const warpgroup = simt::thread_index() / 128;
      int mine = 0;
      SIMT_UNROLL
      for (int p = 0; p < memory.c_parts; ++p) {
        wait_full(part);
        if (p == warpgroup / memory.c_together)
          mine = part;
        else
          arrive_free(part);
        part = after(part);
      }
      Output* const c = rows_at(part_at(mine), warpgroup);
      // With constants
      if (!(args_.beta == 0))
        update<true>(sum, c, to, stride, tile);
      else
        update<false>(sum, c, to, stride, tile);
      simt::sync_warp();
      int const first = simt::thread_index() / 32 * 16;
      if (first < tile.rows)
        StoredLines::store(c + first % 64 * memory.c_pitch, to + first * stride, stride, tile.columns, simt::smaller(tile.rows - first, 16),
                           simt::lane_index());
      arrive_free(mine);
    }
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
    for (int i = simt::thread_index() / 32; i < tile.rows; i += C.summing() / 32) {
      SIMT_LOOP
      for (int j = simt::lane_index(); j < tile.columns; j += 32) {
        Output* const at = to + (i * stride + j);
        *at = gemm_element<Written::whole>(args_, reads_c, false, 0, 0.0F, reads_c ? *at : Output{});
      }
    }
  }
  /// Brings the rows of C that are this warpgroup's, in shared memory, up to date.
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
      Output* const line = c + (i % 64 * memory.c_pitch + ((phase + i * static_cast<int>(stride & in_chunk)) & in_chunk)) + column;
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
