#pragma once
/// Least squares of matrices of any size: see blocked/machine.hpp.

#include "qr/blocked/q_blocked.hpp"
#include "qr/blocked/qr_blocked.hpp"
#include "trsm/trsm.hpp"

namespace myriad {

/// Workspace of gels for matrices F of p rows and q columns.
template <typename T>
struct GelsWorkspace {
  T *right, *tau, *factors;
  unsigned* largest;
  short* exponents;
  std::int64_t* sizes[6]{};  ///< of ragged batches: see GelsSizes

  GelsWorkspace(Arena& arena, std::int64_t p, std::int64_t q, std::int64_t columns, std::int64_t count, bool ragged)
      : right(arena.take<T>(p * columns * count)),
        tau(arena.take<T>(q * count)),
        factors(arena.take<T>(block_reflector_panels<T>(q) * block_reflector_square<T> * count)),
        largest(arena.take<unsigned>(count * qr_chunks(p) * std::max(q, columns))),
        exponents(arena.take<short>(2 * count)) {
    for (std::int64_t** array = sizes; ragged && array != sizes + 6; ++array) *array = arena.take<std::int64_t>(count);
  }
};

/// Tall and square matrices, or, `wide`, the others, as QrPassesArguments says. X comes about in the workspace: that of a matrix without
/// full rank is not computed, and its B stays.
template <typename T, Machine<T> M>
void gels_of_shape(M& machine, GelsTask<T> task, bool wide, void* memory) {
  using D = gpu::DeviceElement<T>;
  bool const ragged = task.a.ragged() || task.b.ragged();
  Batch<T> f = wide ? conjugate_transposed(task.a) : task.a;
  // With conjugate right-hand sides the problem of the conjugate has the conjugate solution.
  task.b.conjugated = task.b.conjugated != f.conjugated;
  f.conjugated = false;
  std::int64_t const p = f.rows, q = std::min(f.rows, f.cols), columns = task.b.cols, count = f.count;
  auto const work = placed<GelsWorkspace<T>>(memory, p, q, columns, count, ragged);
  Batch<T> right = batch(work.right, p, columns, {.count = count});
  auto const run = [&](QrPass pass, Batch<T> const& a, gpu::Grid const& grid, bool of_right = false) {
    auto const sizes = [&](int number) { return reinterpret_cast<simt::Index*>(work.sizes[number]); };
    machine.run(qr_passes_kernel, grid,
                QrPassesArguments<D>{.a = gpu::matrices_of(a),
                                     .pass = pass,
                                     .largest = work.largest,
                                     .exponents = work.exponents,
                                     .right = of_right,
                                     .wide = wide,
                                     .b = gpu::matrices_of(task.b),
                                     .w = gpu::matrices_of(right),
                                     .sizes = {sizes(0), sizes(1), sizes(2), sizes(3), sizes(4), sizes(5)},
                                     .info = task.info},
                dtype_of<T>);
  };
  if (ragged) run(QrPass::sizes, f, {.blocks = (count + qr_blocked_threads - 1) / qr_blocked_threads, .threads = qr_blocked_threads});
  f.cols = q;
  Batch<T> square = block(f, 0, 0, q, q), top = rows(right, 0, q);
  if (ragged) {
    f.row_sizes = work.sizes[0], f.col_sizes = square.col_sizes = work.sizes[1], square.row_sizes = work.sizes[2];
    right.row_sizes = work.sizes[3], top.row_sizes = work.sizes[4], right.col_sizes = top.col_sizes = work.sizes[5];
  }
  auto const scale = [&](Batch<T> const& x, bool of_right) {
    if (x.empty()) return;
    run(QrPass::measure, x, qr_parts_grid(x));
    run(QrPass::matrices, x, qr_parts_grid(x), of_right);
  };
  run(QrPass::load, f, qr_parts_grid(right));
  scale(f, false);
  scale(right, true);
  if (q > 0) {
    bool const by_block_reflectors = columns > 0 && applies_block_reflectors(p, columns);
    Batch<T> const tau = vectors(work.tau, q, count);
    GeqrfTask<T> const factorization{.a = f, .tau = tau};
    if (by_block_reflectors) {
      using Qr = QrByPanels<T, M>;
      auto of_qr = machine.memory(Qr::bytes(machine, factorization, count, true));
      Qr(machine, factorization, work.factors, of_qr.data()).run();
    } else {
      geqrf_large<T>(machine, factorization);
    }
    if (columns > 0) {
      auto const multiply = [&] {
        OrmqrTask<T> const product{.adjoint = !wide, .a = f, .tau = tau, .c = right};
        by_block_reflectors ? apply_panels<T>(machine, product, work.factors) : apply_wide_panels<T>(machine, product);
      };
      if (!wide) multiply();
      machine.trsm_shared(TrsmTask<T>{.uplo = wide ? Uplo::lower : Uplo::upper,
                                      .diag = Diag::non_unit,
                                      .alpha = T(1),
                                      .a = wide ? conjugate_transposed(square) : square,
                                      .b = top});
      if (wide) multiply();
    }
  }
  auto grid = qr_parts_grid(right);
  if (columns == 0) grid.blocks = count * qr_chunks(p);
  run(QrPass::store, f, grid);
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
  std::int64_t const some = most_at_once(count, qr_workspace, bytes(1));
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
