#pragma once
/// Exceptions of the library. A routine that throws has written to no output.

#include <stdexcept>
#include <string>

#include "myriad/export.h"

namespace myriad {

/// Base of all errors of the library.
class MYRIAD_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An illegal argument. `position()` is LAPACK's: the place in the argument list of `routine()` without the type letter (gesv: n = 1, nrhs
/// = 2, a = 3, lda = 4, ipiv = 5, b = 6, ldb = 7); what() names the argument and the problem.
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

/// The requested backend, kernel or device does not exist in this build or on this machine, such as a GPU queue without a GPU.
class MYRIAD_API Unavailable : public Error {
 public:
  using Error::Error;
};

/// GPU memory or pinned memory is exhausted. The queue stays usable. (Exhausted host memory is a std::bad_alloc.)
class MYRIAD_API OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// The CUDA driver refused a call, or reports that work of a queue failed. `code()` is its CUresult. After a refused launch the queue stays
/// usable. After a kernel failed while running (such as by an illegal address) this process cannot use the device any more.
class MYRIAD_API GpuError : public Error {
 public:
  /// `text` becomes what(), `code` is a CUresult.
  GpuError(std::string const& text, int code) : Error(text), code_(code) {}

  [[nodiscard]] int code() const noexcept { return code_; }  ///< CUresult of the driver

 private:
  int code_;
};

/// A kernel does not compile, or cannot be compiled where it is needed. what() names it; `log()` has the compiler's output.
class MYRIAD_API CompileError : public Error {
 public:
  /// `text` becomes what(), `log` is the output of the compiler.
  CompileError(std::string const& text, std::string log) : Error(text), log_(std::move(log)) {}

  [[nodiscard]] std::string const& log() const noexcept { return log_; }  ///< output of the compiler

 private:
  std::string log_;
};

}  // namespace myriad
