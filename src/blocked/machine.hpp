#pragma once
/// The base of blocked algorithms: a machine runs kernels and BLAS on batches, in order, and provides workspace.
///
/// An algorithm is a function template over its machine. gpu::QueueMachine (blocked/queue_machine.hpp) enqueues on a GPU queue;
/// HostMachine (simt_host/machine.hpp) runs the same kernels on the host twin, in the tests.
///
/// | member | meaning |
/// |---|---|
/// | device() | the limits that plans read: multiprocessors, shared memory |
/// | run(kernel, grid, arguments, template arguments...) | one launch |
/// | gemm(task, structure, written) | products by the kernel planned for their exact size |
/// | gemm_shared(task, written) | products by one of few kernels, which all sizes share |
/// | trsm(task, columns) | triangular solves by the kernels planned for their size and `columns` right-hand sides (0: those given) |
/// | trsm_shared(task) | the same by a few kernels, which all sizes share |
/// | trtri(task) | inverses of triangles of any size |
/// | getrs(task) | solves with LU factors |
/// | clear(numbers, count) | zeros |
/// | memory(bytes).data() | workspace as long as the result of memory() lives, 256-byte aligned and never null |
///
/// Operands are batches in the machine's memory. An algorithm must not read their elements, and addresses may decide only by alignment what
/// is launched: a GPU queue that is prepared runs the algorithm without memory and launches nothing.

#include <concepts>
#include <cstdint>

#include "gemm/gemm.hpp"
#include "gemm/gemm_arguments.cuh"
#include "lu/lu.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "trsm/trsm.hpp"
#include "trsm/trtri.hpp"

namespace myriad {

/// Whether blocks of a cluster reach each other's shared memory: see gpu::Grid.
inline bool has_clusters(Device const& device) { return device.major >= 9; }

template <typename M, typename T>
concept Machine = requires(M machine, gpu::KernelName const& kernel, gpu::Grid const& grid, GemmTask<T> const& product,
                           TrsmTask<T> const& triangles, TrtriTask<T> const& inverses, GetrsTask<T> const& factored, int* numbers,
                           std::int64_t size) {
  { machine.device() } -> std::convertible_to<Device const&>;
  machine.run(kernel, grid, size, Dtype::f64);
  machine.gemm(product, Structure::general, Written::whole);
  machine.gemm_shared(product, Written::whole);
  machine.trsm(triangles);
  machine.trtri(inverses);
  machine.getrs(factored);
  machine.trsm_shared(triangles);
  machine.clear(numbers, size);
  { machine.memory(size).data() } -> std::same_as<void*>;
};

}  // namespace myriad
