#include "trsm/trsm_gpu.hpp"

#include <algorithm>
#include <bit>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "trsm/trsm_by_blocks.hpp"
#include "trsm/trsm_space.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName trsm_tiny_kernel{"trsm/trsm_tiny"};
constexpr KernelName trsm_columns_kernel{"trsm/trsm_columns"};
constexpr KernelName trsm_panels_kernel{"trsm/trsm_panels"};
constexpr KernelName trsm_vector_kernel{"trsm/trsm_vector"};

template <typename T>
bool is_interleaved(Batch<T> const& b) {
  return layout_of(matrices_of(b)) == simt::Layout::interleaved;
}

/// Blocks per matrix that fill all multiprocessors. Each block loads the triangle once.
std::int64_t parts_wanted(Queue& queue, int blocks_per_sm, std::int64_t count) {
  return std::int64_t{context_of(queue).device().multiprocessors} * blocks_per_sm / std::max<std::int64_t>(count, 1);
}

/// Arguments for one block per matrix.
template <typename T>
TrsmColumnsArguments<DeviceElement<T>> arguments_of(TrsmTask<T> const& task, bool small, int* info) {
  return {.alpha = std::bit_cast<DeviceElement<T>>(task.alpha),
          .a = matrices_of(task.a),
          .b = matrices_of(task.b),
          .parts = 1,
          .columns_of_block = task.b.cols,
          .info = info,
          .unit = task.diag == Diag::unit,
          .small_by_rows = small};
}
/// Distributes right-hand sides, `at_once` at a time, over several blocks per matrix if multiprocessors would be idle.
template <typename T>
void divide(Queue& queue, TrsmColumnsArguments<T>& args, int blocks_per_sm, std::int64_t at_once) {
  std::int64_t const columns = args.b.cols, rounds = (columns + at_once - 1) / at_once;
  std::int64_t const parts = std::clamp<std::int64_t>(parts_wanted(queue, blocks_per_sm, args.b.count), 1, rounds);
  args.columns_of_block = (rounds + parts - 1) / parts * at_once;
  args.parts = (columns + args.columns_of_block - 1) / args.columns_of_block;
}

/// Solves with right-hand sides in registers. `small`: matrices of a ragged batch with at most trsm_by_rows rows, and no rows before them,
/// are solved as they would be alone.
template <typename T>
void launch_columns(Queue& queue, TrsmTask<T> const& task, TrsmColumns c, bool small, int* info) {
  auto args = arguments_of(task, small, info);
  c.lower = task.uplo == Uplo::lower;
  if (!c.inverse) divide(queue, args, c.blocks_per_sm, c.warps * c.columns_of_warp());
  Kernel const& kernel = kernel_of(queue, trsm_columns_kernel, dtype_of<T>, c);
  launch(queue, kernel,
         {.blocks = args.b.count * args.parts,
          .threads = c.threads(),
          .shared_bytes = TrsmColumnsMemory(sizeof(Real<T>), is_complex<T>, c).bytes},
         args);
}
template <typename T>
void solve_columns(Queue& queue, TrsmTask<T> const& task, std::int64_t rows, std::int64_t columns, bool inverse, bool small, int* info) {
  TrsmColumns c = tuning::planned(queue, TrsmColumnsSpace{{dtype_of<T>, rows, columns}, inverse});
  c.inverse = inverse;
  c.ragged = task.a.row_sizes || task.b.ragged() || rows != task.b.rows;
  c.moved = trsm_columns_moved(matrices_of(task.b), inverse);
  launch_columns(queue, task, c, small, info);
}

/// Solves with one whole right-hand side per lane.
template <typename T>
void launch_panels(Queue& queue, TrsmTask<T> const& task, TrsmPanels c) {
  auto args = arguments_of(task, true, nullptr);
  c.lower = task.uplo == Uplo::lower ? 1 : 0;
  divide(queue, args, c.blocks_per_sm, c.warps * c.columns_of_warp());
  Kernel const& kernel = kernel_of(queue, trsm_panels_kernel, dtype_of<T>, c);
  launch(queue, kernel,
         {.blocks = args.b.count * args.parts,
          .threads = c.threads(),
          .shared_bytes = TrsmPanelsMemory(sizeof(Real<T>), is_complex<T>, c).bytes},
         args);
}
template <typename T>
void solve_panels(Queue& queue, TrsmTask<T> const& task, std::int64_t columns) {
  launch_panels(queue, task, tuning::planned(queue, TrsmPanelsSpace{{dtype_of<T>, task.b.rows, columns}}));
}

/// Solves with one right-hand side, one warp per matrix.
template <typename T>
void solve_vector(Queue& queue, TrsmTask<T> const& task) {
  auto const args = arguments_of(task, true, nullptr);
  TrsmVector c = tuning::planned(queue, TrsmVectorSpace{{dtype_of<T>, task.b.rows, 1}});
  c.lower = task.uplo == Uplo::lower ? 1 : 0;
  c.row_stride = args.a.row_stride == 1 && !args.a.row_strides ? 1 : 0;
  Kernel const& kernel = kernel_of(queue, trsm_vector_kernel, dtype_of<T>, c);
  launch(queue, kernel, {.blocks = (args.b.count + c.warps - 1) / c.warps, .threads = c.threads(), .shared_bytes = 0}, args);
}

}  // namespace

template <typename T>
void substitute(Queue& queue, Substitution<T> const& task) {
  if (task.b.empty()) {
    if (task.info) clear(queue, task.info, task.b.count);
    return;
  }
  require_tiny(task.routine, task.b.rows, task.b.rows);
  using D = DeviceElement<T>;
  TrsmTinyArguments<D> const args{.alpha = std::bit_cast<D>(task.alpha),
                                  .a = matrices_of(task.a),
                                  .b = matrices_of(task.b),
                                  .columns = task.b.cols,
                                  .pivots = matrices_of(rows(task.pivots, 0, task.b.rows)),
                                  .info = task.info};
  TrsmTinySpace const space{dtype_of<T>, static_cast<int>(task.b.rows),
                            task.b.cols, task.lower,
                            task.upper,  args.pivots.given() ? task.interchange : Interchange::never,
                            task.right};
  bool const interleaved = is_interleaved(task.a) || is_interleaved(task.b);
  TrsmTiny c = interleaved ? space.plan() : tuning::planned(queue, space);
  c.a = layout_of(args.a);
  c.b = task.b.cols > c.nrhs ? by_elements(layout_of(args.b)) : layout_of(args.b);
  if (args.pivots.given() && layout_of(args.pivots) != simt::Layout::packed_columns) c.pivots = simt::Layout::columns;
  c.matrices = matrices_of_block(c.matrices, c.lanes, interleaved, sizeof(T));
  Kernel const& kernel = kernel_of(queue, trsm_tiny_kernel, dtype_of<T>, c);
  launch(
      queue, kernel,
      {.blocks = (args.b.count + c.matrices - 1) / c.matrices, .threads = c.threads(), .shared_bytes = TrsmTinyMemory(sizeof(T), c).bytes},
      args);
}

template <typename T>
void trsm(Queue& queue, TrsmTask<T> const& task, std::int64_t planned_columns) {
  // For small matrices both kernels solve row by row, and give the same bits. In trsm_tiny the lanes of a warp share a triangle and iterate
  // over B.
  bool const small = task.b.rows <= trsm_by_rows;
  if (small && (task.b.rows <= trsm_by_rows / 2 || task.b.cols <= 2 * most_columns || is_interleaved(task.b))) {
    Triangle const triangle = task.diag == Diag::unit ? Triangle::unit : Triangle::non_unit;
    bool const lower = task.uplo == Uplo::lower;
    substitute<T>(queue, {.routine = "trsm",
                          .lower = lower ? triangle : Triangle::unused,
                          .upper = lower ? Triangle::unused : triangle,
                          .interchange = Interchange::never,
                          .right = RightSide::given,
                          .alpha = task.alpha,
                          .a = task.a,
                          .pivots = {},
                          .b = task.b,
                          .info = nullptr});
    return;
  }
  constexpr int order = trsm_columns_largest(is_complex<T>);
  auto const solve = [&](TrsmTask<T> const& part) {
    bool const row_by_row = small || (sizeof(Real<T>) == 4 && part.b.rows <= trsm_panels_largest);
    std::int64_t const columns = planned_columns > 0 ? planned_columns : part.b.cols;
    if (columns == 1)
      solve_vector(queue, part);
    else if (row_by_row)
      solve_panels(queue, part, columns);
    else
      solve_columns(queue, part, part.b.rows, columns, false, part.a.row_offset == task.a.row_offset, nullptr);
  };
  if (task.b.rows <= order) return solve(task);
  run_blocked(queue, [&](QueueMachine& machine) { trsm_by_blocks(machine, task, order, solve); });
}

namespace {

/// A machine whose products use shared kernels.
class SharingMachine : public QueueMachine {
 public:
  using QueueMachine::QueueMachine;
  template <Element T>
  void gemm(GemmTask<T> const& task, Structure = Structure::general, Written written = Written::whole) {
    gemm_shared(task, written);
  }
};

/// Rows of a triangle per block of trsm_shared: few, so that its kernels compile quickly and without spills.
template <typename T>
constexpr std::int64_t shared_order = is_complex<T> && sizeof(Real<T>) == 8 ? 32 : 64;

constexpr TrsmPanels shared_panels(int real_bytes, bool complex, std::int64_t rows) {
  return trsm_panels_plan(real_bytes, complex, rows <= 32 ? 32 : 64, 128);
}

}  // namespace

template <typename T>
void trsm_shared(Queue& queue, TrsmTask<T> const& task) {
  if (task.b.empty()) return;
  if (task.b.cols == 1 && task.b.rows > trsm_by_rows && task.alpha == T(1)) return trsv(queue, task);
  auto const solve = [&](TrsmTask<T> const& part) {
    launch_panels(queue, part, shared_panels(sizeof(Real<T>), is_complex<T>, part.b.rows));
  };
  if (task.b.rows <= shared_order<T>) return solve(task);
  SharingMachine machine(queue);
  trsm_by_blocks(machine, task, shared_order<T>, solve);
}

std::vector<KernelSource> trsm_vector_kernels(Dtype dtype, std::int64_t rows) {
  std::vector<KernelSource> kernels;
  for (int const lower : {0, 1})
    for (int const row_stride : {0, 1}) {
      TrsmVector c = TrsmVectorSpace{{dtype, rows, 1}}.plan();
      c.lower = lower, c.row_stride = row_stride;
      kernels.push_back(source_of(trsm_vector_kernel, dtype, c));
    }
  return kernels;
}

std::vector<KernelSource> trsm_shared_kernels(Dtype dtype) {
  std::vector<KernelSource> kernels;
  with_dtype(dtype, [&]<typename T>() {
    for (std::int64_t rows = 32; rows <= shared_order<T>; rows *= 2)
      for (int const lower : {0, 1}) {
        TrsmPanels c = shared_panels(sizeof(Real<T>), is_complex<T>, rows);
        c.lower = lower;
        kernels.push_back(source_of(trsm_panels_kernel, dtype, c));
      }
  });
  return kernels;
}

template <typename T>
void invert_triangle(Queue& queue, TrtriTask<T> const& given, std::int64_t planned_rows) {
  TrsmTask<T> task{.uplo = given.uplo, .diag = given.diag, .alpha = T(1), .a = given.a, .b = given.a};
  task.a.conjugated = task.b.conjugated = false;  // the inverse of the conjugate is the conjugate of the inverse
  solve_columns(queue, task, planned_rows, planned_rows, true, true, given.info);
}

template <typename T>
void trmm(Queue& queue, TrsmTask<T> const& task) {
  auto const all = [&](QueueMachine& machine) { trmm_by_blocks(machine, task, gemm_rows_in_place); };
  if (task.b.rows > gemm_rows_in_place) return run_blocked(queue, all);
  QueueMachine machine(queue);
  all(machine);
}

std::vector<KernelSource> trsm_kernels_of_panel(Dtype dtype, std::int64_t rows, bool lower, bool ragged) {
  bool const single = dtype == Dtype::f32 || dtype == Dtype::c32;
  if (single && rows <= trsm_panels_largest) {
    TrsmPanels c = TrsmPanelsSpace{{dtype, rows, columns_of_panel}}.plan();
    c.lower = lower ? 1 : 0;
    return {source_of(trsm_panels_kernel, dtype, c)};
  }
  std::vector<KernelSource> kernels;
  for (Moved const moved : {Moved::elements, ragged ? Moved::either : Moved::chunks}) {
    if (moved == Moved::either && dtype == Dtype::c64) continue;  // see trsm_columns_moved
    TrsmColumns c = TrsmColumnsSpace{{dtype, rows, columns_of_panel}}.plan();
    c.lower = lower;
    c.ragged = ragged;
    c.moved = moved;
    kernels.push_back(source_of(trsm_columns_kernel, dtype, c));
  }
  return kernels;
}

std::vector<KernelSource> trsm_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    for (int n = 1; n <= tiny_largest; ++n) {
      if (!filter.wants_dtype(dtype) || !filter.wants_size(n)) continue;
      auto const add = [&](char const* routine, std::int64_t columns, Triangle lower, Triangle upper, Interchange interchange,
                           RightSide right) {
        if (!filter.wants_routine(routine)) return;
        for (TrsmTiny c : tuning::shipped(TrsmTinySpace{dtype, n, columns, lower, upper, interchange, right}, filter.candidates)) {
          if (columns > c.nrhs) c.b = simt::Layout::columns;
          kernels.push_back(source_of(trsm_tiny_kernel, dtype, c));
        }
      };
      add("trsm", 1, Triangle::non_unit, Triangle::unused, Interchange::never, RightSide::given);
      add("trsm", 1, Triangle::unused, Triangle::non_unit, Interchange::never, RightSide::given);
      add("getrs", 1, Triangle::unit, Triangle::non_unit, Interchange::before, RightSide::given);
      add("trtri", n, Triangle::non_unit, Triangle::unused, Interchange::never, RightSide::identity_in_place);
      add("trtri", n, Triangle::unused, Triangle::non_unit, Interchange::never, RightSide::identity_in_place);
      add("getri", n, Triangle::unit, Triangle::non_unit, Interchange::before, RightSide::identity);
    }
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    if (!filter.wants_dtype(dtype)) continue;
    bool const complex = is_complex_dtype(dtype);
    int const order = trsm_columns_largest(complex);
    if (filter.wants_size_above(order) && (filter.wants_routine("trtri") || filter.wants_routine("potri"))) {
      for (bool const lower : {true, false}) {
        TrsmColumns c = TrsmColumnsSpace{{dtype, order, order}, true}.plan();
        c.inverse = c.ragged = true;
        c.moved = Moved::elements;
        c.lower = lower;
        kernels.push_back(source_of(trsm_columns_kernel, dtype, c));
      }
      for (KernelSource const& source : trsm_shared_kernels(dtype)) kernels.push_back(source);
      for (Lines const a : {Lines::columns, Lines::rows})
        for (Lines const c : {Lines::columns, Lines::rows})
          for (KernelSource const& source : blocked_product_kernels(dtype, static_cast<int>(element_bytes(dtype)), a, c, c))
            kernels.push_back(source);
    }
    for (int n = tiny_largest + 1; n <= trsm_columns_largest(is_complex_dtype(dtype)); ++n) {
      if (!filter.wants_dtype(dtype) || !filter.wants_size(n)) continue;
      for (bool const lower : {true, false}) {
        if (filter.wants_routine("trsm")) {
          for (TrsmVector c : tuning::shipped(TrsmVectorSpace{{dtype, n, 1}}, filter.candidates)) {
            c.lower = lower ? 1 : 0;
            kernels.push_back(source_of(trsm_vector_kernel, dtype, c));
          }
        }
        if (filter.wants_routine("trtri")) {
          for (TrsmColumns c : tuning::shipped(TrsmColumnsSpace{{dtype, n, n}, true}, filter.candidates)) {
            c.inverse = true;
            c.moved = Moved::elements;
            c.lower = lower;
            kernels.push_back(source_of(trsm_columns_kernel, dtype, c));
          }
        }
      }
    }
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                                                  \
  template void trsm<T>(Queue&, TrsmTask<T> const&, std::int64_t);             \
  template void trsm_shared<T>(Queue&, TrsmTask<T> const&);                    \
  template void trmm<T>(Queue&, TrsmTask<T> const&);                           \
  template void invert_triangle<T>(Queue&, TrtriTask<T> const&, std::int64_t); \
  template void substitute<T>(Queue&, Substitution<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
