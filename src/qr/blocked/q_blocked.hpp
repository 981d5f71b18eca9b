#pragma once
/// Products with Q of large matrices, and Q itself, by panels: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/machine.hpp"
#include "qr/blocked/block_reflector.hpp"
#include "qr/blocked/qr_blocked.hpp"
#include "qr/qr.hpp"
#include "reflectors/reflectors_by_panels.hpp"
#include "runtime/views.hpp"

namespace myriad {

/// Whether products with Q go by block reflectors, else by products with wide panels. These read C less often, but V is prepared first. In
/// double, ns, wide panels second: 256 rows, 128 reflectors and columns 1150, 1340; 512, 512 and 512 20000, 14100; 512, 256 and one column
/// 1200, 3230. Few columns of more rows keep few blocks busy.
constexpr bool applies_block_reflectors(std::int64_t rows, std::int64_t columns) { return rows <= 256 || (rows <= 1024 && columns <= 64); }
/// The same for Q itself: 512 rows and 256 columns 5200, 6300; 1024 and 512 42000, 30400.
constexpr bool forms_block_reflectors(std::int64_t rows) { return rows <= 512; }

/// ormqr with the T of all panels at `factors`.
template <typename T, Machine<T> M>
void apply_panels(M& machine, OrmqrTask<T> const& task, T* factors) {
  constexpr std::int64_t width = block_reflector_width<T>;
  std::int64_t const m = task.a.rows, reflectors = std::min({m, task.a.cols, task.tau.rows});
  std::int64_t const panels = block_reflector_panels<T>(reflectors);
  for (std::int64_t step = 0; step < panels; ++step) {
    std::int64_t const p = task.adjoint ? step : panels - 1 - step, i = p * width, here = std::min(width, reflectors - i);
    apply_block_reflector<T>(machine, block(task.a, i, i, m - i, here), rows(task.tau, i, here), block(task.c, i, 0, m - i, task.c.cols),
                             task.adjoint, factors + p * task.a.count * block_reflector_square<T>, {.begin = 0, .end = task.c.cols});
  }
}

/// Q in place of the reflectors, with the T of all panels at `factors`. Each panel changes the columns behind it, and then takes the place
/// of its reflectors.
template <typename T, Machine<T> M>
void form_panels(M& machine, OrgqrTask<T> const& task, T* factors) {
  constexpr std::int64_t width = block_reflector_width<T>;
  std::int64_t const m = task.a.rows, n = task.a.cols, reflectors = std::min(n, task.tau.rows);
  std::int64_t const panels = std::max<std::int64_t>(block_reflector_panels<T>(reflectors), 1);
  for (std::int64_t p = panels - 1; p >= 0; --p) {
    std::int64_t const i = p * width, own = std::min(width, n - i), here = std::min(width, reflectors - i);
    auto const apply = [&](BlockReflectorColumns const& columns) {
      apply_block_reflector<T>(machine, block(task.a, i, i, m - i, here), rows(task.tau, i, here), block(task.a, i, i, m - i, n - i), false,
                               factors + p * task.a.count * block_reflector_square<T>, columns);
    };
    // Behind the last panel Q has columns of a unit matrix.
    std::int64_t const first_loaded = p == panels - 1 ? m - i : own;
    auto const plan = block_reflector_plan(sizeof(T), m - i, n - i, machine.device().shared_memory_per_block);
    bool const by_one_block = plan.groups * BlockReflectorShape::columns(sizeof(T)) >= n - i;
    if (!by_one_block) apply({.begin = own, .end = n - i, .first_loaded = first_loaded});
    apply({.begin = 0, .end = by_one_block ? n - i : own, .first_loaded = first_loaded, .together = true});
  }
}

/// Calls run(first matrix, matrices, T of all panels) for as many matrices at a time as the workspace holds T of.
template <typename T, Machine<T> M, typename Run>
void with_block_reflectors(M& machine, Batch<T const> const& a, Batch<T const> const& tau, Batch<T> const& c, Run run) {
  std::int64_t const panels = block_reflector_panels<T>(std::min({a.rows, a.cols, tau.rows}));
  std::int64_t const bytes = std::max<std::int64_t>(panels, 1) * block_reflector_square<T> * static_cast<std::int64_t>(sizeof(T));
  std::int64_t const some = most_at_once(a.count, qr_workspace, bytes);
  auto memory = machine.memory(some * bytes);
  T* const factors = static_cast<T*>(memory.data());
  for (std::int64_t b = 0; b < a.count; b += some) {
    std::int64_t const here = std::min(some, a.count - b);
    if (panels > 0) form_block_reflectors<T>(machine, matrices(a, b, here), matrices(tau, b, here), c, panels, factors, false);
    run(b, here, factors);
  }
}

/// ormqr by products with wide panels.
template <typename T, Machine<T> M>
void apply_wide_panels(M& machine, OrmqrTask<T> const& task) {
  ReflectorsTask<T> const reflectors{
      .lower = true, .adjoint = task.adjoint, .job = ReflectorsJob::apply, .a = task.a, .tau = task.tau, .c = task.c, .shift = 0};
  reflectors_by_panels<T>(machine, reflectors, 0);
}

/// ormqr of any size.
template <typename T, Machine<T> M>
void ormqr_large(M& machine, OrmqrTask<T> const& task) {
  if (!applies_block_reflectors(task.c.rows, task.c.cols)) return apply_wide_panels<T>(machine, task);
  with_block_reflectors<T>(machine, task.a, task.tau, task.c, [&](std::int64_t b, std::int64_t here, T* factors) {
    apply_panels<T>(
        machine,
        {.adjoint = task.adjoint, .a = matrices(task.a, b, here), .tau = matrices(task.tau, b, here), .c = matrices(task.c, b, here)},
        factors);
  });
}

/// orgqr of any size.
template <typename T, Machine<T> M>
void orgqr_large(M& machine, OrgqrTask<T> const& task) {
  if (!forms_block_reflectors(task.a.rows)) {
    ReflectorsTask<T> const reflectors{
        .lower = true, .adjoint = false, .job = ReflectorsJob::form, .a = task.a, .tau = task.tau, .c = task.a, .shift = 0};
    return reflectors_by_panels<T>(machine, reflectors, 0);
  }
  with_block_reflectors<T>(machine, task.a, task.tau, task.a, [&](std::int64_t b, std::int64_t here, T* factors) {
    form_panels<T>(machine, {.a = matrices(task.a, b, here), .tau = matrices(task.tau, b, here)}, factors);
  });
}

}  // namespace myriad
