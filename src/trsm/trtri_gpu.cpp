#include <algorithm>

#include "blocked/diagonal_sizes.hpp"
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

namespace myriad::gpu {
namespace {

/// Inverts triangles of up to trsm_columns_largest rows in one launch.
template <typename T>
void invert(Queue& queue, TrtriTask<T> const& task) {
  if (task.a.rows > tiny_largest) return invert_triangle(queue, task, task.a.rows);
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
  auto const memory = machine.memory(may_be_singular ? 2 * task.a.count * static_cast<std::int64_t>(sizeof(std::int64_t)) : 0);
  if (may_be_singular) {
    auto* const rows = static_cast<std::int64_t*>(memory.data());
    inverted.a.row_sizes = rows;
    inverted.a.col_sizes = rows + task.a.count;
    diagonal_sizes_of<T>(machine, task.a, true, task.info, {rows, rows + task.a.count}, {task.a.row_offset, task.a.col_offset});
  } else {
    machine.clear(task.info, task.a.count);
  }
  inverted.info = nullptr;
  constexpr int order = trsm_columns_largest(is_complex<T>);
  trtri_by_blocks(machine, inverted, order, [&](TrtriTask<T> const& part) { invert_triangle(machine.queue(), part, order); });
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
