#pragma once
/// Errors of GPUs say which GPU.

#include <concepts>
#include <string>
#include <utility>

#include "myriad/error.hpp"

namespace myriad::gpu {

/// "GPU 1 (NVIDIA H200): ", with which texts of errors begin; "GPU 1: " where the driver does not tell the name.
[[nodiscard]] std::string prefix_of_errors(int ordinal);

/// Calls f(). Texts of OutOfMemory and GpuError that it throws begin with prefix_of_errors(ordinal) afterwards.
template <std::invocable F>
decltype(auto) naming_gpu(int ordinal, F&& f) {
  auto const named = [ordinal](std::string const& text) {
    std::string const prefix = prefix_of_errors(ordinal);
    return text.starts_with(prefix) ? text : prefix + text;
  };
  try {
    return std::forward<F>(f)();
  } catch (OutOfMemory const& e) {
    throw OutOfMemory(named(e.what()));
  } catch (GpuError const& e) {
    throw GpuError(named(e.what()), e.code());
  }
}

}  // namespace myriad::gpu
