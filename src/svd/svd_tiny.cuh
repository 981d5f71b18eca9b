#pragma once
/// Singular value decompositions of matrices that a warp holds, alone or with others: each is read once, and U, V^H and the singular
/// values are written once.

#include "svd/svd_lane.cuh"
#include "svd/svd_lanes.cuh"
#include "svd/svd_tiny_config.cuh"

namespace myriad {

/// Size and state of a matrix, in shared memory.
struct SvdShape {
  int m, n;  ///< n <= m
  int wide;  ///< whether the conjugate transpose is decomposed
  int bad;   ///< whether elements are not finite
};

template <bool of_u>
struct SvdSide {
  static constexpr bool left = of_u;
};

/// The order for the transposed matrix.
SIMT_INLINE SvdOrder transposed(SvdOrder order) {
  return order == SvdOrder::matrices ? order : order == SvdOrder::rows ? SvdOrder::columns : SvdOrder::rows;
}

/// Calls use(q, i, j, e) for this lane's elements of a warp's M-by-N matrices; e numbers them in the order. `unroll` steps at once.
template <int M, int N, int matrices, int unroll, typename Use>
SIMT_INLINE void for_elements_of_warp(SvdOrder order, Use use) {
  constexpr int all = matrices * M * N;
  SIMT_UNROLL_BY(unroll)
  for (int e = simt::lane_index(); e < all; e += simt::warp_size) {
    bool const by_matrices = order == SvdOrder::matrices, by_rows = order == SvdOrder::rows;
    int const q = by_matrices ? e % matrices : e / (M * N), of_matrix = by_matrices ? e / matrices : e % (M * N);
    use(q, by_rows ? of_matrix / N : of_matrix % M, by_rows ? of_matrix % N : of_matrix / M, e);
  }
}

/// Stores columns of U or V of a warp's matrices, each to U or, conjugated and transposed, to V^H: `left` ones, of U, belong to U unless
/// the matrix is wide. `full`: as many columns as rows.
template <int rows, int columns, int matrices, bool left, typename T, typename Shapes, typename At>
SIMT_INLINE void store_of_warp(SvdOutput<T> const& out, bool is_u, bool full, simt::Index first, simt::Index count, Shapes const& shape_of,
                               At const& at) {
  using namespace simt;
  bool const adjoint = !is_u, of_wide = left != is_u, conjugates = adjoint != out.to.conjugated;
  SvdOrder const order = adjoint ? transposed(out.order) : out.order;
  if (out.packed) {
    int const active = static_cast<int>(smaller(count - first, Index(matrices)));
    T* const to = out.to.data + first * (rows * columns);
    for_elements_of_warp<rows, columns, matrices, 4>(order, [&](int q, int i, int j, int e) {
      if (q >= active) return;
      T const x = conjugate_if(conjugates, at(q, i, j));
      to[e] = shape_of(q).bad != 0 ? not_a_number<T>() : x;
    });
  } else {
    for_elements_of_warp<rows, columns, matrices, 1>(order, [&](int q, int i, int j, int) {
      SvdShape const& shape = shape_of(q);
      if ((shape.wide != 0) != of_wide || i >= (left ? shape.m : shape.n) || j >= (left && full ? shape.m : shape.n)) return;
      Index const b = first + q;
      int const row = adjoint ? j : i, column = adjoint ? i : j;
      if (row >= out.to.rows_of(b) || column >= out.to.cols_of(b)) return;
      T const x = conjugate_if(conjugates, at(q, i, j));
      store_global(out.to.at(b, row, column), shape.bad != 0 ? not_a_number<T>() : x);
    });
  }
}

/// Launch: any number of blocks of one warp with SvdTinyMemory(sizeof(T), sizeof(Real<T>), C).bytes of dynamic shared memory.
template <typename T, SvdTiny C>
SIMT_KERNEL void SIMT_BOUNDS(32, C.blocks_per_sm) svd_tiny(SvdTinyArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr SvdTinyMemory memory(sizeof(T), sizeof(R), C);
  constexpr int M = C.m, N = C.n, matrices = C.of_warp();
  constexpr bool vectors = C.vectors();
  auto const memory_of = [&](int q) { return shared_memory() + q * memory.of_matrix; };
  auto const shape_of = [&](int q) -> SvdShape& { return *reinterpret_cast<SvdShape*>(memory_of(q) + memory.numbers); };
  auto const at = [&](int q, int i, int j) -> T& { return reinterpret_cast<T*>(memory_of(q))[j * memory.line + i]; };
  auto const at_v = [&](int q, int i, int j) -> T& {
    if constexpr (C.lanes == 1)
      return reinterpret_cast<T*>(memory_of(q) + memory.vectors)[j * memory.vector_line + i];
    else
      return at(q, i, j);
  };
  int const q = lane_index() / C.lanes, lane = lane_index() % C.lanes;

  for (Index first = block_index() * matrices; first < args.a.count; first += block_count() * matrices) {
    Index const b = first + q;
    bool exists = b < args.a.count;
    SvdShape shape{0, 0, 0, 0};
    if (exists) {
      int const rows = args.a.rows_of(b), cols = args.a.cols_of(b);
      exists = larger(rows, cols) > args.above && larger(rows, cols) <= args.upto;
      if (exists) shape = {larger(rows, cols), smaller(rows, cols), rows < cols ? 1 : 0, 0};
    }
    if (lane == 0) shape_of(q) = shape;
    sync_warp();
    bool const wide = shape.wide != 0, some_are_wide = svd_any(exists && wide), some_are_tall = svd_any(exists && !wide);
    SvdOrder const order = some_are_wide ? transposed(args.order) : args.order;
    if (args.packed) {
      int const active = static_cast<int>(smaller(args.a.count - first, Index(matrices)));
      T const* const from = args.a.data + first * (M * N);
      for_elements_of_warp<M, N, matrices, 4>(order, [&](int p, int i, int j, int e) {
        if (p < active) copy_async<T>(&at(p, i, j), from + e);
      });
    } else {
      for_elements_of_warp<M, N, matrices, 1>(order, [&](int p, int i, int j, int) {
        SvdShape const& of = shape_of(p);
        if (i < of.m && j < of.n)
          copy_async<T>(&at(p, i, j), args.a.at(first + p, of.wide != 0 ? j : i, of.wide != 0 ? i : j));
        else
          at(p, i, j) = from_real<T>(0);
      });
    }
    wait_copies();
    sync_warp();
    bool const conjugated = args.a.conjugated != wide;
    bool finite = true, converged = true;
    auto const store_value = [&](R s, int place) {
      if (exists && place < shape.n) store_global(args.s.at(b, place, 0), finite ? s : R(quiet_nan()));
    };
    auto const store = [&]<bool left>(SvdSide<left>, auto const& element) {
      SIMT_LOOP
      for (int of = 0; of < 2; ++of) {
        bool const is_u = of == 0;
        if (!args.out[of].to.given() || !(left != is_u ? some_are_wide : some_are_tall)) continue;
        store_of_warp<left ? M : N, left ? C.columns : N, matrices, left>(args.out[of], is_u, args.full, first, args.a.count, shape_of,
                                                                          element);
      }
    };

    if constexpr (C.lanes == 1) {
      SvdOfLane<T, M, N, vectors> svd;
      auto const mine = [&](int i, int j) -> T& { return at(q, i, j); };
      R largest = R(0);
      unsigned most = 0;
      SIMT_UNROLL
      for (int j = 0; j < N; ++j) {
        SIMT_UNROLL
        for (int i = 0; i < M; ++i) {
          T const x = conjugate_if(conjugated, mine(i, j));
          most = larger(most, leading_bits_of_parts(x));
          largest = larger(largest, magnitude(real_part(x)));
          if constexpr (simt::is_complex<T>) largest = larger(largest, magnitude(x.im));
          svd.a[j][i] = x;
        }
      }
      finite = most < leading_bits_of_power<R>(exponent_bias<R> + 1);
      SvdScale<R> const scale(finite ? largest : R(0));
      SIMT_UNROLL
      for (int j = 0; j < N; ++j) {
        SIMT_UNROLL
        for (int i = 0; i < M; ++i) svd.a[j][i] = finite ? scale.scaled(svd.a[j][i]) : from_real<T>(0);
      }
      converged = svd.iterate();
      int rank = 0;
      SIMT_UNROLL
      for (int j = 0; j < N; ++j) {
        store_value(scale.back(svd.s[j]), svd.place[j]);
        bool const is_zero = !(svd.s[j] >= svd_least<R>);
        rank += j < shape.n && !is_zero ? 1 : 0;
        if constexpr (vectors) {
          R const inverse = is_zero ? R(0) : reciprocal(svd.s[j]);
          SIMT_UNROLL
          for (int i = 0; i < M; ++i) mine(i, svd.place[j]) = inverse * svd.a[j][i];
          SIMT_UNROLL
          for (int i = 0; i < N; ++i) at_v(q, i, svd.place[j]) = svd.v[j][i];
        }
      }
      if constexpr (vectors) {
        complete_basis<C.columns, 1>(mine, shape.m, rank, rank, args.full ? shape.m : shape.n, 0,
                                     reinterpret_cast<T*>(memory_of(q) + memory.scratch));
        if (lane == 0 && !finite) shape_of(q).bad = 1;
        sync_warp();
        store(SvdSide<false>{}, at_v);
        store(SvdSide<true>{}, at);
      }
    } else {
      SvdAcrossLanes<T, C> svd(memory_of(q), lane);
      finite = svd.measure(shape.m, shape.n);
      if (lane == 0 && !finite) shape_of(q).bad = 1;
      svd.factor(shape.n, conjugated, !finite);
      converged = svd.iterate(shape.n);
      int const rank = svd.finish(shape.n);
      SIMT_LOOP
      for (int j = lane; j < N; j += C.lanes) store_value(svd.scale.back(svd.singular_values()[j]), j);
      if constexpr (vectors) {
        complete_basis<N, C.lanes>([&](int i, int j) -> T& { return svd.tile(i, j); }, shape.n, rank, rank, shape.n, lane, svd.scratch());
        sync_warp();
        store(SvdSide<false>{}, at_v);
        if (svd_any(exists && args.out[wide ? 1 : 0].to.given())) {
          sync_warp();
          svd.form_u(shape.n, rank);
          store(SvdSide<true>{}, at);
        }
      }
    }
    if (args.info && lane == 0 && exists) args.info[b] = finite && converged ? 0 : shape.n;
    sync_warp();
  }
}

}  // namespace myriad
