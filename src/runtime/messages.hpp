#pragma once
/// Messages of the library besides errors: a kernel was compiled, the cache cannot be used.

#include <string>

namespace myriad::gpu {

/// Passes `text`, one line, to the program's handler (`on_message`), and to stderr if MYRIAD_VERBOSE is set and not 0.
void message(std::string const& text) noexcept;

/// The value of an environment variable; nullptr if it is unset or empty.
char const* environment(char const* name) noexcept;

}  // namespace myriad::gpu
