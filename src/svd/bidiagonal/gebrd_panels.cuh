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

/// Sums made by several blocks: lane l of a warp gets element l. The last two have a meaning of their own.
template <typename T>
struct GebrdSums {
  static constexpr int pairs = GebrdPanels<T>::pairs();
  T of_lane, first;    ///< first: element `pairs - 2`, in all lanes
  Real<T> of_squares;  ///< element `pairs - 1`, in all lanes

  SIMT_INLINE GebrdSums(T const* from, int parts) : of_lane(from_real<T>(0)) {
    constexpr int loads = 8;  // at a time
    SIMT_LOOP
    for (int first_part = 0; first_part < parts; first_part += loads) {
      T part[loads];
      SIMT_UNROLL
      for (int q = 0; q < loads; ++q) part[q] = load_global_if(first_part + q < parts, from + (first_part + q) * pairs + lane_index());
      SIMT_UNROLL
      for (int q = 0; q < loads; ++q) of_lane = of_lane + part[q];
    }
    first = shuffle(of_lane, pairs - 2);
    of_squares = shuffle(real_part(of_lane), pairs - 1);
  }
  /// Products of the columns of L with column k
  SIMT_INLINE static GebrdSums of_left(GebrdPanels<T> const& work, Index b, int m, int k) {
    int const slab = k / gebrd_slab;
    return {work.left_sums_of(b, k, slab), (m - 1) / gebrd_slab - slab + 1};
  }
  /// Products of the columns of R with row k - 1
  SIMT_INLINE static GebrdSums of_right(GebrdPanels<T> const& work, Index b, int n, int k) {
    int const chunk = k / gebrd_chunk;
    return {work.right_sums_of(b, chunk), (n - 1) / gebrd_chunk - chunk + 1};
  }
};

/// Adds what the warps of a block have, one sum per lane, and stores it. All threads call it.
template <typename T>
SIMT_INLINE void store_sums(T const* of_warps, T* to) {
  constexpr int pairs = GebrdPanels<T>::pairs();
  sync_block();
  if (thread_index() >= pairs) return;
  T total = of_warps[thread_index()];
  SIMT_UNROLL
  for (int w = 1; w < gebrd_threads / warp_size; ++w) total = total + of_warps[w * pairs + thread_index()];
  to[thread_index()] = total;
}

/// A slab of rows of gebrd_step. Four lanes have every fourth column of L in a row.
template <typename T>
struct GebrdStep {
  using R = Real<T>;
  static constexpr int pairs = GebrdPanels<T>::pairs(), warps = gebrd_threads / warp_size, quarters = 4,
                       rows_of_warp = warp_size / quarters, width = pairs / quarters;
  static_assert(warps * rows_of_warp == gebrd_slab);

  GebrdPanels<T> const& work;
  Index b;
  int m, n, k, columns;  ///< columns of L before x
  int slab;
  bool ends, begins, has_right, is_first;
  T *a, *left, *right;
  T const* row_k;
  int const warp = thread_index() / warp_size, place = lane_index() % rows_of_warp, quarter = lane_index() / rows_of_warp;
  int const row;
  bool const is_row;
  T* const of_warps = reinterpret_cast<T*>(shared_memory());
  T* const of_u = of_warps + warps * pairs;  ///< R^H u
  T* const of_column = of_u + pairs;         ///< row k of R, conjugated
  T* const factors = of_column + pairs;      ///< scale of v; scale of u, beta, tau
  T element[width];

  SIMT_INLINE GebrdStep(GebrdPanels<T> const& panels, Index number, int rows, int cols, int slab_of)
      : work(panels),
        b(number),
        m(rows),
        n(cols),
        k(panels.k),
        columns(larger(2 * (panels.k - panels.first) - 1, 0)),
        slab(slab_of),
        ends(panels.k > panels.first),
        begins(panels.begins && panels.k < cols),
        has_right(panels.k < cols),
        is_first(slab_of == panels.first_slab()),
        a(panels.a + number * panels.ld * panels.cols),
        left(panels.left + number * panels.ld * pairs),
        right(panels.right + number * panels.cols * pairs),
        row_k(panels.row + number * panels.cols),
        row(slab_of * gebrd_slab + warp * rows_of_warp + place),
        is_row(row >= panels.k && row < rows) {}

  SIMT_INLINE int number(int p) const { return p * quarters + quarter; }

  /// The reflectors of step k - 1, each by a warp.
  SIMT_INLINE void make_reflectors() const {
    int const lane = lane_index(), former = k - 1;
    if (warp == 0) {
      auto const sums = GebrdSums<T>::of_left(work, b, m, former);
      Reflector<T> const reflector = reflector_of_column<T>(sums.first, sums.of_squares);
      if (lane == 0) {
        factors[0] = reflector.v_scale;
        if (is_first) {
          work.d[b * work.cols + former] = reflector.beta;
          work.tauq[b * work.cols + former] = reflector.tau();
          if (!has_right) work.taup[b * work.cols + former] = from_real<T>(0);
        }
      }
    }
    if (warp == 1 && has_right) {
      T const of_row = lane < columns ? conjugate(right[k * pairs + lane]) : from_real<T>(0), alpha = row_k[k];
      auto const sums = GebrdSums<T>::of_right(work, b, n, k);
      Reflector<T> const reflector = reflector_of_column<T>(alpha, sums.of_squares);
      of_column[lane] = of_row;
      of_u[lane] = lane < columns ? multiply_add(reflector.v_scale, sums.of_lane, of_row) : from_real<T>(0);
      if (lane == 0) {
        factors[1] = reflector.v_scale;
        factors[2] = from_real<T>(reflector.beta);
        factors[3] = reflector.tau();
        if (is_first) {
          work.e[b * work.cols + former] = reflector.beta;
          work.taup[b * work.cols + former] = reflector.tau();
        }
      }
    }
  }
  /// A conj(row k) of this lane's row, from every fourth chunk
  SIMT_INLINE T sum_of_chunks(bool has_column) const {
    constexpr int loads = 4;  // at a time
    T const* const parts = work.parts + b * work.chunks() * work.ld + row;
    int const chunks = (n - 1) / gebrd_chunk + 1;
    T sum = from_real<T>(0);
    SIMT_LOOP
    for (int first = k / gebrd_chunk + quarter; first < chunks; first += quarters * loads) {
      T part[loads];
      SIMT_UNROLL
      for (int p = 0; p < loads; ++p) {
        int const q = first + p * quarters;
        part[p] = load_global_if(has_column && q < chunks, parts + q * work.ld);
      }
      SIMT_UNROLL
      for (int p = 0; p < loads; ++p) sum = sum + part[p];
    }
    return sum;
  }
  /// Rows of u of all steps of the panel go to A, several at a time: single ones would write a few bytes of each sector.
  SIMT_INLINE void store_rows_of_panel() const {
    sync_warp();  // right may have been written by other lanes
    int const step = work.first + lane_index() / 2;
    SIMT_UNROLL_BY(4)
    for (int p = 0; p < rows_of_warp; ++p)
      if (int const j = row - place + p; lane_index() % 2 == 1 && step < k && j > step + 1 && j < n)
        a[step + j * work.ld] = conjugate(right[j * pairs + lane_index()]);
  }
  SIMT_INLINE void run() {
    int const former = k - 1;
    SIMT_UNROLL
    for (int p = 0; p < width; ++p) element[p] = load_global_if(is_row && number(p) < columns, left + row + number(p) * work.ld);
    bool const has_column = is_row && has_right;
    T column = load_global_if(has_column, a + row + k * work.ld), product = from_real<T>(0), x = from_real<T>(0);
    if (ends) {
      T const of_row = load_global_if(quarter == 2 && row >= k && row < n, row_k + row);
      product = sum_of_chunks(has_column);
      make_reflectors();
      sync_block();
      T const v_scale = factors[0];
      SIMT_UNROLL
      for (int p = 0; p < width; ++p) {
        if (number(p) != columns - 1) continue;
        element[p] = v_scale * element[p];
        if (is_row) left[row + (columns - 1) * work.ld] = a[row + former * work.ld] = element[p];
      }
      if (!has_right) return store_rows_of_panel();
      // A u and what column k lacks
      T const u_scale = factors[1], beta = factors[2], tau = factors[3];
      T change = from_real<T>(0);
      if (quarter == 0) product = subtract_product(product, beta, column);
      product = u_scale * product;
      SIMT_UNROLL
      for (int p = 0; p < width; ++p) {
        product = subtract_product(product, element[p], of_u[number(p)]);
        change = subtract_product(change, element[p], of_column[number(p)]);
      }
      SIMT_UNROLL
      for (int mask = rows_of_warp; mask < warp_size; mask *= 2) {
        product = product + shuffle_xor(product, mask);
        change = change + shuffle_xor(change, mask);
      }
      x = tau * product;
      column = column + change - x;
      if (is_row && quarter == 0) left[row + columns * work.ld] = x;
      if (quarter == 2 && row >= k && row < n) {
        T const u = row == k ? from_real<T>(1) : u_scale * of_row;
        right[row * pairs + columns] = u;
      }
    }
    if (!begins) return store_rows_of_panel();
    if (is_row && quarter == 1) left[row + 2 * (k - work.first) * work.ld] = column;
    T sum[width];
    bool const below = is_row && row > k;
    SIMT_UNROLL
    for (int p = 0; p < width; ++p) {
      T const value = ends && number(p) == columns ? x : element[p];
      sum[p] = below ? conjugate(value) * column : from_real<T>(0);
    }
    if (number(width - 1) == pairs - 2) sum[width - 1] = row == k ? column : from_real<T>(0);
    if (number(width - 1) == pairs - 1) sum[width - 1] = below ? from_real<T>(add_square(column, R(0))) : from_real<T>(0);
    sum_over_lanes<width, log_of(rows_of_warp), 1>(sum, place, [&](int p, T value) { of_warps[warp * pairs + number(p)] = value; });
    store_sums(of_warps, work.left_sums_of(b, k, slab));
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

/// Ends step k - 1 of a panel: v is scaled; u, and x = tau A u. Begins step k: column k, and its products with L.
///
/// Launch: as many blocks per matrix as there are slabs of rows from the first one on, or any number, of gebrd_threads threads with
/// gebrd_step_bytes of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(gebrd_threads, sizeof(T) == 16 ? 2 : 3) gebrd_step(GebrdPanels<T> const work) {
  using namespace simt;
  unsigned const slabs = static_cast<unsigned>(work.slabs_of_step());
  SIMT_LOOP
  for (Index at = block_index(); at < slabs * work.batch.a.count; at += block_count()) {
    Index const b = static_cast<unsigned>(at) / slabs;
    int const slab = work.first_slab() + static_cast<int>(static_cast<unsigned>(at) % slabs);
    GebrdMatrix<T> const matrix(work.batch, b);
    if (work.first >= matrix.steps || work.k > matrix.n || slab * gebrd_slab >= matrix.m) continue;
    GebrdStep<T> step(work, b, matrix.m, matrix.n, slab);
    step.run();
    sync_block();
  }
}

namespace simt {

/// One chunk of columns of gebrd_stream. Each warp has a few of them, `across` at a time, and a lane `height` rows. Sums are the same
/// whatever the height. Columns of more rows than the warps have in registers are read twice.
template <typename T, GebrdRows C>
struct GebrdStream {
  static constexpr int height = C.height, across = C.across, pairs = GebrdPanels<T>::pairs(), warps = gebrd_threads / warp_size,
                       of_warp = gebrd_chunk / warps, rows = height * warp_size, stored = gebrd_threads / warp_size;
  static_assert(of_warp % across == 0 && height % stored == 0 && pairs == warp_size);

  GebrdPanels<T> const& work;
  Index b;
  int m, begin, end, k, known;
  T const *a, *left;
  T *right, *part;
  int const warp = thread_index() / warp_size, lane = lane_index();
  int const first = begin / gebrd_chunk * gebrd_chunk + warp * of_warp;
  T* const factors = reinterpret_cast<T*>(shared_memory());  ///< L^H v and row k of L, then tau and the scale of v
  T *const of_columns = factors + 2 * pairs + 2 + warp * 2 * across, *const of_row = factors + 2 * pairs + 2 + warps * 2 * across,
           *const of_warps = of_row + gebrd_chunk, *const products = of_warps + warps * pairs, *const v = products + warps * gebrd_threads;

  SIMT_INLINE GebrdStream(GebrdPanels<T> const& panels, Index number, int rows_of, int cols, int chunk)
      : work(panels),
        b(number),
        m(rows_of),
        begin(larger(panels.k + 1, chunk * gebrd_chunk)),
        end(smaller(cols, (chunk + 1) * gebrd_chunk)),
        k(panels.k),
        known(2 * (panels.k - panels.first)),
        a(panels.a + number * panels.ld * panels.cols),
        left(panels.left + number * pairs * panels.ld),
        right(panels.right + number * panels.cols * pairs),
        part(panels.parts + (number * panels.chunks() + chunk) * panels.ld) {}

  /// The left reflector, by one warp.
  SIMT_INLINE void make_reflector() const {
    if (warp > 0) return;
    T const of_left = load_global_if(lane < known, left + k + lane * work.ld);
    auto const of_column = GebrdSums<T>::of_left(work, b, m, k);
    Reflector<T> const reflector = reflector_of_column<T>(of_column.first, of_column.of_squares);
    factors[lane] = lane < known ? multiply_add(reflector.v_scale, of_column.of_lane, conjugate(of_left)) : from_real<T>(0);
    factors[pairs + lane] = of_left;
    if (lane == 0) {
      factors[2 * pairs] = reflector.tau();
      factors[2 * pairs + 1] = reflector.v_scale;
    }
  }
  /// Row i of column k below its first element: of v, but for its scale
  SIMT_INLINE T load_v(int i) const { return load_global_if(i > k && i < m, left + known * work.ld + i); }
  SIMT_INLINE bool has(int j) const { return j >= begin && j < end; }
  SIMT_INLINE void load(T (&element)[across][height], int i0, int j0) const {
    T const* column = a + (i0 + lane) + j0 * work.ld;
    SIMT_UNROLL
    for (int c = 0; c < across; ++c) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) element[c][r] = load_global_if(has(j0 + c) && i0 + lane + r * warp_size < m, column + r * warp_size);
      column += work.ld;
    }
  }
  SIMT_INLINE void load_of_right(T (&other)[across], int j0) const {
    SIMT_UNROLL
    for (int c = 0; c < across; ++c) other[c] = has(j0 + c) && lane < known ? right[(j0 + c) * pairs + lane] : from_real<T>(0);
  }
  SIMT_INLINE static void add_products(T const (&element)[across][height], T const* of_row, T (&product)[height]) {
    SIMT_UNROLL
    for (int c = 0; c < across; ++c) {
      T const value = of_row[c];
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) product[r] = multiply_add(element[c][r], value, product[r]);
    }
  }
  /// Adds what the warps have of rows from i0 on.
  SIMT_INLINE void store_products(T const (&product)[height], int i0) const {
    SIMT_UNROLL
    for (int at = 0; at < height; at += stored) {
      if (i0 + at * warp_size >= m) break;
      sync_block();
      SIMT_UNROLL
      for (int r = 0; r < stored; ++r) products[(warp * stored + r) * warp_size + lane] = product[at + r];
      sync_block();
      T total = products[thread_index()];
      SIMT_UNROLL
      for (int w = 1; w < warps; ++w) total = total + products[w * gebrd_threads + thread_index()];
      if (int const i = i0 + at * warp_size + thread_index(); i < m) part[i] = total;
    }
  }
  SIMT_INLINE void run() const {
    bool const in_registers = m - k <= rows;
    T element[across][height], product[height],
        of_right = from_real<T>(0);  // products of columns of R with row k, but for its first element
    T other[across];                 // rows of R
    if (in_registers) load(element, k, first);
    load_of_right(other, first);
    SIMT_UNROLL_BY(2)
    for (int i = thread_index(); i < rows; i += gebrd_threads) v[i] = load_v(k + i);
    SIMT_UNROLL
    for (int r = 0; r < height; ++r) product[r] = from_real<T>(0);
    make_reflector();
    sync_block();
    SIMT_LOOP
    for (int turn = 0; turn < of_warp; turn += across) {
      int const j0 = first + turn;
      T sum[2 * across];
      SIMT_UNROLL
      for (int c = 0; c < 2 * across; ++c) sum[c] = from_real<T>(0);
      SIMT_LOOP
      for (int i0 = k; i0 < m; i0 += rows) {
        if (!in_registers) load(element, i0, j0);
        SIMT_UNROLL
        for (int r = 0; r < height; ++r) {
          int const i = lane + r * warp_size;
          T const of_v = in_registers ? v[i] : load_v(i0 + i);
          SIMT_UNROLL
          for (int c = 0; c < across; ++c) sum[c] = conjugate_multiply_add(element[c][r], of_v, sum[c]);
        }
        if (i0 == k && lane == 0) {
          SIMT_UNROLL
          for (int c = 0; c < across; ++c) sum[across + c] = element[c][0];
        }
      }
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        sum[c] = multiply_add(factors[2 * pairs + 1], sum[c], conjugate(sum[across + c]));
        sum[c] = subtract_product(sum[c], other[c], factors[lane]);
        sum[across + c] = subtract_product(sum[across + c], factors[pairs + lane], conjugate(other[c]));
      }
      sum_over_lanes<2 * across, 5, 1>(sum, lane, [&](int c, T value) { of_columns[c] = value; });
      sync_warp();
      T* const values = of_row + warp * of_warp + turn;
      SIMT_UNROLL
      for (int c = 0; c < across; ++c) {
        int const j = j0 + c;
        T const y = factors[2 * pairs] * of_columns[c], value = conjugate(of_columns[across + c]) - y;
        if (lane == 0) {
          values[c] = has(j) ? value : from_real<T>(0);
          if (has(j)) {
            right[j * pairs + known] = y;
            work.row[b * work.cols + j] = value;
          }
        }
        if (has(j) && j > k + 1)
          of_right = lane == pairs - 1 ? from_real<T>(add_square(value, real_part(of_right)))
                                       : conjugate_multiply_add(lane == known ? y : other[c], value, of_right);
      }
      sync_warp();
      if (in_registers) add_products(element, values, product);
      if (turn + across < of_warp) {
        if (in_registers) load(element, k, j0 + across);
        load_of_right(other, j0 + across);
      }
    }
    of_warps[warp * pairs + lane] = of_right;
    store_sums(of_warps, work.right_sums_of(b, begin / gebrd_chunk));
    if (in_registers) return store_products(product, k);
    SIMT_LOOP
    for (int i0 = k; i0 < m; i0 += rows) {
      SIMT_UNROLL
      for (int r = 0; r < height; ++r) product[r] = from_real<T>(0);
      SIMT_LOOP
      for (int turn = 0; turn < of_warp; turn += across) {
        load(element, i0, first + turn);
        add_products(element, of_row + warp * of_warp + turn, product);
      }
      store_products(product, i0);
    }
  }
};

}  // namespace simt

/// Step k reads the matrix once: products of its columns with v make y and row k after the left reflector, with which the columns are
/// multiplied at once.
///
/// Launch: as many blocks per matrix as there are chunks of columns from column k + 1 on, or any number, of gebrd_threads threads with
/// C.shared_bytes(sizeof(T)) of dynamic shared memory.
template <typename T, GebrdRows C>
SIMT_KERNEL void SIMT_BOUNDS(gebrd_threads, C.blocks_per_sm) gebrd_stream(GebrdPanels<T> const work) {
  using namespace simt;
  int const first_chunk = (work.k + 1) / gebrd_chunk;
  unsigned const chunks = static_cast<unsigned>(work.chunks() - first_chunk);
  SIMT_LOOP
  for (Index at = block_index(); at < chunks * work.batch.a.count; at += block_count()) {
    Index const b = static_cast<unsigned>(at) / chunks;
    GebrdMatrix<T> const matrix(work.batch, b);
    if (work.first >= matrix.steps) continue;
    GebrdStream<T, C> const stream(work, b, matrix.m, matrix.n, first_chunk + static_cast<int>(static_cast<unsigned>(at) % chunks));
    if (stream.begin >= stream.end) continue;
    stream.run();
    sync_block();
  }
}

}  // namespace myriad
