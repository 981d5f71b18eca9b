#pragma once
/// Solves A x = b with a triangle of A, row by row: blocks have strips of rows, and subtract products with solved strips as soon as these
/// are ready.

#include "simt/divisor.hpp"
#include "trsm/trsv_config.cuh"

namespace myriad {

/// A block's strips of one matrix. An upper triangle is treated as a lower one with rows and columns counted from the end.
template <typename T, Trsv C>
class TrsvOfBlock {
  static constexpr int strip = C.rows(), at_once = C.columns;
  static_assert(32 % at_once == 0);

 public:
  /// Matrix `b` has n rows.
  SIMT_INLINE TrsvOfBlock(TrsvArguments<T> const& args, simt::Index b, int n)
      : args_(args),
        n_(n),
        warp_(simt::shuffle(simt::thread_index() / 32, 0)),
        lane_(simt::lane_index()),
        a_(args.a.at(b, 0, 0)),
        x_(args.x.at(b, 0, 0)),
        down_(args.a.row_stride_of(b)),
        right_(args.a.col_stride_of(b)),
        step_(args.x.row_stride_of(b)),
        done_(args.done ? args.done + b : nullptr) {
    if (args.lower) return;
    a_ += (n - 1) * (down_ + right_);
    x_ += (n - 1) * step_;
    down_ = -down_, right_ = -right_, step_ = -step_;
  }

  SIMT_INLINE void run(simt::Index part) {
    int const strips = simt::ceil_div(n_, strip);
    SIMT_LOOP
    for (int s = static_cast<int>(part); s < strips; s += static_cast<int>(args_.parts)) solve(s);
  }

 private:
  SIMT_INLINE static T* shared() { return reinterpret_cast<T*>(simt::shared_memory()); }
  /// The tile of warp w's rows and the strip's columns number `columns`.
  SIMT_INLINE static T* tile(int w, int columns) { return shared() + (w * (w + 1) / 2 + columns) * C.tile(); }
  /// x of the strip itself, and of a previous strip.
  SIMT_INLINE static T* own() { return shared() + C.x(); }
  SIMT_INLINE static T* former() { return own() + strip; }
  SIMT_INLINE T conjugated(T x) const { return simt::conjugate_if(args_.a.conjugated, x); }

  /// Starts loading the warp's rows of the strip, up to the diagonal; `first` is its first row. Does not wait.
  SIMT_INLINE void load(int first) const {
    using namespace simt;
    bool const by_rows = down_ != 1 && down_ != -1;
    SIMT_LOOP
    for (int columns = 0; columns <= warp_; ++columns) {
      int const j0 = first - 32 * (warp_ - columns);
      SIMT_UNROLL_BY(8)
      for (int e = 0; e < 32; ++e) {
        int const i = by_rows ? e : lane_, k = by_rows ? lane_ : e;
        bool const stored = first + i < n_ && (columns < warp_ || (args_.unit ? i > k : i >= k));
        if (stored) copy_async(tile(warp_, columns) + (k * 33 + i), a_ + ((first + i) * down_ + (j0 + k) * right_));
      }
    }
  }

  SIMT_INLINE void solve(int s) {
    using namespace simt;
    int const first = s * strip + 32 * warp_, i = first + lane_;
    bool const exists = i < n_;
    sync_block();  // all threads have read the previous strip
    load(first);
    T x = exists ? from_real<T>(1) * x_[i * step_] : from_real<T>(0);  // alpha = 1, as in trsm

    // Products with previous strips: columns are prefetched.
    T factors[2][at_once];
    T const* const row = a_ + (exists ? i : n_ - 1) * down_;
    auto const ask = [&](T(&to)[at_once], int j0) {
      SIMT_UNROLL
      for (int t = 0; t < at_once; ++t) to[t] = load_global(row + (j0 + t) * right_);
    };
    auto const subtract = [&](T const(&factor)[at_once], int place) {
      SIMT_UNROLL
      for (int t = 0; t < at_once; ++t) x = subtract_product(x, conjugated(factor[t]), former()[place + t]);
    };
    if (s > 0) ask(factors[0], 0);
    SIMT_LOOP
    for (int k = 0; k < s; ++k) {
      if (done_) wait_for_signals(done_, static_cast<unsigned>(k) + 1);
      former()[thread_index()] = x_[(k * strip + thread_index()) * step_];
      sync_block();
      int const j0 = k * strip;
      SIMT_LOOP
      for (int j = 0; j < strip; j += 2 * at_once) {
        ask(factors[1], j0 + j + at_once);
        subtract(factors[0], j);
        if (int const next = j0 + j + 2 * at_once; next < s * strip) ask(factors[0], next);
        subtract(factors[1], j + at_once);
      }
      sync_block();
    }

    // The strip itself, one warp after the other
    wait_copies();
    sync_warp();
    T const diagonal = exists && !args_.unit ? tile(warp_, warp_)[lane_ * 34] : from_real<T>(1);
    Divisor<T, true> divisor(conjugated(diagonal));
    Real<T> const scale = divisor.usual() ? Real<T>(1) : divisor.make_usual();
    SIMT_LOOP
    for (int w = 0; w < C.warps; ++w) {
      T const* const mine = tile(warp_, smaller(w, warp_));
      if (w == warp_) {
        SIMT_UNROLL_BY(8)
        for (int k = 0; k < 32; ++k) {
          // Multiplying by the reciprocal of a complex one would turn the other part of an infinite number into NaN.
          T const quotient = simt::is_complex<T> && args_.unit ? x : (scale * x) * divisor.reciprocal_of_y, solution = shuffle(quotient, k);
          if (lane_ == k) x = quotient;
          if (lane_ > k && exists) x = subtract_product(x, conjugated(mine[k * 33 + lane_]), solution);
        }
        own()[32 * w + lane_] = x;
        if (exists) x_[i * step_] = x;
      }
      sync_block();
      if (w < warp_ && exists) {
        SIMT_UNROLL_BY(8)
        for (int k = 0; k < 32; ++k) x = subtract_product(x, conjugated(mine[k * 33 + lane_]), own()[32 * w + k]);
      }
    }
    if (done_) signal(done_);
  }

  TrsvArguments<T> const& args_;
  int n_, warp_, lane_;
  T const* a_;
  T* x_;
  simt::Index down_, right_, step_;
  unsigned* done_;
};

/// Divisions and sums are those of trsm_tiny, in the same order, whatever the number of blocks.
///
/// Launch: args.x.count * args.parts blocks of C.threads() threads with C.shared_bytes(sizeof(T)) bytes of dynamic shared memory;
/// cooperative, or any number of blocks with one part per matrix.
template <typename T, Trsv C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) trsv(TrsvArguments<T> const args) {
  using namespace simt;
  SIMT_LOOP
  for (Index at = block_index(); at < args.x.count * args.parts; at += block_count()) {
    Index const b = args.parts == 1 ? at : at / args.parts;
    int const n = args.x.rows_of(b);
    if (n > 0 && args.x.cols_of(b) > 0) TrsvOfBlock<T, C>(args, b, n).run(at - b * args.parts);
  }
}

}  // namespace myriad
