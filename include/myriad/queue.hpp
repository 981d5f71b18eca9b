#pragma once
/// Where work runs.

#include <memory>

#include "myriad/export.h"

namespace myriad {

/// Which kind of processor a queue stands for.
enum class Backend { automatic, cpu, gpu };

struct QueueOptions {
  Backend backend = Backend::automatic;  ///< automatic: the first GPU, or the CPU where there is none
  int threads = 0;  ///< CPU threads; 0: MYRIAD_NUM_THREADS, else as many as OpenMP would take (OMP_NUM_THREADS, the cores)
};

/// A place where routines are executed in the order in which they are called.
///
/// Today a queue is the CPU: a call returns when its work is done. A caller that treats every call as an enqueue, keeps its
/// arguments alive and calls `wait()` before it reads results is ready for a GPU queue.
///
/// Any number of host threads may use different queues at the same time; one queue is used by one thread at a time. The number of
/// threads is chosen when the queue is made; routines never start threads inside threads.
class MYRIAD_API Queue {
 public:
  /// Throws Unavailable where the backend asked for does not exist, BadArgument for a negative number of threads.
  explicit Queue(QueueOptions options = {});
  ~Queue();
  Queue(Queue&&) noexcept;
  Queue& operator=(Queue&&) noexcept;

  /// Returns when all work given to this queue is done; throws what went wrong in it.
  void wait();

  [[nodiscard]] Backend backend() const noexcept;  ///< never `automatic`
  [[nodiscard]] int threads() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myriad
