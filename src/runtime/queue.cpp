#include "myriad/queue.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "myriad/error.hpp"
#include "runtime/messages.hpp"
#include "runtime/queue_state.hpp"
#include "simd/targets.hpp"

namespace myriad {
namespace {

namespace driver = gpu::driver;

int threads_from_environment() {
  char const* const text = std::getenv("MYRIAD_NUM_THREADS");
  if (!text || !*text) return omp_get_max_threads();
  int threads = 0;
  auto const [end, error] = std::from_chars(text, text + std::strlen(text), threads);
  if (error != std::errc{} || *end != '\0' || threads < 1)
    throw Error(fmt::format("MYRIAD_NUM_THREADS is '{}'; it is a number of threads, 1 or more", text));
  return threads;
}

/// Why the GPU cannot be used; empty if it can. Throws BadArgument if there are GPUs but not this one; for a queue that must be on a GPU
/// also the driver's errors.
std::string problem_of(int device, bool automatic) {
  driver::Loaded const& loaded = driver::load();
  if (!loaded.api) return loaded.problem;
  if (std::string problem = gpu::KernelStore::instance().problem(); !problem.empty()) return problem;
  try {
    gpu::Context::of(device);
  } catch (BadArgument const&) {
    throw;
  } catch (Unavailable const& reason) {
    return reason.what();
  } catch (Error const& reason) {  // a GPU that another process holds, without memory, or in an error state
    if (!automatic) throw;
    return reason.what();
  }
  return {};
}

bool is_default_stream(void* stream) { return stream == legacy_stream() || stream == per_thread_stream(); }

/// Queue states kept by Queue::State::end. Never destroyed: at process exit the driver may be unloaded first.
struct Kept {
  std::mutex mutex;
  std::vector<std::unique_ptr<QueueAccess::State>> states;

  static Kept& instance() {
    static auto* const kept = new Kept;
    return *kept;
  }
};

}  // namespace

Queue::State::~State() {
  if (!context) return;
  try {
    driver::Api const& cu = driver::api();
    driver::CurrentContext const current(context->handle());
    driver::OutsideCapture const outside_capture;
    if (grid_counts_) postponed_.push_back(grid_counts_);
    free_postponed();
    if ((owns_stream || !postponed_pinned_.empty()) && !capturing()) cu.cuStreamSynchronize(stream);
    free_postponed_pinned();
    if (owns_stream) cu.cuStreamDestroy_v2(stream);
    if (pool) cu.cuMemPoolDestroy(pool);
  } catch (std::exception const& error) {
    // At process exit the driver may already be unloaded.
    gpu::message(error.what());
  }
}

void Queue::State::end(State* state) noexcept {
  std::unique_ptr<State> owned(state);
  if (!owned->context) return;
  try {
    bool const has_something = owned->owns_stream || owned->grid_counts_ || !owned->postponed_.empty() || !owned->postponed_pinned_.empty();
    if (has_something && owned->capturing()) {
      Kept& kept = Kept::instance();
      std::scoped_lock const lock(kept.mutex);
      kept.states.push_back(std::move(owned));
      return;
    }
  } catch (std::exception const& error) {
    gpu::message(error.what());
  }
  owned.reset();
  end_kept();
}

void Queue::State::end_kept() noexcept {
  try {
    Kept& kept = Kept::instance();
    std::scoped_lock const lock(kept.mutex);
    for (std::unique_ptr<State>& state : kept.states)
      if (state && !state->capturing()) state.reset();
    std::erase(kept.states, nullptr);
  } catch (std::exception const& error) {
    gpu::message(error.what());
  }
}

bool Queue::State::capturing() const {
  driver::CurrentContext const current(context->handle());  // the default streams are those of the current context
  auto status = driver::CaptureStatus::none;
  // If the query fails, as for the legacy stream while another is captured, the stream counts as capturing: waiting would end that capture.
  return driver::api().cuStreamIsCapturing(stream, &status) != driver::Result::success || status != driver::CaptureStatus::none;
}

driver::Address Queue::State::allocate(std::int64_t bytes) {
  driver::Address address = 0;
  if (bytes <= 0) return address;
  driver::CurrentContext const current(context->handle());
  free_postponed();
  driver::Result const result = driver::api().cuMemAllocFromPoolAsync(&address, static_cast<std::size_t>(bytes), pool, stream);
  if (result != driver::Result::success)
    driver::check(result, "cuMemAllocFromPoolAsync", fmt::format("{} bytes of GPU memory", bytes).c_str());
  return address;
}

driver::Address Queue::State::grid_counts(std::int64_t bytes) {
  if (grid_counts_) return grid_counts_;
  driver::CurrentContext const current(context->handle());
  driver::Address const address = allocate(bytes);
  driver::Result const result = driver::api().cuMemsetD8Async(address, 0, static_cast<std::size_t>(bytes), stream);
  if (result != driver::Result::success) {
    free(address, false);
    driver::check(result, "cuMemsetD8Async");
  }
  return grid_counts_ = address;
}

void Queue::State::free(driver::Address address, bool of_graph) noexcept {
  if (!address) return;
  try {
    driver::CurrentContext const current(context->handle());
    if (!of_graph && capturing()) {
      postponed_.push_back(address);
      return;
    }
    free_postponed();
    driver::check(driver::api().cuMemFreeAsync(address, stream), "cuMemFreeAsync");
  } catch (std::exception const& error) {
    gpu::message(error.what());
  }
}

void Queue::State::free_pinned(void* memory) noexcept {
  try {
    driver::CurrentContext const current(context->handle());
    driver::OutsideCapture const outside_capture;
    postponed_pinned_.push_back(memory);
    if (capturing()) return;
    driver::api().cuStreamSynchronize(stream);  // copies may still be in flight
    free_postponed_pinned();
  } catch (std::exception const& error) {
    gpu::message(error.what());
  }
}

/// Each is tried once: memory that the driver refuses to free is lost, and the queue stays usable.
void Queue::State::free_postponed() noexcept {
  try {
    if (postponed_.empty() || capturing()) return;
    for (driver::Address const address : std::exchange(postponed_, {}))
      if (auto const result = driver::api().cuMemFreeAsync(address, stream); result != driver::Result::success)
        gpu::message(fmt::format("cuMemFreeAsync: {}", driver::describe(result)));
  } catch (std::exception const& error) {
    gpu::message(error.what());
  }
}

/// The same, when no work is in flight.
void Queue::State::free_postponed_pinned() noexcept {
  try {
    for (void* const memory : std::exchange(postponed_pinned_, {}))
      if (auto const result = driver::api().cuMemFreeHost(memory); result != driver::Result::success)
        gpu::message(fmt::format("cuMemFreeHost: {}", driver::describe(result)));
  } catch (std::exception const& error) {
    gpu::message(error.what());
  }
}

void Queue::State::wait() {
  driver::CurrentContext const current(context->handle());
  // The driver would end the capture with an error.
  if (capturing()) throw Error("Queue: wait() while the stream is being captured");
  free_postponed();
  driver::check(driver::api().cuStreamSynchronize(stream), "cuStreamSynchronize", "work on the queue");
  free_postponed_pinned();
}

Queue::Queue(QueueOptions options) {
  if (options.threads < 0) throw BadArgument("Queue", 1, "threads", fmt::format("is negative: {}", options.threads));
  limit_simd_targets();
  bool const automatic = options.backend == Backend::automatic && !options.stream;
  std::string problem = options.backend == Backend::cpu ? std::string() : problem_of(options.device, automatic);
  Backend const backend = options.backend == Backend::cpu || (automatic && !problem.empty()) ? Backend::cpu : Backend::gpu;
  state_ = std::shared_ptr<State>(new State, &State::end);
  State& state = *state_;
  state.backend = backend;
  state.threads = options.threads > 0 ? options.threads : threads_from_environment();
  if (backend == Backend::cpu) {
    state.gpu_problem = std::move(problem);
    if (automatic) return;
    if (options.device != 0) throw BadArgument("Queue", 2, "device", fmt::format("is {} for a queue on the CPU", options.device));
    if (options.stream) throw BadArgument("Queue", 3, "stream", "is given for a queue on the CPU");
    return;
  }

  if (!problem.empty()) throw Unavailable(fmt::format("Queue: no GPU can be used: {}", problem));
  State::end_kept();
  state.context = &gpu::Context::of(options.device);
  driver::Api const& cu = driver::api();
  driver::CurrentContext const current(state.context->handle());
  driver::OutsideCapture const outside_capture;
  if (options.stream) {
    state.stream = static_cast<driver::StreamHandle>(options.stream);
    driver::ContextHandle owner = nullptr;
    // A stream whose context cannot be queried may belong to a green context, which shares the primary context's memory and kernels.
    if (!is_default_stream(options.stream) && cu.cuStreamGetCtx(state.stream, &owner) == driver::Result::success &&
        owner != state.context->handle())
      throw BadArgument("Queue", 3, "stream", fmt::format("is not of the primary context of device {}", options.device));
  } else {
    driver::check(cu.cuStreamCreate(&state.stream, driver::stream_non_blocking), "cuStreamCreate");
    state.owns_stream = true;
  }
  driver::PoolProperties properties{};
  properties.location.id = options.device;
  driver::check(cu.cuMemPoolCreate(&state.pool, &properties), "cuMemPoolCreate");
  // The pool keeps freed memory, since the next call needs it again.
  std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
  driver::check(cu.cuMemPoolSetAttribute(state.pool, driver::PoolAttribute::release_threshold, &keep), "cuMemPoolSetAttribute");
}
Queue::~Queue() = default;
Queue::Queue(Queue&&) noexcept = default;
Queue& Queue::operator=(Queue&&) noexcept = default;

void Queue::wait() {
  if (state_->backend == Backend::gpu) state_->wait();
}

Backend Queue::backend() const noexcept { return state_->backend; }
std::string const& Queue::gpu_problem() const noexcept { return state_->gpu_problem; }
bool Queue::reaches(void const* address) const {
  // The driver may not yet know memory of a graph that is being captured.
  return state_->backend == Backend::cpu || state_->preparing > 0 || state_->context->reaches(address) || state_->capturing();
}
int Queue::threads() const noexcept { return state_->threads; }
Device const& Queue::device() const {
  if (!state_->context) throw Unavailable("Queue: a queue on the CPU has no device");
  return state_->context->device();
}
void* Queue::stream() const noexcept { return state_->stream; }

Queue::Preparing::Preparing(Queue& queue) : queue_(queue), before_(queue.state_->most_wanted) {
  ++queue_.state_->preparing;
  queue_.state_->most_wanted = queue_.state_->wanted;
}
Queue::Preparing::~Preparing() {
  --queue_.state_->preparing;
  queue_.state_->most_wanted = std::max(before_, queue_.state_->most_wanted);
}
std::int64_t Queue::Preparing::workspace() const noexcept { return queue_.state_->most_wanted; }

}  // namespace myriad
