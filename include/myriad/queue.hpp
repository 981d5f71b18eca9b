#pragma once
/// Queues: where calls run, and in which order.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "myriad/device.hpp"
#include "myriad/export.h"

namespace myriad {

namespace detail {
class Memory;
}

/// The kind of processor that a queue stands for.
enum class Backend { automatic, cpu, gpu };

/// The default streams of CUDA, for QueueOptions::stream. PyTorch and CuPy call the legacy one 0, which here stands for a stream of the
/// queue's own: a program that passes on their number passes `legacy_stream()` in its place.
inline void* legacy_stream() noexcept { return reinterpret_cast<void*>(std::uintptr_t{1}); }
inline void* per_thread_stream() noexcept { return reinterpret_cast<void*>(std::uintptr_t{2}); }  ///< CUDA's per-thread stream

struct QueueOptions {
  /// automatic: GPU number `device`, or the CPU where it cannot be used (Queue::gpu_problem says why). With a stream: gpu.
  Backend backend = Backend::automatic;
  int threads = 0;  ///< CPU threads; 0: MYRIAD_NUM_THREADS, else as many as OpenMP would take (OMP_NUM_THREADS, the cores)
  int device = 0;   ///< which GPU, as the driver counts them
  /// A stream of that GPU, from the CUDA driver or runtime (CUstream, cudaStream_t), which the caller keeps alive longer than the queue and
  /// the memory and events taken from it (if the last of these goes during a capture of it, docs/gpu.md says how much longer); nullptr: one
  /// of the queue's own, which does not wait for the legacy default stream nor it for that.
  void* stream = nullptr;
};

/// A place where routines are executed in the order in which they are called: the CPU, or a stream of a GPU.
///
/// On the CPU a call returns when its work is done. On a GPU it returns when its work is enqueued: arguments stay alive, and results are
/// read, after `wait()`. Batches, `info` and all arrays that they name (pointers, sizes) are then in memory that the GPU reaches; see
/// myriad/memory.hpp. A program written this way runs on both.
///
/// A call on a GPU never waits for the GPU, takes memory from the queue's own pool only, and may be captured into a CUDA graph once
/// `prepare` or an earlier call has loaded its kernels.
///
/// Any number of host threads may use different queues at the same time; one queue is used by one thread at a time. The number of
/// threads is chosen when the queue is made; routines never start threads inside threads. A call that fails leaves the queue usable.
class MYRIAD_API Queue {
 public:
  /// Throws Unavailable where the backend asked for does not exist, with what was looked for; BadArgument for a negative number of threads,
  /// a device that is not there, a stream of another context, a device or stream for the CPU.
  explicit Queue(QueueOptions options = {});
  /// Waits for the work of a stream of its own. A stream of the caller's is left as it is.
  ~Queue();
  Queue(Queue&&) noexcept;             ///< moves; the queue that is left may only be assigned to or destroyed
  Queue& operator=(Queue&&) noexcept;  ///< as the constructor

  /// Returns when all work given to this queue is done; throws what went wrong in it (GpuError). Not while the stream is being captured.
  void wait();

  /// Runs `calls()` such that the kernels of the routines called on this queue are loaded, compiled if need be, and nothing else happens:
  /// nothing is computed or copied, no argument is read but its description. On the CPU, which has nothing to load, `calls` is not run.
  template <typename F>
  void prepare(F&& calls) {
    Preparing const preparing(*this);
    if (preparing.on_gpu()) std::forward<F>(calls)();
  }

  /// As `prepare`, and tells how many bytes of GPU memory the routines called in `calls` take from the queue's pool at a time at most,
  /// which they give back before they return: what has to be free beside the batches. The pool keeps it for the next call. On the CPU 0.
  template <typename F>
  [[nodiscard]] std::int64_t workspace(F&& calls) {
    Preparing const preparing(*this);
    if (preparing.on_gpu()) std::forward<F>(calls)();
    return preparing.workspace();
  }

  [[nodiscard]] Backend backend() const noexcept;  ///< never `automatic`
  [[nodiscard]] int threads() const noexcept;      ///< CPU threads

  /// Why a queue with Backend::automatic is on the CPU; empty on a GPU, and where the CPU was asked for.
  [[nodiscard]] std::string const& gpu_problem() const noexcept;
  /// Whether routines on this queue may use the address. On a GPU: memory of a GPU, managed and pinned memory; plain host memory only where
  /// the system lets GPUs read it. Always on the CPU, and while the queue is prepared.
  [[nodiscard]] bool reaches(void const* address) const;

  [[nodiscard]] Device const& device() const;   ///< throws Unavailable on the CPU
  [[nodiscard]] void* stream() const noexcept;  ///< the CUstream; nullptr on the CPU

 private:
  friend struct QueueAccess;
  friend class detail::Memory;

  /// Launches of the queue are off while it lives.
  class MYRIAD_API Preparing {
   public:
    explicit Preparing(Queue& queue);
    ~Preparing();
    Preparing(Preparing const&) = delete;
    Preparing& operator=(Preparing const&) = delete;
    [[nodiscard]] bool on_gpu() const noexcept { return queue_.backend() == Backend::gpu; }
    [[nodiscard]] std::int64_t workspace() const noexcept;  ///< bytes that would have been taken at a time at most, so far

   private:
    Queue& queue_;
    std::int64_t before_;  ///< the same when this began, of another around it
  };

  struct State;
  std::shared_ptr<State> state_;  ///< shared with the memory that was taken from the queue
};

}  // namespace myriad
