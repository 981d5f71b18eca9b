#pragma once
/// Eigenproblems of matrices of up to 32 rows. Each is read once and, with vectors, written once.

#include "eigen/eigen_rows.cuh"
#include "eigen/eigen_tiny_config.cuh"

namespace myriad {

/// Launch: any number of blocks of C.threads() threads with EigenTinyMemory(sizeof(T), sizeof(Real<T>), C).bytes of dynamic shared memory.
template <typename T, EigenTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) eigen_tiny(EigenArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr EigenTinyMemory memory(sizeof(T), sizeof(R), C);
  Tile<T, C.n, C.n, C.matrices, C.lanes, C.threads(), C.a, true> a(shared_memory());
  int const q = thread_index() / C.lanes;
  int const lane = thread_index() % C.lanes;
  auto const at = [&](int i, int j) -> T& { return a.at(q, i, j); };

  for (Index first = block_index() * C.matrices; first < args.a.count; first += block_count() * C.matrices) {
    int const active = args.a.count - first < C.matrices ? static_cast<int>(args.a.count - first) : C.matrices;
    Index const b = first + q;
    a.template load<C.a>(args.a, first, active);
    wait_copies();
    sync_block();
    bool const exists = q < active;
    int const n = !exists ? 0 : is_ragged(C.a) ? args.a.rows_of(b) : C.n;  // rows that are written
    EigenAcrossLanes<T, C.n, C.lanes, is_ragged(C.a), decltype(at)> eigen(at, n, lane,
                                                                          shared_memory() + memory.buffer + q * memory.buffer_of_matrix);
    R const back = eigen.make_whole(args.lower, exists);
    eigen.reduce();
    if constexpr (C.vectors()) eigen.form_q();
    eigen.template iterate<C.vectors(), C.most_sweeps>();
    eigen.find_places();
    bool const bad = !(back == back);
    SIMT_UNROLL
    for (int r = 0; r < eigen.held; ++r) {
      int const i = eigen.row(r);
      if (i >= n) continue;
      store_global(args.w.at(b, eigen.places()[i], 0), back * eigen.d[i]);
      for (int j = 0; C.vectors() && bad && j < n; ++j) at(i, j) = not_a_number<T>();
    }
    if (args.info && lane == 0 && exists) args.info[b] = bad ? n : eigen.info;
    if constexpr (C.vectors()) {
      eigen.order_columns();
      sync_block();
      a.template store<C.a>(args.a, first, active);
    }
    if (first + block_count() * C.matrices < args.a.count) sync_block();
  }
}

}  // namespace myriad
