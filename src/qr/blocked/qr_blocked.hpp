#pragma once
/// QR of matrices that no block holds, by panels: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/arena.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "qr/block/qr_block_plan.hpp"
#include "qr/blocked/block_reflector.hpp"
#include "qr/blocked/qr_blocked_config.cuh"
#include "qr/blocked/qr_cluster_config.cuh"
#include "qr/qr.hpp"
#include "runtime/views.hpp"

namespace myriad {

inline constexpr gpu::KernelName qr_registers_kernel{"qr/block/qr_registers"};
inline constexpr gpu::KernelName qr_warps_kernel{"qr/block/qr_warps"};
inline constexpr gpu::KernelName qr_block_kernel{"qr/block/qr_block"};
inline constexpr gpu::KernelName qr_cluster_kernel{"qr/blocked/qr_cluster"};
inline constexpr gpu::KernelName qr_step_kernel{"qr/blocked/qr_step"};
inline constexpr gpu::KernelName qr_passes_kernel{"qr/blocked/qr_passes"};

/// How a panel of so many rows is factored, and its columns at most.
enum class QrPanelIn { registers, cluster, shared_memory, global_memory };
struct QrPanel {
  QrPanelIn in;
  int width;
};
/// The most rows of a panel that a cluster factors
inline constexpr std::int64_t qr_cluster_most = 32 * qr_cluster_most_warps * qr_cluster_blocks;
/// `clusters`: whether a cluster factors panels for which registers of a block have room for fewer columns.
constexpr QrPanel qr_panel_plan(int element_bytes, std::int64_t rows, std::int64_t shared_bytes, bool clusters = false) {
  int const all = qr_cluster_columns(element_bytes);
  if (clusters && rows <= qr_cluster_most && qr_registers_plan(element_bytes, rows, all, shared_bytes) < 0)
    return {QrPanelIn::cluster, all};
  for (int const width : {element_bytes == 16 ? 16 : 32, 16, 8})
    if (qr_registers_plan(element_bytes, rows, width, shared_bytes) >= 0) return {QrPanelIn::registers, width};
  for (int const width : {element_bytes == 16 ? 16 : 32, 16, 8})
    if (qr_block_holds(element_bytes, rows, width, shared_bytes)) return {QrPanelIn::shared_memory, width};
  return {QrPanelIn::global_memory, element_bytes == 16 ? 16 : 32};
}

/// Matrices that a block holds. Returns whether V^H V is at `gram`, which may be null.
template <typename T, Machine<T> M>
bool qr_in_block(M& machine, Batch<T> const& a, Batch<T> const& tau, bool scales, T* gram) {
  using D = gpu::DeviceElement<T>;
  int const in_registers = qr_registers_plan(sizeof(T), a.rows, a.cols, machine.device().shared_memory_per_block);
  if (in_registers >= 0) {
    QrRegisters const k = qr_registers_configs(sizeof(T))[static_cast<std::size_t>(in_registers)];
    machine.run(qr_registers_kernel, {.blocks = a.count, .threads = k.threads(), .shared_bytes = k.shared_bytes(sizeof(T))},
                QrRegistersArguments<D>{.a = gpu::matrices_of(a),
                                        .tau = gpu::matrices_of(tau),
                                        .gram = reinterpret_cast<D*>(gram),
                                        .line = block_reflector_width<T>,
                                        .scales = scales,
                                        .exponents = nullptr},
                dtype_of<T>, k);
    return gram != nullptr;
  }
  QrBlock const c = qr_block_plan(sizeof(T));
  QrBlockMemory const memory(c, sizeof(T), static_cast<int>(a.rows), static_cast<int>(a.cols));
  int const threads = qr_block_threads(sizeof(T), a.rows, a.cols, machine.device().shared_memory_per_multiprocessor);
  machine.run(qr_block_kernel, {.blocks = a.count, .threads = threads, .shared_bytes = memory.bytes},
              QrBlockArguments<D>{.a = gpu::matrices_of(a), .tau = gpu::matrices_of(tau), .threads = threads, .scales = scales},
              dtype_of<T>, c);
  return false;
}

/// The grid of kernels that go through matrices by parts: see for_each_qr_part.
template <typename T>
gpu::Grid qr_parts_grid(Batch<T> const& a) {
  return {.blocks = a.count * qr_chunks(a.rows) * ((a.cols + qr_columns_of_block - 1) / qr_columns_of_block),
          .threads = qr_blocked_threads,
          .shared_bytes = 4 * qr_blocked_threads};
}

/// Bytes of workspace, which limit the matrices at a time, but at least one.
inline constexpr std::int64_t qr_workspace = std::int64_t{512} << 20;

/// Workspace of geqrf by panels. `keeps_factors`: T of all panels are somewhere else.
template <typename T>
struct QrWorkspace {
  T *factors, *products, *heads;
  unsigned* largest;

  QrWorkspace(Arena& arena, std::int64_t m, std::int64_t n, std::int64_t count, bool in_global_memory, bool scales, bool keeps_factors)
      : factors(arena.take<T>(keeps_factors ? 0 : count * block_reflector_square<T>)),
        products(arena.take<T>(in_global_memory ? 2 * count * qr_chunks(m) * qr_step_columns : 0)),
        heads(arena.take<T>(in_global_memory ? 2 * count * qr_step_columns : 0)),
        largest(arena.take<unsigned>(scales ? count * qr_chunks(m) * n : 0)) {}
};

/// A becomes R and the reflectors. As many columns as a block reflector has are halved until they are a panel, which a kernel factors; what
/// is factored changes the columns behind it.
template <typename T, Machine<T> M>
class QrByPanels {
  using D = gpu::DeviceElement<T>;

 public:
  /// A is not conjugated. At `memory` there is what `bytes` says. `factors`: null, or where the T of all panels stay.
  QrByPanels(M& machine, GeqrfTask<T> const& task, T* factors, void* memory)
      : machine_(machine),
        task_(task),
        scales_(scales(machine, task)),
        keeps_factors_(factors != nullptr),
        work_(placed<QrWorkspace<T>>(memory, task.a.rows, task.a.cols, task.a.count, in_global_memory(machine, task), scales_,
                                     keeps_factors_)) {
    if (factors) work_.factors = factors;
  }

  static std::int64_t bytes(M const& machine, GeqrfTask<T> const& task, std::int64_t count, bool keeps_factors) {
    return bytes_of<QrWorkspace<T>>(task.a.rows, task.a.cols, count, in_global_memory(machine, task), scales(machine, task), keeps_factors);
  }

  void run() {
    std::int64_t const m = task_.a.rows, n = task_.a.cols, steps = std::min(m, n), width = block_reflector_width<T>;
    if (scales_) scale(false);
    for (std::int64_t j = 0; j < steps; j += width) {
      std::int64_t const some = std::min(width, steps - j);
      apply(j, some, n - j - some, factor(j, some));
      if (keeps_factors_) work_.factors += task_.a.count * block_reflector_square<T>;
    }
    if (scales_) scale(true);
  }

 private:
  /// Few columns, of many matrices mostly, go by the panels of one block.
  static bool uses_clusters(M const& machine, GeqrfTask<T> const& task) {
    return has_clusters(machine.device()) && std::min(task.a.rows, task.a.cols) > 2 * block_reflector_width<T>;
  }
  static QrPanel panel(M const& machine, GeqrfTask<T> const& task, std::int64_t rows) {
    return qr_panel_plan(sizeof(T), rows, machine.device().shared_memory_per_block, uses_clusters(machine, task));
  }
  static bool in_global_memory(M const& machine, GeqrfTask<T> const& task) {
    return panel(machine, task, task.a.rows).in == QrPanelIn::global_memory;
  }
  /// Whether columns are brought near one: where sums of squares may be of any size.
  static bool scales(M const& machine, GeqrfTask<T> const& task) {
    std::int64_t const m = task.a.rows, last = std::max<std::int64_t>(m - task.a.cols, 0);
    bool const by_clusters = uses_clusters(machine, task) && last < qr_cluster_most &&
                             panel(machine, task, std::min(m, qr_cluster_most)).in == QrPanelIn::cluster;
    return by_clusters || in_global_memory(machine, task);
  }

  void scale(bool back) {
    auto const run = [&](QrPass pass) {
      machine_.run(qr_passes_kernel, qr_parts_grid(task_.a),
                   QrPassesArguments<D>{.a = gpu::matrices_of(task_.a), .pass = pass, .largest = work_.largest}, dtype_of<T>);
    };
    if (!back) run(QrPass::measure);
    run(back ? QrPass::columns_of_r_back : QrPass::columns);
  }

  /// Columns [j, j + width) from row j on. Returns whether V^H V of these is in the workspace.
  bool factor(std::int64_t j, std::int64_t width) {
    std::int64_t const rows = task_.a.rows - j;
    QrPanel const plan = panel(machine_, task_, rows);
    if (width > plan.width) {
      std::int64_t half = plan.width;
      while (2 * half < width) half *= 2;
      apply(j, half, width - half, factor(j, half));
      factor(j + half, width - half);
      return false;
    }
    Batch<T> const a = block(task_.a, j, j, rows, width), tau = myriad::rows(task_.tau, j, width);
    T* const gram = keeps_factors_ || j + width < task_.a.cols ? work_.factors : nullptr;
    if (plan.in == QrPanelIn::cluster) {
      int const warps = qr_cluster_warps(rows);
      machine_.run(qr_cluster_kernel,
                   {.blocks = a.count * qr_cluster_blocks,
                    .threads = 32 * warps,
                    .shared_bytes = QrClusterMemory(sizeof(T), warps).elements * static_cast<std::int64_t>(sizeof(T)),
                    .cluster = qr_cluster_blocks},
                   QrClusterArguments<D>{.a = gpu::matrices_of(a),
                                         .tau = gpu::matrices_of(tau),
                                         .gram = reinterpret_cast<D*>(gram),
                                         .line = block_reflector_width<T>,
                                         .warps = warps},
                   dtype_of<T>);
      return gram != nullptr;
    }
    if (plan.in != QrPanelIn::global_memory) return qr_in_block<T>(machine_, a, tau, false, gram);
    for (int k = -1; k < width; ++k)
      machine_.run(qr_step_kernel,
                   {.blocks = a.count * qr_chunks(rows), .threads = qr_blocked_threads, .shared_bytes = qr_step_bytes(sizeof(T))},
                   QrStepArguments<D>{.a = gpu::matrices_of(a),
                                      .tau = gpu::matrices_of(tau),
                                      .step = k,
                                      .products = reinterpret_cast<D*>(work_.products),
                                      .heads = reinterpret_cast<D*>(work_.heads)},
                   dtype_of<T>);
    return false;
  }

  /// Applies the reflectors of columns [j, j + width) to `others` columns behind them.
  void apply(std::int64_t j, std::int64_t width, std::int64_t others, bool has_gram) {
    if (others == 0 && !keeps_factors_) return;
    std::int64_t const rows = task_.a.rows - j;
    Batch<T> const v = block(task_.a, j, j, rows, width), tau = myriad::rows(task_.tau, j, width),
                   c = block(task_.a, j, j + width, rows, others);
    form_block_reflectors<T>(machine_, v, tau, c, 1, work_.factors, has_gram);
    if (others > 0) apply_block_reflector<T>(machine_, v, tau, c, true, work_.factors, {.begin = 0, .end = others});
  }

  M& machine_;
  GeqrfTask<T> task_;
  bool scales_, keeps_factors_;
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
  QrPanel const panel = qr_panel_plan(sizeof(T), m, machine.device().shared_memory_per_block);
  if (n <= panel.width && panel.in != QrPanelIn::global_memory) {
    qr_in_block<T>(machine, task.a, task.tau, true, nullptr);
    return;
  }
  int const by_warps = qr_warps_plan(sizeof(T), m, n, machine.device().shared_memory_per_block);
  if (by_warps >= 0) {
    using D = gpu::DeviceElement<T>;
    QrWarps const c = qr_warps_configs(sizeof(T))[static_cast<std::size_t>(by_warps)];
    machine.run(qr_warps_kernel, {.blocks = count, .threads = c.threads(), .shared_bytes = QrWarpsMemory(c, sizeof(T)).bytes},
                QrWarpsArguments<D>{.a = gpu::matrices_of(task.a), .tau = gpu::matrices_of(task.tau)}, dtype_of<T>, c);
    return;
  }
  using Qr = QrByPanels<T, M>;
  std::int64_t const some = most_at_once(count, qr_workspace, Qr::bytes(machine, task, 1, false));
  auto memory = machine.memory(Qr::bytes(machine, task, some, false));
  for (std::int64_t b = 0; b < count; b += some) {
    std::int64_t const here = std::min(some, count - b);
    Qr(machine, {.a = matrices(task.a, b, here), .tau = matrices(task.tau, b, here)}, nullptr, memory.data()).run();
  }
}

}  // namespace myriad
