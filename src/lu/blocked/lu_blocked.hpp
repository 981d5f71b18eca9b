#pragma once
/// LU of matrices of more than 32 rows and columns, and what is made of it, on a machine (blocked/machine.hpp).
///
/// A block factors up to lu_rows_limit rows. Larger matrices go by panels, of as many columns as are subtracted from the trailing matrix at
/// once. A cluster of blocks factors panels of up to lu_cluster_most rows. Beyond, and on GPUs without clusters, the left part of these
/// columns is factored, its interchanges and its triangle are applied to the right part, its product is subtracted from that, and the right
/// part is factored; and so on down to panels that one kernel factors. Panels begin at multiples of their width.
///
/// The conjugate of a matrix has the conjugate factors and the same pivots: factors of a conjugated view are those of what is stored.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <tuple>

#include "blocked/arena.hpp"
#include "blocked/by_sizes.hpp"
#include "blocked/copy_matrices.hpp"
#include "blocked/diagonal_sizes.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "lu/blocked/lu_blocked_plan.hpp"
#include "lu/blocked/lu_determinant_config.cuh"
#include "lu/blocked/lu_swap_rows_config.cuh"
#include "lu/lu.hpp"
#include "runtime/views.hpp"

namespace myriad {

/// Whether both are the same elements in the same order, as they are and not conjugated.
template <typename T>
bool is_same_view(Batch<T> const& x, Batch<T const> const& y) {
  auto const fields = [](auto const& v) {
    return std::tuple(static_cast<void const*>(v.data), static_cast<void const*>(v.pointers), v.row_stride, v.col_stride, v.batch_stride,
                      v.row_sizes, v.col_sizes, v.row_strides, v.col_strides, v.row_offset, v.col_offset, v.conjugated);
  };
  return fields(x) == fields(y);
}

inline constexpr gpu::KernelName lu_block_kernel{"lu/block/lu_block"};
inline constexpr gpu::KernelName lu_rows_kernel{"lu/block/lu_rows"};
inline constexpr gpu::KernelName lu_cluster_kernel{"lu/blocked/lu_cluster"};
inline constexpr gpu::KernelName lu_warps_kernel{"lu/block/lu_warps"};
inline constexpr gpu::KernelName lu_tall_kernel{"lu/blocked/lu_tall"};
inline constexpr gpu::KernelName lu_swap_rows_kernel{"lu/blocked/lu_swap_rows"};
inline constexpr gpu::KernelName lu_determinant_kernel{"lu/blocked/lu_determinant"};

template <typename T, Machine<T> M>
class LuOnMachine {
  using D = gpu::DeviceElement<T>;
  static constexpr int bytes = sizeof(T);

 public:
  explicit LuOnMachine(M& machine) : machine_(machine) {}

  void getrf(GetrfTask<T> const& task) {
    if (task.a.empty()) return machine_.clear(task.info, task.a.count);
    factor(task.a, task.a, task.pivots, task.info, task.pivoting);
  }

  void getrs(GetrsTask<T> task) {
    if (task.b.empty()) return;
    if (task.b.conjugated) {
      task.b.conjugated = false;
      task.a = conjugated(task.a);
    }
    if (task.op != Op::none) task.a = transposed(task.a);
    if (task.op == Op::conjugate_transpose) task.a = conjugated(task.a);
    bool const given = task.pivots.data || task.pivots.pointers, backward = task.op != Op::none;
    auto const interchange = [&] {
      if (given) swap_rows(task.b, task.pivots, {.end = task.b.rows, .right_end = task.b.cols, .of_factors = false, .backward = backward});
    };
    auto const solve = [&](Uplo uplo, bool unit) {
      machine_.trsm_shared(TrsmTask<T>{.uplo = uplo, .diag = unit ? Diag::unit : Diag::non_unit, .alpha = T(1), .a = task.a, .b = task.b});
    };
    if (!backward) interchange();
    solve(Uplo::lower, !backward);
    solve(Uplo::upper, backward);
    if (backward) interchange();
  }

  void gesv(GesvTask<T> task) {
    if (task.x.cols > lu_block_right || task.x.empty() || task.x.rows <= solved_in_block()) return gesv_alike(task);
    if (!is_ragged(task.a)) return gesv_alike(task);
    // Each matrix as alone. Where B is not X, it is put there.
    if (task.a.conjugated) task = of_stored(task);
    if (!is_same_view(task.x, task.b)) copy_matrices<T>(machine_, task.b, task.x);
    by_sizes<T>(machine_, task.a, task.x, {solved_in_block()}, task.info, [&](SizeClass const& some) {
      Batch<T> const x = some.of_b(task.x);
      gesv_alike({.a = some.of_a(task.a),
                  .b = x,
                  .x = x,
                  .factors = is_given(task.factors) ? some.of_a(task.factors) : Batch<T>{},
                  .pivots = task.pivots,
                  .info = some.info,
                  .nan_where_singular = task.nan_where_singular});
    });
  }
  /// The same with factor(a, factors, pivots), which may find A in place, and getrs(task).
  template <typename Factor, typename Getrs>
  void gesv(GesvTask<T> task, Factor const& factor, Getrs const& getrs) {
    std::int64_t const n = task.x.rows, all = task.x.count;
    if (n == 0 || all == 0) return machine_.clear(task.info, all);
    task = of_stored(task);
    bool const in_place = is_given(task.factors);
    bool const ragged = is_ragged(task.a);
    auto const bytes_for = [&](std::int64_t count) { return bytes_of<Work>(in_place ? 0 : n, n, count, !is_given(task.pivots)); };
    std::int64_t const some = most_at_once(all, lu_workspace, bytes_for(1));
    auto memory = machine_.memory(bytes_for(some));
    for (std::int64_t first = 0; first < all; first += some) {
      std::int64_t const count = std::min(some, all - first);
      auto const work = placed<Work>(memory.data(), in_place ? 0 : n, n, count, !is_given(task.pivots));
      Batch<T const> const a = matrices(task.a, first, count), b = matrices(task.b, first, count);
      Batch<T> const x = matrices(task.x, first, count);
      Batch<int> const pivots = is_given(task.pivots) ? matrices(task.pivots, first, count) : vectors(work.pivots, n, count);
      int* const info = task.info ? task.info + first : work.info;
      Batch<T> factors = in_place ? matrices(task.factors, first, count) : work.matrices(n, count, ragged);
      if (!in_place && ragged) sizes(a, false, nullptr, {work.rows, work.columns}, {0, 0});
      factor(a, factors, pivots);
      Batch<T const> solved = factors;
      sizes(Batch<T const>(factors), true, info, {work.solved_rows, work.solved_columns, work.x_rows},
            {factors.row_offset, factors.col_offset, x.row_offset});
      solved.row_sizes = work.solved_rows;
      solved.col_sizes = work.solved_columns;
      Batch<T> of_x = x;
      of_x.row_sizes = work.x_rows;
      if (x.empty()) continue;
      if (!is_same_view(x, b)) copy_matrices<T>(machine_, b, x);
      getrs(GetrsTask<T>{.op = Op::none, .a = solved, .pivots = pivots, .b = of_x});
      if (task.nan_where_singular) copy_matrices<T>(machine_, x, x, Copied::all, CopiedWhere::nan_in_failed, info);
    }
  }

  void inverse(InverseTask<T> task) {
    std::int64_t const n = task.a.rows, all = task.a.count;
    if (task.a.empty()) return machine_.clear(task.info, all);
    if (task.a.conjugated) {
      task.a.conjugated = false;
      task.x = conjugated(task.x);
    }
    bool const ragged = is_ragged(task.a);
    auto const bytes_for = [&](std::int64_t count) { return bytes_of<Work>(n, n, count, task.factor); };
    std::int64_t const some = most_at_once(all, lu_workspace, bytes_for(1));
    auto memory = machine_.memory(bytes_for(some));
    for (std::int64_t first = 0; first < all; first += some) {
      std::int64_t const count = std::min(some, all - first);
      auto const work = placed<Work>(memory.data(), n, n, count, task.factor);
      Batch<T const> const a = matrices(task.a, first, count);
      Batch<T> const x = matrices(task.x, first, count);
      Batch<int const> pivots = vectors<int const>(work.pivots, n, count);
      int* const info = task.info ? task.info + first : work.info;
      Batch<T> const factors = work.matrices(n, count, ragged);
      if (ragged) sizes(a, false, nullptr, {work.rows, work.columns}, {0, 0});
      if (task.factor) {
        factor(a, factors, vectors(work.pivots, n, count), nullptr, true);
      } else {
        pivots = is_given(task.pivots) ? matrices(task.pivots, first, count) : task.pivots;
        copy_matrices<T>(machine_, a, factors);
      }
      sizes(Batch<T const>(factors), true, info, {work.solved_rows, work.solved_columns, work.x_rows, work.x_columns},
            {0, 0, x.row_offset, x.col_offset});
      Batch<T const> solved = factors;
      solved.row_sizes = work.solved_rows;
      solved.col_sizes = work.solved_columns;
      Batch<T> of_x = x;
      of_x.row_sizes = work.x_rows;
      of_x.col_sizes = work.x_columns;
      copy_matrices<T>(machine_, of_x, of_x, Copied::identity);
      getrs({.op = Op::none, .a = solved, .pivots = pivots, .b = of_x});
      if (task.factor) copy_matrices<T>(machine_, x, x, Copied::all, CopiedWhere::nan_in_failed, info);
    }
  }

  void det(DetTask<T> const& task) {
    std::int64_t const n = task.a.rows, all = task.a.count;
    if (all == 0) return;
    auto* const sign_or_det = reinterpret_cast<D*>(task.sign_or_det);
    if (n <= solved_in_block()) {
      run_block(task.a, {}, {}, nullptr, 0, true, sign_or_det, task.logabs);
      return;
    }
    bool const ragged = is_ragged(task.a);
    auto const bytes_for = [&](std::int64_t count) { return bytes_of<Work>(n, n, count, true); };
    std::int64_t const some = most_at_once(all, lu_workspace, bytes_for(1));
    auto memory = machine_.memory(bytes_for(some));
    for (std::int64_t first = 0; first < all; first += some) {
      std::int64_t const count = std::min(some, all - first);
      auto const work = placed<Work>(memory.data(), n, n, count, true);
      Batch<T const> const a = matrices(task.a, first, count);
      Batch<T> factors = work.matrices(n, count, ragged);
      if (ragged) sizes(a, false, nullptr, {work.rows, work.columns}, {0, 0});
      Batch<int> const pivots = vectors(work.pivots, n, count);
      Batch<T const> stored = a;
      stored.conjugated = false;
      factor(stored, factors, pivots, nullptr, true);
      factors.conjugated = a.conjugated;
      machine_.run(lu_determinant_kernel,
                   {.blocks = (count + lu_determinant_threads / 32 - 1) / (lu_determinant_threads / 32), .threads = lu_determinant_threads},
                   LuDeterminantArguments<D>{.a = gpu::matrices_of(Batch<T const>(factors)),
                                             .pivots = gpu::matrices_of(Batch<int const>(pivots)),
                                             .sign_or_det = sign_or_det + first,
                                             .logabs = task.logabs ? task.logabs + first : nullptr},
                   dtype_of<T>);
    }
  }

 private:
  /// Workspace beside `count` matrices, and copies of these with n rows and columns; n may be zero.
  struct Work {
    T* copies;
    int *pivots, *info;
    std::int64_t *rows, *columns, *solved_rows, *solved_columns, *x_rows, *x_columns;

    Work(Arena& arena, std::int64_t n, std::int64_t order, std::int64_t count, bool with_pivots)
        : copies(arena.take<T>(n * n * count)), pivots(arena.take<int>(with_pivots ? order * count : 0)), info(arena.take<int>(count)) {
      for (std::int64_t** const list : {&rows, &columns, &solved_rows, &solved_columns, &x_rows, &x_columns})
        *list = arena.take<std::int64_t>(count);
    }
    [[nodiscard]] Batch<T> matrices(std::int64_t n, std::int64_t count, bool ragged) const {
      Batch<T> out = batch(copies, n, n, {.count = count});
      if (ragged) out.row_sizes = rows, out.col_sizes = columns;
      return out;
    }
  };

  /// The most rows of matrices that a block solves with, and of those whose determinant it finds. Larger ones are factored faster alone.
  [[nodiscard]] std::int64_t solved_in_block() const {
    std::int64_t m = lu_block_solved;
    while (m > 0 && !lu_block_holds(bytes, is_complex<T>, m, m + lu_block_right, shared_bytes())) --m;
    return m;
  }
  /// Solves with matrices that are solved in one way.
  void gesv_alike(GesvTask<T> const& task) {
    if (task.x.cols <= lu_block_right && task.x.rows <= solved_in_block()) return solve_in_block(task);
    gesv(
        task,
        [&](Batch<T const> const& a, Batch<T> const& factors, Batch<int> const& pivots) { factor(a, factors, pivots, nullptr, true); },
        [&](GetrsTask<T> const& solved) { getrs(solved); });
  }

  /// The task without a conjugated A: conj(A) X = B is A conj(X) = conj(B).
  static GesvTask<T> of_stored(GesvTask<T> task) {
    if (!task.a.conjugated) return task;
    task.a.conjugated = task.factors.conjugated = false;
    task.b = conjugated(task.b);
    task.x = conjugated(task.x);
    return task;
  }
  void solve_in_block(GesvTask<T> const& given) {
    if (given.x.rows == 0 || given.x.count == 0) return machine_.clear(given.info, given.x.count);
    GesvTask<T> const task = of_stored(given);
    launch_block(task.a.cols + task.x.cols, {.a = gpu::matrices_of(task.a),
                                             .result = gpu::matrices_of(task.factors),
                                             .pivots = gpu::matrices_of(task.pivots),
                                             .info = task.info,
                                             .before = 0,
                                             .pivoting = true,
                                             .b = gpu::matrices_of(task.b),
                                             .x = gpu::matrices_of(task.x),
                                             .nan_where_singular = task.nan_where_singular,
                                             .sign_or_det = nullptr,
                                             .logabs = nullptr});
  }

  template <typename U>
  static bool is_given(Batch<U> const& x) {
    return x.data || x.pointers;
  }
  static bool is_ragged(Batch<T const> const& a) { return a.ragged(); }
  [[nodiscard]] std::int64_t shared_bytes() const { return machine_.device().shared_memory_per_block; }

  /// The factors of A in `to`, which may be A. Matrices of a ragged batch get the bits that they have alone.
  void factor(Batch<T const> const& a, Batch<T> const& to, Batch<int> const& pivots, int* info, bool pivoting) {
    bool const in_place = is_same_view(to, a);
    if (!is_ragged(a)) return factor_alike(a, to, in_place, pivots, info, pivoting);
    by_sizes<T>(machine_, a, to, lu_limits<D>(shared_bytes(), has_clusters(machine_.device())), info,
                [&](SizeClass const& some) { factor_alike(some.of_any(a), some.of_b(to), in_place, pivots, some.info, pivoting); });
  }
  /// The same of matrices that are factored in one way.
  void factor_alike(Batch<T const> a, Batch<T> to, bool in_place, Batch<int> const& pivots, int* info, bool pivoting) {
    if (a.empty()) return machine_.clear(info, a.count);
    a.conjugated = to.conjugated = false;
    if (LuWarps const c = lu_warps_plan<D>(a.rows, a.cols, shared_bytes()); pivoting && c.rows > 0)
      return run_warps(c, a, to, pivots, info);
    bool const in_block = a.rows <= lu_rows_limit<D>(shared_bytes());
    if (in_block && a.cols <= lu_rows_columns) return run_rows(a, to, pivots, info, 0, pivoting);
    if (!in_place) copy_matrices<T>(machine_, a, to);
    if (!in_block) return factor_by_panels(to, pivots, info, pivoting);
    run_rows(columns(Batch<T const>(to), 0, lu_rows_columns), columns(to, 0, lu_rows_columns), pivots, info, 0, pivoting);
    if (pivoting) swap_rows(to, pivots, {.end = a.rows, .right_first = lu_rows_columns, .right_end = a.cols});
    with_diagonal({.a = to, .pivots = pivots, .info = info, .pivoting = pivoting, .panel = a.rows},
                  [&](Factored const& f) { update(f, 0, a.rows, lu_rows_columns, a.cols - lu_rows_columns); });
  }

  void run_cluster(Batch<T const> const& a, Batch<T> const& to, Batch<int> const& pivots, int* info, std::int64_t before, bool pivoting) {
    constexpr LuCluster c = lu_cluster_plan(bytes, is_complex<T>);
    auto const [blocks, warps] = lu_cluster_grid(a.rows, a.count, machine_.device().multiprocessors);
    LuClusterMemory<D, c.width> const memory(static_cast<int>(std::min(a.rows, a.cols)), warps);
    machine_.run(lu_cluster_kernel, {.blocks = a.count * blocks, .threads = 32 * warps, .shared_bytes = memory.bytes, .cluster = blocks},
                 LuClusterArguments<D>{.a = gpu::matrices_of(a),
                                       .result = gpu::matrices_of(to),
                                       .pivots = gpu::matrices_of(pivots),
                                       .info = info,
                                       .before = static_cast<int>(before),
                                       .pivoting = pivoting,
                                       .warps = warps},
                 dtype_of<T>, c);
  }
  void run_warps(LuWarps const& c, Batch<T const> const& a, Batch<T> const& to, Batch<int> const& pivots, int* info) {
    machine_.run(
        lu_warps_kernel, {.blocks = a.count, .threads = 32 * c.warps, .shared_bytes = LuWarpsMemory<D>(c).bytes},
        LuWarpsArguments<D>{.a = gpu::matrices_of(a), .result = gpu::matrices_of(to), .pivots = gpu::matrices_of(pivots), .info = info},
        dtype_of<T>, c);
  }
  void run_rows(Batch<T const> const& a, Batch<T> const& to, Batch<int> const& pivots, int* info, std::int64_t before, bool pivoting) {
    LuRows const c = lu_rows_plan(bytes, is_complex<T>, a.rows);
    int const warps = lu_rows_warps(a.rows);
    machine_.run(lu_rows_kernel, {.blocks = a.count, .threads = 32 * warps, .shared_bytes = lu_rows_bytes<D>(a.rows, a.cols)},
                 LuRowsArguments<D>{.a = gpu::matrices_of(a),
                                    .result = gpu::matrices_of(to),
                                    .pivots = gpu::matrices_of(pivots),
                                    .info = info,
                                    .before = static_cast<int>(before),
                                    .pivoting = pivoting,
                                    .warps = warps},
                 dtype_of<T>, c);
  }
  void run_block(Batch<T const> const& a, Batch<T> const& to, Batch<int> const& pivots, int* info, std::int64_t before, bool pivoting,
                 D* sign_or_det = nullptr, Real<T>* logabs = nullptr) {
    launch_block(a.cols, {.a = gpu::matrices_of(a),
                          .result = gpu::matrices_of(to),
                          .pivots = gpu::matrices_of(pivots),
                          .info = info,
                          .before = static_cast<int>(before),
                          .pivoting = pivoting,
                          .b = {},
                          .x = {},
                          .nan_where_singular = false,
                          .sign_or_det = sign_or_det,
                          .logabs = logabs});
  }
  /// `columns`: with right-hand sides.
  void launch_block(std::int64_t columns, LuBlockArguments<D> const& args) {
    LuBlock const c = lu_block_plan(bytes, is_complex<T>, args.a.rows, columns);
    machine_.run(lu_block_kernel,
                 {.blocks = args.a.count, .threads = c.threads, .shared_bytes = LuBlockMemory(bytes, c, args.a.rows, columns).bytes}, args,
                 dtype_of<T>, c);
  }

  struct Swap {
    std::int64_t first = 0, end;
    std::int64_t left_first = 0, left_end = 0, right_first = 0, right_end = 0;  ///< columns
    bool of_factors = true, backward = false;
  };
  void swap_rows(Batch<T> const& x, Batch<int const> const& pivots, Swap const& swap) {
    LuSwapRowsArguments<D> args{.x = gpu::matrices_of(x),
                                .pivots = gpu::matrices_of(pivots),
                                .first = static_cast<int>(swap.first),
                                .end = static_cast<int>(swap.end),
                                .left_first = static_cast<int>(swap.left_first),
                                .left_end = static_cast<int>(swap.left_end),
                                .right_first = static_cast<int>(swap.right_first),
                                .right_end = static_cast<int>(swap.right_end),
                                .of_factors = swap.of_factors,
                                .backward = swap.backward,
                                .parts = 0};
    args.parts = (args.columns() + lu_swap_columns - 1) / lu_swap_columns;
    machine_.run(lu_swap_rows_kernel, {.blocks = x.count * args.parts, .threads = lu_swap_threads, .shared_bytes = lu_swap_bytes}, args,
                 dtype_of<T>);
  }

  void sizes(Batch<T const> const& a, bool looks_for_zeros, int* info, std::initializer_list<std::int64_t*> of_batches,
             std::initializer_list<std::int64_t> more) {
    diagonal_sizes_of<T>(machine_, a, looks_for_zeros, info, of_batches, more);
  }

  /// A matrix that is factored by panels.
  struct Factored {
    Batch<T> a;
    Batch<int> pivots;
    int* info;
    bool pivoting;
    std::int64_t panel;  ///< columns
    bool in_cluster = false;
    std::int64_t const *diagonal_rows = nullptr, *diagonal_columns = nullptr;  ///< of a ragged batch: the smaller side of each matrix

    [[nodiscard]] std::int64_t steps() const { return std::min(a.rows, a.cols); }
    /// The triangle of columns [j, j + w), what is below it, and what rows of the triangle have in columns [first, first + columns).
    [[nodiscard]] Batch<T const> triangle(std::int64_t j, std::int64_t w) const {
      Batch<T const> out = block(a, j, j, w, w);
      if (diagonal_rows) out.row_sizes = diagonal_rows, out.col_sizes = diagonal_columns;
      return out;
    }
    [[nodiscard]] Batch<T const> below(std::int64_t j, std::int64_t w) const {
      Batch<T const> out = block(a, j + w, j, a.rows - j - w, w);
      if (diagonal_rows) out.col_sizes = diagonal_columns;
      return out;
    }
    [[nodiscard]] Batch<T> beside(std::int64_t j, std::int64_t w, std::int64_t first, std::int64_t columns) const {
      Batch<T> out = block(a, j, first, w, columns);
      if (diagonal_rows) out.row_sizes = diagonal_rows;
      return out;
    }
  };

  /// Calls use(f) when f knows sizes of diagonals.
  template <typename Use>
  void with_diagonal(Factored f, Use use) {
    Batch<T> const& a = f.a;
    bool const ragged = a.ragged();
    auto memory = machine_.memory(ragged ? 2 * a.count * static_cast<std::int64_t>(sizeof(std::int64_t)) : 0);
    if (ragged) {
      auto* const of_diagonal = static_cast<std::int64_t*>(memory.data());
      sizes(Batch<T const>(a), false, nullptr, {of_diagonal, of_diagonal + a.count}, {a.row_offset, a.col_offset});
      f.diagonal_rows = of_diagonal;
      f.diagonal_columns = of_diagonal + a.count;
    }
    use(f);
  }
  void factor_by_panels(Batch<T> const& a, Batch<int> const& pivots, int* info, bool pivoting) {
    bool const in_cluster = has_clusters(machine_.device()) && a.rows <= lu_cluster_most;
    with_diagonal({.a = a,
                   .pivots = pivots,
                   .info = info,
                   .pivoting = pivoting,
                   .panel = in_cluster ? lu_outer_columns(is_complex<T>) : lu_panel_columns(bytes, is_complex<T>, a.rows, shared_bytes()),
                   .in_cluster = in_cluster},
                  [&](Factored const& f) { factor_by_panels(f); });
  }
  void factor_by_panels(Factored const& f) {
    auto const& [a, pivots, info, pivoting, panel, in_cluster, diagonal_rows, diagonal_columns] = f;
    // Columns to the right of a wide matrix are divided like those of a square one, of which it may be the upper part in a ragged batch.
    std::int64_t const width = lu_outer_columns(is_complex<T>);
    for (std::int64_t j = 0; j < f.steps(); j += width) {
      std::int64_t const w = std::min(width, a.cols - j), end = std::min(j + w, f.steps());
      factor_columns(f, j, w);
      if (pivoting) swap_rows(a, pivots, {.first = j, .end = end, .left_end = j, .right_first = j + w, .right_end = a.cols});
      update(f, j, w, j + w, a.cols - j - w);
    }
  }

  /// Columns [j, j + w), from row j on.
  void factor_columns(Factored const& f, std::int64_t j, std::int64_t w) {
    if (j >= f.steps()) return;
    if (w <= f.panel) return factor_panel(f, j, w);
    std::int64_t left = f.panel;
    while (2 * left < w) left *= 2;
    std::int64_t const right = w - left, middle = std::min(j + left, f.steps()), end = std::min(j + w, f.steps());
    factor_columns(f, j, left);
    if (f.pivoting) swap_rows(f.a, f.pivots, {.first = j, .end = middle, .right_first = j + left, .right_end = j + w});
    update(f, j, left, j + left, right);
    if (middle == end) return;
    factor_columns(f, j + left, right);
    if (f.pivoting) swap_rows(f.a, f.pivots, {.first = middle, .end = end, .left_first = j, .left_end = j + left});
  }

  /// Columns [first, first + columns) by the panel of columns [j, j + w).
  void update(Factored const& f, std::int64_t j, std::int64_t w, std::int64_t first, std::int64_t columns) {
    if (columns == 0) return;
    w = std::min(w, f.steps() - j);
    Batch<T> const beside = f.beside(j, w, first, columns);
    machine_.trsm_shared(TrsmTask<T>{.uplo = Uplo::lower, .diag = Diag::unit, .alpha = T(1), .a = f.triangle(j, w), .b = beside});
    std::int64_t const rows = f.a.rows - j - w;
    if (rows > 0)
      machine_.gemm_shared(
          GemmTask<T>{.alpha = T(-1), .a = f.below(j, w), .b = beside, .beta = T(1), .c = block(f.a, j + w, first, rows, columns)});
  }

  void factor_panel(Factored const& f, std::int64_t j, std::int64_t w) {
    Batch<T> const a = block(f.a, j, j, f.a.rows - j, w);
    Batch<int> const pivots = f.pivoting ? rows(f.pivots, j, std::min(w, f.steps() - j)) : f.pivots;
    bool const in_block = a.rows <= lu_rows_limit<D>(shared_bytes());
    if (f.in_cluster && (!in_block || lu_cluster_is_faster(a.rows, a.count, machine_.device().multiprocessors)))
      return run_cluster(a, a, pivots, f.info, j, f.pivoting);
    if (in_block) return run_rows(a, a, pivots, f.info, j, f.pivoting);
    if (!lu_panel_is_tall(bytes, is_complex<T>, a.rows, w, shared_bytes())) return run_block(a, a, pivots, f.info, j, f.pivoting);
    LuTall const c = lu_tall_plan(bytes);
    machine_.run(lu_tall_kernel, {.blocks = a.count, .threads = c.threads, .shared_bytes = c.bytes(bytes)},
                 LuTallArguments<D>{.a = gpu::matrices_of(a),
                                    .pivots = gpu::matrices_of(pivots),
                                    .info = f.info,
                                    .before = static_cast<int>(j),
                                    .pivoting = f.pivoting},
                 dtype_of<T>, c);
  }

  M& machine_;
};

}  // namespace myriad
