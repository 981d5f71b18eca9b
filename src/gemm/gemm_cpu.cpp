#include "gemm/gemm_cpu.hpp"

#include <optional>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "simd/group.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// An input of BLAS: op(data) with leading dimension ld.
template <typename T>
struct BlasInput {
  Op op;
  T const* data;
  Int ld;

  /// Matrix b where it lies, if BLAS has an op for its layout, else a copy in `scratch`.
  BlasInput(Batch<T const> const& batch, std::int64_t b, Scratch<T>& scratch) {
    std::int64_t const m = batch.rows_of(b), n = batch.cols_of(b);
    std::int64_t const rs = batch.row_stride_of(b), cs = batch.col_stride_of(b);
    bool const column_major = (rs == 1 || m == 1) && (cs >= m || n == 1);
    if (cs == 1 && rs >= n && !(column_major && !batch.conjugated)) {
      op = batch.conjugated ? Op::conjugate_transpose : Op::transpose;
      data = batch.matrix(b);
      ld = static_cast<Int>(rs);
    } else {
      LocalMatrix<T const> const local(batch, b, scratch);
      op = Op::none;
      data = local.data();
      ld = local.ld();
    }
  }
};

/// C = beta C for one matrix.
template <Element T>
void scale(T beta, Batch<T> const& c, std::int64_t b) {
  T* const data = c.matrix(b);
  std::int64_t const rs = c.row_stride_of(b), cs = c.col_stride_of(b);
  for_part(Part::all, c.rows_of(b), c.cols_of(b), [&](auto i, auto j) {
    T& x = data[i * rs + j * cs];
    x = beta == T(0) ? T(0) : beta * x;
  });
}

template <Element T>
void gemm_by_blas(GemmTask<T> const& task, std::int64_t begin, std::int64_t end) {
  Scratch<T> scratch_a, scratch_b, scratch_c;
  for (std::int64_t k = begin; k < end; ++k) {
    if (task.c.rows_of(k) == 0 || task.c.cols_of(k) == 0) continue;
    if (task.alpha == T(0) || task.a.cols_of(k) == 0) {
      scale<T>(task.beta, task.c, k);
      continue;
    }
    // A row-major C is the transposed product.
    bool const flip = task.c.row_stride_of(k) != 1 && task.c.col_stride_of(k) == 1;
    BlasInput<T> const a(flip ? transposed(task.b) : task.a, k, scratch_a);
    BlasInput<T> const b(flip ? transposed(task.a) : task.b, k, scratch_b);
    LocalMatrix<T> const c(flip ? transposed(task.c) : task.c, k, scratch_c);
    lapack::gemm<T>(a.op, b.op, c.rows(), c.cols(), static_cast<Int>(task.a.cols_of(k)), task.alpha, a.data, a.ld, b.data, b.ld, task.beta,
                    c.data(), c.ld());
    c.store();
  }
}

}  // namespace

template <Element T>
void gemm(Queue& queue, GemmTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a, task.b), gemm_is_small<T>, [&](std::int64_t begin, std::int64_t end) { gemm_small(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) { gemm_by_blas<T>(task, begin, end); });
}

#define MYRIAD_INSTANTIATE(T) template void gemm<T>(Queue&, GemmTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
