#include "trsm/trsm_cpu.hpp"

#include <algorithm>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "simd/group.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// Whether matrix b is row-major: its column stride is smaller than its row stride.
template <typename T>
bool lies_by_rows(Batch<T> const& a, std::int64_t b) {
  return a.col_stride_of(b) < a.row_stride_of(b);
}

/// Calls `blas(side, uplo, op, diag, m, n, alpha, a, lda, b, ldb)` for matrices [begin, end).
template <Element T, typename Blas>
void by_blas(TrsmTask<T> const& task, std::int64_t begin, std::int64_t end, Blas blas) {
  Scratch<T> scratch_a, scratch_b;
  for (std::int64_t k = begin; k < end; ++k) {
    if (task.b.rows_of(k) == 0 || task.b.cols_of(k) == 0) continue;
    // A row-major B is solved as X^T A^T = alpha B^T, and a row-major A is BLAS's transposed one. Interleaved matrices are copied in the
    // same orientation, so that a batch of one, which is not interleaved, gets the same bits.
    bool const flip = lies_by_rows(task.b, k) && task.b.cols_of(k) > 1;
    LocalMatrix<T> const b(flip ? transposed(task.b) : task.b, k, scratch_b);
    Batch<T const> const triangle = flip ? transposed(task.a) : task.a;
    bool const turn = lies_by_rows(triangle, k);
    Op const op = !turn ? Op::none : triangle.conjugated ? Op::conjugate_transpose : Op::transpose;
    Batch<T const> const stored = !turn ? triangle : triangle.conjugated ? conjugate_transposed(triangle) : transposed(triangle);
    Uplo const uplo = flip != turn ? other(task.uplo) : task.uplo;
    LocalMatrix<T const> const a(stored, k, scratch_a, part_of(uplo));
    blas(flip ? Side::right : Side::left, uplo, op, task.diag, b.rows(), b.cols(), task.alpha, a.data(), a.ld(), b.data(), b.ld());
    b.store();
  }
}

/// x = op(A)^-1 x
template <Element T>
void trsv(Uplo uplo, Op op, Diag diag, Int n, T const* a, Int lda, T* x) {
  if (diag == Diag::non_unit && !has_ordinary_diagonal(n, a, lda)) {
    solve_triangle<T>(Side::left, uplo, op, diag, n, 1, T(1), a, lda, x, n);
    return;
  }
  MYRIAD_LAPACK(T, cblas_strsv, cblas_dtrsv, cblas_ctrsv, cblas_ztrsv, CblasColMajor, lapack::cblas(uplo), lapack::cblas(op),
                lapack::cblas(diag), n, a, lda, x, 1);
}

/// Calls the matrix routine of BLAS or, for one unscaled column, the vector routine, which does not pack A: in double with OpenBLAS 0.3.21
/// trmv takes a third of trmm's time at n = 8, trsv half of trsm's at n = 256.
template <Element T, auto of_matrices, auto of_vectors>
void for_shape(Side side, Uplo uplo, Op op, Diag diag, Int m, Int n, T alpha, T const* a, Int lda, T* b, Int ldb) {
  if (n == 1 && side == Side::left && alpha == T(1))
    of_vectors(uplo, op, diag, m, a, lda, b);
  else
    of_matrices(side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);
}

}  // namespace

template <Element T>
void trsm(Queue& queue, TrsmTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a, task.b), trsm_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { trsm_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) { by_blas(task, begin, end, for_shape<T, solve_triangle<T>, trsv<T>>); });
}

template <Element T>
void trmm(Queue& queue, TrsmTask<T> const& task) {
  std::int64_t const m = task.b.rows, n = task.b.cols;
  std::int64_t const grain = std::max<std::int64_t>(65536 / (m * (m + n)), 1);  // enough work to hide scheduling
  parallel_for(queue.threads(), task.b.count, grain,
               [&](std::int64_t begin, std::int64_t end) { by_blas(task, begin, end, for_shape<T, lapack::trmm<T>, lapack::trmv<T>>); });
}

#define MYRIAD_INSTANTIATE(T)                        \
  template void trsm<T>(Queue&, TrsmTask<T> const&); \
  template void trmm<T>(Queue&, TrsmTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
