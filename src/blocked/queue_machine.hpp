#pragma once
/// The machine of a GPU queue: see blocked/machine.hpp.

#include <cstdint>
#include <vector>

#include "blocked/blocked_plan.hpp"
#include "blocked/machine.hpp"
#include "gemm/gemm_gpu.hpp"
#include "lu/lu_gpu.hpp"
#include "trsm/trsm_gpu.hpp"

namespace myriad::gpu {

class QueueMachine {
 public:
  explicit QueueMachine(Queue& queue) : queue_(queue) {}

  [[nodiscard]] Device const& device() const { return queue_.device(); }
  [[nodiscard]] Queue& queue() const { return queue_; }

  template <typename Arguments, typename... TemplateArguments>
  void run(KernelName const& kernel, Grid const& grid, Arguments const& arguments, TemplateArguments const&... of_template) {
    launch(queue_, kernel_of(queue_, kernel, of_template...), grid, arguments);
  }
  template <Element T>
  void gemm(GemmTask<T> const& task, Structure structure = Structure::general, Written written = Written::whole) {
    gpu::gemm<T>(queue_, task, structure, written);
  }
  template <Element T>
  void gemm_shared(GemmTask<T> const& task, Written written = Written::whole) {
    GemmShape const shape = blocked_product(sizeof(T), task.c.rows, task.c.cols, task.a.cols, task.c.count, device().multiprocessors);
    gpu::gemm<T>(queue_, task, Structure::general, written, shape);
  }
  template <Element T>
  void trsm(TrsmTask<T> const& task, std::int64_t planned_columns = 0) {
    gpu::trsm<T>(queue_, task, planned_columns);
  }
  template <Element T>
  void trtri(TrtriTask<T> const& task) {
    gpu::trtri<T>(queue_, task);
  }
  template <Element T>
  void getrs(GetrsTask<T> const& task) {
    gpu::getrs<T>(queue_, task);
  }
  template <Element T>
  void trsm_shared(TrsmTask<T> const& task) {
    gpu::trsm_shared<T>(queue_, task);
  }
  void clear(int* numbers, std::int64_t count) { gpu::clear(queue_, numbers, count); }

  class Memory {
   public:
    Memory(Queue& queue, std::int64_t bytes) : workspace_(queue, bytes) {}
    /// While the queue is prepared there is no memory: a dummy address, 256-byte aligned, which nothing reads.
    [[nodiscard]] void* data() const {
      void* const there = workspace_.as<void>();
      return there ? there : reinterpret_cast<void*>(256);
    }

   private:
    Workspace workspace_;
  };
  [[nodiscard]] Memory memory(std::int64_t bytes) { return Memory(queue_, bytes); }

 private:
  Queue& queue_;
};

/// Runs algorithm(machine) on a queue by run_at_once.
template <typename Algorithm>
void run_blocked(Queue& queue, Algorithm const& algorithm) {
  QueueMachine machine(queue);
  run_at_once(queue, [&] { algorithm(machine); });
}

}  // namespace myriad::gpu
