/// Solving with LU factors for few right-hand sides, where the time goes into reading the factors. Included once per SIMD target, hence no
/// plain include guard.

#if defined(MYRIAD_LU_SOLVE_COLUMN_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_LU_SOLVE_COLUMN_INL_HPP
#undef MYRIAD_LU_SOLVE_COLUMN_INL_HPP
#else
#define MYRIAD_LU_SOLVE_COLUMN_INL_HPP
#endif

#include "simd/pack_blas-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// The interchanges of getrf in one column of packs, a lane at a time: pivot rows differ from lane to lane.
template <typename T>
HWY_INLINE void swap_column(Batch<int const> const& pivots, Group const& group, int n, typename Pack<T>::R* HWY_RESTRICT x) {
  using P = Pack<T>;
  if (!pivots.data && !pivots.pointers) return;
  int const* source[max_lanes];
  std::int64_t step[max_lanes];
  for (int lane = 0; lane < P::lanes; ++lane) {
    std::int64_t const b = group.index[static_cast<std::size_t>(lane)];
    source[lane] = pivots.matrix(b);
    step[lane] = pivots.row_stride_of(b);
  }
  for (int k = 0; k < n; ++k)
    for (int part = 0; part < P::size; part += P::lanes)
      for (int lane = 0; lane < P::lanes; ++lane) {
        std::int64_t const row = source[lane][k * step[lane]] - 1;
        std::swap(x[k * P::size + part + lane], x[row * P::size + part + lane]);
      }
}

/// W unknowns from `first` on of a triangular system, and what they take from the others.
template <typename T, bool upper, bool unit, int W>
HWY_INLINE void solve_column_block(PackMatrix<T> a, int first, int n, typename Pack<T>::R* HWY_RESTRICT x) {
  using P = Pack<T>;
  P y[W];
#pragma GCC unroll 4
  for (int k = 0; k < W; ++k) y[k] = P::load(x + (first + k) * P::size);
#pragma GCC unroll 4
  for (int step = 0; step < W; ++step) {
    int const k = upper ? W - 1 - step : step;
    if constexpr (!unit) y[k] = Divisor<T>(a.load(first + k, first + k)).divide(y[k]);
#pragma GCC unroll 4
    for (int i = 0; i < W; ++i)
      if (upper ? i < k : i > k) y[i] = neg_mul_add(a.load(first + i, first + k), y[k], y[i]);
  }
#pragma GCC unroll 4
  for (int k = 0; k < W; ++k) y[k].store(x + (first + k) * P::size);
  int const begin = upper ? 0 : first + W, end = upper ? first : n;
  for (int i = begin; i < end; ++i) {
    P xi = P::load(x + i * P::size);
#pragma GCC unroll 4
    for (int k = 0; k < W; ++k) xi = neg_mul_add(a.load(i, first + k), y[k], xi);
    xi.store(x + i * P::size);
  }
}

/// x = U^-1 x, or L^-1 x (lower), for one column of packs: the arithmetic of solve_triangle in the same order.
template <typename T, bool upper, bool unit>
HWY_NOINLINE void solve_column(PackMatrix<T> a, int n, typename Pack<T>::R* HWY_RESTRICT x) {
  int done = 0;
  for (; done + 4 <= n; done += 4) solve_column_block<T, upper, unit, 4>(a, upper ? n - done - 4 : done, n, x);
  switch (n - done) {
    case 3:
      return solve_column_block<T, upper, unit, 3>(a, upper ? 0 : done, n, x);
    case 2:
      return solve_column_block<T, upper, unit, 2>(a, upper ? 0 : done, n, x);
    case 1:
      return solve_column_block<T, upper, unit, 1>(a, upper ? 0 : done, n, x);
    default:
      return;
  }
}

/// The packs of a group where its memory holds them as they are (interleaved, real, aligned), or null: then they have to be copied.
template <typename T>
HWY_INLINE typename Pack<T>::R const* packs_in_place(GroupView<T const> const& view) {
  using R = typename Pack<T>::R;
  if constexpr (!is_complex<T>) {
    constexpr std::int64_t vector = Pack<T>::lanes;
    bool const aligned =
        reinterpret_cast<std::uintptr_t>(view.base[0]) % (vector * sizeof(R)) == 0 && view.rs[0] % vector == 0 && view.cs[0] % vector == 0;
    if (view.adjacent && aligned) return view.base[0];
  }
  return nullptr;
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
