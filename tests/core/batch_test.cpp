/// The descriptor and its views.

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "myriad/myriad.hpp"

namespace myriad {
namespace {

std::vector<double> numbers(std::int64_t size) {
  std::vector<double> x(static_cast<std::size_t>(size));
  std::iota(x.begin(), x.end(), 0.0);
  return x;
}

TEST(Batch, ColumnMajorWithDefaults) {
  auto memory = numbers(24);
  auto const a = batch(memory.data(), 3, 4, {.count = 2});
  EXPECT_EQ(a.row_stride, 1);
  EXPECT_EQ(a.col_stride, 3);
  EXPECT_EQ(a.batch_stride, 12);
  EXPECT_EQ(*a.at(1, 2, 3), 12 + 2 + 9);
}

TEST(Batch, ColumnMajorPadded) {
  auto memory = numbers(64);
  auto const a = batch(memory.data(), 3, 4, {.ld = 5, .stride = 30, .count = 2});
  EXPECT_EQ(*a.at(1, 2, 3), 30 + 2 + 15);
}

TEST(Batch, RowMajorAndInterleaved) {
  auto memory = numbers(64);
  EXPECT_EQ(*row_major(memory.data(), 3, 4, {.count = 2}).at(1, 2, 3), 12 + 8 + 3);
  EXPECT_EQ(*row_major(memory.data(), 3, 4, {.ld = 6, .stride = 20, .count = 2}).at(1, 2, 3), 20 + 12 + 3);
  EXPECT_EQ(*interleaved(memory.data(), 3, 4, 5).at(2, 1, 3), 2 + 5 + 45);
}

TEST(Batch, Pointers) {
  auto memory = numbers(40);
  double* const pointers[] = {memory.data() + 20, memory.data()};
  EXPECT_EQ(*batch(pointers, 3, 4, {.ld = 4, .count = 2}).at(0, 2, 3), 20 + 2 + 12);
  EXPECT_EQ(*row_major(pointers, 3, 4, {.count = 2}).at(1, 2, 3), 8 + 3);
  EXPECT_EQ(*matrices(batch(pointers, 3, 4, {.count = 2}), 1, 1).at(0, 0, 0), 0);
}

TEST(Views, TransposeSwapsEverything) {
  auto memory = numbers(40);
  std::int64_t const rows[] = {2, 3};
  std::int64_t const cols[] = {4, 1};
  auto a = batch(memory.data(), 3, 4, {.ld = 5, .count = 2});
  a.row_sizes = rows;
  a.col_sizes = cols;
  auto const t = transposed(block(a, 1, 2, 2, 2));
  EXPECT_EQ(t.rows, 2);
  EXPECT_EQ(t.at(1, 1, 0), a.at(1, 1, 3));
  EXPECT_EQ(t.rows_of(0), 2);  // columns 2 and 3 of 4
  EXPECT_EQ(t.cols_of(0), 1);  // row 1 of 2
  EXPECT_EQ(t.rows_of(1), 0);  // there is no column 2
  EXPECT_EQ(transposed(transposed(a)).col_stride, a.col_stride);
}

TEST(Views, ConjugateIsAFlagOfComplexTypes) {
  std::complex<float> z[4];
  float x[4];
  EXPECT_TRUE(conjugated(batch(z, 2, 2)).conjugated);
  EXPECT_FALSE(conjugated(conjugated(batch(z, 2, 2))).conjugated);
  EXPECT_FALSE(conjugated(batch(x, 2, 2)).conjugated);
  EXPECT_TRUE(conjugate_transposed(batch(z, 2, 1)).conjugated);
  EXPECT_EQ(conjugate_transposed(batch(z, 2, 1)).cols, 2);
}

TEST(Views, BlocksOfBlocks) {
  auto memory = numbers(200);
  auto const a = batch(memory.data(), 10, 10, {.count = 2});
  EXPECT_EQ(block(block(a, 1, 2, 8, 8), 3, 1, 2, 2).at(1, 1, 1), a.at(1, 5, 4));
  EXPECT_EQ(rows(a, 4, 3).rows, 3);
  EXPECT_EQ(rows(a, 4, 3).at(0, 0, 9), a.at(0, 4, 9));
  EXPECT_EQ(columns(a, 4, 3).at(0, 9, 0), a.at(0, 9, 4));
  EXPECT_EQ(matrices(a, 1, 1).at(0, 2, 3), a.at(1, 2, 3));
}

TEST(Views, MatricesOfARaggedBatchTakeTheirSizesAlong) {
  auto memory = numbers(100);
  std::int64_t const sizes[] = {1, 2, 3};
  auto a = batch(memory.data(), 3, 3, {.count = 3});
  a.row_sizes = a.col_sizes = sizes;
  EXPECT_EQ(matrices(a, 2, 1).rows_of(0), 3);
}

TEST(Batch, EmptyAndRagged) {
  EXPECT_TRUE(batch(static_cast<double*>(nullptr), 0, 3, {.count = 2}).empty());
  EXPECT_TRUE(batch(static_cast<double*>(nullptr), 3, 3, {.count = 0}).empty());
  double x = 0;
  EXPECT_FALSE(batch(&x, 1, 1).empty());
  EXPECT_FALSE(batch(&x, 1, 1).ragged());
}

}  // namespace
}  // namespace myriad
