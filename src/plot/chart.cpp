#include "plot/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>

#include "myriad/error.hpp"

namespace myriad::plot {
namespace {

// Okabe and Ito: distinguishable with any kind of colour vision, and in print.
constexpr std::array palette{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#000000"};
constexpr double character = 6.6;  // mean width of a character of the 12 pixel font
constexpr double line_height = 16;

using Out = std::back_insert_iterator<std::string>;

std::string escaped(std::string const& text) {
  std::string out;
  for (char const c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// Text of a number: 0.25, 40, 12 000, and 1e-06 as a power of ten.
std::string number_text(double value) {
  if (value == 0) return "0";
  double const size = std::abs(value);
  if (size >= 1e5 || size < 1e-3) {
    int const exponent = static_cast<int>(std::floor(std::log10(size) + 1e-9));
    double const lead = value / std::pow(10.0, exponent);
    std::string const power = fmt::format("10<tspan dy=\"-5\" font-size=\"9\">{}</tspan>", exponent);
    return std::abs(lead - 1) < 1e-6 ? power : fmt::format("{:.3g}\u00b7{}", lead, power);
  }
  std::string text = fmt::format("{:.6g}", value);
  if (size >= 1e4) text.insert(text.size() - 3, "\u2009");
  return text;
}

bool drawable(double value, Axis const& axis) { return std::isfinite(value) && (!axis.logarithmic || value > 0); }

/// An axis with its range and its place on the page.
class Scale {
 public:
  Scale(Axis const& axis, std::vector<double> const& values, double begin, double end) : axis_(axis), begin_(begin), end_(end) {
    low_ = std::numeric_limits<double>::infinity();
    high_ = -low_;
    for (double const v : values)
      if (drawable(v, axis)) {
        low_ = std::min(low_, v);
        high_ = std::max(high_, v);
      }
    if (!(low_ <= high_)) {
      low_ = axis.logarithmic ? 1 : 0;
      high_ = axis.logarithmic ? 10 : 1;
    }
    if (axis.logarithmic) {
      double const room = std::max(std::pow(high_ / low_, 0.04), 1.05);
      low_ /= room;
      high_ *= room;
    } else {
      double const room = high_ > low_ ? 0.04 * (high_ - low_) : std::max(0.5 * std::abs(high_), 0.5);
      bool const from_zero = low_ >= 0 && low_ - room <= 0.2 * high_;
      low_ = from_zero ? 0 : low_ - room;
      high_ += room;
    }
    if (axis.low) low_ = *axis.low;
    if (axis.high) high_ = *axis.high;
    if (!axis.ticks.empty())
      ticks_ = axis.ticks;
    else if (axis.logarithmic)
      logarithmic_ticks();
    else
      linear_ticks();
    std::erase_if(ticks_, [&](double t) { return !(t >= low_ * (1 - 1e-12) - 1e-300 && t <= high_ * (1 + 1e-12)); });
  }

  [[nodiscard]] double operator()(double value) const {
    double const t = axis_.logarithmic ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    return begin_ + t * (end_ - begin_);
  }
  [[nodiscard]] std::vector<double> const& ticks() const { return ticks_; }
  [[nodiscard]] std::vector<double> const& minor() const { return minor_; }

 private:
  void linear_ticks() {
    double const rough = (high_ - low_) / 5;
    double const power = std::pow(10.0, std::floor(std::log10(rough)));
    double const lead = rough / power;
    double const step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
    for (double t = std::ceil(low_ / step); t * step <= high_ * (1 + 1e-12); ++t) ticks_.push_back(t == 0 ? 0 : t * step);
  }
  void logarithmic_ticks() {
    double const decades = std::log10(high_ / low_);
    int const first = static_cast<int>(std::floor(std::log10(low_)));
    int const last = static_cast<int>(std::ceil(std::log10(high_)));
    int const every = std::max(1, static_cast<int>(std::ceil(decades / 8)));
    for (int e = first; e <= last; ++e)
      for (int digit = 1; digit <= 9; ++digit) {
        double const t = digit * std::pow(10.0, e);
        if (t < low_ || t > high_) continue;
        bool const labelled = decades < 2.2 ? digit == 1 || digit == 2 || digit == 5 : digit == 1 && (e - first) % every == 0;
        if (labelled)
          ticks_.push_back(t);
        else if (decades < 8)
          minor_.push_back(t);
      }
  }

  Axis const& axis_;
  double begin_, end_;
  double low_ = 0, high_ = 1;
  std::vector<double> ticks_;
  std::vector<double> minor_;
};

/// Moves the labels' heights as little as needed to keep them a line apart and inside [top, bottom].
std::vector<double> spread_apart(std::vector<double> const& wanted, double top, double bottom) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return wanted[i] < wanted[j]; });
  std::vector<double> at = wanted;
  double lowest = top;
  for (auto const i : order) lowest = (at[i] = std::max(at[i], lowest)) + line_height;
  double highest = bottom;
  for (auto it = order.rbegin(); it != order.rend(); ++it) highest = (at[*it] = std::min(at[*it], highest)) - line_height;
  return at;
}

void draw(std::string& text, Chart const& chart, double left, double top, double width, double height) {
  auto out = std::back_inserter(text);
  std::vector<double> xs, ys;
  std::size_t longest = 0;
  for (Series const& s : chart.series) {
    if (s.x.size() != s.y.size() || s.low.size() != s.high.size() || (!s.low.empty() && s.low.size() != s.x.size()))
      throw Error(fmt::format("chart '{}': series '{}' has {} x, {} y, {} low and {} high values", chart.title, s.label, s.x.size(),
                              s.y.size(), s.low.size(), s.high.size()));
    xs.insert(xs.end(), s.x.begin(), s.x.end());
    for (auto const* values : {&s.y, &s.low, &s.high}) ys.insert(ys.end(), values->begin(), values->end());
    longest = std::max(longest, s.label.size());
  }
  double const x0 = left + 74;
  double const x1 = left + width - (longest > 0 ? 40 + 1.15 * character * static_cast<double>(longest) : 20);
  double const y0 = top + height - 54;
  double const y1 = top + (chart.subtitle.empty() ? 44 : 60);
  Scale const x(chart.x, xs, x0, x1);
  Scale const y(chart.y, ys, y0, y1);

  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"title\">{}</text>\n", x0, top + 24, escaped(chart.title));
  if (!chart.subtitle.empty())
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small\">{}</text>\n", x0, top + 43, escaped(chart.subtitle));

  // grid and labels; labels that would touch their neighbour are skipped
  double free = -1e9;
  for (double const t : x.ticks()) {
    double const at = x(t);
    std::string const label = number_text(t);
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}V{:.1f}\" class=\"grid\"/>\n", at, y0, y1);
    double const half = 0.5 * character * static_cast<double>(std::min<std::size_t>(label.size(), 6));
    if (at - half < free) continue;
    free = at + half + 4;
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", at, y0 + 18, label);
  }
  for (double const t : x.minor()) fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}v4\" class=\"axis\"/>\n", x(t), y0);
  for (double const t : y.ticks()) {
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}H{:.1f}\" class=\"grid\"/>\n", x0, y(t), x1);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", x0 - 8, y(t) + 4, number_text(t));
  }
  for (double const t : y.minor()) fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}h-4\" class=\"axis\"/>\n", x0, y(t));
  fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" class=\"axis\"/>\n", x0, y1, y0, x1);
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", (x0 + x1) / 2, y0 + 40, escaped(chart.x.label));
  fmt::format_to(out, "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", left + 18,
                 (y0 + y1) / 2, escaped(chart.y.label));

  auto const colour_of = [&](std::size_t k) {
    int const chosen = chart.series[k].colour;
    return palette[(chosen >= 0 ? static_cast<std::size_t>(chosen) : k) % palette.size()];
  };
  auto const clamp_y = [&](double at) { return std::clamp(at, y1, y0); };
  auto const inside = [&](double px, double py) { return px >= x0 - 0.5 && px <= x1 + 0.5 && py >= y1 - 0.5 && py <= y0 + 0.5; };
  for (std::size_t k = 0; k < chart.series.size(); ++k) {
    Series const& s = chart.series[k];
    if (s.low.empty()) continue;
    std::string forward;
    std::string back;
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      if (!drawable(s.x[i], chart.x) || !std::isfinite(s.low[i]) || !drawable(s.high[i], chart.y)) continue;
      double const low = drawable(s.low[i], chart.y) ? clamp_y(y(s.low[i])) : y0;
      forward += fmt::format("{:.1f} {:.1f} ", x(s.x[i]), clamp_y(y(s.high[i])));
      back.insert(0, fmt::format("{:.1f} {:.1f} ", x(s.x[i]), low));
    }
    fmt::format_to(out, "<polygon points=\"{}{}\" fill=\"{}\" fill-opacity=\"0.16\"/>\n", forward, back, colour_of(k));
  }
  std::vector<double> ends;
  std::vector<std::size_t> labelled;
  for (std::size_t k = 0; k < chart.series.size(); ++k) {
    Series const& s = chart.series[k];
    std::string path;
    std::string marks;
    bool pen_down = false;
    double last_y = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      bool const good = drawable(s.x[i], chart.x) && drawable(s.y[i], chart.y);
      double const px = good ? x(s.x[i]) : 0;
      double const py = good ? y(s.y[i]) : 0;
      if (!good || !inside(px, py)) {
        pen_down = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", px, py);
      if (s.markers) marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", px, py);
      pen_down = true;
      last_y = py;
    }
    if (path.empty()) continue;
    fmt::format_to(out, "<path d=\"{}\" class=\"line\" stroke=\"{}\"{}/>\n", path, colour_of(k),
                   s.dashed ? " stroke-dasharray=\"6 4\"" : "");
    if (!marks.empty()) fmt::format_to(out, "<g fill=\"{}\">{}</g>\n", colour_of(k), marks);
    if (!s.label.empty()) {
      ends.push_back(last_y);
      labelled.push_back(k);
    }
  }
  std::vector<double> const heights = spread_apart(ends, y1 + 4, y0 - 4);
  for (std::size_t i = 0; i < labelled.size(); ++i) {
    Series const& s = chart.series[labelled[i]];
    char const* const colour = colour_of(labelled[i]);
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}h14\" class=\"line\" stroke=\"{}\"{}/>\n", x1 + 6, heights[i], colour,
                   s.dashed ? " stroke-dasharray=\"4 3\"" : "");
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" style=\"fill:{}\" class=\"label\">{}</text>\n", x1 + 24, heights[i] + 4, colour,
                   escaped(s.label));
  }
}

}  // namespace

std::string svg(std::vector<Chart> const& charts, Page const& page) {
  int const columns = std::max(1, page.columns);
  int const rows = (static_cast<int>(charts.size()) + columns - 1) / columns;
  int const top = page.title.empty() ? 6 : 44;
  int const width = columns * page.chart_width;
  int const height = top + rows * page.chart_height + (page.footnote.empty() ? 6 : 30);
  std::string text;
  fmt::format_to(
      std::back_inserter(text),
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<style>text{{font-family:'DejaVu Sans',Verdana,Arial,sans-serif;font-size:12px;fill:#222}}.head{{font-size:18px;font-weight:bold}}"
      ".title{{font-size:15px;font-weight:bold}}.small{{font-size:11px;fill:#555}}.label{{font-weight:bold}}"
      ".grid{{stroke:#e3e3e3;stroke-width:1}}.axis{{stroke:#444;stroke-width:1;fill:none}}.line{{stroke-width:2;fill:none;stroke-linejoin:"
      "round}}"
      "</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      width, height);
  if (!page.title.empty()) text += fmt::format("<text x=\"20\" y=\"32\" class=\"head\">{}</text>\n", escaped(page.title));
  for (std::size_t k = 0; k < charts.size(); ++k) {
    int const column = static_cast<int>(k) % columns;
    int const row = static_cast<int>(k) / columns;
    draw(text, charts[k], column * page.chart_width, top + row * page.chart_height, page.chart_width, page.chart_height);
  }
  if (!page.footnote.empty())
    text += fmt::format("<text x=\"20\" y=\"{}\" class=\"small\">{}</text>\n", height - 12, escaped(page.footnote));
  return text + "</svg>\n";
}

void write_file(std::string const& path, std::string const& text) {
  std::string const temporary = path + ".part";
  errno = 0;
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string const reason = std::strerror(errno);
    std::remove(temporary.c_str());
    throw Error(fmt::format("cannot write '{}': {}", path, reason));
  }
}

}  // namespace myriad::plot
