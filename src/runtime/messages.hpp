#pragma once
/// What the library has to say besides errors: kernels compiled, a cache that cannot be used.

#include <string>

namespace myriad::gpu {

/// Gives `text`, one line, to the handler of the program (`on_message`), and to stderr where MYRIAD_VERBOSE is set and not 0.
void message(std::string const& text) noexcept;

/// The value of an environment variable; nullptr where it is unset or empty.
char const* environment(char const* name) noexcept;

}  // namespace myriad::gpu
