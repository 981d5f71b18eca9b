#pragma once
/// QR of matrices that no block holds, by panels: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/arena.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "qr/block/qr_block_plan.hpp"
#include "qr/blocked/qr_blocked_config.cuh"
#include "qr/qr.hpp"
#include "reflectors/reflectors_by_panels.hpp"
#include "runtime/views.hpp"

namespace myriad {

inline constexpr gpu::KernelName qr_block_kernel{"qr/block/qr_block"};
inline constexpr gpu::KernelName qr_step_kernel{"qr/blocked/qr_step"};
inline constexpr gpu::KernelName qr_measure_kernel{"qr/blocked/qr_scale", "qr_measure"};
inline constexpr gpu::KernelName qr_scale_kernel{"qr/blocked/qr_scale"};

/// Columns that change those behind them at once. Wider blocks, whose V^H V and V T cost more, would take fewer passes over what is behind,
/// by products that already compute for longer than they load. By reasoning, not measured.
constexpr int qr_block_columns = 64;

/// Columns of a panel of so many rows: as many as a block holds, or, where it does not hold a few, as many as are factored in global
/// memory.
constexpr int qr_panel_width(int element_bytes, std::int64_t rows, std::int64_t shared_bytes) {
  for (int const width : {qr_block_columns, 32, 16, 8})
    if (qr_block_holds(element_bytes, rows, width, shared_bytes)) return width;
  return qr_step_columns;
}

/// Rows and columns of the largest square matrix that is factored whole where a block holds it. Few blocks with larger ones fit a
/// multiprocessor, and by panels these take less (H200, 2000 matrices): double with 96 rows 693 ns instead of 844, 128 rows 1212 instead of
/// 2151; single with 128 rows 806 instead of 991. Single complex with 96 rows takes 909 whole, 1047 by panels.
template <typename T>
constexpr int qr_whole_largest() {
  return sizeof(Real<T>) == 4 ? 96 : 80;
}

/// Matrices that a block holds.
template <typename T, Machine<T> M>
void qr_in_block(M& machine, QrBlockArguments<gpu::DeviceElement<T>> args) {
  QrBlock const c = qr_block_plan(sizeof(T), args.a.rows);
  QrBlockMemory const memory(c, sizeof(T), static_cast<int>(args.a.rows), static_cast<int>(args.a.cols));
  args.threads = qr_block_threads(sizeof(T), args.a.rows, args.a.cols, machine.device().shared_memory_per_multiprocessor);
  machine.run(qr_block_kernel, {.blocks = args.a.count, .threads = args.threads, .shared_bytes = memory.bytes}, args, dtype_of<T>, c);
}

/// Workspace of geqrf by panels.
template <typename T>
struct QrWorkspace {
  T *products, *heads;
  unsigned* largest;
  char* reflectors;

  QrWorkspace(Arena& arena, std::int64_t m, std::int64_t n, std::int64_t count, std::int64_t bytes_of_reflectors)
      : products(arena.take<T>(2 * count * qr_chunks(m) * qr_step_columns)),
        heads(arena.take<T>(2 * count * qr_step_columns)),
        largest(arena.take<unsigned>(count * qr_chunks(m) * n)),
        reflectors(arena.take<char>(bytes_of_reflectors)) {}
};

/// A becomes R and the reflectors. Blocks of columns are halved until they are a panel, which a kernel factors; a half that is factored
/// changes the other one, and a block the columns behind it, as reflectors/reflectors_by_panels.hpp does.
template <typename T, Machine<T> M>
class QrByPanels {
  using D = gpu::DeviceElement<T>;
  using Panels = ReflectorsByPanels<T, M>;

 public:
  /// A is not conjugated. At `memory` there is what `bytes` says.
  QrByPanels(M& machine, GeqrfTask<T> const& task, void* memory)
      : machine_(machine),
        task_(task),
        work_(placed<QrWorkspace<T>>(memory, task.a.rows, task.a.cols, task.a.count, bytes_of_reflectors(task, task.a.count))) {}

  static std::int64_t bytes(GeqrfTask<T> const& task, std::int64_t count) {
    return bytes_of<QrWorkspace<T>>(task.a.rows, task.a.cols, count, bytes_of_reflectors(task, count));
  }

  void run() {
    std::int64_t const m = task_.a.rows, n = task_.a.cols, steps = std::min(m, n), width = qr_block_columns;
    scale(false);
    for (std::int64_t j = 0; j < steps; j += width) {
      std::int64_t const some = std::min(width, steps - j);
      factor(j, some);
      apply(j, some, n - j - some);
    }
    scale(true);
  }

 private:
  static std::int64_t bytes_of_reflectors(GeqrfTask<T> const& task, std::int64_t count) {
    return bytes_of<ReflectorsWorkspace<T>>(qr_block_columns, task.a.rows, task.a.cols, std::int64_t{1}, count, task.a.ragged());
  }

  void scale(bool back) {
    std::int64_t const m = task_.a.rows, n = task_.a.cols;
    gpu::Grid const grid{.blocks = task_.a.count * qr_chunks(m) * ((n + qr_columns_of_block - 1) / qr_columns_of_block),
                         .threads = qr_blocked_threads,
                         .shared_bytes = 4 * qr_blocked_threads};
    QrScaleArguments<D> const args{.a = gpu::matrices_of(task_.a), .largest = work_.largest, .back = back};
    if (!back) machine_.run(qr_measure_kernel, grid, args, dtype_of<T>);
    machine_.run(qr_scale_kernel, grid, args, dtype_of<T>);
  }

  /// Columns [j, j + width) from row j on.
  void factor(std::int64_t j, std::int64_t width) {
    std::int64_t const rows = task_.a.rows - j, shared = machine_.device().shared_memory_per_block;
    int const most = qr_panel_width(sizeof(T), rows, shared);
    if (width > most) {
      std::int64_t half = most;
      while (2 * half < width) half *= 2;
      factor(j, half);
      apply(j, half, width - half);
      return factor(j + half, width - half);
    }
    auto const a = gpu::matrices_of(block(task_.a, j, j, rows, width)), tau = gpu::matrices_of(myriad::rows(task_.tau, j, width));
    if (qr_block_holds(sizeof(T), rows, width, shared)) {
      qr_in_block<T>(machine_, {.a = a, .tau = tau, .threads = 0, .scales = false});
      return;
    }
    for (int k = -1; k < width; ++k)
      machine_.run(
          qr_step_kernel, {.blocks = a.count * qr_chunks(rows), .threads = qr_blocked_threads, .shared_bytes = qr_step_bytes(sizeof(T))},
          QrStepArguments<D>{
              .a = a, .tau = tau, .step = k, .products = reinterpret_cast<D*>(work_.products), .heads = reinterpret_cast<D*>(work_.heads)},
          dtype_of<T>);
  }

  /// Applies the reflectors of columns [j, j + width) to `others` columns behind them.
  void apply(std::int64_t j, std::int64_t width, std::int64_t others) {
    if (others == 0) return;
    std::int64_t const rows = task_.a.rows - j;
    ReflectorsTask<T> const task{.lower = true,
                                 .adjoint = true,
                                 .job = ReflectorsJob::apply,
                                 .a = block(task_.a, j, j, rows, width),
                                 .tau = myriad::rows(task_.tau, j, width),
                                 .c = block(task_.a, j, j + width, rows, others),
                                 .shift = 0};
    Panels(machine_, task, reflectors_width(is_complex<T>, width), 0, 1, work_.reflectors).run();
  }

  M& machine_;
  GeqrfTask<T> task_;
  QrWorkspace<T> work_;
};

/// geqrf of matrices of any size, as many at a time as the workspace holds.
template <typename T, Machine<T> M>
void geqrf_large(M& machine, GeqrfTask<T> task) {
  // The factors of the conjugate are conjugate.
  task.tau.conjugated = task.tau.conjugated != task.a.conjugated;
  task.a.conjugated = false;
  std::int64_t const m = task.a.rows, n = task.a.cols, count = task.a.count;
  task.tau = rows(task.tau, 0, std::min(m, n));
  if (std::min(m, n) <= qr_whole_largest<T>() && qr_block_holds(sizeof(T), m, n, machine.device().shared_memory_per_block)) {
    qr_in_block<T>(machine, {.a = gpu::matrices_of(task.a), .tau = gpu::matrices_of(task.tau), .threads = 0, .scales = true});
    return;
  }
  using Qr = QrByPanels<T, M>;
  std::int64_t const some = most_at_once(count, reflectors_workspace, Qr::bytes(task, 1));
  auto memory = machine.memory(Qr::bytes(task, some));
  for (std::int64_t b = 0; b < count; b += some) {
    std::int64_t const here = std::min(some, count - b);
    Qr(machine, {.a = matrices(task.a, b, here), .tau = matrices(task.tau, b, here)}, memory.data()).run();
  }
}

}  // namespace myriad
