#pragma once
/// C = alpha A B + beta C for many matrices of 16-bit numbers: A in registers, columns of B and C through a ring in shared memory.

#include "gemm/gemm_halves_stream_config.cuh"
#include "gemm/gemm_halves_sums.cuh"

namespace myriad {

/// Elements that are moved together, where their address is a multiple of their size.
template <typename T, int size>
struct alignas(size * sizeof(T)) GemmPiece {
  T values[size];
};

/// How many elements an address is beyond a multiple of 16 bytes.
template <typename T>
SIMT_INLINE int gemm_phase(T const* address) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(address) % 16 / sizeof(T));
}

/// Up to `most` elements side by side in memory. In shared memory they lie to multiples of 16 bytes as in memory: at the address's
/// gemm_phase.
template <typename T, int most, int threads>
struct GemmSpan {
  static constexpr int of_chunk = 16 / sizeof(T);

  /// Starts to bring `count` elements from `first` on, and what else there is in their chunks of 16 bytes between `begin` and `end`.
  SIMT_INLINE static void bring(T* to, T const* first, int count, T const* begin, T const* end) {
    T const* const from = first - gemm_phase(first);
    for_each_chunk(first, count, [&](int c) {
      T const* const chunk = from + c * of_chunk;
      if (chunk >= begin && chunk + of_chunk <= end) {
        simt::copy_async_16(to + c * of_chunk, chunk);
      } else {
        SIMT_LOOP
        for (int e = 0; e < of_chunk; ++e)
          if (chunk + e >= first && chunk + e < first + count) simt::copy_async<T>(to + c * of_chunk + e, chunk + e);
      }
    });
  }
  SIMT_INLINE static void store(T const* from, T* first, int count) {
    int const phase = gemm_phase(first);
    T* const to = first - phase;
    for_each_chunk(first, count, [&](int c) {
      if (c * of_chunk >= phase && (c + 1) * of_chunk <= phase + count) {
        simt::store_global(reinterpret_cast<simt::Chunk*>(to + c * of_chunk), simt::load_chunk(from + c * of_chunk));
      } else {
        SIMT_LOOP
        for (int e = c * of_chunk; e < (c + 1) * of_chunk; ++e)
          if (e >= phase && e < phase + count) simt::store_global(to + e, from[e]);
      }
    });
  }

 private:
  template <typename Use>
  SIMT_INLINE static void for_each_chunk(T const* first, int count, Use use) {
    int const chunks = simt::ceil_div(gemm_phase(first) + count, of_chunk);
    constexpr int steps = simt::ceil_div(simt::ceil_div(most + of_chunk - 1, of_chunk), threads);
    SIMT_UNROLL_BY(8)
    for (int s = 0; s < steps; ++s) {
      int const c = simt::thread_index() + s * threads;
      if (c < chunks) use(c);
    }
  }
};

/// Up to `lines` lines of `length` elements, which in shared memory are `pitch` apart: `unit` elements at once where the first one's
/// address is a multiple of their size, as then all are, else one by one.
template <typename T, int length, int lines, int pitch, int unit, int threads>
struct GemmUnits {
  /// Of the first `line_count` lines the first `count` elements.
  SIMT_INLINE static void bring(T* to, T const* from, simt::Index line_stride, int count, int line_count) {
    for_each(from, line_stride, count, line_count, [&]<int size>(int place, simt::Index at) {
      using Piece = GemmPiece<T, size>;
      if constexpr (sizeof(Piece) == 16)
        simt::copy_async_16(to + place, from + at);
      else
        simt::copy_async(reinterpret_cast<Piece*>(to + place), reinterpret_cast<Piece const*>(from + at));
    });
  }
  SIMT_INLINE static void store(T const* from, T* to, simt::Index line_stride, int count, int line_count) {
    for_each(to, line_stride, count, line_count, [&]<int size>(int place, simt::Index at) {
      using Piece = GemmPiece<T, size>;
      simt::store_global(reinterpret_cast<Piece*>(to + at), *reinterpret_cast<Piece const*>(from + place));
    });
  }

 private:
  /// Calls move(place in shared memory, place in memory) for the pieces of this thread.
  template <typename Move>
  SIMT_INLINE static void for_each(T const* first, simt::Index line_stride, int count, int line_count, Move move) {
    if (unit > 1 && reinterpret_cast<unsigned long long>(first) % (unit * sizeof(T)) == 0) {
      static_assert(length % unit == 0);
      constexpr int of_line = length / unit, steps = simt::ceil_div(of_line * lines, threads);
      SIMT_UNROLL_BY(8)
      for (int s = 0; s < steps; ++s) {
        // Where a step is of whole lines, all are at constant distances from the first one.
        constexpr bool whole = threads % of_line == 0;
        unsigned const x = static_cast<unsigned>(simt::thread_index() + (whole ? 0 : s * threads));
        int const line = static_cast<int>(x / of_line) + (whole ? s * (threads / of_line) : 0);
        int const i = static_cast<int>(x % of_line) * unit;
        if (line < line_count && i < count) move.template operator()<unit>(line * pitch + i, line * line_stride + i);
      }
    } else {
      SIMT_LOOP
      for (int x = simt::thread_index(); x < length * line_count; x += threads) {
        int const line = static_cast<int>(static_cast<unsigned>(x) / length), i = static_cast<int>(static_cast<unsigned>(x) % length);
        if (i < count) move.template operator()<1>(line * pitch + i, line * line_stride + i);
      }
    }
  }
};

/// What one block does. Lines of an operand are rows of A and columns of B.
template <typename T, typename Output, GemmHalvesStream C>
class GemmStream {
 public:
  static constexpr bool complex = simt::is_complex<T>;
  static constexpr GemmHalvesStreamMemory memory{sizeof(T), sizeof(Output), complex, C};
  static constexpr int tile_rows = complex ? 8 : 16, terms_at_once = complex ? 8 : 16;
  static constexpr int rows = C.rows(complex), terms = C.terms(complex), steps = terms / terms_at_once, chunks = C.chunks();
  static_assert(C.m <= rows && C.columns % 8 == 0 && C.stages >= 2 && C.stages - 1 <= chunks);

  SIMT_INLINE explicit GemmStream(GemmArguments<T, Output> const& args)
      : args_(args),
        a_(reinterpret_cast<T*>(simt::shared_memory())),
        reads_c_(!(args.beta == simt::from_real<S>(0))),
        has_terms_(args.depth > 0),
        group_(simt::lane_index() / 4),
        of_group_(simt::lane_index() % 4),
        next_(simt::block_index()) {
    int const warp = simt::thread_index() / 32;
    SIMT_UNROLL
    for (int d = 0; d < C.down; ++d) first_row_[d] = row_of(warp * C.down + d);
    clear_terms_beyond();
  }

  SIMT_INLINE void run() {
    SIMT_LOOP
    for (int s = 0; s < C.stages - 1; ++s) bring_next();
    int part = 0;
    SIMT_LOOP
    for (simt::Index product = simt::block_index(); product < args_.c.count; product += simt::block_count()) {
      T const* const a = has_terms_ && C.a_unit == 0 ? args_.a.at(product, 0, 0) : nullptr;
      T const* const b = has_terms_ && C.b_unit == 0 ? args_.b.at(product, 0, 0) : nullptr;
      Output* const c = args_.c.at(product, 0, 0);
      simt::Index const c_stride = args_.c.col_stride_of(product);
      unsigned left[C.down][steps][complex ? 2 : 4];
      SIMT_LOOP
      for (int chunk = 0; chunk < chunks; ++chunk) {
        simt::wait_copy_groups<C.stages - 2>();
        simt::sync_block();  // so that all threads have their copies, and have stored from the part before, which is next to be brought
        if (chunk == 0 && has_terms_) {
          read_a(left, a_ + gemm_phase(a));
          if constexpr (C.stages - 1 == chunks) simt::sync_block();
        }
        bring_next();
        int const j0 = chunk * C.columns, columns = simt::smaller(C.n - j0, C.columns);
        char* const stage = simt::shared_memory() + memory.a.bytes + part * memory.stage;
        T const* const right = reinterpret_cast<T const*>(stage) + gemm_phase(b + (C.b == Lines::columns ? j0 * C.k : 0));
        Output* const to = c + j0 * c_stride;
        Output* const tile = reinterpret_cast<Output*>(stage + memory.b.bytes);
        update(left, right, tile + (C.c_unit == 0 ? gemm_phase(to) : 0), columns);
        simt::sync_block();
        if constexpr (C.c_unit == 0)
          GemmSpan<Output, C.columns * C.m, C.threads()>::store(tile, to, columns * C.m);
        else
          CUnits::store(tile, to, c_stride, C.m, columns);
        part = part + 1 < C.stages ? part + 1 : 0;
      }
    }
  }

 private:
  using S = simt::Compute<T>;
  static constexpr bool a_by_terms = C.a == Lines::columns, b_by_terms = C.b == Lines::rows;
  static constexpr int a_line = a_by_terms ? 1 : memory.a.pitch, a_term = a_by_terms ? memory.a.pitch : 1;
  static constexpr int b_line = b_by_terms ? 1 : memory.b.pitch, b_term = b_by_terms ? memory.b.pitch : 1;
  static constexpr int most_columns = simt::smaller(C.n, C.columns);
  using AUnits = GemmUnits<T, a_by_terms ? C.m : C.k, a_by_terms ? C.k : C.m, memory.a.pitch, simt::larger(C.a_unit, 1), C.threads()>;
  using BUnits = GemmUnits<T, b_by_terms ? most_columns : C.k, b_by_terms ? C.k : most_columns, memory.b.pitch, simt::larger(C.b_unit, 1),
                           C.threads()>;
  using CUnits = GemmUnits<Output, C.m, most_columns, memory.c.pitch, simt::larger(C.c_unit, 1), C.threads()>;
  // Where lanes have two neighbouring rows, and whether those of a tile are where load_matrices finds them
  static constexpr bool in_pairs = !complex && C.row_step > 0;
  static_assert(complex ? C.row_step > 0 && C.warps* C.down % C.row_step == 0
                        : C.row_step == 0 || (C.row_step % 2 == 0 && C.warps * C.down % (C.row_step / 2) == 0));
  static_assert(complex || (C.row_step > 0) == (C.a_unit == 0));
  static_assert(C.columns % (8 * C.column_step) == 0 && (C.b_unit == 0 || C.column_step == 1));
  static_assert(C.b_unit != 0 || !b_by_terms || C.columns >= C.n);

  /// The first row of this lane in a tile. It has one row of complex numbers, and two of others: the next one, or the one 8 further on.
  SIMT_INLINE int row_of(int tile) const {
    if constexpr (complex)
      return tile / C.row_step * (8 * C.row_step) + group_ * C.row_step + tile % C.row_step;
    else if constexpr (in_pairs)
      return tile / (C.row_step / 2) * (8 * C.row_step) + group_ * C.row_step + tile % (C.row_step / 2) * 2;
    else
      return tile * tile_rows + group_;
  }
  static constexpr int to_second_row = in_pairs ? 1 : 8;
  /// The i-th column of a tile of B and C.
  SIMT_INLINE static int column_of(int tile, int i) {
    return tile / C.column_step * (8 * C.column_step) + i * C.column_step + tile % C.column_step;
  }

  /// Terms that are not there are zero in both operands: zero times NaN is NaN. Nothing is copied to their place.
  SIMT_INLINE void clear_terms_beyond() const {
    constexpr int missing = terms - C.k;
    if constexpr (missing > 0 && C.a_unit != 0) clear<a_line, a_term, rows, missing>(a_ + C.k * a_term);
    if constexpr (missing > 0 && C.b_unit != 0) {
      for (int s = 0; s < C.stages; ++s)
        clear<b_line, b_term, C.columns, missing>(reinterpret_cast<T*>(simt::shared_memory() + memory.a.bytes + s * memory.stage) +
                                                  C.k * b_term);
    }
  }
  template <int line_step, int term_step, int lines, int missing>
  SIMT_INLINE static void clear(T* x) {
    SIMT_LOOP
    for (int e = simt::thread_index(); e < lines * missing; e += C.threads()) x[e / missing * line_step + e % missing * term_step] = T{};
  }

  /// Starts to bring the next columns of B and C that there is a part of the ring for, with the first ones of a product its A.
  SIMT_INLINE void bring_next() {
    if (next_ < args_.c.count) {
      char* const stage = simt::shared_memory() + memory.a.bytes + next_part_ * memory.stage;
      int const j0 = next_chunk_ * C.columns, columns = simt::smaller(C.n - j0, C.columns);
      if (next_chunk_ == 0) {
        if (has_terms_) {
          next_b_ = args_.b.at(next_, 0, 0);
          T const* const a = args_.a.at(next_, 0, 0);
          if constexpr (C.a_unit == 0) {
            bring_span<C.m * C.k>(a_, a, C.m * C.k, args_.a, a, C.m * C.k);
          } else {
            AUnits::bring(a_, a, a_by_terms ? args_.a.col_stride_of(next_) : args_.a.row_stride_of(next_), a_by_terms ? C.m : C.k,
                          a_by_terms ? C.k : C.m);
          }
        }
        next_c_ = args_.c.at(next_, 0, 0);
      }
      if (has_terms_) {
        T* const to = reinterpret_cast<T*>(stage);
        if constexpr (C.b_unit == 0) {
          bring_span<C.columns * C.k>(to, next_b_ + (b_by_terms ? 0 : j0 * C.k), columns * C.k, args_.b, next_b_, C.n * C.k);
        } else {
          simt::Index const stride = b_by_terms ? args_.b.row_stride_of(next_) : args_.b.col_stride_of(next_);
          BUnits::bring(to, next_b_ + j0 * (b_by_terms ? 1 : stride), stride, b_by_terms ? columns : C.k, b_by_terms ? C.k : columns);
        }
      }
      if (reads_c_) {
        Output* const to = reinterpret_cast<Output*>(stage + memory.b.bytes);
        if constexpr (C.c_unit == 0) {
          bring_span<C.columns * C.m>(to, static_cast<Output const*>(next_c_ + j0 * C.m), columns * C.m, args_.c,
                                      static_cast<Output const*>(next_c_), C.m * C.n);
        } else {
          simt::Index const stride = args_.c.col_stride_of(next_);
          CUnits::bring(to, next_c_ + j0 * stride, stride, C.m, columns);
        }
      }
      if (++next_chunk_ == chunks) {
        next_chunk_ = 0;
        next_ += simt::block_count();
      }
      next_part_ = next_part_ + 1 < C.stages ? next_part_ + 1 : 0;
    }
    simt::end_copy_group();
  }
  /// `count` elements from `first` on of the matrix that begins at `matrix`. Where the batch has no gaps, neighbours may be read, too.
  template <int most, typename U, typename V>
  SIMT_INLINE static void bring_span(U* to, U const* first, int count, simt::Matrices<V> const& of, U const* matrix, int elements) {
    bool const in_one_piece = !of.pointers && of.batch_stride == elements;
    U const* const begin = in_one_piece ? of.at(0, 0, 0) : matrix;
    GemmSpan<U, most, C.threads()>::bring(to, first, count, begin, begin + (in_one_piece ? of.count : 1) * elements);
  }

  /// Two elements side by side, the first of which is the second one of a word where this is `odd`.
  SIMT_INLINE static unsigned pair(T const* at, bool odd) {
    return odd ? at[0].bits | static_cast<unsigned>(at[1].bits) << 16 : simt::load_word(at);
  }
  SIMT_INLINE static bool is_odd(void const* at) { return (reinterpret_cast<unsigned long long>(at) & 2) != 0; }
  /// `pair` of two terms, of which those that are not there are zero.
  SIMT_INLINE static unsigned pair_of_terms(T const* at, int term, bool odd) {
    unsigned const both = pair(at, odd);
    return term + 1 < C.k ? both : term < C.k ? both & 0xffff : 0;
  }

  template <int parts>
  SIMT_INLINE void read_a(unsigned (&left)[C.down][steps][parts], T const* a) const {
    SIMT_UNROLL
    for (int d = 0; d < C.down; ++d) {
      T const* const row = a + first_row_[d] * a_line;
      if constexpr (complex) {
        unsigned const sign = args_.a.conjugated ? 0 : 0x80000000u;
        SIMT_UNROLL
        for (int s = 0; s < steps; ++s) {
          SIMT_UNROLL
          for (int h = 0; h < 2; ++h) {
            int const term = 8 * s + 4 * h + of_group_;
            bool const there = C.a_unit != 0 || 8 * s + 4 * h + 4 <= C.k || term < C.k;
            left[d][s][h] = there ? simt::load_word(row + term * a_term) ^ sign : 0;
          }
        }
      } else if constexpr (!in_pairs) {
        HalfOperand<T, a_line, a_term, rows, false, true> const operand{a, false};
        int const first = simt::thread_index() / 32 * (16 * C.down) + 16 * d;
        SIMT_UNROLL
        for (int s = 0; s < steps; ++s) operand.template words<2>(left[d][s], first, 16 * s);
      } else if constexpr (a_by_terms) {
        // Rows are even, and so are the terms of one `e` together: these are odd in all lanes, or in none.
        bool const odd[2] = {is_odd(row), is_odd(row + a_term)};
        SIMT_UNROLL
        for (int s = 0; s < steps; ++s) {
          SIMT_UNROLL
          for (int h = 0; h < 2; ++h) {
            unsigned rows_of[2];
            SIMT_UNROLL
            for (int e = 0; e < 2; ++e) {
              int const term = 16 * s + 8 * h + 2 * of_group_ + e;
              rows_of[e] = 16 * s + 8 * h + 8 <= C.k || term < C.k ? pair(row + term * a_term, odd[e]) : 0;
            }
            left[d][s][2 * h] = (rows_of[0] & 0xffff) | rows_of[1] << 16;
            left[d][s][2 * h + 1] = rows_of[0] >> 16 | (rows_of[1] & 0xffff0000u);
          }
        }
      } else {
        SIMT_UNROLL
        for (int i = 0; i < 2; ++i) {
          bool const odd = is_odd(row + i * a_line);
          SIMT_UNROLL
          for (int s = 0; s < steps; ++s) {
            SIMT_UNROLL
            for (int h = 0; h < 2; ++h) {
              int const term = 16 * s + 8 * h + 2 * of_group_;
              left[d][s][2 * h + i] = pair_of_terms(row + i * a_line + term, term, odd);
            }
          }
        }
      }
    }
  }

  /// What this lane has of a tile of B.
  SIMT_INLINE void read_b(unsigned (&right)[steps][2], T const* b, int tile) const {
    if constexpr (C.b_unit != 0 && (!complex || !b_by_terms)) {
      // By 8 lines of 16 bytes, four of these at once
      auto const read = [&](auto& x, int s) {
        if constexpr (complex) {
          T const* const line = b + ((8 * tile + simt::lane_index() % 8) * b_line + 8 * s);
          constexpr int parts = sizeof(x) / 4;
          simt::load_matrices<false>(x, line + simt::lane_index() / 8 % parts * 4);
        } else {
          HalfOperand<T, b_line, b_term, C.columns, false, true> const operand{b, false};
          operand.template words<1>(x, 8 * tile, 16 * s);
        }
      };
      SIMT_UNROLL
      for (int s = 0; s + 1 < steps; s += 2) {
        unsigned x[4];
        read(x, s);
        right[s][0] = x[0], right[s][1] = x[1], right[s + 1][0] = x[2], right[s + 1][1] = x[3];
      }
      if constexpr (steps % 2 == 1) read(right[steps - 1], steps - 1);
    } else {
      T const* const column = b + column_of(tile, group_) * b_line;
      bool const odd = is_odd(column);
      SIMT_UNROLL
      for (int s = 0; s < steps; ++s) {
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          if constexpr (complex) {
            int const term = 8 * s + 4 * h + of_group_;
            bool const there = C.b_unit != 0 || 8 * s + 4 * h + 4 <= C.k || term < C.k;
            right[s][h] = there ? simt::load_word(column + term * b_term) : 0;
          } else if constexpr (b_by_terms) {
            int const term = 16 * s + 8 * h + 2 * of_group_;
            unsigned const first = term < C.k ? column[term * b_term].bits : 0,
                           second = term + 1 < C.k ? column[(term + 1) * b_term].bits : 0;
            right[s][h] = first | second << 16;
          } else {
            int const term = 16 * s + 8 * h + 2 * of_group_;
            right[s][h] = pair_of_terms(column + term, term, odd);
          }
        }
      }
    }
    if constexpr (complex) {
      unsigned const sign = args_.b.conjugated ? 0x80000000u : 0;
      SIMT_UNROLL
      for (int s = 0; s < steps; ++s) right[s][0] ^= sign, right[s][1] ^= sign;
    }
  }

  /// Adds the products of all terms, from the first on; complex ones as GemmSumsOfHalves does.
  template <int parts>
  SIMT_INLINE void add(float (&sum)[C.down][4], unsigned const (&left)[C.down][steps][parts], unsigned const (&right)[steps][2]) const {
    SIMT_UNROLL
    for (int s = 0; s < steps; ++s) {
      SIMT_UNROLL
      for (int d = 0; d < C.down; ++d) {
        if constexpr (complex) {
          // (re, -im) gives real parts, (im, re) imaginary ones; of conjugated numbers (re, im) and (-im, re).
          unsigned words[4];
          SIMT_UNROLL
          for (int h = 0; h < 2; ++h) {
            unsigned const x = left[d][s][h];
            words[2 * h] = x;
            words[2 * h + 1] = (x << 16 | x >> 16) ^ 0x8000u;
          }
          simt::multiply_add_16x8x16<simt::Real<T>>(words, right[s], sum[d]);
        } else {
          simt::multiply_add_16x8x16<T>(left[d][s], right[s], sum[d]);
        }
      }
    }
  }

  /// Brings the columns of C that are in shared memory up to date.
  template <int parts>
  SIMT_INLINE void update(unsigned const (&left)[C.down][steps][parts], T const* b, Output* c, int columns) const {
    constexpr int tiles = C.columns / 8, at_once = tiles % 2 == 0 ? 2 : 1;
    SIMT_LOOP
    for (int tile = 0; tile < tiles; tile += at_once) {
      if (column_of(tile, 0) >= columns) break;
      // What C is comes before the sums, and at once: a store to C would hold up the next load.
      Element former[at_once][2][C.down];
      bool has[at_once][2];
      Output* at[at_once][2];
      SIMT_UNROLL
      for (int t = 0; t < at_once; ++t) {
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) {
          int const j = column_of(tile + t, 2 * of_group_ + e);
          has[t][e] = C.n % C.columns == 0 || j < columns;
          at[t][e] = c + (has[t][e] ? j : 0) * memory.c.pitch;
          SIMT_UNROLL
          for (int d = 0; d < C.down; ++d) get(former[t][e][d], at[t][e], d, has[t][e]);
        }
      }
      float sum[at_once][C.down][4]{};
      if (has_terms_) {
        unsigned right[at_once][steps][2];
        SIMT_UNROLL
        for (int t = 0; t < at_once; ++t) read_b(right[t], b, tile + t);
        SIMT_UNROLL
        for (int t = 0; t < at_once; ++t) add(sum[t], left, right[t]);
      }
      SIMT_UNROLL
      for (int t = 0; t < at_once; ++t) {
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) {
          SIMT_UNROLL
          for (int d = 0; d < C.down; ++d) put(at[t][e], d, has[t][e], former[t][e][d], sum[t][d], e);
        }
      }
    }
  }
  /// What a lane has of a column of a tile: one complex number, or two others.
  static constexpr int rows_of_lane = complex ? 1 : 2;
  struct Element {
    Output values[rows_of_lane];
  };
  static constexpr bool has_all_rows = C.m == rows;
  SIMT_INLINE int row_of_lane(int d, int i) const { return first_row_[d] + i * to_second_row; }
  /// Whether both are a word.
  SIMT_INLINE static bool is_word(Output const* first) { return in_pairs && sizeof(Output) == 2 && !is_odd(first); }
  SIMT_INLINE bool has_row(int d, int i) const { return has_all_rows || row_of_lane(d, i) < C.m; }
  /// What there is, and nothing else: it may be another lane's, who writes it.
  SIMT_INLINE void get(Element& former, Output const* column, int d, bool has_column) const {
    Output const* const first = column + first_row_[d];
    if (is_word(first) && has_column && has_row(d, rows_of_lane - 1)) {
      unsigned const both = simt::load_word(first);
      memcpy(former.values, &both, 4);
    } else {
      SIMT_UNROLL
      for (int i = 0; i < rows_of_lane; ++i) {
        former.values[i] = Output{};
        if (has_column && has_row(d, i)) former.values[i] = first[i * to_second_row];
      }
    }
  }
  SIMT_INLINE void put(Output* column, int d, bool has_column, Element const& former, float const (&sum)[4], int e) const {
    Output values[rows_of_lane];
    SIMT_UNROLL
    for (int i = 0; i < rows_of_lane; ++i) {
      if constexpr (complex)
        values[i] = element(S{sum[e], sum[2 + e]}, former.values[i]);
      else
        values[i] = element(sum[2 * i + e], former.values[i]);
    }
    Output* const first = column + first_row_[d];
    if (is_word(first) && has_column && has_row(d, rows_of_lane - 1)) {
      unsigned both;
      memcpy(&both, values, 4);
      simt::store_word(first, both);
    } else {
      SIMT_UNROLL
      for (int i = 0; i < rows_of_lane; ++i)
        if (has_column && has_row(d, i)) first[i * to_second_row] = values[i];
    }
  }
  SIMT_INLINE Output element(S sum, Output const& former) const {
    return gemm_element<Written::whole>(args_, reads_c_, false, args_.depth, sum, former);
  }

  GemmArguments<T, Output> const& args_;
  T* a_;
  bool reads_c_, has_terms_;
  int group_, of_group_;
  int first_row_[C.down];
  // What is brought next
  simt::Index next_;
  int next_chunk_ = 0, next_part_ = 0;
  T const* next_b_ = nullptr;
  Output* next_c_ = nullptr;
};

/// No batch is ragged, C is by columns, and matrices of which the unit is 0 have no gaps.
///
/// Launch: any number of blocks of C.threads() threads with GemmHalvesStreamMemory's bytes of dynamic shared memory.
template <typename T, typename Output, GemmHalvesStream C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemm_halves_stream(GemmArguments<T, Output> const args) {
  GemmStream<T, Output, C>(args).run();
}

}  // namespace myriad
