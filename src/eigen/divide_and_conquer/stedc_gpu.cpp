#include "eigen/divide_and_conquer/stedc_gpu.hpp"

#include <string_view>

#include "eigen/divide_and_conquer/stedc_by_levels.hpp"
#include "eigen/divide_and_conquer/stedc_plan.hpp"
#include "gemm/gemm_gpu.hpp"
#include "reflectors/reflectors_plan.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"

namespace myriad::gpu {
namespace {

/// use(kernel, template arguments...)
auto with_kernel(StedcStep step, Dtype dtype, auto const& use) {
  std::string_view const name = stedc_names[static_cast<std::size_t>(step)];
  switch (step) {
    case StedcStep::bring_whole:
    case StedcStep::bring_torn:
      return use(KernelName("eigen/divide_and_conquer/stedc_leaves", name), dtype, step == StedcStep::bring_torn);
    case StedcStep::leaves:
      return use(KernelName("eigen/divide_and_conquer/stedc_leaves", name), dtype, stedc_leaf);
    case StedcStep::points:
    case StedcStep::bisect:
      return use(KernelName("eigen/divide_and_conquer/stedc_values", name), dtype);
    default:
      return use(KernelName("eigen/divide_and_conquer/stedc_merge", name), dtype);
  }
}

template <typename R>
Kernel const& kernel_of_step(Queue& queue, StedcStep step) {
  return *with_kernel(step, dtype_of<R>, [&](auto const&... kernel) { return &kernel_of(queue, kernel...); });
}

/// What stedc_by_levels needs of a GPU.
template <typename R>
class StedcMachine {
 public:
  explicit StedcMachine(Queue& queue) : queue_(queue) {}
  void run(StedcStep step, std::int64_t blocks, StedcWork<R> const& work) {
    bool const leaves = step == StedcStep::leaves;
    launch(queue_, kernel_of_step<R>(queue_, step),
           {.blocks = blocks,
            .threads = leaves ? 4 * stedc_leaf : stedc_threads,
            .shared_bytes = leaves ? stedc_leaf_bytes(sizeof(R), stedc_leaf) : stedc_shared_bytes},
           work);
  }
  void multiply(Batch<R const> const& a, Batch<R const> const& b, Batch<R> const& c) {
    GemmShape const shape = reflectors_product(sizeof(R), c.rows, c.cols, a.cols, c.count, queue_.device().multiprocessors);
    gemm<R>(queue_, {.alpha = R(1), .a = a, .b = b, .beta = R(0), .c = c}, Structure::general, Written::whole, shape);
  }

 private:
  Queue& queue_;
};

}  // namespace

template <typename R>
void load_stedc(Queue& queue, bool vectors) {
  for (int step = 0; step < stedc_steps; ++step)
    if (stedc_step_is_of(static_cast<StedcStep>(step), vectors)) (void)kernel_of_step<R>(queue, static_cast<StedcStep>(step));
}

template <typename R>
void stedc(Queue& queue, StedcWork<R> const& work, bool vectors) {
  StedcMachine<R> machine(queue);
  vectors ? stedc_by_levels(machine, work) : stedc_values(machine, work);
}

std::vector<KernelSource> stedc_kernels(Dtype dtype, int real_bytes) {
  std::vector<KernelSource> kernels;
  for (int step = 0; step < stedc_steps; ++step)
    kernels.push_back(with_kernel(static_cast<StedcStep>(step), dtype, [](auto const&... kernel) { return source_of(kernel...); }));
  // All shapes: for ever more multiprocessors than there are large tiles.
  for (std::int64_t const k : {128, 512})
    for (int const multiprocessors : {1, 4, 8, 16}) {
      GemmShape const shape = reflectors_product(real_bytes, 128, 128, k, 1, multiprocessors);
      auto const of_shape = gemm_kernels_of(dtype, shape, Lines::columns, Lines::columns, Lines::columns);
      kernels.insert(kernels.end(), of_shape.begin(), of_shape.end());
    }
  return kernels;
}

#define MYRIAD_INSTANTIATE(R)                \
  template void load_stedc<R>(Queue&, bool); \
  template void stedc<R>(Queue&, StedcWork<R> const&, bool);
MYRIAD_INSTANTIATE(float)
MYRIAD_INSTANTIATE(double)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
