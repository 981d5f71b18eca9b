#include "trsm/trsm.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "runtime/backend.hpp"
#include "trsm/trsm_cpu.hpp"
#include "trsm/trsm_gpu.hpp"

namespace myriad {

template <Element T>
void trsm(Queue& queue, Side side, Uplo uplo, Diag diag, std::type_identity_t<T> alpha, In<T> a, Batch<T> b) {
  bool const left = side == Side::left;
  Argument const order = left ? Argument{5, "m"} : Argument{6, "n"};
  Check("trsm", queue)
      .require(left || side == Side::right, {1, "side"}, "is neither left nor right")
      .require(uplo == Uplo::upper || uplo == Uplo::lower, {2, "uplo"}, "is neither upper nor lower")
      .require(diag == Diag::unit || diag == Diag::non_unit, {4, "diag"}, "is neither unit nor non_unit")
      .matrix(b, {5, "m"}, {6, "n"}, {10, "b"}, {11, "ldb"}, Access::write)
      .matrix(a, order, order, {8, "a"}, {9, "lda"}, Access::read)
      .same(rows(a), cols(a), order)
      .same_count(b, a, {8, "a"})
      .same(rows(a), left ? rows(b) : cols(b), order)
      .disjoint(b, a, {10, "b"}, "a");
  if (b.empty()) return;
  if (b.conjugated) {  // conj(A) conj(X) = conj(alpha) conj(B)
    alpha = conjugate_if(true, alpha);
    a = conjugated(a);
    b = conjugated(b);
  }
  if (!left) {  // A^T X^T = alpha B^T
    uplo = uplo == Uplo::upper ? Uplo::lower : Uplo::upper;
    a = transposed(a);
    b = transposed(b);
  }
  TrsmTask<T> const task{.uplo = uplo, .diag = diag, .alpha = alpha, .a = a, .b = b};
  gpu::on_gpu(queue) ? gpu::trsm(queue, task) : cpu::trsm(queue, task);
}

#define MYRIAD_INSTANTIATE(T) template void trsm<T>(Queue&, Side, Uplo, Diag, std::type_identity_t<T>, In<T>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
