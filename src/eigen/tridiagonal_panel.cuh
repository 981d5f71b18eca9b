#pragma once
/// The columns of a panel of a large matrix, one reflection after the other, by all blocks of a launch.

#include "eigen/tridiagonal_config.cuh"
#include "qr/reflector.cuh"
#include "symv/symv_panels.cuh"

namespace myriad {

namespace simt {

/// Of each column: first it is brought up to date, x; then its reflector is known, H^H A H = A - v w^H - w v^H with v = (x - beta e1) /
/// (alpha - beta); A x, V^H x and W^H x; and y = tau (A - V W^H - W V^H) v, with which w = y - tau / 2 (y^H v) v. Between these the blocks
/// meet. Rows are taken 32 at a time, a group, by a block, whose warps share the terms of their sums; all sums are in an order that does
/// not depend on the number of blocks.
template <typename T, TridiagonalPanel C>
class TridiagonalColumns {
  using R = Real<T>;
  static constexpr int warps = C.threads() / 32;
  static constexpr SymvSums sums_config{
      .warps = warps, .rows = C.symv.tile_rows(sizeof(T)), .columns = C.symv.tile_columns(), .most_tiles = C.symv.most_tiles};

 public:
  SIMT_INLINE explicit TridiagonalColumns(TridiagonalWork<T> const& work) : m_(work.matrix), n_(work.rows()), rounds_(work.rounds) {}

  SIMT_INLINE void reduce(int first) {
    SIMT_LOOP
    for (int k = 0; k < C.width && first + k < n_; ++k) {
      int const column = first + k;
      bring_up_to_date(column, k);
      if (column == n_ - 1) return;
      meet();
      find_reflector(column);
      multiply(column, k);
      meet();
      combine(column, k);
      meet();
    }
    if (first + C.width < n_) complete_w(first + C.width, C.width);
  }

 private:
  SIMT_INLINE void meet() { sync_grid(m_.arrived, rounds_++); }
  SIMT_INLINE static int warp() { return thread_index() / 32; }
  SIMT_INLINE static T* shared(int at) { return reinterpret_cast<T*>(shared_memory()) + at; }
  /// Of V, W or V^H x, W^H x; W, or what belongs to it, behind V.
  SIMT_INLINE static T* row_of_v() { return shared(C.rows_at(sizeof(T))); }
  SIMT_INLINE static T* row_of_w() { return row_of_v() + C.width; }
  SIMT_INLINE static T* of_threads() { return shared(C.sums_at(sizeof(T))); }

  /// The sum of what the threads have, in all of them; in an order of its own.
  template <typename X>
  SIMT_INLINE static X sum_of_block(X value) {
    SIMT_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) value = value + shuffle_xor(value, mask);
    X* const of_warps = reinterpret_cast<X*>(of_threads());
    if (lane_index() == 0) of_warps[warp()] = value;
    sync_block();
    X sum = of_warps[0];
    SIMT_UNROLL
    for (int w = 1; w < warps; ++w) sum = sum + of_warps[w];
    sync_block();
    return sum;
  }
  /// The sum of what groups from that of `row` on have.
  template <typename X>
  SIMT_INLINE X sum_of_groups(X const* values, int row) const {
    X sum{};
    SIMT_LOOP
    for (int group = row / 32 + thread_index(); group < groups(); group += C.threads()) sum = sum + values[group];
    return sum_of_block(sum);
  }
  SIMT_INLINE int groups() const { return ceil_div(n_, 32); }
  /// Calls use(group, i) for this block's groups from that of `row` on, where i is the lane's row.
  template <typename Use>
  SIMT_INLINE void for_each_group(int row, Use use) const {
    SIMT_LOOP
    for (int group = row / 32 + static_cast<int>(block_index()); group < groups(); group += static_cast<int>(block_count()))
      use(group, group * 32 + lane_index());
  }
  /// What the warps have for the rows of a group, added up in the first warp.
  SIMT_INLINE static T sum_of_warps(T value) {
    of_threads()[thread_index()] = value;
    sync_block();
    T sum = of_threads()[lane_index()];
    SIMT_UNROLL
    for (int w = 1; w < warps; ++w) sum = sum + of_threads()[w * 32 + lane_index()];
    sync_block();
    return sum;
  }
  template <typename X>
  SIMT_INLINE static X sum_of_lanes(X value) {
    SIMT_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) value = value + shuffle_xor(value, mask);
    return value;
  }
  /// This warp's part of the sum of V(i, k) v_factor(k) + W(i, k) w_factor(k) over columns of the panel, with factors from shared memory.
  SIMT_INLINE T by_rows(int i, int columns, T const* v_factors, T const* w_factors) const {
    T sum = from_real<T>(0);
    if (i >= n_) return sum;
    SIMT_UNROLL_BY(4)
    for (int k = warp(); k < columns; k += warps) {
      sum = multiply_add(m_.v[i + k * m_.ld], v_factors[k], sum);
      sum = multiply_add(m_.w[i + k * m_.ld], w_factors[k], sum);
    }
    return sum;
  }

  /// What completes y of the column before `row` to w: of its v so much.
  SIMT_INLINE T factor_of_v(int row) const { return R(-0.5) * (m_.tau[row - 1] * sum_of_groups(m_.y_by_v, row)); }
  /// Rows from `row` on of the last of the panel's first `columns` columns of W.
  SIMT_INLINE void complete_w(int row, int columns) {
    T const factor = factor_of_v(row);
    Index const last = (columns - 1) * m_.ld;
    for_each_group(row, [&](int, int i) {
      if (warp() == 0 && i >= row && i < n_) m_.w[i + last] = multiply_add(factor, m_.v[i + last], m_.y[i]);
    });
  }

  /// x = A(:, column) - V W(column, :)^H - W V(column, :)^H of the panel's columns so far, of which the last one has y for w still.
  SIMT_INLINE void bring_up_to_date(int column, int columns) {
    T const factor = columns > 0 ? factor_of_v(column) : from_real<T>(0);
    auto const last_w = [&](int i) { return multiply_add(factor, m_.v[i + (columns - 1) * m_.ld], m_.y[i]); };
    if (thread_index() < columns) {
      Index const at = column + thread_index() * m_.ld;
      row_of_v()[thread_index()] = conjugate(m_.v[at]);
      row_of_w()[thread_index()] = conjugate(thread_index() == columns - 1 ? last_w(column) : m_.w[at]);
    }
    sync_block();
    for_each_group(column, [&](int group, int i) {
      T const own = warp() == 0 && i >= column && i < n_ ? m_.a[i + column * m_.ld] : from_real<T>(0);
      T sum = by_rows(i, columns - 1, row_of_w(), row_of_v());
      if (columns > 0 && warp() == (columns - 1) % warps && i < n_) {
        T const w = last_w(i);
        Index const at = i + (columns - 1) * m_.ld;
        m_.w[at] = w;
        sum = multiply_add(m_.v[at], row_of_w()[columns - 1], sum);
        sum = multiply_add(w, row_of_v()[columns - 1], sum);
      }
      T const x = own - sum_of_warps(sum);
      if (warp() != 0) return;
      if (i == column) m_.d[column] = real_part(x);
      if (i < n_) m_.x[i] = i > column ? x : from_real<T>(0);
      R square = R(0);
      if (i > column + 1 && i < n_) {
        square = real_part(x) * real_part(x);
        if constexpr (is_complex<T>) square = multiply_add(x.im, x.im, square);
      }
      square = sum_of_lanes(square);
      if (lane_index() == 0) m_.squares[group] = square;
    });
  }

  SIMT_INLINE void find_reflector(int column) {
    T const alpha = m_.x[column + 1];
    Reflector<T> reflector(alpha, sum_of_groups(m_.squares, column));
    // A column that is zero, or so small beside a matrix of size one that its square is lost, is taken for zero.
    bool const none = !reflector.usual;
    if (none) reflector = Reflector<T>(alpha, R(Reflector<T>::identity));
    beta_ = reflector.beta;
    tau_ = reflector.tau();
    v_scale_ = none ? from_real<T>(0) : reflector.v_scale;
  }

  /// A x, left in pieces, and V^H x and W^H x.
  SIMT_INLINE void multiply(int column, int columns) {
    int const blocks = static_cast<int>(block_count()), here = static_cast<int>(block_index());
    SymvBlock<T, C.symv> block = product(column);
    SymvTiles const& tiles = block.tiles();
    SIMT_LOOP
    for (int piece = here; piece < tiles.pieces; piece += blocks) {
      int const first = piece * tiles.tiles_of_piece;
      block.add_tiles(first, smaller(first + tiles.tiles_of_piece, tiles.count));
      sync_block();
    }
    // From the last block on: the first ones may have a piece more.
    SIMT_LOOP
    for (int t = blocks - 1 - here; t < 2 * columns; t += blocks) {
      T const* const of = (t < columns ? m_.v : m_.w) + (t < columns ? t : t - columns) * m_.ld;
      T sum = from_real<T>(0);
      SIMT_UNROLL_BY(4)
      for (int i = column + 1 + thread_index(); i < n_; i += C.threads()) sum = conjugate_multiply_add(of[i], m_.x[i], sum);
      sum = sum_of_block(sum);
      if (thread_index() == 0) m_.products[t] = sum;
    }
  }
  /// Rows before column + 1 that are in the first 16 bytes with it come along, with zeros in x.
  SIMT_INLINE static int first_row(int column) { return (column + 1) / 4 * 4; }
  SIMT_INLINE SymvBlock<T, C.symv> product(int column) const {
    int const first = first_row(column);
    return {m_.a + first * (m_.ld + 1), m_.ld, m_.x + first, true, n_ - first, m_.sums};
  }

  SIMT_INLINE void combine(int column, int columns) {
    int const first = column + 1, skipped = first_row(column);
    if (thread_index() < 2 * columns) {
      bool const of_v = thread_index() < columns;
      int const k = of_v ? thread_index() : thread_index() - columns;
      T const element = (of_v ? m_.v : m_.w)[first + k * m_.ld];
      T const product = v_scale_ * (m_.products[thread_index()] - beta_ * conjugate(element));
      (of_v ? row_of_v() : row_of_w())[k] = product;
    }
    sync_block();
    SymvTiles const tiles(n_ - skipped, sums_config.rows, sums_config.columns, C.symv.most_tiles, true);
    for_each_group(first, [&](int group, int i) {
      bool const mine = i >= first && i < n_;
      T const own = warp() == 0 && mine ? m_.a[i + first * m_.ld] : from_real<T>(0);
      T const x = warp() == 0 && mine ? m_.x[i] : from_real<T>(0);
      T sum = from_real<T>(0);
      if (mine) sum = symv_row_sums<sums_config>(tiles, m_.sums, i - skipped) + symv_column_sums<sums_config>(tiles, m_.sums, i - skipped);
      // (A x - beta A e1) / (alpha - beta) = A v
      if (warp() == 0) sum = sum - beta_ * (i == first ? from_real<T>(real_part(own)) : own);
      sum = v_scale_ * sum - by_rows(i, columns, row_of_w(), row_of_v());
      T const y = tau_ * sum_of_warps(sum);
      if (warp() != 0) return;
      T const v = i == first ? from_real<T>(1) : v_scale_ * x;
      if (i < n_) {
        m_.v[i + columns * m_.ld] = i < first ? from_real<T>(0) : v;
        m_.y[i] = i < first ? from_real<T>(0) : y;
        if (i > first) m_.a[i + column * m_.ld] = v;
      }
      T const product = sum_of_lanes(mine ? conjugate(y) * v : from_real<T>(0));
      if (lane_index() == 0) m_.y_by_v[group] = product;
    });
    if (here_first()) {
      m_.e[column] = beta_;
      m_.tau[column] = tau_;
    }
  }
  SIMT_INLINE static bool here_first() { return block_index() == 0 && thread_index() == 0; }

  TridiagonalMatrix<T> const& m_;
  int n_;
  unsigned rounds_;
  // Of the column at hand
  R beta_ = R(0);
  T tau_ = from_real<T>(0);
  T v_scale_ = from_real<T>(0);  ///< 1 / (alpha - beta); zero where there is nothing to reflect
};

}  // namespace simt

/// Launch: any number of blocks that run together, of C.threads() threads with C.shared_bytes(sizeof(T)) of dynamic shared memory.
template <typename T, TridiagonalPanel C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.symv.blocks_per_sm) tridiagonal_panel(TridiagonalWork<T> const work) {
  using namespace simt;
  TridiagonalColumns<T, C> columns(work);
  columns.reduce(work.first);
}

}  // namespace myriad
