#pragma once
/// Cholesky of matrices of any order: diagonal blocks by one kernel, solves and products. See blocked/machine.hpp.
///
/// cholesky_blocked_rows has the rows of blocks. A matrix that is not positive definite keeps the info of its first bad pivot; its
/// later blocks are skipped or hold NaN, which is as good as anything there.

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "blocked/arena.hpp"
#include "blocked/by_sizes_config.cuh"
#include "blocked/copy_matrices.hpp"
#include "blocked/machine.hpp"
#include "cholesky/cholesky.hpp"
#include "cholesky/cholesky_block_plan.hpp"
#include "core/dtype.hpp"
#include "runtime/views.hpp"
#include "trsm/trtri.hpp"

namespace myriad {

inline constexpr gpu::KernelName cholesky_block_kernel{"cholesky/cholesky_block"};

/// Rows of the largest matrix that a block of this machine holds.
template <typename T>
int cholesky_block_largest(Device const& device) {
  return cholesky_block_largest(sizeof(T), is_complex<T>, static_cast<int>(device.shared_memory_per_block));
}

/// Rows of the largest matrices of each algorithm but the last.
template <typename T>
std::array<std::int64_t, by_sizes_classes - 1> cholesky_limits(Device const& device) {
  std::int64_t const in_block = cholesky_block_largest<T>(device);
  return {32, in_block, std::is_same_v<T, double> ? std::max(in_block, cholesky_blocked_fewer) : in_block};
}

/// Factors matrices that a block holds, which are those of `first` rows further on where that is not zero, and solves for up to
/// cholesky_block_right right-hand sides.
template <typename T, Machine<T> M>
void cholesky_in_block(M& machine, PosvTask<T> const& task, std::int64_t first = 0) {
  using D = gpu::DeviceElement<T>;
  Batch<T const> const& a = task.a;
  CholeskyBlockArguments<D> const args{.a = gpu::matrices_of(a),
                                       .factor = gpu::matrices_of(task.factor),
                                       .info = task.info,
                                       .first = static_cast<int>(first),
                                       .b = gpu::matrices_of(task.b),
                                       .x = gpu::matrices_of(task.x),
                                       .nan_where_not_definite = task.nan_where_not_definite,
                                       .jitter = task.regularization.jitter,
                                       .floor = task.regularization.floor,
                                       .replaced = task.regularization.replaced};
  Lines const lines = a.col_stride < a.row_stride ? Lines::rows : Lines::columns;
  bool const regularized = task.regularization.given();
  CholeskyBlock const c = !regularized && cholesky_block_is_lone(a.count, machine.device().multiprocessors)
                              ? cholesky_block_ahead(lines)
                              : cholesky_block_plan(sizeof(T), a.rows, lines, regularized);
  machine.run(cholesky_block_kernel,
              {.blocks = a.count,
               .threads = c.threads(),
               .shared_bytes =
                   CholeskyBlockMemory(sizeof(T), static_cast<int>(a.rows), static_cast<int>(task.x.cols), c.warps, c.ahead != 0).bytes},
              args, dtype_of<T>, c);
}

template <typename T, Machine<T> M>
void factor_in_block(M& machine, Batch<T const> const& a, Batch<T> const& factor, int* info, Regularization<Real<T>> const& regularization,
                     std::int64_t first = 0) {
  cholesky_in_block(
      machine,
      PosvTask<T>{
          .a = a, .b = {}, .x = {}, .factor = factor, .info = info, .nan_where_not_definite = false, .regularization = regularization},
      first);
}

/// A = L L^H.
template <typename T, Machine<T> M>
void potrf_blocked(M& machine, PotrfTask<T> const& task) {
  std::int64_t const n = task.a.rows;
  if (n <= cholesky_block_largest<T>(machine.device())) return factor_in_block<T>(machine, task.a, task.a, task.info, task.regularization);
  for (std::int64_t i = 0, m = 0; i < n; i += m) {
    m = std::min<std::int64_t>(cholesky_blocked_rows(sizeof(T), is_complex<T>, n), n - i);
    std::int64_t const others = n - i - m;
    Batch<T> const diagonal = block(task.a, i, i, m, m);
    factor_in_block<T>(machine, diagonal, diagonal, task.info, task.regularization, i);
    if (others == 0) break;
    Batch<T> const below = block(task.a, i + m, i, others, m), rest = block(task.a, i + m, i + m, others, others);
    // X L^H = B is conj(L) X^T = B^T.
    machine.trsm(
        TrsmTask<T>{
            .uplo = Uplo::lower, .diag = Diag::non_unit, .alpha = T(1), .a = conjugated(Batch<T const>(diagonal)), .b = transposed(below)},
        columns_of_panel);
    machine.gemm_shared(GemmTask<T>{.alpha = T(-1), .a = below, .b = conjugate_transposed(Batch<T const>(below)), .beta = T(1), .c = rest},
                        is_complex<T> ? Written::lower_hermitian : Written::lower);
  }
}

/// Solves L L^H X = B in place.
template <typename T, Machine<T> M>
void potrs_blocked(M& machine, PotrsTask<T> const& task) {
  Batch<T const> l = task.a;
  Batch<T> x = task.b;
  if (x.conjugated) l = conjugated(l), x = conjugated(x);
  machine.trsm_shared(TrsmTask<T>{.uplo = Uplo::lower, .diag = Diag::non_unit, .alpha = T(1), .a = l, .b = x});
  machine.trsm_shared(TrsmTask<T>{.uplo = Uplo::upper, .diag = Diag::non_unit, .alpha = T(1), .a = conjugate_transposed(l), .b = x});
}

/// Workspace of posv: right-hand sides where the factor is written, so that those of a matrix that is not positive definite are kept; else
/// the factor.
template <typename T>
struct PosvWork {
  T* matrices;
  int* info;

  PosvWork(Arena& arena, PosvTask<T> const& task, std::int64_t count)
      : matrices(arena.take<T>(task.a.rows * (task.writes_factor() ? task.x.cols : task.a.rows) * count)),
        info(arena.take<int>(task.info ? 0 : count)) {}
};

/// Solves A X = B.
template <typename T, Machine<T> M>
void posv_blocked(M& machine, PosvTask<T> const& task) {
  bool const in_block = task.a.rows <= cholesky_block_largest<T>(machine.device());
  if (in_block && task.x.cols <= cholesky_block_right) return cholesky_in_block(machine, task);
  bool const keeps_factor = task.writes_factor();
  if (keeps_factor && task.x.cols == 0)
    return potrf_blocked(machine, PotrfTask<T>{.a = task.factor, .info = task.info, .regularization = task.regularization});
  std::int64_t const some = most_at_once(task.a.count, cholesky_workspace, bytes_of<PosvWork<T>>(task, std::int64_t{1}));
  auto memory = machine.memory(bytes_of<PosvWork<T>>(task, some));
  auto const work = placed<PosvWork<T>>(memory.data(), task, some);
  for (std::int64_t first = 0; first < task.a.count; first += some) {
    std::int64_t const count = std::min(some, task.a.count - first);
    Batch<T const> const a = matrices(task.a, first, count), b = matrices(task.b, first, count);
    Batch<T> const x = matrices(task.x, first, count);
    int* const info = task.info ? task.info + first : work.info;
    Batch<T> const factor =
        keeps_factor ? matrices(task.factor, first, count) : workspace_like(a, work.matrices, a.col_stride < a.row_stride);
    Batch<T> const solution = keeps_factor ? workspace_like(b, work.matrices) : x;
    auto const regularization = task.regularization.from(first);
    if (in_block) {
      factor_in_block<T>(machine, a, factor, info, regularization);
    } else {
      if (!keeps_factor) copy_matrices<T>(machine, a, factor, Copied::lower);
      potrf_blocked(machine, PotrfTask<T>{.a = factor, .info = info, .regularization = regularization});
    }
    if (x.empty()) continue;
    copy_matrices<T>(machine, b, solution);
    potrs_blocked(machine, PotrsTask<T>{.a = factor, .b = solution});
    copy_matrices<T>(machine, solution, x, Copied::all, keeps_factor ? CopiedWhere::succeeded : CopiedWhere::nan_in_failed, info);
  }
}

/// Workspace of potri.
template <typename T>
struct PotriWork {
  T* matrices;
  int* info;

  PotriWork(Arena& arena, PotrfTask<T> const& task, std::int64_t count)
      : matrices(arena.take<T>(task.a.rows * task.a.rows * count)), info(arena.take<int>(task.info ? 0 : count)) {}
};

/// The lower triangle of L^-H L^-1 in place of that of L. Factors with a zero on the diagonal come back from the workspace.
template <typename T, Machine<T> M>
void potri_blocked(M& machine, PotrfTask<T> const& task) {
  std::int64_t const n = task.a.rows, order = is_complex<T> ? 64 : 128;
  std::int64_t const some = most_at_once(task.a.count, cholesky_workspace, bytes_of<PotriWork<T>>(task, std::int64_t{1}));
  auto memory = machine.memory(bytes_of<PotriWork<T>>(task, some));
  auto const work = placed<PotriWork<T>>(memory.data(), task, some);
  for (std::int64_t first = 0; first < task.a.count; first += some) {
    std::int64_t const count = std::min(some, task.a.count - first);
    Batch<T> const a = matrices(task.a, first, count), inverse = workspace_like(a, work.matrices);
    int* const info = task.info ? task.info + first : work.info;
    copy_matrices<T>(machine, a, inverse, Copied::lower_with_zeros);
    machine.trtri(TrtriTask<T>{.uplo = Uplo::lower, .diag = Diag::non_unit, .a = inverse, .info = info});
    for (std::int64_t i = 0; i < n; i += order) {
      std::int64_t const m = std::min(order, n - i);
      Batch<T const> const left = block(inverse, i, i, n - i, m), right = block(inverse, i, 0, n - i, i);
      machine.gemm_shared(GemmTask<T>{.alpha = T(1), .a = conjugate_transposed(left), .b = left, .beta = T(0), .c = block(a, i, i, m, m)},
                          is_complex<T> ? Written::lower_hermitian : Written::lower);
      if (i > 0)
        machine.gemm_shared(
            GemmTask<T>{.alpha = T(1), .a = conjugate_transposed(left), .b = right, .beta = T(0), .c = block(a, i, 0, m, i)});
    }
    copy_matrices<T>(machine, inverse, a, Copied::lower, CopiedWhere::failed, info);
  }
}

}  // namespace myriad
