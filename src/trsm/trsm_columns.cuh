#pragma once
/// Triangular solves with many right-hand sides: the triangle in shared memory, right-hand sides in registers.

#include "simt/divisor.hpp"
#include "trsm/trsm_columns_config.cuh"

namespace myriad {

template <typename T>
SIMT_INLINE constexpr TrsmColumnsMemory trsm_columns_memory(TrsmColumns const& config) {
  return {sizeof(simt::Real<T>), simt::is_complex<T>, config};
}

/// Whether columns have unit stride and are aligned to 16 bytes.
template <typename T>
SIMT_INLINE bool trsm_columns_of_chunks(T const* first, simt::Index row_stride, simt::Index column_stride) {
  return row_stride == 1 &&
         (reinterpret_cast<unsigned long long>(first) | static_cast<unsigned long long>(column_stride) * sizeof(T)) % 16 == 0;
}

/// The triangle in shared memory. The other triangle of diagonal blocks is garbage. Beyond the matrix, to the end of its last panel, it is
/// the identity.
template <typename T, TrsmColumns C>
class TrsmTriangle {
  using R = simt::Real<T>;
  static constexpr TrsmColumnsMemory memory = trsm_columns_memory<T>(C);
  static constexpr int panel = memory.panel;

 public:
  SIMT_INLINE explicit TrsmTriangle(char* shared)
      : a_(reinterpret_cast<T*>(shared)), beside_(a_ + memory.beside), scales_(reinterpret_cast<R*>(beside_ + C.n)) {}

  SIMT_INLINE T at(int i, int k) const { return a_[memory.column(k) + i]; }
  /// Address of row i of column `within` of panel p.
  SIMT_INLINE T const* address(int p, int within, int i) const {
    return a_ + (memory.start(p) - (C.lower ? panel * p : 0)) + within * memory.pitch(p) + i;
  }
  SIMT_INLINE T reciprocal(int k) const { return beside_[k]; }
  SIMT_INLINE R scale(int k) const { return scales_[k]; }
  /// Element (i, k) of the inverse of diagonal block p.
  SIMT_INLINE T inverse(int p, int i, int k) const { return beside_[(p * panel + k) * memory.inverse_pitch + i]; }

  /// Starts loading the triangle of matrix b, which has `rows` rows.
  SIMT_INLINE void load(simt::Matrices<T const> const& a, simt::Index b, int rows) {
    using namespace simt;
    constexpr int of_chunk = 16 / sizeof(T);
    int const all = ceil_div(rows, panel) * panel, warp = thread_index() / 32, lane = lane_index();
    Index const row_stride = a.row_stride_of(b), column_stride = a.col_stride_of(b);
    T const* const from = a.at(b, 0, 0);
    auto const load_element = [&](int i, int k) {
      T* const to = a_ + memory.column(k) + i;
      if (i < rows && k < rows)
        copy_async<T>(to, from + i * row_stride + k * column_stride);
      else
        *to = from_real<T>(i == k ? 1 : 0);
    };
    if (row_stride == 1) {
      bool const chunks = trsm_columns_of_chunks(from, row_stride, column_stride);
      // Eight lanes per column, since columns are short
      SIMT_LOOP
      for (int k = warp * 4 + lane / 8; k < all; k += 4 * C.warps) {
        T* const to = a_ + memory.column(k);
        T const* const column = from + k * column_stride;
        int const begin = C.lower ? k / of_chunk * of_chunk : 0, end = C.lower ? all : k + 1;
        SIMT_LOOP
        for (int i = begin + lane % 8 * of_chunk; i < end; i += 8 * of_chunk) {
          if (chunks && k < rows && i + of_chunk <= rows) {
            copy_async_16(to + i, column + i);
          } else {
            SIMT_UNROLL
            for (int e = 0; e < of_chunk; ++e) load_element(i + e, k);
          }
        }
      }
    } else {
      SIMT_LOOP
      for (int i = warp; i < all; i += C.warps) {
        SIMT_LOOP
        for (int k = (C.lower ? 0 : i) + lane; k < (C.lower ? i + 1 : all); k += 32) load_element(i, k);
      }
    }
  }
  /// After loading: conjugates the triangle, or sets the diagonal to one.
  SIMT_INLINE void change(int rows, bool conjugated, bool unit) {
    using namespace simt;
    SIMT_LOOP
    for (int k = thread_index() / 32; k < rows; k += C.warps) {
      SIMT_LOOP
      for (int i = (C.lower ? k : 0) + lane_index(); i < (C.lower ? rows : k + 1); i += 32) {
        T& x = a_[memory.column(k) + i];
        if (i == k && unit)
          x = from_real<T>(1);
        else if (conjugated)
          x = conjugate(x);
      }
    }
  }

  /// Computes the reciprocals of the diagonal, each with its scale: see Divisor.
  SIMT_INLINE void invert_diagonal(int rows) {
    using namespace simt;
    SIMT_LOOP
    for (int k = thread_index(); k < rows; k += C.threads()) {
      Divisor<T, true> divisor(at(k, k));
      scales_[k] = divisor.usual() ? R(1) : divisor.make_usual();
      beside_[k] = divisor.reciprocal_of_y;
    }
  }
  /// Inverts the diagonal blocks, one column per thread.
  SIMT_INLINE void invert_blocks(int rows) {
    using namespace simt;
    SIMT_LOOP
    for (int column = thread_index(); column < ceil_div(rows, panel) * panel; column += C.threads()) {
      int const first = column / panel * panel, c = column % panel;
      // The rest of the identity's column, from row k down or, for an upper triangle, up. It shifts by one row per step, so that the steps
      // are a loop and need few registers, beside right-hand sides that are being loaded.
      T x[panel];
      SIMT_UNROLL
      for (int i = 0; i < panel; ++i) x[i] = from_real<T>(i == (C.lower ? c : panel - 1 - c) ? 1 : 0);
      SIMT_LOOP
      for (int step = 0; step < panel; ++step) {
        int const k = C.lower ? step : panel - 1 - step;
        T const* const diagonal = a_ + memory.column(first + k) + first + k;
        T quotient = Divisor<T, true>(*diagonal).divide(x[0]);
        // A zero on the diagonal would turn zeros into NaN.
        if (C.lower ? k < c : k > c) quotient = from_real<T>(0);
        beside_[column * memory.inverse_pitch + k] = quotient;
        SIMT_UNROLL
        for (int i = 1; i < panel; ++i) {
          bool const within = C.lower ? k + i < panel : k >= i;
          x[i - 1] = within ? subtract_product(x[i], diagonal[within ? C.lower ? i : -i : 0], quotient) : from_real<T>(0);
        }
      }
    }
  }

  /// The first k, from one, for which element (k, k) is zero; 0 if none is. Called by a warp.
  SIMT_INLINE int zero_on_diagonal(int rows) const {
    using namespace simt;
    SIMT_LOOP
    for (int first = 0; first < rows; first += 32) {
      int const k = first + lane_index();
      unsigned const zeros = ballot(k < rows && at(smaller(k, rows - 1), smaller(k, rows - 1)) == from_real<T>(0));
      if (zeros != 0) return first + lowest_bit(zeros) + 1;
    }
    return 0;
  }

 private:
  T* a_;
  T* beside_;
  R* scales_;
};

/// The right-hand sides of a warp. Lane 4 g + t has right-hand sides g, g + 8, ..., and the t-th share of rows_of_lane rows of each panel:
/// x[p][h * rows_of_lane + e] is row e of that share in right-hand side h.
template <typename T, TrsmColumns C>
struct TrsmRightSides {
  static constexpr TrsmColumnsMemory memory = trsm_columns_memory<T>(C);
  static constexpr int panel = memory.panel, panels = C.n / panel, rows_of_lane = panel / 4;
  static constexpr int of_chunk = 16 / sizeof(T);
  static constexpr bool identity = C.inverse;
  using Triangle = TrsmTriangle<T, C>;

  T x[panels][C.held * rows_of_lane];
  int group, share;

  // unknown(): otherwise derived addresses would be kept in registers across iterations.
  SIMT_INLINE TrsmRightSides()
      : group(static_cast<int>(simt::unknown(static_cast<unsigned>(simt::lane_index()))) / 4),
        share(static_cast<int>(simt::unknown(static_cast<unsigned>(simt::lane_index()))) % 4) {}
  /// The first row of this lane in panel p.
  SIMT_INLINE int row(int p) const { return p * panel + share * rows_of_lane; }

  /// Loads columns from `first` on of a matrix, with zeros beyond its rows; columns beyond the last repeat the last.
  SIMT_INLINE void load(simt::Matrices<T> const& b, simt::Index number, int first, int rows, int columns) {
    using namespace simt;
    Index const row_stride = b.row_stride_of(number), column_stride = b.col_stride_of(number);
    T const* const matrix = b.at(number, 0, 0);
    bool const chunks = moves_chunks(matrix, row_stride, column_stride, rows);
    SIMT_UNROLL
    for (int h = 0; h < C.held; ++h) {
      T const* from = matrix + smaller(first + group + 8 * h, columns - 1) * column_stride + row(0) * row_stride;
      if (chunks) {
        SIMT_UNROLL
        for (int p = 0; p < panels; ++p) {
          SIMT_UNROLL
          for (int e = 0; e < rows_of_lane; e += of_chunk) {
            Chunked<T> part;
            if (is_full(p) || row(p) < rows)
              part.chunk = load_global_before_barrier(reinterpret_cast<Chunk const*>(from + (p * panel + e)));
            SIMT_UNROLL
            for (int i = 0; i < of_chunk; ++i) x[p][h * rows_of_lane + e + i] = part.x[i];
          }
        }
      } else {
        // Addresses are incremental, to save registers.
        SIMT_UNROLL
        for (int p = 0; p < panels; ++p) {
          SIMT_UNROLL
          for (int e = 0; e < rows_of_lane; ++e) {
            T& to = x[p][h * rows_of_lane + e];
            to = from_real<T>(0);
            if (is_full(p) || row(p) + e < rows) to = load_global_before_barrier(from);
            from = next(from, e + 1 < rows_of_lane ? row_stride : (panel - rows_of_lane + 1) * row_stride);
          }
        }
      }
    }
  }
  template <typename Value>
  SIMT_INLINE void set(Value value) {
    SIMT_UNROLL
    for (int p = 0; p < panels; ++p) {
      SIMT_UNROLL
      for (int h = 0; h < C.held; ++h) {
        SIMT_UNROLL
        for (int e = 0; e < rows_of_lane; ++e) {
          T& to = x[p][h * rows_of_lane + e];
          to = value(row(p) + e, group + 8 * h, to);
        }
      }
    }
  }
  /// Stores the columns; of an inverse only the triangle.
  SIMT_INLINE void store(simt::Matrices<T> const& b, simt::Index number, int first, int rows, int columns, bool unit) const {
    using namespace simt;
    Index const row_stride = b.row_stride_of(number), column_stride = b.col_stride_of(number);
    T* const matrix = b.at(number, 0, 0);
    bool const chunks = moves_chunks(matrix, row_stride, column_stride, rows);
    SIMT_UNROLL
    for (int h = 0; h < C.held; ++h) {
      int const column = first + group + 8 * h;
      if (column >= columns) break;
      T* to = matrix + column * column_stride + row(0) * row_stride;
      if (chunks) {
        SIMT_UNROLL
        for (int p = 0; p < panels; ++p) {
          SIMT_UNROLL
          for (int e = 0; e < rows_of_lane; e += of_chunk) {
            Chunked<T> part;
            SIMT_UNROLL
            for (int i = 0; i < of_chunk; ++i) part.x[i] = x[p][h * rows_of_lane + e + i];
            if (is_full(p) || row(p) < rows) store_global(reinterpret_cast<Chunk*>(to + p * panel + e), part.chunk);
          }
        }
      } else {
        SIMT_UNROLL
        for (int p = 0; p < panels; ++p) {
          SIMT_UNROLL
          for (int e = 0; e < rows_of_lane; ++e) {
            int const i = row(p) + e;
            bool const written = !identity || (i == column ? !unit : C.lower ? i > column : i < column);
            if ((is_full(p) || i < rows) && written) store_global(to, x[p][h * rows_of_lane + e]);
            to = next(to, e + 1 < rows_of_lane ? row_stride : (panel - rows_of_lane + 1) * row_stride);
          }
        }
      }
    }
  }

  /// Substitution row by row: shuffles broadcast each solution to the lanes of the right-hand side. For the identity, rows of panels before
  /// `first` are zero.
  SIMT_INLINE void substitute(Triangle const& a, int rows, int first) {
    using namespace simt;
    SIMT_UNROLL
    for (int round = 0; round < panels; ++round) {
      int const p = C.lower ? round : panels - 1 - round;
      if ((C.ragged && p * panel >= rows) || (identity && is_zero(p, first))) continue;
      SIMT_LOOP
      for (int turn = 0; turn < 4; ++turn) {
        int const owner = C.lower ? turn : 3 - turn;
        SIMT_UNROLL
        for (int step = 0; step < rows_of_lane; ++step) {
          int const e = C.lower ? step : rows_of_lane - 1 - step;
          int const within = owner * rows_of_lane + e, k = p * panel + within;
          if (!is_full(p) && k >= rows) continue;
          T solution[C.held];
          SIMT_UNROLL
          for (int h = 0; h < C.held; ++h) {
            T& mine = x[p][h * rows_of_lane + e];
            T const quotient = (a.scale(k) * mine) * a.reciprocal(k);
            if (share == owner) mine = quotient;
            solution[h] = shuffle(quotient, lane_index() - share + owner);
          }
          SIMT_UNROLL
          for (int other = 0; other < panels; ++other) {
            if (C.lower ? other < p : other > p) continue;
            if (C.ragged && other * panel >= rows) continue;
            T factors[rows_of_lane];
            read(factors, a.address(p, within, row(other)));
            SIMT_UNROLL
            for (int i = 0; i < rows_of_lane; ++i) {
              bool const remains =
                  other != p || (C.lower ? share > owner || (share == owner && i > e) : share < owner || (share == owner && i < e));
              SIMT_UNROLL
              for (int h = 0; h < C.held; ++h) {
                T& of_row = x[other][h * rows_of_lane + i];
                of_row = remains ? subtract_product(of_row, factors[i], solution[h]) : of_row;
              }
            }
          }
        }
      }
    }
  }

  /// Substitution panel by panel on tensor cores: a panel is multiplied by the inverse of its diagonal block, corrected by its residual,
  /// and its products are subtracted from the others. Products are transposed: 16 right-hand sides are the rows of a tile. With terms 0, 2,
  /// 4 and 6 of a panel first, results are operands of the next product without shuffles.
  SIMT_INLINE void substitute_by_tensor(Triangle const& a, int rows, int first) {
    using namespace simt;
    SIMT_UNROLL
    for (int round = 0; round < panels; ++round) {
      int const p = C.lower ? round : panels - 1 - round;
      if ((C.ragged && p * panel >= rows) || (identity && is_zero(p, first))) continue;
      T solution[4] = {}, left[4];
      auto const of_inverse = [&](int within) { return a.inverse(p, group, within); };
      add_product(solution, x[p], of_inverse);
      SIMT_UNROLL
      for (int e = 0; e < 4; ++e) left[e] = -solution[e];
      add_product(x[p], left, [&](int within) {
        T const element = *a.address(p, within, p * panel + group);
        return (C.lower ? group < within : group > within) ? from_real<T>(0) : element;
      });
      add_product(solution, x[p], of_inverse);
      SIMT_UNROLL
      for (int e = 0; e < 4; ++e) {
        x[p][e] = solution[e];
        left[e] = -solution[e];
      }
      SIMT_UNROLL
      for (int turn = 1; turn < panels; ++turn) {
        int const other = C.lower ? p + turn : p - turn;
        if (other < 0 || other >= panels || (C.ragged && other * panel >= rows)) continue;
        add_product(x[other], left, [&](int within) { return *a.address(p, within, other * panel + group); });
      }
    }
  }

 private:
  SIMT_INLINE static bool moves_chunks(T const* matrix, simt::Index row_stride, simt::Index column_stride, int rows) {
    if (C.moved != Moved::either) return C.moved == Moved::chunks;
    return rows % rows_of_lane == 0 && trsm_columns_of_chunks(matrix, row_stride, column_stride);
  }
  /// Whether every matrix has all rows of panel p.
  SIMT_INLINE static constexpr bool is_full(int p) { return !C.ragged && p + 1 < panels; }
  /// Whether panel p of the identity's columns from `first` on is zero, and stays so.
  SIMT_INLINE static bool is_zero(int p, int first) {
    return C.lower ? (p + 1) * panel <= first : p * panel >= first + C.columns_of_warp();
  }
  template <typename Element>
  SIMT_INLINE static Element* next(Element* x, simt::Index distance) {
    return x + simt::unknown(distance);
  }
  SIMT_INLINE static void read(T (&to)[rows_of_lane], T const* from) {
    SIMT_UNROLL
    for (int e = 0; e < rows_of_lane; e += of_chunk) {
      simt::Chunked<T> const part(simt::load_chunk(from + e));
      SIMT_UNROLL
      for (int i = 0; i < of_chunk; ++i) to[e + i] = part.x[i];
    }
  }
  /// sum += left times the transpose of a block, where factor(k) is the block's element (group, k).
  template <typename Factor>
  SIMT_INLINE void add_product(T (&sum)[4], T const (&left)[4], Factor factor) const {
    if constexpr (simt::is_complex<T>) {
      double re[4], im[4];
      SIMT_UNROLL
      for (int e = 0; e < 4; ++e) {
        re[e] = sum[e].re;
        im[e] = sum[e].im;
      }
      SIMT_UNROLL
      for (int e = 0; e < 2; ++e) {
        T const right = factor(2 * share + e);
        double const left_re[2] = {left[e].re, left[2 + e].re}, left_im[2] = {left[e].im, left[2 + e].im};
        simt::multiply_add_16x8x4(left_re, right.re, re);
        simt::multiply_add_16x8x4(left_re, right.im, im);
        simt::multiply_add_16x8x4(left_im, -right.im, re);
        simt::multiply_add_16x8x4(left_im, right.re, im);
      }
      SIMT_UNROLL
      for (int e = 0; e < 4; ++e) sum[e] = {re[e], im[e]};
    } else {
      SIMT_UNROLL
      for (int e = 0; e < 2; ++e) {
        double const of_lane[2] = {left[e], left[2 + e]};
        simt::multiply_add_16x8x4(of_lane, factor(2 * share + e), sum);
      }
    }
  }
};

/// Solves with the triangle of matrix b for its right-hand sides [begin, columns), or inverts it, by a block of C.threads() threads with
/// TrsmColumnsMemory's bytes of dynamic shared memory. All threads call this, and must call sync_block() before they use B or that memory.
template <typename T, TrsmColumns C>
SIMT_INLINE void trsm_of_block(TrsmColumnsArguments<T> const& args, simt::Index b, simt::Index begin, int columns) {
  using namespace simt;
  using RightSides = TrsmRightSides<T, C>;
  constexpr bool identity = RightSides::identity;
  TrsmTriangle<T, C> triangle(shared_memory());
  bool const reads_a = !(args.alpha == from_real<T>(0));
  int const rows = args.b.rows_of(b);
  // The same method as for the matrix alone
  bool const by_rows = C.ragged && ((args.small_by_rows && rows <= trsm_by_rows) || (!identity && args.b.cols_of(b) == 1));
  if (identity && rows == 0 && args.info && thread_index() == 0) args.info[b] = 0;
  if (rows == 0 || columns <= begin) return;  // ragged batch

  if (reads_a) triangle.load(args.a, b, rows);
  int info = 0;
  // The shuffle tells the compiler that the value is uniform in a warp.
  int first = static_cast<int>(begin) + shuffle(thread_index() / 32, 0) * C.columns_of_warp();
  SIMT_LOOP
  for (bool prepared = false;; first += C.warps * C.columns_of_warp()) {
    RightSides x;
    if (!identity && reads_a && first < columns) x.load(args.b, b, first, rows, columns);
    if (!prepared && reads_a) {
      wait_copies();
      sync_block();
      if (args.unit || args.a.conjugated) {
        triangle.change(rows, args.a.conjugated, args.unit);
        sync_block();
      }
      if constexpr (identity) info = triangle.zero_on_diagonal(rows);
      if (C.tensor && !by_rows)
        triangle.invert_blocks(rows);
      else
        triangle.invert_diagonal(rows);
      sync_block();
      prepared = true;
    }
    if (first >= columns || info != 0) break;
    if (reads_a) {
      x.set([&](int i, int j, T before) { return identity ? from_real<T>(i == first + j ? 1 : 0) : args.alpha * before; });
      if (!C.tensor || by_rows) {
        if constexpr (!C.tensor || C.ragged) x.substitute(triangle, rows, first);
      } else {
        if constexpr (C.tensor) x.substitute_by_tensor(triangle, rows, first);
      }
    } else {
      x.set([](int, int, T) { return from_real<T>(0); });
    }
    // Lanes without a right-hand side load the last one and discard it; this must come before it is overwritten.
    sync_warp();
    x.store(args.b, b, first, rows, columns, args.unit);
  }
  if (identity && args.info && thread_index() == 0) args.info[b] = info;
}

/// Launch: any number of blocks of C.threads() threads with TrsmColumnsMemory's bytes of dynamic shared memory.
template <typename T, TrsmColumns C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) trsm_columns(TrsmColumnsArguments<T> const args) {
  using namespace simt;
  Index const all = args.b.count * args.parts;
  for (Index at = block_index(); at < all; at += block_count()) {
    Index const b = args.parts == 1 ? at : at / args.parts, begin = (at - b * args.parts) * args.columns_of_block;
    trsm_of_block<T, C>(args, b, begin, static_cast<int>(smaller<Index>(args.b.cols_of(b), begin + args.columns_of_block)));
    if (at + block_count() < all) sync_block();
  }
}

}  // namespace myriad
