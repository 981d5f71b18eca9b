/// The charts: well-formed, everything labelled, errors named.

#include "plot/chart.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "myriad/error.hpp"

namespace myriad::plot {
namespace {

std::size_t occurrences(std::string const& text, std::string const& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Chart example() {
  return {.title = "a < b",
          .subtitle = "sub",
          .x = {.label = "size n", .logarithmic = true, .ticks = {4, 8, 16}},
          .y = {.label = "time, ns", .logarithmic = true},
          .series = {{.label = "one", .x = {4, 8, 16}, .y = {1, 10, 100}}, {.label = "two", .x = {4, 8, 16}, .y = {2, 20, 2000}}}};
}

TEST(Chart, SaysWhatItShows) {
  std::string const text = svg({example()}, {.title = "head", .footnote = "foot"});
  for (char const* const part : {"a &lt; b", "sub", "size n", "time, ns", ">one<", ">two<", "head", "foot", ">4<", ">16<", ">100<"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_EQ(occurrences(text, "<circle"), 6U);
  EXPECT_EQ(occurrences(text, "<svg"), 1U);
  EXPECT_EQ(occurrences(text, "<text"), occurrences(text, "</text>"));
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(Chart, PointsThatCannotBeDrawnInterruptTheLine) {
  Chart chart = example();
  chart.series = {{.label = "gap", .x = {4, 5, 6, 7, 8}, .y = {1, 2, std::numeric_limits<double>::quiet_NaN(), 0, 8}}};
  std::string const text = svg({chart});
  EXPECT_EQ(occurrences(text, "<circle"), 3U);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(Chart, NoPointsAtAll) {
  Chart chart = example();
  chart.series.clear();
  EXPECT_NO_THROW((void)svg({chart}));
  EXPECT_NO_THROW((void)svg({}));
}

TEST(Chart, RefusesSeriesOfDifferentLengths) {
  Chart chart = example();
  chart.series[0].y.pop_back();
  EXPECT_THROW((void)svg({chart}), Error);
}

TEST(Chart, FilesAreWrittenWholeOrNotAtAll) {
  std::string const path = testing::TempDir() + "chart_test.svg";
  write_file(path, "text");
  std::ifstream file(path);
  std::string content;
  file >> content;
  EXPECT_EQ(content, "text");
  std::remove(path.c_str());
  try {
    write_file("/nonexistent/folder/x.svg", "text");
    FAIL();
  } catch (Error const& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/folder/x.svg"), std::string::npos);
  }
}

}  // namespace
}  // namespace myriad::plot
