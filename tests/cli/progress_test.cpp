/// The progress line of commands.

#include "progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace myriad::cli {
namespace {

TEST(Progress, IsABarWithThePartTheTimeLeftAndWhatIsAtHand) {
  EXPECT_EQ(progress_line({.done = 12.5, .total = 50, .seconds = 10, .what = "13 of 50: gemm f8 n = 14"}, 81),
            "[#####               ]  25%  30 s left, 13 of 50: gemm f8 n = 14");
  // Before anything is done, and at the end, no time left is shown.
  EXPECT_EQ(progress_line({.done = 0, .total = 50, .seconds = 1, .what = "0 of 50"}, 80), "[                    ]   0%  0 of 50");
  EXPECT_EQ(progress_line({.done = 50, .total = 50, .seconds = 1, .what = "50 of 50"}, 80), "[####################] 100%  50 of 50");
  EXPECT_EQ(progress_line({.done = 999, .total = 1000, .seconds = 1, .what = "999 of 1000"}, 80),
            "[################### ]  99%  1 s left, 999 of 1000");
  EXPECT_EQ(progress_line({.done = 1, .total = 11, .seconds = 100, .what = "1 of 11"}, 40), "[          ]   9%  16 min 40 s left, 1 ");
}

TEST(Progress, EstimatesByWhatTookTimeAndWithinTheBudget) {
  // 26 are done, but 25 of them were skipped: the other one took the ten seconds.
  Progress progress{.done = 26, .total = 52, .seconds = 10, .what = "27 of 52", .skipped = 25};
  EXPECT_EQ(progress_line(progress, 80), "[##########          ]  50%  4 min 20 s left, 27 of 52");
  progress.budget = 70;
  EXPECT_EQ(progress_line(progress, 80), "[##########          ]  50%  60 s left, 27 of 52");
  progress.skipped = 26;
  EXPECT_EQ(progress_line(progress, 80), "[##########          ]  50%  60 s left, 27 of 52");
  progress.budget = 10;
  EXPECT_EQ(progress_line(progress, 80), "[##########          ]  50%  27 of 52");
}

TEST(Progress, FitsIntoOneLineOfAnyTerminal) {
  Progress progress{.done = 0, .total = 254, .what = "127 of 254: solve_positive_definite f8 n = 128", .budget = 36000};
  for (int columns = 0; columns < 300; ++columns)
    for (double const done : {0.0, 100.3, 253.9, 254.0, 300.0}) {
      progress.done = done;
      progress.seconds = 10 * done;
      std::string const line = progress_line(progress, columns);
      EXPECT_LE(line.size(), static_cast<std::size_t>(std::max(0, columns - 1)));
      if (columns > 12) {
        std::size_t const end = line.find(']');
        ASSERT_NE(end, std::string::npos) << columns;
        EXPECT_EQ(end, static_cast<std::size_t>(std::clamp(columns / 4, 10, 40)) + 1);
      }
    }
}

TEST(Progress, TellsDurations) {
  EXPECT_EQ(duration(12e-6), "12 us");
  EXPECT_EQ(duration(0.0034), "3.4 ms");
  EXPECT_EQ(duration(59), "59 s");
  EXPECT_EQ(duration(306.2), "5 min 6 s");
  EXPECT_EQ(duration(179.8), "3 min 0 s");
}

/// Redirects stderr.
class Redirected {
 public:
  explicit Redirected(int descriptor) : before_(::dup(STDERR_FILENO)) { ::dup2(descriptor, STDERR_FILENO); }
  ~Redirected() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  Redirected(Redirected const&) = delete;
  Redirected& operator=(Redirected const&) = delete;

 private:
  int before_;
};

TEST(ProgressBar, IsDrawnOverOnATerminalAndRemoved) {
  int const terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) GTEST_SKIP() << "there are no pseudo-terminals";
  int const end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(end, 0);
  winsize size{};
  size.ws_row = 24, size.ws_col = 60;
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
  {
    Redirected const redirected(end);
    ProgressBar bar;
    EXPECT_FALSE(bar.due(0.9));  // short work needs no line
    EXPECT_TRUE(bar.due(1));
    bar.draw({.done = 1, .total = 4, .seconds = 1, .what = "1 of 4"});
    EXPECT_FALSE(bar.due(1.05));
    EXPECT_TRUE(bar.due(1.2));
    bar.draw({.done = 2, .total = 4, .seconds = 2, .what = "2 of 4"});
    bar.clear();
    bar.clear();
    bar.draw({.done = 3, .total = 4, .seconds = 3, .what = "3 of 4"});
  }
  ::close(end);
  std::string text(1000, '\0');
  std::size_t length = 0;
  for (ssize_t got = 0; (got = ::read(terminal, text.data() + length, text.size() - length)) > 0;) length += static_cast<std::size_t>(got);
  ::close(terminal);
  text.resize(length);
  EXPECT_EQ(text,
            "\r[###            ]  25%  3 s left, 1 of 4\x1b[K"
            "\r[#######        ]  50%  2 s left, 2 of 4\x1b[K"
            "\r\x1b[K"
            "\r[###########    ]  75%  1 s left, 3 of 4\x1b[K"
            "\r\x1b[K");
}

TEST(ProgressBar, IsNotForFiles) {
  int const file = ::open("/dev/null", O_WRONLY);
  ASSERT_GE(file, 0);
  {
    Redirected const redirected(file);
    EXPECT_FALSE(ProgressBar().due(100));
  }
  ::close(file);
}

}  // namespace
}  // namespace myriad::cli
