#pragma once
/// A fake compiler: a library with the functions of NVRTC that "compiles" every kernel to one of the fake driver (fake_cuda.hpp), unless it
/// is told to refuse.

#include <atomic>
#include <string>

namespace myriad::test {

struct FakeNvrtc {
  std::atomic<int> compiled{0};
  std::string refused{};      ///< kernels with this in their name are refused; empty: none
  std::atomic<int> left{-1};  ///< number of kernels that are still compiled, others are refused; negative: all are compiled
};

}  // namespace myriad::test
