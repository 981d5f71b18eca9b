#pragma once
/// Memory whose pieces are flush against inaccessible pages. An access to one of these pages is recorded, and the page is opened so that
/// the run goes on: the test sees every fault and can report its context.

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <vector>

namespace myriad::cases {

/// The end of a piece that touches an inaccessible page.
enum class Flush { first_element, last_element };

class GuardedMemory final : public std::pmr::memory_resource {
 public:
  /// The first access to an inaccessible page.
  struct Fault {
    void const* piece;      ///< beginning of the nearest piece of memory
    std::int64_t distance;  ///< bytes behind the end of the piece; negative: before its beginning
    bool write;
  };

  explicit GuardedMemory(Flush flush) : flush_(flush) {
    current() = this;
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &old_segv_);
    sigaction(SIGBUS, &action, &old_bus_);
  }
  ~GuardedMemory() override {
    sigaction(SIGSEGV, &old_segv_, nullptr);
    sigaction(SIGBUS, &old_bus_, nullptr);
    current() = nullptr;
  }
  GuardedMemory(GuardedMemory const&) = delete;
  GuardedMemory& operator=(GuardedMemory const&) = delete;

  /// The faults so far, at most `most_faults` of them.
  [[nodiscard]] std::vector<Fault> faults() const {
    return {faults_.begin(), faults_.begin() + std::min(static_cast<std::ptrdiff_t>(fault_count_.load()), std::ptrdiff_t{most_faults})};
  }

 private:
  /// Inaccessible bytes on each side of a piece: more than a column of the tests' matrices, by which a loop may overrun.
  static constexpr std::size_t closed = std::size_t{64} * 1024;
  static constexpr int most_faults = 64;

  struct Piece {
    char* mapping;
    std::size_t mapped;
    char* data;
    std::size_t bytes;
  };

  static GuardedMemory*& current() {
    static GuardedMemory* memory = nullptr;
    return memory;
  }
  static std::size_t page() {
    static auto const size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
  }

  void* do_allocate(std::size_t bytes, std::size_t) override {
    std::size_t const open = (bytes + page() - 1) / page() * page();
    Piece piece{.mapping = nullptr, .mapped = open + 2 * closed, .data = nullptr, .bytes = bytes};
    void* const mapping = mmap(nullptr, piece.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    piece.mapping = static_cast<char*>(mapping);
    if (mprotect(piece.mapping + closed, open, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    piece.data = piece.mapping + closed + (flush_ == Flush::last_element ? open - bytes : 0);
    pieces_.push_back(piece);
    return piece.data;
  }
  void do_deallocate(void* p, std::size_t, std::size_t) override {
    auto const piece = std::find_if(pieces_.begin(), pieces_.end(), [&](Piece const& x) { return x.data == p; });
    munmap(piece->mapping, piece->mapped);
    pieces_.erase(piece);
  }
  [[nodiscard]] bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }

  /// Runs in computing threads, while the allocating thread waits for them.
  static void handle(int signal, siginfo_t* info, void* context) {
    auto* const address = static_cast<char*>(info->si_addr);
    GuardedMemory* const memory = current();
    for (Piece const& piece : memory->pieces_) {
      if (address < piece.mapping || address >= piece.mapping + piece.mapped) continue;
      int const place = memory->fault_count_.fetch_add(1);
      if (place < most_faults)
        memory->faults_[static_cast<std::size_t>(place)] = {
            .piece = piece.data,
            .distance = address < piece.data ? address - piece.data : address - (piece.data + piece.bytes),
            .write = writes(context)};
      auto const offset = static_cast<std::size_t>(address - piece.mapping);
      mprotect(piece.mapping + offset / page() * page(), page(), PROT_READ | PROT_WRITE);
      return;
    }
    // Not our fault: the instruction runs again and ends the process as usual.
    sigaction(signal, signal == SIGBUS ? &memory->old_bus_ : &memory->old_segv_, nullptr);
  }
  static bool writes([[maybe_unused]] void* context) {
#if defined(__x86_64__) && defined(REG_ERR)
    return (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    return false;
#endif
  }

  Flush flush_;
  std::vector<Piece> pieces_;
  std::array<Fault, most_faults> faults_{};
  std::atomic<int> fault_count_{0};
  struct sigaction old_segv_ {
  }, old_bus_{};
};

}  // namespace myriad::cases
