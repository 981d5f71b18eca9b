/// The layout that a kernel uses for a batch: which batches allow 16-byte copies, and which do not.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "myriad/batch.hpp"
#include "runtime/views.hpp"

namespace myriad {
namespace {

using gpu::by_elements;
using simt::Layout;

constexpr int m = 6, n = 4, count = 3;
alignas(16) std::array<double, 400> memory;
double* const aligned = memory.data();

Layout layout_of(Batch<double> const& batch) { return gpu::layout_of(gpu::matrices_of(batch)); }

TEST(Layouts, NothingBetweenElements) {
  EXPECT_EQ(layout_of(batch(aligned, m, n, {.count = count})), Layout::packed_columns);
  EXPECT_EQ(layout_of(row_major(aligned, m, n, {.count = count})), Layout::packed_rows);
  EXPECT_EQ(layout_of(transposed(batch(aligned, m, n, {.count = count}))), Layout::packed_rows);
}
TEST(Layouts, NothingWithinAMatrix) {
  EXPECT_EQ(layout_of(batch(aligned + 1, m, n, {.count = count})), Layout::dense_columns) << "not at a multiple of 16 bytes";
  EXPECT_EQ(layout_of(batch(aligned, m, n, {.stride = m * n + 1, .count = count})), Layout::dense_columns);
  EXPECT_EQ(layout_of(row_major(aligned, m, n, {.stride = m * n + 1, .count = count})), Layout::dense_rows);
  EXPECT_EQ(layout_of(batch(aligned, m, 1, {.ld = m + 1, .stride = m + 1, .count = count})), Layout::dense_columns) << "one column";
  std::array<double*, count> const pointers{aligned, aligned + 30, aligned + 61};
  EXPECT_EQ(layout_of(batch(pointers.data(), m, n, {.count = count})), Layout::dense_columns);
}
TEST(Layouts, GapsWithinAMatrix) {
  EXPECT_EQ(layout_of(batch(aligned, m, n, {.ld = m + 2, .count = count})), Layout::columns);
  EXPECT_EQ(layout_of(row_major(aligned, m, n, {.ld = n + 2, .count = count})), Layout::rows);
  EXPECT_EQ(layout_of(interleaved(aligned, m, n, count)), Layout::interleaved);
}
TEST(Layouts, SizesAndStridesOfEachMatrix) {
  std::array<std::int64_t, count> const sizes{m, 1, 2}, strides{1, 2, 1};
  Batch<double> a = batch(aligned, m, 1, {.stride = 2 * m, .count = count});
  a.row_sizes = sizes.data();
  EXPECT_EQ(layout_of(a), Layout::ragged_columns);
  a.row_sizes = nullptr;
  a.row_strides = strides.data();
  EXPECT_EQ(layout_of(a), Layout::ragged_columns);
}
TEST(Layouts, PartsMoveByElements) {
  EXPECT_EQ(by_elements(Layout::packed_columns), Layout::columns);
  EXPECT_EQ(by_elements(Layout::dense_columns), Layout::columns);
  EXPECT_EQ(by_elements(Layout::packed_rows), Layout::rows);
  EXPECT_EQ(by_elements(Layout::dense_rows), Layout::rows);
  for (Layout const other : {Layout::columns, Layout::rows, Layout::interleaved, Layout::ragged_columns, Layout::ragged_rows})
    EXPECT_EQ(by_elements(other), other);
}

}  // namespace
}  // namespace myriad
