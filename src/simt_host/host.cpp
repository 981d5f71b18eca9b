// Compiled without the thread sanitizer (see CMakeLists.txt): it must not see how fibers communicate here. The kernel's memory ordering is
// annotated by release and acquire.

#include "simt_host/host.hpp"

#include "simt/boxes.hpp"

#ifndef __x86_64__
#include <ucontext.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

// Null without that sanitizer.
extern "C" {
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack_save, void const* bottom, std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack_save, void const** bottom_old, std::size_t* size_old);
[[gnu::weak]] void __asan_unpoison_memory_region(void const volatile* begin, std::size_t size);
}

#ifdef __x86_64__
// swapcontext makes a system call for the signal mask, and the address sanitizer then clears its shadow of the whole stack. Kernels switch
// fibers at every shuffle: this switch takes their tests to a third of the time, under that sanitizer to a tenth.
extern "C" void myriad_simt_switch(void** from, void* to);
asm(R"(
.text
.p2align 4
.type myriad_simt_switch, @function
myriad_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size myriad_simt_switch, . - myriad_simt_switch
)");
#endif

namespace myriad::simt {
namespace {

// Kernels without optimisation and with the address sanitizer need 11 KiB.
constexpr std::size_t stack_bytes = 128 * 1024;

void release(void* what) {
  if (__tsan_release) __tsan_release(what);
}
void acquire(void* what) {
  if (__tsan_acquire) __tsan_acquire(what);
}

/// A barrier of a block or a warp.
struct Barrier {
  int size = 0;
  int arrived = 0;
  long long round = 0;
  bool shown = true, all_shown = false;  ///< show_to_products was called by all that have arrived; by all of the last round
};

/// An mbarrier.
struct Phases {
  int arrivals = 0;                     ///< arrivals that a phase needs
  int left = 0;                         ///< arrivals missing in the current phase
  long long expected = 0, started = 0;  ///< bytes
  std::vector<host::Copy> copies;       ///< of the current phase
  std::vector<host::Copy> ended;        ///< of completed phases, not yet waited for
  long long round = 0;
  bool shown = true, all_shown = false;  ///< show_to_products was called by all that have arrived; by all of the last phase
};

struct Warp {
  Barrier barrier;
  std::array<host::Slots, 2> slots;
};

/// An execution context with its own stack, annotated for the sanitizers.
struct Context {
#ifdef __x86_64__
  void* registers = nullptr;  ///< saved on its stack
#else
  ucontext_t registers;
#endif
  void const* stack = nullptr;
  std::size_t stack_size = 0;
  void* tsan = nullptr;
};

/// Sets `context` to begin at `entry` on this stack.
void begin_on(Context& context, char* stack, void (*entry)()) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(stack, stack_bytes);  // of the stack's last use
#ifdef __x86_64__
  // The frame that myriad_simt_switch pops: six registers and the address to continue at, which never returns.
  auto* const words = reinterpret_cast<std::uintptr_t*>(stack + stack_bytes) - 8;
  std::fill_n(words, 8, 0);
  words[6] = reinterpret_cast<std::uintptr_t>(entry);
  context.registers = words;
#else
  getcontext(&context.registers);
  context.registers.uc_stack.ss_sp = stack;
  context.registers.uc_stack.ss_size = stack_bytes;
  context.registers.uc_link = nullptr;
  makecontext(&context.registers, entry, 0);
#endif
}

/// Switches from `from`, which may be resumed unless it is `done`, to `to`.
void switch_context(Context& from, Context& to, bool done) {
  void* fake_stack = nullptr;
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(done ? nullptr : &fake_stack, to.stack, to.stack_size);
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(to.tsan, 1);  // 1: no synchronization
#ifdef __x86_64__
  myriad_simt_switch(&from.registers, to.registers);
#else
  swapcontext(&from.registers, &to.registers);
#endif
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

struct Block;

/// A fiber runs one thread of a block. Fibers are reused for further blocks: each costs the thread sanitizer hundreds of pages of memory.
struct Fiber {
  Context context;
  std::unique_ptr<char[]> stack;
  Block* block = nullptr;
  int index = 0;
  bool finished = false;
  Barrier* waits_for = nullptr;
  long long round = 0;
  long long grid_round = 0;                ///< of the grid barrier at which it has arrived
  void const* waits_for_number = nullptr;  ///< and for the round below; see receive()
  int number_bytes = 0;
  unsigned number_round = 0;
  unsigned const* waits_for_count = nullptr;  ///< and for the count below; see wait_for_signals
  unsigned signals = 0;
  Phases const* waits_for_phase = nullptr;  ///< and for the end of the round below
  long long phase = 0;
  long long exchanges = 0;
  std::vector<host::Copy> copies;
  std::size_t arrived = 0;                              ///< how many of these have arrived
  std::vector<std::size_t> group_ends;                  ///< number of copies when each group was committed
  std::vector<std::vector<host::Copy>> bulk_stores{1};  ///< one list per group; the last group is open
  std::vector<char const*> stored;                      ///< chunks of 16 bytes that boxes stored
  std::vector<host::Product> products;                  ///< not yet waited for
  std::size_t ended_products = 0;                       ///< how many of these are in a committed group
  bool products_begun = false;                          ///< begin_products was called since the last wait
  bool copies_shown = true;                             ///< all copies that have arrived were shown to products
  bool shown = false;         ///< show_to_products covers its writes since it last waited for a phase, and those of all before barriers
                              ///< since then
  bool others_shown = false;  ///< the same for the writes of threads that arrived at the phase that it last waited for
  std::exception_ptr error;

  Fiber() : stack(std::make_unique_for_overwrite<char[]>(stack_bytes)) {
    context.stack = stack.get();
    context.stack_size = stack_bytes;
    if (__tsan_create_fiber) context.tsan = __tsan_create_fiber(0);
  }
  Fiber(Fiber const&) = delete;
  Fiber& operator=(Fiber const&) = delete;

  void forget_copies() {
    copies.clear();
    group_ends.clear();
    arrived = 0;
  }
  void forget_products() {
    products.clear();
    ended_products = 0;
    products_begun = false;
  }
  ~Fiber() {
    if (__tsan_destroy_fiber) __tsan_destroy_fiber(context.tsan);
  }
};

struct Block {
  long long index = 0;
  std::vector<Warp> warps;
  Barrier barrier;
  std::map<Mbarrier const*, Phases> mbarriers;
  struct Free {
    void operator()(char* p) const { ::operator delete(p, std::align_val_t(1024)); }
  };
  std::unique_ptr<char, Free> shared;
};

/// Blocks that run concurrently: those of a cluster, or all.
struct Launch {
  long long blocks = 0;
  int threads = 0;
  void (*kernel)(void const*) = nullptr;
  void const* argument = nullptr;
  bool together = false;
  int cluster = 1;
  std::vector<Block> running;
  std::span<std::unique_ptr<Fiber>> fibers;
  Barrier barrier;
  std::map<unsigned const*, Barrier> barriers_of_blocks;  ///< of sync_blocks
  std::set<char const*> stored;                           ///< chunks stored by boxes of blocks that have ended
  Context scheduler;
  char begun = 0, ended = 0;  ///< their addresses are the sanitizer's synchronization objects between kernel and caller
};

thread_local std::vector<std::unique_ptr<Fiber>> kept_fibers;
thread_local Launch* launch = nullptr;
thread_local Fiber* current = nullptr;

Warp& my_warp() { return current->block->warps[static_cast<std::size_t>(current->index / warp_size)]; }

void fiber_main() {
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(nullptr, &launch->scheduler.stack, &launch->scheduler.stack_size);
  acquire(&launch->begun);
  try {
    launch->kernel(launch->argument);
  } catch (...) {
    current->error = std::current_exception();
  }
  release(&launch->ended);
  current->finished = true;
  switch_context(current->context, launch->scheduler, true);
}

/// Loads an unsigned number of 4 or 8 bytes. The size of the copy must be a constant: the sanitizer would intercept a call.
unsigned long long bits_at(void const* from, int bytes) {
  unsigned long long bits = 0;
  if (bytes == 4)
    std::memcpy(&bits, from, 4);
  else
    std::memcpy(&bits, from, 8);
  return bits;
}

/// Waits until all threads of the barrier have arrived.
void arrive(Barrier& barrier) {
  if (++barrier.arrived == barrier.size) {
    barrier.arrived = 0;
    ++barrier.round;
    return;
  }
  current->waits_for = &barrier;
  current->round = barrier.round;
  switch_context(current->context, launch->scheduler, false);
}

void sync(Barrier& barrier) {
  release(&barrier);
  barrier.shown = barrier.shown && current->shown;
  if (barrier.arrived + 1 == barrier.size) barrier.all_shown = std::exchange(barrier.shown, true);
  arrive(barrier);
  current->shown = barrier.all_shown;
  current->others_shown = false;  // writes after a phase are not covered
  acquire(&barrier);
}

void run_blocks() {
  for (std::size_t f = 0; f < launch->fibers.size(); ++f) {
    Fiber& fiber = *launch->fibers[f];
    fiber.block = &launch->running[f / static_cast<std::size_t>(launch->threads)];
    fiber.index = static_cast<int>(f % static_cast<std::size_t>(launch->threads));
    fiber.finished = false;
    fiber.waits_for = nullptr;
    fiber.waits_for_number = nullptr;
    fiber.waits_for_count = nullptr;
    fiber.waits_for_phase = nullptr;
    fiber.exchanges = 0;
    fiber.forget_copies();
    fiber.bulk_stores.assign(1, {});
    fiber.stored.clear();
    fiber.forget_products();
    fiber.copies_shown = true;
    fiber.shown = fiber.others_shown = false;
    fiber.error = nullptr;
    begin_on(fiber.context, fiber.stack.get(), fiber_main);
  }
  release(&launch->begun);
  std::size_t left = launch->fibers.size();
  while (left > 0) {
    bool moved = false;
    for (auto const& fiber : launch->fibers) {
      if (fiber->finished || (fiber->waits_for && fiber->waits_for->round == fiber->round)) continue;
      if (fiber->waits_for_number && (bits_at(fiber->waits_for_number, fiber->number_bytes) & 1) != fiber->number_round) continue;
      if (fiber->waits_for_count && *fiber->waits_for_count < fiber->signals) continue;
      if (fiber->waits_for_phase && fiber->waits_for_phase->round == fiber->phase) continue;
      fiber->waits_for = nullptr;
      fiber->waits_for_number = nullptr;
      fiber->waits_for_count = nullptr;
      fiber->waits_for_phase = nullptr;
      moved = true;
      current = fiber.get();
      switch_context(launch->scheduler, fiber->context, false);
      if (fiber->finished) --left;
    }
    if (!moved) break;
  }
  acquire(&launch->ended);
  std::exception_ptr error;
  for (auto const& fiber : launch->fibers)
    if (fiber->error && !error) error = fiber->error;
  if (left > 0) {
    for (auto const& fiber : launch->fibers) {
      if (!__tsan_switch_to_fiber || fiber->finished) continue;
      __tsan_switch_to_fiber(fiber->context.tsan, 1);  // so that for the sanitizer it ends here
      release(&launch->ended);
      __tsan_switch_to_fiber(launch->scheduler.tsan, 1);
    }
    acquire(&launch->ended);
    kept_fibers.clear();  // they did not run to their end
    if (!error) throw std::logic_error("simt: threads of a block wait for others that do not come");
  }
  if (error) std::rethrow_exception(error);
  for (auto const& fiber : launch->fibers)
    if (!fiber->products.empty()) throw std::logic_error("simt: a thread ends with products that it has not waited for");
  for (auto const& fiber : launch->fibers)
    if (fiber->arrived < fiber->copies.size()) throw std::logic_error("simt: a thread ends with copies that it has not waited for");
  for (auto const& fiber : launch->fibers)
    if (fiber->bulk_stores.size() > 1 || !fiber->bulk_stores.front().empty())
      throw std::logic_error("simt: a thread ends with bulk stores that it has not waited for");
  for (Block const& block : launch->running)
    for (auto const& [barrier, phases] : block.mbarriers)
      if (phases.started > 0 || !phases.ended.empty())
        throw std::logic_error("simt: a block ends with bulk copies that nobody has waited for");
  // On a GPU either store may be the last: observed when one of two blocks stored unchanged data over the other's.
  for (auto const& fiber : launch->fibers)
    for (char const* const chunk : fiber->stored)
      if (!launch->stored.insert(chunk).second) throw std::logic_error("simt: a box is stored over another one");
}

}  // namespace

int thread_index() { return current->index; }
int lane_index() { return current->index % warp_size; }
long long block_index() { return current->block->index; }
long long block_count() { return launch->blocks; }
char* shared_memory() { return current->block->shared.get(); }

int cluster_blocks() { return launch->cluster; }
int block_in_cluster() { return static_cast<int>(current->block->index % launch->cluster); }
void sync_cluster() { sync(launch->barrier); }
char* host::shared_memory_of(int rank) {
  if (rank < 0 || rank >= launch->cluster) throw std::logic_error("simt: there is no such block in a cluster");
  return launch->running[static_cast<std::size_t>(rank)].shared.get();
}

void sync_block() { sync(current->block->barrier); }
void sync_warp() { sync(my_warp().barrier); }

namespace {
Phases& phases_of(Mbarrier* barrier) {
  auto const found = current->block->mbarriers.find(barrier);
  if (found == current->block->mbarriers.end()) throw std::logic_error("simt: an mbarrier that has not begun");
  return found->second;
}
/// Ends the phase if all threads have arrived and all bytes have been copied.
void end_phase(Phases& phases) {
  if (phases.left > 0 || phases.started != phases.expected) return;
  phases.ended.insert(phases.ended.end(), phases.copies.begin(), phases.copies.end());
  phases.copies.clear();
  phases.left = phases.arrivals;
  phases.expected = phases.started = 0;
  phases.all_shown = std::exchange(phases.shown, true);
  ++phases.round;
}
void require_shown() {
  if (!current->shown && !current->others_shown)
    throw std::logic_error("simt: a bulk store of shared memory that not all who may have written it have shown (show_to_products)");
}
/// A bulk copy.
host::Copy bulk(void* to, void const* from, int bytes) {
  if (bytes <= 0 ||
      (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | static_cast<unsigned>(bytes)) % 16 != 0)
    throw std::logic_error("simt: a bulk copy is not one of whole chunks of 16 bytes");
  return {to, from, static_cast<std::size_t>(bytes)};
}
}  // namespace
void begin_mbarrier(Mbarrier* barrier, int arrivals) {
  if (reinterpret_cast<std::uintptr_t>(barrier) % sizeof(Mbarrier) != 0 || arrivals < 1)
    throw std::logic_error("simt: there is no such mbarrier");
  *barrier = 0;  // so that the sanitizer sees other uses of this memory
  Phases phases;
  phases.arrivals = phases.left = arrivals;
  // Reserved, since the thread sanitizer would report reallocation by threads without an order.
  phases.copies.reserve(1 << 14);
  phases.ended.reserve(1 << 14);
  if (!current->block->mbarriers.emplace(barrier, std::move(phases)).second) throw std::logic_error("simt: an mbarrier begins twice");
}
void arrive_and_expect(Mbarrier* barrier, int bytes) {
  Phases& phases = phases_of(barrier);
  if (phases.left == 0) throw std::logic_error("simt: more threads arrive at an mbarrier than it is for");
  release(&phases);
  phases.expected += bytes;
  phases.shown = phases.shown && current->shown;
  --phases.left;
  end_phase(phases);
}
void arrive_at_mbarrier(Mbarrier* barrier) { arrive_and_expect(barrier, 0); }
void wait_for_phase(Mbarrier* barrier, int phase) {
  Phases& phases = phases_of(barrier);
  if (phase != phases.round && phase != phases.round - 1)
    throw std::logic_error("simt: a phase is waited for that is neither the present one nor the one before it");
  if (phases.round == phase) {
    current->waits_for_phase = &phases;
    current->phase = phase;
    switch_context(current->context, launch->scheduler, false);
    // A GPU distinguishes phases only by parity.
    if (phases.round != phase + 1) throw std::logic_error("simt: a phase that is waited for was overtaken by the one after it");
  }
  acquire(&phases);
  current->shown = false;
  current->others_shown = phases.all_shown;
  // The sizes of these copies are not constants, so sanitizers intercept them as calls.
  for (host::Copy const& copy : phases.ended) {
    if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
    if (copy.zeros > 0) std::memset(static_cast<char*>(copy.to) + copy.bytes, 0, copy.zeros);
  }
  phases.ended.clear();
  release(&phases);
}
void copy_bulk(void* to_shared, void const* from_global, int bytes, Mbarrier* barrier) {
  Phases& phases = phases_of(barrier);
  phases.copies.push_back(bulk(to_shared, from_global, bytes));
  std::memset(to_shared, 0xff, static_cast<std::size_t>(bytes));
  phases.started += bytes;
  release(&phases);
  end_phase(phases);
}
void store_bulk(void* to_global, void const* from_shared, int bytes) {
  require_shown();
  current->bulk_stores.back().push_back(bulk(to_global, from_shared, bytes));
}

namespace {
// First word of the twin's tensor map: its magic number
constexpr unsigned long long is_tensor_map = 0x6d79726961642121;

/// Calls part(address in shared memory, in global memory, bytes within the matrix) for each chunk of 16 bytes of a box.
template <typename F>
int for_each_chunk(TensorMap const& map, void const* shared, int first, int line, int matrix, F&& part) {
  if (map.words[0] != is_tensor_map) throw std::logic_error("simt: no tensor map, or one of a driver");
  if (reinterpret_cast<std::uintptr_t>(&map) % 128 != 0) throw std::logic_error("simt: a tensor map is not aligned");
  auto const offset = static_cast<char const*>(shared) - shared_memory();
  if (offset % 1024 != 0) throw std::logic_error("simt: a box is not at a multiple of 1024 bytes");
  auto const word = [&](std::size_t w) { return static_cast<long long>(map.words[w]); };
  auto* const data = reinterpret_cast<char*>(static_cast<std::uintptr_t>(map.words[1]));
  long long const element_bytes = word(2), length = word(3), lines = word(4), matrices = word(5);
  int const box_lines = static_cast<int>(word(8));
  for (int l = 0; l < box_lines; ++l)
    for (int c = 0; c < 8; ++c) {
      long long const element = first + c * 16 / element_bytes, at_line = line + l;
      bool const there = matrix >= 0 && matrix < matrices && at_line >= 0 && at_line < lines && element >= 0 && element < length;
      auto const bytes = there ? std::min(16LL, (length - element) * element_bytes) : 0;
      part(shared_memory() + offset + l * 128 + (c ^ l % 8) * 16,
           there ? data + matrix * word(7) + at_line * word(6) + element * element_bytes : nullptr, static_cast<std::size_t>(bytes));
    }
  return 128 * box_lines;
}
}  // namespace
TensorMap host::tensor_map(BoxedMatrices const& x) {
  auto const address = reinterpret_cast<std::uintptr_t>(x.data);
  auto const strides = static_cast<unsigned long long>(x.line_further) | static_cast<unsigned long long>(x.matrix_further);
  if (address % 16 != 0 || strides % 16 != 0 || strides >> 40 != 0 || (x.element_bytes != 2 && x.element_bytes != 4) || x.length < 1 ||
      x.lines < 1 || x.matrices < 1 || x.lines_of_box < 1 || x.lines_of_box > 256)
    throw std::logic_error("simt: there is no tensor map of such matrices");
  auto const number = [](long long value) { return static_cast<unsigned long long>(value); };
  return {{is_tensor_map, address, number(x.element_bytes), number(x.length), number(x.lines), number(x.matrices), number(x.line_further),
           number(x.matrix_further), number(x.lines_of_box)}};
}
void copy_box(void* to_shared, TensorMap const& from, int first, int line, int matrix, Mbarrier* barrier) {
  Phases& phases = phases_of(barrier);
  phases.started += for_each_chunk(from, to_shared, first, line, matrix, [&](char* shared, char* global, std::size_t bytes) {
    phases.copies.push_back({shared, global, bytes, 16 - bytes});
    std::memset(shared, 0xff, 16);
  });
  release(&phases);
  end_phase(phases);
}
void store_box(TensorMap const& to, int first, int line, int matrix, void const* from_shared) {
  require_shown();
  for_each_chunk(to, from_shared, first, line, matrix, [&](char* shared, char* global, std::size_t bytes) {
    if (bytes == 0) return;
    // A GPU was observed to write beyond the line's end (docs/kernels/products.md).
    if (bytes < 16) throw std::logic_error("simt: a box is stored whose lines end in the middle of 16 bytes");
    current->bulk_stores.back().push_back({global, shared, bytes});
    current->stored.push_back(global);
  });
}
void end_bulk_group() { current->bulk_stores.emplace_back(); }
void host::wait_bulk_stores(int pending) {
  auto& groups = current->bulk_stores;
  while (static_cast<int>(groups.size()) - 1 > pending) {
    for (Copy const& store : groups.front()) std::memcpy(store.to, store.from, store.bytes);
    groups.erase(groups.begin());
  }
}
void signal(unsigned* count) {
  if (!launch->together) throw std::logic_error("simt: signal in a launch whose blocks do not run together");
  sync_block();
  if (thread_index() != 0) return;
  release(count);
  ++*count;
}
void wait_for_signals(unsigned* count, unsigned signals) {
  if (!launch->together) throw std::logic_error("simt: wait_for_signals in a launch whose blocks do not run together");
  if (thread_index() == 0) {
    if (*count < signals) {
      current->waits_for_count = count;
      current->signals = signals;
      switch_context(current->context, launch->scheduler, false);
    }
    acquire(count);
  }
  sync_block();
}
void arrive_at_grid(unsigned* arrived, unsigned round) {
  if (*arrived != round) throw std::logic_error("simt: sync_grid is told of another number of barriers before it");
  if (!launch->together) throw std::logic_error("simt: sync_grid in a launch whose blocks do not run together");
  Barrier& barrier = launch->barrier;
  release(&barrier);
  current->grid_round = barrier.round;
  if (++barrier.arrived < barrier.size) return;
  barrier.arrived = 0;
  ++barrier.round;
}
void wait_for_grid(unsigned* arrived, unsigned round) {
  Barrier& barrier = launch->barrier;
  if (barrier.round == current->grid_round) {
    current->waits_for = &barrier;
    current->round = barrier.round;
    switch_context(current->context, launch->scheduler, false);
  }
  acquire(&barrier);
  sync_block();
  *arrived = round + 1;  // stored by each thread: the number of barriers, while a GPU counts blocks
}
void sync_blocks(unsigned* arrived, unsigned blocks) {
  if (!launch->together) throw std::logic_error("simt: sync_blocks in a launch whose blocks do not run together");
  Barrier& barrier = launch->barriers_of_blocks[arrived];
  barrier.size = static_cast<int>(blocks) * launch->threads;
  if (barrier.round > 0 || *arrived != 0) throw std::logic_error("simt: sync_blocks more than once, or with a count that was not zero");
  sync(barrier);
  sync_block();
  *arrived = blocks;
}
void sync_grid(unsigned* arrived, unsigned round) {
  arrive_at_grid(arrived, round);
  wait_for_grid(arrived, round);
}

void sync_grid_once(unsigned* counts) {
  sync_grid(counts, 0);
  sync_block();
  if (thread_index() == 0 && ++counts[32] == static_cast<unsigned>(block_count())) counts[0] = counts[32] = 0;
}

// send_pair orders no other memory, so there are no annotations for the thread sanitizer.
void send_pair(float* to, float x, float y, unsigned round) {
  std::array const bits{(std::bit_cast<unsigned>(x) & ~1U) | round, (std::bit_cast<unsigned>(y) & ~1U) | round};
  std::memcpy(std::assume_aligned<8>(to), bits.data(), sizeof(bits));
}
void send_pair(double* to, double x, double y, unsigned round) {
  std::array const bits{(std::bit_cast<unsigned long long>(x) & ~1ULL) | round, (std::bit_cast<unsigned long long>(y) & ~1ULL) | round};
  std::memcpy(std::assume_aligned<16>(to), bits.data(), sizeof(bits));
}

unsigned ballot(bool condition) {
  auto const& slots = host::exchange({{condition, 0}});
  unsigned result = 0;
  for (int lane = 0; lane < my_warp().barrier.size; ++lane)
    if (slots[static_cast<std::size_t>(lane)].words[0]) result |= 1U << lane;
  return result;
}

// Fences for wgmma, which the host does not need, are checked as far as a thread's own calls tell.
void show_to_products() { current->copies_shown = current->shown = true; }
void begin_products() { current->products_begun = true; }
void end_product_group() { current->ended_products = current->products.size(); }

namespace host {
void start_product(Product product) {
  if (!current->products_begun) throw std::logic_error("simt: a product is started without begin_products");
  if (!current->copies_shown) throw std::logic_error("simt: a product is started before what was copied is shown to it");
  auto const count = static_cast<std::size_t>(product.columns / 2);
  bool const in_flight =
      std::any_of(current->products.begin(), current->products.end(), [&](Product const& other) { return other.sums == product.sums; });
  if (!in_flight) product.former.assign(product.sums, product.sums + count);
  std::fill_n(product.sums, count, std::numeric_limits<float>::quiet_NaN());
  current->products.push_back(std::move(product));
}
std::vector<Product> take_products() {
  if (current->ended_products < current->products.size()) throw std::logic_error("simt: products that are in no group are waited for");
  auto products = std::exchange(current->products, {});
  current->forget_products();
  return products;
}

Slots const& exchange(Slot mine) {
  Warp& warp = my_warp();
  // Two sets of slots suffice: before a lane writes the exchange after the next, all lanes have arrived at the next, and are done with this
  // one.
  Slots& slots = warp.slots[static_cast<std::size_t>(current->exchanges++ % 2)];
  slots[static_cast<std::size_t>(current->index % warp_size)] = mine;
  arrive(warp.barrier);
  return slots;
}

// Most of the time of tensor-core instructions with operands in registers is spent here, so it is in this file, which is optimised.
void add_product(double a, double b, double* sum) {
  Slots const& lanes = exchange({{std::bit_cast<unsigned long long>(a), std::bit_cast<unsigned long long>(b)}});
  auto const group = static_cast<std::size_t>(lane_index() / 4), column = static_cast<std::size_t>(lane_index() % 4 * 2);
  for (std::size_t e = 0; e < 2; ++e)
    for (std::size_t k = 0; k < 4; ++k)
      sum[e] = std::fma(std::bit_cast<double>(lanes[group * 4 + k].words[0]), std::bit_cast<double>(lanes[(column + e) * 4 + k].words[1]),
                        sum[e]);
}
namespace {
/// As add_product, for a 16-by-16 and a 16-by-8 matrix of a 16-bit type, which `widen` converts to float. The sum of the products and the
/// accumulator is rounded once; it depends on the order only for very different magnitudes.
template <typename Widen>
void add_product_of_halves(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4], Widen widen) {
  auto const joined = [](unsigned lower, unsigned upper) { return lower | static_cast<unsigned long long>(upper) << 32; };
  // Rows g and g + 8 of A, then B: a result of exchange() is valid until the next call.
  Slots const rows = exchange({{joined(a[0], a[2]), joined(a[1], a[3])}});
  Slots const& columns = exchange({{joined(b[0], b[1]), 0}});
  auto const of = [&](unsigned long long words, std::size_t k) {
    return double{widen(static_cast<unsigned short>(words >> (k / 8 * 32 + k % 2 * 16)))};
  };
  auto const group = static_cast<std::size_t>(lane_index() / 4), column = static_cast<std::size_t>(lane_index() % 4 * 2);
  for (std::size_t e = 0; e < 4; ++e) {
    double sum = 0;
    for (std::size_t k = 0; k < 16; ++k)
      sum = std::fma(of(rows[group * 4 + k % 8 / 2].words[e / 2], k), of(columns[(column + e % 2) * 4 + k % 8 / 2].words[0], k), sum);
    c[e] = static_cast<float>(c[e] + sum);
  }
}
}  // namespace

unsigned long long receive(void const* from, int bytes, unsigned round) {
  if (!launch->together) throw std::logic_error("simt: a number is waited for in a launch whose blocks do not run together");
  if ((bits_at(from, bytes) & 1) != round) {
    current->waits_for_number = from;
    current->number_bytes = bytes;
    current->number_round = round;
    switch_context(current->context, launch->scheduler, false);
  }
  return bits_at(from, bytes) & ~1ULL;
}

void copy_later(Copy copy) {
  auto const misaligned = [&](void const* p) { return reinterpret_cast<std::uintptr_t>(p) % copy.bytes != 0; };
  if (misaligned(copy.to) || misaligned(copy.from)) throw std::logic_error("simt: a copy is not aligned to its size");
  current->copies.push_back(copy);
}
void end_copy_group() { current->group_ends.push_back(current->copies.size()); }
Copy next_copy(int pending) {
  auto const ended = current->group_ends.size(), left = static_cast<std::size_t>(pending);
  if (ended > left && current->arrived < current->group_ends[ended - left - 1]) {
    current->copies_shown = false;
    return current->copies[current->arrived++];
  }
  if (current->arrived == current->copies.size()) current->forget_copies();
  return {};
}
Copy next_copy() {
  end_copy_group();
  return next_copy(0);
}

void run(long long blocks, bool together, int cluster, int threads, int shared_bytes, void (*kernel)(void const*), void const* argument) {
  if (cluster < 1 || blocks % cluster != 0 || (together && cluster > 1))
    throw std::logic_error("simt: the blocks of a launch are no clusters of so many");
  long long const at_once = together ? blocks : std::min<long long>(blocks, cluster);
  auto const fibers = static_cast<std::size_t>(at_once * threads);
  Launch mine;
  mine.blocks = blocks;
  mine.threads = threads;
  mine.kernel = kernel;
  mine.argument = argument;
  mine.together = together;
  mine.cluster = cluster;
  while (kept_fibers.size() < fibers) kept_fibers.push_back(std::make_unique<Fiber>());
  mine.fibers = std::span(kept_fibers).first(fibers);
  mine.barrier.size = static_cast<int>(fibers);
  mine.running.resize(static_cast<std::size_t>(at_once));
  for (Block& block : mine.running) {
    block.warps.resize(static_cast<std::size_t>((threads + warp_size - 1) / warp_size));
    block.barrier.size = threads;
    for (std::size_t w = 0; w < block.warps.size(); ++w)
      block.warps[w].barrier.size = std::min(warp_size, threads - static_cast<int>(w) * warp_size);
  }
  if (__tsan_get_current_fiber) mine.scheduler.tsan = __tsan_get_current_fiber();
  struct Current {
    explicit Current(Launch* l) { launch = l; }
    ~Current() { launch = nullptr; }
  } const here(&mine);
  for (long long first = 0; first < blocks; first += at_once) {
    for (std::size_t b = 0; b < mine.running.size(); ++b) {
      Block& block = mine.running[b];
      block.index = first + static_cast<long long>(b);
      block.mbarriers.clear();
      // Exactly the requested size, so that the address sanitizer sees its end.
      auto const bytes = static_cast<std::size_t>(shared_bytes);
      block.shared.reset(static_cast<char*>(::operator new(bytes, std::align_val_t(1024))));
      std::fill_n(block.shared.get(), bytes, static_cast<char>(-1));
    }
    run_blocks();
  }
}

}  // namespace host

void multiply_add_half_16x8x16(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]) {
  host::add_product_of_halves(a, b, c, [](unsigned short bits) { return float_of_half(bits); });
}
void multiply_add_bfloat16_16x8x16(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]) {
  host::add_product_of_halves(a, b, c, [](unsigned short bits) { return float_of_bfloat16(bits); });
}

}  // namespace myriad::simt
