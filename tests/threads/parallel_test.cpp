/// The parallel loop, over either implementation of teams. The thread sanitizer runs these tests, too.

#include "core/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/team.hpp"

namespace myriad {
namespace {

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
                                if (begin == 40) throw std::runtime_error("forty");
                              }),
                 std::runtime_error);
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

TEST(ParallelFor, RunsPiecesAtTheSameTime) {
  std::atomic<int> running{0};
  std::atomic<bool> together{true};
  parallel_for(3, 3, 1, [&](std::int64_t, std::int64_t) {
    ++running;
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (running < 3 && together) {
      if (std::chrono::steady_clock::now() > end) together = false;
      std::this_thread::yield();
    }
  });
  EXPECT_TRUE(together);
}

/// A loop with plain stores by its threads, which the calling thread reads.
std::int64_t sum_of_squares(int threads, std::int64_t count, std::int64_t grain) {
  std::vector<std::int64_t> squares(static_cast<std::size_t>(count));
  parallel_for(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) squares[static_cast<std::size_t>(i)] = i * i;
  });
  return std::accumulate(squares.begin(), squares.end(), std::int64_t{0});
}
constexpr std::int64_t sum_of_1000 = 999 * 1000 * 1999 / 6;

TEST(ParallelFor, ShortLoopsInSeveralHostThreads) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> hosts;
  for (int k = 0; k < 4; ++k)
    hosts.emplace_back([&wrong, k] {
      for (int round = 0; round < 200; ++round) {
        wrong += sum_of_squares(2 + k, 1000, 1 + round) != sum_of_1000;
        if (round % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that threads of the team sleep, too
      }
    });
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ParallelFor, MoreThreadsThanCores) {
  for (int const threads : {16, 3, 40}) EXPECT_EQ(sum_of_squares(threads, 1000, 1), sum_of_1000) << threads << " threads";
}

TEST(Team, DefaultSizeIsTheNumberOfCores) { EXPECT_GE(team::default_size(), 1); }

#ifdef MYRIAD_TEAM_STD
TEST(Team, DefaultSizeIsTheFirstNumberOfOmpNumThreads) {
  ::unsetenv("OMP_NUM_THREADS");
  int const cores = team::default_size();
  for (auto const& [text, threads] : {std::pair{"5", 5}, {"7,2", 7}, {"", cores}, {"0", cores}, {"-3", cores}, {"2x", cores}}) {
    ::setenv("OMP_NUM_THREADS", text, 1);
    EXPECT_EQ(team::default_size(), threads) << '"' << text << '"';
  }
  ::unsetenv("OMP_NUM_THREADS");
}

#ifndef MYRIAD_SANITIZED
/// The exit status of a child process that calls `work`; a child that takes longer than 20 s is killed, and the result is negative.
template <typename F>
int status_of_child(F work) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  for (int waited = 0; ::waitpid(child, &status, WNOHANG) == 0; ++waited) {
    if (waited == 20'000) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Team, ChildOfAForkHasATeamOfItsOwn) {
  auto const right = [] { return sum_of_squares(3, 1000, 10) == sum_of_1000 ? 0 : 1; };
  ASSERT_EQ(right(), 0);
  EXPECT_EQ(status_of_child([&] { return right() + status_of_child(right); }), 0);
  EXPECT_EQ(right(), 0);
}

TEST(Team, IdleThreadsEndBeforeAFork) {
  auto const threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  ASSERT_EQ(sum_of_squares(5, 1000, 1), sum_of_1000);
  auto const before = threads();
  EXPECT_EQ(status_of_child([] { return 0; }), 0);
  for (int waited = 0; threads() > before - 4 && waited < 20'000; ++waited)  // a thread that was joined may still be listed
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_LE(threads(), before - 4);
}

TEST(Team, ForksWhileAnotherThreadIsInALoop) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) (void)sum_of_squares(3, 1000, 1);
  });
  for (int k = 0; k < 50; ++k) EXPECT_EQ(status_of_child([] { return sum_of_squares(3, 1000, 10) == sum_of_1000 ? 0 : 1; }), 0);
  done = true;
  other.join();
}

TEST(TeamDeathTest, ProgramEndsWhileAnotherThreadIsInALoop) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::atomic<int> rounds{0};
        std::thread([&] {
          for (;; ++rounds) (void)sum_of_squares(3, 1000, 1);
        }).detach();
        while (rounds < 10) std::this_thread::yield();
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}
#endif
#endif

}  // namespace
}  // namespace myriad
