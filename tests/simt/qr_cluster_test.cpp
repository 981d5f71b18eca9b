/// QR of panels by clusters of blocks on the host twin: against the CPU library, V^H V against its definition; and larger matrices that go
/// by such panels.

#include "qr/blocked/qr_cluster.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "myriad/myriad.hpp"
#include "qr/block/qr_registers.cuh"
#include "qr/blocked/block_reflector.cuh"
#include "qr/blocked/qr_blocked.hpp"
#include "qr/blocked/qr_passes.cuh"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

template <typename T>
constexpr double unit = sizeof(Real<T>) == 4 ? 0x1p-24 : 0x1p-53;

/// The CPU's R, reflectors and tau, in an array like that of `a`.
template <typename T>
void factor_on_cpu(Batch<T> const& a, Batch<T> const& tau) {
  static Queue cpu({.backend = Backend::cpu, .threads = 1});
  geqrf<T>(cpu, a, tau);
}
template <typename T>
double difference(std::vector<T> const& x, std::vector<T> const& y) {
  double largest = 0;
  for (std::size_t e = 0; e < x.size(); ++e) {
    double const of_element = std::abs(x[e] - y[e]);
    if (!(of_element <= largest)) largest = of_element;
  }
  return largest;
}

template <typename T>
class QrCluster : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(QrCluster, Types);

/// A batch with a matrix without rows, one whose column is zero below the diagonal, and one with NaN.
template <typename T>
void check_panels(int m, int n, Layout layout) {
  SCOPED_TRACE(testing::Message() << m << " by " << n << ", layout " << static_cast<int>(layout));
  using D = gpu::DeviceElement<T>;
  constexpr std::int64_t count = 4, empty = 1, vanishing = 2, not_a_number = 3;
  int const line = qr_cluster_columns(sizeof(T)), steps = std::min(m, n);
  Stored<T> a(m, n, count, layout);
  fill(a.memory, static_cast<unsigned>(m + n));
  for (std::int64_t i = 2; i < m; ++i) *a.view.at(vanishing, i, 1) = T(0), *a.view.at(vanishing, i, 0) = T(0);
  *a.view.at(not_a_number, m / 2, n / 2) = T(std::numeric_limits<Real<T>>::quiet_NaN());
  std::vector<std::int64_t> rows{m, 0, m, m}, cols{n, n, n, n};
  a.view.row_sizes = rows.data(), a.view.col_sizes = cols.data();
  std::vector<T> expected = a.memory;
  std::vector<T> tau(static_cast<std::size_t>(steps * count), T(7)), tau_of_cpu = tau;
  std::vector<T> gram(static_cast<std::size_t>(line * line * count), T(7));
  Batch<T> of_cpu = a.view;
  of_cpu.data = expected.data() + (a.view.data - a.memory.data());
  factor_on_cpu<T>(of_cpu, vectors(tau_of_cpu.data(), steps, count));
  int const warps = qr_cluster_warps(m);
  simt::run(2 * qr_cluster_blocks, 32 * warps, QrClusterMemory(sizeof(T), warps).elements * static_cast<int>(sizeof(T)), qr_cluster<D>,
            QrClusterArguments<D>{.a = gpu::matrices_of(a.view),
                                  .tau = gpu::matrices_of(vectors(tau.data(), steps, count)),
                                  .gram = reinterpret_cast<D*>(gram.data()),
                                  .line = line,
                                  .warps = warps},
            false, qr_cluster_blocks);
  double const bound = 50 * m * unit<T>;
  for (std::int64_t q = 0; q < count; ++q) {
    SCOPED_TRACE(testing::Message() << "matrix " << q);
    auto const of_matrix = static_cast<std::size_t>(q * steps);
    for (int k = 0; k < steps; ++k) {
      T const t = tau[of_matrix + static_cast<std::size_t>(k)];
      if (q == empty) {
        ASSERT_EQ(t, T(7));
      } else if (q == not_a_number) {
        if (k > n / 2) {
          ASSERT_TRUE(std::isnan(std::abs(t)));
        }
      } else {
        ASSERT_LE(std::abs(t - tau_of_cpu[of_matrix + static_cast<std::size_t>(k)]), bound) << k;
      }
    }
    if (q == not_a_number) continue;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i)
        ASSERT_LE(std::abs(*a.view.at(q, i, j) - *of_cpu.at(q, i, j)), bound * std::sqrt(m)) << i << ", " << j;
    if (q == empty) continue;
    auto const v = [&](int i, int j) { return i == j ? T(1) : i < j ? T(0) : *a.view.at(q, i, j); };
    for (int i = 0; i < steps; ++i)
      for (int j = 0; j < i; ++j) {
        T sum(0);
        for (int k = 0; k < m; ++k) {
          if constexpr (is_complex<T>)
            sum += std::conj(v(k, i)) * v(k, j);
          else
            sum += v(k, i) * v(k, j);
        }
        ASSERT_LE(std::abs(sum - gram[static_cast<std::size_t>(q * line * line + i * line + j)]), bound) << i << ", " << j;
      }
  }
}
TYPED_TEST(QrCluster, PanelsAgreeWithTheCpu) {
  using T = TypeParam;
  int const n = qr_cluster_columns(sizeof(T));
  check_panels<T>(70, n, Layout::packed_columns);
  if (sanitized) return;
  check_panels<T>(257, n - 3, Layout::packed_rows);
  check_panels<T>(20, n, Layout::columns);
}

template <typename T, std::size_t k>
void add_registers(HostMachine& machine) {
  constexpr QrRegisters c = qr_registers_configs(sizeof(T))[k];
  machine.add(gpu::source_of(qr_registers_kernel, dtype_of<T>, c), qr_registers<gpu::DeviceElement<T>, c>);
}
TEST(QrClusterPanels, AgreeWithTheCpu) {
  using T = double;
  constexpr int m = 540, n = 70;
  HostMachine machine;
  machine.device().major = 9;
  machine.add(gpu::source_of(qr_cluster_kernel, dtype_of<T>), qr_cluster<T>);
  machine.add(gpu::source_of(qr_passes_kernel, dtype_of<T>), qr_passes<T>);
  machine.add(gpu::source_of(block_reflector_kernel, dtype_of<T>), block_reflector<T>);
  add_registers<T, 4>(machine);
  std::vector<T> memory(static_cast<std::size_t>(m * n)), tau(n), tau_of_cpu(n);
  fill(memory, 9);
  // Sums of squares of these columns are lost without a scale, and the CPU scales the results alike.
  for (int i = 0; i < m; ++i)
    memory[static_cast<std::size_t>(3 * m + i)] *= 0x1p-900, memory[static_cast<std::size_t>(60 * m + i)] *= 0x1p700;
  std::vector<T> expected = memory;
  geqrf_large<T>(machine, GeqrfTask<T>{.a = batch(memory.data(), m, n), .tau = vectors(tau.data(), n, 1)});
  factor_on_cpu<T>(batch(expected.data(), m, n), vectors(tau_of_cpu.data(), n, 1));
  for (int i = 0; i <= 3; ++i) {
    auto const at = static_cast<std::size_t>(3 * m + i);
    EXPECT_NEAR(memory[at] * 0x1p900, expected[at] * 0x1p900, 1e-11);
    memory[at] = expected[at] = 0;
  }
  for (int i = 0; i <= 60; ++i) {
    auto const at = static_cast<std::size_t>(60 * m + i);
    EXPECT_NEAR(memory[at] * 0x1p-700, expected[at] * 0x1p-700, 1e-11);
    memory[at] = expected[at] = 0;
  }
  EXPECT_LE(difference(memory, expected), 1e-11);
  EXPECT_LE(difference(tau, tau_of_cpu), 1e-12);
}

TEST(QrClusterPlan, FitsTheGpu) {
  for (int const bytes : {4, 8, 16})
    for (std::int64_t m = 1; m <= 5000; m += 61) {
      QrPanel const plan = qr_panel_plan(bytes, m, 227 << 10, true), without = qr_panel_plan(bytes, m, 227 << 10);
      EXPECT_GE(plan.width, without.width);
      EXPECT_EQ(plan.in == QrPanelIn::cluster, m > 512 && m <= qr_cluster_most) << m;
      if (plan.in == QrPanelIn::cluster) {
        EXPECT_LE(qr_cluster_warps(m), qr_cluster_most_warps);
      }
    }
}

}  // namespace
}  // namespace myriad
