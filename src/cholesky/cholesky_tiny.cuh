#pragma once
/// Cholesky, solve and inverse of many matrices of up to 32 rows, each read once and written once.
///
/// Memory moves sectors of 32 bytes. A column-major triangle of n elements of e bytes a line takes those of each column from the diagonal
/// on: at n = 32 in double 144 of the 256 that the square has, at n = 16 40 of 64, at n = 8 12 of 16, at n = 4 all. So the other triangle
/// is not loaded where that saves sectors (CholeskyTiny::load), and never written: what stands there is not even touched.

#include "cholesky/cholesky_rows.cuh"
#include "cholesky/cholesky_solve.cuh"
#include "cholesky/cholesky_tiny_config.cuh"

namespace myriad {

/// Launch: any number of blocks of C.threads() threads with CholeskyTinyMemory(sizeof(T), C).bytes of dynamic shared memory.
template <typename T, CholeskyTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) cholesky_tiny(CholeskyTinyArguments<T> const args) {
  using namespace simt;
  constexpr CholeskyTinyMemory memory(sizeof(T), C);
  using Factor = Choose<C.lanes == 1, CholeskyInOneLane<T, C.n, C.nrhs>, CholeskyAcrossLanes<T, C.n, C.nrhs, C.lanes>>;
  using Solve = Choose<C.lanes == 1, CholeskySolveInOneLane<T, C.n, C.nrhs>, CholeskySolveAcrossLanes<T, C.n, C.nrhs, C.lanes>>;
  using Cholesky = Choose<C.job == CholeskyJob::solve, Solve, Factor>;
  Tile<T, C.n, C.n, C.matrices, C.lanes, C.threads(), C.a, C.padded(), C.any_distance()> a(shared_memory());
  Tile<T, C.n, larger(C.nrhs, 1), C.matrices, C.lanes, C.threads(), C.b> x(shared_memory() + memory.b);
  int const q = thread_index() / C.lanes;
  int const lane = thread_index() % C.lanes;
  T* const buffer = reinterpret_cast<T*>(shared_memory() + memory.buffer + q * memory.buffer_of_matrix);
  auto const at = [&](int i, int j) -> T& { return a.at(q, i, j); };

  for (Index first = block_index() * C.matrices; first < args.a.count; first += block_count() * C.matrices) {
    int const active = args.a.count - first < C.matrices ? static_cast<int>(args.a.count - first) : C.matrices;
    Index const b = first + q;
    // Beyond the size of a ragged matrix stands the identity, which all steps leave alone.
    if constexpr (!C.loads_rows()) a.template load<C.a, C.part()>(args.a, first, active);
    if constexpr (C.solves()) x.template load<C.b>(args.b, first, active);
    Cholesky cholesky(lane, buffer);
    if constexpr (C.loads_rows()) {
      Index const some = q < active ? b : first;
      if constexpr (C.a == Layout::packed_columns) {
        T const* const mine = args.a.data + some * (C.n * C.n) + lane;  // all else are constants
        cholesky.take([&](int i, int j) { return mine[(i - lane) + j * C.n]; });
      } else {
        T const* const matrix = args.a.at(some, 0, 0);
        Index const down = args.a.row_stride_of(some), right = args.a.col_stride_of(some);
        int const rows = args.a.rows_of(some);
        cholesky.take([&](int i, int j) { return i < rows && j < rows ? matrix[i * down + j * right] : from_real<T>(i == j ? 1 : 0); });
      }
    }
    wait_copies();
    sync_block();

    if constexpr (C.job == CholeskyJob::inverse) {
      cholesky.invert(at);
    } else {
      SIMT_UNROLL
      for (int r = 0; r < cholesky.held; ++r) {
        SIMT_UNROLL
        for (int c = 0; c < C.nrhs; ++c)
          cholesky.rhs(r, c) = cholesky.exists(r) ? conjugate_if(args.b.conjugated, x.at(q, cholesky.row(r), c)) : from_real<T>(0);
      }
      if constexpr (!C.loads_rows() && (C.factors() || C.lanes == 1)) cholesky.take(at);
      if constexpr (C.job == CholeskyJob::solve) {
        cholesky.solve();
      } else if constexpr (C.factors()) {
        T* column = nullptr;  // the first of this matrix in memory
        Index row_stride = 1, col_stride = C.n;
        int rows = 0;  // that are written
        if constexpr (C.stores_rows()) {
          if (q < active) {
            if constexpr (C.a == Layout::packed_columns) {
              column = args.result.data + b * (C.n * C.n);
              rows = C.n;
            } else {
              column = args.result.at(b, 0, 0);
              row_stride = args.result.row_stride_of(b);
              col_stride = args.result.col_stride_of(b);
              rows = args.result.rows_of(b);
            }
          }
        }
        cholesky.factor([&](int r, int k, T value) {
          int const i = cholesky.row(r);
          if constexpr (C.keeps_factor()) at(i, k) = value;
          if constexpr (C.stores_rows()) {
            if (i < rows) {
              T* const to = column + i * row_stride + k * col_stride;
              if constexpr (C.a == Layout::packed_columns)
                *to = value;
              else
                store_global(to, value);
            }
          }
        });
        if constexpr (C.solves()) cholesky.finish_solve(at);
      } else {
        cholesky.template substitute<false>(at);
        cholesky.template substitute<true>(at);
      }
      bool const failed = cholesky.info != 0;
      if (!failed || args.nan_where_not_definite) {  // otherwise the tile has B as it was
        SIMT_UNROLL
        for (int r = 0; r < cholesky.held; ++r) {
          if (!cholesky.exists(r)) continue;
          SIMT_UNROLL
          for (int c = 0; c < C.nrhs; ++c)
            x.at(q, cholesky.row(r), c) = failed ? not_a_number<T>() : conjugate_if(args.x.conjugated, cholesky.rhs(r, c));
        }
      }
    }
    sync_block();
    if constexpr (C.job == CholeskyJob::inverse || (C.writes_factor() && !C.stores_rows()))
      a.template store<C.a, Part::lower>(args.result, first, active);
    if constexpr (C.solves()) x.template store<C.x>(args.x, first, active);
    if (args.info && lane == 0 && q < active) args.info[b] = cholesky.info;
    if (first + block_count() * C.matrices < args.a.count) sync_block();
  }
}

}  // namespace myriad
