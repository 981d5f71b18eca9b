/// Finding NVRTC and compiling with it.

#include "runtime/nvrtc.hpp"

#include <gtest/gtest.h>

#include "myriad/error.hpp"
#include "myriad/kernels.hpp"
#include "test_kernel.hpp"

namespace myriad::gpu {
namespace {

CompileJob job(std::string const& arch) {
  auto const files = test::test_sources();
  return {.source = "#include \"scale.cuh\"\n",
          .name = "myriad::test::scale<float, 3>",
          .headers = {files.begin(), files.end()},
          .arch = arch,
          .options = {},
          .want_ptx = true};
}

#define SKIP_WITHOUT_NVRTC() \
  if (!Nvrtc::instance().available()) GTEST_SKIP() << Nvrtc::instance().problem()

TEST(Nvrtc, CompilesForGpusThatAreNotThere) {
  SKIP_WITHOUT_NVRTC();
  for (char const* const arch : {"sm_80", "sm_90", "sm_90a", "sm_100", "sm_120"}) {
    int const number = std::atoi(arch + 3);
    auto const& archs = Nvrtc::instance().archs();
    if (std::find(archs.begin(), archs.end(), number) == archs.end()) continue;  // an older NVRTC
    Compiled const compiled = Nvrtc::instance().compile(job(arch));
    EXPECT_TRUE(compiled.cubin.starts_with("\177ELF")) << arch;
    EXPECT_NE(compiled.cubin.find(compiled.lowered_name), std::string::npos) << arch;
    EXPECT_NE(compiled.lowered_name.find("scale"), std::string::npos) << arch;
    EXPECT_NE(compiled.ptx.find(std::string(".target ") + arch), std::string::npos) << arch;
    EXPECT_NE(compiled.log.find("registers"), std::string::npos) << compiled.log;
  }
}

TEST(Nvrtc, CompilesWhatIsNoTemplate) {
  SKIP_WITHOUT_NVRTC();
  CompileJob plain = job("sm_90");
  plain.name = "myriad::test::sum_in_shared";
  EXPECT_NE(Nvrtc::instance().compile(plain).lowered_name.find("sum_in_shared"), std::string::npos);
}

TEST(Nvrtc, GivesTheLogOfWhatDoesNotCompile) {
  SKIP_WITHOUT_NVRTC();
  CompileJob bad = job("sm_90");
  bad.source += "int x = what_is_this;\n";
  try {
    (void)Nvrtc::instance().compile(bad);
    FAIL();
  } catch (CompileError const& error) {
    EXPECT_NE(error.log().find("what_is_this"), std::string::npos) << error.log();
    EXPECT_NE(std::string(error.what()).find("what_is_this"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("scale<float, 3>"), std::string::npos);
  }
  CompileJob const unknown = job("sm_12345");
  EXPECT_THROW((void)Nvrtc::instance().compile(unknown), CompileError);
  bad = job("sm_90");
  bad.name = "myriad::test::no_such_kernel<float>";
  EXPECT_THROW((void)Nvrtc::instance().compile(bad), CompileError);
}

TEST(Nvrtc, IsWhatTheEnvironmentSays) {
  test::Environment const set("MYRIAD_NVRTC", "/nonexistent/libnvrtc.so");
  Nvrtc const nvrtc = Nvrtc::find();
  EXPECT_FALSE(nvrtc.available());
  ASSERT_EQ(nvrtc.tried().size(), 1U);
  EXPECT_NE(nvrtc.problem().find("/nonexistent/libnvrtc.so"), std::string::npos);
  try {
    (void)nvrtc.compile(job("sm_90"));
    FAIL();
  } catch (Unavailable const& error) {
    EXPECT_NE(std::string(error.what()).find("MYRIAD_NVRTC"), std::string::npos) << error.what();
  }
}

TEST(Nvrtc, RefusesALibraryThatIsNone) {
  test::Environment const set("MYRIAD_NVRTC", "libm.so.6");
  Nvrtc const nvrtc = Nvrtc::find();
  EXPECT_FALSE(nvrtc.available());
  EXPECT_NE(nvrtc.problem().find("has no nvrtcGetErrorString"), std::string::npos) << nvrtc.problem();
}

TEST(Nvrtc, IsFoundInToolkitsAndPythonPackages) {
  SKIP_WITHOUT_NVRTC();
  test::TemporaryFolder const folder;
  test::Environment const no_override("MYRIAD_NVRTC", nullptr);
  namespace fs = std::filesystem;
  fs::path const real = fs::canonical(Nvrtc::instance().path());
  auto const link = [&](fs::path const& at) {
    fs::create_directories(at.parent_path());
    fs::create_symlink(real, at);
  };
  {
    link(folder.path() / "toolkit/lib64/libnvrtc.so.13");
    test::Environment const set("CUDA_HOME", (folder.path() / "toolkit").c_str());
    Nvrtc const nvrtc = Nvrtc::find();
    EXPECT_EQ(nvrtc.path(), (folder.path() / "toolkit/lib64/libnvrtc.so.13").string());
    EXPECT_EQ(nvrtc.version(), Nvrtc::instance().version());
  }
  {
    test::Environment const set("CUDA_HOME", (folder.path() / "nothing").c_str());
    Nvrtc const nvrtc = Nvrtc::find();
    EXPECT_TRUE(nvrtc.tried().front().starts_with("CUDA_HOME=")) << nvrtc.tried().front();
    EXPECT_TRUE(nvrtc.available());
  }
  {
    // Folders of the caller come first, and all layouts are known: with the library itself, Python's packages, a toolkit.
    test::Environment const set("CUDA_HOME", (folder.path() / "toolkit").c_str());
    for (char const* const at : {"plain/libnvrtc.so.13", "site-packages/nvidia/cu13/lib/libnvrtc.so.13", "other/lib/libnvrtc.so.13"}) {
      link(folder.path() / at);
      std::string const given = (folder.path() / *fs::path(at).begin()).string();
      Nvrtc const nvrtc = Nvrtc::find({(folder.path() / "empty").string(), given});
      EXPECT_EQ(nvrtc.path(), (folder.path() / at).string());
      EXPECT_EQ(nvrtc.tried().front(), (folder.path() / "empty").string() + ": no libnvrtc.so");
    }
    fs::path const packages = folder.path() / "site-packages";
    EXPECT_EQ(Nvrtc::find({(folder.path() / "empty").string()}).path(), (folder.path() / "toolkit/lib64/libnvrtc.so.13").string());
    test::Environment const only("MYRIAD_NVRTC", real.c_str());
    EXPECT_EQ(Nvrtc::find({packages.string()}).path(), real.string());
  }
  // NVRTC has been looked for.
  EXPECT_THROW(search_nvrtc(folder.path().string()), Error);
}

}  // namespace
}  // namespace myriad::gpu
