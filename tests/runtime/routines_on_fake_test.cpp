/// Every routine on a fake driver and compiler (fake_cuda.hpp, fake_nvrtc.hpp): it loads kernels before the first launch, takes the
/// workspace of its query, and launches valid grids.

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "draw.hpp"
#include "myriad/myriad.hpp"
#include "on_fake_compiler.hpp"

namespace myriad::gpu {
namespace {

using Z = std::complex<double>;

class RoutinesOnFake : public test::OnFakeCompiler {};

/// A batch at an address without memory.
template <typename T>
Batch<T> at(std::uintptr_t place, std::int64_t rows, std::int64_t cols, std::int64_t count) {
  return batch(reinterpret_cast<T*>(place << 32), rows, cols, {.count = count});
}
/// A batch with unreadable sizes.
template <typename T>
Batch<T> ragged_at(std::uintptr_t place, std::int64_t rows, std::int64_t cols, std::int64_t count) {
  Batch<T> out = at<T>(place, rows, cols, count);
  out.row_sizes = reinterpret_cast<std::int64_t const*>((place << 32) - 0x1000);
  if (cols > 1) out.col_sizes = out.row_sizes;
  return out;
}

struct Call {
  std::string name;
  std::function<void(Queue&)> run;
};

/// Routines that take several kernels or workspace, at sizes and counts where they do.
template <typename T>
std::vector<Call> calls(int* info) {
  std::vector<Call> out;
  for (std::int64_t const n : {33, 100, 200, 700, 2500})
    for (std::int64_t const count : {1, 3, 300}) {
      if (n * n * count > 7'000'000) continue;
      std::string const of = " of " + std::to_string(count) + " of " + std::to_string(n) + " rows";
      auto const add = [&](std::string const& name, std::function<void(Queue&)> run) { out.push_back({name + of, std::move(run)}); };
      for (bool const ragged : {false, true}) {
        auto const given = [=](std::uintptr_t place, std::int64_t cols) {
          return ragged ? ragged_at<T>(place, n, cols, count) : at<T>(place, n, cols, count);
        };
        auto const a = given(0x10, n), b = given(0x20, n), c = given(0x30, n), x = given(0x40, 1), y = given(0x50, 1);
        auto const values = [=] {
          Batch<Real<T>> w = at<Real<T>>(0x60, n, 1, count);
          w.row_sizes = a.row_sizes;
          return w;
        }();
        auto const less_one = [](auto v) { return rows(v, 0, v.rows - 1); };
        std::string const sizes = ragged ? "ragged " : "";
        for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
          std::string const which = sizes + (uplo == Uplo::lower ? "lower " : "upper ");
          add(which + "trmm", [=](Queue& q) { trmm<T>(q, Side::left, uplo, Diag::non_unit, T(2), a, b); });
          add(which + "trmm from the right", [=](Queue& q) { trmm<T>(q, Side::right, uplo, Diag::unit, T(2), a, b); });
          add(which + "trmv", [=](Queue& q) { trmv<T>(q, uplo, Diag::non_unit, a, x); });
          add(which + "trsm", [=](Queue& q) { trsm<T>(q, Side::left, uplo, Diag::non_unit, T(2), a, b); });
          add(which + "trsv", [=](Queue& q) { trsv<T>(q, uplo, Diag::non_unit, a, x); });
          add(which + "trtri", [=](Queue& q) { trtri<T>(q, uplo, Diag::non_unit, a, info); });
          add(which + "potrf", [=](Queue& q) { potrf<T>(q, uplo, a, info); });
          add(which + "potrs", [=](Queue& q) { potrs<T>(q, uplo, a, b); });
          add(which + "posv", [=](Queue& q) { posv<T>(q, uplo, a, b, info); });
          add(which + "solve_positive_definite", [=](Queue& q) { solve_positive_definite<T>(q, uplo, a, b, c, nullptr); });
          add(which + "potrf_regularized", [=](Queue& q) { potrf_regularized<T>(q, uplo, a, nullptr, values.data, info, info); });
          add(which + "posv_regularized", [=](Queue& q) { posv_regularized<T>(q, uplo, a, b, values.data, nullptr, nullptr, info); });
          add(which + "posv_mixed", [=](Queue& q) { posv_mixed<T>(q, uplo, a, b, c, nullptr, info); });
          add(which + "potri", [=](Queue& q) { potri<T>(q, uplo, a, nullptr); });
          add(which + "syr2k", [=](Queue& q) { syr2k<T>(q, uplo, T(2), a, transposed(b), T(1), c); });
          add(which + "her2k", [=](Queue& q) { her2k<T>(q, uplo, T(2), a, transposed(b), 1, c); });
          // alpha and beta in memory
          auto const* const number = reinterpret_cast<T const*>(0xc000000000);
          auto const* const real = reinterpret_cast<Real<T> const*>(0xc000000000);
          add(which + "trsm, scaled", [=](Queue& q) { trsm<T>(q, Side::left, uplo, Diag::non_unit, number, a, b); });
          add(which + "symv, added", [=](Queue& q) { symv<T>(q, uplo, number, a, x, T(1), y); });
          add(which + "symm, added", [=](Queue& q) { symm<T>(q, Side::right, uplo, number, a, b, number, c); });
          add(which + "herk, added", [=](Queue& q) { herk<T>(q, uplo, real, a, real, c); });
          add(which + "her2k, added", [=](Queue& q) { her2k<T>(q, uplo, number, a, b, 1, c); });
          add(which + "symv", [=](Queue& q) { symv<T>(q, uplo, T(2), a, x, T(1), y); });
          add(which + "heevd", [=](Queue& q) { heevd<T>(q, Job::vectors, uplo, a, values, info); });
          add(which + "heevd, values", [=](Queue& q) { heevd<T>(q, Job::values, uplo, a, values, info); });
          add(which + "hetrd", [=](Queue& q) {
            Batch<Real<T>> e = at<Real<T>>(0x70, n, 1, count);
            e.row_sizes = a.row_sizes;
            hetrd<T>(q, uplo, a, values, less_one(e), less_one(x));
          });
          add(which + "ungtr", [=](Queue& q) { ungtr<T>(q, uplo, a, less_one(x)); });
          add(which + "unmtr", [=](Queue& q) { unmtr<T>(q, Side::left, uplo, Op::none, a, less_one(x), c); });
        }
        add(sizes + "geqrf", [=](Queue& q) { geqrf<T>(q, a, x); });
        add(sizes + "unmqr", [=](Queue& q) { unmqr<T>(q, Side::left, Op::conjugate_transpose, a, x, c); });
        add(sizes + "unmqr from the right", [=](Queue& q) { unmqr<T>(q, Side::right, Op::none, a, x, c); });
        add(sizes + "ungqr", [=](Queue& q) { ungqr<T>(q, a, x); });
        add(sizes + "gels", [=](Queue& q) { gels<T>(q, a, b, info); });
        if (!ragged) {
          add("tall gesvd", [=](Queue& q) {
            gesvd<T>(q, SvdJob::thin, columns(a, 0, 12), rows(values, 0, 12), columns(b, 0, 12), rows(columns(c, 0, 12), 0, 12), info);
          });
          add("wide gesvd, values", [=](Queue& q) { gesvd<T>(q, SvdJob::values, rows(a, 0, 9), rows(values, 0, 9), {}, {}, info); });
          add("tall gels", [=](Queue& q) { gels<T>(q, columns(a, 0, n - 7), b, info); });
          add("wide gels", [=](Queue& q) { gels<T>(q, rows(a, 0, n - 7), b, info); });
        }
        Batch<Real<T>> others = at<Real<T>>(0x70, n, 1, count);
        others.row_sizes = a.row_sizes;
        Batch<Real<T>> off_diagonal = less_one(others);
        add(sizes + "gesvd", [=](Queue& q) { gesvd<T>(q, SvdJob::thin, a, values, b, c, info); });
        add(sizes + "gejsv", [=](Queue& q) { gejsv<T>(q, SvdJob::thin, a, values, b, c, info); });
        add(sizes + "gesvd, values", [=](Queue& q) { gesvd<T>(q, SvdJob::values, a, values, {}, {}, info); });
        add(sizes + "pinv", [=](Queue& q) { pinv<T>(q, a, Real<T>(-1), b, nullptr, info); });
        add(sizes + "gelsd", [=](Queue& q) { gelsd<T>(q, a, b, values, Real<T>(-1), nullptr, info); });
        if (!ragged) add("tall gelsd", [=](Queue& q) { gelsd<T>(q, columns(a, 0, n - 7), b, {}, Real<T>(-1), nullptr, info); });
        add(sizes + "matrix_rank", [=](Queue& q) { matrix_rank<T>(q, a, 0, -1, info, nullptr); });
        add(sizes + "gebrd", [=](Queue& q) { gebrd<T>(q, a, values, off_diagonal, x, y); });
        RaggedSize const order(n, a.col_sizes);
        add(sizes + "ungbr", [=](Queue& q) { ungbr<T>(q, Vect::p, order, a, x); });
        add(sizes + "unmbr", [=](Queue& q) { unmbr<T>(q, Vect::q, Side::left, Op::none, order, a, x, c); });
        add(sizes + "geequ", [=](Queue& q) { geequ<T>(q, a, values, others, nullptr, nullptr, nullptr, info); });
        add(sizes + "backward_error", [=](Queue& q) { backward_error<T>(q, a, b, c, values); });
        auto const pivots = [=] {
          Batch<int> p = at<int>(0x80, n, 1, count);
          p.row_sizes = a.row_sizes;
          return p;
        }();
        auto const determinants = reinterpret_cast<T*>(0x9000000000), signs = reinterpret_cast<T*>(0xa000000000);
        auto const logarithms = reinterpret_cast<Real<T>*>(0xb000000000);
        add(sizes + "geqp3", [=](Queue& q) { geqp3<T>(q, a, pivots, x); });
        add(sizes + "gelsy", [=](Queue& q) { gelsy<T>(q, a, transposed(b), pivots, 0, info); });
        add(sizes + "getrf", [=](Queue& q) { getrf<T>(q, a, pivots, info); });
        add(sizes + "getrf_nopiv", [=](Queue& q) { getrf_nopiv<T>(q, a, info); });
        add(sizes + "getrs", [=](Queue& q) { getrs<T>(q, Op::none, a, pivots, b); });
        add(sizes + "getrs, transposed, one column", [=](Queue& q) { getrs<T>(q, Op::transpose, a, pivots, x); });
        add(sizes + "gesv", [=](Queue& q) { gesv<T>(q, a, pivots, b, info); });
        add(sizes + "solve", [=](Queue& q) { solve<T>(q, a, b, c, info); });
        add(sizes + "solve, one column", [=](Queue& q) { solve<T>(q, a, x, y, nullptr); });
        add(sizes + "gesv_mixed", [=](Queue& q) { gesv_mixed<T>(q, a, pivots, b, c, nullptr, info); });
        // Up to 32 rows many right-hand sides use getrf and getrs.
        auto const tiny = rows(columns(a, 0, 20), 0, 20);
        auto const of_tiny = [=](auto v) { return rows(v, 0, 20); };
        add(sizes + "gesv of 20 of", [=](Queue& q) { gesv<T>(q, tiny, of_tiny(pivots), of_tiny(b), info); });
        add(sizes + "solve of 20 of", [=](Queue& q) { solve<T>(q, tiny, of_tiny(b), of_tiny(c), info); });
        add(sizes + "getri", [=](Queue& q) { getri<T>(q, a, pivots, info); });
        add(sizes + "inverse", [=](Queue& q) { inverse<T>(q, a, b, info); });
        add(sizes + "det", [=](Queue& q) { det<T>(q, a, determinants); });
        add(sizes + "logdet", [=](Queue& q) { logdet<T>(q, a, signs, logarithms); });
        add(sizes + "gemm", [=](Queue& q) { gemm<T>(q, T(2), a, b, T(1), c); });
        add(sizes + "gemv", [=](Queue& q) { gemv<T>(q, T(2), a, x, T(1), y); });
        add(sizes + "gemm, added", [=](Queue& q) {
          auto const* const number = reinterpret_cast<T const*>(0xc000000000);
          gemm<T>(q, number, a, b, number, c);
        });
      }
    }
  return out;
}

/// Calls `check` for all calls; under a sanitizer, which makes them 20 times as slow, for a random sample.
template <typename Check>
void for_drawn_calls(std::vector<Call> const& all, Check const& check) {
#ifdef MYRIAD_SANITIZED
  constexpr std::size_t least = 400;  // enough for what the tests expect of all of them together
#else
  std::size_t const least = all.size();
#endif
  tests::for_drawn(all, 3, least, [&](Call const& call) {
    check(call);
    return !testing::Test::HasFatalFailure();
  });
}
std::vector<Call> calls_of_real_and_complex(int* info) {
  std::vector<Call> all = calls<double>(info);
  for (Call& call : calls<Z>(info)) all.push_back(std::move(call));
  return all;
}

/// Refuses one kernel after the other: nothing is launched before all are loaded.
TEST_F(RoutinesOnFake, NothingIsWrittenWhereAKernelCannotBeHad) {
  std::vector<int> info(1000);
  int several = 0;
  for_drawn_calls(calls_of_real_and_complex(info.data()), [&](Call const& call) {
    for (int kernels = 1;; ++kernels) {
      ASSERT_LT(kernels, 100) << call.name;
      compiler->left = kernels == 1 ? 0 : 1;  // those of earlier iterations are loaded
      int const launches = fake->launches;
      try {
        call.run(*queue);
        several += kernels > 2 ? 1 : 0;
        break;
      } catch (CompileError const&) {
        EXPECT_EQ(fake->launches, launches) << call.name << ", kernel " << kernels;
      }
    }
  });
  EXPECT_GT(several, 50);
}

TEST_F(RoutinesOnFake, WorkspaceIsAsAnnounced) {
  std::vector<int> info(1000);
  int some = 0;
  for_drawn_calls(calls_of_real_and_complex(info.data()), [&](Call const& call) {
    std::int64_t const announced = queue->workspace([&] { call.run(*queue); });
    std::int64_t const before = fake->device_bytes;
    fake->peak_device_bytes = before;
    call.run(*queue);
    EXPECT_EQ(fake->peak_device_bytes - before, announced) << call.name;
    EXPECT_EQ(fake->device_bytes, before) << call.name;
    some += announced > 0 ? 1 : 0;
  });
  EXPECT_GT(some, 100);
}

/// Memory of the caller, which may refuse one of the next allocations.
struct CallersMemory {
  std::int64_t now = 0, peak = 0;
  int allocations = 0, refused = -1;

  WorkspaceAllocator allocator() {
    return {.allocate = [this](std::int64_t bytes, void*) -> void* {
              if (allocations++ == refused) return nullptr;
              now += bytes;
              peak = std::max(peak, now);
              return std::aligned_alloc(256, static_cast<std::size_t>(bytes));
            },
            .release =
                [this](void* memory, std::int64_t bytes, void*) {
                  now -= bytes;
                  std::free(memory);
                }};
  }
};

TEST_F(RoutinesOnFake, WorkspaceOfTheCallerIsAllThereIs) {
  std::vector<int> info(1000);
  for (bool const captured : {true, false})
    for_drawn_calls(calls<double>(info.data()), [&](Call const& call) {
      std::int64_t const announced = queue->workspace([&] { call.run(*queue); });
      CallersMemory memory;
      queue->set_allocator(memory.allocator());
      fake->capturing = captured;
      fake->peak_device_bytes = 0;
      int const live = fake->live_allocations;
      call.run(*queue);
      fake->capturing = true;
      EXPECT_EQ(memory.peak, announced) << call.name;
      EXPECT_EQ(memory.now, 0) << call.name;
      EXPECT_EQ(fake->peak_device_bytes, 0) << call.name;
      EXPECT_EQ(fake->live_allocations, live) << call.name;
      queue->set_allocator({});
    });
}

/// Refuses one allocation after the other: nothing is launched before all workspace is there.
TEST_F(RoutinesOnFake, NothingIsWrittenWhereMemoryCannotBeHad) {
  std::vector<int> info(1000);
  int some = 0;
  for_drawn_calls(calls<double>(info.data()), [&](Call const& call) {
    for (int k = 0;; ++k) {
      CallersMemory memory{.refused = k};
      queue->set_allocator(memory.allocator());
      int const launches = fake->launches;
      try {
        call.run(*queue);
        EXPECT_EQ(memory.allocations, k) << call.name;
        some += k > 0 ? 1 : 0;
        break;
      } catch (OutOfMemory const&) {
        EXPECT_EQ(fake->launches, launches) << call.name << ", allocation " << k;
        EXPECT_EQ(memory.now, 0) << call.name;
      }
    }
  });
  queue->set_allocator({});
  EXPECT_GT(some, 50);
}

/// Grids have one dimension, since others end at 65535.
TEST_F(RoutinesOnFake, MoreMatricesThanAGridIsHigh) {
  std::int64_t const count = 70'000;
  for (std::int64_t const n : {33, 65, 300}) {
    auto const a = at<double>(0x100, n, n, count), u = at<double>(0x200, n, n, count), vt = at<double>(0x300, n, n, count);
    auto const s = at<double>(0x400, n, 1, count), e = at<double>(0x410, n - 1, 1, count), tau = at<double>(0x420, n, 1, count);
    auto const tau_p = at<double>(0x430, n, 1, count);
    std::function<void()> const calls[] = {[&] { gesvd<double>(*queue, SvdJob::thin, a, s, u, vt, nullptr); },
                                           [&] { gesvd<double>(*queue, SvdJob::values, a, s, {}, {}, nullptr); },
                                           [&] { gebrd<double>(*queue, a, s, e, tau, tau_p); }};
    for (auto const& call : calls) {
      int const before = fake->launches;
      call();
      EXPECT_GT(fake->launches, before);
      EXPECT_EQ(fake->grid[1], 1U);
      EXPECT_EQ(fake->grid[2], 1U);
    }
    int const before = fake->launches;
    calls[0]();
    if (n == 33) {  // a block for each matrix
      EXPECT_EQ(fake->launches, before + 1);
      EXPECT_EQ(fake->grid[0], static_cast<unsigned>(count));
    }
  }
}

/// A grid has up to 2^31 - 1 blocks.
TEST_F(RoutinesOnFake, GridsThatThereAre) {
  std::int64_t const most = std::numeric_limits<std::int32_t>::max();
  auto const launches_of = [&](auto const& call) {
    int const before = fake->launches;
    call();
    return fake->launches - before;
  };
  // A matrix by rows has several parts with a warp each (gemv_whole); by columns a lane has a row (gemv_columns), or two lanes have 64
  // (gemv). y has no memory, since all matrices may be empty.
  auto const multiply = [&](bool by_rows, std::int64_t m, std::int64_t k, std::int64_t count) {
    Batch<double> a = by_rows ? transposed(at<double>(0x10, k, m, count)) : at<double>(0x10, m, k, count);
    Batch<double> x = at<double>(0x20, k, 1, count), y = at<double>(0x40000, m, 1, count);
    a.row_sizes = y.row_sizes = reinterpret_cast<std::int64_t const*>(0x1000);
    a.batch_stride = x.batch_stride = 0;
    return launches_of([&] { gemv<double>(*queue, 1, a, x, 0, y); });
  };
  // For so many ragged matrices each launch has a schedule, which is a launch, too; only the last one has none.
  EXPECT_EQ(multiply(true, 300, 40, most / 8), 2);
  EXPECT_EQ(multiply(true, 300, 40, most), 2 * 6 + 1);  // 6 parts, and the rest
  EXPECT_LE(fake->grid[0], static_cast<unsigned>(most));
  EXPECT_EQ(multiply(false, 4001, 33, most), 2 * 32);    // 128 rows per block
  EXPECT_EQ(multiply(false, 40000, 64, most), 2 * 313);  // 625 parts, two per block
  // Sizes have 32 bits there.
  EXPECT_EQ(launches_of([&] {
              gemv<float>(*queue, 1, at<float>(0x10, 1 << 30, 1, 1), at<float>(0x20, 1, 1, 1), 0, at<float>(0x30, 1 << 30, 1, 1));
            }),
            1);
  std::int64_t const more = (std::int64_t{1} << 30) + 1;
  EXPECT_THROW(gemv<float>(*queue, 1, at<float>(0x10, more, 1, 1), at<float>(0x20, 1, 1, 1), 0, at<float>(0x30, more, 1, 1)), BadArgument);
  EXPECT_THROW(gemv<float>(*queue, 1, at<float>(0x10, 1, more, 1), at<float>(0x20, more, 1, 1), 0, at<float>(0x30, 1, 1, 1)), BadArgument);
}

}  // namespace
}  // namespace myriad::gpu
