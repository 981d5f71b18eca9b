#pragma once
/// Points in the work of queues: to order one queue after another, and to measure.

#include <memory>

#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// A point in the work of a queue. On the CPU, where a call returns when its work is done, it is the moment at which it was recorded.
class MYRIAD_API Event {
 public:
  /// Not recorded yet.
  explicit Event(Queue& queue);
  ~Event();
  Event(Event&&) noexcept;             ///< moves; the event that is left may only be assigned to or destroyed
  Event& operator=(Event&&) noexcept;  ///< as the constructor

  /// From now on the point behind all work that its queue has been given so far.
  void record();

  /// Work that `later` is given from now on starts when the point is reached. Does not wait itself. Both queues on GPUs, or both on the
  /// CPU, where there is nothing to do.
  void hold(Queue& later) const;

  /// Returns when the point is reached.
  void wait() const;
  /// Whether the point is reached; throws what went wrong before it.
  [[nodiscard]] bool reached() const;

  /// Seconds from `start` to this point, both of one queue's device; waits for them.
  [[nodiscard]] double seconds_since(Event const& start) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myriad
