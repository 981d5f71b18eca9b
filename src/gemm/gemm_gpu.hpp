#pragma once
/// The GPU path of gemm.

#include "gemm/gemm.hpp"
#include "gemm/gemm_arguments.cuh"
#include "gemm/gemm_shape.hpp"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

/// Products of 16-bit types.
template <HalfElement T, typename Output>
void gemm(Queue& queue, GemmTask<T, Output> const& task);

/// C may be B where A has at most gemm_rows_in_place rows. A product too large for one tile uses the kernel planned for the shape
/// `planned_for`, if one is given, so that products of many shapes share a kernel.
template <Element T>
void gemm(Queue& queue, GemmTask<T> const& task, Structure structure = Structure::general, Written written = Written::whole,
          GemmShape planned_for = {});

/// Multiplies all groups, which are independent of each other, after all kernels are loaded. Small groups that differ only in sizes and
/// addresses are merged into a ragged batch and share launches; others follow one after the other.
template <typename T, typename Output>
void gemm_grouped(Queue& queue, std::vector<GemmTask<T, Output>> const& tasks);
std::vector<KernelSource> gemm_groups_kernels();

/// Multiplies by `arithmetic` where tensor cores support the task, else as `gemm`.
void gemm_on_tensor_cores(Queue& queue, GemmTask<float> const& task, Arithmetic arithmetic);

/// The kernels of general products planned for that shape, no side of which is 1, with operands in these layouts.
std::vector<KernelSource> gemm_kernels_of(Dtype dtype, GemmShape planned_for, Lines a, Lines b, Lines c, Written written = Written::whole);

/// The kernels of gemm_bulk for square matrices by columns at every alignment; also `candidates` candidates of a search.
std::vector<KernelSource> gemm_kernels_by_bulk(Dtype dtype, int n, std::size_t candidates = 0);
/// Largest number of rows at which C may be B: a block has read all rows of B in its columns before it writes C there.
constexpr std::int64_t gemm_rows_in_place = 32;

/// The kernels of this room that a pack holds.
std::vector<KernelSource> gemm_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
