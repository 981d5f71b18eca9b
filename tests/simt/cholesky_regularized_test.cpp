/// Cholesky with shifts of the diagonal and floors of pivots on the host twin, in a block and by blocks: against the CPU library.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "blocked/by_sizes.cuh"
#include "blocked/by_sizes.hpp"
#include "blocked/copy_matrices.cuh"
#include "cholesky/cholesky_block.cuh"
#include "cholesky/cholesky_blocked.hpp"
#include "myriad/myriad.hpp"
#include "simt_host/machine.hpp"
#include "sizes.hpp"
#include "stored.hpp"

namespace myriad {
namespace {

Queue& cpu_queue() {
  static Queue queue({.backend = Backend::cpu, .threads = 1});
  return queue;
}

/// Its blocks hold 72 rows at most.
template <typename T>
HostMachine machine_with_kernels() {
  using D = gpu::DeviceElement<T>;
  HostMachine machine;
  machine.device().shared_memory_per_block = CholeskyBlockMemory(sizeof(T), 72, cholesky_block_right, 8, true).bytes;
  auto const add = [&]<CholeskyBlock c> { machine.add(gpu::source_of(cholesky_block_kernel, dtype_of<T>, c), cholesky_block<D, c>); };
  add.template operator()<cholesky_block_plan(sizeof(T), 8, Lines::columns, true)>();
  add.template operator()<cholesky_block_plan(sizeof(T), 8, Lines::rows, true)>();
  if constexpr (cholesky_block_plan(sizeof(T), 64, Lines::rows) != cholesky_block_plan(sizeof(T), 8, Lines::rows)) {
    add.template operator()<cholesky_block_plan(sizeof(T), 64, Lines::columns, true)>();
    add.template operator()<cholesky_block_plan(sizeof(T), 64, Lines::rows, true)>();
  }
  add.template operator()<cholesky_block_plan(sizeof(T), 72, Lines::columns, true)>();
  add.template operator()<cholesky_block_plan(sizeof(T), 72, Lines::rows, true)>();
  machine.add(gpu::source_of(copy_matrices_kernel, dtype_of<T>), copy_matrices<D>);
  machine.add(gpu::source_of(select_sizes_kernel, dtype_of<T>), select_sizes<D>);
  machine.add(gpu::source_of(select_info_kernel, dtype_of<T>), select_info<D>);
  return machine;
}

template <typename T>
class CholeskyRegularized : public testing::Test {};
using Types = testing::Types<float, double, std::complex<double>>;
TYPED_TEST_SUITE(CholeskyRegularized, Types);

/// One matrix in four is indefinite in its last rows, one has NaN, one is definite; shifts and floors take turns.
TYPED_TEST(CholeskyRegularized, LikeTheCpu) {
  using T = TypeParam;
  using R = Real<T>;
  constexpr std::int64_t count = 12;
  int turn = 0;
  for (int const n : sanitized ? std::vector{33} : std::vector{1, 7, 32, 65, 90})
    for (int const nrhs : {0, 2, 9})  // 0: potrf
      for (bool const ragged : {false, true}) {
        ++turn;
        Layout layout = layouts[static_cast<std::size_t>(turn) % layouts.size()];
        if (ragged) layout = ragged_layout(layout == Layout::interleaved ? Layout::columns : layout);
        bool const gives_jitter = turn % 4 != 3, gives_floor = turn % 4 != 2, gives_replaced = turn % 5 != 4;
        SCOPED_TRACE(testing::Message() << n << " rows, " << nrhs << " right-hand sides, layout " << static_cast<int>(layout)
                                        << (ragged ? ", ragged" : ""));
        Stored<T> a(n, n, count, layout), b(n, nrhs, count, layout);
        std::vector<std::int64_t> sizes;
        for (std::int64_t q = 0; q < count; ++q) sizes.push_back(ragged && q > 0 ? (q * 37 + 1) % (n + 1) : n);
        if (ragged) a.view.row_sizes = a.view.col_sizes = b.view.row_sizes = sizes.data();
        std::fill(a.memory.begin(), a.memory.end(), T(std::numeric_limits<R>::quiet_NaN()));
        fill(b.memory, 5);
        std::vector<R> jitter(count), floor(count);
        for (std::int64_t q = 0; q < count; ++q) {
          auto const at = static_cast<std::size_t>(q);
          std::int64_t const m = a.view.rows_of(q);
          std::vector<T> random(static_cast<std::size_t>(m * m + 1));
          fill(random, static_cast<unsigned>(q + 3));
          for (std::int64_t j = 0; j < m; ++j) {
            for (std::int64_t i = j + 1; i < m; ++i)
              *a.view.at(q, i, j) = R(0.25) / std::sqrt(static_cast<R>(m + 1)) * random[static_cast<std::size_t>(i + j * m)];
            *a.view.at(q, j, j) = T(q % 4 == 0 && j > m - 6 ? R(-1) : R(2 + j % 3));
          }
          if (q % 4 == 1 && m > 0) *a.view.at(q, m / 2, m / 2) = T(std::numeric_limits<R>::quiet_NaN());
          jitter[at] = q % 3 == 0 ? R(0.3) : q % 3 == 1 ? R(-0.1) : R(0);
          floor[at] = q < 8 ? R(0.7) + R(q) / R(10) : q == 8 ? R(0) : q == 9 ? R(-1) : q == 10 ? std::numeric_limits<R>::quiet_NaN() : R(4);
        }
        auto const former_a = a.memory, former_b = b.memory;
        struct Results {
          std::vector<T> a, b;
          std::vector<int> info, replaced;
        };
        auto const results = [&](auto use) {
          Results out{former_a, former_b, std::vector<int>(count, -9), std::vector<int>(count, -9)};
          auto const moved = [](Stored<T> const& from, std::vector<T>& to) {
            Batch<T> view = from.view;
            view.data = to.data() + (from.view.data - from.memory.data());
            return view;
          };
          use(moved(a, out.a), moved(b, out.b),
              Regularization<R>{.jitter = gives_jitter ? jitter.data() : nullptr,
                                .floor = gives_floor ? floor.data() : nullptr,
                                .replaced = gives_replaced ? out.replaced.data() : nullptr},
              out.info.data());
          return out;
        };
        Results const right = results([&](Batch<T> const& of_a, Batch<T> const& of_b, Regularization<R> const& r, int* info) {
          if (nrhs == 0)
            potrf_regularized<T>(cpu_queue(), Uplo::lower, of_a, r.jitter, r.floor, r.replaced, info);
          else
            posv_regularized<T>(cpu_queue(), Uplo::lower, of_a, of_b, r.jitter, r.floor, r.replaced, info);
        });
        Results const now = results([&](Batch<T> const& of_a, Batch<T> const& of_b, Regularization<R> const& r, int* info) {
          HostMachine machine = machine_with_kernels<T>();
          machine.clear(r.replaced, count);
          auto const solve = [&](Batch<T> const& some_a, Batch<T> const& some_b, int* some_info) {
            if (nrhs == 0)
              potrf_blocked(machine, PotrfTask<T>{.a = some_a, .info = some_info, .regularization = r});
            else
              posv_blocked(machine, PosvTask<T>{.a = some_a,
                                                .b = some_b,
                                                .x = some_b,
                                                .factor = some_a,
                                                .info = some_info,
                                                .nan_where_not_definite = false,
                                                .regularization = r});
          };
          if (!ragged) return solve(of_a, of_b, info);
          by_sizes<T>(machine, of_a, of_b, cholesky_limits<T>(machine.device()), info,
                      [&](SizeClass const& some) { solve(some.of_a(of_a), some.of_b(of_b), some.info); });
        });
        EXPECT_EQ(now.info, right.info);
        R const tolerance = R(200 * n) * std::numeric_limits<R>::epsilon();
        for (std::int64_t q = 0; q < count; ++q) {
          auto const at = static_cast<std::size_t>(q);
          bool const failed = right.info[at] != 0;
          if (gives_replaced && !failed) {
            EXPECT_EQ(now.replaced[at], right.replaced[at]) << q;
          }
          if (gives_replaced && gives_floor && q == 11 && sizes[at] > 0) {
            EXPECT_GT(now.replaced[at], sizes[at] / 2) << "most pivots are below the floor";
          }
          bool const reduces = gives_floor && q < 8;
          EXPECT_EQ(failed, sizes[at] > 0 && (q % 4 == 1 || (q % 4 == 0 && !reduces))) << q;
          for (std::int64_t j = 0; j < a.view.rows_of(q); ++j)
            for (std::int64_t i = 0; i < a.view.rows_of(q); ++i) {
              auto const place = static_cast<std::size_t>(a.view.at(q, i, j) - a.memory.data());
              if (i < j) {
                EXPECT_EQ(std::memcmp(&now.a[place], &former_a[place], sizeof(T)), 0) << "the other triangle was written";
              } else if (!failed) {
                ASSERT_LE(std::abs(now.a[place] - right.a[place]), tolerance * std::max(R(1), std::abs(right.a[place]))) << q;
              }
            }
          for (std::int64_t j = 0; j < b.view.cols_of(q); ++j)
            for (std::int64_t i = 0; i < b.view.rows_of(q); ++i) {
              auto const place = static_cast<std::size_t>(b.view.at(q, i, j) - b.memory.data());
              if (failed) {
                EXPECT_EQ(std::memcmp(&now.b[place], &former_b[place], sizeof(T)), 0) << "B was written";
              } else {
                ASSERT_LE(std::abs(now.b[place] - right.b[place]), tolerance * std::max(R(10), std::abs(right.b[place]))) << q;
              }
            }
        }
      }
}

}  // namespace
}  // namespace myriad
