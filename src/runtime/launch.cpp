#include "runtime/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "myriad/error.hpp"
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
  if (grid.blocks < 0 || grid.threads < 1 || grid.threads_y < 1 || std::int64_t{grid.threads} * grid.threads_y > kernel.max_threads ||
      grid.shared_bytes < 0 || grid.shared_bytes > kernel.max_dynamic_shared_bytes)
    throw GpuError(
        fmt::format("{}: a launch of {} blocks of {} x {} threads with {} bytes of shared memory; it has {} registers a thread, so that "
                    "{} threads and {} bytes are the limit",
                    kernel.name, grid.blocks, grid.threads, grid.threads_y, grid.shared_bytes, kernel.registers, kernel.max_threads,
                    kernel.max_dynamic_shared_bytes),
        static_cast<int>(driver::Result::invalid_value));
  if (params_bytes > 4096 && !takes_large_parameters())
    throw Unavailable(
        fmt::format("{}: a launch with {} bytes of parameters; the driver, of CUDA {}.{}, takes 4096, those from 12.1 on more", kernel.name,
                    params_bytes, driver::load().version / 1000, driver::load().version % 1000 / 10));
  if (grid.blocks == 0 || state.preparing > 0) return;
  driver::CurrentContext const current(state.context->handle());
  auto const blocks = static_cast<unsigned>(std::min<std::int64_t>(grid.blocks, std::numeric_limits<std::int32_t>::max()));
  driver::LaunchAttribute cooperative{.id = driver::LaunchAttribute::cooperative};
  driver::LaunchConfig const config{.grid = {blocks, 1, 1},
                                    .block = {static_cast<unsigned>(grid.threads), static_cast<unsigned>(grid.threads_y), 1},
                                    .shared_bytes = static_cast<unsigned>(grid.shared_bytes),
                                    .stream = state.stream,
                                    .attributes = grid.together ? &cooperative : nullptr,
                                    .attribute_count = grid.together ? 1U : 0U};
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
  if (state.preparing > 0) {
    counted_ = bytes;
    state.wanted += bytes;
    state.most_wanted = std::max(state.most_wanted, state.wanted);
    return;
  }
  of_graph_ = state.capturing();
  address_ = state.allocate(bytes);
}
Workspace::~Workspace() {
  QueueAccess::State& state = QueueAccess::state(queue_);
  state.wanted -= counted_;
  state.free(address_, of_graph_);
}

GridCounts::GridCounts(Queue& queue)
    : of_graph_(queue, QueueAccess::state(queue).preparing > 0 || QueueAccess::state(queue).capturing()
                           ? count * static_cast<std::int64_t>(sizeof(unsigned))
                           : 0) {
  QueueAccess::State& state = QueueAccess::state(queue);
  if (state.preparing > 0) return;
  if (of_graph_.as<int>())
    clear(queue, of_graph_.as<int>(), count);
  else
    of_queue_ = reinterpret_cast<unsigned*>(state.grid_counts(count * static_cast<std::int64_t>(sizeof(unsigned))));
}

}  // namespace myriad::gpu
