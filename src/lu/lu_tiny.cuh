#pragma once
/// LU, solve, inverse and determinant of many matrices of up to 32 rows and columns, each read once and written once.

#include "lu/determinant.cuh"
#include "lu/elimination.cuh"
#include "lu/gauss_jordan.cuh"
#include "lu/gauss_jordan_by_products.cuh"
#include "lu/lu_in_one_lane.cuh"
#include "lu/lu_panels.cuh"
#include "lu/lu_tiny_config.cuh"

namespace myriad {

/// Writes what was solved for, of which a lane has rows lu.position(r), to the tile; of a singular matrix NaN, or what is in memory.
template <typename Lu, typename Tile, typename T, int columns>
SIMT_INLINE void put_solution(Lu const& lu, T (&y)[Lu::held][columns], Tile& x, int q, bool active, simt::Index b,
                              LuTinyArguments<T> const& args) {
  using namespace simt;
  if (lu.info != 0) {
    SIMT_LOOP
    for (int r = 0; r < lu.held; ++r) {
      if (!lu.exists(r)) continue;
      int const i = lu.position(r);
      SIMT_LOOP
      for (int j = 0; j < columns; ++j)
        if (args.nan_where_singular)
          x.at(q, i, j) = not_a_number<T>();
        else if (active && i < args.x.rows_of(b) && j < args.x.cols_of(b))
          x.at(q, i, j) = *args.x.at(b, i, j);
    }
    return;
  }
  SIMT_UNROLL
  for (int r = 0; r < lu.held; ++r) {
    if (!lu.exists(r)) continue;
    SIMT_UNROLL
    for (int j = 0; j < columns; ++j) x.at(q, lu.position(r), j) = conjugate_if(args.x.conjugated, y[r][j]);
  }
}

/// The determinant, or its sign and logarithm, of the pivots, of which a lane has those of steps lu.position(r). One lane takes all of them
/// in order, by way of the first column of the tile: bits do not depend on how rows are spread over lanes.
template <bool logarithm, typename Lu, typename Tile, typename T>
SIMT_INLINE void put_determinant_of_lanes(Lu const& lu, T const (&pivot)[Lu::held], int steps, bool odd, Tile& a, int q, bool writes,
                                          simt::Index b, LuTinyArguments<T> const& args) {
  using namespace simt;
  auto const in_order = [&](auto value_of, auto use) {
    sync_warp();
    SIMT_UNROLL
    for (int r = 0; r < lu.held; ++r)
      if (lu.exists(r)) a.at(q, lu.position(r), 0) = value_of(pivot[r]);
    sync_warp();
    SIMT_LOOP
    for (int k = 0; k < steps && writes; ++k) use(a.at(q, k, 0));
  };
  if constexpr (logarithm) {
    T product = from_real<T>(odd ? -1 : 1);
    in_order([](T u) { return sign(u); }, [&](T u) { product = product * u; });
    if (writes) args.sign_or_det[b] = product;
    simt::Real<T> sum = 0;
    in_order([](T u) { return from_real<T>(logarithm_of_modulus(u)); }, [&](T u) { sum += real_part(u); });
    if (writes) args.logabs[b] = sum;
  } else {
    ScaledProduct<T> product(odd ? -1 : 1);
    in_order([](T u) { return u; }, [&](T u) { product.multiply(u); });
    if (writes) args.sign_or_det[b] = product.value();
  }
}

/// Launch: any number of blocks of C.threads() threads with LuTinyMemory(sizeof(T), C).bytes of dynamic shared memory.
template <typename T, LuTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) lu_tiny(LuTinyArguments<T> const args) {
  using namespace simt;
  constexpr LuTinyMemory memory(sizeof(T), C);
  constexpr bool writes_rows = C.writes_rows(sizeof(T));
  // A matrix that is alone in its block needs no tile on its way to registers where its columns are neighbours in memory.
  constexpr bool direct = C.method == LuMethod::products && C.a == Layout::packed_columns && C.matrices == 1;
  Tile<T, C.m, C.n, C.matrices, C.lanes, C.threads(), C.a, C.padded(), C.any_distance()> a(shared_memory());
  Tile<T, C.m, larger(C.nrhs, 1), C.matrices, C.lanes, C.threads(), C.a> x(shared_memory() + memory.x);
  Tile<int, smaller(C.m, C.n), 1, C.matrices, 1, C.threads(), Layout::packed_columns> pivots(shared_memory() + memory.pivots);
  int const q = static_cast<int>(static_cast<unsigned>(thread_index()) / C.lanes);
  int const lane = static_cast<int>(static_cast<unsigned>(thread_index()) % C.lanes);

  for (Index first = block_index() * C.matrices; first < args.a.count; first += block_count() * C.matrices) {
    int const active = args.a.count - first < C.matrices ? static_cast<int>(args.a.count - first) : C.matrices;
    Index const b = first + q;
    if constexpr (!direct) a.template load<C.a>(args.a, first, active);
    if constexpr (C.solves()) x.template load<C.b>(args.b, first, active);
    wait_copies();
    sync_block();

    // In a ragged batch the last steps may find the identity, which they leave alone.
    int const rows = !C.ragged() || q >= active ? C.m : args.a.rows_of(b);
    int const steps = !C.ragged() || q >= active ? smaller(C.m, C.n) : smaller(rows, args.a.cols_of(b));
    bool odd = false;  // interchanges
    auto const interchanged = [&](int k, int p) {
      if (lane == 0 && C.keeps_pivots()) pivots.at(q, k, 0) = p + 1;
      odd = odd != (p != k);
    };
    int info = 0;
    auto const put_results = [&]<typename Lu>(Lu& lu) {  // of methods with panels
      info = lu.info;
      if constexpr (C.nrhs > 0) {
        lu.substitute_back();
        put_solution(lu, lu.b, x, q, q < active, b, args);
      }
      if constexpr (C.determinant()) {
        T pivot[Lu::held];
        SIMT_UNROLL
        for (int r = 0; r < Lu::held; ++r) pivot[r] = lu.pivot(r);
        put_determinant_of_lanes<C.job == LuJob::log_determinant>(lu, pivot, steps, odd, a, q, q < active && lane == 0, b, args);
      }
    };

    if constexpr (C.method == LuMethod::products) {
      GaussJordanByProducts<C.n> lu(lane, reinterpret_cast<double*>(shared_memory() + memory.buffer + q * memory.buffer_of_matrix));
      if constexpr (direct) {
        lu.template get<1, C.n>(args.a.data + b * (C.n * C.n));
      } else {
        lu.template get<decltype(a)::row_step, decltype(a)::column_step>(&a.at(q, 0, 0));
        sync_warp();  // all have read what the buffer takes the place of
      }
      lu.invert();
      info = lu.info;
      lu.put([&](int i, int j, double x) { a.at(q, i, j) = x; });
    } else if constexpr (C.job == LuJob::inverse) {
      using Lu = Choose<C.lanes == 1, LuInOneLane<T, C.m, C.n, 0, C.ragged()>, GaussJordanAcrossLanes<T, C.n, C.lanes>>;
      Lu lu(lane, reinterpret_cast<T*>(shared_memory() + memory.buffer + q * memory.buffer_of_matrix));
      SIMT_UNROLL
      for (int r = 0; r < lu.held; ++r) {
        SIMT_UNROLL
        for (int j = 0; j < C.n; ++j) lu.at(r, j) = lu.exists(r) ? conjugate_if(args.a.conjugated, a.at(q, lu.row(r), j)) : from_real<T>(0);
      }
      lu.invert([&](int k, int column) { pivots.at(q, k, 0) = column; });
      info = lu.info;
      sync_warp();
      SIMT_UNROLL
      for (int j = 0; j < C.n; ++j) {
        int const column = pivots.at(q, j, 0);
        SIMT_UNROLL
        for (int r = 0; r < lu.held; ++r)
          if (lu.exists(r)) a.at(q, lu.position(r), column) = conjugate_if(args.result.conjugated, lu.at(r, j));
      }
    } else if constexpr (C.eliminates()) {
      using Matrix = MatrixInTile<decltype(a), T>;
      using RightSides = MatrixInTile<decltype(x), T>;
      Elimination<T, C.n, C.nrhs, C.lanes, C.panel, C.ragged(), Matrix, RightSides> lu(lane, Matrix{&a.at(q, 0, 0)},
                                                                                       RightSides{&x.at(q, 0, 0)});
      lu.factor(args.a.conjugated, args.b.conjugated, rows, steps, interchanged);
      put_results(lu);
    } else if constexpr (C.method == LuMethod::in_registers) {
      LuInOneLane<T, C.m, C.n, C.nrhs, C.ragged()> lu(0, nullptr);
      SIMT_UNROLL
      for (int r = 0; r < C.m; ++r) {
        SIMT_UNROLL
        for (int j = 0; j < C.n; ++j) lu.at(r, j) = conjugate_if(args.a.conjugated, a.at(q, r, j));
        SIMT_UNROLL
        for (int j = 0; j < C.nrhs; ++j) lu.rhs(r, j) = conjugate_if(args.b.conjugated, x.at(q, r, j));
      }
      lu.template factor<C.pivoting(), C.writes_factors()>(rows, steps, interchanged);
      info = lu.info;
      if constexpr (C.nrhs > 0) {
        lu.substitute_back();
        T y[C.m][C.nrhs];
        SIMT_UNROLL
        for (int r = 0; r < C.m; ++r) {
          SIMT_UNROLL
          for (int j = 0; j < C.nrhs; ++j) y[r][j] = lu.rhs(r, j);
        }
        put_solution(lu, y, x, q, q < active, b, args);
      }
      if constexpr (C.determinant()) {
        T pivot[C.m];
        SIMT_UNROLL
        for (int r = 0; r < C.m; ++r) pivot[r] = lu.at(r, r);
        put_determinant_of_lanes<C.job == LuJob::log_determinant>(lu, pivot, steps, odd, a, q, q < active, b, args);
      }
      if constexpr (C.writes_factors()) {
        SIMT_UNROLL
        for (int r = 0; r < C.m; ++r) {
          SIMT_UNROLL
          for (int j = 0; j < C.n; ++j) a.at(q, r, j) = conjugate_if(args.result.conjugated, lu.at(r, j));
        }
      }
    } else {
      using Matrix = MatrixInTile<decltype(a), T>;
      using RightSides = MatrixInTile<decltype(x), T>;
      LuByPanels<T, C.m, C.n, C.nrhs, C.lanes, C.panel, C.ragged(), Matrix, RightSides> lu(
          lane, Matrix{&a.at(q, 0, 0)}, RightSides{&x.at(q, 0, 0)}, reinterpret_cast<unsigned*>(shared_memory() + memory.order) + q * C.m);
      SIMT_UNROLL
      for (int r = 0; r < lu.held; ++r) {
        SIMT_UNROLL
        for (int j = 0; j < C.nrhs; ++j)
          lu.b[r][j] = lu.exists(r) ? conjugate_if(args.b.conjugated, x.at(q, lu.position(r), j)) : from_real<T>(0);
      }
      lu.template factor<C.pivoting()>(args.a.conjugated, rows, steps, interchanged);
      put_results(lu);
      if constexpr (writes_rows) {
        SIMT_UNROLL
        for (int r = 0; r < lu.held; ++r) {
          int const i = lu.position(r);
          bool const real = lu.exists(r) && q < active && (!C.ragged() || i < args.result.rows_of(b));
          constexpr bool packed = C.result == Layout::packed_columns;
          T* const row = !real ? nullptr : packed ? args.result.data + b * (C.m * C.n) + i : args.result.at(b, i, 0);
          Index const right = !real || packed ? C.m : args.result.col_stride_of(b);
          int const columns = !real ? 0 : C.ragged() ? args.result.cols_of(b) : C.n;
          SIMT_UNROLL
          for (int j = 0; j < C.n; ++j) {
            if (j >= columns) continue;
            T const factor = conjugate_if(args.result.conjugated, lu.factors(r, j));
            if constexpr (packed)
              row[j * right] = factor;
            else
              store_global(row + j * right, factor);
          }
        }
      } else if constexpr (C.writes_factors()) {
        lu.sort_rows(args.result.conjugated);
      }
    }
    sync_block();
    if constexpr (C.has_result() && !writes_rows) a.template store<C.result>(args.result, first, active);
    if constexpr (C.solves()) x.template store<C.x>(args.x, first, active);
    if constexpr (C.job != LuJob::inverse && C.keeps_pivots())
      if (args.pivots.given()) {
        if constexpr (C.ragged()) {
          for (int k = lane; k < steps && q < active; k += C.lanes) *args.pivots.at(b, k, 0) = pivots.at(q, k, 0);
        } else {
          pivots.template store<C.pivots>(args.pivots, first, active);
        }
      }
    if (args.info && lane == 0 && q < active) args.info[b] = info;
    if (first + block_count() * C.matrices < args.a.count) sync_block();
  }
}

}  // namespace myriad
