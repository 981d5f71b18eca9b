/// Combustion kinetics: linear systems of an implicit integrator in PeleLM, from three mechanisms, with entries over up to eighty orders of
/// magnitude. A norm of the residual is meaningless for them, since small components may be all wrong. Library and program must solve every
/// system to a small componentwise backward error.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <myriad/myriad.hpp>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "io/mapped_file.hpp"
#include "io/matrix_market.hpp"
#include "io/npy.hpp"

namespace {

namespace fs = std::filesystem;

constexpr double accurate = 1e-14;

struct Mechanism {
  char const* name;
  std::int64_t size;
  std::int64_t count;
};

/// Row-major matrices, right-hand sides and scalings of all cells of a mechanism.
struct Systems {
  std::int64_t n = 0, count = 0;
  std::vector<double> a, b, s;

  [[nodiscard]] myriad::Batch<double const> matrices() const { return myriad::row_major(a.data(), n, n, {.count = count}); }
  [[nodiscard]] myriad::Batch<double const> right_sides() const { return myriad::vectors(b.data(), n, count); }
};

std::vector<double> read_market(fs::path const& path, std::int64_t rows, std::int64_t cols) {
  myriad::io::MappedFile const file(path);
  auto const header = myriad::io::parse_market_header(file.bytes(), file.path());
  EXPECT_EQ(header.rows, rows) << path;
  EXPECT_EQ(header.cols, cols) << path;
  std::vector<double> elements(static_cast<std::size_t>(header.rows * header.cols));
  myriad::io::parse_market(file.bytes(), header, file.path(), elements.data());
  return elements;
}

void append(std::vector<double>& to, std::vector<double> const& from) { to.insert(to.end(), from.begin(), from.end()); }

/// Componentwise backward errors of X, one per system.
std::vector<double> backward_errors(Systems const& systems, std::vector<double> const& x) {
  std::vector<double> errors(static_cast<std::size_t>(systems.count), std::numeric_limits<double>::quiet_NaN());
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  myriad::backward_error(queue, systems.matrices(), myriad::vectors(x.data(), systems.n, systems.count), systems.right_sides(),
                         myriad::vectors(errors.data(), 1, systems.count));
  queue.wait();
  return errors;
}

struct Summary {
  double worst = 0;  ///< NaN if any is NaN
  std::int64_t worst_system = -1;
  std::int64_t not_accurate = 0;
};
Summary summary(std::vector<double> const& errors) {
  Summary result;
  for (std::size_t k = 0; k < errors.size(); ++k) {
    result.not_accurate += !(errors[k] <= accurate);
    if (result.worst_system < 0 || errors[k] > result.worst || std::isnan(errors[k])) {
      result.worst = errors[k];
      result.worst_system = static_cast<std::int64_t>(k);
    }
  }
  return result;
}

std::vector<double> solve_plainly(Systems const& systems) {
  std::vector<double> x(systems.b.size());
  std::vector<int> info(static_cast<std::size_t>(systems.count));
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  myriad::solve(queue, systems.matrices(), systems.right_sides(), myriad::vectors(x.data(), systems.n, systems.count), info.data());
  queue.wait();
  EXPECT_EQ(std::count(info.begin(), info.end(), 0), systems.count);
  return x;
}

/// Scale to diag(r) A diag(c) y = diag(r) b, factor, solve, refine, x = diag(c) y. All scalings are powers of two, so that the backward
/// errors of y are those of x. `layout` places `count` n-by-m matrices over an array.
template <typename Layout>
std::vector<double> solve_carefully(Systems const& systems, Layout const& layout) {
  std::int64_t const n = systems.n, count = systems.count;
  std::vector<double> a_storage(systems.a.size()), factor_storage(systems.a.size()), b_storage(systems.b.size()),
      x_storage(systems.b.size());
  std::vector<double> r_storage(systems.b.size()), c_storage(systems.b.size()), reported(static_cast<std::size_t>(count));
  std::vector<int> pivot_storage(systems.b.size()), info(static_cast<std::size_t>(count));
  auto const a = layout(a_storage.data(), n, n), factors = layout(factor_storage.data(), n, n);
  auto const b = layout(b_storage.data(), n, 1), x = layout(x_storage.data(), n, 1);
  auto const r = layout(r_storage.data(), n, 1), c = layout(c_storage.data(), n, 1);
  auto const pivots = layout(pivot_storage.data(), n, 1);
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < n; ++i) {
      *b.at(k, i, 0) = *systems.right_sides().at(k, i, 0);
      for (std::int64_t j = 0; j < n; ++j) *a.at(k, i, j) = *systems.matrices().at(k, i, j);
    }

  myriad::Queue queue({.backend = myriad::Backend::cpu});
  myriad::geequ(queue, a, r, c, nullptr, nullptr, nullptr, info.data());
  EXPECT_EQ(std::count(info.begin(), info.end(), 0), count);
  myriad::laqge<double>(queue, a, r, c);
  myriad::laqge<double>(queue, b, r, {});
  queue.wait();
  factor_storage = a_storage;
  x_storage = b_storage;
  myriad::getrf(queue, factors, pivots, info.data());
  EXPECT_EQ(std::count(info.begin(), info.end(), 0), count);
  myriad::getrs<double>(queue, myriad::Op::none, factors, pivots, x);
  myriad::gerfs<double>(queue, myriad::Op::none, a, factors, pivots, b, x, {}, myriad::vectors(reported.data(), 1, count));
  myriad::laqge<double>(queue, x, c, {});
  queue.wait();

  std::vector<double> result(systems.b.size());
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < n; ++i) result[static_cast<std::size_t>(k * n + i)] = *x.at(k, i, 0);
  // gerfs reports the error of the original system, up to rounding in the working precision.
  std::vector<double> const errors = backward_errors(systems, result);
  for (std::int64_t k = 0; k < count; ++k) EXPECT_NEAR(reported[k], errors[k], 2e-15 * static_cast<double>(n)) << "system " << k;
  return result;
}

class Pele : public testing::TestWithParam<Mechanism> {
 protected:
  void SetUp() override {
    fs::path const archive = fs::path(MYRIAD_SHARED_DATA) / "pele" / (std::string(GetParam().name) + ".tar.xz");
    if (!fs::exists(archive)) GTEST_SKIP() << "needs " << archive << ", which is not here";
    std::string pattern = (fs::temp_directory_path() / "myriad-pele-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr) << pattern;
    folder_ = pattern;
    ASSERT_EQ(
        shell(fmt::format("'{0}' -E chdir '{1}' '{0}' -E tar xf '{2}'", MYRIAD_CMAKE, folder_.string(), fs::absolute(archive).string())),
        0);
    auto const [name, n, count] = GetParam();
    systems_ = {.n = n, .count = count, .a = {}, .b = {}, .s = {}};
    for (std::int64_t k = 0; k < count; ++k) {
      fs::path const cell = folder_ / name / std::to_string(k);
      append(systems_.a, read_market(cell / "A.mtx", n, n));
      append(systems_.b, read_market(cell / "b.mtx", n, 1));
      append(systems_.s, read_market(cell / "S.mtx", n, 1));
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  static int shell(std::string const& command) {
    int const status = std::system(command.c_str());  // NOLINT: the command is ours
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// S A S^-1, S b: the integrator's input to its linear solver.
  [[nodiscard]] Systems scaled() const {
    Systems result = systems_;
    for (std::int64_t k = 0; k < result.count; ++k)
      for (std::int64_t i = 0; i < result.n; ++i) {
        double const* const s = &result.s[static_cast<std::size_t>(k * result.n)];
        result.b[static_cast<std::size_t>(k * result.n + i)] *= s[i];
        for (std::int64_t j = 0; j < result.n; ++j) result.a[static_cast<std::size_t>((k * result.n + i) * result.n + j)] *= s[i] / s[j];
      }
    return result;
  }

  /// Solves in both ways, prints the errors, and expects the careful way to be accurate.
  void expect_accurate(Systems const& systems, char const* which) const {
    Summary const plain = summary(backward_errors(systems, solve_plainly(systems)));
    std::vector<double> const errors = backward_errors(systems, solve_carefully(systems, [&](auto* data, std::int64_t m, std::int64_t k) {
                                                         return myriad::row_major(data, m, k, {.count = systems.count});
                                                       }));
    Summary const careful = summary(errors);
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    for (double const e : systems.a)
      if (e != 0) {
        smallest = std::min(smallest, std::fabs(e));
        largest = std::max(largest, std::fabs(e));
      }
    fmt::print(
        "{} {}: {} systems of {} unknowns, elements {:.0e} to {:.0e}; worst componentwise backward error: plain LU {:.1e} ({} of {} above "
        "{:.0e}), "
        "equilibrated and refined {:.1e} ({} above)\n",
        GetParam().name, which, systems.count, systems.n, smallest, largest, plain.worst, plain.not_accurate, systems.count, accurate,
        careful.worst, careful.not_accurate);
    for (std::size_t k = 0; k < errors.size(); ++k) EXPECT_LE(errors[k], accurate) << which << " system " << k;
    ASSERT_FALSE(std::isnan(careful.worst));
    std::vector<double> const interleaved_errors = backward_errors(
        systems, solve_carefully(
                     systems, [&](auto* data, std::int64_t m, std::int64_t k) { return myriad::interleaved(data, m, k, systems.count); }));
    EXPECT_EQ(summary(interleaved_errors).not_accurate, 0) << which << ", interleaved";
    if (&systems == &systems_) {
      EXPECT_EQ(plain.not_accurate, systems.count) << "plain LU is good enough for the raw systems: then this test proves nothing";
    }
  }

  /// Runs `myriad solve` and checks its report and its output file.
  void expect_program(std::string const& a, std::string const& b, Systems const& systems) const {
    std::string const x_path = (folder_ / "x.npy").string(), json_path = (folder_ / "summary.json").string();
    std::string const solve =
        fmt::format("'{}' solve '{}' '{}' -o '{}' --verify --tolerance {} --json", MYRIAD_PROGRAM, a, b, x_path, accurate);
    ASSERT_EQ(shell(solve + " --equilibrate --refine > '" + json_path + "'"), 0) << solve;
    auto const report = nlohmann::json::parse(std::ifstream(json_path));
    ASSERT_TRUE(report.contains("worst_backward_error")) << report.dump();
    ASSERT_TRUE(report["worst_backward_error"].is_number()) << report.dump();
    EXPECT_LE(report["worst_backward_error"].get<double>(), accurate);

    myriad::io::MappedFile const file(x_path);
    auto const header = myriad::io::parse_npy_header(file.bytes(), x_path);
    std::int64_t const elements = std::accumulate(header.shape.begin(), header.shape.end(), std::int64_t{1}, std::multiplies<>());
    ASSERT_EQ(header.shape.front(), systems.count);
    ASSERT_EQ(elements, systems.count * systems.n) << myriad::io::to_string(header.shape);
    std::vector<double> x(static_cast<std::size_t>(elements));
    std::copy_n(file.bytes().data() + header.data_offset, x.size() * sizeof(double), reinterpret_cast<char*>(x.data()));
    Summary const found = summary(backward_errors(systems, x));
    EXPECT_EQ(found.not_accurate, 0) << "system " << found.worst_system << ": " << found.worst;
    EXPECT_NEAR(report["worst_backward_error"].get<double>(), found.worst, 1e-16);
  }

  fs::path folder_;
  Systems systems_;
};
INSTANTIATE_TEST_SUITE_P(Mechanisms, Pele,
                         testing::Values(Mechanism{"lidryer", 10, 100}, Mechanism{"drm19", 22, 67}, Mechanism{"gri30", 54, 90}),
                         [](auto const& p) { return std::string(p.param.name); });

TEST_P(Pele, LibrarySolvesRawSystems) { expect_accurate(systems_, "raw"); }

TEST_P(Pele, LibrarySolvesScaledSystems) { expect_accurate(scaled(), "scaled"); }

TEST_P(Pele, ProgramSolvesMatrixMarketFiles) {
  std::string const cells = (folder_ / GetParam().name / "*").string();
  expect_program(cells + "/A.mtx", cells + "/b.mtx", systems_);
}

TEST_P(Pele, ProgramSolvesScaledSystemsFromNpy) {
  Systems const systems = scaled();
  std::string const a = (folder_ / "a.npy").string(), b = (folder_ / "b.npy").string();
  myriad::io::save_npy(a, systems.a.data(), {systems.count, systems.n, systems.n});
  myriad::io::save_npy(b, systems.b.data(), {systems.count, systems.n});
  expect_program(a, b, systems);
}

/// Without refinement the program's check must fail on the raw systems, or it is worthless.
TEST_P(Pele, ProgramReportsWhatPlainLuGives) {
  std::string const cells = (folder_ / GetParam().name / "*").string();
  std::string const solve = fmt::format("'{}' solve '{}/A.mtx' '{}/b.mtx' -o '{}' --verify --tolerance {} > '{}' 2>&1", MYRIAD_PROGRAM,
                                        cells, cells, (folder_ / "x.npy").string(), accurate, (folder_ / "log").string());
  EXPECT_EQ(shell(solve), 1) << solve;
}

}  // namespace
