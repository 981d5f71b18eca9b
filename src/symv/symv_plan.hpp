#pragma once
/// Which kernels are used for symv and hemv on a GPU.

#include <algorithm>
#include <cstdint>

#include "symv/symv_panels_config.cuh"
#include "symv/symv_tiny_config.cuh"

namespace myriad {

/// Matrices of up to 32 rows. The layouts are left as packed columns. By registers and by what a block takes of shared memory, not by
/// measurement.
constexpr SymvTiny symv_tiny_plan(Symmetry symmetry, int n) {
  int const lanes = n <= 2 ? 1 : n <= 4 ? 2 : n <= 8 ? 4 : n <= 16 ? 8 : 16;
  constexpr auto packed = simt::Layout::packed_columns;
  return {.n = n, .lanes = lanes, .matrices = 64 / lanes, .symmetry = symmetry, .a = packed, .x = packed, .y = packed};
}

/// Larger ones. A block has 8 warps, a lane 16 loads of 16 bytes under way, and two blocks, with 128 registers a thread, are on a
/// multiprocessor: 128 KB are under way. A warp has 16 columns; in double complex, of which 16 sums would leave no registers, it has 8, and
/// half as much under way: with two loads of each more is spilled. The pieces are few enough for little traffic, and enough to be shared
/// out evenly.
constexpr SymvPanels symv_panels_plan(int element_bytes, Symmetry symmetry, SymvShare share, SymvColumns layout) {
  bool const wide = element_bytes == 16;
  return {.warps = 8,
          .columns = wide ? 8 : 16,
          .most_pieces = 1 << 13,
          .blocks_per_sm = 2,
          .share = share,
          .layout = layout,
          .symmetry = symmetry};
}

constexpr SymvTiles symv_tiles(int element_bytes, SymvPanels const& c, int n, bool lower) {
  return {n, c.tile_rows(element_bytes), c.tile_columns(), c.most_pieces, lower};
}

constexpr SymvSums symv_sums_plan(int element_bytes, SymvPanels const& c) {
  return {.warps = 8, .rows = c.tile_rows(element_bytes), .columns = c.tile_columns(), .most_pieces = c.most_pieces};
}

/// Whether a block may have a whole matrix: it then keeps the sums of its rows and columns, and these have so few terms that symv_sums
/// would add them up in the same order. So a matrix has the same bits either way.
constexpr bool symv_fits_a_block(int element_bytes, SymvTiles const& tiles, std::int64_t n) {
  constexpr std::int64_t most_bytes = 32 * 1024;
  return 2 * n * element_bytes <= most_bytes && tiles.panels <= SymvSums::in_order && tiles.tile_rows <= SymvSums::in_order &&
         tiles.tiles_of_piece == 1;
}

/// Whether a block has a whole matrix, for `count` of them and with room for so many blocks on the GPU: as long as it is not some blocks
/// that work while all others wait. symv_sums counts like two tiles.
constexpr SymvShare symv_share(int element_bytes, SymvTiles const& tiles, std::int64_t n, std::int64_t count, std::int64_t room) {
  if (!symv_fits_a_block(element_bytes, tiles, n)) return SymvShare::tiles;
  std::int64_t const in_one = (count + room - 1) / room * tiles.count;
  std::int64_t const shared_out = (count * tiles.count + room - 1) / room + 2;
  return in_one <= shared_out ? SymvShare::matrix : SymvShare::tiles;
}

/// How many blocks share the tiles of a matrix: of one as many as there is room for, with equal shares; of several about four times as many
/// in all, since some end sooner than others.
constexpr int symv_blocks(SymvTiles const& tiles, std::int64_t count, std::int64_t room) {
  std::int64_t const wanted = count == 1 ? room : (4 * room + count - 1) / count;
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, tiles.pieces));
}

/// So many matrices at a time take no more than 256 MB of workspace together, or are one.
constexpr std::int64_t symv_matrices_at_a_time(int element_bytes, SymvTiles const& tiles) {
  constexpr std::int64_t most_bytes = 256 << 20;
  return std::max<std::int64_t>(most_bytes / (tiles.elements() * element_bytes), 1);
}

}  // namespace myriad
