#pragma once
/// Runs the built program as a user does.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "temporary_folder.hpp"

extern char** environ;

namespace myriad::test {

struct Outcome {
  int status = -1;  ///< exit status, or -n if signal n ended it
  std::string out, err;
  long peak_kib = 0;  ///< peak memory
};

/// The tested program: the one built with the tests, or another build's.
inline char const* program_path() {
  char const* const other = std::getenv("MYRIAD_TEST_PROGRAM");
  return other ? other : MYRIAD_PROGRAM;
}

class Program {
 public:
  /// Starts `launcher... myriad arguments...`; its output goes to files in `folder`.
  Program(TemporaryFolder const& folder, std::vector<std::string> arguments, std::vector<std::string> const& launcher = {})
      : folder_(folder) {
    arguments.insert(arguments.begin(), program_path());
    arguments.insert(arguments.begin(), launcher.begin(), launcher.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, folder.path(".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, folder.path(".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int const problem = ::posix_spawn(&process_, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (problem != 0) throw std::runtime_error("cannot start " + arguments[0]);
  }

  void signal(int number) const { ::kill(process_, number); }

  Outcome wait() {
    int status = 0;
    rusage usage{};
    ::wait4(process_, &status, 0, &usage);
    Outcome outcome;
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    outcome.out = folder_.read(".out");
    outcome.err = folder_.read(".err");
    outcome.peak_kib = usage.ru_maxrss;
    std::filesystem::remove(folder_.path(".out"));
    std::filesystem::remove(folder_.path(".err"));
    return outcome;
  }

 private:
  TemporaryFolder const& folder_;
  pid_t process_ = 0;
};

}  // namespace myriad::test
