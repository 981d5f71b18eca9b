#pragma once
/// Kernels of the routines that use the singular value decomposition, other than the decomposition itself and products: scaled copies,
/// ranks and condition numbers, divisions by singular values, solutions. All are launched with any number of blocks of by_svd_threads
/// threads.

#include "simt/divisor.hpp"
#include "svd/by_svd_config.cuh"
#include "svd/svd_jacobi.cuh"

namespace myriad {
namespace simt {

/// Calls use(matrix, line) for `lines` lines of `count` matrices; a warp has a line.
template <typename Use>
SIMT_INLINE void by_svd_for_lines(Index count, Index lines, Use use) {
  constexpr int warps = by_svd_threads / warp_size;
  for (Index at = block_index() * warps + thread_index() / warp_size; at < count * lines; at += block_count() * warps)
    use(at / lines, static_cast<int>(at % lines));
}

/// Lines of matrices that are contiguous in memory, or less far apart: columns or rows.
template <typename T>
struct BySvdLines {
  bool by_rows;
  Index along, apart;
  SIMT_INLINE BySvdLines(Matrices<T> const& x, Index b)
      : by_rows(x.col_stride_of(b) < x.row_stride_of(b)),
        along(by_rows ? x.col_stride_of(b) : x.row_stride_of(b)),
        apart(by_rows ? x.row_stride_of(b) : x.col_stride_of(b)) {}
};

/// The larger of `top` and the magnitudes of the parts of a value, as bits: those of NaN are the largest.
template <typename T, typename Bits>
SIMT_INLINE Bits by_svd_larger(Bits top, T value) {
  top = larger(top, ordered_bits(magnitude(real_part(value))));
  if constexpr (is_complex<T>) top = larger(top, ordered_bits(magnitude(value.im)));
  return top;
}

/// The largest of a warp's bits, as a number.
template <typename R, typename Bits>
SIMT_INLINE R by_svd_largest_of_warp(Bits top) {
  SIMT_UNROLL
  for (int mask = warp_size / 2; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
  return number_of(top);
}

/// The factor for elements with this largest part: one for zeros, `otherwise` for NaN and infinity.
template <typename R>
SIMT_INLINE R by_svd_scale(R size, R otherwise) {
  return !(size < R(infinity())) ? otherwise : size > R(0) ? reciprocal_power(size) : R(1);
}

template <typename T>
SIMT_INLINE void by_svd_largest_of(Matrices<T const> const& x, Index b, int m, int part, int parts, Real<T>* to) {
  using R = Real<T>;
  BySvdLines<T const> const lines(x, b);
  int const n = x.cols_of(b), count = lines.by_rows ? m : n, elements = lines.by_rows ? n : m;
  T const* const first = x.at(b, 0, 0);
  auto top = ordered_bits(R(0));
  SIMT_LOOP
  for (int line = part; line < count; line += parts) SIMT_UNROLL_BY(4)
  for (int i = lane_index(); i < elements; i += warp_size) top = by_svd_larger(top, first[line * lines.apart + i * lines.along]);
  R const largest = by_svd_largest_of_warp<R>(top);
  if (lane_index() == 0) store_global(to, largest);
}

/// Writes x, with column j times scale_of(j), to the column-major matrix `to`; line `line` of x.
template <typename T, typename ScaleOf>
SIMT_INLINE void by_svd_load_line(Matrices<T const> const& x, Index b, int line, int m, ScaleOf scale_of, Matrices<T> const& to) {
  BySvdLines<T const> const lines(x, b);
  int const n = x.cols_of(b), count = lines.by_rows ? m : n, elements = lines.by_rows ? n : m;
  if (line >= count || elements == 0) return;
  T const* const from = x.at(b, 0, 0) + line * lines.apart;
  Index const along = lines.by_rows ? to.col_stride : 1;
  T* const first = to.at(b, 0, 0) + (lines.by_rows ? line : line * to.col_stride);
  SIMT_UNROLL_BY(4)
  for (int i = lane_index(); i < elements; i += warp_size)
    store_global(first + i * along, conjugate_if(x.conjugated, scale_of(lines.by_rows ? i : line) * from[i * lines.along]));
}

}  // namespace simt

/// The largest element of each matrix A, and the scales of the columns of B.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(by_svd_threads, 1) by_svd_largest(BySvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  by_svd_for_lines(work.a.count, work.parts, [&](Index b, int part) {
    by_svd_largest_of<T>(work.a, b, work.a.rows_of(b), part, work.parts, work.largest + b * work.parts + part);
  });
  if (!work.b.given()) return;
  by_svd_for_lines(work.a.count, work.b.cols, [&](Index b, int j) {
    int const m = work.a.rows_of(b);
    if (j >= work.columns_of(b)) return;
    T const* const column = work.b.at(b, 0, j);
    Index const row_stride = work.b.row_stride_of(b);
    auto top = ordered_bits(R(0));
    SIMT_UNROLL_BY(4)
    for (int i = lane_index(); i < m; i += warp_size) top = by_svd_larger(top, column[i * row_stride]);
    R const largest = by_svd_largest_of_warp<R>(top);
    if (lane_index() == 0) store_global(work.column_scale(b, j), by_svd_scale(largest, R(1)));
  });
}

/// The scales of the matrices A, and the sizes of a ragged batch. A thread has a matrix.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(by_svd_threads, 1) by_svd_scales(BySvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  Index const count = work.a.count;
  for (Index b = block_index() * by_svd_threads + thread_index(); b < count; b += block_count() * by_svd_threads) {
    auto top = ordered_bits(R(0));
    for (int part = 0; part < work.parts; ++part) top = larger(top, ordered_bits(work.largest[b * work.parts + part]));
    store_global(work.scales + b, by_svd_scale(R(number_of(top)), R(quiet_nan())));
    if (!work.sizes) continue;
    int const m = work.a.rows_of(b), n = work.a.cols_of(b);
    work.sizes[b] = m;
    work.sizes[count + b] = n;
    work.sizes[2 * count + b] = smaller(m, n);
    work.sizes[3 * count + b] = work.columns_of(b);
  }
}

/// Copies A and B, scaled, to the workspace; a warp has a column, or a row where rows are contiguous. NaN and infinity stay.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(by_svd_threads, 1) by_svd_load(BySvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  Index const count = work.a.count, lines_of_a = larger(work.a.rows, work.a.cols);
  by_svd_for_lines(count, lines_of_a, [&](Index b, int line) {
    R const scale = work.scales[b], factor = scale == scale ? scale : R(1);
    by_svd_load_line<T>(
        work.a, b, line, work.a.rows_of(b), [=](int) { return factor; }, work.scaled_a);
  });
  if (!work.b.given()) return;
  by_svd_for_lines(count, larger(work.a.rows, work.b.cols), [&](Index b, int line) {
    by_svd_load_line<T>(
        work.b, b, line, work.a.rows_of(b), [&](int j) { return *work.column_scale(b, j); }, work.scaled_b);
  });
}

/// Singular values, rank, condition number and norm. A warp has a matrix.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(by_svd_threads, 1) by_svd_numbers(BySvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  by_svd_for_lines(work.a.count, 1, [&](Index b, int) {
    int const m = work.a.rows_of(b), n = work.a.cols_of(b), k = smaller(m, n), lane = lane_index();
    R const* const values = work.values.at(b, 0, 0);
    R const scale = work.scales[b], back = reciprocal_power(scale), relative = work.cutoff.relative_of(m, n);
    bool const finite = scale == scale;
    R const largest = k > 0 ? values[0] : R(0), least = k > 0 ? values[k - 1] : R(0);
    int rank = 0;
    for (int i = lane; i < k; i += warp_size) {
      R const value = finite ? values[i] : R(quiet_nan());
      rank += SvdCutoff<R>::counts(value, largest, back, relative, work.cutoff.absolute);
      if (work.s.given()) store_global(work.s.at(b, i, 0), finite ? value * back : value);
    }
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) rank += shuffle_xor(rank, mask);
    if (lane > 0) return;
    if (work.rank) store_global(work.rank + b, rank);
    if (work.norm2) store_global(work.norm2 + b, finite ? largest * back : R(quiet_nan()));
    R const ratio = k == 0 ? R(0) : least > R(0) ? RealDivisor<R>(least).divide(largest) : R(infinity());
    if (work.cond) store_global(work.cond + b, finite ? ratio : R(quiet_nan()));
  });
}

/// Rows of U^H B divided by the singular values, or zero where those do not count. NaN and infinity become NaN. A warp has a column.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(by_svd_threads, 1) by_svd_divide(BySvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  by_svd_for_lines(work.a.count, work.quotients.cols, [&](Index b, int j) {
    int const m = work.a.rows_of(b), n = work.a.cols_of(b), k = smaller(m, n);
    R const scale = work.scales[b];
    if (k == 0 || j >= work.columns_of(b) || scale != scale) return;
    R const* const values = work.values.at(b, 0, 0);
    R const largest = values[0], back = reciprocal_power(scale), relative = work.cutoff.relative_of(m, n);
    R const divisor_scale = SvdCutoff<R>::divisor_scale(relative);
    T* const to = work.quotients.at(b, 0, j);
    T* const products = work.b.given() ? work.products.at(b, 0, j) : to;
    for (int i = lane_index(); i < k; i += warp_size) {
      R const value = values[i];
      bool const counts = SvdCutoff<R>::counts(value, largest, back, relative, work.cutoff.absolute);
      T const product = products[i], zero = product - product;
      if (work.residuals && !counts) store_global(products + i, zero);
      store_global(to + i, counts ? RealDivisor<R>(divisor_scale * value).divide(product) : zero);
    }
  });
}

/// Writes solutions and, where m > n and they are wanted, the norm of a column of residuals in row n, with zeros below. A warp has a
/// column.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(by_svd_threads, 1) by_svd_write(BySvd<T> const work) {
  using namespace simt;
  using R = simt::Real<T>;
  by_svd_for_lines(work.a.count, work.x.cols, [&](Index b, int j) {
    int const m = work.a.rows_of(b), n = work.a.cols_of(b), lane = lane_index();
    if (n == 0 || j >= work.columns_of(b)) return;
    R const of_a = work.scales[b], of_b = work.b.given() ? reciprocal_power(*work.column_scale(b, j)) : R(1);
    R const of_divisor = SvdCutoff<R>::divisor_scale(work.cutoff.relative_of(m, n)), all = of_a * of_b * of_divisor;
    bool const finite = of_a == of_a, at_once = all > R(0) && all < R(infinity());
    Index const row_stride = work.x.row_stride_of(b);
    T const* const from = m > 0 ? work.solutions.at(b, 0, j) : nullptr;
    T* const to = work.x.at(b, 0, j);
    for (int i = lane; i < n; i += warp_size) {
      T const value = m > 0 ? from[i] : from_real<T>(R(0));
      T const scaled = at_once ? all * value : of_b * (of_divisor * (of_a * value));
      store_global(to + i * row_stride, finite ? conjugate_if(work.x.conjugated, scaled) : not_a_number<T>());
    }
    if (!work.residuals || m <= n) return;
    T const* const residual = work.scaled_b.at(b, 0, j);
    auto top = ordered_bits(R(0));
    for (int i = lane; i < m; i += warp_size) top = by_svd_larger(top, residual[i]);
    R const scale = by_svd_scale(by_svd_largest_of_warp<R>(top), R(1)), back = reciprocal_power(scale), norm_scale = of_b * back;
    R sum = 0;
    for (int i = lane; i < m; i += warp_size) sum += square_of(scale * residual[i]);  // scaled, since squares could underflow
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
    R const root = square_root(sum), scaled_back = norm_scale > R(0) ? norm_scale * root : of_b * (back * root);
    R const norm = !finite ? R(quiet_nan()) : sum < R(infinity()) ? scaled_back : sum;
    for (int i = n + lane; i < m; i += warp_size) store_global(to + i * row_stride, from_real<T>(i == n ? norm : R(0)));
  });
}

}  // namespace myriad
