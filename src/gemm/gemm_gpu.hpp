#pragma once
/// The GPU path of gemm.

#include "gemm/gemm.hpp"
#include "gemm/gemm_arguments.cuh"
#include "packs/shipped.hpp"

namespace myriad::gpu {

/// Products of 16-bit numbers.
template <HalfElement T, typename Output>
void gemm(Queue& queue, GemmTask<T, Output> const& task);

/// C may be B where A has no more rows than gemm_rows_in_place.
template <Element T>
void gemm(Queue& queue, GemmTask<T> const& task, Structure structure = Structure::general, Written written = Written::whole);

/// Up to so many rows, a block has read all rows of B in its columns before it writes C there.
constexpr std::int64_t gemm_rows_in_place = 32;

/// What a pack holds of this room.
std::vector<KernelSource> gemm_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
