#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mechanism.hpp"
#include "plot/chart.hpp"

namespace atmosphere {
namespace {

struct Panel {
  int species;
  char const* title;
  char const* unit;
  double per_ppm;            ///< units in one ppm
  bool logarithmic = false;  ///< for species that fall by a factor within the first minute and change little afterwards
};

constexpr Panel panels[] = {
    {NO, "Nitric oxide, NO", "ppb", 1e3},
    {NO2, "Nitrogen dioxide, NO\u2082", "ppb", 1e3},
    {O3, "Ozone, O\u2083", "ppb", 1e3, true},
    {HCHO, "Formaldehyde, HCHO", "ppb", 1e3},
    {ALD, "Higher aldehydes, ALD", "ppb", 1e3},
    {PAN, "Peroxyacetyl nitrate, PAN", "ppt", 1e6},
    {HNO3, "Nitric acid, HNO\u2083", "ppb", 1e3},
    {OH, "Hydroxyl radical, OH", "ppt", 1e6},
    {HO2, "Hydroperoxyl radical, HO\u2082", "ppt", 1e6},
};

/// The quantile: a share of the cells is below this value.
double quantile(std::vector<float>& values, double share) {
  auto const position = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), position, values.end());
  return *position;
}

}  // namespace

std::vector<int> picture_species() {
  std::vector<int> species;
  for (Panel const& panel : panels) species.push_back(panel.species);
  return species;
}

std::string picture(Recorder const& recorder) {
  using myriad::plot::Axis, myriad::plot::Chart, myriad::plot::Series;
  std::vector<Chart> charts;
  for (std::size_t s = 0; s < std::size(panels); ++s) {
    Panel const& panel = panels[s];
    Series cells{.label = "", .x = {}, .y = {}, .markers = false, .colour = 0};
    Series published{.label = "", .x = {}, .y = {}, .dashed = true, .markers = false, .colour = 1};
    for (int point = 0; point < recorder.points(); ++point) {
      std::vector<float> values = recorder.across_cells(s, point);
      published.x.push_back(recorder.time(point));
      published.y.push_back(values[0] * panel.per_ppm);
      cells.x.push_back(recorder.time(point));
      cells.low.push_back(quantile(values, 0.05) * panel.per_ppm);
      cells.y.push_back(quantile(values, 0.5) * panel.per_ppm);
      cells.high.push_back(quantile(values, 0.95) * panel.per_ppm);
    }
    Series const reference{.label = "", .x = {end_time}, .y = {reference_solution[panel.species] * panel.per_ppm}, .colour = 1};
    std::string const label = fmt::format("mixing ratio ({})", panel.unit);
    charts.push_back({.title = panel.title,
                      .x = {.label = "time (min)", .low = 0, .high = end_time, .ticks = {0, 10, 20, 30, 40, 50, 60}},
                      .y = panel.logarithmic ? Axis{.label = label, .logarithmic = true} : Axis{.label = label, .low = 0},
                      .series = {cells, published, reference}});
  }
  return myriad::plot::svg(
      charts, {.title = "Photochemical smog over one hour",
               .footnote = fmt::format(
                   "POLLU mechanism (Verwer 1994). Blue: median over {} cells of varied temperature, light, humidity and emissions; "
                   "band: 5 to 95 % of the cells. Orange, dashed: the published cell; point: its published value at 60 min.",
                   recorder.curve_cells()),
               .columns = 3,
               .chart_width = 420,
               .chart_height = 300});
}

}  // namespace atmosphere
