#pragma once
/// Generates the name expression of a kernel: the template arguments are the members of its config, in order.
///
///     constexpr KernelName lu_tiny{"lu/lu_tiny"};
///     Kernel const& kernel = kernel_of(queue, lu_tiny, dtype_of<T>, config);
///     source_of(lu_tiny, Dtype::f64, config).name;  // "myriad::lu_tiny<double, myriad::LuTiny{myriad::LuJob(0), 8, ...}>"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "myriad/types.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"

namespace myriad::gpu {

/// Location of a kernel: "lu/lu_tiny" is myriad::lu_tiny of lu/lu_tiny.cuh, unless `kernel` gives another name.
struct KernelName {
  std::string_view file, kernel;
  std::uint64_t id;
  bool arch_specific = false;  ///< see KernelSource

  constexpr explicit KernelName(std::string_view file_of) : KernelName(file_of, file_of.substr(file_of.rfind('/') + 1)) {}
  constexpr KernelName(std::string_view file_of, std::string_view kernel_in_it)
      : file(file_of), kernel(kernel_in_it), id(kernel_id(file) ^ std::rotl(kernel_id(kernel), 1)) {}
  [[nodiscard]] constexpr KernelName for_one_architecture() const {
    KernelName out = *this;
    out.arch_specific = true;
    return out;
  }
};

/// The kernel of a config type. Every config with its own kernel specialises it; others do not compile.
template <typename Config>
constexpr KernelName kernel_name = Config::has_no_kernel_of_its_own;

/// The name of a type as source text: "myriad::simt::Layout"
template <typename T>
constexpr std::string_view type_name() {
  std::string_view const function = __PRETTY_FUNCTION__;  // "... [with T = myriad::Lines; ...]"
  std::size_t const begin = function.find("T = ") + 4;
  return function.substr(begin, function.find_first_of(";]", begin) - begin);
}

namespace detail {
struct Any {
  template <typename T>
  constexpr operator T() const;  // NOLINT: converts to any member
};
template <typename T, std::size_t... i>
constexpr bool takes(std::index_sequence<i...>) {
  return requires { T{(static_cast<void>(i), Any{})...}; };
}
template <typename T, std::size_t count = 16>
constexpr std::size_t member_count() {
  if constexpr (takes<T>(std::make_index_sequence<count>{}))
    return count;
  else
    return member_count<T, count - 1>();
}
}  // namespace detail

/// The members of an aggregate of up to 15 integers and enumerations.
template <typename T>
constexpr auto members_of(T const& x) {
  constexpr std::size_t count = detail::member_count<T>();
  static_assert(count >= 1 && count <= 15);
#define MYRIAD_MEMBERS(number, ...)      \
  if constexpr (count == number) {       \
    auto const& [__VA_ARGS__] = x;       \
    return std::make_tuple(__VA_ARGS__); \
  }
  MYRIAD_MEMBERS(1, a)
  MYRIAD_MEMBERS(2, a, b)
  MYRIAD_MEMBERS(3, a, b, c)
  MYRIAD_MEMBERS(4, a, b, c, d)
  MYRIAD_MEMBERS(5, a, b, c, d, e)
  MYRIAD_MEMBERS(6, a, b, c, d, e, f)
  MYRIAD_MEMBERS(7, a, b, c, d, e, f, g)
  MYRIAD_MEMBERS(8, a, b, c, d, e, f, g, h)
  MYRIAD_MEMBERS(9, a, b, c, d, e, f, g, h, i)
  MYRIAD_MEMBERS(10, a, b, c, d, e, f, g, h, i, j)
  MYRIAD_MEMBERS(11, a, b, c, d, e, f, g, h, i, j, k)
  MYRIAD_MEMBERS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  MYRIAD_MEMBERS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  MYRIAD_MEMBERS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  MYRIAD_MEMBERS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
#undef MYRIAD_MEMBERS
}

/// The source text of a template argument.
template <typename T>
std::string argument_text(T const& x) {
  if constexpr (std::is_same_v<T, Dtype>) {
    return device_name(x);
  } else if constexpr (std::is_enum_v<T>) {
    return fmt::format("{}({})", type_name<T>(), static_cast<int>(x));
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", x);
  } else {
    std::string out;
    std::apply([&](auto const&... member) { ((out += (out.empty() ? "" : ", ") + argument_text(member)), ...); }, members_of(x));
    return fmt::format("{}{{{}}}", type_name<T>(), out);
  }
}

template <typename... Arguments>
KernelSource source_of(KernelName const& kernel, Arguments const&... arguments) {
  std::string list;
  ((list += (list.empty() ? "" : ", ") + argument_text(arguments)), ...);
  return {.header = fmt::format("{}.cuh", kernel.file),
          .name = fmt::format("myriad::{}<{}>", kernel.kernel, list),
          // The compiler must not contract products and sums to fma, or kernels of different layouts would give different bits; kernels
          // call fma explicitly.
          .options = {"-default-device", "--fmad=false"},
          .arch_specific = kernel.arch_specific};
}

/// The kernel with these template arguments on the queue's GPU.
template <typename... Arguments>
Kernel const& kernel_of(Queue& queue, KernelName const& kernel, Arguments const&... arguments) {
  return kernel_for(queue, kernel_key(kernel.id, arguments...), [&] { return source_of(kernel, arguments...); });
}

}  // namespace myriad::gpu
