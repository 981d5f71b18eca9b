#include "gemm/gemm.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "gemm/gemm_cpu.hpp"
#include "gemm/gemm_gpu.hpp"
#include "runtime/backend.hpp"

namespace myriad {

template <Element T>
void gemm(Queue& queue, std::type_identity_t<T> alpha, In<T> a, In<T> b, std::type_identity_t<T> beta, Batch<T> c) {
  Check("gemm", queue)
      .matrix(a, {3, "m"}, {5, "k"}, {7, "a"}, {8, "lda"}, Access::read)
      .matrix(b, {5, "k"}, {4, "n"}, {9, "b"}, {10, "ldb"}, Access::read)
      .matrix(c, {3, "m"}, {4, "n"}, {12, "c"}, {13, "ldc"}, Access::write)
      .same_count(c, a, {7, "a"})
      .same_count(c, b, {9, "b"})
      .same(rows(a), rows(c), {3, "m"})
      .same(cols(b), cols(c), {4, "n"})
      .same(cols(a), rows(b), {5, "k"})
      .disjoint(c, a, {12, "c"}, "a")
      .disjoint(c, b, {12, "c"}, "b");
  if (c.empty()) return;
  if (c.conjugated) {  // conj(C) = conj(alpha) conj(A) conj(B) + conj(beta) conj(C)
    alpha = conjugate_if(true, alpha);
    beta = conjugate_if(true, beta);
    a = conjugated(a);
    b = conjugated(b);
    c = conjugated(c);
  }
  GemmTask<T> const task{.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c};
  return gpu::on_gpu(queue) ? gpu::gemm(queue, task) : cpu::gemm(queue, task);
}

#define MYRIAD_INSTANTIATE(T) template void gemm<T>(Queue&, std::type_identity_t<T>, In<T>, In<T>, std::type_identity_t<T>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
