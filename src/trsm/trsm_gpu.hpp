#pragma once
/// Triangular solves on a GPU, and what else is made of them.

#include "runtime/kernel_filter.hpp"
#include "trsm/trsm.hpp"
#include "trsm/trsm_tiny_config.cuh"
#include "trsm/trtri.hpp"

namespace myriad::gpu {

template <typename T>
void trsm(Queue& queue, TrsmTask<T> const& task);
/// The same by few kernels, for blocked algorithms (blocked/machine.hpp); B is not conjugated.
template <typename T>
void trsm_shared(Queue& queue, TrsmTask<T> const& task);
/// Its kernels for several right-hand sides, but for products.
std::vector<KernelSource> trsm_shared_kernels(Dtype dtype);
/// The kernels of triangles by columns or by rows with one right-hand side, of up to trsm_columns_largest rows.
std::vector<KernelSource> trsm_vector_kernels(Dtype dtype, std::int64_t rows);
template <typename T>
void trmm(Queue& queue, TrsmTask<T> const& task);
/// One column and alpha = 1, summed in another order than by trmm where there are more than 32 rows.
template <typename T>
void trmv(Queue& queue, TrsmTask<T> const& task);
/// The same of trsm: by substitution, also where trsm takes products.
template <typename T>
void trsv(Queue& queue, TrsmTask<T> const& task);

/// The inverse of triangles that a block has as a whole: see trsm_columns_largest.
template <typename T>
void invert_triangle(Queue& queue, TrtriTask<T> const& task);

/// B = alpha U^-1 L^-1 B with triangles of A, whose rows `pivots` interchange; for `routine`, which an error names.
template <typename T>
struct Substitution {
  char const* routine;
  Triangle lower, upper;
  Interchange interchange;
  RightSide right;
  T alpha;
  Batch<T const> a;
  Batch<int const> pivots;
  Batch<T> b;
  int* info;
};
template <typename T>
void substitute(Queue& queue, Substitution<T> const& task);

/// Kernels that solve with triangles of so many rows, up to trsm_columns_largest, and many right-hand sides, which are not ragged and have
/// their columns not side by side in memory: those below a diagonal block.
std::vector<KernelSource> trsm_kernels_of_panel(Dtype dtype, std::int64_t rows, bool lower);
/// Kernels of this room that a pack holds.
std::vector<KernelSource> trsm_kernels(KernelFilter const& filter);
std::vector<KernelSource> trmv_kernels(KernelFilter const& filter);
std::vector<KernelSource> trsv_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
