#pragma once
/// QR of panels by clusters of blocks that have its rows.
///
/// A warp has 32 rows in registers. Thread 4 g + t has rows t, t + 4, ... of columns g, g + 8, ...: it gets its elements of the column of a
/// step by shuffles, and a product of two columns is a sum over four lanes. Blocks send each other their sums, and the block with the first
/// row of what is left sends that row, so that a column costs one barrier of the cluster. Products with columns that are finished are V^H
/// V.
///
/// Sums are added in the order of warps and blocks, whose number depends on the panel's rows alone.

#include "qr/blocked/qr_cluster_config.cuh"
#include "reflectors/reflector.cuh"

namespace myriad {

template <typename T>
class QrOfCluster {
  using R = simt::Real<T>;
  static constexpr int columns = qr_cluster_columns(sizeof(T)), width = columns / 8, height = 8;

 public:
  SIMT_INLINE QrOfCluster(char* shared, int m, int n, int warps)
      : memory_(sizeof(T), warps),
        shared_(reinterpret_cast<T*>(shared)),
        m_(m),
        n_(n),
        warps_(warps),
        rank_(simt::block_in_cluster()),
        warp_(simt::shuffle(simt::thread_index() / 32, 0)),
        first_((rank_ * warps + warp_) * 32 + simt::lane_index() % 4) {}

  SIMT_INLINE void load(T const* from, simt::Index row_stride, simt::Index col_stride) {
    using namespace simt;
    SIMT_UNROLL
    for (int v = 0; v < width; ++v) {
      SIMT_UNROLL
      for (int s = 0; s < height; ++s)
        x_[v][s] = load_global_if(row(s) < m_ && column(v) < n_, from + (row(s) * row_stride + column(v) * col_stride));
    }
  }
  SIMT_INLINE void store(T* to, simt::Index row_stride, simt::Index col_stride) const {
    using namespace simt;
    SIMT_UNROLL
    for (int v = 0; v < width; ++v) {
      SIMT_UNROLL
      for (int s = 0; s < height; ++s)
        if (row(s) < m_ && column(v) < n_) store_global(to + (row(s) * row_stride + column(v) * col_stride), x_[v][s]);
    }
  }
  SIMT_INLINE void factor() { steps_from<0>(); }
  /// In the first block, after factor(): tau of reflector k where i and j are k, and products of reflectors i > j.
  SIMT_INLINE T product(int i, int j) const { return products(i)[j]; }

 private:
  SIMT_INLINE int row(int s) const { return first_ + 4 * s; }
  SIMT_INLINE int column(int v) const { return simt::lane_index() / 4 + 8 * v; }
  SIMT_INLINE T* of_warp(int turn, int warp) const { return shared_ + (turn * warps_ + warp) * columns; }
  SIMT_INLINE T* of_block(int turn, int rank) const { return shared_ + memory_.of_blocks + (turn * qr_cluster_blocks + rank) * columns; }
  /// The first row of what is left: as it leaves, and as it has arrived.
  SIMT_INLINE T* head(int turn) const { return shared_ + memory_.heads + turn * columns; }
  SIMT_INLINE T* head_here(int turn) const { return shared_ + memory_.heads + (2 + turn) * columns; }
  SIMT_INLINE T* products(int k) const { return shared_ + memory_.products + k * columns; }

  /// Steps of the columns that are number v of their threads, and then the next.
  template <int v>
  SIMT_INLINE void steps_from() {
    using namespace simt;
    int const end = smaller(8, smaller(m_, n_) - 8 * v);
    SIMT_LOOP
    for (int g = 0; g < end; ++g) step<v>(g);
    if constexpr (v + 1 < width)
      if (end == 8) steps_from<v + 1>();
  }

  template <int v>
  SIMT_INLINE void step(int g) {
    using namespace simt;
    int const k = 8 * v + g, lane = lane_index(), turn = k & 1;
    T y[height];
    SIMT_UNROLL
    for (int s = 0; s < height; ++s) {
      T const of_column = shuffle(x_[v][s], lane % 4 + 4 * g);
      y[s] = row(s) > k ? of_column : from_real<T>(0);
    }
    T sum[width];
    SIMT_UNROLL
    for (int c = 0; c < width; ++c) {
      sum[c] = from_real<T>(0);
      SIMT_UNROLL
      for (int s = 0; s < height; ++s) sum[c] = conjugate_multiply_add(y[s], x_[c][s], sum[c]);
    }
    // Lanes share the sums: each time half of them keep half of the columns.
    int mine = lane / 4;
    SIMT_UNROLL
    for (int mask = 1, number = width; mask < 4; mask *= 2) {
      bool const odd = (lane & mask) != 0;
      if (number > 1) {
        number /= 2;
        SIMT_UNROLL
        for (int c = 0; c < width / 2; ++c) {
          if (c >= number) continue;
          T const low = sum[c], high = sum[c + number], sent = odd ? low : high;
          sum[c] = (odd ? high : low) + shuffle_xor(sent, mask);
        }
        mine += odd ? 8 * number : 0;
      } else {
        sum[0] = sum[0] + shuffle_xor(sum[0], mask);
      }
    }
    if (width == 4 || lane % 4 < 2) of_warp(turn, warp_)[mine] = sum[0];
    // Row k is one of the first 32.
    bool const has_head = rank_ == 0 && warp_ == 0;
    if (has_head) {
      SIMT_UNROLL
      for (int s = 0; s < height; ++s) {
        SIMT_UNROLL
        for (int c = 0; c < width; ++c)
          if (row(s) == k) head(turn)[column(c)] = x_[c][s];
      }
    }
    sync_block();
    if (warp_ < qr_cluster_blocks) {
      int const c = smaller(lane, columns - 1);
      T total = of_warp(turn, 0)[c];
      SIMT_LOOP
      for (int w = 1; w < warps_; ++w) total = total + of_warp(turn, w)[c];
      SIMT_LOOP
      for (int rank = warp_; rank < qr_cluster_blocks; rank += warps_) {
        if (lane < columns) *in_block_of_cluster(of_block(turn, rank_) + lane, rank) = total;
        if (rank_ == 0 && lane < columns) *in_block_of_cluster(head_here(turn) + lane, rank) = head(turn)[lane];
      }
    }
    sync_cluster();
    int const c = smaller(lane, columns - 1);
    T total = of_block(turn, 0)[c];
    SIMT_UNROLL
    for (int rank = 1; rank < qr_cluster_blocks; ++rank) total = total + of_block(turn, rank)[c];
    T const first = head_here(turn)[c];
    T const alpha = shuffle(first, k);
    R const tail = shuffle(real_part(total), k);
    R const re = real_part(alpha);
    R squares = multiply_add(re, re, tail);
    if constexpr (simt::is_complex<T>) squares = multiply_add(alpha.im, alpha.im, squares);
    Reflector<T> reflector(alpha, tail);
    // As in qr_step: a vector whose sum of squares is lost is taken for zero, and NaN is no small number.
    bool nothing = tail == R(0) || (!reflector.usual && squares < R(1));
    if constexpr (simt::is_complex<T>) nothing = (!reflector.usual && squares < R(1)) || (tail == R(0) && alpha.im == R(0));
    if (nothing) reflector = Reflector<T>(alpha, R(Reflector<T>::identity));
    T const v_scale = nothing ? from_real<T>(0) : reflector.v_scale;
    T const gain = reflector.gain(first, total);
    T const factor = gain * v_scale;
    // Products and tau stay in shared memory until the end of the panel, since a cluster barrier waits for global stores.
    if (rank_ == 0 && warp_ == warps_ - 1) {
      if (lane < k) products(k)[lane] = conjugate_multiply_add(v_scale, total, first);
      if (lane == k) products(k)[lane] = reflector.tau();
    }
    T gains[width];
    SIMT_UNROLL
    for (int c = v; c < width; ++c) {
      T const of_column = shuffle(factor, column(c));
      gains[c] = has_head ? shuffle(gain, column(c)) : from_real<T>(0);
      bool const changes = column(c) > k;
      SIMT_UNROLL
      for (int s = 0; s < height; ++s) {
        if (changes) x_[c][s] = row(s) == k ? x_[c][s] + gains[c] : multiply_add(of_column, y[s], x_[c][s]);
      }
    }
    if (column(v) == k) {
      SIMT_UNROLL
      for (int s = 0; s < height; ++s) x_[v][s] = row(s) > k ? v_scale * y[s] : row(s) == k ? from_real<T>(reflector.beta) : x_[v][s];
    }
  }

  QrClusterMemory memory_;
  T* shared_;
  int m_, n_, warps_, rank_, warp_, first_;
  T x_[width][height];
};

/// Launch: any number of clusters of qr_cluster_blocks blocks of 32 * args.warps threads, for the rows of the largest panel, with
/// QrClusterMemory's elements of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(32 * qr_cluster_most_warps, 1) qr_cluster(QrClusterArguments<T> const args) {
  using namespace simt;
  sync_cluster();  // all blocks have started: see in_block_of_cluster
  for (Index b = block_index() / qr_cluster_blocks; b < args.a.count; b += block_count() / qr_cluster_blocks) {
    int const m = args.a.rows_of(b), n = args.a.cols_of(b);
    if (m == 0 || n == 0) continue;
    QrOfCluster<T> qr(shared_memory(), m, n, args.warps);
    T* const a = args.a.at(b, 0, 0);
    qr.load(a, args.a.row_stride_of(b), args.a.col_stride_of(b));
    T* const gram = args.gram ? args.gram + b * args.line * args.line : nullptr;
    qr.factor();
    qr.store(a, args.a.row_stride_of(b), args.a.col_stride_of(b));
    sync_block();
    int const steps = smaller(m, n);
    SIMT_LOOP
    for (int e = thread_index(); e < steps * steps && block_in_cluster() == 0; e += 32 * args.warps) {
      int const i = e / steps, j = e % steps;
      if (i == j) store_global(args.tau.at(b, i, 0), conjugate_if(args.tau.conjugated, qr.product(i, j)));
      if (i > j && gram) store_global(gram + (i * args.line + j), qr.product(i, j));
    }
    // Shared memory is written again, and must stay while others write to it.
    sync_cluster();
  }
}

}  // namespace myriad
