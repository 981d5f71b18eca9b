/// Packing of matrices for streams, byte by byte; stream_on_fake_test.cpp tests the streams.

#include "runtime/packing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace myriad::gpu {
namespace {

TEST(Packing, MovesRunsOfEveryLengthAndNothingElse) {
  constexpr std::int64_t columns = 2, count = 3, gap = 1;
  constexpr char canary = 127;
  for (std::int64_t const element : {1, 3, 4, 8, 16})
    for (std::int64_t rows = 1; rows * element <= 600; rows += 1 + rows / 20)
      for (bool const behind_pointers : {false, true}) {
        SCOPED_TRACE(testing::Message() << rows << " elements of " << element << " bytes, pointers: " << behind_pointers);
        std::int64_t const ld = rows + gap, stride = columns * ld;
        std::vector<char> host(static_cast<std::size_t>(count * stride * element), canary);
        Batch<char> batch{.data = host.data(), .rows = rows, .cols = columns, .row_stride = 1, .col_stride = ld, .batch_stride = stride};
        batch.count = count;
        std::vector<char*> pointers;
        for (std::int64_t b = 0; b < count; ++b) pointers.push_back(host.data() + (count - 1 - b) * stride * element);
        if (behind_pointers) {
          batch.data = nullptr;
          batch.pointers = pointers.data();
        }
        Packing const packing({.use = StreamUse::in_out, .element_bytes = element, .batch = batch});
        std::vector<char> expected;
        for (std::int64_t b = 0; b < count; ++b)
          for (std::int64_t j = 0; j < columns; ++j)
            for (std::int64_t k = 0; k < rows * element; ++k) {
              expected.push_back(static_cast<char>((b * 31 + j * 7 + k) % 101));
              packing.host(b)[j * ld * element + k] = expected.back();
            }
        std::vector<char> const filled = host;
        ASSERT_EQ(packing.bytes(0, count), static_cast<std::int64_t>(expected.size()));

        std::vector<char> packed(expected.size() + 2, canary);
        packing.pack(1, 0, count, packed.data() + 1, nullptr);
        EXPECT_EQ(packed.front(), canary);
        EXPECT_EQ(packed.back(), canary);
        EXPECT_EQ(std::vector<char>(packed.begin() + 1, packed.end() - 1), expected);

        host.assign(host.size(), canary);
        packing.unpack(1, 0, count, packed.data() + 1);
        EXPECT_EQ(host, filled);
      }
}

}  // namespace
}  // namespace myriad::gpu
