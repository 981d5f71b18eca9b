/// syrk, herk, syr2k and her2k on a GPU: products of which the lower triangle is computed, tile by tile, and written.

#include "core/dtype.hpp"
#include "gemm/gemm_gpu.hpp"
#include "syrk/syrk_by_products.hpp"

namespace myriad::gpu {

template <Element T>
void syrk(Queue& queue, SyrkTask<T> const& task) {
  auto const all = [&] {
    syrk_by_products(task, [&](T alpha, Batch<T const> const& a, Batch<T const> const& b, T beta, Batch<T> const& c, Written written) {
      gemm<T>(queue, {.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c}, Structure::general, written);
    });
  };
  // All kernels come before the first launch: where one cannot be had, nothing is written.
  if (task.of_two) queue.prepare(all);
  all();
}

#define MYRIAD_INSTANTIATE(T) template void syrk<T>(Queue&, SyrkTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
