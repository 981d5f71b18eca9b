#pragma once
/// Errors of reading and writing files.

#include <stdexcept>

namespace myriad::io {

/// A file that cannot be read or written. what() is one line that names the file and, for text files, the line in it.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace myriad::io
