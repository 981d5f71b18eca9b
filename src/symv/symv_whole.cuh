#pragma once
/// y = alpha A x + beta y with a triangle of A, one block per small matrix.

#include "symv/symv_whole_config.cuh"

namespace myriad {
namespace simt {

/// A x for one matrix. Each element of the triangle is read once, by neighbouring lanes along a column, and used twice. Each warp has some
/// neighbouring columns, whose sums are added across lanes; lanes have the same rows of every column. The columns' terms of a row are
/// summed by fours, and these as a tree, neighbours first. The rows' terms of a column are summed in 32 parts of every 32nd row, added by
/// halves.
template <typename T, SymvWhole C>
class SymvMatrixOfBlock : SymvMatrix<T, C.symmetry, C.layout> {
  using Matrix = SymvMatrix<T, C.symmetry, C.layout>;
  using Matrix::a_, Matrix::down_, Matrix::right_, Matrix::n_, Matrix::lower_;
  using Matrix::x_, Matrix::increment_, Matrix::conjugates_x_, Matrix::hermitian, Matrix::is_stored;
  static constexpr int warps = C.warps, at_once = C.columns_at_once(sizeof(T)), rows = C.rows_of_lane;
  static constexpr int parts = C.parts(sizeof(T)), columns_by_fours = 4;
  static_assert(at_once == 4 || at_once == 8);

 public:
  using Matrix::Matrix, Matrix::row_in_order;

  /// Calls store(i, sum) for every row. Ends without a barrier.
  template <typename Store>
  SIMT_INLINE void add(Store store) {
    if (thread_index() < n_) copy_async(of_x() + thread_index(), x_ + thread_index() * increment_);
    SIMT_LOOP
    for (int first = 0, part = warp(); first < n_; first += warps * at_once, part += warps)
      add_columns(first + warp() * at_once, of_rows() + part * 32 * rows);
    sync_block();
    int const i = thread_index();
    if (i < n_) {
      int const used = ceil_div(n_, warps * at_once) * warps;
      T sum[parts];
      SIMT_UNROLL
      for (int p = 0; p < parts; ++p) sum[p] = p < used ? of_rows()[p * 32 * rows + i] : from_real<T>(0);
      symv_tree(sum);
      store(i, sum[0] + of_columns()[i]);
    }
  }

 private:
  SIMT_INLINE static int warp() { return thread_index() / 32; }
  SIMT_INLINE static int row(int r) { return lane_index() + 32 * r; }
  SIMT_INLINE static T* of_rows() { return reinterpret_cast<T*>(shared_memory()); }
  SIMT_INLINE static T* of_columns() { return of_rows() + parts * 32 * rows; }
  SIMT_INLINE static T* of_x() { return of_columns() + 32 * rows; }
  /// Element i of x; undefined beyond the last row.
  SIMT_INLINE T x(int i) const { return conjugate_if(conjugates_x_, of_x()[i]); }

  /// Called by all warps, also those without columns.
  SIMT_INLINE void add_columns(int j0, T* part) const {
    T held[at_once][rows], x_of_row[rows], column[at_once], sum[rows], total[rows];
    // Elements that are not stored are not read; the first element is read in their place, so that no load waits for another. x comes from
    // shared memory, so that nothing is computed before all loads are in flight.
    T const* from = a_ + (row(0) * down_ + j0 * right_);
    SIMT_UNROLL
    for (int c = 0; c < at_once; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) held[c][r] = load_global_before_barrier(is_stored(row(r), j0 + c) ? from + 32 * r * down_ : a_);
      from += right_;
    }
    wait_copies();
    sync_block();
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) x_of_row[r] = x(row(r));
    SIMT_UNROLL
    for (int c = 0; c < at_once; ++c) {
      column[c] = from_real<T>(0);
      if (c % columns_by_fours == 0) {
        SIMT_UNROLL
        for (int r = 0; r < rows; ++r) sum[r] = from_real<T>(0);
      }
      T const x_of_column = x(smaller(j0 + c, n_ - 1));
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) {
        int const i = row(r), j = j0 + c;
        T const element = hermitian && i == j ? from_real<T>(real_part(held[c][r])) : held[c][r];
        T const row_sum = multiply_add(element, x_of_column, sum[r]);
        T const column_sum = multiply_add(conjugate_if(hermitian, element), x_of_row[r], column[c]);
        if (is_stored(i, j)) sum[r] = row_sum;
        if (is_stored(i, j) && i != j) column[c] = column_sum;
      }
      if (c % columns_by_fours != columns_by_fours - 1) continue;
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) total[r] = c < columns_by_fours ? sum[r] : total[r] + sum[r];
    }
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) part[row(r)] = total[r];
    // Adds the column sums of all lanes: each step halves the columns per lane and adds another lane's.
    constexpr int lanes_of_column = 32 / at_once;
    SIMT_UNROLL
    for (int step = 0; step < 5; ++step) {
      int const distance = 16 >> step, left = at_once >> (step + 1);
      bool const upper = (lane_index() & distance) != 0;
      SIMT_UNROLL
      for (int c = 0; c < at_once / 2; ++c) {
        if (c >= left) continue;
        exchange_if(upper, column[c], column[c + left]);
        column[c] = column[c] + shuffle_xor(column[c + left], distance);
      }
      if (left == 0) column[0] = column[0] + shuffle_xor(column[0], distance);
    }
    int const j = j0 + lane_index() / lanes_of_column;
    if (lane_index() % lanes_of_column == 0 && j < n_) of_columns()[j] = column[0];
  }
};

}  // namespace simt

/// Launch: any number of blocks of C.threads() threads with C.shared_bytes(sizeof(T)) of dynamic shared memory. Matrices have at most
/// C.most_rows() rows; those of more than args.most_rows_in_block rows in the batch are skipped.
template <typename T, SymvWhole C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm(sizeof(T))) symv_whole(SymvArguments<T> const args) {
  using namespace simt;
  SIMT_LOOP
  for (Index b = block_index(); b < args.y.count; b += block_count()) {
    int const n = args.y.rows_of(b);
    if (n > args.most_rows_in_block) continue;
    if (args.alpha == from_real<T>(0)) {  // A and x are not read
      if (thread_index() < n) symv_store(args, b, thread_index(), from_real<T>(0));
      continue;
    }
    SymvMatrixOfBlock<T, C> work(args, b, n);
    if (n <= symv_most_rows_in_order) {
      if (thread_index() < n) symv_store(args, b, thread_index(), work.row_in_order(thread_index()));
    } else {
      work.add([&](int i, T sum) { symv_store(args, b, i, sum); });
      if (b + block_count() < args.y.count) sync_block();
    }
  }
}

}  // namespace myriad
