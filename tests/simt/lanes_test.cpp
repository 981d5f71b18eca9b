/// LU on the host twin gives the same bits with any number of lanes, and in a ragged batch for any bounds of the sizes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "lu/lu_tiny.cuh"
#include "lu/lu_tiny_plan.hpp"
#include "myriad/batch.hpp"
#include "runtime/views.hpp"
#include "sizes.hpp"

namespace myriad {
namespace {

constexpr int n = 7, nrhs = 2, count = 5;

/// A, B and the pivots of n-by-n matrices after a kernel for up to `bound` rows.
template <typename T>
std::vector<T> results(LuJob job, int bound, LuTiny const& c, void (*kernel)(LuTinyArguments<gpu::DeviceElement<T>>)) {
  std::mt19937 random(1);
  std::uniform_real_distribution<Real<T>> uniform(-1, 1);
  auto const number = [&] {
    if constexpr (is_complex<T>)
      return T(uniform(random), uniform(random));
    else
      return uniform(random);
  };
  std::vector<T> a(n * n * count), b(n * nrhs * count);
  for (auto* v : {&a, &b}) std::generate(v->begin(), v->end(), number);
  // In all matrices but the first, candidates for pivots agree in their leading bits. The second has tiny numbers and the third huge ones,
  // which need scaled reciprocals. Right-hand sides are of the same size, and zero from the fourth matrix on.
  auto const exponent = [job](int matrix) {
    constexpr bool single = sizeof(Real<T>) == 4;
    constexpr int least = single ? -110 : -1010;
    int const most = job == LuJob::inverse ? -least : single ? 102 : 995;  // products with solutions do not overflow
    return matrix == 1 ? least : matrix == 2 ? most : 0;
  };
  for (int k = n * n; k < count * n * n; ++k) {
    double const near_one = (random() % 2 ? 1 : -1) * (1 + static_cast<double>(random() % 3) * 0x1p-20);
    a[static_cast<std::size_t>(k)] = T(static_cast<Real<T>>(std::ldexp(near_one, exponent(k / (n * n)))));
  }
  for (int k = n * nrhs; k < count * n * nrhs; ++k)
    b[static_cast<std::size_t>(k)] *= k < 3 * n * nrhs ? static_cast<Real<T>>(std::ldexp(1.0, exponent(k / (n * nrhs)))) : 0;
  std::vector<int> pivots(static_cast<std::size_t>(bound * count)), info(count, -1);
  std::vector<std::int64_t> const sizes(count, n);
  auto const ragged = [&](auto batch, bool square) {
    if (bound == n) return batch;
    batch.rows = bound;
    batch.row_sizes = sizes.data();
    if (!square) return batch;
    batch.cols = bound;
    batch.col_sizes = sizes.data();
    return batch;
  };
  auto const matrices = ragged(batch(a.data(), n, n, {.count = count}), true);
  auto const right = ragged(batch(b.data(), n, nrhs, {.count = count}), false);
  using D = gpu::DeviceElement<T>;
  LuTinyArguments<D> const args{.a = gpu::matrices_of(Batch<T const>(matrices)),
                                .result = gpu::matrices_of(matrices),
                                .pivots = gpu::matrices_of(vectors(pivots.data(), bound, count)),
                                .b = gpu::matrices_of(Batch<T const>(right)),
                                .x = gpu::matrices_of(right),
                                .info = info.data(),
                                .nan_where_singular = false,
                                .sign_or_det = nullptr,
                                .logabs = nullptr};
  simt::run(1, c.threads(), LuTinyMemory(sizeof(T), c).bytes, kernel, args);
  EXPECT_EQ(info, std::vector<int>(count, 0));
  std::vector<T> all = a;
  all.insert(all.end(), b.begin(), b.end());
  for (int q = 0; q < count && job != LuJob::inverse; ++q)
    for (int k = 0; k < n; ++k) all.push_back(static_cast<T>(static_cast<Real<T>>(pivots[static_cast<std::size_t>(q * bound + k)])));
  return all;
}
template <typename T, LuJob job, int bound, int lanes, LuMethod method, int panel>
std::vector<T> results() {
  constexpr LuTiny c = [] {
    LuTiny plan = lu_tiny_plan(job, dtype_of<T>, bound, bound, job == LuJob::inverse ? 0 : nrhs);
    plan.lanes = lanes;
    plan.method = method;
    plan.panel = panel;
    plan.matrices = 32 / lanes;
    if (bound != n) {
      plan.a = plan.result = plan.b = plan.x = simt::Layout::ragged_columns;
      plan.pivots = simt::Layout::columns;
    }
    return plan;
  }();
  return results<T>(job, bound, c, lu_tiny<gpu::DeviceElement<T>, c>);
}

template <typename T, LuJob job>
void check() {
  using enum LuMethod;
  auto const expected = results<T, job, n, 1, in_registers, 0>();
  EXPECT_TRUE((results<T, job, n, 4, panels, n>() == expected)) << "in one panel; the inverse: rows of pivots by shuffles";
  EXPECT_TRUE((results<T, job, n, 32, panels, 3>() == expected)) << "in panels; the inverse: through shared memory";
  EXPECT_TRUE((results<T, job, n + 1, 1, in_registers, 0>() == expected)) << "of a ragged batch";
  EXPECT_TRUE((results<T, job, n + 5, 8, panels, 3>() == expected)) << "of a ragged batch, on several lanes";
  if constexpr (job == LuJob::solve) {  // including signs of zeros
    auto const same = [&](std::vector<T> const& other) {
      return std::memcmp(other.data(), expected.data(), expected.size() * sizeof(T)) == 0;
    };
    EXPECT_TRUE((same(results<T, job, n, 1, elimination, 3>()))) << "eliminating by one lane";
    EXPECT_TRUE((same(results<T, job, n, 2, elimination, 4>()))) << "by two";
    EXPECT_TRUE((same(results<T, job, n, 4, elimination, n>()))) << "by four, in one panel";
    EXPECT_TRUE((same(results<T, job, n + 5, 1, elimination, 4>()))) << "by one, of a ragged batch";
    EXPECT_TRUE((same(results<T, job, n + 5, 8, elimination, 3>()))) << "by eight, of a ragged batch";
  }
}

TEST(Lanes, FactorsAndSolutionsDoNotDependOnThem) {
  check<double, LuJob::solve_and_factor>();
  check<std::complex<float>, LuJob::solve_and_factor>();
}
TEST(Lanes, SolutionsDoNotDependOnThem) {
  check<float, LuJob::solve>();
  if constexpr (!sanitized) check<double, LuJob::solve>();
  check<std::complex<float>, LuJob::solve>();
}
TEST(Lanes, InversesDoNotDependOnThem) {
  check<double, LuJob::inverse>();
  check<std::complex<float>, LuJob::inverse>();
}

}  // namespace
}  // namespace myriad
