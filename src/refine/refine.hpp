#pragma once
/// Equilibration, refinement and backward errors: tasks.

#include "core/check.hpp"
#include "myriad/refine.hpp"

namespace myriad {

template <typename T>
struct GeequTask {
  Batch<T const> a;
  Batch<Real<T>> r;
  Batch<Real<T>> c;
  Real<T>* rowcnd;
  Real<T>* colcnd;
  Real<T>* amax;
  int* info;
};

/// r, c: without data, ones.
template <typename T>
struct LaqgeTask {
  Batch<T> a;
  Batch<Real<T> const> r;
  Batch<Real<T> const> c;
};

/// pivots without data: every row stays in its place. ferr, berr without data: not wanted.
template <typename T>
struct GerfsTask {
  Op op;
  Batch<T const> a;
  Batch<T const> af;
  Batch<int const> pivots;
  Batch<T const> b;
  Batch<T> x;
  Batch<Real<T>> ferr;
  Batch<Real<T>> berr;
};

template <typename T>
struct BackwardErrorTask {
  Batch<T const> a;
  Batch<T const> x;
  Batch<T const> b;
  Batch<Real<T>> berr;
};

}  // namespace myriad
