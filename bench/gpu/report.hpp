#pragma once
/// Tables and pictures of results, of this run or of files of earlier runs.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu/run.hpp"
#include "myriad/error.hpp"
#include "plot/chart.hpp"

namespace myriad::bench {

using Json = nlohmann::ordered_json;

/// Layout and triangle of a row.
inline std::string layout_of(Json const& row) {
  return (row.contains("columns") ? fmt::format("{} columns, ", row.at("columns").get<int>()) : "") + row.at("layout").get<std::string>() +
         (row.contains("uplo") ? ", " + row.at("uplo").get<std::string>() : "");
}

/// Widths of table columns, as far as known before anything is measured.
struct TableColumns {
  std::size_t routine = 7;

  explicit TableColumns(std::vector<std::string> const& routines) {
    for (std::string const& name : routines) routine = std::max(routine, name.size());
  }
};
/// A Markdown table, aligned to be readable as plain text.
inline std::string table_head(TableColumns const& columns) {
  return fmt::format("| {:<{}} | {:<4} | {:<12} | {:>5} | {:>8} | {:>13} | {:>18} | {:>12} | {:>8} | best peer, ns\n", "routine",
                     columns.routine, "type", "layout", "n", "count", "ns per matrix", "share of copy rate", "times faster", "of limit") +
         fmt::format("|-{:-<{}}-|-{:-<4}-|-{:-<12}-|-{:-<5}-|-{:-<8}-|-{:-<13}-|-{:-<18}-|-{:-<12}-|-{:-<8}-|---\n", "", columns.routine,
                     "", "", "", "", "", "", "", "");
}
inline std::string table_row(Json const& row, TableColumns const& columns) {
  double best = 0;
  std::string name;
  for (auto const& [peer, value] : row.at("peers").items())
    if (double const ns = value.at("ns_per_matrix"); best == 0 || ns < best) {
      best = ns;
      name = peer;
    }
  double const ns = row.at("ns_per_matrix");
  Json const& error = row.at("error");  // JSON writes NaN as null
  return fmt::format("| {:<{}} | {:<4} | {:<12} | {:>5} | {:>8} | {:>13.3f} | {:>17.0f}% | {:>12} | {:>8} | {}\n",
                     row.at("routine").get<std::string>(), columns.routine, row.at("dtype").get<std::string>(), layout_of(row),
                     row.at("n").get<int>(), row.value("count", std::int64_t{0}), ns, 100 * row.at("share_of_copy_rate").get<double>(),
                     best > 0 ? fmt::format("{:.1f}", best / ns) : "-",
                     fmt::format("{:.2g}{}", error.is_null() ? std::numeric_limits<double>::quiet_NaN() : error.get<double>(),
                                 row.value("pass", true) ? "" : ", WRONG"),
                     best > 0 ? fmt::format("{:.3f} ({})", best, name) : "-");
}
inline std::string table(Json const& rows) {
  std::vector<std::string> routines;
  for (Json const& row : rows) routines.push_back(row.at("routine"));
  TableColumns const columns(routines);
  std::string out = table_head(columns);
  for (Json const& row : rows) out += table_row(row, columns);
  return out;
}

/// Adds a point to the line with this label, which is created if missing. Points are sorted by x; a later point at the same x replaces the
/// earlier one.
inline void add_point(plot::Chart& chart, plot::Series const& like, double x, double y) {
  auto found = std::find_if(chart.series.begin(), chart.series.end(), [&](plot::Series const& s) { return s.label == like.label; });
  if (found == chart.series.end()) found = chart.series.insert(chart.series.end(), like);
  auto const at = std::lower_bound(found->x.begin(), found->x.end(), x);
  auto const index = at - found->x.begin();
  if (at != found->x.end() && *at == x) {
    found->y[static_cast<std::size_t>(index)] = y;
    return;
  }
  found->x.insert(at, x);
  found->y.insert(found->y.begin() + index, y);
}

/// The chart with the title of `like`, added as `like` if missing.
inline plot::Chart& chart_of(std::vector<plot::Chart>& charts, plot::Chart const& like) {
  auto const found = std::find_if(charts.begin(), charts.end(), [&](plot::Chart const& c) { return c.title == like.title; });
  return found == charts.end() ? charts.emplace_back(like) : *found;
}

/// Axis of sizes; a logarithmic one with powers of two for a wide range.
inline plot::Axis axis_of_sizes(Json const& rows) {
  int least = std::numeric_limits<int>::max(), most = 0;
  for (Json const& row : rows) {
    int const n = row.at("n");
    least = std::min(least, n);
    most = std::max(most, n);
  }
  plot::Axis out{.label = "n", .logarithmic = most >= 32 * least};
  if (out.logarithmic)
    for (double n = 1; n <= most; n *= 2)
      if (n >= least) out.ticks.push_back(n);
  return out;
}

/// Share of the copy rate against n: a chart per routine, a line per type and layout, and the best peer of each.
inline std::vector<plot::Chart> shares(Json const& rows) {
  std::vector<plot::Chart> out;
  for (Json const& row : rows) {
    plot::Chart& chart = chart_of(out, {.title = row.at("routine"),
                                        .subtitle = "Least traffic over time, as a share of a copy's rate",
                                        .x = axis_of_sizes(rows),
                                        .y = {.label = "share of the copy rate, %", .low = 0, .high = 105},
                                        .series = {}});
    std::string const layout = layout_of(row), type = row.at("dtype");
    std::string const label = type + (layout == "column_major" ? "" : " " + layout);
    double const share = 100 * row.at("share_of_copy_rate").get<double>(), n = row.at("n");
    add_point(chart, {.label = label, .x = {}, .y = {}}, n, share);
    if (row.contains("times_faster_than_best_peer"))
      add_point(chart, {.label = label + " best peer", .x = {}, .y = {}, .dashed = true}, n,
                share / row.at("times_faster_than_best_peer").get<double>());
  }
  return out;
}

/// Time per matrix against n: a chart per routine and type, a line per layout, the best peer, and the time of a copy of the least traffic.
inline std::vector<plot::Chart> curves(Json const& rows) {
  std::vector<plot::Chart> out;
  for (Json const& row : rows) {
    plot::Chart& chart = chart_of(out, {.title = row.at("routine").get<std::string>() + ", " + row.at("dtype").get<std::string>(),
                                        .x = axis_of_sizes(rows),
                                        .y = {.label = "ns per matrix", .logarithmic = true},
                                        .series = {}});
    double const ns = row.at("ns_per_matrix"), n = row.at("n");
    std::string const layout = layout_of(row);
    auto const add = [&](std::string const& label, double y, bool dashed) {
      add_point(chart, {.label = label, .x = {}, .y = {}, .dashed = dashed, .markers = false}, n, y);
    };
    add(layout == "column_major" ? "Myriad" : layout, ns, false);
    if (row.contains("times_faster_than_best_peer"))
      add(layout == "column_major" ? "best peer" : layout + " best peer", ns * row.at("times_faster_than_best_peer").get<double>(), false);
    if (layout == "column_major") add("copy", ns * row.at("share_of_copy_rate").get<double>(), true);
  }
  return out;
}

/// Roofline of square complex 16-bit products C += A B of 8 n^3 operations: operations per byte of traffic against operations per second.
/// Interleaved matrices are three reads and one write, 16 n^2 bytes. Planar ones are four real products, which read and write the real and
/// the imaginary part of C twice each, 32 n^2 bytes.
inline std::vector<plot::Chart> intensities(Json const& rows, double copy_rate) {
  plot::Axis const x{.label = "n", .logarithmic = true, .ticks = axis_of_sizes(rows).ticks};
  plot::Chart intensity{.title = "Arithmetic intensity of complex half products",
                        .subtitle = "Operations to a byte of least traffic",
                        .x = x,
                        .y = {.label = "flops per byte", .logarithmic = true},
                        .series = {}};
  plot::Chart rate{.title = "Measured, and what memory admits",
                   .subtitle = "Dashed: the rate of a copy times the intensity",
                   .x = x,
                   .y = {.label = "Tflop/s", .logarithmic = true},
                   .series = {}};
  for (Json const& row : rows) {
    if (row.at("routine") != "gemm" || row.at("dtype") != "complex_half" || layout_of(row) != "column_major") continue;
    double const n = row.at("n"), flops = 8 * n * n * n, interleaved = flops / (16 * n * n), planar = flops / (32 * n * n);
    auto const line = [](char const* label, int colour, bool dashed) {
      return plot::Series{.label = label, .x = {}, .y = {}, .dashed = dashed, .markers = !dashed, .colour = colour};
    };
    add_point(intensity, line("interleaved", 0, false), n, interleaved);
    add_point(intensity, line("planar", 1, false), n, planar);
    add_point(rate, line("interleaved: Myriad", 0, false), n, flops / row.at("ns_per_matrix").get<double>() * 1e-3);
    for (auto const& [peer, value] : row.at("peers").items())
      if (peer.find("planar") != std::string::npos)
        add_point(rate, line("planar: cuBLAS", 1, false), n, flops / value.at("ns_per_matrix").get<double>() * 1e-3);
    add_point(rate, line("interleaved, memory", 0, true), n, interleaved * copy_rate * 1e-12);
    add_point(rate, line("planar, memory", 1, true), n, planar * copy_rate * 1e-12);
  }
  return {intensity, rate};
}

/// GPU and commit of the results.
inline std::string headline(Json const& results) {
  return fmt::format("{}, copy {:.0f} GB/s, commit {}\n", results.at("gpu").get<std::string>(),
                     results.at("copy_rate").get<double>() * 1e-9, results.at("commit").get<std::string>());
}

/// Draws the pictures that the options name.
inline void draw(Json const& results, Options const& options) {
  std::string const gpu = results["gpu"], commit = results["commit"], date = results["date"];
  auto const write = [&](std::string const& path, std::vector<plot::Chart> const& charts) {
    if (path.empty()) return;
    plot::write_file(path, plot::svg(charts, {.title = "Myriad on " + gpu,
                                              .footnote = fmt::format("{}, commit {}", date, commit),
                                              .columns = charts.size() > 1 ? 2 : 1}));
  };
  write(options.plot, shares(results["rows"]));
  write(options.curves, curves(results["rows"]));
  if (!options.intensity.empty()) write(options.intensity, intensities(results["rows"], results["copy_rate"]));
}

/// Concatenates the rows of several files of `--json` from one GPU; other values are those of the first file. Throws Error.
inline Json read_results(std::vector<std::string> const& paths) {
  Json out;
  for (std::string const& path : paths) {
    std::ifstream file(path);
    if (!file) throw Error(fmt::format("{} cannot be read", path));
    Json results;
    try {
      results = Json::parse(file);
      // All values that are used
      for (char const* const key : {"gpu", "commit", "date"}) static_cast<void>(results.at(key).get<std::string>());
      static_cast<void>(results.at("copy_rate").get<double>());
      if (!results.at("rows").is_array()) throw Error(fmt::format("{}: 'rows' is no list", path));
      static_cast<void>(table(results["rows"]));
    } catch (nlohmann::json::exception const& problem) {
      throw Error(fmt::format("{} holds no results of gpu_bench: {}", path, problem.what()));
    }
    if (out.is_null()) {
      out = std::move(results);
      continue;
    }
    if (out["gpu"] != results["gpu"]) throw Error(fmt::format("{} is of another GPU than {}", path, paths.front()));
    std::string const commit = results["commit"];
    if (out["commit"].get<std::string>().find(commit) == std::string::npos)
      out["commit"] = out["commit"].get<std::string>() + ", " + commit;
    for (Json& row : results["rows"]) out["rows"].push_back(std::move(row));
  }
  return out;
}

}  // namespace myriad::bench
