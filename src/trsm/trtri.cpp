#include "trsm/trtri.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "myriad/blas3.hpp"
#include "runtime/backend.hpp"

namespace myriad {

template <Element T>
void trtri(Queue& queue, Uplo uplo, Diag diag, Batch<T> a, int* info) {
  Check("trtri", queue)
      .info(info, 6)
      .uplo(uplo, 1)
      .diag(diag, 2)
      .matrix(a, {3, "n"}, {3, "n"}, {4, "a"}, {5, "lda"}, Access::write)
      .same(rows(a), cols(a), {3, "n"});
  TrtriTask<T> const task{.uplo = uplo, .diag = diag, .a = a, .info = info};
  gpu::on_gpu(queue) ? gpu::trtri(queue, task) : cpu::trtri(queue, task);
}

#define MYRIAD_INSTANTIATE(T) template void trtri<T>(Queue&, Uplo, Diag, Batch<T>, int*);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
