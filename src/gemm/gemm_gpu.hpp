#pragma once
/// The GPU path of gemm.

#include "gemm/gemm.hpp"
#include "gemm/gemm_arguments.cuh"
#include "gemm/gemm_shape.hpp"
#include "runtime/kernel_filter.hpp"

namespace myriad::gpu {

/// Products of 16-bit numbers.
template <HalfElement T, typename Output>
void gemm(Queue& queue, GemmTask<T, Output> const& task);

/// C may be B where A has no more rows than gemm_rows_in_place. A product that is too large to be one tile gets the kernel of products of
/// the shape `planned_for`, where one is given, so that products of many shapes share a kernel.
template <Element T>
void gemm(Queue& queue, GemmTask<T> const& task, Structure structure = Structure::general, Written written = Written::whole,
          GemmShape planned_for = {});

/// The products of all groups, which are independent of each other, once all kernels are there: small ones that are alike in all but sizes
/// and places by the same launches, as one ragged batch, others one after the other.
template <typename T, typename Output>
void gemm_grouped(Queue& queue, std::vector<GemmTask<T, Output>> const& tasks);
std::vector<KernelSource> gemm_groups_kernels();

/// By another arithmetic than the standard one, where tensor cores serve the task; else as `gemm`.
void gemm_on_tensor_cores(Queue& queue, GemmTask<float> const& task, Arithmetic arithmetic);

/// Kernels of general products of that shape, of which no side is one, whose elements lie so in memory.
std::vector<KernelSource> gemm_kernels_of(Dtype dtype, GemmShape planned_for, Lines a, Lines b, Lines c, Written written = Written::whole);

/// The kernels of gemm_bulk for square matrices by columns, wherever they begin; so many candidates of a search, too.
std::vector<KernelSource> gemm_kernels_by_bulk(Dtype dtype, int n, std::size_t candidates = 0);
/// Up to so many rows, a block has read all rows of B in its columns before it writes C there.
constexpr std::int64_t gemm_rows_in_place = 32;

/// What a pack holds of this room.
std::vector<KernelSource> gemm_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
