#pragma once
/// y = alpha A x + beta y of many matrices of up to 32 rows, through shared memory.

#include "symv/symv_row.cuh"
#include "symv/symv_tiny_config.cuh"

namespace myriad {

/// Launch: any number of blocks of C.threads() threads with SymvTinyMemory(sizeof(T), C).bytes of dynamic shared memory.
template <typename T, SymvTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) symv_tiny(SymvTinyArguments<T> const args) {
  using namespace simt;
  constexpr SymvTinyMemory memory(sizeof(T), C);
  constexpr int held_rows = ceil_div(C.n, C.lanes);
  Tile<T, C.n, C.n, C.matrices, C.lanes, C.threads(), C.a, true> a(shared_memory());
  Tile<T, C.n, 1, C.matrices, C.lanes, C.threads(), C.x> x(shared_memory() + memory.x);
  Tile<T, C.n, 1, C.matrices, C.lanes, C.threads(), C.y> y(shared_memory() + memory.y);
  int const q = thread_index() / C.lanes;
  int const lane = thread_index() % C.lanes;
  bool const reads_a = !(args.alpha == from_real<T>(0)), reads_y = !(args.beta == from_real<T>(0));

  for (Index first = block_index() * C.matrices; first < args.y.count; first += block_count() * C.matrices) {
    int const active = args.y.count - first < C.matrices ? static_cast<int>(args.y.count - first) : C.matrices;
    if (reads_a) {
      a.template load<C.a, Part::lower>(args.a, first, active);
      x.template load<C.x>(args.x, first, active);
    }
    if (reads_y) y.template load<C.y>(args.y.as_const(), first, active);
    wait_copies();
    sync_block();
    int const n = q >= active ? 0 : is_ragged(C.a) ? args.a.rows_of(first + q) : C.n;
    SIMT_UNROLL
    for (int r = 0; r < held_rows; ++r) {
      int const i = lane + r * C.lanes;
      if (i >= n) continue;
      T value = from_real<T>(0);
      if (reads_a)
        value = args.alpha * symv_row<C.symmetry, T>(
                                 is_ragged(C.a) ? n : C.n, i, true,
                                 [&](int row, int column) { return conjugate_if(args.a.conjugated, a.at(q, row, column)); },
                                 [&](int j) { return conjugate_if(args.x.conjugated, x.at(q, j, 0)); });
      if (reads_y) value = multiply_add(args.beta, y.at(q, i, 0), value);
      y.at(q, i, 0) = value;
    }
    sync_block();
    y.template store<C.y>(args.y, first, active);
    if (first + block_count() * C.matrices < args.y.count) sync_block();
  }
}

}  // namespace myriad
