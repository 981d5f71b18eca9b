#pragma once
/// Exceptions of the library. Nothing has been written to any output when an exception leaves a routine.

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
  /// The text is "routine: argument position (argument) problem".
  BadArgument(std::string routine, int position, std::string argument, std::string const& problem)
      : Error(routine + ": argument " + std::to_string(position) + " (" + argument + ") " + problem),
        routine_(std::move(routine)),
        argument_(std::move(argument)),
        position_(position) {}

  [[nodiscard]] std::string const& routine() const noexcept { return routine_; }    ///< name of the routine without its type letter
  [[nodiscard]] std::string const& argument() const noexcept { return argument_; }  ///< name of the argument
  [[nodiscard]] int position() const noexcept { return position_; }                 ///< place in LAPACK's argument list, from one

 private:
  std::string routine_;
  std::string argument_;
  int position_;
};

/// The backend, kernel or device that was asked for does not exist in this build or on this machine: a GPU queue without a GPU, for
/// example.
class MYRIAD_API Unavailable : public Error {
 public:
  using Error::Error;
};

/// Memory of a GPU, or pinned memory, ran out. The queue stays usable. (Memory of the host that runs out is a std::bad_alloc.)
class MYRIAD_API OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// The CUDA driver refused a call or reports that work given to a queue went wrong. `code()` is its CUresult. After a launch that was
/// refused the queue stays usable; after a kernel that failed while it ran (an illegal address, say) the driver refuses the device to this
/// process from then on.
class MYRIAD_API GpuError : public Error {
 public:
  /// `text` becomes what(), `code` is a CUresult.
  GpuError(std::string const& text, int code) : Error(text), code_(code) {}

  [[nodiscard]] int code() const noexcept { return code_; }  ///< CUresult of the driver

 private:
  int code_;
};

/// A kernel that does not compile, or cannot be compiled where it has to be. what() names it; `log()` has the compiler's words.
class MYRIAD_API CompileError : public Error {
 public:
  /// `text` becomes what(), `log` is the output of the compiler.
  CompileError(std::string const& text, std::string log) : Error(text), log_(std::move(log)) {}

  [[nodiscard]] std::string const& log() const noexcept { return log_; }  ///< output of the compiler

 private:
  std::string log_;
};

}  // namespace myriad
