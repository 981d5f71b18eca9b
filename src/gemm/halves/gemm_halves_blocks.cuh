#pragma once
/// C = alpha A B + beta C for 16-bit matrices of any size: tile by tile; the next terms are copied while these are summed.

#include "gemm/halves/gemm_halves_blocks_config.cuh"
#include "gemm/halves/gemm_halves_stream.cuh"
#include "gemm/ragged/gemm_schedule.cuh"

namespace myriad {

/// Up to `lines` lines of up to `length` elements. Each keeps its alignment to 16 bytes in shared memory, the address's gemm_phase; lines
/// are `pitch` elements apart.
template <typename T, int length, int lines, int pitch, int threads>
struct GemmLines {
  static constexpr int of_chunk = 16 / sizeof(T);

  /// Starts to copy the first `count` elements of the first `line_count` lines, and everything between `begin` and `end` in their 16-byte
  /// chunks; aligned: lines begin at multiples of 16 bytes.
  template <bool aligned>
  SIMT_INLINE static void load(T* to, T const* from, simt::Index stride, int count, int line_count, T const* begin, T const* end,
                               int thread = simt::thread_index()) {
    T const* const last = from + (line_count - 1) * stride;
    bool const is_there =
        aligned ? count % of_chunk == 0 : from - gemm_phase(from) >= begin && last + count + (of_chunk - 1) <= end && stride >= 0;
    if (is_there) {
      for_each<true, !aligned>(thread, from, stride, count, line_count,
                               [&](int line, int c, int, T const* chunk) { simt::copy_async_16(to + line * pitch + c * of_chunk, chunk); });
    } else {
      for_each<false, true>(thread, from, stride, count, line_count, [&](int line, int c, int phase, T const* chunk) {
        if (chunk >= begin && chunk + of_chunk <= end) {
          simt::copy_async_16(to + line * pitch + c * of_chunk, chunk);
        } else {
          SIMT_LOOP
          for (int e = 0; e < of_chunk; ++e)
            if (c * of_chunk + e >= phase && c * of_chunk + e < phase + count)
              simt::copy_async<T>(to + line * pitch + c * of_chunk + e, chunk + e);
        }
      });
    }
  }
  SIMT_INLINE static void store(T const* from, T* to, simt::Index stride, int count, int line_count, int thread = simt::thread_index()) {
    if (gemm_phase(to) == 0 && (stride | count) % of_chunk == 0) {
      for_each<true, false>(thread, to, stride, count, line_count, [&](int line, int c, int, T* chunk) {
        simt::store_global(reinterpret_cast<simt::Chunk*>(chunk), simt::load_chunk(from + line * pitch + c * of_chunk));
      });
    } else {
      for_each<false, true>(thread, to, stride, count, line_count, [&](int line, int c, int phase, T* chunk) {
        T const* const x = from + line * pitch + c * of_chunk;
        if (c * of_chunk >= phase && (c + 1) * of_chunk <= phase + count) {
          simt::store_global(reinterpret_cast<simt::Chunk*>(chunk), simt::load_chunk(x));
        } else {
          SIMT_LOOP
          for (int e = 0; e < of_chunk; ++e)
            if (c * of_chunk + e >= phase && c * of_chunk + e < phase + count) simt::store_global(chunk + e, x[e]);
        }
      });
    }
  }

 private:
  SIMT_INLINE static constexpr int lanes_of(int chunks) {
    int lanes = 1;
    while (2 * lanes <= chunks && lanes < 32) lanes *= 2;
    return lanes;
  }
  /// Calls use(line, chunk of it, elements in front of the line in its first chunk, address) for this thread's chunks.
  template <bool unrolled, bool anywhere, typename U, typename Use>
  SIMT_INLINE static void for_each(int thread, U* from, simt::Index stride, int count, int line_count, Use use) {
    constexpr int most = simt::ceil_div(length, of_chunk) + (anywhere ? 1 : 0), lanes = lanes_of(simt::ceil_div(length, of_chunk));
    constexpr int at_once = threads / lanes;
    int const first_line = thread / lanes, first = thread % lanes;
    from += first_line * stride;
    auto const use_line = [&](int s) {
      if (first_line + s < line_count) {
        int const phase = anywhere ? gemm_phase(from) : 0, chunks = simt::ceil_div(phase + count, of_chunk);
        SIMT_UNROLL
        for (int e = 0; e < most; e += lanes)
          if (first + e < chunks) use(first_line + s, first + e, phase, from - phase + (first + e) * of_chunk);
      }
      from += at_once * stride;
    };
    if constexpr (unrolled) {
      SIMT_UNROLL
      for (int s = 0; s < lines; s += at_once) use_line(s);
    } else {
      SIMT_LOOP
      for (int s = 0; s < lines; s += at_once) use_line(s);
    }
  }
};

/// The work of one block on a tile.
template <typename T, typename Output, GemmHalvesBlocks C, bool aligned>
class GemmBlock {
 public:
  static constexpr bool complex = simt::is_complex<T>;
  static constexpr GemmHalvesBlocksMemory memory{sizeof(T), sizeof(Output), complex, C};
  static constexpr int at_once = complex ? 8 : 16, down = C.down(), across = C.across();
  static_assert(down * 16 * C.warps_down == C.m && across * 8 * C.warps_across == C.n && C.k % at_once == 0 && C.stages > 1);

  /// The tile of `rows` rows from i0 and `columns` columns from j0 on, of matrix `b`.
  SIMT_INLINE GemmBlock(GemmArguments<T, Output> const& args, simt::Index b, int i0, int j0, int rows, int columns, int depth)
      : args_(args), b_(b), i0_(i0), j0_(j0), rows_(rows), columns_(columns), depth_(depth) {
    int const warp = simt::thread_index() / 32;
    row_ = warp % C.warps_down * (16 * down) + simt::lane_index() / 4;
    column_ = warp / C.warps_down * (8 * across);
    of_group_ = simt::lane_index() % 4;
  }

  SIMT_INLINE void run() {
    bool const reads_c = !(args_.beta == simt::from_real<S>(0));
    Output* const to = args_.c.at(b_, i0_, j0_);
    simt::Index const c_stride = c_by_columns ? args_.c.col_stride_of(b_) : args_.c.row_stride_of(b_);
    Output* const tile = reinterpret_cast<Output*>(simt::shared_memory() + memory.c);
    int const count = c_by_columns ? rows_ : columns_, line_count = c_by_columns ? columns_ : rows_;
    if (reads_c) {
      Output const* const begin = args_.c.at(b_, 0, 0);
      Output const* const end = args_.c.at(b_, args_.c.rows_of(b_) - 1, args_.c.cols_of(b_) - 1) + 1;
      LinesOfC::template load<false>(tile, static_cast<Output const*>(to), c_stride, count, line_count, begin, end);
    }
    Operand const a = depth_ > 0 ? operand(args_.a, C.a, i0_, 0) : Operand{};
    Operand const b = depth_ > 0 ? operand(args_.b, C.b, 0, j0_) : Operand{};

    Sum sum[down][across]{};
    int part = 0, next_part = 0;
    SIMT_LOOP
    for (int first = -(C.stages - 1) * C.k; first < depth_; first += C.k) {
      if (first >= 0) {
        simt::wait_copy_groups<C.stages - 2>();
        simt::sync_block();  // all threads have their copies, and have used the stage that is loaded next
      }
      int const next = first + (C.stages - 1) * C.k;
      if (next < depth_) load(a, b, next, next_part);
      simt::end_copy_group();
      next_part = next_part + 1 < C.stages ? next_part + 1 : 0;
      if (first < 0) continue;
      T const* const left = reinterpret_cast<T const*>(simt::shared_memory() + part * memory.stage);
      T const* const right = reinterpret_cast<T const*>(simt::shared_memory() + part * memory.stage + memory.b);
      if (i0_ + j0_ == 0 && simt::larger(simt::larger(rows_, columns_), depth_) <= gemm_halves_by_lanes)
        add_in_order(sum, left, right, a, b);
      else
        multiply(sum, left, right, a, b, depth_ - first);
      part = part + 1 < C.stages ? part + 1 : 0;
    }
    // Compile-time constants in the usual cases
    if (depth_ == 0) {
      simt::wait_copies();
      simt::sync_block();
      update<false, true>(sum, tile, to, c_stride);
    } else if (reads_c) {
      update<true, true>(sum, tile, to, c_stride);
    } else {
      update<true, false>(sum, tile, to, c_stride);
    }
    simt::sync_block();
    LinesOfC::store(tile, to, c_stride, count, line_count);
  }

 private:
  using S = simt::Compute<T>;
  static constexpr bool a_by_terms = C.a == Lines::columns, b_by_terms = C.b == Lines::rows, c_by_columns = C.c == Lines::columns;
  static constexpr int a_line = a_by_terms ? 1 : memory.a_pitch, a_term = a_by_terms ? memory.a_pitch : 1;
  static constexpr int b_line = b_by_terms ? 1 : memory.b_pitch, b_term = b_by_terms ? memory.b_pitch : 1;
  using LinesOfA = GemmLines<T, a_by_terms ? C.m : C.k, a_by_terms ? C.k : C.m, memory.a_pitch, C.threads()>;
  using LinesOfB = GemmLines<T, b_by_terms ? C.n : C.k, b_by_terms ? C.k : C.n, memory.b_pitch, C.threads()>;
  using LinesOfC = GemmLines<Output, c_by_columns ? C.m : C.n, c_by_columns ? C.n : C.m, memory.c_pitch, C.threads()>;
  /// In real, the elements that multiply_add_16x8x16 specifies; in complex, the real parts of these, then the imaginary ones.
  using Sum = float[complex ? 2 : 1][4];

  /// A or B from the tile's first element on, and the bounds of its matrix.
  struct Operand {
    T const *first, *begin, *end;
    simt::Index stride;  ///< from line to line
    int phase;           ///< of the first line
    /// Number of elements by which line l is beyond a multiple of 16 bytes.
    SIMT_INLINE int phase_of(int l) const {
      constexpr int in_chunk = 16 / sizeof(T) - 1;
      return aligned ? 0 : (phase + l * static_cast<int>(stride & in_chunk)) & in_chunk;
    }
  };
  SIMT_INLINE Operand operand(simt::Matrices<T const> const& x, Lines lines, int i, int j) const {
    T const* const first = x.at(b_, i, j);
    return {first, x.at(b_, 0, 0), x.at(b_, x.rows_of(b_) - 1, x.cols_of(b_) - 1) + 1,
            lines == Lines::columns ? x.col_stride_of(b_) : x.row_stride_of(b_), aligned ? 0 : gemm_phase(first)};
  }

  /// Starts the copies of the terms from `next` on.
  SIMT_INLINE void load(Operand const& a, Operand const& b, int next, int part) const {
    int const terms = simt::smaller(depth_ - next, C.k);
    char* const to = simt::shared_memory() + part * memory.stage;
    LinesOfA::template load<aligned>(reinterpret_cast<T*>(to), a.first + (a_by_terms ? next * a.stride : next), a.stride,
                                     a_by_terms ? rows_ : terms, a_by_terms ? terms : rows_, a.begin, a.end);
    LinesOfB::template load<aligned>(reinterpret_cast<T*>(to + memory.b), b.first + (b_by_terms ? next * b.stride : next), b.stride,
                                     b_by_terms ? columns_ : terms, b_by_terms ? terms : columns_, b.begin, b.end);
  }

  /// Mask of the two terms of a word that exist; the first one is `low`.
  SIMT_INLINE static unsigned kept(int low, int terms) { return (low < terms ? 0xffffu : 0) | (low + 1 < terms ? 0xffff0000u : 0); }

  SIMT_INLINE void multiply(Sum (&sum)[down][across], T const* left, T const* right, Operand const& a, Operand const& b, int terms) const {
    if (terms >= C.k) {
      SIMT_UNROLL
      for (int s = 0; s < C.k; s += at_once) multiply_step<true>(sum, left, right, a, b, s, terms);
    } else {
      SIMT_LOOP
      for (int s = 0; s < terms; s += at_once) multiply_step<false>(sum, left, right, a, b, s, terms);
    }
  }
  /// Adds the products of at_once terms; missing ones are zero in both operands, since zero times NaN is NaN.
  template <bool all>
  SIMT_INLINE void multiply_step(Sum (&sum)[down][across], T const* left, T const* right, Operand const& a, Operand const& b, int first,
                                 int terms) const {
    int const term = first + of_group_ * (complex ? 1 : 2);
    unsigned x[down][4], y[across][2];
    read<a_line, a_term, true>(x, left, a, row_ - simt::lane_index() / 4, first);
    read_columns(y, right, b, first);
    if constexpr (complex) {
      unsigned const sign_of_a = args_.a.conjugated ? 0x80000000u : 0, sign_of_b = args_.b.conjugated ? 0x80000000u : 0;
      SIMT_UNROLL
      for (int d = 0; d < down; ++d) {
        SIMT_UNROLL
        for (int w = 0; w < 4; ++w) x[d][w] = all || term + w / 2 * 4 < terms ? x[d][w] ^ sign_of_a : 0;
      }
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        // (re, im) of A times (re, -im) of B is the real part, times (im, re) the imaginary one.
        unsigned of_real[2], of_imaginary[2];
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          unsigned const word = all || term + h * 4 < terms ? y[c][h] ^ sign_of_b : 0;
          of_real[h] = word ^ 0x80000000u;
          of_imaginary[h] = simt::select_bytes(word, 0, 0x1032);
        }
        SIMT_UNROLL
        for (int d = 0; d < down; ++d) {
          simt::multiply_add_16x8x16<simt::Real<T>>(x[d], of_real, sum[d][c][0]);
          simt::multiply_add_16x8x16<simt::Real<T>>(x[d], of_imaginary, sum[d][c][1]);
        }
      }
    } else {
      if constexpr (!all) {
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          unsigned const mask = kept(term + 8 * h, terms);
          SIMT_UNROLL
          for (int d = 0; d < down; ++d) x[d][2 * h] &= mask, x[d][2 * h + 1] &= mask;
          SIMT_UNROLL
          for (int c = 0; c < across; ++c) y[c][h] &= mask;
        }
      }
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        SIMT_UNROLL
        for (int d = 0; d < down; ++d) simt::multiply_add_16x8x16<T>(x[d], y[c], sum[d][c][0]);
      }
    }
  }
  /// Reads this lane's words of `tiles` tiles of 16 lines and at_once terms. A word has two terms of a line, or a complex one. The order
  /// is: the first eight lines and terms; then the other lines and these terms or, unless `lines_first`, these lines and the other terms.
  /// Two words are those of eight lines.
  template <int line_step, int term_step, bool lines_first, int tiles, int words>
  SIMT_INLINE void read(unsigned (&x)[tiles][words], T const* from, Operand const& operand, int line, int first) const {
    int const lane = simt::lane_index();
    constexpr bool by_terms = line_step == 1;
    if constexpr (aligned && !(complex && by_terms)) {
      // ldmatrix: each lane gives the address of 16 bytes of a line or of a term.
      int const part = lane / 8, further_lines = (lines_first ? part % 2 : part / 2) * 8, of_part = lane % 8;
      int const further_terms = (lines_first ? part / 2 : part % 2) * (at_once / 2);
      T const* const row = from + (by_terms ? (line + further_lines) * line_step + (first + further_terms + of_part) * term_step
                                            : (line + further_lines + of_part) * line_step + (first + further_terms) * term_step);
      SIMT_UNROLL
      for (int d = 0; d < tiles; ++d) simt::load_matrices<by_terms>(x[d], row + 16 * d * line_step);
    } else {
      int const term = first + of_group_ * (complex ? 1 : 2), at_line = line + lane / 4;
      T const* at[2];  // of the first and of the second term
      SIMT_UNROLL
      for (int e = 0; e < 2; ++e)
        at[e] = from + (operand.phase_of(by_terms ? term + e : at_line) + at_line * line_step + (term + e) * term_step);
      SIMT_UNROLL
      for (int d = 0; d < tiles; ++d) {
        SIMT_UNROLL
        for (int w = 0; w < words; ++w) {
          // Every fourth complex line has the same phase, and every eighth real one.
          int const place =
              (16 * d + (lines_first ? w % 2 : w / 2) * 8) * line_step + (lines_first ? w / 2 : w % 2) * (at_once / 2) * term_step;
          if constexpr (complex)
            x[d][w] = simt::load_word(at[0] + place);
          else
            x[d][w] = at[0][place].bits | static_cast<unsigned>(at[1][place].bits) << 16;
        }
      }
    }
  }
  /// Reads `across` tiles of eight columns of B.
  SIMT_INLINE void read_columns(unsigned (&y)[across][2], T const* from, Operand const& b, int first) const {
    constexpr int pairs = across / 2;
    unsigned x[simt::larger(pairs, 1)][4]{}, last[1][2]{};
    if constexpr (pairs > 0) read<b_line, b_term, false>(x, from, b, column_, first);
    if constexpr (across % 2 == 1) read<b_line, b_term, false>(last, from, b, column_ + 16 * pairs, first);
    SIMT_UNROLL
    for (int c = 0; c < across; ++c) {
      SIMT_UNROLL
      for (int h = 0; h < 2; ++h) y[c][h] = c < 2 * pairs ? x[c / 2][c % 2 * 2 + h] : last[0][h];
    }
  }

  /// For a matrix of a ragged batch that is so small that it is summed in the order of terms; the first warp has its elements.
  SIMT_INLINE void add_in_order(Sum (&sum)[down][across], T const* left, T const* right, Operand const& a, Operand const& b) const {
    SIMT_UNROLL
    for (int e = 0; e < 2; ++e) {
      int const i = row_, j = column_ + 2 * of_group_ + e;
      S value = simt::from_real<S>(0);
      SIMT_LOOP
      for (int p = 0; p < depth_; ++p)
        if (i < rows_ && j < columns_) {
          T const x = left[i * a_line + p * a_term + a.phase_of(a_by_terms ? p : i)];
          T const y = right[j * b_line + p * b_term + b.phase_of(b_by_terms ? p : j)];
          value = simt::multiply_add(simt::conjugate_if(args_.a.conjugated, simt::widened(x)),
                                     simt::conjugate_if(args_.b.conjugated, simt::widened(y)), value);
        }
      sum[0][0][0][e] = simt::real_part(value);
      if constexpr (complex) sum[0][0][1][e] = value.im;
    }
  }

  /// Updates the tile of C in shared memory.
  template <bool has_terms, bool reads_c>
  SIMT_INLINE void update(Sum const (&sum)[down][across], Output* tile, Output const* memory_of_c, simt::Index stride) const {
    bool const reads = has_terms ? reads_c : !(args_.beta == simt::from_real<S>(0));
    int const phase = gemm_phase(memory_of_c), column = column_ + 2 * of_group_;
    // Every eighth line has the same phase.
    constexpr int in_chunk = 16 / sizeof(Output) - 1;
    auto const line_of = [&](int l) {
      return tile + (l * memory.c_pitch + ((phase + l * static_cast<int>(stride & in_chunk)) & in_chunk));
    };
    Output* const line[2] = {c_by_columns ? line_of(column) + row_ : line_of(row_) + column, line_of(column + 1) + row_};
    auto const value = [&](float const(&x)[complex ? 2 : 1][4], int at, Output const& former) {
      S value;
      if constexpr (complex)
        value = {x[0][at], x[1][at]};
      else
        value = x[0][at];
      return gemm_element<Written::whole>(args_, reads, false, has_terms ? 1 : 0, value, former);
    };
    // Two columns are a word where lines are rows that begin at one.
    constexpr bool pairs = !complex && !c_by_columns && sizeof(Output) == 2;
    if (pairs && phase % 2 == 0 && stride % 2 == 0 && columns_ % 2 == 0) {
      if constexpr (pairs) {
        for_each([&](int d, int c, int h) {
          Output* const at = line[0] + ((16 * d + 8 * h) * memory.c_pitch + 8 * c);
          if (row_ + 16 * d + 8 * h < rows_ && column + 8 * c < columns_) {
            Output both[2];
            unsigned word = reads_c ? simt::load_word(at) : 0;
            memcpy(both, &word, sizeof(word));
            both[0] = value(sum[d][c], 2 * h, both[0]), both[1] = value(sum[d][c], 2 * h + 1, both[1]);
            memcpy(&word, both, sizeof(word));
            simt::store_word(at, word);
          }
        });
      }
    } else {
      for_each([&](int d, int c, int h) {
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) {
          int const below = 16 * d + 8 * h;
          Output* const at = c_by_columns ? line[e] + (8 * c * memory.c_pitch + below) : line[0] + (below * memory.c_pitch + 8 * c + e);
          if (row_ + below < rows_ && column + 8 * c + e < columns_) *at = value(sum[d][c], 2 * h + e, reads_c ? *at : Output{});
        }
      });
    }
  }
  template <typename Use>
  SIMT_INLINE static void for_each(Use use) {
    SIMT_UNROLL
    for (int c = 0; c < across; ++c) {
      SIMT_UNROLL
      for (int d = 0; d < down; ++d) {
        use(d, c, 0);
        use(d, c, 1);
      }
    }
  }

  GemmArguments<T, Output> const& args_;
  simt::Index b_;
  int i0_, j0_, rows_, columns_, depth_;
  int row_, column_, of_group_;
};

/// Columns or rows of each matrix of A, B and C are contiguous, as C says.
///
/// Launch: any number of blocks of C.threads() threads with GemmHalvesBlocksMemory's bytes of dynamic shared memory.
template <typename T, typename Output, GemmHalvesBlocks C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemm_halves_blocks(GemmArguments<T, Output> const args) {
  using namespace simt;
  GemmPlaces<C.m, C.n, C.scheduled != 0> const places(args);
  for (Index at = block_index(); at < places.count(args); at += block_count()) {
    GemmPlace const place = places.at(args, at);
    Index const b = place.b;
    int const i0 = place.i0, j0 = place.j0;
    int const all_rows = args.c.rows_of(b), all_columns = args.c.cols_of(b), side = larger(all_rows, all_columns);
    int const rows = smaller(all_rows - i0, C.m), columns = smaller(all_columns - j0, C.n);
    if (rows <= 0 || columns <= 0 || side <= args.above || side > args.upto) continue;  // skipped in ragged batches
    int const depth = args.depth == 0 ? 0 : args.a.cols_of(b);
    bool const aligned =
        C.aligned == 2 || (C.aligned == 1 && (depth == 0 || (gemm_phase(args.a.at(b, 0, 0)) == 0 && gemm_phase(args.b.at(b, 0, 0)) == 0)));
    if (C.aligned > 0 && aligned)
      GemmBlock<T, Output, C, (C.aligned > 0)>(args, b, i0, j0, rows, columns, depth).run();
    else if (C.aligned < 2)
      GemmBlock<T, Output, C, (C.aligned == 2)>(args, b, i0, j0, rows, columns, depth).run();
    if (at + block_count() < places.count(args)) sync_block();
  }
}

}  // namespace myriad
