#pragma once
/// What the files of this room share: the task of the kernels, and how far these are used.

#include <array>

#include "myriad/gemm.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// C = alpha A B + beta C. C is not conjugated (see `gemm`, which moves that to the others). Of types of 16 bits C may have the type in
/// which is computed.
template <typename T, typename Output = T>
struct GemmTask {
  Compute<T> alpha;
  Batch<T const> a;
  Batch<T const> b;
  Compute<T> beta;
  Batch<Output> c;
};
MYRIAD_LANES_DECLARE(gemm_small, GemmTask);

/// Whether the product of matrix q goes to the kernels of this room. Near the limit OpenBLAS with its
/// AVX-512 kernels catches up; the limit itself has yet to be measured on an idle machine.
template <typename T>
bool gemm_is_small(GemmTask<T> const& task, std::int64_t q) {
  constexpr std::int64_t largest = 512;
  return task.c.rows_of(q) <= largest && task.c.cols_of(q) <= largest && task.a.cols_of(q) <= largest;
}

/// All matrices have one shape and lie at equal distances.
template <typename T>
bool uniform(Batch<T> const& x) {
  return !x.pointers && !x.ragged() && !x.row_strides && !x.col_strides;
}

/// Some operand has its matrices side by side, element by element, rather than one after the other.
template <typename T>
bool is_interleaved(GemmTask<T> const& task) {
  auto const side_by_side = [](auto const& x) { return uniform(x) && x.batch_stride == 1 && x.row_stride != 1 && x.col_stride != 1; };
  return side_by_side(task.a) || side_by_side(task.b) || side_by_side(task.c);
}

}  // namespace myriad
