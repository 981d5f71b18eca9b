#include "myriad/event.hpp"

#include <chrono>

#include "myriad/error.hpp"
#include "runtime/messages.hpp"
#include "runtime/queue_state.hpp"

namespace myriad {

namespace driver = gpu::driver;

struct Event::State {
  std::shared_ptr<QueueAccess::State> queue;
  driver::EventHandle event = nullptr;  ///< null on the CPU
  std::chrono::steady_clock::time_point moment{};
  bool recorded = false;

  explicit State(std::shared_ptr<QueueAccess::State> of) : queue(std::move(of)) {
    if (!queue->context) return;
    driver::CurrentContext const current(queue->context->handle());
    driver::check(driver::api().cuEventCreate(&event, 0), "cuEventCreate");
  }
  State(State const&) = delete;
  State& operator=(State const&) = delete;
  ~State() {
    if (!event) return;
    try {
      driver::CurrentContext const current(queue->context->handle());
      driver::check(driver::api().cuEventDestroy_v2(event), "cuEventDestroy");
    } catch (std::exception const& error) {
      gpu::message(error.what());
    }
  }

  void require_recorded() const {
    if (!recorded) throw Error("Event: it is not recorded");
  }
};

Event::Event(Queue& queue) : state_(std::make_unique<State>(QueueAccess::shared(queue))) {}
Event::~Event() = default;
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(Event&&) noexcept = default;

void Event::record() {
  state_->moment = std::chrono::steady_clock::now();
  if (state_->event && state_->queue->preparing == 0) {
    driver::CurrentContext const current(state_->queue->context->handle());
    driver::check(driver::api().cuEventRecord(state_->event, state_->queue->stream), "cuEventRecord");
  }
  state_->recorded = true;
}

void Event::hold(Queue& later) const {
  state_->require_recorded();
  QueueAccess::State const& other = QueueAccess::state(later);
  if ((other.context != nullptr) != (state_->event != nullptr))
    throw BadArgument("Event", 1, "later", "is a queue of another kind than the event's");
  if (!state_->event || other.preparing > 0) return;
  driver::CurrentContext const current(other.context->handle());
  driver::check(driver::api().cuStreamWaitEvent(other.stream, state_->event, 0), "cuStreamWaitEvent");
}

void Event::wait() const {
  state_->require_recorded();
  if (!state_->event) return;
  driver::CurrentContext const current(state_->queue->context->handle());
  driver::check(driver::api().cuEventSynchronize(state_->event), "cuEventSynchronize", "work before the event");
}

bool Event::reached() const {
  state_->require_recorded();
  if (!state_->event) return true;
  driver::CurrentContext const current(state_->queue->context->handle());
  driver::Result const result = driver::api().cuEventQuery(state_->event);
  if (result == driver::Result::not_ready) return false;
  driver::check(result, "cuEventQuery", "work before the event");
  return true;
}

double Event::seconds_since(Event const& start) const {
  if (start.state_->queue->context != state_->queue->context) throw BadArgument("Event", 1, "start", "is an event of another device");
  start.wait();
  wait();
  if (!state_->event) return std::chrono::duration<double>(state_->moment - start.state_->moment).count();
  driver::CurrentContext const current(state_->queue->context->handle());
  float milliseconds = 0;
  driver::check(driver::api().cuEventElapsedTime(&milliseconds, start.state_->event, state_->event), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace myriad
