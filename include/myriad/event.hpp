#pragma once
/// Events: order one queue after another, and measure times.

#include <memory>

#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// A point in the work of a queue. On the CPU, where a call returns when its work is done, it is the time of `record`.
class MYRIAD_API Event {
 public:
  /// Not recorded yet.
  explicit Event(Queue& queue);
  ~Event();
  Event(Event&&) noexcept;             ///< a moved-from event may only be assigned to or destroyed
  Event& operator=(Event&&) noexcept;  ///< as the move constructor

  /// Sets the event behind all work that its queue has been given so far.
  void record();

  /// Makes later work of queue `later` wait for this event; the call itself does not block. Both queues must be on GPUs, or both on the
  /// CPU, where this does nothing.
  void hold(Queue& later) const;

  /// Blocks until the event is reached.
  void wait() const;
  /// Whether the event is reached. Throws errors of the work before it.
  [[nodiscard]] bool reached() const;

  /// Seconds from `start` to this event, both on the same device; waits for both.
  [[nodiscard]] double seconds_since(Event const& start) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myriad
