#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "myriad/error.hpp"
#include "myriad/event.hpp"
#include "myriad/memory.hpp"
#include "myriad/stream.hpp"

namespace myriad {
namespace {

constexpr std::int64_t bytes = std::int64_t{32} << 20;  ///< large enough for the full rate, small enough to be pinned quickly
constexpr int rounds = 4;                               ///< the best one counts

/// One direction with its own queue, so that both directions overlap.
struct Direction {
  explicit Direction(int device)
      : queue({.backend = Backend::gpu, .device = device}), on_device(queue, bytes), on_host(queue, bytes), start(queue), end(queue) {}

  void to_device() { copy(queue, on_host.data(), bytes, on_device.data()); }
  void to_host() { copy(queue, on_device.data(), bytes, on_host.data()); }

  Queue queue;
  DeviceArray<char> on_device;
  PinnedArray<char> on_host;
  Event start, end;
};

HostLink measure(int device) {
  Direction in(device), out(device);
  in.to_device();  // first touch of both buffers
  out.to_host();
  out.queue.wait();
  double one_way_in = std::numeric_limits<double>::infinity(), one_way_out = one_way_in, two_way = one_way_in;
  for (int round = 0; round < rounds; ++round) {
    in.queue.wait();
    in.start.record();
    in.to_device();
    in.end.record();
    one_way_in = std::min(one_way_in, in.end.seconds_since(in.start));

    out.start.record();
    out.to_host();
    out.end.record();
    one_way_out = std::min(one_way_out, out.end.seconds_since(out.start));

    in.start.record();
    in.start.hold(out.queue);
    in.to_device();
    out.to_host();
    out.end.record();
    out.end.hold(in.queue);
    in.end.record();
    two_way = std::min(two_way, in.end.seconds_since(in.start));
  }
  constexpr auto moved = static_cast<double>(bytes);
  return {.to_device = moved / one_way_in, .to_host = moved / one_way_out, .both = 2 * moved / two_way};
}

}  // namespace

HostLink host_link(Queue& queue) {
  if (queue.backend() != Backend::gpu) throw Unavailable("host_link: a queue on the CPU has no link");
  static auto* const mutex = new std::mutex;
  static auto* const links = new std::unordered_map<int, HostLink>;
  std::scoped_lock const lock(*mutex);  // concurrent measurements would disturb each other
  int const device = queue.device().ordinal;
  auto const known = links->find(device);
  return known != links->end() ? known->second : links->emplace(device, measure(device)).first->second;
}

}  // namespace myriad
