#pragma once
/// Reduction to bidiagonal form by panels: the steps of a panel, and copies to the workspace and back.

#include "svd/bidiagonal/gebrd_block.cuh"
#include "svd/bidiagonal/gebrd_panels_config.cuh"

namespace myriad {
namespace simt {

template <typename T>
SIMT_INLINE T sum_over_warp(T x) {
  SIMT_UNROLL
  for (int mask = warp_size / 2; mask > 0; mask /= 2) x = x + shuffle_xor(x, mask);
  return x;
}
/// The sum over the block, in all threads; `of_warps` may be used again after the next barrier.
template <typename R>
SIMT_INLINE R sum_over_block(R x, R* of_warps) {
  x = sum_over_warp(x);
  if (lane_index() == 0) of_warps[thread_index() / warp_size] = x;
  sync_block();
  R sum = of_warps[0];
  SIMT_UNROLL
  for (int w = 1; w < gebrd_threads / warp_size; ++w) sum = sum + of_warps[w];
  return sum;
}
template <typename R>
SIMT_INLINE R largest_over_block(R value, R* of_warps) {
  auto top = ordered_bits(value);
  SIMT_UNROLL
  for (int mask = warp_size / 2; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
  if (lane_index() == 0) of_warps[thread_index() / warp_size] = number_of(top);
  sync_block();
  SIMT_UNROLL
  for (int w = 0; w < gebrd_threads / warp_size; ++w) top = larger(top, ordered_bits(of_warps[w]));
  sync_block();
  return number_of(top);
}

/// Calls use(i, j) for the elements of a matrix that block `part` of `parts` copies, along lines of the caller's memory.
template <typename T, typename Use>
SIMT_INLINE void for_each_of_part(GebrdMatrix<T> const& matrix, int part, int parts, Use use) {
  bool const by_rows = matrix.col_stride < matrix.row_stride;
  int const lines = by_rows ? matrix.m : matrix.n, length = by_rows ? matrix.n : matrix.m;
  constexpr int warps = gebrd_threads / warp_size;
  SIMT_LOOP
  for (int line = part * warps + thread_index() / warp_size; line < lines; line += parts * warps) {
    SIMT_UNROLL_BY(4)
    for (int at = lane_index(); at < length; at += warp_size) by_rows ? use(line, at) : use(at, line);
  }
}

/// One matrix of gebrd_step.
template <typename T>
struct GebrdStep {
  using R = Real<T>;
  static constexpr int pairs = GebrdPanels<T>::pairs(), warps = gebrd_threads / warp_size;

  GebrdPanels<T> const& work;
  Index b;
  int m, n, k, i;  ///< i: number of step k in the panel
  T *a, *left, *right, *row;
  int const warp = thread_index() / warp_size, lane = lane_index();
  T* const sums = reinterpret_cast<T*>(shared_memory());
  T* const of_u = sums + warps * pairs;  ///< R^H u
  T* const of_column = of_u + pairs;     ///< row k of R, conjugated
  R* const of_warps = reinterpret_cast<R*>(of_column + pairs);
  T* const head = of_column + pairs + warps;

  SIMT_INLINE GebrdStep(GebrdPanels<T> const& panels, Index number, int rows, int cols)
      : work(panels),
        b(number),
        m(rows),
        n(cols),
        k(panels.k),
        i(panels.k - panels.first),
        a(panels.a + number * panels.ld * panels.cols),
        left(panels.left + number * panels.ld * pairs),
        right(panels.right + number * panels.cols * pairs),
        row(panels.row + number * panels.cols) {}

  /// Ends step k - 1: its right reflector, and x = tau A u. Column k goes to the column of v of step k. Returns this thread's part of the
  /// sum of squares below row k.
  SIMT_INLINE R end_former() {
    int const former = k - 1, columns = 2 * i - 1;  // x is missing
    R tail = R(0);
    for (int j = k + 1 + thread_index(); j < n; j += gebrd_threads) tail = add_square(row[j], tail);
    tail = sum_over_block(tail, of_warps);
    Reflector<T> const reflector = GebrdReflector<T>::of(row[k], tail);
    auto const u_of = [&](int j) { return j == k ? from_real<T>(1) : reflector.v_scale * row[j]; };
    T const tau = reflector.tau();
    if (thread_index() == 0) {
      work.e[b * work.cols + former] = reflector.beta;
      work.taup[b * work.cols + former] = tau;
    }
    T sum = from_real<T>(0);
    SIMT_UNROLL_BY(4)
    for (int j = k + warp; j < n; j += warps) {
      T const u = u_of(j);
      if (lane < columns) sum = conjugate_multiply_add(right[j * pairs + lane], u, sum);
    }
    sums[warp * pairs + lane] = sum;
    sync_block();
    if (thread_index() < columns) {
      T total = sums[thread_index()];
      SIMT_UNROLL
      for (int w = 1; w < warps; ++w) total = total + sums[w * pairs + thread_index()];
      of_u[thread_index()] = total;
      of_column[thread_index()] = conjugate(right[k * pairs + thread_index()]);
    }
    sync_block();
    for (int j = k + thread_index(); j < n; j += gebrd_threads) {
      T const u = u_of(j);
      right[j * pairs + columns] = u;
      if (j > k) a[former + j * work.ld] = conjugate(u);
    }
    T const* const parts = work.parts + b * work.chunks() * work.ld;
    R below = R(0);
    SIMT_LOOP
    for (int r = k + thread_index(); r < m; r += gebrd_threads) {
      T product = from_real<T>(0);
      SIMT_UNROLL_BY(4)
      for (int q = k / gebrd_chunk; q <= (n - 1) / gebrd_chunk; ++q) product = product + parts[q * work.ld + r];
      T column = a[r + k * work.ld];
      product = reflector.v_scale * subtract_product(product, from_real<T>(reflector.beta), column);
      SIMT_UNROLL_BY(8)
      for (int l = 0; l < columns; ++l) {
        T const element = left[r + l * work.ld];
        product = subtract_product(product, element, of_u[l]);
        column = subtract_product(column, element, of_column[l]);
      }
      T const x = tau * product;
      column = column - x;
      left[r + columns * work.ld] = x;
      if (!work.begins) continue;
      left[r + (columns + 1) * work.ld] = column;
      if (r > k) below = add_square(column, below);
    }
    return below;
  }
  /// Column k of a matrix without pending changes.
  SIMT_INLINE R load_column() {
    R below = R(0);
    SIMT_LOOP
    for (int r = k + thread_index(); r < m; r += gebrd_threads) {
      T const column = a[r + k * work.ld];
      left[r] = column;
      if (r > k) below = add_square(column, below);
    }
    return below;
  }
  /// The left reflector of step k.
  SIMT_INLINE void begin(R below) {
    T* const v = left + 2 * i * work.ld;
    if (thread_index() == 0) *head = v[k];
    sync_block();  // also for of_warps
    R const tail = sum_over_block(below, of_warps);
    Reflector<T> const reflector = GebrdReflector<T>::of(*head, tail);
    SIMT_UNROLL_BY(4)
    for (int r = k + thread_index(); r < m; r += gebrd_threads) {
      T const value = r == k ? from_real<T>(1) : reflector.v_scale * v[r];
      v[r] = value;
      if (r > k) a[r + k * work.ld] = value;
    }
    sync_block();
    T* const factors = work.factors + b * work.factors_of_matrix();
    SIMT_LOOP
    for (int l = warp; l < 2 * i; l += warps) {
      T const* const other = left + l * work.ld;
      T sum = from_real<T>(0);
      SIMT_UNROLL_BY(4)
      for (int r = k + lane; r < m; r += warp_size) sum = conjugate_multiply_add(other[r], v[r], sum);
      sum = sum_over_warp(sum);
      if (lane == 0) {
        factors[l] = sum;
        factors[pairs + l] = other[k];
      }
    }
    if (thread_index() == 0) {
      factors[2 * pairs] = reflector.tau();
      work.d[b * work.cols + k] = reflector.beta;
      work.tauq[b * work.cols + k] = reflector.tau();
      if (k == n - 1) work.taup[b * work.cols + k] = from_real<T>(0);
    }
  }
};

}  // namespace simt

/// The largest part that each block finds. Launch: work.blocks blocks of gebrd_threads threads per matrix, with gebrd_step_bytes of dynamic
/// shared memory; also gebrd_load and gebrd_store.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gebrd_threads, 1) gebrd_measure(GebrdPanels<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  SIMT_LOOP
  for (Index at = block_index(); at < work.blocks * work.batch.a.count; at += block_count()) {
    Index const b = at / work.blocks;
    auto top = bits_of(R(0));
    GebrdMatrix<T> const matrix(work.batch, b);
    for_each_of_part(matrix, static_cast<int>(at % work.blocks), work.blocks,
                     [&](int i, int j) { top = larger(top, ordered_bits_of_parts(*matrix.at(i, j))); });
    R const largest = largest_over_block(number_of(top), reinterpret_cast<R*>(shared_memory()));
    if (thread_index() == 0) work.largest[at] = largest;
  }
}
/// Matrices with NaN or infinity become zero.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gebrd_threads, 1) gebrd_load(GebrdPanels<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  SIMT_LOOP
  for (Index at = block_index(); at < work.blocks * work.batch.a.count; at += block_count()) {
    Index const b = at / work.blocks;
    GebrdMatrix<T> const matrix(work.batch, b);
    R const scale = gebrd_scale(work.largest + b * work.blocks, work.blocks);
    T* const to = work.a + b * work.ld * work.cols;
    for_each_of_part(matrix, static_cast<int>(at % work.blocks), work.blocks, [&](int i, int j) {
      T const value = *matrix.at(i, j);
      to[i + j * work.ld] = scale == scale ? scale * value : from_real<T>(0);
    });
  }
}
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gebrd_threads, 1) gebrd_store(GebrdPanels<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  SIMT_LOOP
  for (Index at = block_index(); at < work.blocks * work.batch.a.count; at += block_count()) {
    Index const b = at / work.blocks;
    int const part = static_cast<int>(at % work.blocks);
    GebrdMatrix<T> const matrix(work.batch, b);
    int const n = matrix.n, steps = matrix.steps;  // what panels have left is not here
    R const scale = gebrd_scale(work.largest + b * work.blocks, work.blocks);
    bool const finite = scale == scale;
    R const back = reciprocal_power_or_nan(scale);  // a matrix with NaN gets NaN in all results
    T const* const from = work.a + b * work.ld * work.cols;
    T const *const tauq = work.tauq + b * work.cols, *const taup = work.taup + b * work.cols;
    R const *const d = work.d + b * work.cols, *const e = work.e + b * work.cols;
    for_each_of_part(matrix, part, work.blocks, [&](int i, int j) {
      if (i >= steps && j >= steps) return;
      T const value = i == j ? from_real<T>(back * d[j]) : i + 1 == j ? from_real<T>(back * e[i]) : from[i + j * work.ld];
      store_global(matrix.at(i, j), finite ? value : not_a_number<T>());
    });
    SIMT_LOOP
    for (int k = part * gebrd_threads + thread_index(); k < steps; k += work.blocks * gebrd_threads) {
      matrix.set_real(work.batch.d, b, k, back * d[k]);
      if (k + 1 < n) matrix.set_real(work.batch.e, b, k, back * e[k]);
      matrix.set_left(work.batch, b, k, finite ? tauq[k] : not_a_number<T>());
      matrix.set_right(work.batch, b, k, finite ? taup[k] : not_a_number<T>());
    }
  }
}

/// Ends step k - 1 of a panel and begins step k.
///
/// Launch: any number of blocks of gebrd_threads threads with gebrd_step_bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gebrd_threads, sizeof(T) == 16 ? 3 : 4) gebrd_step(GebrdPanels<T> const work) {
  using namespace simt;
  SIMT_LOOP
  for (Index b = block_index(); b < work.batch.a.count; b += block_count()) {
    GebrdMatrix<T> const matrix(work.batch, b);
    if (work.first >= matrix.steps || work.k >= matrix.n) continue;
    GebrdStep<T> step(work, b, matrix.m, matrix.n);
    simt::Real<T> const below = work.k > work.first ? step.end_former() : step.load_column();
    if (work.begins) step.begin(below);
    sync_block();
  }
}

namespace simt {

/// One chunk of columns of gebrd_stream. A thread has up to `height` rows of each at a time.
template <typename T>
struct GebrdStream {
  static constexpr int across = gebrd_columns, pairs = GebrdPanels<T>::pairs(), warps = gebrd_threads / warp_size;
  static_assert(warps == across && pairs == warp_size);

  GebrdPanels<T> const& work;
  Index b;
  int m, begin, end, k, known;
  T const *a, *v;
  T *right, *part;
  T tau;
  int const warp = thread_index() / warp_size, lane = lane_index();
  T* const factors = reinterpret_cast<T*>(shared_memory());  ///< L^H v and row k of L
  T *const sums = factors + 2 * pairs, *const heads = sums + warps * across, *const of_row = heads + across;

  SIMT_INLINE GebrdStream(GebrdPanels<T> const& panels, Index number, int rows, int cols, int chunk)
      : work(panels),
        b(number),
        m(rows),
        begin(larger(panels.k + 1, chunk * gebrd_chunk)),
        end(smaller(cols, (chunk + 1) * gebrd_chunk)),
        k(panels.k),
        known(2 * (panels.k - panels.first)),
        a(panels.a + number * panels.ld * panels.cols),
        v(panels.left + (number * pairs + known) * panels.ld),
        right(panels.right + number * panels.cols * pairs),
        part(panels.parts + (number * panels.chunks() + chunk) * panels.ld) {
    T const* const of_matrix = work.factors + b * work.factors_of_matrix();
    tau = of_matrix[2 * pairs];
    if (thread_index() < 2 * pairs) factors[thread_index()] = thread_index() % pairs < known ? of_matrix[thread_index()] : from_real<T>(0);
  }

  template <int height>
  SIMT_INLINE void load(T (&element)[across][height], int i0, int j0) const {
    SIMT_UNROLL
    for (int c = 0; c < across; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) {
        int const i = i0 + thread_index() + r * gebrd_threads;
        element[c][r] = i < m && j0 + c < end ? a[i + (j0 + c) * work.ld] : from_real<T>(0);
      }
    }
  }
  /// The same sums whatever the height. Columns of more rows than the block has in registers are read twice.
  template <int height>
  SIMT_INLINE void run() const {
    constexpr int slab = gebrd_threads * height;
    bool const in_registers = m - k <= slab;
    T product[height], ahead[across][height];  // the next columns
    SIMT_UNROLL
    for (int r = 0; r < height; ++r) product[r] = from_real<T>(0);
    if (in_registers) load(ahead, k, begin);
    SIMT_LOOP
    for (int j0 = begin; j0 < end; j0 += across) {
      T element[across][height], sum[across];
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) sum[c] = from_real<T>(0);
      SIMT_LOOP
      for (int i0 = k; i0 < m; i0 += slab) {
        if (in_registers) {
          SIMT_UNROLL
          for (int c = 0; c < across; ++c) {
            SIMT_UNROLL
            for (int r = 0; r < height; ++r) element[c][r] = ahead[c][r];
          }
          load(ahead, k, j0 + across);
        } else {
          load(element, i0, j0);
        }
        SIMT_UNROLL
        for (int r = 0; r < height; ++r) {
          int const i = i0 + thread_index() + r * gebrd_threads;
          T const of_v = i < m ? v[i] : from_real<T>(0);
          SIMT_UNROLL
          for (int c = 0; c < across; ++c) sum[c] = conjugate_multiply_add(element[c][r], of_v, sum[c]);
        }
        if (i0 == k && thread_index() == 0) {
          SIMT_UNROLL
          for (int c = 0; c < across; ++c) heads[c] = element[c][0];
        }
      }
      sum_over_lanes<across, 5, 1>(sum, lane, [&](int c, T value) { sums[warp * across + c] = value; });
      sync_block();
      if (int const j = j0 + warp; j < end) {
        T const other = lane < known ? right[j * pairs + lane] : from_real<T>(0);
        T const own = lane < warps ? sums[lane * across + warp] : from_real<T>(0);
        T const of_v = sum_over_warp(subtract_product(own, other, factors[lane]));
        T const of_left = sum_over_warp(factors[pairs + lane] * conjugate(other));
        T const y = tau * of_v, value = conjugate(heads[warp] - of_left) - y;
        if (lane == 0) {
          right[j * pairs + known] = y;
          work.row[b * work.cols + j] = value;
          of_row[warp] = value;
        }
      } else if (lane == 0) {
        of_row[warp] = from_real<T>(0);
      }
      sync_block();
      if (in_registers) {
        SIMT_UNROLL
        for (int c = 0; c < across; ++c) {
          T const factor = of_row[c];
          SIMT_UNROLL
          for (int r = 0; r < height; ++r) product[r] = multiply_add(element[c][r], factor, product[r]);
        }
      } else {
        SIMT_LOOP
        for (int i0 = k; i0 < m; i0 += slab) {
          load(element, i0, j0);
          SIMT_UNROLL
          for (int r = 0; r < height; ++r) {
            int const i = i0 + thread_index() + r * gebrd_threads;
            if (i >= m) continue;
            T total = j0 == begin ? from_real<T>(0) : part[i];
            SIMT_UNROLL
            for (int c = 0; c < across; ++c) total = multiply_add(element[c][r], of_row[c], total);
            part[i] = total;
          }
        }
      }
    }
    if (!in_registers) return;
    SIMT_UNROLL
    for (int r = 0; r < height; ++r) {
      int const i = k + thread_index() + r * gebrd_threads;
      if (i < m) part[i] = product[r];
    }
  }
};

}  // namespace simt

/// Step k reads the matrix once: products of its columns with v make y and row k after the left reflector, with which the columns are
/// multiplied at once.
///
/// Launch: as many blocks per matrix as there are chunks of columns from column k + 1 on, or any number, of gebrd_threads threads with
/// gebrd_stream_bytes of dynamic shared memory.
template <typename T, GebrdRows C>
SIMT_KERNEL void SIMT_BOUNDS(gebrd_threads, C.blocks_per_sm) gebrd_stream(GebrdPanels<T> const work) {
  using namespace simt;
  int const first_chunk = (work.k + 1) / gebrd_chunk, chunks = work.chunks() - first_chunk;
  SIMT_LOOP
  for (Index at = block_index(); at < chunks * work.batch.a.count; at += block_count()) {
    Index const b = at / chunks;
    GebrdMatrix<T> const matrix(work.batch, b);
    if (work.first >= matrix.steps) continue;
    GebrdStream<T> const stream(work, b, matrix.m, matrix.n, first_chunk + static_cast<int>(at % chunks));
    if (stream.begin >= stream.end) continue;
    stream.template run<C.height>();
    sync_block();
  }
}

}  // namespace myriad
