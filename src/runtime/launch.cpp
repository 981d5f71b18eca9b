#include "runtime/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "myriad/error.hpp"
#include "runtime/messages.hpp"
#include "runtime/queue_state.hpp"

namespace myriad::gpu {

Context& context_of(Queue& queue) {
  Context* const context = QueueAccess::state(queue).context;
  if (!context) throw Unavailable("the queue is on the CPU");
  return *context;
}

bool takes_large_parameters() { return driver::load().version >= 12010; }

void launch(Queue& queue, Kernel const& kernel, Grid const& grid, void const* params, std::size_t params_bytes) {
  QueueAccess::State const& state = QueueAccess::state(queue);
  // Checked here since the driver's "invalid argument" does not name the argument.
  if (grid.blocks < 0 || grid.cluster < 1 || grid.blocks % grid.cluster != 0 || grid.threads < 1 || grid.threads_y < 1 ||
      std::int64_t{grid.threads} * grid.threads_y > kernel.max_threads || grid.shared_bytes < 0 ||
      grid.shared_bytes > kernel.max_dynamic_shared_bytes)
    throw GpuError(
        fmt::format("{}: a launch of {} blocks of {} x {} threads in clusters of {} blocks, with {} bytes of shared memory; it has {} "
                    "registers a thread, so that {} threads and {} bytes are the limit, and a cluster must divide the blocks",
                    kernel.name, grid.blocks, grid.threads, grid.threads_y, grid.cluster, grid.shared_bytes, kernel.registers,
                    kernel.max_threads, kernel.max_dynamic_shared_bytes),
        static_cast<int>(driver::Result::invalid_value));
  if (params_bytes > 4096 && !takes_large_parameters())
    throw Unavailable(
        fmt::format("{}: a launch with {} bytes of parameters; the driver, of CUDA {}.{}, takes 4096, those from 12.1 on more", kernel.name,
                    params_bytes, driver::load().version / 1000, driver::load().version % 1000 / 10));
  if (grid.blocks == 0 || state.preparing > 0) return;
  driver::CurrentContext const current(state.context->handle());
  std::int64_t const most = std::numeric_limits<std::int32_t>::max() / grid.cluster * grid.cluster;
  auto const blocks = static_cast<unsigned>(std::min<std::int64_t>(grid.blocks, most));
  driver::LaunchAttribute attributes[2];
  unsigned attribute_count = 0;
  if (grid.together) attributes[attribute_count++].id = driver::LaunchAttribute::cooperative;
  if (grid.cluster > 1)
    attributes[attribute_count++] = {.id = driver::LaunchAttribute::cluster_dimension,
                                     .value = {static_cast<unsigned>(grid.cluster), 1, 1}};
  driver::LaunchConfig const config{.grid = {blocks, 1, 1},
                                    .block = {static_cast<unsigned>(grid.threads), static_cast<unsigned>(grid.threads_y), 1},
                                    .shared_bytes = static_cast<unsigned>(grid.shared_bytes),
                                    .stream = state.stream,
                                    .attributes = attribute_count > 0 ? attributes : nullptr,
                                    .attribute_count = attribute_count};
  void* parameters[] = {const_cast<void*>(params)};
  driver::Result const result = driver::api().cuLaunchKernelEx(&config, kernel.function, parameters, nullptr);
  if (result != driver::Result::success) driver::check(result, "cuLaunchKernelEx", kernel.name.c_str());
}

void clear(Queue& queue, int* data, std::int64_t count, ClearTo to) {
  QueueAccess::State const& state = QueueAccess::state(queue);
  if (!data || count <= 0 || state.preparing > 0) return;
  driver::CurrentContext const current(state.context->handle());
  driver::check(driver::api().cuMemsetD8Async(reinterpret_cast<driver::Address>(data), to == ClearTo::zero ? 0 : 0xff,
                                              static_cast<std::size_t>(count) * sizeof(int), state.stream),
                "cuMemsetD8Async");
}

Workspace::Workspace(Queue& queue, std::int64_t bytes) : queue_(queue) {
  QueueAccess::State& state = QueueAccess::state(queue);
  if (bytes <= 0) return;
  bytes_ = (bytes + 255) / 256 * 256;
  if (state.preparing > 0) {
    from_ = From::counted;
    state.wanted += bytes_;
    state.most_wanted = std::max(state.most_wanted, state.wanted);
  } else if (state.reserved.used + bytes_ <= state.reserved.bytes) {
    from_ = From::reserved;
    address_ = state.reserved.address + static_cast<driver::Address>(state.reserved.used);
    state.reserved.used += bytes_;
  } else if (state.allocator.allocate) {
    driver::CurrentContext const current(state.context->handle());
    void* const memory = state.allocator.allocate(bytes_, state.stream);
    if (!memory) throw OutOfMemory(fmt::format("{} bytes of workspace: the queue's allocator has no memory", bytes_));
    from_ = From::allocator;
    address_ = reinterpret_cast<std::uintptr_t>(memory);
    if (address_ % 256 == 0) return;
    give_back();
    throw Error(fmt::format("{} bytes of workspace: the queue's allocator returned {}, which is no multiple of 256", bytes_, memory));
  } else {
    from_ = state.capturing() ? From::graph : From::pool;
    address_ = state.allocate(bytes_);
  }
}
Workspace::~Workspace() { give_back(); }

void Workspace::give_back() noexcept {
  QueueAccess::State& state = QueueAccess::state(queue_);
  switch (from_) {
    case From::nowhere:
      break;
    case From::counted:
      state.wanted -= bytes_;
      break;
    case From::reserved:
      // Workspace that is not freed in reverse order is left to Reserved.
      if (address_ + static_cast<driver::Address>(bytes_) == state.reserved.address + static_cast<driver::Address>(state.reserved.used))
        state.reserved.used -= bytes_;
      break;
    case From::allocator:
      if (!state.allocator.release) break;
      try {
        driver::CurrentContext const current(state.context->handle());
        state.allocator.release(as<void>(), bytes_, state.stream);
      } catch (std::exception const& error) {
        message(error.what());
      }
      break;
    case From::pool:
    case From::graph:
      state.free(address_, from_ == From::graph);
      break;
  }
}

namespace {
bool reserves(Queue& queue) {
  QueueAccess::State const& state = QueueAccess::state(queue);
  return state.preparing == 0 && state.reserved.bytes == 0;
}
}  // namespace

Reserved::Reserved(Queue& queue, std::int64_t bytes) : queue_(queue), first_(reserves(queue)), workspace_(queue, first_ ? bytes : 0) {
  if (first_ && workspace_.as<void>()) QueueAccess::state(queue).reserved = {workspace_.address_, bytes, 0};
}
Reserved::~Reserved() {
  if (first_) QueueAccess::state(queue_).reserved = {};
}

GridCounts::GridCounts(Queue& queue) : of_call_(queue, of_queue(queue) ? 0 : count * static_cast<std::int64_t>(sizeof(unsigned))) {
  QueueAccess::State& state = QueueAccess::state(queue);
  if (state.preparing > 0) return;
  if (of_call_.as<int>())
    clear(queue, of_call_.as<int>(), count);
  else
    of_queue_ = reinterpret_cast<unsigned*>(state.grid_counts(count * static_cast<std::int64_t>(sizeof(unsigned))));
}

bool GridCounts::of_queue(Queue& queue) {
  QueueAccess::State& state = QueueAccess::state(queue);
  return state.preparing == 0 && !state.allocator.allocate && state.settle();
}

}  // namespace myriad::gpu
