#pragma once
/// The inside of a queue.

#include "myriad/queue.hpp"
#include "runtime/context.hpp"

namespace myriad {

struct Queue::State {
  Backend backend = Backend::cpu;
  int threads = 1;

  // Of a GPU only
  gpu::Context* context = nullptr;
  gpu::driver::StreamHandle stream = nullptr;
  bool owns_stream = false;
  gpu::driver::PoolHandle pool = nullptr;
  int preparing = 0;  ///< open prepare() calls: nothing is enqueued while there is one

  State() = default;
  State(State const&) = delete;
  State& operator=(State const&) = delete;
  ~State();

  [[nodiscard]] bool capturing() const;

  /// Device memory in stream order; 0 for 0 bytes.
  [[nodiscard]] gpu::driver::Address allocate(std::int64_t bytes);
  void free(gpu::driver::Address address) noexcept;
};

/// The way in for the library itself.
struct QueueAccess {
  using State = Queue::State;
  static State& state(Queue& queue) { return *queue.state_; }
};

}  // namespace myriad
