/// alpha and beta in GPU memory. One graph is replayed with other numbers there.

#include <gtest/gtest.h>

#include <complex>
#include <memory>

#include "graph.hpp"
#include "on_gpu.hpp"
#include "scalars.hpp"
#include "scale_add/scale_add_gpu.hpp"

namespace myriad {
namespace {

class GpuScalars : public OnFirstGpu {
 protected:
  template <typename T>
  void check() {
    test::Recorder const record = [](Queue& q, std::function<void()> const& calls) -> std::function<void()> {
      q.prepare(calls);
      auto const graph = std::make_shared<test::Graph>(q, calls);
      return [graph] { graph->launch(); };
    };
    for (auto const& [n, count] : {std::pair<std::int64_t, std::int64_t>{7, 40}, {70, 9}})  // one tile and several
      test::ScalarsInMemory<T>(*queue, n, count, record).check();
  }
};

TEST_F(GpuScalars, Single) { check<float>(); }
TEST_F(GpuScalars, Double) { check<double>(); }
TEST_F(GpuScalars, SingleComplex) { check<std::complex<float>>(); }
TEST_F(GpuScalars, DoubleComplex) { check<std::complex<double>>(); }
TEST_F(GpuScalars, Half) { check<half>(); }
TEST_F(GpuScalars, Bfloat16) { check<bfloat16>(); }
TEST_F(GpuScalars, ComplexHalf) { check<complex_half>(); }

/// The workspace holds the products of some of the matrices at a time.
TEST_F(GpuScalars, OfManyMatrices) {
  std::int64_t const n = 64, count = gpu::scale_add_bytes / (n * n * 8) * 5 / 2;
  std::vector<double> numbers(static_cast<std::size_t>(n * n * count));
  for (std::size_t e = 0; e < numbers.size(); ++e) numbers[e] = static_cast<double>(e % 1013) / 1013 - 0.5;
  DeviceArray<double> const a = to_device(*queue, numbers), alpha = to_device(*queue, std::vector<double>{3});
  auto const product = [&](Scalar<double> factor) {
    DeviceArray<double> const c = to_device(*queue, numbers);
    auto const view = [&](auto* x) { return batch(x, n, n, {.count = count}); };
    auto const multiply = [&] { gemm<double>(*queue, factor, view(a.data()), view(a.data()), -1, view(c.data())); };
    EXPECT_EQ(queue->workspace(multiply), factor.in_memory() ? gpu::scale_add_bytes : 0);
    multiply();
    return to_host(*queue, c);
  };
  EXPECT_EQ(product(3), product(alpha.data()));
}

}  // namespace
}  // namespace myriad
