#pragma once
/// What the library throws. Nothing has been written to any output when an exception leaves a routine.

#include <stdexcept>
#include <string>

#include "myriad/export.h"

namespace myriad {

/// Base of all errors of the library.
class MYRIAD_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An illegal argument. `position()` counts as LAPACK does in the argument list of `routine()` without its type letter
/// (gesv: n = 1, nrhs = 2, a = 3, lda = 4, ipiv = 5, b = 6, ldb = 7); what() names the argument and says what is wrong with it.
class MYRIAD_API BadArgument : public Error {
 public:
  BadArgument(std::string routine, int position, std::string argument, std::string const& problem)
      : Error(routine + ": argument " + std::to_string(position) + " (" + argument + ") " + problem),
        routine_(std::move(routine)),
        argument_(std::move(argument)),
        position_(position) {}

  [[nodiscard]] std::string const& routine() const noexcept { return routine_; }
  [[nodiscard]] std::string const& argument() const noexcept { return argument_; }
  [[nodiscard]] int position() const noexcept { return position_; }

 private:
  std::string routine_;
  std::string argument_;
  int position_;
};

/// What was asked for does not exist in this build or on this machine (a GPU queue without a GPU, say).
class MYRIAD_API Unavailable : public Error {
 public:
  using Error::Error;
};

}  // namespace myriad
