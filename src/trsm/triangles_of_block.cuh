#pragma once
/// Triangles of any order of one matrix by a block, for kernels of other algorithms: as gemm_of_block, by blocks on the diagonal and
/// products of what is beside them. All configs have the same number of threads, and shared memory is what the largest one needs.

#include "gemm/gemm_of_block.cuh"
#include "trsm/trsm_columns.cuh"

namespace myriad {

/// B = alpha A^-1 B of matrix b, of which A is the lower triangle, or the upper one, as Solve says: solves with blocks of Solve.n rows and
/// takes what they give from the others by products `Rest`. Solve is for matrices that may be smaller (`ragged`).
template <typename T, TrsmColumns Solve, GemmTiles Rest>
SIMT_INLINE void trsm_of_block(TrsmColumnsArguments<T> const& args, simt::Index b) {
  using namespace simt;
  static_assert(Solve.ragged && !Solve.inverse && Solve.threads() == Rest.threads());
  int const n = args.b.rows_of(b), columns = args.b.cols_of(b), number = ceil_div(n, Solve.n);
  SIMT_LOOP
  for (int step = 0; step < number; ++step) {
    int const i = (Solve.lower ? step : number - 1 - step) * Solve.n, m = smaller(Solve.n, n - i);
    TrsmColumnsArguments<T> part = args;
    part.a = args.a.part(i, m, i, m);
    part.b = args.b.part(i, m, 0, columns);
    if (step > 0) {
      sync_block();
      // alpha = 0 never reads A.
      if (!(args.alpha == from_real<T>(0))) {
        int const first = Solve.lower ? 0 : i + m, solved = Solve.lower ? i : n - first;
        gemm_of_block<T, Rest>({.alpha = from_real<T>(-1),
                                .beta = args.alpha,
                                .a = args.a.part(i, m, first, solved),
                                .b = args.b.part(first, solved, 0, columns).as_const(),
                                .c = part.b,
                                .depth = solved},
                               b);
        part.alpha = from_real<T>(1);
        sync_block();
      }
    }
    trsm_of_block<T, Solve>(part, b, 0, columns);
  }
}

/// B = alpha A B of matrix b, of which A is the triangle that InPlace.structure says, by blocks of InPlace.m rows, 32 at most; Rest adds
/// what is beside them.
template <typename T, GemmTiles InPlace, GemmTiles Rest>
SIMT_INLINE void trmm_of_block(T alpha, simt::Matrices<T const> const& a, simt::Matrices<T> const& x, simt::Index b) {
  using namespace simt;
  static_assert(InPlace.threads() == Rest.threads() && is_triangular(InPlace.structure) && !InPlace.whole() && InPlace.matrices == 1);
  constexpr bool lower = InPlace.structure == Structure::lower || InPlace.structure == Structure::unit_lower;
  int const n = x.rows_of(b), columns = x.cols_of(b), number = ceil_div(n, InPlace.m);
  bool const none = alpha == from_real<T>(0);
  SIMT_LOOP
  for (int step = 0; step < number; ++step) {
    // Those that the others want come last.
    int const i = (lower ? number - 1 - step : step) * InPlace.m, m = smaller(InPlace.m, n - i);
    Matrices<T> const mine = x.part(i, m, 0, columns);
    if (step > 0) sync_block();
    gemm_of_block<T, InPlace>(
        {.alpha = alpha, .beta = from_real<T>(0), .a = a.part(i, m, i, m), .b = mine.as_const(), .c = mine, .depth = none ? 0 : m}, b);
    int const first = lower ? 0 : i + m, others = lower ? i : n - first;
    if (others <= 0 || none) continue;
    sync_block();
    gemm_of_block<T, Rest>({.alpha = alpha,
                            .beta = from_real<T>(1),
                            .a = a.part(i, m, first, others),
                            .b = x.part(first, others, 0, columns).as_const(),
                            .c = mine,
                            .depth = others},
                           b);
  }
}

/// The inverse of the triangle of matrix b in its place, by blocks of Invert.n rows. What is beside a block is solved with from both sides:
/// by Solve, with the same triangle as Invert, and by Other, with the other one. Returns which element of the diagonal is zero, or 0; then
/// nothing is written.
template <typename T, TrsmColumns Invert, TrsmColumns Solve, TrsmColumns Other, GemmTiles Rest>
SIMT_INLINE int trtri_of_block(simt::Matrices<T> a, bool unit, simt::Index b) {
  using namespace simt;
  constexpr bool lower = Invert.lower;
  static_assert(Invert.inverse && Invert.ragged && Invert.n == Solve.n && Invert.n == Other.n && Solve.lower == lower &&
                Other.lower != lower);
  static_assert(Invert.threads() == Solve.threads() && Invert.threads() == Other.threads());
  a.conjugated = false;  // the inverse of the conjugate is the conjugate of the inverse
  int const n = smaller(a.rows_of(b), a.cols_of(b)), number = ceil_div(n, Invert.n);
  if (!unit) {
    SIMT_LOOP
    for (int i0 = 0; i0 < n; i0 += 32) {
      int const i = i0 + lane_index();
      if (unsigned const zeros = ballot(i < n && *a.at(b, smaller(i, n - 1), smaller(i, n - 1)) == from_real<T>(0)); zeros != 0)
        return i0 + lowest_bit(zeros) + 1;
    }
  }
  auto const arguments = [&](T alpha, Matrices<T const> const& triangle, Matrices<T> const& right) {
    return TrsmColumnsArguments<T>{.alpha = alpha,
                                   .a = triangle,
                                   .b = right,
                                   .parts = 1,
                                   .columns_of_block = right.cols,
                                   .info = nullptr,
                                   .unit = unit,
                                   .small_by_rows = false};
  };
  SIMT_LOOP
  for (int step = 0; step < number; ++step) {
    int const i = (lower ? step : number - 1 - step) * Invert.n, m = smaller(Invert.n, n - i);
    int const first = lower ? i + m : 0, others = lower ? n - first : i;
    Matrices<T> const mine = a.part(i, m, i, m);
    if (others > 0) {
      sync_block();
      Matrices<T> const beside = a.part(first, others, i, m);
      trsm_of_block<T, Solve, Rest>(arguments(from_real<T>(-1), a.part(first, others, first, others).as_const(), beside), b);
      sync_block();
      // X A = B is A^T X^T = B^T.
      trsm_of_block<T, Other>(arguments(from_real<T>(1), transposed(mine.as_const()), transposed(beside)), b, 0, others);
    }
    sync_block();
    trsm_of_block<T, Invert>(arguments(from_real<T>(1), mine.as_const(), mine), b, 0, m);
  }
  return 0;
}

}  // namespace myriad
