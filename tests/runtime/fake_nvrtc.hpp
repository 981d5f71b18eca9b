#pragma once
/// A compiler for machines without one: a library with the functions of NVRTC that "compiles" every kernel to one of the made-up driver
/// (fake_cuda.hpp), as long as it is not told to stop.

#include <atomic>
#include <string>

namespace myriad::test {

struct FakeNvrtc {
  std::atomic<int> compiled{0};
  std::string refused{};      ///< kernels with this in their name are refused; empty: none
  std::atomic<int> left{-1};  ///< so many kernels are still compiled, others are refused; negative: all are compiled
};

}  // namespace myriad::test
