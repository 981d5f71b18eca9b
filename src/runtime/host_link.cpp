#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "myriad/error.hpp"
#include "myriad/event.hpp"
#include "myriad/memory.hpp"
#include "myriad/stream.hpp"
#include "runtime/queue_state.hpp"

namespace myriad {
namespace {

namespace driver = gpu::driver;

constexpr std::int64_t bytes = std::int64_t{32} << 20;  ///< large enough for the full rate, small enough to be pinned quickly
constexpr int rounds = 4;                               ///< the best one counts
/// Rounds with several GPUs, and copies in each direction of a GPU in one of them. Starting four GPUs would be a few percent of a single
/// copy.
constexpr int rounds_of_several = 2, copies_of_several = 4;

/// One direction with its own queue, so that directions and GPUs overlap.
struct Direction {
  Direction(int device, bool in)
      : to_device(in),
        queue({.backend = Backend::gpu, .device = device}),
        on_device(queue, bytes),
        on_host(queue, bytes),
        start(queue),
        end(queue) {}

  void enqueue() {
    char* const from = to_device ? on_host.data() : on_device.data();
    copy<char>(queue, from, bytes, to_device ? on_device.data() : on_host.data());
  }

  bool to_device;
  Queue queue;
  DeviceArray<char> on_device;
  PinnedArray<char> on_host;
  Event start, end;
};

/// Seconds until each direction has made `copies` copies, all at the same time.
double seconds_of(std::vector<Direction*> const& all, int copies) {
  Direction& first = *all.front();
  first.queue.wait();
  first.start.record();
  for (Direction* d : all)
    if (d != &first) first.start.hold(d->queue);
  for (int k = 0; k < copies; ++k)
    for (Direction* d : all) d->enqueue();
  for (Direction* d : all) {
    if (d == &first) continue;
    d->end.record();
    d->end.hold(first.queue);
  }
  first.end.record();
  return first.end.seconds_since(first.start);
}

HostLink measure(std::vector<int> const& devices) {
  std::vector<Direction> directions;
  directions.reserve(2 * devices.size());
  std::vector<Direction*> in, out, both;
  for (int const device : devices)
    for (auto* const list : {&in, &out}) {
      list->push_back(&directions.emplace_back(device, list == &in));
      both.push_back(list->back());
    }
  bool const several = devices.size() > 1;
  int const copies = several ? copies_of_several : 1;
  auto const rate = [&](std::vector<Direction*> const& all) {
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < (several ? rounds_of_several : rounds); ++round) best = std::min(best, seconds_of(all, copies));
    return static_cast<double>(bytes) * copies * static_cast<double>(all.size()) / best;
  };
  seconds_of(both, 1);  // first touch of all buffers
  return {.to_device = rate(in), .to_host = rate(out), .both = rate(both)};
}

/// The best rate of copies from memory of one queue to that of another.
double peer_rate(Queue& from, Queue& to) {
  DeviceArray<char> const source(from, bytes), target(to, bytes);
  Event start(from), end(from), ready(to);
  ready.record();  // both allocations are in stream order
  ready.hold(from);
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round <= rounds; ++round) {
    start.record();
    copy<char>(from, source.data(), bytes, target.data());
    end.record();
    double const seconds = end.seconds_since(start);
    if (round > 0) best = std::min(best, seconds);  // the first one also maps the memory
  }
  return static_cast<double>(bytes) / best;
}

/// Maps what the queue allocates on another GPU, too.
void map_on(int device, Queue& queue) {
  QueueAccess::State const& state = QueueAccess::state(queue);
  driver::CurrentContext const current(state.context->handle());
  driver::MemoryAccess access;
  access.location.id = device;
  driver::check(driver::api().cuMemPoolSetAccess(state.pool, &access, 1), "cuMemPoolSetAccess");
}

bool can_access(int device, int peer) {
  int can = 0;
  driver::check(driver::api().cuDeviceCanAccessPeer(&can, device, peer), "cuDeviceCanAccessPeer");
  return can != 0;
}

std::mutex& measuring() {
  static auto* const mutex = new std::mutex;  // concurrent measurements would disturb each other
  return *mutex;
}

void refuse_cpu(char const* function, Queue const& queue) {
  if (queue.backend() != Backend::gpu) throw Unavailable(fmt::format("{}: a queue on the CPU has no link", function));
}

}  // namespace

HostLink host_link(std::span<Queue> queues) {
  if (queues.empty()) throw BadArgument("host_link", 1, "queues", "is empty; needs at least one queue");
  std::vector<int> devices;
  for (Queue const& queue : queues) {
    refuse_cpu("host_link", queue);
    devices.push_back(queue.device().ordinal);
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  static auto* const links = new std::map<std::vector<int>, HostLink>;
  std::scoped_lock const lock(measuring());
  auto const known = links->find(devices);
  return known != links->end() ? known->second : links->emplace(devices, measure(devices)).first->second;
}
HostLink host_link(Queue& queue) { return host_link(std::span<Queue>(&queue, 1)); }

PeerLink peer_link(Queue& from, Queue& to) {
  refuse_cpu("peer_link", from);
  refuse_cpu("peer_link", to);
  int const source = from.device().ordinal, target = to.device().ordinal;
  if (source == target) throw BadArgument("peer_link", 2, "to", fmt::format("is on GPU {}, as `from` is", target));
  std::scoped_lock const lock(measuring());
  Queue own_from({.backend = Backend::gpu, .device = source}), own_to({.backend = Backend::gpu, .device = target});
  PeerLink link{.copy = peer_rate(own_from, own_to)};
  if (can_access(source, target) && can_access(target, source)) {
    map_on(target, own_from);
    map_on(source, own_to);
    link.direct = peer_rate(own_from, own_to);
  }
  return link;
}

}  // namespace myriad
