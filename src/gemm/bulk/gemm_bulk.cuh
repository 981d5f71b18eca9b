#pragma once
/// C = alpha A B + beta C for many matrices without gaps: each is copied as one span of memory, at any alignment.
///
/// Tried without gain (H100): a bounds check of every element of C, up to a third slower than checks of a lane's last row and column alone.

#include "gemm/bulk/gemm_bulk_config.cuh"
#include "simt/tile.hpp"

namespace myriad {

/// A span of elements and how it is moved: bulk copies for whole 16-byte chunks, single elements at the ends, which share a chunk with
/// other data.
template <typename T>
struct GemmSpan {
  static constexpr int of_chunk = 16 / sizeof(T);

  T* first;
  int shift;  ///< distance of the first element from the start of its chunk
  int head, middle, tail;

  SIMT_INLINE GemmSpan(T* at, int elements)
      : first(at),
        shift(static_cast<int>(reinterpret_cast<unsigned long long>(at) / sizeof(T) % of_chunk)),
        head(shift == 0 ? 0 : simt::smaller(of_chunk - shift, elements)),
        middle((elements - head) / of_chunk * of_chunk),
        tail(elements - head - middle) {}

  /// Whether the lane has one of the elements at the ends, and which.
  SIMT_INLINE bool has(int lane) const { return lane < head + tail; }
  SIMT_INLINE int at_end(int lane) const { return lane < head ? lane : lane + middle; }
};

/// The product and the part that come next in a block.
struct GemmBulkStep {
  simt::Index b;
  int part = 0;

  SIMT_INLINE explicit GemmBulkStep(simt::Index first) : b(first) {}
  SIMT_INLINE void advance(int parts) {
    if (++part < parts) return;
    part = 0;
    b += simt::block_count();
  }
};
/// The stage of a pipeline that comes next, and the number of complete rounds.
struct GemmBulkTurn {
  int place = 0, round = 0;

  SIMT_INLINE void advance(int places) {
    if (++place < places) return;
    place = 0;
    ++round;
  }
};

/// The stages and mbarriers in a block's shared memory.
template <typename T, GemmBulk C>
struct GemmBulkPlan {
  static constexpr GemmBulkMemory memory{sizeof(T), C};

  SIMT_INLINE static T* a(int place) { return reinterpret_cast<T*>(simt::shared_memory() + place * memory.a); }
  SIMT_INLINE static T* b(int place) { return reinterpret_cast<T*>(simt::shared_memory() + C.a_stages * memory.a + place * memory.part); }
  SIMT_INLINE static T* c(int place) {
    return reinterpret_cast<T*>(simt::shared_memory() + C.a_stages * memory.a + place * memory.part + memory.part_of_b);
  }
  SIMT_INLINE static simt::Mbarrier* barrier(int number) {
    return reinterpret_cast<simt::Mbarrier*>(simt::shared_memory() + memory.barriers) + number;
  }
  SIMT_INLINE static simt::Mbarrier* full(int place) { return barrier(place); }
  SIMT_INLINE static simt::Mbarrier* used(int place) { return barrier(C.stages + place); }
  SIMT_INLINE static simt::Mbarrier* a_full(int place) { return barrier(2 * C.stages + place); }
  SIMT_INLINE static simt::Mbarrier* a_used(int place) { return barrier(2 * C.stages + C.a_stages + place); }

  SIMT_INLINE static int columns_of(int part) { return simt::smaller(C.n - part * C.columns, C.columns); }
};

/// The copying warp: loads parts as far ahead as there are stages, and stores each part when all other warps have finished with it.
template <typename T, GemmBulk C>
SIMT_INLINE void gemm_bulk_copies(GemmArguments<T> const& args) {
  using namespace simt;
  using Plan = GemmBulkPlan<T, C>;
  using Span = GemmSpan<T const>;
  int const lane = lane_index();
  constexpr bool has_c = C.c_shared != 0;
  bool const reads_c = has_c && !(args.beta == from_real<T>(0));
  GemmBulkStep next(block_index()), last = next;  // next to load, next to store
  GemmBulkTurn turn, turn_of_a;
  while (last.b < args.c.count) {
    T* const part_of_b = Plan::b(turn.place);
    T* const part_of_c = Plan::c(turn.place);
    if (turn.round > 0) {
      GemmSpan<T> const c(args.c.at(last.b, 0, last.part * C.columns), has_c ? C.m * Plan::columns_of(last.part) : 0);
      wait_for_phase(Plan::used(turn.place), turn.round - 1);
      if (lane == 0 && c.middle > 0) store_bulk(c.first + c.head, part_of_c + c.shift + c.head, c.middle * static_cast<int>(sizeof(T)));
      if (lane == 0) end_bulk_group();
      if (c.has(lane)) c.first[c.at_end(lane)] = part_of_c[c.shift + c.at_end(lane)];
      last.advance(C.parts());
    }
    if (next.b < args.c.count) {
      if (lane == 0) wait_bulk_stores<0>();
      sync_warp();
      auto const start = [&](Span const& x, T* to, Mbarrier* barrier) {
        int const bytes = x.middle * static_cast<int>(sizeof(T));
        if (lane == 0 && bytes > 0) copy_bulk(to + x.shift + x.head, x.first + x.head, bytes, barrier);
        return bytes;
      };
      if (next.part == 0) {
        Span const a(args.a.at(next.b, 0, 0), C.m * C.k);
        T* const to = Plan::a(turn_of_a.place);
        Mbarrier* const barrier = Plan::a_full(turn_of_a.place);
        T const end = a.has(lane) ? a.first[a.at_end(lane)] : T{};
        wait_for_phase(Plan::a_used(turn_of_a.place), turn_of_a.round - 1);
        int const bytes = start(a, to, barrier);
        if (a.has(lane)) {
          to[a.shift + a.at_end(lane)] = end;
          // A later bulk copy may write there, too. No other fence orders the two where warps finish with A before they show C.
          show_to_products();
        }
        sync_warp();
        if (lane == 0) arrive_and_expect(barrier, bytes);
        turn_of_a.advance(C.a_stages);
      }
      int const columns = Plan::columns_of(next.part), first = next.part * C.columns;
      Span const b(args.b.at(next.b, 0, first), C.k * columns), c(args.c.at(next.b, 0, first), reads_c ? C.m * columns : 0);
      int const bytes = start(b, part_of_b, Plan::full(turn.place)) + start(c, part_of_c, Plan::full(turn.place));
      T const end_of_b = b.has(lane) ? b.first[b.at_end(lane)] : T{}, end_of_c = c.has(lane) ? c.first[c.at_end(lane)] : T{};
      if (b.has(lane)) {
        part_of_b[b.shift + b.at_end(lane)] = end_of_b;
        if constexpr (!has_c) show_to_products();  // as for A
      }
      if (c.has(lane)) part_of_c[c.shift + c.at_end(lane)] = end_of_c;
      sync_warp();
      if (lane == 0) arrive_and_expect(Plan::full(turn.place), bytes);
      next.advance(C.parts());
    }
    turn.advance(C.stages);
  }
  if (lane == 0) wait_bulk_stores<0>();
}

/// A warp that multiplies on tensor cores. It holds its 16 rows of A in registers while B streams by. A complex product is a real one with
/// twice the terms: (re, im) of A times (re, -im) of B is the real part, times (im, re) the imaginary one. So each number is summed in the
/// order in which a lane would.
template <typename T, GemmBulk C>
class GemmBulkSumsOfWarp {
  using R = simt::Real<T>;
  static constexpr bool complex = simt::is_complex<T>;
  static constexpr int parts = complex ? 2 : 1;
  static constexpr int terms = C.k * parts, fours = simt::ceil_div(terms, 4);
  static constexpr int tiles_at_once = 2;
  static constexpr GemmBulkPlaces row_places = gemm_bulk_places(complex, C.a == Lines::columns, C.a == Lines::columns ? C.m : C.k);
  static constexpr GemmBulkPlaces column_places = gemm_bulk_places(complex, false, C.k);

 public:
  SIMT_INLINE explicit GemmBulkSumsOfWarp(int warp) : row_(16 * warp), group_(simt::lane_index() / 4), of_group_(simt::lane_index() % 4) {}

  static constexpr bool takes_a = true;  ///< begin() loads A to registers, and frees its stage

  SIMT_INLINE void begin(GemmArguments<T> const& args, T const* a) {
    bool const conjugate = args.a.conjugated;
    constexpr int row = C.a == Lines::columns ? 1 : C.k, term = C.a == Lines::columns ? C.m : 1;
    bool const negative = complex && conjugate && of_group_ % 2 == 1;
    SIMT_UNROLL
    for (int half = 0; half < 2; ++half) {
      // Rows beyond the matrix are clamped, and their sums discarded.
      int const i = simt::smaller(row_ + row_place(group_ + 8 * half), C.m - 1);
      R const* const from = reinterpret_cast<R const*>(a + (i * row + of_group_ / parts * term)) + (complex ? of_group_ % 2 : 0);
      SIMT_UNROLL
      for (int f = 0; f < fours; ++f) {
        R const x = is_term(f) ? from[f * 4 * term] : R(0);
        a_[f][half] = negative ? -x : x;
      }
    }
  }

  /// Updates `columns` columns of C.
  template <int columns>
  SIMT_INLINE void multiply(GemmArguments<T> const& args, T const* b, T* c, auto const&) const {
    using namespace simt;
    constexpr int rest = columns % 16;
    constexpr int tiles = columns / 16 * 2 + (rest == 0 ? 0 : rest > 1 << column_places.bit[3] ? 2 : 1);
    bool const reads_c = !(args.beta == from_real<T>(0));
    bool const imaginary = complex && of_group_ % 2 == 1;
    [[maybe_unused]] bool const negative_of_real = imaginary != (imaginary && args.b.conjugated);
    [[maybe_unused]] bool const negative_of_imaginary = complex && !imaginary && args.b.conjugated;
    SIMT_UNROLL
    for (int first = 0; first < tiles; first += tiles_at_once) {
      R sum[tiles_at_once][parts][4] = {};
      R const* from[tiles_at_once];
      SIMT_UNROLL
      for (int t = 0; t < tiles_at_once; ++t)
        from[t] = reinterpret_cast<R const*>(b + (smaller(column(first + t, group_), columns - 1) * C.k + of_group_ / parts));
      auto const add = [&](auto size, int f) {
        constexpr int count = decltype(size)::value;
        R left[count][2];
        SIMT_UNROLL
        for (int s = 0; s < count; ++s) left[s][0] = a_[f + s][0], left[s][1] = a_[f + s][1];
        SIMT_UNROLL
        for (int t = 0; t < tiles_at_once; ++t) {
          if (first + t >= tiles) continue;
          R right[parts][count];
          SIMT_UNROLL
          for (int s = 0; s < count; ++s) {
            R const* const at = from[t] + (f + s) * 4;
            bool const is = is_term(f + s);
            if constexpr (complex) {
              R const x = is ? at[imaginary] : R(0), y = is ? at[!imaginary] : R(0);
              right[0][s] = negative_of_real ? -x : x;
              right[1][s] = negative_of_imaginary ? -y : y;
            } else {
              right[0][s] = is ? *at : R(0);
            }
          }
          SIMT_UNROLL
          for (int part = 0; part < parts; ++part) multiply_add_16x8(left, right[part], sum[t][part]);
        }
      };
      SIMT_UNROLL
      for (int f = 0; f < fours / 4; ++f) add(Size<4>{}, 4 * f);
      if constexpr (fours % 4 >= 2) add(Size<2>{}, fours / 4 * 4);
      if constexpr (fours % 2 == 1) add(Size<1>{}, fours - 1);

      SIMT_UNROLL
      for (int t = 0; t < tiles_at_once; ++t) {
        if (first + t >= tiles) continue;
        T values[4];
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) {
          if constexpr (complex)
            values[e] = {sum[t][0][e], sum[t][1][e]};
          else
            values[e] = sum[t][0][e];
          T const product = args.alpha * values[e];
          values[e] = reads_c && is_element<columns>(first + t, e) ? multiply_add(args.beta, c[place(first + t, e)], product) : product;
        }
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e)
          if (is_element<columns>(first + t, e)) c[place(first + t, e)] = values[e];
      }
    }
  }

 private:
  template <int n>
  struct Size {
    static constexpr int value = n;
  };

  SIMT_INLINE static int row_place(int i) {
    constexpr GemmBulkPlaces places = row_places;
    return places(i);
  }
  SIMT_INLINE static int column_place(int i) {
    constexpr GemmBulkPlaces places = column_places;
    return places(i);
  }
  /// Whether this lane has one of the f-th four terms; missing terms are zero.
  SIMT_INLINE bool is_term(int f) const { return 4 * f + 3 < terms || 4 * f + of_group_ < terms; }
  SIMT_INLINE static int column(int tile, int i) { return tile / 2 * 16 + column_place(i + tile % 2 * 8); }
  /// Row and column of this lane's element e in a tile of C
  SIMT_INLINE int row_of(int e) const { return row_ + row_place(group_ + e / 2 * 8); }
  SIMT_INLINE int column_of(int tile, int e) const { return column(tile, 2 * of_group_ + e % 2); }
  SIMT_INLINE int place(int tile, int e) const { return column_of(tile, e) * C.m + row_of(e); }
  template <int columns>
  SIMT_INLINE bool is_element(int tile, int e) const {
    return (C.m % 16 == 0 || row_of(e) < C.m) && (columns % 16 == 0 || column_of(tile, e) < columns);
  }

  int row_, group_, of_group_;
  R a_[fours][2];
};

/// The sums of one lane in single precision. The `unit` rows that it reads together are neighbours, and so are lanes.
template <typename T, GemmBulk C>
class GemmBulkSumsOfLane {
  static constexpr int unit = C.unit, rows = C.held_rows, held_columns = C.held_columns;
  static constexpr bool by_terms = C.a == Lines::columns;
  static_assert(!by_terms || rows % unit == 0);
  static constexpr int together = by_terms ? unit : 1;  ///< rows of A that are read together
  template <int count>
  struct alignas(count * sizeof(T)) Neighbours {
    T values[count];
  };
  using Together = Neighbours<unit>;
  using OfC = Neighbours<together>;

 public:
  SIMT_INLINE explicit GemmBulkSumsOfLane(int warp) {
    int const lane = 32 * warp + simt::lane_index();
    has_ = lane < C.row_lanes() * C.column_lanes();
    row_lane_ = lane % C.row_lanes();
    column_lane_ = simt::smaller(lane / C.row_lanes(), C.column_lanes() - 1);
  }

  static constexpr bool takes_a = false;

  SIMT_INLINE void begin(GemmArguments<T> const&, T const* a) { a_ = a; }

  /// Calls `through` when A and this part of B are no longer used, if C is in global memory.
  template <int columns>
  SIMT_INLINE void multiply(GemmArguments<T> const& args, T const* b, T* c, auto const& through) const {
    if (simt::is_complex<T> && (args.a.conjugated || args.b.conjugated))
      multiply<columns, true>(args, b, c, through);
    else
      multiply<columns, false>(args, b, c, through);
  }

 private:
  template <int columns, bool conjugates>
  SIMT_INLINE void multiply(GemmArguments<T> const& args, T const* b, T* c, auto const& through) const {
    using namespace simt;
    T sum[rows][held_columns];
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) {
      SIMT_UNROLL
      for (int j = 0; j < held_columns; ++j) sum[r][j] = from_real<T>(0);
    }
    int const first_row = smaller(row(0), C.m - unit);
    T const* left = by_terms ? a_ + first_row : a_ + smaller(row_lane_, C.m - 1) * C.k;
    int const first_column = smaller(column_lane_, columns - 1);
    T const* right = b + first_column * C.k;
    [[maybe_unused]] constexpr int at_once = rows * held_columns * (is_complex<T> ? 4 : 1) * unit > 128 ? 1 : 2;
    SIMT_UNROLL_BY(at_once)
    for (int p = 0; p < C.k; p += unit) {
      T x[unit][rows], y[unit][held_columns];
      if constexpr (by_terms) {
        SIMT_UNROLL
        for (int t = 0; t < unit; ++t) {
          SIMT_UNROLL
          for (int r = 0; r < rows; r += unit) {
            int const on =
                (r + unit) * C.row_lanes() <= C.m ? r * C.row_lanes() : smaller(row(0) + r * C.row_lanes(), C.m - unit) - first_row;
            Together const some = *reinterpret_cast<Together const*>(left + (t * C.m + on));
            SIMT_UNROLL
            for (int e = 0; e < unit; ++e) x[t][r + e] = some.values[e];
          }
        }
        left += unit * C.m;
      } else {
        SIMT_UNROLL
        for (int r = 0; r < rows; ++r) {
          // Rows beyond the matrix are clamped to the last row.
          int const on = C.m % C.row_lanes() == 0 || r + 1 < rows ? r * C.row_lanes() : smaller(r * C.row_lanes(), C.m - 1 - row_lane_);
          Together const some = *reinterpret_cast<Together const*>(left + on * C.k);
          SIMT_UNROLL
          for (int t = 0; t < unit; ++t) x[t][r] = some.values[t];
        }
        left += unit;
      }
      SIMT_UNROLL
      for (int j = 0; j < held_columns; ++j) {
        // Columns beyond the part are clamped to its last column, since the memory behind it is being written.
        int const on = (j + 1) * C.column_lanes() <= columns ? j * C.column_lanes()
                                                             : smaller(column_lane_ + j * C.column_lanes(), columns - 1) - first_column;
        Together const some = *reinterpret_cast<Together const*>(right + on * C.k);
        SIMT_UNROLL
        for (int t = 0; t < unit; ++t) y[t][j] = some.values[t];
      }
      right += unit;
      SIMT_UNROLL
      for (int t = 0; t < unit; ++t) {
        if constexpr (conjugates) {
          SIMT_UNROLL
          for (int r = 0; r < rows; ++r) x[t][r] = conjugate_if(args.a.conjugated, x[t][r]);
          SIMT_UNROLL
          for (int j = 0; j < held_columns; ++j) y[t][j] = conjugate_if(args.b.conjugated, y[t][j]);
        }
        // As in gemm_pipelined, there and back, so that each product reuses a factor of the one before.
        SIMT_UNROLL
        for (int j = 0; j < held_columns; ++j) {
          SIMT_UNROLL
          for (int e = 0; e < rows; ++e) {
            int const r = j % 2 == 1 ? rows - 1 - e : e;
            sum[r][j] = multiply_add(x[t][r], y[t][j], sum[r][j]);
          }
        }
      }
    }
    if constexpr (C.c_shared == 0) through();
    if (!has_) return;
    bool const reads_c = !(args.beta == from_real<T>(0));
    // All of C is read before any is written, so that all loads are waited for together.
    for_each_of_c<columns>(c, [&](OfC* at, bool is, int r, int j) {
      OfC old{};
      if (reads_c && is) old = *at;
      SIMT_UNROLL
      for (int e = 0; e < together; ++e) {
        T const product = args.alpha * sum[r + e][j];
        sum[r + e][j] = reads_c ? multiply_add(args.beta, old.values[e], product) : product;
      }
    });
    for_each_of_c<columns>(c, [&](OfC* at, bool is, int r, int j) {
      OfC updated;
      SIMT_UNROLL
      for (int e = 0; e < together; ++e) updated.values[e] = sum[r + e][j];
      if (is) *at = updated;
    });
  }
  /// Calls f(address, whether it is in the matrix, row, column) for each of the lane's elements, neighbours at once. Only a lane's last row
  /// and column need a check.
  template <int columns>
  SIMT_INLINE void for_each_of_c(T* c, auto const& f) const {
    SIMT_UNROLL
    for (int j = 0; j < held_columns; ++j) {
      int const column = column_lane_ + j * C.column_lanes();
      bool const is_column = (j + 1) * C.column_lanes() <= columns || column < columns;
      SIMT_UNROLL
      for (int r = 0; r < rows; r += together) {
        bool const is_row = (r + together) * C.row_lanes() <= C.m || row(r) < C.m;
        f(reinterpret_cast<OfC*>(c + (column * C.m + row(r))), is_row && is_column, r, j);
      }
    }
  }
  SIMT_INLINE int row(int r) const {
    return by_terms ? row_lane_ * unit + r / unit * unit * C.row_lanes() + r % unit : row_lane_ + r * C.row_lanes();
  }

  int row_lane_, column_lane_;
  bool has_;
  T const* a_;
};

/// gemm_bulk. No batch is ragged, k is not 0, and alpha is not 0.
///
/// Launch: any number of blocks of C.threads() threads with GemmBulkMemory's bytes of dynamic shared memory.
template <typename T, GemmBulk C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemm_bulk(GemmArguments<T> const args) {
  using namespace simt;
  using Plan = GemmBulkPlan<T, C>;
  if (thread_index() == 0) {
    SIMT_LOOP
    for (int s = 0; s < C.stages; ++s) {
      begin_mbarrier(Plan::full(s), 1);
      begin_mbarrier(Plan::used(s), C.warps());
    }
    SIMT_LOOP
    for (int s = 0; s < C.a_stages; ++s) {
      begin_mbarrier(Plan::a_full(s), 1);
      begin_mbarrier(Plan::a_used(s), C.warps());
    }
  }
  sync_block();
  int const warp = thread_index() / 32;
  if (warp == C.warps()) {
    gemm_bulk_copies<T, C>(args);
    return;
  }
  constexpr int of_last = C.n - (C.parts() - 1) * C.columns;
  Choose<C.held_rows == 0, GemmBulkSumsOfWarp<T, C>, GemmBulkSumsOfLane<T, C>> sums(warp);
  GemmBulkTurn turn, turn_of_a;
  auto const shift = [](T const* at) { return GemmSpan<T const>(at, 0).shift; };
  SIMT_LOOP
  for (Index number = block_index(); number < args.c.count; number += block_count()) {
    wait_for_phase(Plan::a_full(turn_of_a.place), turn_of_a.round);
    sums.begin(args, Plan::a(turn_of_a.place) + shift(args.a.at(number, 0, 0)));
    if constexpr (sums.takes_a) {
      sync_warp();
      if (lane_index() == 0) arrive_at_mbarrier(Plan::a_used(turn_of_a.place));
    }
    SIMT_LOOP
    for (int part = 0; part < C.parts(); ++part) {
      wait_for_phase(Plan::full(turn.place), turn.round);
      T const* const b = Plan::b(turn.place) + shift(args.b.at(number, 0, part * C.columns));
      T* const in_memory = args.c.at(number, 0, part * C.columns);
      T* const c = C.c_shared != 0 ? Plan::c(turn.place) + shift(in_memory) : in_memory;
      auto const through = [&] {
        sync_warp();
        if (lane_index() == 0) arrive_at_mbarrier(Plan::used(turn.place));
        if (!sums.takes_a && part + 1 == C.parts() && lane_index() == 0) arrive_at_mbarrier(Plan::a_used(turn_of_a.place));
      };
      if (of_last != C.columns && part + 1 == C.parts())
        sums.template multiply<of_last>(args, b, c, through);
      else
        sums.template multiply<simt::smaller(C.columns, C.n)>(args, b, c, through);
      if constexpr (C.c_shared != 0) {
        show_to_products();
        through();
      }
      turn.advance(C.stages);
    }
    turn_of_a.advance(C.a_stages);
  }
}

}  // namespace myriad
