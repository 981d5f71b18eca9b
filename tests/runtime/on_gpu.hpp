#pragma once
/// Tests on the first GPU: skipped, with the reason, without a GPU.

#include <gtest/gtest.h>

#include <optional>

#include "myriad/error.hpp"
#include "myriad/queue.hpp"

namespace myriad {

class OnFirstGpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      queue.emplace(QueueOptions{.backend = Backend::gpu});
    } catch (Unavailable const& reason) {
      GTEST_SKIP() << reason.what();
    }
  }
  std::optional<Queue> queue;
};

}  // namespace myriad
