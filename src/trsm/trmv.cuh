#pragma once
/// x = A x with a triangle of A; each element of A is read once.

#include "trsm/trmv_config.cuh"

namespace myriad {

/// The rows of one matrix that a block computes.
template <typename T, Trmv C>
class TrmvOfBlock {
  static constexpr bool by_columns = C.a == Lines::columns;
  static constexpr int held = C.held(), lanes = C.lanes_of_row(), tile = 32;
  static_assert(held * lanes == (by_columns ? 32 : C.rows * 32 / C.warps) && C.rows <= tile);

 public:
  /// Matrix `b` has n rows.
  SIMT_INLINE TrmvOfBlock(TrmvArguments<T> const& args, simt::Index b, int n)
      : args_(args),
        b_(b),
        n_(n),
        row_(by_columns ? simt::thread_index() % C.rows : simt::thread_index() / 32 * held),
        column_(by_columns ? simt::thread_index() / C.rows : simt::lane_index()),
        a_(args.a.at(b, 0, 0)),
        down_(args.a.row_stride_of(b)),
        right_(args.a.col_stride_of(b)) {}

  /// Computes the rows of part `part`, the longest first: so a block with several parts may overwrite x.
  SIMT_INLINE void run(simt::Index part) {
    if (n_ <= tile) {
      if (part == 0) small();
      return;
    }
    int const strips = simt::ceil_div(n_, C.rows);
    SIMT_LOOP
    for (int s = static_cast<int>(part); s < strips; s += static_cast<int>(args_.parts)) rows((args_.lower ? strips - 1 - s : s) * C.rows);
  }

 private:
  SIMT_INLINE T* x() const { return reinterpret_cast<T*>(simt::shared_memory()); }
  SIMT_INLINE T* sums() const { return x() + args_.terms; }
  SIMT_INLINE T* result(int i) const { return args_.x.at(b_, i, 0); }

  /// Loads x from `begin` to `end`, as far as it is in chunk `chunk`.
  SIMT_INLINE void load(int chunk, int begin, int end) {
    if (chunk == chunk_) return;  // these elements of the chunk are loaded already
    chunk_ = chunk;
    int const first = chunk * args_.terms;
    simt::sync_block();
    T const* const from = args_.kept ? args_.kept + b_ * args_.x.rows : args_.x.at(b_, 0, 0);
    simt::Index const stride = args_.kept ? 1 : args_.x.row_stride_of(b_);
    SIMT_UNROLL_BY(4)
    for (int j = simt::larger(begin, first) + simt::thread_index(); j < simt::smaller(end, first + args_.terms); j += C.threads())
      x()[j - first] = from[j * stride];
    simt::sync_block();
  }

  SIMT_INLINE void rows(int i0) {
    using namespace simt;
    bool const lower = args_.lower;
    int const diagonal = i0 / tile, begin = lower ? 0 : diagonal, end = lower ? diagonal + 1 : ceil_div(n_, tile);
    T sum[held];
    SIMT_UNROLL
    for (int e = 0; e < held; ++e) sum[e] = from_real<T>(0);
    int const tiles_of_chunk = args_.terms / tile;
    SIMT_LOOP
    for (int chunk = begin / tiles_of_chunk; chunk * tiles_of_chunk < end; ++chunk) {
      load(chunk, lower ? 0 : i0, lower ? smaller(i0 + C.rows, n_) : n_);
      int const last = smaller(end, (chunk + 1) * tiles_of_chunk);
      SIMT_LOOP
      for (int t = larger(begin, chunk * tiles_of_chunk); t < last; t += C.tiles) {
        bool const inside = t + C.tiles <= last && (lower ? t + C.tiles <= diagonal : t > diagonal && (t + C.tiles) * tile <= n_);
        if (inside)
          add<true>(sum, i0, t, last);
        else
          add<false>(sum, i0, t, last);
      }
    }
    finish(sum, i0);
  }

  /// Adds the products of tiles t to `last`. `inside`: all are fully inside the triangle.
  template <bool inside>
  SIMT_INLINE void add(T (&sum)[held], int i0, int t, int last) const {
    using namespace simt;
    int const i = i0 + row_, j0 = t * tile + column_;
    // Rows behind the last one repeat the last one, and are not stored.
    T const* const from = a_ + (by_columns ? smaller(i, n_ - 1) : i) * down_ + j0 * right_;
    T const* const right = x() + (j0 - chunk_ * args_.terms);
    auto const row = [&](int e) { return by_columns ? i : i + e; };
    auto const column = [&](int u, int e) { return u * tile + (by_columns ? e * lanes : 0); };
    auto const stored = [&](int u, int e) {
      if constexpr (inside) return by_columns || row(e) < n_;
      int const j = j0 + column(u, e);
      return row(e) < n_ && t + u < last && j < n_ && (args_.lower ? j <= row(e) : j >= row(e));
    };
    auto const one = [&](int u, int e) { return !inside && args_.unit && j0 + column(u, e) == row(e); };
    T left[C.tiles][held];
    SIMT_UNROLL
    for (int u = 0; u < C.tiles; ++u) {
      SIMT_UNROLL
      for (int e = 0; e < held; ++e) {
        T const* const element = from + ((by_columns ? 0 : e) * down_ + column(u, e) * right_);
        left[u][e] = inside && by_columns ? load_global(element) : load_global_if(stored(u, e) && !one(u, e), element);
      }
    }
    SIMT_UNROLL
    for (int u = 0; u < C.tiles; ++u) {
      SIMT_UNROLL
      for (int e = 0; e < held; ++e) {
        T const factor = one(u, e) ? from_real<T>(1) : left[u][e];
        if (stored(u, e)) sum[e] = multiply_add(conjugate_if(args_.a.conjugated, factor), right[column(u, e)], sum[e]);
      }
    }
  }

  SIMT_INLINE void finish(T (&sum)[held], int i0) {
    using namespace simt;
    if constexpr (by_columns) {
      add_halves<held>(sum);
      // Double-buffered, so that one barrier suffices.
      T* const place = sums() + turn_ * C.threads();
      turn_ ^= 1;
      place[thread_index()] = sum[0];
      sync_block();
      if (thread_index() < C.rows && i0 + thread_index() < n_) {
        T part[lanes];
        SIMT_UNROLL
        for (int p = 0; p < lanes; ++p) part[p] = place[p * C.rows + thread_index()];
        add_halves<lanes>(part);
        store_global(result(i0 + thread_index()), part[0]);
      }
    } else {
      SIMT_UNROLL
      for (int e = 0; e < held; ++e) {
        SIMT_UNROLL
        for (int distance = 16; distance > 0; distance /= 2) sum[e] = sum[e] + shuffle_xor(sum[e], distance);
        if (lane_index() == 0 && i0 + row_ + e < n_) store_global(result(i0 + row_ + e), sum[e]);
      }
    }
  }
  /// Reduces the first `some` sums to sum[0], pairwise.
  template <int some, int count>
  SIMT_INLINE static void add_halves(T (&sum)[count]) {
    if constexpr (some > 1) {
      SIMT_UNROLL
      for (int p = 0; p < some / 2; ++p) sum[p] = sum[p] + sum[p + some / 2];
      add_halves<some / 2>(sum);
    }
  }

  /// Sums in the order of the columns, with zeros for the other triangle: the same bits as the kernels for small matrices.
  SIMT_INLINE void small() {
    using namespace simt;
    load(0, 0, n_);
    int const i = thread_index();
    if (i >= n_) return;
    T sum = from_real<T>(0);
    SIMT_LOOP
    for (int j = 0; j < n_; ++j) {
      T left = from_real<T>(args_.unit && i == j ? 1 : 0);
      if (args_.lower ? j < i : j > i) left = a_[i * down_ + j * right_];
      if (!args_.unit && i == j) left = a_[i * (down_ + right_)];
      sum = multiply_add(conjugate_if(args_.a.conjugated, left), x()[j], sum);
    }
    *result(i) = from_real<T>(1) * sum;  // alpha = 1, as in every product
  }

  TrmvArguments<T> const& args_;
  simt::Index b_;
  int n_, row_, column_;
  T const* a_;
  simt::Index down_, right_;
  int chunk_ = -1, turn_ = 0;
};

/// A has unit stride along columns or rows, as C.a says; with Lines::columns any strides are allowed. x may have any stride.
///
/// Launch: args.x.count * args.parts blocks, or fewer, of C.threads() threads with C.shared_bytes(sizeof(T), args.terms) bytes of dynamic
/// shared memory.
template <typename T, Trmv C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) trmv(TrmvArguments<T> const args) {
  using namespace simt;
  Index const all = args.x.count * args.parts;
  SIMT_LOOP
  for (Index at = block_index(); at < all; at += block_count()) {
    Index const b = args.parts == 1 ? at : at / args.parts;
    int const n = args.x.rows_of(b);
    if (n > 0 && args.x.cols_of(b) > 0) TrmvOfBlock<T, C>(args, b, n).run(at - b * args.parts);
    if (at + block_count() < all) sync_block();
  }
}

/// Launch: any number of blocks of 128 threads.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(128, 1) trmv_keep(TrmvKeepArguments<T> const args) {
  using namespace simt;
  for (Index at = block_index() * 128 + thread_index(); at < args.x.count * args.x.rows; at += block_count() * 128) {
    Index const b = at / args.x.rows;
    int const i = static_cast<int>(at - b * args.x.rows);
    if (i < args.x.rows_of(b) && args.x.cols_of(b) > 0) args.kept[at] = *args.x.at(b, i, 0);
  }
}

}  // namespace myriad
