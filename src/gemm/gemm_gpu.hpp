#pragma once
/// The GPU path of gemm.

#include "gemm/gemm.hpp"
#include "gemm/gemm_arguments.cuh"
#include "gemm/gemm_ring_config.cuh"
#include "gemm/gemm_ring_plan.hpp"
#include "packs/shipped.hpp"

namespace myriad::gpu {

/// Products of 16-bit numbers.
template <HalfElement T, typename Output>
void gemm(Queue& queue, GemmTask<T, Output> const& task);

/// The same by gemm_halves_warpgroups, whether or not that is what a plan takes; false, with nothing done, where it cannot be.
template <HalfElement T, typename Output>
bool gemm_by_warpgroups(Queue& queue, GemmTask<T, Output> const& task);

/// Rows and columns of C, and terms; and how many blocks there are for a multiprocessor at most, as far as that is known.
struct GemmShape {
  std::int64_t m, n, k;
  int blocks = any_blocks;
};

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

/// The kernels of gemm_spans for square matrices by columns, wherever they begin; so many candidates of a search, too.
std::vector<KernelSource> gemm_kernels_by_spans(Dtype dtype, int n, std::size_t candidates = 0);
/// The kernels of compute capability 9.0 for large products of 16-bit numbers, of every way in which A and B can lie, whose lines begin at
/// multiples of 32 bytes. They are compiled for sm_90a.
std::vector<KernelSource> gemm_kernels_by_warpgroups(Dtype dtype, Dtype output, GemmShape shape);

/// Up to so many rows, a block has read all rows of B in its columns before it writes C there.
constexpr std::int64_t gemm_rows_in_place = 32;

/// What a pack holds of this room.
std::vector<KernelSource> gemm_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
