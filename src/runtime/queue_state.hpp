#pragma once
/// The state of a queue.

#include <cstdint>
#include <vector>

#include "myriad/queue.hpp"
#include "runtime/context.hpp"

namespace myriad {

namespace tuning {
struct Search;
}

struct Queue::State {
  Backend backend = Backend::cpu;
  int threads = 1;
  std::string gpu_problem;  ///< see Queue::gpu_problem

  // Members below are for GPUs only
  gpu::Context* context = nullptr;
  gpu::driver::StreamHandle stream = nullptr;
  gpu::driver::StreamHandle own_stream = nullptr;  ///< made by the queue, which may be on another one
  gpu::driver::PoolHandle pool = nullptr;
  int preparing = 0;                 ///< open prepare() calls: nothing is enqueued while there is one
  std::int64_t wanted = 0;           ///< bytes of workspace that would be in use now
  std::int64_t most_wanted = 0;      ///< peak of `wanted`
  tuning::Search* search = nullptr;  ///< a running search, which chooses the configs
  WorkspaceAllocator allocator;      ///< of the caller; empty: the pool

  /// Memory reserved for the workspace of a call; see gpu::Reserved.
  struct {
    gpu::driver::Address address = 0;
    std::int64_t bytes = 0;
    std::int64_t used = 0;
  } reserved;

  State() = default;
  State(State const&) = delete;
  State& operator=(State const&) = delete;
  ~State();

  [[nodiscard]] bool capturing() const { return capturing(stream); }

  /// Continues on another stream, whose work waits for that of the current one unless one of the two is being captured.
  void continue_on(gpu::driver::StreamHandle next);
  /// Makes the stream wait for the work on the streams that the queue left. False while that is not possible: while it is being captured,
  /// or a stream that was left during its capture still is.
  bool settle();

  /// Allocates device memory in stream order; 0 for 0 bytes. Memory allocated while the stream is captured belongs to the graph and must be
  /// freed in the same capture.
  [[nodiscard]] gpu::driver::Address allocate(std::int64_t bytes);
  /// During a capture, memory from before it is freed after it: when the queue next allocates or frees memory, waits or is destroyed.
  void free(gpu::driver::Address address, bool of_graph) noexcept;
  /// The queue's device memory for counters, set to zero when first requested; only where settle() returned true. See gpu::GridCounts.
  [[nodiscard]] gpu::driver::Address grid_counts(std::int64_t bytes);
  /// Frees pinned memory once the work that uses it is done; during a capture, which allows no waiting, when the queue next waits.
  void free_pinned(void* memory) noexcept;

  void wait();

  /// Destroys a queue without owners. A queue whose stream is being captured is kept until a queue is made or destroyed after that capture,
  /// since its memory cannot be freed nor its stream destroyed before.
  static void end(State* state) noexcept;
  static void end_kept() noexcept;

 private:
  /// A stream that the queue left, and the event after its work; without an event where a capture did not allow to record one.
  struct Left {
    gpu::driver::StreamHandle stream;
    gpu::driver::EventHandle event;
  };

  [[nodiscard]] bool capturing(gpu::driver::StreamHandle of) const;
  [[nodiscard]] bool held_by_a_capture() const;
  void free_postponed() noexcept;
  void free_postponed_pinned() noexcept;
  gpu::driver::EventHandle record(gpu::driver::StreamHandle after);

  gpu::driver::Address grid_counts_ = 0;
  std::vector<Left> left_;
  gpu::driver::EventHandle spare_event_ = nullptr;
  std::vector<gpu::driver::Address> postponed_;
  std::vector<void*> postponed_pinned_;
};

/// Access to a queue's state for the library.
struct QueueAccess {
  using State = Queue::State;
  static State& state(Queue& queue) { return *queue.state_; }
  static State const& state(Queue const& queue) { return *queue.state_; }
  static std::shared_ptr<State> const& shared(Queue& queue) { return queue.state_; }
};

}  // namespace myriad
