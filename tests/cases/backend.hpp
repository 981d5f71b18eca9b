#pragma once
/// Backend of the tests of all cases. MYRIAD_TEST_BACKEND=gpu runs routines with kernels on the first GPU, with arrays in pinned memory,
/// which host and GPU reach. MYRIAD_TEST_BACKEND=compiler does the same on a fake GPU, which only compiles kernels.

#include <cstdlib>
#include <map>
#include <memory_resource>
#include <string_view>

#include "case/storage.hpp"
#include "myriad/memory.hpp"
#include "myriad/queue.hpp"

namespace myriad::cases {

inline std::string_view backend() {
  static char const* const name = std::getenv("MYRIAD_TEST_BACKEND");
  return name ? name : "cpu";
}
inline bool only_compiles() { return backend() == "compiler"; }
inline bool on_gpu() { return backend() == "gpu" || only_compiles(); }

/// Pinned memory, with one allocation per request.
class PinnedMemory final : public std::pmr::memory_resource {
 public:
  explicit PinnedMemory(Queue& queue) : queue_(queue) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    PinnedArray<char> piece(queue_, static_cast<std::int64_t>(bytes));
    void* const data = piece.data();
    pieces_.emplace(data, std::move(piece));
    return data;
  }
  void do_deallocate(void* p, std::size_t, std::size_t) override { pieces_.erase(p); }
  [[nodiscard]] bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }

  Queue& queue_;
  std::map<void*, PinnedArray<char>> pieces_;
};

/// The queue of the tests. On a GPU it also sets the memory of the cases' arrays.
inline Queue& test_queue() {
  static Queue queue = on_gpu() ? Queue{{.backend = Backend::gpu}} : Queue{{.backend = Backend::cpu, .threads = 2}};
  if (on_gpu()) {
    static PinnedMemory pinned(queue);
    static std::pmr::unsynchronized_pool_resource pool({.max_blocks_per_chunk = 0, .largest_required_pool_block = std::size_t{1} << 24},
                                                       &pinned);
    array_memory() = &pool;
  }
  return queue;
}

}  // namespace myriad::cases
