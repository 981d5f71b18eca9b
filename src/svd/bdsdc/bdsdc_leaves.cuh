#pragma once
/// Bidiagonal divide and conquer by the whole GPU: scales matrices to norm one, and solves the leaves by implicit QR, one warp each.

#include "svd/bdsdc/bdsdc_config.cuh"

namespace myriad {
namespace simt {

/// The largest modulus of d and e of a matrix of n rows, as ordered bits, in all threads of a block; NaN is the largest.
template <typename R>
SIMT_INLINE auto bdsdc_largest(Matrices<R const> const& d, Matrices<R const> const& e, Index b, int n) {
  R* const of_warps = reinterpret_cast<R*>(shared_memory());
  auto top = ordered_bits(R(0));
  SIMT_UNROLL_BY(4)
  for (int i = thread_index(); i < n; i += stedc_threads) {
    top = larger(top, ordered_bits(magnitude(*d.at(b, i, 0))));
    if (i + 1 < n) top = larger(top, ordered_bits(magnitude(*e.at(b, i, 0))));
  }
  SIMT_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
  sync_block();
  if (lane_index() == 0) of_warps[thread_index() / 32] = number_of(top);
  sync_block();
  SIMT_UNROLL
  for (int w = 0; w < stedc_warps; ++w) top = larger(top, ordered_bits(of_warps[w]));
  return top;
}

/// A rotation with c f + s g = r, c g = s f.
template <typename R>
struct Rotation {
  R c, s, r;
  SIMT_INLINE Rotation() : c(R(1)), s(R(0)), r(R(0)) {}
  SIMT_INLINE Rotation(R f, R g) : c(R(1)), s(R(0)), r(f) {
    R const size = larger(magnitude(f), magnitude(g));
    if (!(size > R(0)) || g == R(0)) return;
    R const scale = reciprocal_power(size), x = scale * f, y = scale * g;
    R const squares = multiply_add(x, x, y * y), inverse = reciprocal_square_root(squares);
    c = x * inverse;
    s = y * inverse;
    r = squares * inverse * reciprocal_power(scale);
  }
};

/// The smaller singular value of [f g; 0 h].
template <typename R>
SIMT_INLINE R smaller_singular_value(R f, R g, R h) {
  f = magnitude(f), g = magnitude(g), h = magnitude(h);
  R const low = smaller(f, h), high = larger(f, h), top = larger(high, g);
  if (!(low > R(0))) return R(0);
  R const inverse = reciprocal_power(top);
  R const sum = inverse * (high + low), difference = inverse * (high - low), beside = inverse * g;
  auto const length = [&](R x) {
    R const squares = multiply_add(x, x, beside * beside);
    return squares > R(0) ? squares * reciprocal_square_root(squares) : R(0);
  };
  // The product of both values is f h, and the larger one is half of the sum of these lengths.
  return R(2) * (inverse * low) * high * reciprocal(length(sum) + length(difference));
}

/// The singular value decomposition of an upper bidiagonal matrix of n rows and n + 1 columns by implicit QR (Demmel and Kahan 1990), by a
/// warp that has a row of U and of V per lane. All lanes compute the rotations.
template <typename R>
struct BidiagonalQr {
  static constexpr int line = warp_size;
  R *u, *v;  ///< columns of `line` elements, in shared memory
  R *d, *e;
  int n;
  R negligible;  ///< off-diagonal
  int const lane = lane_index();

  /// Returns 0, or the number of off-diagonal elements that did not become negligible.
  SIMT_INLINE int solve() {
    for (int j = 0; j <= n; ++j) u[lane + j * line] = v[lane + j * line] = R(lane == j ? 1 : 0);
    sync_warp();
    remove_last_column();
    int const most_sweeps = 30 * n;
    unsigned open = open_elements();
    SIMT_LOOP
    for (int sweep = 0; sweep < most_sweeps && open != 0; ++sweep) {
      // The first block in which no element is negligible
      int const first = lowest_bit(open), last = first + lowest_bit(~(open >> first));
      constexpr R roundoff = power_of_two<R, -53, -24>;
      bool const vanishes = lane >= first && lane <= last && magnitude(d[lane]) <= roundoff * negligible;
      bool const singular = ballot(vanishes) != 0;
      if (vanishes) d[lane] = R(0);
      sync_warp();
      R const shift = singular ? R(0) : smaller_singular_value(d[last - 1], e[last - 1], d[last]);
      shift == R(0) ? sweep_without_shift(first, last) : sweep_with_shift(first, last, shift);
      sync_warp();
      open = open_elements();
    }
    for (int j = 0; j < n; ++j)
      if (d[j] < R(0)) v[lane + j * line] = -v[lane + j * line];
    sync_warp();
    if (lane < n) d[lane] = magnitude(d[lane]);
    sync_warp();
    return count_bits(open);
  }

 private:
  /// Sets negligible elements to zero, and returns a bit for each of the others.
  SIMT_INLINE unsigned open_elements() {
    bool const is = lane + 1 < n, is_open = is && magnitude(e[is ? lane : 0]) > negligible;
    unsigned const open = ballot(is_open);
    if (is && !is_open) e[lane] = R(0);
    sync_warp();
    return open;
  }

  /// Columns of a matrix that are rotated one after the other, the current one in a register
  struct Chain {
    R* row;
    R held;
    SIMT_INLINE Chain(R* matrix, int first) : row(matrix + first * line), held(*row) {}
    SIMT_INLINE void rotate(R c, R s) {
      R const next = row[line];
      *row = multiply_add(c, held, s * next);
      held = multiply_add(c, next, -s * held);
      row += line;
    }
    SIMT_INLINE void end() { *row = held; }
  };

  /// Rotates the last column, which has e[n - 1] only, into the others from the last on.
  SIMT_INLINE void remove_last_column() {
    if (n == 0) return;
    R f = e[n - 1], held = v[lane + n * line];
    SIMT_LOOP
    for (int i = n - 1; i >= 0 && f != R(0); --i) {
      Rotation<R> const by(d[i], f);
      R const before = i > 0 ? e[i - 1] : R(0), x = v[lane + i * line];
      sync_warp();
      if (lane == 0) {
        d[i] = by.r;
        if (i > 0) e[i - 1] = by.c * before;
      }
      f = -by.s * before;
      v[lane + i * line] = multiply_add(by.c, x, by.s * held);
      held = multiply_add(by.c, held, -by.s * x);
    }
    v[lane + n * line] = held;
    sync_warp();
  }

  SIMT_INLINE void sweep_with_shift(int first, int last, R shift) {
    Chain left(u + lane, first), right(v + lane, first);
    R here = d[first], beside = e[first];
    R f = (magnitude(here) - shift) * (copy_sign(R(1), here) + shift * reciprocal(here)), g = beside;
    SIMT_LOOP
    for (int i = first; i < last; ++i) {
      R const next = d[i + 1], next_beside = i + 1 < last ? e[i + 1] : R(0);
      sync_warp();  // all lanes have read what is now overwritten
      Rotation<R> const by(f, g);
      if (lane == 0 && i > first) e[i - 1] = by.r;
      f = multiply_add(by.c, here, by.s * beside);
      beside = multiply_add(by.c, beside, -by.s * here);
      Rotation<R> const back(f, by.s * next);
      here = by.c * next;
      if (lane == 0) d[i] = back.r;
      f = multiply_add(back.c, beside, back.s * here);
      here = multiply_add(back.c, here, -back.s * beside);
      g = back.s * next_beside;
      beside = back.c * next_beside;
      right.rotate(by.c, by.s);
      left.rotate(back.c, back.s);
    }
    if (lane == 0) {
      e[last - 1] = f;
      d[last] = here;
    }
    left.end();
    right.end();
  }

  SIMT_INLINE void sweep_without_shift(int first, int last) {
    Chain left(u + lane, first), right(v + lane, first);
    R here = d[first];
    Rotation<R> by, back;
    SIMT_LOOP
    for (int i = first; i < last; ++i) {
      R const next = d[i + 1], beside = e[i];
      sync_warp();
      by = Rotation<R>(here * by.c, beside);
      if (lane == 0 && i > first) e[i - 1] = back.s * by.r;
      back = Rotation<R>(back.c * by.r, next * by.s);
      if (lane == 0) d[i] = back.r;
      here = next;
      right.rotate(by.c, by.s);
      left.rotate(back.c, back.s);
    }
    R const rest = here * by.c;
    if (lane == 0) {
      d[last] = rest * back.c;
      e[last - 1] = rest * back.s;
    }
    left.end();
    right.end();
  }
};

}  // namespace simt

/// Copies B to the workspace, scaled to norm one by a power of two. A matrix with NaN or infinity is set to zero.
///
/// Launch: any number of blocks of stedc_threads threads with stedc_shared_bytes of dynamic shared memory.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(stedc_threads, 1) bdsdc_load(BdsdcWork<R> const work) {
  using namespace simt;
  constexpr R u = power_of_two<R, -53, -24>;
  for (Index b = block_index(); b < work.count; b += block_count()) {
    int const n = work.rows_of(b);
    auto const top = bdsdc_largest<R>(work.d, work.e, b, n);
    bool const finite = top < ordered_bits(R(infinity()));
    R const scale = !finite || top == bits_of(R(0)) ? R(1) : reciprocal_power(number_of(top));
    SIMT_LOOP
    for (int i = thread_index(); i < n; i += stedc_threads) {
      work.diagonal[b * work.line + i] = finite ? scale * *work.d.at(b, i, 0) : R(0);
      work.beside[b * work.line + i] = finite && i + 1 < n ? scale * *work.e.at(b, i, 0) : R(0);
    }
    if (thread_index() == 0) {
      work.tolerances[b] = finite ? R(8) * u * (scale * number_of(top)) : R(0);
      work.backs[b] = finite ? reciprocal_power(scale) : R(quiet_nan());
    }
  }
}

/// Solves the leaves.
///
/// Launch: any number of blocks of 32 bdsdc_leaf_warps threads with bdsdc_leaf_bytes(sizeof(R), work.most) of dynamic shared memory.
template <typename R>
SIMT_KERNEL void SIMT_BOUNDS(32 * bdsdc_leaf_warps, 1) bdsdc_leaves(BdsdcWork<R> const work) {
  using namespace simt;
  int const lane = lane_index(), columns = work.most;
  R* const mine = reinterpret_cast<R*>(shared_memory()) + (thread_index() / 32) * bdsdc_leaf_elements(columns);
  Index const groups = (work.all_problems() + bdsdc_leaf_warps - 1) / bdsdc_leaf_warps;
  for (Index group = block_index(); group < groups; group += block_count()) {
    Index const at = group * bdsdc_leaf_warps + thread_index() / 32;
    StedcProblem const leaf = at < work.all_problems() ? work.problem(at) : StedcProblem{};
    int const n = leaf.rows() - 1;
    if (n < 0) continue;
    R* const d = mine + 2 * warp_size * columns;
    BidiagonalQr<R> qr{mine, mine + warp_size * columns, d, d + columns, n, R(0.25) * work.tolerances[leaf.matrix]};
    if (lane < n) {
      qr.d[lane] = work.diagonal[work.at(leaf) + lane];
      qr.e[lane] = work.beside[work.at(leaf) + lane];
    }
    sync_warp();
    int const info = qr.solve();
    R* const to_u = work.vectors(0, leaf);
    R* const to_v = work.vectors(1, leaf);
    if (lane <= n)
      for (int j = 0; j <= n; ++j) {
        to_u[lane + j * work.ld] = qr.u[lane + j * warp_size];
        to_v[lane + j * work.ld] = qr.v[lane + j * warp_size];
      }
    if (lane < n) work.values[work.at(leaf) + lane] = qr.d[lane];
    if (lane == 0) work.leaf_info[leaf.matrix * work.leaves + leaf.number] = info;
    sync_warp();
  }
}

}  // namespace myriad
