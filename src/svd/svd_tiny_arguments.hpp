#pragma once
/// The task of gesvd as svd_tiny takes it. `above`, `upto`: see SvdTinyArguments.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "svd/svd.hpp"
#include "svd/svd_tiny_config.cuh"

namespace myriad {

/// The order in which neighbouring lanes move neighbouring elements.
template <typename T>
SvdOrder svd_order(simt::Matrices<T> const& a) {
  auto const step = [](simt::Index stride) { return std::llabs(stride); };
  if (!a.pointers && a.count > 1 && step(a.batch_stride) < std::min(step(a.row_stride), step(a.col_stride))) return SvdOrder::matrices;
  return step(a.col_stride) < step(a.row_stride) ? SvdOrder::rows : SvdOrder::columns;
}

/// Whether the matrices follow one another in that order, without gaps.
template <typename T>
bool svd_is_packed(simt::Matrices<T> const& a, SvdOrder order) {
  if (a.pointers || a.row_sizes || a.col_sizes || a.row_strides || a.col_strides || a.batch_stride != a.rows * a.cols) return false;
  if (order == SvdOrder::columns) return a.row_stride == 1 && a.col_stride == a.rows;
  return order == SvdOrder::rows && a.col_stride == 1 && a.row_stride == a.cols;
}

template <typename T>
SvdTinyArguments<gpu::DeviceElement<T>> svd_tiny_arguments(GesvdTask<T> const& task, SvdTiny const& c, std::int64_t above = -1,
                                                           std::int64_t upto = gpu::tiny_largest) {
  using D = gpu::DeviceElement<T>;
  bool const left = task.job != SvdJob::values && task.job != SvdJob::right, right = task.job != SvdJob::values && task.job != SvdJob::left;
  auto const output = [&](Batch<T> const& x) {
    SvdOutput<D> out{.to = gpu::matrices_of(x), .order = {}, .packed = false};
    out.order = svd_order(out.to);
    // Without vectors or with fewer columns than the kernel's it is not.
    bool const exact = (x.rows == c.m && x.cols == c.columns) || (x.rows == c.n && x.cols == c.n) || (x.rows == c.columns && x.cols == c.m);
    out.packed = exact && svd_is_packed(out.to, out.order);
    return out;
  };
  SvdTinyArguments<D> args{.a = gpu::matrices_of(task.a),
                           .order = {},
                           .packed = false,
                           .full = task.job == SvdJob::full,
                           .out = {output(left ? task.u : Batch<T>{}), output(right ? task.vt : Batch<T>{})},
                           .s = gpu::matrices_of(task.s),
                           .info = task.info,
                           .above = static_cast<int>(above),
                           .upto = static_cast<int>(upto)};
  args.order = svd_order(args.a);
  args.packed = std::max(args.a.rows, args.a.cols) == c.m && std::min(args.a.rows, args.a.cols) == c.n && svd_is_packed(args.a, args.order);
  return args;
}

}  // namespace myriad
