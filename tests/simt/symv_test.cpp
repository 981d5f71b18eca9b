/// The kernels of symv and hemv on the host twin: which elements they read, results, and the same bits for any division of work and any
/// alignment.

#include "symv/symv.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "runtime/views.hpp"
#include "simt_host/host.hpp"
#include "sizes.hpp"
#include "stored.hpp"
#include "symv/symv_plan.hpp"
#include "symv/symv_rows.cuh"
#include "symv/symv_runs.cuh"
#include "symv/symv_strips.cuh"
#include "symv/symv_tiny.cuh"
#include "symv/symv_whole.cuh"

namespace myriad {
namespace {

template <typename T>
T not_a_number() {
  if constexpr (is_complex<T>)
    return T(std::numeric_limits<Real<T>>::quiet_NaN(), std::numeric_limits<Real<T>>::quiet_NaN());
  else
    return std::numeric_limits<T>::quiet_NaN();
}
template <typename T>
T conj_if(bool conjugate, T x) {
  if constexpr (is_complex<T>)
    return conjugate ? std::conj(x) : x;
  else
    return x;
}

template <typename T>
bool same_bits(std::vector<T> const& x, std::vector<T> const& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

/// Makes the address sanitizer report reads of these elements, except where they share 8 bytes with others.
template <typename T>
void forbid([[maybe_unused]] T const* from, [[maybe_unused]] std::size_t count) {
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(from, count * sizeof(T));
#endif
}

/// Matrices with one triangle and NaN in the other, which must not be read; vectors, and the expected product.
template <typename T>
struct Problem {
  SymvTask<T> task;
  std::vector<T> a, x, y, y0;
  std::vector<std::int64_t> sizes;

  /// Columns are `ld` elements apart, from element `offset` of the memory; `step` is the stride within a column and in the vectors.
  Problem(Symmetry symmetry, Uplo uplo, int n, int count, T alpha, T beta, int ld, int offset, int step = 1, bool ragged = false) {
    a.assign(static_cast<std::size_t>(offset + count * n * ld * step + 1), not_a_number<T>());
    x.assign(static_cast<std::size_t>(count * n * step), T(1));
    fill(x, 2);
    y.assign(x.size(), not_a_number<T>());
    if (beta != T(0)) fill(y, 3);
    y0 = y;
    std::vector<T> elements(static_cast<std::size_t>(count * n * n));
    fill(elements, 1);
    task = {
        .symmetry = symmetry,
        .uplo = uplo,
        .alpha = alpha,
        .a = {.data = a.data() + offset,
              .rows = n,
              .cols = n,
              .row_stride = step,
              .col_stride = ld * step,
              .batch_stride = n * ld * step,
              .count = count},
        .x = {.data = x.data(), .rows = n, .cols = 1, .row_stride = step, .col_stride = n * step, .batch_stride = n * step, .count = count},
        .beta = beta,
        .y = {
            .data = y.data(), .rows = n, .cols = 1, .row_stride = step, .col_stride = n * step, .batch_stride = n * step, .count = count}};
    if (ragged) {
      for (int b = 0; b < count; ++b) sizes.push_back(std::max(n - b * (n / 3), 0));
      task.a.row_sizes = task.a.col_sizes = task.x.row_sizes = task.y.row_sizes = sizes.data();
    }
    std::vector<bool> stored(a.size(), false);
    for (int b = 0; b < count; ++b)
      for (std::int64_t j = 0; j < task.a.cols_of(b); ++j)
        for (std::int64_t i = 0; i < task.a.rows_of(b); ++i)
          if (uplo == Uplo::lower ? i >= j : i <= j) {
            auto const at = static_cast<std::size_t>(task.a.at(b, i, j) - a.data());
            a[at] = elements[static_cast<std::size_t>((b * n + i) * n + j)];
            stored[at] = true;
          }
    for (std::size_t first = 0, last = 0; first < a.size(); first = last + 1) {
      for (last = first; last < a.size() && !stored[last]; ++last) {
      }
      forbid(a.data() + first, last - first);
    }
  }
  ~Problem() {
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(a.data(), a.size() * sizeof(T));
#endif
  }
  Problem(Problem const&) = delete;
  Problem& operator=(Problem const&) = delete;

  [[nodiscard]] std::complex<double> element(std::int64_t b, std::int64_t i, std::int64_t j) const {
    bool const stored = task.uplo == Uplo::lower ? i >= j : i <= j;
    std::complex<double> const value = stored ? *task.a.at(b, i, j) : *task.a.at(b, j, i);
    if (task.symmetry == Symmetry::symmetric) return value;
    return i == j ? value.real() : stored ? value : std::conj(value);
  }
  /// The bytes of y of every matrix.
  [[nodiscard]] std::vector<std::vector<T>> result() const {
    std::vector<std::vector<T>> out;
    for (std::int64_t b = 0; b < task.y.count; ++b) {
      out.emplace_back();
      for (std::int64_t i = 0; i < task.y.rows_of(b); ++i) out.back().push_back(*task.y.at(b, i, 0));
    }
    return out;
  }
  void check() const {
    double const u = std::numeric_limits<Real<T>>::epsilon();
    for (std::int64_t b = 0; b < task.y.count; ++b)
      for (std::int64_t i = 0; i < task.a.rows; ++i) {
        auto const at = static_cast<std::size_t>(task.y.at(b, i, 0) - y.data());
        if (i >= task.y.rows_of(b)) {
          ASSERT_EQ(std::memcmp(&y[at], &y0[at], sizeof(T)), 0) << "matrix " << b << ": row " << i << " is not its own";
          continue;
        }
        std::complex<double> sum = 0;
        double bound = 0;
        for (std::int64_t j = 0; j < task.a.cols_of(b) && task.alpha != T(0); ++j) {
          auto const term = conj_if(task.a.conjugated, element(b, i, j)) * std::complex<double>(*task.x.at(b, j, 0));
          sum += std::complex<double>(task.alpha) * term;
          bound += std::abs(task.alpha) * std::abs(term);
        }
        if (task.beta != T(0)) {
          auto const kept = std::complex<double>(task.beta) * std::complex<double>(y0[at]);
          sum += kept;
          bound += std::abs(kept);
        }
        ASSERT_LE(std::abs(std::complex<double>(y[at]) - sum), 8 * u * static_cast<double>(task.a.rows + 2) * bound)
            << "matrix " << b << " of " << task.a.rows << " rows, row " << i;
      }
  }
};

template <typename T>
SymvArguments<gpu::DeviceElement<T>> arguments_of(SymvTask<T> const& task, int most_rows_in_block, int most_rows_in_strips) {
  using D = gpu::DeviceElement<T>;
  return {.alpha = std::bit_cast<D>(task.alpha),
          .beta = std::bit_cast<D>(task.beta),
          .a = gpu::matrices_of(task.a),
          .x = gpu::matrices_of(task.x),
          .y = gpu::matrices_of(task.y),
          .lower = task.uplo == Uplo::lower,
          .most_rows_in_block = most_rows_in_block,
          .most_rows_in_strips = most_rows_in_strips,
          .sums = nullptr,
          .apart = 0,
          .pieces = 0,
          .counts = nullptr};
}

/// symv_runs on this number of blocks; it skips matrices of up to `most_rows_in_strips` rows.
template <typename T, SymvRuns c>
void run_runs(SymvTask<T> const& task, int blocks, int most_rows_in_strips = 0) {
  using D = gpu::DeviceElement<T>;
  SymvShares const shares = symv_shares(sizeof(T), c, static_cast<int>(task.a.rows), task.uplo == Uplo::lower);
  simt::Index const elements = shares.elements();
  std::vector<D> sums(static_cast<std::size_t>(elements * task.y.count), std::bit_cast<D>(not_a_number<T>()));
  std::vector<unsigned> counts(64, 0);
  auto args = arguments_of(task, 0, most_rows_in_strips);
  args.sums = sums.data();
  args.apart = elements;
  args.pieces = shares.pieces;
  args.counts = counts.data();
  simt::run(blocks, c.threads(), c.shared_bytes(sizeof(T)), symv_runs<D, c>, args, true);
  EXPECT_EQ(counts, std::vector<unsigned>(64, 0));  // reset for the next launch
}

template <typename T, SymvStrips c>
void run_strips(SymvTask<T> const& task, int blocks, int most_rows_in_block = 0, int most_rows_in_strips = 1000) {
  simt::run(blocks, c.threads(sizeof(T)), c.shared_bytes(sizeof(T), static_cast<int>(task.y.rows)), symv_strips<gpu::DeviceElement<T>, c>,
            arguments_of(task, most_rows_in_block, most_rows_in_strips));
}

template <typename T, SymvRuns c>
void run_matrices(SymvTask<T> const& task, int blocks, int most_rows_in_block = 0, int most_rows_in_strips = 1000) {
  simt::run(blocks, c.threads(), c.shared_bytes_of_matrix(sizeof(T), static_cast<int>(task.y.rows)),
            symv_matrices<gpu::DeviceElement<T>, c>, arguments_of(task, most_rows_in_block, most_rows_in_strips));
}

template <typename T, SymvWhole c>
void run_whole(SymvTask<T> const& task, int blocks, int most_rows_in_block = c.most_rows()) {
  simt::run(blocks, c.threads(), c.shared_bytes(sizeof(T)), symv_whole<gpu::DeviceElement<T>, c>,
            arguments_of(task, most_rows_in_block, most_rows_in_block));
}

template <typename T, SymvRows c>
void run_rows(SymvTask<T> const& task, int blocks) {
  simt::run(blocks, c.threads(), 0, symv_rows<gpu::DeviceElement<T>, c>, arguments_of(task, 0, 0));
}

/// Checks results, and the same bits for any number of blocks and any alignment; if `every_way` also with other strides, coefficients and
/// views. run<layout>(task, blocks).
template <typename T, Symmetry symmetry, typename Run>
void check(Run run_task, int n, int count, bool ragged, bool every_way) {
  T const alpha = T(-0.75), beta = T(0.5);
  for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
    SCOPED_TRACE(testing::Message() << n << " rows, " << (uplo == Uplo::lower ? "lower" : "upper") << ", " << sizeof(T) << " bytes");
    int const aligned = (n + 3) / 4 * 4;
    std::vector<std::vector<std::vector<T>>> results;
    auto const run = [&]<SymvColumns layout>(int ld, int offset, int step, int blocks) {
      Problem<T> p(symmetry, uplo, n, count, alpha, T(0), ld, offset, step, ragged);
      run_task.template operator()<layout>(p.task, blocks);
      p.check();
      if (step == 1) results.push_back(p.result());
    };
    run.template operator()<SymvColumns::contiguous>(aligned, 0, 1, 3);
    run.template operator()<SymvColumns::contiguous>(aligned, 1, 1, 2);
    if (every_way) {
      run.template operator()<SymvColumns::contiguous>(aligned, 0, 1, 1);
      run.template operator()<SymvColumns::contiguous>(n | 1, 0, 1, 100);
      run.template operator()<SymvColumns::strided>(aligned, 0, 1, 5);
    }
    for (std::size_t k = 1; k < results.size(); ++k)
      for (std::size_t b = 0; b < results[0].size(); ++b)
        ASSERT_TRUE(same_bits(results[k][b], results[0][b])) << "way " << k << ", matrix " << b;
    if (!every_way) continue;
    run.template operator()<SymvColumns::strided>(n, 0, 2, 4);

    for (int const step : {1, 2}) {  // x misaligned or with gaps, A aligned without gaps
      Problem<T> p(symmetry, uplo, n, count, alpha, T(0), aligned, 0, 1, ragged);
      std::vector<T> x(p.x.size() * static_cast<std::size_t>(step) + 1, not_a_number<T>());
      for (std::size_t k = 0; k < p.x.size(); ++k) x[1 + k * static_cast<std::size_t>(step)] = p.x[k];
      p.task.x.data = x.data() + 1;
      p.task.x.row_stride = step;
      p.task.x.col_stride *= step;
      p.task.x.batch_stride *= step;
      run_task.template operator()<SymvColumns::contiguous>(p.task, 3);
      p.check();
      auto const result = p.result();
      for (std::size_t b = 0; b < result.size(); ++b)
        ASSERT_TRUE(same_bits(result[b], results[0][b])) << "step " << step << ", matrix " << b;
    }

    for (T const b : {T(0), beta})  // alpha = 0 reads neither A nor x
      for (int const blocks : {1, 2}) {
        Problem<T> p(symmetry, uplo, n, count, blocks == 1 ? T(0) : alpha, b, n, 0, 1, ragged);
        if (blocks == 1) p.task.a.data = p.task.x.data = nullptr;
        run_task.template operator()<SymvColumns::contiguous>(p.task, blocks);
        p.check();
      }
    if constexpr (is_complex<T>) {
      Problem<T> p(symmetry, uplo, n, count, alpha, beta, n, 0, 1, ragged);
      p.task.a = conjugated(p.task.a);
      run_task.template operator()<SymvColumns::contiguous>(p.task, 3);
      p.check();
    }
  }
}
template <typename T, Symmetry symmetry>
void check_runs(int n, int count = 1, bool ragged = false, bool every_way = true) {
  auto const run = []<SymvColumns layout>(SymvTask<T> const& task, int blocks) {
    run_runs<T, symv_runs_plan(sizeof(T), symmetry, layout)>(task, std::min(blocks, 5));
  };
  check<T, symmetry>(run, n, count, ragged, every_way);
}
/// By strips, a block per matrix, and row by row, in turns from `way` on; all give the same bits.
template <typename T, Symmetry symmetry>
void check_strips(int n, int count = 1, bool ragged = false, bool every_way = true, int way = 0) {
  auto const run = [&]<SymvColumns layout>(SymvTask<T> const& task, int blocks) {
    if (++way % 3 == 0)
      run_strips<T, SymvStrips{.layout = layout, .symmetry = symmetry}>(task, blocks);
    else if (way % 3 == 1 && n <= 256 && !ragged)
      run_rows<T, symv_rows_plan(symmetry, layout, 256)>(task, blocks);
    else
      run_matrices<T, symv_matrices_plan(sizeof(T), symmetry, layout)>(task, blocks);
  };
  check<T, symmetry>(run, n, count, ragged, every_way);
}

/// A block per matrix, and row by row: the same bits.
template <typename T, Symmetry symmetry, int n>
void check_whole(int count = 1, bool ragged = false, bool every_way = true) {
  bool by_rows = false;
  auto const run = [&]<SymvColumns layout>(SymvTask<T> const& task, int blocks) {
    by_rows = !by_rows && !ragged;
    if (by_rows)
      run_rows<T, symv_rows_plan(symmetry, layout, n)>(task, blocks);
    else
      run_whole<T, symv_whole_plan(symmetry, layout, n)>(task, blocks);
  };
  check<T, symmetry>(run, n, count, ragged, every_way);
}

TEST(SymvWhole, EveryNumberOfRowsOfALane) {
  check_whole<float, Symmetry::symmetric, 33>();
  check_whole<float, Symmetry::symmetric, 97>(1, false, false);
  check_whole<double, Symmetry::symmetric, 65>();
  check_whole<double, Symmetry::symmetric, 128>(1, false, false);
  check_whole<std::complex<float>, Symmetry::symmetric, 64>(1, false, false);
  check_whole<std::complex<float>, Symmetry::hermitian, 71>();
  check_whole<std::complex<double>, Symmetry::hermitian, 50>();
  check_whole<std::complex<double>, Symmetry::hermitian, 127>(1, false, false);
}

TEST(SymvWhole, SeveralAndRagged) {
  check_whole<float, Symmetry::symmetric, 50>(5, false, false);
  check_whole<double, Symmetry::symmetric, 100>(4, true, false);
  check_whole<std::complex<double>, Symmetry::hermitian, 70>(4, true);
}

TEST(SymvStrips, AroundTheEdgesOfStrips) {
  check_strips<float, Symmetry::symmetric>(83);
  check_strips<double, Symmetry::symmetric>(83);
  check_strips<std::complex<float>, Symmetry::symmetric>(40);
  check_strips<std::complex<float>, Symmetry::hermitian>(67);
  check_strips<std::complex<double>, Symmetry::hermitian>(41);
  for (int const n : {33, 48, 64}) {
    check_strips<float, Symmetry::symmetric>(n, 1, false, false);
    check_strips<double, Symmetry::symmetric>(n, 1, false, false);
  }
  // Several panels, and more than are loaded ahead
  check_strips<float, Symmetry::symmetric>(259, 1, false, false);
  check_strips<double, Symmetry::symmetric>(270, 1, false, false);
  check_strips<std::complex<float>, Symmetry::hermitian>(150);
  check_strips<std::complex<double>, Symmetry::symmetric>(300, 1, false, false);
  if constexpr (!sanitized) {  // either triangle by strips
    for (int const way : {1, 2}) check_strips<std::complex<double>, Symmetry::symmetric>(300, 1, false, false, way);
    for (int const way : {0, 1, 2}) check_strips<double, Symmetry::symmetric>(530, 1, false, false, way);
  }
}

TEST(SymvStrips, SeveralAndRagged) {
  check_strips<float, Symmetry::symmetric>(50, 5, false, false);
  check_strips<double, Symmetry::symmetric>(90, 4, true, false);
  check_strips<std::complex<double>, Symmetry::hermitian>(70, 4, true, false);
}

// In a ragged batch each kernel takes its sizes, and a matrix gets the same bits as alone.
TEST(Symv, KernelsShareARaggedBatch) {
  using T = double;
  constexpr int n = 150, most_in_block = 64, most_in_strips = 120;
  constexpr auto contiguous = SymvColumns::contiguous;
  constexpr auto symmetric = Symmetry::symmetric;
  Problem<T> p(symmetric, Uplo::lower, n, 4, T(2), T(0), n, 0, 1, true);  // sizes 150, 100, 50 and 0
  auto const whole = [&]<int largest>(SymvTask<T> const& task) {
    run_whole<T, symv_whole_plan(symmetric, contiguous, largest)>(task, 3, most_in_block);
  };
  auto const strips = [&](SymvTask<T> const& task) {
    run_strips<T, SymvStrips{.layout = contiguous, .symmetry = symmetric}>(task, 3, most_in_block, most_in_strips);
  };
  auto const runs = [&](SymvTask<T> const& task) {
    run_runs<T, symv_runs_plan(sizeof(T), symmetric, contiguous)>(task, 3, most_in_strips);
  };
  whole.operator()<128>(p.task);
  strips(p.task);
  runs(p.task);
  p.check();
  for (std::int64_t b = 0; b < 3; ++b) {
    SymvTask<T> alone = p.task;
    alone.a.data += b * alone.a.batch_stride;
    alone.x.data += b * alone.x.batch_stride;
    alone.y.data += b * alone.y.batch_stride;
    alone.a.count = alone.x.count = alone.y.count = 1;
    alone.a.rows = alone.a.cols = alone.x.rows = alone.y.rows = p.task.y.rows_of(b);
    alone.a.row_sizes = alone.a.col_sizes = alone.x.row_sizes = alone.y.row_sizes = nullptr;
    auto const together = p.result()[static_cast<std::size_t>(b)];
    for (std::size_t i = 0; i < together.size(); ++i) *p.task.y.at(b, static_cast<std::int64_t>(i), 0) = not_a_number<T>();
    if (b == 0) runs(alone);
    if (b == 1) strips(alone);
    if (b == 2) whole.operator()<64>(alone);
    EXPECT_TRUE(same_bits(p.result()[static_cast<std::size_t>(b)], together)) << b;
  }
}

TEST(SymvRuns, AroundTheEdgesOfTilesSingle) {
  check_runs<float, Symmetry::symmetric>(129);
  for (int const n : {33, 128, 263, 390}) check_runs<float, Symmetry::symmetric>(n, 1, false, false);
}
TEST(SymvRuns, AroundTheEdgesOfTilesDouble) {
  check_runs<double, Symmetry::symmetric>(129);
  for (int const n : {64, 127, 260}) check_runs<double, Symmetry::symmetric>(n, 1, false, false);
}
TEST(SymvRuns, AroundTheEdgesOfTilesComplex) {
  check_runs<std::complex<float>, Symmetry::symmetric>(65, 1, false, false);
  check_runs<std::complex<float>, Symmetry::hermitian>(128);
  for (int const n : {40, 260}) check_runs<std::complex<float>, Symmetry::hermitian>(n, 1, false, false);
}
TEST(SymvRuns, AroundTheEdgesOfTilesDoubleComplex) {
  check_runs<std::complex<double>, Symmetry::symmetric>(130, 1, false, false);
  check_runs<std::complex<double>, Symmetry::hermitian>(129);
  for (int const n : {63, 64}) check_runs<std::complex<double>, Symmetry::hermitian>(n, 1, false, false);
}

TEST(SymvRuns, SeveralMatrices) {
  check_runs<double, Symmetry::symmetric>(130, 3, false, false);
  check_runs<std::complex<double>, Symmetry::hermitian>(70, 3, false, false);
}

TEST(SymvRuns, Ragged) {
  check_runs<float, Symmetry::symmetric>(150, 4, true, false);
  check_runs<double, Symmetry::symmetric>(90, 4, true, false);
  check_runs<std::complex<float>, Symmetry::hermitian>(99, 4, true);
}

// A ragged batch has workspace for its largest matrix.
TEST(SymvShares, WorkspaceOfLargerMatricesSufficesForSmallerOnes) {
  for (bool const lower : {true, false})
    for (int const blocks : {264, 396, 7}) {
      simt::Index most = 0;
      int pieces = 0;
      for (int n = 1; n <= (blocks == 7 ? 5000 : 20000); n += n % 64 < 2 || n % 64 > 62 ? 1 : 30) {
        SymvShares const shares(n, 64, 128, blocks, lower);
        most = std::max(most, shares.column_sums(shares.pieces - 1, shares.panels - 1) + 128);
        pieces = std::max(pieces, shares.pieces);
        ASSERT_LE(most, shares.elements()) << n;
        ASSERT_LE(pieces, shares.pieces) << n;
      }
    }
}

TEST(SymvShares, HugeMatrices) {
  for (auto const& [rows, columns] : {std::pair{64, 128}, {128, 128}, {32, 64}})
    for (bool const lower : {true, false})
      for (int n = 20000; n <= 2'000'000; n += n / 16 + 1) {
        SymvShares const shares(n, rows, columns, 264, lower);
        ASSERT_GT(shares.count, 0) << n;
        ASSERT_EQ(shares.first_tile(shares.pieces), shares.count) << n;
        ASSERT_EQ(shares.piece_of(shares.count - 1), shares.pieces - 1) << n;
        ASSERT_LE(shares.column_sums(shares.pieces - 1, shares.panels - 1) + columns, shares.elements()) << n;
        // The sums are counted like tiles by int.
        ASSERT_LT(shares.elements() / rows, std::numeric_limits<int>::max()) << n;
      }
}

// Like in large matrices, pieces have several tiles and continue from one panel to the next, and sums have more terms than a warp adds at a
// time: here with small tiles and few pieces.
TEST(SymvRuns, PiecesOfSeveralTiles) {
  using T = std::complex<double>;
  constexpr SymvRuns c{
      .warps = 4, .columns = 8, .blocks_per_sm = 1, .pieces = 150, .layout = SymvColumns::contiguous, .symmetry = Symmetry::hermitian};
  constexpr int n = 1090;
  for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
    SymvShares const shares = symv_shares(sizeof(T), c, n, uplo == Uplo::lower);
    ASSERT_GE(shares.first_tile(1), 3);
    ASSERT_GT(shares.panels, 16);
    ASSERT_GT(shares.larger_pieces, 0);
    std::vector<std::vector<T>> results;
    for (int const blocks : {1, 7, 31}) {
      if (sanitized && blocks != 7 && uplo == Uplo::upper) continue;
      Problem<T> p(Symmetry::hermitian, uplo, n, 1, T(1), T(0), n, 0);
      run_runs<T, c>(p.task, blocks);
      p.check();
      results.push_back(p.result().front());
    }
    EXPECT_TRUE(same_bits(results.front(), results.back()));
  }
}

TEST(SymvShares, EveryTileAndEverySumHasItsPlace) {
  for (auto const& [rows, columns] : {std::pair{64, 128}, {128, 128}, {32, 64}})
    for (bool const lower : {true, false})
      for (int const n : {1, 33, 64, 65, 128, 129, 1000, 4096, 32768, 33001}) {
        SymvShares const shares(n, rows, columns, 264, lower);
        int tile = 0, slot = -1;
        SymvPlace place(shares, 0);
        for (int panel = 0; panel < shares.panels; ++panel) {
          ASSERT_EQ(shares.before(panel), tile) << n;
          ASSERT_EQ(shares.panel_of(tile), panel);
          // The tiles cover all rows of the panel's triangle, and none is beyond the matrix.
          int const first = shares.first_row(panel) * rows, end = first + shares.tiles_of(panel) * rows;
          int const last_column = std::min((panel + 1) * columns, n);
          ASSERT_LE(first, lower ? panel * columns : 0);
          ASSERT_GE(end, lower ? n : last_column);
          ASSERT_LT(end - rows, n);
          for (int k = 0; k < shares.tiles_of(panel); ++k, place.go_on(shares)) {
            ASSERT_EQ(place.tile, tile + k);
            ASSERT_EQ(place.panel, panel);
            ASSERT_EQ(place.row, shares.first_row(panel) + k);
          }
          tile += shares.tiles_of(panel);
          ASSERT_EQ(shares.panel_of(tile - 1), panel);
          int const first_piece = shares.piece_of(shares.before(panel)), last_piece = shares.piece_of(tile - 1);
          ASSERT_GT(first_piece + panel, slot);
          slot = last_piece + panel;
        }
        ASSERT_EQ(tile, shares.count);
        ASSERT_LE(shares.column_sums(shares.pieces - 1, shares.panels - 1) + columns, shares.elements());
        for (int piece = 0, next = 0; piece < shares.pieces; ++piece) {
          int const begin = shares.first_tile(piece), end = shares.first_tile(piece + 1);
          ASSERT_EQ(begin, next);
          next = end;
          if (piece + 1 == shares.pieces) {
            ASSERT_EQ(end, shares.count);
          }
          ASSERT_LT(begin, end);
          ASSERT_EQ(shares.piece_of(begin), piece);
          ASSERT_EQ(shares.piece_of(end - 1), piece);
        }
      }
}

TEST(SymvPlan, PiecesAreAsLarge) {
  constexpr SymvRuns c = symv_runs_plan(8, Symmetry::symmetric, SymvColumns::contiguous);
  auto const shares = [&](int n) { return symv_shares(8, c, n, true); };
  EXPECT_EQ(shares(1000).pieces, shares(1000).count);
  for (int const n : {4096, 8192, 12000, 32768}) {
    SymvShares const these = shares(n);
    EXPECT_EQ(these.pieces, 4 * 264);
    for (int piece = 0; piece < these.pieces; ++piece) {
      int const tiles = these.first_tile(piece + 1) - these.first_tile(piece);
      ASSERT_GE(tiles, these.count / (4 * 264)) << n;
      ASSERT_LE(tiles, these.count / (4 * 264) + 1) << n;
    }
  }
  auto const at_a_time = [&](int n) { return symv_matrices_at_a_time(8, shares(n).elements()); };
  EXPECT_EQ(at_a_time(100000), 1);
  EXPECT_GT(at_a_time(3000), 40);
  EXPECT_GT(at_a_time(8192), 75);
  for (int const bytes : {4, 8, 16}) {
    SymvColumns const layout = SymvColumns::contiguous;
    EXPECT_LE(symv_runs_plan(bytes, Symmetry::symmetric, layout).shared_bytes(bytes), 75 * 1024);  // three blocks of 227 KiB
    SymvRuns const m = symv_matrices_plan(bytes, Symmetry::symmetric, layout);
    EXPECT_EQ(m.tile_columns(), symv_columns_of_panel);
    EXPECT_LE(m.shared_bytes_of_matrix(bytes, symv_most_rows_in_strips(bytes)), 99 * 1024);
    EXPECT_LE((SymvStrips{layout, Symmetry::symmetric}.shared_bytes(bytes, symv_most_rows_in_strips(bytes))), 99 * 1024);
  }
}

template <typename T, Symmetry symmetry, int n, Layout layout>
void check_tiny() {
  using D = gpu::DeviceElement<T>;
  constexpr bool interleaved_batch = layout == Layout::interleaved, ragged = simt::is_ragged(layout);
  constexpr SymvTiny c = [] {
    SymvTiny planned = symv_tiny_plan(symmetry, n);
    planned.a = layout;
    planned.x = planned.y = ragged ? Layout::ragged_columns : interleaved_batch ? layout : Layout::columns;
    return planned;
  }();
  constexpr int count = c.matrices + 3;
  Stored<T> a(n, n, count, layout), x(n, 1, count, interleaved_batch ? layout : Layout::columns),
      y(n, 1, count, interleaved_batch ? layout : Layout::columns);
  std::vector<std::int64_t> sizes;
  for (int b = 0; b < count; ++b) sizes.push_back(b % (n + 1));
  if (ragged) a.view.row_sizes = a.view.col_sizes = x.view.row_sizes = y.view.row_sizes = sizes.data();
  for (auto const& [alpha, beta] : {std::pair{T(2), T(0)}, {T(-1), T(0.5)}, {T(0), T(2)}}) {
    fill(a.memory, 1);
    fill(x.memory, 2);
    fill(y.memory, 3);
    auto const before = y.memory;
    std::vector<std::vector<T>> expected;
    for (int b = 0; b < count; ++b) {
      expected.emplace_back();
      int const rows = static_cast<int>(a.view.rows_of(b));
      for (int j = 0; j < rows; ++j)
        for (int i = 0; i < j; ++i) *a.view.at(b, i, j) = not_a_number<T>();
      for (int i = 0; i < rows; ++i) {
        D const sum = simt::symv_row<symmetry, D>(
            rows, i, true, [&](int r, int k) { return std::bit_cast<D>(*a.view.at(b, r, k)); },
            [&](int j) { return std::bit_cast<D>(*x.view.at(b, j, 0)); });
        D value = alpha == T(0) ? simt::from_real<D>(0) : std::bit_cast<D>(alpha) * sum;
        if (beta != T(0)) value = simt::multiply_add(std::bit_cast<D>(beta), std::bit_cast<D>(*y.view.at(b, i, 0)), value);
        expected.back().push_back(std::bit_cast<T>(value));
      }
    }
    if (beta == T(0)) std::fill(y.memory.begin(), y.memory.end(), not_a_number<T>());
    SymvTinyArguments<D> const args{.alpha = std::bit_cast<D>(alpha),
                                    .beta = std::bit_cast<D>(beta),
                                    .a = gpu::matrices_of(Batch<T const>(a.view)),
                                    .x = gpu::matrices_of(Batch<T const>(x.view)),
                                    .y = gpu::matrices_of(y.view)};
    simt::run(2, c.threads(), SymvTinyMemory(sizeof(T), c).bytes, symv_tiny<D, c>, args);
    for (int b = 0; b < count; ++b)
      for (int i = 0; i < y.view.rows_of(b); ++i) {
        T const got = *y.view.at(b, i, 0);
        ASSERT_EQ(std::memcmp(&got, &expected[static_cast<std::size_t>(b)][static_cast<std::size_t>(i)], sizeof(T)), 0)
            << "n " << n << ", matrix " << b << ", row " << i << ": " << got;
      }
  }
}

template <typename T, Symmetry symmetry, int n>
void check_tiny_layouts() {
  check_tiny<T, symmetry, n, Layout::packed_columns>();
  check_tiny<T, symmetry, n, Layout::packed_rows>();
  check_tiny<T, symmetry, n, Layout::columns>();
  check_tiny<T, symmetry, n, Layout::dense_rows>();
  check_tiny<T, symmetry, n, Layout::interleaved>();
  check_tiny<T, symmetry, n, Layout::ragged_columns>();
}

TEST(SymvTiny, EveryLayout) {
  check_tiny_layouts<float, Symmetry::symmetric, 1>();
  check_tiny_layouts<float, Symmetry::symmetric, 8>();
  check_tiny_layouts<float, Symmetry::symmetric, 31>();
  check_tiny_layouts<double, Symmetry::symmetric, 5>();
  check_tiny_layouts<double, Symmetry::symmetric, 32>();
  check_tiny_layouts<std::complex<float>, Symmetry::symmetric, 13>();
  check_tiny_layouts<std::complex<float>, Symmetry::hermitian, 16>();
  check_tiny_layouts<std::complex<double>, Symmetry::hermitian, 7>();
  check_tiny_layouts<std::complex<double>, Symmetry::hermitian, 32>();
}

// Plans fit the shared memory of a block in every layout, also with 99 KiB.
TEST(SymvTiny, FitsABlock) {
  for (int const bytes : {4, 8, 16})
    for (int n = 1; n <= 32; ++n)
      for (Layout const layout : {Layout::packed_columns, Layout::packed_rows, Layout::interleaved}) {
        SymvTiny c = symv_tiny_plan(Symmetry::symmetric, n);
        c.a = c.x = c.y = layout;
        if (layout == Layout::interleaved) c.matrices = std::max({c.matrices, std::min(64 / bytes, 128 / c.lanes), 32 / c.lanes});
        EXPECT_LE(SymvTinyMemory(bytes, c).bytes, 99 * 1024) << n;
        EXPECT_EQ(c.threads() % 32, 0) << n;
      }
}

}  // namespace
}  // namespace myriad
