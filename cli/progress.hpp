#pragma once
/// A progress bar in one line of the terminal.

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>

#include "io/text.hpp"

namespace myriad::cli {

/// "12 us", "3.4 s", "5 min 6 s".
inline std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  double const whole = std::round(seconds);
  return fmt::format("{:.0f} min {:.0f} s", std::floor(whole / 60), std::fmod(whole, 60));
}

struct Progress {
  double done = 0;                                          ///< of `total`, with what is done of the one at hand
  double total = 1;                                         ///< matrices, sizes
  double seconds = 0;                                       ///< since the start
  std::string what{};                                       ///< "13 of 50: gemm f8 n = 14"
  double skipped = 0;                                       ///< of `done`: took no time, and so says nothing about the rest
  double budget = std::numeric_limits<double>::infinity();  ///< seconds after which it ends, finished or not
};

/// "[#####               ]  25%  30 s left, 13 of 50: gemm f8 n = 14", for a terminal of so many columns. What does not fit is cut off:
/// a line that is wrapped cannot be drawn over.
inline std::string progress_line(Progress const& progress, int columns) {
  double const share = progress.total > 0 ? std::clamp(progress.done / progress.total, 0.0, 1.0) : 1;
  double left = progress.budget - progress.seconds;
  if (double const timed = progress.done - progress.skipped; timed > 0)
    left = std::min(left, progress.seconds * (progress.total - progress.done) / timed);
  // The width does not depend on the text: the bar would jump about.
  int const width = std::clamp(columns / 4, 10, 40);
  std::string const bar(static_cast<std::size_t>(share * width), '#');
  // Whole seconds are easier to read where they change all the time, and 100% is for what is finished.
  std::string const remaining = std::isfinite(left) && left > 0 ? duration(std::ceil(left)) + " left, " : "";
  std::string line = fmt::format("[{:<{}}] {:3.0f}%  {}{}", bar, width, std::floor(100 * share), remaining, io::printable(progress.what));
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(columns - 1, 0))));
  return line;
}

/// The line on stderr, where that is a terminal; elsewhere there is none. It is gone when the object is.
class ProgressBar {
 public:
  ProgressBar() = default;
  ~ProgressBar() { clear(); }
  ProgressBar(ProgressBar const&) = delete;
  ProgressBar& operator=(ProgressBar const&) = delete;

  /// Whether it should be drawn so many seconds after the start: not for work that is soon done, nor more often than somebody can read.
  [[nodiscard]] bool due(double seconds) const { return terminal_ && seconds >= 1 && seconds - drawn_ >= 0.1; }
  void draw(Progress const& progress) {
    fmt::print(stderr, "\r{}\x1b[K", progress_line(progress, columns()));
    drawn_ = progress.seconds;
    shown_ = true;
  }
  /// Makes room for what is printed next.
  void clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
  }

 private:
  static int columns() {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }

  bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  double drawn_ = 0;  ///< seconds after the start
  bool shown_ = false;
};

}  // namespace myriad::cli
