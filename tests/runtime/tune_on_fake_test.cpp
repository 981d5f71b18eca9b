/// Tuning: search, tables and choice of entries, on a fake driver (fake_cuda.hpp) that invents the times of calls.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <random>

#include "cholesky/cholesky_tiny_space.hpp"
#include "eigen/eigen_tiny_space.hpp"
#include "gemm/bulk/gemm_bulk_space.hpp"
#include "gemm/gemm_space.hpp"
#include "gemm/halves/gemm_halves_space.hpp"
#include "gemm/vectors/gemv_space.hpp"
#include "lu/lu_tiny_space.hpp"
#include "myriad/memory.hpp"
#include "myriad/myriad.h"
#include "myriad/myriad.hpp"
#include "on_fake.hpp"
#include "packs/shipped.hpp"
#include "qr/qr_tiny_space.hpp"
#include "symv/symv_tiny_space.hpp"
#include "trsm/trsm_space.hpp"
#include "tune/halving.hpp"
#include "tune/table_file.hpp"
#include "tune/tuned.hpp"

namespace myriad {
namespace {

using tuning::Fastest;
using tuning::fastest;

// --- the search

constexpr auto always = [](double) { return true; };

/// Times that scatter by a per cent.
class Noisy {
 public:
  explicit Noisy(std::vector<double> seconds) : seconds_(std::move(seconds)) {}
  double operator()(std::size_t i) {
    ++calls;
    return seconds_[i] * (1 + 0.01 * std::abs(normal_(random_)));
  }
  int calls = 0;

 private:
  std::vector<double> seconds_;
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
};

TEST(Halving, FindsTheFastest) {
  std::vector<double> seconds(48);
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = 1 + 0.05 * static_cast<double>((i * 29 + 11) % 48);
  auto const least = static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
  ASSERT_NE(least, 0U);
  Noisy time(seconds);
  Fastest const found = fastest(seconds.size(), std::ref(time), always);
  EXPECT_EQ(found.number, least);
  EXPECT_NEAR(found.first_seconds / found.seconds, seconds[0] / seconds[least], 0.03);
  EXPECT_EQ(found.tried, 48U);
  EXPECT_LT(time.calls, 48 * 14);  // bad ones are timed rarely
}

TEST(Halving, KeepsTheFirstUnlessAnotherIsFasterThanTimesScatter) {
  for (std::size_t const count : {1, 2, 4, 5, 31}) {
    std::vector<double> seconds(count, 1.0005);
    seconds[0] = 1;
    if (count > 2) seconds[2] = 0.998;  // too small a gain
    Noisy time(seconds);
    Fastest const found = fastest(count, std::ref(time), always);
    EXPECT_EQ(found.number, 0U) << count;
    EXPECT_EQ(found.seconds, found.first_seconds) << count;
  }
}

TEST(Halving, WhatDoesNotRunIsLeftOut) {
  std::vector<double> seconds{2, INFINITY, 1, INFINITY, 3};
  Noisy time(seconds);
  EXPECT_EQ(fastest(5, std::ref(time), always).number, 2U);
  Noisy none({INFINITY, INFINITY});
  EXPECT_FALSE(std::isfinite(fastest(2, std::ref(none), always).seconds));
}

TEST(Halving, EndsWhenItIsToldTo) {
  Noisy time(std::vector<double>(40, 1.0));
  double last = -1;
  fastest(40, std::ref(time), [&](double part) {
    EXPECT_GE(part, last);
    EXPECT_LE(part, 1);
    last = part;
    return time.calls < 10;
  });
  EXPECT_EQ(time.calls, 10);
}

// --- tables

TunedConfig entry_of(std::string gpu, std::int64_t n, int threads) {
  return {.kernel = "test",
          .dtype = Dtype::f64,
          .sizes = {n, 2, 3},
          .config = {{"threads", threads}, {"copies", 2}},
          .seconds = 1e-3,
          .planned_seconds = 1.5e-3,
          .tried = 12,
          .gpu = std::move(gpu),
          .date = "2026-11-23",
          .driver = 13000,
          .plan = {{"threads", 256}, {"copies", 1}}};
}

/// A separate folder for the tables.
class TunedTables : public testing::Test {
 protected:
  void SetUp() override { ::setenv("MYRIAD_TUNED_DIR", folder.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("MYRIAD_TUNED_DIR"); }
  test::TemporaryFolder folder;
};

TEST_F(TunedTables, AreWrittenReadAndMerged) {
  EXPECT_EQ(tuned_path("Some GPU (2)"), folder.path() / "Some-GPU-2-.json");
  tuning::keep(entry_of("Some GPU", 8, 64));
  tuning::keep(entry_of("Some GPU", 4, 32));
  tuning::keep(entry_of("Some GPU", 8, 128));
  std::vector<TunedConfig> const read = read_tuned(tuned_path("Some GPU"));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].sizes, (std::array<std::int64_t, 3>{4, 2, 3}));
  EXPECT_EQ(read[1].config, (std::vector<std::pair<std::string, int>>{{"threads", 128}, {"copies", 2}}));
  EXPECT_EQ(read[1].plan, (std::vector<std::pair<std::string, int>>{{"threads", 256}, {"copies", 1}}));
  EXPECT_EQ(read[1].gpu, "Some GPU");
  EXPECT_EQ(read[1].date, "2026-11-23");
  EXPECT_EQ(read[1].driver, 13000);
  EXPECT_EQ(read[1].tried, 12);
  EXPECT_DOUBLE_EQ(read[1].gain(), 1.5);
  tuning::Table const table("Some GPU");
  ASSERT_TRUE(table.find({"test", Dtype::f64, {8, 2, 3}}).of_user);
  EXPECT_FALSE(table.find({"test", Dtype::f32, {8, 2, 3}}).of_user);
  EXPECT_FALSE(table.find({"test", Dtype::f64, {9, 2, 3}}).of_user);
  EXPECT_FALSE(tuning::Table("Another GPU").find({"test", Dtype::f64, {8, 2, 3}}).of_user);
}

TEST_F(TunedTables, ThatAreDamagedAreNotUsedAndNotWrittenOver) {
  std::string const path = tuned_path("Some GPU");
  for (char const* const text : {"", "{", "[]", R"({"format": 99, "gpu": "Some GPU", "entries": []})",
                                 R"({"format": 1, "gpu": "Some GPU", "entries": [{"kernel": "test"}]})"}) {
    std::ofstream(path) << text;
    std::string said;
    MessageHandler const former = on_message([&](std::string_view message) { said += message; });
    EXPECT_FALSE(tuning::Table("Some GPU").find({"test", Dtype::f64, {8, 2, 3}}).of_user);
    on_message(former);
    EXPECT_NE(said.find(path), std::string::npos) << text;
    EXPECT_THROW((void)read_tuned(path), Error) << text;
    EXPECT_THROW(tuning::keep(entry_of("Some GPU", 8, 64)), Error) << text;
    EXPECT_EQ(test::text_of(path), text);
  }
  EXPECT_THROW((void)read_tuned(path + ".missing"), Error);
}

TEST(TunedFolder, IsWhereTheEnvironmentSays) {
  ::setenv("MYRIAD_TUNED_DIR", "off", 1);
  EXPECT_EQ(tuned_folder(), "");
  EXPECT_EQ(tuned_path("Some GPU"), "");
  EXPECT_NO_THROW(tuning::keep(entry_of("Some GPU", 8, 64)));
  ::setenv("MYRIAD_TUNED_DIR", "/somewhere", 1);
  EXPECT_EQ(tuned_path("NVIDIA H200"), "/somewhere/NVIDIA-H200.json");
  ::unsetenv("MYRIAD_TUNED_DIR");
  ::setenv("XDG_CONFIG_HOME", "/config", 1);
  EXPECT_EQ(tuned_folder(), "/config/myriad");
  ::unsetenv("XDG_CONFIG_HOME");
}

TEST(ShippedTables, AreOfKnownFormat) {
  for (TunedConfig const& entry : tuning::shipped_entries()) {
    EXPECT_FALSE(entry.gpu.empty());
    EXPECT_FALSE(entry.config.empty());
    EXPECT_LE(entry.seconds, entry.planned_seconds) << entry.kernel << " " << entry.sizes[0];  // no size becomes slower
  }
}

// --- spaces

/// An H200, with the limits that spaces read.
Device gpu() {
  Device out;
  out.name = "some GPU";
  out.major = 9;
  out.max_threads_per_block = 1024;
  out.registers_per_multiprocessor = 65536;
  out.shared_memory_per_block = 232448;
  out.shared_memory_per_multiprocessor = 233472;
  return out;
}
/// Expects the space to admit its plan and all candidates, and a table entry of a candidate to give that candidate. Returns their number.
template <typename Space>
std::size_t check(Space const& space) {
  EXPECT_TRUE(space.admits(space.plan(), gpu())) << space.problem().kernel << " " << space.problem().sizes[0];
  auto const candidates = space.candidates(gpu());
  for (auto const& c : candidates) {
    EXPECT_TRUE(space.admits(c, gpu())) << space.problem().kernel << " " << space.problem().sizes[0];
    TunedConfig entry;
    tuning::Values const values = tuning::values_of<Space>(c);
    for (std::size_t i = 0; i < values.size(); ++i) entry.config.emplace_back(Space::Tuned::names[i], values[i]);
    EXPECT_EQ(tuning::config_of(space, entry, gpu()), c);
  }
  return candidates.size();
}

#ifdef MYRIAD_SANITIZED
constexpr std::array tiny_sizes{7, 32};
constexpr std::array larger_sizes{64, 129, 192};
constexpr std::array dtypes{Dtype::f64};
#else
constexpr std::array tiny_sizes{1, 2, 7, 16, 24, 31};
constexpr std::array larger_sizes{33, 64, 100, 129, 192, 512};
constexpr std::array dtypes{Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64};
#endif

TEST(Spaces, AdmitPlansAndCandidates) {
  for (Dtype const dtype : dtypes)
    for (int const n : tiny_sizes) {
      std::size_t least = 100;
      for (auto const job : {LuJob::factor, LuJob::factor_without_pivoting, LuJob::inverse, LuJob::determinant, LuJob::log_determinant})
        least = std::min(least, check(LuTinySpace{job, dtype, n, n, 0}));
      for (auto const job : {LuJob::solve, LuJob::solve_and_factor}) least = std::min(least, check(LuTinySpace{job, dtype, n, n, 1}));
      check(LuTinySpace{LuJob::inverse, dtype, n, n, 0, true});
      least = std::min(least, check(CholeskyTinySpace{CholeskyJob::factor, dtype, n, 0}));
      check(CholeskyTinySpace{CholeskyJob::inverse, dtype, n, 0});
      for (auto const job : {CholeskyJob::solve_by_factor, CholeskyJob::solve, CholeskyJob::solve_and_factor})
        check(CholeskyTinySpace{job, dtype, n, 1});
      least = std::min(least, check(QrTinySpace{dtype, n, n}));
      least = std::min(least, check(GemmTilesSpace{dtype, n, n, n}));
      check(GemmTilesSpace{dtype, n, 1, n});
      check(GemmTilesSpace{dtype, n, n, 1});
      EXPECT_GE(least, 2U) << n;
    }
  for (Dtype const dtype : dtypes)
    for (int const n : larger_sizes) EXPECT_GE(check(GemmPipelinedSpace{dtype, n, n, n}), 20U) << n;
}
TEST(Spaces, OfSpans) {
  for (Dtype const dtype : dtypes)
    for (int const n : {33, 34, 36, 55, 65, 98, 99, 104, 120, 127, 131})
      for (Lines const a : {Lines::columns, Lines::rows}) {
        bool const complex = is_complex_dtype(dtype);
        int const bytes = element_bytes(dtype);
        if (!gemm_bulk_pays(bytes / (complex ? 2 : 1), complex, n, n, n)) continue;
        EXPECT_GE(check(GemmBulkSpace{dtype, n, n, n, a, std::gcd(n, 16 / bytes)}), n <= 128 ? 3U : 1U) << n;
      }
}
/// The tiles of every list, for any size.
TEST(Spaces, AdmitTilesOfLists) {
  auto const admits_all = [](Dtype dtype, auto const& shapes) {
    GemmPipelinedSpace const space{dtype, 300, 300, 300};
    for (GemmPipelinedShape const& s : shapes) {
      GemmPipelined c = space.plan();
      c.m = s.m, c.n = s.n, c.k = s.k, c.stages = s.stages;
      c.warps_down = s.warps_down, c.warps_across = s.warps_across, c.blocks_per_sm = s.blocks_per_sm;
      EXPECT_TRUE(space.admits(c, gpu())) << s.m << " x " << s.n << ", type " << static_cast<int>(dtype);
    }
  };
  admits_all(Dtype::f32, gemm_pipelined_shapes_of_single);
  admits_all(Dtype::c32, gemm_pipelined_shapes_of_single_complex);
  admits_all(Dtype::f64, gemm_pipelined_shapes_of_double);
  admits_all(Dtype::f64, gemm_pipelined_shapes_of_double_small);
  admits_all(Dtype::c64, gemm_pipelined_shapes_of_double_complex);
  admits_all(Dtype::c64, gemm_pipelined_shapes_of_double_complex_small);
}
TEST(Spaces, OfTinyMatricesAndTriangles) {
  for (Dtype const dtype : dtypes)
    for (int const n : tiny_sizes) {
      for (auto const job : {EigenJob::values, EigenJob::vectors})
        for (bool const few : {false, true}) EXPECT_GE(check(EigenTinySpace{job, dtype, n, few}), 3U) << n;
      for (Symmetry const symmetry : {Symmetry::symmetric, Symmetry::hermitian})
        EXPECT_GE(check(SymvTinySpace{dtype, symmetry, n}), 3U) << n;
      constexpr Triangle unit = Triangle::unit, general = Triangle::non_unit, unused = Triangle::unused;
      EXPECT_GE(check(TrsmTinySpace{dtype, n, n, general, unused, Interchange::never, RightSide::given}), 3U) << n;
      EXPECT_GE(check(TrsmTinySpace{dtype, n, 1, unit, general, Interchange::before, RightSide::given}), 3U) << n;
      EXPECT_GE(check(TrsmTinySpace{dtype, n, n, general, unused, Interchange::never, RightSide::identity_in_place}), 3U) << n;
      EXPECT_GE(check(TrsmTinySpace{dtype, n, n, unit, general, Interchange::before, RightSide::identity}), 3U) << n;
    }
  for (Dtype const dtype : dtypes)
    for (int const n : {33, 50, 64, 100, 128}) {
      if (n > trsm_columns_largest(is_complex_dtype(dtype))) continue;
      for (int const columns : {1, 9, n, 1000}) {
        EXPECT_GE(check(TrsmColumnsSpace{{dtype, n, columns}, false}), 2U) << n << " " << columns;
        if (n <= trsm_panels_largest && (dtype == Dtype::f32 || dtype == Dtype::c32)) {
          EXPECT_GE(check(TrsmPanelsSpace{{dtype, n, columns}}), 2U) << n << " " << columns;
        }
      }
      EXPECT_GE(check(TrsmColumnsSpace{{dtype, n, n}, true}), 2U) << n;
      EXPECT_GE(check(TrsmVectorSpace{{dtype, n, 1}}), 3U) << n;
    }
}
TEST(Spaces, OfProductsWithVectors) {
  for (Dtype const dtype : dtypes)
    for (int const m : {5, 33, 64, 100, 512})
      for (int const k : {1, 33, 64, 500}) {
        EXPECT_GE(check(GemvColumnsSpace{{dtype, m, k}}), 3U) << m << " " << k;
        for (Lines const lines : {Lines::columns, Lines::rows}) EXPECT_GE(check(GemvSpace{{dtype, m, k}, lines}), 3U) << m << " " << k;
        GemvProblem const problem{dtype, m, k};
        for (Lines const lines : {Lines::columns, Lines::rows})
          for (bool const aligned : {false, true})
            for (bool const piece : {false, true})
              if (gemv_kernel(element_bytes(problem.dtype), m, k, lines, aligned, piece) == GemvKernel::whole) {
                EXPECT_GE(check(GemvWholeSpace{problem, piece && !aligned, lines}), 3U) << m << " " << k;
              }
      }
}
TEST(Spaces, OfHalves) {
  for (Dtype const dtype : {Dtype::f16, Dtype::c16})
    for (bool const widened : {false, true}) {
      for (int const n : {1, 4, 16, 33}) {
        EXPECT_GE(check(GemmHalvesSpace{{dtype, widened, n, n, n}}), 3U) << n;
        if (!widened) check(GemmHalvesSpace{{dtype, widened, 64, 1, n}});
      }
      for (int const n : {33, 72, 128, 256})
        for (int const a : {0, 1, 2, 3}) {  // whole or by lines
          bool const piece = n % 8 != 0 || a == 3;
          if (dtype == Dtype::c16 && n > 128) continue;
          int const unit = piece ? 0 : dtype == Dtype::c16 ? 4 : 8;
          GemmHalvesStreamOperands const operands{.a = a % 2 == 0 ? Lines::columns : Lines::rows,
                                                  .b = a < 2 ? Lines::columns : Lines::rows,
                                                  .a_unit = unit,
                                                  .b_unit = unit,
                                                  .c_unit = widened ? unit / 2 : unit,
                                                  .words = piece ? 0 : 1};
          GemmHalvesStreamSpace const space{{dtype, widened, n, n, n}, operands};
          if (space.bytes(space.plan()) <= gpu().shared_memory_per_block) {
            EXPECT_GE(check(space), 2U) << n << " " << a;
          }
        }
      for (int const n : {65, 300, 400, 600}) {
        GemmHalvesBlocksOperands const operands{
            .a = Lines::columns, .b = Lines::columns, .c = Lines::rows, .aligned = 2, .shared_memory = gpu().shared_memory_per_block};
        EXPECT_GE(check(GemmHalvesBlocksSpace{{dtype, widened, n, n, n}, operands}), 20U) << n;
        if (dtype == Dtype::c16) continue;
        for (bool const whole_sectors : {true, false}) {
          GemmHalvesWarpgroupsOperands const boxes{
              .a = Lines::rows, .b = Lines::columns, .whole_sectors = whole_sectors, .shared_memory = gpu().shared_memory_per_block};
          EXPECT_GE(check(GemmHalvesWarpgroupsSpace{{dtype, widened, n, n, n}, boxes}), 5U) << n;
          check(GemmHalvesWarpgroupsSpace{{dtype, widened, 64, 72, n}, boxes});
        }
      }
    }
  // Matrices that are loaded in other ways have their own entries.
  GemmHalvesStreamSpace space{{Dtype::f16, true, 100, 100, 100}, {Lines::columns, Lines::rows, 8, 0, 4, 0}};
  EXPECT_EQ(space.problem().kernel, "gemm_halves_stream nt lpl, widened");
  space.widened = false, space.operands.a = Lines::rows, space.operands.b = Lines::columns, space.operands.c_unit = 0;
  EXPECT_EQ(space.problem().kernel, "gemm_halves_stream tn lpp");
}

// --- choice of entries

struct Config {
  int threads, copies;
  bool operator==(Config const&) const = default;
};
struct Space {
  using Config = myriad::Config;
  using Tuned = tuning::Members<&myriad::Config::threads, &myriad::Config::copies>;
  std::int64_t n;
  [[nodiscard]] tuning::Problem problem() const { return {"test", Dtype::f64, {n, 2, 3}}; }
  [[nodiscard]] Config plan() const { return {32, 1}; }
  [[nodiscard]] bool admits(Config const& c, Device const& device) const {
    return c.threads <= device.max_threads_per_block && c.copies < 4;
  }
  [[nodiscard]] std::vector<Config> candidates(Device const&) const {
    return {{64, 1}, {128, 1}, {128, 2}, {256, 1}, {256, 2}, {512, 1}, {512, 3}, {1024, 1}};
  }
};

class Tuning : public test::OnFake {
 protected:
  void SetUp() override {
    test::OnFake::SetUp();
    ::setenv("MYRIAD_TUNED_DIR", tables.path().c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("MYRIAD_TUNED_DIR");
    if (fake) fake->milliseconds = 1.5F;
    test::OnFake::TearDown();
  }
  /// A routine that takes `seconds(config)`.
  std::function<void(Queue&)> routine(std::int64_t n, std::function<double(Config const&)> seconds) {
    return [=, this](Queue& q) {
      Config const c = tuning::planned(q, Space{n});
      gpu::Kernel const& kernel = gpu::kernel_for(q, gpu::kernel_key(gpu::kernel_id("tuned"), c), test::source);
      gpu::launch(q, kernel, {.blocks = 1, .threads = c.threads}, test::FakeScaleParams{});
      if (&q == &*queue) fake->milliseconds = static_cast<float>(1e3 * seconds(c));
    };
  }
  static double usual(Config const& c) { return 1 + std::abs(std::log2(c.threads) - 8) - 0.1 * c.copies; }

  test::TemporaryFolder tables;
};

TEST_F(Tuning, TakesTheFastestAndKeepsIt) {
  auto const call = routine(100, usual);
  int refreshed = 0;
  double done = 0;
  TuneOptions options{.refresh = [&](Queue&) { ++refreshed; },
                      .progress =
                          [&](std::size_t problem, std::size_t problems, double part) {
                            EXPECT_EQ(problem, 0U);
                            EXPECT_EQ(problems, 1U);
                            done = part;
                            return true;
                          },
                      .threads = 3};
  EXPECT_EQ(tuning::planned(*queue, Space{100}), (Config{32, 1}));
  std::vector<TunedConfig> const found = tune(*queue, call, options);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].config, (std::vector<std::pair<std::string, int>>{{"threads", 256}, {"copies", 2}}));
  EXPECT_EQ(found[0].plan, (std::vector<std::pair<std::string, int>>{{"threads", 32}, {"copies", 1}}));
  EXPECT_NEAR(found[0].seconds, 0.8, 1e-6);
  EXPECT_NEAR(found[0].planned_seconds, 3.9, 1e-6);
  EXPECT_EQ(found[0].tried, 9);
  EXPECT_EQ(found[0].gpu, "Fake GPU");
  EXPECT_GT(refreshed, 20);
  EXPECT_GT(done, 0.5);
  // The result is used in this process and in later ones.
  EXPECT_EQ(tuning::planned(*queue, Space{100}), (Config{256, 2}));
  EXPECT_EQ(tuning::planned(*queue, Space{101}), (Config{32, 1}));
  ASSERT_EQ(read_tuned(tuned_path("Fake GPU")).size(), 1U);
  EXPECT_TRUE(tuning::Table("Fake GPU").find(Space{100}.problem()).of_user);
  // Known entries are not searched again, except on request.
  EXPECT_TRUE(tune(*queue, call, options).empty());
  options.again = true;
  EXPECT_EQ(tune(*queue, call, options).size(), 1U);
}

/// A space whose admits() is slow, as for small matrices; counts its calls.
struct Hesitant : Space {
  static inline int asked = 0;
  [[nodiscard]] bool admits(Config const& c, Device const& device) const { return ++asked, Space::admits(c, device); }
};
TEST_F(Tuning, AsksOnceWhetherAConfigIsAdmitted) {
  int calls = 0;
  auto const call = [&](Queue& q) {
    Config const c = tuning::planned(q, Hesitant{{150}});
    gpu::Kernel const& kernel = gpu::kernel_for(q, gpu::kernel_key(gpu::kernel_id("tuned"), c), test::source);
    gpu::launch(q, kernel, {.blocks = 1, .threads = c.threads}, test::FakeScaleParams{});
    if (&q != &*queue) return;
    ++calls;
    fake->milliseconds = static_cast<float>(1e3 * usual(c));
  };
  Hesitant::asked = 0;
  ASSERT_EQ(tune(*queue, call, {.threads = 1}).size(), 1U);
  EXPECT_GT(calls, 40);
  EXPECT_LE(Hesitant::asked, 9 + 9);  // once while loading, once while timing
}

TEST_F(Tuning, OfSeveralProblemsInTheSameCalls) {
  auto const one = routine(200, usual), other = routine(201, [](Config const&c) { return 1.0 / c.threads; });
  auto const found = tune(*queue, [&](Queue& q) {
    one(q);
    double const before = fake->milliseconds;
    other(q);
    if (&q == &*queue) fake->milliseconds = static_cast<float>(before + fake->milliseconds);
  });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].config[0].second, 256);
  EXPECT_EQ(found[1].config[0].second, 1024);
  EXPECT_NEAR(found[1].planned_seconds, 0.8 + 1.0 / 32, 1e-6);  // the first one is tuned by then
}

TEST_F(Tuning, LeavesOutWhatCannotBeLoadedOrDoesNotRun) {
  auto const call = routine(300, usual);
  auto const found = tune(*queue, [&](Queue& q) {
    Config const c = tuning::planned(q, Space{300});
    if (c.threads == 256) throw Error("does not compile");
    if (c.threads == 128 && fake->launches > 0) throw GpuError("does not run", 700);
    call(q);
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].config[0].second, 512);
}

TEST_F(Tuning, StopsWhenItIsToldToAndKeepsWhatIsFinished) {
  auto const one = routine(400, usual), other = routine(401, usual);
  auto const found = tune(*queue, [&](Queue& q) { one(q), other(q); },
                          {.progress = [](std::size_t problem, std::size_t, double) { return problem == 0; }});
  EXPECT_EQ(found.size(), 1U);
  EXPECT_EQ(read_tuned(tuned_path("Fake GPU")).size(), 1U);
  EXPECT_EQ(tuning::planned(*queue, Space{401}), (Config{32, 1}));
}

TEST_F(Tuning, EntriesThatAreNotAdmittedAreNotTaken) {
  auto entry = [&](std::vector<std::pair<std::string, int>> config) {
    TunedConfig out = entry_of("Fake GPU", 500, 0);
    out.config = std::move(config);
    tuning::table_of(*queue).set(out);
    return tuning::planned(*queue, Space{500});
  };
  EXPECT_EQ(entry({{"copies", 3}, {"threads", 64}}), (Config{64, 3}));  // in any order
  EXPECT_EQ(entry({{"threads", 64}, {"copies", 4}}), (Config{32, 1}));
  EXPECT_EQ(entry({{"threads", 4096}, {"copies", 1}}), (Config{32, 1}));
  EXPECT_EQ(entry({{"threads", 64}}), (Config{32, 1}));
}

TEST_F(Tuning, KeepsNothingThatWasNotTimed) {
  auto const call = routine(700, usual);
  // Nothing runs: the next driver call fails each time.
  EXPECT_THROW((void)tune(*queue,
                          [&](Queue& q) {
                            if (&q == &*queue && tuning::search_of(q)->taken.contains(0)) throw GpuError("lost", 700);
                            call(q);
                          }),
               Error);
  // The plan does not run, another config does.
  EXPECT_THROW((void)tune(*queue,
                          [&](Queue& q) {
                            if (&q == &*queue && tuning::search_of(q)->taken.contains(0) && tuning::planned(q, Space{700}).threads == 32)
                              throw GpuError("lost", 700);
                            call(q);
                          }),
               Error);
  EXPECT_FALSE(std::filesystem::exists(tuned_path("Fake GPU")));
  EXPECT_EQ(tuning::planned(*queue, Space{700}), (Config{32, 1}));
}

TEST_F(Tuning, WithoutTimeThatThePlanIsFastestIsNotKept) {
  auto const best = [](Config const& c) { return 1.0 + c.threads; };
  EXPECT_TRUE(tune(*queue, routine(800, best), {.budget = 1e-9}).empty());
  EXPECT_FALSE(std::filesystem::exists(tuned_path("Fake GPU")));
  EXPECT_EQ(tune(*queue, routine(800, best)).size(), 1U);
}

TEST_F(Tuning, WhatPutsInputsBackIsNotTuned) {
  auto const call = routine(900, usual), other = routine(901, usual);
  auto const found = tune(*queue, call, {.refresh = [&](Queue& q) { other(q); }});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].sizes[0], 900);
  // Calls with more problems on their second run
  bool first = true;
  EXPECT_EQ(tune(*queue,
                 [&](Queue& q) {
                   if (&q == &*queue && !first)
                     for (int n = 910; n < 940; ++n) (void)tuning::planned(q, Space{n});
                   if (&q == &*queue) first = false;
                   routine(902, usual)(q);
                 })
                .size(),
            1U);
}

TEST_F(Tuning, ExceptionsOfTheCallerComeThrough) {
  auto const call = routine(1000, usual);
  EXPECT_THROW((void)tune(*queue,
                          [&](Queue& q) {
                            if (&q != &*queue) throw std::runtime_error("of the caller");
                            call(q);
                          },
                          {.threads = 3}),
               std::runtime_error);
  EXPECT_EQ(tuning::search_of(*queue), nullptr);
}

TEST_F(Tuning, AnEntryThatIsNotAdmittedIsNotKnown) {
  auto const entry = [](int threads) {
    TunedConfig out = entry_of("Fake GPU", 1100, threads);
    return out;
  };
  tuning::table_of(*queue).set(entry(100'000));  // not admitted, so neither used nor known
  EXPECT_EQ(tuning::planned(*queue, Space{1100}), (Config{32, 1}));
  EXPECT_EQ(tune(*queue, routine(1100, usual)).size(), 1U);
  EXPECT_EQ(tuning::planned(*queue, Space{1100}), (Config{256, 2}));
}

/// The user's entry, else the shipped one, else the plan, for small products on a GPU with a shipped table. The test uses the driver's
/// second GPU: a process reads name and tables of a GPU once, and no other test has a queue on it.
TEST_F(Tuning, TheShippedEntryIsTakenWhereTheUsersIsNot) {
  using tuning::Values;
  constexpr auto names = GemmTilesSpace::Tuned::names;
  auto const space_of = [](TunedConfig const& entry) {
    return GemmTilesSpace{entry.dtype, entry.sizes[0], entry.sizes[1], entry.sizes[2]};
  };
  auto const plan = [&](TunedConfig const& entry) { return tuning::values_of<GemmTilesSpace>(space_of(entry).plan()); };
  auto const values_in = [&](TunedConfig const& entry) {
    Values out;
    for (std::string_view const name : names)
      for (auto const& [known, value] : entry.config)
        if (known == name) out.push_back(value);
    return out;
  };
  auto const with = [&](TunedConfig entry, Values const& values) {
    entry.config.clear();
    for (std::size_t i = 0; i < names.size(); ++i) entry.config.emplace_back(names[i], values[i]);
    return entry;
  };
  // A config that a user may have found: neither the plan nor that of the entry.
  auto const another = [&](TunedConfig const& entry) {
    for (GemmTiles const& candidate : space_of(entry).candidates(gpu()))
      if (Values const values = tuning::values_of<GemmTilesSpace>(candidate); values != plan(entry) && values != values_in(entry))
        return with(entry, values);
    ADD_FAILURE() << "there is no other candidate";
    return entry;
  };

  std::vector<TunedConfig> shipped;
  for (TunedConfig const& entry : tuning::shipped_entries())
    if (entry.gpu == "NVIDIA H200" && entry.kernel == "gemm_tiles" && values_in(entry) != plan(entry)) shipped.push_back(entry);
  ASSERT_GE(shipped.size(), 4U);
  TunedConfig only_of_user = shipped[0], nowhere = shipped[0];
  only_of_user.sizes = {29, 30, 31}, nowhere.sizes = {31, 30, 29};
  for (TunedConfig const& entry : tuning::shipped_entries()) ASSERT_TRUE(entry.sizes != only_of_user.sizes && entry.sizes != nowhere.sizes);
  only_of_user = another(only_of_user);
  TunedConfig const of_user = another(shipped[0]);
  Values bad = values_in(shipped[1]);
  bad[1] = 3;  // row_lanes, which must be a power of two
  for (TunedConfig const& entry : {of_user, only_of_user, with(shipped[1], bad)}) tuning::keep(entry);

  ::setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
  Queue h200({.backend = Backend::gpu, .device = 1});
  ::unsetenv("FAKE_CUDA_NAME");
  ASSERT_EQ(h200.device().name, "NVIDIA H200");
  auto const taken = [&](Queue& q, TunedConfig const& entry) {
    return tuning::values_of<GemmTilesSpace>(tuning::planned(q, space_of(entry)));
  };
  EXPECT_EQ(taken(h200, of_user), values_in(of_user));
  EXPECT_EQ(taken(h200, only_of_user), values_in(only_of_user));
  for (std::size_t i = 1; i < shipped.size(); ++i) EXPECT_EQ(taken(h200, shipped[i]), values_in(shipped[i])) << shipped[i].sizes[0];
  EXPECT_EQ(taken(h200, nowhere), plan(nowhere));
  // A search begins with the config in use, and skips only the user's entries.
  tuning::Search search;
  tuning::set_search(h200, &search);
  for (TunedConfig const& entry : {of_user, shipped[2], nowhere}) (void)taken(h200, entry);
  tuning::set_search(h200, nullptr);
  ASSERT_EQ(search.points.size(), 3U);
  EXPECT_EQ(search.points[0].current, values_in(of_user));
  EXPECT_EQ(search.points[1].current, values_in(shipped[2]));
  EXPECT_EQ(search.points[2].current, plan(nowhere));
  EXPECT_TRUE(search.points[0].known);
  EXPECT_FALSE(search.points[1].known);
  EXPECT_FALSE(search.points[2].known);
  // A found entry then precedes the shipped one.
  TunedConfig const found = another(shipped[2]);
  tuning::table_of(h200).set(found);
  EXPECT_EQ(taken(h200, found), values_in(found));
  EXPECT_EQ(taken(h200, shipped[3]), values_in(shipped[3]));
  // On another GPU none of them is used.
  for (TunedConfig const& entry : {of_user, only_of_user, shipped[2]}) EXPECT_EQ(taken(*queue, entry), plan(entry));
}

/// A shipped entry that no space takes would be ignored silently. An entry is stale if it was compared with another plan than today's, or
/// is the plan.
TEST(Spaces, TakeWhatIsShipped) {
  for (TunedConfig const& entry : tuning::shipped_entries()) {
    auto const [m, n, k] = entry.sizes;
    auto const takes = [&](auto const& space) {
      using Space = std::remove_cvref_t<decltype(space)>;
      TunedConfig planned = entry;
      planned.config = entry.plan;
      auto const config = tuning::config_of(space, entry, gpu()), plan = tuning::config_of(space, planned, gpu());
      EXPECT_TRUE(plan && tuning::values_of<Space>(*plan) == tuning::values_of<Space>(space.plan())) << "the plan has changed";
      EXPECT_TRUE(config && tuning::values_of<Space>(*config) != tuning::values_of<Space>(space.plan())) << "the plan is the same";
      return config.has_value();
    };
    SCOPED_TRACE(testing::Message() << entry.gpu << " " << entry.kernel << " " << static_cast<int>(entry.dtype) << " " << m << " " << n
                                    << " " << k);
    bool taken = false;
    if (entry.kernel == "gemm_pipelined") taken = takes(GemmPipelinedSpace{entry.dtype, m, n, k});
    if (entry.kernel == "gemm_tiles") taken = takes(GemmTilesSpace{entry.dtype, m, n, k});
    if (entry.kernel.starts_with("gemm_bulk ")) {
      Lines const a = entry.kernel[10] == 'n' ? Lines::columns : Lines::rows;
      GemmBulkSpace const space{entry.dtype, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), a, entry.kernel[12] - '0'};
      // The space of a product of matrices without gaps
      bool const complex = space.complex();
      int const unit = space.single() ? std::gcd(static_cast<int>(n), 16 / element_bytes(entry.dtype)) : 1;
      taken = entry.kernel == space.name() && space.unit == unit && gemm_bulk_pays(space.real_bytes(), complex, m, n, k) && takes(space);
    }
    if (entry.kernel == "lu_tiny factor")
      taken = takes(LuTinySpace{LuJob::factor, entry.dtype, static_cast<int>(m), static_cast<int>(n), 0});
    EXPECT_TRUE(taken);
  }
  EXPECT_FALSE(tuning::shipped_entries().empty());
}

TEST(Spaces, AreNotMisledByNumbers) {
  for (int const large : {0, 1 << 16, 1 << 20}) {
    GemmTilesSpace const tiles{Dtype::f64, 8, 8, 8};
    GemmTiles t = tiles.plan();
    t.row_lanes = t.column_lanes = large;
    EXPECT_FALSE(tiles.admits(t, gpu()));
    LuTinySpace const lu{LuJob::factor, Dtype::f64, 8, 8, 0};
    LuTiny l = lu.plan();
    l.lanes = 32, l.matrices = large << 7;
    EXPECT_FALSE(lu.admits(l, gpu()));
    QrTinySpace const qr{Dtype::f64, 16, 16};
    QrTiny q = qr.plan();
    q.matrices = large << 9;
    EXPECT_FALSE(qr.admits(q, gpu()));
    CholeskyTinySpace const cholesky{CholeskyJob::factor, Dtype::f64, 8, 0};
    CholeskyTiny c = cholesky.plan();
    c.lanes = 32, c.matrices = large << 7;
    EXPECT_FALSE(cholesky.admits(c, gpu()));
    GemmPipelinedSpace const ring{Dtype::f64, 64, 64, 64};
    GemmPipelined r = ring.plan();
    r.warps_down = r.warps_across = large;
    EXPECT_FALSE(ring.admits(r, gpu()));
    GemmBulkSpace const spans{Dtype::f32, 33, 33, 33, Lines::columns, 1};
    for (int GemmBulk::*const value : {&GemmBulk::columns, &GemmBulk::stages, &GemmBulk::a_stages, &GemmBulk::held_rows,
                                       &GemmBulk::held_columns, &GemmBulk::blocks_per_sm}) {
      GemmBulk g = spans.plan();
      g.*value = large;
      EXPECT_FALSE(spans.admits(g, gpu()));
    }
  }
  // Each of three lanes has 11 of 33 rows; with 16 held rows five would be beyond the matrix.
  GemmBulk tall = GemmBulkSpace{Dtype::f32, 33, 33, 33, Lines::rows, 1}.plan();
  tall.held_rows = 16, tall.blocks_per_sm = 1;
  EXPECT_FALSE((GemmBulkSpace{Dtype::f32, 33, 33, 33, Lines::rows, 1}.admits(tall, gpu())));
  tall.held_rows = 11;
  EXPECT_TRUE((GemmBulkSpace{Dtype::f32, 33, 33, 33, Lines::rows, 1}.admits(tall, gpu())));
  // Only kernels that multiply by lanes, not by tensor cores, may leave C in global memory.
  for (auto const& [dtype, admitted] : {std::pair(Dtype::f32, true), std::pair(Dtype::f64, false)}) {
    GemmBulkSpace const spans{dtype, 33, 33, 33, Lines::columns, 1};
    GemmBulk g = spans.plan();
    g.c_shared = 0;
    EXPECT_EQ(spans.admits(g, gpu()), admitted);
    g.c_shared = 2;
    EXPECT_FALSE(spans.admits(g, gpu()));
  }
}

/// No size becomes slower: however times scatter, a chosen config is faster than the plan, and was measured to be.
TEST(Halving, TakesNothingThatIsSlower) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> slower(1.0, 1.1);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> seconds(30, 1.0);
    for (std::size_t i = 1; i < seconds.size(); ++i) seconds[i] = slower(random);
    int calls = 0;
    auto const time = [&](std::size_t i) {
      ++calls;
      return seconds[i] * (1 + 0.02 * std::abs(normal(random)));
    };
    // Also with hardly any time
    int const limit = round % 4 == 0 ? 40 : round % 4 == 1 ? 100 : 100'000;
    Fastest const found = fastest(seconds.size(), time, [&](double) { return calls < limit; });
    EXPECT_LE(found.seconds, found.first_seconds);
    EXPECT_LE(seconds[found.number], 1.01) << round;
  }
}

TEST_F(Tuning, KeepsNoEntryThatIsSlower) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int n = 1200; n < 1220; ++n) {
    auto const found =
        tune(*queue, routine(n, [&](Config const& c) { return (1 + (c.threads != 32) * 0.02) * (1 + 0.03 * std::abs(normal(random))); }));
    for (TunedConfig const& entry : found) EXPECT_LE(entry.seconds, entry.planned_seconds);
  }
  for (TunedConfig const& entry : read_tuned(tuned_path("Fake GPU"))) {
    EXPECT_LE(entry.seconds, entry.planned_seconds);
    EXPECT_EQ(entry.config[0].second, 32) << entry.sizes[0];
  }
}

TEST_F(Tuning, TellsOfWhatIsKnownAndOfNothingElse) {
  auto const call = routine(1300, usual);
  EXPECT_EQ(tune(*queue, call).size(), 1U);
  std::vector<double> told;
  TuneOptions const options{.progress = [&](std::size_t, std::size_t, double done) {
    told.push_back(done);
    return true;
  }};
  EXPECT_TRUE(tune(*queue, call, options).empty());
  EXPECT_EQ(told, std::vector<double>{1});
  told.clear();
  EXPECT_TRUE(tune(
                  *queue, [](Queue&) {}, options)
                  .empty());
  EXPECT_TRUE(told.empty());
}

// --- the C interface, and real routines, whose kernels do nothing

class Routines : public testing::Environment {
  void SetUp() override {
    ::setenv("FAKE_CUDA_TIMES", "1", 1);
    for (auto const& [routine, size, dtype] : {std::tuple{"gemm", 6, Dtype::f64}, {"gemm", 40, Dtype::f16}, {"gemv", 33, Dtype::f32}})
      for (gpu::KernelSource& kernel :
           gpu::shipped_kernels({.routines = {routine}, .sizes = {size}, .dtypes = {dtype}, .candidates = 1000}))
        test::other_kernels.push_back(std::move(kernel));
  }
};
[[maybe_unused]] auto* const routines = testing::AddGlobalTestEnvironment(new Routines);

struct Products {
  int64_t n;
  myriad_dtype dtype;
  void* memory;
  std::atomic<int> calls{0};
  int refreshed = 0, told = 0, stop_after = 1 << 30;
  myriad_status refresh_status = MYRIAD_OK, status = MYRIAD_OK;
  void const* in_memory = nullptr;  ///< alpha and beta of double products, on the GPU
  std::atomic<int> refusals{0};     ///< of an alpha that is not aligned
  std::vector<TunedConfig> found{};

  static myriad_status multiply(myriad_queue* queue, void* user) {
    auto* const p = static_cast<Products*>(user);
    ++p->calls;
    if (p->status != MYRIAD_OK) return p->status;
    myriad_batch const a = myriad_strided(p->dtype, p->n, p->n, p->memory, p->n, p->n * p->n, 10);
    float const single[2] = {1, 1};
    double const alpha = 1;
    void const* const one = p->dtype == MYRIAD_F64 ? static_cast<void const*>(&alpha) : single;
    myriad_batch c = a;
    c.data = static_cast<char*>(p->memory) + 10 * 40 * 40 * 8;
    if (!p->in_memory) return myriad_gemm(queue, one, &a, &a, one, &c);
    // Refused in memory of the GPU, also while the queue is prepared; on the host it would be read
    void const* const odd = static_cast<char const*>(p->in_memory) + 4;
    if (myriad_gemm(queue, odd, &a, &a, p->in_memory, &c) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 6) ++p->refusals;
    return myriad_gemm(queue, p->in_memory, &a, &a, p->in_memory, &c);
  }
  static myriad_status refresh(myriad_queue*, void* user) {
    ++static_cast<Products*>(user)->refreshed;
    return static_cast<Products*>(user)->refresh_status;
  }
  static int progress(int64_t problem, int64_t problems, double, void* user) {
    EXPECT_EQ(problem, 0);
    EXPECT_EQ(problems, 1);
    return ++static_cast<Products*>(user)->told < static_cast<Products*>(user)->stop_after ? 1 : 0;
  }
  static void take(myriad_tuned_config const* x, void* user) {
    TunedConfig entry{.kernel = x->kernel, .dtype = static_cast<Dtype>(x->dtype), .sizes = {x->sizes[0], x->sizes[1], x->sizes[2]}};
    for (int i = 0; i < x->value_count; ++i) entry.config.emplace_back(x->names[i], x->values[i]);
    entry.seconds = x->seconds, entry.planned_seconds = x->planned_seconds, entry.tried = x->tried;
    static_cast<Products*>(user)->found.push_back(entry);
  }
};

TEST_F(Tuning, InC) {
  DeviceArray<double> memory(*queue, 20 * 40 * 40);
  myriad_queue* c = nullptr;
  ASSERT_EQ(myriad_queue_create(&c, MYRIAD_GPU, 0), MYRIAD_OK);
  myriad_tune_options options{};
  options.threads = 3;
  options.refresh = Products::refresh;
  options.progress = Products::progress;
  options.found = Products::take;
  for (auto const& [n, dtype, kernel] : {std::tuple{6, MYRIAD_F64, "gemm_tiles"}, {40, MYRIAD_F16, "gemm_halves"}}) {
    Products p{.n = n, .dtype = dtype, .memory = memory.data()};
    ASSERT_EQ(myriad_tune(c, Products::multiply, &p, &options), MYRIAD_OK) << myriad_last_error(c);
    ASSERT_EQ(p.found.size(), 1U);
    EXPECT_EQ(p.found[0].kernel, kernel);
    EXPECT_EQ(static_cast<int>(p.found[0].dtype), dtype);
    EXPECT_EQ(p.found[0].sizes, (std::array<std::int64_t, 3>{n, n, n}));
    EXPECT_EQ(p.found[0].tried, 40);
    EXPECT_GT(p.found[0].gain(), 1.0);
    EXPECT_GT(p.refreshed, 20);
    EXPECT_GT(p.told, 20);
    std::vector<TunedConfig> const table = read_tuned(tuned_path("Fake GPU"));
    EXPECT_TRUE(
        std::any_of(table.begin(), table.end(), [&](TunedConfig const& x) { return x.kernel == kernel && x.config == p.found[0].config; }));
    // Known already
    p.found.clear();
    EXPECT_EQ(myriad_tune(c, Products::multiply, &p, &options), MYRIAD_OK);
    EXPECT_TRUE(p.found.empty());
    EXPECT_EQ(myriad_tune(c, Products::multiply, &p, nullptr), MYRIAD_OK);
  }
  options.again = 1;
  options.candidates = 5;
  Products p{.n = 6, .dtype = MYRIAD_F64, .memory = memory.data()};
  EXPECT_EQ(myriad_tune(c, Products::multiply, &p, &options), MYRIAD_OK);
  ASSERT_EQ(p.found.size(), 1U);
  EXPECT_EQ(p.found[0].tried, 5);
  // All queues of the search have the pointer modes of the caller's
  DeviceArray<double> const scalar(*queue, 2);
  Products in_memory{.n = 6, .dtype = MYRIAD_F64, .memory = memory.data(), .in_memory = scalar.data()};
  EXPECT_EQ(myriad_queue_set_pointer_mode(c, MYRIAD_POINTER_MODE_DEVICE, MYRIAD_POINTER_MODE_DEVICE), MYRIAD_OK);
  EXPECT_EQ(myriad_tune(c, Products::multiply, &in_memory, &options), MYRIAD_OK) << myriad_last_error(c);
  EXPECT_EQ(in_memory.refusals, in_memory.calls);
  EXPECT_EQ(myriad_queue_set_pointer_mode(c, MYRIAD_POINTER_MODE_HOST, MYRIAD_POINTER_MODE_HOST), MYRIAD_OK);
  // A search that is stopped, and failures
  p.found.clear();
  p.told = 0, p.stop_after = 3;
  EXPECT_EQ(myriad_tune(c, Products::multiply, &p, &options), MYRIAD_OK);
  EXPECT_TRUE(p.found.empty());
  p.stop_after = 1 << 30;
  p.refresh_status = MYRIAD_FAILED;
  EXPECT_EQ(myriad_tune(c, Products::multiply, &p, &options), MYRIAD_FAILED);
  p.status = MYRIAD_OUT_OF_MEMORY;  // an error of the callback
  EXPECT_EQ(myriad_tune(c, Products::multiply, &p, &options), MYRIAD_OUT_OF_MEMORY);
  p.status = MYRIAD_OK;
  p.dtype = MYRIAD_INT;
  EXPECT_EQ(myriad_tune(c, Products::multiply, &p, &options), MYRIAD_BAD_ARGUMENT);
  EXPECT_NE(std::string(myriad_last_error(c)).find("gemm"), std::string::npos);
  EXPECT_TRUE(p.found.empty());
  options.budget = -1;
  EXPECT_EQ(myriad_tune(c, Products::multiply, &p, &options), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(c), 3);
  myriad_queue_destroy(c);
}

TEST_F(Tuning, RefusesWhatMakesNoSense) {
  Queue cpu({.backend = Backend::cpu});
  auto const call = routine(600, usual);
  EXPECT_THROW((void)tune(cpu, call), BadArgument);
  EXPECT_THROW((void)tune(*queue, nullptr), BadArgument);
  EXPECT_THROW(queue->prepare([&] { (void)tune(*queue, call); }), BadArgument);
  fake->capturing = true;
  EXPECT_THROW((void)tune(*queue, call), BadArgument);
  fake->capturing = false;
  EXPECT_THROW((void)tune(*queue, call, {.budget = 0}), BadArgument);
  EXPECT_THROW((void)tune(*queue, [](Queue&) { throw Error("of its own"); }), Error);
  EXPECT_EQ(tuning::search_of(*queue), nullptr);
  EXPECT_TRUE(tune(*queue, [](Queue&) {}).empty());
}

}  // namespace
}  // namespace myriad
