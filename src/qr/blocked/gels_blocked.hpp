#pragma once
/// Least squares of matrices of any size: see blocked/machine.hpp.

#include "qr/blocked/gels_blocked_config.cuh"
#include "qr/blocked/qr_blocked.hpp"
#include "reflectors/reflectors_by_panels.hpp"
#include "trsm/trsm.hpp"

namespace myriad {

inline constexpr gpu::KernelName gels_sizes_kernel{"qr/blocked/gels_blocked", "gels_sizes"};
inline constexpr gpu::KernelName gels_bring_kernel{"qr/blocked/gels_blocked", "gels_bring"};
inline constexpr gpu::KernelName gels_scale_kernel{"qr/blocked/gels_blocked", "gels_scale"};
inline constexpr gpu::KernelName gels_give_kernel{"qr/blocked/gels_blocked", "gels_give"};

/// Workspace of gels for matrices F of p rows and q columns.
template <typename T>
struct GelsWorkspace {
  T *right, *tau;
  unsigned* largest;
  short* scales;
  std::int64_t* sizes[6]{};  ///< of ragged batches: see GelsSizes

  GelsWorkspace(Arena& arena, std::int64_t p, std::int64_t q, std::int64_t columns, std::int64_t count, bool ragged)
      : right(arena.take<T>(p * columns * count)),
        tau(arena.take<T>(q * count)),
        largest(arena.take<unsigned>(count * qr_chunks(p) * std::max(q, columns))),
        scales(arena.take<short>(2 * count)) {
    for (std::int64_t** array = sizes; ragged && array != sizes + 6; ++array) *array = arena.take<std::int64_t>(count);
  }
};

/// Tall and square matrices, or, `wide`, the others, as GelsArguments says. X comes about in the workspace: that of a matrix without full
/// rank is not computed, and its B stays.
template <typename T, Machine<T> M>
void gels_of_shape(M& machine, GelsTask<T> const& task, bool wide, void* memory) {
  using D = gpu::DeviceElement<T>;
  bool const ragged = task.a.ragged() || task.b.ragged();
  Batch<T> f = wide ? conjugate_transposed(task.a) : task.a;
  std::int64_t const p = f.rows, q = std::min(f.rows, f.cols), columns = task.b.cols, count = f.count;
  auto const work = placed<GelsWorkspace<T>>(memory, p, q, columns, count, ragged);
  f.cols = q;
  Batch<T> square = block(f, 0, 0, q, q), right = batch(work.right, p, columns, {.count = count}), top = rows(right, 0, q);
  Batch<T> const tau = vectors(work.tau, q, count);
  if (ragged) {
    auto const array = [&](int number) { return reinterpret_cast<simt::Index*>(work.sizes[number]); };
    machine.run(gels_sizes_kernel, {.blocks = (count + qr_blocked_threads - 1) / qr_blocked_threads, .threads = qr_blocked_threads},
                GelsSizes<D>{.f = gpu::matrices_of(wide ? conjugate_transposed(task.a) : task.a),
                             .b = gpu::matrices_of(task.b),
                             .wide = wide,
                             .rows = array(0),
                             .cols = array(1),
                             .square = array(2),
                             .right_rows = array(3),
                             .right_top = array(4),
                             .right_cols = array(5)},
                dtype_of<T>);
    f.row_sizes = work.sizes[0], f.col_sizes = square.col_sizes = work.sizes[1], square.row_sizes = work.sizes[2];
    right.row_sizes = work.sizes[3], top.row_sizes = work.sizes[4], right.col_sizes = top.col_sizes = work.sizes[5];
  }
  auto const parts_of = [](Batch<T> const& x) {
    return gpu::Grid{.blocks = x.count * qr_chunks(x.rows) * ((x.cols + qr_columns_of_block - 1) / qr_columns_of_block),
                     .threads = qr_blocked_threads,
                     .shared_bytes = 4 * qr_blocked_threads};
  };
  auto const scale = [&](Batch<T> const& x, bool of_right) {
    if (x.empty()) return;
    auto const matrices = gpu::matrices_of(x);
    machine.run(qr_measure_kernel, parts_of(x), QrScaleArguments<D>{.a = matrices, .largest = work.largest, .back = false}, dtype_of<T>);
    machine.run(gels_scale_kernel, parts_of(x),
                GelsScale<D>{.a = matrices, .largest = work.largest, .scales = work.scales, .right = of_right}, dtype_of<T>);
  };
  GelsArguments<D> const args{.f = gpu::matrices_of(f),
                              .b = gpu::matrices_of(task.b),
                              .w = gpu::matrices_of(right),
                              .info = task.info,
                              .wide = wide,
                              .scales = work.scales};
  machine.run(gels_bring_kernel, parts_of(right), args, dtype_of<T>);
  scale(f, false);
  scale(right, true);
  if (q > 0) {
    geqrf_large<T>(machine, {.a = f, .tau = tau});
    if (columns > 0) {
      ReflectorsTask<T> const reflectors{
          .lower = true, .adjoint = !wide, .job = ReflectorsJob::apply, .a = f, .tau = tau, .c = right, .shift = 0};
      TrsmTask<T> const triangle{.uplo = wide ? Uplo::lower : Uplo::upper,
                                 .diag = Diag::non_unit,
                                 .alpha = T(1),
                                 .a = wide ? conjugate_transposed(square) : square,
                                 .b = top};
      if (!wide) reflectors_by_panels<T>(machine, reflectors, 0);
      machine.trsm(triangle);
      if (wide) reflectors_by_panels<T>(machine, reflectors, 0);
    }
  }
  auto grid = parts_of(right);
  if (columns == 0) grid.blocks = count * qr_chunks(p);
  machine.run(gels_give_kernel, grid, args, dtype_of<T>);
}

/// gels of matrices of any size, as many at a time as the workspace holds.
template <typename T, Machine<T> M>
void gels_large(M& machine, GelsTask<T> task) {
  // Matrices of one size may get sizes here: see gpu::matrices_of.
  if (Batch<T>& a = task.a; a.data && !a.pointers && !a.ragged() && !a.row_strides && !a.col_strides)
    a.data = a.matrix(0), a.row_offset = a.col_offset = 0;
  std::int64_t const m = task.a.rows, n = task.a.cols, columns = task.b.cols, count = task.a.count;
  bool const ragged = task.a.ragged() || task.b.ragged();
  machine.clear(task.info, count);
  if (n == 0) return;
  auto const bytes = [&](std::int64_t some) { return bytes_of<GelsWorkspace<T>>(std::max(m, n), std::min(m, n), columns, some, ragged); };
  std::int64_t const some = most_at_once(count, reflectors_workspace, bytes(1));
  auto memory = machine.memory(bytes(some));
  for (std::int64_t b = 0; b < count; b += some) {
    std::int64_t const here = std::min(some, count - b);
    GelsTask<T> const part{.a = matrices(task.a, b, here), .b = matrices(task.b, b, here), .info = task.info ? task.info + b : nullptr};
    // A ragged batch may have both shapes.
    if (m >= n || ragged) gels_of_shape(machine, part, false, memory.data());
    if (m < n || ragged) gels_of_shape(machine, part, true, memory.data());
  }
}

}  // namespace myriad
