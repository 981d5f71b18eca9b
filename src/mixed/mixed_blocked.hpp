#pragma once
/// Systems by factors in single precision and refinement, on a machine (blocked/machine.hpp).
///
/// All refinements are enqueued. Matrices that need no more of them are empty in the batches of the solves, and kernels pass over them;
/// so are, at last, those that have converged in the batch that is solved in double.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "blocked/arena.hpp"
#include "blocked/copy_matrices.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "lu/blocked/lu_blocked.hpp"
#include "mixed/mixed.hpp"
#include "mixed/mixed_config.cuh"
#include "runtime/views.hpp"

namespace myriad {

inline constexpr gpu::KernelName mixed_narrow_kernel{"mixed/mixed", "mixed_narrow"};
inline constexpr gpu::KernelName mixed_step_kernel{"mixed/mixed", "mixed_step"};
inline constexpr gpu::KernelName mixed_residuals_kernel{"mixed/mixed", "mixed_residuals"};
inline constexpr gpu::KernelName mixed_judge_kernel{"mixed/mixed", "mixed_judge"};

/// Workspace for `count` matrices of n rows with so many columns in X. `sizes`: of the matrices that are refined, and of those that are
/// solved in double.
template <typename T>
struct MixedWork {
  using R = Real<T>;
  SingleOf<T>*single, *y;
  T* x;
  R *norms, *residuals, *sizes_of_x, *enough;
  int *iter, *info, *pivots;
  std::int64_t *rows, *columns, *a_rows, *a_columns, *x_rows, *x_columns;

  MixedWork(Arena& arena, std::int64_t n, std::int64_t nrhs, std::int64_t count, bool with_pivots)
      : single(arena.take<SingleOf<T>>(n * n * count)),
        y(arena.take<SingleOf<T>>(n * nrhs * count)),
        x(arena.take<T>(n * nrhs * count)),
        norms(arena.take<R>(stripes(n) * count)),
        residuals(arena.take<R>(stripes(n) * nrhs * count)),
        sizes_of_x(arena.take<R>(stripes(n) * nrhs * count)),
        enough(arena.take<R>(count)),
        iter(arena.take<int>(count)),
        info(arena.take<int>(count)),
        pivots(arena.take<int>(with_pivots ? n * count : 0)) {
    for (std::int64_t** const sizes : {&rows, &columns, &a_rows, &a_columns, &x_rows, &x_columns}) *sizes = arena.take<std::int64_t>(count);
  }
  static std::int64_t stripes(std::int64_t n) { return (n + mixed_stripe - 1) / mixed_stripe; }
};

/// Solves some matrices. Solvers has
///
///     factor(a, pivots, info)     factors in single
///     solve(a, pivots, y)         with these, of matrices some of which are empty
///     solve_in_double(a, pivots, x, info)   as gesv or posv, of matrices some of which are empty
template <typename T, Machine<T> M, typename Solvers>
class Mixed {
  using D = gpu::DeviceElement<T>;
  using R = Real<T>;
  using S = SingleOf<T>;

 public:
  Mixed(M& machine, MixedTask<T> const& task, MixedWork<T> const& work, Solvers& solvers)
      : machine_(machine), task_(task), work_(work), solvers_(solvers), stripes_(MixedWork<T>::stripes(task.a.rows)) {
    std::int64_t const n = task.a.rows, count = task.a.count;
    bool const has_pivots = task.pivots.data || task.pivots.pointers;
    pivots_ = task.hermitian || has_pivots ? task.pivots : vectors(work.pivots, n, count);
    x_ = batch(work.x, n, task.x.cols, {.count = count});
    y_ = batch(work.y, n, task.x.cols, {.count = count});
    single_ = batch(work.single, n, n, {.count = count});
  }

  void solve() {
    bool const ragged = task_.a.ragged() || task_.x.ragged();
    if (ragged) judge(MixedJudge::sizes);
    run(mixed_narrow_kernel, task_.a.count * stripes_, mixed_threads * static_cast<std::int64_t>(sizeof(R)),
        MixedNarrowArguments<D>{.a = gpu::matrices_of(Batch<T const>(task_.a)),
                                .single = gpu::matrices_of(single_),
                                .norms = work_.norms,
                                .stripes = stripes_,
                                .hermitian = task_.hermitian});
    step(MixedStep::begin);
    solvers_.factor(ragged ? with_sizes(single_, work_.rows, work_.rows) : single_, pivots_, work_.info);
    judge(MixedJudge::factors);
    Batch<S> const factors = with_sizes(single_, work_.rows, work_.rows), y = with_sizes(y_, work_.rows, work_.columns);
    for (int round = 0; round <= mixed_rounds_on_gpu; ++round) {
      if (!y.empty()) solvers_.solve(Batch<S const>(factors), pivots_, y);
      step(MixedStep::correct);
      find_residuals();
      judge(round == mixed_rounds_on_gpu ? MixedJudge::last : MixedJudge::round, round);
    }
    step(MixedStep::finish);
    Batch<T> const x = with_sizes(task_.x, work_.x_rows, work_.x_columns);
    solvers_.solve_in_double(with_sizes(task_.a, work_.a_rows, work_.a_columns), task_.pivots, x, work_.info);
    copy_matrices<T>(machine_, x, x, Copied::all, CopiedWhere::nan_in_failed, work_.info);
    judge(MixedJudge::result);
  }

  /// Without factors in single precision
  void solve_in_double() {
    if (!is_same_view(task_.x, task_.b)) copy_matrices<T>(machine_, task_.b, task_.x);
    solvers_.solve_in_double(task_.a, task_.pivots, task_.x, work_.info);
    copy_matrices<T>(machine_, task_.x, task_.x, Copied::all, CopiedWhere::nan_in_failed, work_.info);
    judge(MixedJudge::plain);
  }

 private:
  template <typename U>
  static Batch<U> with_sizes(Batch<U> x, std::int64_t const* rows, std::int64_t const* columns) {
    x.row_sizes = rows;
    x.col_sizes = columns;
    return x;
  }
  /// Kernels stride over their work, so that passing over matrices costs no more than a few blocks for each multiprocessor.
  template <typename Arguments>
  void run(gpu::KernelName const& kernel, std::int64_t blocks, std::int64_t shared_bytes, Arguments const& arguments) {
    std::int64_t const most = std::int64_t{32} * machine_.device().multiprocessors;
    machine_.run(kernel, {.blocks = std::min(blocks, most), .threads = mixed_threads, .shared_bytes = shared_bytes}, arguments,
                 dtype_of<T>);
  }
  /// A warp for each of them
  static std::int64_t by_warps(std::int64_t count) { return (count + mixed_threads / 32 - 1) / (mixed_threads / 32); }

  void step(MixedStep step) {
    run(mixed_step_kernel, by_warps(task_.x.count * task_.x.cols * stripes_), 0,
        MixedStepArguments<D>{.step = step,
                              .b = gpu::matrices_of(task_.b),
                              .x = gpu::matrices_of(x_),
                              .result = gpu::matrices_of(task_.x),
                              .y = gpu::matrices_of(y_),
                              .residuals = work_.residuals,
                              .stripes = stripes_,
                              .iter = work_.iter});
  }
  void find_residuals() {
    std::int64_t const groups = (task_.x.cols + mixed_columns - 1) / mixed_columns;
    run(mixed_residuals_kernel, task_.x.count * groups * stripes_,
        std::int64_t{mixed_threads} * mixed_columns * static_cast<std::int64_t>(sizeof(T)),
        MixedResidualsArguments<D>{.a = gpu::matrices_of(Batch<T const>(task_.a)),
                                   .x = gpu::matrices_of(Batch<T const>(x_)),
                                   .b = gpu::matrices_of(task_.b),
                                   .y = gpu::matrices_of(y_),
                                   .residuals = work_.residuals,
                                   .sizes = work_.sizes_of_x,
                                   .stripes = stripes_,
                                   .iter = work_.iter,
                                   .hermitian = task_.hermitian});
  }
  void judge(MixedJudge judge, int round = 0) {
    auto const of_device = [](std::int64_t* p) { return reinterpret_cast<simt::Index*>(p); };
    run(mixed_judge_kernel, by_warps(task_.a.count), 0,
        MixedJudgeArguments<D>{.judge = judge,
                               .round = round,
                               .a = gpu::matrices_of(Batch<T const>(task_.a)),
                               .x = gpu::matrices_of(Batch<T const>(task_.x)),
                               .norms = work_.norms,
                               .residuals = work_.residuals,
                               .sizes = work_.sizes_of_x,
                               .enough = work_.enough,
                               .stripes = stripes_,
                               .iter = work_.iter,
                               .info = work_.info,
                               .rows = of_device(work_.rows),
                               .columns = of_device(work_.columns),
                               .a_rows = of_device(work_.a_rows),
                               .a_columns = of_device(work_.a_columns),
                               .x_rows = of_device(work_.x_rows),
                               .x_columns = of_device(work_.x_columns),
                               .a_row_offset = task_.a.row_offset,
                               .a_column_offset = task_.a.col_offset,
                               .x_row_offset = task_.x.row_offset,
                               .x_column_offset = task_.x.col_offset,
                               .iter_result = task_.iter,
                               .info_result = task_.info});
  }

  M& machine_;
  MixedTask<T> task_;
  MixedWork<T> work_;
  Solvers& solvers_;
  std::int64_t stripes_;
  Batch<int> pivots_;
  Batch<T> x_;
  Batch<S> y_, single_;
};

template <typename T, Machine<T> M, typename Solvers>
void solve_mixed_blocked(M& machine, MixedTask<T> const& task, Solvers solvers) {
  constexpr bool is_single = std::is_same_v<T, SingleOf<T>>;
  std::int64_t const n = is_single ? 0 : task.a.rows, nrhs = is_single ? 0 : task.x.cols;
  bool const with_pivots = !is_single && !task.hermitian && !task.pivots.data && !task.pivots.pointers;
  std::int64_t const some = most_at_once(task.a.count, mixed_workspace, bytes_of<MixedWork<T>>(n, nrhs, std::int64_t{1}, with_pivots));
  auto memory = machine.memory(bytes_of<MixedWork<T>>(n, nrhs, some, with_pivots));
  auto const work = placed<MixedWork<T>>(memory.data(), n, nrhs, some, with_pivots);
  for (std::int64_t first = 0; first < task.a.count; first += some) {
    std::int64_t const count = std::min(some, task.a.count - first);
    auto const part = [&](auto const& x) { return x.data || x.pointers ? matrices(x, first, count) : x; };
    MixedTask<T> const task_of_part{.a = part(task.a),
                                    .pivots = part(task.pivots),
                                    .b = part(task.b),
                                    .x = part(task.x),
                                    .iter = task.iter ? task.iter + first : nullptr,
                                    .info = task.info ? task.info + first : nullptr,
                                    .hermitian = task.hermitian};
    Mixed<T, M, Solvers> mixed(machine, task_of_part, work, solvers);
    if constexpr (is_single)
      mixed.solve_in_double();
    else
      mixed.solve();
  }
}

}  // namespace myriad
