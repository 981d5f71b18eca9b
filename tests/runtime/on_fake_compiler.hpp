#pragma once
/// Fixture of tests of the host side of whole routines: the fake driver with the fake compiler.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "fake_nvrtc.hpp"
#include "on_fake.hpp"

namespace myriad::test {

/// Every kernel is found, but nothing runs: all work is captured.
class OnFakeCompiler : public OnFake {
 protected:
  static void SetUpTestSuite() {
    OnFake::SetUpTestSuite();
    ::setenv("MYRIAD_NVRTC", MYRIAD_FAKE_NVRTC, 1);
    ::setenv("MYRIAD_CACHE_DIR", "off", 1);
  }
  void SetUp() override {
    OnFake::SetUp();
    if (IsSkipped()) return;
    void* const library = ::dlopen(MYRIAD_FAKE_NVRTC, RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    compiler = reinterpret_cast<FakeNvrtc* (*)()>(::dlsym(library, "fake_nvrtc"))();
    fake->capturing = true;
  }
  void TearDown() override {
    if (compiler) {
      compiler->left = -1;
      compiler->refused.clear();
    }
    if (fake) fake->capturing = false;
    OnFake::TearDown();
  }

  FakeNvrtc* compiler = nullptr;
};

}  // namespace myriad::test
