/// Device functions that compute with one matrix by a block: they compile for GPUs, and give there what the library's routines give.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "../simt/of_block_arguments.cuh"
#include "../simt/of_block_configs.hpp"
#include "core/dtype.hpp"
#include "myriad/memory.hpp"
#include "myriad/myriad.hpp"
#include "on_gpu.hpp"
#include "runtime/launch.hpp"
#include "runtime/nvrtc.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "test_kernel.hpp"

namespace myriad::gpu {
namespace {

using test::tiles;
using test::triangle;

/// The library's sources and those of the kernels here.
std::span<SourceFile const> sources() {
  static std::string const kernels = test::text_of(MYRIAD_SOURCE_DIR "/tests/simt/of_block_kernels.cuh"),
                           arguments = test::text_of(MYRIAD_SOURCE_DIR "/tests/simt/of_block_arguments.cuh");
  static std::vector<SourceFile> const files = [] {
    std::vector<SourceFile> all(embedded_sources().begin(), embedded_sources().end());
    all.push_back({"of_block_kernels.cuh", kernels});
    all.push_back({"of_block_arguments.cuh", arguments});
    return all;
  }();
  return files;
}

std::string text(GemmTiles const& c) {
  return fmt::format(
      "myriad::GemmTiles{{{}, {}, {}, {}, {}, {}, {}, myriad::Extent({}), {}, {}, {}, myriad::Structure({}), myriad::Written({}), {}}}",
      c.m, c.n, c.k, c.row_lanes, c.column_lanes, c.matrices, c.blocks_per_sm, static_cast<int>(c.extent), device_name(c.a),
      device_name(c.b), device_name(c.c), static_cast<int>(c.structure), static_cast<int>(c.written), c.scheduled);
}
std::string text(TrsmColumns const& c) {
  return fmt::format("myriad::TrsmColumns{{{}, {}, {}, {}, myriad::Moved({}), {}, {}, {}, {}}}", c.n, c.held, c.warps, c.blocks_per_sm,
                     static_cast<int>(c.moved), c.inverse, c.lower, c.tensor, c.ragged);
}
template <typename T>
int bytes_of(GemmTiles const& c) {
  return GemmTilesMemory(sizeof(T), c).bytes;
}
template <typename T>
int bytes_of(TrsmColumns const& c) {
  return TrsmColumnsMemory(sizeof(Real<T>), is_complex<T>, c).bytes;
}

/// A kernel of of_block_kernels.cuh, and the shared memory that the largest of its configs needs.
struct OfBlock {
  KernelSource source;
  int shared_bytes;
};
template <typename T, typename... Configs>
OfBlock kernel(char const* name, Configs const&... configs) {
  return {.source = {.header = "of_block_kernels.cuh",
                     .name = fmt::format("myriad::test::{}<{}{}>", name, device_name(dtype_of<T>), (... + (", " + text(configs)))),
                     .options = {"-default-device", "--fmad=false"},
                     .files = sources()},
          .shared_bytes = std::max({bytes_of<T>(configs)...})};
}
template <typename T>
OfBlock products() {
  return kernel<T>("products", tiles(32, 24));
}
template <typename T>
OfBlock updates() {
  return kernel<T>("updates", tiles(32, 32, Structure::general, Written::whole, 1));
}
template <typename T>
OfBlock rank_2k_updates() {
  return kernel<T>("rank_2k_updates", tiles(32, 32, Structure::general, Written::lower));
}
template <typename T>
OfBlock solves(bool lower) {
  return kernel<T>("solves", triangle<T>(32, lower, false), tiles(32, 24));
}
template <typename T>
OfBlock triangular_products(bool lower) {
  return kernel<T>("triangular_products", tiles(32, 24, lower ? Structure::lower : Structure::unit_upper), tiles(32, 24));
}
template <typename T>
OfBlock inverses(bool lower) {
  return kernel<T>("inverses", triangle<T>(32, lower, true), triangle<T>(32, lower, false), triangle<T>(32, !lower, false), tiles(32, 24));
}

template <typename T>
class OfABlock : public testing::Test {};
template <typename T>
class GpuOfABlock : public OnFirstGpu {
 protected:
  static constexpr std::int64_t n = 70, columns = 50, inner = 37, count = 7;

  static std::vector<T> random(std::int64_t size, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<Real<T>> part(-1, 1);
    std::vector<T> out(static_cast<std::size_t>(size));
    for (T& x : out) {
      if constexpr (is_complex<T>) {
        Real<T> const re = part(generator);
        x = T(re, part(generator));
      } else {
        x = part(generator);
      }
    }
    return out;
  }
  /// Far from singular in both triangles.
  static std::vector<T> triangles() {
    std::vector<T> out = random(n * n * count, 1);
    for (std::int64_t at = 0; at < n * n * count; ++at) {
      T& x = out[static_cast<std::size_t>(at)];
      x *= Real<T>(2) / Real<T>(n);
      if (at % (n * n) % (n + 1) == 0) x += T(at / (n * n) % 2 == 0 ? 2 : -2);
    }
    return out;
  }
  std::string of_kernel;
  template <typename Arguments>
  void run(OfBlock const& of, Arguments const& arguments) {
    of_kernel = of.source.name;
    Kernel const& loaded = kernel_for(*this->queue, kernel_key(kernel_id(of.source.name)), [&] { return of.source; });
    launch(*this->queue, loaded, {.blocks = 3, .threads = 64, .shared_bytes = of.shared_bytes}, arguments);
  }
  void expect_close(DeviceArray<T> const& found, DeviceArray<T> const& expected) {
    std::vector<T> const x = to_host(*this->queue, found), y = to_host(*this->queue, expected);
    double const limit = 100.0 * n * (sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(std::abs(x[i] - y[i]), limit * (1 + std::abs(y[i]))) << i << ": " << x[i] << " " << y[i] << " of " << of_kernel;
  }
  static DeviceElement<T> device(T x) { return std::bit_cast<DeviceElement<T>>(x); }
};
using OneOfEachKind = testing::Types<float, std::complex<double>>;  // compiling takes seconds
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(OfABlock, OneOfEachKind);
TYPED_TEST_SUITE(GpuOfABlock, Types);

TYPED_TEST(OfABlock, CompilesForAGpuThatIsNotThere) {
  using T = TypeParam;
  if (!Nvrtc::instance().available()) GTEST_SKIP() << Nvrtc::instance().problem();
  for (OfBlock const& of :
       {products<T>(), updates<T>(), rank_2k_updates<T>(), solves<T>(true), triangular_products<T>(false), inverses<T>(true)}) {
    std::vector<SourceFile> const headers = reached_sources(of.source.header, of.source.files);
    Compiled const compiled = Nvrtc::instance().compile({.source = "#include \"" + of.source.header + "\"\n",
                                                         .name = of.source.name,
                                                         .headers = headers,
                                                         .arch = "sm_90",
                                                         .options = of.source.options,
                                                         .want_ptx = false});
    EXPECT_TRUE(compiled.cubin.starts_with("\177ELF")) << of.source.name;
  }
}

TYPED_TEST(GpuOfABlock, Products) {
  using T = TypeParam;
  auto const n = this->n, columns = this->columns, inner = this->inner, count = this->count;
  Queue& queue = *this->queue;
  auto const a = to_device(queue, this->random(n * inner * count, 1)), b = to_device(queue, this->random(inner * columns * count, 2));
  auto const c = this->random(n * columns * count, 3);
  DeviceArray<T> found = to_device(queue, c), expected = to_device(queue, c);
  Batch<T const> const on_a = batch(a.data(), n, inner, {.count = count}), on_b = batch(b.data(), inner, columns, {.count = count});
  auto const product = [&](Batch<T const> const& x, Batch<T const> const& y, T alpha, T beta, std::int64_t depth) {
    return GemmArguments<DeviceElement<T>>{.alpha = this->device(alpha),
                                           .beta = this->device(beta),
                                           .a = matrices_of(x),
                                           .b = matrices_of(y),
                                           .c = matrices_of(batch(found.data(), n, columns, {.count = count})),
                                           .depth = depth};
  };
  Batch<T> const to = batch(expected.data(), n, columns, {.count = count});
  this->run(products<T>(), product(on_a, on_b, T(-0.75), T(2), inner));
  gemm<T>(queue, T(-0.75), on_a, on_b, T(2), to);
  this->expect_close(found, expected);

  Batch<T const> const x = myriad::columns(on_a, 0, 1), y = transposed(rows(on_b, 0, 1));
  this->run(updates<T>(), product(x, transposed(y), T(0.5), T(1), 1));
  ger<T>(queue, T(0.5), x, y, to);
  this->expect_close(found, expected);
}

TYPED_TEST(GpuOfABlock, RankTwoUpdates) {
  using T = TypeParam;
  auto const n = this->n, inner = this->inner, count = this->count;
  Queue& queue = *this->queue;
  auto const a = to_device(queue, this->random(n * inner * count, 1)), b = to_device(queue, this->random(n * inner * count, 2));
  auto const c = this->random(n * n * count, 3);
  DeviceArray<T> found = to_device(queue, c), expected = to_device(queue, c);
  Batch<T const> const on_a = batch(a.data(), n, inner, {.count = count}), on_b = batch(b.data(), n, inner, {.count = count});
  this->run(rank_2k_updates<T>(), GemmArguments<DeviceElement<T>>{.alpha = this->device(T(-0.5)),
                                                                  .beta = this->device(T(2)),
                                                                  .a = matrices_of(on_a),
                                                                  .b = matrices_of(transposed(on_b)),
                                                                  .c = matrices_of(batch(found.data(), n, n, {.count = count})),
                                                                  .depth = inner});
  syr2k<T>(queue, Uplo::lower, T(-0.5), on_a, on_b, T(2), batch(expected.data(), n, n, {.count = count}));
  this->expect_close(found, expected);
}

TYPED_TEST(GpuOfABlock, Triangles) {
  using T = TypeParam;
  auto const n = this->n, columns = this->columns, count = this->count;
  Queue& queue = *this->queue;
  auto const triangles = this->triangles(), b = this->random(n * columns * count, 2);
  DeviceArray<T> const a = to_device(queue, triangles);
  Batch<T const> const on_a = batch(a.data(), n, n, {.count = count});
  DeviceArray<int> found_info(queue, count), expected_info(queue, count);
  for (bool const lower : {true, false}) {
    SCOPED_TRACE(lower);
    Uplo const uplo = lower ? Uplo::lower : Uplo::upper;
    Diag const diag = lower ? Diag::non_unit : Diag::unit;
    auto const check = [&](OfBlock const& of, auto const& reference) {
      DeviceArray<T> found = to_device(queue, b), expected = to_device(queue, b);
      this->run(of, test::TriangleArguments<DeviceElement<T>>{.unit = !lower,
                                                              .info = nullptr,
                                                              .alpha = this->device(T(-0.75)),
                                                              .a = matrices_of(on_a),
                                                              .b = matrices_of(batch(found.data(), n, columns, {.count = count}))});
      reference(batch(expected.data(), n, columns, {.count = count}));
      this->expect_close(found, expected);
    };
    check(solves<T>(lower), [&](Batch<T> const& to) { trsm<T>(queue, Side::left, uplo, diag, T(-0.75), on_a, to); });
    check(triangular_products<T>(lower), [&](Batch<T> const& to) { trmm<T>(queue, Side::left, uplo, diag, T(-0.75), on_a, to); });

    DeviceArray<T> found = to_device(queue, triangles), expected = to_device(queue, triangles);
    this->run(inverses<T>(lower), test::TriangleArguments<DeviceElement<T>>{.unit = !lower,
                                                                            .info = found_info.data(),
                                                                            .alpha = this->device(T(1)),
                                                                            .a = {},
                                                                            .b = matrices_of(batch(found.data(), n, n, {.count = count}))});
    trtri<T>(queue, uplo, diag, batch(expected.data(), n, n, {.count = count}), expected_info.data());
    this->expect_close(found, expected);
    EXPECT_EQ(to_host(queue, found_info), to_host(queue, expected_info));
  }
}

}  // namespace
}  // namespace myriad::gpu
