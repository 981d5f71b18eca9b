#pragma once
/// gesvd and gejsv of matrices of any size: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/copy_matrices.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "qr/blocked/qr_blocked.hpp"
#include "qr/pivoted/geqp3_large.hpp"
#include "reflectors/reflectors_by_panels.hpp"
#include "runtime/views.hpp"
#include "svd/bdsdc/bdsdc_by_levels.hpp"
#include "svd/bidiagonal/gebrd_blocked.hpp"
#include "svd/gesvd_plan.hpp"
#include "svd/svd.hpp"
#include "svd/svd_block.hpp"
#include "svd/svd_tall.hpp"
#include "svd/svd_tiny_arguments.hpp"
#include "svd/svd_tiny_plan.hpp"

namespace myriad {

inline constexpr gpu::KernelName gesvd_sizes_kernel{"svd/gesvd_kernels", "gesvd_sizes"};
inline constexpr gpu::KernelName gesvd_largest_kernel{"svd/gesvd_kernels", "gesvd_largest"};
inline constexpr gpu::KernelName gesvd_load_kernel{"svd/gesvd_kernels", "gesvd_load"};
inline constexpr gpu::KernelName gesvd_scale_values_kernel{"svd/gesvd_kernels", "gesvd_scale_values"};
inline constexpr gpu::KernelName gesvd_place_kernel{"svd/gesvd_kernels", "gesvd_place"};
inline constexpr gpu::KernelName gesvd_write_kernel{"svd/gesvd_kernels", "gesvd_write"};
inline constexpr gpu::KernelName gesvd_sort_rows_kernel{"svd/gesvd_jacobi", "gesvd_sort_rows"};
inline constexpr gpu::KernelName gesvd_jacobi_kernel{"svd/gesvd_jacobi", "gesvd_jacobi"};

/// gesvd of matrices of up to `order` rows and columns; larger ones of a ragged batch are passed over.
template <typename T, Machine<T> M>
void svd_by_lanes(M& machine, GesvdTask<T> const& task, std::int64_t order) {
  SvdTiny const c = svd_tiny_plan(task.job, dtype_of<T>, order, order);
  machine.run(svd_tiny_kernel,
              {.blocks = (task.a.count + c.of_warp() - 1) / c.of_warp(),
               .threads = 32,
               .shared_bytes = SvdTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes},
              svd_tiny_arguments(task, c), dtype_of<T>, c);
}

/// The matrices of a part of the batch: copied to the workspace, scaled; much taller ones than wide reduced to R; then reduced to
/// bidiagonal form, whose vectors are multiplied by the reflectors, or, for high relative accuracy, to a triangle whose rows are rotated.
/// Wide matrices are conjugate transposed on the way in and out.
template <typename T, Machine<T> M>
class GesvdBySteps {
  using D = gpu::DeviceElement<T>;
  using R = Real<T>;

 public:
  GesvdBySteps(M& machine, GesvdTask<T> const& task, GesvdPlan const& plan, std::int64_t above, int parts, void* memory)
      : machine_(machine), task_(task), plan_(plan), work_(placed<GesvdWorkspace<T>>(memory, plan, task.a.count, parts)) {
    std::int64_t const count = task.a.count, l = plan.l, k = plan.k;
    auto const of_device = [](T* x) { return reinterpret_cast<D*>(x); };
    auto const sizes = [&](int which) { return plan.ragged ? work_.sizes + which * count : nullptr; };
    auto const of_kernel = [&](int which) { return reinterpret_cast<simt::Index*>(sizes(which)); };
    qr_ = workspace(work_.qr, l, k, sizes(0), sizes(1));
    reduced_ = workspace(work_.reduced, plan.rows, k, sizes(2), sizes(3));
    sorted_ = reduced_;
    sorted_.data = work_.sorted;
    long_side_ = workspace(work_.long_side, l, plan.long_columns(), sizes(4), sizes(5));
    short_side_ = workspace(work_.short_side, k, k, sizes(3), sizes(3));
    // The rows and columns of the long vectors that the reflectors of the bidiagonal form change
    long_reduced_ = long_side_;
    long_reduced_.rows = plan.rows;
    long_reduced_.cols = !plan.ragged && plan.some_by_qr ? k : plan.long_columns();
    long_reduced_.row_sizes = sizes(2);
    long_reduced_.col_sizes = sizes(6);
    BdsdcWork<R> const& vectors = work_.bidiagonal.vectors;
    kernels_ = {.a = gpu::matrices_of(Batch<T const>(task.a)),
                .u = gpu::matrices_of(task.u),
                .vt = gpu::matrices_of(task.vt),
                .s = gpu::matrices_of(task.s),
                .info = task.info,
                .columns = plan.full ? GesvdColumns::full : GesvdColumns::thin,
                .small = plan.small,
                .above = static_cast<int>(above),
                .by_jacobi = plan.by_jacobi,
                .side = 0,
                .sizes = {.qr_rows = of_kernel(0),
                          .qr_columns = of_kernel(1),
                          .rows = of_kernel(2),
                          .columns = of_kernel(3),
                          .long_rows = of_kernel(4),
                          .long_columns = of_kernel(5),
                          .long_reduced = of_kernel(6),
                          .small = of_kernel(7)},
                .largest = work_.largest,
                .parts = parts,
                .scales = work_.bidiagonal.scales,
                .qr = of_device(work_.qr),
                .reduced = of_device(work_.reduced),
                .long_side = of_device(work_.long_side),
                .short_side = of_device(work_.short_side),
                .qr_ld = qr_.col_stride,
                .qr_stride = qr_.batch_stride,
                .reduced_ld = reduced_.col_stride,
                .reduced_stride = reduced_.batch_stride,
                .long_ld = long_side_.col_stride,
                .long_stride = long_side_.batch_stride,
                .long_columns = plan.long_columns(),
                .short_ld = short_side_.col_stride,
                .short_stride = short_side_.batch_stride,
                .q = vectors.q,
                .order = vectors.order,
                .q_ld = vectors.ld,
                .q_stride = vectors.stride,
                .q_line = vectors.line,
                .jacobi = {.sorted = of_device(work_.sorted),
                           .rotated = of_device(work_.rotated),
                           .rows = work_.rows,
                           .columns = work_.columns,
                           .lengths = work_.lengths,
                           .places = work_.places,
                           .most_rows = plan.rows,
                           .of_long = plan.long_side,
                           .of_short = plan.short_side}};
  }

  void run() {
    std::int64_t const count = task_.a.count;
    if (plan_.ragged) launch(gesvd_sizes_kernel, (count + gesvd_threads - 1) / gesvd_threads, 0);
    launch(gesvd_largest_kernel, kernels_.parts * count, gesvd_search_bytes);
    launch(gesvd_load_kernel, tiles(task_.a), gesvd_tile_bytes(sizeof(T)) + gesvd_search_bytes);
    if (plan_.some_by_qr) reduce_to_r();
    // For matrices without elements in a ragged batch
    if (task_.info) machine_.clear(task_.info, count);
    if (plan_.some_small) decompose_small();
    if (plan_.some_large) plan_.by_jacobi ? rotate() : bidiagonalize();
    if (!plan_.vectors()) return;
    if (plan_.long_side) form_long_side();
    if (plan_.short_side && plan_.some_large && !plan_.by_jacobi) form_short_side();
    if (wants_u()) launch_side(gesvd_write_kernel, 0, tiles(task_.u), gesvd_tile_bytes(sizeof(T)));
    if (wants_vt()) launch_side(gesvd_write_kernel, 1, tiles(task_.vt), gesvd_tile_bytes(sizeof(T)));
  }

 private:
  [[nodiscard]] bool wants_u() const { return task_.job != SvdJob::right; }
  [[nodiscard]] bool wants_vt() const { return task_.job != SvdJob::left; }

  [[nodiscard]] Batch<T> workspace(T* data, std::int64_t rows, std::int64_t columns, std::int64_t const* row_sizes,
                                   std::int64_t const* col_sizes) const {
    Batch<T> out = batch(data, rows, columns, {.count = task_.a.count});
    out.row_sizes = row_sizes;
    out.col_sizes = col_sizes;
    return out;
  }
  [[nodiscard]] Batch<T> taus(T* data) const { return vectors(data, plan_.k, task_.a.count); }
  template <typename E>
  [[nodiscard]] static std::int64_t tiles(Batch<E> const& x) {
    return (x.rows + gesvd_side - 1) / gesvd_side * ((x.cols + gesvd_side - 1) / gesvd_side) * x.count;
  }
  [[nodiscard]] std::int64_t columns_of_place(std::int64_t columns) const {
    return (columns + gesvd_threads / 32 - 1) / (gesvd_threads / 32) * task_.a.count;
  }
  void launch(gpu::KernelName const& kernel, std::int64_t blocks, std::int64_t shared_bytes) {
    machine_.run(kernel, {.blocks = blocks, .threads = gesvd_threads, .shared_bytes = shared_bytes}, kernels_, dtype_of<T>);
  }
  void launch_side(gpu::KernelName const& kernel, int side, std::int64_t blocks, std::int64_t shared_bytes) {
    kernels_.side = side;
    launch(kernel, blocks, shared_bytes);
  }

  /// QR of the matrices that are reduced to R, and R as the matrix that is reduced to bidiagonal form.
  void reduce_to_r() {
    geqrf_large<T>(machine_, {.a = qr_, .tau = taus(work_.tau)});
    Batch<T> r = rows(qr_, 0, std::min(plan_.k, plan_.rows)), to = rows(reduced_, 0, r.rows);
    if (plan_.ragged) r.row_sizes = to.row_sizes = to.col_sizes = qr_.col_sizes;
    copy_matrices<T>(machine_, transposed(Batch<T const>(r)), transposed(to), Copied::lower_with_zeros);
  }

  /// Small R: their vectors are written to those of the whole matrices.
  void decompose_small() {
    std::int64_t const count = task_.a.count, k = std::min<std::int64_t>(plan_.k, plan_.small);
    auto const of_r = [&](Batch<T> x) {
      x.rows = x.cols = k;
      x.row_sizes = x.col_sizes = plan_.ragged ? work_.sizes + 7 * count : nullptr;
      return x;
    };
    SvdJob const job = !plan_.vectors()    ? SvdJob::values
                       : !plan_.short_side ? SvdJob::left
                       : !plan_.long_side  ? SvdJob::right
                                           : SvdJob::thin;
    GesvdTask<T> const task{.job = job,
                            .a = of_r(reduced_),
                            .s = task_.s,
                            .u = of_r(long_side_),
                            .vt = conjugate_transposed(of_r(short_side_)),
                            .info = task_.info};
    if (plan_.ragged || k <= gesvd_tiny_most)
      svd_by_lanes<T>(machine_, task, std::clamp<std::int64_t>(k, gesvd_tiny_least, gesvd_tiny_most));
    if (k > gesvd_tiny_most) svd_by_block<T>(machine_, task, gesvd_tiny_most, k);
    launch(gesvd_scale_values_kernel, (count * plan_.small + gesvd_threads - 1) / gesvd_threads, 0);
  }

  /// Bidiagonal form, its values, and with vectors its singular vectors.
  void bidiagonalize() {
    std::int64_t const count = task_.a.count;
    gebrd_on<T>(machine_, {.a = reduced_,
                           .d = vectors(work_.bidiagonal.d, plan_.k, count),
                           .e = vectors(work_.bidiagonal.e, plan_.k - 1, count, plan_.k),
                           .tauq = taus(work_.tauq),
                           .taup = taus(work_.taup)});
    auto const given = [&](auto& bidiagonal) {
      bidiagonal.s = kernels_.s;
      bidiagonal.info = task_.info;
      bidiagonal.sizes = kernels_.sizes.columns;
    };
    given(work_.bidiagonal.vectors);
    given(work_.bidiagonal.values);
    plan_.vectors() ? bdsdc_by_levels<R>(machine_, work_.bidiagonal.vectors) : bdsdc_values<R>(machine_, work_.bidiagonal.values);
  }

  /// QR with column pivoting of the matrices with their rows sorted; Jacobi on R^H, which yields values, short vectors, and long ones but
  /// for Q.
  void rotate() {
    std::int64_t const count = task_.a.count;
    launch(gesvd_sort_rows_kernel, count, gesvd_threads * static_cast<std::int64_t>(sizeof(int)));
    machine_.clear(work_.columns, plan_.k * count);  // geqp3 keeps no column in front
    geqp3_large<T>(machine_, {.a = sorted_, .jpvt = vectors(work_.columns, plan_.k, count), .tau = taus(work_.tauq)});
    launch(gesvd_jacobi_kernel, count, gesvd_search_bytes);
  }

  void form_long_side() {
    auto const multiply_by_q = [&](Batch<T> const& reflectors, T* tau, Batch<T> const& c) {
      reflectors_by_panels<T>(
          machine_, {.lower = true, .adjoint = false, .job = ReflectorsJob::apply, .a = reflectors, .tau = taus(tau), .c = c, .shift = 0},
          0);
    };
    if (!plan_.by_jacobi || plan_.some_small) launch_side(gesvd_place_kernel, 0, columns_of_place(plan_.long_columns()), 0);
    if (plan_.by_jacobi)
      multiply_by_q(sorted_, work_.tauq, long_reduced_);
    else if (plan_.some_large)
      ormbr_on<T>(machine_, {.vect = Vect::q,
                             .adjoint = false,
                             .k = {plan_.k, reduced_.col_sizes},
                             .a = reduced_,
                             .tau = taus(work_.tauq),
                             .c = long_reduced_});
    if (plan_.some_by_qr) multiply_by_q(qr_, work_.tau, long_side_);
  }
  void form_short_side() {
    launch_side(gesvd_place_kernel, 1, columns_of_place(plan_.k), 0);
    ormbr_on<T>(machine_, {.vect = Vect::p,
                           .adjoint = false,
                           .k = {plan_.rows, reduced_.row_sizes},
                           .a = conjugate_transposed(reduced_),
                           .tau = taus(work_.taup),
                           .c = short_side_});
  }

  M& machine_;
  GesvdTask<T> task_;
  GesvdPlan plan_;
  GesvdWorkspace<T> work_;
  Batch<T> qr_, reduced_, sorted_, long_side_, long_reduced_, short_side_;
  Gesvd<D> kernels_{};
};

/// gesvd, for as many matrices at a time as `workspace` bytes hold. `small`: rows of R up to which svd_tiny and svd_block decompose it.
/// Matrices of a ragged batch with up to `above` rows and columns are passed over, but for their info.
template <typename T, Machine<T> M>
void gesvd_by_steps(M& machine, GesvdTask<T> const& task, std::int64_t small = gesvd_tiny_most, std::int64_t above = 0,
                    std::int64_t workspace = gesvd_workspace) {
  std::int64_t const all = task.a.count;
  if (all == 0) return;
  GesvdPlan const plan(task.job, task.a.rows, task.a.cols, task.a.ragged(), small, task.relative);
  if (plan.k == 0) {
    if (task.info) machine.clear(task.info, all);
    if (!plan.full) return;
    for (Batch<T> const* const vectors : {&task.u, &task.vt}) copy_matrices<T>(machine, *vectors, *vectors, Copied::identity);
    return;
  }
  std::int64_t const some = most_at_once(all, workspace, bytes_of<GesvdWorkspace<T>>(plan, std::int64_t{1}, 1));
  int const parts = gesvd_parts(some, machine.device().multiprocessors);
  auto memory = machine.memory(bytes_of<GesvdWorkspace<T>>(plan, some, parts));
  for (std::int64_t b = 0; b < all; b += some) {
    GesvdTask<T> const here = matrices(task, b, std::min(some, all - b));
    GesvdBySteps<T, M>(machine, here, plan, above, parts, memory.data()).run();
  }
}

/// gesvd where some matrices may have more than gesvd_tiny_most rows or columns; up to `limit` of them svd_block decomposes, but for tall
/// and wide matrices of few columns or rows. A ragged batch goes by classes of sizes, so that a matrix gets the bits that it has alone,
/// but for tall and wide ones of few columns or rows (docs/gpu.md).
template <typename T, Machine<T> M>
void gesvd_by_sizes(M& machine, GesvdTask<T> const& task, std::int64_t limit) {
  std::int64_t const most = std::max(task.a.rows, task.a.cols), small = std::max<std::int64_t>(limit, gesvd_tiny_most);
  bool const ragged = task.a.ragged();
  if (svd_is_tall(task, machine.device())) return svd_of_tall<T>(machine, task, gesvd_workspace);
  if (most > limit) gesvd_by_steps<T>(machine, task, small, ragged ? small : 0);
  if (limit > 0 && (ragged || most <= limit)) svd_by_block<T>(machine, task, ragged ? gesvd_tiny_most : -1, std::min(most, limit));
  if (ragged) svd_by_lanes<T>(machine, task, gesvd_tiny_most);
}

}  // namespace myriad
