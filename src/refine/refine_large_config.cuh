#pragma once
/// Equilibration, refinement and backward errors of matrices of any size on a GPU: what host and kernels share.

#include "refine/refine_rows.cuh"
#include "simt/matrices.hpp"

namespace myriad {

inline constexpr int refine_threads = 256;
/// Rows of a stripe, which a block has, and parts of the sum of each of them. A part has every so manieth term, in order, whichever way
/// the matrix lies in memory.
inline constexpr int refine_stripe = 32, refine_parts = refine_threads / refine_stripe;
/// Sums of matrices of up to so many rows and columns have one part, as in the kernels for these.
inline constexpr int refine_one_part = 32;

/// size(i) = max_j |a(i, j)| w(j), with the balancing powers of weights for w, or ones where there are none.
template <typename T>
struct LineSizesArguments {
  simt::Matrices<T const> a;
  simt::Matrices<simt::Real<T> const> weights;  ///< or not given
  simt::Matrices<simt::Real<T>> sizes;
  simt::Index stripes;  ///< of a matrix
};

/// Sizes of rows and columns become scalings.
template <typename T>
struct GeequWriteArguments {
  simt::Matrices<simt::Real<T>> r, c;
  simt::Real<T>* rowcnd;  ///< or null, as the next three
  simt::Real<T>* colcnd;
  simt::Real<T>* amax;
  int* info;
};

/// Residuals b - A x, and the largest backward error of each stripe of rows.
template <typename T>
struct ResidualsArguments {
  simt::Matrices<T const> a, x, b;
  simt::Matrices<T> residual;           ///< or not given
  simt::Matrices<simt::Real<T>> scale;  ///< |A| |x| + |b|, or not given
  simt::Real<T>* worst;                 ///< one after the other those of each column of each matrix
  simt::Index stripes;                  ///< of a column
  int const* active;                    ///< of each column of each matrix, or null: others are passed over
  bool plain;                           ///< whether the residual is that of the precision of T
};

template <typename T>
struct BackwardErrorWriteArguments {
  simt::Matrices<simt::Real<T>> berr;
  simt::Matrices<T const> b;  ///< whose rows say how many stripes there are
  simt::Real<T> const* worst;
  simt::Index stripes;
};

/// Refinement of the columns of X, each of which stops when it has converged.
template <typename T>
struct GerfsArguments {
  using R = simt::Real<T>;
  simt::Matrices<T> x, kept, residual;  ///< the present X, the best so far, and its residuals or what is solved with
  simt::Matrices<R> scale;              ///< weights of the error bound
  R* worst;                             ///< see ResidualsArguments
  simt::Index stripes;
  R *best, *last;  ///< errors; of each column of each matrix, as the next ones
  int* active;
  int* place;                    ///< of the largest element, in the estimate of a norm
  signed char* signs;            ///< of real numbers; `rows` of each column
  simt::Matrices<R> ferr, berr;  ///< or not given
};

/// Row and column sizes of factors and right-hand sides of a ragged batch in which matrices without an active column are empty.
struct GerfsSizesArguments {
  simt::Matrices<int const> x;  ///< for its sizes
  int const* active;
  simt::Index factor_row_offset, factor_col_offset, row_offset, col_offset;
  simt::Index *factor_rows, *factor_cols, *rows, *cols;
};

/// Steps of the estimate of norm1(diag(w) op(A)^-H), as in LAPACK's lacn2: products with that, and with its adjoint, are solves between the
/// steps.
enum class EstimateStep : int {
  start,        ///< weights, and a vector of equal elements
  first,        ///< the first estimate; its signs
  unit,         ///< the unit vector of the largest element; ends where that is the one before
  next,         ///< the next estimate; ends where it is no larger
  alternating,  ///< a vector with alternating signs, for all columns
  last,         ///< the result
};
template <typename T>
struct EstimateArguments {
  GerfsArguments<T> columns;
  EstimateStep step;
  bool again;  ///< whether there was a unit vector before
};
/// Sweeps with residuals in twice the precision end where the error is that of rounding or no longer falls. Columns whose error is then
/// still above the rounding errors of a row start again, with residuals in the precision of T, until it is not.
enum class Sweeps : int { doubled, plain };
template <typename T>
struct GerfsStepArguments {
  GerfsArguments<T> columns;
  Sweeps sweeps;
  int sweep;
};

}  // namespace myriad
