/// Streaming through a fake driver (fake_cuda.hpp). It runs work as late as allowed, so that reusing a buffer or reading a result too early
/// gives wrong numbers.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "myriad/memory.hpp"
#include "myriad/myriad.h"
#include "myriad/myriad.hpp"
#include "on_fake.hpp"

namespace myriad::gpu {
namespace {

using test::FakeScaleParams;

/// Computes x = 2 a + sum of b, and info = rows + 100 columns, for every matrix. It reads its inputs when it runs, not when it is enqueued.
void work_on_device(FakeScaleParams const& p) {
  for (std::int64_t b = 0; b < p.x.count; ++b) {
    double sum = 0;
    for (std::int64_t i = 0; p.b.count > 0 && i < p.b.rows_of(b); ++i)
      for (std::int64_t j = 0; j < p.b.cols_of(b); ++j) sum += *p.b.at(b, i, j);
    for (std::int64_t i = 0; i < p.x.rows_of(b); ++i)
      for (std::int64_t j = 0; j < p.x.cols_of(b); ++j) *p.x.at(b, i, j) = 2 * *p.a.at(b, i, j) + sum;
    if (p.info) p.info[b] = static_cast<int>(p.x.rows_of(b) + 100 * p.x.cols_of(b));
  }
}

/// rows-by-cols matrices in memory that is otherwise full of canaries.
struct Host {
  static constexpr double canary = -12345;

  std::string name;
  Batch<double> batch;
  std::vector<double> memory{};
  std::vector<double*> pointers{};
  std::vector<std::int64_t> rows{}, cols{}, strides{};

  Host() = default;
  Host(Host&&) = default;

  static Host even(std::string name, Batch<double> layout, std::int64_t elements) {
    Host host;
    host.name = std::move(name);
    host.memory.assign(static_cast<std::size_t>(elements), canary);
    host.batch = layout;
    host.batch.data = host.memory.data();
    return host;
  }
  void fill(double first) {
    for (std::int64_t b = 0; b < batch.count; ++b)
      for (std::int64_t i = 0; i < batch.rows_of(b); ++i)
        for (std::int64_t j = 0; j < batch.cols_of(b); ++j) *batch.at(b, i, j) = first + static_cast<double>(b * 10'000 + i * 100 + j);
  }
};

constexpr std::int64_t m = 3, n = 5, count = 101;
double* const nowhere = nullptr;

using Layout = std::function<Host()>;

/// Ragged matrices behind pointers in another order than in memory, with a gap behind each row or column.
Host ragged(std::string name, bool by_rows, std::int64_t row_offset) {
  Host host;
  host.name = std::move(name);
  host.memory.assign(static_cast<std::size_t>(count * 100), Host::canary);
  host.pointers.resize(count);
  for (std::int64_t b = 0; b < count; ++b) {
    host.rows.push_back((b * 7) % (m + 1));
    host.cols.push_back(b % 11 == 3 ? 0 : 1 + b % n);
    host.strides.push_back((by_rows ? host.cols.back() : host.rows.back()) + 2);
    host.pointers[static_cast<std::size_t>(b)] = host.memory.data() + ((b * 37) % count) * 100;
  }
  host.batch = batch<double>(host.pointers.data(), m - row_offset, n, {.count = count});
  host.batch.row_sizes = host.rows.data();
  host.batch.col_sizes = host.cols.data();
  if (by_rows) host.batch.col_stride = 1;
  (by_rows ? host.batch.row_strides : host.batch.col_strides) = host.strides.data();
  host.batch.row_offset = row_offset;
  return host;
}

Host behind_pointers(std::string name) {
  Host host;
  host.name = std::move(name);
  host.memory.assign(static_cast<std::size_t>(count * 40), Host::canary);
  for (std::int64_t b = 0; b < count; ++b) host.pointers.push_back(host.memory.data() + (count - 1 - b) * 40);
  host.batch = row_major<double>(host.pointers.data(), m, n, {.ld = 7, .count = count});
  return host;
}

std::vector<Layout> even_layouts() {
  auto const make = [](char const* name, Batch<double> layout, std::int64_t elements) {
    return [=] { return Host::even(name, layout, elements); };
  };
  return {
      make("column-major", batch(nowhere, m, n, {.count = count}), m * n * count),
      make("column-major, gaps", batch(nowhere, m, n, {.ld = 4, .stride = 30, .count = count}), 30 * count),
      make("gaps between matrices", batch(nowhere, m, n, {.stride = m * n + 1, .count = count}), (m * n + 1) * count),
      make("row-major", row_major(nowhere, m, n, {.count = count}), m * n * count),
      make("row-major, gaps", row_major(nowhere, m, n, {.ld = 6, .count = count}), 6 * m * count),
      make("transposed", transposed(batch(nowhere, n, m, {.count = count})), m * n * count),
      make("interleaved", interleaved(nowhere, m, n, count), m * n * count),
      make("interleaved, part", matrices(interleaved(nowhere, m, n, count + 20), 0, count), m * n * (count + 20)),
      make("rows outermost",
           Batch<double>{.rows = m, .cols = n, .row_stride = n * count, .col_stride = 1, .batch_stride = n, .count = count}, m * n * count),
      make("every second element",
           Batch<double>{.rows = m, .cols = n, .row_stride = 2, .col_stride = 2 * m, .batch_stride = 2 * m * n, .count = count},
           2 * m * n * count),
      make("block", block(batch(nowhere, m + 2, n + 2, {.count = count}), 1, 2, m, n), (m + 2) * (n + 2) * count),
      [] { return behind_pointers("pointers"); },
      [] {
        Host host = behind_pointers("strides of its own");
        for (std::int64_t b = 0; b < count; ++b) host.strides.push_back(5 + b % 3);
        host.batch.row_strides = host.strides.data();
        return host;
      }};
}
/// The same sizes with a constant batch stride.
Host ragged_at_equal_distances() {
  Host host = ragged("ragged at equal distances", false, 0);
  host.pointers.clear();
  host.batch.pointers = nullptr;
  host.batch.col_strides = nullptr;
  host.batch.data = host.memory.data();
  host.batch.col_stride = m + 1;
  host.batch.batch_stride = 40;
  return host;
}

std::vector<Layout> ragged_layouts() {
  return {[] { return ragged("ragged", false, 0); }, [] { return ragged("ragged, row-major", true, 0); }, ragged_at_equal_distances};
}

class Streams : public test::OnFake {
 protected:
  void SetUp() override {
    OnFake::SetUp();
    if (IsSkipped()) return;
    (void)kernel();
    fake->lazy = true;
    fake->peak_device_bytes = 0;
  }
  void TearDown() override {
    OnFake::TearDown();
    if (fake) {
      fake->lazy = false;
      fake->free_bytes = 1LL << 40;
    }
  }

  /// Enqueues x = 2 a + sum of b as one launch.
  void enqueue(Queue& q, Batch<double const> a, Batch<double const> b, Batch<double> x, int* info) {
    launch(q, kernel(), {.blocks = 1, .threads = 1}, FakeScaleParams{.call = work_on_device, .a = a, .b = b, .x = x, .info = info});
  }

  /// Streams x = 2 a + sum of b from one layout to another, and checks every element and every gap.
  void check(Host a, Host x, Batch<double const> b, double sum, std::int64_t chunk_bytes) {
    SCOPED_TRACE(a.name + " to " + x.name);
    a.fill(1);
    std::vector<double> const a_before = a.memory;
    std::vector<int> info(count + 2, -1);
    Streamer streamer(*queue, {.chunk_bytes = chunk_bytes});
    auto const work = [&](Queue& q, Batch<double const> da, Batch<double const> db, Batch<double> dx, int* dinfo) {
      enqueue(q, da, db, dx, dinfo);
    };
    StreamReport const report = streamer.run(in(a.batch), in(b), out(x.batch), out(info.data() + 1), work);
    EXPECT_EQ(report.matrices, count);
    EXPECT_GT(report.chunks, 1);
    EXPECT_EQ(a.memory, a_before);
    std::vector<double> expected(x.memory.size(), Host::canary);
    std::int64_t wrong = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      for (std::int64_t i = 0; i < a.batch.rows_of(k); ++i)
        for (std::int64_t j = 0; j < a.batch.cols_of(k); ++j) {
          double const value = 2 * *a.batch.at(k, i, j) + sum;
          expected[static_cast<std::size_t>(x.batch.at(k, i, j) - x.memory.data())] = value;
          wrong += *x.batch.at(k, i, j) != value;
        }
      EXPECT_EQ(info[static_cast<std::size_t>(k + 1)], a.batch.rows_of(k) + 100 * a.batch.cols_of(k)) << k;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(x.memory, expected);  // including the gaps
    EXPECT_EQ(info.front(), -1);
    EXPECT_EQ(info.back(), -1);
  }
};

TEST_F(Streams, EveryLayoutInManyChunks) {
  std::vector<double> const b{1, 2, 3};
  auto const shared = batch(b.data(), 3, 1, {.stride = 3, .count = count});
  Batch<double const> for_all = shared;
  for_all.batch_stride = 0;
  for (Layout const& a : even_layouts())
    for (Layout const& x : even_layouts()) check(a(), x(), for_all, 6, 2000);
  for (std::int64_t const chunk : {1, 700, 3000})
    for (Layout const& layout : even_layouts()) check(layout(), layout(), for_all, 6, chunk);
}

TEST_F(Streams, RaggedMatrices) {
  std::vector<double> const b{4};
  Batch<double const> for_all = batch(b.data(), 1, 1, {.count = count});
  for_all.batch_stride = 0;
  for (std::int64_t const chunk : {1, 1000, 5000})
    for (Layout const& a : ragged_layouts()) {
      for (Layout const& x : ragged_layouts()) check(a(), x(), for_all, 4, chunk);
      // blocks: the rows below the offset
      check(ragged("block", false, 1), ragged("row-major block", true, 1), for_all, 4, chunk);
    }
}

TEST_F(Streams, ReadsWhatStandsStillOnce) {
  // a row for all rows, one element for all: strides of zero within a matrix
  std::vector<double> row(static_cast<std::size_t>(n * count));
  std::iota(row.begin(), row.end(), 1);
  Batch<double const> const b{
      .data = row.data(), .rows = m, .cols = n, .row_stride = 0, .col_stride = 1, .batch_stride = n, .count = count};
  Host x = Host::even("x", batch(nowhere, m, n, {.count = count}), m * n * count);
  StreamReport const report =
      stream(*queue, {.chunk_bytes = 1000}, in(b), out(x.batch), [&](Queue& q, Batch<double const> db, Batch<double> dx) {
        EXPECT_EQ(db.row_stride, 0);
        enqueue(q, db, {}, dx, nullptr);
      });
  EXPECT_EQ(report.bytes_in, n * count * 8);
  EXPECT_EQ(report.bytes_out, m * n * count * 8);
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) ASSERT_EQ(*x.batch.at(k, i, j), 2 * *b.at(k, i, j));
}

TEST_F(Streams, ArraysAndTypesOfAnySize) {
  struct Odd {
    char bytes[3];
  };
  std::vector<Odd> odd(count, Odd{{1, 2, 3}}), copied(2 * count);
  std::vector<std::complex<double>> z(count, {1, 2});
  Batch<Odd> const every_second = vectors(copied.data(), 1, count, 2);
  stream(*queue, {.chunk_bytes = 100}, in(odd.data()), out(every_second), in_out(z.data()),
         [&](Queue& q, Odd const* from, Batch<Odd> to, std::complex<double>* dz) {
           copy(q, from, to.count, to.data);  // packed: stride 1
           launch(q, kernel(), {.blocks = 1, .threads = 1},
                  FakeScaleParams{.data = reinterpret_cast<double*>(dz), .count = 2 * to.count, .factor = 3});
         });
  for (std::size_t k = 0; k < count; ++k) {
    ASSERT_EQ(std::memcmp(&copied[2 * k], &odd[k], 3), 0);
    ASSERT_EQ(copied[2 * k + 1].bytes[0], 0);
    ASSERT_EQ(z[k], std::complex<double>(3, 6));
  }
}

TEST_F(Streams, InPlaceAndOverWhatIsRead) {
  std::vector<double> a(static_cast<std::size_t>(count * 4));
  std::iota(a.begin(), a.end(), 0);
  std::vector<double> const before = a;
  auto const matrices = batch(a.data(), 2, 2, {.count = count});
  Streamer streamer(*queue, {.chunk_bytes = 96});
  for (int round = 0; round < 3; ++round)
    streamer.run(in_out(matrices), [&](Queue& q, Batch<double> x) {
      launch(q, kernel(), {.blocks = 1, .threads = 1}, FakeScaleParams{.data = x.data, .count = 4 * x.count, .factor = 2});
    });
  streamer.run(in(matrices), out(matrices), [&](Queue& q, auto from, auto to) { enqueue(q, from, {}, to, nullptr); });
  for (std::size_t k = 0; k < a.size(); ++k) ASSERT_EQ(a[k], 16 * before[k]);
}

TEST_F(Streams, WhatIsDestroyedOnTheGpuDoesNotComeBack) {
  std::vector<double> a(static_cast<std::size_t>(count * 4)), x(a.size());
  std::iota(a.begin(), a.end(), 0);
  std::vector<double> const before = a;
  auto const da = batch(a.data(), 2, 2, {.count = count}), dx = batch(x.data(), 2, 2, {.count = count});
  StreamReport const report =
      stream(*queue, {.chunk_bytes = 96}, StreamOperand<Batch<double>>{da, StreamUse::in}, out(dx),
             [&](Queue& q, Batch<double> from, Batch<double> to) {
               enqueue(q, from, {}, to, nullptr);
               launch(q, kernel(), {.blocks = 1, .threads = 1}, FakeScaleParams{.data = from.data, .count = 4 * from.count, .factor = -1});
             });
  EXPECT_EQ(report.bytes_in, count * 32);
  EXPECT_EQ(report.bytes_out, count * 32);
  EXPECT_EQ(a, before);
  for (std::size_t k = 0; k < a.size(); ++k) ASSERT_EQ(x[k], 2 * a[k]);
}

TEST_F(Streams, PinnedMemoryIsCopiedWhereItIs) {
  constexpr std::int64_t many = 10'000;
  PinnedArray<double> a(*queue, 4 * many), x(*queue, 4 * many);
  std::iota(a.begin(), a.end(), 0);
  auto const da = batch(a.data(), 2, 2, {.count = many}), dx = batch(x.data(), 2, 2, {.count = many});
  auto const work = [&](Queue& q, auto from, auto to) { enqueue(q, from, {}, to, nullptr); };
  StreamReport const report = stream(*queue, {.chunk_bytes = 4096}, in(da), out(dx), work);
  EXPECT_EQ(report.bytes_staged, 0);
  EXPECT_EQ(report.bytes_in, many * 32);
  EXPECT_EQ(report.bytes_out, many * 32);
  for (std::int64_t k = 0; k < 4 * many; ++k) ASSERT_EQ(x[k], 2 * a[k]);
  // One pinned operand and one that is not
  std::vector<double> y(4 * many);
  EXPECT_EQ(stream(*queue, {.chunk_bytes = 4096}, in(da), out(batch(y.data(), 2, 2, {.count = many})), work).bytes_staged, many * 32);
  EXPECT_TRUE(std::equal(y.begin(), y.end(), x.begin()));
  // Interleaved: a chunk is many pieces of memory.
  std::fill(x.begin(), x.end(), 0);
  EXPECT_EQ(stream(*queue, {.chunk_bytes = 4096}, in(interleaved(a.data(), 2, 2, many)), out(interleaved(x.data(), 2, 2, many)), work)
                .bytes_staged,
            many * 64);
  for (std::int64_t k = 0; k < 4 * many; ++k) ASSERT_EQ(x[k], 2 * a[k]);
}

TEST_F(Streams, HoldsSixChunks) {
  constexpr std::int64_t many = 100'000;
  std::vector<double> a(4 * many, 1), x(4 * many);
  auto const run = [&](std::int64_t chunk_bytes) {
    fake->peak_device_bytes = 0;
    fake->peak_pinned_bytes = 0;
    return stream(*queue, {.chunk_bytes = chunk_bytes}, in(batch(a.data(), 2, 2, {.count = many})),
                  out(batch(x.data(), 2, 2, {.count = many})), [&](Queue& q, auto from, auto to) { enqueue(q, from, {}, to, nullptr); });
  };
  StreamReport const report = run(64'000);
  EXPECT_EQ(report.chunks, 101);  // 992 matrices each, a multiple of 32
  EXPECT_EQ(report.bytes_in + report.bytes_out, many * 64);
  EXPECT_EQ(fake->peak_device_bytes, 6 * 992 * 64);
  EXPECT_LE(fake->peak_pinned_bytes, 12 * 992 * 64);
  EXPECT_GT(report.seconds, 0);
  EXPECT_EQ(run(1 << 30).chunks, 1);
  // The default is chunks of 4 MiB for so little data, and smaller ones with less free memory.
  EXPECT_EQ(run(0).chunks, 2);
  fake->free_bytes = 16 << 16;
  EXPECT_EQ(run(0).chunks, 98);
  EXPECT_LE(fake->peak_device_bytes, 6 * ((1 << 16) + 2 * 256));
  EXPECT_EQ(x, std::vector<double>(4 * many, 2));
}

TEST_F(Streams, HoldsFewerChunksInLittleMemory) {
  constexpr std::int64_t rows = 32, many = 20, bytes = 2 * rows * rows * 8;  // of a matrix and its result, a chunk
  std::vector<double> a(rows * rows * many), x(a.size());
  std::iota(a.begin(), a.end(), 0);
  auto const run = [&](Streamer& streamer, std::int64_t matrices_in_chunk = 1) {
    std::fill(x.begin(), x.end(), 0);
    std::int64_t const number = many / matrices_in_chunk * matrices_in_chunk;
    auto const square = [&](std::vector<double>& of) {
      return batch(of.data(), rows, rows * matrices_in_chunk, {.count = number / matrices_in_chunk});
    };
    streamer.run(in(square(a)), out(square(x)), [&](Queue& q, auto from, auto to) { enqueue(q, from, {}, to, nullptr); });
    for (std::size_t k = 0; k < a.size(); ++k) ASSERT_EQ(x[k], 2 * a[k]);
  };
  struct Case {
    std::int64_t fitting, lanes;
  };
  for (auto const [fitting, lanes] : {Case{0, 1}, {1, 1}, {2, 1}, {3, 2}, {5, 2}, {6, 3}, {9, 4}, {12, 6}, {15, 6}})
    for (std::int64_t const chunk_bytes : {std::int64_t{0}, bytes}) {
      SCOPED_TRACE(fitting);
      Streamer streamer(*queue, {.chunk_bytes = chunk_bytes});
      fake->free_bytes = fitting * bytes + bytes / 2;
      fake->peak_device_bytes = 0;
      run(streamer);
      EXPECT_EQ(fake->peak_device_bytes, lanes * bytes);
      fake->free_bytes = 0;  // memory that is there is kept
      run(streamer);
      EXPECT_EQ(fake->device_bytes, lanes * bytes);
    }
  // Larger matrices in the same streamer, then smaller ones again
  Streamer streamer(*queue, {.chunk_bytes = bytes});
  fake->free_bytes = 12 * bytes;
  run(streamer);
  fake->free_bytes = 6 * bytes;
  run(streamer, 2);
  EXPECT_EQ(fake->device_bytes, 3 * 2 * bytes);  // of 12 matrices, free or in the six lanes
  run(streamer);
  EXPECT_EQ(fake->device_bytes, 3 * 2 * bytes + bytes);  // of 9 chunks, 3 of them in lanes, four are for lanes
}

TEST_F(Streams, KeepsPinnedMemoryBetweenRuns) {
  std::vector<double> a(40, 1), x(40);
  auto const work = [&](Queue& q, auto from, auto to) { enqueue(q, from, {}, to, nullptr); };
  Streamer streamer(*queue, {.chunk_bytes = 16});
  int const before = fake->live_pinned;
  for (int k = 0; k < 3; ++k) {
    streamer.run(in(vectors(a.data(), 1, 1)), out(vectors(x.data(), 1, 1)), work);
    EXPECT_EQ(fake->live_pinned, before + 1);
  }
  for (int k = 0; k < 3; ++k) {
    streamer.run(in(vectors(a.data(), 1, 40)), out(vectors(x.data(), 1, 40)), work);
    EXPECT_LE(fake->live_pinned, before + 12);
  }
  EXPECT_EQ(x, std::vector<double>(40, 2));
  // A larger matrix replaces all of it.
  streamer.run(in(vectors(a.data(), 40, 1)), out(vectors(x.data(), 40, 1)), work);
  EXPECT_EQ(fake->live_pinned, before + 1);
}

TEST_F(Streams, ComesAfterWhatTheQueueWasGiven) {
  std::vector<double> a(count, 1), x(count);
  std::vector<double> const factor{5};
  DeviceArray<double> on_device(*queue, 1);
  copy(*queue, factor.data(), 1, on_device.data());
  Batch<double const> const b{.data = on_device.data(), .rows = 1, .cols = 1, .count = count};
  stream(*queue, {.chunk_bytes = 200}, in(vectors(a.data(), 1, count)), out(vectors(x.data(), 1, count)),
         [&](Queue& q, auto from, auto to) { enqueue(q, from, b, to, nullptr); });
  EXPECT_EQ(x, std::vector<double>(count, 7));
}

TEST_F(Streams, NothingIsUnderWayAfterAnError) {
  constexpr std::int64_t many = 1000;
  PinnedArray<double> pinned(*queue, many);
  std::vector<double> a(many), x(many);
  Streamer streamer(*queue, {.chunk_bytes = 512});
  int chunk = 0, bad_chunk = -1;
  std::function<void()> what;
  auto const run = [&] {
    chunk = 0;
    std::fill(a.begin(), a.end(), 1);
    std::fill(pinned.begin(), pinned.end(), 1);
    streamer.run(in(vectors(a.data(), 1, many)), in_out(vectors(pinned.data(), 1, many)), out(vectors(x.data(), 1, many)),
                 [&](Queue& q, auto from, Batch<double> also, auto to) {
                   if (chunk++ == bad_chunk) what();
                   enqueue(q, from, also, to, nullptr);
                 });
  };
  for (int const bad : {0, 1, 2, 3, 7, 20}) {
    bad_chunk = bad;
    what = [] { throw std::domain_error("of the caller"); };
    EXPECT_THROW(run(), std::domain_error);
    EXPECT_EQ(fake->pending, 0);  // no copy is pending
    what = [&] { fake->fail_launch = 719; };
    EXPECT_THROW(run(), GpuError);
    what = [&] { fake->fail_copy = 700; };
    EXPECT_THROW(run(), GpuError);
    what = [&] { fake->fail_wait = 700; };  // in the thread that finishes chunks
    EXPECT_THROW(run(), GpuError);
    bad_chunk = -1;
    run();
    EXPECT_EQ(x, std::vector<double>(many, 3));
  }
  Streamer fresh(*queue, {.chunk_bytes = 512});
  auto const once = [&](Streamer& s) {
    s.run(in(vectors(a.data(), 1, many)), out(vectors(x.data(), 1, many)),
          [&](Queue& q, auto from, auto to) { enqueue(q, from, {}, to, nullptr); });
  };
  fake->fail_allocation = 2;
  EXPECT_THROW(once(fresh), OutOfMemory);
  fake->fail_pinned = 2;
  EXPECT_THROW(once(fresh), OutOfMemory);
  once(fresh);
  EXPECT_EQ(x, std::vector<double>(many, 2));
}

TEST_F(Streams, SaysWhichArgumentIsWrong) {
  std::vector<double> a(100), x(100);
  std::vector<int> info(10);
  auto const da = batch(a.data(), 3, 3, {.count = 10}), dx = batch(x.data(), 3, 3, {.count = 10});
  auto const nothing = [](auto&&...) { FAIL() << "it was run"; };
  auto const refused = [&](std::string const& text, auto&& call) {
    try {
      call();
      ADD_FAILURE() << text;
    } catch (BadArgument const& error) {
      EXPECT_EQ(std::string(error.what()), "stream: argument " + text);
    }
  };
  refused("2 (chunk_bytes) is negative: -1", [&] { stream(*queue, {.chunk_bytes = -1}, in(da), out(dx), nothing); });
  refused("4 (operand 2) has 9 matrices where those before have 10", [&] { stream(*queue, {}, in(da), out(matrices(dx, 0, 9)), nothing); });
  refused("3 (operand 1) has a negative number of matrices: -1", [&] { stream(*queue, {}, in(matrices(da, 0, -1)), nothing); });
  refused("3 (operand 1) and the others are arrays; one operand has to be a batch", [&] { stream(*queue, {}, out(info.data()), nothing); });
  refused("4 (operand 2) is a null pointer", [&] { stream(*queue, {}, in(da), out(static_cast<int*>(nullptr)), nothing); });
  refused("3 (operand 1) is a null pointer", [&] { stream(*queue, {}, in(batch(nowhere, 3, 3, {.count = 10})), out(dx), nothing); });
  refused("3 (operand 1, rows) is negative: -3", [&] { stream(*queue, {}, in(batch(a.data(), -3, 3, {.count = 10})), nothing); });
  refused("3 (operand 1, strides) lets elements of a 3-by-3 matrix overlap: row stride 1, column stride 2",
          [&] { stream(*queue, {}, in_out(batch(a.data(), 3, 3, {.ld = 2, .count = 10})), nothing); });
  refused("4 (operand 2) overlaps operand 1", [&] { stream(*queue, {}, out(da), out(da), nothing); });
  refused("4 (operand 2) overlaps operand 1 without being the same matrices",
          [&] { stream(*queue, {}, in(matrices(da, 0, 9)), out(matrices(da, 1, 9)), nothing); });
  Batch<double> same = da;
  same.batch_stride = 0;
  refused("3 (operand 1) has matrices that overlap: stride 0 between 3-by-3 matrices with row stride 1 and column stride 3",
          [&] { stream(*queue, {}, out(same), nothing); });
  DeviceArray<double> device(*queue, 90);
  refused("4 (operand 2) is in memory of a GPU; what streams is in host memory",
          [&] { stream(*queue, {}, in(da), out(batch(device.data(), 3, 3, {.count = 10})), nothing); });
}

TEST_F(Streams, NoMatricesAndEmptyMatrices) {
  std::vector<double> a(100);
  std::vector<int> info(10, -1);
  int calls = 0;
  StreamReport report =
      stream(*queue, {}, in(batch(a.data(), 3, 3, {.count = 0})), out(info.data()), [&](Queue&, Batch<double const> x, int*) {
        ++calls;
        EXPECT_EQ(x.count, 0);
      });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(report.chunks, 0);
  auto const none = batch(nowhere, 0, 3, {.count = 10});
  report = stream(*queue, {}, in(none), out(info.data()), [&](Queue& q, Batch<double const> x, int* i) {
    EXPECT_EQ(x.rows, 0);
    launch(q, kernel(), {.blocks = 1, .threads = 1},
           FakeScaleParams{.call = work_on_device, .x = {.rows = 0, .cols = 3, .count = x.count}, .info = i});
  });
  EXPECT_EQ(info, std::vector<int>(10, 300));
  EXPECT_EQ(report.bytes_in, 0);
}

TEST_F(Streams, PreparesAndRefusesACapture) {
  std::vector<double> a(count), x(count);
  auto const da = vectors(a.data(), 1, count), dx = vectors(x.data(), 1, count);
  int calls = 0;
  int const launches = fake->launches, copies = fake->copies;
  long long const peak = fake->peak_device_bytes;
  queue->prepare([&] {
    stream(*queue, {}, in(da), out(dx), [&](Queue& q, auto from, auto to) {
      ++calls;
      EXPECT_EQ(from.batch_stride, 1);
      enqueue(q, from, {}, to, nullptr);
    });
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(fake->launches, launches);
  EXPECT_EQ(fake->copies, copies);
  EXPECT_EQ(fake->peak_device_bytes, peak);
  fake->capturing = true;
  EXPECT_THROW(stream(*queue, {}, in(da), out(dx), [&](Queue&, auto, auto) { ++calls; }), Error);
  fake->capturing = false;
  EXPECT_EQ(calls, 1);
}

void solve_chunk(Queue& q, Batch<double const> a, Batch<double const> b, Batch<double> x, int* info) { solve<double>(q, a, b, x, info); }

TEST_F(Streams, OneProgramForBothBackends) {
  Queue cpu({.backend = Backend::cpu, .threads = 2});
  std::vector<double> a{2, 0, 0, 4, 1, 0, 0, 8}, b{2, 4, 3, 8}, x(4);
  std::vector<int> info(2, -1);
  StreamReport const report = stream(cpu, {}, in(batch(a.data(), 2, 2, {.count = 2})), in(batch(b.data(), 2, 1, {.count = 2})),
                                     out(batch(x.data(), 2, 1, {.count = 2})), out(info.data()), solve_chunk);
  EXPECT_EQ(x, (std::vector<double>{1, 1, 3, 1}));
  EXPECT_EQ(info, (std::vector<int>{0, 0}));
  EXPECT_EQ(report.chunks, 1);
  EXPECT_EQ(report.bytes_in, 0);
  EXPECT_THROW(host_link(cpu), Unavailable);
}

TEST_F(Streams, InC) {
  myriad_queue* c = nullptr;
  ASSERT_EQ(myriad_queue_create(&c, MYRIAD_GPU, 2), MYRIAD_OK);
  std::vector<double> a(4 * count), x(4 * count);
  std::iota(a.begin(), a.end(), 0);
  myriad_operand const operands[] = {{myriad_strided(MYRIAD_F64, 2, 2, a.data(), 2, 4, count), MYRIAD_IN},
                                     {myriad_strided(MYRIAD_C64, 2, 1, x.data(), 2, 2, count), MYRIAD_OUT}};
  struct User {
    myriad_queue* outside;
    int calls, bad_call;
    myriad_dtype result = MYRIAD_C64;
  } user{c, 0, -1};
  auto const work = [](myriad_queue* q, myriad_batch const* arguments, void* of_user) {
    auto& u = *static_cast<User*>(of_user);
    EXPECT_NE(q, u.outside);
    EXPECT_EQ(myriad_queue_backend(q), MYRIAD_GPU);
    EXPECT_EQ(arguments[1].dtype, u.result);
    if (u.calls++ == u.bad_call) return myriad_copy(q, nullptr, 1, nullptr);
    return myriad_copy(q, arguments[0].data, arguments[0].count * 32, arguments[1].data);
  };
  myriad_stream_report report;
  EXPECT_EQ(myriad_stream(c, 640, operands, 2, work, &user, &report), MYRIAD_OK);
  EXPECT_EQ(x, a);
  EXPECT_EQ(user.calls, 11);
  EXPECT_EQ(report.chunks, 11);
  EXPECT_EQ(report.bytes_in, count * 32);
  EXPECT_EQ(report.bytes_staged, count * 64);
  std::fill(x.begin(), x.end(), 0);
  myriad_operand const to_halves[] = {operands[0], {myriad_strided(MYRIAD_F16, 16, 1, x.data(), 16, 16, count), MYRIAD_OUT}};
  user = {c, 0, -1, MYRIAD_F16};
  EXPECT_EQ(myriad_stream(c, 640, to_halves, 2, work, &user, &report), MYRIAD_OK);
  EXPECT_EQ(x, a);
  EXPECT_EQ(report.bytes_out, count * 32);
  user = {c, 0, 4};
  EXPECT_EQ(myriad_stream(c, 640, operands, 2, work, &user, &report), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(user.calls, 5);
  EXPECT_EQ(report.chunks, 0);
  EXPECT_STREQ(myriad_last_error(c), "copy: argument 2 (from) is a null pointer");
  EXPECT_EQ(fake->pending, 0);
  user = {c, 0, -1};
  EXPECT_EQ(myriad_stream(c, 640, operands, 2, work, &user, nullptr), MYRIAD_OK);
  myriad_queue_destroy(c);
}

/// Streams on both GPUs of the fake driver.
class StreamsOnTwoGpus : public Streams {
 protected:
  static constexpr std::int64_t many = 1000;
  using Bytes = std::vector<std::uint8_t>;

  void SetUp() override {
    Streams::SetUp();
    if (IsSkipped()) return;
    for (int device : {0, 1}) queues.emplace_back(QueueOptions{.backend = Backend::gpu, .device = device});
    for (Queue& q : queues) (void)gpu::kernel_for(q, gpu::kernel_key(gpu::kernel_id("scale")), test::source);
  }
  void TearDown() override {
    if (fake) fake->broken_gpu = -1;
    queues.clear();
    Streams::TearDown();
  }
  static int gpu_of(Queue const& q) { return q.device().ordinal; }

  /// Calls `event` in chunk `chunk` of GPU 1. How many chunks it gets depends on the threads, but it gets one.
  struct Chunks {
    int chunk;
    std::function<void()> event;
    bool happened = false;

    void operator()(Queue const& q) {
      if (gpu_of(q) != 1 || chunk-- != 0) return;
      happened = true;
      event();
    }
  };

  std::vector<Queue> queues;
};

TEST_F(StreamsOnTwoGpus, GiveWhatOneGives) {
  std::vector<double> const b{1, 2, 3};
  Batch<double const> for_all = batch(b.data(), 3, 1, {.stride = 3, .count = count});
  for_all.batch_stride = 0;
  std::vector<Layout> layouts = even_layouts();
  for (Layout const& layout : ragged_layouts()) layouts.push_back(layout);
  for (Layout const& layout : layouts) {
    Host a = layout(), one = layout(), two = layout();
    SCOPED_TRACE(a.name);
    a.fill(1);
    std::vector<int> info_of_one(count, -1), info_of_two(count, -1);
    Bytes complete(count, 7);
    auto const work = [&](Queue& q, auto da, auto db, auto dx, int* info) { enqueue(q, da, db, dx, info); };
    stream(*queue, {.chunk_bytes = 1000}, in(a.batch), in(for_all), out(one.batch), out(info_of_one.data()), work);
    StreamReport const report = stream(queues, {.chunk_bytes = 1000, .complete = complete.data()}, in(a.batch), in(for_all), out(two.batch),
                                       out(info_of_two.data()), work);
    EXPECT_EQ(two.memory, one.memory);
    EXPECT_EQ(info_of_two, info_of_one);
    EXPECT_EQ(complete, Bytes(count, 1));
    ASSERT_EQ(report.shares.size(), 2U);
    for (int k : {0, 1}) {
      StreamShare const& share = report.shares[static_cast<std::size_t>(k)];
      EXPECT_EQ(share.device, k);
      EXPECT_GT(share.matrices, 0);
      EXPECT_EQ(share.failure, "");
    }
    EXPECT_EQ(report.shares[0].matrices + report.shares[1].matrices, count);
  }
}

TEST_F(StreamsOnTwoGpus, AFailureNamesTheGpuAndLeavesWhatIsComplete) {
  for (int const chunk : {0, 2, 13})  // before the last, chunks are complete: 12 are in flight at most
    for (bool const at_wait : {false, true}) {
      std::vector<double> a(many, 1), x(many, -1);
      Bytes complete(many, 7);
      Chunks chunks{chunk, [&] { fake->broken_gpu = 1; }};
      try {
        stream(queues, {.chunk_bytes = 512, .complete = complete.data()}, in(vectors(a.data(), 1, many)), out(vectors(x.data(), 1, many)),
               [&](Queue& q, auto from, auto to) {
                 if (!at_wait) chunks(q);
                 enqueue(q, from, {}, to, nullptr);
                 if (at_wait) chunks(q);  // the launch was accepted
               });
        EXPECT_FALSE(chunks.happened);
      } catch (GpuError const& error) {
        EXPECT_EQ(std::string(error.what()).rfind("GPU 1 (Fake GPU): ", 0), 0U) << error.what();
        EXPECT_EQ(error.code(), 719);
      }
      EXPECT_TRUE(chunks.happened || chunk > 0);
      EXPECT_EQ(fake->pending, 0);
      std::int64_t done = 0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        done += complete[k];
        ASSERT_EQ(x[k] == 2 || complete[k] == 0, true) << k;
      }
      EXPECT_EQ(done < many, chunks.happened);
      EXPECT_TRUE(chunk < 13 || done > 0);
      fake->broken_gpu = -1;
    }
}

TEST_F(StreamsOnTwoGpus, ChunksOfAFailedGpuMoveToTheOther) {
  PinnedArray<double> in_place(*queue, many), overwritten(*queue, many), pinned(*queue, many);
  std::vector<double> a(many), x(many);
  Streamer streamer(queues, {.chunk_bytes = 1024, .on_gpu_failure = OnGpuFailure::move_to_others});
  // The last two are found at a wait; the last one by either GPU, after the chunk's results are in host memory.
  std::function<void()> const breaks = [&] { fake->broken_gpu = 1; };
  std::function<void()> const events[] = {breaks, [&] { fake->fail_copy = 700; }, [&] { fake->fail_launch = 719; }, breaks,
                                          [&] { fake->fail_wait = 700; }};
  for (std::size_t event = 0; event < 5; ++event)
    for (int const chunk : {0, 1, 5, 9}) {
      SCOPED_TRACE(testing::Message() << "event " << event << ", chunk " << chunk);
      std::iota(a.begin(), a.end(), 0);
      std::fill(x.begin(), x.end(), -1);
      std::fill(pinned.begin(), pinned.end(), -1);
      std::iota(in_place.begin(), in_place.end(), 1000);
      std::iota(overwritten.begin(), overwritten.end(), 2000);
      Chunks chunks{chunk, events[event]};
      StreamReport const report =
          streamer.run(in(vectors(a.data(), 1, many)), in_out(vectors(in_place.data(), 1, many)), in(vectors(overwritten.data(), 1, many)),
                       out(vectors(overwritten.data(), 1, many)), out(vectors(x.data(), 1, many)), out(vectors(pinned.data(), 1, many)),
                       [&](Queue& q, auto from, Batch<double> place, auto old, auto over, auto to, auto also) {
                         if (event < 3) chunks(q);
                         enqueue(q, from, {}, to, nullptr);
                         enqueue(q, from, {}, also, nullptr);
                         enqueue(q, old, {}, over, nullptr);
                         enqueue(q, place, {}, place, nullptr);
                         if (event >= 3) chunks(q);
                       });
      EXPECT_EQ(report.shares[0].failure.empty() && report.shares[1].failure.empty(), !chunks.happened);
      EXPECT_TRUE(chunks.happened || chunk > 0);
      EXPECT_TRUE(event == 4 || report.shares[0].failure.empty());
      EXPECT_EQ(report.shares[0].matrices + report.shares[1].matrices, many);
      EXPECT_EQ(fake->pending, 0);
      for (std::int64_t k = 0; k < many; ++k) {
        ASSERT_EQ(x[static_cast<std::size_t>(k)], 2.0 * static_cast<double>(k));
        ASSERT_EQ(pinned[k], 2.0 * static_cast<double>(k));
        ASSERT_EQ(in_place[k], 2.0 * static_cast<double>(k + 1000));
        ASSERT_EQ(overwritten[k], 2.0 * static_cast<double>(k + 2000));
      }
      fake->broken_gpu = -1;
      fake->fail_copy = 0, fake->fail_launch = 0;
    }
}

TEST_F(StreamsOnTwoGpus, AGpuWithoutMemoryTakesNoPart) {
  std::vector<double> a(many, 1), x(many, -1);
  auto const run = [&](OnGpuFailure on_failure) {
    return stream(queues, {.chunk_bytes = 1024, .on_gpu_failure = on_failure}, in(vectors(a.data(), 1, many)),
                  out(vectors(x.data(), 1, many)), [&](Queue& q, auto from, auto to) { enqueue(q, from, {}, to, nullptr); });
  };
  fake->fail_allocation = 2;
  EXPECT_THROW(run(OnGpuFailure::stop), OutOfMemory);
  fake->fail_allocation = 2;
  StreamReport const report = run(OnGpuFailure::move_to_others);
  EXPECT_EQ(x, std::vector<double>(many, 2));
  EXPECT_EQ(report.shares[0].matrices, 0);
  EXPECT_NE(report.shares[0].failure, "");
  EXPECT_EQ(report.shares[1].matrices, many);
}

TEST_F(StreamsOnTwoGpus, AGpuThatIsBrokenBeforeTheRunTakesNoPart) {
  std::vector<double> a(many, 1), x(many, -1);
  fake->broken_gpu = 1;
  StreamReport const report =
      stream(queues, {.on_gpu_failure = OnGpuFailure::move_to_others}, in(vectors(a.data(), 1, many)), out(vectors(x.data(), 1, many)),
             [&](Queue& q, auto from, auto to) { enqueue(q, from, {}, to, nullptr); });
  EXPECT_EQ(x, std::vector<double>(many, 2));
  EXPECT_EQ(report.shares[0].matrices, many);
  EXPECT_NE(report.shares[1].failure, "");
}

TEST_F(StreamsOnTwoGpus, AGpuThatCannotBeOpenedIsNamed) {
  auto const expect_named = [&](std::string const& start, std::function<void()> const& f) {
    fake->fail_stream = 46;
    try {
      f();
      ADD_FAILURE() << "no error";
    } catch (GpuError const& error) {
      EXPECT_EQ(error.code(), 46);
      EXPECT_EQ(std::string(error.what()).rfind(start, 0), 0U) << error.what();
    }
  };
  expect_named("GPU 1 (Fake GPU): cuStreamCreate", [] { Queue({.backend = Backend::gpu, .device = 1}); });
  // A streamer opens queues of its own.
  std::vector<double> a(many, 1), x(many, -1);
  auto const run = [&](std::span<Queue> on, OnGpuFailure on_failure) {
    return stream(on, {.chunk_bytes = 1024, .on_gpu_failure = on_failure}, in(vectors(a.data(), 1, many)), out(vectors(x.data(), 1, many)),
                  [&](Queue& q, auto from, auto to) { enqueue(q, from, {}, to, nullptr); });
  };
  expect_named("GPU 0 (Fake GPU): cuStreamCreate", [&] { run(queues, OnGpuFailure::stop); });
  expect_named("GPU 1 (Fake GPU): cuStreamCreate", [&] { run(std::span(queues).subspan(1), OnGpuFailure::stop); });
  fake->fail_stream = 46;
  StreamReport const report = run(queues, OnGpuFailure::move_to_others);
  EXPECT_EQ(report.shares[0].failure.rfind("cuStreamCreate", 0), 0U) << report.shares[0].failure;
  EXPECT_EQ(x, std::vector<double>(many, 2));
}

TEST_F(StreamsOnTwoGpus, OtherErrorsEndTheRun) {
  std::vector<double> a(many, 1), x(many);
  StreamOptions const options{.chunk_bytes = 512, .on_gpu_failure = OnGpuFailure::move_to_others};
  auto const run = [&](std::function<void(Queue&)> const& event) {
    stream(queues, options, in(vectors(a.data(), 1, many)), out(vectors(x.data(), 1, many)), [&](Queue& q, auto from, auto to) {
      event(q);
      enqueue(q, from, {}, to, nullptr);
    });
  };
  EXPECT_THROW(run([](Queue&) { throw std::domain_error("of the caller"); }), std::domain_error);
  EXPECT_EQ(fake->pending, 0);
  try {  // no GPU is left
    run([&](Queue&) { fake->fail_launch = 719; });
    ADD_FAILURE() << "no error";
  } catch (GpuError const& error) {
    EXPECT_EQ(std::string(error.what()).rfind("GPU ", 0), 0U) << error.what();
  }
  EXPECT_EQ(fake->pending, 0);
}

TEST_F(StreamsOnTwoGpus, RefuseWrongQueues) {
  std::vector<double> a(4);
  auto const refused = [&](std::string const& text, auto&& call) {
    try {
      call();
      ADD_FAILURE() << text;
    } catch (BadArgument const& error) {
      EXPECT_EQ(std::string(error.what()), "stream: argument 1 (queues) " + text);
    }
  };
  refused("is empty; needs at least one queue", [] { Streamer(std::span<Queue>()); });
  Queue* const nothing[] = {queue.operator->(), nullptr};
  refused("has a null pointer", [&] { Streamer{std::span<Queue* const>(nothing)}; });
  Queue cpu({.backend = Backend::cpu});
  Queue* const mixed[] = {queue.operator->(), &cpu};
  refused("has a queue on the CPU among several; several queues must be on GPUs", [&] { Streamer{std::span<Queue* const>(mixed)}; });
}

TEST_F(StreamsOnTwoGpus, PrepareEachQueueThatPrepares) {
  std::vector<double> a(many), x(many);
  std::vector<int> prepared;
  queues[1].prepare([&] {
    stream(queues, {}, in(vectors(a.data(), 1, many)), out(vectors(x.data(), 1, many)),
           [&](Queue& q, auto, auto) { prepared.push_back(gpu_of(q)); });
  });
  EXPECT_EQ(prepared, std::vector<int>{1});
}

TEST_F(StreamsOnTwoGpus, InC) {
  myriad_queue* c[2] = {};
  for (int k : {0, 1}) ASSERT_EQ(myriad_queue_create_on(&c[k], k, nullptr, 2), MYRIAD_OK);
  std::vector<double> a(4 * count), x(4 * count);
  std::iota(a.begin(), a.end(), 0);
  myriad_operand const operands[] = {{myriad_strided(MYRIAD_F64, 2, 2, a.data(), 2, 4, count), MYRIAD_IN},
                                     {myriad_strided(MYRIAD_F64, 2, 2, x.data(), 2, 4, count), MYRIAD_OUT}};
  struct User {
    int calls = 0, bad_call = -1;
    test::FakeCuda* fake;
  } user{.fake = fake};
  auto const work = [](myriad_queue* q, myriad_batch const* arguments, void* of_user) {
    auto& u = *static_cast<User*>(of_user);
    if (u.calls++ == u.bad_call) u.fake->fail_copy = 700;
    return myriad_copy(q, arguments[0].data, arguments[0].count * 32, arguments[1].data);
  };
  myriad_stream_report report;
  myriad_stream_share shares[2];
  Bytes complete(count, 7);
  auto const run = [&](myriad_on_gpu_failure on_failure) {
    std::fill(x.begin(), x.end(), 0);
    user.calls = 0;
    return myriad_stream_on_gpus(c, 2, 640, on_failure, operands, 2, work, &user, &report, shares, complete.data());
  };
  EXPECT_EQ(run(MYRIAD_STOP), MYRIAD_OK);
  EXPECT_EQ(x, a);
  EXPECT_EQ(user.calls, 11);
  EXPECT_EQ(report.chunks, 11);
  EXPECT_EQ(shares[1].device, 1);
  EXPECT_EQ(shares[0].matrices + shares[1].matrices, count);
  EXPECT_EQ(complete, Bytes(count, 1));
  user.bad_call = 4;
  EXPECT_EQ(run(MYRIAD_MOVE_TO_OTHERS), MYRIAD_OK);
  EXPECT_EQ(x, a);
  EXPECT_EQ(shares[0].failed + shares[1].failed, 1);
  EXPECT_EQ(run(MYRIAD_STOP), MYRIAD_FAILED);
  EXPECT_EQ(std::string(myriad_last_error(c[0])).rfind("GPU ", 0), 0U) << myriad_last_error(c[0]);
  EXPECT_LT(std::accumulate(complete.begin(), complete.end(), 0), count);
  myriad_queue* const second = std::exchange(c[1], nullptr);
  EXPECT_EQ(run(MYRIAD_STOP), MYRIAD_BAD_ARGUMENT);
  c[1] = second;
  EXPECT_STREQ(myriad_last_error(c[0]), "stream: argument 1 (queues) has a null pointer");
  for (myriad_queue* q : c) myriad_queue_destroy(q);
}

TEST_F(StreamsOnTwoGpus, MeasureTheirLinks) {
  HostLink const one = host_link(queues[1]), both = host_link(queues);
  // Every measurement takes the fake driver's 1.5 ms: one copy of 32 MiB in each direction, or four on each GPU.
  constexpr double rate = (32 << 20) / 1.5e-3;
  EXPECT_NEAR(one.to_device, rate, 1e-4 * rate);
  EXPECT_NEAR(one.both, 2 * rate, 2e-4 * rate);
  EXPECT_NEAR(both.to_device, 8 * rate, 8e-4 * rate);
  EXPECT_NEAR(both.to_host, 8 * rate, 8e-4 * rate);
  EXPECT_NEAR(both.both, 16 * rate, 16e-4 * rate);
  int const copies = fake->copies;
  std::swap(queues[0], queues[1]);
  EXPECT_EQ(host_link(queues).both, both.both);
  EXPECT_EQ(fake->copies, copies);
  EXPECT_THROW(host_link(std::span<Queue>()), BadArgument);

  int const peer_copies = fake->peer_copies;
  PeerLink const link = peer_link(queues[0], queues[1]);
  EXPECT_NEAR(link.copy, rate, 1e-4 * rate);
  EXPECT_NEAR(link.direct, rate, 1e-4 * rate);
  EXPECT_EQ(fake->peer_copies, peer_copies + 10);
  EXPECT_THROW(peer_link(queues[0], queues[0]), BadArgument);
  Queue cpu({.backend = Backend::cpu});
  EXPECT_THROW(peer_link(queues[0], cpu), Unavailable);
}

TEST_F(Streams, MeasuresTheLinkOnce) {
  HostLink const link = host_link(*queue);
  EXPECT_GT(link.to_device, 0);
  EXPECT_GT(link.to_host, 0);
  EXPECT_GT(link.both, 0);
  int const copies = fake->copies;
  EXPECT_EQ(host_link(*queue).both, link.both);
  EXPECT_EQ(fake->copies, copies);
  HostLink const made{.to_device = 50, .to_host = 40, .both = 60};
  EXPECT_EQ(made.seconds(100, 0), 2);
  EXPECT_EQ(made.seconds(0, 80), 2);
  EXPECT_EQ(made.seconds(60, 60), 2);
  EXPECT_EQ((StreamReport{.bytes_in = 60, .bytes_out = 60, .seconds = 4}.share_of(made)), 0.5);
  EXPECT_EQ((StreamReport{.bytes_in = 60, .bytes_out = 60, .seconds = 4}.rate()), 30);
}

}  // namespace
}  // namespace myriad::gpu
