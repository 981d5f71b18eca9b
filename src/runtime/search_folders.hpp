#pragma once
/// Folders that a program adds to a search which happens once.

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "myriad/error.hpp"

namespace myriad::gpu {

class SearchFolders {
 public:
  /// `routine`: what adds folders; `noun`: what is looked for. Both are for texts of errors.
  SearchFolders(char const* routine, char const* noun) : routine_(routine), noun_(noun) {}

  /// Throws BadArgument for an empty path, Error after take().
  void add(std::string folder) {
    if (folder.empty()) throw BadArgument(routine_, 1, "folder", "is empty");
    std::scoped_lock const lock(mutex_);
    if (taken_) throw Error(fmt::format("{}: {} looked for before {} was added", routine_, noun_, folder));
    folders_.push_back(std::move(folder));
  }

  /// The folders in the order in which they were added; from now on there can be no more.
  std::vector<std::string> take() {
    std::scoped_lock const lock(mutex_);
    taken_ = true;
    return folders_;
  }

 private:
  char const* routine_;
  char const* noun_;
  std::mutex mutex_;
  std::vector<std::string> folders_;
  bool taken_ = false;
};

}  // namespace myriad::gpu
