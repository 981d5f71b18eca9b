#pragma once
/// The inside of a queue.

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

  // Of a GPU only
  gpu::Context* context = nullptr;
  gpu::driver::StreamHandle stream = nullptr;
  bool owns_stream = false;
  gpu::driver::PoolHandle pool = nullptr;
  int preparing = 0;                 ///< open prepare() calls: nothing is enqueued while there is one
  std::int64_t wanted = 0;           ///< bytes of workspace that would be taken now if there were none
  std::int64_t most_wanted = 0;      ///< and that would have been at a time at most
  tuning::Search* search = nullptr;  ///< that says which configs are taken, while it lasts

  State() = default;
  State(State const&) = delete;
  State& operator=(State const&) = delete;
  ~State();

  [[nodiscard]] bool capturing() const;

  /// Device memory in stream order; 0 for 0 bytes. Taken while the stream is captured it belongs to the graph, and has to be given back in
  /// the same capture.
  [[nodiscard]] gpu::driver::Address allocate(std::int64_t bytes);
  /// Memory that was taken before a capture is given back after it: when the queue next takes or gives back memory, waits or goes.
  void free(gpu::driver::Address address, bool of_graph) noexcept;
  /// Device memory that was zero when it was first asked for, of the queue; not while the stream is captured. See gpu::GridCounts.
  [[nodiscard]] gpu::driver::Address grid_counts(std::int64_t bytes);
  /// Pinned memory, once the work that uses it is done; during a capture, which allows no waiting, when the queue next waits.
  void free_pinned(void* memory) noexcept;

  void wait();

  /// Destroys a queue that nobody owns any more. Whose stream is captured just then is kept, until a queue is next made or goes after the
  /// end of that capture: neither its memory can be given back before nor its own stream destroyed.
  static void end(State* state) noexcept;
  static void end_kept() noexcept;

 private:
  void free_postponed() noexcept;
  void free_postponed_pinned() noexcept;

  gpu::driver::Address grid_counts_ = 0;
  std::vector<gpu::driver::Address> postponed_;
  std::vector<void*> postponed_pinned_;
};

/// The way in for the library itself.
struct QueueAccess {
  using State = Queue::State;
  static State& state(Queue& queue) { return *queue.state_; }
  static State const& state(Queue const& queue) { return *queue.state_; }
  static std::shared_ptr<State> const& shared(Queue& queue) { return queue.state_; }
};

}  // namespace myriad
