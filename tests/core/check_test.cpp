/// The argument checks: which strides and overlaps are refused, and which are not.

#include "core/check.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace myriad {
namespace {

std::vector<double> memory(1000);

bool accepted(Batch<double> const& a, Access access) {
  try {
    Check("test").matrix(a, {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, access);
    return true;
  } catch (BadArgument const&) {
    return false;
  }
}
bool overlap_found(Batch<double> const& a, Batch<double> const& b) {
  try {
    Check("test").disjoint(a, b, {3, "a"}, "b");
    return false;
  } catch (BadArgument const&) {
    return true;
  }
}

TEST(Check, StridesThatKeepElementsApart) {
  EXPECT_TRUE(accepted(batch(memory.data(), 3, 4, {.count = 2}), Access::write));
  EXPECT_TRUE(accepted(row_major(memory.data(), 3, 4, {.count = 2}), Access::write));
  EXPECT_TRUE(accepted(interleaved(memory.data(), 3, 4, 7), Access::write));
  Batch<double> woven{.data = memory.data(), .rows = 3, .cols = 4, .row_stride = 1, .col_stride = 15, .batch_stride = 3, .count = 5};
  EXPECT_TRUE(accepted(woven, Access::write));
  woven.col_stride = 14;
  EXPECT_FALSE(accepted(woven, Access::write));
}

TEST(Check, ZeroStridesAreForReadingOnly) {
  Batch<double> one{.data = memory.data(), .rows = 3, .cols = 4, .row_stride = 1, .col_stride = 3, .batch_stride = 0, .count = 5};
  EXPECT_TRUE(accepted(one, Access::read));
  EXPECT_FALSE(accepted(one, Access::write));
  Batch<double> row{.data = memory.data(), .rows = 3, .cols = 4, .row_stride = 0, .col_stride = 1, .batch_stride = 4, .count = 5};
  EXPECT_TRUE(accepted(row, Access::read));
  EXPECT_FALSE(accepted(row, Access::write));
  one.count = 1;
  EXPECT_TRUE(accepted(one, Access::write));
}

TEST(Check, NegativeSizesAndStrides) {
  Batch<double> a = batch(memory.data(), 3, 4, {.count = 2});
  a.row_stride = -1;
  EXPECT_FALSE(accepted(a, Access::read));
  a = batch(memory.data(), 3, 4, {.count = 2});
  a.count = -1;
  EXPECT_FALSE(accepted(a, Access::read));
  a = batch(memory.data(), 3, 4, {.count = 2});
  a.row_offset = -1;
  EXPECT_FALSE(accepted(a, Access::read));
}

TEST(Check, PartsOfOneMemoryThatDoNotMeet) {
  auto const whole = batch(memory.data(), 8, 8, {.count = 4});
  EXPECT_FALSE(overlap_found(block(whole, 0, 0, 4, 8), block(whole, 4, 0, 4, 8)));
  EXPECT_FALSE(overlap_found(columns(whole, 0, 3), columns(whole, 3, 5)));
  EXPECT_TRUE(overlap_found(columns(whole, 0, 4), columns(whole, 3, 5)));
  EXPECT_FALSE(overlap_found(block(whole, 0, 0, 4, 4), block(whole, 4, 4, 4, 4)));
  EXPECT_TRUE(overlap_found(block(whole, 0, 0, 5, 5), block(whole, 4, 4, 4, 4)));
  EXPECT_FALSE(overlap_found(matrices(whole, 0, 2), matrices(whole, 2, 2)));
  auto const compact = interleaved(memory.data(), 4, 4, 9);
  EXPECT_FALSE(overlap_found(columns(compact, 0, 2), columns(compact, 2, 2)));
  EXPECT_FALSE(overlap_found(matrices(compact, 0, 4), matrices(compact, 4, 5)));
  EXPECT_TRUE(overlap_found(matrices(compact, 0, 5), matrices(compact, 4, 5)));
}

TEST(Check, RecordsOfOneMatrixEach) {
  // A and B of one system side by side
  auto const a = batch(memory.data(), 3, 3, {.stride = 12, .count = 10});
  auto const b = batch(memory.data() + 9, 3, 1, {.stride = 12, .count = 10});
  EXPECT_FALSE(overlap_found(a, b));
  EXPECT_FALSE(overlap_found(b, a));
  EXPECT_TRUE(overlap_found(a, batch(memory.data() + 8, 3, 1, {.stride = 12, .count = 10})));
  EXPECT_TRUE(overlap_found(batch(memory.data() + 10, 3, 1, {.stride = 12, .count = 10}), a));
}

/// All addresses of a batch.
std::set<double const*> addresses(Batch<double> const& a) {
  std::set<double const*> all;
  for (std::int64_t b = 0; b < a.count; ++b)
    for (std::int64_t j = 0; j < a.cols; ++j)
      for (std::int64_t i = 0; i < a.rows; ++i) all.insert(a.at(b, i, j));
  return all;
}

TEST(Check, OverlapOfRandomBlocksOfOneBatchIsExact) {
  std::mt19937 random(5);
  auto const below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(limit)); };
  for (int turn = 0; turn < 5000; ++turn) {
    Batch<double> whole = turn % 3 == 0   ? interleaved(memory.data(), 6, 6, 6)
                          : turn % 3 == 1 ? row_major(memory.data(), 6, 6, {.ld = 7, .count = 6})
                                          : batch(memory.data(), 6, 6, {.ld = 8, .stride = 50, .count = 6});
    auto const part = [&] {
      std::int64_t const i = below(5), j = below(5), b = below(5);
      return matrices(block(whole, i, j, 1 + below(6 - i), 1 + below(6 - j)), b, 1 + below(6 - b));
    };
    auto const x = part();
    auto const y = part();
    auto const of_x = addresses(x);
    bool meet = false;
    for (auto const* address : addresses(y)) meet = meet || of_x.count(address) > 0;
    ASSERT_EQ(overlap_found(x, y), meet) << "turn " << turn;
  }
}

TEST(Check, SameMatricesAreFineInPlace) {
  auto const a = batch(memory.data(), 4, 4, {.count = 3});
  EXPECT_NO_THROW(Check("test").disjoint_or_same(a, a, {3, "x"}, "a"));
  EXPECT_THROW(Check("test").disjoint_or_same(a, transposed(a), {3, "x"}, "a"), BadArgument);
}

TEST(Check, MessagesNameRoutineArgumentAndProblem) {
  try {
    Check("getrf").matrix(batch(memory.data(), 4, 4, {.ld = 3}), {1, "m"}, {2, "n"}, {3, "a"}, {4, "lda"}, Access::write);
    FAIL();
  } catch (BadArgument const& error) {
    EXPECT_EQ(error.position(), 4);
    EXPECT_NE(std::string(error.what()).find("getrf: argument 4 (lda)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace myriad
