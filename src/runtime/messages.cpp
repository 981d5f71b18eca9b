#include "runtime/messages.hpp"

#include <stdlib.h>  // secure_getenv

#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "myriad/kernels.hpp"

namespace myriad {
namespace {

struct Handler {
  std::mutex mutex;
  MessageHandler handler;
};

Handler& the_handler() {
  static auto* const handler = new Handler;  // not destroyed: queues may outlive main
  return *handler;
}

}  // namespace

MessageHandler on_message(MessageHandler handler) {
  std::scoped_lock const lock(the_handler().mutex);
  return std::exchange(the_handler().handler, std::move(handler));
}

namespace gpu {

char const* environment(char const* name) noexcept {
  char const* const value = ::secure_getenv(name);
  return value && *value ? value : nullptr;
}

void message(std::string const& text) noexcept {
  try {
    MessageHandler handler;
    {
      std::scoped_lock const lock(the_handler().mutex);
      handler = the_handler().handler;
    }
    if (handler) handler(text);
  } catch (...) {
    // Exceptions of the handler must not reach the caller of a routine.
  }
  if (char const* const verbose = environment("MYRIAD_VERBOSE"); verbose && std::strcmp(verbose, "0") != 0)
    std::fprintf(stderr, "myriad: %s\n", text.c_str());
}

}  // namespace gpu
}  // namespace myriad
