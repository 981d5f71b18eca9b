#pragma once
/// Equilibration, refinement and backward errors of matrices of any size. See blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/arena.hpp"
#include "blocked/copy_matrices.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "lu/lu.hpp"
#include "refine/refine.hpp"
#include "refine/refine_large_config.cuh"
#include "runtime/views.hpp"

namespace myriad {

/// The kernels of refine_large.cuh
inline constexpr gpu::KernelName geequ_sizes_kernel{"refine/refine_large", "geequ_sizes"};
inline constexpr gpu::KernelName geequ_write_kernel{"refine/refine_large", "geequ_write"};
inline constexpr gpu::KernelName residuals_kernel{"refine/refine_large", "residuals"};
inline constexpr gpu::KernelName backward_error_write_kernel{"refine/refine_large", "backward_error_write"};
/// The kernels of refine_gerfs.cuh
inline constexpr gpu::KernelName gerfs_judge_kernel{"refine/refine_gerfs", "gerfs_judge"};
inline constexpr gpu::KernelName gerfs_correct_kernel{"refine/refine_gerfs", "gerfs_correct"};
inline constexpr gpu::KernelName gerfs_sizes_kernel{"refine/refine_gerfs", "gerfs_sizes"};
inline constexpr gpu::KernelName gerfs_estimate_kernel{"refine/refine_gerfs", "gerfs_estimate"};

/// Bytes of workspace of gerfs: as many matrices at a time as that holds, but at least one.
constexpr std::int64_t gerfs_workspace = std::int64_t{1} << 30;

constexpr std::int64_t refine_stripes(std::int64_t rows) { return (rows + refine_stripe - 1) / refine_stripe; }

/// Sizes of rows, then of columns with the rows scaled, are where the scalings will be.
template <typename T, Machine<T> M>
void geequ_blocked(M& machine, GeequTask<T> const& task) {
  using D = gpu::DeviceElement<T>;
  using R = Real<T>;
  auto const find = [&](Batch<T const> const& a, Batch<R const> const& weights, Batch<R> const& sizes) {
    LineSizesArguments<D> const args{.a = gpu::matrices_of(a),
                                     .weights = gpu::matrices_of(weights),
                                     .sizes = gpu::matrices_of(sizes),
                                     .stripes = refine_stripes(a.rows)};
    machine.run(geequ_sizes_kernel,
                {.blocks = a.count * args.stripes, .threads = refine_threads, .shared_bytes = refine_threads * sizeof(R)}, args,
                dtype_of<T>);
  };
  find(task.a, {}, task.r);
  find(transposed(task.a), task.r, task.c);
  machine.run(geequ_write_kernel, {.blocks = task.a.count, .threads = refine_threads, .shared_bytes = 4 * refine_threads * sizeof(R)},
              GeequWriteArguments<D>{.r = gpu::matrices_of(task.r),
                                     .c = gpu::matrices_of(task.c),
                                     .rowcnd = task.rowcnd,
                                     .colcnd = task.colcnd,
                                     .amax = task.amax,
                                     .info = task.info},
              dtype_of<T>);
}

/// b - A x, and errors of stripes. `residual` and `scale` may be empty.
template <typename T, Machine<T> M>
void find_residuals(M& machine, Batch<T const> const& a, Batch<T const> const& x, Batch<T const> const& b, Batch<T> const& residual,
                    Batch<Real<T>> const& scale, Real<T>* worst, int const* active = nullptr, bool plain = false) {
  using D = gpu::DeviceElement<T>;
  ResidualsArguments<D> const args{.a = gpu::matrices_of(a),
                                   .x = gpu::matrices_of(x),
                                   .b = gpu::matrices_of(b),
                                   .residual = gpu::matrices_of(residual),
                                   .scale = gpu::matrices_of(scale),
                                   .worst = worst,
                                   .stripes = refine_stripes(a.rows),
                                   .active = active,
                                   .plain = plain};
  machine.run(residuals_kernel,
              {.blocks = x.count * x.cols * args.stripes,
               .threads = refine_threads,
               .shared_bytes = refine_threads * static_cast<std::int64_t>(sizeof(RowResidual<D>))},
              args, dtype_of<T>);
}

template <typename T, Machine<T> M>
void backward_error_blocked(M& machine, BackwardErrorTask<T> const& task) {
  using D = gpu::DeviceElement<T>;
  std::int64_t const stripes = refine_stripes(task.a.rows), columns = task.b.cols * task.b.count;
  auto memory = machine.memory(stripes * columns * static_cast<std::int64_t>(sizeof(Real<T>)));
  auto* const worst = static_cast<Real<T>*>(memory.data());
  find_residuals<T>(machine, task.a, task.x, task.b, {}, {}, worst);
  machine.run(backward_error_write_kernel, {.blocks = (columns + refine_threads - 1) / refine_threads, .threads = refine_threads},
              BackwardErrorWriteArguments<D>{
                  .berr = gpu::matrices_of(task.berr), .b = gpu::matrices_of(task.b), .worst = worst, .stripes = stripes},
              dtype_of<T>);
}

template <typename T>
struct GerfsWork {
  T *x, *kept, *residual;
  Real<T>*scale, *worst, *best, *last;
  int *active, *place;
  signed char* signs;
  std::int64_t* sizes;  ///< four for each matrix

  GerfsWork(Arena& arena, std::int64_t n, std::int64_t columns, std::int64_t count)
      : x(arena.take<T>(n * columns * count)),
        kept(arena.take<T>(n * columns * count)),
        residual(arena.take<T>(n * columns * count)),
        scale(arena.take<Real<T>>(n * columns * count)),
        worst(arena.take<Real<T>>(refine_stripes(n) * columns * count)),
        best(arena.take<Real<T>>(columns * count)),
        last(arena.take<Real<T>>(columns * count)),
        active(arena.take<int>(columns * count)),
        place(arena.take<int>(columns * count)),
        signs(arena.take<signed char>(is_complex<T> ? 0 : n * columns * count)),
        sizes(arena.take<std::int64_t>(4 * count)) {}
};

/// Refinement of some matrices. All sweeps are enqueued; matrices whose columns have all converged are empty for the solves of later ones.
template <typename T, Machine<T> M>
class Gerfs {
  using D = gpu::DeviceElement<T>;
  using R = Real<T>;

 public:
  Gerfs(M& machine, GerfsTask<T> const& task, GerfsWork<T> const& work) : machine_(machine), task_(task), work_(work) {
    x_ = workspace_like(task.x, work.x);
    kept_ = workspace_like(task.x, work.kept);
    residual_ = workspace_like(task.x, work.residual);
    scale_ = workspace_like(task.x, work.scale);
    a_ = task.op == Op::none ? task.a : task.op == Op::transpose ? transposed(task.a) : conjugate_transposed(task.a);
    columns_ = {.x = gpu::matrices_of(x_),
                .kept = gpu::matrices_of(kept_),
                .residual = gpu::matrices_of(residual_),
                .scale = gpu::matrices_of(scale_),
                .worst = work.worst,
                .stripes = refine_stripes(task.x.rows),
                .best = work.best,
                .last = work.last,
                .active = work.active,
                .place = work.place,
                .signs = work.signs,
                .ferr = gpu::matrices_of(task.ferr),
                .berr = gpu::matrices_of(task.berr)};
  }

  void refine() {
    sweep(Sweeps::doubled);
    sweep(Sweeps::plain);
    copy_matrices<T>(machine_, kept_, task_.x);
    if (given(task_.ferr)) bound();
  }

 private:
  /// Up to five corrections of X as it was given.
  void sweep(Sweeps sweeps) {
    constexpr int most_sweeps = 5;
    bool const plain = sweeps == Sweeps::plain;
    copy_matrices<T>(machine_, task_.x, x_);
    if (plain) run(gerfs_judge_kernel, GerfsStepArguments<D>{.columns = columns_, .sweeps = sweeps, .sweep = -1});
    for (int sweep = 0;; ++sweep) {
      int const* const active = plain || sweep > 0 ? work_.active : nullptr;
      find_residuals<T>(machine_, a_, x_, task_.b, residual_, {}, work_.worst, active, plain);
      GerfsStepArguments<D> const step{.columns = columns_, .sweeps = sweeps, .sweep = sweep};
      run(gerfs_judge_kernel, step);
      if (sweep == most_sweeps) break;
      solve(task_.op);
      run(gerfs_correct_kernel, step);
    }
  }
  /// The norm of |op(A)^-1| (|r| + (n + 1) eps (|op(A)| |x| + |b|)), as in LAPACK.
  void bound() {
    Op const adjoint = task_.op == Op::none ? Op::conjugate_transpose : Op::none;
    Op const plain = task_.op == Op::none ? Op::none : Op::conjugate_transpose;
    find_residuals<T>(machine_, a_, kept_, task_.b, residual_, scale_, work_.worst);
    estimate(EstimateStep::start);
    solve(adjoint);
    estimate(EstimateStep::first);
    solve(plain);
    constexpr int most_units = 4;
    for (int unit = 0; unit < most_units; ++unit) {
      estimate(EstimateStep::unit, unit > 0);
      solve(adjoint);
      estimate(EstimateStep::next);
      if (unit + 1 < most_units) solve(plain);
    }
    estimate(EstimateStep::alternating);
    solve(adjoint);
    estimate(EstimateStep::last);
  }
  void estimate(EstimateStep step, bool again = false) {
    run(gerfs_estimate_kernel, EstimateArguments<D>{.columns = columns_, .step = step, .again = again},
        refine_threads * static_cast<std::int64_t>(sizeof(R) + sizeof(int)));
  }
  /// Replaces the residuals of matrices that have an active column.
  void solve(Op op) {
    std::int64_t const count = task_.x.count;
    std::int64_t* const sizes = work_.sizes;
    auto const of_device = [](std::int64_t* p) { return reinterpret_cast<simt::Index*>(p); };
    Batch<int const> shape;  // the sizes of X without its elements
    shape.rows = x_.rows, shape.cols = x_.cols, shape.count = count;
    shape.row_sizes = x_.row_sizes, shape.col_sizes = x_.col_sizes;
    shape.row_offset = x_.row_offset, shape.col_offset = x_.col_offset;
    machine_.run(gerfs_sizes_kernel, {.blocks = (count + refine_threads - 1) / refine_threads, .threads = refine_threads},
                 GerfsSizesArguments{.x = gpu::matrices_of(shape),
                                     .active = work_.active,
                                     .factor_row_offset = task_.af.row_offset,
                                     .factor_col_offset = task_.af.col_offset,
                                     .row_offset = residual_.row_offset,
                                     .col_offset = residual_.col_offset,
                                     .factor_rows = of_device(sizes),
                                     .factor_cols = of_device(sizes + count),
                                     .rows = of_device(sizes + 2 * count),
                                     .cols = of_device(sizes + 3 * count)},
                 dtype_of<T>);
    Batch<T const> factors = task_.af;
    factors.row_sizes = sizes;
    factors.col_sizes = sizes + count;
    Batch<T> right = residual_;
    right.row_sizes = sizes + 2 * count;
    right.col_sizes = sizes + 3 * count;
    machine_.getrs(GetrsTask<T>{.op = op, .a = factors, .pivots = task_.pivots, .b = right});
  }
  template <typename Arguments>
  void run(gpu::KernelName const& kernel, Arguments const& arguments, std::int64_t shared_bytes = 0) {
    machine_.run(kernel, {.blocks = task_.x.count * task_.x.cols, .threads = refine_threads, .shared_bytes = shared_bytes}, arguments,
                 dtype_of<T>);
  }

  M& machine_;
  GerfsTask<T> task_;
  GerfsWork<T> work_;
  Batch<T const> a_;
  Batch<T> x_, kept_, residual_;
  Batch<R> scale_;
  GerfsArguments<D> columns_;
};

template <typename T, Machine<T> M>
void gerfs_blocked(M& machine, GerfsTask<T> const& task) {
  std::int64_t const n = task.x.rows, columns = task.x.cols;
  std::int64_t const some = most_at_once(task.x.count, gerfs_workspace, bytes_of<GerfsWork<T>>(n, columns, std::int64_t{1}));
  auto memory = machine.memory(bytes_of<GerfsWork<T>>(n, columns, some));
  auto const work = placed<GerfsWork<T>>(memory.data(), n, columns, some);
  for (std::int64_t first = 0; first < task.x.count; first += some) {
    std::int64_t const count = std::min(some, task.x.count - first);
    auto const part = [&](auto const& batch) { return given(batch) ? matrices(batch, first, count) : batch; };
    Gerfs<T, M>(machine,
                GerfsTask<T>{.op = task.op,
                             .a = part(task.a),
                             .af = part(task.af),
                             .pivots = part(task.pivots),
                             .b = part(task.b),
                             .x = part(task.x),
                             .ferr = part(task.ferr),
                             .berr = part(task.berr)},
                work)
        .refine();
  }
}

}  // namespace myriad
