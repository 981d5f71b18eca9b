#pragma once
/// gesvd of tall matrices, and of wide ones, by QR of their parts: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "qr/blocked/qr_blocked.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "svd/svd.hpp"
#include "svd/svd_tall_plan.hpp"
#include "svd/svd_tiny_arguments.hpp"
#include "svd/svd_tiny_plan.hpp"

namespace myriad {

/// Whether svd_tall decomposes the matrices: of one size, with so few columns that svd_tiny decomposes R.
template <typename T>
bool svd_is_tall(GesvdTask<T> const& task, Device const& device) {
  std::int64_t const l = std::max(task.a.rows, task.a.cols), k = std::min(task.a.rows, task.a.cols);
  bool const strides_differ = task.a.row_strides || task.a.col_strides;
  return !task.a.ragged() && !strides_differ && l > gpu::tiny_largest && k > 0 && k <= svd_tall_columns(sizeof(T)) &&
         task.job != SvdJob::full && svd_tall_rows(sizeof(T)) * k * static_cast<std::int64_t>(sizeof(T)) <= device.shared_memory_per_block;
}

/// The matrices of a part of the batch, none of which is wide.
template <typename T, Machine<T> M>
class SvdOfTall {
  using D = gpu::DeviceElement<T>;

 public:
  SvdOfTall(M& machine, GesvdTask<T> const& task, std::vector<SvdTallLevel> const& levels, void* memory)
      : machine_(machine),
        task_(task),
        n_(task.a.cols),
        levels_(levels),
        work_(placed<SvdTallWorkspace<T>>(memory, levels, n_, task.a.count, wants_u(task.job))) {}

  void run() {
    // The factors of the conjugate are conjugate.
    Batch<T> a = task_.a;
    a.conjugated = false;
    std::vector<Batch<T>> matrices;  // of each level
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      matrices.push_back(a);
      factor(i, a);
      a = row_major(work_.levels[i].stack, levels_[i].parts * n_, n_, {.count = task_.a.count});
    }
    a.conjugated = task_.a.conjugated;
    decompose(a);
    if (!wants_u(task_.job)) return;
    for (std::size_t i = levels_.size(); i-- > 0;) {
      Batch<T> u = task_.u;
      u.conjugated = u.conjugated != task_.a.conjugated;
      if (i > 0) u = row_major(work_.levels[i - 1].vectors, levels_[i].rows, n_, {.count = task_.a.count});
      form_vectors(i, matrices[i], u);
    }
  }

 private:
  void factor(std::size_t i, Batch<T> const& a) {
    SvdTallLevel const& level = levels_[i];
    SvdTallLevelWork<T> const& work = work_.levels[i];
    std::int64_t const parts = level.parts, number = parts * a.count;
    Batch<T> of_parts = a;
    if (parts > 1) {
      run_kernel(svd_tall_parts_kernel, number,
                 SvdTallParts<D>{.a = gpu::matrices_of(a),
                                 .parts = static_cast<int>(parts),
                                 .pointers = reinterpret_cast<D**>(work.pointers),
                                 .rows = reinterpret_cast<simt::Index*>(work.sizes)});
      of_parts = {};
      of_parts.pointers = work.pointers;
      of_parts.rows = level.rows_of_part();
      of_parts.cols = n_;
      of_parts.row_stride = a.row_stride;
      of_parts.col_stride = a.col_stride;
      of_parts.count = number;
      of_parts.row_sizes = work.sizes;
    }
    QrRegisters const c = svd_tall_qr(sizeof(T), level.rows_of_part(), n_, machine_.device().shared_memory_per_block);
    machine_.run(qr_registers_kernel, {.blocks = number, .threads = c.threads(), .shared_bytes = c.shared_bytes(sizeof(T))},
                 QrRegistersArguments<D>{.a = gpu::matrices_of(of_parts),
                                         .tau = gpu::matrices_of(vectors(work.tau, n_, number)),
                                         .gram = wants_u(task_.job) ? reinterpret_cast<D*>(work.gram) : nullptr,
                                         .line = static_cast<int>(n_),
                                         .scales = true,
                                         .exponents = i == 0 ? work_.exponents : nullptr},
                 dtype_of<T>, c);
    run_kernel(svd_tall_stack_kernel, number * n_ * n_,
               SvdTallStack<D>{.a = gpu::matrices_of(Batch<T const>(a)),
                               .parts = static_cast<int>(parts),
                               .to = reinterpret_cast<D*>(work.stack),
                               .exponents = i == 0 ? work_.exponents : nullptr,
                               .exponent = work_.exponent});
  }

  void decompose(Batch<T> const& r) {
    Batch<T> w = row_major(work_.levels.back().vectors, n_, n_, {.count = r.count});
    w.conjugated = r.conjugated;
    SvdTiny const c = svd_tiny_plan(task_.job, dtype_of<T>, n_, n_);
    GesvdTask<T> const task{
        .job = task_.job, .a = r, .s = task_.s, .u = wants_u(task_.job) ? w : Batch<T>{}, .vt = task_.vt, .info = task_.info};
    machine_.run(svd_tiny_kernel,
                 {.blocks = (r.count + c.of_warp() - 1) / c.of_warp(),
                  .threads = 32,
                  .shared_bytes = SvdTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes},
                 svd_tiny_arguments(task, c), dtype_of<T>, c);
    using R = Real<T>;
    machine_.run(svd_tall_values_kernel, {.blocks = (r.count * n_ + svd_tall_threads - 1) / svd_tall_threads, .threads = svd_tall_threads},
                 SvdTallValues<R>{.s = gpu::matrices_of(task_.s), .exponent = work_.exponent}, dtype_of<R>);
  }

  void form_vectors(std::size_t i, Batch<T> const& a, Batch<T> const& u) {
    SvdTallLevel const& level = levels_[i];
    SvdTallLevelWork<T> const& work = work_.levels[i];
    SvdTallKernel const c = svd_tall_plan(level.rows_of_part(), n_);
    auto const of_device = [](T const* x) { return reinterpret_cast<D const*>(x); };
    machine_.run(svd_tall_vectors_kernel,
                 {.blocks = level.parts * a.count, .threads = c.threads, .shared_bytes = SvdTallMemory(sizeof(T), c).bytes},
                 SvdTallVectors<D>{.a = gpu::matrices_of(Batch<T const>(a)),
                                   .u = gpu::matrices_of(u),
                                   .parts = static_cast<int>(level.parts),
                                   .tau = of_device(work.tau),
                                   .gram = of_device(work.gram),
                                   .top = of_device(work.vectors)},
                 dtype_of<T>, c);
  }

  template <typename Arguments>
  void run_kernel(gpu::KernelName const& kernel, std::int64_t threads, Arguments const& arguments) {
    machine_.run(kernel, {.blocks = (threads + svd_tall_threads - 1) / svd_tall_threads, .threads = svd_tall_threads}, arguments,
                 dtype_of<T>);
  }

  M& machine_;
  GesvdTask<T> task_;
  std::int64_t n_;
  std::vector<SvdTallLevel> const& levels_;
  SvdTallWorkspace<T> work_;
};

/// gesvd of matrices for which svd_is_tall, as many at a time as `workspace` bytes hold. A matrix is factored in place, in parts of so many
/// rows as registers of a block hold, and so are the R of its parts, until one R is left, which svd_tiny decomposes.
template <typename T, Machine<T> M>
void svd_of_tall(M& machine, GesvdTask<T> task, std::int64_t workspace) {
  std::int64_t const all = task.a.count;
  if (all == 0) return;
  if (task.a.rows < task.a.cols) task = conjugate_transposed(task);
  std::int64_t const n = task.a.cols;
  auto const levels = svd_tall_levels(sizeof(T), task.a.rows, n);
  bool const with_vectors = wants_u(task.job);
  std::int64_t const some = most_at_once(all, workspace, bytes_of<SvdTallWorkspace<T>>(levels, n, std::int64_t{1}, with_vectors));
  auto memory = machine.memory(bytes_of<SvdTallWorkspace<T>>(levels, n, some, with_vectors));
  for (std::int64_t b = 0; b < all; b += some) {
    GesvdTask<T> const here = matrices(task, b, std::min(some, all - b));
    SvdOfTall<T, M>(machine, here, levels, memory.data()).run();
  }
}

}  // namespace myriad
