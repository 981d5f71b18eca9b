#include "simd/targets.hpp"

#include <fmt/format.h>

#include "simd/dispatch.hpp"  // before Highway: it defines the targets
//
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "myriad/error.hpp"

namespace myriad {
namespace {

bool limit() {
  char const* const name = std::getenv("MYRIAD_SIMD");
  if (!name || !*name) return true;
  std::string known;
  for (std::int64_t target = 1; target > 0 && target <= static_cast<std::int64_t>(HWY_TARGETS); target *= 2) {
    if (!(static_cast<std::int64_t>(HWY_TARGETS) & target)) continue;
    if (std::string_view(name) == hwy::TargetName(target)) {
      hwy::DisableTargets(target - 1);  // better targets have lower bits
      return true;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", hwy::TargetName(target));
  }
  throw Error(fmt::format("MYRIAD_SIMD is '{}'; this build has {}", name, known));
}

}  // namespace

void limit_simd_targets() {
  static bool const done = limit();
  (void)done;
}

}  // namespace myriad
