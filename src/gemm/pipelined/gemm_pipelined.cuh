#pragma once
/// C = alpha A B + beta C for many matrices: tiles of C in registers, A and B through a pipeline in shared memory.
///
/// Tried without gain (H100): 16-byte loads of several terms of each column of B instead of transposed copies, which leave no register bank
/// that suits the sums; the tile as a function that the kernel calls, 6% slower (double complex, 64 rows).

#include "gemm/pipelined/gemm_pipelined_config.cuh"
#include "gemm/ragged/gemm_schedule.cuh"
#include "simt/tile.hpp"

namespace myriad {

template <typename T>
SIMT_INLINE constexpr GemmPipelinedMemory gemm_pipelined_memory(GemmPipelined const& config) {
  return {sizeof(simt::Real<T>), simt::is_complex<T>, config};
}

/// Elements that are moved by one instruction, at an address that is a multiple of their size.
template <typename T, int size>
struct alignas(size * sizeof(T)) GemmTogether {
  T values[size];
};

template <int n>
struct GemmSize {
  static constexpr int value = n;
};

/// The `held` elements that each of `lanes` lanes has of a line: 16-byte pieces of each lane, then smaller pieces of the rest.
template <int element_bytes, int held, int lanes>
struct GemmPieces {
  static constexpr int of_chunk = 16 / element_bytes, chunks = held / of_chunk, rest = held % of_chunk;

  /// Position of a lane's element i in the line.
  SIMT_INLINE static constexpr int at(int lane, int i) {
    int first = chunks * of_chunk, size = of_chunk;
    if (i < first) {
      first = i / of_chunk * of_chunk;
    } else {
      for (size = of_chunk / 2; size > 1 && (rest % (2 * size) < size || i >= first + size); size /= 2)
        if (rest % (2 * size) >= size) first += size;
    }
    return first * lanes + lane * size + i - first;
  }
  /// Calls use(GemmSize<size>, first) for every piece.
  template <typename Use>
  SIMT_INLINE static void for_each(Use use) {
    SIMT_UNROLL
    for (int i = 0; i < chunks; ++i) use(GemmSize<of_chunk>{}, i * of_chunk);
    if constexpr (rest / 2 == 1) use(GemmSize<2>{}, chunks * of_chunk);
    if constexpr (rest % 2 == 1) use(GemmSize<1>{}, chunks * of_chunk + rest / 2 * 2);
  }
};

/// The sums of one lane, by fused multiply-adds. The lanes of a warp are 4 down and 8 across. They read their rows, or columns, of each
/// term in pieces of up to 16 bytes, while the term before is multiplied.
template <typename T, GemmPipelined C>
struct GemmSumsOfLane {
  static constexpr GemmPipelinedMemory memory = gemm_pipelined_memory<T>(C);
  static constexpr int row_lanes = 4 * C.warps_down, column_lanes = 8 * C.warps_across;
  static constexpr int held_rows = C.m / row_lanes, held_columns = C.n / column_lanes;
  static_assert(C.m % row_lanes == 0 && C.n % column_lanes == 0);
  using Rows = GemmPieces<sizeof(T), held_rows, row_lanes>;
  using Columns = GemmPieces<sizeof(T), held_columns, column_lanes>;
  static constexpr int terms_at_once = 1;

  T sum[held_rows][held_columns];
  int row_lane, column_lane;

  /// Two lanes whose numbers differ by 1 have the same rows, by 2 the same columns. The 16-byte reads of two times eight lanes are then
  /// served together.
  SIMT_INLINE GemmSumsOfLane() {
    int const warp = simt::thread_index() / 32, lane = simt::lane_index();
    row_lane = warp % C.warps_down * 4 + lane / 8 % 2 * 2 + lane / 2 % 2;
    column_lane = warp / C.warps_down * 8 + lane / 16 * 4 + lane / 4 % 2 * 2 + lane % 2;
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < held_columns; ++c) sum[r][c] = simt::from_real<T>(0);
    }
  }

  SIMT_INLINE void add(int terms, T const* a, T const* b, bool conjugate_a, bool conjugate_b) {
    if (simt::is_complex<T> && (conjugate_a || conjugate_b))
      add_terms<true>(terms, a, b, conjugate_a, conjugate_b);
    else
      add_terms<false>(terms, a, b, false, false);
  }

  /// Calls change(i, j, sum, element) for this lane's elements of a tile, and stores the result in the tile. Where `reads` is false,
  /// `element` is undefined.
  template <bool reads, typename Change>
  SIMT_INLINE void put(T* tile, Change change) const {
    constexpr int pitch = memory.c_pitch;
    if constexpr (C.c == Lines::columns) {
      SIMT_UNROLL
      for (int c = 0; c < held_columns; ++c) {
        int const j = Columns::at(column_lane, c);
        Rows::for_each([&](auto size, int r) {
          constexpr int count = decltype(size)::value;
          int const i = Rows::at(row_lane, r);
          T values[count];
          if constexpr (reads) load<count>(values, tile + j * pitch + i);
          SIMT_UNROLL
          for (int e = 0; e < count; ++e) values[e] = change(i + e, j, sum[r + e][c], values[e]);
          store<count>(tile + j * pitch + i, values);
        });
      }
    } else {
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) {
        int const i = Rows::at(row_lane, r);
        Columns::for_each([&](auto size, int c) {
          constexpr int count = decltype(size)::value;
          int const j = Columns::at(column_lane, c);
          T values[count];
          if constexpr (reads) load<count>(values, tile + i * pitch + j);
          SIMT_UNROLL
          for (int e = 0; e < count; ++e) values[e] = change(i, j + e, sum[r][c + e], values[e]);
          store<count>(tile + i * pitch + j, values);
        });
      }
    }
  }

 private:
  /// As one access: the address in shared memory must be a multiple of its size.
  template <int count>
  SIMT_INLINE static void load(T* to, T const* from) {
    GemmTogether<T, count> const x = *reinterpret_cast<GemmTogether<T, count> const*>(from);
    SIMT_UNROLL
    for (int e = 0; e < count; ++e) to[e] = x.values[e];
  }
  template <int count>
  SIMT_INLINE static void store(T* to, T const* from) {
    GemmTogether<T, count> x;
    SIMT_UNROLL
    for (int e = 0; e < count; ++e) x.values[e] = from[e];
    *reinterpret_cast<GemmTogether<T, count>*>(to) = x;
  }

  /// The addresses of a lane's first piece of each size in a line; all others are at distances known at compile time.
  template <typename Pieces>
  struct Line {
    T const *chunks, *pair, *one;

    SIMT_INLINE Line(T const* line, int lane)
        : chunks(line + Pieces::at(lane, 0)),
          pair(line + Pieces::at(lane, Pieces::chunks * Pieces::of_chunk)),
          one(line + Pieces::at(lane, Pieces::chunks * Pieces::of_chunk + Pieces::rest / 2 * 2)) {}
    SIMT_INLINE void advance(int elements) {
      chunks += elements;
      pair += elements;
      one += elements;
    }
    template <int lanes>
    SIMT_INLINE void read(T* to, int elements_on) const {
      Pieces::for_each([&](auto size, int i) {
        constexpr int count = decltype(size)::value;
        T const* const from = count == Pieces::of_chunk ? chunks + i * lanes : count == 2 ? pair : one;
        load<count>(to + i, from + elements_on);
      });
    }
  };
  struct Operands {
    T left[held_rows], right[held_columns];
  };
  /// Every second row or column is multiplied backwards, so that each product reuses a factor of the one before without reading its
  /// register again. Real products go column by column: half as many products then reuse no factor.
  SIMT_INLINE void multiply(Operands const& x) {
    if constexpr (simt::is_complex<T>) {
      SIMT_UNROLL
      for (int r = 0; r < held_rows; ++r) {
        SIMT_UNROLL
        for (int e = 0; e < held_columns; ++e) {
          int const c = r % 2 == 1 ? held_columns - 1 - e : e;
          sum[r][c] = simt::multiply_add(x.left[r], x.right[c], sum[r][c]);
        }
      }
    } else {
      SIMT_UNROLL
      for (int c = 0; c < held_columns; ++c) {
        SIMT_UNROLL
        for (int e = 0; e < held_rows; ++e) {
          int const r = c % 2 == 1 ? held_rows - 1 - e : e;
          sum[r][c] = simt::multiply_add(x.left[r], x.right[c], sum[r][c]);
        }
      }
    }
  }

  template <bool conjugates>
  SIMT_INLINE void add_terms(int terms, T const* a, T const* b, bool conjugate_a, bool conjugate_b) {
    // An even number, so that the next term is in the first operands again. The loop must fit the instruction cache.
    constexpr int at_once = held_rows * held_columns * (simt::is_complex<T> ? 4 : 1) > 128 ? 2 : 4;
    Line<Rows> left(a, row_lane);
    Line<Columns> right(b, column_lane);
    Operands x[2];
    auto const load_operands = [&](Operands& to, int terms_on) {
      left.template read<row_lanes>(to.left, terms_on * memory.a_pitch);
      right.template read<column_lanes>(to.right, terms_on * memory.b_pitch);
      if constexpr (conjugates) {
        SIMT_UNROLL
        for (int r = 0; r < held_rows; ++r) to.left[r] = simt::conjugate_if(conjugate_a, to.left[r]);
        SIMT_UNROLL
        for (int c = 0; c < held_columns; ++c) to.right[c] = simt::conjugate_if(conjugate_b, to.right[c]);
      }
    };
    auto const advance = [&](int by) {
      left.advance(by * memory.a_pitch);
      right.advance(by * memory.b_pitch);
    };
    load_operands(x[0], 0);
    int p = 0;
    SIMT_LOOP
    for (; p + at_once <= terms; p += at_once) {
      SIMT_UNROLL
      for (int t = 0; t < at_once; ++t) {
        // There may be nothing behind the last term.
        if (t + 1 == at_once) advance(simt::smaller(at_once, terms - 1 - p));
        load_operands(x[(t + 1) % 2], t + 1 < at_once ? t + 1 : 0);
        multiply(x[t % 2]);
      }
    }
    SIMT_LOOP
    for (; p < terms; ++p) {
      multiply(x[0]);
      advance(simt::smaller(1, terms - 1 - p));
      load_operands(x[0], 0);
    }
  }
};

/// The sums of one lane of a warp that multiplies on tensor cores in double precision. A complex product is a real one with twice the
/// terms: (re, im) of A times (re, -im) of B is the real part, (re, im) of A times (im, re) of B the imaginary one. So each number is
/// summed in the order in which a lane would.
template <typename T, GemmPipelined C>
struct GemmSumsOfWarp {
  using R = simt::Real<T>;
  static constexpr int parts = simt::is_complex<T> ? 2 : 1;
  static constexpr int terms_at_once = 4 / parts;
  static constexpr int rows_of_warp = C.m / C.warps_down, columns_of_warp = C.n / C.warps_across;
  static constexpr int down = rows_of_warp / 16, across = columns_of_warp / 8;
  /// Groups of four numbers per instruction. Real: as many as there are registers for operands. Complex, two numbers to a term: two groups,
  /// mostly 2 to 8% faster than one.
  static constexpr int fours = parts == 2                                                  ? C.k % (2 * terms_at_once) == 0 ? 2 : 1
                               : C.k % (4 * terms_at_once) == 0 && 2 * down + across <= 8  ? 4
                               : C.k % (2 * terms_at_once) == 0 && 2 * down + across <= 16 ? 2
                                                                                           : 1;
  static_assert(C.m % (16 * C.warps_down) == 0 && C.n % (8 * C.warps_across) == 0 && C.k % terms_at_once == 0);

  R sum[parts][down][across][4];
  int row, column;  ///< first row and column of the warp
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

  /// Terms are multiplied terms_at_once together; missing ones must be zero in shared memory.
  SIMT_INLINE void add(int terms, T const* a, T const* b, bool conjugate_a, bool conjugate_b) {
    constexpr GemmPipelinedMemory memory = gemm_pipelined_memory<T>(C);
    constexpr int a_row = memory.a_by_terms ? 1 : memory.a_pitch, a_term = memory.a_by_terms ? memory.a_pitch : 1;
    constexpr int b_column = memory.b_by_terms ? 1 : memory.b_pitch, b_term = memory.b_by_terms ? memory.b_pitch : 1;
    // This lane's elements of B carry the signs of products; A is multiplied as it is read, for both parts.
    bool const imaginary = parts == 2 && of_group % 2 == 1;
    Sign const of_real(imaginary && conjugate_a == conjugate_b), of_imaginary(imaginary ? conjugate_a : conjugate_b);
    R const* const my_a = reinterpret_cast<R const*>(a + (row + group) * a_row + of_group / parts * a_term);
    R const* const my_b = reinterpret_cast<R const*>(b + (column + group) * b_column + of_group / parts * b_term);
    auto const add_at = [&](auto size, int p) {
      constexpr int steps = decltype(size)::value;
      R left[down][steps][2], right[parts][across][steps];
      SIMT_UNROLL
      for (int d = 0; d < down; ++d) {
        SIMT_UNROLL
        for (int s = 0; s < steps; ++s) {
          SIMT_UNROLL
          for (int half = 0; half < 2; ++half) {
            R const* const from = my_a + parts * ((16 * d + 8 * half) * a_row + (p + s * terms_at_once) * a_term);
            left[d][s][half] = from[imaginary];
          }
        }
      }
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        SIMT_UNROLL
        for (int s = 0; s < steps; ++s) {
          R const* const from = my_b + parts * (8 * c * b_column + (p + s * terms_at_once) * b_term);
          if constexpr (parts == 1) {
            right[0][c][s] = *from;
          } else {
            right[0][c][s] = of_real.of(from[imaginary]);
            right[1][c][s] = of_imaginary.of(from[!imaginary]);
          }
        }
      }
      SIMT_UNROLL
      for (int part = 0; part < parts; ++part) {
        SIMT_UNROLL
        for (int d = 0; d < down; ++d) {
          SIMT_UNROLL
          for (int c = 0; c < across; ++c) simt::multiply_add_16x8(left[d], right[part][c], sum[part][d][c]);
        }
      }
    };
    int p = 0;
    SIMT_UNROLL_BY(simt::larger(4 / parts / fours, 1))
    for (; fours > 1 ? p + fours * terms_at_once <= terms : p < terms; p += fours * terms_at_once) add_at(GemmSize<fours>{}, p);
    if constexpr (fours > 1) {
      SIMT_LOOP
      for (; p < terms; p += terms_at_once) add_at(GemmSize<1>{}, p);
    }
  }

  /// See GemmSumsOfLane.
  template <bool reads, typename Change>
  SIMT_INLINE void put(T* tile, Change change) const {
    constexpr int pitch = gemm_pipelined_memory<T>(C).c_pitch;
    SIMT_UNROLL
    for (int d = 0; d < down; ++d) {
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) {
          int const i = row + 16 * d + group + e / 2 * 8, j = column + 8 * c + 2 * of_group + e % 2;
          T& element = tile[C.c == Lines::columns ? i + j * pitch : j + i * pitch];
          T value;
          if constexpr (parts == 1)
            value = sum[0][d][c][e];
          else
            value = {sum[0][d][c][e], sum[1][d][c][e]};
          element = change(i, j, value, element);
        }
      }
    }
  }

 private:
  /// Negates by flipping the sign bit: the units that subtract are those that multiply.
  struct Sign {
    unsigned upper;
    SIMT_INLINE explicit Sign(bool negative) : upper(negative ? 0x80000000u : 0) {}
    SIMT_INLINE R of(R x) const { return simt::number_of(simt::bits_of(x) ^ static_cast<unsigned long long>(upper) << 32); }
  };
};

/// The sums of one lane of a warp that multiplies on tensor cores in single precision, with factors rounded to 11 bits or split into two.
/// Every kernel takes 8 terms at a time from the first on, so each element has the same bits everywhere.
template <GemmPipelined C>
struct GemmSumsOfSingleWarp {
  static constexpr GemmPipelinedMemory memory = gemm_pipelined_memory<float>(C);
  static constexpr bool splits = C.factors == Factors::split;
  static constexpr int terms_at_once = 8;
  static constexpr int rows_of_warp = C.m / C.warps_down, columns_of_warp = C.n / C.warps_across;
  static constexpr int down = rows_of_warp / 16, across = columns_of_warp / 8;
  static_assert(C.m % (16 * C.warps_down) == 0 && C.n % (8 * C.warps_across) == 0 && C.k % terms_at_once == 0);

  float sum[down][across][4];
  int row, column;  ///< first row and column of the warp
  int group, of_group;

  SIMT_INLINE GemmSumsOfSingleWarp() {
    int const warp = simt::thread_index() / 32;
    row = warp % C.warps_down * rows_of_warp;
    column = warp / C.warps_down * columns_of_warp;
    group = simt::lane_index() / 4;
    of_group = simt::lane_index() % 4;
    SIMT_UNROLL
    for (int d = 0; d < down; ++d) {
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) sum[d][c][0] = sum[d][c][1] = sum[d][c][2] = sum[d][c][3] = 0;
    }
  }

  /// Missing terms of the last eight must be zero in shared memory.
  SIMT_INLINE void add(int terms, float const* a, float const* b, bool, bool) {
    constexpr int a_row = memory.a_by_terms ? 1 : memory.a_pitch, a_term = memory.a_by_terms ? memory.a_pitch : 1;
    constexpr int b_column = memory.b_by_terms ? 1 : memory.b_pitch, b_term = memory.b_by_terms ? memory.b_pitch : 1;
    float const* const my_a = a + (row + group) * a_row + of_group * a_term;
    float const* const my_b = b + (column + group) * b_column + of_group * b_term;
    SIMT_UNROLL_BY(2)
    for (int p = 0; p < terms; p += terms_at_once) {
      // The number rounded to 11 bits, and the rounded rest
      unsigned left[down][4], left_rest[down][4], right[across][2], right_rest[across][2];
      SIMT_UNROLL
      for (int d = 0; d < down; ++d) {
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) round(my_a[(16 * d + e % 2 * 8) * a_row + (p + e / 2 * 4) * a_term], left[d][e], left_rest[d][e]);
      }
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) round(my_b[8 * c * b_column + (p + e * 4) * b_term], right[c][e], right_rest[c][e]);
      }
      // Small products first; the product of both rests would change nothing.
      if constexpr (splits) {
        multiply(left_rest, right);
        multiply(left, right_rest);
      }
      multiply(left, right);
    }
  }

  /// See GemmSumsOfLane.
  template <bool reads, typename Change>
  SIMT_INLINE void put(float* tile, Change change) const {
    SIMT_UNROLL
    for (int d = 0; d < down; ++d) {
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) {
          int const i = row + 16 * d + group + e / 2 * 8, j = column + 8 * c + 2 * of_group + e % 2;
          float& element = tile[C.c == Lines::columns ? i + j * memory.c_pitch : j + i * memory.c_pitch];
          element = change(i, j, sum[d][c][e], element);
        }
      }
    }
  }

 private:
  SIMT_INLINE static void round(float x, unsigned& nearest, unsigned& rest) {
    nearest = simt::tf32_bits(x);
    rest = splits ? simt::tf32_bits(x - simt::number_of(nearest)) : 0;
  }
  SIMT_INLINE void multiply(unsigned const (&left)[down][4], unsigned const (&right)[across][2]) {
    SIMT_UNROLL
    for (int d = 0; d < down; ++d) {
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) simt::multiply_add_tf32_16x8x8(left[d], right[c], sum[d][c]);
    }
  }
};

/// How the threads of a block go through `lines` lines of `length` elements: `along` threads share a line, and each has every along-th
/// element of it.
template <int length, int lines, int threads, int most_along>
struct GemmWalk {
  /// The power of two from 8 on (less for shorter lines) that leaves the fewest threads without an element.
  static constexpr int along = [] {
    int best = most_along;
    for (int side_by_side = most_along / 2; side_by_side >= 1 && (side_by_side >= 8 || side_by_side >= length); side_by_side /= 2)
      if (simt::ceil_div(length, side_by_side) * side_by_side < simt::ceil_div(length, best) * best) best = side_by_side;
    return best;
  }();
  static constexpr int at_once = threads / along;  ///< lines
  static constexpr int of_line = simt::ceil_div(length, along), of_lines = simt::ceil_div(lines, at_once);
  static constexpr bool even = length % along == 0 && lines % at_once == 0;  ///< whether all threads have equally many elements

  int first, first_line;

  SIMT_INLINE GemmWalk() : first(simt::thread_index() % along), first_line(simt::thread_index() / along) {}
};

/// Whether all lines begin at multiples of 16 bytes.
template <typename T>
SIMT_INLINE bool gemm_lines_of_chunks(T const* first, simt::Index line_stride) {
  return (reinterpret_cast<unsigned long long>(first) | static_cast<unsigned long long>(line_stride) * sizeof(T)) % 16 == 0;
}

/// A thread's copies of A or B, stage after stage: 16 bytes at a time where all lines begin at multiples of 16 bytes. In shared memory
/// lines are `pitch` apart; if `transposed`, elements of a line are.
///
/// Where an element is 16 bytes, a thread keeps the address of its own: double complex products are then mostly 1 to 3% faster. With
/// smaller elements single and single complex products, which have no register to spare, took up to 15% longer.
template <typename T, int length, int lines, int threads, int pitch, bool transposed>
class GemmCopies {
 public:
  /// `from`: the first element; `part_stride`: the distance from one stage's elements to the next.
  SIMT_INLINE GemmCopies(T const* from, simt::Index line_stride, simt::Index part_stride)
      : from_(of_element ? from + first_of_thread<1>(line_stride) : from),
        line_stride_(line_stride),
        part_stride_(part_stride),
        chunks_(!transposed && of_chunk > 1 && gemm_lines_of_chunks(from, line_stride | part_stride)) {}

  /// Starts the copies of the first `count` elements of the first `line_count` lines of the next stage.
  SIMT_INLINE void copy(T* to, int count, int line_count) {
    bool const all = count == length && line_count == lines;
    if (!transposed && chunks_ && count % of_chunk == 0) {
      if (all)
        copy<of_chunk, true>(to, count, line_count);
      else
        copy<of_chunk, false>(to, count, line_count);
    } else if ((transposed || of_element) && all) {
      copy<1, true>(to, count, line_count);
    } else {
      copy<1, false>(to, count, line_count);
    }
    from_ += part_stride_;
  }

 private:
  static constexpr bool of_element = !transposed && sizeof(T) == 16;  ///< an element is 16 bytes
  static constexpr int of_chunk = transposed ? 1 : 16 / sizeof(T);
  static_assert(length % of_chunk == 0 && pitch % of_chunk == 0);
  static constexpr int step = transposed ? pitch : 1, line_step = transposed ? 1 : pitch;
  /// A warp transposes four elements of each of eight lines, which are in different banks (see GemmPipelinedMemory).
  template <int size>
  using Walk = GemmWalk<length / size, lines, threads, transposed ? 8 : 32>;

  template <int size>
  SIMT_INLINE static simt::Index first_of_thread(simt::Index line_stride) {
    Walk<size> const walk;
    return walk.first * size + walk.first_line * line_stride;
  }

  /// Copies `size` elements at a time.
  template <int size, bool all>
  SIMT_INLINE void copy(T* to, int count, int line_count) const {
    Walk<size> const walk;
    T const* from = of_element ? from_ : from_ + first_of_thread<size>(line_stride_);
    to += walk.first * size * step + walk.first_line * line_step;
    SIMT_UNROLL
    for (int l = 0; l < walk.of_lines; ++l) {
      if (all && walk.even ? true : walk.first_line + l * walk.at_once < line_count) {
        SIMT_UNROLL
        for (int e = 0; e < walk.of_line; ++e)
          if (all && walk.even ? true : (walk.first + e * walk.along) * size < count) {
            int const at = e * walk.along * size;
            T* const element = to + (at * step + l * walk.at_once * line_step);
            if constexpr (size * sizeof(T) == 16)
              simt::copy_async_16(element, from + at);
            else
              simt::copy_async(element, from + at);
          }
      }
      from += walk.at_once * line_stride_;
    }
  }

  T const* from_;  ///< where the next stage begins in global memory, or this thread's elements of it
  simt::Index line_stride_, part_stride_;
  bool chunks_;
};

/// As GemmCopies, for an A of which one triangle is read; i0: its first row.
template <typename T, int length, int lines, int pitch, bool transposed, GemmPipelined C>
class GemmCopiesOfTriangle {
 public:
  SIMT_INLINE GemmCopiesOfTriangle(T const* from, simt::Index row_stride, simt::Index column_stride, int i0)
      : from_(from), row_stride_(row_stride), column_stride_(column_stride), i0_(i0) {}

  SIMT_INLINE void copy(T* to, int count, int line_count) {
    for_each(to, count, line_count, next_, [&](T* to_element, int i, int p) {
      bool const stored = is_stored(C.structure, i, p);
      if (stored || !is_triangular(C.structure))
        simt::copy_async(to_element, from_ + ((stored ? i : p) * row_stride_ + (stored ? p : i) * column_stride_));
      else
        *to_element = simt::from_real<T>(i == p ? 1 : 0);
    });
    next_ += C.k;
  }
  /// Completes this thread's elements of the stage whose first term is `first`, after their copies have arrived: conjugates those of the
  /// other triangle, and makes the diagonal real.
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
          use(to + (transposed ? x * pitch + line : x + line * pitch), i0_ + (C.a == Lines::columns ? x : line),
              first + (C.a == Lines::columns ? line : x));
      }
    }
  }

  GemmWalk<length, lines, C.threads(), transposed ? 8 : 32> walk_;
  T const* from_;
  simt::Index row_stride_, column_stride_;
  int i0_, next_ = 0;
};

/// The copies of A and B to stages: k columns, k rows.
template <typename T, GemmPipelined C>
struct GemmCopiesOf {
  static constexpr GemmPipelinedMemory memory = gemm_pipelined_memory<T>(C);
  static constexpr bool by_columns = C.a == Lines::columns, general = C.structure == Structure::general;
  static constexpr int a_length = by_columns ? C.m : C.k, a_lines = by_columns ? C.k : C.m;
  using A = simt::Choose<general, GemmCopies<T, a_length, a_lines, C.threads(), memory.a_pitch, memory.a_by_terms != by_columns>,
                         GemmCopiesOfTriangle<T, a_length, a_lines, memory.a_pitch, memory.a_by_terms != by_columns, C>>;
  static constexpr bool b_by_rows = C.b == Lines::rows;
  static constexpr int b_length = b_by_rows ? C.n : C.k, b_lines = b_by_rows ? C.k : C.n;
  using B = GemmCopies<T, b_length, b_lines, C.threads(), memory.b_pitch, memory.b_by_terms != b_by_rows>;

  /// The copies of rows of A from i0 on, and of columns of B from j0 on. Without terms there may be no address; nothing is copied from
  /// `instead`.
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

/// Whether sums are multiplied by alpha when they are stored to shared memory, not when C is updated. If sums were stored unchanged, 16
/// bytes at a time, their registers would have to be neighbours. Rows of sums would then begin in the register banks of their factors, and
/// products would stall (single: up to 20% longer). For complex sums, whose parts are neighbours anyhow, it was slower.
template <typename T, GemmPipelined C>
inline constexpr bool gemm_pipelined_puts_products = C.c_beside == 1 || (!simt::is_complex<T> && !gemm_pipelined_memory<T>(C).tensor);

/// The product that is added to an element of C. Without terms it is -0 where C is read, which leaves every number that it is added to as
/// it is.
template <typename T, GemmPipelined C>
SIMT_INLINE T gemm_pipelined_product(GemmArguments<T> const& args, bool reads_c, int depth, T sum) {
  constexpr bool hermitian = C.written == Written::lower_hermitian && simt::is_complex<T>;
  T const zero = simt::from_real<T>(0);
  return depth > 0 ? args.alpha * sum : reads_c && !hermitian ? -zero : zero;
}
/// See gemm_element; this one has no branches: where C is not read, `before` may be anything.
template <typename T, GemmPipelined C>
SIMT_INLINE T gemm_pipelined_element(GemmArguments<T> const& args, bool reads_c, bool diagonal, T product, T const& before) {
  using namespace simt;
  if constexpr (C.written == Written::lower_hermitian && is_complex<T>) {
    if (reads_c) product = {multiply_add(args.beta.re, before.re, product.re), multiply_add(args.beta.re, before.im, product.im)};
    return diagonal ? from_real<T>(product.re) : product;
  } else {
    T const updated = multiply_add(args.beta, before, product);
    return reads_c ? updated : product;
  }
}

/// Whether element x of line y of a tile of C is read and written. The tile's first element has a row that is `below` more than its column.
template <GemmPipelined C>
SIMT_INLINE bool gemm_pipelined_is_written(int below, int x, int y) {
  return C.written == Written::whole || below + (C.c == Lines::columns ? x - y : y - x) >= 0;
}

/// Starts the copies of lines [line, end) of a tile of C to shared memory, `size` elements at a time.
template <int size, typename T, GemmPipelined C>
SIMT_INLINE void gemm_pipelined_load_c(T* tile, T const* from, simt::Index line_stride, int count, int line, int end, int below) {
  using namespace simt;
  constexpr bool by_columns = C.c == Lines::columns;
  constexpr int pitch = gemm_pipelined_memory<T>(C).c_pitch;
  GemmWalk<(by_columns ? C.m : C.n) / size, by_columns ? C.n : C.m, C.threads(), 32> const walk;
  line += walk.first_line;
  from += walk.first * size + line * line_stride;
  tile += walk.first * size + line * pitch;
  SIMT_UNROLL_BY(2)
  for (; line < end; line += walk.at_once) {
    SIMT_UNROLL
    for (int e = 0; e < walk.of_line; ++e) {
      int const x = (walk.first + e * walk.along) * size, at = e * walk.along * size;
      if (x < count && gemm_pipelined_is_written<C>(below, x, line)) {
        if constexpr (size * sizeof(T) == 16)
          copy_async_16(tile + at, from + at);
        else
          copy_async(tile + at, from + at);
      }
    }
    from += walk.at_once * line_stride;
    tile += walk.at_once * pitch;
  }
}

/// Stores a tile of C from shared memory, `size` elements of a line at a time.
template <int size, typename T, GemmPipelined C>
SIMT_INLINE void gemm_pipelined_store(T const* tile, T* to, simt::Index line_stride, int count, int line_count, int below) {
  using namespace simt;
  using Together = GemmTogether<T, size>;
  constexpr bool by_columns = C.c == Lines::columns;
  constexpr int pitch = gemm_pipelined_memory<T>(C).c_pitch;
  GemmWalk<(by_columns ? C.m : C.n) / size, by_columns ? C.n : C.m, C.threads(), 32> const walk;
  int line = walk.first_line;
  to += walk.first * size + line * line_stride;
  tile += walk.first * size + line * pitch;
  SIMT_UNROLL_BY(4)
  for (; line < line_count; line += walk.at_once) {
    SIMT_UNROLL
    for (int e = 0; e < walk.of_line; ++e) {
      int const x = (walk.first + e * walk.along) * size, at = e * walk.along * size;
      if (x < count && gemm_pipelined_is_written<C>(below, x, line))
        store_global(reinterpret_cast<Together*>(to + at), *reinterpret_cast<Together const*>(tile + at));
    }
    to += walk.at_once * line_stride;
    tile += walk.at_once * pitch;
  }
}

/// Number of lines of a C tile whose loads a thread has in flight together, with `of_line` elements of `bytes` each: 256 bytes, which fit
/// where the sums were, or sixteen addresses. For whole tiles it divides the number of lines.
SIMT_INLINE constexpr int gemm_pipelined_lines_at_once(int of_lines, int of_line, int bytes, bool all) {
  int most = simt::smaller(of_lines, simt::larger(256 / (of_line * simt::larger(bytes, 16)), 1));
  while (all && of_lines % most != 0) --most;
  return most;
}

/// Updates a tile of C whose sums, or alpha times these, the block has just stored to shared memory. `size` elements of a line are moved
/// together. The first element has a row that is `below` more than its column. `all`: the tile is whole, and all threads have equally many
/// elements.
///
/// In place of missing elements a thread reads its first element once more, which no other thread writes, so that all loads are alike: with
/// a branch for each load, the compiler set the destination to zero at each of them.
template <int size, bool all, bool reads_c, typename T, GemmPipelined C>
SIMT_INLINE void gemm_pipelined_update(GemmArguments<T> const& args, T const* tile, T* to, simt::Index line_stride, int count,
                                       int line_count, int below, int depth) {
  using namespace simt;
  using Together = GemmTogether<T, size>;
  constexpr bool by_columns = C.c == Lines::columns;
  constexpr int pitch = gemm_pipelined_memory<T>(C).c_pitch;
  GemmWalk<(by_columns ? C.m : C.n) / size, by_columns ? C.n : C.m, C.threads(), 32> const walk;
  static_assert(!all || walk.even);
  constexpr int most = gemm_pipelined_lines_at_once(walk.of_lines, walk.of_line, sizeof(Together), all);
  tile += walk.first * size + walk.first_line * pitch;
  T* next = to + (walk.first * size + walk.first_line * line_stride);
  Index const step = walk.at_once * line_stride;
  sync_block();
  SIMT_LOOP
  for (int line = walk.first_line; line < line_count && (all || walk.first * size < count); line += most * walk.at_once) {
    Together former[most][walk.of_line];
    T* at = next;
    if constexpr (reads_c) {
      SIMT_UNROLL
      for (int l = 0; l < most; ++l) {
        T const* const from = all ? at : to + (line + (line + l * walk.at_once < line_count ? l * walk.at_once : 0)) * line_stride;
        if (all) at += step;
        SIMT_UNROLL
        for (int e = 0; e < walk.of_line; ++e) {
          int const x = e * walk.along * size, first = walk.first * size;
          int const inside = all ? x : first + (first + x < count ? x : 0);
          former[l][e] = *reinterpret_cast<Together const*>(from + inside);
        }
      }
    }
    SIMT_UNROLL
    for (int l = 0; l < most; ++l, next += step) {
      SIMT_UNROLL
      for (int e = 0; e < walk.of_line; ++e) {
        int const x = (walk.first + e * walk.along) * size, y = line + l * walk.at_once;
        if (!all && !(y < line_count && x < count && gemm_pipelined_is_written<C>(below, x, y))) continue;
        bool const diagonal = below + (by_columns ? x - y : y - x) == 0;
        Together values = *reinterpret_cast<Together const*>(tile + (l * walk.at_once * pitch + e * walk.along * size));
        SIMT_UNROLL
        for (int i = 0; i < size; ++i) {
          T const before = reads_c ? former[l][e].values[i] : T{};
          T product = values.values[i];
          if constexpr (!gemm_pipelined_puts_products<T, C>) product = gemm_pipelined_product<T, C>(args, reads_c, depth, product);
          values.values[i] = gemm_pipelined_element<T, C>(args, reads_c, diagonal, product, before);
        }
        store_global(reinterpret_cast<Together*>(next + e * walk.along * size), values);
      }
    }
    tile += most * walk.at_once * pitch;
  }
}
template <int size, bool all, typename T, GemmPipelined C>
SIMT_INLINE void gemm_pipelined_update(GemmArguments<T> const& args, T const* tile, T* to, simt::Index line_stride, int count,
                                       int line_count, int below, int depth) {
  if (args.beta == simt::from_real<T>(0))
    gemm_pipelined_update<size, all, false, T, C>(args, tile, to, line_stride, count, line_count, below, depth);
  else
    gemm_pipelined_update<size, all, true, T, C>(args, tile, to, line_stride, count, line_count, below, depth);
}

/// The class that sums in a kernel.
template <typename T, GemmPipelined C, Factors factors = C.factors>
struct GemmSumsOf {
  using type = simt::Choose<gemm_pipelined_memory<T>(C).tensor, GemmSumsOfWarp<T, C>, GemmSumsOfLane<T, C>>;
};
template <GemmPipelined C, Factors factors>
struct GemmSumsOf<float, C, factors> {
  using type = GemmSumsOfSingleWarp<C>;
};
template <GemmPipelined C>
struct GemmSumsOf<float, C, Factors::whole> {
  using type = GemmSumsOfLane<float, C>;
};

/// In every matrix of A, B and C columns or rows are contiguous, as C says.
///
/// Launch: any number of blocks of C.threads() threads with GemmPipelinedMemory's bytes of dynamic shared memory.
template <typename T, GemmPipelined C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemm_pipelined(GemmArguments<T> const args) {
  using namespace simt;
  constexpr GemmPipelinedMemory memory = gemm_pipelined_memory<T>(C);
  T* const shared = reinterpret_cast<T*>(shared_memory());
  // A schedule's parameters take six registers. Where real sums take more than four sevenths of a lane's registers, the
  // parameters are read again for every tile: tiles of 112 by 112 took 7% less time on an H200, while double products with a schedule took
  // up to 7% more.
  constexpr int sums_of_lane = C.m * C.n * static_cast<int>(sizeof(T)) / 4 / C.threads();
  constexpr bool has_registers = memory.tensor || is_complex<T> || 7 * sums_of_lane <= 4 * (65536 / (C.threads() * C.blocks_per_sm));
  constexpr bool holds = C.scheduled == 0 || has_registers;
  using Places = GemmPlaces<C.m, C.n, C.scheduled != 0>;
  Places const held(args);
  auto const places = [&] {
    if constexpr (holds)
      return held;
    else
      return Places(args);
  };
  for (Index at = block_index(); at < places().count(args); at += block_count()) {
    GemmPlace const place = places().at(args, at);
    Index const b = place.b;
    int const i0 = place.i0, j0 = place.j0;
    int const all_rows = args.c.rows_of(b), all_columns = args.c.cols_of(b), side = larger(all_rows, all_columns);
    int const rows = smaller(all_rows - i0, C.m), columns = smaller(all_columns - j0, C.n);
    if (rows <= 0 || columns <= 0 || side <= args.above || side > args.upto) continue;  // skipped in ragged batches
    if (C.written != Written::whole && i0 + rows <= j0) continue;
    int const depth = args.depth == 0 ? 0 : args.a.cols_of(b);
    if (gemm_changes_nothing<C.written>(args, depth)) continue;

    using Copies = GemmCopiesOf<T, C>;
    typename Copies::A copies_of_a = Copies::of_a(args.a, b, i0, depth, shared);
    typename Copies::B copies_of_b = Copies::of_b(args.b, b, j0, depth, shared);
    typename GemmSumsOf<T, C>::type sums;

    constexpr bool by_columns = C.c == Lines::columns;
    Index const line_stride = by_columns ? args.c.col_stride_of(b) : args.c.row_stride_of(b);
    int const count = by_columns ? rows : columns, line_count = by_columns ? columns : rows;
    T* const to = args.c.at(b, i0, j0);
    T* const tile = reinterpret_cast<T*>(shared_memory() + memory.c);
    constexpr int together = 16 / static_cast<int>(sizeof(T));
    bool const by_chunks = together > 1 && C.written == Written::whole && count % together == 0 && gemm_lines_of_chunks(to, line_stride);
    bool const reads_c = !(args.beta == from_real<T>(0));
    auto const load_c = [&](int line, int end) {
      if constexpr (C.c_beside == 1) {
        if (by_chunks)
          gemm_pipelined_load_c<together, T, C>(tile, to, line_stride, count, line, end, i0 - j0);
        else
          gemm_pipelined_load_c<1, T, C>(tile, to, line_stride, count, line, end, i0 - j0);
      }
    };
    // Lines of C that are copied with each stage
    int const lines_of_part = depth > 0 ? ceil_div(line_count, ceil_div(depth, C.k)) : 0;
    if (C.c_beside == 1 && reads_c && depth == 0) load_c(0, line_count);

    // Starts the copies of terms [first, first + C.k) to a stage.
    auto const load_stage = [&](int first, T* part) {
      int const terms = smaller(depth - first, C.k);
      if (C.c_beside == 1 && reads_c) {
        int const line = first / C.k * lines_of_part;
        load_c(line, smaller(line + lines_of_part, line_count));
      }
      copies_of_a.copy(part, C.a == Lines::columns ? rows : terms, C.a == Lines::columns ? terms : rows);
      copies_of_b.copy(part + memory.b, C.b == Lines::columns ? terms : columns, C.b == Lines::columns ? columns : terms);
      // Zeros for the terms that are multiplied together with the last ones
      SIMT_LOOP
      for (int p = terms; p % sums.terms_at_once != 0; ++p) {
        SIMT_LOOP
        for (int i = thread_index(); i < C.m; i += C.threads())
          part[memory.a_by_terms ? i + p * memory.a_pitch : p + i * memory.a_pitch] = T{};
        SIMT_LOOP
        for (int j = thread_index(); j < C.n; j += C.threads())
          part[memory.b + (memory.b_by_terms ? j + p * memory.b_pitch : p + j * memory.b_pitch)] = T{};
      }
    };
    int part = 0, next_part = 0;
    SIMT_LOOP
    for (int first = -(C.stages - 1) * C.k; first < depth; first += C.k) {
      // With one stage, copies start only after its terms have been used.
      if (C.stages == 1) {
        sync_block();
        load_stage(first, shared);
        end_copy_group();
      }
      if (first >= 0) {
        wait_copy_groups<(C.stages > 1 ? C.stages - 2 : 0)>();
        if constexpr (C.structure != Structure::general) {
          int const terms = smaller(depth - first, C.k);
          copies_of_a.complete(shared + part * memory.stage, first, C.a == Lines::columns ? rows : terms,
                               C.a == Lines::columns ? terms : rows);
        }
        sync_block();  // all threads have their copies, and have used the stage that is loaded next
      }
      if (C.stages > 1) {
        int const next = first + (C.stages - 1) * C.k;
        if (next < depth) load_stage(next, shared + next_part * memory.stage);
        end_copy_group();
        next_part = next_part + 1 < C.stages ? next_part + 1 : 0;
        if (first < 0) continue;
      }
      T const* const terms = shared + part * memory.stage;
      sums.add(smaller(depth - first, C.k), terms, terms + memory.b, args.a.conjugated, args.b.conjugated);
      part = part + 1 < C.stages ? part + 1 : 0;
    }

    if constexpr (C.c_beside == 1) {
      wait_copies();
      sync_block();
      sums.template put<true>(tile, [&](int i, int j, T sum, T const& before) {
        return gemm_pipelined_element<T, C>(args, reads_c, i0 + i == j0 + j, gemm_pipelined_product<T, C>(args, reads_c, depth, sum),
                                            before);
      });
      sync_block();
      if (by_chunks)
        gemm_pipelined_store<together, T, C>(tile, to, line_stride, count, line_count, i0 - j0);
      else
        gemm_pipelined_store<1, T, C>(tile, to, line_stride, count, line_count, i0 - j0);
    } else {
      sync_block();  // all threads have used the stages
      if constexpr (gemm_pipelined_puts_products<T, C>) {
        // Sums of no terms are 0; the factor gives them the sign of zero that gemm_pipelined_product gives.
        T const zero = from_real<T>(0), factor = depth > 0 ? args.alpha : reads_c ? -zero : zero;
        sums.template put<false>(tile, [&](int, int, T sum, T const&) { return factor * sum; });
      } else {
        sums.template put<false>(tile, [](int, int, T sum, T const&) { return sum; });
      }
      using Walk = GemmWalk<(by_columns ? C.m : C.n) / together, by_columns ? C.n : C.m, C.threads(), 32>;
      constexpr bool even = Walk::even && 2 * gemm_pipelined_lines_at_once(Walk::of_lines, Walk::of_line, 16, true) >
                                              gemm_pipelined_lines_at_once(Walk::of_lines, Walk::of_line, 16, false);
      if (even && by_chunks && rows == C.m && columns == C.n)
        gemm_pipelined_update<together, even, T, C>(args, tile, to, line_stride, count, line_count, i0 - j0, depth);
      else if (by_chunks)
        gemm_pipelined_update<together, false, T, C>(args, tile, to, line_stride, count, line_count, i0 - j0, depth);
      else
        gemm_pipelined_update<1, false, T, C>(args, tile, to, line_stride, count, line_count, i0 - j0, depth);
    }
    if (at + block_count() < places().count(args)) sync_block();
  }
}

}  // namespace myriad
