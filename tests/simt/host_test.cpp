/// The host twin itself: shuffles, votes, copies, and errors that it detects.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "myriad/half.hpp"
#include "simt/boxes.hpp"
#include "simt/types.hpp"

namespace myriad::simt {
namespace {

struct Output {
  int* values;
};

TEST(SimtHost, ShufflesAndVotes) {
  std::vector<int> values(96 * 3);
  run(
      1, 96, 0,
      +[](Output out) {
        int const t = thread_index();
        out.values[3 * t] = shuffle_xor(t, 5);
        out.values[3 * t + 1] = static_cast<int>(shuffle(static_cast<double>(t), 7));
        out.values[3 * t + 2] = static_cast<int>(ballot(lane_index() >= 9));
      },
      Output{values.data()});
  for (int t = 0; t < 96; ++t) {
    EXPECT_EQ(values[static_cast<std::size_t>(3 * t)], t ^ 5);
    EXPECT_EQ(values[static_cast<std::size_t>(3 * t + 1)], t / 32 * 32 + 7);
    EXPECT_EQ(values[static_cast<std::size_t>(3 * t + 2)], -512);
  }
}

TEST(SimtHost, BlocksAndThreadsAreNumbered) {
  std::vector<int> values(5 * 40);
  run(
      5, 40, 0, +[](Output out) { out.values[block_index() * 40 + thread_index()] = static_cast<int>(block_count()) + thread_index(); },
      Output{values.data()});
  for (int i = 0; i < 200; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], 5 + i % 40);
}

TEST(SimtHost, BlocksOfAClusterReachEachOthersSharedMemory) {
  std::vector<int> values(6 * 40);
  run(
      6, 40, 40 * 4,
      +[](Output out) {
        int* const mine = reinterpret_cast<int*>(shared_memory()) + thread_index();
        *in_block_of_cluster(mine, (block_in_cluster() + 1) % cluster_blocks()) = static_cast<int>(block_index());
        sync_cluster();
        out.values[block_index() * 40 + thread_index()] = *mine;
      },
      Output{values.data()}, false, 3);
  for (int i = 0; i < 240; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i / 120 * 3 + (i / 40 + 2) % 3);
  auto const nothing = +[](Output) {};
  EXPECT_THROW(run(4, 32, 0, nothing, Output{}, false, 3), std::logic_error);
  EXPECT_THROW(run(
                   2, 32, 4, +[](Output) { in_block_of_cluster(shared_memory(), 2); }, Output{}, false, 2),
               std::logic_error);
}

template <typename Narrow, typename Reference>
void check_conversions() {
  auto const same = [](auto x, auto y) {
    return std::bit_cast<unsigned>(x) == std::bit_cast<unsigned>(y) || (std::isnan(x) && std::isnan(y));
  };
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    auto const narrow = std::bit_cast<Narrow>(static_cast<unsigned short>(bits));
    float const x(narrow), expected(Reference::from_bits(static_cast<std::uint16_t>(bits)));
    ASSERT_TRUE(same(x, expected)) << bits;
    // A number, its float neighbours, and the midpoint to the next one
    for (float const y : {x, std::nextafter(x, 1e38F), std::nextafter(x, -1e38F), x * (1 + 0x1p-11F), x * (1 + 0x1p-8F), x + 0x1p-25F}) {
      float const got(Narrow{y}), wanted(Reference{y});
      ASSERT_TRUE(same(got, wanted)) << bits << " " << y;
    }
  }
}
TEST(SimtHost, ConvertsNumbersOf16Bits) {
  check_conversions<Half, half>();
  check_conversions<Bfloat16, bfloat16>();
}

struct Copies {
  float const* from;
  float* before;
  float* after;
};

TEST(SimtHost, CopiesArriveWhenTheyAreWaitedFor) {
  std::vector<float> from(4, 3.0F), before(4), after(4);
  run(
      1, 1, 16,
      +[](Copies c) {
        auto* const shared = reinterpret_cast<float*>(shared_memory());
        shared[1] = 1;
        copy_async_16(shared, c.from);
        c.before[1] = shared[1];
        wait_copies();
        c.after[1] = shared[1];
      },
      Copies{from.data(), before.data(), after.data()});
  EXPECT_TRUE(std::isnan(before[1]));  // old contents may be gone as soon as the copy begins
  EXPECT_EQ(after[1], 3.0F);
}

struct Bulk {
  float const* from;
  float* to;
  float* before;
  int silent = -1;  ///< the thread that omits the fence after its writes
};
/// A producer warp loads 8 parts of 32 numbers through two stages; a consumer warp doubles and stores them.
void double_by_ring(Bulk c) {
  constexpr int parts = 8, numbers = 32, bytes = numbers * 4;
  auto* const ring = reinterpret_cast<float*>(shared_memory());
  auto* const full = reinterpret_cast<Mbarrier*>(shared_memory() + 4 * bytes);
  Mbarrier* const empty = full + 2;
  if (thread_index() < 2) {
    begin_mbarrier(full + thread_index(), 1);
    begin_mbarrier(empty + thread_index(), warp_size);
  }
  sync_block();
  if (thread_index() == warp_size) {
    for (int p = 0; p < parts; ++p) {
      wait_for_phase(empty + p % 2, p / 2 - 1);
      arrive_and_expect(full + p % 2, bytes);
      copy_bulk(ring + p % 2 * numbers, c.from + p * numbers, bytes / 2, full + p % 2);
      copy_bulk(ring + p % 2 * numbers + numbers / 2, c.from + p * numbers + numbers / 2, bytes / 2, full + p % 2);
      if (c.before) c.before[p] = ring[p % 2 * numbers];
    }
  } else if (thread_index() < warp_size) {
    float* const out = ring + 2 * numbers;
    for (int p = 0; p < parts; ++p) {
      wait_for_phase(full + p % 2, p / 2);
      float const x = ring[p % 2 * numbers + thread_index()];
      arrive_at_mbarrier(empty + p % 2);
      if (thread_index() == 0) wait_bulk_stores<1>();
      sync_warp();
      out[p % 2 * numbers + thread_index()] = 2 * x;
      if (thread_index() != c.silent) show_to_products();
      sync_warp();
      if (thread_index() == 0) {
        store_bulk(c.to + p * numbers, out + p % 2 * numbers, bytes);
        end_bulk_group();
      }
    }
    if (thread_index() == 0) wait_bulk_stores<0>();
  }
}
struct alignas(16) Numbers {
  std::array<float, 256> x;
};
TEST(SimtHost, BulkCopiesArriveWithTheirPhase) {
  auto const from = std::make_unique<Numbers>(), to = std::make_unique<Numbers>();
  for (std::size_t i = 0; i < 256; ++i) from->x[i] = static_cast<float>(i);
  std::vector<float> before(8);
#if defined(__SANITIZE_THREAD__)
  bool const looks_before = false;  // which the thread sanitizer reports as a race
#else
  bool const looks_before = true;
#endif
  run(1, 2 * warp_size, 4 * 128 + 32, double_by_ring, Bulk{from->x.data(), to->x.data(), looks_before ? before.data() : nullptr});
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(to->x[i], 2 * static_cast<float>(i));
  EXPECT_TRUE(!looks_before || std::isnan(before[0]));
}
/// Like double_by_ring with two parts in one buffer: a warp doubles, and the copying thread stores when all have arrived.
void double_by_phases(Bulk c) {
  constexpr int parts = 2, numbers = 32, bytes = numbers * 4;
  auto* const part = reinterpret_cast<float*>(shared_memory());
  auto* const full = reinterpret_cast<Mbarrier*>(shared_memory() + bytes);
  Mbarrier* const done = full + 1;
  if (thread_index() == 0) begin_mbarrier(full, 1);
  if (thread_index() == 0) begin_mbarrier(done, 1);
  sync_block();
  for (int p = 0; p < parts; ++p) {
    if (thread_index() == warp_size) {
      arrive_and_expect(full, bytes);
      copy_bulk(part, c.from + p * numbers, bytes, full);
      wait_for_phase(done, p);
      store_bulk(c.to + p * numbers, part, bytes);
      end_bulk_group();
      wait_bulk_stores<0>();
    } else if (thread_index() < warp_size) {
      wait_for_phase(full, p);
      part[thread_index()] *= 2;
      if (p == 0 || thread_index() != c.silent) show_to_products();
      sync_warp();
      if (thread_index() == 0) arrive_at_mbarrier(done);
    }
  }
}
TEST(SimtHost, BulkStoresOfWhatIsNotShownAreAnError) {
  auto const from = std::make_unique<Numbers>(), to = std::make_unique<Numbers>();
  from->x.fill(3);
  for (int const silent : {0, 5, 31}) {
    EXPECT_THROW(run(1, 2 * warp_size, 4 * 128 + 32, double_by_ring, Bulk{from->x.data(), to->x.data(), nullptr, silent}),
                 std::logic_error);
    EXPECT_THROW(run(1, 2 * warp_size, 128 + 16, double_by_phases, Bulk{from->x.data(), to->x.data(), nullptr, silent}), std::logic_error);
  }
  run(1, 2 * warp_size, 128 + 16, double_by_phases, Bulk{from->x.data(), to->x.data(), nullptr});
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(to->x[i], 6);
}
struct Boxes {
  TensorMap from, to;
  Half* before;
  bool waits, shows = true;
};
/// Loads and stores a TMA box of 64 columns and 8 rows; the matrix ends within it.
void move_box(Boxes c) {
  auto* const barrier = reinterpret_cast<Mbarrier*>(shared_memory() + 1024);
  begin_mbarrier(barrier, 1);
  arrive_and_expect(barrier, 1024);
  copy_box(shared_memory(), c.from, 8, 2, 1, barrier);
  *c.before = reinterpret_cast<Half*>(shared_memory())[0];
  if (!c.waits) return;
  wait_for_phase(barrier, 0);
  // Row 3 of the box is row 5 of the matrix; its chunk 1 is swizzled to place 1 ^ 3.
  c.before[1] = reinterpret_cast<Half*>(shared_memory() + 3 * 128 + 2 * 16)[0];
  c.before[2] = reinterpret_cast<Half*>(shared_memory() + 3 * 128 + 2 * 16)[4];  // beyond the last column
  c.before[3] = reinterpret_cast<Half*>(shared_memory() + 4 * 128)[0];           // beyond the last row
  if (c.shows) show_to_products();
  store_box(c.to, 8, 2, 1, shared_memory());
  end_bulk_group();
  wait_bulk_stores<0>();
}
TEST(SimtHost, BoxesAreExchangedAndEndWithTheMatrix) {
  constexpr int rows = 6, columns = 20, stride = 24, of_matrix = rows * stride;
  struct alignas(16) Memory {
    Half x[2 * of_matrix];
  };
  auto const from = std::make_unique<Memory>(), to = std::make_unique<Memory>();
  for (int e = 0; e < 2 * of_matrix; ++e) from->x[e] = Half(static_cast<float>(e)), to->x[e] = Half(-1.0F);
  auto const map = [](Half* data, int length) {
    return host::tensor_map({.data = data,
                             .element_bytes = 2,
                             .length = length,
                             .lines = rows,
                             .matrices = 2,
                             .line_further = 2 * stride,
                             .matrix_further = 2 * of_matrix,
                             .lines_of_box = 8});
  };
  Half before[4];
  Boxes boxes{map(from->x, columns), map(to->x, stride), before, true};
  run(1, 1, 1024 + 8, move_box, boxes);
  EXPECT_TRUE(std::isnan(float(before[0])));
  EXPECT_EQ(float(before[1]), float(of_matrix + 5 * stride + 16));
  EXPECT_EQ(float(before[2]), 0);
  EXPECT_EQ(float(before[3]), 0);
  for (int q = 0; q < 2; ++q)
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < stride; ++j) {
        int const e = q * of_matrix + i * stride + j;
        EXPECT_EQ(float(to->x[e]), q == 0 || i < 2 || j < 8 ? -1.0F : j < columns ? float(e) : 0) << q << "," << i << "," << j;
      }
  EXPECT_THROW(run(2, 1, 1024 + 8, move_box, boxes), std::logic_error);  // both blocks store to the same place
  Boxes const ends_anywhere{map(from->x, columns), map(to->x, columns), before, true};
  EXPECT_THROW(run(1, 1, 1024 + 8, move_box, ends_anywhere), std::logic_error);
  boxes.shows = false;
  EXPECT_THROW(run(1, 1, 1024 + 8, move_box, boxes), std::logic_error);
  boxes.shows = true, boxes.waits = false;
  EXPECT_THROW(run(1, 1, 1024 + 8, move_box, boxes), std::logic_error);
  EXPECT_THROW(map(from->x + 1, columns), std::logic_error);
}
TEST(SimtHost, RefusesWrongUseOfMbarriers) {
  alignas(16) static float numbers[8] = {};
  auto const refuses = [](void (*kernel)(Bulk)) { EXPECT_THROW(run(1, 1, 64, kernel, Bulk{numbers, numbers, nullptr}), std::logic_error); };
  static constexpr auto barrier = [] { return reinterpret_cast<Mbarrier*>(shared_memory() + 32); };
  refuses(+[](Bulk) { arrive_at_mbarrier(barrier()); });
  refuses(+[](Bulk) {
    begin_mbarrier(barrier(), 1);
    wait_for_phase(barrier(), 0);
  });
  refuses(+[](Bulk) {
    begin_mbarrier(barrier(), 1);
    wait_for_phase(barrier(), 1);
  });
  refuses(+[](Bulk c) {
    begin_mbarrier(barrier(), 1);
    copy_bulk(shared_memory(), c.from + 1, 16, barrier());
  });
  refuses(+[](Bulk c) {
    begin_mbarrier(barrier(), 1);
    copy_bulk(shared_memory(), c.from, 8, barrier());
  });
  refuses(+[](Bulk c) {  // more bytes arrive than expected
    begin_mbarrier(barrier(), 1);
    copy_bulk(shared_memory(), c.from, 32, barrier());
    arrive_and_expect(barrier(), 16);
  });
  refuses(+[](Bulk c) {  // the fence precedes a phase, but a write after it and before a barrier has none
    begin_mbarrier(barrier(), 1);
    show_to_products();
    arrive_at_mbarrier(barrier());
    wait_for_phase(barrier(), 0);
    sync_block();
    store_bulk(c.to, shared_memory(), 16);
    end_bulk_group();
    wait_bulk_stores<0>();
  });
  refuses(+[](Bulk c) {
    show_to_products();
    store_bulk(c.to, shared_memory(), 16);
  });
  refuses(+[](Bulk c) {
    show_to_products();
    store_bulk(c.to, shared_memory(), 16);
    end_bulk_group();
  });
}

TEST(SimtHost, CopiesArriveGroupByGroup) {
  std::vector<float> from(4, 3.0F), before(4), after(4);
  run(
      1, 1, 16,
      +[](Copies c) {
        auto* const shared = reinterpret_cast<float*>(shared_memory());
        for (int i = 0; i < 4; ++i) shared[i] = 1;
        copy_async(shared, c.from);
        copy_async(shared + 1, c.from + 1);
        end_copy_group();
        copy_async(shared + 2, c.from + 2);
        end_copy_group();
        copy_async(shared + 3, c.from + 3);
        wait_copy_groups<1>();
        for (int i = 0; i < 4; ++i) c.before[i] = shared[i];
        wait_copy_groups<0>();
        for (int i = 0; i < 4; ++i) c.after[i] = shared[i];
        wait_copies();
      },
      Copies{from.data(), before.data(), after.data()});
  EXPECT_EQ(before[0], 3);
  EXPECT_EQ(before[1], 3);
  EXPECT_TRUE(std::isnan(before[2]) && std::isnan(before[3]));
  EXPECT_EQ(after[2], 3);
  EXPECT_TRUE(std::isnan(after[3]));
}

TEST(SimtHost, ACopyThatIsNotAlignedIsAnError) {
  alignas(16) float const from[8] = {};
  EXPECT_THROW(run(
                   1, 1, 16,
                   +[](Copies c) {
                     copy_async_16(shared_memory(), c.from + 1);
                     wait_copies();
                   },
                   Copies{from, nullptr, nullptr}),
               std::logic_error);
}

TEST(SimtHost, AnEndBeforeACopyHasArrivedIsAnError) {
  alignas(16) float const from[4] = {};
  EXPECT_THROW(run(
                   1, 1, 16, +[](Copies c) { copy_async_16(shared_memory(), c.from); }, Copies{from, nullptr, nullptr}),
               std::logic_error);
}

/// A warpgroup's product: 16 terms of 64 lines of A and of 32 lines of B, stored term by term in rows of 128 bytes.
struct WarpgroupProduct {
  float* sums;  ///< 64 by 32
  bool begins, ends, changes_operand;
};
void multiply_by_warpgroup(WarpgroupProduct product) {
  // Element (line, term) is line + 64 term in A, and line - term in B.
  auto* const a = reinterpret_cast<Half*>(shared_memory());
  Half* const b = a + 64 * 16;
  auto const place = [](int line, int term) { return term * 64 + (line / 8 ^ term % 8) * 8 + line % 8; };
  for (int e = thread_index(); e < 64 * 16; e += 128) {
    a[place(e % 64, e / 64)] = Half(static_cast<float>(e));
    b[place(e % 64, e / 64)] = Half(static_cast<float>(e % 64 - e / 64));
  }
  show_to_products();
  sync_block();
  float sum[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  if (product.begins) begin_products();
  start_product<Half, true, true, 32>(sum, product_operand(a, 128, 1024, 0), product_operand(b, 128, 1024, 0));
  if (product.ends) end_product_group();
  if (!std::isnan(sum[3])) throw std::runtime_error("a sum is there before it is waited for");
  if (product.changes_operand && thread_index() == 5) b[place(3, 2)] = Half(0.0F);  // an operand of the product under way
  wait_products(sum);
  for (int i = 0; i < 16; ++i) {
    int const row = thread_index() / 32 * 16 + lane_index() / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane_index() % 4 * 2 + i % 2;
    product.sums[row * 32 + column] = sum[i];
  }
}
TEST(SimtHost, WarpgroupsMultiplyWhatIsInSharedMemory) {
  std::vector<float> sums(64 * 32);
  auto const run_with = [&](bool begins, bool ends, bool changes_operand) {
    run(1, 128, 2 * 64 * 16 * 2, multiply_by_warpgroup, WarpgroupProduct{sums.data(), begins, ends, changes_operand});
  };
  run_with(true, true, false);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 32; ++j) {
      int sum = 1;
      for (int k = 0; k < 16; ++k) sum += (i + 64 * k) * (j - k);
      ASSERT_EQ(sums[static_cast<std::size_t>(i * 32 + j)], static_cast<float>(sum)) << i << "," << j;
    }
  EXPECT_THROW(run_with(false, true, false), std::logic_error);
  EXPECT_THROW(run_with(true, false, false), std::logic_error);
  EXPECT_THROW(run_with(true, true, true), std::logic_error);
}
TEST(SimtHost, CopiesThatProductsHaveNotBeenShownAreAnError) {
  alignas(16) float const from[4] = {};
  EXPECT_THROW(run(
                   1, 128, 4096,
                   +[](Copies c) {
                     copy_async_16(shared_memory() + 16 * thread_index(), c.from);
                     wait_copies();
                     sync_block();
                     float sum[16] = {};
                     begin_products();
                     ProductOperand const operand = product_operand(shared_memory(), 128, 1024, 0);
                     start_product<Half, true, true, 32>(sum, operand, operand);
                     end_product_group();
                     wait_products(sum);
                   },
                   Copies{from, nullptr, nullptr}),
               std::logic_error);
}
TEST(SimtHost, ThreadsThatWaitForNobodyAreAnError) {
  EXPECT_THROW(run(
                   1, 8, 0,
                   +[](Output) {
                     if (thread_index() != 3) sync_block();
                   },
                   Output{nullptr}),
               std::logic_error);
}

/// Data that blocks exchange, with memory for two rounds; and the block that sends nothing in the last step.
struct Handed {
  double* pairs;  ///< a pair for each of two rounds and every block
  double* sums;   ///< of every block
  int silent;
};

/// Each block sends a pair in every step, and adds up those of all blocks.
void hand_over(Handed handed) {
  int const blocks = static_cast<int>(block_count()), here = static_cast<int>(block_index());
  double sum = 0;
  for (int step = 0; step < 5; ++step) {
    double* const now = handed.pairs + step % 2 * 2 * blocks;
    unsigned const round = static_cast<unsigned>(step / 2 + 1) % 2;
    if (thread_index() == 0 && !(step == 4 && here == handed.silent)) send_pair(now + 2 * here, step + 1, -here, round);
    for (int b = 0; b < blocks; b += 2) {
      double const* const from[2] = {now + 2 * b, now + 2 * b + 2};
      double pairs[2][2];
      int const wanted = smaller(blocks - b, 2);
      receive_pairs(pairs, from, wanted, round);
      for (int p = 0; p < wanted; ++p) sum += 100 * pairs[p][0] + pairs[p][1];
    }
    sync_block();
  }
  if (thread_index() == 0) handed.sums[here] = sum;
}

TEST(SimtHost, PairsReachOtherBlocks) {
  alignas(16) double pairs[12] = {};
  std::vector<double> sums(3);
  run(3, 32, 0, hand_over, Handed{pairs, sums.data(), -1}, true);
  for (double const sum : sums) EXPECT_EQ(sum, 3 * 100 * (1 + 2 + 3 + 4 + 5) - 5 * (0 + 1 + 2));
}
TEST(SimtHost, APairThatNobodySendsIsAnError) {
  alignas(16) double pairs[12] = {};
  std::vector<double> sums(3);
  EXPECT_THROW(run(3, 32, 0, hand_over, Handed{pairs, sums.data(), 1}, true), std::logic_error);
}
TEST(SimtHost, PairsBetweenBlocksThatDoNotRunTogetherAreAnError) {
  alignas(16) double pairs[12] = {};
  std::vector<double> sums(3);
  EXPECT_THROW(run(3, 32, 0, hand_over, Handed{pairs, sums.data(), -1}), std::logic_error);
}

/// Groups of two blocks, each with its own barrier.
struct Group {
  int* numbers;  ///< of every block
  unsigned* counts;
  unsigned blocks;  ///< number of blocks passed to the barrier
  int times;
};
void meet_in_groups(Group const group) {
  int const here = static_cast<int>(block_index()), other = here ^ 1;
  if (thread_index() == 0) group.numbers[here] = here + 1;
  for (int k = 0; k < group.times; ++k) sync_blocks(group.counts + here / 2, group.blocks);
  int const seen = group.numbers[other];
  sync_block();
  if (thread_index() == 0) group.numbers[block_count() + here] = seen;
}
TEST(SimtHost, GroupsOfBlocksMeet) {
  std::vector<int> numbers(12);
  std::vector<unsigned> counts(3);
  run(6, 64, 0, meet_in_groups, Group{numbers.data(), counts.data(), 2, 1}, true);
  EXPECT_EQ(numbers, (std::vector{1, 2, 3, 4, 5, 6, 2, 1, 4, 3, 6, 5}));
  EXPECT_EQ(counts, (std::vector<unsigned>{2, 2, 2}));
}
TEST(SimtHost, GroupsThatCannotMeetAreAnError) {
  std::vector<int> numbers(12);
  std::vector<unsigned> counts(3);
  Group const good{numbers.data(), counts.data(), 2, 1};
  EXPECT_THROW(run(6, 64, 0, meet_in_groups, good), std::logic_error);  // blocks that run one after the other
  Group twice = good, larger = good;
  twice.times = 2;
  EXPECT_THROW(run(6, 64, 0, meet_in_groups, twice, true), std::logic_error);
  std::fill(counts.begin(), counts.end(), 0U);
  larger.blocks = 3;
  EXPECT_THROW(run(6, 64, 0, meet_in_groups, larger, true), std::logic_error);
}

TEST(SimtHost, AnExceptionReachesTheCaller) {
  EXPECT_THROW(run(
                   1, 2, 0,
                   +[](Output) {
                     if (thread_index() == 1) throw std::runtime_error("from a kernel");
                   },
                   Output{nullptr}),
               std::runtime_error);
  EXPECT_THROW(run(
                   1, 2, 0,
                   +[](Output) {
                     if (thread_index() == 1) throw std::runtime_error("while others wait");
                     sync_block();
                   },
                   Output{nullptr}),
               std::runtime_error);
}

}  // namespace
}  // namespace myriad::simt
