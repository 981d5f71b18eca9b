#pragma once
/// Q of large matrices, formed or applied, from reflectors that are brought to the workspace and products.

#include <algorithm>
#include <cstdint>

#include "core/dtype.hpp"
#include "gemm/gemm_arguments.cuh"
#include "myriad/batch.hpp"
#include "reflectors/reflectors_config.cuh"
#include "runtime/views.hpp"

namespace myriad {

/// C = Q C or Q^H C; or Q takes the place of the reflectors, which are in C.
template <typename T>
struct ReflectorsTask {
  bool lower, adjoint;
  ReflectorsJob job;
  Batch<T const> a, tau;
  Batch<T> c;

  [[nodiscard]] bool forms() const { return job == ReflectorsJob::form; }
  [[nodiscard]] bool ragged() const { return a.ragged() || c.ragged(); }
  [[nodiscard]] ReflectorsArguments<gpu::DeviceElement<T>> arguments() const {
    return {.a = gpu::matrices_of(a), .tau = gpu::matrices_of(tau), .c = gpu::matrices_of(c), .lower = lower, .adjoint = adjoint};
  }
};

/// The layout of the workspace for so many panels of so many n-by-n matrices, in bytes from its beginning.
struct ReflectorsWorkspace {
  std::int64_t ld;  ///< elements
  std::int64_t v, v_by_t, factors, products, rows, c_rows, c_columns, columns, bytes;

  /// `others`: columns of C.
  constexpr ReflectorsWorkspace(int element_bytes, int width, std::int64_t n, std::int64_t others, std::int64_t panels, std::int64_t count,
                                bool ragged)
      : ld((n + 31) / 32 * 32) {
    std::int64_t next = 0;
    auto const take = [&](std::int64_t elements, std::int64_t size) {
      std::int64_t const here = next;
      next += (elements * size + 255) / 256 * 256;
      return here;
    };
    v = take(ld * width * panels * count, element_bytes);
    v_by_t = take(ld * width * panels * count, element_bytes);
    factors = take(std::int64_t{width} * width * panels * count, element_bytes);
    products = take(width * others * count, element_bytes);
    rows = take(panels * count, 8);
    c_rows = take(ragged ? count : 0, 8);
    c_columns = take(ragged ? count : 0, 8);
    columns = take(ragged ? count : 0, 8);
    bytes = next;
  }
};

/// Panels are applied as C - (V T) (V^H C), two products each; V, T and V T are made before, of as many panels at once as the workspace
/// holds. Machine runs kernels, bring(work), factor(work), identity(unit), and products, multiply(alpha, a, b, beta, c, written).
///
/// Panels begin at multiples of the width whichever triangle it is, so that a matrix of a ragged batch gets the same bits as alone.
template <typename T, typename Machine>
class ReflectorsByPanels {
  using D = gpu::DeviceElement<T>;

 public:
  /// Matrices of up to `passed_over` rows are not touched. At `memory`, in which results of earlier work are not needed, there is what
  /// `bytes` says.
  ReflectorsByPanels(Machine& machine, ReflectorsTask<T> const& task, int width, int passed_over, std::int64_t panels_at_once, char* memory)
      : machine_(machine), task_(task), width_(width), passed_over_(passed_over), at_once_(panels_at_once), memory_(memory) {
    // Kernels get a C of one size without its offsets (matrices_of), and so do its sizes where A alone is ragged.
    Batch<T>& c = task_.c;
    if (c.data && !c.pointers && !c.ragged() && !c.row_strides && !c.col_strides) c.data = c.matrix(0), c.row_offset = c.col_offset = 0;
  }

  static std::int64_t panels(ReflectorsTask<T> const& task, int width) { return (task.a.rows - 1 + width - 1) / width; }
  static std::int64_t bytes(ReflectorsTask<T> const& task, int width, std::int64_t panels, std::int64_t count) {
    return ReflectorsWorkspace(sizeof(T), width, task.a.rows, task.c.cols, panels, count, task.ragged()).bytes;
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
  template <typename U>
  [[nodiscard]] U* at(std::int64_t offset) const {
    return reinterpret_cast<U*>(memory_ + offset);
  }

  /// V and V T, or V T^H, of panels [first, first + some); in their places a unit matrix where Q is formed.
  void prepare(std::int64_t first, std::int64_t some) {
    bool const ragged = task_.ragged();
    std::int64_t const n = task_.a.rows, number = some * count();
    ReflectorsWorkspace const w(sizeof(T), width_, n, task_.c.cols, some, count(), ragged);
    ReflectorsPanels<D> const work{.batch = task_.arguments(),
                                   .width = width_,
                                   .first = static_cast<int>(first),
                                   .panels = static_cast<int>(some),
                                   .passed_over = passed_over_,
                                   .v = at<D>(w.v),
                                   .ld = w.ld,
                                   .factors = at<D>(w.factors),
                                   .rows = at<simt::Index>(w.rows),
                                   .c_rows = ragged ? at<simt::Index>(w.c_rows) : nullptr,
                                   .c_columns = ragged ? at<simt::Index>(w.c_columns) : nullptr,
                                   .columns = ragged ? at<simt::Index>(w.columns) : nullptr};
    v_ = batch(at<T>(w.v), n, width_, {.ld = w.ld, .stride = w.ld * width_, .count = number});
    v_.row_sizes = at<std::int64_t>(w.rows);
    v_by_t_ = v_;
    v_by_t_.data = at<T>(w.v_by_t);
    products_ = at<T>(w.products);
    c_rows_ = at<std::int64_t>(w.c_rows);
    c_columns_ = at<std::int64_t>(w.c_columns);
    columns_ = at<std::int64_t>(w.columns);
    Batch<T> const factors = batch(at<T>(w.factors), width_, width_, {.count = number});
    machine_.bring(work);
    machine_.multiply(T(1), conjugate_transposed(v_), v_, T(0), factors, Written::lower);
    machine_.factor(work);
    machine_.multiply(T(1), v_, task_.adjoint ? conjugate_transposed(factors) : factors, T(0), v_by_t_, Written::whole);
    if (!task_.forms()) return;
    // An upper triangle has its reflectors from the second column on.
    std::int64_t const shift = task_.lower ? 0 : 1, end = first + some;
    machine_.identity(ReflectorsIdentity<D>{.work = work,
                                            .first = static_cast<int>(first == 0 ? 0 : first * width_ + shift),
                                            .end = static_cast<int>(end == panels(task_, width_) ? n : std::min(end * width_ + shift, n))});
  }

  /// Panel `local` of those from `first` on.
  void apply(std::int64_t first, std::int64_t local) {
    bool const ragged = task_.ragged();
    std::int64_t const n = task_.a.rows, place = (first + local) * width_;
    std::int64_t const i = task_.lower ? place : 0, size = task_.lower ? n - place : std::min(place + width_, n);
    std::int64_t const j = task_.forms() ? i : 0, others = task_.forms() ? size : task_.c.cols;
    auto const of_panel = [&](Batch<T> const& all) {
      Batch<T> x = rows(matrices(all, local * count(), count()), 0, size);
      if (!ragged) x.row_sizes = nullptr;
      return x;
    };
    Batch<T> const v = of_panel(v_), v_by_t = of_panel(v_by_t_);
    Batch<T> c = task_.c;
    c.conjugated = false;  // see ReflectorsArguments
    // By rows where C is.
    Batch<T> w = c.col_stride < c.row_stride ? row_major(products_, width_, others, {.count = count()})
                                             : batch(products_, width_, others, {.count = count()});
    if (ragged) {
      c.row_sizes = c_rows_;
      c.col_sizes = c_columns_;
      w.col_sizes = task_.forms() ? v.row_sizes : columns_;
    }
    c = block(c, i, j, size, others);
    machine_.multiply(T(1), conjugate_transposed(v), c, T(0), w, Written::whole);
    machine_.multiply(T(-1), v_by_t, w, T(1), c, Written::whole);
  }

  Machine& machine_;
  ReflectorsTask<T> task_;
  int width_, passed_over_;
  std::int64_t at_once_;
  char* memory_;
  // Reflectors of the panels at hand, those of a panel side by side
  Batch<T> v_, v_by_t_;
  T* products_ = nullptr;
  std::int64_t *c_rows_ = nullptr, *c_columns_ = nullptr, *columns_ = nullptr;
};

}  // namespace myriad
