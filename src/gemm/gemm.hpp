#pragma once
/// The task of the gemm kernels, and the shapes that go to them.

#include <array>

#include "myriad/gemm.hpp"
#include "simd/dispatch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// C = alpha A B + beta C. C is not conjugated: `gemm` moves that to the other operands. With 16-bit A and B, C may have the compute type.
template <typename T, typename Output = T>
struct GemmTask {
  Compute<T> alpha;
  Batch<T const> a;
  Batch<T const> b;
  Compute<T> beta;
  Batch<Output> c;
};
MYRIAD_LANES_DECLARE(gemm_small, GemmTask);

/// Whether the kernels of this room compute the product of matrix q. Near the limit OpenBLAS with its AVX-512 kernels catches up; the limit
/// itself has yet to be measured on an idle machine.
template <typename T>
bool gemm_is_small(GemmTask<T> const& task, std::int64_t q) {
  constexpr std::int64_t largest = 512;
  return task.c.rows_of(q) <= largest && task.c.cols_of(q) <= largest && task.a.cols_of(q) <= largest;
}

/// Whether all matrices have one shape and lie at equal distances.
template <typename T>
bool uniform(Batch<T> const& x) {
  return !x.pointers && !x.ragged() && !x.row_strides && !x.col_strides;
}

/// Whether an operand is interleaved: its matrices are side by side, element by element, rather than one after the other.
template <typename T>
bool is_interleaved(GemmTask<T> const& task) {
  auto const side_by_side = [](auto const& x) { return uniform(x) && x.batch_stride == 1 && x.row_stride != 1 && x.col_stride != 1; };
  return side_by_side(task.a) || side_by_side(task.b) || side_by_side(task.c);
}

}  // namespace myriad
