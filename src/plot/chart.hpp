#pragma once
/// Line charts as SVG, for `myriad bench --plot` and the examples. Not part of the installed library.

#include <optional>
#include <string>
#include <vector>

namespace myriad::plot {

/// One line of a chart.
struct Series {
  std::string label;  ///< written at the end of the line; empty: none
  std::vector<double> x;
  std::vector<double> y;      ///< points that are not finite (or not positive on a logarithmic axis) interrupt the line
  std::vector<double> low{};  ///< with `high`: a band drawn behind the line, such as a range over many cells
  std::vector<double> high{};
  bool dashed = false;
  bool markers = true;
  int colour = -1;  ///< index into the palette; -1: the position in the chart
};

struct Axis {
  std::string label;  ///< with its unit
  bool logarithmic = false;
  std::optional<double> low{};   ///< range; without it, that of the data
  std::optional<double> high{};  ///< see `low`
  std::vector<double> ticks{};   ///< positions of labels; empty: round numbers
};

struct Chart {
  std::string title;
  std::string subtitle{};
  Axis x;
  Axis y;
  std::vector<Series> series;
};

/// A text line in small print below the charts and the width of one chart.
struct Page {
  std::string title{};
  std::string footnote{};
  int columns = 1;
  int chart_width = 760;
  int chart_height = 460;
};

/// An SVG document with the charts in a grid. Throws myriad::Error for a series whose x and y differ in length.
[[nodiscard]] std::string svg(std::vector<Chart> const& charts, Page const& page = {});

/// Writes `text` to the file, through a temporary file that is renamed. Throws myriad::Error with the path and the reason.
void write_file(std::string const& path, std::string const& text);

}  // namespace myriad::plot
