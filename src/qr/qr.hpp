#pragma once
/// What the files of this room share: the tasks of the lane kernels, and how far these are used.

#include <algorithm>
#include <array>

#include "myriad/qr.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// Reflectors of matrix k. A tau that is not ragged may be longer than the matrices of a ragged batch have room for.
template <typename T>
std::int64_t reflectors_of(Batch<T const> const& a, Batch<T const> const& tau, std::int64_t k) {
  return std::min({tau.rows_of(k), a.rows_of(k), a.cols_of(k)});
}

template <typename T>
struct GeqrfTask {
  Batch<T> a;
  Batch<T> tau;
};

template <typename T>
struct OrmqrTask {
  Side side;
  Op op;
  Batch<T const> a;
  Batch<T const> tau;
  Batch<T> c;
};

template <typename T>
struct OrgqrTask {
  Batch<T> a;
  Batch<T const> tau;
};

template <typename T>
struct GelsTask {
  Batch<T> a;
  Batch<T> b;
  int* info;
};

}  // namespace myriad
