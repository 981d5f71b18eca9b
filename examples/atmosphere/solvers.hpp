#pragma once
/// The linear algebra of the integrator: the same two operations on Myriad and on LAPACK.

#include <lapacke.h>

#include <array>
#include <cstdint>
#include <myriad/memory.hpp>
#include <myriad/myriad.hpp>
#include <vector>

namespace atmosphere {

/// One matrix per lane, factored and solved by one batched call each. The matrices are interleaved, since the integrator computes many
/// cells side by side. The library is as fast on column-major ones (within 5 % for 64 matrices of size 20), but the integrator would have
/// to write them with a stride.
template <int size, int Lanes>
class MyriadSolver {
 public:
  static constexpr std::int64_t lanes = Lanes;

  explicit MyriadSolver(int threads) : queue_({.threads = threads}) {}

  void factor(double* w, std::int64_t n) {
    factors_ = interleaved(w, size, n);
    pivots_ = interleaved(pivot_storage_.data(), 1, n);
    myriad::getrf(queue_, factors_, pivots_, nullptr);  // a singular W gives Inf, and the step is rejected
  }
  void solve(double* x, std::int64_t n) {
    myriad::getrs<double>(queue_, myriad::Op::none, factors_, pivots_, interleaved(x, 1, n));
    queue_.wait();
  }

 private:
  /// The first n lanes of size-by-columns matrices.
  template <typename T>
  static myriad::Batch<T> interleaved(T* data, std::int64_t columns, std::int64_t n) {
    return myriad::matrices(myriad::interleaved(data, size, columns, lanes), 0, n);
  }

  myriad::Queue queue_;
  std::vector<int> pivot_storage_ = std::vector<int>(size * lanes);
  myriad::Batch<double> factors_;
  myriad::Batch<int> pivots_;
};

/// The same on a GPU queue, with copies of matrices and vectors. Factors and pivots stay on the GPU for the solves of a step. Many more
/// cells advance together, since a call takes microseconds even for few. On a CPU queue it gives the same bits as MyriadSolver, with one
/// more copy.
template <int size, int Lanes>
class DeviceSolver {
 public:
  static constexpr std::int64_t lanes = Lanes;

  explicit DeviceSolver(myriad::QueueOptions const& options)
      : queue_(options), w_(queue_, size * size * lanes), x_(queue_, size * lanes), pivots_(queue_, size * lanes) {}

  void factor(double* w, std::int64_t n) {
    myriad::copy(queue_, w, w_.size(), w_.data());
    myriad::getrf(queue_, first(w_, size, n), first(pivots_, 1, n), nullptr);
  }
  void solve(double* x, std::int64_t n) {
    myriad::copy(queue_, x, x_.size(), x_.data());
    myriad::getrs<double>(queue_, myriad::Op::none, first(w_, size, n), first(pivots_, 1, n), first(x_, 1, n));
    myriad::copy(queue_, x_.data(), x_.size(), x);
    queue_.wait();
  }

 private:
  /// The first n of the size-by-columns matrices, one per lane, in an array.
  template <typename T>
  static myriad::Batch<T> first(myriad::DeviceArray<T> const& array, std::int64_t columns, std::int64_t n) {
    return myriad::matrices(myriad::interleaved(array.data(), size, columns, lanes), 0, n);
  }

  myriad::Queue queue_;
  myriad::DeviceArray<double> w_, x_;
  myriad::DeviceArray<int> pivots_;
};

/// One cell at a time through LAPACK, as in a program without batched routines.
template <int size>
class LapackSolver {
 public:
  static constexpr std::int64_t lanes = 1;

  void factor(double* w, std::int64_t) {
    factors_ = w;
    LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, size, size, w, size, pivots_.data());
  }
  void solve(double* x, std::int64_t) { LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', size, 1, factors_, size, pivots_.data(), x, size); }

 private:
  double* factors_ = nullptr;
  std::array<lapack_int, size> pivots_{};
};

}  // namespace atmosphere
