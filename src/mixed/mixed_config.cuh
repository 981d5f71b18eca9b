#pragma once
/// Systems by factors in single precision on a GPU: what host and kernels share.

#include "simt/matrices.hpp"

namespace myriad {

/// Blocks have `mixed_threads` threads; a stripe is so many rows, and each sum of a row has so many parts, whichever way the matrix lies in
/// memory. Residuals of up to `mixed_columns` columns are computed at a time.
inline constexpr int mixed_threads = 256, mixed_stripe = 32, mixed_parts = mixed_threads / mixed_stripe, mixed_columns = 8;

/// Refinements on a CPU and on a GPU, where all of them are enqueued.
inline constexpr int mixed_rounds = 30, mixed_rounds_on_gpu = 10;
/// Reasons why a matrix is solved in double: values of iter, as LAPACK has them.
inline constexpr int mixed_is_single = -1, mixed_overflows = -2, mixed_is_singular = -3, mixed_diverges = -(mixed_rounds + 1);
/// The iter of a matrix that is still refined
inline constexpr int mixed_is_active = -100;

namespace detail {
template <typename T>
struct MixedSingle {
  using type = float;
};
template <typename R>
struct MixedSingle<simt::Complex<R>> {
  using type = simt::Complex<float>;
};
}  // namespace detail
/// The type in which a matrix of type T is factored.
template <typename T>
using MixedSingle = typename detail::MixedSingle<T>::type;

/// A in single precision, and the largest sum of moduli of a row of each stripe: infinity where an element is too large for single.
template <typename T>
struct MixedNarrowArguments {
  simt::Matrices<T const> a;
  simt::Matrices<MixedSingle<T>> single;
  simt::Real<T>* norms;  ///< one for each stripe of each matrix
  simt::Index stripes;   ///< of a matrix
  bool hermitian;        ///< whether the lower triangle stands for all of A
};

/// Steps that go element by element.
enum class MixedStep : int {
  begin,    ///< X = 0 and Y = B; residuals are zero, or infinity where B is too large
  correct,  ///< X = X + Y
  finish,   ///< the result is X, or B where refinement has failed
};
template <typename T>
struct MixedStepArguments {
  MixedStep step;
  simt::Matrices<T const> b;
  simt::Matrices<T> x, result;
  simt::Matrices<MixedSingle<T>> y;
  simt::Real<T>* residuals;  ///< of each stripe of each column of each matrix
  simt::Index stripes;       ///< of a column
  int const* iter;
};

/// Y = B - A X of matrices that are still refined.
template <typename T>
struct MixedResidualsArguments {
  simt::Matrices<T const> a, x, b;
  simt::Matrices<MixedSingle<T>> y;
  simt::Real<T>*residuals, *sizes;  ///< the largest |re| + |im| of Y before it is rounded, and of X: as in MixedStepArguments
  simt::Index stripes;
  int const* iter;
  bool hermitian;
};

/// Decisions for each matrix.
enum class MixedJudge : int {
  sizes,    ///< of all matrices
  factors,  ///< whether there are factors in single precision
  round,    ///< whether the residuals are small enough
  last,     ///< the same, and what has not converged is solved in double
  result,   ///< iter and info
  plain,    ///< all are solved in double
};
template <typename T>
struct MixedJudgeArguments {
  MixedJudge judge;
  int round;
  simt::Matrices<T const> a, x;  ///< for their sizes
  simt::Real<T> const *norms, *residuals, *sizes;
  simt::Real<T>* enough;  ///< residuals over X
  simt::Index stripes;
  int* iter;
  int const* info;                                       ///< of the last factorization
  simt::Index *rows, *columns;                           ///< of matrices that are still refined; zero of others
  simt::Index *a_rows, *a_columns, *x_rows, *x_columns;  ///< of A and X where they are solved for in double, else of none
  simt::Index a_row_offset, a_column_offset, x_row_offset, x_column_offset;  ///< of the views that these are sizes of
  int *iter_result, *info_result;                                            ///< or null
};

}  // namespace myriad
