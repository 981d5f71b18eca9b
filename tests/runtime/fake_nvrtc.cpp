#include "fake_nvrtc.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "runtime/nvrtc.hpp"

namespace myriad::gpu::nvrtc {
struct ProgramObject {
  std::string name;
};
}  // namespace myriad::gpu::nvrtc

using namespace myriad::gpu::nvrtc;

namespace {
myriad::test::FakeNvrtc fake;
constexpr std::array archs{80, 90, 100, 120, 130};  // 13.0 is a GPU that no pack has machine code for
}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE myriad::test::FakeNvrtc* fake_nvrtc() { return &fake; }

FAKE char const* nvrtcGetErrorString(Result) { return "as told"; }
FAKE Result nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return Result::success;
}
FAKE Result nvrtcGetNumSupportedArchs(int* number) {
  *number = static_cast<int>(archs.size());
  return Result::success;
}
FAKE Result nvrtcGetSupportedArchs(int* to) {
  std::copy(archs.begin(), archs.end(), to);
  return Result::success;
}
FAKE Result nvrtcCreateProgram(Program* to, char const*, char const*, int, char const* const*, char const* const*) {
  *to = new ProgramObject;
  return Result::success;
}
FAKE Result nvrtcDestroyProgram(Program* program) {
  delete *program;
  return Result::success;
}
FAKE Result nvrtcAddNameExpression(Program program, char const* name) {
  program->name = name;
  return Result::success;
}
FAKE Result nvrtcCompileProgram(Program program, int, char const* const*) {
  if (!fake.refused.empty() && program->name.find(fake.refused) != std::string::npos) return Result::compilation;
  if (fake.left == 0) return Result::compilation;
  if (fake.left > 0) --fake.left;
  ++fake.compiled;
  return Result::success;
}
FAKE Result nvrtcGetLoweredName(Program program, char const*, char const** name) {
  *name = program->name.c_str();
  return Result::success;
}
FAKE Result nvrtcGetProgramLogSize(Program, std::size_t* size) {
  *size = 1;
  return Result::success;
}
FAKE Result nvrtcGetProgramLog(Program, char* log) {
  *log = '\0';
  return Result::success;
}
FAKE Result nvrtcGetPTXSize(Program, std::size_t* size) {
  *size = 4;
  return Result::success;
}
FAKE Result nvrtcGetPTX(Program, char* text) {
  std::memcpy(text, "PTX", 4);
  return Result::success;
}
FAKE Result nvrtcGetCUBINSize(Program, std::size_t* size) {
  *size = 6;
  return Result::success;
}
FAKE Result nvrtcGetCUBIN(Program, char* image) {
  std::memcpy(image, "image", 6);
  return Result::success;
}
