/// Queues.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "myriad/myriad.hpp"

namespace myriad {
namespace {

TEST(Queue, IsTheCpuWithTheThreadsAskedFor) {
  Queue queue{{.backend = Backend::cpu, .threads = 3}};
  EXPECT_EQ(queue.threads(), 3);
  EXPECT_EQ(queue.backend(), Backend::cpu);
  EXPECT_NO_THROW(queue.wait());
  Queue moved = std::move(queue);
  EXPECT_EQ(moved.threads(), 3);
}

TEST(Queue, RefusesWhatItCannotDo) {
  EXPECT_THROW(Queue({.threads = -1}), BadArgument);
  EXPECT_THROW(Queue({.backend = Backend::cpu, .device = 1}), BadArgument);
  EXPECT_THROW(Queue({.backend = Backend::cpu, .stream = legacy_stream()}), BadArgument);
  EXPECT_THROW((void)Queue({.backend = Backend::cpu}).device(), Unavailable);
}

TEST(Queue, SaysWhyThereIsNoGpu) {
  if (!devices().empty()) GTEST_SKIP() << "there is a GPU";
  for (QueueOptions const& options : {QueueOptions{.backend = Backend::gpu}, QueueOptions{.stream = legacy_stream()}}) {
    try {
      Queue const queue(options);
      FAIL();
    } catch (Unavailable const& reason) {
      EXPECT_NE(std::string(reason.what()).find("no GPU can be used: "), std::string::npos) << reason.what();
    }
  }
}

TEST(Queue, AutomaticIsTheGpuOrSaysWhyNot) {
  Queue const queue;
  EXPECT_EQ(queue.gpu_problem().empty(), queue.backend() == Backend::gpu) << queue.gpu_problem();
}

TEST(Queue, PreparesNothingOnTheCpu) {
  Queue queue({.backend = Backend::cpu});
  queue.prepare([] { FAIL(); });
  EXPECT_EQ(queue.workspace([] { FAIL(); }), 0);
}

TEST(Event, IsAMomentOnTheCpu) {
  Queue queue({.backend = Backend::cpu});
  Event first(queue);
  EXPECT_THROW(first.wait(), Error);
  first.record();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  Event second(queue);
  second.record();
  second.hold(queue);
  second.wait();
  EXPECT_TRUE(second.reached());
  EXPECT_GE(second.seconds_since(first), 2e-3);
}

TEST(Memory, IsPlainOnTheCpu) {
  Queue queue({.backend = Backend::cpu});
  std::vector<double> const x{1, 2, 3};
  DeviceArray<double> a = to_device(queue, x);
  DeviceArray<double> b(queue, 3);
  copy(queue, a.data(), 3, b.data());
  EXPECT_EQ(b.data()[2], 3);
  EXPECT_EQ(to_host(queue, b), x);
  PinnedArray<double> c(queue, 3);
  copy(queue, b.data(), b.size(), c.data());
  EXPECT_EQ(c[1], 2);
  DeviceArray<double> moved = std::move(a);
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(a.data(), nullptr);
  b = std::move(moved);
  EXPECT_EQ(to_host(queue, b), x);
  EXPECT_EQ(DeviceArray<double>(queue, 0).data(), nullptr);
  EXPECT_THROW(DeviceArray<double>(queue, -1), BadArgument);
  EXPECT_THROW(DeviceArray<double>(queue, std::int64_t{1} << 62), BadArgument);
  EXPECT_THROW(copy<double>(queue, nullptr, 1, b.data()), BadArgument);
  try {
    copy(queue, x.data(), -1, b.data());
    FAIL();
  } catch (BadArgument const& error) {
    EXPECT_EQ(error.argument(), "count");
    EXPECT_EQ(error.position(), 2);
  }
}

TEST(Queue, TakesTheEnvironmentsNumberOfThreads) {
  ::setenv("MYRIAD_NUM_THREADS", "5", 1);
  EXPECT_EQ(Queue({.backend = Backend::cpu}).threads(), 5);
  EXPECT_EQ(Queue().threads(), 5);
  ::setenv("MYRIAD_NUM_THREADS", "many", 1);
  EXPECT_THROW(Queue(), Error);
  ::setenv("MYRIAD_NUM_THREADS", "0", 1);
  EXPECT_THROW(Queue(), Error);
  ::unsetenv("MYRIAD_NUM_THREADS");
  EXPECT_GE(Queue().threads(), 1);
}

}  // namespace
}  // namespace myriad
