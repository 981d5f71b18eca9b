#pragma once
/// gebrd, orgbr and ormbr of matrices of any size: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/arena.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "reflectors/reflectors_by_panels.hpp"
#include "runtime/views.hpp"
#include "svd/bidiagonal/bidiagonal.hpp"
#include "svd/bidiagonal/gebrd_panels_config.cuh"
#include "svd/bidiagonal/gebrd_plan.hpp"

namespace myriad {

inline constexpr gpu::KernelName gebrd_block_kernel{"svd/bidiagonal/gebrd_block"};
inline constexpr gpu::KernelName gebrd_measure_kernel{"svd/bidiagonal/gebrd_panels", "gebrd_measure"};
inline constexpr gpu::KernelName gebrd_load_kernel{"svd/bidiagonal/gebrd_panels", "gebrd_load"};
inline constexpr gpu::KernelName gebrd_store_kernel{"svd/bidiagonal/gebrd_panels", "gebrd_store"};
inline constexpr gpu::KernelName gebrd_step_kernel{"svd/bidiagonal/gebrd_panels", "gebrd_step"};
inline constexpr gpu::KernelName gebrd_stream_kernel{"svd/bidiagonal/gebrd_panels", "gebrd_stream"};

/// Workspace of gebrd by panels, for m-by-n matrices, m >= n.
template <typename T>
struct GebrdWorkspace {
  std::int64_t ld;
  T *a, *left, *right, *parts, *row, *left_sums, *right_sums, *tauq, *taup;
  Real<T>*d, *e, *largest;

  GebrdWorkspace(Arena& arena, std::int64_t m, std::int64_t n, std::int64_t count, std::int64_t blocks)
      : ld((m + 31) / 32 * 32),
        a(arena.take<T>(ld * n * count)),
        left(arena.take<T>(ld * 2 * gebrd_width * count)),
        right(arena.take<T>(n * 2 * gebrd_width * count)),
        parts(arena.take<T>((n + gebrd_chunk - 1) / gebrd_chunk * ld * count)),
        row(arena.take<T>(n * count)),
        left_sums(arena.take<T>(2 * ((m + gebrd_slab - 1) / gebrd_slab) * 2 * gebrd_width * count)),
        right_sums(arena.take<T>((n + gebrd_chunk - 1) / gebrd_chunk * 2 * gebrd_width * count)),
        tauq(arena.take<T>(n * count)),
        taup(arena.take<T>(n * count)),
        d(arena.take<Real<T>>(n * count)),
        e(arena.take<Real<T>>(n * count)),
        largest(arena.take<Real<T>>(blocks * count)) {}
};

namespace detail {

template <typename T>
GebrdTask<T> gebrd_part(GebrdTask<T> const& task, std::int64_t b, std::int64_t count) {
  return {.a = matrices(task.a, b, count),
          .d = matrices(task.d, b, count),
          .e = matrices(task.e, b, count),
          .tauq = matrices(task.tauq, b, count),
          .taup = matrices(task.taup, b, count)};
}
template <typename T>
GebrdArguments<gpu::DeviceElement<T>> gebrd_arguments(GebrdTask<T> const& task, int others) {
  GebrdArguments<gpu::DeviceElement<T>> args{.a = gpu::matrices_of(task.a),
                                             .d = gpu::matrices_of(task.d),
                                             .e = gpu::matrices_of(task.e),
                                             .tauq = gpu::matrices_of(task.tauq),
                                             .taup = gpu::matrices_of(task.taup),
                                             .others = {},
                                             .rest = {}};
  args.others.count = others;
  for (int k = 0; k < others; ++k) {
    GebrdBlock const& c = gebrd_blocks(sizeof(T), is_complex<T>).first[k];
    args.others.rows[k] = static_cast<short>(c.rows());
    args.others.columns[k] = static_cast<short>(c.columns());
  }
  return args;
}

}  // namespace detail

/// gebrd by panels, for matrices that the first `in_blocks` kernels of blocks do not hold, until the last of these holds what is left. A
/// step of a panel reads what is left of the matrix once; a product changes it after each panel.
template <typename T, Machine<T> M>
void gebrd_by_panels(M& machine, GebrdTask<T> const& task, int in_blocks) {
  bool const ragged = task.a.ragged();
  GebrdBlock const* const last = in_blocks > 0 ? gebrd_blocks(sizeof(T), is_complex<T>).first + in_blocks - 1 : nullptr;
  using D = gpu::DeviceElement<T>;
  using Workspace = GebrdWorkspace<T>;
  constexpr Dtype dtype = dtype_of<T>;
  std::int64_t const m = std::max(task.a.rows, task.a.cols), n = std::min(task.a.rows, task.a.cols), pairs = 2 * gebrd_width;
  auto const blocks_of = [&](std::int64_t count) {
    return std::max<std::int64_t>(1, std::min<std::int64_t>(4 * machine.device().multiprocessors / count, (n + 7) / 8));
  };
  std::int64_t const most = most_at_once(task.a.count, reflectors_workspace, bytes_of<Workspace>(m, n, std::int64_t{1}, std::int64_t{1}));
  std::int64_t const parts = (task.a.count + most - 1) / most, some = (task.a.count + parts - 1) / parts;
  auto memory = machine.memory(bytes_of<Workspace>(m, n, some, blocks_of(1)));
  for (std::int64_t b = 0; b < task.a.count; b += some) {
    std::int64_t const count = std::min(some, task.a.count - b), blocks = blocks_of(count);
    auto const space = placed<Workspace>(memory.data(), m, n, count, blocks);
    auto const of_device = [](T* x) { return reinterpret_cast<D*>(x); };
    GebrdPanels<D> work{.batch = detail::gebrd_arguments(detail::gebrd_part(task, b, count), ragged ? in_blocks : 0),
                        .a = of_device(space.a),
                        .ld = space.ld,
                        .rows = static_cast<int>(m),
                        .cols = static_cast<int>(n),
                        .left = of_device(space.left),
                        .right = of_device(space.right),
                        .parts = of_device(space.parts),
                        .row = of_device(space.row),
                        .left_sums = of_device(space.left_sums),
                        .right_sums = of_device(space.right_sums),
                        .tauq = of_device(space.tauq),
                        .taup = of_device(space.taup),
                        .d = space.d,
                        .e = space.e,
                        .largest = space.largest,
                        .blocks = static_cast<int>(blocks),
                        .first = 0,
                        .k = 0,
                        .begins = true};
    GebrdRest<D>& rest = work.batch.rest;
    if (last) rest.rows = last->rows(), rest.columns = last->columns();
    int const steps = rest.steps(static_cast<int>(m), static_cast<int>(n));
    auto const run = [&](gpu::KernelName const& kernel, std::int64_t blocks_of_matrix, std::int64_t bytes) {
      machine.run(kernel, {.blocks = count * blocks_of_matrix, .threads = gebrd_threads, .shared_bytes = bytes}, work, dtype);
    };
    run(gebrd_measure_kernel, blocks, gebrd_step_bytes(sizeof(T)));
    run(gebrd_load_kernel, blocks, gebrd_step_bytes(sizeof(T)));
    auto const a = batch(space.a, m, n, {.ld = space.ld, .stride = space.ld * n, .count = count});
    auto const left = batch(space.left, m, pairs, {.ld = space.ld, .stride = space.ld * pairs, .count = count});
    auto const right = row_major(space.right, n, pairs, {.count = count});
    for (;; work.first += gebrd_width) {
      // Matrices of a ragged batch come to this at different steps.
      if (last && work.first > 0 && work.first < n && (ragged || work.first == steps)) {
        auto args = work.batch;
        args.rest.first = work.first;
        args.rest.a = work.a;
        args.rest.ld = work.ld;
        args.rest.stride = work.ld * n;
        args.rest.largest = work.largest;
        args.rest.parts = work.blocks;
        machine.run(gebrd_block_kernel, {.blocks = count, .threads = last->threads(), .shared_bytes = last->shared_bytes(sizeof(T))}, args,
                    dtype, *last);
      }
      if (work.first >= steps) break;
      std::int64_t const end = std::min<std::int64_t>(work.first + gebrd_width, n);
      for (work.k = work.first; work.k < end; ++work.k) {
        work.begins = true;
        run(gebrd_step_kernel, work.slabs_of_step(), gebrd_step_bytes(sizeof(T)));
        if (work.k + 1 < n) {
          GebrdRows const c = gebrd_stream_plan(sizeof(T), m - work.k);
          std::int64_t const chunks = work.chunks() - (work.k + 1) / gebrd_chunk;
          machine.run(gebrd_stream_kernel, {.blocks = count * chunks, .threads = gebrd_threads, .shared_bytes = c.shared_bytes(sizeof(T))},
                      work, dtype, c);
        }
      }
      work.begins = false;
      run(gebrd_step_kernel, work.slabs_of_step(), gebrd_step_bytes(sizeof(T)));
      if (end == n) break;
      machine.gemm_shared(GemmTask<T>{.alpha = T(-1),
                                      .a = block(left, end, 0, m - end, pairs),
                                      .b = conjugate_transposed(rows(right, end, n - end)),
                                      .beta = T(1),
                                      .c = block(a, end, end, m - end, n - end)},
                          Written::whole);
    }
    run(gebrd_store_kernel, blocks, gebrd_step_bytes(sizeof(T)));
  }
}

/// gebrd: by blocks that hold a matrix, or by panels. In ragged batches each matrix goes the way that it would go alone.
template <typename T, Machine<T> M>
void gebrd_on(M& machine, GebrdTask<T> const& task) {
  if (task.a.empty()) return;
  GebrdBlocks const blocks = gebrd_blocks(sizeof(T), is_complex<T>);
  std::int64_t const shared_bytes = machine.device().shared_memory_per_block;
  auto const plan = [&](std::int64_t m, std::int64_t n) { return gebrd_block_plan(blocks, sizeof(T), m, n, shared_bytes); };
  int const last = plan(task.a.rows, task.a.cols);
  bool const ragged = task.a.ragged();
  // Kernels that the device has room for are the first ones.
  int const all = static_cast<int>(std::count_if(blocks.first, blocks.first + blocks.count,
                                                 [&](GebrdBlock const& c) { return c.shared_bytes(sizeof(T)) <= shared_bytes; }));
  for (int k = ragged ? 0 : last; k <= last && k < all; ++k) {
    GebrdBlock const& c = blocks.first[k];
    machine.run(gebrd_block_kernel, {.blocks = task.a.count, .threads = c.threads(), .shared_bytes = c.shared_bytes(sizeof(T))},
                detail::gebrd_arguments(task, ragged ? k : 0), dtype_of<T>, c);
  }
  if (last >= all) gebrd_by_panels<T>(machine, task, all);
}

namespace detail {

/// The shifts of reflectors that are made as BidiagonalReflectors says.
template <typename T>
void set_shift(ReflectorsTask<T>& reflectors, Vect vect, RaggedSize const& k) {
  if (k.sizes || reflectors.a.row_sizes) {
    reflectors.shift = ReflectorsArguments<T>::by_limit;
    reflectors.limit = k.bound;
    reflectors.limits = k.sizes;
    reflectors.limit_offset = vect == Vect::q ? 0 : 1;
  } else {
    reflectors.shift = static_cast<int>(BidiagonalReflectors{vect, reflectors.a.rows, k.bound}.shift());
  }
}

}  // namespace detail

template <typename T, Machine<T> M>
void orgbr_on(M& machine, OrgbrTask<T> const& task) {
  if (task.a.empty()) return;
  ReflectorsTask<T> reflectors{
      .lower = true, .adjoint = false, .job = ReflectorsJob::form, .a = task.a, .tau = task.tau, .c = task.a, .shift = 0};
  detail::set_shift(reflectors, task.vect, task.k);
  reflectors_by_panels<T>(machine, reflectors, 0);
}

template <typename T, Machine<T> M>
void ormbr_on(M& machine, OrmbrTask<T> const& task) {
  if (task.c.empty()) return;
  ReflectorsTask<T> reflectors{
      .lower = true, .adjoint = task.adjoint, .job = ReflectorsJob::apply, .a = task.a, .tau = task.tau, .c = task.c, .shift = 0};
  detail::set_shift(reflectors, task.vect, task.k);
  if (reflectors.reflectors() > 0) reflectors_by_panels<T>(machine, reflectors, 0);
}

}  // namespace myriad
