#include "lapack_names/entry.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

extern "C" {
void xerbla_(char const* name, int const* position, std::size_t length);
void ilaver_(int* major, int* minor, int* patch);
}

namespace myriad::lapack_names {

/// Writes how often every name was called, at the end of a process that called one. Made before the first entry, so that it goes after all.
struct Counts {
  Entry* first = nullptr;
  ~Counts() {
    char const* const file = std::getenv("MYRIAD_LAPACK_COUNT");
    bool called = false;
    for (Entry* e = first; e; e = e->next_) called = called || e->served_ != 0 || e->forwarded_ != 0;
    if (!file || !*file || !called) return;  // nothing from the shell that the program was started by
    std::FILE* const out = std::fopen(file, "w");
    if (!out) {
      std::fprintf(stderr, "libmyriad_lapack: MYRIAD_LAPACK_COUNT: cannot write %s\n", file);
      return;
    }
    std::fputs("# name, calls that Myriad served, calls forwarded to the system's LAPACK\n", out);
    for (Entry* e = first; e; e = e->next_)
      std::fprintf(out, "%s %lld %lld\n", e->name_, static_cast<long long>(e->served_), static_cast<long long>(e->forwarded_));
    std::fclose(out);
  }
  static Counts& all() {
    static Counts counts;
    return counts;
  }
};

namespace {

thread_local int calls_inside = 0;

struct Inside {
  Inside() { ++calls_inside; }
  ~Inside() { --calls_inside; }
  Inside(Inside const&) = delete;
  Inside& operator=(Inside const&) = delete;
};

[[noreturn]] void give_up(char const* problem, char const* which) {
  std::fprintf(stderr, "libmyriad_lapack: %s: %s\n", problem, which);
  std::abort();
}

/// The system's LAPACK, by the file that its routine ilaver came from: RTLD_NEXT does not find libraries that were loaded with RTLD_LOCAL.
void* system_lapack() {
  static void* const handle = [] {
    Dl_info from{};
    if (!dladdr(reinterpret_cast<void*>(&ilaver_), &from)) return RTLD_NEXT;
    void* const opened = dlopen(from.dli_fname, RTLD_LAZY | RTLD_LOCAL);
    return opened ? opened : RTLD_NEXT;  // ilaver is part of the program
  }();
  return handle;
}

Backend wanted_backend() {
  static Backend const backend = [] {
    char const* const text = std::getenv("MYRIAD_LAPACK_BACKEND");
    std::string_view const name = text ? text : "";
    if (name.empty() || name == "cpu") return Backend::cpu;
    if (name == "gpu") return Backend::gpu;
    if (name == "auto") return Backend::automatic;
    give_up("MYRIAD_LAPACK_BACKEND must be cpu, gpu or auto, is", text);
  }();
  return backend;
}

/// The queue of this thread. A GPU that was asked for and cannot be used ends the process: LAPACK has no status for that.
Queue& queue_of_thread() {
  thread_local std::optional<Queue> queue;
  if (!queue) {
    try {
      queue.emplace(QueueOptions{.backend = wanted_backend(), .threads = 1});
    } catch (std::exception const& error) {
      give_up("MYRIAD_LAPACK_BACKEND", error.what());
    }
  }
  return *queue;
}

}  // namespace

Entry::Entry(char const* name) : name_(name), next_(Counts::all().first) { Counts::all().first = this; }

bool Entry::is_outside() { return calls_inside == 0; }

void* Entry::system_routine() {
  void* routine = system_routine_.load(std::memory_order_relaxed);
  if (!routine) {
    routine = dlsym(system_lapack(), (std::string(name_) + "_").c_str());
    if (!routine) give_up("the system's LAPACK has no such routine", name_);
    system_routine_.store(routine, std::memory_order_relaxed);
  }
  return routine;
}

bool Call::begins() {
  if (info_) *info_ = -position_;
  if (position_ != 0) {
    std::string capitals = name_;
    for (char& c : capitals)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    xerbla_(capitals.c_str(), &position_, capitals.size());
  }
  return position_ == 0 && !query_;
}

bool Call::run_in(void (*routine)(void*, Queue&, Operands&), void* closure) const {
  Inside const inside;
  Queue& queue = queue_of_thread();
  try {
    Operands operands(queue);
    routine(closure, queue, operands);
    operands.finish();
    return true;
  } catch (BadArgument const&) {
    return false;  // legal in LAPACK: arrays that overlap
  } catch (std::exception const& error) {
    if (queue.backend() != Backend::gpu) give_up(error.what(), name_);  // the caller's arrays may be half written
    static std::atomic_flag reported;
    if (!reported.test_and_set())
      std::fprintf(stderr, "libmyriad_lapack: %s runs in the system's LAPACK (the first such call is reported): %s\n", name_, error.what());
    return false;
  }
}

void* Operands::copy_of(void* caller, Shape shape) {
  std::size_t const column = static_cast<std::size_t>(shape.rows) * shape.element_bytes;
  Copy& copy = copies_.emplace_back(Copy{shape, caller, std::vector<std::byte>(column * static_cast<std::size_t>(shape.cols)), {}});
  auto const bytes = static_cast<std::int64_t>(copy.packed.size());
  for (std::size_t j = 0; j < static_cast<std::size_t>(shape.cols); ++j)
    std::memcpy(copy.packed.data() + j * column,
                static_cast<std::byte const*>(caller) + j * static_cast<std::size_t>(shape.ld) * shape.element_bytes, column);
  copy.on_gpu = DeviceArray<std::byte>(queue_, bytes);
  myriad::copy<std::byte>(queue_, copy.packed.data(), bytes, copy.on_gpu.data());
  return copy.on_gpu.data();
}

void Operands::finish() {
  if (copies_.empty()) return;
  for (Copy& copy : copies_)
    if (copy.shape.goes_back)
      myriad::copy<std::byte>(queue_, copy.on_gpu.data(), static_cast<std::int64_t>(copy.packed.size()), copy.packed.data());
  queue_.wait();
  for (Copy const& copy : copies_) {
    if (!copy.shape.goes_back) continue;
    std::size_t const column = static_cast<std::size_t>(copy.shape.rows) * copy.shape.element_bytes;
    for (std::size_t j = 0; j < static_cast<std::size_t>(copy.shape.cols); ++j)
      std::memcpy(static_cast<std::byte*>(copy.caller) + j * static_cast<std::size_t>(copy.shape.ld) * copy.shape.element_bytes,
                  copy.packed.data() + j * column, column);
  }
}

}  // namespace myriad::lapack_names
