#include <algorithm>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "trsm/trsm_columns_plan.hpp"
#include "trsm/trsm_gpu.hpp"
#include "trsm/trtri.hpp"
#include "trsm/trtri_by_blocks.hpp"
#include "trsm/trtri_sizes.cuh"

namespace myriad::gpu {
namespace {

constexpr KernelName trtri_sizes_kernel{"trsm/trtri_sizes"};

/// Inverts triangles of up to trsm_columns_largest rows in one launch.
template <typename T>
void invert(Queue& queue, TrtriTask<T> const& task) {
  if (task.a.rows > tiny_largest) return invert_triangle(queue, task);
  Triangle const triangle = task.diag == Diag::unit ? Triangle::unit : Triangle::non_unit;
  bool const lower = task.uplo == Uplo::lower;
  substitute<T>(queue, {.routine = "trtri",
                        .lower = lower ? triangle : Triangle::unused,
                        .upper = lower ? Triangle::unused : triangle,
                        .interchange = Interchange::never,
                        .right = RightSide::identity_in_place,
                        .alpha = T(1),
                        .a = task.a,
                        .pivots = {},
                        .b = task.a,
                        .info = task.info});
}

template <typename T>
void invert_by_blocks(QueueMachine& machine, TrtriTask<T> const& task) {
  TrtriTask<T> inverted = task;
  // Singular matrices must not be changed: they get size zero from here on.
  bool const may_be_singular = task.diag == Diag::non_unit;
  auto const memory = machine.memory(may_be_singular ? 2 * task.a.count * static_cast<std::int64_t>(sizeof(simt::Index)) : 0);
  if (may_be_singular) {
    using D = DeviceElement<T>;
    inverted.a.row_sizes = static_cast<std::int64_t const*>(memory.data());
    inverted.a.col_sizes = inverted.a.row_sizes + task.a.count;
    auto* const rows = static_cast<simt::Index*>(memory.data());
    TrtriSizesArguments<D> const args{
        .a = matrices_of(Batch<T const>(task.a)), .info = task.info, .rows = rows, .cols = rows + task.a.count};
    machine.run(trtri_sizes_kernel, {.blocks = (task.a.count + 3) / 4, .threads = 128}, args, dtype_of<T>);
  } else {
    machine.clear(task.info, task.a.count);
  }
  inverted.info = nullptr;
  trtri_by_blocks(machine, inverted, trsm_columns_largest(is_complex<T>), [&](TrtriTask<T> const& part) { invert(machine.queue(), part); });
}

}  // namespace

template <Element T>
void trtri(Queue& queue, TrtriTask<T> const& task) {
  if (task.a.rows <= trsm_columns_largest(is_complex<T>)) return invert(queue, task);
  run_blocked(queue, [&](QueueMachine& machine) { invert_by_blocks(machine, task); });
}

#define MYRIAD_INSTANTIATE(T) template void trtri<T>(Queue&, TrtriTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
