/// Kernels of tiny matrices with a tuned number of lanes: a matrix gets the same bits with any number of lanes, in blocks of any size.

#include "candidates.hpp"

#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <vector>

#include "runtime/views.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "symv/symv_tiny.cuh"
#include "symv/symv_tiny_space.hpp"
#include "trsm/trsm_space.hpp"
#include "trsm/trsm_tiny.cuh"

namespace myriad {
namespace {

constexpr std::int64_t count = 37;  // leaves blocks that are not full

/// Expects run(batches) to give the same bits with each of `configs` kernels.
template <typename T, typename Run>
void compare(int n, int width, std::size_t configs, Run run) {
  Stored<T> a(n, n, count, Layout::packed_columns), b(n, width, count, Layout::packed_columns),
      given(n, width, count, Layout::packed_columns);
  fill(a.memory, 1);
  fill(b.memory, 2);
  fill(given.memory, 3);
  for (std::int64_t q = 0; q < count; ++q)
    for (int i = 0; i < n; ++i) *a.view.at(q, i, i) += T(3);
  std::vector<T> first;
  for (std::size_t k = 0; k < configs; ++k) {
    Stored<T> x(n, width, count, Layout::packed_columns);
    x.memory = given.memory;
    run(k, gpu::matrices_of(Batch<T const>(a.view)), gpu::matrices_of(Batch<T const>(b.view)), gpu::matrices_of(x.view));
    EXPECT_NE(std::memcmp(x.memory.data(), given.memory.data(), sizeof(T) * x.memory.size()), 0);
    if (k == 0) first = x.memory;
    EXPECT_EQ(std::memcmp(x.memory.data(), first.data(), sizeof(T) * x.memory.size()), 0) << "config " << k;
  }
}

template <typename T, SymvTiny... all>
void check_symv() {
  using D = gpu::DeviceElement<T>;
  constexpr std::array configs{all...};
  constexpr std::array kernels{symv_tiny<D, all>...};
  constexpr int n = configs[0].n;
  for (SymvTiny const& c : configs) expect_candidate(SymvTinySpace{dtype_of<T>, configs[0].symmetry, n}, c);
  compare<T>(n, 1, configs.size(), [&](std::size_t k, auto const& a, auto const& x, auto const& y) {
    SymvTinyArguments<D> const args{.alpha = std::bit_cast<D>(T(-0.75)), .beta = std::bit_cast<D>(T(2)), .a = a, .x = x, .y = y};
    simt::run(2, configs[k].threads(), SymvTinyMemory(sizeof(T), configs[k]).bytes, kernels[k], args);
  });
}
template <typename T, TrsmTiny... all>
void check_trsm(int columns) {
  using D = gpu::DeviceElement<T>;
  constexpr std::array configs{all...};
  constexpr std::array kernels{trsm_tiny<D, all>...};
  constexpr TrsmTiny first = configs[0];
  for (TrsmTiny const& c : configs)
    expect_candidate(TrsmTinySpace{dtype_of<T>, first.n, columns, first.lower, first.upper, first.interchange, first.right}, c);
  compare<T>(first.n, columns, configs.size(), [&](std::size_t k, auto const& a, auto const&, auto const& b) {
    TrsmTinyArguments<D> const args{.alpha = std::bit_cast<D>(T(2)), .a = a, .b = b, .columns = columns, .pivots = {}, .info = nullptr};
    simt::run(2, configs[k].threads(), TrsmTinyMemory(sizeof(T), configs[k]).bytes, kernels[k], args);
  });
}
constexpr TrsmTiny trsm(int n, std::int64_t columns, Triangle lower, Triangle upper, RightSide right = RightSide::given) {
  TrsmTiny c = trsm_tiny_plan(n, columns);
  c.lower = lower, c.upper = upper, c.right = right;
  if (columns > c.nrhs) c.b = simt::Layout::columns;
  return c;
}

TEST(Candidates, OfSymvGiveTheSameBits) {
  using Space = SymvTinySpace;
  constexpr SymvTiny small = symv_tiny_plan(Symmetry::symmetric, 7), large = symv_tiny_plan(Symmetry::hermitian, 20);
  check_symv<double, small, with<Space>(small, 1, 32), with<Space>(small, 8, 16)>();
  if constexpr (!sanitized) check_symv<std::complex<float>, large, with<Space>(large, 32, 1), with<Space>(large, 4, 16)>();
}
TEST(Candidates, OfTrianglesGiveTheSameBits) {
  using Space = TrsmTinySpace;
  constexpr TrsmTiny one = trsm(9, 1, Triangle::non_unit, Triangle::unused), both = trsm(20, 3, Triangle::unit, Triangle::non_unit);
  check_trsm<double, one, with<Space>(one, 1, 32), with<Space>(one, 16, 4)>(1);
  if constexpr (!sanitized) {
    check_trsm<std::complex<double>, both, with<Space>(both, 4, 8), with<Space>(both, 32, 2)>(3);
    constexpr TrsmTiny inverse = trsm(12, 12, Triangle::unused, Triangle::non_unit, RightSide::identity);
    check_trsm<float, inverse, with<Space>(inverse, 2, 16), with<Space>(inverse, 16, 8)>(12);
  }
}

}  // namespace
}  // namespace myriad
