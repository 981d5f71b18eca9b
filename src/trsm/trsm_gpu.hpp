#pragma once
/// The GPU paths of trsm, trsv, trmv and trtri, and solves of other rooms.

#include "runtime/kernel_filter.hpp"
#include "trsm/trsm.hpp"
#include "trsm/trsm_tiny_config.cuh"
#include "trsm/trtri.hpp"

namespace myriad::gpu {

/// `planned_columns`: number of right-hand sides that the kernel is planned for; 0: those of the task.
template <typename T>
void trsm(Queue& queue, TrsmTask<T> const& task, std::int64_t planned_columns = 0);
/// The same with few kernels, for blocked algorithms (blocked/machine.hpp); B must not be conjugated.
template <typename T>
void trsm_shared(Queue& queue, TrsmTask<T> const& task);
/// Its kernels for several right-hand sides, without those of products.
std::vector<KernelSource> trsm_shared_kernels(Dtype dtype);
/// The kernels for column-major and row-major triangles with one right-hand side, of up to trsm_columns_largest rows.
std::vector<KernelSource> trsm_vector_kernels(Dtype dtype, std::int64_t rows);
template <typename T>
void trmm(Queue& queue, TrsmTask<T> const& task);
/// One column and alpha = 1, summed in another order than by trmm beyond 32 rows.
template <typename T>
void trmv(Queue& queue, TrsmTask<T> const& task);
/// The same for trsm: always by substitution, even where trsm uses products.
template <typename T>
void trsv(Queue& queue, TrsmTask<T> const& task);

/// Inverts triangles that fit in a block (see trsm_columns_largest) with the kernel planned for `planned_rows` rows.
template <typename T>
void invert_triangle(Queue& queue, TrtriTask<T> const& task, std::int64_t planned_rows);

/// B = alpha U^-1 L^-1 B with triangles of A, and row interchanges by `pivots`. Errors name `routine`.
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

/// Kernels of trsm for columns_of_panel right-hand sides and triangles of up to trsm_columns_largest rows.
std::vector<KernelSource> trsm_kernels_of_panel(Dtype dtype, std::int64_t rows, bool lower, bool ragged);
/// Kernels of this room for packs.
std::vector<KernelSource> trsm_kernels(KernelFilter const& filter);
std::vector<KernelSource> trmv_kernels(KernelFilter const& filter);
std::vector<KernelSource> trsv_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
