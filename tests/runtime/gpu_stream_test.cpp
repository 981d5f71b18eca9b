/// Batches streamed through a GPU, against the CPU. Skipped, with the reason, without a GPU.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "myriad/memory.hpp"
#include "myriad/myriad.hpp"
#include "on_gpu.hpp"

namespace myriad {
namespace {

class GpuStream : public OnFirstGpu {
 protected:
  Queue cpu{{.backend = Backend::cpu}};
};

template <typename T>
std::vector<T> random(std::int64_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> out(static_cast<std::size_t>(size));
  for (T& x : out) x = static_cast<T>(uniform(engine));
  return out;
}

constexpr std::int64_t n = 9, nrhs = 2, count = 10'007;
constexpr double canary = 4711;

/// Systems in one layout. One matrix is zero; the others have one large diagonal. In ragged batches it is the main one, so that leading
/// parts have it, too.
struct Systems {
  std::vector<double> a, b, x;
  std::vector<int> info, pivots;
  Batch<double> da, db, dx;
  std::vector<double*> a_pointers;
  std::vector<std::int64_t> sizes;

  using Place = std::function<Batch<double>(double*, std::int64_t, std::int64_t)>;
  explicit Systems(Place const& place, bool ragged = false)
      : a(2 * n * n * count), b(2 * n * nrhs * count), x(b.size(), canary), info(count, -1), pivots(n * count, -1) {
    da = place(a.data(), n, n);
    db = place(b.data(), n, nrhs);
    dx = place(x.data(), n, nrhs);
    std::vector<double> const values = random<double>(count * n * (n + nrhs), 1);
    auto next = values.begin();
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) *da.at(k, i, j) = k == 5000 ? 0 : *next++ + ((ragged ? i : (i + k) % n) == j ? 2.0 * n : 0);
        for (std::int64_t j = 0; j < nrhs; ++j) *db.at(k, i, j) = *next++;
      }
    if (ragged) make_ragged();
  }

 private:
  /// The same matrices behind pointers, each with its own size.
  void make_ragged() {
    for (std::int64_t k = 0; k < count; ++k) {
      a_pointers.push_back(da.matrix((k * 31) % count));
      sizes.push_back(k % (n + 1));
    }
    da.pointers = a_pointers.data();
    da.row_sizes = da.col_sizes = db.row_sizes = dx.row_sizes = sizes.data();
  }
};

std::vector<std::pair<char const*, Systems::Place>> places() {
  return {{"column-major", [](double* p, auto m, auto k) { return batch(p, m, k, {.count = count}); }},
          {"row-major, gaps", [](double* p, auto m, auto k) { return row_major(p, m, k, {.ld = k + 1, .count = count}); }},
          {"column-major, gaps", [](double* p, auto m, auto k) { return batch(p, m, k, {.ld = m + 2, .count = count}); }},
          {"interleaved", [](double* p, auto m, auto k) { return interleaved(p, m, k, count); }},
          {"transposed", [](double* p, auto m, auto k) { return transposed(batch(p, k, m, {.count = count})); }}};
}

TEST_F(GpuStream, GivesTheSameInAnyChunks) {
  for (bool const ragged : {false, true})
    for (auto const& [name, place] : places()) {
      SCOPED_TRACE(fmt::format("{}{}", name, ragged ? ", ragged" : ""));
      Systems expected(place, ragged);
      solve<double>(cpu, expected.da, expected.db, expected.dx, expected.info.data());
      std::vector<double> once;
      for (std::int64_t const chunk : {std::int64_t{1} << 30, std::int64_t{0}, std::int64_t{100'000}, std::int64_t{33'333}}) {
        Systems s(place, ragged);
        StreamReport const report = stream(*queue, {.chunk_bytes = chunk}, in(s.da), in(s.db), out(s.dx), out(s.info.data()),
                                           [](Queue& q, auto a, auto b, auto x, int* info) { solve<double>(q, a, b, x, info); });
        EXPECT_EQ(report.chunks == 1, chunk == 1 << 30);
        EXPECT_EQ(s.info, expected.info);
        EXPECT_EQ(s.a, expected.a);
        if (once.empty()) once = s.x;
        std::int64_t different_bits = 0, wrong = 0;
        for (std::size_t k = 0; k < s.x.size(); ++k) {
          bool const no_number = std::isnan(once[k]);
          different_bits += no_number ? !std::isnan(s.x[k]) : s.x[k] != once[k];
          // elements up to rounding; gaps, which hold canaries, exactly
          wrong += no_number ? !std::isnan(expected.x[k])
                             : (expected.x[k] == canary ? s.x[k] != canary : !(std::fabs(s.x[k] - expected.x[k]) <= 1e-13));
        }
        EXPECT_EQ(different_bits, 0);
        EXPECT_EQ(wrong, 0);
      }
    }
}

TEST_F(GpuStream, FactorsInPlaceWithThePivotsOfTheCpu) {
  Systems expected(places()[0].second), s(places()[0].second);
  auto const pivots = [](Systems& of) { return vectors(of.pivots.data(), n, count); };
  getrf<double>(cpu, expected.da, pivots(expected), expected.info.data());
  stream(*queue, {.chunk_bytes = 50'000}, in_out(s.da), out(pivots(s)), out(s.info.data()),
         [](Queue& q, auto a, auto p, int* info) { getrf<double>(q, a, p, info); });
  EXPECT_EQ(s.pivots, expected.pivots);
  EXPECT_EQ(s.info, expected.info);
  double worst = 0;
  for (std::size_t k = 0; k < s.a.size(); ++k) worst = std::max(worst, std::fabs(s.a[k] - expected.a[k]));
  EXPECT_LE(worst, 1e-12);
}

TEST_F(GpuStream, OneMatrixForAllRightHandSides) {
  Systems s(places()[0].second);
  Batch<double> one = s.da;
  one.batch_stride = 0;
  Systems expected(places()[0].second);
  Batch<double> expected_one = expected.da;
  expected_one.batch_stride = 0;
  solve<double>(cpu, expected_one, expected.db, expected.dx, expected.info.data());
  stream(*queue, {.chunk_bytes = 50'000}, in(one), in(s.db), out(s.dx), out(s.info.data()),
         [](Queue& q, auto a, auto b, auto x, int* info) { solve<double>(q, a, b, x, info); });
  EXPECT_EQ(s.info, expected.info);
  for (std::size_t k = 0; k < s.x.size(); ++k) ASSERT_NEAR(s.x[k], expected.x[k], 1e-13);
}

TEST_F(GpuStream, ErrorsLeaveTheQueueUsable) {
  std::vector<double> a = random<double>(8 * 8 * 100, 2), x(a.size());
  std::vector<int> info(100);
  auto const invert = [](Queue& q, auto from, auto to, int* i) { inverse<double>(q, from, to, i); };
  int chunk = 0;
  EXPECT_THROW(stream(*queue, {.chunk_bytes = 10'000}, in(batch(a.data(), 8, 8, {.count = 100})),
                      out(batch(x.data(), 8, 8, {.count = 100})), out(info.data()),
                      [&](Queue& q, auto from, auto to, int* i) {
                        if (chunk++ == 3) throw std::domain_error("of the caller");
                        invert(q, from, to, i);
                      }),
               std::domain_error);
  DeviceArray<double> const device(*queue, 6400);
  EXPECT_THROW(stream(*queue, {}, in(batch(device.data(), 8, 8, {.count = 100})), out(batch(x.data(), 8, 8, {.count = 100})),
                      out(info.data()), invert),
               BadArgument);
  stream(*queue, {.chunk_bytes = 10'000}, in(batch(a.data(), 8, 8, {.count = 100})), out(batch(x.data(), 8, 8, {.count = 100})),
         out(info.data()), invert);
  EXPECT_EQ(info, std::vector<int>(100, 0));
}

/// Prints the share of the link that is used: at least half from pinned memory.
TEST_F(GpuStream, KeepsTheLinkBusy) {
  HostLink const link = host_link(*queue);
  fmt::print("link: {:.1f} GB/s to the GPU, {:.1f} GB/s back, {:.1f} GB/s both at once\n", link.to_device * 1e-9, link.to_host * 1e-9,
             link.both * 1e-9);
  constexpr std::int64_t size = 16, many = 400'000;
  PinnedArray<double> pinned_a(*queue, size * size * many), pinned_x(*queue, size * size * many);
  std::vector<double> a = random<double>(size * size * many, 3), x(a.size());
  for (std::int64_t k = 0; k < many; ++k)
    for (std::int64_t i = 0; i < size; ++i) a[static_cast<std::size_t>((k * size + i) * size + i)] += 2.0 * size;
  std::copy(a.begin(), a.end(), pinned_a.begin());
  std::vector<int> info(many);
  auto const run = [&](char const* what, double* from, double* to) {
    Streamer streamer(*queue);
    StreamReport best;
    for (int round = 0; round < 3; ++round) {
      StreamReport const report = streamer.run(in(batch(from, size, size, {.count = many})), out(batch(to, size, size, {.count = many})),
                                               out(info.data()), [](Queue& q, auto m, auto y, int* i) { inverse<double>(q, m, y, i); });
      if (best.seconds == 0 || report.seconds < best.seconds) best = report;
    }
    fmt::print("{}: {:.2f} GB in {} chunks, {:.1f} GB/s, {:.0f}% of the link\n", what,
               static_cast<double>(best.bytes_in + best.bytes_out) * 1e-9, best.chunks, best.rate() * 1e-9, 100 * best.share_of(link));
    return best;
  };
  StreamReport const from_pinned = run("pinned", pinned_a.data(), pinned_x.data());
  EXPECT_EQ(from_pinned.bytes_staged, many * 4);  // info
  EXPECT_GT(from_pinned.share_of(link), 0.5);
  StreamReport const from_pageable = run("pageable", a.data(), x.data());
  EXPECT_EQ(from_pageable.bytes_staged, from_pageable.bytes_in + from_pageable.bytes_out);
  EXPECT_TRUE(std::equal(x.begin(), x.end(), pinned_x.begin()));
  EXPECT_EQ(info, std::vector<int>(many, 0));
}

}  // namespace
}  // namespace myriad
