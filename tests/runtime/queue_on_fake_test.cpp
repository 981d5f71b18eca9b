/// Queues, memory and launches on a fake driver (fake_cuda.hpp), so that they are tested without a GPU.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "myriad/memory.hpp"
#include "myriad/myriad.h"
#include "myriad/myriad.hpp"
#include "on_fake.hpp"
#include "runtime/launch.hpp"

namespace myriad::gpu {
namespace {

using test::FakeScaleParams;
using test::OnFake;
using test::source;
using test::source_of_ptx;

TEST_F(OnFake, CopiesLaunchesWaits) {
  EXPECT_EQ(queue->device().name, "Fake GPU");
  EXPECT_EQ(queue->device().shared_memory_per_block, 232448);
  EXPECT_EQ(devices().size(), 2U);
  DeviceArray<double> a = to_device(*queue, std::vector<double>{1, 2, 3});
  launch(*queue, kernel(), {.blocks = std::int64_t{1} << 40, .threads = 16, .threads_y = 4, .shared_bytes = 100'000},
         FakeScaleParams{.data = a.data(), .count = a.size(), .factor = 2});
  EXPECT_EQ(to_host(*queue, a), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(fake->grid[0], static_cast<unsigned>(std::numeric_limits<int>::max()));
  EXPECT_EQ(fake->grid[1], 1U);
  EXPECT_EQ(fake->grid[2], 1U);
  EXPECT_EQ(fake->block[0], 16U);
  EXPECT_EQ(fake->block[1], 4U);
  EXPECT_EQ(fake->block[2], 1U);
  EXPECT_EQ(fake->shared, 100'000U);
  EXPECT_FALSE(fake->together);
  launch(*queue, kernel(), {.blocks = 1, .threads = 1, .together = true}, FakeScaleParams{});
  EXPECT_TRUE(fake->together);
  PinnedArray<double> pinned(*queue, 3);
  copy(*queue, a.data(), 3, pinned.data());
  EXPECT_EQ(pinned[2], 6);
}

TEST_F(OnFake, AutomaticIsTheGpuOrSaysWhyNot) {
  fake->reaches_host_memory = false;  // the second GPU keeps this for the next test
  EXPECT_EQ(Queue().backend(), Backend::gpu);
  EXPECT_EQ(Queue().gpu_problem(), "");
  EXPECT_EQ(Queue({.device = 1}).device().ordinal, 1);
  EXPECT_THROW(Queue({.device = 2}), BadArgument);
  Queue const cpu({.backend = Backend::cpu});
  EXPECT_EQ(cpu.gpu_problem(), "");
  EXPECT_TRUE(cpu.reaches(this));
}

TEST_F(OnFake, RefusesPlainHostMemory) {
  fake->reaches_host_memory = false;  // set before the first queue of the second GPU, which reads it
  Queue second({.device = 1});
  DeviceArray<double> const there(second, 4);
  std::vector<double> const here(4);
  EXPECT_TRUE(second.reaches(there.data()) && second.reaches(there.data() + 3));
  EXPECT_FALSE(second.reaches(here.data()));
  DeviceArray<int> const info(second, 1);
  try {
    inverse<double>(second, batch(here.data(), 2, 2), batch(there.data(), 2, 2), info.data());
    FAIL();
  } catch (BadArgument const& error) {
    EXPECT_EQ(error.position(), 2);
    EXPECT_NE(std::string(error.what()).find("must be in memory that the GPU reaches"), std::string::npos) << error.what();
  }
  std::vector<int> host_info(1);
  EXPECT_THROW(det<double>(second, batch(here.data(), 2, 2), there.data()), BadArgument);
  EXPECT_THROW(inverse<double>(second, batch(there.data(), 2, 2), batch(there.data(), 2, 2), host_info.data()), BadArgument);
  second.prepare([&] { EXPECT_TRUE(second.reaches(here.data())); });
}

TEST_F(OnFake, CopiesFromOneGpuToAnother) {
  Queue second({.backend = Backend::gpu, .device = 1});
  EXPECT_EQ(second.device().ordinal, 1);
  DeviceArray<double> const a = to_device(*queue, std::vector<double>{1, 2, 3});
  queue->wait();
  DeviceArray<double> b(second, 3);
  EXPECT_EQ(fake->peer_copies, 0);
  copy(second, a.data() + 1, 2, b.data());
  EXPECT_EQ(fake->peer_copies, 1);
  copy(second, b.data(), 1, b.data() + 2);
  EXPECT_EQ(fake->peer_copies, 1);
  EXPECT_EQ(to_host(second, b), (std::vector<double>{2, 3, 2}));
}

TEST_F(OnFake, LoadsAKernelOnce) {
  Kernel const* const first = &kernel();
  int const modules = fake->modules;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(&kernel(), first);
        Context& context = context_of(*queue);
        (void)context.kernel(kernel_key(kernel_id("new"), i), source);  // eight threads request it at once
        (void)t;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake->modules, modules + 50);
}

TEST_F(OnFake, TakesPtxWhereTheDriverCompilesIt) {
  auto const key = kernel_key(kernel_id("scale_of_ptx"));
  fake->fail_module = 221;  // the driver's compiler is missing
  try {
    (void)kernel_for(*queue, key, source_of_ptx);
    ADD_FAILURE() << "no error";
  } catch (Unavailable const& error) {
    EXPECT_NE(std::string(error.what()).find("scale_of_ptx for sm_90 is in no pack"), std::string::npos) << error.what();
  }
  EXPECT_EQ(kernel_for(*queue, key, source_of_ptx).name, "scale_of_ptx for compute_90");
}

TEST_F(OnFake, PreparesWithoutRunning) {
  std::vector<double> const x{1, 2, 3};
  DeviceArray<double> a = to_device(*queue, x);
  int const launches = fake->launches;
  int const copies = fake->copies;
  queue->prepare([&] {
    launch(*queue, kernel_for(*queue, kernel_key(kernel_id("prepared")), source), {.blocks = 1, .threads = 1},
           FakeScaleParams{.data = a.data(), .count = 3, .factor = 2});
    copy(*queue, a.data(), 3, a.data());
    Workspace const work(*queue, 100);
    EXPECT_EQ(work.as<void>(), nullptr);
  });
  EXPECT_EQ(fake->launches, launches);
  EXPECT_EQ(fake->copies, copies);
  int const modules = fake->modules;
  (void)kernel_for(*queue, kernel_key(kernel_id("prepared")), source);
  EXPECT_EQ(fake->modules, modules);
  EXPECT_THROW(queue->prepare([] { throw Error("out of it"); }), Error);
  launch(*queue, kernel(), {.blocks = 1, .threads = 1}, FakeScaleParams{.data = a.data(), .count = 3, .factor = 2});
  EXPECT_EQ(to_host(*queue, a), (std::vector<double>{2, 4, 6}));
}

TEST_F(OnFake, TellsWhatWorkspaceIsTaken) {
  auto const take = [&](std::int64_t bytes) { return Workspace(*queue, bytes).as<void>(); };
  EXPECT_EQ(queue->workspace([] {}), 0);
  EXPECT_EQ(queue->workspace([&] {
    EXPECT_EQ(take(100), nullptr);
    Workspace const held(*queue, 30);
    EXPECT_EQ(take(50), nullptr);
    take(300);
  }),
            768);  // in multiples of 256
  EXPECT_EQ(queue->workspace([&] {
    Workspace const held(*queue, 30);
    queue->prepare([&] { take(40); });  // like routines before their first launch
    EXPECT_EQ(queue->workspace([&] { take(5); }), 512);
    take(60);
  }),
            512);
  EXPECT_THROW((void)queue->workspace([&] {
    Workspace const held(*queue, 1000);
    throw Error("out of it");
  }),
               Error);
  EXPECT_EQ(queue->workspace([&] { take(7); }), 256);
}

TEST_F(OnFake, StaysUsableAfterWhatFailed) {
  DeviceArray<double> a = to_device(*queue, std::vector<double>{1, 2, 3});
  FakeScaleParams const params{.data = a.data(), .count = 3, .factor = 2};
  auto const error_of = [](auto&& f) {
    try {
      f();
    } catch (Error const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  fake->fail_launch = 719;
  std::string const refused = error_of([&] { launch(*queue, kernel(), {.blocks = 1, .threads = 1}, params); });
  EXPECT_EQ(refused, "scale for sm_90: cuLaunchKernelEx: FAKE_ERROR (as told)");
  fake->fail_allocation = 2;
  EXPECT_THROW(DeviceArray<double>(*queue, 5), OutOfMemory);
  EXPECT_THROW(DeviceArray<double>(*queue, std::int64_t{1} << 45), OutOfMemory);
  EXPECT_THROW(PinnedArray<double>(*queue, std::int64_t{1} << 45), OutOfMemory);
  fake->fail_module = 200;
  EXPECT_THROW(kernel_for(*queue, kernel_key(kernel_id("broken")), source), GpuError);
  (void)kernel_for(*queue, kernel_key(kernel_id("broken")), source);  // the next call tries again
  EXPECT_NE(error_of([&] {
              kernel_for(*queue, kernel_key(kernel_id("missing")), [] {
                KernelSource other = source();
                other.name = "no_such_kernel<7>";
                return other;
              });
            }).find("no_such_kernel<7> for sm_90 is in no pack"),
            std::string::npos);
  EXPECT_THROW(launch(*queue, kernel(), {.blocks = 1, .threads = 1025}, params), GpuError);
  EXPECT_THROW(launch(*queue, kernel(), {.blocks = 1, .threads = 512, .threads_y = 3}, params), GpuError);
  EXPECT_THROW(launch(*queue, kernel(), {.blocks = 1, .threads = 0}, params), GpuError);
  EXPECT_THROW(launch(*queue, kernel(), {.blocks = -1, .threads = 1}, params), GpuError);
  EXPECT_THROW(launch(*queue, kernel(), {.blocks = 1, .threads = 1, .shared_bytes = 232448}, params), GpuError);
  fake->fail_wait = 700;
  try {
    queue->wait();
    FAIL();
  } catch (GpuError const& error) {
    EXPECT_EQ(error.code(), 700);
  }
  int const launches = fake->launches;
  launch(*queue, kernel(), {.blocks = 0, .threads = 1}, params);
  EXPECT_EQ(fake->launches, launches);
  launch(*queue, kernel(), {.blocks = 1, .threads = 1}, params);
  EXPECT_EQ(to_host(*queue, a), (std::vector<double>{2, 4, 6}));
}

TEST_F(OnFake, IsLegalInACapture) {
  std::optional<DeviceArray<double>> before = to_device(*queue, std::vector<double>{1, 2, 3});
  int const live = fake->live_allocations;
  int const waits = fake->waits;
  fake->capturing = true;
  {
    Workspace const work(*queue, 100);
    launch(*queue, kernel_for(*queue, kernel_key(kernel_id("in capture")), source), {.blocks = 1, .threads = 1},
           FakeScaleParams{.data = before->data(), .count = 3, .factor = 2});
  }
  EXPECT_EQ(fake->live_allocations, live);  // freed within the graph
  EXPECT_THROW(queue->wait(), Error);
  before.reset();
  EXPECT_EQ(fake->live_allocations, live);  // not within the graph
  { Queue const other({.backend = Backend::gpu}); }
  EXPECT_EQ(fake->waits, waits);
  fake->capturing = false;
  DeviceArray<double> after(*queue, 1);
  EXPECT_EQ(fake->live_allocations, live);  // the old one is freed, the new one allocated
}

// Launches that may run at the same time have different barrier counters: those of other queues, and those of a graph and its queue.
TEST_F(OnFake, CountsOfAGridAreOfTheQueueOrOfTheGraph) {
  Queue other({.backend = Backend::gpu});
  unsigned* const of_queue = GridCounts(*queue).data();
  ASSERT_NE(of_queue, nullptr);
  for (int k = 0; k < 64; ++k) EXPECT_EQ(of_queue[k], 0) << k;
  EXPECT_EQ(GridCounts(*queue).data(), of_queue);
  EXPECT_NE(GridCounts(other).data(), of_queue);
  int const live = fake->live_allocations;
  fake->capturing = true;
  {
    GridCounts const first(*queue), second(*queue);
    EXPECT_NE(first.data(), of_queue);
    EXPECT_NE(first.data(), second.data());
    for (int k = 0; k < 64; ++k) EXPECT_EQ(first.data()[k], 0) << k;
  }
  EXPECT_EQ(fake->live_allocations, live);  // freed within the graph
  fake->capturing = false;
  EXPECT_EQ(GridCounts(*queue).data(), of_queue);
  queue->prepare([&] { EXPECT_EQ(GridCounts(*queue).data(), nullptr); });
}

TEST_F(OnFake, GivesBackAfterACaptureWhatWentInIt) {
  auto const go_in_a_capture = [&](auto& memory) {
    fake->capturing = true;
    memory = {};
    fake->capturing = false;
  };
  // Any next operation of the queue frees the memory.
  DeviceArray<double> array(*queue, 10), other(*queue, 10);
  go_in_a_capture(array);
  EXPECT_EQ(fake->live_allocations, 2);
  queue->wait();
  EXPECT_EQ(fake->live_allocations, 1);
  array = DeviceArray<double>(*queue, 10);
  go_in_a_capture(array);
  other = {};
  EXPECT_EQ(fake->live_allocations, 0);
  // Freeing pinned memory waits for running copies, which a capture forbids.
  PinnedArray<double> pinned(*queue, 10), more(*queue, 10);
  go_in_a_capture(pinned);
  EXPECT_EQ(fake->live_pinned, 2);
  queue->wait();
  EXPECT_EQ(fake->live_pinned, 1);
  go_in_a_capture(more);
  EXPECT_EQ(fake->live_pinned, 1);
  pinned = PinnedArray<double>(*queue, 10);
  pinned = {};
  EXPECT_EQ(fake->live_pinned, 0);
  // Many captures do not accumulate memory.
  fake->peak_device_bytes = 0;
  for (int i = 0; i < 100; ++i) {
    array = DeviceArray<double>(*queue, 1000);
    go_in_a_capture(array);
  }
  EXPECT_LE(fake->peak_device_bytes, 2 * 8000);
}

TEST_F(OnFake, KeepsAQueueThatGoesWhileItIsCaptured) {
  for (void* const stream : {static_cast<void*>(nullptr), legacy_stream()}) {
    {
      Queue other({.backend = Backend::gpu, .stream = stream});
      DeviceArray<double> const array(other, 10);
      PinnedArray<double> const pinned(other, 10);
      fake->capturing = true;
    }
    // Neither memory nor stream may be freed now, nor when another queue is made.
    { Queue const during({.stream = legacy_stream()}); }
    EXPECT_EQ(fake->live_allocations, 1);
    EXPECT_EQ(fake->live_pinned, 1);
    EXPECT_EQ(fake->live_pools, 2);
    EXPECT_EQ(fake->live_streams, stream ? 1 : 2);
    fake->capturing = false;
    Queue const after({.stream = legacy_stream()});
    EXPECT_EQ(fake->live_allocations, 0);
    EXPECT_EQ(fake->live_pinned, 0);
    EXPECT_EQ(fake->live_pools, 2);
    EXPECT_EQ(fake->live_streams, 1);
  }
}

TEST_F(OnFake, IsNotDisturbedByMemoryThatCannotBeGivenBack) {
  DeviceArray<double> a(*queue, 10), b(*queue, 10), c(*queue, 10);
  auto const refused = reinterpret_cast<driver::Address>(a.data());
  fake->capturing = true;
  a = {}, b = {}, c = {};
  fake->capturing = false;
  fake->fail_free = 1;
  { DeviceArray<double> const next(*queue, 10); }
  EXPECT_EQ(fake->live_allocations, 1);  // the one that the driver refused to free is lost
  EXPECT_EQ(fake->misuses, 0);           // none is freed twice
  driver::CurrentContext const current(context_of(*queue).handle());
  (void)driver::api().cuMemFreeAsync(refused, static_cast<driver::StreamHandle>(queue->stream()));
}

TEST_F(OnFake, TakesTheCallersStream) {
  {
    Queue other({.stream = legacy_stream()});
    EXPECT_EQ(other.backend(), Backend::gpu);
    EXPECT_EQ(other.stream(), legacy_stream());
    int const waits = fake->waits;
    other.wait();
    EXPECT_EQ(fake->waits, waits + 1);
    EXPECT_EQ(fake->live_streams, 1);  // the one of `queue`
  }
  EXPECT_EQ(fake->live_streams, 1);
  EXPECT_THROW(Queue({.stream = reinterpret_cast<void*>(0x40)}), BadArgument);  // a stream of another context
  EXPECT_THROW(Queue({.backend = Backend::gpu, .device = 2}), BadArgument);
  EXPECT_THROW(Queue({.backend = Backend::gpu, .device = -1}), BadArgument);
}

/// A kernel on the queue's current stream that doubles `a`.
void enqueue_doubling(Queue& queue, Kernel const& kernel, DeviceArray<double> const& a) {
  launch(queue, kernel, {.blocks = 1, .threads = 1}, FakeScaleParams{.data = a.data(), .count = a.size(), .factor = 2});
}

TEST_F(OnFake, ContinuesOnAnotherStreamBehindItsEarlierWork) {
  Queue other({.backend = Backend::gpu}), third({.backend = Backend::gpu});
  void* const own = queue->stream();
  DeviceArray<double> a = to_device(*queue, std::vector<double>{1, 2, 3});
  DeviceArray<double> b(*queue, 3);
  queue->wait();
  fake->lazy = true;
  enqueue_doubling(*queue, kernel(), a);
  int const held = fake->held, waits = fake->waits;
  queue->set_stream(other.stream());
  EXPECT_EQ(queue->stream(), other.stream());
  EXPECT_EQ(fake->held, held + 1);
  queue->set_stream(other.stream());  // nothing changes
  EXPECT_EQ(fake->held, held + 1);
  EXPECT_EQ(fake->waits, waits);
  EXPECT_EQ(fake->live_events, 1);  // which later changes reuse
  copy(*queue, a.data(), 3, b.data());
  a = {};  // freed on the other stream, and not before the kernel has run
  other.wait();
  EXPECT_EQ(std::vector<double>(b.data(), b.data() + 3), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(fake->live_allocations, 1);
  // There and back, and the default streams
  enqueue_doubling(*queue, kernel(), b);
  queue->set_stream(own);
  enqueue_doubling(*queue, kernel(), b);
  queue->set_stream(third.stream());
  EXPECT_EQ(to_host(*queue, b), (std::vector<double>{8, 16, 24}));
  EXPECT_EQ(fake->live_events, 1);
  queue->set_stream(nullptr);
  EXPECT_EQ(queue->stream(), legacy_stream());
  queue->set_stream(per_thread_stream());
  EXPECT_EQ(queue->stream(), per_thread_stream());
  EXPECT_EQ(fake->live_events, 1);
  fake->lazy = false;
  EXPECT_THROW(queue->set_stream(reinterpret_cast<void*>(0x40)), BadArgument);  // a stream of another context
  EXPECT_EQ(queue->stream(), per_thread_stream());
  Queue cpu({.backend = Backend::cpu});
  EXPECT_THROW(cpu.set_stream(legacy_stream()), BadArgument);
}

TEST_F(OnFake, DestroysItsOwnStreamFromAnotherOne) {
  Queue other({.backend = Backend::gpu});
  {
    Queue leaving({.backend = Backend::gpu});
    PinnedArray<double> const pinned(leaving, 3);
    DeviceArray<double> const a = to_device(leaving, std::vector<double>{1, 2, 3});
    fake->lazy = true;
    copy(leaving, a.data(), 3, pinned.data());
    leaving.set_stream(other.stream());
  }
  EXPECT_EQ(fake->live_pinned, 0);
  EXPECT_EQ(fake->live_streams, 2);
  fake->lazy = false;
}

// Events may not pass between a capture and other work; the fake driver counts that as misuse.
TEST_F(OnFake, ContinuesOnACapturedStreamAndBack) {
  Queue other({.backend = Backend::gpu}), third({.backend = Backend::gpu});
  DeviceArray<double> a = to_device(*queue, std::vector<double>{1, 2, 3});
  DeviceArray<double> b = to_device(*queue, std::vector<double>{1, 2, 3});
  unsigned* const of_queue = GridCounts(*queue).data();
  queue->wait();
  fake->lazy = true;
  enqueue_doubling(*queue, kernel(), a);
  fake->captured = other.stream();
  int const held = fake->held, live = fake->live_allocations;
  queue->set_stream(other.stream());
  EXPECT_EQ(fake->held, held);
  {
    Workspace const work(*queue, 100);
    EXPECT_EQ(fake->live_allocations, live + 1);
    EXPECT_NE(GridCounts(*queue).data(), of_queue);
  }
  a = {};  // not in the graph
  EXPECT_EQ(fake->live_allocations, live);
  fake->captured = nullptr;
  // The work before the capture has an event, so that the work after it waits.
  enqueue_doubling(*queue, kernel(), b);
  queue->set_stream(third.stream());
  EXPECT_GT(fake->held, held + 1);
  { Workspace const work(*queue, 100); }
  EXPECT_EQ(GridCounts(*queue).data(), of_queue);
  third.wait();
  EXPECT_EQ(fake->pending, 0);
  EXPECT_EQ(std::vector<double>(b.data(), b.data() + 3), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(fake->live_allocations, live - 1);
  fake->lazy = false;
}

TEST_F(OnFake, LeavesAStreamDuringItsCapture) {
  Queue other({.backend = Backend::gpu}), third({.backend = Backend::gpu});
  DeviceArray<double> a = to_device(*queue, std::vector<double>{1, 2, 3});
  queue->set_stream(other.stream());
  unsigned* const of_queue = GridCounts(*queue).data();
  queue->wait();
  fake->lazy = true;
  enqueue_doubling(*queue, kernel(), a);  // before the capture
  fake->captured = other.stream();
  int const live = fake->live_allocations;
  queue->set_stream(third.stream());
  // The earlier kernel may still run: its memory is kept, and its counters are not used.
  a = {};
  EXPECT_EQ(fake->live_allocations, live);
  EXPECT_NE(GridCounts(*queue).data(), of_queue);
  queue->wait();
  EXPECT_GT(fake->pending, 0);
  fake->captured = nullptr;
  EXPECT_EQ(GridCounts(*queue).data(), of_queue);
  queue->wait();
  EXPECT_EQ(fake->live_allocations, live - 1);
  EXPECT_EQ(fake->pending, 0);
  fake->lazy = false;
}

TEST_F(OnFake, KeepsAQueueThatLeftAStreamDuringItsCapture) {
  Queue other({.backend = Backend::gpu});
  int const pools = fake->live_pools;
  {
    Queue leaving({.backend = Backend::gpu});
    fake->captured = leaving.stream();
    leaving.set_stream(other.stream());
  }
  EXPECT_EQ(fake->live_pools, pools + 1);
  fake->captured = nullptr;
  { Queue const after({.stream = legacy_stream()}); }
  EXPECT_EQ(fake->live_pools, pools);
}

TEST_F(OnFake, LeavesADestroyedStreamAloneWithoutMemoryOfItsOwn) {
  char memory[512];
  int const uses = fake->uses_of_destroyed;
  {
    std::optional<Queue> owner(QueueOptions{.backend = Backend::gpu});
    Queue other({.stream = owner->stream()});
    other.set_allocator(
        {.allocate = [&](std::int64_t, void*) { return memory + 256 - reinterpret_cast<std::uintptr_t>(memory) % 256; }, .release = {}});
    { Workspace const work(other, 100); }
    owner.reset();
  }
  EXPECT_EQ(fake->uses_of_destroyed, uses);
}

TEST_F(OnFake, TakesWorkspaceFromTheCaller) {
  struct Caller {
    std::vector<std::pair<std::int64_t, void*>> asked, released;
    bool full = false;
    alignas(256) char memory[2048];
    std::size_t at = 0;
  } caller;
  queue->set_allocator({.allocate = [&](std::int64_t bytes, void* stream) -> void* {
                          gpu::driver::ContextHandle context = nullptr;
                          gpu::driver::api().cuCtxGetCurrent(&context);
                          EXPECT_EQ(context, context_of(*queue).handle());
                          caller.asked.emplace_back(bytes, stream);
                          return caller.full ? nullptr : caller.memory + caller.at;
                        },
                        .release =
                            [&](void* memory, std::int64_t bytes, void* stream) {
                              EXPECT_EQ(memory, caller.memory + caller.at);
                              caller.released.emplace_back(bytes, stream);
                            }});
  int const live = fake->live_allocations;
  auto const use = [&] {
    Workspace const one(*queue, 100);
    EXPECT_EQ(one.as<char>(), caller.memory);
    EXPECT_EQ(GridCounts(*queue).data(), reinterpret_cast<unsigned*>(caller.memory));
    for (int k = 0; k < 64; ++k) EXPECT_EQ(reinterpret_cast<unsigned*>(caller.memory)[k], 0);
  };
  std::fill(std::begin(caller.memory), std::end(caller.memory), char{1});
  use();
  EXPECT_EQ(caller.asked, (std::vector<std::pair<std::int64_t, void*>>{{256, queue->stream()}, {256, queue->stream()}}));
  EXPECT_EQ(caller.released, caller.asked);
  {
    Workspace const nothing(*queue, 0);
    queue->prepare([&] { Workspace const counted(*queue, 100); });
    EXPECT_EQ(caller.asked.size(), 2U);
  }
  // In one piece for the workspace of several calls
  {
    Reserved const all(*queue, 1024);
    EXPECT_EQ(caller.asked.back().first, 1024);
    Reserved const nested(*queue, 512);
    char* first = nullptr;
    {
      Workspace const one(*queue, 10), two(*queue, 300);
      first = one.as<char>();
      EXPECT_EQ(first, caller.memory);
      EXPECT_EQ(two.as<char>(), first + 256);
    }
    Workspace const three(*queue, 1024);
    EXPECT_EQ(three.as<char>(), first);
    EXPECT_EQ(caller.asked.size(), 3U);
    EXPECT_EQ(caller.released.size(), 2U);
  }
  EXPECT_EQ(caller.released, caller.asked);
  // Failures
  auto const error_of = [&] {
    try {
      Workspace const one(*queue, 100);
    } catch (Error const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  caller.full = true;
  EXPECT_THROW(Workspace(*queue, 100), OutOfMemory);
  EXPECT_EQ(error_of(), "256 bytes of workspace: the queue's allocator has no memory");
  EXPECT_EQ(caller.released.size(), 3U);
  caller.full = false;
  caller.at = 8;
  EXPECT_NE(error_of().find("which is no multiple of 256"), std::string::npos);
  EXPECT_EQ(caller.released.size(), 4U);
  caller.at = 0;
  // The caller may free the memory itself.
  queue->set_allocator({.allocate = [&](std::int64_t, void*) -> void* { return caller.memory; }, .release = {}});
  { EXPECT_EQ(Workspace(*queue, 100).as<char>(), caller.memory); }
  EXPECT_EQ(caller.released.size(), 4U);
  EXPECT_THROW(queue->set_allocator({.allocate = {}, .release = [](void*, std::int64_t, void*) {}}), BadArgument);
  EXPECT_EQ(fake->live_allocations, live);
  queue->set_allocator({});
  Workspace const of_pool(*queue, 100);
  EXPECT_EQ(fake->live_allocations, live + 1);
}

TEST_F(OnFake, StreamsAndAllocatorsInC) {
  myriad_queue* q = nullptr;
  ASSERT_EQ(myriad_queue_create_on(&q, 0, nullptr, 1), MYRIAD_OK);
  EXPECT_EQ(myriad_queue_device(q), 0);
  void* const own = myriad_queue_stream(q);
  EXPECT_NE(own, nullptr);
  EXPECT_EQ(myriad_queue_set_stream(q, nullptr), MYRIAD_OK);
  EXPECT_EQ(myriad_queue_stream(q), MYRIAD_LEGACY_STREAM);
  EXPECT_EQ(myriad_queue_set_stream(q, MYRIAD_PER_THREAD_STREAM), MYRIAD_OK);
  EXPECT_EQ(myriad_queue_set_stream(q, own), MYRIAD_OK);
  EXPECT_EQ(myriad_queue_stream(q), own);
  EXPECT_EQ(myriad_queue_set_stream(q, reinterpret_cast<void*>(0x40)), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(q), 1);
  struct User {
    int allocations = 0, releases = 0;
  } user;
  auto const allocate = [](std::int64_t bytes, void* stream, void* of_user) -> void* {
    ++static_cast<User*>(of_user)->allocations;
    EXPECT_EQ(bytes % 256, 0);
    EXPECT_NE(stream, nullptr);
    return nullptr;
  };
  auto const release = [](void*, std::int64_t, void*, void* of_user) { ++static_cast<User*>(of_user)->releases; };
  EXPECT_EQ(myriad_queue_set_allocator(q, allocate, release, &user), MYRIAD_OK);
  myriad_memory* memory = nullptr;
  EXPECT_EQ(myriad_allocate(q, 100, &memory), MYRIAD_OK);  // of the queue's pool
  EXPECT_EQ(user.allocations, 0);
  myriad_free(memory);
  myriad_queue_destroy(q);
}

TEST_F(OnFake, OrdersQueuesByEvents) {
  Queue other({.backend = Backend::gpu});
  Queue cpu({.backend = Backend::cpu});
  Event start(*queue);
  EXPECT_THROW(start.hold(other), Error);  // not recorded
  start.record();
  int const held = fake->held;
  start.hold(other);
  EXPECT_EQ(fake->held, held + 1);
  EXPECT_THROW(start.hold(cpu), BadArgument);
  Event end(*queue);
  end.record();
  EXPECT_NEAR(end.seconds_since(start), 1.5e-3, 1e-9);
  fake->fail_wait = 600;
  EXPECT_FALSE(end.reached());
  EXPECT_TRUE(end.reached());
  Event moment(cpu);
  moment.record();
  EXPECT_THROW((void)end.seconds_since(moment), BadArgument);
  EXPECT_THROW((void)moment.seconds_since(end), BadArgument);
}

TEST_F(OnFake, MemoryOutlivesItsQueue) {
  DeviceArray<double> array;
  PinnedArray<double> pinned;
  {
    Queue other({.backend = Backend::gpu});
    array = DeviceArray<double>(other, 10);
    pinned = PinnedArray<double>(other, 10);
  }
  EXPECT_EQ(fake->live_streams, 2);
  array = {};
  pinned = {};
  EXPECT_EQ(fake->live_streams, 1);
  EXPECT_EQ(fake->live_allocations, 0);
}

TEST_F(OnFake, LeavesTheCallersContextCurrent) {
  int const pushes = fake->pushes;
  driver::CurrentContext const current(context_of(*queue).handle());
  EXPECT_EQ(fake->pushes, pushes + 1);
  DeviceArray<double> a(*queue, 3);
  queue->wait();
  EXPECT_EQ(fake->pushes, pushes + 1);  // the context is current already
}

/// Descriptors whose arrays the host cannot read.
template <typename T>
Batch<T> unreadable(std::int64_t rows, std::int64_t cols, std::uintptr_t place) {
  Batch<T> out = batch(reinterpret_cast<T* const*>(place), rows, cols, {.count = 3});
  out.row_sizes = reinterpret_cast<std::int64_t const*>(place + 0x10);
  out.col_sizes = reinterpret_cast<std::int64_t const*>(place + 0x20);
  out.row_strides = reinterpret_cast<std::int64_t const*>(place + 0x30);
  out.col_strides = reinterpret_cast<std::int64_t const*>(place + 0x40);
  return out;
}

TEST_F(OnFake, ChecksArgumentsWithoutReadingArraysOfTheGpu) {
  auto const a = unreadable<double>(4, 4, 0x1000);
  auto const b = unreadable<double>(4, 4, 0x2000);
  auto const c = unreadable<double>(4, 4, 0x3000);
  auto const x = unreadable<double>(4, 1, 0x4000);
  auto const y = unreadable<double>(4, 1, 0x5000);
  auto const pivots = unreadable<int>(4, 1, 0x6000);
  auto* const info = reinterpret_cast<int*>(0x7000);
  auto* const numbers = reinterpret_cast<double*>(0x8000);
  Queue& q = *queue;
  auto const reason_of = [](auto&& call) {
    try {
      call();
    } catch (Unavailable const& reason) {
      return std::string(reason.what());
    } catch (Error const& error) {
      return "another error: " + std::string(error.what());
    }
    return std::string("no reason");
  };
  auto const tau = x;
  // All have kernels, which the store of this test lacks.
  auto const has_kernel = [&](auto&& call) {
    EXPECT_NE(reason_of(call).find(" is in no pack"), std::string::npos) << reason_of(call);
    EXPECT_EQ(reason_of(call).rfind("the kernel myriad::", 0), 0U) << reason_of(call);
  };
  has_kernel([&] { gemm<double>(q, 1, a, b, 0, c); });
  for (std::int64_t const n : {4, 5, 64, 65}) {
    auto const h = unreadable<half>(n, n, 0xa000), g = unreadable<half>(n, n, 0x20000);
    has_kernel([&] { gemm<half>(q, 1, h, h, 0, g); });
    has_kernel([&] { gemm<half>(q, 1, h, h, 0, unreadable<float>(n, n, 0x20000)); });
  }
  has_kernel([&] { symm<double>(q, Side::left, Uplo::lower, 1, a, b, 0, c); });
  has_kernel([&] { hemm<double>(q, Side::left, Uplo::lower, 1, a, b, 0, c); });
  has_kernel([&] { syrk<double>(q, Uplo::lower, 1, a, 0, c); });
  has_kernel([&] { herk<double>(q, Uplo::lower, 1, a, 0, c); });
  has_kernel([&] { syr2k<double>(q, Uplo::lower, 1, a, b, 0, c); });
  has_kernel([&] { her2k<double>(q, Uplo::lower, 1, a, b, 0, c); });
  has_kernel([&] { trmm<double>(q, Side::left, Uplo::lower, Diag::unit, 1, a, b); });
  has_kernel([&] { trmv<double>(q, Uplo::lower, Diag::unit, a, x); });
  has_kernel([&] { trtri<double>(q, Uplo::lower, Diag::unit, a, info); });
  has_kernel([&] { gemv<double>(q, 1, a, x, 0, y); });
  has_kernel([&] { ger<double>(q, 1, x, y, a); });
  has_kernel([&] { symv<double>(q, Uplo::lower, 1, a, x, 0, y); });
  has_kernel([&] { hemv<double>(q, Uplo::upper, 1, a, x, 0, y); });
  has_kernel([&] { trsm<double>(q, Side::left, Uplo::lower, Diag::unit, 1, a, b); });
  has_kernel([&] { trsv<double>(q, Uplo::lower, Diag::unit, a, x); });
  has_kernel([&] { getrf<double>(q, a, pivots, info); });
  has_kernel([&] { getrf_nopiv<double>(q, a, info); });
  has_kernel([&] { getrs<double>(q, Op::none, a, pivots, b); });
  has_kernel([&] { gesv<double>(q, a, pivots, b, info); });
  has_kernel([&] { solve<double>(q, a, b, c, info); });
  has_kernel([&] { getri<double>(q, a, pivots, info); });
  has_kernel([&] { inverse<double>(q, a, c, info); });
  has_kernel([&] { det<double>(q, a, numbers); });
  has_kernel([&] { logdet<double>(q, a, numbers, numbers + 0x100); });
  has_kernel([&] { potrf<double>(q, Uplo::lower, a, info); });
  has_kernel([&] { potrs<double>(q, Uplo::lower, a, b); });
  has_kernel([&] { posv<double>(q, Uplo::lower, a, b, info); });
  has_kernel([&] { solve_positive_definite<double>(q, Uplo::lower, a, b, c, info); });
  has_kernel([&] { potri<double>(q, Uplo::lower, a, info); });
  has_kernel([&] { potrf_regularized<double>(q, Uplo::lower, a, numbers, nullptr, info, info); });
  has_kernel([&] { posv_regularized<double>(q, Uplo::lower, a, b, nullptr, numbers, info, info); });
  has_kernel([&] { gesv_mixed<double>(q, a, pivots, b, c, info, info); });
  has_kernel([&] { posv_mixed<double>(q, Uplo::lower, a, b, c, info, info); });
  has_kernel([&] { geqrf<double>(q, a, tau); });
  has_kernel([&] { geqp3<double>(q, a, pivots, tau); });
  has_kernel([&] { gelsy<double>(q, a, b, pivots, 0, info); });
  has_kernel([&] { ormqr<double>(q, Side::left, Op::none, a, tau, c); });
  has_kernel([&] { orgqr<double>(q, a, tau); });
  has_kernel([&] { gels<double>(q, a, b, info); });
  has_kernel([&] { pinv<double>(q, a, -1.0, c, info, info + 0x100); });
  has_kernel([&] { gelsd<double>(q, a, b, x, -1.0, info, info + 0x100); });
  has_kernel([&] { matrix_rank<double>(q, a, 0, -1, info, info + 0x100); });
  has_kernel([&] { cond<double>(q, a, numbers, info); });
  has_kernel([&] { norm2<double>(q, a, numbers, info); });
  has_kernel([&] { syevd<double>(q, Job::vectors, Uplo::lower, a, x, info); });
  has_kernel([&] { heevd<double>(q, Job::values, Uplo::upper, a, x, info); });
  has_kernel([&] { sytrd<double>(q, Uplo::lower, a, x, rows(y, 0, 3), rows(unreadable<double>(4, 1, 0x9000), 0, 3)); });
  has_kernel([&] { orgtr<double>(q, Uplo::lower, a, rows(y, 0, 3)); });
  has_kernel([&] { ormtr<double>(q, Side::right, Uplo::upper, Op::transpose, a, rows(y, 0, 3), c); });
  has_kernel([&] { geequ<double>(q, a, x, y, nullptr, nullptr, nullptr, info); });
  has_kernel([&] { laqge<double>(q, a, x, y); });
  has_kernel([&] { backward_error<double>(q, a, b, c, x); });
  has_kernel([&] { gerfs<double>(q, Op::none, a, b, pivots, c, unreadable<double>(4, 4, 0x9000), x, y); });
  // The descriptors themselves are checked.
  EXPECT_THROW(gemm<double>(q, 1, a, unreadable<double>(3, 4, 0x2000), 0, c), BadArgument);
  EXPECT_THROW(getrf<double>(q, a, unreadable<int>(3, 1, 0x6000), info), BadArgument);
  double* const plain = reinterpret_cast<double*>(0x10000);
  EXPECT_THROW(gemm<double>(q, 1, batch(plain, 4, 4, {.count = 3}), b, 0, batch(plain + 8, 4, 4, {.count = 3})), BadArgument);  // overlap
  EXPECT_THROW(gemm<double>(q, 1, a, b, 0, b), BadArgument);
}

TEST_F(OnFake, RefusesAResultThatOverlapsWhateverIsInArraysOfTheGpu) {
  Queue& q = *queue;
  auto const refused = [](auto&& call) {
    try {
      call();
    } catch (BadArgument const& error) {
      return std::string(error.what()).find("overlaps") != std::string::npos;
    } catch (Unavailable const&) {  // no kernel here
    }
    return false;
  };
  auto const check = [&]<typename T>(T) {
    auto const product = [&](Batch<T> const& a, Batch<T> const& b, Batch<T> const& c) {
      return refused([&] { gemm<T>(q, T(1), a, b, T(0), c); });
    };
    auto const by_pointers = [](std::int64_t rows, std::int64_t cols, std::uintptr_t place) {
      return batch(reinterpret_cast<T* const*>(place), rows, cols, {.count = 3});
    };
    for (std::int64_t const n : {4, 40}) {
      auto const a = by_pointers(n, n, 0x1000), b = by_pointers(n, n, 0x2000), c = by_pointers(n, n, 0x3000);
      EXPECT_FALSE(product(a, b, c));
      EXPECT_TRUE(product(a, b, a));
      EXPECT_TRUE(product(a, b, b));
      EXPECT_TRUE(product(a, b, transposed(b)));
      // disjoint and overlapping blocks
      auto const whole = by_pointers(2 * n, 2 * n, 0x4000);
      EXPECT_FALSE(product(a, block(whole, 0, 0, n, n), block(whole, 0, n, n, n)));
      EXPECT_FALSE(product(block(whole, 0, 0, n, n), b, block(whole, n, 0, n, n)));
      EXPECT_TRUE(product(a, block(whole, 0, 0, n, n), block(whole, 1, n - 1, n, n)));
      EXPECT_TRUE(product(a, block(whole, 0, 0, n, n), transposed(block(whole, n - 1, n - 1, n, n))));
      EXPECT_FALSE(product(a, block(whole, 0, 0, n, n), transposed(block(whole, n, n - 1, n, n))));
      // matrices of unknown sizes overlap if they begin at the same place
      auto const sizes = [](std::uintptr_t place) { return reinterpret_cast<std::int64_t const*>(place); };
      auto const ragged = [&](std::uintptr_t place) {
        Batch<T> out = batch(reinterpret_cast<T*>(place), 2 * n, 2 * n, {.count = 3});
        out.row_sizes = sizes(0x100), out.col_sizes = sizes(0x200), out.col_strides = sizes(0x300);
        return out;
      };
      auto const x = ragged(0x10000), y = ragged(0x20000), z = ragged(0x30000);
      EXPECT_FALSE(product(x, y, z));
      EXPECT_TRUE(product(x, y, x));
      EXPECT_TRUE(product(x, y, transposed(y)));
      EXPECT_FALSE(product(block(x, 0, 0, n, n), block(y, 0, 0, n, n), block(y, 0, n, n, n)));
      EXPECT_TRUE(product(block(x, 0, 0, n, n), block(y, 0, n, n, n), block(y, 0, n, n, n)));
    }
  };
  check(float());
  check(std::complex<double>());
  check(half());
  // Routines that may work in place only refuse other overlaps.
  auto const a = unreadable<double>(4, 4, 0x1000), b = unreadable<double>(4, 4, 0x2000);
  auto const x = unreadable<double>(4, 1, 0x4000);
  auto* const info = reinterpret_cast<int*>(0x7000);
  EXPECT_FALSE(refused([&] { inverse<double>(q, a, a, info); }));
  EXPECT_TRUE(refused([&] { inverse<double>(q, a, transposed(a), info); }));
  EXPECT_TRUE(refused([&] { trsm<double>(q, Side::left, Uplo::lower, Diag::unit, 1.0, b, b); }));
  EXPECT_TRUE(refused([&] { syrk<double>(q, Uplo::lower, 1.0, a, 0.0, a); }));
  EXPECT_TRUE(refused([&] { gemv<double>(q, 1.0, a, x, 0.0, x); }));
}

/// A GPU batch `bytes` away from an address that CUDA would allocate.
template <typename T>
Batch<T> moved_by(std::uintptr_t bytes, std::uintptr_t place, std::int64_t cols = 4) {
  return batch(reinterpret_cast<T*>(place + bytes), 4, cols, {.count = 3});
}

TEST_F(OnFake, RefusesComplexMatricesThatLieAtHalfAnElement) {
  using Z = std::complex<double>;
  using C = std::complex<float>;
  Queue& q = *queue;
  auto* const info = reinterpret_cast<int*>(0x70000);
  auto const pivots = vectors(reinterpret_cast<int*>(0x60000), 4, 3);
  auto const error_of = [](auto&& call) {
    try {
      call();
    } catch (Error const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  auto const refused = [&](std::string const& argument, auto&& call) {
    std::string const error = error_of(call);
    EXPECT_NE(error.find("argument " + argument), std::string::npos) << error;
    EXPECT_NE(error.find(", which is no multiple of "), std::string::npos) << error;
  };
  Batch<Z> const a = moved_by<Z>(0, 0x10000), x = moved_by<Z>(0, 0x30000, 1);
  refused("3 (a)", [&] { getrf<Z>(q, moved_by<Z>(8, 0x10000), pivots, info); });
  refused("3 (a)", [&] { getrf<C>(q, moved_by<C>(4, 0x10000), pivots, info); });
  refused("5 (b)", [&] { solve<Z>(q, a, moved_by<Z>(8, 0x20000, 1), x, info); });
  refused("7 (x)", [&] { solve<Z>(q, a, moved_by<Z>(0, 0x20000, 1), moved_by<Z>(8, 0x30000, 1), info); });
  refused("3 (a)", [&] { potrf<Z>(q, Uplo::lower, moved_by<Z>(8, 0x10000), info); });
  refused("6 (tau)", [&] { geqp3<Z>(q, a, pivots, moved_by<Z>(8, 0x30000, 1)); });
  refused("5 (tau)", [&] { geqrf<Z>(q, a, moved_by<Z>(8, 0x30000, 1)); });
  refused("4 (det)", [&] { det<Z>(q, a, reinterpret_cast<Z*>(0x30008)); });
  refused("4 (sign)", [&] { logdet<Z>(q, a, reinterpret_cast<Z*>(0x30008), reinterpret_cast<double*>(0x40008)); });
  Batch<Z> view = moved_by<Z>(8, 0x10000);
  refused("2 (a)", [&] { inverse<Z>(q, transposed(block(view, 1, 1, 2, 2)), moved_by<Z>(0, 0x30000, 4), info); });
  // Half an element of Complex<double> is a whole one of double or Complex<float>. The address of an empty batch does not matter, and the
  // host does not read pointers.
  EXPECT_NE(error_of([&] { getrf<double>(q, moved_by<double>(8, 0x10000), pivots, info); }).find(" is in no pack"), std::string::npos);
  EXPECT_NE(error_of([&] { getrf<C>(q, moved_by<C>(8, 0x10000), pivots, info); }).find(" is in no pack"), std::string::npos);
  EXPECT_NE(error_of([&] { getrf<Z>(q, unreadable<Z>(4, 4, 0x1008), pivots, info); }).find(" is in no pack"), std::string::npos);
  EXPECT_EQ(error_of([&] { getrf<Z>(q, batch(reinterpret_cast<Z*>(4), 0, 0, {.count = 3}), pivots, nullptr); }), "");
}

TEST_F(OnFake, WarmLaunchCostsLittle) {
  FakeScaleParams const params{.data = nullptr, .count = 0, .factor = 1};
  (void)kernel();
  int const calls = 10'000;
  double best = 1;
  for (int round = 0; round < 10; ++round) {
    auto const start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i)
      launch(*queue, kernel_for(*queue, kernel_key(kernel_id("scale")), source), {.blocks = 1, .threads = 32}, params);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls);
  }
  fmt::print("look-up and launch without the driver's part: {:.0f} ns\n", best * 1e9);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(best, 3e-6);
#endif
}

}  // namespace
}  // namespace myriad::gpu
