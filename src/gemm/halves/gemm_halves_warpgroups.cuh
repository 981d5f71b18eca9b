#pragma once
/// C = alpha A B + beta C for 16-bit matrices whose lines begin at multiples of 16 bytes, by the warpgroups of compute capability 9.0:
/// wgmma multiplies from shared memory, while TMA loads boxes of matrices.

#include "gemm/halves/gemm_halves_warpgroups_config.cuh"

namespace myriad {

/// The work of one block.
template <typename T, typename Output, GemmHalvesWarpgroups C>
class GemmWarpgroups {
 public:
  static constexpr GemmHalvesWarpgroupsMemory memory{sizeof(Output), C};
  static_assert(sizeof(T) == 2 && !simt::is_complex<T> && C.columns % 32 == 0 && C.columns <= 256 && C.stages > 1 && C.c_stages > 0);
  static_assert(memory.part % 1024 == 0 && memory.c % 1024 == 0);

  SIMT_INLINE explicit GemmWarpgroups(GemmBoxes<T, Output> const& args)
      : args_(args),
        down_((static_cast<int>(args.product.c.rows) + C.rows() - 1) / C.rows()),
        tiles_(down_ * ((static_cast<int>(args.product.c.cols) + C.columns - 1) / C.columns)),
        steps_((static_cast<int>(args.product.depth) + C.terms - 1) / C.terms) {}

  SIMT_INLINE void run() const {
    if (simt::thread_index() == 0) {
      SIMT_LOOP
      for (int s = 0; s < C.stages; ++s) {
        simt::begin_mbarrier(full(s), 1);
        simt::begin_mbarrier(used(s), C.summing() / 32);
      }
      SIMT_LOOP
      for (int s = 0; s < C.c_stages; ++s) {
        simt::begin_mbarrier(c_there(s), 1);
        simt::begin_mbarrier(c_done(s), C.summing() / 32);
      }
    }
    simt::sync_block();
    if (simt::thread_index() >= C.summing()) {
      if constexpr (C.warpgroups > 1) simt::give_registers<C.registers_to_copy()>();
      if (simt::thread_index() == C.summing()) load_all();
      if (simt::thread_index() == C.summing() + 32) load_and_store_c();
    } else {
      if constexpr (C.warpgroups > 1) simt::take_registers<C.registers()>();
      multiply_all();
    }
  }

 private:
  /// A tile by its number: the matrix, and the tile of it.
  struct Place {
    simt::Index matrix;
    int tile;
  };
  SIMT_INLINE Place first_place() const { return {simt::block_index() / tiles_, static_cast<int>(simt::block_index() % tiles_)}; }
  SIMT_INLINE bool is_there(Place const& place) const { return place.matrix < args_.product.c.count; }
  SIMT_INLINE void advance(Place& place) const {
    auto const further = static_cast<unsigned>(place.tile) + static_cast<unsigned>(simt::block_count());
    auto const tiles = static_cast<unsigned>(tiles_);
    place.matrix += further / tiles;
    place.tile = static_cast<int>(further % tiles);
  }
  /// The first row and column of a tile.
  SIMT_INLINE int row_of(Place const& place) const { return place.tile % down_ * C.rows(); }
  SIMT_INLINE int column_of(Place const& place) const { return place.tile / down_ * C.columns; }
  /// The stage of a pipeline that comes next, and the number of complete rounds.
  struct Turn {
    int place = 0, round = 0;
    SIMT_INLINE void advance(int places) {
      if (++place < places) return;
      place = 0;
      ++round;
    }
  };

  SIMT_INLINE static char* part_at(int place) { return simt::shared_memory() + place * memory.part; }
  SIMT_INLINE static char* c_at(int place) { return simt::shared_memory() + C.stages * memory.part + place * memory.c; }
  SIMT_INLINE static simt::Mbarrier* barrier(int number) {
    return reinterpret_cast<simt::Mbarrier*>(simt::shared_memory() + memory.barriers) + number;
  }
  SIMT_INLINE static simt::Mbarrier* full(int place) { return barrier(place); }
  SIMT_INLINE static simt::Mbarrier* used(int place) { return barrier(C.stages + place); }
  SIMT_INLINE static simt::Mbarrier* c_there(int place) { return barrier(2 * C.stages + place); }
  SIMT_INLINE static simt::Mbarrier* c_done(int place) { return barrier(2 * C.stages + C.c_stages + place); }
  template <typename X>
  SIMT_INLINE static int matrix_of(simt::Matrices<X> const& x, simt::Index number) {
    return x.batch_stride == 0 ? 0 : static_cast<int>(number);
  }

  /// Loads A and B for all tiles of this block by TMA, as far ahead as there are stages.
  SIMT_INLINE void load_all() const {
    Turn turn;
    SIMT_LOOP
    for (Place now = first_place(); is_there(now); advance(now)) {
      int const i0 = row_of(now), j0 = column_of(now);
      int const a_matrix = matrix_of(args_.product.a, now.matrix), b_matrix = matrix_of(args_.product.b, now.matrix);
      SIMT_LOOP
      for (int step = 0; step < steps_; ++step) {
        int const term = step * C.terms;
        char* const a = part_at(turn.place);
        char* const b = a + memory.a;
        simt::Mbarrier* const arrived = full(turn.place);
        simt::wait_for_phase(used(turn.place), turn.round - 1);
        simt::arrive_and_expect(arrived, memory.part);
        load<C.a_by_terms()>(args_.a, a, i0, term, a_matrix, memory.a, arrived);
        load<C.b_by_terms()>(args_.b, b, j0, term, b_matrix, memory.b, arrived);
        turn.advance(C.stages);
      }
    }
  }
  template <bool by_terms>
  SIMT_INLINE static void load(simt::TensorMap const& from, char* to, int line, int term, int matrix, int bytes, simt::Mbarrier* arrived) {
    if constexpr (by_terms) {
      constexpr int of_box = 128 * C.terms;
      SIMT_UNROLL
      for (int box = 0; box < bytes / of_box; ++box) simt::copy_box(to + box * of_box, from, line + 64 * box, term, matrix, arrived);
    } else {
      simt::copy_box(to, from, term, line, matrix, arrived);
    }
  }

  /// Loads C of each tile before it is needed, and stores it when all warps have finished with it.
  SIMT_INLINE void load_and_store_c() const {
    bool const reads_c = !(args_.product.beta == 0);
    Turn turn;
    Place next = first_place(), last = next;
    SIMT_LOOP
    while (is_there(last)) {
      char* const c = c_at(turn.place);
      if (turn.round > 0) {
        simt::wait_for_phase(c_done(turn.place), turn.round - 1);
        for_each_piece(last, [&](int piece, int column) {
          simt::store_box(args_.c, column, row_of(last), static_cast<int>(last.matrix), c + piece * memory.piece);
        });
        simt::end_bulk_group();
        advance(last);
      }
      if (is_there(next)) {
        simt::wait_bulk_stores<0>();
        int bytes = 0;
        if (reads_c) for_each_piece(next, [&](int, int) { bytes += memory.piece; });
        simt::arrive_and_expect(c_there(turn.place), bytes);
        if (reads_c)
          for_each_piece(next, [&](int piece, int column) {
            simt::copy_box(c + piece * memory.piece, args_.c, column, row_of(next), static_cast<int>(next.matrix), c_there(turn.place));
          });
        advance(next);
      }
      turn.advance(C.c_stages);
    }
    simt::wait_bulk_stores<0>();
  }
  /// Visits the pieces of a tile of C that begin within the matrix.
  template <typename F>
  SIMT_INLINE void for_each_piece(Place const& place, F const& visit) const {
    SIMT_LOOP
    for (int piece = 0; piece < memory.pieces; ++piece) {
      int const column = column_of(place) + piece * memory.in_piece;
      if (column < args_.product.c.cols) visit(piece, column);
    }
  }

  /// Computes all tiles of this block.
  SIMT_INLINE void multiply_all() const {
    int const warpgroup = simt::thread_index() / 128;
    bool const reads_c = !(args_.product.beta == 0);
    Turn turn, turn_of_c;
    SIMT_LOOP
    for (Place now = first_place(); is_there(now); advance(now)) {
      // Warpgroups below the last row keep step, and multiply nothing.
      bool const has_rows = row_of(now) + 64 * warpgroup < args_.product.c.rows;
      float sum[C.columns / 2];
      SIMT_UNROLL
      for (int i = 0; i < C.columns / 2; ++i) sum[i] = 0;
      SIMT_LOOP
      for (int step = 0; step < steps_; ++step) {
        simt::wait_for_phase(full(turn.place), turn.round);
        if (has_rows) {
          multiply(sum, part_at(turn.place), warpgroup);
          simt::wait_products(sum);
        }
        simt::sync_warp();
        if (simt::lane_index() == 0) simt::arrive_at_mbarrier(used(turn.place));
        turn.advance(C.stages);
      }
      simt::wait_for_phase(c_there(turn_of_c.place), turn_of_c.round);
      if (has_rows) {
        int const columns = static_cast<int>(args_.product.c.cols) - column_of(now);
        if (reads_c)
          update<true>(sum, c_at(turn_of_c.place), columns);
        else
          update<false>(sum, c_at(turn_of_c.place), columns);
      }
      simt::show_to_products();
      simt::sync_warp();
      if (simt::lane_index() == 0) simt::arrive_at_mbarrier(c_done(turn_of_c.place));
      turn_of_c.advance(C.c_stages);
    }
  }

  /// Starts to add the products of all terms of a stage; missing terms are zero.
  SIMT_INLINE static void multiply(float (&sum)[C.columns / 2], char const* part, int warpgroup) {
    constexpr int of_64_lines = 128 * 64, a_on = C.a_by_terms() ? 128 * 16 : 32, b_on = C.b_by_terms() ? 128 * 16 : 32;
    simt::ProductOperand const a = simt::product_operand(part + warpgroup * of_64_lines, 128, 1024, C.a_by_terms() ? of_64_lines : 0);
    simt::ProductOperand const b = simt::product_operand(part + memory.a, 128, 1024, C.b_by_terms() ? of_64_lines : 0);
    simt::begin_products();
    SIMT_UNROLL
    for (int s = 0; s < C.terms / 16; ++s)
      simt::start_product<T, C.a_by_terms(), C.b_by_terms(), C.columns>(sum, simt::further_on(a, s * a_on), simt::further_on(b, s * b_on));
    simt::end_product_group();
  }

  /// Updates this thread's elements of C in shared memory: two neighbours in each eight columns, of two rows.
  template <bool reads_c>
  SIMT_INLINE void update(float const (&sum)[C.columns / 2], char* c, int columns) const {
    struct alignas(2 * sizeof(Output)) Pair {
      Output values[2];
    };
    int const group = simt::lane_index() / 4, row = simt::thread_index() / 32 * 16 + group;
    int const in_span = simt::lane_index() % 4 * static_cast<int>(sizeof(Pair));
    // The swizzle permutes the chunks of a span by the span's number modulo 8, which is that of the group.
    int const place = row * 128 + (in_span / 16 ^ group) * 16 + in_span % 16;
    SIMT_UNROLL
    for (int piece = 0; piece < memory.pieces; ++piece) {
      if (piece * memory.in_piece >= columns) continue;
      SIMT_UNROLL
      for (int j = piece * memory.in_piece; j < simt::smaller((piece + 1) * memory.in_piece, C.columns); j += 8) {
        int const chunk = j % memory.in_piece * static_cast<int>(sizeof(Output)) / 16;
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          Pair* const at = reinterpret_cast<Pair*>(c + (piece * memory.piece + h * 8 * 128) + (place ^ chunk * 16));
          Pair both{};
          if constexpr (reads_c) both = *at;
          SIMT_UNROLL
          for (int e = 0; e < 2; ++e)
            both.values[e] = gemm_element<Written::whole>(args_.product, reads_c, false, 1, sum[j / 2 + 2 * h + e], both.values[e]);
          *at = both;
        }
      }
    }
  }

  GemmBoxes<T, Output> const& args_;
  int down_, tiles_, steps_;
};

/// Columns or rows of A and B are contiguous, as C says, and rows of C. All matrices and lines begin at multiples of 16 bytes, and lines of
/// C end at such. No batch is ragged, k is not 0, and alpha is not 0. For compute capability 9.0 alone.
///
/// Launch: any number of blocks of C.threads() threads with GemmHalvesWarpgroupsMemory's bytes of dynamic shared memory.
template <typename T, typename Output, GemmHalvesWarpgroups C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) gemm_halves_warpgroups(SIMT_GRID_CONSTANT GemmBoxes<T, Output> const args) {
  GemmWarpgroups<T, Output, C>(args).run();
}

}  // namespace myriad
