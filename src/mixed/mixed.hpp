#pragma once
/// Systems by factors in single precision and refinement: what the CPU and the GPU path share.

#include <complex>
#include <cstdint>

#include "core/dtype.hpp"
#include "mixed/mixed_config.cuh"
#include "myriad/mixed.hpp"

namespace myriad {

/// The type in which a matrix of type T is factored first.
template <typename T>
using SingleOf = std::conditional_t<is_complex<T>, std::complex<float>, float>;

/// gesv_mixed and, with `hermitian`, posv_mixed: of a Hermitian A the lower triangle. A is not conjugated. b may be x.
template <typename T>
struct MixedTask {
  Batch<T> a;
  Batch<int> pivots;  ///< or empty
  Batch<T const> b;
  Batch<T> x;
  int* iter;
  int* info;
  bool hermitian;
};

/// Workspace of the copies in single precision and of the refinement.
constexpr std::int64_t mixed_workspace = std::int64_t{1} << 30;

}  // namespace myriad
