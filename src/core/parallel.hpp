#pragma once
/// The parallel loop, the only place where work is distributed over threads.

#include <cstdint>
#include <memory>
#include <type_traits>

namespace myriad {

/// A reference to a callable `void(std::int64_t begin, std::int64_t end)` that outlives the call it is passed to.
class RangeBody {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, RangeBody>) RangeBody(F&& f)
  noexcept
      : object_(const_cast<void*>(static_cast<void const*>(std::addressof(f)))),
        call_([](void* object, std::int64_t begin, std::int64_t end) { (*static_cast<std::remove_reference_t<F>*>(object))(begin, end); }) {
  }
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, std::int64_t);
};

/// Calls `body(begin, end)` for consecutive pieces of [0, count) of at most `grain` items (the last may be shorter), each piece once, on up
/// to `threads` threads. Pieces are scheduled dynamically, so that uneven work stays balanced. Meanwhile OpenBLAS uses one thread
/// per call. The first exception of a piece stops the loop and is rethrown here.
void parallel_for(int threads, std::int64_t count, std::int64_t grain, RangeBody body);

}  // namespace myriad
