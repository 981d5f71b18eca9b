/// Launches of products, on a fake driver with a fake compiler. Nothing runs: all work is captured.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/bulk/gemm_bulk_plan.hpp"
#include "gemm/gemm_choice.hpp"
#include "gemm/gemm_gpu.hpp"
#include "gemm/halves/gemm_halves_warpgroups_plan.hpp"
#include "gemm/pipelined/gemm_pipelined_plan.hpp"
#include "myriad/blas2.hpp"
#include "myriad/blas3.hpp"
#include "myriad/error.hpp"
#include "myriad/gemm.hpp"
#include "myriad/memory.hpp"
#include "myriad/myriad.h"
#include "myriad/queue.hpp"
#include "myriad/trsm.hpp"
#include "on_fake_compiler.hpp"
#include "scale_add/scale_add_gpu.hpp"
#include "tune/tuned.hpp"

namespace myriad::test {
namespace {

class Products : public OnFakeCompiler {
 protected:
  /// Matrices that are never read.
  template <typename T>
  static Batch<T> matrices(std::int64_t n, std::int64_t count, std::uintptr_t address) {
    return batch(reinterpret_cast<T*>(address), n, n, {.count = count});
  }
  /// The number of launches of a call.
  template <typename F>
  int launches(F&& call) {
    queue->prepare(call);
    int const before = fake->launches;
    call();
    return fake->launches - before;
  }
};

TEST_F(Products, OfManyRaggedMatricesHaveASchedule) {
  std::int64_t const at_once = queue->device().multiprocessors;
  std::vector<std::int64_t> const sizes(1);  // the host does not read them
  auto const of = [&](std::int64_t n, std::int64_t count) {
    auto a = matrices<double>(n, count, 0x100000000000), b = a, c = matrices<double>(n, count, 0x200000000000);
    a.row_sizes = a.col_sizes = b.row_sizes = b.col_sizes = c.row_sizes = c.col_sizes = sizes.data();
    return launches([&] { gemm<double>(*queue, 1, a, b, 1, c); });
  };
  auto const blocks_per_sm = [](std::int64_t n) { return std::int64_t{gemm_pipelined_plan(8, false, n, n, n).blocks_per_sm}; };
  // A schedule, and kernels for matrices of up to 32, 48, 64, 80, 96, 112, 128 and more rows
  EXPECT_EQ(of(1496, 100 * at_once), 9);
  EXPECT_EQ(fake->grid[0], 8 * at_once * blocks_per_sm(1496));
  EXPECT_EQ(of(128, 100 * at_once), 8);
  // Few matrices with many tiles
  EXPECT_EQ(of(1496, at_once / 2), 2);
  EXPECT_EQ(fake->grid[0], 8 * at_once * blocks_per_sm(1496));
  // So few tiles that the host's bound is good enough
  EXPECT_EQ(of(100, at_once), 1);
  EXPECT_EQ(of(100, at_once + 1), 3);
}

TEST_F(Products, OfManyRaggedMatricesAndVectorsHaveASchedule) {
  std::int64_t const at_once = queue->device().multiprocessors;
  std::vector<std::int64_t> const sizes(1);
  auto const ragged = [&](auto x) {
    x.row_sizes = sizes.data();
    if (x.cols > 1) x.col_sizes = sizes.data();
    return x;
  };
  auto const gemv_of = [&](std::int64_t n, std::int64_t count, bool by_rows) {
    auto const a = ragged(matrices<double>(n, count, 0x100000000000));
    auto const x = ragged(vectors(reinterpret_cast<double*>(0x200000000000), n, count));
    auto const y = ragged(vectors(reinterpret_cast<double*>(0x300000000000), n, count));
    return launches([&] { gemv<double>(*queue, 1, by_rows ? transposed(a) : a, x, 1, y); });
  };
  for (bool const by_rows : {false, true}) {
    // A schedule, and a multiple of the resident blocks
    EXPECT_EQ(gemv_of(3000, 100 * at_once, by_rows), 2);
    EXPECT_EQ(fake->grid[0] % at_once, 0);
    EXPECT_LE(fake->grid[0], 32 * 32 * at_once);
    EXPECT_EQ(gemv_of(3000, at_once / 2, by_rows), 1);
  }
  EXPECT_EQ(gemv_of(3001, 100 * at_once, false), 2);  // a lane per row
  auto const ger_of = [&](std::int64_t n, std::int64_t count) {
    auto const a = ragged(matrices<double>(n, count, 0x100000000000));
    auto const x = ragged(vectors(reinterpret_cast<double*>(0x200000000000), n, count));
    return launches([&] { ger<double>(*queue, 1, x, x, a); });
  };
  EXPECT_EQ(ger_of(1000, 100 * at_once), 2);
  EXPECT_EQ(ger_of(1000, 1), 1);
  // No unit stride
  auto const of_interleaved = [&]<typename T>(T, std::int64_t n, std::int64_t count) {
    auto const at = [&](std::uintptr_t address) { return ragged(interleaved(reinterpret_cast<T*>(address), n, n, count)); };
    return launches([&] { gemm<T>(*queue, 1, at(0x100000000000), at(0x200000000000), 1, at(0x300000000000)); });
  };
  EXPECT_EQ(of_interleaved(double(), 300, 100 * at_once), 2);
  EXPECT_EQ(of_interleaved(half(), 300, 100 * at_once), 2);
  EXPECT_EQ(of_interleaved(half(), 30, 10000 * at_once), 1);  // one tile each
}

TEST_F(Products, OfUniformMatricesHaveNone) {
  std::int64_t const count = 100 * queue->device().multiprocessors;
  auto const a = matrices<double>(200, count, 0x100000000000), c = matrices<double>(200, count, 0x200000000000);
  EXPECT_EQ(launches([&] { gemm<double>(*queue, 1, a, a, 1, c); }), 1);
}

/// Different blocks B and C of one array are not an in-place product.
TEST_F(Products, OfBlocksBesideEachOtherAreNotInPlace) {
  auto const a = matrices<double>(40, 500, 0x100000000000), array = matrices<double>(80, 500, 0x200000000000);
  Batch<double> const b = block(array, 0, 0, 40, 40), beside = block(array, 0, 40, 40, 40), below = block(array, 40, 0, 40, 40);
  EXPECT_EQ(launches([&] { gemm<double>(*queue, 1, a, b, 1, beside); }), 1);
  EXPECT_EQ(launches([&] { gemm<double>(*queue, 1, a, b, 1, below); }), 1);
  // No columns yet, like the first step of a left-looking factorization
  Batch<double> const none = block(array, 0, 0, 40, 0), first = block(array, 0, 0, 0, 40), panel = block(array, 0, 0, 40, 40);
  EXPECT_EQ(launches([&] { gemm<double>(*queue, 1, none, first, 1, panel); }), 1);
}

TEST_F(Products, OfOneColumnThatAreHermitianAreNoVectors) {
  // Kernels of vectors do not keep a diagonal real.
  using Z = std::complex<double>;
  auto const a = rows(matrices<Z>(40, 17, 0x100000000000), 0, 1);
  auto const c = matrices<Z>(1, 17, 0x200000000000);
  compiler->refused = "gemv";
  EXPECT_THROW(gemm<Z>(*queue, 1, a, transposed(a), 0, c), CompileError);
  EXPECT_EQ(launches([&] { herk<Z>(*queue, Uplo::lower, 0, a, -0.25, c); }), 1);
  EXPECT_EQ(launches([&] { her2k<Z>(*queue, Uplo::lower, 0, a, a, -0.25, c); }), 1);
}

TEST_F(Products, OfGroupsAreComputedOnlyIfAllHaveKernels) {
  std::vector<GemmGroup<float>> groups;
  for (std::int64_t const n : {8, 0, 40, 100}) {
    auto const address = static_cast<std::uintptr_t>(0x100000000000) * (groups.size() + 1);
    groups.push_back({.alpha = 1,
                      .a = matrices<float>(n, 3, address),
                      .b = matrices<float>(n, 3, address),
                      .beta = 0,
                      .c = matrices<float>(n, 3, address + 0x10000000000)});
  }
  EXPECT_EQ(launches([&] { gemm_grouped<float>(*queue, groups); }), 3);
  groups.back().c = transposed(groups.back().c);  // another kernel
  compiler->refused = "gemm_pipelined";
  int const before = fake->launches;
  EXPECT_THROW(gemm_grouped<float>(*queue, groups), Error);
  EXPECT_EQ(fake->launches, before);
  compiler->refused.clear();
  groups.back().b.data = nullptr;
  EXPECT_THROW(gemm_grouped<float>(*queue, groups), BadArgument);
}

/// Many groups with few matrices form one or several batches: one launch makes the batches of up to 340 groups, then their products follow.
TEST_F(Products, OfManySmallGroupsAreOfOneBatch) {
  auto const group = [](std::int64_t n, std::int64_t count, double alpha) {
    return GemmGroup<double>{.alpha = alpha,
                             .a = matrices<double>(n, count, 0x100000000000),
                             .b = matrices<double>(n, count, 0x200000000000),
                             .beta = 1,
                             .c = matrices<double>(n, count, 0x300000000000)};
  };
  std::vector<GemmGroup<double>> groups;
  for (std::int64_t g = 0; g < 100; ++g) groups.push_back(group(1 + g % 30, 2, 1));
  auto const all = [&] { gemm_grouped<double>(*queue, groups); };
  compiler->refused = "gemm_groups<128, 340>";  // an error if the compiler supports it
  EXPECT_THROW(all(), CompileError);
  compiler->refused.clear();
  EXPECT_EQ(launches(all), 1 + 1);
  // gemm_tiles, and gemm_pipelined for matrices of up to 64 and of more rows
  for (auto& g : groups) g = group(g.c.rows * 3, 3, 1);
  EXPECT_EQ(launches(all), 1 + 1 + 2);
  // Groups that differ in alpha or layout form another batch; fewer than four groups form none.
  for (std::size_t g = 0; g < 50; ++g) groups[g].alpha = 2;
  for (std::size_t g = 50; g < 53; ++g) groups[g].a = transposed(groups[g].a);
  EXPECT_EQ(launches(all), 1 + 2 * (1 + 1) + 3);
  // A large group has its own launch, and so has a ragged one
  groups = {group(8, 1000000, 1), group(8, 4, 1), group(9, 4, 1), group(10, 4, 1), group(11, 4, 1), group(12, 4, 1)};
  EXPECT_EQ(launches(all), 1 + 2);
  std::vector<std::int64_t> const sizes(1);
  for (std::size_t g = 1; g < 3; ++g) groups[g].a.row_sizes = groups[g].c.row_sizes = sizes.data();
  EXPECT_EQ(launches(all), 1 + 2 + 3);
  groups.push_back(group(500, 1, 1));
  compiler->refused = "gemm_pipelined";
  int const before = fake->launches;
  EXPECT_THROW(all(), Error);
  EXPECT_EQ(fake->launches, before);
  compiler->refused.clear();
}

/// alpha and beta in memory: products of some of the matrices at a time, each followed by a kernel that gets the addresses.
TEST_F(Products, WithScalarsInMemoryAreAddedAfterwards) {
  auto const* const alpha = reinterpret_cast<double const*>(0x400000000000);
  auto const* const beta = alpha + 1;
  std::vector<ScaleAddLinesArguments<double, double>> sums;
  fake->at_launch = [&](FakeLaunch const& launch) {
    if (std::string_view(launch.kernel).find("scale_add_lines") != std::string_view::npos)
      sums.push_back(*static_cast<ScaleAddLinesArguments<double, double> const*>(launch.arguments));
  };
  std::int64_t const n = 64, at_a_time = gpu::scale_add_bytes / (n * n * 8), count = 2 * at_a_time + 1;
  auto const a = matrices<double>(n, count, 0x100000000000), b = matrices<double>(n, count, 0x200000000000),
             c = matrices<double>(n, count, 0x300000000000);
  auto const multiply = [&] { gemm<double>(*queue, alpha, a, b, beta, c); };
  EXPECT_EQ(queue->workspace(multiply), gpu::scale_add_bytes);
  int const waits = fake->waits;
  EXPECT_EQ(launches(multiply), 6);
  EXPECT_EQ(fake->waits, waits);
  ASSERT_EQ(sums.size(), 3U);
  for (auto const& sum : sums) {
    EXPECT_EQ(sum.alpha.at, alpha);
    EXPECT_EQ(sum.beta.at, beta);
  }
  EXPECT_EQ(sums[1].c, c.data + at_a_time * n * n);
  EXPECT_EQ(sums[1].sizes[0], at_a_time * n * n);
  EXPECT_EQ(sums[2].sizes[0], n * n);
  EXPECT_TRUE(sums[1].wide);
  // One of them in memory; a group with both among others; real numbers
  sums.clear();
  EXPECT_EQ(launches([&] { gemv<double>(*queue, 3, a, columns(b, 0, 1), beta, columns(c, 0, 1)); }), 2);
  EXPECT_EQ(sums.back().alpha.at, nullptr);
  EXPECT_EQ(sums.back().alpha.value, 3);
  auto const group = [&](Scalar<double> of_product) { return GemmGroup<double>{.alpha = of_product, .a = a, .b = b, .beta = 0, .c = c}; };
  EXPECT_EQ(launches([&] { gemm_grouped<double>(*queue, std::vector{group(1), group(alpha), group(1)}); }), 2 + 6);
  EXPECT_EQ(launches([&] {
              trsm<double>(*queue, Side::left, Uplo::lower, Diag::unit, alpha, matrices<double>(20, 9, 0x100000000000),
                           matrices<double>(20, 9, 0x200000000000));
            }),
            2);
  EXPECT_EQ(sums.back().p, sums.back().c);
  EXPECT_TRUE(sums.back().has_terms);
  symv<double>(*queue, Uplo::lower, alpha, a, columns(b, 0, 1), 0, columns(c, 0, 1));
  EXPECT_TRUE(sums.back().has_terms);
  symm<double>(*queue, Side::left, Uplo::lower, alpha, a, b, 0, c);
  EXPECT_TRUE(sums.back().has_terms);
  gemm<double>(*queue, alpha, columns(a, 0, 0), rows(b, 0, 0), beta, c);
  EXPECT_FALSE(sums.back().has_terms);
  fake->at_launch = nullptr;
}
TEST_F(Products, RefuseScalarsInMemoryThatAreNotAligned) {
  auto const a = matrices<std::complex<double>>(4, 1, 0x100000000000), c = matrices<std::complex<double>>(4, 1, 0x300000000000);
  auto const* const odd = reinterpret_cast<std::complex<double> const*>(0x400000000008);
  try {
    gemm<std::complex<double>>(*queue, odd, a, a, 0, c);
    ADD_FAILURE() << "was accepted";
  } catch (BadArgument const& error) {
    EXPECT_EQ(error.position(), 6);
    EXPECT_NE(std::string(error.what()).find("alpha"), std::string::npos);
  }
}

/// Addresses are compared with elements, not with the gaps between them.
TEST_F(Products, RefuseScalarsInTheOutput) {
  auto const position = [](auto const& call) {
    try {
      call();
    } catch (BadArgument const& error) {
      EXPECT_NE(std::string(error.what()).find("in the memory of c"), std::string::npos) << error.what();
      return error.position();
    }
    return 0;
  };
  using Complex = std::complex<double>;
  auto* const memory = reinterpret_cast<Complex*>(0x300000000000);
  auto const a = matrices<Complex>(4, 3, 0x100000000000);
  auto const c = batch(memory, 4, 4, {.ld = 6, .stride = 30, .count = 3});
  for (auto const& [offset, is_element] :
       {std::pair{0, true}, {3, true}, {4, false}, {18 + 3, true}, {24, false}, {30, true}, {83, false}}) {
    auto* const real = reinterpret_cast<double*>(memory + offset);
    EXPECT_EQ(position([&] { gemm<Complex>(*queue, memory + offset, a, a, 0, c); }), is_element ? 6 : 0) << offset;
    EXPECT_EQ(position([&] { gemm<Complex>(*queue, 1, a, a, memory + offset, c); }), is_element ? 11 : 0) << offset;
    EXPECT_EQ(position([&] { herk<Complex>(*queue, Uplo::lower, 1, a, real + 1, c); }), is_element ? 8 : 0) << offset;
  }
  EXPECT_EQ(position([&] { gemm<Complex>(*queue, memory - 1, a, a, 0, c); }), 0);
  // Two elements beside each other, the first of which is in a gap
  auto const h = matrices<half>(4, 3, 0x100000000000);
  auto* const halves = reinterpret_cast<half*>(0x300000000000);
  auto const single = [&](int offset) { return reinterpret_cast<float*>(halves + offset); };
  EXPECT_EQ(position([&] { gemm<half>(*queue, single(4), h, h, 0, batch(halves, 4, 4, {.ld = 5, .count = 3})); }), 6);
  EXPECT_EQ(position([&] { gemm<half>(*queue, single(4), h, h, 0, batch(halves, 4, 4, {.ld = 6, .count = 3})); }), 0);
}

/// Addresses that are not aligned are refused in device mode, with the position of alpha or beta.
TEST_F(Products, InCReadScalarsWhereThePointerModeSays) {
  fake->capturing = false;
  myriad_queue* q = nullptr;
  ASSERT_EQ(myriad_queue_create(&q, MYRIAD_GPU, 0), MYRIAD_OK);
  {
    std::int64_t const n = 6;
    DeviceArray<double> const memory(*queue, 4 * n * n), scalar(*queue, 2);
    auto const at = [&](int place, std::int64_t cols) {
      return myriad_strided(MYRIAD_F64, n, cols, memory.data() + place * n * n, n, n * n, 1);
    };
    myriad_batch const a = at(0, n), b = at(1, n), c = at(2, n), x = at(1, 1), y = at(2, 1);
    struct Routine {
      char const* name;
      int alpha, beta;  ///< positions; no beta: 0
      std::function<myriad_status(void const*, void const*)> call;
    };
    std::vector<Routine> const routines{
        {"gemm", 6, 11, [&](void const* of_ab, void const* of_c) { return myriad_gemm(q, of_ab, &a, &b, of_c, &c); }},
        {"gemm_by", 6, 11,
         [&](void const* of_ab, void const* of_c) { return myriad_gemm_by(q, of_ab, &a, &b, of_c, &c, MYRIAD_STANDARD); }},
        {"gemm_grouped", 6, 11,
         [&](void const* of_ab, void const* of_c) {
           myriad_gemm_group const group{of_ab, &a, &b, of_c, &c};
           return myriad_gemm_grouped(q, &group, 1);
         }},
        {"gemv", 4, 9, [&](void const* of_ax, void const* of_y) { return myriad_gemv(q, of_ax, &a, &x, of_y, &y); }},
        {"ger", 3, 0, [&](void const* of_xy, void const*) { return myriad_ger(q, of_xy, &x, &y, &a); }},
        {"symv", 3, 8, [&](void const* of_ax, void const* of_y) { return myriad_symv(q, MYRIAD_LOWER, of_ax, &a, &x, of_y, &y); }},
        {"hemv", 3, 8, [&](void const* of_ax, void const* of_y) { return myriad_hemv(q, MYRIAD_LOWER, of_ax, &a, &x, of_y, &y); }},
        {"symm", 5, 10,
         [&](void const* of_ab, void const* of_c) { return myriad_symm(q, MYRIAD_LEFT, MYRIAD_LOWER, of_ab, &a, &b, of_c, &c); }},
        {"hemm", 5, 10,
         [&](void const* of_ab, void const* of_c) { return myriad_hemm(q, MYRIAD_LEFT, MYRIAD_LOWER, of_ab, &a, &b, of_c, &c); }},
        {"syrk", 5, 8, [&](void const* of_aa, void const* of_c) { return myriad_syrk(q, MYRIAD_LOWER, of_aa, &a, of_c, &c); }},
        {"herk", 5, 8, [&](void const* of_aa, void const* of_c) { return myriad_herk(q, MYRIAD_LOWER, of_aa, &a, of_c, &c); }},
        {"syr2k", 5, 10, [&](void const* of_ab, void const* of_c) { return myriad_syr2k(q, MYRIAD_LOWER, of_ab, &a, &b, of_c, &c); }},
        {"her2k", 5, 10, [&](void const* of_ab, void const* of_c) { return myriad_her2k(q, MYRIAD_LOWER, of_ab, &a, &b, of_c, &c); }},
        {"trmm", 7, 0,
         [&](void const* of_b, void const*) { return myriad_trmm(q, MYRIAD_LEFT, MYRIAD_LOWER, MYRIAD_NON_UNIT, of_b, &a, &b); }},
        {"trsm", 7, 0,
         [&](void const* of_b, void const*) { return myriad_trsm(q, MYRIAD_LEFT, MYRIAD_LOWER, MYRIAD_NON_UNIT, of_b, &a, &b); }}};
    double const on_host = 2;
    void const* const odd = reinterpret_cast<char const*>(scalar.data()) + 4;
    for (Routine const& routine : routines)
      for (bool const alpha_on_gpu : {false, true})
        for (bool const beta_on_gpu : {false, true}) {
          SCOPED_TRACE(testing::Message() << routine.name << ", modes " << alpha_on_gpu << beta_on_gpu);
          auto const mode = [](bool on_gpu) { return on_gpu ? MYRIAD_POINTER_MODE_DEVICE : MYRIAD_POINTER_MODE_HOST; };
          ASSERT_EQ(myriad_queue_set_pointer_mode(q, mode(alpha_on_gpu), mode(beta_on_gpu)), MYRIAD_OK);
          void const* const alpha = alpha_on_gpu ? static_cast<void const*>(scalar.data()) : &on_host;
          void const* const beta = beta_on_gpu ? static_cast<void const*>(scalar.data()) : &on_host;
          int sums = 0;  // kernels that read alpha and beta
          fake->at_launch = [&](FakeLaunch const& launch) {
            sums += std::string_view(launch.kernel).find("scale_add") != std::string_view::npos;
          };
          EXPECT_EQ(routine.call(alpha, beta), MYRIAD_OK) << myriad_last_error(q);
          fake->at_launch = nullptr;
          EXPECT_EQ(sums, alpha_on_gpu || (beta_on_gpu && routine.beta > 0) ? 1 : 0);
          if (alpha_on_gpu) {
            EXPECT_EQ(routine.call(odd, beta), MYRIAD_BAD_ARGUMENT);
            EXPECT_EQ(myriad_last_error_position(q), routine.alpha);
          }
          if (beta_on_gpu && routine.beta > 0) {
            EXPECT_EQ(routine.call(alpha, odd), MYRIAD_BAD_ARGUMENT);
            EXPECT_EQ(myriad_last_error_position(q), routine.beta);
          }
        }
    EXPECT_EQ(myriad_queue_wait(q), MYRIAD_OK);
  }
  myriad_queue_destroy(q);
}

/// At least as many matrices without gaps as multiprocessors go to gemm_bulk, where that is faster, all others to gemm_pipelined.
TEST_F(Products, OfMatricesWithoutGapsComeAsSpans) {
  std::int64_t const many = queue->device().multiprocessors;
  auto const by_bulk = [&](auto const& call) {
    compiler->refused = "gemm_bulk";
    bool refused = false;
    try {
      queue->prepare(call);
    } catch (Error const&) {
      refused = true;
    }
    compiler->refused.clear();
    return refused;
  };
  auto const of_type = [&]<typename T>(T alpha, std::int64_t n, std::int64_t count, auto const& change) {
    auto a = matrices<T>(n, count, 0x100000000000), b = a, c = matrices<T>(n, count, 0x200000000000);
    change(a, b, c, alpha);
    return by_bulk([&] { gemm<T>(*queue, alpha, a, b, T(1), c); });
  };
  auto const of = [&](std::int64_t n, std::int64_t count, auto const& change) { return of_type(1.0, n, count, change); };
  auto const nothing = [](auto&...) {};
  EXPECT_TRUE(of(33, many, nothing));
  EXPECT_TRUE(of(100, many, nothing));
  EXPECT_FALSE(of(96, many, nothing));
  EXPECT_TRUE(of(130, many, nothing));
  EXPECT_FALSE(of(133, many, nothing));
  for (std::int64_t const n : {101, 104, 120}) EXPECT_TRUE(of_type(1.0F, n, many, nothing)) << n;
  for (std::int64_t const n : {48, 88, 112, 121}) EXPECT_FALSE(of_type(1.0F, n, many, nothing)) << n;
  using C = std::complex<float>;
  for (std::int64_t const n : {57, 88, 99}) EXPECT_TRUE(of_type(C(1), n, many, nothing)) << n;
  for (std::int64_t const n : {64, 72, 90, 101}) EXPECT_FALSE(of_type(C(1), n, many, nothing)) << n;
  EXPECT_FALSE(of(33, many - 1, nothing));
  EXPECT_FALSE(of(32, many, nothing));
  EXPECT_TRUE(of(35, many, [](auto& a, auto&, auto&, double&) { a = transposed(a); }));
  EXPECT_FALSE(of(37, many, [](auto&, auto& b, auto&, double&) { b = transposed(b); }));
  EXPECT_TRUE(of(39, many, [](auto& a, auto& b, auto& c, double&) { a = transposed(a), b = transposed(b), c = transposed(c); }));
  EXPECT_FALSE(of(41, many, [](auto& a, auto&, auto&, double&) { a.col_stride += 1, a.batch_stride += 41; }));
  EXPECT_FALSE(of(43, many, [](auto&, auto&, auto&, double& alpha) { alpha = 0; }));
  std::vector<std::int64_t> const sizes(1);
  EXPECT_FALSE(of(45, many, [&](auto& a, auto& b, auto& c, double&) {
    for (auto* const x : {&a, &b, &c}) x->row_sizes = x->col_sizes = sizes.data();
  }));
}

/// A table entry of gemm_bulk is taken if A has the layout of the entry's name.
TEST_F(Products, OfSpansGoByTheTable) {
  auto const x = matrices<float>(33, queue->device().multiprocessors, 0x100000000000), y = matrices<float>(33, x.count, 0x200000000000);
  TunedConfig entry{.kernel = "gemm_bulk n 1", .dtype = Dtype::f32, .sizes = {33, 33, 33}};
  entry.config = {{"columns", 33},  {"stages", 1},       {"a_stages", 1}, {"blocks_per_sm", 7},
                  {"held_rows", 5}, {"held_columns", 4}, {"c_shared", 0}};
  auto const takes_entry = [&](Batch<float const> const& a) {
    compiler->refused = "{33, 33, 33, 33, 1, 1, 7, myriad::Lines(0), 5, 4, 1, 0}";
    bool refused = false;
    try {
      queue->prepare([&] { gemm<float>(*queue, 1, a, x, 1, y); });
    } catch (Error const&) {
      refused = true;
    }
    compiler->refused.clear();
    return refused;
  };
  EXPECT_FALSE(takes_entry(x));
  tuning::table_of(*queue).set(entry);
  EXPECT_TRUE(takes_entry(x));
  EXPECT_FALSE(takes_entry(transposed(x)));
}

/// Lanes read as many elements at once as the alignment of all columns of A and B allows, and of C unless A is by rows.
TEST_F(Products, OfSpansReadAsManyAtOnceAsAddressesAllow) {
  auto const x = matrices<float>(36, queue->device().multiprocessors, 0x100000000000), y = matrices<float>(36, x.count, 0x200000000000);
  auto const unit_of = [&](Batch<float const> const& a, Batch<float> const& c) {
    compiler->refused = "gemm_bulk";
    std::string why;
    try {
      queue->prepare([&] { gemm<float>(*queue, 1, a, x, 1, c); });
    } catch (Error const& refused) {
      why = refused.what();
    }
    compiler->refused.clear();
    for (int const unit : {1, 2, 4})
      if (why.find(fmt::format(", {}, 1}}>", unit)) != why.npos) return unit;
    return 0;
  };
  EXPECT_EQ(unit_of(x, y), 4);
  Batch<float> further = y, apart = y, behind_pointers = y;
  further.data += 2;
  apart.batch_stride += 1;
  std::vector<float*> const pointers(1);
  behind_pointers.data = nullptr, behind_pointers.pointers = pointers.data();
  for (auto const& [c, unit] : {std::pair(further, 2), std::pair(apart, 1), std::pair(behind_pointers, 1)}) {
    EXPECT_EQ(unit_of(x, c), unit);
    EXPECT_EQ(unit_of(transposed(x), c), 4);
  }
}

/// gemm_halves_warpgroups takes products whose matrices and lines begin at multiples of 16 bytes, at constant strides.
TEST_F(Products, OfHalvesComeByBoxes) {
  // Whether a product takes that kernel; valid while it is not loaded
  auto const takes_warpgroups = [&](std::int64_t n, std::int64_t count = 500) {
    auto const x = matrices<half>(n, count, 0x100000000000), y = matrices<half>(n, count, 0x200000000000);
    compiler->refused = "gemm_halves_warpgroups";
    bool refused = false;
    try {
      gemm<half>(*queue, 1, x, x, 0, y);
    } catch (Error const&) {
      refused = true;
    }
    compiler->refused.clear();
    return refused;
  };
  for (std::int64_t const n : {136, 192, 264, 512}) EXPECT_TRUE(takes_warpgroups(n)) << n;
  for (std::int64_t const n : {128, 200, 256, 260}) EXPECT_FALSE(takes_warpgroups(n)) << n;
  // A few matrices of several tiles are divided among blocks.
  EXPECT_TRUE(takes_warpgroups(264, 3));
  EXPECT_FALSE(takes_warpgroups(192, 3));
  auto const of = [&](std::int64_t n, auto const& change) {
    auto a = matrices<half>(n, 500, 0x100000000000), b = a, c = matrices<half>(n, 500, 0x200000000000);
    float alpha = 1;
    change(a, b, c, alpha);
    auto const args = gpu::arguments_of(GemmTask<half, half>{alpha, a, b, 0, c});
    auto const choice = gpu::choose_of_halves(gpu::facts_of<half, half>(args, queue->device()));
    auto const* const boxes = std::get_if<GemmHalvesWarpgroups>(&choice.config);
    EXPECT_GE(launches([&] { gemm<half>(*queue, alpha, a, b, 0, c); }), 1);
    if (!boxes) return false;
    EXPECT_EQ(fake->block[0], static_cast<unsigned>(boxes->threads()));
    return true;
  };
  auto const nothing = [](auto&...) {};
  EXPECT_TRUE(of(320, nothing));
  EXPECT_EQ(fake->block[0], 4U * 128);
  // Several tiles each: no block should have the same tile of every matrix.
  EXPECT_EQ(fake->grid[0], static_cast<unsigned>(queue->device().multiprocessors - 1));
  EXPECT_TRUE(of(136, nothing));
  EXPECT_FALSE(of(260, nothing));
  EXPECT_TRUE(of(264, [](auto& a, auto& b, auto& c, float&) { a = transposed(a), b = transposed(b), c = transposed(c); }));
  EXPECT_TRUE(of(320, [](auto& a, auto&, auto&, float&) { a.batch_stride = 0; }));
  EXPECT_FALSE(of(320, [](auto& a, auto&, auto&, float&) { a.data += 4; }));
  EXPECT_FALSE(of(320, [](auto&, auto&, auto& c, float&) { c.batch_stride += 4; }));
  EXPECT_FALSE(of(320, [](auto&, auto&, auto&, float& alpha) { alpha = 0; }));
  // Tiles are 192 by 128 if all lines begin at multiples of 32 bytes, else 128 by 256. Lines of a block of a matrix of 504 rows do not.
  EXPECT_TRUE(of(496, nothing));
  EXPECT_EQ(fake->block[0], 4U * 128);
  EXPECT_TRUE(of(504, [](auto& a, auto& b, auto& c, float&) {
    a = block(a, 0, 0, 496, 496), b = block(b, 0, 0, 496, 496), c = block(c, 0, 0, 496, 496);
  }));
  EXPECT_EQ(fake->block[0], 3U * 128);
  // Lines that end within 16 bytes: of A and B, and of C
  EXPECT_TRUE(of(264, [](auto& a, auto& b, auto&, float&) { a = block(a, 0, 0, 264, 260), b = block(b, 0, 0, 260, 264); }));
  EXPECT_FALSE(of(264, [](auto& a, auto&, auto& c, float&) { a = block(a, 0, 0, 260, 264), c = block(c, 0, 0, 260, 264); }));
  std::vector<std::int64_t> const sizes(1);
  EXPECT_FALSE(of(320, [&](auto& a, auto&, auto& c, float&) { a.row_sizes = c.row_sizes = sizes.data(); }));
  // A driver that refuses tensor maps
  auto const a = matrices<half>(320, 3, 0x100000000000), c = matrices<half>(320, 3, 0x200000000000);
  auto const shared_bytes = [&] {
    int const before = fake->launches;
    gemm<half>(*queue, 1, a, a, 0, c);
    EXPECT_EQ(fake->launches, before + 1);
    return fake->shared;
  };
  unsigned const of_boxes = shared_bytes();
  fake->fail_tensor_map = 1;
  EXPECT_NE(shared_bytes(), of_boxes);
  EXPECT_EQ(shared_bytes(), of_boxes);
}

}  // namespace
}  // namespace myriad::test
