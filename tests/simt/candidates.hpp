#pragma once
/// Configs that a search may try: tests that run them check that they are candidates.

#include <gtest/gtest.h>

#include <algorithm>

#include "tune/tuned.hpp"

namespace myriad {

/// Expects the config to be among the candidates of the space for an H200.
template <typename Space>
void expect_candidate(Space const& space, typename Space::Config const& config) {
  Device device;
  device.major = 9;
  device.max_threads_per_block = 1024;
  device.registers_per_multiprocessor = 65536;
  device.shared_memory_per_block = 232448;
  device.shared_memory_per_multiprocessor = 233472;
  tuning::Values const values = tuning::values_of<Space>(config);
  auto const candidates = space.candidates(device);
  EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(), [&](auto const& c) { return tuning::values_of<Space>(c) == values; }))
      << space.problem().kernel << " " << testing::PrintToString(values);
}

/// The planned config with other values.
template <typename Space, typename... Ints>
constexpr typename Space::Config with(typename Space::Config config, Ints... values) {
  std::apply([&](auto&... x) { ((x = static_cast<std::remove_reference_t<decltype(x)>>(values)), ...); }, Space::Tuned::values(config));
  return config;
}

}  // namespace myriad
