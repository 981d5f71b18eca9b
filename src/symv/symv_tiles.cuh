#pragma once
/// The division of a triangle into tiles.

#include "simt/types.hpp"

namespace myriad {

/// The triangle of an n-by-n matrix: panels of columns from left to right, divided into tiles from the top, which are numbered in this
/// order.
struct SymvTriangle {
  int rows, columns;  ///< of a tile; columns are a multiple of rows
  bool lower;         ///< else upper
  int tile_rows;      ///< tiles that cover the rows of A
  int panels;
  int count;  ///< of tiles

  SIMT_INLINE constexpr SymvTriangle(int n, int rows_of_tile, int columns_of_tile, bool is_lower)
      : rows(rows_of_tile),
        columns(columns_of_tile),
        lower(is_lower),
        tile_rows(simt::ceil_div(n, rows)),
        panels(simt::ceil_div(n, columns)),
        count(n > 0 ? before(panels - 1) + tiles_of(panels - 1) : 0) {}

  /// Rows of tiles that a panel's diagonal block covers.
  SIMT_INLINE constexpr int deep() const { return columns / rows; }
  /// Number of the first tile of a panel.
  SIMT_INLINE constexpr int before(int panel) const {
    return lower ? panel * tile_rows - panel * (panel - 1) / 2 * deep() : panel * (panel + 1) / 2 * deep();
  }
  SIMT_INLINE constexpr int tiles_of(int panel) const {
    return lower ? tile_rows - panel * deep() : simt::smaller((panel + 1) * deep(), tile_rows);
  }
  /// The row of tiles in which a panel begins.
  SIMT_INLINE constexpr int first_row(int panel) const { return lower ? panel * deep() : 0; }
  /// The row of tiles behind a panel's last one.
  SIMT_INLINE constexpr int end_row(int panel) const { return first_row(panel) + tiles_of(panel); }
  SIMT_INLINE constexpr int panel_of(int tile) const {
    int low = 0, high = panels - 1;
    while (low < high) {
      int const middle = (low + high + 1) / 2;
      if (before(middle) <= tile)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }
};

/// A tile on the way through a triangle.
struct SymvPlace {
  int tile, panel, row;  ///< row of tiles

  SIMT_INLINE constexpr SymvPlace(SymvTriangle const& tiles, int first)
      : tile(first), panel(tiles.panel_of(first)), row(first - tiles.before(panel) + tiles.first_row(panel)) {}
  SIMT_INLINE constexpr bool ends_panel(SymvTriangle const& tiles) const { return row + 1 == tiles.end_row(panel); }
  SIMT_INLINE constexpr void go_on(SymvTriangle const& tiles) {
    bool const ends = ends_panel(tiles);
    ++tile;
    panel = ends ? panel + 1 : panel;
    row = ends ? tiles.first_row(panel) : row + 1;
  }
};

}  // namespace myriad
