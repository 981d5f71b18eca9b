/// Queues, memory and launches on a GPU. Skipped, with the reason, without a GPU.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "graph.hpp"
#include "myriad/memory.hpp"
#include "myriad/myriad.hpp"
#include "on_gpu.hpp"
#include "runtime/launch.hpp"
#include "runtime/queue_state.hpp"
#include "test_kernel.hpp"

namespace myriad::gpu {
namespace {

class Gpu : public OnFirstGpu {};

struct ScaleParams {
  void* data;
  long long count;
  double factor;
};

template <typename T>
Kernel const& scale_kernel(Queue& queue, int times) {
  return kernel_for(queue, kernel_key(kernel_id("test/scale"), dtype_of<T>, times),
                    [&] { return test::scale_source(std::is_same_v<T, float> ? "float" : "double", times); });
}

template <typename T>
void scale(Queue& queue, T* data, std::int64_t count, double factor, int times = 1) {
  launch(queue, scale_kernel<T>(queue, times), {.blocks = (count + 255) / 256, .threads = 256},
         ScaleParams{.data = data, .count = count, .factor = factor});
}

std::vector<double> iota(std::int64_t n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 1.0);
  return out;
}
std::vector<double> times(std::vector<double> x, double factor) {
  for (double& value : x) value *= factor;
  return x;
}

TEST_F(Gpu, IsDescribed) {
  Device const& device = queue->device();
  EXPECT_FALSE(device.name.empty());
  EXPECT_GE(device.major, 7);
  EXPECT_GT(device.multiprocessors, 0);
  EXPECT_GE(device.shared_memory_per_block, 48 << 10);
  EXPECT_GE(device.shared_memory_per_multiprocessor, device.shared_memory_per_block);
  EXPECT_GT(device.l2_bytes, 1 << 20);
  EXPECT_GT(device.memory_bytes, 1 << 30);
  EXPECT_EQ(devices().at(0).uuid, device.uuid);
  EXPECT_EQ(queue->backend(), Backend::gpu);
  EXPECT_NE(queue->stream(), nullptr);
}

TEST_F(Gpu, CopiesAndComputes) {
  std::vector<double> const x = iota(100'003);
  DeviceArray<double> a = to_device(*queue, x);
  DeviceArray<double> b(*queue, a.size());
  copy(*queue, a.data(), a.size(), b.data());
  scale(*queue, b.data(), b.size(), 2.0, 3);
  EXPECT_EQ(to_host(*queue, a), x);
  EXPECT_EQ(to_host(*queue, b), times(x, 8));
  PinnedArray<double> pinned(*queue, a.size());
  copy(*queue, b.data(), b.size(), pinned.data());
  queue->wait();
  EXPECT_EQ(std::vector<double>(pinned.begin(), pinned.end()), times(x, 8));
  EXPECT_EQ(DeviceArray<double>(*queue, 0).data(), nullptr);
}

TEST_F(Gpu, MemoryOutlivesItsQueue) {
  std::optional<DeviceArray<double>> array;
  {
    Queue other({.backend = Backend::gpu});
    array.emplace(other, 1000);
    scale(other, array->data(), 1000, 0.0);
  }
  array.reset();
  queue->wait();
}

TEST_F(Gpu, OrdersQueuesAndMeasures) {
  std::vector<double> const x = iota(10'000'000);
  Queue second({.backend = Backend::gpu});
  DeviceArray<double> a = to_device(*queue, x);
  queue->wait();
  Event start(*queue);
  Event end(*queue);
  start.record();
  for (int i = 0; i < 20; ++i) scale(*queue, a.data(), a.size(), 2.0);
  end.record();
  end.hold(second);
  scale(second, a.data(), a.size(), 0.5);
  EXPECT_EQ(to_host(second, a), times(x, 1 << 19));
  EXPECT_TRUE(end.reached());
  EXPECT_GT(end.seconds_since(start), 20 * 1e-6);
  EXPECT_LT(end.seconds_since(start), 10);
}

TEST_F(Gpu, TakesWorkspaceFromItsPool) {
  auto const pool = [&](driver::PoolAttribute which) {
    std::uint64_t bytes = 0;
    driver::check(driver::api().cuMemPoolGetAttribute(QueueAccess::state(*queue).pool, which, &bytes), "cuMemPoolGetAttribute");
    return bytes;
  };
  {
    Workspace const work(*queue, 100 << 20);
    ASSERT_NE(work.as<void>(), nullptr);
    EXPECT_GE(pool(driver::PoolAttribute::used_memory), 100U << 20);
  }
  queue->wait();
  std::uint64_t const reserved = pool(driver::PoolAttribute::reserved_memory);
  EXPECT_GE(reserved, 100U << 20);  // the pool keeps free memory
  EXPECT_EQ(pool(driver::PoolAttribute::used_memory), 0U);
  for (int i = 0; i < 100; ++i) {
    Workspace const work(*queue, 100 << 20);
    scale(*queue, work.as<double>(), 1000, 0.0);
  }
  queue->wait();
  EXPECT_EQ(pool(driver::PoolAttribute::reserved_memory), reserved);  // and reuses it
  Workspace const none(*queue, 0);
  EXPECT_EQ(none.as<void>(), nullptr);
}

TEST_F(Gpu, RunsOnTheCallersStream) {
  auto const& cu = driver::api();
  driver::CurrentContext const current(context_of(*queue).handle());
  driver::StreamHandle stream = nullptr;
  driver::check(cu.cuStreamCreate(&stream, 0), "cuStreamCreate");
  std::vector<double> const x = iota(1000);
  for (void* const handle : {static_cast<void*>(stream), legacy_stream(), per_thread_stream()}) {
    Queue other({.stream = handle});
    EXPECT_EQ(other.backend(), Backend::gpu);
    EXPECT_EQ(other.stream(), handle);
    DeviceArray<double> a = to_device(other, x);
    scale(other, a.data(), a.size(), 3.0);
    EXPECT_EQ(to_host(other, a), times(x, 3));
  }
  EXPECT_EQ(cu.cuStreamSynchronize(stream), driver::Result::success);  // the stream still exists
  driver::check(cu.cuStreamDestroy_v2(stream), "cuStreamDestroy");
}

TEST_F(Gpu, ContinuesOnOtherStreams) {
  Queue other({.backend = Backend::gpu}), third({.backend = Backend::gpu});
  void* const own = queue->stream();
  std::vector<double> const x = iota(1'000'000);
  DeviceArray<double> a = to_device(*queue, x);
  for (int k = 0; k < 3; ++k)
    for (void* const stream : {other.stream(), legacy_stream(), third.stream(), per_thread_stream(), own}) {
      scale(*queue, a.data(), a.size(), 2.0);
      DeviceArray<double> next(*queue, a.size());  // freed on another stream than it was allocated on
      copy(*queue, a.data(), a.size(), next.data());
      queue->set_stream(stream);
      std::swap(a, next);
    }
  EXPECT_EQ(to_host(*queue, a), times(x, 32768));
  // A capture of another stream, and back
  scale(*queue, a.data(), a.size(), 0.5);
  queue->wait();
  test::Graph graph(other, [&] {
    queue->set_stream(other.stream());
    scale(*queue, a.data(), a.size(), 2.0);
    queue->set_stream(own);
  });
  EXPECT_EQ(to_host(*queue, a), times(x, 16384));
  graph.launch();
  other.wait();
  EXPECT_EQ(to_host(*queue, a), times(x, 32768));
}

TEST_F(Gpu, TakesWorkspaceFromTheCaller) {
  Queue memory({.backend = Backend::gpu});
  std::vector<std::pair<void*, DeviceArray<char>>> kept;
  std::int64_t most = 0;
  WorkspaceAllocator const caller{.allocate = [&](std::int64_t bytes, void*) -> void* {
                                    most = std::max(most, bytes);
                                    DeviceArray<char> array(memory, bytes);
                                    memory.wait();
                                    void* const address = array.data();
                                    kept.emplace_back(address, std::move(array));
                                    return address;
                                  },
                                  .release = {}};
  std::int64_t const n = 100, count = 5;
  std::vector<double> x(static_cast<std::size_t>(n * n * count));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(k * 7919 % 1009) / 1009 + (k % 101 == 0 ? 50 : 0);
  DeviceArray<double> const a = to_device(*queue, x);
  DeviceArray<double> of_pool(*queue, a.size()), of_caller(*queue, a.size());
  auto const invert = [&](DeviceArray<double> const& out) {
    inverse<double>(*queue, batch(a.data(), n, n, {.count = count}), batch(out.data(), n, n, {.count = count}), nullptr);
  };
  invert(of_pool);
  std::int64_t const announced = queue->workspace([&] { invert(of_caller); });
  queue->set_allocator(caller);
  invert(of_caller);
  EXPECT_GT(announced, 0);
  EXPECT_EQ(most, announced);
  EXPECT_EQ(kept.size(), 1U);
  EXPECT_EQ(to_host(*queue, of_caller), to_host(*queue, of_pool));
  queue->set_allocator({.allocate = [](std::int64_t, void*) -> void* { return nullptr; }, .release = {}});
  EXPECT_THROW(invert(of_caller), OutOfMemory);
}

TEST_F(Gpu, LeavesTheCallersContextCurrent) {
  auto const& cu = driver::api();
  std::thread([&] {
    driver::ContextHandle context = context_of(*queue).handle();
    DeviceArray<double> a = to_device(*queue, iota(10));
    scale(*queue, a.data(), a.size(), 2.0);
    (void)to_host(*queue, a);
    driver::check(cu.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
    EXPECT_EQ(context, nullptr);  // this thread had none
  }).join();
}

TEST_F(Gpu, ServesEveryDevice) {
  if (devices().size() < 2) GTEST_SKIP() << "there is one GPU";
  std::vector<double> const x = iota(1000);
  std::vector<std::thread> threads;
  std::vector<int> good(devices().size(), 0);
  for (std::size_t d = 0; d < good.size(); ++d)
    threads.emplace_back([&, d] {
      Queue own({.device = static_cast<int>(d), .stream = legacy_stream()});
      DeviceArray<double> a = to_device(own, x);
      scale(own, a.data(), a.size(), 2.0);
      good[d] = to_host(own, a) == times(x, 2) && own.device().ordinal == static_cast<int>(d);
    });
  for (std::thread& thread : threads) thread.join();
  for (int const g : good) EXPECT_EQ(g, 1);
  // one thread that alternates between two devices, and a copy between them
  Queue second({.backend = Backend::gpu, .device = 1});
  DeviceArray<double> a = to_device(*queue, x);
  DeviceArray<double> b(second, a.size());
  scale(*queue, a.data(), a.size(), 3.0);
  queue->wait();
  copy(second, a.data(), a.size(), b.data());
  scale(second, b.data(), b.size(), 2.0);
  EXPECT_EQ(to_host(second, b), times(x, 6));
  EXPECT_EQ(to_host(*queue, a), times(x, 3));
  // an event orders queues of two devices, but measures time on one
  Event scaled(*queue);
  scale(*queue, a.data(), a.size(), 2.0);
  scaled.record();
  scaled.hold(second);
  copy(second, a.data(), a.size(), b.data());
  Event copied(second);
  copied.record();
  EXPECT_EQ(to_host(second, b), times(x, 6));
  EXPECT_THROW((void)copied.seconds_since(scaled), BadArgument);
}

TEST_F(Gpu, RefusesDevicesThatAreNotThere) {
  EXPECT_THROW(Queue({.backend = Backend::gpu, .device = 1000}), BadArgument);
  EXPECT_THROW(Queue({.backend = Backend::gpu, .device = -1}), BadArgument);
}

TEST_F(Gpu, PreparesWithoutRunning) {
  std::vector<double> const x = iota(1000);
  DeviceArray<double> a = to_device(*queue, x);
  bool called = false;
  queue->prepare([&] {
    called = true;
    scale(*queue, a.data(), a.size(), 5.0, 7);
    Workspace const work(*queue, 1000);
    EXPECT_EQ(work.as<void>(), nullptr);
  });
  EXPECT_TRUE(called);
  EXPECT_EQ(to_host(*queue, a), x);
  EXPECT_THROW(queue->prepare([] { throw Error("out of it"); }), Error);
  scale(*queue, a.data(), a.size(), 5.0, 1);  // launches work again
  EXPECT_EQ(to_host(*queue, a), times(x, 5));
}

TEST_F(Gpu, IsCapturedIntoAGraphAndReplayed) {
  std::vector<double> const x = iota(5000);
  DeviceArray<double> a = to_device(*queue, x);
  queue->prepare([&] { scale(*queue, a.data(), a.size(), 2.0); });
  queue->wait();
  test::Graph graph(*queue, [&] {
    scale(*queue, a.data(), a.size(), 2.0);
    {
      Workspace const work(*queue, a.size() * 8);
      copy(*queue, a.data(), a.size(), work.as<double>());
      scale(*queue, work.as<double>(), a.size(), 1.5);
      copy(*queue, work.as<double>(), a.size(), a.data());
    }
    EXPECT_THROW(queue->wait(), Error);  // the capture goes on
  });
  EXPECT_EQ(to_host(*queue, a), x);  // captured, not run
  for (int i = 0; i < 3; ++i) graph.launch();
  EXPECT_EQ(to_host(*queue, a), times(x, 27));
}

TEST_F(Gpu, LoadsAKernelWhileAnotherStreamIsCaptured) {
  DeviceArray<double> a = to_device(*queue, iota(100));
  queue->wait();
  test::Graph const graph(*queue, [&] { scale(*queue, a.data(), a.size(), 2.0, 11); });  // not loaded before
}

TEST_F(Gpu, ServesSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      Queue own({.backend = Backend::gpu});
      std::vector<double> const x = iota(10'000 + static_cast<int>(t));
      for (int i = 1; i <= 20; ++i) {
        DeviceArray<double> a = to_device(own, x);
        scale(own, a.data(), a.size(), 2.0, 1 + i % 5);  // kernels that are not loaded yet, by all threads at once
        good[t] += to_host(own, a) == times(x, 1 << (1 + i % 5));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int const g : good) EXPECT_EQ(g, 20);
}

TEST_F(Gpu, StaysUsableAfterWhatFailed) {
  DeviceArray<double> a = to_device(*queue, iota(100));
  Kernel const& kernel = scale_kernel<double>(*queue, 1);
  ScaleParams const params{.data = a.data(), .count = 100, .factor = 2};
  EXPECT_THROW(launch(*queue, kernel, {.blocks = 1, .threads = 2000}, params), GpuError);
  EXPECT_THROW(launch(*queue, kernel, {.blocks = 1, .threads = 32, .shared_bytes = 1 << 20}, params), GpuError);
  EXPECT_THROW(launch(*queue, kernel, {.blocks = -1, .threads = 32}, params), GpuError);
  launch(*queue, kernel, {.blocks = 0, .threads = 32}, params);  // nothing
  EXPECT_THROW(DeviceArray<char>(*queue, std::int64_t{1} << 50), OutOfMemory);
  EXPECT_THROW(DeviceArray<double>(*queue, -1), BadArgument);
  EXPECT_THROW((kernel_for(*queue, kernel_key(kernel_id("test/bad")), [] { return test::scale_source("no_such_type", 1); })), CompileError);
  EXPECT_THROW((kernel_for(*queue, kernel_key(kernel_id("test/bad")), [] { return test::scale_source("no_such_type", 1); })), CompileError);
  scale(*queue, a.data(), a.size(), 2.0);
  EXPECT_EQ(to_host(*queue, a), times(iota(100), 2));
}

TEST_F(Gpu, GivesSharedMemoryBeyond48KiB) {
  int const n = 1000;
  DeviceArray<double> a = to_device(*queue, iota(n));
  Kernel const& kernel = kernel_for(*queue, kernel_key(kernel_id("test/sum")), [] {
    KernelSource source{.header = "scale.cuh", .name = "myriad::test::sum_in_shared"};
    source.files = test::test_sources();
    return source;
  });
  EXPECT_EQ(kernel.local_bytes, 0);
  EXPECT_GT(kernel.registers, 0);
  for (std::int64_t const bytes : {std::int64_t{8000}, std::int64_t{60000}, std::int64_t{kernel.max_dynamic_shared_bytes}}) {
    copy(*queue, iota(n).data(), n, a.data());
    launch(*queue, kernel, {.blocks = 1, .threads = n, .shared_bytes = bytes}, ScaleParams{.data = a.data(), .count = n, .factor = 0});
    EXPECT_EQ(to_host(*queue, a).front(), n * (n + 1) / 2.0);
  }
}

TEST_F(Gpu, StartsManyBlocks) {
  // more blocks than fit a grid's second dimension
  std::int64_t const n = 70'000;
  DeviceArray<double> a = to_device(*queue, iota(n));
  launch(*queue, scale_kernel<double>(*queue, 1), {.blocks = n, .threads = 1}, ScaleParams{.data = a.data(), .count = n, .factor = 2});
  EXPECT_EQ(to_host(*queue, a), times(iota(n), 2));
}

TEST_F(Gpu, WarmLaunchCostsLittle) {
  DeviceArray<double> a = to_device(*queue, iota(32));
  auto const& cu = driver::api();
  driver::CurrentContext const current(context_of(*queue).handle());
  Kernel const& kernel = scale_kernel<double>(*queue, 1);
  ScaleParams params{.data = a.data(), .count = 32, .factor = 1};
  void* parameters[] = {&params};
  int const calls = 400;  // fewer than the driver's queue holds
  auto const seconds = [&](auto&& call) {
    double best = 1;
    for (int round = 0; round < 20; ++round) {
      queue->wait();
      auto const start = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) call();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls);
    }
    return best;
  };
  driver::LaunchConfig const config{.block = {32, 1, 1}, .stream = static_cast<driver::StreamHandle>(queue->stream())};
  double const bare = seconds([&] { (void)cu.cuLaunchKernelEx(&config, kernel.function, parameters, nullptr); });
  double const ours = seconds([&] { launch(*queue, scale_kernel<double>(*queue, 1), {.blocks = 1, .threads = 32}, params); });
  RecordProperty("bare_ns", static_cast<int>(bare * 1e9));
  RecordProperty("ours_ns", static_cast<int>(ours * 1e9));
  fmt::print("bare launch {:.2f} us, look-up and launch {:.2f} us\n", bare * 1e6, ours * 1e6);
  EXPECT_LT(ours - bare, 3e-6);
}

}  // namespace
}  // namespace myriad::gpu
