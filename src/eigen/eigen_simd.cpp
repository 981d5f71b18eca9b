// Eigenvalues and eigenvectors of small matrices, one matrix per vector lane. See simd/pack-inl.hpp for how matrices become packs.
//
// Householder reduction to a tridiagonal matrix, implicit QL with Wilkinson's shift, and the reflectors applied to QL's rotations, as in
// LAPACK's sytd2, steqr and ormtr. Every lane goes through QL at its own pace: a sweep rotates each lane's own block of coupled rows, and
// leaves the others' rows alone by masks.

#include <cmath>
#include <cstdint>
#include <limits>

#include "eigen/eigen.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "eigen/eigen_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "qr/qr.hpp"
#include "qr/qr_packs-inl.hpp"
#include "simd/pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// Powers of two that take the largest element of each lane's matrix to between 1 and 2. There are two, since one may be beyond the range.
template <typename R>
struct UnitScales {
  using V = typename Pack<R>::V;
  V up, down, back_up, back_down;

  HWY_INLINE explicit UnitScales(V largest) {
    constexpr typename Pack<R>::D d;
    constexpr bool narrow = sizeof(R) == 4;
    constexpr R small = narrow ? R(0x1p-100) : static_cast<R>(0x1p-900), factor = narrow ? R(0x1p60) : static_cast<R>(0x1p200);
    constexpr R large = narrow ? R(0x1p127) : static_cast<R>(0x1p1023);  // 1 / large is subnormal, which a thread may take for zero
    auto const one = hn::Set(d, R(1));
    auto const is_small = hn::Lt(largest, hn::Set(d, small)), is_large = hn::Ge(largest, hn::Set(d, large));
    up = hn::IfThenElse(is_small, hn::Set(d, factor), hn::IfThenElse(is_large, hn::Set(d, R(0.5)), one));
    back_up = hn::IfThenElse(is_small, hn::Set(d, 1 / factor), hn::IfThenElse(is_large, hn::Set(d, R(2)), one));
    // Infinity has the bits of an exponent alone.
    auto const power = hn::And(hn::Mul(largest, up), hn::Set(d, std::numeric_limits<R>::infinity()));
    back_down = hn::IfThenElse(hn::Eq(power, hn::Zero(d)), one, power);
    down = hn::Div(one, back_down);
  }
};

/// Adds to p what the first N columns of the lower triangle of a Hermitian A, and by symmetry its first N rows, contribute to A v. `m`:
/// rows of A.
template <typename T, int N>
HWY_INLINE void multiply_columns(PackMatrix<T> a, int m, PackMatrix<T> v, PackMatrix<T> p) {
  using P = Pack<T>;
  P of_v[N], sum[N];
#pragma GCC unroll 4
  for (int c = 0; c < N; ++c) of_v[c] = v.load(c, 0);
#pragma GCC unroll 4
  for (int c = 0; c < N; ++c) sum[c] = add<T>(p.load(c, 0), scale<T>(of_v[c], real_part<T>(a.load(c, c))));
#pragma GCC unroll 4
  for (int c = 0; c < N; ++c)
#pragma GCC unroll 4
    for (int i = c + 1; i < N; ++i) {
      P const x = a.load(i, c);
      sum[i] = mul_add<T>(x, of_v[c], sum[i]);
      sum[c] = conj_mul_add<T>(x, of_v[i], sum[c]);
    }
  for (int i = N; i < m; ++i) {
    P const row = v.load(i, 0);
    P below = p.load(i, 0);
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) {
      P const x = a.load(i, c);
      below = mul_add<T>(x, of_v[c], below);
      sum[c] = conj_mul_add<T>(x, row, sum[c]);
    }
    p.store(i, 0, below);
  }
#pragma GCC unroll 4
  for (int c = 0; c < N; ++c) p.store(c, 0, sum[c]);
}

/// A -= v w^H + w v^H in the first N columns of the lower triangle of an A of m rows.
template <typename T, int N>
HWY_INLINE void update_columns(PackMatrix<T> a, int m, PackMatrix<T> v, PackMatrix<T> w) {
  using P = Pack<T>;
  P of_v[N], of_w[N];
#pragma GCC unroll 4
  for (int c = 0; c < N; ++c) {
    of_v[c] = v.load(c, 0);
    of_w[c] = w.load(c, 0);
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 4
    for (int c = 0; c <= i; ++c) a.store(i, c, neg_mul_conj_add<T>(of_w[i], of_v[c], neg_mul_conj_add<T>(of_v[i], of_w[c], a.load(i, c))));
  for (int i = N; i < m; ++i) {
    P const row_v = v.load(i, 0), row_w = w.load(i, 0);
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) a.store(i, c, neg_mul_conj_add<T>(row_w, of_v[c], neg_mul_conj_add<T>(row_v, of_w[c], a.load(i, c))));
  }
}

/// Reduces the lower triangle of n-by-n packs: d gets the diagonal of the tridiagonal matrix, e its off-diagonal. The reflectors replace
/// what is below the subdiagonal, tau(k) is that of column k; `w` is workspace of n packs.
template <typename T>
HWY_NOINLINE void tridiagonalize(PackMatrix<T> a, int n, typename Pack<T>::R* HWY_RESTRICT tau, PackMatrix<T> w,
                                 typename Pack<T>::R* HWY_RESTRICT d, typename Pack<T>::R* HWY_RESTRICT e) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D tag;
  constexpr int columns = is_complex<T> ? 2 : 4;
  for (int k = 0; k + 1 < n; ++k) {
    int const m = n - k - 1;
    PackMatrix<T> const v = a.block(k + 1, k), rest = a.block(k + 1, k + 1);
    P const t = make_reflector<T>(v, m);
    t.store(tau + k * P::size);
    hn::Store(real_part<T>(a.load(k, k)), tag, d + k * P::lanes);
    hn::Store(real_part<T>(v.load(0, 0)), tag, e + k * P::lanes);
    if (m == 1) break;  // a reflector of one row is a factor of modulus one, and leaves the last element as it is
    v.store(0, 0, P::set(T(1)));
    for (int i = 0; i < m; ++i) w.store(i, 0, P::zero());
    in_steps<columns>(0, m, [&]<int N>(int j) HWY_ATTR { multiply_columns<T, N>(rest.block(j, j), m - j, v.block(j, 0), w.block(j, 0)); });
    P dot = P::zero();
    for (int i = 0; i < m; ++i) {
      P const x = mul<T>(t, w.load(i, 0));
      dot = conj_mul_add<T>(x, v.load(i, 0), dot);
      w.store(i, 0, x);
    }
    P const factor = scale<T>(mul<T>(t, dot), hn::Set(tag, R(-0.5)));
    for (int i = 0; i < m; ++i) w.store(i, 0, mul_add<T>(factor, v.load(i, 0), w.load(i, 0)));
    in_steps<columns>(0, m, [&]<int N>(int j) HWY_ATTR { update_columns<T, N>(rest.block(j, j), m - j, v.block(j, 0), w.block(j, 0)); });
  }
  hn::Store(real_part<T>(a.load(n - 1, n - 1)), tag, d + (n - 1) * P::lanes);
}

/// The rotation that takes (g, f) to (r, 0): c = g / r, s = f / r.
template <typename R>
struct Rotation {
  using V = typename Pack<R>::V;
  V c, s, r;

  HWY_INLINE Rotation(V g, V f) {
    constexpr typename Pack<R>::D d;
    constexpr bool narrow = sizeof(R) == 4;
    auto const one = hn::Set(d, R(1)), low = hn::Set(d, narrow ? R(0x1p-90) : static_cast<R>(0x1p-900));
    auto const squares = hn::MulAdd(f, f, hn::Mul(g, g));
    r = hn::Sqrt(squares);
    auto inverse = hn::Div(one, r);
    auto const small = hn::Lt(squares, low);
    if (HWY_UNLIKELY(!hn::AllFalse(d, small))) {  // the squares have lost digits
      auto const up = hn::IfThenElse(small, hn::Set(d, narrow ? R(0x1p90) : static_cast<R>(0x1p600)), one);
      g = hn::Mul(g, up);
      f = hn::Mul(f, up);
      auto const length = hn::Sqrt(hn::MulAdd(f, f, hn::Mul(g, g)));
      auto const zero = hn::Eq(length, hn::Zero(d));
      g = hn::IfThenElse(zero, one, g);
      r = hn::Div(length, up);
      inverse = hn::Div(one, hn::IfThenElse(zero, one, length));
    }
    c = hn::Mul(g, inverse);
    s = hn::Mul(f, inverse);
  }
};

/// Sweeps per row after which a lane counts as not converged.
inline constexpr int ql_sweeps = 30;

/// Replaces the diagonal d of tridiagonal matrices of norm about one by their eigenvalues, in any order. d and the off-diagonal e have n
/// packs, the last of e unused. With `vectors` the rotations are applied to the columns of the n-by-n Z. Returns the lanes that did not
/// converge.
template <typename R, bool vectors>
HWY_NOINLINE typename Pack<R>::M implicit_ql(R* HWY_RESTRICT d, R* HWY_RESTRICT e, int n, PackMatrix<R> z) {
  using P = Pack<R>;
  using M = typename P::M;
  constexpr typename P::D tag;
  constexpr int lanes = P::lanes;
  constexpr R u = std::numeric_limits<R>::epsilon() / 2;
  auto const zero = hn::Zero(tag), one = hn::Set(tag, R(1));
  auto const none = hn::Ne(zero, zero);
  // Element i: rows i and i + 1 belong to the lane's block; the block begins with them.
  M in_block[eigen_lane_rows], begins[eigen_lane_rows];
  in_block[n - 1] = none;
  for (int sweep = 0;; ++sweep) {
    // Each lane's first block of coupled rows.
    M found = none, in = none;
    auto d_first = zero, d_second = zero, d_last = zero, e_first = one;
    int first = n, last = -1;
    for (int i = 0; i + 1 < n; ++i) {
      auto const x = hn::Load(tag, d + i * lanes), y = hn::Load(tag, d + (i + 1) * lanes), beside = hn::Load(tag, e + i * lanes);
      auto const scaled = hn::Mul(hn::Mul(hn::Set(tag, u), hn::Abs(x)), hn::Mul(hn::Set(tag, u), hn::Abs(y)));
      M const coupled = hn::And(hn::Gt(hn::Abs(beside), hn::Set(tag, u * R(0x1p-20))), hn::Gt(hn::Mul(beside, beside), scaled));
      hn::Store(hn::IfThenElseZero(coupled, beside), tag, e + i * lanes);
      M const begin = hn::AndNot(found, coupled);
      in = hn::Or(hn::And(in, coupled), begin);
      found = hn::Or(found, coupled);
      begins[i] = begin;
      in_block[i] = in;
      d_first = hn::IfThenElse(begin, x, d_first);
      d_second = hn::IfThenElse(begin, y, d_second);
      e_first = hn::IfThenElse(begin, beside, e_first);
      d_last = hn::IfThenElse(in, y, d_last);
      if (!hn::AllFalse(tag, in)) {
        first = std::min(first, i);
        last = i;
      }
    }
    if (last < 0 || sweep == ql_sweeps * n) return found;
    auto const half = hn::Div(hn::Sub(d_second, d_first), hn::Add(e_first, e_first));
    auto const root = hn::Sqrt(hn::MulAdd(half, half, one));
    auto g = hn::Add(hn::Sub(d_last, d_first), hn::Div(e_first, hn::Add(half, hn::CopySign(root, half))));
    auto s = one, c = one, p = zero;
    auto y = hn::Load(tag, d + (last + 1) * lanes);
    for (int i = last; i >= first; --i) {
      M const rotates = in_block[i];
      auto const x = hn::Load(tag, d + i * lanes), beside = hn::Load(tag, e + i * lanes);
      auto const b = hn::Mul(c, beside);
      Rotation<R> const rotation(hn::IfThenElse(rotates, g, one), hn::Mul(s, beside));
      // Row i + 1 of the lane's block is done, but for its first, which has no off-diagonal above.
      auto* const next = e + (i + 1) * lanes;
      hn::Store(hn::IfThenElse(hn::And(rotates, in_block[i + 1]), rotation.r, hn::Load(tag, next)), tag, next);
      auto const shifted = hn::Sub(y, p);
      auto const t = hn::MulAdd(hn::Sub(x, shifted), rotation.s, hn::Mul(rotation.c, hn::Add(b, b)));
      auto const new_p = hn::Mul(rotation.s, t), new_g = hn::MulSub(rotation.c, t, b);
      hn::Store(hn::IfThenElse(rotates, hn::Add(shifted, new_p), y), tag, d + (i + 1) * lanes);
      s = hn::IfThenElse(rotates, rotation.s, s);
      c = hn::IfThenElse(rotates, rotation.c, c);
      p = hn::IfThenElse(rotates, new_p, p);
      g = hn::IfThenElse(rotates, new_g, g);
      y = hn::IfThenElse(begins[i], hn::Sub(x, p), x);
      hn::Store(hn::IfThenElse(begins[i], g, beside), tag, e + i * lanes);
      if constexpr (vectors) {
        auto const sine = hn::IfThenElseZero(rotates, rotation.s), cosine = hn::IfThenElse(rotates, rotation.c, one);
        R *HWY_RESTRICT const left = z.at(0, i), *HWY_RESTRICT const right = z.at(0, i + 1);
        for (int row = 0; row < n * lanes; row += lanes) {
          auto const of_left = hn::Load(tag, left + row), of_right = hn::Load(tag, right + row);
          hn::Store(hn::MulAdd(sine, of_left, hn::Mul(cosine, of_right)), tag, right + row);
          hn::Store(hn::NegMulAdd(sine, of_right, hn::Mul(cosine, of_left)), tag, left + row);
        }
      }
    }
    hn::Store(y, tag, d + first * lanes);
  }
}

template <typename T>
void syevd_lanes(SyevdLanesTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  using R = typename P::R;
  using Offsets = hn::RebindToSigned<typename P::D>;
  constexpr typename P::D d;
  constexpr int lanes = P::lanes;
  SyevdTask<T> const& call = task.call;
  bool const vectors = call.job == Job::vectors;
  auto const fits = [&](std::array<std::int64_t, 4> const& shape) { return syevd_fits_lanes<T>(call.job, shape); };
  Batch<T const> const lower = call.uplo == Uplo::lower ? call.a : conjugate_transposed(call.a);
  for_each_group(lanes, begin, end, shapes(call.a), fits, [&](Group const& group) HWY_ATTR {
    auto const n = static_cast<int>(call.a.rows_of(group.index[0]));
    auto const set_info = [&](int lane) {
      if (call.info) call.info[group.index[static_cast<std::size_t>(lane)]] = 0;
    };
    if (n == 0) {
      for (int lane = 0; lane < group.active; ++lane) set_info(lane);
      return;
    }
    int const ld = pack_ld(n);
    PackMatrix<T> const a = pack_matrix<T>(static_cast<R*>(lane_workspace()), ld);
    R* const tau = a.at(0, n);
    PackMatrix<T> const column = pack_matrix<T>(tau + n * P::size, n);
    R* const values = column.at(0, 1);
    R* const beside = values + n * lanes;
    PackMatrix<R> const z = pack_matrix<R>(beside + n * lanes, ld);

    load_group<T>(GroupView<T const>(lower, group, lanes), n, n, a.data, ld, Part::lower);
    auto finite = hn::Eq(hn::Zero(d), hn::Zero(d));
    auto largest = hn::Zero(d);
    for (int c = 0; c < n; ++c) {
      a.store(c, c, from_real<T>(real_part<T>(a.load(c, c))));
      for (int i = c; i < n; ++i) {
        P const x = a.load(i, c);
        finite = hn::And(finite, is_finite<T>(x));
        largest = hn::Max(largest, abs_max<T>(x));
      }
    }
    UnitScales<R> const scales(hn::IfThenElseZero(finite, largest));
    for (int c = 0; c < n; ++c)
      for (int i = c; i < n; ++i) a.store(i, c, select<T>(finite, scale<T>(scale<T>(a.load(i, c), scales.up), scales.down), P::zero()));

    tridiagonalize<T>(a, n, tau, column, values, beside);
    if (vectors)
      for (int c = 0; c < n; ++c)
        for (int i = 0; i < n; ++i) hn::Store(hn::Set(d, R(i == c ? 1 : 0)), d, z.at(i, c));
    auto const failed = vectors ? implicit_ql<R, true>(values, beside, n, z) : implicit_ql<R, false>(values, beside, n, z);

    // The columns of Z in the order of ascending values.
    HWY_ALIGN hn::TFromD<Offsets> places[eigen_lane_rows * lanes];
    for (int lane = 0; lane < lanes; ++lane)
      for (int c = 0; c < n; ++c) {
        int at = c;
        R const value = values[c * lanes + lane];
        for (; at > 0 && values[places[(at - 1) * lanes + lane] * lanes + lane] > value; --at)
          places[at * lanes + lane] = places[(at - 1) * lanes + lane];
        places[at * lanes + lane] = c;
      }
    auto const own_lane = hn::Iota(Offsets(), 0);
    auto const sorted = [&](R const* from, std::int64_t step, int c) HWY_ATTR {
      auto const place = hn::Load(Offsets(), places + c * lanes);
      return hn::GatherIndex(d, from, hn::Add(hn::Mul(place, hn::Set(Offsets(), static_cast<hn::TFromD<Offsets>>(step))), own_lane));
    };
    HWY_ALIGN R flags[lanes];
    hn::Store(hn::IfThenElse(hn::AndNot(failed, finite), hn::Zero(d), hn::Set(d, R(1))), d, flags);
    auto const store = [&]<typename U>(Batch<U> const& batch, int width, PackMatrix<U> from, int of_column) HWY_ATTR {
      GroupView<U> view(batch, group, lanes);
      for (int lane = 0; lane < lanes; ++lane)
        if (flags[lane] != 0) view.skip(lane);
      store_group<U>(view, n, width, from.data, of_column);
    };
    for (int lane = 0; lane < group.active; ++lane) {
      if (flags[lane] == 0)
        set_info(lane);
      else
        task.unsolved[group.index[static_cast<std::size_t>(lane)] - task.first] = 1;
    }
    // Zeros are made positive, since the sign of one may depend on neighbours.
    PackMatrix<R> const ascending = pack_matrix<R>(beside, n);
    for (int c = 0; c < n; ++c) {
      auto const value = hn::Mul(hn::Mul(sorted(values, lanes, c), scales.back_down), scales.back_up);
      hn::Store(hn::Add(value, hn::Zero(d)), d, ascending.at(c, 0));
    }
    store(call.w, 1, ascending, n);
    if (!vectors) return;
    PackMatrix<T> const q = pack_matrix<T>(z.at(0, n), ld);
    for (int c = 0; c < n; ++c)
      for (int i = 0; i < n; ++i) q.store(i, c, from_real<T>(sorted(z.at(i, 0), z.cs, c)));
    for (int k = (n - 2) / reflector_block * reflector_block; k >= 0 && n > 1; k -= reflector_block)
      reflect<T, false>(a.block(k + 1, k), n - 1 - k, std::min(reflector_block, n - 1 - k), tau + k * P::size, q.block(k + 1, 0), n);
    for (int c = 0; c < n; ++c)
      for (int i = 0; i < n; ++i) q.store(i, c, add<T>(q.load(i, c), P::zero()));
    store(call.a, n, q, ld);
  });
}

MYRIAD_LANES_IMPLEMENT(syevd_lanes, SyevdLanesTask)

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {
MYRIAD_LANES_DISPATCH(syevd_lanes, SyevdLanesTask)
}  // namespace myriad
#endif
