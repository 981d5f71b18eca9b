#pragma once
/// pinv, gelsd, matrix_rank, cond and norm2 by gesvd, for matrices of any size: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/arena.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "runtime/views.hpp"
#include "svd/by_svd_config.cuh"
#include "svd/by_svd_task.hpp"
#include "svd/svd.hpp"

namespace myriad {

inline constexpr gpu::KernelName by_svd_largest_kernel{"svd/by_svd", "by_svd_largest"};
inline constexpr gpu::KernelName by_svd_scales_kernel{"svd/by_svd", "by_svd_scales"};
inline constexpr gpu::KernelName by_svd_load_kernel{"svd/by_svd", "by_svd_load"};
inline constexpr gpu::KernelName by_svd_numbers_kernel{"svd/by_svd", "by_svd_numbers"};
inline constexpr gpu::KernelName by_svd_divide_kernel{"svd/by_svd", "by_svd_divide"};
inline constexpr gpu::KernelName by_svd_write_kernel{"svd/by_svd", "by_svd_write"};

/// Bytes of workspace beside that of gesvd, which limit the number of matrices at a time, but at least one.
constexpr std::int64_t by_svd_workspace = std::int64_t{1} << 30;

/// Warps per matrix that search for its largest element.
constexpr int by_svd_parts(std::int64_t m, std::int64_t n) { return static_cast<int>(std::clamp<std::int64_t>(m * n / 4096, 1, 64)); }

/// Sizes of a call: of every matrix, or upper bounds.
struct BySvdPlan {
  std::int64_t m, n, k;
  std::int64_t columns;  ///< right-hand sides
  bool ragged, solves, has_b, residuals;
  int parts;

  template <typename T>
  explicit BySvdPlan(BySvdTask<T> const& task)
      : m(task.a.rows),
        n(task.a.cols),
        k(std::min(m, n)),
        columns(!task.solves() ? 0
                : task.has_b() ? task.b.cols
                               : m),
        ragged(task.a.ragged() || task.x.ragged()),
        solves(task.solves()),
        has_b(task.has_b()),
        residuals(task.residuals && (ragged || m > n)),
        parts(by_svd_parts(m, n)) {}
};

template <typename T>
struct BySvdWorkspace {
  std::int64_t* sizes;
  Real<T>*largest, *scales, *values;
  T *a, *b, *uh, *v, *products, *quotients, *solutions;

  BySvdWorkspace(Arena& arena, BySvdPlan const& p, std::int64_t count)
      : sizes(arena.take<std::int64_t>(p.ragged ? 4 * count : 0)),
        largest(arena.take<Real<T>>(p.parts * count)),
        scales(arena.take<Real<T>>((p.has_b ? 1 + p.columns : 1) * count)),
        values(arena.take<Real<T>>(p.k * count)),
        a(arena.take<T>(p.m * p.n * count)),
        b(arena.take<T>(p.has_b ? p.m * p.columns * count : 0)),
        uh(arena.take<T>(p.solves ? p.k * p.m * count : 0)),
        v(arena.take<T>(p.solves ? p.n * p.k * count : 0)),
        products(arena.take<T>(p.has_b ? p.k * p.columns * count : 0)),
        quotients(p.has_b ? arena.take<T>(p.k * p.columns * count) : uh),
        solutions(p.has_b ? arena.take<T>(p.n * p.columns * count) : a) {}  // after gesvd nothing reads A
};

/// The matrices of a part of the batch: scaled copies A = U diag(s) V^H and B, then X = V (diag(1 / s) (U^H B)) and the residuals B - U
/// (U^H B), both without the singular values that do not count.
template <typename T, Machine<T> M, typename Decompose>
void by_svd_part(M& machine, Decompose const& decompose, BySvdTask<T> const& task, BySvdPlan const& plan, void* memory) {
  using D = gpu::DeviceElement<T>;
  std::int64_t const count = task.a.count;
  auto const work = placed<BySvdWorkspace<T>>(memory, plan, count);
  enum Size { m, n, k, columns };
  std::int64_t const bounds[] = {plan.m, plan.n, plan.k, plan.columns};
  auto const sizes = [&](Size size) { return plan.ragged ? work.sizes + size * count : nullptr; };
  auto const workspace = [&](T* data, Size rows, Size cols) {
    Batch<T> out = batch(data, bounds[rows], bounds[cols], {.count = count});
    out.row_sizes = sizes(rows);
    out.col_sizes = sizes(cols);
    return out;
  };
  Batch<T> const a = workspace(work.a, m, n), b = workspace(work.b, m, columns), uh = workspace(work.uh, k, m), v = workspace(work.v, n, k);
  Batch<T> const products = workspace(work.products, k, columns), quotients = workspace(work.quotients, k, columns);
  Batch<T> const solutions = workspace(work.solutions, n, columns);
  Batch<Real<T>> values = vectors(work.values, plan.k, count);
  values.row_sizes = sizes(k);
  Batch<T const> right_sides = task.b;
  right_sides.rows = plan.m;
  BySvd<D> const args{.a = gpu::matrices_of(task.a),
                      .b = gpu::matrices_of(right_sides),
                      .x = gpu::matrices_of(task.x),
                      .s = gpu::matrices_of(task.s),
                      .cutoff = task.cutoff,
                      .rank = task.rank,
                      .cond = task.cond,
                      .norm2 = task.norm2,
                      .residuals = plan.residuals,
                      .parts = plan.parts,
                      .largest = work.largest,
                      .scales = work.scales,
                      .sizes = reinterpret_cast<simt::Index*>(sizes(m)),
                      .scaled_a = gpu::matrices_of(a),
                      .scaled_b = gpu::matrices_of(plan.has_b ? b : Batch<T>{}),
                      .values = gpu::matrices_of(values),
                      .products = gpu::matrices_of(products),
                      .quotients = gpu::matrices_of(quotients),
                      .solutions = gpu::matrices_of(solutions)};
  /// A warp per item
  auto const launch = [&](gpu::KernelName const& kernel, std::int64_t warps) {
    constexpr std::int64_t per_block = by_svd_threads / 32;
    machine.run(kernel, {.blocks = (warps + per_block - 1) / per_block, .threads = by_svd_threads}, args, dtype_of<T>);
  };
  launch(by_svd_largest_kernel, count * std::max<std::int64_t>(plan.parts, plan.has_b ? plan.columns : 0));
  launch(by_svd_scales_kernel, (count + 31) / 32);
  if (plan.k > 0) {
    launch(by_svd_load_kernel, count * std::max({plan.m, plan.n, plan.columns}));
    SvdJob const job = plan.solves ? SvdJob::thin : SvdJob::values;
    decompose(GesvdTask<T>{.job = job,
                           .a = a,
                           .s = values,
                           .u = plan.solves ? conjugate_transposed(uh) : Batch<T>{},
                           .vt = plan.solves ? conjugate_transposed(v) : Batch<T>{},
                           .info = task.info});
  } else if (task.info)
    machine.clear(task.info, count);
  if (task.rank || task.cond || task.norm2 || task.has_s()) launch(by_svd_numbers_kernel, count);
  if (plan.columns == 0 || plan.n == 0) return;
  if (plan.k > 0) {
    auto const multiply = [&](T alpha, Batch<T const> const& left, Batch<T const> const& right, T beta, Batch<T> const& to) {
      machine.gemm_shared(GemmTask<T>{.alpha = alpha, .a = left, .b = right, .beta = beta, .c = to});
    };
    if (plan.has_b) multiply(T(1), uh, b, T(0), products);
    launch(by_svd_divide_kernel, count * plan.columns);
    multiply(T(1), v, quotients, T(0), solutions);
    if (plan.residuals) multiply(T(-1), conjugate_transposed(uh), products, T(1), b);
  }
  launch(by_svd_write_kernel, count * plan.columns);
}

/// For as many matrices at a time as `workspace` bytes hold. decompose(GesvdTask) computes singular value decompositions on the machine.
template <typename T, Machine<T> M, typename Decompose>
void by_svd(M& machine, Decompose const& decompose, BySvdTask<T> const& task, std::int64_t workspace = by_svd_workspace) {
  std::int64_t const all = task.a.count;
  if (all == 0) return;
  BySvdPlan const plan(task);
  std::int64_t const some = most_at_once(all, workspace, bytes_of<BySvdWorkspace<T>>(plan, std::int64_t{1}));
  auto memory = machine.memory(bytes_of<BySvdWorkspace<T>>(plan, some));
  for (std::int64_t q = 0; q < all; q += some) by_svd_part(machine, decompose, task.part(q, std::min(some, all - q)), plan, memory.data());
}

}  // namespace myriad
