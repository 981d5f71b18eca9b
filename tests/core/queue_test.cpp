/// Queues and the parallel loop.

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "core/parallel.hpp"
#include "myriad/myriad.hpp"

namespace myriad {
namespace {

TEST(Queue, IsTheCpuWithTheThreadsAskedFor) {
  Queue queue{{.threads = 3}};
  EXPECT_EQ(queue.threads(), 3);
  EXPECT_EQ(queue.backend(), Backend::cpu);
  EXPECT_NO_THROW(queue.wait());
  Queue moved = std::move(queue);
  EXPECT_EQ(moved.threads(), 3);
}

TEST(Queue, RefusesWhatItCannotDo) {
  EXPECT_THROW(Queue({.threads = -1}), BadArgument);
  EXPECT_THROW(Queue({.backend = Backend::gpu}), Unavailable);
}

TEST(Queue, TakesTheEnvironmentsNumberOfThreads) {
  ::setenv("MYRIAD_NUM_THREADS", "5", 1);
  EXPECT_EQ(Queue().threads(), 5);
  ::setenv("MYRIAD_NUM_THREADS", "many", 1);
  EXPECT_THROW(Queue(), Error);
  ::setenv("MYRIAD_NUM_THREADS", "0", 1);
  EXPECT_THROW(Queue(), Error);
  ::unsetenv("MYRIAD_NUM_THREADS");
  EXPECT_GE(Queue().threads(), 1);
}

TEST(ParallelFor, VisitsEveryItemOnce) {
  for (int const threads : {1, 2, 4})
    for (std::int64_t const count : {0, 1, 7, 64, 1000})
      for (std::int64_t const grain : {1, 3, 64, 2000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
        parallel_for(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
          EXPECT_LE(end - begin, grain);
          EXPECT_EQ(begin % grain, 0);
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        for (auto const& v : visits) ASSERT_EQ(v, 1);
      }
}

TEST(ParallelFor, PassesOnTheFirstException) {
  for (int const threads : {1, 3})
    EXPECT_THROW(parallel_for(threads, 100, 1,
                              [&](std::int64_t begin, std::int64_t) {
                                if (begin == 40) throw Error("forty");
                              }),
                 Error);
}

TEST(ParallelFor, StartsNoThreadsInsideThreads) {
  std::atomic<int> inner{0};
  parallel_for(2, 4, 1, [&](std::int64_t, std::int64_t) {
    auto const outer = std::this_thread::get_id();
    parallel_for(4, 8, 1, [&](std::int64_t, std::int64_t) {
      if (std::this_thread::get_id() == outer) ++inner;
    });
  });
  EXPECT_EQ(inner, 32);
}

}  // namespace
}  // namespace myriad
