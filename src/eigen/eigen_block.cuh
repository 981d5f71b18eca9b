#pragma once
/// Eigenproblems of matrices that a block has in shared memory, each read once and, with vectors, written once.

#include "eigen/eigen_block_config.cuh"
#include "eigen/eigen_rows.cuh"

namespace myriad {

/// Launch: any number of blocks of C.threads() threads with EigenBlockMemory(sizeof(T), sizeof(Real<T>), C, args.a.rows).bytes of dynamic
/// shared memory.
template <typename T, EigenBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) eigen_block(EigenArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  EigenBlockMemory const memory(sizeof(T), sizeof(R), C, static_cast<int>(args.a.rows));
  T* const tile = reinterpret_cast<T*>(shared_memory());
  int const line = memory.line;
  auto const at = [&](int i, int j) -> T& { return tile[i + j * line]; };
  int const here = thread_index();  // a column, where neighbours in a row are brought, else a row

  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const n = args.a.rows_of(b);
    Index const apart = C.by_rows() ? args.a.row_stride_of(b) : args.a.col_stride_of(b);
    if (here < n) {
      T* from = args.a.at(b, C.by_rows() ? 0 : here, C.by_rows() ? here : 0);
      SIMT_UNROLL_BY(4)
      for (int other = 0; other < n; ++other, from += apart) copy_async(&at(C.by_rows() ? other : here, C.by_rows() ? here : other), from);
    }
    wait_copies();
    sync_block();
    EigenAcrossLanes<T, C.n, C.n, true, decltype(at)> eigen(at, n, here, shared_memory() + memory.buffer);
    R const back = eigen.make_whole(args.lower, true);
    eigen.reduce();
    if constexpr (C.vectors()) eigen.form_q();
    eigen.template iterate<C.vectors(), most_eigen_sweeps>();
    eigen.find_places();
    sync_block();
    bool const bad = !(back == back);
    if (here == 0 && args.info) args.info[b] = bad ? n : eigen.info;
    if (here < n) {
      int const* const places = eigen.places();
      store_global(args.w.at(b, places[here], 0), back * eigen.d[here]);
      T* const to = args.a.at(b, C.by_rows() ? 0 : here, C.by_rows() ? places[here] : 0);
      SIMT_UNROLL_BY(4)
      for (int other = 0; C.vectors() && other < n; ++other) {
        T const value = at(C.by_rows() ? other : here, C.by_rows() ? here : other);
        store_global(to + (C.by_rows() ? other : places[other]) * apart, bad ? not_a_number<T>() : value);
      }
    }
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
