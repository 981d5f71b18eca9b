#pragma once
/// y = alpha A x + beta y with a triangle of A in one launch and without workspace: each element beside the diagonal is read twice, of
/// which one comes from the L2 cache.

#include "symv/symv_strips_config.cuh"

namespace myriad {
namespace simt {

/// Some neighbouring rows of A x. In the triangle they are what is left and right of the diagonal: rows of the columns on one side, of
/// which lanes have groups of neighbours, and columns on the other side, of which each warp has one.
template <typename T, SymvStrips C>
class SymvStrip : SymvMatrix<T, C.symmetry, C.layout> {
  using Matrix = SymvMatrix<T, C.symmetry, C.layout>;
  using Matrix::a_, Matrix::x_, Matrix::down_, Matrix::right_, Matrix::increment_, Matrix::lower_, Matrix::n_, Matrix::conjugates_x_;
  using Matrix::held_rows, Matrix::hermitian, Matrix::is_stored, Matrix::load_neighbours, Matrix::x;
  static constexpr int rows = C.rows(sizeof(T)), group = symv_columns_of_group;
  static constexpr int lanes_of_group = rows / held_rows;
  static constexpr int groups_of_panel = symv_columns_of_panel / group;
  static constexpr int at_once = 8;  ///< loads of a lane that are under way together
  static_assert(symv_columns_of_panel % rows == 0);

 public:
  SIMT_INLINE SymvStrip(SymvArguments<T> const& args, Index b, int n, int strip)
      : Matrix(args, b, n),
        first_(strip * rows),
        first_panel_(args.lower ? 0 : first_ / symv_columns_of_panel),
        panels_((args.lower ? first_ / symv_columns_of_panel + 1 : ceil_div(n, symv_columns_of_panel)) - first_panel_) {}

  /// Calls store(i, sum) for every row of the strip. Ends with the block apart.
  template <typename Store>
  SIMT_INLINE void add(Store store) {
    bool const in_chunks = Matrix::columns_in_chunks();
    bool const x_in_chunks = reinterpret_cast<unsigned long long>(x_) % 16 == 0 && (increment_ == 1 || held_rows == 1);
    T const beside = in_chunks && x_in_chunks ? column_sum<true>() : column_sum<false>();
    if (lane_index() == 0) of_columns()[warp()] = beside;
    if (in_chunks && first_ + rows <= n_)
      add_groups<true>();
    else
      add_groups<false>();
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
  SIMT_INLINE static T* of_columns() { return reinterpret_cast<T*>(shared_memory()); }
  SIMT_INLINE static T* of_groups() { return of_columns() + rows; }

  /// Some elements of a column that do not fill 16 bytes, where the lane has these; in the place of others the first one of the matrix,
  /// which is not used.
  struct Part {
    T held[held_rows], factor[held_rows];
    bool used[held_rows];
  };
  SIMT_INLINE Part part(bool is_there, int j, int chunk) const {
    Part out;
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      int const i = chunk * held_rows + r;
      out.used[r] = is_there && chunk % 32 == lane_index() && i != j && is_stored(i, j);
      out.held[r] = load_global(out.used[r] ? a_ + (i * down_ + j * right_) : a_);
      out.factor[r] = x(out.used[r] ? i : 0);
    }
    return out;
  }
  SIMT_INLINE static T add_part(Part const& part, T sum) {
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      T const next = multiply_add(conjugate_if(hermitian, part.held[r]), part.factor[r], sum);
      if (part.used[r]) sum = next;
    }
    return sum;
  }

  /// What column `first_ + warp()` gives to the row of the same number: all that is stored of it but the diagonal. In all lanes.
  template <bool in_chunks>
  SIMT_INLINE T column_sum() const {
    // Beyond the last column all is empty; no branch, since lanes meet at the end.
    bool const is_there = first_ + warp() < n_;
    int const j = smaller(first_ + warp(), n_ - 1), of_diagonal = j / held_rows;
    T const* const column = a_ + j * right_;
    int const begin = lower_ ? of_diagonal + 1 : 0, end = !is_there ? 0 : lower_ ? n_ / held_rows : of_diagonal;
    Part const at_diagonal = part(is_there, j, of_diagonal);
    bool const has_rest = lower_ && n_ % held_rows != 0 && n_ / held_rows != of_diagonal;
    Part rest{};
    if (has_rest) rest = part(is_there, j, n_ / held_rows);
    T sum = from_real<T>(0);
    // First of all in a lower triangle, but not before what follows is under way.
    bool needs_diagonal = true;
    SIMT_LOOP
    for (int first = begin < end ? begin / 32 * 32 : end; first < end; first += at_once * 32) {
      T held[at_once][held_rows], factor[at_once][held_rows];
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) {
        int const chunk = first + s * 32 + lane_index(), i = (chunk >= begin && chunk < end ? chunk : end - 1) * held_rows;
        if constexpr (in_chunks) {
          load_neighbours(held[s], column + i);
          Chunked<T> const of_x(load_chunk(x_ + i * (held_rows == 1 ? increment_ : 1)));
          SIMT_UNROLL
          for (int r = 0; r < held_rows; ++r) factor[s][r] = conjugate_if(conjugates_x_, of_x.x[r]);
        } else {
          SIMT_UNROLL
          for (int r = 0; r < held_rows; ++r) {
            held[s][r] = load_global(column + (i + r) * down_);
            factor[s][r] = x(i + r);
          }
        }
      }
      if (lower_ && needs_diagonal) sum = add_part(at_diagonal, sum);
      needs_diagonal = !lower_;
      SIMT_UNROLL
      for (int s = 0; s < at_once; ++s) {
        int const chunk = first + s * 32 + lane_index();
        if (chunk < begin || chunk >= end) continue;
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) sum = multiply_add(conjugate_if(hermitian, held[s][r]), factor[s][r], sum);
      }
    }
    if (needs_diagonal) sum = add_part(at_diagonal, sum);
    if (has_rest) sum = add_part(rest, sum);
    SIMT_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) sum = sum + shuffle_xor(sum, distance);
    return sum;
  }

  /// The sums of the strip's rows in every group of columns.
  template <bool in_chunks>
  SIMT_INLINE void add_groups() const {
    constexpr int groups_of_warp = 32 / lanes_of_group;
    int const i0 = first_ + lane_index() % lanes_of_group * held_rows;
    SIMT_LOOP
    for (int g0 = warp() * groups_of_warp; g0 < panels_ * groups_of_panel; g0 += rows * groups_of_warp) {
      int const g = g0 + lane_index() / lanes_of_group, j0 = first_panel_ * symv_columns_of_panel + g * group;
      T held[group][held_rows], factor[group], sum[held_rows];
      bool const whole = lower_ ? j0 + group <= first_ : j0 >= first_ + rows && j0 + group <= n_;
      if (in_chunks && whole) {
        SIMT_UNROLL
        for (int c = 0; c < group; ++c) load_neighbours(held[c], a_ + (i0 + (j0 + c) * right_));
      } else {
        SIMT_UNROLL
        for (int c = 0; c < group; ++c) {
          SIMT_UNROLL
          for (int r = 0; r < held_rows; ++r)
            held[c][r] = load_global(is_stored(i0 + r, j0 + c) ? a_ + ((i0 + r) * down_ + (j0 + c) * right_) : a_);
        }
      }
      SIMT_UNROLL
      for (int c = 0; c < group; ++c) factor[c] = x(smaller(j0 + c, n_ - 1));
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) sum[r] = from_real<T>(0);
      SIMT_UNROLL
      for (int c = 0; c < group; ++c) {
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) {
          int const i = i0 + r, j = j0 + c;
          T const element = hermitian && i == j ? from_real<T>(real_part(held[c][r])) : held[c][r];
          T const next = multiply_add(element, factor[c], sum[r]);
          if (is_stored(i, j)) sum[r] = next;
        }
      }
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) of_groups()[g * rows + i0 - first_ + r] = sum[r];
    }
  }

  int first_;                 ///< row
  int first_panel_, panels_;  ///< that the stored parts of its rows are in
};

}  // namespace simt

/// Launch: any number of blocks of C.threads(sizeof(T)) threads with C.shared_bytes(sizeof(T), n) of dynamic shared memory, n the most rows
/// that a matrix has which is multiplied. Passes over those of more than args.most_rows_in_strips rows, and of args.most_rows_in_block and
/// fewer.
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
