#include "myriad/memory.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <new>

#include "myriad/error.hpp"
#include "runtime/context.hpp"
#include "runtime/queue_state.hpp"

namespace myriad::detail {
namespace {

namespace driver = gpu::driver;

/// The driver's alignment, so that code that relies on it behaves the same on the CPU.
constexpr std::align_val_t alignment{256};

/// Bytes of `count` elements. Errors name argument `name` of `what`; positions do not count the queue.
std::int64_t bytes_of(char const* what, int position, char const* name, std::int64_t count, std::size_t element_bytes) {
  if (count < 0) throw BadArgument(what, position, name, fmt::format("is negative: {}", count));
  if (count > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(element_bytes))
    throw BadArgument(what, position, name, fmt::format("is too large: {} elements of {} bytes", count, element_bytes));
  return count * static_cast<std::int64_t>(element_bytes);
}

void* address(driver::Address a) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(a)); }
driver::Address address(void const* a) { return reinterpret_cast<std::uintptr_t>(a); }

/// The driver infers the kind of memory, but copies between pools of two GPUs need their contexts.
void enqueue_copy(driver::StreamHandle stream, void const* from, std::int64_t bytes, void* to) {
  driver::Api const& cu = driver::api();
  auto const size = static_cast<std::size_t>(bytes);
  bool const several = driver::load().device_count > 1;
  int const source = several ? driver::gpu_of(from) : -1;
  int const target = several ? driver::gpu_of(to) : -1;
  if (source >= 0 && target >= 0 && source != target) {
    auto const context_of = [](int ordinal) {
      driver::OutsideCapture const outside_capture;  // the other context may be new to this process
      return gpu::Context::of(ordinal).handle();
    };
    driver::check(cu.cuMemcpyPeerAsync(address(to), context_of(target), address(from), context_of(source), size, stream),
                  "cuMemcpyPeerAsync", "copy");
  } else {
    driver::check(cu.cuMemcpyAsync(address(to), address(from), size, stream), "cuMemcpyAsync", "copy");
  }
}

}  // namespace

Memory::Memory() noexcept = default;

Memory::Memory(Queue& queue, Kind kind, std::int64_t count, std::size_t element_bytes) : owner_(queue.state_), kind_(kind) {
  std::int64_t const bytes = bytes_of(kind == Kind::device ? "DeviceArray" : "PinnedArray", 1, "size", count, element_bytes);
  if (bytes == 0) return;
  if (owner_->backend == Backend::cpu) {
    data_ = ::operator new(static_cast<std::size_t>(bytes), alignment);
  } else if (kind == Kind::device) {
    of_graph_ = owner_->capturing();
    data_ = address(owner_->allocate(bytes));
  } else {
    driver::CurrentContext const current(owner_->context->handle());
    driver::OutsideCapture const outside_capture;
    driver::Result const result = driver::api().cuMemHostAlloc(&data_, static_cast<std::size_t>(bytes), driver::host_alloc_portable);
    if (result != driver::Result::success) driver::check(result, "cuMemHostAlloc", fmt::format("{} bytes of pinned memory", bytes).c_str());
  }
}

Memory::~Memory() {
  if (!data_) return;
  if (owner_->backend == Backend::cpu) {
    ::operator delete(data_, alignment);
  } else if (kind_ == Kind::device) {
    owner_->free(address(data_), of_graph_);
  } else {
    owner_->free_pinned(data_);
  }
}

Memory::Memory(Memory&& other) noexcept
    : owner_(std::move(other.owner_)), data_(std::exchange(other.data_, nullptr)), kind_(other.kind_), of_graph_(other.of_graph_) {}
Memory& Memory::operator=(Memory&& other) noexcept {
  Memory old(std::move(*this));
  owner_ = std::move(other.owner_);
  data_ = std::exchange(other.data_, nullptr);
  kind_ = other.kind_;
  of_graph_ = other.of_graph_;
  return *this;
}

std::int64_t Memory::copy(Queue& queue, void const* from, std::int64_t count, std::size_t element_bytes, void* to) {
  std::int64_t const bytes = bytes_of("copy", 2, "count", count, element_bytes);
  if (bytes == 0) return bytes;
  if (!from || !to) throw BadArgument("copy", from ? 3 : 1, from ? "to" : "from", "is a null pointer");
  Queue::State const& state = *queue.state_;
  if (state.backend == Backend::cpu) {
    std::memmove(to, from, static_cast<std::size_t>(bytes));
  } else if (state.preparing == 0) {
    driver::CurrentContext const current(state.context->handle());
    enqueue_copy(state.stream, from, bytes, to);
  }
  return bytes;
}

}  // namespace myriad::detail
