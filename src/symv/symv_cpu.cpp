#include "symv/symv_cpu.hpp"

#include <algorithm>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"

namespace myriad::cpu {
namespace {

/// Memory of one thread.
template <typename T>
struct SymvScratch {
  Scratch<T> a, x, y;
};

template <Element T>
void symv_by_blas(SymvTask<T> const& task, std::int64_t b, SymvScratch<T>& scratch) {
  if (task.y.rows_of(b) == 0) return;
  LocalMatrix<T> const y(task.y, b, scratch.y);
  // y is scaled here, since some BLAS multiply y by zero.
  for (lapack::Int i = 0; i < y.rows() && task.beta != T(1); ++i) y.data()[i] = task.beta == T(0) ? T(0) : task.beta * y.data()[i];
  if (task.alpha != T(0)) {
    bool const by_rows = task.a.row_stride_of(b) != 1 && task.a.col_stride_of(b) == 1;
    SymvTask<T> const viewed = by_rows ? transposed(task) : task;
    LocalMatrix<T const> const a(viewed.a, b, scratch.a, part_of(viewed.uplo));
    LocalMatrix<T const> const x(task.x, b, scratch.x);
    auto const multiply = task.symmetry == Symmetry::hermitian ? lapack::hemv<T> : lapack::symv<T>;
    multiply(viewed.uplo, a.rows(), task.alpha, a.data(), a.ld(), x.data(), T(1), y.data());
  }
  y.store();
}

}  // namespace

template <Element T>
void symv(Queue& queue, SymvTask<T> const& task) {
  std::int64_t const grain = std::max<std::int64_t>(65536 / (task.a.rows * task.a.rows), 1);  // enough work to hide the hand-out
  parallel_for(queue.threads(), task.y.count, grain, [&](std::int64_t begin, std::int64_t end) {
    SymvScratch<T> scratch;
    for (std::int64_t b = begin; b < end; ++b) symv_by_blas<T>(task, b, scratch);
  });
}

#define MYRIAD_INSTANTIATE(T) template void symv<T>(Queue&, SymvTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
