#pragma once
/// Memory that a queue's processor can access, and copies to and from it. On a CPU queue all of it is plain host memory, so that the same
/// program runs on both.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

namespace detail {

/// Memory allocated from a queue. It shares ownership of the queue's state, so that the queue may be destroyed first.
class MYRIAD_API Memory {
 public:
  enum class Kind { device, pinned };

  Memory() noexcept;
  /// Throws BadArgument for a negative count, OutOfMemory, std::bad_alloc.
  Memory(Queue& queue, Kind kind, std::int64_t count, std::size_t element_bytes);
  ~Memory();
  Memory(Memory&&) noexcept;
  Memory& operator=(Memory&&) noexcept;

  [[nodiscard]] void* data() const noexcept { return data_; }

  static std::int64_t copy(Queue& queue, void const* from, std::int64_t count, std::size_t element_bytes, void* to);

 private:
  std::shared_ptr<Queue::State> owner_;
  void* data_ = nullptr;
  Kind kind_ = Kind::device;
  bool of_graph_ = false;  ///< allocated while the stream was captured
};

}  // namespace detail

/// Copies `count` elements, in stream order. Either side may be host or GPU memory. The copy is asynchronous where possible: change `from`
/// and read `to` only after `wait()`. Copies between the GPU and host memory that is not pinned may block.
template <typename T>
void copy(Queue& queue, T const* from, std::int64_t count, T* to) {
  static_assert(std::is_trivially_copyable_v<T>);
  detail::Memory::copy(queue, from, count, sizeof(T), to);
}

/// An array in memory of the queue's processor: GPU memory from the queue's pool, allocated and freed in stream order. Not initialised. An
/// array made while the stream is being captured is part of the graph and must be destroyed before the capture ends.
template <typename T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceArray() = default;
  /// `size` elements, not initialised.
  DeviceArray(Queue& queue, std::int64_t size) : memory_(queue, detail::Memory::Kind::device, size, sizeof(T)), size_(size) {}
  /// Moves the elements; `other` is left empty.
  DeviceArray(DeviceArray&& other) noexcept : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  /// As the move constructor.
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(memory_.data()); }  ///< first element; null for an empty array
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }                  ///< number of elements

 private:
  detail::Memory memory_;
  std::int64_t size_ = 0;
};

/// An array in pinned host memory: copies from and to the GPU run at full speed and do not block the host. Not initialised. The destructor
/// waits for the queue. During a capture it leaves the memory to the queue until the queue next waits or is destroyed.
template <typename T>
class PinnedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PinnedArray() = default;
  /// `size` elements, not initialised.
  PinnedArray(Queue& queue, std::int64_t size) : memory_(queue, detail::Memory::Kind::pinned, size, sizeof(T)), size_(size) {}
  /// Moves the elements; `other` is left empty.
  PinnedArray(PinnedArray&& other) noexcept : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  /// As the move constructor.
  PinnedArray& operator=(PinnedArray&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(memory_.data()); }  ///< first element; null for an empty array
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }                  ///< number of elements
  [[nodiscard]] T& operator[](std::int64_t i) const noexcept { return data()[i]; }    ///< element i, from zero
  [[nodiscard]] T* begin() const noexcept { return data(); }                          ///< first element
  [[nodiscard]] T* end() const noexcept { return data() + size_; }                    ///< behind the last element

 private:
  detail::Memory memory_;
  std::int64_t size_ = 0;
};

/// A copy of host elements in the queue's memory.
template <typename T>
DeviceArray<std::remove_const_t<T>> to_device(Queue& queue, std::span<T> from) {
  DeviceArray<std::remove_const_t<T>> out(queue, static_cast<std::int64_t>(from.size()));
  copy<std::remove_const_t<T>>(queue, from.data(), out.size(), out.data());
  return out;
}
/// A copy of a host vector in the queue's memory.
template <typename T>
DeviceArray<T> to_device(Queue& queue, std::vector<T> const& from) {
  return to_device(queue, std::span<T const>(from));
}

/// A copy of the elements on the host. Waits for the queue.
template <typename T>
std::vector<T> to_host(Queue& queue, DeviceArray<T> const& from) {
  std::vector<T> out(static_cast<std::size_t>(from.size()));
  copy<T>(queue, from.data(), from.size(), out.data());
  queue.wait();
  return out;
}

}  // namespace myriad
