#pragma once
/// Divide and conquer by the whole GPU: scales matrices to norm one, splits them, and solves the leaves, one block each.

#include "eigen/divide_and_conquer/divide_and_conquer.cuh"
#include "eigen/divide_and_conquer/stedc_config.cuh"
#include "eigen/eigen_tiny_config.cuh"

namespace myriad {

/// Copies T to the workspace, scaled to norm one by a power of two and split at the leaves: T = diag(T_1, T_2, ...) + a rank-one matrix per
/// tear, with elements of modulus |tear|. A matrix with NaN or infinity is set to zero.
///
/// Launch: any number of blocks of stedc_threads threads with stedc_shared_bytes of dynamic shared memory.
template <typename R, bool tears>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) stedc_load(StedcWork<R> const work) {
  using namespace simt;
  constexpr R u = power_of_two<R, -53, -24>;
  R* const of_warps = reinterpret_cast<R*>(shared_memory());
  for (Index b = block_index(); b < work.count; b += block_count()) {
    int const n = work.rows_of(b);
    StedcTree const tree = work.tree(b);
    auto const d = [&](int i) { return *work.d.at(b, i, 0); };
    auto const e = [&](int i) { return *work.e.at(b, i, 0); };
    auto top = ordered_bits(R(0));
    SIMT_UNROLL_BY(4)
    for (int i = thread_index(); i < n; i += stedc_threads) {
      top = larger(top, ordered_bits(magnitude(d(i))));
      if (i + 1 < n) top = larger(top, ordered_bits(magnitude(e(i))));
    }
    SIMT_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
    if (lane_index() == 0) of_warps[thread_index() / 32] = number_of(top);
    sync_block();
    SIMT_UNROLL
    for (int w = 0; w < stedc_warps; ++w) top = larger(top, ordered_bits(of_warps[w]));
    bool const finite = top < ordered_bits(R(infinity()));
    R const scale = !finite || top == bits_of(R(0)) ? R(1) : reciprocal_power(number_of(top));
    auto const scaled = [&](R x) { return finite ? scale * x : R(0); };
    auto const is_tear = [&](int i) {  // between row i and the next one
      int const next = i + 1;
      return tears && i >= 0 && next < n && next % StedcTree::unit == 0 && tree.problem_of(0, next) != tree.problem_of(0, i);
    };
    SIMT_LOOP
    for (int i = thread_index(); i < n; i += stedc_threads) {
      R value = scaled(d(i));
      if (is_tear(i)) value = value - magnitude(scaled(e(i)));
      if (is_tear(i - 1)) value = value - magnitude(scaled(e(i - 1)));
      work.values[b * work.line + i] = value;
      work.beside[b * work.line + i] = i + 1 < n ? scaled(e(i)) : R(0);
    }
    if (thread_index() == 0) {
      work.tolerances[b] = finite ? R(8) * u * (scale * number_of(top)) : R(0);
      work.backs[b] = finite ? reciprocal_power(scale) : R(quiet_nan());
    }
    sync_block();
  }
}

/// Solves the leaves, of up to N rows.
///
/// Launch: any number of blocks of 4 N threads with stedc_leaf_bytes(sizeof(R), N) of dynamic shared memory.
template <typename R, int N>
SIMT_KERNEL void SIMT_BOUNDS(4 * N, 1) stedc_leaves(StedcWork<R> const work) {
  using namespace simt;
  constexpr int line = stedc_leaf_line(N), threads = 4 * N;
  R* const tile = reinterpret_cast<R*>(shared_memory());
  R* const d = tile + N * line;
  R* const e = d + N;
  char* const memory = shared_memory() + stedc_leaf_memory(sizeof(R), N);
  auto const vectors = [&](int i, int j) -> R& { return tile[i + j * line]; };
  for (Index at = block_index(); at < work.all_problems(); at += block_count()) {
    StedcProblem const leaf = work.problem(at);
    int const n = leaf.rows();
    if (n == 0) continue;
    for (int i = thread_index(); i < n; i += threads) {
      d[i] = work.values[work.at(leaf) + i];
      e[i] = i + 1 < n ? work.beside[work.at(leaf) + i] : R(0);
    }
    sync_block();
    DivideAndConquer<R, N, threads, decltype(vectors)> divide(vectors, n, d, e, memory);
    int const info = divide.template solve<most_eigen_sweeps>(work.tolerances[leaf.matrix]);
    sync_block();
    R* const to = work.vectors(leaf);
    for (int j = thread_index() / 32; j < n; j += threads / 32)
      for (int i = lane_index(); i < n; i += 32) to[i + j * work.ld] = vectors(i, j);
    for (int i = thread_index(); i < n; i += threads) work.values[work.at(leaf) + i] = d[i];
    if (thread_index() == 0) work.leaf_info[leaf.matrix * work.leaves + leaf.number] = info;
    sync_block();
  }
}

}  // namespace myriad
