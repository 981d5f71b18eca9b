#pragma once
/// C = alpha A B + beta C for many 16-bit matrices: through shared memory, on tensor cores or, tiny ones, by lanes.

#include "gemm/halves/gemm_halves_config.cuh"
#include "gemm/halves/gemm_halves_sums.cuh"
#include "gemm/ragged/gemm_schedule.cuh"

namespace myriad {

template <typename T, GemmHalves C, int m, int n, simt::Layout layout>
using TileOfHalves = simt::Tile<T, m, n, C.matrices, C.lanes(), C.threads(), layout, true, false, C.is_tight(sizeof(T), m, n, layout),
                                C.swizzles(sizeof(T), m, n, layout)>;

/// Launch: any number of blocks of C.threads() threads with GemmHalvesMemory(sizeof(T), sizeof(Output), C).bytes of dynamic shared memory.
template <typename T, typename Output, GemmHalves C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) gemm_halves(GemmArguments<T, Output> const args) {
  using namespace simt;
  using S = Compute<T>;
  constexpr GemmHalvesMemory memory(sizeof(T), sizeof(Output), C);
  using TileOfA = TileOfHalves<T, C, C.m, C.k, C.a>;
  using TileOfB = TileOfHalves<T, C, C.k, C.n, C.b>;
  TileOfA a(shared_memory());
  TileOfB b(shared_memory() + memory.b);
  TileOfHalves<Output, C, C.m, C.n, C.c> c(shared_memory() + memory.c);
  bool const reads_c = !(args.beta == from_real<S>(0));

  GemmPlaces<C.m, C.n, C.scheduled != 0, C.matrices> const places(args);
  Index const all = C.whole() ? (args.c.count + C.matrices - 1) / C.matrices : places.count(args);
  for (Index at = block_index(); at < all; at += block_count()) {
    GemmPlace const place = C.whole() ? GemmPlace{at * C.matrices, 0, 0} : places.at(args, at);
    Index const first = place.b, i0 = place.i0, j0 = place.j0;
    int const active = args.c.count - first < C.matrices ? static_cast<int>(args.c.count - first) : C.matrices;
    Matrices<Output> const of_c = C.whole() ? args.c : args.c.part(i0, C.m, j0, C.n);
    if (reads_c) c.template load<C.c>(of_c.as_const(), first, active);
    // In a ragged batch, smaller matrices have fewer terms.
    auto const depth_of = [&](int q) {
      return args.depth == 0 ? 0 : C.exact() ? C.k : args.a.col_sizes ? args.a.cols_of(first + q) : static_cast<int>(args.depth);
    };

    if constexpr (C.by_lanes()) {
      if (args.depth > 0) {
        a.template load<C.a>(args.a, first, active);
        b.template load<C.b>(args.b, first, active);
      }
      wait_copies();
      sync_block();
      int const q = thread_index();
      if (q < active) {
        int const depth = depth_of(q);
        S left[C.m][C.k], right[C.k][C.n];
        Output former[C.m][C.n];
        a.read(q, [&](int i, int p, T x) { left[i][p] = conjugate_if(args.a.conjugated, widened(x)); });
        b.read(q, [&](int p, int j, T x) { right[p][j] = conjugate_if(args.b.conjugated, widened(x)); });
        c.read(q, [&](int i, int j, Output x) { former[i][j] = x; });
        auto const multiply = [&](int terms) {
          SIMT_UNROLL
          for (int i = 0; i < C.m; ++i) {
            SIMT_UNROLL
            for (int j = 0; j < C.n; ++j) {
              S sum = from_real<S>(0);
              SIMT_UNROLL
              for (int p = 0; p < C.k; ++p)
                if (p < terms) sum = multiply_add(left[i][p], right[p][j], sum);
              former[i][j] = gemm_element<Written::whole>(args, reads_c, false, terms, sum, former[i][j]);
            }
          }
        };
        // A compile-time constant in the usual case
        if (C.exact() && depth > 0)
          multiply(C.k);
        else
          multiply(depth);
        c.write(q, [&](int i, int j) { return former[i][j]; });
      }
    } else {
      using Sums = GemmSumsOfHalves<T, C.down(is_complex<T>), C.across()>;
      constexpr int at_once = Sums::terms_at_once;
      int const warp = thread_index() / warp_size, of_tile = warp % C.warps_of_tile();
      int const row = of_tile % C.warps_down * C.down(is_complex<T>) * Sums::tile_rows;
      int const column = of_tile / C.warps_down * C.across() * 8;
      // Adds the terms that are in shared memory.
      auto const add = [&](Sums& sums, int q, int terms) {
        constexpr bool more_rows = C.down(is_complex<T>) * Sums::tile_rows * C.warps_down > C.m;
        constexpr bool more_columns = C.across() * 8 * C.warps_across > C.n;
        constexpr bool eights = C.exact() && C.k % 8 == 0;
        constexpr bool aligned_a = eights && TileOfA::matrix_step % 8 == 0, aligned_b = eights && TileOfB::matrix_step % 8 == 0;
        HalfOperand<T, TileOfA::row_step, TileOfA::column_step, C.m, more_rows, aligned_a, TileOfA::swizzle> const left{&a.at(q, 0, 0),
                                                                                                                        args.a.conjugated};
        HalfOperand<T, TileOfB::column_step, TileOfB::row_step, C.n, more_columns, aligned_b, TileOfB::swizzle> const right{
            &b.at(q, 0, 0), args.b.conjugated};
        if constexpr (!C.exact()) {
          int const rows = args.c.rows_of(first + q), columns = args.c.cols_of(first + q);
          if (larger(larger(rows, columns), depth_of(q)) <= gemm_halves_by_lanes) {
            sums.add_in_order(left, right, rows, columns, terms);
            return;
          }
        }
        SIMT_UNROLL_BY(C.exact() ? 4 : 1)
        for (int p = 0; p < terms; p += at_once) {
          if (p + at_once <= terms)
            sums.template add<true>(left, right, p, terms);
          else
            sums.template add<false>(left, right, p, terms);
        }
      };
      auto const write = [&](Sums const& sums, int q, bool reads, int depth) {
        sums.for_each([&](int i, int j, S sum) {
          if (i < C.m && j < C.n) c.at(q, i, j) = gemm_element<Written::whole>(args, reads, false, depth, sum, c.at(q, i, j));
        });
      };
      if constexpr (C.whole()) {
        if (args.depth > 0) {
          a.template load<C.a>(args.a, first, active);
          b.template load<C.b>(args.b, first, active);
        }
        wait_copies();
        sync_block();
        constexpr int teams = C.warps / C.warps_of_tile();
        int const mine = warp / C.warps_of_tile();
        // Computes all matrices that there is room for: those beyond the active ones are not written.
        auto const for_all = [&](bool reads) {
          SIMT_UNROLL_BY(4)
          for (int round = 0; round < C.matrices; round += teams) {
            Sums sums(row, column);
            add(sums, round + mine, C.k);
            write(sums, round + mine, reads, C.k);
          }
        };
        // Compile-time constants in the usual cases
        if (C.exact() && args.depth > 0) {
          if (reads_c)
            for_all(true);
          else
            for_all(false);
        } else {
          SIMT_LOOP
          for (int q = mine; q < active; q += teams) {
            Sums sums(row, column);
            int const depth = depth_of(q);
            if (depth > 0) add(sums, q, C.exact() ? C.k : depth);
            write(sums, q, reads_c, depth);
          }
        }
      } else {
        static_assert(C.warps == C.matrices * C.warps_of_tile() && C.k % at_once == 0);
        int const q = warp / C.warps_of_tile();
        int const depth = q < active ? depth_of(q) : 0;
        Sums sums(row, column);
        SIMT_LOOP
        for (int p = 0; p < args.depth; p += C.k) {
          if (p > 0) sync_block();
          a.template load<C.a>(args.a.part(i0, C.m, p, C.k), first, active);
          b.template load<C.b>(args.b.part(p, C.k, j0, C.n), first, active);
          wait_copies();
          sync_block();
          if (p < depth) add(sums, q, smaller(depth - p, C.k));
        }
        if (args.depth == 0) {
          wait_copies();
          sync_block();
        }
        if (q < active) write(sums, q, reads_c, depth);
      }
    }
    sync_block();
    c.template store<C.c>(of_c, first, active);
    if (at + block_count() < all) sync_block();
  }
}

}  // namespace myriad
