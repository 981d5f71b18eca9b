#pragma once
/// The reduction to tridiagonal form of matrices that a block has in shared memory, each read once and written once.

#include "eigen/eigen_rows.cuh"
#include "eigen/tridiagonal_config.cuh"

namespace myriad {

/// Launch: any number of blocks of C.threads() threads with EigenBlockMemory(sizeof(T), sizeof(Real<T>), C, args.a.rows).bytes of dynamic
/// shared memory.
template <typename T, EigenBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) tridiagonal_block(TridiagonalArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  EigenBlockMemory const memory(sizeof(T), sizeof(R), C, static_cast<int>(args.a.rows));
  T* const tile = reinterpret_cast<T*>(shared_memory());
  int const line = memory.line;
  int const here = thread_index();  // a column, where neighbours in a row are brought, else a row

  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const n = args.a.rows_of(b);
    Index const apart = C.by_rows() ? args.a.row_stride_of(b) : args.a.col_stride_of(b);
    // An upper triangle is a lower one with rows and columns in the opposite order.
    auto const place = [&](int i) { return args.lower ? i : n - 1 - i; };
    auto const at = [&](int i, int j) -> T& { return tile[place(i) + place(j) * line]; };
    if (here < n) {
      T const* from = args.a.at(b, C.by_rows() ? 0 : here, C.by_rows() ? here : 0);
      SIMT_UNROLL_BY(4)
      for (int other = 0; other < n; ++other, from += apart)
        copy_async(tile + (C.by_rows() ? other + here * line : here + other * line), from);
    }
    wait_copies();
    sync_block();
    EigenAcrossLanes<T, C.n, C.n, true, decltype(at)> eigen(at, n, here, shared_memory() + memory.buffer);
    R const back = eigen.make_whole(true, true);
    eigen.reduce();
    T const nothing = back == back ? from_real<T>(0) : not_a_number<T>();  // all is NaN where something is
    if (here < n) {
      T* to = args.a.at(b, C.by_rows() ? 0 : here, C.by_rows() ? here : 0);
      SIMT_UNROLL_BY(4)
      for (int other = 0; other < n; ++other, to += apart) {
        int const i = place(C.by_rows() ? other : here), j = place(C.by_rows() ? here : other);
        if (i < j) continue;
        store_global(to, i == j ? from_real<T>(back * eigen.d[i]) : i == j + 1 ? from_real<T>(back * eigen.e[j]) : at(i, j) + nothing);
      }
      *args.d.at(b, place(here), 0) = back * eigen.d[here];
      if (here + 1 < n) {
        int const k = args.lower ? here : n - 2 - here;
        *args.e.at(b, k, 0) = back * eigen.e[here];
        T const tau = here < n - eigen.left ? eigen.v[here] : from_real<T>(0);
        *args.tau.at(b, k, 0) = conjugate_if(args.tau.conjugated != args.a.conjugated, tau + nothing);
      }
    }
    if (b + block_count() < args.a.count) sync_block();
  }
}

}  // namespace myriad
