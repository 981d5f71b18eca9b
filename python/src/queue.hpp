#pragma once
/// Queues as Python objects, and errors of the C interface as exceptions.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

#include "myriad/myriad.h"

namespace myriad::python {

/// MYRIAD_FAILED: myriad.Error.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// MYRIAD_UNAVAILABLE: myriad.Unavailable.
struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws the exception for `status`, with the error text of `queue`.
void check(myriad_status status, myriad_queue const* queue);

/// A myriad_queue. Calls of several threads on one queue take turns.
class Queue {
 public:
  Queue(myriad_backend backend, int threads);
  /// A queue on a GPU. `stream`: a CUstream or one of CUDA's default streams by its number (1, 2).
  Queue(int device, std::uintptr_t stream, int threads);
  ~Queue();
  Queue(Queue const&) = delete;
  Queue& operator=(Queue const&) = delete;

  /// Runs `f(myriad_queue*)` and throws unless it returns MYRIAD_OK: what the allocator raised, or else the error of the status. Call it
  /// without the GIL.
  template <typename F>
  void run(F&& f) {
    std::scoped_lock const lock(mutex_);
    myriad_status const status = f(handle_);
    if (raised_.is_valid()) rethrow();
    check(status, handle_);
  }
  void wait() { run(myriad_queue_wait); }
  /// Continues on another stream of the GPU: a CUstream or one of CUDA's default streams by its number. Call it with the GIL.
  void set_stream(std::uintptr_t stream);
  /// Takes workspace from Python: allocate(bytes, stream) returns an address or None, release(address, bytes, stream) takes it back. None
  /// for both: the queue's own pool. Call it with the GIL.
  void set_allocator(nanobind::object allocate, nanobind::object release);

  [[nodiscard]] bool on_gpu() const { return myriad_queue_backend(handle_) == MYRIAD_GPU; }
  [[nodiscard]] int threads() const { return myriad_queue_threads(handle_); }
  [[nodiscard]] std::string gpu_problem() const { return myriad_queue_gpu_problem(handle_); }
  /// The GPU, and its current stream in the numbering of DLPack. -1 on the CPU.
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] std::intptr_t stream() const { return stream_; }
  /// The functions of set_allocator, for Python's garbage collector.
  [[nodiscard]] nanobind::object& allocate() { return allocate_; }
  [[nodiscard]] nanobind::object& release() { return release_; }

 private:
  static void* allocate_memory(std::int64_t bytes, void* stream, void* queue);
  static void release_memory(void* memory, std::int64_t bytes, void* stream, void* queue);
  [[noreturn]] void rethrow();

  myriad_queue* handle_ = nullptr;
  int device_ = -1;
  std::intptr_t stream_ = -1;
  nanobind::object allocate_, release_;
  nanobind::object raised_;  ///< the exception of allocate_ during a call
  std::mutex mutex_;
};

}  // namespace myriad::python
