#pragma once
/// Reduces a matrix in the shared memory of a group of blocks, one reflection after the other.

#include "eigen/tridiagonal/tridiagonal_config.cuh"
#include "reflectors/reflector.cuh"

namespace myriad {
namespace simt {

/// Rows and columns are counted from the first one behind the panels. Block j modulo the number of blocks has all of column j, and so
/// computes its elements of A v alone. H^H A H = A - v w^H - w v^H with w = tau A v - (|tau|^2 / 2) (v^H A v) v; the update of a step is
/// fused with the next step's product. Once per step each block sends, for each of its columns, the element of A v and that of the next
/// column (the row below the diagonal) to all others. With these every block computes w, the next column, and its reflector. The order of
/// all sums does not depend on the number of blocks.
template <typename T, TridiagonalResident C>
class TridiagonalAcrossBlocks {
  using R = Real<T>;
  static constexpr int warps = C.threads() / 32, at_once = C.at_once;
  static constexpr int pairs_of_row = is_complex<T> ? 2 : 1;  ///< pairs of real numbers: elements of A v and of the next column

 public:
  /// Matrix m, reduced by `blocks` blocks; this is block `here`.
  SIMT_INLINE TridiagonalAcrossBlocks(TridiagonalMatrix<T> const& m, int first, int n, int here, int blocks)
      : m_(m),
        first_(first),
        size_(n - first),
        here_(here),
        blocks_(blocks),
        held_(C.columns(size_, blocks_)),
        columns_(reinterpret_cast<T*>(shared_memory())),
        v_(columns_ + C.columns(size_, blocks_) * size_),
        former_v_(v_ + size_),
        w_(former_v_ + size_),
        sums_(columns_ + C.sums_at(size_, blocks_)),
        told_(columns_ + C.told_at(size_, blocks_)) {}

  SIMT_INLINE void reduce() {
    load();
    sync_blocks(m_.others, static_cast<unsigned>(blocks_));                // before reflectors overwrite columns that other blocks load
    int const last = size_ - 1 - (size_ - 1 - here_ + blocks_) % blocks_;  // of this block's columns; negative if there is none
    end_ = last / blocks_ + 1;
    reflect(0, first_column());
    SIMT_LOOP
    for (int k = 0; k < last; ++k) {
      if (here_ + from_ * blocks_ == k) ++from_;
      if (here_ + from_ * blocks_ == k + 1) store(k);
      multiply(k);
      send(k);
      // A block without a column behind the next one is done: no other waits for it.
      if (last > k + 1 || last == size_ - 1) reflect(k + 1, find_next_column(k));
    }
    if (last == size_ - 1 && thread_index() == 0) m_.d[first_ + last] = d_;
  }

 private:
  SIMT_INLINE T* column(int j) const { return columns_ + j / blocks_ * size_; }

  SIMT_INLINE void load() {
    SIMT_LOOP
    for (int j = here_; j < size_; j += blocks_) {
      SIMT_UNROLL_BY(4)
      for (int i = thread_index(); i < size_; i += C.threads()) {
        bool const stored = i >= j;
        T const value = m_.a[first_ + (stored ? i : j) + (first_ + (stored ? j : i)) * m_.ld];
        column(j)[i] = conjugate_if(!stored, value);
      }
    }
    SIMT_UNROLL_BY(4)
    for (int i = thread_index(); i < size_; i += C.threads()) v_[i] = m_.a[first_ + i + first_ * m_.ld];
  }

  /// The sum over the block, in all threads. Consecutive calls must alternate `number`, 0 and 1: slow threads may still read the last one.
  SIMT_INLINE R sum_of_block(R value, int number) const {
    SIMT_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) value = value + shuffle_xor(value, mask);
    R* const of_warps = reinterpret_cast<R*>(told_ + told) + number * warps;
    if (lane_index() == 0) of_warps[thread_index() / 32] = value;
    sync_block();
    R sum[warps];
    SIMT_UNROLL
    for (int w = 0; w < warps; ++w) sum[w] = of_warps[w];
    SIMT_UNROLL
    for (int distance = warps / 2; distance > 0; distance /= 2) {
      SIMT_UNROLL
      for (int w = 0; w < warps / 2; ++w)
        if (w < distance) sum[w] = sum[w] + sum[w + distance];
    }
    return sum[0];
  }
  SIMT_INLINE static R add_square(T x, R sum) {
    sum = multiply_add(real_part(x), real_part(x), sum);
    if constexpr (is_complex<T>) sum = multiply_add(x.im, x.im, sum);
    return sum;
  }
  /// The real part of conj(x) y + sum.
  SIMT_INLINE static R add_product(T x, T y, R sum) {
    sum = multiply_add(real_part(x), real_part(y), sum);
    if constexpr (is_complex<T>) sum = multiply_add(x.im, y.im, sum);
    return sum;
  }

  /// Processes element i of column k, which v_ holds from the diagonal on: broadcasts elements that all threads need, and adds to the norm.
  SIMT_INLINE R take(int k, int i, T x, R tail) const {
    if (i == k) told_[0] = x;
    if (i == k + 1) told_[1] = x;
    return i > k + 1 ? add_square(x, tail) : tail;
  }
  SIMT_INLINE R first_column() const {
    R tail = R(0);
    SIMT_LOOP
    for (int i = thread_index(); i < size_; i += C.threads()) tail = take(0, i, v_[i], tail);
    return tail;
  }
  /// Computes the reflector of column k, in place in v_. A thread has the same rows as in find_next_column.
  SIMT_INLINE void reflect(int k, R tail) {
    tail = sum_of_block(tail, 0);
    d_ = real_part(told_[0]);
    if (k + 1 >= size_) return;
    T const alpha = told_[1];
    Reflector<T> reflector(alpha, tail);
    // A column that is zero, or so small in a matrix of norm one that its square underflows, is taken as zero.
    bool const none = !reflector.usual;
    if (none) reflector = Reflector<T>(alpha, R(Reflector<T>::identity));
    beta_ = reflector.beta;
    tau_ = reflector.tau();
    SIMT_UNROLL_BY(4)
    for (int i = k + thread_index(); i < size_; i += C.threads())
      v_[i] = i <= k + 1 ? from_real<T>(1) : none ? from_real<T>(0) : reflector.v_scale * v_[i];
    sync_block();
  }
  SIMT_INLINE void store(int k) const {
    SIMT_UNROLL_BY(4)
    for (int i = k + 1 + thread_index(); i < size_; i += C.threads()) m_.a[first_ + i + (first_ + k) * m_.ld] = v_[i];
    if (thread_index() != 0) return;
    m_.d[first_ + k] = d_;
    m_.e[first_ + k] = beta_;
    m_.tau[first_ + k] = tau_;
  }

  /// Computes this block's elements of A v, as partial sums.
  SIMT_INLINE void multiply(int k) {
    if (k > 0)
      multiply_changed<true>(k);
    else
      multiply_changed<false>(k);
    sync_block();
  }
  template <bool changes>
  SIMT_INLINE void multiply_changed(int k) {
    int const warp = thread_index() / 32, part = warp % C.row_parts;
    SIMT_LOOP
    for (int q0 = from_ + warp / C.row_parts; q0 < end_; q0 += at_once * C.column_parts) {
      T* x[at_once];
      T former_v[at_once], w[at_once], sum[at_once];
      SIMT_UNROLL
      for (int u = 0; u < at_once; ++u) {
        // Without a column uses the first one again and discards the result: other columns are written by other warps.
        int const q = q0 + u * C.column_parts < end_ ? q0 + u * C.column_parts : q0, j = here_ + q * blocks_;
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
            if (q0 + u * C.column_parts < end_) x[u][i] = value[u];
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
        if (lane_index() == 0 && q < end_) sums_[part * held_ + q] = sum[u];
      }
    }
  }

  /// Address of the pairs of row i in step k.
  SIMT_INLINE R* pairs(int k, int i) const {
    return reinterpret_cast<R*>(m_.pairs) + (static_cast<Index>(k % 2) * size_ + i) * (2 * pairs_of_row);
  }
  SIMT_INLINE static unsigned round(int k) { return static_cast<unsigned>(k / 2 + 1) % 2; }

  SIMT_INLINE void send(int k) const {
    for (int q = from_ + thread_index(); q < end_; q += C.threads()) {
      T y = sums_[q];
      SIMT_UNROLL
      for (int part = 1; part < C.row_parts; ++part) y = y + sums_[part * held_ + q];
      T const next = conjugate(columns_[q * size_ + k + 1]);
      R* const to = pairs(k, here_ + q * blocks_);
      send_pair(to, real_part(y), real_part(next), round(k));
      if constexpr (is_complex<T>) send_pair(to + 2, y.im, next.im, round(k));
    }
  }
  /// Computes w of step k, and the updated next column in v_. Returns a thread's part of the sum of squares of the elements to be
  /// eliminated.
  SIMT_INLINE R find_next_column(int k) {
    T* const next = former_v_;
    constexpr int rows = 4;  // at once
    R product = R(0);
    SIMT_LOOP
    for (int first = k + 1 + thread_index(); first < size_; first += rows * C.threads()) {
      R const* from[rows * pairs_of_row];
      R pair[rows * pairs_of_row][2];
      SIMT_UNROLL
      for (int p = 0; p < rows * pairs_of_row; ++p) from[p] = pairs(k, first + p / pairs_of_row * C.threads()) + p % pairs_of_row * 2;
      int const there = smaller(ceil_div(size_ - first, C.threads()), rows);
      receive_pairs(pair, from, there * pairs_of_row, round(k));
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) {
        int const i = first + r * C.threads();
        if (i >= size_) continue;
        T y, x;
        if constexpr (is_complex<T>) {
          y = {pair[2 * r][0], pair[2 * r + 1][0]};
          x = {pair[2 * r][1], pair[2 * r + 1][1]};
        } else {
          y = pair[r][0];
          x = pair[r][1];
        }
        w_[i] = y;
        next[i] = x;
        product = add_product(y, v_[i], product);
        if (i == k + 1) told_[2] = y;
      }
    }
    product = sum_of_block(product, 1);
    R const half = R(0.5) * add_square(tau_, R(0)) * product;
    T const first_w = tau_ * told_[2] - from_real<T>(half);
    R tail = R(0);
    SIMT_UNROLL_BY(4)
    for (int i = k + 1 + thread_index(); i < size_; i += C.threads()) {
      T const v = v_[i], w = tau_ * w_[i] - half * v;
      T const x = subtract_product(next[i], v, conjugate(first_w)) - w;
      w_[i] = w;
      next[i] = x;
      tail = take(k + 1, i, x, tail);
    }
    former_v_ = v_;
    v_ = next;
    return tail;
  }

  TridiagonalMatrix<T> const& m_;
  int first_, size_;
  int here_, blocks_, held_;
  int from_ = 0, end_ = 0;  ///< this block's columns behind the current one
  T* columns_;
  T *v_, *former_v_, *w_;
  T* sums_;
  static constexpr int told = TridiagonalResident::told;
  T* told_;  ///< elements that one thread broadcasts, and sums of warps
  // The reflector of the current column
  R d_ = R(0), beta_ = R(0);
  T tau_ = from_real<T>(0);
};

}  // namespace simt

/// A group of work.blocks blocks reduces one matrix after the other. Each matrix has its own workspace, so groups do not wait for each
/// other, nor do blocks of a group between two matrices.
///
/// Launch: cooperative, a whole number of groups of blocks, of C.threads() threads, with C.elements() elements of dynamic shared memory for
/// the largest matrix.
template <typename T, TridiagonalResident C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), 1) tridiagonal_resident(TridiagonalWork<T> const work) {
  using namespace simt;
  int const here = static_cast<int>(block_index()) % work.blocks, groups = static_cast<int>(block_count()) / work.blocks;
  SIMT_LOOP
  for (int b = static_cast<int>(block_index()) / work.blocks; b < work.count; b += groups) {
    TridiagonalMatrix<T> const m = work.matrix_of(b);
    int const n = work.rows_of(m.number), first = work.behind_panels(n);
    if (first >= n) continue;
    sync_block();  // slow threads may still use the previous matrix
    TridiagonalAcrossBlocks<T, C> across(m, first, n, here, work.blocks);
    across.reduce();
  }
}

}  // namespace myriad
