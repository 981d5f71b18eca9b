/// The CPU path of syrk, herk, syr2k and her2k: gemm computes some columns of C, and their part in the triangle is added to C.

#include <vector>

#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "gemm/gemm_cpu.hpp"
#include "syrk/syrk.hpp"

namespace myriad::cpu {
namespace {

/// Columns of C that are computed at a time. The part beyond the triangle, which is discarded, costs width / n of the product.
constexpr std::int64_t width = 32;

/// A^T or, for a Hermitian C, A^H.
template <typename T>
Batch<T const> turned(SyrkTask<T> const& task, Batch<T const> const& a) {
  return task.symmetry == Symmetry::hermitian ? conjugate_transposed(a) : transposed(a);
}

/// The product that is added to a block of C: `rows` rows from row i, `cols` columns from column j.
template <Element T>
void product_of_block(SyrkTask<T> const& task, std::int64_t i, std::int64_t j, Batch<T> const& block) {
  auto const multiply = [&](T alpha, Batch<T const> const& x, Batch<T const> const& y, T beta) {
    gemm_range<T>({.alpha = alpha, .a = rows(x, i, block.rows), .b = turned(task, rows(y, j, block.cols)), .beta = beta, .c = block}, 0,
                  block.count);
  };
  multiply(task.alpha, task.a, task.of_two ? task.b : task.a, T(0));
  if (task.of_two) multiply(conjugate_if(task.symmetry == Symmetry::hermitian, task.alpha), task.b, task.a, T(1));
}

/// Matrix b of C = beta C + block, in those columns of its triangle that begin at column j0.
template <Element T>
void add_block(SyrkTask<T> const& task, std::int64_t b, std::int64_t i0, std::int64_t j0, std::int64_t columns, T const* block,
               std::int64_t ld) {
  bool const lower = task.uplo == Uplo::lower, hermitian = task.symmetry == Symmetry::hermitian;
  T* const c = task.c.matrix(b);
  std::int64_t const n = task.c.rows_of(b), rs = task.c.row_stride_of(b), cs = task.c.col_stride_of(b);
  for (std::int64_t j = j0; j < std::min(j0 + columns, n); ++j) {
    for (std::int64_t i = lower ? j : 0; i < (lower ? n : j + 1); ++i) {
      T& x = c[i * rs + j * cs];
      T const added = block[i - i0 + (j - j0) * ld];
      if (task.beta == T(0))
        x = added;
      else
        x = (hermitian ? std::real(task.beta) * x : task.beta * x) + added;
      if (i == j && hermitian) x = std::real(x);
    }
  }
}

}  // namespace

template <Element T>
void syrk(Queue& queue, SyrkTask<T> const& task) {
  std::int64_t const n = task.c.rows;
  bool const lower = task.uplo == Uplo::lower;
  in_chunks<T>(queue, task.c.count, n * std::min(n, width), [&](std::int64_t first, std::int64_t count, T* memory) {
    SyrkTask<T> chunk = task;
    chunk.a = matrices(task.a, first, count);
    chunk.b = matrices(task.b, first, count);
    chunk.c = matrices(task.c, first, count);
    std::vector<std::int64_t> row_sizes, col_sizes;
    for (std::int64_t j = 0; j < n; j += width) {
      std::int64_t const i = lower ? j : 0, end = lower ? n : std::min(j + width, n), cols = std::min(width, n - j);
      Batch<T> block = batch(memory, end - i, cols, {.count = count});
      if (task.c.ragged()) {
        row_sizes.clear(), col_sizes.clear();
        for (std::int64_t b = 0; b < count; ++b) {
          row_sizes.push_back(std::clamp<std::int64_t>(chunk.c.rows_of(b) - i, 0, block.rows));
          col_sizes.push_back(std::clamp<std::int64_t>(chunk.c.rows_of(b) - j, 0, block.cols));
        }
        block.row_sizes = row_sizes.data();
        block.col_sizes = col_sizes.data();
      }
      product_of_block(chunk, i, j, block);
      for (std::int64_t b = 0; b < count; ++b) {
        bool const adds = task.alpha != T(0) && chunk.a.cols_of(b) > 0;
        if (adds || task.beta != T(1)) add_block(chunk, b, i, j, cols, block.matrix(b), block.col_stride);
      }
    }
  });
}

#define MYRIAD_INSTANTIATE(T) template void syrk<T>(Queue&, SyrkTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
