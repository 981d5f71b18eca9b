// Singular values and vectors of small matrices, one matrix per vector lane. See simd/pack-inl.hpp for how matrices become packs.
//
// A = Q R P^H with column pivoting, then rotations J of the columns of R^H until they are orthogonal (one-sided Jacobi): R^H J = V S, so
// that A = (Q J) S (P V)^H. Pivoting bounds the number of sweeps, and makes small singular values of matrices with graded columns accurate;
// rows that differ much in size are sorted first, for matrices with graded rows (Higham 2000; Drmac and Veselic 2008).
// J is not accumulated but recovered from R^H J = V S (see recover_rotations).

#include <bit>
#include <cmath>

#include "svd/svd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "svd/svd_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "qr/qr.hpp"
#include "qr/qr_packs-inl.hpp"
#include "simd/pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// Numbers of the type R. Matrices are scaled so that their largest part has the exponent `top`. Columns shorter than `smallest` do not
/// count as accurate: their squares lose digits.
template <typename R>
struct SvdRange {
  static constexpr bool narrow = sizeof(R) == 4;
  static constexpr int top = narrow ? 30 : 250;
  static constexpr R smallest_squared = narrow ? R(0x1p-60) : static_cast<R>(0x1p-500);
  /// Keeps squares of cosines, times those of ratios of columns, in the range.
  static constexpr R guard = narrow ? R(0x1p48) : static_cast<R>(0x1p100);
  /// A sweep in which every cosine and every sine of a rotation is below these is the last: what it leaves is of the order of their
  /// product. Cosines alone would not do, since columns of nearly equal length are turned by large angles whatever their cosine.
  static constexpr R last_cosine = narrow ? R(0x1p-15) : static_cast<R>(0x1p-30);
  static constexpr R last_sine = narrow ? R(0x1p-10) : static_cast<R>(0x1p-24);
  /// Cosines up to this are not rotated away.
  static HWY_INLINE R rotated(int n) { return std::numeric_limits<R>::epsilon() * std::sqrt(static_cast<R>(n)); }
};

/// 2^exponent, a normal number.
template <typename R>
HWY_INLINE R power_of_two(int exponent) {
  if constexpr (sizeof(R) == 4)
    return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  else
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// The powers of two by which lanes are scaled, as two factors. Results of matrices of zeros are scaled back to zero.
template <typename T>
struct LaneScales {
  using R = typename Pack<T>::R;
  static constexpr int lanes = Pack<T>::lanes;
  HWY_ALIGN R first[lanes], second[lanes], back_first[lanes], back_second[lanes];

  HWY_INLINE explicit LaneScales(R const* largest) {
    for (int lane = 0; lane < lanes; ++lane) {
      int const shift = largest[lane] > 0 ? SvdRange<R>::top - std::ilogb(largest[lane]) : 0, half = shift / 2;
      first[lane] = power_of_two<R>(half);
      second[lane] = power_of_two<R>(shift - half);
      back_first[lane] = largest[lane] > 0 ? power_of_two<R>(-half) : R(0);
      back_second[lane] = power_of_two<R>(half - shift);
    }
  }
};

/// Per-lane orders of rows or columns.
template <typename T, int most>
struct LaneOrder {
  std::int16_t of[Pack<T>::lanes][most];
};

/// Sorts the rows of lanes with uneven rows by their largest parts, descending. Returns whether there are any; `order` has the rows that
/// came to each place, in all lanes.
template <typename T>
HWY_NOINLINE bool sort_rows(PackMatrix<T> a, int m, int n, typename Pack<T>::R* HWY_RESTRICT sizes, LaneOrder<T, svd_lane_rows>& order) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  constexpr R uneven = 8;
  auto most = hn::Zero(d), least = hn::Set(d, std::numeric_limits<R>::max());
  for (int i = 0; i < m; ++i) {
    auto size = hn::Zero(d);
    for (int j = 0; j < n; ++j) size = hn::Max(size, abs_max<T>(a.load(i, j)));
    hn::Store(size, d, sizes + i * P::lanes);
    most = hn::Max(most, size);
    least = hn::Min(least, size);
  }
  auto const is_uneven = hn::Gt(most, hn::Mul(least, hn::Set(d, uneven)));
  if (hn::AllFalse(d, is_uneven)) return false;
  HWY_ALIGN R sorts[P::lanes];
  hn::Store(hn::IfThenElse(is_uneven, hn::Set(d, R(1)), hn::Zero(d)), d, sorts);
  R column[svd_lane_rows];
  constexpr int parts = P::size / P::lanes;
  for (int lane = 0; lane < P::lanes; ++lane) {
    std::int16_t* const rows = order.of[lane];
    for (int i = 0; i < m; ++i) rows[i] = static_cast<std::int16_t>(i);
    if (sorts[lane] == 0) continue;
    std::stable_sort(rows, rows + m, [&](int x, int y) { return sizes[x * P::lanes + lane] > sizes[y * P::lanes + lane]; });
    for (int j = 0; j < n; ++j)
      for (int part = 0; part < parts; ++part) {
        int const at = part * P::lanes + lane;
        for (int i = 0; i < m; ++i) column[i] = a.at(rows[i], j)[at];
        for (int i = 0; i < m; ++i) a.at(i, j)[at] = column[i];
      }
  }
  return true;
}

/// QR with column pivoting of n columns of m >= n rows: column k of A P is column pivots.of[lane][k] of A.
template <typename T>
HWY_NOINLINE void factor_pivoted(PackMatrix<T> a, int m, int n, typename Pack<T>::R* HWY_RESTRICT tau, LaneOrder<T, 32>& pivots) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  HWY_ALIGN R chosen[P::lanes];
  for (int lane = 0; lane < P::lanes; ++lane)
    for (int j = 0; j < n; ++j) pivots.of[lane][j] = static_cast<std::int16_t>(j);
  for (int k = 0; k < n; ++k) {
    auto most = hn::Set(d, R(-1)), best = hn::Set(d, static_cast<R>(k));
    for (int j = k; j < n; ++j) {
      auto even = hn::Zero(d), odd = hn::Zero(d);
      int i = k;
      for (; i + 1 < m; i += 2) {
        even = norm_add<T>(a.load(i, j), even);
        odd = norm_add<T>(a.load(i + 1, j), odd);
      }
      if (i < m) even = norm_add<T>(a.load(i, j), even);
      auto const squares = hn::Add(even, odd);
      auto const larger = hn::Gt(squares, most);
      most = hn::IfThenElse(larger, squares, most);
      best = hn::IfThenElse(larger, hn::Set(d, static_cast<R>(j)), best);
    }
    if (!hn::AllTrue(d, hn::Eq(best, hn::Set(d, static_cast<R>(k))))) {
      hn::Store(best, d, chosen);
      for (int lane = 0; lane < P::lanes; ++lane) {
        auto const p = static_cast<int>(chosen[lane]);
        if (p == k) continue;
        std::swap(pivots.of[lane][k], pivots.of[lane][p]);
        for (int at = lane; at < P::size; at += P::lanes)
          for (int i = 0; i < m; ++i) std::swap(a.at(i, k)[at], a.at(i, p)[at]);
      }
    }
    PackMatrix<T> const v = a.block(k, k);
    make_reflector<T>(v, m - k).store(tau + k * P::size);
    in_steps<reflected_columns<T>>(k + 1, n,
                                   [&]<int N>(int j) HWY_ATTR { reflect_tile<T, 1, N, true>(v, m - k, tau + k * P::size, a.block(k, j)); });
  }
}

/// x = c x - conj(s) y, y = c y + s x
template <typename T>
HWY_INLINE void rotate(PackMatrix<T> x, PackMatrix<T> y, int n, typename Pack<T>::V c, Pack<T> s) {
  using P = Pack<T>;
  for (int i = 0; i < n; ++i) {
    P const of_x = x.load(i, 0), of_y = y.load(i, 0);
    P new_x, new_y;
    if constexpr (is_complex<T>) {
      new_x = neg_mul_add<T>(conj<T>(s), of_y, scale<T>(of_x, c));
      new_y = mul_add<T>(s, of_x, scale<T>(of_y, c));
    } else {
      new_x = {hn::NegMulAdd(s.v, of_y.v, hn::Mul(of_x.v, c))};
      new_y = {hn::MulAdd(s.v, of_x.v, hn::Mul(of_y.v, c))};
    }
    x.store(i, 0, new_x);
    y.store(i, 0, new_y);
  }
}

/// Makes columns p < q of W orthogonal in the active lanes. Lanes whose cosine or rotation was not small are added to `large`.
template <typename T>
HWY_INLINE void orthogonalize(PackMatrix<T> w, int n, int p, int q, typename Pack<T>::M active, typename Pack<T>::M& large) {
  using P = Pack<T>;
  using R = typename P::R;
  using Range = SvdRange<R>;
  constexpr typename P::D d;
  PackMatrix<T> const x = w.block(0, p), y = w.block(0, q);
  auto of_x = hn::Zero(d), of_y = of_x, of_x_odd = of_x, of_y_odd = of_x;
  P dot = P::zero(), dot_odd = dot;
  int i = 0;
  for (; i + 1 < n; i += 2) {
    P const x0 = x.load(i, 0), y0 = y.load(i, 0), x1 = x.load(i + 1, 0), y1 = y.load(i + 1, 0);
    of_x = norm_add<T>(x0, of_x);
    of_y = norm_add<T>(y0, of_y);
    dot = conj_mul_add<T>(x0, y0, dot);
    of_x_odd = norm_add<T>(x1, of_x_odd);
    of_y_odd = norm_add<T>(y1, of_y_odd);
    dot_odd = conj_mul_add<T>(x1, y1, dot_odd);
  }
  if (i < n) {
    P const x0 = x.load(i, 0), y0 = y.load(i, 0);
    of_x = norm_add<T>(x0, of_x);
    of_y = norm_add<T>(y0, of_y);
    dot = conj_mul_add<T>(x0, y0, dot);
  }
  of_x = hn::Add(of_x, of_x_odd);
  of_y = hn::Add(of_y, of_y_odd);
  dot = add<T>(dot, dot_odd);
  // All relative to the longer column, so that products stay in the range.
  auto const one = hn::Set(d, R(1));
  auto const unit = hn::Div(one, hn::Max(of_x, of_y));
  auto const ratio = hn::Mul(hn::Min(of_x, of_y), unit);
  P const g = scale<T>(dot, unit);
  auto const guarded = norm_add<T>(scale<T>(g, hn::Set(d, Range::guard)), hn::Zero(d));
  R const rotated = Range::rotated(n) * Range::guard;
  auto const rotates = hn::And(active, hn::Gt(guarded, hn::Mul(ratio, hn::Set(d, rotated * rotated))));
  if (hn::AllFalse(d, rotates)) return;
  // tan(2 phi) = 2 |g| / (|y|^2 - |x|^2), without dividing by either
  auto const difference = hn::Mul(hn::Sub(of_y, of_x), unit), size = hn::Abs(difference);
  auto const h = hn::Sqrt(hn::MulAdd(hn::Set(d, R(4)), norm_add<T>(g, hn::Zero(d)), hn::Mul(size, size)));
  auto const sum = hn::Add(h, size);
  auto const inverse = hn::Div(one, hn::Sqrt(hn::Mul(hn::Add(h, h), sum)));
  auto const c = hn::IfThenElse(rotates, hn::Mul(sum, inverse), one);
  P const s = select<T>(rotates, scale<T>(g, hn::CopySign(hn::Add(inverse, inverse), difference)), P::zero());
  constexpr R last_cosine = Range::last_cosine * Range::guard, last_sine = Range::last_sine;
  auto const far = hn::And(rotates, hn::Gt(guarded, hn::Mul(ratio, hn::Set(d, last_cosine * last_cosine))));
  large = hn::Or(large, hn::Or(far, hn::Gt(norm_add<T>(s, hn::Zero(d)), hn::Set(d, last_sine * last_sine))));
  rotate<T>(x, y, n, c, s);
}

/// Rotates the columns of the n-by-n W until they are orthogonal. Returns the lanes that did not converge.
template <typename T>
HWY_NOINLINE typename Pack<T>::M jacobi(PackMatrix<T> w, int n) {
  constexpr typename Pack<T>::D d;
  auto active = hn::Eq(hn::Zero(d), hn::Zero(d));
  int const players = n + n % 2;  // a round robin, whose pairs of a round are independent; with n odd one column pauses
  for (int sweep = 0; sweep < 40; ++sweep) {
    auto large = hn::Ne(hn::Zero(d), hn::Zero(d));
    for (int round = 0; round + 1 < players; ++round)
      for (int pair = 0; pair < players / 2; ++pair) {
        int x = round + pair, y = pair == 0 ? players - 1 : round - pair + players - 1;
        if (x >= players - 1) x -= players - 1;
        if (pair != 0 && y >= players - 1) y -= players - 1;
        int const p = std::min(x, y), q = std::max(x, y);
        if (q < n) orthogonalize<T>(w, n, p, q, active, large);
      }
    active = hn::And(active, large);
    if (hn::AllFalse(d, active)) break;
  }
  return active;
}

/// N columns of J from R^H J = W = V S, row by row: by substitution, J(k, i) = (W(k, i) - sum over l < k of conj(R(l, k)) J(l, i)) / R(k,
/// k), where abs(R(k, k)) is larger than the singular value s(i), and elsewhere from R V = J S. Either error is of the order of u, since
/// with pivoting J(l, i) is at most of the order of s(i) / R(l, l), and R(k, l) at most R(k, k). Lanes with a column of another length than
/// one are added to `failed`.
template <typename T, int N>
HWY_INLINE void recover_rotations(PackMatrix<T> r, PackMatrix<T> w, PackMatrix<T> j, int n, typename Pack<T>::R const* HWY_RESTRICT values,
                                  typename Pack<T>::R const* HWY_RESTRICT inverses, typename Pack<T>::M& failed) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  typename P::V squares[N];
  for (int c = 0; c < N; ++c) squares[c] = hn::Zero(d);
  for (int k = 0; k < n; ++k) {
    P by_rows[N], by_product[N];
    for (int c = 0; c < N; ++c) {
      by_rows[c] = w.load(k, c);
      by_product[c] = P::zero();
    }
    for (int l = 0; l < k; ++l) {
      P const x = conj<T>(r.load(l, k));
      for (int c = 0; c < N; ++c) by_rows[c] = neg_mul_add<T>(x, j.load(l, c), by_rows[c]);
    }
    for (int l = k; l < n; ++l) {
      P const x = r.load(k, l);
      for (int c = 0; c < N; ++c) by_product[c] = mul_add<T>(x, w.load(l, c), by_product[c]);
    }
    auto const diagonal = real_part<T>(r.load(k, k));
    auto const inverse = hn::Div(hn::Set(d, R(1)), diagonal);
    for (int c = 0; c < N; ++c) {
      auto const value = hn::Load(d, values + c * P::lanes), of_value = hn::Load(d, inverses + c * P::lanes);
      P const x =
          select<T>(hn::Gt(hn::Abs(diagonal), value), scale<T>(by_rows[c], inverse), scale<T>(scale<T>(by_product[c], of_value), of_value));
      squares[c] = norm_add<T>(x, squares[c]);
      j.store(k, c, x);
    }
  }
  auto const tolerance = hn::Set(d, static_cast<R>(20 * n) * std::numeric_limits<R>::epsilon());
  for (int c = 0; c < N; ++c) failed = hn::Or(failed, hn::Not(hn::Le(hn::Abs(hn::Sub(squares[c], hn::Set(d, R(1)))), tolerance)));
}

template <typename T>
void gesvd_lanes(GesvdLanesTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  SvdJob const job = task.call.job;
  auto const fits = [&](std::array<std::int64_t, 4> const& shape) { return gesvd_fits_lanes<T>(job, shape); };
  for_each_group(P::lanes, begin, end, shapes(task.call.a), fits, [&](Group const& group) HWY_ATTR {
    std::int64_t const first = group.index[0];
    auto const unsolved = [&](int lane) -> unsigned char& {
      return task.unsolved[group.index[static_cast<std::size_t>(lane)] - task.first];
    };
    bool const tall = task.call.a.rows_of(first) >= task.call.a.cols_of(first);
    Batch<T> const a_batch = tall ? task.call.a : conjugate_transposed(task.call.a);
    auto const m = static_cast<int>(a_batch.rows_of(first)), n = static_cast<int>(a_batch.cols_of(first));
    if (n == 0) {
      for (int lane = 0; lane < group.active; ++lane) unsolved(lane) = 1;
      return;
    }
    // A wide matrix is decomposed as its conjugate transpose, so U and V change places.
    Batch<T> const u_batch = tall ? task.call.u : conjugate_transposed(task.call.vt);
    Batch<T> const v_batch = tall ? conjugate_transposed(task.call.vt) : task.call.u;
    bool const has_u = tall ? wants_u(job) : wants_vt(job), has_v = tall ? wants_vt(job) : wants_u(job);
    int const columns = job == SvdJob::full ? m : n, ld = pack_ld(m), ld_n = pack_ld(n);
    auto* const base = static_cast<R*>(lane_workspace());
    R* const tau = base;
    PackMatrix<T> const a = pack_matrix<T>(tau + n * P::size, ld);
    PackMatrix<T> const w = pack_matrix<T>(a.at(0, n), ld_n), j = pack_matrix<T>(w.at(0, n), ld_n), out = pack_matrix<T>(j.at(0, n), ld);

    load_group<T>(GroupView<T const>(a_batch, group, P::lanes), m, n, a.data, ld);
    auto finite = hn::Eq(hn::Zero(d), hn::Zero(d));
    auto largest = hn::Zero(d);
    for (int c = 0; c < n; ++c)
      for (int i = 0; i < m; ++i) {
        P const x = a.load(i, c);
        finite = hn::And(finite, is_finite<T>(x));
        largest = hn::Max(largest, abs_max<T>(x));
      }
    HWY_ALIGN R of_lanes[P::lanes];
    hn::Store(hn::IfThenElse(finite, largest, hn::Zero(d)), d, of_lanes);
    // Matrices of zeros, and those with NaN or infinity, give way to the unit matrix. The values of the first are scaled back to zero.
    auto const replaced = hn::Eq(hn::Load(d, of_lanes), hn::Zero(d));
    LaneScales<T> const scales(of_lanes);
    auto const up = hn::Load(d, scales.first), more = hn::Load(d, scales.second);
    for (int c = 0; c < n; ++c)
      for (int i = 0; i < m; ++i)
        a.store(i, c, select<T>(replaced, i == c ? P::set(T(1)) : P::zero(), scale<T>(scale<T>(a.load(i, c), up), more)));

    LaneOrder<T, svd_lane_rows> rows;
    LaneOrder<T, 32> pivots, order;
    bool const sorted = m > 1 && sort_rows<T>(a, m, n, w.data, rows);
    factor_pivoted<T>(a, m, n, tau, pivots);
    for (int c = 0; c < n; ++c)
      for (int i = 0; i < n; ++i) w.store(i, c, i < c ? P::zero() : conj<T>(a.load(c, i)));
    auto failed = hn::Or(jacobi<T>(w, n), hn::Not(finite));

    // Values, and the order in which they descend. tau is still needed, and so the values go to `values`.
    HWY_ALIGN R values[32 * P::lanes], inverses[32 * P::lanes];
    auto const smallest = hn::Set(d, SvdRange<R>::smallest_squared);
    for (int c = 0; c < n; ++c) {
      auto squares = hn::Zero(d);
      for (int i = 0; i < n; ++i) squares = norm_add<T>(w.load(i, c), squares);
      if (has_u || has_v) failed = hn::Or(failed, hn::Not(hn::Ge(squares, smallest)));
      auto const value = hn::Sqrt(squares);
      hn::Store(value, d, values + c * P::lanes);
      hn::Store(hn::Div(hn::Set(d, R(1)), value), d, inverses + c * P::lanes);
    }
    if (has_u)
      in_steps<is_complex<T> ? 2 : 4>(0, n, [&]<int N>(int c) HWY_ATTR {
        recover_rotations<T, N>(a, w.block(0, c), j.block(0, c), n, values + c * P::lanes, inverses + c * P::lanes, failed);
      });
    for (int lane = 0; lane < P::lanes; ++lane) {
      std::int16_t* const places = order.of[lane];
      for (int c = 0; c < n; ++c) {  // insertion sort: few, and nearly sorted
        int at = c;
        for (; at > 0 && values[places[at - 1] * P::lanes + lane] < values[c * P::lanes + lane]; --at) places[at] = places[at - 1];
        places[at] = static_cast<std::int16_t>(c);
      }
    }
    hn::Store(hn::IfThenElse(failed, hn::Set(d, R(1)), hn::Zero(d)), d, of_lanes);
    bool any_failed = false;
    for (int lane = 0; lane < group.active; ++lane) {
      std::int64_t const b = group.index[static_cast<std::size_t>(lane)];
      if (of_lanes[lane] != 0) {
        unsolved(lane) = 1;
        any_failed = true;
        continue;
      }
      if (task.call.info) task.call.info[b] = 0;
      for (int c = 0; c < n; ++c)
        *task.call.s.at(b, c, 0) = values[order.of[lane][c] * P::lanes + lane] * scales.back_first[lane] * scales.back_second[lane];
    }
    auto const store = [&](Batch<T> const& batch, int height, int width) HWY_ATTR {
      for (int c = 0; c < width; ++c)
        for (int i = 0; i < height; ++i)
          out.store(i, c, add<T>(out.load(i, c), P::zero()));  // turns -0, which may depend on neighbours, to 0
      GroupView<T> view(batch, group, P::lanes);
      if (any_failed)
        for (int lane = 0; lane < P::lanes; ++lane)
          if (of_lanes[lane] != 0) view.skip(lane);
      store_group<T>(view, height, width, out.data, ld);
    };
    if (has_v) {
      for (int lane = 0; lane < P::lanes; ++lane)
        for (int c = 0; c < n; ++c) {
          int const from = order.of[lane][c];
          R const inverse = inverses[from * P::lanes + lane];
          for (int at = lane; at < P::size; at += P::lanes)
            for (int i = 0; i < n; ++i) out.at(pivots.of[lane][i], c)[at] = w.at(i, from)[at] * inverse;
        }
      store(v_batch, n, n);
    }
    if (!has_u) return;
    for (int lane = 0; lane < P::lanes; ++lane)
      for (int c = 0; c < n; ++c) {
        int const from = order.of[lane][c];
        for (int at = lane; at < P::size; at += P::lanes)
          for (int i = 0; i < n; ++i) out.at(i, c)[at] = j.at(i, from)[at];
      }
    for (int c = 0; c < columns; ++c)
      for (int i = c < n ? n : 0; i < m; ++i) out.store(i, c, i == c ? P::set(T(1)) : P::zero());
    for (int k0 = (n - 1) / reflector_block * reflector_block; k0 >= 0; k0 -= reflector_block)
      reflect<T, false>(a.block(k0, k0), m - k0, std::min(reflector_block, n - k0), tau + k0 * P::size, out.block(k0, 0), columns);
    if (sorted) {
      R column[svd_lane_rows];
      for (int lane = 0; lane < P::lanes; ++lane)
        for (int c = 0; c < columns; ++c)
          for (int at = lane; at < P::size; at += P::lanes) {
            for (int i = 0; i < m; ++i) column[rows.of[lane][i]] = out.at(i, c)[at];
            for (int i = 0; i < m; ++i) out.at(i, c)[at] = column[i];
          }
    }
    store(u_batch, m, columns);
  });
}

MYRIAD_LANES_IMPLEMENT(gesvd_lanes, GesvdLanesTask)

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {
MYRIAD_LANES_DISPATCH(gesvd_lanes, GesvdLanesTask)
}  // namespace myriad
#endif
