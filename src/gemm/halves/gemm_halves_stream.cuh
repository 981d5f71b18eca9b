#pragma once
/// C = alpha A B + beta C for many 16-bit matrices: A in registers, columns of B and C through a pipeline in shared memory.

#include "gemm/gemm_arguments.cuh"
#include "gemm/halves/gemm_halves_stream_config.cuh"

namespace myriad {

/// Elements that are moved by one instruction, at an address that is a multiple of their size.
template <typename T, int size>
struct alignas(size * sizeof(T)) GemmPiece {
  T values[size];
};

/// Number of elements by which an address is beyond a multiple of 16 bytes.
template <typename T>
SIMT_INLINE int gemm_phase(T const* address) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(address) % 16 / sizeof(T));
}

/// Up to `most` contiguous elements. In shared memory they keep their alignment to 16 bytes: the address's gemm_phase.
template <typename T, int most, int threads>
struct GemmSpan {
  static constexpr int of_chunk = 16 / sizeof(T);

  /// Starts to copy `count` elements from `first` on, as whole 16-byte chunks if the rest of the first and last one `is_there`.
  SIMT_INLINE static void load(T* to, T const* first, int count, bool is_there) {
    int const phase = gemm_phase(first), chunks = simt::ceil_div(phase + count, of_chunk);
    T const* const from = first - phase;
    if (is_there) {
      T* const to_of_thread = to + simt::thread_index() * of_chunk;
      T const* const from_of_thread = from + simt::thread_index() * of_chunk;
      for_each_chunk(0, chunks, count, [&](int further) { simt::copy_async_16(to_of_thread + further, from_of_thread + further); });
    } else {
      int const begin = phase > 0 ? 1 : 0, end = (phase + count) / of_chunk;
      SIMT_LOOP
      for (int c = begin + simt::thread_index(); c < end; c += threads) simt::copy_async_16(to + c * of_chunk, from + c * of_chunk);
      for_each_at_ends(phase, count, chunks, [&](int c, int e) {
        if (c < begin || c >= end) simt::copy_async<T>(to + e, from + e);
      });
    }
  }
  SIMT_INLINE static void store(T const* from, T* first, int count) {
    int const phase = gemm_phase(first), begin = phase > 0 ? 1 : 0, end = (phase + count) / of_chunk;
    T* const to = first - phase;
    T* const to_of_thread = to + simt::thread_index() * of_chunk;
    T const* const from_of_thread = from + simt::thread_index() * of_chunk;
    for_each_chunk(begin, end, count, [&](int further) {
      simt::store_global(reinterpret_cast<simt::Chunk*>(to_of_thread + further), simt::load_chunk(from_of_thread + further));
    });
    for_each_at_ends(phase, count, simt::ceil_div(phase + count, of_chunk), [&](int c, int e) {
      if (c < begin || c >= end) simt::store_global(to + e, from[e]);
    });
  }

 private:
  /// Calls use(offset from this thread's first chunk, in elements) for the chunks from `begin`, 0 or 1, to `end`. These are as many as
  /// `count` elements fill, or one more or less.
  template <typename Use>
  SIMT_INLINE static void for_each_chunk(int begin, int end, int count, Use use) {
    constexpr int sure = most / of_chunk, steps = simt::ceil_div(sure + 2, threads);
    int const first = simt::thread_index();
    SIMT_UNROLL
    for (int s = 0; s < steps; ++s) {
      bool const inside = (s + 1) * threads <= sure && count == most;
      if ((s > 0 || first >= begin) && (inside || first < end - s * threads)) use(s * threads * of_chunk);
    }
  }
  /// Calls use(chunk, offset from the first chunk) for those of the `count` elements that are in the first chunk or in the last one.
  template <typename Use>
  SIMT_INLINE static void for_each_at_ends(int phase, int count, int chunks, Use use) {
    int const thread = simt::thread_index();
    if (thread >= (chunks > 1 ? 2 : 1) * of_chunk) return;
    int const c = thread < of_chunk ? 0 : chunks - 1, e = c * of_chunk + thread % of_chunk;
    if (e >= phase && e < phase + count) use(c, e);
  }
};

/// Up to `lines` lines of `length` elements, `pitch` apart in shared memory. They are moved `unit` elements at once if the first one's
/// address is a multiple of their size, as then all are, else one by one.
template <typename T, int length, int lines, int pitch, int unit, int threads>
struct GemmUnits {
  /// Starts to copy the first `count` elements of the first `line_count` lines.
  SIMT_INLINE static void load(T* to, T const* from, simt::Index line_stride, int count, int line_count) {
    for_each(to, from, line_stride, count, line_count, []<int size>(T* place, T const* at) {
      using Piece = GemmPiece<T, size>;
      if constexpr (sizeof(Piece) == 16)
        simt::copy_async_16(place, at);
      else
        simt::copy_async(reinterpret_cast<Piece*>(place), reinterpret_cast<Piece const*>(at));
    });
  }
  SIMT_INLINE static void store(T const* from, T* to, simt::Index line_stride, int count, int line_count) {
    for_each(from, to, line_stride, count, line_count, []<int size>(T const* place, T* at) {
      using Piece = GemmPiece<T, size>;
      simt::store_global(reinterpret_cast<Piece*>(at), *reinterpret_cast<Piece const*>(place));
    });
  }

 private:
  SIMT_INLINE static constexpr int lanes_of(int units) {
    int lanes = 1;
    while (lanes < units && lanes < 32) lanes *= 2;
    return lanes;
  }
  /// Calls move(address in shared memory, address in global memory) for this thread's pieces.
  template <typename Place, typename Memory, typename Move>
  SIMT_INLINE static void for_each(Place* place, Memory* memory, simt::Index line_stride, int count, int line_count, Move move) {
    if (unit > 1 && reinterpret_cast<unsigned long long>(memory) % (unit * sizeof(T)) == 0) {
      // As many lanes as a line has units, rounded up to a power of two, so that all addresses are at constant distances from the first
      // one.
      static_assert(length % unit == 0);
      constexpr int of_line = length / unit, lanes = lanes_of(of_line), at_once = threads / lanes;
      int line = simt::thread_index() / lanes;
      int const i = simt::thread_index() % lanes * unit;
      place += line * pitch + i;
      memory += line * line_stride + i;
      simt::Index const further = at_once * line_stride;
      SIMT_UNROLL
      for (int s = 0; s < lines; s += at_once) {
        if ((s + at_once <= lines && line_count == lines) || line < line_count - s) {
          SIMT_UNROLL
          for (int e = 0; e < of_line; e += lanes)
            if ((of_line % lanes == 0 && count == length) || i < count - e * unit)
              move.template operator()<unit>(place + (s * pitch + e * unit), memory + e * unit);
        }
        memory += further;
      }
    } else {
      SIMT_LOOP
      for (int x = simt::thread_index(); x < length * line_count; x += threads) {
        int const line = static_cast<int>(static_cast<unsigned>(x) / length), i = static_cast<int>(static_cast<unsigned>(x) % length);
        if (i < count) move.template operator()<1>(place + (line * pitch + i), memory + (line * line_stride + i));
      }
    }
  }
};

/// The work of one block. Lines of an operand are rows of A and columns of B.
///
/// Where matrices lie in shared memory as in global memory, two neighbouring elements that a lane needs may be in two words. Rows, columns
/// and terms are assigned so that this is the same for all lanes of a warp: a lane's rows are neighbours, the first of them even, and all
/// columns of a tile begin at a word, or none does. In a column of B that begins between two words, a lane has the terms that share a word:
/// 1 and 2, 3 and 4, 5 and 6, 7 and 0 of eight. Lanes exchange the terms of A to match, once for all such columns.
template <typename T, typename Output, GemmHalvesStream C>
class GemmStream {
 public:
  static constexpr bool complex = simt::is_complex<T>;
  static constexpr GemmHalvesStreamMemory memory{sizeof(T), sizeof(Output), complex, C};
  static constexpr int tile_rows = 16, terms_at_once = complex ? 8 : 16;
  static constexpr int rows = C.rows(), terms = C.terms(complex), steps = terms / terms_at_once, chunks = C.chunks();
  static constexpr bool whole = C.stages == 1;  // a product is loaded at once
  static_assert(C.m <= rows && C.columns % 8 == 0 && (whole ? chunks == 1 : C.stages - 1 <= chunks));

  SIMT_INLINE explicit GemmStream(GemmArguments<T, Output> const& args)
      : args_(args),
        a_(reinterpret_cast<T*>(simt::shared_memory())),
        reads_c_(!(args.beta == simt::from_real<S>(0))),
        has_terms_(args.depth > 0),
        a_in_one_piece_(in_one_piece(args.a)),
        b_in_one_piece_(in_one_piece(args.b)),
        c_in_one_piece_(in_one_piece(args.c)),
        group_(simt::lane_index() / 4),
        of_group_(simt::lane_index() % 4),
        next_(simt::block_index()) {
    first_row_ = simt::thread_index() / 32 * (C.down * tile_rows) + group_ * (complex ? 1 : 2);
    clear_terms_beyond();
  }

  SIMT_INLINE void run() {
    SIMT_LOOP
    for (int s = 0; s < C.stages - 1; ++s) load_next();
    int part = 0;
    SIMT_LOOP
    for (simt::Index product = simt::block_index(); product < args_.c.count; product += simt::block_count()) {
      if constexpr (whole) load_next();
      T const* const a = whole ? next_a_ : has_terms_ && C.a_unit == 0 ? matrix(args_.a, product) : nullptr;
      T const* const b = whole ? next_b_ : has_terms_ && C.b_unit == 0 ? matrix(args_.b, product) : nullptr;
      Output* const c = whole ? next_c_ : matrix(args_.c, product);
      simt::Index const c_stride = args_.c.col_stride;
      Words left{};
      SIMT_LOOP
      for (int chunk = 0; chunk < chunks; ++chunk) {
        simt::wait_copy_groups<whole ? 0 : C.stages - 2>();
        simt::sync_block();  // all threads have their copies, and have stored from the stage that is loaded next
        if (chunk == 0 && has_terms_) {
          read_a(left, a_ + (C.a_unit == 0 ? gemm_phase(a) : 0), is_odd(b));
          if constexpr (C.stages - 1 == chunks) simt::sync_block();
        }
        if constexpr (!whole) load_next();
        int const j0 = chunk * C.columns, columns = simt::smaller(C.n - j0, C.columns);
        char* const stage = simt::shared_memory() + memory.a.bytes + part * memory.stage;
        T const* const right =
            reinterpret_cast<T const*>(stage) + (C.b_unit == 0 ? gemm_phase(b + (C.b == Lines::columns ? j0 * C.k : 0)) : 0);
        Output* const to = c + j0 * c_stride;
        Output* const tile = reinterpret_cast<Output*>(stage + memory.b.bytes);
        Output* const from = tile + (C.c_unit == 0 ? gemm_phase(to) : 0);
        // Compile-time constants in the usual cases
        if (has_terms_ && reads_c_)
          update<true, true>(left, right, from, columns);
        else if (has_terms_)
          update<true, false>(left, right, from, columns);
        else
          update<false, true>(left, right, from, columns);
        simt::sync_block();
        if constexpr (C.c_unit == 0)
          GemmSpan<Output, most_columns * C.m, C.threads()>::store(tile, to, columns * C.m);
        else
          CUnits::store(tile, to, c_stride, C.m, columns);
        part = part + 1 < C.stages ? part + 1 : 0;
      }
      if (whole && product + simt::block_count() < args_.c.count) simt::sync_block();
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
  static_assert(C.b_unit != 0 || !b_by_terms || C.columns >= C.n);

  /// A lane has two rows of a tile: neighbours, the first of them even; in complex, two rows this far apart.
  static constexpr int to_second_row = complex ? 8 : 1;
  static constexpr bool has_all_rows = C.m == rows;
  /// Whether pairs of elements may be in two words, and whether that depends on the column.
  static constexpr bool b_may_be_odd = !complex && C.b_unit == 0 && !b_by_terms && C.words == 0;
  static constexpr bool b_alternates = b_may_be_odd && C.k % 2 == 1;
  static constexpr bool in_both_orders = b_alternates && C.has_both_orders();
  static constexpr bool c_may_be_odd = !complex && sizeof(Output) == 2 && C.c_unit == 0 && C.words == 0;
  static constexpr bool c_alternates = c_may_be_odd && C.m % 2 == 1;
  static constexpr bool b_by_lines = C.b_unit != 0 && !(complex && b_by_terms);  // read as lines of 16 bytes
  static constexpr GemmHalvesColumns tiles{most_columns, C.column_step, b_alternates || c_alternates, b_by_terms};

  /// This lane's elements of A. Where odd and even columns of B alternate, also with terms in the order of odd columns, see above.
  struct Words {
    unsigned even[C.down][steps][4];
    unsigned odd[in_both_orders ? C.down : 1][in_both_orders ? steps : 1][4];
  };

  /// Terms beyond k are zero in both operands, since zero times NaN is NaN. No copy writes there.
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

  /// Starts to load the next columns of B and C to the next stage, and A with the first columns of a product.
  SIMT_INLINE void load_next() {
    if (next_ < args_.c.count) {
      bool const within = next_ > 0 && next_ < args_.c.count - 1;  // in a contiguous batch it then has neighbours, see fills_chunk
      char* const stage = simt::shared_memory() + memory.a.bytes + next_part_ * memory.stage;
      int const j0 = next_chunk_ * C.columns, columns = simt::smaller(C.n - j0, C.columns);
      if (next_chunk_ == 0) {
        if (has_terms_) {
          next_b_ = matrix(args_.b, next_);
          next_a_ = matrix(args_.a, next_);
          if constexpr (C.a_unit == 0)
            GemmSpan<T, C.m * C.k, C.threads()>::load(a_, next_a_, C.m * C.k, within && a_in_one_piece_ && fills_chunk<T>(C.m * C.k));
          else
            AUnits::load(a_, next_a_, a_by_terms ? args_.a.col_stride : args_.a.row_stride, a_by_terms ? C.m : C.k, a_by_terms ? C.k : C.m);
        }
        next_c_ = matrix(args_.c, next_);
      }
      if (has_terms_) {
        T* const to = reinterpret_cast<T*>(stage);
        if constexpr (C.b_unit == 0) {
          GemmSpan<T, most_columns * C.k, C.threads()>::load(to, next_b_ + (b_by_terms ? 0 : j0 * C.k), columns * C.k,
                                                             within && b_in_one_piece_ && fills_chunk<T>(C.n * C.k));
        } else {
          simt::Index const stride = b_by_terms ? args_.b.row_stride : args_.b.col_stride;
          BUnits::load(to, next_b_ + j0 * (b_by_terms ? 1 : stride), stride, b_by_terms ? columns : C.k, b_by_terms ? C.k : columns);
        }
      }
      if (reads_c_) {
        Output* const to = reinterpret_cast<Output*>(stage + memory.b.bytes);
        if constexpr (C.c_unit == 0) {
          GemmSpan<Output, most_columns * C.m, C.threads()>::load(to, next_c_ + j0 * C.m, columns * C.m,
                                                                  within && c_in_one_piece_ && fills_chunk<Output>(C.m * C.n));
        } else {
          simt::Index const stride = args_.c.col_stride;
          CUnits::load(to, next_c_ + j0 * stride, stride, C.m, columns);
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
  /// The first element of a matrix; none is ragged or has an offset.
  template <typename U>
  SIMT_INLINE static U* matrix(simt::Matrices<U> const& of, simt::Index b) {
    return of.pointers ? of.pointers[b] : of.data + b * of.batch_stride;
  }
  /// Whether a matrix of so many elements fills the rest of a neighbour's first or last 16-byte chunk.
  template <typename U>
  static constexpr bool fills_chunk(int elements) {
    return elements >= static_cast<int>(16 / sizeof(U)) - 1;
  }
  template <typename U>
  SIMT_INLINE static bool in_one_piece(simt::Matrices<U> const& of) {
    return !of.pointers && of.batch_stride == of.rows * of.cols;
  }

  SIMT_INLINE static bool is_odd(void const* at) { return (reinterpret_cast<unsigned long long>(at) & 2) != 0; }
  /// Two neighbouring elements, with zeros for those beyond the operand, where other threads write. odd: the first element is the second
  /// one of a word.
  template <bool odd>
  SIMT_INLINE static unsigned pair(T const* at, bool has_first, bool has_second) {
    if constexpr (odd) {
      unsigned const first = has_first ? at[0].bits : 0, second = has_second ? at[1].bits : 0;
      return first | second << 16;
    } else {
      return (has_first ? simt::load_word(at) : 0) & (has_second ? ~0u : 0xffffu);
    }
  }
  /// Whether all of the eight terms from `first` on exist.
  static constexpr bool has_eight(int first) { return first + 8 <= C.k; }

  SIMT_INLINE void read_a(Words& left, T const* a, bool b_is_odd) const {
    T const* const row = a + first_row_ * a_line;
    if constexpr (complex) {
      unsigned const sign = args_.a.conjugated ? 0x80000000u : 0;
      SIMT_UNROLL
      for (int d = 0; d < C.down; ++d) {
        SIMT_UNROLL
        for (int s = 0; s < steps; ++s) {
          SIMT_UNROLL
          for (int x = 0; x < 4; ++x) {
            int const first = 8 * s + x / 2 * 4, term = first + of_group_;
            bool const there = C.a_unit != 0 || ((first + 4 <= C.k || term < C.k) && has_row(d, x % 2));
            left.even[d][s][x] = there ? simt::load_word(row + (d * tile_rows + x % 2 * 8) * a_line + term * a_term) ^ sign : 0;
          }
        }
      }
    } else {
      // Two words, each of a term or of a row; in the first case their halves are exchanged
      SIMT_UNROLL
      for (int e = 0; e < 2; ++e) {
        T const* const first = row + (a_by_terms ? (2 * of_group_ + e) * a_term : e * a_line + 2 * of_group_);
        if (C.a_unit == 0 && C.words == 0 && is_odd(first))
          read_words_of_a<true>(left, first, e);
        else
          read_words_of_a<false>(left, first, e);
      }
      SIMT_UNROLL
      for (int d = 0; d < C.down; ++d) {
        SIMT_UNROLL
        for (int s = 0; s < steps; ++s) {
          SIMT_UNROLL
          for (int h = 0; h < 2; ++h) {
            unsigned &upper = left.even[d][s][2 * h], &lower = left.even[d][s][2 * h + 1];
            if constexpr (a_by_terms) {
              unsigned const x = upper, y = lower;
              upper = simt::select_bytes(x, y, 0x5410);
              lower = simt::select_bytes(x, y, 0x7632);
            }
            if constexpr (in_both_orders)
              left.odd[d][s][2 * h] = shifted(upper), left.odd[d][s][2 * h + 1] = shifted(lower);
            else if (b_may_be_odd && !b_alternates && b_is_odd)  // all columns are odd, or none is
              upper = shifted(upper), lower = shifted(lower);
          }
        }
      }
    }
  }
  template <bool odd>
  SIMT_INLINE void read_words_of_a(Words& left, T const* first, int e) const {
    SIMT_UNROLL
    for (int d = 0; d < C.down; ++d) {
      SIMT_UNROLL
      for (int s = 0; s < steps; ++s) {
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          int const term = 16 * s + 8 * h, low = term + 2 * of_group_ + (a_by_terms ? e : 0);
          bool const all = C.a_unit != 0 || has_eight(term);
          bool const has_low = (all || low < C.k) && (C.a_unit != 0 || has_row(d, a_by_terms ? 0 : e));
          bool const has_high = a_by_terms ? has_low && (!odd || C.a_unit != 0 || has_row(d, 1)) : has_low && (all || low + 1 < C.k);
          left.even[d][s][2 * h + e] = pair<odd>(first + d * tile_rows * a_line + term * a_term, has_low, has_high);
        }
      }
    }
  }
  /// Terms 1 and 2, 3 and 4, 5 and 6, 7 and 0, from the lanes' terms 0 and 1, 2 and 3, 4 and 5, 6 and 7.
  SIMT_INLINE unsigned shifted(unsigned x) const {
    return simt::select_bytes(x, simt::shuffle(x, (simt::lane_index() & ~3) | ((simt::lane_index() + 1) & 3)), 0x5432);
  }

  /// This lane's words of a tile of B, loaded as 16-byte lines by ldmatrix, four at once. If the tile has fewer than eight lines, those
  /// beyond the `lines` that shared memory has room for are read as the first one.
  template <int step, bool full>
  SIMT_INLINE void read_lines_of_b(unsigned (&right)[steps][2], T const* first, int lines) const {
    int const lane = simt::lane_index(), line = full || lane % 8 * step < lines ? lane % 8 * step : 0;
    auto const read = [&](auto& x, int s) {
      constexpr int parts = sizeof(x) / 4, eight = 16 / sizeof(T);
      int const term = s * terms_at_once + lane / 8 % parts * eight;
      if constexpr (b_by_terms)
        simt::load_matrices<true>(x, first + (term + lane % 8) * b_term);
      else
        simt::load_matrices<false>(x, first + (line * b_line + term));
    };
    SIMT_UNROLL
    for (int s = 0; s + 1 < steps; s += 2) {
      unsigned x[4];
      read(x, s);
      right[s][0] = x[0], right[s][1] = x[1], right[s + 1][0] = x[2], right[s + 1][1] = x[3];
    }
    if constexpr (steps % 2 == 1) read(right[steps - 1], steps - 1);
    conjugate_b(right);
  }
  /// The same by words; `column` is this lane's column.
  template <bool odd>
  SIMT_INLINE void read_b(unsigned (&right)[steps][2], T const* column) const {
    if constexpr (complex) {
      SIMT_UNROLL
      for (int s = 0; s < steps; ++s) {
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          int const term = 8 * s + 4 * h + of_group_;
          bool const there = C.b_unit != 0 || 8 * s + 4 * h + 4 <= C.k || term < C.k;
          right[s][h] = there ? simt::load_word(column + term * b_term) : 0;
        }
      }
    } else if constexpr (b_by_terms) {
      SIMT_UNROLL
      for (int s = 0; s < steps; ++s) {
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          int const term = 16 * s + 8 * h + 2 * of_group_;
          unsigned const first = term < C.k ? column[term * b_term].bits : 0,
                         second = term + 1 < C.k ? column[(term + 1) * b_term].bits : 0;
          right[s][h] = first | second << 16;
        }
      }
    } else {
      // In an odd column the last lane of four loads terms 7 and 8 as a word, but needs 7 and 0: it keeps term 8 for the next word. Where A
      // is in one order only, every lane combines two words.
      constexpr bool from_two = odd && b_alternates && !in_both_orders, shifts = odd && !from_two;
      bool const last = shifts && of_group_ == 3;
      unsigned before = shifts ? simt::load_word(column - 1) : 0;
      SIMT_UNROLL
      for (int s = 0; s < steps; ++s) {
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          int const term = 16 * s + 8 * h, low = term + 2 * of_group_ + (shifts ? 1 : 0);
          constexpr int beyond = shifts ? 1 : 0;  // the last lane's second element is the first one of the next eight
          bool const has_low = has_eight(term) || low < C.k, has_high = has_low && (has_eight(term + beyond) || low + 1 < C.k);
          unsigned x = pair<from_two>(column + low, has_low, has_high);
          if constexpr (shifts) {
            unsigned const word = x;
            x = simt::select_bytes(x, before, last ? 0x7610u : 0x3210u);
            before = word;
          }
          right[s][h] = x;
        }
      }
    }
    conjugate_b(right);
  }
  SIMT_INLINE void conjugate_b(unsigned (&right)[steps][2]) const {
    if constexpr (complex) {
      unsigned const sign = args_.b.conjugated ? 0x80000000u : 0;
      SIMT_UNROLL
      for (int s = 0; s < steps; ++s) right[s][0] ^= sign, right[s][1] ^= sign;
    }
  }

  /// In real, the elements that multiply_add_16x8x16 specifies; in complex, the real parts of these, then the imaginary ones.
  using Sum = float[complex ? 2 : 1][4];

  /// Adds the products of all terms, from the first on. In complex, (re, im) of A times (re, -im) of B is the real part, times (im, re) the
  /// imaginary one.
  template <int down, int count>
  SIMT_INLINE static void add(Sum (&sum)[C.down], unsigned const (&left)[down][count][4], unsigned const (&right)[steps][2]) {
    static_assert(down == C.down && count == steps);
    SIMT_UNROLL
    for (int s = 0; s < steps; ++s) {
      if constexpr (complex) {
        unsigned of_real[2], of_imaginary[2];
        SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          of_real[h] = right[s][h] ^ 0x80000000u;
          of_imaginary[h] = simt::select_bytes(right[s][h], 0, 0x1032);
        }
        SIMT_UNROLL
        for (int d = 0; d < C.down; ++d) {
          simt::multiply_add_16x8x16<simt::Real<T>>(left[d][s], of_real, sum[d][0]);
          simt::multiply_add_16x8x16<simt::Real<T>>(left[d][s], of_imaginary, sum[d][1]);
        }
      } else {
        SIMT_UNROLL
        for (int d = 0; d < C.down; ++d) simt::multiply_add_16x8x16<T>(left[d][s], right[s], sum[d][0]);
      }
    }
  }

  /// Updates the columns of C that are in shared memory.
  template <bool has_terms, bool reads_c>
  SIMT_INLINE void update(Words const& left, T const* b, Output* c, int columns) const {
    update_group<0, has_terms, reads_c>(left, b, c, columns);
  }
  template <int g, bool has_terms, bool reads_c>
  SIMT_INLINE void update_group(Words const& left, T const* b, Output* c, int columns) const {
    if constexpr (g < tiles.groups) {
      constexpr GemmHalvesColumns::Group group = tiles.group[g];
      // With an even number of terms or rows, all columns are odd or none is.
      bool const b_is_odd = b_may_be_odd && is_odd(b), c_is_odd = c_may_be_odd && is_odd(c);
      Output* const of_lane = c + (2 * of_group_ * group.step() * memory.c.pitch + first_row_);
      SIMT_LOOP
      for (int t = 0; t < group.tiles; ++t) {
        int const first = group.column(t);
        if (C.n % C.columns != 0 && first >= columns) continue;
        bool const other = first % 2 != 0;
        Sum sum[C.down]{};
        if constexpr (has_terms) {
          unsigned right[steps][2];
          bool const inside = group.full || first + group_ * group.step() < columns;  // columns beyond are read as another one
          T const* const column = b + (inside ? first + group_ * group.step() : first) * b_line;
          if constexpr (b_may_be_odd) {
            if (b_is_odd != (b_alternates && other)) {
              read_b<true>(right, column);
              if constexpr (in_both_orders)
                add(sum, left.odd, right);
              else
                add(sum, left.even, right);
            } else {
              read_b<false>(right, column);
              add(sum, left.even, right);
            }
          } else {
            if constexpr (b_by_lines)
              read_lines_of_b<group.step(), group.full>(right, b + first * b_line, C.columns - first);
            else
              read_b<false>(right, column);
            add(sum, left.even, right);
          }
        }
        bool has[2];
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) has[e] = (group.full && C.n % C.columns == 0) || first + (2 * of_group_ + e) * group.step() < columns;
        constexpr int to_second = group.step() * memory.c.pitch;
        Output* const at = of_lane + first * memory.c.pitch;
        if (c_may_be_odd && c_is_odd != (c_alternates && other))
          update_tile<c_may_be_odd, to_second, has_terms, reads_c>(at, has, sum);
        else
          update_tile<false, to_second, has_terms, reads_c>(at, has, sum);
      }
      update_group<g + 1, has_terms, reads_c>(left, b, c, columns);
    }
  }
  template <bool odd, int to_second, bool has_terms, bool reads_c>
  SIMT_INLINE void update_tile(Output* at, bool const (&has)[2], Sum const (&sum)[C.down]) const {
    // Where parities differ within a tile, pairs are never words.
    constexpr bool in_words = !complex && sizeof(Output) == 2 && !odd && !(c_alternates && !tiles.alternate);
    Element former[2][C.down];
    if constexpr (reads_c) {
      SIMT_UNROLL
      for (int e = 0; e < 2; ++e) {
        SIMT_UNROLL
        for (int d = 0; d < C.down; ++d) get<in_words>(former[e][d], at + e * to_second, d, has[e]);
      }
    }
    SIMT_UNROLL
    for (int e = 0; e < 2; ++e) {
      SIMT_UNROLL
      for (int d = 0; d < C.down; ++d) {
        Element after;
        SIMT_UNROLL
        for (int i = 0; i < 2; ++i) {
          S value;
          if constexpr (complex)
            value = {sum[d][0][2 * i + e], sum[d][1][2 * i + e]};
          else
            value = sum[d][0][2 * i + e];
          after.values[i] = gemm_element<Written::whole>(args_, has_terms ? reads_c : reads_c_, false, has_terms ? 1 : 0, value,
                                                         reads_c ? former[e][d].values[i] : Output{});
        }
        put<in_words>(at + e * to_second, d, has[e], after);
      }
    }
  }
  /// A lane's elements of a column of a tile
  struct Element {
    Output values[2];
  };
  SIMT_INLINE bool has_row(int d, int i) const { return has_all_rows || first_row_ + d * tile_rows + i * to_second_row < C.m; }
  /// Reads only elements that exist: others may belong to another lane, which writes them.
  template <bool in_words>
  SIMT_INLINE void get(Element& former, Output const* column, int d, bool has_column) const {
    Output const* const first = column + d * tile_rows;
    if constexpr (in_words) {
      unsigned both = 0;
      if (has_column && has_row(d, 1)) both = simt::load_word(first);
      if (C.m % 2 == 1 && is_last(d) && has_column && has_row(d, 0) && !has_row(d, 1)) both = first->bits;
      memcpy(former.values, &both, 4);
    } else {
      SIMT_UNROLL
      for (int i = 0; i < 2; ++i) {
        former.values[i] = Output{};
        if (has_column && has_row(d, i)) former.values[i] = first[i * to_second_row];
      }
    }
  }
  template <bool in_words>
  SIMT_INLINE void put(Output* column, int d, bool has_column, Element const& after) const {
    Output* const first = column + d * tile_rows;
    if constexpr (in_words) {
      unsigned both;
      memcpy(&both, after.values, 4);
      if (has_column && has_row(d, 1)) simt::store_word(first, both);
      if (C.m % 2 == 1 && is_last(d) && has_column && has_row(d, 0) && !has_row(d, 1)) *first = after.values[0];
    } else {
      SIMT_UNROLL
      for (int i = 0; i < 2; ++i)
        if (has_column && has_row(d, i)) first[i * to_second_row] = after.values[i];
    }
  }
  /// Whether a tile of this warp has the last row.
  SIMT_INLINE bool is_last(int d) const { return first_row_ / tile_rows + d == (C.m - 1) / tile_rows; }

  GemmArguments<T, Output> const& args_;
  T* a_;
  bool reads_c_, has_terms_;
  bool a_in_one_piece_, b_in_one_piece_, c_in_one_piece_;
  int group_, of_group_;
  int first_row_;
  // State of the next load
  simt::Index next_;
  int next_chunk_ = 0, next_part_ = 0;
  T const *next_a_ = nullptr, *next_b_ = nullptr;
  Output* next_c_ = nullptr;
};

/// No batch is ragged, C is by columns, and matrices whose unit is 0 have no gaps.
///
/// Launch: any number of blocks of C.threads() threads with GemmHalvesStreamMemory's bytes of dynamic shared memory.
template <typename T, typename Output, GemmHalvesStream C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemm_halves_stream(GemmArguments<T, Output> const args) {
  GemmStream<T, Output, C>(args).run();
}

}  // namespace myriad
