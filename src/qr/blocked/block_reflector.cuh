#pragma once
/// Block reflectors that are applied to matrices by one kernel: C is read once and written once where a block holds its rows.

#include "qr/blocked/block_reflector_config.cuh"

namespace myriad::simt {

template <typename T>
struct BlockReflector {
  using R = Real<T>;
  using Shape = BlockReflectorShape;
  static constexpr bool by_tensor_cores = sizeof(R) == 8 && !is_complex<T>;
  /// Lanes that share a column of C, rows and columns of a lane, and columns of V that are multiplied at a time
  static constexpr int lanes = 4, height = Shape::rows / lanes, at_once = by_tensor_cores ? 16 : 4;
  static constexpr int columns_of_round = warp_size / lanes, columns_of_warp = Shape::columns(sizeof(T)),
                       rounds = columns_of_warp / columns_of_round;
  static constexpr int pitch = Shape::pitch(sizeof(T)), chunk = 16 / sizeof(T);

  BlockReflectorArguments<T> const& args;
  Index number, b;  ///< of the panel among those of all matrices, and of the matrix
  int m, n, width;  ///< rows, columns of C from the first of this block on, columns of V
  int place;        ///< row and column of the matrix where the panel begins
  int first_column;
  int first_row_of_thread, first_column_of_thread;  ///< in the block
  T* shared;
  T c[rounds][height];

  SIMT_INLINE BlockReflector(BlockReflectorArguments<T> const& of, Index panel, int strip)
      : args(of),
        number(panel),
        b(of.panels > 1 ? panel % of.a.count : panel),
        place(of.panels > 1 ? static_cast<int>(panel / of.a.count) * of.line : 0),
        first_column(of.begin + strip * of.groups * columns_of_warp),
        shared(reinterpret_cast<T*>(shared_memory())) {
    m = of.a.rows_of(b) - place;
    width = larger(smaller(smaller(of.a.cols_of(b), of.tau.rows_of(b)) - place, smaller(m, of.line)), 0);
    n = (of.job == BlockReflectorJob::apply ? smaller(of.end, of.c.cols_of(b)) : width) - first_column;
    int const group = warp() / of.parts, part = warp() - group * of.parts;
    first_row_of_thread = part * Shape::rows + lane();
    first_column_of_thread = group * columns_of_warp + lane_index() / lanes;
  }

  SIMT_INLINE T* v(int row) const { return shared + row * pitch; }
  /// Row `row` of the square
  SIMT_INLINE T* square(int row) const { return shared + args.square + row * pitch; }
  /// Column j of V^H C
  SIMT_INLINE T* products(int of, int j) const { return shared + args.products + of * args.products_of_part + j * pitch; }
  /// This thread's rows in the block, and columns
  SIMT_INLINE int row(int h) const { return first_row_of_thread + lanes * h; }
  SIMT_INLINE int column(int r) const { return first_column_of_thread + columns_of_round * r; }
  SIMT_INLINE int part() const { return first_row_of_thread / Shape::rows; }
  SIMT_INLINE static int lane() { return lane_index() % lanes; }
  SIMT_INLINE static int warp() { return thread_index() / warp_size; }
  SIMT_INLINE int warps() const { return args.parts * args.groups; }
  SIMT_INLINE int threads() const { return warps() * warp_size; }
  SIMT_INLINE int rows_of_block() const { return args.parts * Shape::rows; }
  SIMT_INLINE int padded_width() const { return (width + at_once - 1) / at_once * at_once; }

  /// Starts to load rows [first, first + rows_of_block()) of V.
  SIMT_INLINE void load_v(int first) const {
    Index const row_stride = args.a.row_stride_of(b), col_stride = args.a.col_stride_of(b);
    T const* const from = args.a.at(b, place + first, place);
    int const columns = padded_width(), rows = rows_of_block();
    auto const load_element = [&](int i, int k) {
      int const below = first + i - k;
      if (below > 0 && first + i < m && k < width)
        copy_async(v(i) + k, from + i * row_stride + k * col_stride);
      else
        v(i)[k] = from_real<T>(below == 0 && k < width ? 1 : 0);
    };
    if (col_stride < row_stride) {
      SIMT_UNROLL_BY(4)
      for (int i = warp(); i < rows; i += warps())
        if (lane_index() < columns) load_element(i, lane_index());
    } else {
      SIMT_LOOP
      for (int k = warp(); k < columns; k += warps()) {
        int i = lane_index();
        load_element(i, k);
        // Only the first rows have a diagonal.
        T const* place = from + i * row_stride + k * col_stride;
        T* to = v(i) + k;
        int const there = k < width ? smaller(rows, m - first) : 0;
        SIMT_UNROLL_BY(4)
        for (i += warp_size; i < there; i += warp_size) {
          place += warp_size * row_stride;
          to += warp_size * pitch;
          copy_async(to, place);
        }
        SIMT_LOOP
        for (; i < rows; i += warp_size) {
          to += warp_size * pitch;
          *to = from_real<T>(0);
        }
      }
    }
  }
  /// The same of V^H V, and of tau to the diagonal. By one warp.
  SIMT_INLINE void load_gram() const {
    int const j = lane_index();
    T const* from = args.gram + number * args.line * args.line + j;
    SIMT_UNROLL_BY(4)
    for (int i = 0; i < padded_width(); ++i, from += args.line) {
      if (j > i) continue;
      if (i < width)
        copy_async(square(i) + j, j < i ? from : args.tau.at(b, place + i, 0));
      else
        square(i)[j] = from_real<T>(0);
    }
  }
  /// The same of T, or of its transpose unless `adjoint`.
  SIMT_INLINE void load_factor() const {
    int const j = lane_index(), down = args.adjoint ? pitch : 1, across = args.adjoint ? 1 : pitch;
    T const* const from = args.gram + number * args.line * args.line + j;
    SIMT_UNROLL_BY(4)
    for (int i = warp(); i < padded_width(); i += warps())
      if (j < padded_width()) copy_async(square(0) + i * down + j * across, from + i * args.line);
  }
  SIMT_INLINE void conjugate_v() const {
    if constexpr (is_complex<T>) {
      if (args.a.conjugated == args.c.conjugated) return;
      int const columns = padded_width();
      for (int at = thread_index(); at < columns * rows_of_block(); at += threads())
        v(at / columns)[at % columns] = conjugate(v(at / columns)[at % columns]);
      sync_block();
    }
  }
  SIMT_INLINE void load(int first) {
    Index const row_stride = args.c.row_stride_of(b), col_stride = args.c.col_stride_of(b);
    T const* from = args.c.at(b, first + row(0), first_column + column(0));
    // Rows and columns from which on elements are read
    int const i0 = args.first_loaded - first, j0 = args.first_loaded - first_column;
    unsigned const rows = larger(m - args.first_loaded, 0), columns = larger(n - j0, 0);
    SIMT_UNROLL
    for (int r = 0; r < rounds; ++r) {
      T const* element = from;
      SIMT_UNROLL
      for (int h = 0; h < height; ++h) {
        bool const wanted = static_cast<unsigned>(row(h) - i0) < rows && static_cast<unsigned>(column(r) - j0) < columns;
        c[r][h] = load_global_if(wanted, element);
        element += lanes * row_stride;
      }
      from += columns_of_round * col_stride;
    }
    if (args.first_loaded == 0) return;
    SIMT_UNROLL
    for (int r = 0; r < rounds; ++r) {
      SIMT_UNROLL
      for (int h = 0; h < height; ++h)
        if (first + row(h) == first_column + column(r) && row(h) < i0) c[r][h] = from_real<T>(1);
    }
  }
  /// C = V
  SIMT_INLINE void take_v() {
    SIMT_UNROLL
    for (int r = 0; r < rounds; ++r) {
      SIMT_UNROLL
      for (int h = 0; h < height; ++h) c[r][h] = column(r) < n ? v(row(h))[first_column + column(r)] : from_real<T>(0);
    }
  }
  SIMT_INLINE void store(int first) const {
    // Places are computed anew: registers would hold them all the while.
    int const i = first + static_cast<int>(unknown(static_cast<unsigned>(row(0)))),
              j = static_cast<int>(unknown(static_cast<unsigned>(column(0))));
    Index const row_stride = args.c.row_stride_of(b), col_stride = args.c.col_stride_of(b);
    T* to = args.c.at(b, i, first_column + j);
    SIMT_UNROLL
    for (int r = 0; r < rounds; ++r) {
      T* place = to;
      SIMT_UNROLL
      for (int h = 0; h < height; ++h) {
        if (i + lanes * h < m && j + columns_of_round * r < n) store_global(place, c[r][h]);
        place += lanes * row_stride;
      }
      to += columns_of_round * col_stride;
    }
  }

  /// `chunk` elements of shared memory, aligned to 16 bytes
  SIMT_INLINE static void read(T const* from, T (&to)[chunk]) {
    Chunked<T> const all(*reinterpret_cast<Chunk const*>(from));
    SIMT_UNROLL
    for (int i = 0; i < chunk; ++i) to[i] = all.x[i];
  }

  /// The square becomes T: column k, which is lane k's, from the diagonal up. By one warp.
  SIMT_INLINE void form_factor() const {
    constexpr int side = 64 / sizeof(T);
    bool const conjugates_tau = args.tau.conjugated != args.c.conjugated, here = lane_index() < padded_width();
    int const k = smaller(lane_index(), padded_width() - 1);
    if (here) square(k)[k] = conjugate_if(conjugates_tau, square(k)[k]);
    sync_warp();
    SIMT_LOOP
    for (int first = (padded_width() - 1) / side * side; first >= 0; first -= side) {
      T sum[side];
      SIMT_UNROLL
      for (int i = 0; i < side; ++i) sum[i] = from_real<T>(0);
      SIMT_UNROLL_BY(4)
      for (int j = first + side; j < padded_width(); ++j) {
        T const any = square(j)[k], factor = j <= k ? any : from_real<T>(0);
        SIMT_UNROLL
        for (int i0 = 0; i0 < side; i0 += chunk) {
          T some[chunk];
          read(square(j) + first + i0, some);
          SIMT_UNROLL
          for (int i = 0; i < chunk; ++i) sum[i0 + i] = conjugate_multiply_add(some[i], factor, sum[i0 + i]);
        }
      }
      // Written later, so that no load waits for a store.
      T factors[side];
      SIMT_UNROLL
      for (int j = side - 1; j >= 0; --j) {
        factors[j] = from_real<T>(0);
        if (first + j >= padded_width()) continue;
        T const* const line = square(first + j);
        T const tau = line[first + j];
        factors[j] = first + j == k ? tau : first + j < k ? -(tau * sum[j]) : from_real<T>(0);
        SIMT_UNROLL
        for (int i = 0; i < j; ++i) sum[i] = conjugate_multiply_add(line[first + i], factors[j], sum[i]);
      }
      SIMT_UNROLL
      for (int j = 0; j < side; ++j)
        if (first + j < k && here) square(first + j)[k] = factors[j];
    }
    sync_warp();
    SIMT_LOOP
    for (int i = k + 1; here && i < padded_width(); ++i) square(i)[k] = from_real<T>(0);
  }

  /// Adds V^H C of these rows to that of the rows before.
  SIMT_INLINE void multiply(bool first_time) const {
    if constexpr (by_tensor_cores) {
      multiply_by_tensor_cores(first_time);
    } else {
      SIMT_LOOP
      for (int k = 0; k < width; k += at_once) {
        T sum[rounds * at_once];
        SIMT_UNROLL
        for (int i = 0; i < rounds * at_once; ++i) sum[i] = from_real<T>(0);
        SIMT_UNROLL
        for (int h = 0; h < height; ++h) {
          SIMT_UNROLL
          for (int k0 = 0; k0 < at_once; k0 += chunk) {
            T some[chunk];
            read(v(row(h)) + k + k0, some);
            SIMT_UNROLL
            for (int i = 0; i < chunk; ++i) {
              SIMT_UNROLL
              for (int r = 0; r < rounds; ++r)
                sum[r * at_once + k0 + i] = conjugate_multiply_add(some[i], c[r][h], sum[r * at_once + k0 + i]);
            }
          }
        }
        // Lanes share the sums: each time half of them keep one of two.
        int place = 0;
        SIMT_UNROLL
        for (int mask = 1, number = rounds * at_once; mask < lanes; mask *= 2) {
          bool const odd = (lane() & mask) != 0;
          number /= 2;
          SIMT_UNROLL
          for (int p = 0; p < rounds * at_once / 2; ++p) {
            if (p >= number) continue;
            T const low = sum[p], high = sum[p + number], sent = odd ? low : high;
            sum[p] = (odd ? high : low) + shuffle_xor(sent, mask);
          }
          place += odd ? number : 0;
        }
        SIMT_UNROLL
        for (int p = 0; p < rounds * at_once / lanes; ++p) {
          int const at = place + p;
          T* const to = products(part(), column(at / at_once)) + k + at % at_once;
          *to = first_time ? sum[p] : *to + sum[p];
        }
      }
    }
  }
  /// C^T V: a lane's elements of C are those that tensor cores give of a result, where columns 0, 1, 2, ... of eight are rows 0, 4, 1, 5,
  /// 2, 6, 3, 7 of C, and those that they take of a left operand. The order of the columns of V brings elements from different banks.
  SIMT_INLINE void multiply_by_tensor_cores(bool first_time) const {
    constexpr int tiles = 4, terms = 16, own = terms / lanes;
    int const g = lane_index() / lanes, t = lane();
    auto const place = [](int tile, int n) { return n % 2 + 8 * (n / 2 % 2) + 2 * (n / 4) + 4 * (tile % 2) + 16 * (tile / 2); };
    SIMT_LOOP
    for (int k = 0; k < width; k += 8 * tiles) {
      double sum[tiles][4] = {};
      SIMT_UNROLL
      for (int h = 0; h < height; h += own) {
        double left[own][2];
        SIMT_UNROLL
        for (int i = 0; i < own; ++i) left[i][0] = c[0][h + i], left[i][1] = c[1][h + i];
        SIMT_UNROLL
        for (int tile = 0; tile < tiles; ++tile) {
          double right[own];
          SIMT_UNROLL
          for (int i = 0; i < own; ++i) right[i] = v(row(h + i))[k + place(tile, g)];
          multiply_add_16x8(left, right, sum[tile]);
        }
      }
      SIMT_UNROLL
      for (int tile = 0; tile < tiles; ++tile) {
        SIMT_UNROLL
        for (int i = 0; i < 4; ++i) {
          T* const to = products(part(), column(i / 2)) + k + place(tile, 2 * t) + i % 2;
          *to = first_time ? sum[tile][i] : *to + sum[tile][i];
        }
      }
    }
  }
  /// V^H C of all parts
  SIMT_INLINE void add_parts() const {
    if (args.parts == 1) return;
    int const k = lane_index(), columns = args.groups * columns_of_warp;
    SIMT_LOOP
    for (int j = warp(); j < columns && k < padded_width(); j += warps()) {
      T sum = products(0, j)[k];
      SIMT_UNROLL_BY(4)
      for (int p = 1; p < args.parts; ++p) sum = sum + products(p, j)[k];
      products(0, j)[k] = sum;
    }
    sync_block();
  }
  /// V^H C becomes T V^H C or T^H V^H C, negative.
  SIMT_INLINE void multiply_by_factor() const {
    int const k = smaller(lane_index(), padded_width() - 1), columns = args.groups * columns_of_warp;
    SIMT_LOOP
    for (int j0 = warp(); j0 < columns; j0 += 4 * warps()) {
      T sum[4];
      SIMT_UNROLL
      for (int j = 0; j < 4; ++j) sum[j] = from_real<T>(0);
      SIMT_UNROLL_BY(2)
      for (int i = 0; i < width; i += chunk) {
        T some[4][chunk];
        SIMT_UNROLL
        for (int j = 0; j < 4; ++j) read(products(0, j0 + j * warps() < columns ? j0 + j * warps() : j0) + i, some[j]);
        SIMT_UNROLL
        for (int l = 0; l < chunk; ++l) {
          T const factor = conjugate_if(args.adjoint, square(i + l)[k]);
          SIMT_UNROLL
          for (int j = 0; j < 4; ++j) sum[j] = multiply_add(factor, some[j][l], sum[j]);
        }
      }
      // No other warp reads these columns.
      sync_warp();
      SIMT_UNROLL
      for (int j = 0; j < 4; ++j)
        if (k == lane_index() && j0 + j * warps() < columns) products(0, j0 + j * warps())[k] = -sum[j];
    }
  }
  /// C - V T V^H C, or with T^H
  SIMT_INLINE void change() {
    if constexpr (by_tensor_cores) {
      change_by_tensor_cores();
    } else {
      SIMT_LOOP
      for (int k = 0; k < width; k += chunk) {
        T factor[rounds][chunk];
        SIMT_UNROLL
        for (int r = 0; r < rounds; ++r) read(products(0, column(r)) + k, factor[r]);
        SIMT_UNROLL
        for (int h = 0; h < height; ++h) {
          T some[chunk];
          read(v(row(h)) + k, some);
          SIMT_UNROLL
          for (int i = 0; i < chunk; ++i) {
            SIMT_UNROLL
            for (int r = 0; r < rounds; ++r) c[r][h] = multiply_add(some[i], factor[r][i], c[r][h]);
          }
        }
      }
    }
  }
  /// The same of C^T
  SIMT_INLINE void change_by_tensor_cores() {
    constexpr int terms = 16, own = terms / lanes;
    int const g = lane_index() / lanes, t = lane();
    // The order of the terms brings rows of V from different banks.
    auto const term = [&](int i) { return t % 2 + 4 * (t / 2) + 2 * (i % 2) + 8 * (i / 2); };
    SIMT_LOOP
    for (int k = 0; k < width; k += terms) {
      double left[own][2];
      SIMT_UNROLL
      for (int i = 0; i < own; ++i) {
        left[i][0] = products(0, column(0))[k + term(i)];
        left[i][1] = products(0, column(1))[k + term(i)];
      }
      SIMT_UNROLL
      for (int h = 0; h < height; h += 2) {
        double right[own], sum[4] = {c[0][h], c[0][h + 1], c[1][h], c[1][h + 1]};
        SIMT_UNROLL
        for (int i = 0; i < own; ++i) right[i] = v(part() * Shape::rows + 4 * h + g / 2 + 4 * (g % 2))[k + term(i)];
        multiply_add_16x8(left, right, sum);
        c[0][h] = sum[0], c[0][h + 1] = sum[1], c[1][h] = sum[2], c[1][h + 1] = sum[3];
      }
    }
  }
  SIMT_INLINE void store_gram() const {
    int const j = lane_index(), columns = smaller(args.groups * columns_of_warp, n);
    SIMT_LOOP
    for (int i = warp(); i < width; i += warps())
      if (j < columns && first_column + j < i)
        store_global(args.gram + (number * args.line + i) * args.line + first_column + j, products(0, j)[i]);
  }

  SIMT_INLINE void run_factor() const {
    load_gram();
    wait_copies();
    sync_warp();
    form_factor();
    sync_warp();
    int const j = lane_index();
    SIMT_LOOP
    for (int i = 0; i < padded_width() && j < padded_width(); ++i)
      store_global(args.gram + (number * args.line + i) * args.line + j, square(i)[j]);
  }
  SIMT_INLINE void run() {
    // Two passes load the rows in chunks if shared memory does not hold all of them. The second pass goes backwards: its first chunk is
    // still there.
    int const all = rows_of_block(), chunks = (m + all - 1) / all;
    bool const gram = args.job == BlockReflectorJob::gram;
    // Without reflectors C is a part of a unit matrix.
    SIMT_LOOP
    for (int turn = width > 0 ? 0 : chunks - 1; turn < (gram ? chunks : 2 * chunks - 1); ++turn) {
      int const first = (turn < chunks ? turn : 2 * chunks - 2 - turn) * all;
      if (turn > 0) sync_block();
      load_v(first);
      if (!gram) {
        if (turn == 0) load_factor();
        load(first);
      }
      wait_copies();
      sync_block();
      conjugate_v();
      if (gram) take_v();
      if (turn < chunks) multiply(turn == 0);
      if (turn == chunks - 1) {
        sync_block();
        add_parts();
        if (gram) return store_gram();
        if (width > 0) multiply_by_factor();
        sync_block();
      }
      if (turn >= chunks - 1) {
        change();
        store(first);
      }
    }
  }
};

}  // namespace myriad::simt

namespace myriad {

/// Launch: any number of blocks of 32 * parts * groups threads, at most BlockReflectorShape::most_threads, with BlockReflectorMemory's
/// bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(BlockReflectorShape::most_threads, 1) block_reflector(BlockReflectorArguments<T> const args) {
  using namespace simt;
  int const columns = args.groups * BlockReflectorShape::columns(sizeof(T));
  Index const strips = args.job == BlockReflectorJob::factor ? 1 : (args.end - args.begin + columns - 1) / columns;
  Index const number = args.a.count * args.panels * strips;
  for (Index at = block_index(); at < number; at += block_count()) {
    BlockReflector<T> reflector(args, at / strips, static_cast<int>(at % strips));
    if (reflector.m <= 0 || reflector.n <= 0 || (reflector.width == 0 && args.first_loaded == 0)) continue;
    if (args.job == BlockReflectorJob::factor)
      reflector.run_factor();
    else
      reflector.run();
    if (at + block_count() < number) sync_block();
  }
}

}  // namespace myriad
