#include "lu/getrf_recursive.hpp"

#include <algorithm>
#include <utility>

#include "core/dtype.hpp"
#include "gemm/gemm.hpp"
#include "lu/panel.hpp"

namespace myriad {
namespace {

using lapack::Int;

template <typename T>
struct Matrix {
  T* data;
  Int ld;
  [[nodiscard]] T* at(Int i, Int j) const { return data + i + static_cast<std::int64_t>(j) * ld; }
  [[nodiscard]] Matrix block(Int i, Int j) const { return {at(i, j), ld}; }
};

/// C = C - A B
template <Element T>
void subtract_product(Int m, Int n, Int k, Matrix<T> a, Matrix<T> b, Matrix<T> c) {
  if (m == 0 || n == 0 || k == 0) return;
  auto const one = [](Int rows, Int cols, Matrix<T> x) { return batch(x.data, rows, cols, {.ld = x.ld, .count = 1}); };
  gemm_small(GemmTask<T>{.alpha = T(-1), .a = one(m, k, a), .b = one(k, n, b), .beta = T(1), .c = one(m, n, c)}, 0, 1);
}

/// B = L^-1 B with the unit lower triangle of L.
template <Element T>
void solve_lower(Int m, Int n, Matrix<T> l, Matrix<T> b) {
  if (m <= narrow) {
    solve_one_lower(LowerTask<T>{.m = m, .n = n, .l = l.data, .ldl = l.ld, .b = b.data, .ldb = b.ld}, 0, 1);
    return;
  }
  Int const half = (m / 2 + narrow - 1) / narrow * narrow;
  solve_lower(half, n, l, b);
  subtract_product(m - half, n, half, l.block(half, 0), b, b.block(half, 0));
  solve_lower(m - half, n, l.block(half, half), b.block(half, 0));
}

/// Interchanges row k with row pivots[k] (counted from one) for k = 0, 1, ..., in n columns.
template <Element T>
void interchange_rows(Int n, Matrix<T> a, Int count, Int const* pivots) {
  for (Int j = 0; j < n; ++j) {
    T* const column = a.at(0, j);
    for (Int k = 0; k < count; ++k) std::swap(column[k], column[pivots[k] - 1]);
  }
}

template <Element T>
Int factor(Int m, Int n, Matrix<T> a, Int* pivots) {
  if (n <= narrow || m == 1) {
    Int info = 0;
    factor_one_panel(PanelTask<T>{.m = m, .n = n, .a = a.data, .lda = a.ld, .pivots = pivots, .info = &info}, 0, 1);
    return info;
  }
  Int const half = std::min((std::min(m, n) / 2 + narrow - 1) / narrow * narrow, n - 1);
  Int const left = std::min(half, m);
  Int info = factor(m, half, a, pivots);
  interchange_rows(n - half, a.block(0, half), left, pivots);
  solve_lower(left, n - half, a, a.block(0, half));
  if (m <= half) return info;
  subtract_product(m - half, n - half, half, a.block(half, 0), a.block(0, half), a.block(half, half));
  Int const right = std::min(m, n) - half;
  Int const info_right = factor(m - half, n - half, a.block(half, half), pivots + half);
  if (info == 0 && info_right != 0) info = info_right + half;
  interchange_rows(half, a.block(half, 0), right, pivots + half);
  for (Int k = half; k < half + right; ++k) pivots[k] += half;
  return info;
}

}  // namespace

template <Element T>
Int getrf_recursive(Int m, Int n, T* a, Int lda, Int* pivots) {
  if (m == 0 || n == 0) return 0;
  return factor(m, n, Matrix<T>{a, lda}, pivots);
}

#define MYRIAD_INSTANTIATE(T) template Int getrf_recursive<T>(Int, Int, T*, Int, Int*);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
