#pragma once
/// Forms or applies Q of large matrices by panels of reflectors and products.

#include <algorithm>
#include <cstdint>

#include "blocked/arena.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "gemm/gemm_arguments.cuh"
#include "myriad/batch.hpp"
#include "reflectors/reflectors_config.cuh"
#include "reflectors/reflectors_plan.hpp"
#include "runtime/views.hpp"

namespace myriad {

/// C = Q C or Q^H C; or forms Q in place of the reflectors, which are in C.
template <typename T>
struct ReflectorsTask {
  bool lower, adjoint;
  ReflectorsJob job;
  Batch<T const> a, tau;
  Batch<T> c;
  int shift = 1;  ///< see ReflectorsArguments, also for the rest
  std::int64_t limit = 0;
  std::int64_t const* limits = nullptr;
  int limit_offset = 0;

  [[nodiscard]] std::int64_t reflectors() const { return std::min({a.rows - (shift == 1 ? 1 : 0), a.cols, tau.rows}); }
  [[nodiscard]] bool forms() const { return job == ReflectorsJob::form; }
  [[nodiscard]] bool ragged() const { return a.ragged() || c.ragged(); }
  [[nodiscard]] ReflectorsArguments<gpu::DeviceElement<T>> arguments() const {
    return {.a = gpu::matrices_of(a),
            .tau = gpu::matrices_of(tau),
            .c = gpu::matrices_of(c),
            .lower = lower,
            .adjoint = adjoint,
            .shift = shift,
            .limit = limit,
            .limits = reinterpret_cast<simt::Index const*>(limits),
            .limit_offset = limit_offset};
  }
};

/// Workspace of `panels` panels of matrices of n rows.
template <typename T>
struct ReflectorsWorkspace {
  std::int64_t ld;
  T *v, *v_by_t, *factors, *products;
  std::int64_t* rows;
  std::int64_t *c_rows = nullptr, *c_columns = nullptr, *columns = nullptr;  ///< for ragged batches

  /// `others`: columns of C.
  ReflectorsWorkspace(Arena& arena, int width, std::int64_t n, std::int64_t others, std::int64_t panels, std::int64_t count, bool ragged)
      : ld((n + 31) / 32 * 32),
        v(arena.take<T>(ld * width * panels * count)),
        v_by_t(arena.take<T>(ld * width * panels * count)),
        factors(arena.take<T>(std::int64_t{width} * width * panels * count)),
        products(arena.take<T>(width * others * count)),
        rows(arena.take<std::int64_t>(panels * count)) {
    if (!ragged) return;
    for (std::int64_t** const sizes : {&c_rows, &c_columns, &columns}) *sizes = arena.take<std::int64_t>(count);
  }
};

/// The kernels of reflectors_panels.cuh, in launch order
inline constexpr gpu::KernelName reflectors_load_kernel{"reflectors/reflectors_panels", "reflectors_load"};
inline constexpr gpu::KernelName reflectors_factor_kernel{"reflectors/reflectors_panels", "reflectors_factor"};
inline constexpr gpu::KernelName reflectors_identity_kernel{"reflectors/reflectors_panels", "reflectors_identity"};

/// Panels are applied as C - (V T) (V^H C), two products each. V, T and V T are computed before, for as many panels at once as the
/// workspace holds. See blocked/machine.hpp.
///
/// Panels begin at multiples of the width for both triangles, so that a matrix of a ragged batch gets the same bits as alone.
template <typename T, Machine<T> M>
class ReflectorsByPanels {
  using D = gpu::DeviceElement<T>;

 public:
  /// Matrices of up to `passed_over` rows are skipped. `memory` has `bytes` bytes and may be overwritten.
  ReflectorsByPanels(M& machine, ReflectorsTask<T> const& task, int width, int passed_over, std::int64_t panels_at_once, void* memory)
      : machine_(machine), task_(task), width_(width), passed_over_(passed_over), at_once_(panels_at_once), memory_(memory) {
    // matrices_of folds the offsets of a uniform C into its address; the same is done here, for the sizes of C when only A is ragged.
    Batch<T>& c = task_.c;
    if (c.data && !c.pointers && !c.ragged() && !c.row_strides && !c.col_strides) c.data = c.matrix(0), c.row_offset = c.col_offset = 0;
  }

  /// At least one: a Q to be formed may have no reflectors.
  static std::int64_t panels(ReflectorsTask<T> const& task, int width) {
    return std::max<std::int64_t>((task.reflectors() + width - 1) / width, 1);
  }
  static std::int64_t bytes(ReflectorsTask<T> const& task, int width, std::int64_t panels, std::int64_t count) {
    return bytes_of<ReflectorsWorkspace<T>>(width, task.a.rows, task.c.cols, panels, count, task.ragged());
  }

  void run() {
    bool const ascends = task_.lower == task_.adjoint;
    std::int64_t const all = panels(task_, width_), groups = (all + at_once_ - 1) / at_once_;
    for (std::int64_t group = 0; group < groups; ++group) {
      std::int64_t const first = (ascends ? group : groups - 1 - group) * at_once_, some = std::min(at_once_, all - first);
      prepare(first, some);
      for (std::int64_t k = 0; k < some; ++k) apply(first, ascends ? k : some - 1 - k);
    }
  }

 private:
  [[nodiscard]] std::int64_t count() const { return task_.c.count; }
  /// Computes V and V T, or V T^H, of panels [first, first + some); if Q is formed, sets their columns to those of a unit matrix.
  void prepare(std::int64_t first, std::int64_t some) {
    bool const ragged = task_.ragged();
    std::int64_t const n = task_.a.rows, number = some * count();
    auto const w = placed<ReflectorsWorkspace<T>>(memory_, width_, n, task_.c.cols, some, count(), ragged);
    auto const of_device = [](std::int64_t* sizes) { return reinterpret_cast<simt::Index*>(sizes); };
    ReflectorsPanels<D> const work{.batch = task_.arguments(),
                                   .width = width_,
                                   .first = static_cast<int>(first),
                                   .panels = static_cast<int>(some),
                                   .passed_over = passed_over_,
                                   .v = reinterpret_cast<D*>(w.v),
                                   .ld = w.ld,
                                   .factors = reinterpret_cast<D*>(w.factors),
                                   .rows = of_device(w.rows),
                                   .c_rows = of_device(w.c_rows),
                                   .c_columns = of_device(w.c_columns),
                                   .columns = of_device(w.columns)};
    v_ = batch(w.v, n, width_, {.ld = w.ld, .stride = w.ld * width_, .count = number});
    v_.row_sizes = w.rows;
    v_by_t_ = v_;
    v_by_t_.data = w.v_by_t;
    products_ = w.products;
    c_rows_ = w.c_rows;
    c_columns_ = w.c_columns;
    columns_ = w.columns;
    Batch<T> const factors = batch(w.factors, width_, width_, {.count = number});
    machine_.run(reflectors_load_kernel,
                 {.blocks = work.ld / 32 * number, .threads = reflectors_copy_threads, .shared_bytes = 32 * 33 * sizeof(T)}, work,
                 dtype_of<T>);
    multiply(T(1), conjugate_transposed(v_), v_, T(0), factors, Written::lower);
    machine_.run(reflectors_factor_kernel, {.blocks = number, .threads = width_, .shared_bytes = work.factor_bytes(width_, sizeof(T))},
                 work, dtype_of<T>);
    multiply(T(1), v_, task_.adjoint ? conjugate_transposed(factors) : factors, T(0), v_by_t_);
    if (!task_.forms()) return;
    // An upper triangle has its reflectors from column 1 on.
    std::int64_t const shift = task_.lower ? 0 : 1, end = first + some;
    machine_.run(
        reflectors_identity_kernel, {.blocks = count() * task_.c.rows, .threads = reflectors_copy_threads},
        ReflectorsIdentity<D>{.work = work,
                              .first = static_cast<int>(first == 0 ? 0 : first * width_ + shift),
                              .end = static_cast<int>(end == panels(task_, width_) ? task_.c.cols : std::min(end * width_ + shift, n))},
        dtype_of<T>);
  }

  /// Applies panel first + local.
  void apply(std::int64_t first, std::int64_t local) {
    bool const ragged = task_.ragged();
    std::int64_t const n = task_.a.rows, place = (first + local) * width_;
    std::int64_t const i = task_.lower ? place : 0, size = task_.lower ? n - place : std::min(place + width_, n);
    // Columns that the panel changes
    std::int64_t const j = task_.forms() ? i : 0, end = task_.forms() && !task_.lower ? size : task_.c.cols, others = end - j;
    auto const of_panel = [&](Batch<T> const& all) {
      Batch<T> x = rows(matrices(all, local * count(), count()), 0, size);
      if (!ragged) x.row_sizes = nullptr;
      return x;
    };
    Batch<T> const v = of_panel(v_), v_by_t = of_panel(v_by_t_);
    Batch<T> c = task_.c;
    c.conjugated = false;  // see ReflectorsArguments
    // The product is row-major if C is.
    std::int64_t const kept = ragged ? end : others;
    Batch<T> w = c.col_stride < c.row_stride ? row_major(products_, width_, kept, {.count = count()})
                                             : batch(products_, width_, kept, {.count = count()});
    if (ragged) {
      c.row_sizes = c_rows_;
      c.col_sizes = c_columns_;
      if (task_.forms() && !task_.lower) {
        w.col_sizes = v.row_sizes;
      } else {
        w.col_sizes = columns_;
        w = columns(w, j, others);
      }
    }
    c = block(c, i, j, size, others);
    multiply(T(1), conjugate_transposed(v), c, T(0), w);
    multiply(T(-1), v_by_t, w, T(1), c);
  }
  void multiply(T alpha, Batch<T const> const& a, Batch<T const> const& b, T beta, Batch<T> const& c, Written written = Written::whole) {
    machine_.gemm_shared(GemmTask<T>{.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c}, written);
  }

  M& machine_;
  ReflectorsTask<T> task_;
  int width_, passed_over_;
  std::int64_t at_once_;
  void* memory_;
  // Reflectors of the current panels, contiguous per panel
  Batch<T> v_, v_by_t_;
  T* products_ = nullptr;
  std::int64_t *c_rows_ = nullptr, *c_columns_ = nullptr, *columns_ = nullptr;
};

/// Processes as many matrices at a time as the workspace holds one panel of, and then as many of their panels as fit. Matrices of up to
/// `passed_over` rows are skipped.
template <typename T, Machine<T> M>
void reflectors_by_panels(M& machine, ReflectorsTask<T> const& task, int passed_over) {
  using Panels = ReflectorsByPanels<T, M>;
  int const width = reflectors_width(is_complex<T>, task.reflectors());
  std::int64_t const count = task.c.count;
  std::int64_t const some = most_at_once(count, reflectors_workspace, Panels::bytes(task, width, 1, 1));
  std::int64_t const panels = most_at_once(Panels::panels(task, width), reflectors_workspace, Panels::bytes(task, width, 1, some));
  auto memory = machine.memory(Panels::bytes(task, width, panels, some));
  for (std::int64_t b = 0; b < count; b += some) {
    ReflectorsTask<T> part = task;
    std::int64_t const here = std::min(some, count - b);
    part.a = matrices(task.a, b, here);
    part.tau = matrices(task.tau, b, here);
    part.c = matrices(task.c, b, here);
    if (task.limits) part.limits = task.limits + b;
    Panels(machine, part, width, passed_over, panels, memory.data()).run();
  }
}

}  // namespace myriad
