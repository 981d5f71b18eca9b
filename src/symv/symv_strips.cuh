#pragma once
/// y = alpha A x + beta y with a triangle of A, in one launch and without workspace: each element beside the diagonal is read twice, once
/// from the L2 cache.

#include "symv/symv_strips_config.cuh"

namespace myriad {
namespace simt {

/// Some neighbouring rows of A x. In the triangle they continue on both sides of the diagonal: on one side as rows, whose columns lanes
/// share in groups of neighbours; on the other side as columns, one per warp.
template <typename T, SymvStrips C>
class SymvStrip : SymvMatrix<T, C.symmetry, C.layout> {
  using Matrix = SymvMatrix<T, C.symmetry, C.layout>;
  using Matrix::a_, Matrix::x_, Matrix::down_, Matrix::right_, Matrix::increment_, Matrix::lower_, Matrix::n_, Matrix::conjugates_x_;
  using Matrix::held_rows, Matrix::hermitian, Matrix::is_stored, Matrix::load_neighbours, Matrix::stored;
  using Range = typename Matrix::Range;
  static constexpr int rows = C.rows(sizeof(T)), group = symv_columns_of_group;
  static constexpr int lanes_of_group = rows / held_rows;
  static constexpr int groups_of_panel = symv_columns_of_panel / group, groups_of_warp = 32 / lanes_of_group;
  static constexpr int at_once = 8;  ///< loads of a lane from its column that are in flight together
  static_assert(symv_columns_of_panel % rows == 0 && groups_of_panel % groups_of_warp == 0);

 public:
  SIMT_INLINE SymvStrip(SymvArguments<T> const& args, Index b, int n, int strip)
      : Matrix(args, b, n),
        first_(strip * rows),
        first_panel_(args.lower ? 0 : first_ / symv_columns_of_panel),
        panels_((args.lower ? first_ / symv_columns_of_panel + 1 : ceil_div(n, symv_columns_of_panel)) - first_panel_),
        in_chunks_(Matrix::columns_in_chunks()) {}

  /// Calls store(i, sum) for every row of the strip. Ends without a barrier.
  ///
  /// A warp does two things, which do not wait for each other. It multiplies column `first_ + warp()`, without the diagonal, for the row of
  /// the same number. And it sums the strip's rows in some groups of columns. Some loads of each are in flight while others are used.
  template <typename Store>
  SIMT_INLINE void add(Store store) {
    SIMT_LOOP
    for (int i = thread_index(); i < n_; i += C.threads(sizeof(T))) copy_async(x_there() + i, x_ + i * increment_);
    // Beyond the last column all ranges are empty; there is no branch, since lanes meet at the end.
    int const j = first_ + warp(), of_diagonal = j / held_rows, of_rest = n_ / held_rows;
    int const begin = lower_ ? of_diagonal + 1 : 0, end = j >= n_ ? 0 : lower_ ? of_rest : of_diagonal;
    bool const has_rest = lower_ && n_ % held_rows != 0 && of_rest != of_diagonal;
    int chunks = begin < end ? begin / 32 * 32 : end, groups = warp() * groups_of_warp;
    T of_column[at_once][held_rows], of_group[group][held_rows];
    load_part(at_diagonal(), j, of_diagonal);
    if (has_rest) load_part(at_end(), j, of_rest);
    if (chunks < end) load_column(of_column, j, chunks, begin, end);
    if (groups < panels_ * groups_of_panel) load_groups(of_group, groups);
    wait_copies();
    sync_block();
    T sum = from_real<T>(0);
    if (lower_) sum = add_part(at_diagonal(), j, of_diagonal, sum);
    SIMT_LOOP
    while (chunks < end || groups < panels_ * groups_of_panel) {
      if (chunks < end) {
        sum = add_column(of_column, chunks, begin, end, sum);
        chunks += at_once * 32;
        if (chunks < end) load_column(of_column, j, chunks, begin, end);
      }
      if (groups < panels_ * groups_of_panel) {
        add_groups(of_group, groups);
        groups += rows * groups_of_warp;
        if (groups < panels_ * groups_of_panel) load_groups(of_group, groups);
      }
    }
    if (!lower_) sum = add_part(at_diagonal(), j, of_diagonal, sum);
    if (has_rest) sum = add_part(at_end(), j, of_rest, sum);
    SIMT_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) sum = sum + shuffle_xor(sum, distance);
    if (lane_index() == 0) of_columns()[warp()] = sum;
    sync_block();
    SIMT_LOOP
    for (int t = thread_index(); t < panels_ * rows; t += C.threads(sizeof(T))) {
      T* const sums = of_groups() + t / rows * (groups_of_panel * rows) + t % rows;
      T sum[groups_of_panel];
      SIMT_UNROLL
      for (int g = 0; g < groups_of_panel; ++g) sum[g] = sums[g * rows];
      symv_tree(sum);
      *sums = sum[0];
    }
    sync_block();
    int const i = first_ + thread_index();
    if (thread_index() < rows && i < n_) {
      T sum = from_real<T>(0);
      SIMT_UNROLL_BY(4)
      for (int p = 0; p < panels_; ++p) sum = sum + of_groups()[p * (groups_of_panel * rows) + thread_index()];
      store(i, sum + of_columns()[thread_index()]);
    }
  }

 private:
  SIMT_INLINE static int warp() { return thread_index() / 32; }
  SIMT_INLINE static T* x_there() { return reinterpret_cast<T*>(shared_memory()); }
  SIMT_INLINE T* of_columns() const { return x_there() + C.places_of_x(n_); }
  /// Elements of the warp's column that do not fill 16 bytes.
  SIMT_INLINE T* at_diagonal() const { return of_columns() + rows + warp() * held_rows; }
  SIMT_INLINE T* at_end() const { return at_diagonal() + rows * held_rows; }
  SIMT_INLINE T* of_groups() const { return of_columns() + (1 + 2 * held_rows) * rows; }

  /// Starts to load the stored elements of a 16-byte chunk of column j, without the diagonal.
  SIMT_INLINE void load_part(T* part, int j, int chunk) const {
    int const r = lane_index(), i = chunk * held_rows + r;
    if (r < held_rows && i != j && is_stored(i, j)) copy_async(part + r, a_ + (i * down_ + j * right_));
  }
  /// Adds these elements in the lane that has their rows.
  SIMT_INLINE T add_part(T const* part, int j, int chunk, T sum) const {
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      int const i = chunk * held_rows + r;
      T const factor = conjugate_if(conjugates_x_, x_there()[smaller(i, n_ - 1)]);
      T const next = multiply_add(conjugate_if(hermitian, part[r]), factor, sum);
      if (chunk % 32 == lane_index() && i != j && is_stored(i, j)) sum = next;
    }
    return sum;
  }

  /// Loads column j: each lane 16 bytes of every 512, from chunk `first` on. Lanes beyond the ends read the last chunk again, without use.
  SIMT_INLINE void load_column(T (&held)[at_once][held_rows], int j, int first, int begin, int end) const {
    T const* const column = a_ + j * right_;
    SIMT_UNROLL
    for (int s = 0; s < at_once; ++s) {
      int const chunk = first + s * 32 + lane_index(), i = (chunk >= begin && chunk < end ? chunk : end - 1) * held_rows;
      if (in_chunks_) {
        load_neighbours(held[s], column + i);
      } else {
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) held[s][r] = load_global(column + (i + r) * down_);
      }
    }
  }
  SIMT_INLINE T add_column(T const (&held)[at_once][held_rows], int first, int begin, int end, T sum) const {
    SIMT_UNROLL
    for (int s = 0; s < at_once; ++s) {
      int const chunk = first + s * 32 + lane_index();
      if (chunk < begin || chunk >= end) continue;
      Chunked<T> const factor(load_chunk(x_there() + chunk * held_rows));
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r)
        sum = multiply_add(conjugate_if(hermitian, held[s][r]), conjugate_if(conjugates_x_, factor.x[r]), sum);
    }
    return sum;
  }

  /// Each lane has some rows of one of the groups from number `first` on.
  SIMT_INLINE int row_of_lane() const { return first_ + lane_index() % lanes_of_group * held_rows; }
  SIMT_INLINE int column_of_lane(int first) const {
    return first_panel_ * symv_columns_of_panel + (first + lane_index() / lanes_of_group) * group;
  }
  SIMT_INLINE void load_groups(T (&held)[group][held_rows], int first) const {
    int const i0 = row_of_lane(), j0 = column_of_lane(first);
    // All lanes take the same branch: those of a later one would wait for the others.
    bool const whole = first_ + rows <= n_ && (lower_ ? j0 + group <= first_ : j0 >= first_ + rows && j0 + group <= n_);
    T const* column = a_ + (i0 * down_ + j0 * right_);
    if (ballot(in_chunks_ && whole) == ~0U) {
      SIMT_UNROLL
      for (int c = 0; c < group; ++c) {
        load_neighbours(held[c], column);
        column += right_;
      }
    } else {
      SIMT_UNROLL
      for (int c = 0; c < group; ++c) {
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) held[c][r] = load_global(stored(i0 + r, j0).has(c) ? column + r * down_ : a_);
        column += right_;
      }
    }
  }
  SIMT_INLINE void add_groups(T const (&held)[group][held_rows], int first) const {
    int const i0 = row_of_lane(), j0 = column_of_lane(first);
    T factor[group], sum[held_rows];
    SIMT_UNROLL
    for (int k = 0; k < group; k += held_rows) {
      Chunked<T> const of_x(load_chunk(x_there() + smaller(j0, C.places_of_x(n_) - group) + k));
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) factor[k + r] = conjugate_if(conjugates_x_, of_x.x[r]);
    }
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      Range const there = stored(i0 + r, j0);
      sum[r] = from_real<T>(0);
      SIMT_UNROLL
      for (int c = 0; c < group; ++c) {
        T const element = hermitian && i0 + r == j0 + c ? from_real<T>(real_part(held[c][r])) : held[c][r];
        T const next = multiply_add(element, factor[c], sum[r]);
        if (there.has(c)) sum[r] = next;
      }
      of_groups()[(first + lane_index() / lanes_of_group) * rows + i0 - first_ + r] = sum[r];
    }
  }

  int first_;                 ///< first row of the strip
  int first_panel_, panels_;  ///< panels that the stored parts of its rows are in
  bool in_chunks_;
};

}  // namespace simt

/// Launch: any number of blocks of C.threads(sizeof(T)) threads with C.shared_bytes(sizeof(T), n) of dynamic shared memory, where n is the
/// most rows of a matrix that is multiplied. Skips matrices of more than args.most_rows_in_strips rows, and of at most
/// args.most_rows_in_block.
template <typename T, SymvStrips C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(sizeof(T)), 512 / C.threads(sizeof(T))) symv_strips(SymvArguments<T> const args) {
  using namespace simt;
  int const largest = smaller(static_cast<int>(args.y.rows), args.most_rows_in_strips);
  int const strips = ceil_div(largest, C.rows(sizeof(T)));
  SIMT_LOOP
  for (Index at = block_index(); at < args.y.count * strips; at += block_count()) {
    Index const b = at / strips;
    int const strip = static_cast<int>(at % strips), n = args.y.rows_of(b);
    if (n > args.most_rows_in_strips || n <= args.most_rows_in_block || strip * C.rows(sizeof(T)) >= n) continue;
    if (args.alpha == from_real<T>(0)) {  // A and x are not read
      int const i = strip * C.rows(sizeof(T)) + thread_index();
      if (thread_index() < C.rows(sizeof(T)) && i < n) symv_store(args, b, i, from_real<T>(0));
      continue;
    }
    SymvStrip<T, C> work(args, b, n, strip);
    work.add([&](int i, T sum) { symv_store(args, b, i, sum); });
    if (at + block_count() < args.y.count * strips) sync_block();
  }
}

}  // namespace myriad
