/// The kernel that makes a batch of groups, on the host twin.

#include "gemm/ragged/gemm_groups.cuh"

#include <gtest/gtest.h>

#include <vector>

namespace myriad {
namespace {

template <int at_most>
void expect_every_matrix_once(std::vector<int> const& numbers_of_groups) {
  std::vector<double> memory(100000);
  std::vector<double*> addresses;
  for (std::size_t i = 0; i < 1000; ++i) addresses.push_back(&memory[(i * 7919) % memory.size()]);
  auto const* const base = reinterpret_cast<char const*>(memory.data());
  for (int const groups : numbers_of_groups) {
    SCOPED_TRACE(groups);
    GemmGroupsArguments<at_most> args{};
    constexpr simt::Index first = 5;  // an earlier launch made the matrices before
    args.groups = groups;
    args.end = first;
    for (int g = 0; g < groups; ++g) {
      args.group[g] = {.a = {base + 16 * g, 8 * (g + 1), 100 + g},
                       .b = {reinterpret_cast<char const*>(addresses.data() + g), 24, 200 + g},
                       .c = {base + 8, 0, 300 + g},
                       .first = args.end,
                       .m = g + 1,
                       .n = g + 2,
                       .k = g + 3,
                       .behind_pointers = 2};
      if (g % 3 == 0) args.group[g].c = {reinterpret_cast<char const*>(addresses.data()), -8, 400}, args.group[g].behind_pointers = 6;
      args.end += 1 + g % 5 * g % 7;
    }
    auto const count = static_cast<std::size_t>(args.end);
    std::vector<char const*> a(count), b(count);
    std::vector<char*> c(count);
    std::vector<std::vector<simt::Index>> numbers(6, std::vector<simt::Index>(count, -1));
    args.a = a.data(), args.b = b.data(), args.c = c.data();
    args.m = numbers[0].data(), args.n = numbers[1].data(), args.k = numbers[2].data();
    args.lines_of_a = numbers[3].data(), args.lines_of_b = numbers[4].data(), args.lines_of_c = numbers[5].data();
    simt::run(2, 32, 0, gemm_groups<32, at_most>, args);
    for (std::size_t at = 0; at < first; ++at) EXPECT_EQ(numbers[0][at], -1);
    int g = 0;
    for (simt::Index at = first; at < args.end; ++at) {
      while (g + 1 < groups && args.group[g + 1].first <= at) ++g;
      auto const q = static_cast<std::size_t>(at);
      auto const of_group = static_cast<std::size_t>(at - args.group[g].first);
      EXPECT_EQ(a[q], base + 16 * g + 8 * (g + 1) * static_cast<std::ptrdiff_t>(of_group));
      EXPECT_EQ(b[q], reinterpret_cast<char const*>(addresses[static_cast<std::size_t>(g) + of_group]) + 24);
      EXPECT_EQ(c[q], g % 3 == 0 ? reinterpret_cast<char const*>(addresses[of_group]) - 8 : base + 8);
      simt::Index const expected[] = {g + 1, g + 2, g + 3, 100 + g, 200 + g, g % 3 == 0 ? 400 : 300 + g};
      for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(numbers[i][q], expected[i]) << i;
    }
  }
}

TEST(GemmGroups, EveryMatrixOnce) { expect_every_matrix_once<gemm_groups_of_launch>({1, 2, 31, 33, gemm_groups_of_launch}); }
TEST(GemmGroups, EveryMatrixOnceOfALargeLaunch) {
  expect_every_matrix_once<gemm_groups_of_large_launch>({41, 255, 256, 257, gemm_groups_of_large_launch});
}

}  // namespace
}  // namespace myriad
