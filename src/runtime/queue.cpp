#include "myriad/queue.hpp"

#include <fmt/format.h>

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

#include "core/team.hpp"
#include "myriad/error.hpp"
#include "runtime/gpu_errors.hpp"
#include "runtime/messages.hpp"
#include "runtime/queue_state.hpp"
#include "simd/targets.hpp"

namespace myriad {
namespace {

namespace driver = gpu::driver;

int threads_from_environment() {
  char const* const text = std::getenv("MYRIAD_NUM_THREADS");
  if (!text || !*text) return team::default_size();
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

/// Throws unless the stream is of the primary context. Needs that context to be current.
void check_stream(char const* routine, int position, void* stream, gpu::Context const& context) {
  driver::ContextHandle owner = nullptr;
  // A stream whose context cannot be queried may belong to a green context, which shares the primary context's memory and kernels.
  if (!is_default_stream(stream) &&
      driver::api().cuStreamGetCtx(static_cast<driver::StreamHandle>(stream), &owner) == driver::Result::success &&
      owner != context.handle())
    throw BadArgument(routine, position, "stream", fmt::format("is not of the primary context of device {}", context.device().ordinal));
}

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
    // A caller's stream, which may be destroyed by now, is not touched if there is nothing to free.
    if (!left_.empty()) (void)settle();
    free_postponed();
    if ((own_stream == stream || !postponed_pinned_.empty()) && !capturing()) cu.cuStreamSynchronize(stream);
    if (own_stream && own_stream != stream && !capturing(own_stream)) cu.cuStreamSynchronize(own_stream);
    free_postponed_pinned();
    for (Left const& left : left_)
      if (left.event) cu.cuEventDestroy_v2(left.event);
    if (spare_event_) cu.cuEventDestroy_v2(spare_event_);
    if (own_stream) cu.cuStreamDestroy_v2(own_stream);
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
    bool const has_something = owned->own_stream || owned->grid_counts_ || !owned->left_.empty() || !owned->postponed_.empty() ||
                               !owned->postponed_pinned_.empty();
    if (has_something && owned->held_by_a_capture()) {
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
      if (state && !state->held_by_a_capture()) state.reset();
    std::erase(kept.states, nullptr);
  } catch (std::exception const& error) {
    gpu::message(error.what());
  }
}

bool Queue::State::capturing(driver::StreamHandle of) const {
  driver::CurrentContext const current(context->handle());  // the default streams are those of the current context
  auto status = driver::CaptureStatus::none;
  // If the query fails, as for the legacy stream while another is captured, the stream counts as capturing: waiting would end that capture.
  return driver::api().cuStreamIsCapturing(of, &status) != driver::Result::success || status != driver::CaptureStatus::none;
}

bool Queue::State::held_by_a_capture() const {
  return capturing() || (own_stream && own_stream != stream && capturing(own_stream)) ||
         std::any_of(left_.begin(), left_.end(), [&](Left const& left) { return !left.event && capturing(left.stream); });
}

driver::EventHandle Queue::State::record(driver::StreamHandle after) {
  driver::Api const& cu = driver::api();
  driver::EventHandle event = std::exchange(spare_event_, nullptr);
  if (!event) driver::check(cu.cuEventCreate(&event, driver::event_disable_timing), "cuEventCreate");
  driver::Result const result = cu.cuEventRecord(event, after);
  if (result != driver::Result::success) {
    spare_event_ = event;
    driver::check(result, "cuEventRecord");
  }
  return event;
}

void Queue::State::continue_on(driver::StreamHandle next) {
  driver::CurrentContext const current(context->handle());
  bool const captured = capturing();
  if (!left_.empty()) (void)settle();
  left_.reserve(left_.size() + 1);
  left_.push_back({stream, captured ? nullptr : record(stream)});
  stream = next;
  (void)settle();
}

bool Queue::State::settle() {
  if (left_.empty()) return !capturing();
  driver::CurrentContext const current(context->handle());
  if (capturing()) return false;
  driver::Api const& cu = driver::api();
  std::size_t kept = 0;
  for (std::size_t k = 0; k < left_.size(); ++k) {
    Left left = left_[k];
    if (!left.event && capturing(left.stream)) {
      left_[kept++] = left;
      continue;
    }
    if (left.stream == stream && !left.event) continue;
    if (!left.event) left_[k].event = left.event = record(left.stream);
    if (left.stream != stream) driver::check(cu.cuStreamWaitEvent(stream, left.event, 0), "cuStreamWaitEvent");
    if (!spare_event_)
      spare_event_ = left.event;
    else
      cu.cuEventDestroy_v2(left.event);
    left_[k].event = nullptr;
  }
  left_.resize(kept);
  return left_.empty();
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
    if (!of_graph && !settle()) {
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
    if (!settle()) return;
    driver::api().cuStreamSynchronize(stream);  // copies may still be in flight
    free_postponed_pinned();
  } catch (std::exception const& error) {
    gpu::message(error.what());
  }
}

/// Each is tried once: memory that the driver refuses to free is lost, and the queue stays usable.
void Queue::State::free_postponed() noexcept {
  try {
    if (postponed_.empty() || !settle()) return;
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
  bool const settled = settle();
  free_postponed();
  driver::check(driver::api().cuStreamSynchronize(stream), "cuStreamSynchronize", "work on the queue");
  if (settled) free_postponed_pinned();
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
  gpu::naming_gpu(options.device, [&] {
    driver::Api const& cu = driver::api();
    driver::CurrentContext const current(state.context->handle());
    driver::OutsideCapture const outside_capture;
    if (options.stream) {
      check_stream("Queue", 3, options.stream, *state.context);
      state.stream = static_cast<driver::StreamHandle>(options.stream);
    } else {
      driver::check(cu.cuStreamCreate(&state.own_stream, driver::stream_non_blocking), "cuStreamCreate");
      state.stream = state.own_stream;
    }
    driver::PoolProperties properties{};
    properties.location.id = options.device;
    driver::check(cu.cuMemPoolCreate(&state.pool, &properties), "cuMemPoolCreate");
    // The pool keeps freed memory, since the next call needs it again.
    std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
    driver::check(cu.cuMemPoolSetAttribute(state.pool, driver::PoolAttribute::release_threshold, &keep), "cuMemPoolSetAttribute");
  });
}
Queue::~Queue() = default;
Queue::Queue(Queue&&) noexcept = default;
Queue& Queue::operator=(Queue&&) noexcept = default;

void Queue::set_stream(void* stream) {
  State& state = *state_;
  if (state.backend == Backend::cpu) throw BadArgument("set_stream", 1, "stream", "is given for a queue on the CPU");
  if (!stream) stream = legacy_stream();
  if (stream == state.stream) return;
  driver::CurrentContext const current(state.context->handle());
  check_stream("set_stream", 1, stream, *state.context);
  state.continue_on(static_cast<driver::StreamHandle>(stream));
}

void Queue::set_allocator(WorkspaceAllocator allocator) {
  if (!allocator.allocate && allocator.release) throw BadArgument("set_allocator", 1, "allocate", "is empty, but release is given");
  state_->allocator = std::move(allocator);
}

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
