/// syrk, herk, syr2k and her2k on a GPU: gemm kernels that compute and write the tiles of the lower triangle.

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "syrk/syrk_by_products.hpp"

namespace myriad::gpu {

template <Element T>
void syrk(Queue& queue, SyrkTask<T> const& task) {
  QueueMachine machine(queue);
  if (!task.of_two) return syrk_by_products(machine, task);
  run_blocked(queue, [&](QueueMachine& of_two) { syrk_by_products(of_two, task); });
}

#define MYRIAD_INSTANTIATE(T) template void syrk<T>(Queue&, SyrkTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
