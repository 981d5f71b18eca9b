#pragma once
/// Reduces the columns of a panel of a large matrix, one reflection after the other, by all blocks of a launch.

#include "eigen/tridiagonal/tridiagonal_product.cuh"
#include "reflectors/reflector.cuh"

namespace myriad {

namespace simt {

/// Rows and columns are counted from the panel's first; the trailing matrix A is not changed. A step starts with its updated column x.
/// First it computes A x, x^H A x, V^H x and W^H x. These give the reflector with H^H A H = A - v w^H - w v^H, v = (x - beta e1) / (alpha -
/// beta), w = y - |tau|^2 / 2 (v^H y') v, where y = tau y' and y' = (A - V W^H - W V^H) v. Then v and w give the next column. A grid
/// barrier follows each of the two parts. A block processes groups of 32 rows; its warps divide the terms of their sums.
template <typename T, TridiagonalPanel C>
class TridiagonalColumns {
  using R = Real<T>;
  using Product = TridiagonalProduct<T, C>;
  static constexpr int warps = C.warps, width = C.width;
  static_assert(width <= 32 && 2 * width <= C.threads() && 2 * width % warps == 0 && 2 * width / warps <= 16);
  static_assert(warps > 3 && width < C.tile_columns());

 public:
  SIMT_INLINE explicit TridiagonalColumns(TridiagonalWork<T> const& work)
      : m_(work.matrix),
        first_(work.first),
        n_(work.rows() - work.first),
        rounds_(work.rounds),
        here_(static_cast<int>(block_index())),
        blocks_(static_cast<int>(block_count())),
        ld_(m_.ld),
        a_(m_.a + first_ * (ld_ + 1)),
        x_(m_.x + first_),
        v_(m_.v + first_),
        w_(m_.w + first_),
        product_(work) {}

  SIMT_INLINE void reduce() {
    product_.hold_tiles();
    for_each_group([&](int group, int i, bool held) {
      if (warp() == 0) keep_x(group, i, held, 0, a_[i]);
    });
    int const columns = smaller(n_ - 1, width);
    if (columns == 0) return;
    arrive();
    SIMT_LOOP
    for (int k = 0; k < columns; ++k) {
      product_.read_ahead();
      wait();
      multiply(k);
      arrive();
      find_reflector(k);
      T const in_panel = update_next_column(k);
      wait();
      bool const last = k + 1 == columns;
      combine(k, in_panel, last);
      if (!last) arrive();
    }
    store(columns);
  }

 private:
  SIMT_INLINE void arrive() const { arrive_at_grid(m_.arrived, rounds_); }
  SIMT_INLINE void wait() { wait_for_grid(m_.arrived, rounds_++); }
  SIMT_INLINE static int warp() { return thread_index() / 32; }
  SIMT_INLINE static T* shared(int at) { return reinterpret_cast<T*>(shared_memory()) + at; }
  static constexpr int of_type = sizeof(T);
  /// Two numbers per thread.
  SIMT_INLINE static T* of_threads() { return shared(0); }
  SIMT_INLINE static T* parked() { return shared(C.parked_at(of_type)); }
  /// V^H v, W^H v, and the conjugates of the next column's row of V and W.
  SIMT_INLINE static T* v_by_v() { return shared(C.factors_at(of_type)); }
  SIMT_INLINE static T* w_by_v() { return v_by_v() + width; }
  SIMT_INLINE static T* row_of_v() { return w_by_v() + width; }
  SIMT_INLINE static T* row_of_w() { return row_of_v() + width; }
  SIMT_INLINE static R* real_of_warps(int number) { return reinterpret_cast<R*>(shared(C.of_warps_at(of_type)) + number * warps); }
  SIMT_INLINE static T* of_warps() { return shared(C.of_warps_at(of_type)) + 2 * warps; }
  SIMT_INLINE static T* told() { return shared(C.told_at(of_type)); }
  SIMT_INLINE static T* x_of_group(bool held) { return shared(C.group_at(of_type)) + (held ? 0 : 32); }
  SIMT_INLINE static T* v_of_group() { return shared(C.group_at(of_type)) + 64; }
  SIMT_INLINE static T* w_of_group() { return v_of_group() + 32 * width; }

  template <typename X>
  SIMT_INLINE static X sum_of_lanes(X value) {
    SIMT_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) value = value + shuffle_xor(value, mask);
    return value;
  }
  template <typename X>
  SIMT_INLINE static X sum_of(X const* of_warps) {
    X sum = of_warps[0];
    SIMT_UNROLL
    for (int w = 1; w < warps; ++w) sum = sum + of_warps[w];
    return sum;
  }
  SIMT_INLINE static R square(T x) {
    R sum = real_part(x) * real_part(x);
    if constexpr (is_complex<T>) sum = multiply_add(x.im, x.im, sum);
    return sum;
  }

  SIMT_INLINE int groups() const { return ceil_div(n_, 32); }
  /// Calls use(group, i, held) for this block's groups, where i is the lane's row. V and W of the first group are also in shared memory
  /// (`held`).
  template <typename Use>
  SIMT_INLINE void for_each_group(Use use) const {
    SIMT_LOOP
    for (int group = here_; group < groups(); group += blocks_) use(group, group * 32 + lane_index(), group == here_);
  }
  /// This warp's part of the sum of V(i, k) v_factor(k) + W(i, k) w_factor(k) over columns of the panel, with factors from shared memory.
  SIMT_INLINE T by_rows(int i, bool held, int columns, T const* v_factors, T const* w_factors) const {
    T const *const v = held ? v_of_group() + lane_index() : v_ + i, *const w = held ? w_of_group() + lane_index() : w_ + i;
    Index const right = held ? 32 : ld_;
    T sum = from_real<T>(0);
    SIMT_UNROLL
    for (int u = 0; u < ceil_div(width, warps); ++u) {
      int const k = warp() + u * warps;
      if (k >= columns) continue;
      sum = multiply_add(v[k * right], v_factors[k], sum);
      sum = multiply_add(w[k * right], w_factors[k], sum);
    }
    return sum;
  }

  /// Stores row i of column `column`, without elements above it and behind the last row; called by one warp.
  SIMT_INLINE void keep_x(int group, int i, bool held, int column, T value) const {
    if (i == column) m_.d[first_ + column] = real_part(value);
    T const x = i > column && i < n_ ? value : from_real<T>(0);
    x_[i] = x_of_group(held)[lane_index()] = x;
    R const squares = sum_of_lanes(i > column + 1 ? square(x) : R(0));
    if (lane_index() == 0) m_.squares[group] = squares;
  }

  /// Computes A x as partial sums, and V^H x and W^H x.
  SIMT_INLINE void multiply(int k) {
    // Values needed only at the end are loaded together with x. Groups are assigned from the last block on, since the first ones may have
    // one piece more.
    R squares = R(0);
    SIMT_LOOP
    for (int group = thread_index(); group < groups(); group += C.threads()) squares = squares + m_.squares[group];
    T const of_columns = part_of_product(blocks_ - 1 - here_, k);
    alpha_ = x_[k + 1];
    parked()[thread_index()] = of_columns;
    parked()[C.threads() + thread_index()] = from_real<T>(squares);
    R x_a_x = product_.multiply();
    squares = real_part(parked()[C.threads() + thread_index()]);
    T sum = parked()[thread_index()];
    SIMT_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) {
      squares = squares + shuffle_xor(squares, mask);
      x_a_x = x_a_x + shuffle_xor(x_a_x, mask);
      sum = sum + shuffle_xor(sum, mask);
    }
    if (lane_index() == 0) {
      real_of_warps(0)[warp()] = squares;
      real_of_warps(1)[warp()] = x_a_x;
      of_warps()[warp()] = sum;
    }
    sync_block();
    if (thread_index() == 0) {
      m_.x_a_x[here_] = sum_of(real_of_warps(1));
      if (blocks_ - 1 - here_ < 2 * width) m_.products[blocks_ - 1 - here_] = sum_of(of_warps());
    }
    SIMT_LOOP
    for (int t = 2 * blocks_ - 1 - here_; t < 2 * width; t += blocks_) {
      sum = sum_of_lanes(part_of_product(t, k));
      sync_block();
      if (lane_index() == 0) of_warps()[warp()] = sum;
      sync_block();
      if (thread_index() == 0) m_.products[t] = sum_of(of_warps());
    }
  }
  /// This thread's part of the product of x with column t of V and W, if there is one.
  SIMT_INLINE T part_of_product(int t, int columns) const {
    T sum = from_real<T>(0);
    if (t >= 2 * width || t % width >= columns) return sum;
    SIMT_LOOP
    for (int group = thread_index(); group < groups(); group += C.threads()) sum = sum + m_.products_of_groups[t * groups() + group];
    return sum;
  }

  SIMT_INLINE void find_reflector(int k) {
    Reflector<T> reflector(alpha_, sum_of(real_of_warps(0)));
    // A column that is zero, or so small in a matrix of norm one that its square underflows, is taken as zero.
    bool const none = !reflector.usual;
    if (none) reflector = Reflector<T>(alpha_, R(Reflector<T>::identity));
    beta_ = reflector.beta;
    tau_ = reflector.tau();
    v_scale_ = none ? from_real<T>(0) : reflector.v_scale;
    if (here_ == 0 && thread_index() == 0) {
      m_.e[first_ + k] = beta_;
      m_.tau[first_ + k] = tau_;
    }
  }

  /// This warp's part of the update of column k + 1 by the panel's columns before k.
  SIMT_INLINE T update_next_column(int k) const {
    int const t = thread_index(), column = t % width;
    if (t < 2 * width) row_of_v()[t] = column < k ? conjugate((t < width ? v_ : w_)[k + 1 + column * ld_]) : from_real<T>(0);
    sync_block();
    return here_ < groups() ? by_rows(here_ * 32 + lane_index(), true, k, row_of_w(), row_of_v()) : from_real<T>(0);
  }

  /// Computes v and w, the next column, and its products with V and W unless this is the last one.
  SIMT_INLINE void combine(int k, T in_panel, bool last) {
    int const next = k + 1, lane = lane_index();
    TridiagonalTiles const& tiles = product_.tiles();
    R const corner = real_part(a_[next + next * ld_]);
    // Three warps compute the numbers that the whole block needs.
    if (warp() == 0) {
      T p = from_real<T>(0), q = from_real<T>(0), row = from_real<T>(0);
      R both = R(0);
      if (lane < k) {
        p = v_scale_ * (m_.products[lane] - beta_ * row_of_v()[lane]);
        q = v_scale_ * (m_.products[width + lane] - beta_ * row_of_w()[lane]);
        row = conjugate_multiply_add(row_of_v()[lane], q, conjugate(row_of_w()[lane]) * p);
        both = real_part(conjugate(p) * q);
      }
      if (lane < width) {
        v_by_v()[lane] = p;
        w_by_v()[lane] = q;
      }
      row = sum_of_lanes(row);
      both = sum_of_lanes(both);
      if (lane == 0) {
        told()[0] = row;
        told()[1] = from_real<T>(both);
      }
    } else if (warp() == 1) {
      R sum = R(0);
      SIMT_UNROLL_BY(8)
      for (int b = lane; b < blocks_; b += 32) sum = sum + m_.x_a_x[b];
      sum = sum_of_lanes(sum);
      if (lane == 0) told()[2] = from_real<T>(sum);
    } else if (warp() == 2) {
      T sum = lane == 0 ? m_.sums[tiles.row_sums(next / tiles.rows) + next % tiles.rows] : from_real<T>(0);
      int const pieces = tiles.pieces_of(0);
      SIMT_LOOP
      for (int number = lane; number < pieces; number += 32) sum = sum + m_.sums[tiles.column_sums_of(0, number) + next];
      sum = sum_of_lanes(sum);
      if (lane == 0) told()[3] = sum;
    }
    T a_x = from_real<T>(0), own = from_real<T>(0);
    if (here_ < groups()) {
      int const i = here_ * 32 + lane;
      if (warp() == warps - 1) own = a_[i + next * ld_];
      a_x = product_.part_of_row(i);
    }
    sync_block();
    T const a_x_next = told()[3];
    // (A x - beta A e1) / (alpha - beta) = A v
    T const first_y = tau_ * (v_scale_ * (a_x_next - from_real<T>(beta_ * corner)) - told()[0]);
    R const v_a_v = square(v_scale_) * (real_part(told()[2]) + beta_ * (beta_ * corner - R(2) * real_part(a_x_next)));
    R const half = R(0.5) * square(tau_) * (v_a_v - R(2) * real_part(told()[1]));
    T const first_w = first_y - from_real<T>(half);
    for_each_group([&](int group, int i, bool held) {
      if (!held) {
        a_x = product_.part_of_row(i);
        in_panel = by_rows(i, false, k, row_of_w(), row_of_v());
        own = a_[i + next * ld_];
      }
      of_threads()[thread_index()] = v_scale_ * a_x - by_rows(i, held, k, w_by_v(), v_by_v());
      of_threads()[C.threads() + thread_index()] = in_panel;
      // The last warp is idle here, so it finishes the sums.
      sync_block();
      if (warp() == warps - 1) {
        T y = from_real<T>(0), base = from_real<T>(0);
        SIMT_UNROLL
        for (int w = 0; w < warps; ++w) {
          y = y + of_threads()[w * 32 + lane];
          base = base + of_threads()[C.threads() + w * 32 + lane];
        }
        T const element = i == next ? from_real<T>(real_part(own)) : own;
        T const x = held ? x_of_group(true)[lane] : x_[i];
        bool const mine = i >= next && i < n_;
        T const v = i == next ? from_real<T>(1) : mine ? v_scale_ * x : from_real<T>(0);
        T const w = mine ? tau_ * (y - v_scale_ * (beta_ * element)) - half * v : from_real<T>(0);
        v_[i + k * ld_] = v;
        w_[i + k * ld_] = w;
        if (held) {
          v_of_group()[k * 32 + lane] = v;
          w_of_group()[k * 32 + lane] = w;
        }
        keep_x(group, i, held, next, subtract_product(element - base, v, conjugate(first_w)) - w);
      }
      sync_block();
      if (!last) multiply_group(group, i, held, next);
    });
  }
  /// Products of a group's rows of x with `columns` columns of V and W; a warp has every `warps`-th column.
  SIMT_INLINE void multiply_group(int group, int i, bool held, int columns) const {
    constexpr int mine = 2 * width / warps;
    T const *const v = held ? v_of_group() + lane_index() : v_ + i, *const w = held ? w_of_group() + lane_index() : w_ + i;
    Index const right = held ? 32 : ld_;
    T const x = x_of_group(held)[lane_index()];
    T sum[mine];
    SIMT_UNROLL
    for (int u = 0; u < mine; ++u) {
      int const t = warp() + u * warps, k = t % width;
      sum[u] = k < columns ? conjugate((t < width ? v : w)[k * right]) * x : from_real<T>(0);
    }
    add_over_lanes(sum);
    constexpr int lanes_of_one = 32 / mine;
    int const t = warp() + lane_index() / lanes_of_one * warps;
    if (lane_index() % lanes_of_one == 0 && t % width < columns) m_.products_of_groups[t * groups() + group] = sum[0];
  }

  /// Stores v in place of A's columns, which are not read any more.
  SIMT_INLINE void store(int columns) const {
    for_each_group([&](int, int i, bool held) {
      SIMT_LOOP
      for (int k = warp(); k < columns; k += warps)
        if (i > k && i < n_) a_[i + k * ld_] = held ? v_of_group()[k * 32 + lane_index()] : v_[i + k * ld_];
    });
  }

  TridiagonalMatrix<T> const& m_;
  int first_, n_;
  unsigned rounds_;
  int here_, blocks_;
  Index ld_;
  T *a_, *x_, *v_, *w_;  ///< from the panel's first row and column on
  Product product_;
  // The reflector of the current column
  T alpha_ = from_real<T>(0);
  R beta_ = R(0);
  T tau_ = from_real<T>(0);
  T v_scale_ = from_real<T>(0);  ///< 1 / (alpha - beta); zero if there is nothing to reflect
};

}  // namespace simt

/// Launch: cooperative, any number of blocks of C.threads() threads with C.shared_bytes(sizeof(T), work.held) of dynamic shared memory.
template <typename T, TridiagonalPanel C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) tridiagonal_panel(TridiagonalWork<T> const work) {
  using namespace simt;
  if (!work.has_panel()) return;
  TridiagonalColumns<T, C> columns(work);
  columns.reduce();
}

}  // namespace myriad
