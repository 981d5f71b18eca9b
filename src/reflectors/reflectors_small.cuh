#pragma once
/// Forms or applies Q of small matrices: reflectors, two at a time, on columns in registers.

#include "reflectors/reflectors_config.cuh"

namespace myriad {
namespace simt {

/// One row of two reflectors, loaded together.
template <typename T>
struct alignas(sizeof(T) < 8 ? 8 : 16) ReflectorPair {
  T first, second;
};

}  // namespace simt

/// Reflectors of an upper triangle have their ones at the end and are in the opposite order. So its rows and reflectors are counted from
/// the last; then in both triangles reflector k has a one in row k and the rest behind it. Row 0 of the matrix (upper: the last one), which
/// is a unit vector in Q, is left out. Missing rows and reflectors are zero.
///
/// Two reflectors at a time: with the products a and b of v and w with a column, H(v) H(w) subtracts
///     tau_w b  times w  and  tau_v (a - (v^H w) tau_w b)  times v
/// from it. A product has eight partial sums, of every eighth row, so that the bits do not depend on the number of lanes.
///
/// Launch: any number of blocks of C.threads() threads with C.shared_bytes(sizeof(T)) of dynamic shared memory.
template <typename T, ReflectorsSmall C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm()) reflectors_small(ReflectorsArguments<T> const args) {
  using namespace simt;
  using Pair = ReflectorPair<T>;
  constexpr int line = C.line(), sums = 8 / C.lanes, held = C.rows / C.lanes;
  // Reflectors of a segment use rows from its first one on: few products are with zeros, and rows are compile-time constants.
  constexpr int segment = C.rows < 16 ? C.rows : 16, segments = C.rows / segment;
  int const here = thread_index() % C.group(), column = here / C.lanes, lane = here % C.lanes;
  T* const tile = reinterpret_cast<T*>(shared_memory()) + thread_index() / C.group() * C.elements();
  Pair* const pairs = reinterpret_cast<Pair*>(tile);
  T *const tau = tile + C.tau_at(), *const products = tile + C.products_at();
  bool const c_by_rows = args.c.col_stride < args.c.row_stride, a_by_rows = args.a.col_stride < args.a.row_stride;
  int const most = static_cast<int>(smaller<Index>(C.rows, larger<Index>(args.a.rows - 1, 0)));
  Index const chunks = C.forms() ? 1 : (args.c.cols + C.rows - 1) / C.rows;
  Index const total = (args.c.count + C.matrices - 1) / C.matrices * chunks;

  for (Index at = block_index(); at < total; at += block_count()) {
    Index const b = at / chunks * C.matrices + thread_index() / C.group();
    int const j0 = static_cast<int>(at % chunks) * C.rows;
    int n = b < args.c.count ? args.a.rows_of(b) : 0;
    if (n - 1 > C.rows) n = 0;  // belongs to another kernel
    int const m = larger(n - 1, 0);
    int const columns = C.forms() ? m : n > 0 ? smaller(args.c.cols_of(b) - j0, C.rows) : 0;
    // Index in the matrix of row or reflector k. In an upper triangle rows start at its row 0, and reflectors at its column 1.
    auto const place = [&](int k) { return args.lower ? k : m - 1 - k; };
    int const first = args.lower ? 1 : 0;
    // Calls use(element of the tile, element of C) for all existing elements, with coalesced accesses. Q has as many columns as rows.
    auto const for_each_of_c = [&](auto use) {
      if (m == 0 || columns <= 0) return;
      T* const c = args.c.at(b, first, C.forms() ? first : j0);
      Index const row_stride = args.c.row_stride_of(b), col_stride = args.c.col_stride_of(b);
      SIMT_UNROLL_BY(4)
      for (int k = here; k < C.rows * C.rows; k += C.group()) {
        int const i = c_by_rows ? k / C.rows : k % C.rows, j = c_by_rows ? k % C.rows : k / C.rows;
        if (i < m && j < columns) use(tile + place(i) + (C.forms() ? place(j) : j) * line, c + i * row_stride + j * col_stride);
      }
    };

    T x[held];
    auto const row = [&](int q) { return q * C.lanes + lane; };
    if constexpr (!C.forms()) {
      for_each_of_c([](T* to, T const* from) { copy_async(to, from); });
      wait_copies();
      sync_block();
      SIMT_UNROLL
      for (int q = 0; q < held; ++q) x[q] = row(q) < m && column < columns ? tile[row(q) + column * line] : from_real<T>(0);
      sync_block();
    }

    SIMT_UNROLL_BY(4)
    for (int e = here; e < C.rows * C.rows; e += C.group()) {
      int const i = a_by_rows ? e / C.rows : e % C.rows, k = a_by_rows ? e % C.rows : e / C.rows;
      T v = from_real<T>(i == k && k < m ? 1 : 0);
      if (i < m && k < m && (args.lower ? i > k : i < k)) v = conjugate_if(args.conjugates_v(), *args.a.at(b, i + first, k + 1 - first));
      // Missing rows are last in both orders.
      int const to_row = i < m ? place(i) : i, to = k < m ? place(k) : k;
      tile[(to / 2 * C.rows + to_row) * 2 + to % 2] = v;
    }
    for (int k = here; k < C.rows; k += C.group())
      tau[k] = k < m ? conjugate_if(args.conjugates_tau() != args.adjoint, *args.tau.at(b, place(k), 0)) : from_real<T>(0);
    sync_block();
    for (int pair = here; pair < C.rows / 2; pair += C.group()) {
      T product = from_real<T>(0);
      SIMT_UNROLL_BY(4)
      for (int i = 2 * pair; i < C.rows; ++i) {
        Pair const v = pairs[pair * C.rows + i];
        product = conjugate_multiply_add(v.first, v.second, product);
      }
      products[pair] = args.adjoint ? conjugate(product) : product;  // v^H w, for the reflector that is applied second
    }
    sync_block();
    if constexpr (C.forms()) {
      int const one = column < m ? column : -1;  // per matrix: loop-invariant values would be kept in registers
      SIMT_UNROLL
      for (int q = 0; q < held; ++q) x[q] = from_real<T>(row(q) == one ? 1 : 0);
    }

    SIMT_LOOP
    for (int turn = 0; turn < segments; ++turn) {
      int const current = args.adjoint ? turn : segments - 1 - turn;
      SIMT_UNROLL
      for (int s = 0; s < segments; ++s) {
        if (s != current) continue;
        constexpr int steps = segment / 2;
        SIMT_LOOP
        for (int step = 0; step < steps; ++step) {
          int const k = s * segment + 2 * (args.adjoint ? step : steps - 1 - step);
          if (k >= most) continue;
          Pair const* const v = pairs + k / 2 * C.rows + lane;
          T first_sum[sums], second_sum[sums];
          SIMT_UNROLL
          for (int u = 0; u < sums; ++u) first_sum[u] = second_sum[u] = from_real<T>(0);
          SIMT_UNROLL
          for (int q = s * segment / C.lanes; q < held; ++q) {
            Pair const of_row = v[q * C.lanes];
            first_sum[q % sums] = conjugate_multiply_add(of_row.first, x[q], first_sum[q % sums]);
            second_sum[q % sums] = conjugate_multiply_add(of_row.second, x[q], second_sum[q % sums]);
          }
          auto const total_of = [&](T const(&of)[sums]) {
            T part[sums];
            SIMT_UNROLL
            for (int u = 0; u < sums; ++u) part[u] = of[u];
            SIMT_UNROLL
            for (int half = sums / 2; half > 0; half /= 2) {
              SIMT_UNROLL
              for (int u = 0; u < half; ++u) part[u] = part[u] + part[u + half];
            }
            T sum = part[0];
            SIMT_UNROLL
            for (int mask = C.lanes / 2; mask > 0; mask /= 2) sum = sum + shuffle_xor(sum, mask);
            return sum;
          };
          T const of_first = total_of(first_sum), of_second = total_of(second_sum);
          // The second reflector is applied first, except for Q^H.
          T const early = (args.adjoint ? tau[k] : tau[k + 1]) * (args.adjoint ? of_first : of_second);
          T const late =
              (args.adjoint ? tau[k + 1] : tau[k]) * subtract_product(args.adjoint ? of_second : of_first, products[k / 2], early);
          T const by_first = -(args.adjoint ? early : late), by_second = -(args.adjoint ? late : early);
          SIMT_UNROLL
          for (int q = s * segment / C.lanes; q < held; ++q) {
            Pair const of_row = v[q * C.lanes];
            x[q] = multiply_add(of_row.second, by_second, multiply_add(of_row.first, by_first, x[q]));
          }
        }
      }
    }

    sync_block();  // all threads have used the reflectors
    SIMT_UNROLL
    for (int q = 0; q < held; ++q) tile[row(q) + column * line] = x[q];
    sync_block();
    for_each_of_c([](T const* from, T* to) { store_global(to, *from); });
    if constexpr (C.forms()) {
      int const corner = args.lower ? 0 : n - 1;
      for (int i = here; i < n; i += C.group()) {
        T const value = from_real<T>(i == corner ? 1 : 0);
        store_global(args.c.at(b, i, corner), value);
        store_global(args.c.at(b, corner, i), value);
      }
    }
    if (at + block_count() < total) sync_block();
  }
}

}  // namespace myriad
