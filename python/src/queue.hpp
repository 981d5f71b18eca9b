#pragma once
/// Queues as Python objects, and errors of the C interface as exceptions.

#include <cstdint>
#include <mutex>
#include <optional>
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
  ~Queue() { myriad_queue_destroy(handle_); }
  Queue(Queue const&) = delete;
  Queue& operator=(Queue const&) = delete;

  /// Runs `f(myriad_queue*)` and throws unless it returns MYRIAD_OK. Call it without the GIL.
  template <typename F>
  void run(F&& f) {
    std::scoped_lock const lock(mutex_);
    check(f(handle_), handle_);
  }
  void wait() { run(myriad_queue_wait); }

  [[nodiscard]] bool on_gpu() const { return myriad_queue_backend(handle_) == MYRIAD_GPU; }
  [[nodiscard]] int threads() const { return myriad_queue_threads(handle_); }
  [[nodiscard]] std::string gpu_problem() const { return myriad_queue_gpu_problem(handle_); }
  /// The GPU, and the stream that the caller named.
  [[nodiscard]] std::optional<int> device() const { return device_; }
  [[nodiscard]] std::optional<std::uintptr_t> stream() const { return stream_; }

 private:
  myriad_queue* handle_ = nullptr;
  std::optional<int> device_;
  std::optional<std::uintptr_t> stream_;
  std::mutex mutex_;
};

}  // namespace myriad::python
