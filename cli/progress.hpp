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
  double done = 0;                                          ///< of `total`, including the finished part of the current one
  double total = 1;                                         ///< matrices, sizes
  double seconds = 0;                                       ///< since the start
  std::string what{};                                       ///< "13 of 50: gemm f8 n = 14"
  double skipped = 0;                                       ///< part of `done` that took no time, and is left out of the estimate
  double budget = std::numeric_limits<double>::infinity();  ///< seconds after which the work ends, finished or not
};

/// "[#####               ]  25%  30 s left, 13 of 50: gemm f8 n = 14", for a terminal of this many columns. Longer text is cut: a wrapped
/// line cannot be overwritten.
inline std::string progress_line(Progress const& progress, int columns) {
  double const share = progress.total > 0 ? std::clamp(progress.done / progress.total, 0.0, 1.0) : 1;
  double left = progress.budget - progress.seconds;
  if (double const timed = progress.done - progress.skipped; timed > 0)
    left = std::min(left, progress.seconds * (progress.total - progress.done) / timed);
  // The width does not depend on the text, or the bar would jump.
  int const width = std::clamp(columns / 4, 10, 40);
  std::string const bar(static_cast<std::size_t>(share * width), '#');
  // Whole seconds are easier to read while they change; 100% means finished.
  std::string const remaining = std::isfinite(left) && left > 0 ? duration(std::ceil(left)) + " left, " : "";
  std::string line = fmt::format("[{:<{}}] {:3.0f}%  {}{}", bar, width, std::floor(100 * share), remaining, io::printable(progress.what));
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(columns - 1, 0))));
  return line;
}

/// The progress line on stderr, if that is a terminal or goes to one. The destructor erases it.
class ProgressBar {
 public:
  explicit ProgressBar(bool terminal = ::isatty(STDERR_FILENO) != 0) : terminal_(terminal) {}
  ~ProgressBar() { clear(); }
  ProgressBar(ProgressBar const&) = delete;
  ProgressBar& operator=(ProgressBar const&) = delete;

  /// Whether to draw it this many seconds after the start: not for short work, nor more often than readable.
  [[nodiscard]] bool due(double seconds) const { return terminal_ && seconds >= 1 && seconds - drawn_ >= 0.1; }
  void draw(Progress const& progress) {
    fmt::print(stderr, "\r{}\x1b[K", progress_line(progress, columns()));
    drawn_ = progress.seconds;
    shown_ = true;
  }
  /// Erases the line before other output.
  void clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
  }

 private:
  static int columns() {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }

  bool terminal_;
  double drawn_ = 0;  ///< seconds after the start
  bool shown_ = false;
};

}  // namespace myriad::cli
