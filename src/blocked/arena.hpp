#pragma once
/// Workspace of a blocked algorithm: one function takes its arrays from an arena, and serves the query and the call.
///
///     struct PanelWork {
///       T *v, *products;
///       PanelWork(Arena& arena, std::int64_t n, std::int64_t width) : v(arena.take<T>(n * width)), products(arena.take<T>(width * width))
///       {}
///     };
///     auto const memory = machine.memory(bytes_of<PanelWork>(n, width));
///     auto const work = placed<PanelWork>(memory.data(), n, width);

#include <cstdint>

namespace myriad {

/// Arrays one after the other, each from a multiple of 256 bytes on. Without memory the arena only counts: its arrays are null.
class Arena {
 public:
  Arena() = default;
  /// `memory` is a multiple of 256 and has as many bytes as an arena without memory counted.
  explicit Arena(void* memory) : memory_(static_cast<char*>(memory)) {}

  template <typename T>
  T* take(std::int64_t count) {
    char* const here = memory_ ? memory_ + bytes_ : nullptr;
    bytes_ += (count * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
    return reinterpret_cast<T*>(here);
  }
  /// The bytes of all arrays that were taken.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  char* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// The bytes that Work(arena, arguments...) takes.
template <typename Work, typename... Arguments>
std::int64_t bytes_of(Arguments const&... arguments) {
  Arena arena;
  static_cast<void>(Work(arena, arguments...));
  return arena.bytes();
}

/// Work(arena, arguments...) at `memory`.
template <typename Work, typename... Arguments>
Work placed(void* memory, Arguments const&... arguments) {
  Arena arena(memory);
  return Work(arena, arguments...);
}

/// Number of `count` items of bytes_of_one bytes each that fit `limit` bytes at a time; at least one.
constexpr std::int64_t most_at_once(std::int64_t count, std::int64_t limit, std::int64_t bytes_of_one) {
  std::int64_t const some = limit / bytes_of_one;
  return some < 1 ? 1 : some < count ? some : count;
}

}  // namespace myriad
