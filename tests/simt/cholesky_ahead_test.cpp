/// Cholesky in a lone block, where diagonal blocks are factored ahead, on the host twin: the bits of the kernel for many matrices.

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "cholesky/cholesky_block.cuh"
#include "cholesky/cholesky_blocked.hpp"
#include "myriad/myriad.hpp"
#include "simt_host/host.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

template <typename T>
class CholeskyAhead : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CholeskyAhead, Types);

struct Wanted {
  int n, right = 0;
  Layout layout = Layout::packed_columns;
  bool ragged = false;
};

template <typename T>
void check_bits(Wanted const& w) {
  SCOPED_TRACE(testing::Message() << w.n << " rows, " << w.right << " right-hand sides, layout " << static_cast<int>(w.layout)
                                  << (w.ragged ? ", ragged" : ""));
  using D = gpu::DeviceElement<T>;
  constexpr std::int64_t count = 4, not_definite = 1;
  Stored<T> a(w.n, w.n, count, w.layout), b(w.n, std::max(w.right, 1), count, w.layout);
  fill(a.memory, static_cast<unsigned>(w.n));
  fill(b.memory, 3);
  std::vector<std::int64_t> sizes{0, w.n - 3, w.n / 2, w.n};  // the first meets shared memory that nothing has been written to
  if (w.ragged) a.view.row_sizes = a.view.col_sizes = b.view.row_sizes = sizes.data();
  for (std::int64_t q = 0; q < count; ++q)
    for (std::int64_t i = 0; i < w.n; ++i) *a.view.at(q, i, i) = T(q == not_definite && i == w.n - 5 ? -1 : 3 * w.n);
  auto const run = [&](auto const& kernel, CholeskyBlock const& c, std::vector<T>& of_a, std::vector<T>& of_b, std::vector<int>& info) {
    Batch<T> factor = a.view, x = b.view;
    factor.data = of_a.data() + (a.view.data - a.memory.data());
    x.data = of_b.data() + (b.view.data - b.memory.data());
    if (w.right == 0) x = {};
    CholeskyBlockArguments<D> const args{.a = gpu::matrices_of(Batch<T const>(factor)),
                                         .factor = gpu::matrices_of(factor),
                                         .info = info.data(),
                                         .first = 0,
                                         .b = gpu::matrices_of(Batch<T const>(x)),
                                         .x = gpu::matrices_of(x),
                                         .nan_where_not_definite = false,
                                         .jitter = nullptr,
                                         .floor = nullptr,
                                         .replaced = nullptr};
    simt::run(2, c.threads(), static_cast<int>(CholeskyBlockMemory(sizeof(T), w.n, w.right, c.warps, c.ahead != 0).bytes), kernel, args);
  };
  constexpr CholeskyBlock many = cholesky_block_plan(sizeof(T), 96, Lines::columns), lone = cholesky_block_ahead(Lines::columns);
  std::vector<T> factors = a.memory, other_factors = a.memory, solutions = b.memory, other_solutions = b.memory;
  std::vector<int> info(count, -7), other_info = info;
  run(cholesky_block<D, many>, many, factors, solutions, info);
  run(cholesky_block<D, lone>, lone, other_factors, other_solutions, other_info);
  EXPECT_EQ(info, other_info);
  EXPECT_EQ(info[not_definite], w.n - 4 <= (w.ragged ? w.n - 3 : w.n) ? w.n - 4 : 0);
  // Behind the pivot that is not positive anything may be in the triangle.
  Batch<T> const& v = a.view;
  for (std::int64_t j = info[not_definite] / 8 * 8; j < w.n; ++j)
    for (std::int64_t i = j; i < w.n; ++i) {
      auto const at = static_cast<std::size_t>(v.at(not_definite, i, j) - a.memory.data());
      factors[at] = other_factors[at] = T(0);
    }
  EXPECT_EQ(std::memcmp(factors.data(), other_factors.data(), factors.size() * sizeof(T)), 0);
  EXPECT_EQ(std::memcmp(solutions.data(), other_solutions.data(), solutions.size() * sizeof(T)), 0);
}

TYPED_TEST(CholeskyAhead, HasTheBitsOfManyMatrices) {
  using T = TypeParam;
  check_bits<T>({.n = 75, .right = 3});
  if (sanitized) return;
  check_bits<T>({.n = 96});
  check_bits<T>({.n = 41, .right = 8, .layout = Layout::dense_rows, .ragged = true});
  check_bits<T>({.n = 33, .layout = Layout::interleaved});
}

}  // namespace
}  // namespace myriad
