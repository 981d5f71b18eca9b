/// The CPU path of trtri: one LAPACK call per matrix.

#include <algorithm>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "trsm/trtri.hpp"

namespace myriad::cpu {

namespace {

/// Inverts a triangle whose diagonal LAPACK would invert inaccurately; the other triangle is not changed.
template <Element T>
void invert_by_substitution(Uplo uplo, LocalMatrix<T> const& a, Scratch<T>& scratch) {
  std::int64_t const n = a.rows(), ld = a.ld();
  T* const x = scratch.reserve(n * n);
  std::fill_n(x, n * n, T(0));
  for (std::int64_t k = 0; k < n; ++k) x[k + k * n] = T(1);
  solve_triangle<T>(Side::left, uplo, Op::none, Diag::non_unit, a.rows(), a.rows(), T(1), a.data(), a.ld(), x, a.rows());
  for_part(part_of(uplo), n, n, [&](auto i, auto j) { a.data()[i + j * ld] = x[i + j * n]; });
}

}  // namespace

template <Element T>
void trtri(Queue& queue, TrtriTask<T> const& task) {
  std::int64_t const n = std::max<std::int64_t>(task.a.rows, 1);
  std::int64_t const grain = std::max<std::int64_t>(65536 / (n * n), 1);  // enough work to hide scheduling
  parallel_for(queue.threads(), task.a.count, grain, [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch, identity;
    for (std::int64_t b = begin; b < end; ++b) {
      // The inverse of the transpose is the transpose of the inverse.
      bool const by_rows = task.a.col_stride_of(b) < task.a.row_stride_of(b);
      Uplo const uplo = by_rows ? other(task.uplo) : task.uplo;
      LocalMatrix<T> const a(by_rows ? transposed(task.a) : task.a, b, scratch, part_of(uplo));
      lapack::Int const info = task.diag == Diag::non_unit ? zero_on_diagonal(a) : 0;
      if (info == 0 && a.rows() > 0) {
        if (task.diag == Diag::unit || has_ordinary_diagonal(a.rows(), a.data(), a.ld()))
          lapack::trtri<T>(uplo, task.diag, a.rows(), a.data(), a.ld());
        else
          invert_by_substitution<T>(uplo, a, identity);
        a.store();
      }
      if (task.info) task.info[b] = static_cast<int>(info);
    }
  });
}

#define MYRIAD_INSTANTIATE(T) template void trtri<T>(Queue&, TrtriTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
