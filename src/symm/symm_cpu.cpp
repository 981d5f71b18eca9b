/// The CPU path of symm and hemm: gemm with both triangles of A filled. BLAS's own symm does as many flops.

#include <vector>

#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "gemm/gemm_cpu.hpp"
#include "symm/symm.hpp"

namespace myriad::cpu {
namespace {

/// Writes all of matrix b of A to `whole`, column-major with leading dimension ld.
template <Element T>
void make_whole(SymmTask<T> const& task, std::int64_t b, T* whole, std::int64_t ld) {
  bool const hermitian = task.symmetry == Symmetry::hermitian, conjugated = task.a.conjugated;
  T const* const a = task.a.matrix(b);
  std::int64_t const n = task.a.rows_of(b), rs = task.a.row_stride_of(b), cs = task.a.col_stride_of(b);
  for_part(part_of(task.uplo), n, n, [&](auto i, auto j) {
    T const x = conjugate_if(conjugated, a[i * rs + j * cs]);
    whole[i + j * ld] = x;
    whole[j + i * ld] = conjugate_if(hermitian, x);
  });
  for (std::int64_t i = 0; i < n && hermitian; ++i) whole[i + i * ld] = std::real(whole[i + i * ld]);
}

}  // namespace

template <Element T>
void symm(Queue& queue, SymmTask<T> const& task) {
  std::int64_t const n = task.a.rows;
  in_chunks<T>(queue, task.c.count, n * n, [&](std::int64_t first, std::int64_t count, T* memory) {
    std::vector<std::int64_t> sizes;
    Batch<T> whole = batch(memory, n, n, {.count = count});
    if (task.a.ragged()) {
      for (std::int64_t k = 0; k < count; ++k) sizes.push_back(task.a.rows_of(first + k));
      whole.row_sizes = whole.col_sizes = sizes.data();
    }
    for (std::int64_t k = 0; k < count && task.alpha != T(0); ++k) make_whole(task, first + k, whole.matrix(k), n);
    GemmTask<T> const product{
        .alpha = task.alpha, .a = whole, .b = matrices(task.b, first, count), .beta = task.beta, .c = matrices(task.c, first, count)};
    gemm_range(product, 0, count);
  });
}

#define MYRIAD_INSTANTIATE(T) template void symm<T>(Queue&, SymmTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
