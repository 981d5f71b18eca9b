#pragma once
/// The columns of a matrix that is in the shared memories of all blocks, one reflection after the other.

#include "eigen/tridiagonal_config.cuh"
#include "qr/reflector.cuh"

namespace myriad {
namespace simt {

/// Rows and columns of the work from its first on, here counted from zero. Column j is in block j modulo the number of blocks, as a whole,
/// so that a block has all of its elements of A v. H^H A H = A - v w^H - w v^H with w = tau A v - (|tau|^2 / 2) (v^H A v) v; what a step
/// changes is done while the next one multiplies by its vector, but for the next column, which its block changes before. All sums are in an
/// order that does not depend on the number of blocks.
template <typename T, TridiagonalResident C>
class TridiagonalAcrossBlocks {
  using R = Real<T>;
  static constexpr int warps = C.threads() / 32, at_once = C.at_once;

 public:
  SIMT_INLINE explicit TridiagonalAcrossBlocks(TridiagonalWork<T> const& work)
      : m_(work.matrix),
        first_(work.first),
        size_(work.rows() - work.first),
        rounds_(work.rounds),
        here_(static_cast<int>(block_index())),
        blocks_(static_cast<int>(block_count())),
        columns_(reinterpret_cast<T*>(shared_memory())),
        v_(columns_ + C.columns(size_, blocks_) * size_),
        former_v_(v_ + size_),
        w_(former_v_ + size_),
        sums_(columns_ + C.sums_at(size_, blocks_)) {}

  SIMT_INLINE void reduce() {
    bring();
    SIMT_LOOP
    for (int k = 0; k + 1 < size_; ++k) {
      if (k % blocks_ == here_) reflect(k);
      sync_grid(m_.arrived, rounds_++);
      multiply(k);
      sync_grid(m_.arrived, rounds_++);
      find_w(k);
    }
    int const last = size_ - 1;
    if (last % blocks_ == here_ && thread_index() == 0) m_.d[first_ + last] = real_part(changed(column(last)[last], last, last, last > 0));
  }

 private:
  SIMT_INLINE T* column(int j) const { return columns_ + j / blocks_ * size_; }

  SIMT_INLINE void bring() {
    SIMT_LOOP
    for (int j = here_; j < size_; j += blocks_) {
      SIMT_UNROLL_BY(4)
      for (int i = thread_index(); i < size_; i += C.threads()) {
        // Row 0 is used of column 0 alone, whose block may be putting its reflector in the place of the others.
        if (i == 0 && j > 0) continue;
        bool const stored = i >= j;
        T const value = m_.a[first_ + (stored ? i : j) + (first_ + (stored ? j : i)) * m_.ld];
        column(j)[i] = conjugate_if(!stored, value);
      }
    }
    sync_block();
  }

  template <typename X>
  SIMT_INLINE X sum_of_block(X value) const {
    SIMT_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) value = value + shuffle_xor(value, mask);
    X* const of_warps = reinterpret_cast<X*>(sums_);
    if (lane_index() == 0) of_warps[thread_index() / 32] = value;
    sync_block();
    X sum = of_warps[0];
    SIMT_UNROLL
    for (int w = 1; w < warps; ++w) sum = sum + of_warps[w];
    sync_block();
    return sum;
  }

  /// Element (i, j) after the step before, if there was one.
  SIMT_INLINE T changed(T x, int i, int j, bool is_there) const {
    if (!is_there) return x;
    return subtract_product(subtract_product(x, former_v_[i], conjugate(w_[j])), w_[i], conjugate(former_v_[j]));
  }

  /// By the block that has column k: its reflector, for all.
  SIMT_INLINE void reflect(int k) {
    T* const x = column(k);
    R tail = R(0);
    SIMT_LOOP
    for (int i = k + thread_index(); i < size_; i += C.threads()) {
      T const value = changed(x[i], i, k, k > 0);
      x[i] = value;
      if (i < k + 2) continue;
      tail = multiply_add(real_part(value), real_part(value), tail);
      if constexpr (is_complex<T>) tail = multiply_add(value.im, value.im, tail);
    }
    tail = sum_of_block(tail);
    Reflector<T> reflector(x[k + 1], tail);
    // A column that is zero, or so small beside a matrix of size one that its square is lost, is taken for zero.
    bool const none = !reflector.usual;
    if (none) reflector = Reflector<T>(x[k + 1], R(Reflector<T>::identity));
    SIMT_LOOP
    for (int i = k + 1 + thread_index(); i < size_; i += C.threads()) {
      T const v = i == k + 1 ? from_real<T>(1) : none ? from_real<T>(0) : reflector.v_scale * x[i];
      m_.x[first_ + i] = v;
      m_.a[first_ + i + (first_ + k) * m_.ld] = v;
    }
    if (thread_index() != 0) return;
    m_.d[first_ + k] = real_part(x[k]);
    m_.e[first_ + k] = reflector.beta;
    m_.tau[first_ + k] = reflector.tau();
  }

  /// This block's elements of A v.
  SIMT_INLINE void multiply(int k) {
    SIMT_UNROLL_BY(4)
    for (int i = k + 1 + thread_index(); i < size_; i += C.threads()) v_[i] = m_.x[first_ + i];
    sync_block();
    if (k > 0)
      multiply_changed<true>(k);
    else
      multiply_changed<false>(k);
    sync_block();
    int const held = C.columns(size_, blocks_), from = (k + blocks_ - here_) / blocks_;
    for (int q = from + thread_index(); q < held && here_ + q * blocks_ < size_; q += C.threads()) {
      T sum = sums_[q];
      SIMT_UNROLL
      for (int part = 1; part < C.row_parts; ++part) sum = sum + sums_[part * held + q];
      m_.y[first_ + here_ + q * blocks_] = sum;
    }
  }
  template <bool changes>
  SIMT_INLINE void multiply_changed(int k) {
    int const warp = thread_index() / 32, part = warp % C.row_parts;
    int const held = C.columns(size_, blocks_);
    // The block's columns behind column k
    int const from = (k + blocks_ - here_) / blocks_, end = (size_ - here_ + blocks_ - 1) / blocks_;
    SIMT_LOOP
    for (int q0 = from + warp / C.row_parts; q0 < end; q0 += at_once * C.column_parts) {
      T* x[at_once];
      T former_v[at_once], w[at_once], sum[at_once];
      SIMT_UNROLL
      for (int u = 0; u < at_once; ++u) {
        // Where there is none, the first one once more, not used: others are written by other warps.
        int const q = q0 + u * C.column_parts < end ? q0 + u * C.column_parts : q0, j = here_ + q * blocks_;
        x[u] = columns_ + q * size_;
        sum[u] = from_real<T>(0);
        if constexpr (changes) {
          former_v[u] = conjugate(former_v_[j]);
          w[u] = conjugate(w_[j]);
        }
      }
      SIMT_LOOP
      for (int i = k + 1 + part * 32 + lane_index(); i < size_; i += 32 * C.row_parts) {
        T const v = v_[i];
        T value[at_once];
        SIMT_UNROLL
        for (int u = 0; u < at_once; ++u) value[u] = x[u][i];
        if constexpr (changes) {
          T const v_of_row = former_v_[i], w_of_row = w_[i];
          SIMT_UNROLL
          for (int u = 0; u < at_once; ++u) {
            value[u] = subtract_product(subtract_product(value[u], v_of_row, w[u]), w_of_row, former_v[u]);
            if (q0 + u * C.column_parts < end) x[u][i] = value[u];
          }
        }
        SIMT_UNROLL
        for (int u = 0; u < at_once; ++u) sum[u] = conjugate_multiply_add(value[u], v, sum[u]);
      }
      SIMT_UNROLL
      for (int u = 0; u < at_once; ++u) {
        SIMT_UNROLL
        for (int mask = 16; mask > 0; mask /= 2) sum[u] = sum[u] + shuffle_xor(sum[u], mask);
        int const q = q0 + u * C.column_parts;
        if (lane_index() == 0 && q < end) sums_[part * held + q] = sum[u];
      }
    }
  }

  SIMT_INLINE void find_w(int k) {
    T const tau = m_.tau[first_ + k];
    R product = R(0);
    SIMT_UNROLL_BY(4)
    for (int i = k + 1 + thread_index(); i < size_; i += C.threads()) {
      T const y = m_.y[first_ + i], v = v_[i];
      w_[i] = y;
      product = multiply_add(real_part(y), real_part(v), product);
      if constexpr (is_complex<T>) product = multiply_add(y.im, v.im, product);
    }
    product = sum_of_block(product);
    R size = real_part(tau) * real_part(tau);
    if constexpr (is_complex<T>) size = multiply_add(tau.im, tau.im, size);
    R const half = R(0.5) * size * product;
    SIMT_UNROLL_BY(4)
    for (int i = k + 1 + thread_index(); i < size_; i += C.threads()) w_[i] = tau * w_[i] - half * v_[i];
    T* const v = v_;
    v_ = former_v_;
    former_v_ = v;
    sync_block();
  }

  TridiagonalMatrix<T> const& m_;
  int first_, size_;
  unsigned rounds_;
  int here_, blocks_;
  T* columns_;
  T *v_, *former_v_, *w_;
  T* sums_;
};

}  // namespace simt

/// Launch: blocks that run together, of C.threads() threads with as many elements of dynamic shared memory as C.elements says for the
/// largest matrix.
template <typename T, TridiagonalResident C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) tridiagonal_resident(TridiagonalWork<T> const work) {
  using namespace simt;
  if (work.first >= work.rows()) return;
  TridiagonalAcrossBlocks<T, C> blocks(work);
  blocks.reduce();
}

}  // namespace myriad
