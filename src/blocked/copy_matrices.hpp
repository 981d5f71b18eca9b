#pragma once
/// Copies of matrices to workspace and back, by one kernel for all layouts.

#include <cstdint>

#include "blocked/copy_matrices_config.cuh"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "runtime/views.hpp"

namespace myriad {

inline constexpr gpu::KernelName copy_matrices_kernel{"blocked/copy_matrices"};

/// `to` = `from`: views of the same sizes, or of the very same elements.
template <typename T, Machine<T> M>
void copy_matrices(M& machine, Batch<T const> const& from, Batch<T> const& to, Copied copied = Copied::all,
                   CopiedWhere where = CopiedWhere::always, int const* info = nullptr) {
  if (to.empty()) return;
  using D = gpu::DeviceElement<T>;
  CopyMatricesArguments<D> const args{
      .from = gpu::matrices_of(from), .to = gpu::matrices_of(to), .info = info, .copied = copied, .where = where};
  constexpr std::int64_t side = copy_matrices_side;
  machine.run(copy_matrices_kernel,
              {.blocks = args.tiles() * to.count, .threads = copy_matrices_threads, .shared_bytes = side * (side + 1) * sizeof(T)}, args,
              dtype_of<T>);
}

/// A batch in workspace with the sizes of `x`, not conjugated. It has no gaps, except for smaller matrices.
template <typename T, typename U>
Batch<T> workspace_like(Batch<U> const& x, T* memory, bool by_rows = false) {
  Batch<T> out;
  out.data = memory;
  out.rows = x.rows;
  out.cols = x.cols;
  out.row_stride = by_rows ? x.cols : 1;
  out.col_stride = by_rows ? 1 : x.rows;
  out.batch_stride = x.rows * x.cols;
  out.count = x.count;
  out.row_sizes = x.row_sizes;
  out.col_sizes = x.col_sizes;
  if (!x.ragged()) return out;
  // Sizes are those of the matrices that x is a view of.
  out.row_offset = x.row_offset;
  out.col_offset = x.col_offset;
  out.data -= x.row_offset * out.row_stride + x.col_offset * out.col_stride;
  return out;
}

}  // namespace myriad
