#include "mixed/mixed_gpu.hpp"

#include "blocked/queue_machine.hpp"
#include "cholesky/cholesky_gpu.hpp"
#include "core/dtype.hpp"
#include "lu/lu_gpu.hpp"
#include "mixed/mixed_blocked.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/tiny.hpp"
#include "trsm/trsm_columns_plan.hpp"
#include "trsm/trsm_gpu.hpp"

namespace myriad::gpu {
namespace {

template <typename T>
struct LuSolvers {
  using S = SingleOf<T>;
  Queue& queue;

  void factor(Batch<S> const& a, Batch<int> const& pivots, int* info) {
    getrf(queue, GetrfTask<S>{.a = a, .pivots = pivots, .info = info, .pivoting = true});
  }
  void solve(Batch<S const> const& a, Batch<int const> const& pivots, Batch<S> const& y) {
    GetrsTask<S> const task{.op = Op::none, .a = a, .pivots = pivots, .b = y};
    if (y.rows <= tiny_largest) return getrs(queue, task);
    QueueMachine machine(queue);
    LuOnMachine<S, QueueMachine>(machine).getrs(task);
  }
  void solve_in_double(Batch<T> const& a, Batch<int> const& pivots, Batch<T> const& x, int* info) {
    gesv(queue, GesvTask<T>{.a = a, .b = x, .x = x, .factors = a, .pivots = pivots, .info = info, .nan_where_singular = false});
  }
};

template <typename T>
struct CholeskySolvers {
  using S = SingleOf<T>;
  Queue& queue;

  void factor(Batch<S> const& a, Batch<int> const&, int* info) { potrf(queue, PotrfTask<S>{.a = a, .info = info}); }
  void solve(Batch<S const> const& a, Batch<int const> const&, Batch<S> const& y) { potrs(queue, PotrsTask<S>{.a = a, .b = y}); }
  void solve_in_double(Batch<T> const& a, Batch<int> const&, Batch<T> const& x, int* info) {
    posv(queue, PosvTask<T>{.a = a, .b = x, .x = x, .factor = a, .info = info, .nan_where_not_definite = false});
  }
};

}  // namespace

template <typename T>
void solve_mixed(Queue& queue, MixedTask<T> const& task) {
  if (task.a.count == 0) return;
  if (task.a.rows == 0) {
    clear(queue, task.iter, task.a.count, sizeof(Real<T>) == 4 ? ClearTo::minus_one : ClearTo::zero);
    clear(queue, task.info, task.a.count);
    return;
  }
  run_blocked(queue, [&](QueueMachine& machine) {
    if (task.hermitian)
      solve_mixed_blocked(machine, task, CholeskySolvers<T>{queue});
    else
      solve_mixed_blocked(machine, task, LuSolvers<T>{queue});
  });
}

std::vector<KernelSource> mixed_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  bool const lu = filter.wants_routine("gesv_mixed"), cholesky = filter.wants_routine("posv_mixed");
  if (!lu && !cholesky) return kernels;
  auto const add = [&](std::vector<KernelSource> const& some) { kernels.insert(kernels.end(), some.begin(), some.end()); };
  // gesv_mixed of single precision is gesv.
  for (Dtype const dtype : {Dtype::f32, Dtype::c32})
    if (filter.wants_dtype(dtype)) kernels.push_back(source_of(mixed_judge_kernel, dtype));
  for (auto const& [dtype, single] : {std::pair{Dtype::f64, Dtype::f32}, {Dtype::c64, Dtype::c32}}) {
    if (!filter.wants_dtype(dtype)) continue;
    for (KernelName const& name :
         {mixed_narrow_kernel, mixed_step_kernel, mixed_residuals_kernel, mixed_judge_kernel, copy_matrices_kernel})
      kernels.push_back(source_of(name, dtype));
    KernelFilter others = filter;
    others.dtypes = {single};
    others.routines = {"getrf", "getrs"};
    if (lu) add(lu_kernels(others));
    others.routines = {"potrf", "potrs"};
    if (cholesky) add(cholesky_kernels(others));
    others.routines = {"trsv"};
    if (cholesky && filter.wants_size_above(tiny_largest)) {
      add(trsv_kernels(others));
      for (int const rows : {64, 96, 128})
        if (rows <= trsm_columns_largest(is_complex_dtype(single))) add(trsm_vector_kernels(single, rows));
    }
    others.dtypes = {dtype};
    others.routines = {"gesv"};
    if (lu) add(lu_kernels(others));
    others.routines = {"posv"};
    if (cholesky) add(cholesky_kernels(others));
    // Matrices that single precision does not solve are a ragged batch, in which the others have no rows.
    if (cholesky && filter.wants_size_above(tiny_largest)) {
      add(cholesky_kernels_of_small_in_ragged(single, true));
      add(cholesky_kernels_of_small_in_ragged(dtype, false));
      for (int const rows : {64, 96})
        if (rows <= trsm_columns_largest(is_complex_dtype(dtype))) add(trsm_kernels_of_panel(dtype, rows, true, true));
    }
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void solve_mixed<T>(Queue&, MixedTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
