#include "myriad/queue.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "myriad/error.hpp"

namespace myriad {
namespace {

int threads_from_environment() {
  char const* const text = std::getenv("MYRIAD_NUM_THREADS");
  if (!text || !*text) return omp_get_max_threads();
  int threads = 0;
  auto const [end, error] = std::from_chars(text, text + std::strlen(text), threads);
  if (error != std::errc{} || *end != '\0' || threads < 1)
    throw Error(fmt::format("MYRIAD_NUM_THREADS is '{}'; it is a number of threads, 1 or more", text));
  return threads;
}

}  // namespace

struct Queue::State {
  int threads;
};

Queue::Queue(QueueOptions options) {
  if (options.backend == Backend::gpu)
    throw Unavailable("Queue: this build of Myriad has no GPU backend; use Backend::cpu or Backend::automatic");
  if (options.threads < 0) throw BadArgument("Queue", 1, "threads", fmt::format("is negative: {}", options.threads));
  state_ = std::make_unique<State>(State{.threads = options.threads > 0 ? options.threads : threads_from_environment()});
}
Queue::~Queue() = default;
Queue::Queue(Queue&&) noexcept = default;
Queue& Queue::operator=(Queue&&) noexcept = default;

void Queue::wait() {}
Backend Queue::backend() const noexcept { return Backend::cpu; }
int Queue::threads() const noexcept { return state_->threads; }

}  // namespace myriad
