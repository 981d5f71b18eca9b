#pragma once
/// Entry points with LAPACK's Fortran names: counting, forwarding to the system's LAPACK, and checks of arguments in LAPACK's order.

#include <atomic>
#include <complex>
#include <cstdint>
#include <limits>

#include "lapack_names/operands.hpp"

namespace myriad::lapack_names {

/// One name. Entries live as long as the process; each is in the list that the counts are written from.
class Entry {
 public:
  explicit Entry(char const* name);
  Entry(Entry const&) = delete;
  Entry& operator=(Entry const&) = delete;

  /// A function with the signature of `ours` that runs it and, where it returns false or Myriad itself makes the call, runs the routine of
  /// the system's LAPACK.
  template <typename... A>
  auto with(bool (*ours)(char const*, A...)) {
    return [this, ours](A... arguments) {
      if (is_outside()) {
        if (ours(name_, arguments...)) {
          served_.fetch_add(1, std::memory_order_relaxed);
          return;
        }
        forwarded_.fetch_add(1, std::memory_order_relaxed);
      }
      reinterpret_cast<void (*)(A...)>(system_routine())(arguments...);
    };
  }

 private:
  friend struct Counts;

  /// Whether this thread is in a call of Myriad's, which takes what it needs of LAPACK from the system.
  static bool is_outside();
  void* system_routine();

  char const* name_;
  Entry* next_;
  std::atomic<std::int64_t> served_{0};
  std::atomic<std::int64_t> forwarded_{0};
  std::atomic<void*> system_routine_{nullptr};
};

/// One call: finds the first illegal argument as LAPACK does, answers workspace queries, runs Myriad's routine.
class Call {
 public:
  /// `info` is null for routines without it.
  Call(char const* name, Int* info) : name_(name), info_(info) {}

  /// The first argument for which `legal` is false is reported.
  Call& require(bool legal, Int position) {
    if (!legal && position_ == 0) position_ = position;
    return *this;
  }
  /// A letter, in either case, that is one of `allowed`; `value` becomes it.
  template <typename Value>
  Call& letter(char const* given, char const* allowed, Int position, Value& value);
  Call& size(Int n, Int position) { return require(n >= 0, position); }
  Call& leading(Int ld, Int rows, Int position) { return require(ld >= 1 && ld >= rows, position); }
  /// The call asks for sizes of workspaces only.
  Call& query(bool asked) {
    query_ = query_ || asked;
    return *this;
  }
  /// Writes the size of a workspace to its first element, unless an argument before it is illegal.
  template <typename T>
  Call& tell(T* work, std::int64_t size) {
    if (position_ == 0) *work = static_cast<T>(rounded_up<Real<T>>(size < 1 ? 1 : size));
    return *this;
  }
  /// A workspace of `given` elements, of which `least` are required; the caller is told the larger of `least` and `safe`. Myriad has its
  /// own, so that these are never used.
  template <typename T>
  Call& workspace(T* work, Int given, std::int64_t least, Int position, std::int64_t safe = 0) {
    least = least < 1 ? 1 : least;
    query(given == -1).tell(work, safe > least ? safe : least);
    return require(query_ || given >= least, position);
  }

  /// Whether there is something to compute. If not, an illegal argument has been given to xerbla_, and info is set.
  bool begins();
  /// Runs `routine(queue, operands)`. False where it cannot serve the call and has changed nothing: then the system's LAPACK has to.
  template <typename Routine>
  bool run(Routine&& routine) {
    return run_in(
        +[](void* f, Queue& queue, Operands& operands) { (*static_cast<std::remove_reference_t<Routine>*>(f))(queue, operands); },
        &routine);
  }

 private:
  bool run_in(void (*routine)(void*, Queue&, Operands&), void* closure) const;

  /// A size as a number of LAPACK, which may have fewer digits.
  template <typename R>
  static R rounded_up(std::int64_t size) {
    R const number = static_cast<R>(size);
    return static_cast<std::int64_t>(number) < size ? static_cast<R>(number * (1 + std::numeric_limits<R>::epsilon())) : number;
  }

  char const* name_;
  Int* info_;
  Int position_ = 0;
  bool query_ = false;
};

template <typename Value>
Call& Call::letter(char const* given, char const* allowed, Int position, Value& value) {
  char const capital = *given >= 'a' && *given <= 'z' ? static_cast<char>(*given - 'a' + 'A') : *given;
  for (; *allowed; ++allowed) {
    if (*allowed != capital) continue;
    value = static_cast<Value>(capital);
    return *this;
  }
  return require(false, position);
}

}  // namespace myriad::lapack_names
