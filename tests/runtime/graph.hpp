#pragma once
/// A CUDA graph of a queue's work.

#include <dlfcn.h>

#include <utility>

#include "myriad/error.hpp"
#include "runtime/launch.hpp"

namespace myriad::test {

/// Callers make graphs, so the library does not declare the driver's functions for them.
class Graph {
 public:
  /// Captures the work that `calls()` enqueues; nothing runs.
  template <typename F>
  Graph(Queue& queue, F&& calls) : queue_(queue) {
    using gpu::driver::CaptureMode;
    using gpu::driver::StreamHandle;
    gpu::driver::CurrentContext const current(gpu::context_of(queue).handle());
    auto* const stream = static_cast<StreamHandle>(queue.stream());
    check(function<Result(StreamHandle, CaptureMode)>("cuStreamBeginCapture_v2")(stream, CaptureMode::global), "cuStreamBeginCapture");
    auto const end = [&] { return function<Result(StreamHandle, void**)>("cuStreamEndCapture")(stream, &graph_); };
    try {
      std::forward<F>(calls)();
    } catch (...) {
      (void)end();
      throw;
    }
    check(end(), "cuStreamEndCapture");
    if (!graph_) throw Error("the capture was broken off");
  }
  ~Graph() {
    gpu::driver::CurrentContext const current(gpu::context_of(queue_).handle());
    if (instance_) (void)function<Result(void*)>("cuGraphExecDestroy")(instance_);
    if (graph_) (void)function<Result(void*)>("cuGraphDestroy")(graph_);
  }
  Graph(Graph const&) = delete;
  Graph& operator=(Graph const&) = delete;

  /// Enqueues the captured work.
  void launch() {
    gpu::driver::CurrentContext const current(gpu::context_of(queue_).handle());
    if (!instance_)
      check(function<Result(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(&instance_, graph_, 0),
            "cuGraphInstantiate");
    check(function<Result(void*, gpu::driver::StreamHandle)>("cuGraphLaunch")(instance_,
                                                                              static_cast<gpu::driver::StreamHandle>(queue_.stream())),
          "cuGraphLaunch");
  }

 private:
  using Result = gpu::driver::Result;
  static void check(Result result, char const* what) { gpu::driver::check(result, what); }
  template <typename F>
  static F* function(char const* name) {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    void* const symbol = library ? ::dlsym(library, name) : nullptr;
    if (!symbol) throw Unavailable(name);
    return reinterpret_cast<F*>(symbol);
  }

  Queue& queue_;
  void* graph_ = nullptr;
  void* instance_ = nullptr;
};

}  // namespace myriad::test
