#pragma once
/// Refinement of solutions by factors in single precision. Every matrix has its own state, `iter`: kernels pass over those that are done.

#include "mixed/mixed_config.cuh"
#include "refine/refine_rows.cuh"

namespace myriad {
namespace simt {

/// The place of a thread in a stripe: neighbouring threads have neighbouring rows, or neighbouring terms of a row.
struct MixedPlace {
  int row, part;
  SIMT_INLINE explicit MixedPlace(bool by_terms) {
    int const thread = thread_index();
    row = by_terms ? thread / mixed_parts : thread % mixed_stripe;
    part = by_terms ? thread % mixed_parts : thread / mixed_stripe;
  }
};

/// Elements of a row of A in two passes: what is stored of the row, and, of a Hermitian matrix, what its column has below the diagonal.
template <typename T>
struct MixedRow {
  T const* first;
  Index step;
  int begin, end;   ///< terms of this thread: every mixed_parts-th
  bool conjugated;  ///< not of the diagonal of a Hermitian matrix
  int diagonal;     ///< or -1

  SIMT_INLINE MixedRow(Matrices<T const> const& a, Index b, int row, int part, int n, bool hermitian, int pass) {
    Index const down = a.row_stride_of(b), right = a.col_stride_of(b);
    first = pass == 0 ? a.at(b, row, 0) : a.at(b, 0, row);
    step = pass == 0 ? right : down;
    begin = pass == 0 ? part : row + 1 + ((part - row - 1) & (mixed_parts - 1));
    end = pass == 0 && hermitian ? row + 1 : n;
    conjugated = a.conjugated != (pass == 1);
    diagonal = hermitian && pass == 0 ? row : -1;
  }
  SIMT_INLINE T operator[](int j) const {
    T const x = first[j * step];
    return j == diagonal ? from_real<T>(real_part(x)) : conjugate_if(conjugated, x);
  }
  /// Whether neighbouring terms are neighbours in memory.
  SIMT_INLINE static bool by_terms(Matrices<T const> const& a, Index b, int pass) {
    return (a.col_stride_of(b) < a.row_stride_of(b)) != (pass == 1);
  }
};

template <typename T>
SIMT_INLINE MixedSingle<T> in_single(T x) {
  if constexpr (simt::is_complex<T>)
    return {static_cast<float>(x.re), static_cast<float>(x.im)};
  else
    return static_cast<float>(x);
}
template <typename T>
SIMT_INLINE T from_single(MixedSingle<T> x) {
  if constexpr (simt::is_complex<T>)
    return {simt::Real<T>(x.re), simt::Real<T>(x.im)};
  else
    return T(x);
}
/// Whether x becomes infinite in single precision.
template <typename T>
SIMT_INLINE bool overflows_single(T x) {
  using R = simt::Real<T>;
  constexpr R most = R(3.4028234663852885981e38);
  if constexpr (simt::is_complex<T>)
    return magnitude(x.re) > most || magnitude(x.im) > most;
  else
    return magnitude(x) > most;
}
/// The largest number of a warp; NaN where there is one.
template <typename R>
SIMT_INLINE R largest_of_lanes(R x) {
  for (int distance = warp_size / 2; distance > 0; distance /= 2) x = larger_or_nan(x, shuffle_xor(x, distance));
  return x;
}

}  // namespace simt

/// Launch: any number of blocks of mixed_threads threads with as many real numbers of dynamic shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(mixed_threads, 2) mixed_narrow(MixedNarrowArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  R* const parts = reinterpret_cast<R*>(shared_memory());
  Index const all = args.a.count * args.stripes;
  for (Index at = block_index(); at < all; at += block_count()) {
    Index const b = at / args.stripes;
    int const n = args.a.rows_of(b), first = static_cast<int>(at % args.stripes) * mixed_stripe;
    if (first >= n) continue;
    R sum = 0;  // of a row, in a thread of the first warp
    for (int pass = 0; pass < (args.hermitian ? 2 : 1); ++pass) {
      MixedPlace const place(MixedRow<T>::by_terms(args.a, b, pass));
      R part = 0;
      if (int const i = first + place.row; i < n) {
        MixedRow<T> const row(args.a, b, i, place.part, n, args.hermitian, pass);
        bool overflows = false;
        SIMT_UNROLL_BY(8)
        for (int j = row.begin; j < row.end; j += mixed_parts) {
          T const x = row[j];
          part += modulus(x);
          if (pass == 0) store_global(args.single.at(b, i, j), in_single(x));
          overflows = overflows || overflows_single(x);
        }
        if (overflows) part = R(infinity());
      }
      parts[place.part * mixed_stripe + place.row] = part;
      sync_block();
      if (thread_index() < mixed_stripe)
        for (int p = 0; p < mixed_parts; ++p) sum += parts[p * mixed_stripe + thread_index()];
      sync_block();
    }
    if (thread_index() < mixed_stripe) {
      R const largest = largest_of_lanes(sum);
      if (thread_index() == 0) args.norms[at] = largest;
    }
  }
}

/// Launch: any number of blocks of mixed_threads threads; a warp to a stripe of a column.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(mixed_threads, 2) mixed_step(MixedStepArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr int warps = mixed_threads / warp_size;
  int const lane = lane_index();
  Index const of_matrix = args.b.cols * args.stripes;
  for (Index at = block_index() * warps + thread_index() / warp_size; at < args.b.count * of_matrix; at += block_count() * warps) {
    Index const b = at / of_matrix;
    int const c = static_cast<int>(at % of_matrix / args.stripes), first = static_cast<int>(at % args.stripes) * mixed_stripe;
    int const n = args.b.rows_of(b), i = first + lane;
    if (c >= args.b.cols_of(b) || first >= n) continue;
    bool const mine = i < n;
    if (args.step == MixedStep::begin) {
      bool overflows = false;
      if (mine) {
        T const x = conjugate_if(args.b.conjugated, *args.b.at(b, i, c));
        overflows = overflows_single(x);
        store_global(args.x.at(b, i, c), from_real<T>(0));
        store_global(args.y.at(b, i, c), in_single(x));
      }
      overflows = ballot(overflows) != 0;
      if (lane == 0) args.residuals[at] = overflows ? R(infinity()) : R(0);
      continue;
    }
    int const iter = args.iter[b];
    if (!mine) continue;
    T* const x = args.x.at(b, i, c);
    if (args.step == MixedStep::correct) {
      if (iter == mixed_is_active) store_global(x, *x + from_single<T>(*args.y.at(b, i, c)));
    } else {
      T const result = iter >= 0 ? *x : conjugate_if(args.b.conjugated, *args.b.at(b, i, c));
      store_global(args.result.at(b, i, c), conjugate_if(args.result.conjugated, result));
    }
  }
}

/// Bytes of shared memory of mixed_residuals.
template <typename T>
inline constexpr int mixed_residuals_bytes = mixed_threads* mixed_columns* static_cast<int>(sizeof(T));

/// Launch: any number of blocks of mixed_threads threads with mixed_residuals_bytes<T> of shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(mixed_threads, 2) mixed_residuals(MixedResidualsArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  T* const parts = reinterpret_cast<T*>(shared_memory());
  int const thread = thread_index();
  Index const groups = (args.b.cols + mixed_columns - 1) / mixed_columns, of_matrix = groups * args.stripes;
  for (Index at = block_index(); at < args.b.count * of_matrix; at += block_count()) {
    Index const b = at / of_matrix;
    if (args.iter[b] != mixed_is_active) continue;
    int const c0 = static_cast<int>(at % of_matrix / args.stripes) * mixed_columns, stripe = static_cast<int>(at % args.stripes);
    int const n = args.b.rows_of(b), first = stripe * mixed_stripe, columns = smaller(args.b.cols_of(b) - c0, mixed_columns);
    if (first >= n || columns <= 0) continue;
    auto const of_columns = [&]<int width>() {
      int const i = first + thread % mixed_stripe, c = thread / mixed_stripe;
      bool const mine = i < n && c < columns;
      T rest = mine ? conjugate_if(args.b.conjugated, *args.b.at(b, i, c0 + c)) : from_real<T>(0);
      for (int pass = 0; pass < (args.hermitian ? 2 : 1); ++pass) {
        MixedPlace const place(MixedRow<T>::by_terms(args.a, b, pass));
        T sum[width];
        SIMT_UNROLL
        for (int e = 0; e < width; ++e) sum[e] = from_real<T>(0);
        if (first + place.row < n) {
          MixedRow<T> const row(args.a, b, first + place.row, place.part, n, args.hermitian, pass);
          T const* const x = args.x.at(b, 0, c0);
          Index const right = args.x.col_stride;
          SIMT_UNROLL_BY(width == 1 ? 8 : 1)
          for (int j = row.begin; j < row.end; j += mixed_parts) {
            T const factor = row[j];
            SIMT_UNROLL
            for (int e = 0; e < width; ++e) sum[e] = multiply_add(factor, x[j + smaller(e, columns - 1) * right], sum[e]);
          }
        }
        SIMT_UNROLL
        for (int e = 0; e < width; ++e) parts[(e * mixed_parts + place.part) * mixed_stripe + place.row] = sum[e];
        sync_block();
        if (mine)
          for (int p = 0; p < mixed_parts; ++p) rest = rest - parts[(c * mixed_parts + p) * mixed_stripe + thread % mixed_stripe];
        sync_block();
      }
      if (c >= columns) return;
      if (mine) store_global(args.y.at(b, i, c0 + c), in_single(rest));
      R const of_rest = largest_of_lanes(mine ? magnitude(rest) : R(0));
      R const of_x = largest_of_lanes(mine ? magnitude(*args.x.at(b, i, c0 + c)) : R(0));
      if (thread % mixed_stripe != 0) return;
      Index const place = (b * args.b.cols + c0 + c) * args.stripes + stripe;
      args.residuals[place] = of_rest;
      args.sizes[place] = of_x;
    };
    if (columns == 1)
      of_columns.template operator()<1>();
    else
      of_columns.template operator()<mixed_columns>();
  }
}

/// Launch: any number of blocks of mixed_threads threads; a warp to a matrix.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(mixed_threads, 2) mixed_judge(MixedJudgeArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr int warps = mixed_threads / warp_size;
  int const lane = lane_index();
  for (Index b = block_index() * warps + thread_index() / warp_size; b < args.a.count; b += block_count() * warps) {
    int const n = args.a.rows_of(b), columns = args.x.cols_of(b), stripes = (n + mixed_stripe - 1) / mixed_stripe;
    int iter = mixed_is_active;
    if (args.judge == MixedJudge::round || args.judge == MixedJudge::last || args.judge == MixedJudge::result) iter = args.iter[b];
    if (args.judge == MixedJudge::result || args.judge == MixedJudge::plain) {
      if (lane != 0) continue;
      if (args.judge == MixedJudge::plain) iter = mixed_is_single;
      if (args.iter_result) args.iter_result[b] = iter;
      if (args.info_result) args.info_result[b] = iter < 0 ? args.info[b] : 0;
      continue;
    }
    if (args.judge == MixedJudge::round && iter != mixed_is_active) continue;
    Index const first = b * args.x.cols * args.stripes;
    if (args.judge == MixedJudge::factors) {
      R norm = 0, right = 0;
      for (int s = lane; s < stripes; s += warp_size) norm = larger_or_nan(norm, args.norms[b * args.stripes + s]);
      for (int c = 0; c < columns; ++c)
        for (int s = lane; s < stripes; s += warp_size) right = larger_or_nan(right, args.residuals[first + c * args.stripes + s]);
      norm = largest_of_lanes(norm);
      right = largest_of_lanes(right);
      R const order = R(larger(n, 1));
      if (lane == 0) args.enough[b] = norm * (power_of_two<R, -53, -24> * (order * reciprocal_square_root(order)));
      iter = !(norm == norm)                                   ? mixed_diverges
             : norm == R(infinity()) || right == R(infinity()) ? mixed_overflows
             : args.info[b] != 0                               ? mixed_is_singular
                                                               : mixed_is_active;
    } else if (args.judge != MixedJudge::sizes && iter == mixed_is_active) {
      R const enough = args.enough[b];
      R worst = 0;
      bool converged = true;
      auto const look = [&](R residual, R size) {
        converged = converged && residual <= size * enough;
        worst = larger_or_nan(worst, residual);
      };
      bool const by_stripes = stripes >= warp_size;
      for (int c = by_stripes ? 0 : lane; c < columns; c += by_stripes ? 1 : warp_size) {
        R residual = 0, size = 0;
        for (int s = by_stripes ? lane : 0; s < stripes; s += by_stripes ? warp_size : 1) {
          residual = larger_or_nan(residual, args.residuals[first + c * args.stripes + s]);
          size = larger_or_nan(size, args.sizes[first + c * args.stripes + s]);
        }
        if (by_stripes) {
          residual = largest_of_lanes(residual);
          size = largest_of_lanes(size);
        }
        look(residual, size);
      }
      converged = ballot(!converged) == 0;
      worst = largest_of_lanes(worst);
      if (overflows_single(worst))
        iter = mixed_overflows;
      else if (converged)
        iter = args.round;
      else if (args.judge == MixedJudge::last || !(worst == worst))
        iter = mixed_diverges;
    }
    sync_warp();  // all lanes have read iter
    if (lane != 0) continue;
    bool const active = iter == mixed_is_active, falls_back = args.judge == MixedJudge::last && iter < 0;
    args.iter[b] = iter;
    args.rows[b] = active ? n : 0;
    args.columns[b] = active ? columns : 0;
    if (args.judge != MixedJudge::last) continue;
    args.a_rows[b] = args.a_row_offset + (falls_back ? n : 0);
    args.a_columns[b] = args.a_column_offset + (falls_back ? n : 0);
    args.x_rows[b] = args.x_row_offset + (falls_back ? n : 0);
    args.x_columns[b] = args.x_column_offset + (falls_back ? columns : 0);
  }
}

}  // namespace myriad
