#pragma once
/// LU, solve, inverse and determinant of many matrices of up to 32 rows and columns, each read once and written once.

#include "lu/lu_rows.cuh"
#include "lu/lu_tiny_config.cuh"

namespace myriad {

/// Where the finished columns of LuAcrossLanes are kept: in the tile, each element where its lane found it.
template <typename Tile, typename T, int lanes>
struct FinishedColumns {
  static constexpr int step = lanes * Tile::row_step;
  T* first;  ///< element of the lane's first row
  SIMT_INLINE T* operator()(int k) const { return first + k * Tile::column_step; }
};

/// Launch: any number of blocks of C.threads() threads with LuTinyMemory(sizeof(T), C).bytes of dynamic shared memory.
template <typename T, LuTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) lu_tiny(LuTinyArguments<T> const args) {
  using namespace simt;
  constexpr LuTinyMemory memory(sizeof(T), C);
  constexpr bool writes_rows = C.writes_rows(sizeof(T));
  using Lu = Choose<C.lanes == 1, LuInOneLane<T, C.m, C.n, C.nrhs, C.ragged()>, LuAcrossLanes<T, C.m, C.n, C.nrhs, C.lanes, C.ragged()>>;
  Tile<T, C.m, C.n, C.matrices, C.lanes, C.threads(), C.a> a(shared_memory());
  Tile<T, C.m, larger(C.nrhs, 1), C.matrices, C.lanes, C.threads(), C.a> x(shared_memory() + memory.x);
  Tile<int, smaller(C.m, C.n), 1, C.matrices, 1, C.threads(), Layout::packed_columns> pivots(shared_memory() + memory.pivots);
  unsigned char* const order = reinterpret_cast<unsigned char*>(shared_memory() + memory.order);
  int const q = static_cast<int>(static_cast<unsigned>(thread_index()) / C.lanes);
  int const lane = static_cast<int>(static_cast<unsigned>(thread_index()) % C.lanes);
  T* const buffer = reinterpret_cast<T*>(shared_memory() + memory.buffer + q * memory.buffer_of_matrix);

  for (Index first = block_index() * C.matrices; first < args.a.count; first += block_count() * C.matrices) {
    int const active = args.a.count - first < C.matrices ? static_cast<int>(args.a.count - first) : C.matrices;
    Index const b = first + q;
    a.template load<C.a>(args.a, first, active);
    if constexpr (C.solves()) x.template load<C.b>(args.b, first, active);
    wait_copies();
    sync_block();

    Lu lu(lane, buffer);
    SIMT_UNROLL
    for (int r = 0; r < lu.held; ++r) {
      SIMT_UNROLL
      for (int j = 0; j < C.n; ++j) lu.at(r, j) = lu.exists(r) ? conjugate_if(args.a.conjugated, a.at(q, lu.row(r), j)) : from_real<T>(0);
      SIMT_UNROLL
      for (int j = 0; j < C.nrhs; ++j)
        lu.rhs(r, j) = lu.exists(r) ? conjugate_if(args.b.conjugated, x.at(q, lu.row(r), j)) : from_real<T>(0);
    }
    // Of a ragged batch the last steps may find the identity, which they leave alone.
    int const rows = !C.ragged() || q >= active ? C.m : args.a.rows_of(b);
    int const steps = !C.ragged() || q >= active ? smaller(C.m, C.n) : smaller(rows, args.a.cols_of(b));

    if constexpr (C.job == LuJob::inverse) {
      lu.invert(rows, steps, [&](int k, int column) { pivots.at(q, k, 0) = column; });
      sync_warp();
      SIMT_UNROLL
      for (int j = 0; j < C.n; ++j) {
        int const column = pivots.at(q, j, 0);
        SIMT_UNROLL
        for (int r = 0; r < lu.held; ++r)
          if (lu.exists(r))
            a.at(q, lu.position(r), column) = lu.info ? not_a_number<T>() : conjugate_if(args.result.conjugated, lu.at(r, j));
      }
    } else {
      bool odd = false;  // interchanges
      FinishedColumns<decltype(a), T, C.lanes> const finished{&a.at(q, lane, 0)};
      // Across lanes a finished column goes back into the tile, where only its own lane reads and writes; rows are sorted afterwards.
      lu.template factor<C.pivoting(), C.writes_factors()>(
          rows, steps,
          [&](int k, int p) {
            if (lane == 0 && C.keeps_pivots()) pivots.at(q, k, 0) = p + 1;
            odd = odd != (p != k);
          },
          finished);
      if constexpr (C.solves()) lu.substitute_back(finished);
      if constexpr (C.determinant()) {
        // One lane takes all pivots, in order: bits do not depend on how rows are spread over lanes.
        T pivot[lu.held];
        SIMT_UNROLL
        for (int r = 0; r < lu.held; ++r)
          pivot[r] = !lu.exists(r) ? from_real<T>(1) : C.lanes == 1 ? lu.at(r, r) : a.at(q, lu.row(r), lu.position(r));
        auto const in_order = [&](auto value_of, auto use) {
          sync_warp();
          SIMT_UNROLL
          for (int r = 0; r < lu.held; ++r)
            if (lu.exists(r)) a.at(q, lu.position(r), 0) = value_of(pivot[r]);
          sync_warp();
          SIMT_LOOP
          for (int k = 0; k < C.n && lane == 0; ++k) use(a.at(q, k, 0));
        };
        constexpr bool logarithm = C.job == LuJob::log_determinant;
        T product = from_real<T>(odd ? -1 : 1);
        in_order([](T u) { return logarithm ? sign(u) : u; }, [&](T u) { product = product * u; });
        if (lane == 0 && q < active) args.sign_or_det[b] = product;
        if constexpr (logarithm) {
          Real<T> sum = 0;
          in_order([](T u) { return from_real<T>(natural_logarithm(modulus(u))); }, [&](T u) { sum += real_part(u); });
          if (lane == 0 && q < active) args.logabs[b] = sum;
        }
      }
      if constexpr (C.writes_factors() && C.lanes > 1) {
        constexpr int finished = smaller(C.m, C.n);
        SIMT_UNROLL
        for (int r = 0; r < lu.held; ++r) {
          if (!lu.exists(r)) continue;
          if constexpr (writes_rows) order[q * C.m + lu.position(r)] = static_cast<unsigned char>(lu.row(r));
          SIMT_UNROLL
          for (int j = 0; j < C.n; ++j) {
            if (writes_rows && j >= finished) a.at(q, lu.row(r), j) = lu.at(r, j);
            if (!writes_rows && j < finished) lu.at(r, j) = a.at(q, lu.row(r), j);
          }
        }
        sync_warp();
      }
      SIMT_UNROLL
      for (int r = 0; r < lu.held; ++r) {
        if (!C.writes_factors() || !lu.exists(r)) continue;
        if constexpr (writes_rows) {
          int const i = lu.row(r);
          int const from = order[q * C.m + i];
          bool const real = q < active && (!C.ragged() || i < args.result.rows_of(b));
          constexpr bool packed = C.result == Layout::packed_columns;
          T* const row = !real ? nullptr : packed ? args.result.data + b * (C.m * C.n) + i : args.result.at(b, i, 0);
          Index const right = !real || packed ? C.m : args.result.col_stride_of(b);
          int const columns = !real ? 0 : C.ragged() ? args.result.cols_of(b) : C.n;
          SIMT_UNROLL
          for (int j = 0; j < C.n; ++j)
            if (j < columns) row[j * right] = conjugate_if(args.result.conjugated, a.at(q, from, j));
        } else {
          SIMT_UNROLL
          for (int j = 0; j < C.n; ++j) a.at(q, lu.position(r), j) = conjugate_if(args.result.conjugated, lu.at(r, j));
        }
      }
      if constexpr (C.solves() && !C.writes_factors() && C.lanes > 1) sync_warp();  // all have read B
      SIMT_UNROLL
      for (int r = 0; r < lu.held; ++r) {
        if (!lu.exists(r)) continue;
        int const i = lu.position(r);
        SIMT_UNROLL
        for (int j = 0; j < C.nrhs; ++j) {
          T value = conjugate_if(args.x.conjugated, lu.rhs(r, j));
          if (lu.info) {
            if (args.nan_where_singular)
              value = not_a_number<T>();
            else if (q < active && i < args.x.rows_of(b) && j < args.x.cols_of(b))
              value = *args.x.at(b, i, j);
          }
          x.at(q, i, j) = value;
        }
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
    if (args.info && lane == 0 && q < active) args.info[b] = lu.info;
    if (first + block_count() * C.matrices < args.a.count) sync_block();
  }
}

}  // namespace myriad
