/// symm and hemm on a GPU: gemm kernels that complete A from its lower triangle in shared memory.

#include "core/dtype.hpp"
#include "gemm/gemm_gpu.hpp"
#include "symm/symm.hpp"

namespace myriad::gpu {

template <Element T>
void symm(Queue& queue, SymmTask<T> const& task) {
  bool const hermitian = is_complex<T> && task.symmetry == Symmetry::hermitian;
  // An upper triangle is the lower one of the transposed matrix, which is A or its conjugate.
  Batch<T const> const lower = task.uplo == Uplo::lower ? task.a : hermitian ? conjugate_transposed(task.a) : transposed(task.a);
  gemm<T>(queue, {.alpha = task.alpha, .a = lower, .b = task.b, .beta = task.beta, .c = task.c},
          hermitian ? Structure::hermitian : Structure::symmetric);
}

#define MYRIAD_INSTANTIATE(T) template void symm<T>(Queue&, SymmTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
