#pragma once
/// Teams of threads, by one of two implementations (CMake's MYRIAD_THREADS): OpenMP's, or a pool of std::thread. Used by parallel_for only.

namespace myriad::team {

/// A reference to a callable `void() noexcept` that outlives the call it is passed to.
class Work {
 public:
  template <typename F>
  explicit Work(F const& f) noexcept : object_(&f), call_([](void const* object) noexcept { (*static_cast<F const*>(object))(); }) {}
  void operator()() const noexcept { call_(object_); }

 private:
  void const* object_;
  void (*call_)(void const*) noexcept;
};

/// Threads of a team if nobody says how many: OMP_NUM_THREADS, else the cores that this process may use.
int default_size();

/// Whether the calling thread runs the work of a team.
bool inside();

/// Calls `work` in the calling thread, which must not be inside a team, and in up to `size` - 1 > 0 others at the same time. All calls have
/// ended when this returns. The others may be fewer, or come late, so `work` must be complete after any number of calls.
void run(int size, Work work);

}  // namespace myriad::team
