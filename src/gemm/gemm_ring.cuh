#pragma once
/// C = alpha A B + beta C for many matrices: tiles of C in registers, terms through a ring in shared memory.

#include "gemm/gemm_ring_config.cuh"

namespace myriad {

template <typename T>
SIMT_INLINE constexpr GemmRingMemory gemm_ring_memory(GemmRing const& config) {
  return {sizeof(simt::Real<T>) == 4, simt::is_complex<T>, config};
}

/// The sums of one lane that multiplies for itself: those of rows and columns of which some are side by side, as many as 16 bytes hold, so
/// that they are read together. The lanes of a warp are 4 down and 8 across.
template <typename T, GemmRing C>
struct GemmSumsOfLane {
  static constexpr int row_lanes = 4 * C.warps_down, column_lanes = 8 * C.warps_across;
  static constexpr int held_rows = C.m / row_lanes, held_columns = C.n / column_lanes;
  static_assert(C.m % row_lanes == 0 && C.n % column_lanes == 0);
  static constexpr int rows_together = gemm_ring_together(sizeof(T), held_rows),
                       columns_together = gemm_ring_together(sizeof(T), held_columns);
  static constexpr int terms_at_once = 1;

  T sum[held_rows][held_columns];
  int row_lane, column_lane;

  SIMT_INLINE GemmSumsOfLane() {
    int const warp = simt::thread_index() / 32, lane = simt::lane_index();
    row_lane = warp % C.warps_down * 4 + lane % 4;
    column_lane = warp / C.warps_down * 8 + lane / 4;
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < held_columns; ++c) sum[r][c] = simt::from_real<T>(0);
    }
  }
  SIMT_INLINE int row(int r) const { return (r / rows_together * row_lanes + row_lane) * rows_together + r % rows_together; }
  SIMT_INLINE int column(int c) const {
    return (c / columns_together * column_lanes + column_lane) * columns_together + c % columns_together;
  }

  SIMT_INLINE void add(int terms, T const* a, T const* b, bool conjugate_a, bool conjugate_b) {
    constexpr GemmRingMemory memory = gemm_ring_memory<T>(C);
    SIMT_UNROLL_BY(2)
    for (int p = 0; p < terms; ++p) {
      T left[held_rows], right[held_columns];
      SIMT_UNROLL
      for (int r = 0; r < held_rows; r += rows_together) copy<rows_together>(left + r, a + p * memory.a_pitch + row(r));
      SIMT_UNROLL
      for (int c = 0; c < held_columns; c += columns_together) copy<columns_together>(right + c, b + p * memory.b_pitch + column(c));
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) left[r] = simt::conjugate_if(conjugate_a, left[r]);
      SIMT_UNROLL
      for (int c = 0; c < held_columns; ++c) right[c] = simt::conjugate_if(conjugate_b, right[c]);
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < held_columns; ++c) sum[r][c] = simt::multiply_add(left[r], right[c], sum[r][c]);
      }
    }
  }

  /// Puts the sums where the tile of C has its elements, line by line.
  SIMT_INLINE void put(T* tile) const {
    constexpr int pitch = gemm_ring_memory<T>(C).c_pitch;
    if constexpr (C.c == Lines::columns) {
      SIMT_UNROLL
      for (int c = 0; c < held_columns; ++c) {
        SIMT_UNROLL
        for (int r = 0; r < held_rows; r += rows_together) {
          T values[rows_together];
          SIMT_UNROLL
          for (int e = 0; e < rows_together; ++e) values[e] = sum[r + e][c];
          copy<rows_together>(tile + column(c) * pitch + row(r), values);
        }
      }
    } else {
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < held_columns; c += columns_together) copy<columns_together>(tile + row(r) * pitch + column(c), sum[r] + c);
      }
    }
  }

 private:
  /// Together, where the address in shared memory is a multiple of their size.
  template <int count>
  SIMT_INLINE static void copy(T* to, T const* from) {
    struct alignas(count * sizeof(T)) Together {
      T values[count];
    };
    Together x;
    memcpy(&x, from, sizeof(x));
    memcpy(to, &x, sizeof(x));
  }
};

/// The sums of one lane of a warp that multiplies on tensor cores, for double numbers. A complex product is one of real numbers with twice
/// the terms: (re, -im) of A times (re, im) of B is the real part, (re, im) of A times (im, re) of B the imaginary one; so that each
/// number is summed in the order in which a lane would.
template <typename T, GemmRing C>
struct GemmSumsOfWarp {
  using R = simt::Real<T>;
  static constexpr int parts = simt::is_complex<T> ? 2 : 1;
  static constexpr int terms_at_once = 4 / parts;
  static constexpr int rows_of_warp = C.m / C.warps_down, columns_of_warp = C.n / C.warps_across;
  static constexpr int down = rows_of_warp / 16, across = columns_of_warp / 8;
  static_assert(C.m % (16 * C.warps_down) == 0 && C.n % (8 * C.warps_across) == 0 && C.k % terms_at_once == 0);

  R sum[parts][down][across][4];
  int row, column;  ///< first of the warp
  int group, of_group;

  SIMT_INLINE GemmSumsOfWarp() {
    int const warp = simt::thread_index() / 32;
    row = warp % C.warps_down * rows_of_warp;
    column = warp / C.warps_down * columns_of_warp;
    group = simt::lane_index() / 4;
    of_group = simt::lane_index() % 4;
    SIMT_UNROLL
    for (int part = 0; part < parts; ++part) {
      SIMT_UNROLL
      for (int d = 0; d < down; ++d) {
        SIMT_UNROLL
        for (int c = 0; c < across; ++c) sum[part][d][c][0] = sum[part][d][c][1] = sum[part][d][c][2] = sum[part][d][c][3] = 0;
      }
    }
  }

  /// Terms are taken terms_at_once together: those that are missing are zero.
  SIMT_INLINE void add(int terms, T const* a, T const* b, bool conjugate_a, bool conjugate_b) {
    constexpr GemmRingMemory memory = gemm_ring_memory<T>(C);
    constexpr int a_row = memory.a_by_terms ? 1 : memory.a_pitch, a_term = memory.a_by_terms ? memory.a_pitch : 1;
    constexpr int b_column = memory.b_by_terms ? 1 : memory.b_pitch, b_term = memory.b_by_terms ? memory.b_pitch : 1;
    // What this lane has of A, and of B, and whether it is negated
    bool const imaginary = parts == 2 && of_group % 2 == 1;
    Sign const a_of_real(imaginary && !conjugate_a), a_of_imaginary(imaginary && conjugate_a);
    Sign const b_of_real(imaginary && conjugate_b), b_of_imaginary(!imaginary && conjugate_b);
    R const* const my_a = reinterpret_cast<R const*>(a + (row + group) * a_row + of_group / parts * a_term);
    R const* const my_b = reinterpret_cast<R const*>(b + (column + group) * b_column + of_group / parts * b_term);
    SIMT_UNROLL_BY(4 / parts)
    for (int p = 0; p < terms; p += terms_at_once) {
      R left[parts][down][2], right[parts][across];
      SIMT_UNROLL
      for (int d = 0; d < down; ++d) {
        SIMT_UNROLL
        for (int half = 0; half < 2; ++half) {
          R const* const from = my_a + parts * ((16 * d + 8 * half) * a_row + p * a_term);
          if constexpr (parts == 1) {
            left[0][d][half] = *from;
          } else {
            left[0][d][half] = a_of_real.of(from[imaginary]);
            left[1][d][half] = a_of_imaginary.of(from[imaginary]);
          }
        }
      }
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        R const* const from = my_b + parts * (8 * c * b_column + p * b_term);
        if constexpr (parts == 1) {
          right[0][c] = *from;
        } else {
          right[0][c] = b_of_real.of(from[imaginary]);
          right[1][c] = b_of_imaginary.of(from[!imaginary]);
        }
      }
      SIMT_UNROLL
      for (int part = 0; part < parts; ++part) {
        SIMT_UNROLL
        for (int d = 0; d < down; ++d) {
          SIMT_UNROLL
          for (int c = 0; c < across; ++c) simt::multiply_add_16x8x4(left[part][d], right[part][c], sum[part][d][c]);
        }
      }
    }
  }

  SIMT_INLINE void put(T* tile) const {
    constexpr int pitch = gemm_ring_memory<T>(C).c_pitch;
    SIMT_UNROLL
    for (int d = 0; d < down; ++d) {
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) {
          int const i = row + 16 * d + group + e / 2 * 8, j = column + 8 * c + 2 * of_group + e % 2;
          T& to = tile[C.c == Lines::columns ? i + j * pitch : j + i * pitch];
          if constexpr (parts == 1)
            to = sum[0][d][c][e];
          else
            to = {sum[0][d][c][e], sum[1][d][c][e]};
        }
      }
    }
  }

 private:
  /// Negation or nothing, by the bits: the units that subtract are those that multiply.
  struct Sign {
    unsigned upper;
    SIMT_INLINE explicit Sign(bool negative) : upper(negative ? 0x80000000u : 0) {}
    SIMT_INLINE R of(R x) const { return simt::number_of(simt::bits_of(x) ^ static_cast<unsigned long long>(upper) << 32); }
  };
};

/// How the threads of a block go through `lines` lines of `length` elements: `along` of them to a line, in which a thread has every
/// along-th element.
template <int length, int lines, int threads, int most_along>
struct GemmWalk {
  static constexpr int along = [] {
    int side_by_side = 1;
    while (side_by_side < most_along && length % (2 * side_by_side) == 0) side_by_side *= 2;
    return side_by_side;
  }();
  static constexpr int at_once = threads / along;  ///< lines
  static constexpr int of_line = length / along, of_lines = simt::ceil_div(lines, at_once);

  int first, first_line;

  SIMT_INLINE GemmWalk() : first(simt::thread_index() % along), first_line(simt::thread_index() / along) {}
};

/// What a thread copies of A or B, part after part. In shared memory elements of a line and lines are `step` and `line_step` apart.
template <typename T, int length, int lines, int threads, int step, int line_step>
class GemmCopies {
 public:
  /// The first element is at `from`, and `part_stride` from one part to the next.
  SIMT_INLINE GemmCopies(T const* from, simt::Index line_stride, simt::Index part_stride)
      : from_(from + walk_.first + walk_.first_line * line_stride), line_stride_(line_stride), part_stride_(part_stride) {}

  /// Starts the copies of the first `count` elements of the first `line_count` lines of the next part.
  SIMT_INLINE void bring(T* to, int count, int line_count) {
    to += walk_.first * step + walk_.first_line * line_step;
    if (count == length && line_count == lines)
      copy<true>(to, count, line_count);
    else
      copy<false>(to, count, line_count);
    from_ += part_stride_;
  }

 private:
  template <bool all>
  SIMT_INLINE void copy(T* to, int count, int line_count) const {
    T const* from = from_;
    SIMT_UNROLL
    for (int l = 0; l < walk_.of_lines; ++l) {
      if (all && lines % walk_.at_once == 0 ? true : walk_.first_line + l * walk_.at_once < line_count) {
        SIMT_UNROLL
        for (int e = 0; e < walk_.of_line; ++e)
          if (all || walk_.first + e * walk_.along < count)
            simt::copy_async(to + (e * walk_.along * step + l * walk_.at_once * line_step), from + e * walk_.along);
      }
      from += walk_.at_once * line_stride_;
    }
  }

  // Across the lines of shared memory 8 elements, a sector of memory or more, are as many as meet different banks.
  GemmWalk<length, lines, threads, step == 1 ? 32 : 8> walk_;
  T const* from_;
  simt::Index line_stride_, part_stride_;
};

/// The same of a matrix A of which one triangle is read; i0: its first row.
template <typename T, int length, int lines, int threads, int step, int line_step, GemmRing C>
class GemmCopiesOfTriangle {
 public:
  SIMT_INLINE GemmCopiesOfTriangle(T const* from, simt::Index row_stride, simt::Index column_stride, int i0)
      : from_(from), row_stride_(row_stride), column_stride_(column_stride), i0_(i0) {}

  SIMT_INLINE void bring(T* to, int count, int line_count) {
    for_each(to, count, line_count, next_, [&](T* to_element, int i, int p) {
      bool const stored = is_stored(C.structure, i, p);
      if (stored || !is_triangular(C.structure))
        simt::copy_async(to_element, from_ + ((stored ? i : p) * row_stride_ + (stored ? p : i) * column_stride_));
      else
        *to_element = simt::from_real<T>(i == p ? 1 : 0);
    });
    next_ += C.k;
  }
  /// Completes what this thread has brought of the part whose first term is `first`, once it has arrived.
  SIMT_INLINE void complete(T* to, int first, int count, int line_count) const {
    if (C.structure != Structure::hermitian || first + C.k <= i0_) return;
    for_each(to, count, line_count, first, [](T* element, int i, int p) {
      if (i == p)
        *element = simt::from_real<T>(simt::real_part(*element));
      else if (i < p)
        *element = simt::conjugate(*element);
    });
  }

 private:
  template <typename Use>
  SIMT_INLINE void for_each(T* to, int count, int line_count, int first, Use use) const {
    SIMT_UNROLL_BY(2)
    for (int line = walk_.first_line; line < line_count; line += walk_.at_once) {
      SIMT_UNROLL
      for (int e = 0; e < walk_.of_line; ++e) {
        int const x = walk_.first + e * walk_.along;
        if (x < count)
          use(to + (x * step + line * line_step), i0_ + (C.a == Lines::columns ? x : line), first + (C.a == Lines::columns ? line : x));
      }
    }
  }

  GemmWalk<length, lines, threads, step == 1 ? 32 : 8> walk_;
  T const* from_;
  simt::Index row_stride_, column_stride_;
  int i0_, next_ = 0;
};

/// Of A and B in the parts of the ring: k columns, k rows.
template <typename T, GemmRing C>
struct GemmCopiesOf {
  static constexpr GemmRingMemory memory = gemm_ring_memory<T>(C);
  static constexpr bool by_columns = C.a == Lines::columns, general = C.structure == Structure::general;
  static constexpr int a_length = by_columns ? C.m : C.k, a_lines = by_columns ? C.k : C.m;
  static constexpr int a_step = by_columns || !memory.a_by_terms ? 1 : memory.a_pitch;
  static constexpr int a_line_step = by_columns || !memory.a_by_terms ? memory.a_pitch : 1;
  using A = simt::Choose<general, GemmCopies<T, a_length, a_lines, C.threads(), a_step, a_line_step>,
                         GemmCopiesOfTriangle<T, a_length, a_lines, C.threads(), a_step, a_line_step, C>>;
  static constexpr bool b_by_rows = C.b == Lines::rows;
  using B = GemmCopies<T, b_by_rows ? C.n : C.k, b_by_rows ? C.k : C.n, C.threads(), b_by_rows || !memory.b_by_terms ? 1 : memory.b_pitch,
                       b_by_rows || !memory.b_by_terms ? memory.b_pitch : 1>;

  /// Of rows from i0 on, and of columns from j0 on; without terms there may be no address, and nothing is copied from `instead`.
  SIMT_INLINE static A of_a(simt::Matrices<T const> const& a, simt::Index b, int i0, int depth, T const* instead) {
    simt::Index const row_stride = a.row_stride_of(b), column_stride = a.col_stride_of(b);
    if constexpr (general)
      return {depth > 0 ? a.at(b, i0, 0) : instead, by_columns ? column_stride : row_stride, by_columns ? C.k * column_stride : C.k};
    else
      return {depth > 0 ? a.at(b, 0, 0) : instead, row_stride, column_stride, i0};
  }
  SIMT_INLINE static B of_b(simt::Matrices<T const> const& b, simt::Index number, int j0, int depth, T const* instead) {
    simt::Index const line_stride = b_by_rows ? b.row_stride_of(number) : b.col_stride_of(number);
    return {depth > 0 ? b.at(number, 0, j0) : instead, line_stride, b_by_rows ? C.k * line_stride : C.k};
  }
};

/// Each matrix of A, B and C has its elements side by side, down the columns or along the rows as C says.
///
/// Launch: any number of blocks of C.threads() threads with GemmRingMemory's bytes of dynamic shared memory.
template <typename T, GemmRing C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemm_ring(GemmArguments<T> const args) {
  using namespace simt;
  constexpr GemmRingMemory memory = gemm_ring_memory<T>(C);
  T* const shared = reinterpret_cast<T*>(shared_memory());
  bool const reads_c = !(args.beta == from_real<T>(0));

  Index const down = (args.c.rows + C.m - 1) / C.m, tiles = down * ((args.c.cols + C.n - 1) / C.n);
  for (Index at = block_index(); at < args.c.count * tiles; at += block_count()) {
    Index const b = at / tiles;
    int const i0 = static_cast<int>(at % tiles % down * C.m), j0 = static_cast<int>(at % tiles / down * C.n);
    int const rows = smaller(args.c.rows_of(b) - i0, C.m), columns = smaller(args.c.cols_of(b) - j0, C.n);
    if (rows <= 0 || columns <= 0) continue;  // of a ragged batch
    if (C.written != Written::whole && i0 + rows <= j0) continue;
    int const depth = args.depth == 0 ? 0 : args.a.cols_of(b);
    if (gemm_changes_nothing<C.written>(args, depth)) continue;

    using Copies = GemmCopiesOf<T, C>;
    typename Copies::A copies_of_a = Copies::of_a(args.a, b, i0, depth, shared);
    typename Copies::B copies_of_b = Copies::of_b(args.b, b, j0, depth, shared);
    Choose<memory.tensor, GemmSumsOfWarp<T, C>, GemmSumsOfLane<T, C>> sums;
    // Brings terms [first, first + C.k) to a part of the ring.
    auto const bring = [&](int first, T* part) {
      int const terms = smaller(depth - first, C.k);
      copies_of_a.bring(part, C.a == Lines::columns ? rows : terms, C.a == Lines::columns ? terms : rows);
      copies_of_b.bring(part + memory.b, C.b == Lines::columns ? terms : columns, C.b == Lines::columns ? columns : terms);
      // Those that are taken together with the last ones
      SIMT_LOOP
      for (int p = terms; p % sums.terms_at_once != 0; ++p) {
        SIMT_LOOP
        for (int i = thread_index(); i < C.m; i += C.threads())
          part[memory.a_by_terms ? i + p * memory.a_pitch : p + i * memory.a_pitch] = from_real<T>(0);
        SIMT_LOOP
        for (int j = thread_index(); j < C.n; j += C.threads())
          part[memory.b + (memory.b_by_terms ? j + p * memory.b_pitch : p + j * memory.b_pitch)] = from_real<T>(0);
      }
    };
    int part = 0, next_part = 0;
    SIMT_LOOP
    for (int first = -(C.stages - 1) * C.k; first < depth; first += C.k) {
      if (first >= 0) {
        wait_copy_groups<C.stages - 2>();
        if constexpr (C.structure != Structure::general) {
          int const terms = smaller(depth - first, C.k);
          copies_of_a.complete(shared + part * memory.stage, first, C.a == Lines::columns ? rows : terms,
                               C.a == Lines::columns ? terms : rows);
        }
        sync_block();  // so that all threads have their copies, and have used the part before, which is next to be brought
      }
      int const next = first + (C.stages - 1) * C.k;
      if (next < depth) bring(next, shared + next_part * memory.stage);
      end_copy_group();
      next_part = next_part + 1 < C.stages ? next_part + 1 : 0;
      if (first < 0) continue;
      T const* const terms = shared + part * memory.stage;
      sums.add(smaller(depth - first, C.k), terms, terms + memory.b, args.a.conjugated, args.b.conjugated);
      part = part + 1 < C.stages ? part + 1 : 0;
    }
    sync_block();
    sums.put(shared);
    sync_block();

    constexpr bool by_columns = C.c == Lines::columns;
    GemmWalk<by_columns ? C.m : C.n, by_columns ? C.n : C.m, C.threads(), 32> const walk;
    Index const line_stride = by_columns ? args.c.col_stride_of(b) : args.c.row_stride_of(b);
    int const count = by_columns ? rows : columns, line_count = by_columns ? columns : rows;
    T* to = args.c.at(b, i0, j0) + walk.first + walk.first_line * line_stride;
    T const* from = shared + walk.first + walk.first_line * memory.c_pitch;
    constexpr int together = walk.of_line < 8 ? 8 / walk.of_line : 1;  // whose elements of C are waited for together
    SIMT_LOOP
    for (int line = walk.first_line; line < line_count; line += together * walk.at_once) {
      auto const for_each = [&](auto use) {
        SIMT_UNROLL
        for (int l = 0; l < together; ++l) {
          if (line + l * walk.at_once >= line_count) break;
          SIMT_UNROLL
          for (int e = 0; e < walk.of_line; ++e) {
            int const x = walk.first + e * walk.along, y = line + l * walk.at_once;
            int const below = i0 - j0 + (by_columns ? x - y : y - x);  // the diagonal
            if (x < count && (C.written == Written::whole || below >= 0))
              use(l, e, below == 0, to + l * walk.at_once * line_stride + e * walk.along);
          }
        }
      };
      T former[together][walk.of_line];
      if (reads_c) for_each([&](int l, int e, bool, T const* element) { former[l][e] = *element; });
      for_each([&](int l, int e, bool diagonal, T* element) {
        T const sum = from[e * walk.along + l * walk.at_once * memory.c_pitch];
        store_global(element, gemm_element<C.written>(args, reads_c, diagonal, depth, sum, former[l][e]));
      });
      to += together * walk.at_once * line_stride;
      from += together * walk.at_once * memory.c_pitch;
    }
    if (at + block_count() < args.c.count * tiles) sync_block();
  }
}

}  // namespace myriad
