#include "trsm/trsm_cpu.hpp"

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "simd/group.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

template <Element T>
void trsm_by_blas(TrsmTask<T> const& task, std::int64_t begin, std::int64_t end) {
  Scratch<T> scratch_a, scratch_b;
  for (std::int64_t k = begin; k < end; ++k) {
    if (task.b.rows_of(k) == 0 || task.b.cols_of(k) == 0) continue;
    // A row-major B is solved as X^T A^T = alpha B^T.
    bool const flip = task.b.row_stride_of(k) != 1 && task.b.col_stride_of(k) == 1;
    LocalMatrix<T> const b(flip ? transposed(task.b) : task.b, k, scratch_b);
    Batch<T const> const triangle = flip ? transposed(task.a) : task.a;
    Uplo const uplo = flip ? other(task.uplo) : task.uplo;
    Side const side = flip ? Side::right : Side::left;
    // A row-major A is BLAS's transposed A, conjugated on request.
    std::int64_t const n = triangle.rows_of(k);
    if (triangle.col_stride_of(k) == 1 && triangle.row_stride_of(k) >= n && (triangle.row_stride_of(k) != 1 || triangle.conjugated)) {
      Op const op = triangle.conjugated ? Op::conjugate_transpose : Op::transpose;
      lapack::trsm<T>(side, other(uplo), op, task.diag, b.rows(), b.cols(), task.alpha, triangle.matrix(k),
                      static_cast<Int>(triangle.row_stride_of(k)), b.data(), b.ld());
    } else {
      LocalMatrix<T const> const a(triangle, k, scratch_a, part_of(uplo));
      lapack::trsm<T>(side, uplo, Op::none, task.diag, b.rows(), b.cols(), task.alpha, a.data(), a.ld(), b.data(), b.ld());
    }
    b.store();
  }
}

}  // namespace

template <Element T>
void trsm(Queue& queue, TrsmTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a, task.b), trsm_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { trsm_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) { trsm_by_blas<T>(task, begin, end); });
}

#define MYRIAD_INSTANTIATE(T) template void trsm<T>(Queue&, TrsmTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
