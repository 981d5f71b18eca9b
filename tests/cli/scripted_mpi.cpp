/// A libmyriad_mpi.so for tests of rank 0 of two. Rank 1 says the lines of SCRIPTED_MESSAGES; what it is sent is appended to the file
/// SCRIPTED_SENT, a line each.

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "mpi/plugin.hpp"

namespace {

void send(int, char const* data, std::size_t size) {
  std::ofstream(std::getenv("SCRIPTED_SENT"), std::ios::app) << std::string(data, size) << '\n';
}

int receive(void* (*allocate)(void* context, std::size_t size), void* context) {
  static std::istringstream messages(std::getenv("SCRIPTED_MESSAGES"));
  std::string message;
  if (!std::getline(messages, message)) return -1;
  std::memcpy(allocate(context, message.size()), message.data(), message.size());
  return 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) myriad::cli::MpiPlugin const* myriad_open_mpi_plugin() {
  static myriad::cli::MpiPlugin const plugin{.size = 2, .send = send, .receive = receive, .close = [] {}};
  return &plugin;
}
