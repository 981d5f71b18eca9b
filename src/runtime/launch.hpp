#pragma once
/// Kernels, launches and workspace of routines on a GPU.
///
///     Kernel const& kernel = kernel_of(queue, KernelName("lu/lu_tiny"), dtype_of<T>, config);  // runtime/kernel_name.hpp
///     launch(queue, kernel, {.blocks = ceil_div(count, per_block), .threads = 128}, LuTinyArguments{...});

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "myriad/queue.hpp"
#include "runtime/backend.hpp"
#include "runtime/context.hpp"

namespace myriad::gpu {

/// The context of a queue on a GPU.
Context& context_of(Queue& queue);

/// The kernel of `key` on the queue's GPU; `source` returns its KernelSource and is called only if it is not loaded.
template <std::invocable F>
Kernel const& kernel_for(Queue& queue, KernelKey const& key, F&& source) {
  return context_of(queue).kernel(key, std::forward<F>(source));
}

/// The same, or null if no pack has it and there is no compiler.
template <std::invocable F>
Kernel const* kernel_if_there(Queue& queue, KernelKey const& key, F&& source) {
  return context_of(queue).kernel_if_there(key, std::forward<F>(source));
}

/// Whether the driver supports kernel parameters beyond 4 KiB, up to 32,764 bytes.
bool takes_large_parameters();

struct Grid {
  std::int64_t blocks = 0;  ///< gridDim.x; 0: no launch. At most 2^31 - 1 are started, and the kernel strides over the rest
  int threads = 0;          ///< threadIdx.x; 1 to 1024 together with threads_y
  int threads_y = 1;
  std::int64_t shared_bytes = 0;  ///< dynamic shared memory per block
  /// Cooperative launch: all blocks are resident, so that simt::sync_grid may be called. The driver refuses more blocks than fit on the
  /// GPU.
  bool together = false;
  /// Blocks of a cluster, at most 8, from compute capability 9.0 on: they run at the same time and reach each other's shared memory (see
  /// simt::in_block_of_cluster). `blocks` is a multiple of it.
  int cluster = 1;
};

/// Enqueues a kernel with one parameter, by value. Does not wait, allocates nothing; allowed while the stream is captured. Throws GpuError
/// if the driver refuses the launch, Unavailable if it is too old for so many bytes of parameters; the queue stays usable.
void launch(Queue& queue, Kernel const& kernel, Grid const& grid, void const* params, std::size_t params_bytes);

template <typename Params>
void launch(Queue& queue, Kernel const& kernel, Grid const& grid, Params const& params) {
  static_assert(std::is_trivially_copyable_v<Params> && !std::is_pointer_v<Params>);
  static_assert(sizeof(Params) <= 32764, "parameters of a kernel are 32,764 bytes at most, and 4 KiB before CUDA 12.1");
  launch(queue, kernel, grid, static_cast<void const*>(&params), sizeof(Params));
}

enum class ClearTo { zero, minus_one };
/// Enqueues setting `count` numbers to zero or -1, for outputs that no kernel writes; does nothing if `data` is null.
void clear(Queue& queue, int* data, std::int64_t count, ClearTo to = ClearTo::zero);

/// Workspace of one call, allocated and freed in stream order: the destructor may run before the work that uses it. It comes from memory
/// that is Reserved, else from the caller's allocator, else from the queue's pool. Null for 0 bytes, and while the queue is prepared, when
/// the bytes are only counted.
class Workspace {
 public:
  Workspace(Queue& queue, std::int64_t bytes);
  ~Workspace();
  Workspace(Workspace const&) = delete;
  Workspace& operator=(Workspace const&) = delete;

  template <typename T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(address_);
  }

 private:
  Queue& queue_;
  friend class Reserved;
  enum class From : char { nowhere, counted, reserved, allocator, pool, graph };

  driver::Address address_ = 0;
  std::int64_t bytes_ = 0;  ///< a multiple of 256
  From from_ = From::nowhere;

  void give_back() noexcept;
};

/// Workspace for all calls during its lifetime, in one piece, so that a lack of memory shows before the first launch. Does nothing while
/// the queue is prepared, and within another one.
class Reserved {
 public:
  Reserved(Queue& queue, std::int64_t bytes);
  ~Reserved();
  Reserved(Reserved const&) = delete;
  Reserved& operator=(Reserved const&) = delete;

 private:
  Queue& queue_;
  bool const first_;
  Workspace workspace_;
};

/// Runs `calls()` after loading its kernels and reserving its workspace: where a kernel or memory is missing, nothing is written.
template <typename F>
void run_at_once(Queue& queue, F const& calls) {
  Reserved const reserved(queue, queue.workspace(calls));
  calls();
}

/// The counters of simt::sync_grid_once. They belong to the queue, whose launches are in order, so they need no clearing. A captured graph
/// may run concurrently with later work of the queue, so it has its own counters, which it clears first; with an allocator of the caller so
/// has every call. Null while the queue is prepared.
class GridCounts {
 public:
  explicit GridCounts(Queue& queue);

  [[nodiscard]] unsigned* data() const noexcept { return of_queue_ ? of_queue_ : of_call_.as<unsigned>(); }

 private:
  static constexpr int count = 64;
  static bool of_queue(Queue& queue);

  Workspace of_call_;
  unsigned* of_queue_ = nullptr;
};

}  // namespace myriad::gpu
