/// An NVRTC that compiles nothing: whatever it is given becomes an image that the made-up driver takes. So the host side of every routine
/// can be looked at without a GPU: which kernels it asks for, and what it launches. FAKE_NVRTC_REFUSES names kernels, by a part of their
/// names, that it has an error for.

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Program {
  std::string name;
};
constexpr int compilation_failed = 6;

int text(char const* from, char* to) {
  std::strcpy(to, from);
  return 0;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
FAKE char const* nvrtcGetErrorString(int) { return "it was told to refuse this"; }
FAKE int nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return 0;
}
FAKE int nvrtcGetSupportedArchs(int* archs) {
  *archs = 90;
  return 0;
}
FAKE int nvrtcCreateProgram(Program** program, char const*, char const*, int, char const* const*, char const* const*) {
  *program = new Program;
  return 0;
}
FAKE int nvrtcDestroyProgram(Program** program) {
  delete *program;
  return 0;
}
FAKE int nvrtcAddNameExpression(Program* program, char const* name) {
  program->name = name;
  return 0;
}
FAKE int nvrtcCompileProgram(Program* program, int, char const* const*) {
  char const* const refused = std::getenv("FAKE_NVRTC_REFUSES");
  return refused && program->name.find(refused) != std::string::npos ? compilation_failed : 0;
}
FAKE int nvrtcGetLoweredName(Program*, char const*, char const** name) {
  *name = "scale";
  return 0;
}
FAKE int nvrtcGetProgramLogSize(Program*, std::size_t* size) {
  *size = 1;
  return 0;
}
FAKE int nvrtcGetProgramLog(Program*, char* log) { return text("", log); }
FAKE int nvrtcGetCUBINSize(Program*, std::size_t* size) {
  *size = sizeof("image");
  return 0;
}
FAKE int nvrtcGetCUBIN(Program*, char* cubin) { return text("image", cubin); }
FAKE int nvrtcGetPTXSize(Program*, std::size_t* size) {
  *size = 1;
  return 0;
}
FAKE int nvrtcGetPTX(Program*, char* ptx) { return text("", ptx); }
