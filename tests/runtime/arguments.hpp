#pragma once
/// Members of a kernel's arguments, found without naming them: their places and kinds.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/kernel_name.hpp"
#include "simt/matrices.hpp"
#include "simt/tile.hpp"

namespace myriad::test {

/// A member of the arguments, or of a member.
struct Member {
  enum class Kind { matrices, pointer, index, flag, other };
  Kind kind;
  std::size_t offset;
  std::size_t element_bytes;  ///< of matrices
};

namespace detail {

template <typename T>
inline constexpr bool is_matrices = false;
template <typename T>
inline constexpr bool is_matrices<simt::Matrices<T>> = true;
template <typename T>
inline constexpr std::size_t element_bytes = 0;
template <typename T>
inline constexpr std::size_t element_bytes<simt::Matrices<T>> = sizeof(T);

template <typename T, std::size_t count>
std::vector<Member> members_of();
template <typename T>
constexpr std::size_t initializers();

/// Converts to any member, and notes where that is. Members are initialized in their order; those of an array one by one.
struct Noted {
  std::vector<Member>& members;
  std::size_t& end;

  template <typename T>
  operator T() const {  // NOLINT: converts to any member
    std::size_t const offset = (end + alignof(T) - 1) / alignof(T) * alignof(T);
    end = offset + sizeof(T);
    using Kind = Member::Kind;
    if constexpr (!std::is_class_v<T> || is_matrices<T>)
      members.push_back({is_matrices<T>                            ? Kind::matrices
                         : std::is_pointer_v<T>                    ? Kind::pointer
                         : std::is_same_v<T, bool>                 ? Kind::flag
                         : sizeof(T) == 8 && std::is_integral_v<T> ? Kind::index
                                                                   : Kind::other,
                         offset, element_bytes<T>});
    else
      for (Member member : members_of<T, initializers<T>()>()) {
        member.offset += offset;
        members.push_back(member);
      }
    return T{};
  }
};

/// The number of initializers of T, at least `least` and fewer than `above`.
template <typename T, std::size_t least, std::size_t above>
constexpr std::size_t initializers_between() {
  if constexpr (above - least == 1) {
    return least;
  } else {
    constexpr std::size_t middle = above > 2 * least ? 2 * least : (least + above) / 2;
    if constexpr (gpu::detail::takes<T>(std::make_index_sequence<middle>{}))
      return initializers_between<T, middle, above>();
    else
      return initializers_between<T, least, middle>();
  }
}
template <typename T>
constexpr std::size_t initializers() {
  return initializers_between<T, 1, 256>();
}

template <typename T, std::size_t count>
std::vector<Member> members_of() {
  static_assert(std::is_aggregate_v<T>);
  std::vector<Member> members;
  std::size_t end = 0;
  Noted const noted{members, end};
  [&]<std::size_t... i>(std::index_sequence<i...>) { static_cast<void>(T{(static_cast<void>(i), noted)...}); }
  (std::make_index_sequence<count>{});
  // A member that is missed would move those behind it.
  if ((end + alignof(T) - 1) / alignof(T) * alignof(T) != sizeof(T)) members.clear();
  return members;
}

}  // namespace detail

/// The members of Arguments, and of its members; empty if they do not fill it. `Alike` has as many members; counting them takes most of the
/// time of compiling this.
template <typename Arguments, typename Alike = Arguments>
std::vector<Member> members_of() {
  return detail::members_of<Arguments, detail::initializers<Alike>()>();
}

}  // namespace myriad::test
