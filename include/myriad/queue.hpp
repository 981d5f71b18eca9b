#pragma once
/// Queues: a queue runs calls in order, on the CPU or on a stream of a GPU.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "myriad/device.hpp"
#include "myriad/export.h"

namespace myriad {

namespace detail {
class Memory;
}

/// The processor of a queue.
enum class Backend { automatic, cpu, gpu };

/// CUDA's default streams, for QueueOptions::stream and Queue::set_stream. PyTorch and CuPy give the legacy default stream as 0, which in
/// QueueOptions means a stream owned by the queue: pass `legacy_stream()` instead.
inline void* legacy_stream() noexcept { return reinterpret_cast<void*>(std::uintptr_t{1}); }
inline void* per_thread_stream() noexcept { return reinterpret_cast<void*>(std::uintptr_t{2}); }  ///< of the calling thread

struct QueueOptions {
  /// automatic: GPU number `device`, else the CPU if that cannot be used (Queue::gpu_problem says why). With a stream: gpu.
  Backend backend = Backend::automatic;
  int threads = 0;  ///< CPU threads; 0: MYRIAD_NUM_THREADS, else OMP_NUM_THREADS, else the number of cores
  int device = 0;   ///< number of the GPU, as the CUDA driver counts
  /// A stream of that GPU (CUstream, cudaStream_t). It must outlive the queue and all memory and events of the queue (docs/gpu.md says how
  /// long, if the last of these is destroyed while the stream is captured), unless all workspace comes from the caller's allocator and
  /// nothing else was allocated: then destroying the queue does not touch the stream. nullptr: the queue makes a non-blocking stream, which
  /// does not synchronize with the legacy default stream.
  void* stream = nullptr;
};

/// The caller's memory for workspace on a GPU; see Queue::set_allocator.
struct WorkspaceAllocator {
  /// Returns `bytes` bytes of the queue's GPU at an address that is a multiple of 256, for work that is enqueued on `stream` from now on.
  /// nullptr: there is no memory.
  std::function<void*(std::int64_t bytes, void* stream)> allocate;
  /// Takes memory back in stream order: work that was enqueued on `stream` before may still use it. Must not throw. Empty: the caller frees
  /// the memory after the call.
  std::function<void(void* memory, std::int64_t bytes, void* stream)> release;
};

/// Runs routines in the order in which they are called: on the CPU, or on a stream of a GPU.
///
/// On the CPU a call returns when its work is done. On a GPU it returns when its work is enqueued: keep arguments alive until `wait()`, and
/// read results after it. Batches, `info` and all arrays that they point to (pointers, sizes) must then be in memory that the GPU can
/// access; see myriad/memory.hpp. A program written this way runs on both.
///
/// A call on a GPU queue never waits for the GPU, and takes workspace from the queue's own pool or the caller's allocator (set_allocator)
/// only, before it changes any argument. It can be captured into a CUDA graph once
/// `prepare` or an earlier call has loaded its kernels.
///
/// Different host threads may use different queues at the same time; one queue must be used by one thread at a time. The number of threads
/// is chosen when the queue is made; routines never start threads inside threads. A call that fails leaves the queue usable.
class MYRIAD_API Queue {
 public:
  /// Throws Unavailable if the requested backend does not exist, and says what was looked for. Throws BadArgument for a negative number of
  /// threads, a device that does not exist, a stream of another context, or a device or stream for the CPU.
  explicit Queue(QueueOptions options = {});
  /// Waits for the work if the queue owns the stream. Does not wait for a caller's stream.
  ~Queue();
  Queue(Queue&&) noexcept;             ///< a moved-from queue may only be assigned to or destroyed
  Queue& operator=(Queue&&) noexcept;  ///< as the move constructor

  /// Continues on another stream of the same GPU, as cublasSetStream does: legacy_stream() or nullptr, the legacy default stream;
  /// per_thread_stream(), the default stream of the calling thread, which must then make all calls on this queue; or any other stream
  /// (CUstream, cudaStream_t), which must exist until the queue continues elsewhere or is destroyed. Returns at once if it is the current
  /// stream. To return later to the stream that the queue owns, keep what `stream()` says now.
  ///
  /// Work given to the queue later waits for its earlier work, by an event; the host does not wait. For streams that are to run at the same
  /// time use a queue for each. No such order is made while one of the two streams is being captured: only the queue's own memory stays
  /// safe, and a stream that was left during its capture must exist until the queue is next used after it.
  ///
  /// Throws BadArgument for a stream of another context, and on the CPU.
  void set_stream(void* stream);
  /// Takes all workspace of routines from the caller's allocator, such as that of PyTorch or XLA, instead of the queue's pool; an empty
  /// `allocate` returns to the pool. A routine allocates before it launches anything that changes an argument: if `allocate` returns
  /// nullptr it throws OutOfMemory, and nothing is written. The functions are called by the thread that calls the routine, with the GPU's
  /// primary context current, also while the stream is captured. DeviceArray and `stream` keep to the pools of queues. Without effect on
  /// the CPU. Throws BadArgument for a `release` without `allocate`.
  void set_allocator(WorkspaceAllocator allocator);

  /// Blocks until all work given to this queue is done; throws GpuError if it failed. Not allowed while the stream is being captured.
  void wait();

  /// Runs `calls()` only to load (and, if necessary, compile) the kernels of the routines that it calls on this queue. Nothing is computed
  /// or copied, and of the arguments only the descriptors are read. On the CPU there is nothing to load, and `calls` is not run.
  template <typename F>
  void prepare(F&& calls) {
    Preparing const preparing(*this);
    if (preparing.on_gpu()) std::forward<F>(calls)();
  }

  /// Workspace query. As `prepare`, and returns the peak number of bytes that the routines called in `calls` allocate from the queue's
  /// pool or the caller's allocator, beside the batches. Routines free their workspace in stream order before they return; the pool keeps
  /// it for the next call. 0 on the CPU.
  template <typename F>
  [[nodiscard]] std::int64_t workspace(F&& calls) {
    Preparing const preparing(*this);
    if (preparing.on_gpu()) std::forward<F>(calls)();
    return preparing.workspace();
  }

  [[nodiscard]] Backend backend() const noexcept;  ///< never `automatic`
  [[nodiscard]] int threads() const noexcept;      ///< CPU threads

  /// Why a queue made with Backend::automatic is on the CPU. Empty on a GPU, or if the CPU was requested.
  [[nodiscard]] std::string const& gpu_problem() const noexcept;
  /// Whether routines on this queue can access the address. On a GPU: device, managed and pinned memory, and plain host memory only where
  /// the system lets GPUs access it. Always true on the CPU, and during `prepare`.
  [[nodiscard]] bool reaches(void const* address) const;

  [[nodiscard]] Device const& device() const;   ///< throws Unavailable on the CPU
  [[nodiscard]] void* stream() const noexcept;  ///< the current CUstream; nullptr on the CPU

 private:
  friend struct QueueAccess;
  friend class detail::Memory;

  /// Disables the queue's launches during its lifetime.
  class MYRIAD_API Preparing {
   public:
    explicit Preparing(Queue& queue);
    ~Preparing();
    Preparing(Preparing const&) = delete;
    Preparing& operator=(Preparing const&) = delete;
    [[nodiscard]] bool on_gpu() const noexcept { return queue_.backend() == Backend::gpu; }
    [[nodiscard]] std::int64_t workspace() const noexcept;  ///< peak bytes of workspace so far

   private:
    Queue& queue_;
    std::int64_t before_;  ///< peak at construction, of an enclosing Preparing
  };

  struct State;
  std::shared_ptr<State> state_;  ///< shared with memory allocated from the queue
};

}  // namespace myriad
