#include "svd/svd_gpu.hpp"

#include <algorithm>
#include <initializer_list>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "qr/qr_gpu.hpp"
#include "svd/bdsdc/bdsdc_gpu.hpp"
#include "svd/bidiagonal/bidiagonal_gpu.hpp"
#include "svd/by_svd.hpp"
#include "svd/gesvd_blocked.hpp"
#include "svd/svd_tiny_gpu.hpp"

namespace myriad::gpu {

template <typename T>
void gesvd(Queue& queue, GesvdTask<T> const& task) {
  if (gesvd_is_tiny(task)) return gesvd_tiny(queue, task);
  run_blocked(queue, [&](QueueMachine& machine) { gesvd_by_sizes<T>(machine, task, svd_block_limit<T>(task.job, machine.device())); });
}

template <typename T>
void by_svd(Queue& queue, BySvdTask<T> const& task) {
  run_blocked(queue, [&](QueueMachine& machine) {
    myriad::by_svd<T>(
        machine, [&](GesvdTask<T> const& decomposed) { gesvd<T>(queue, decomposed); }, task);
  });
}

namespace {

/// Kernels of pinv, gelsd, matrix_rank, cond and norm2, except those of gesvd.
std::vector<KernelSource> by_svd_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  auto const wants = [&](std::initializer_list<char const*> routines) {
    return std::any_of(routines.begin(), routines.end(), [&](char const* routine) { return filter.wants_routine(routine); });
  };
  bool const solves = wants({"pinv", "gelsd"});
  if (!solves && !wants({"matrix_rank", "cond", "norm2"})) return kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    if (!filter.wants_dtype(dtype)) continue;
    for (KernelName const& name : {by_svd_largest_kernel, by_svd_scales_kernel, by_svd_load_kernel, by_svd_numbers_kernel})
      kernels.push_back(source_of(name, dtype));
    if (!solves) continue;
    for (KernelName const& name : {by_svd_divide_kernel, by_svd_write_kernel}) kernels.push_back(source_of(name, dtype));
    int const bytes = static_cast<int>(element_bytes(dtype));
    auto const add = [&](Lines a, Lines b) {
      auto const some = blocked_product_kernels(dtype, bytes, a, b, Lines::columns);
      kernels.insert(kernels.end(), some.begin(), some.end());
    };
    add(Lines::columns, Lines::columns);
    if (filter.wants_routine("gelsd")) add(Lines::rows, Lines::columns);  // residuals
  }
  return kernels;
}

/// Kernels of gejsv beside those of gesvd.
std::vector<KernelSource> gejsv_kernels(KernelFilter filter) {
  std::vector<KernelSource> kernels;
  if (!filter.wants_size_above(tiny_largest)) return kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    if (filter.wants_dtype(dtype))
      for (KernelName const& name : {gesvd_sort_rows_kernel, gesvd_jacobi_kernel}) kernels.push_back(source_of(name, dtype));
  filter.routines = {"geqp3"};
  auto const of_qr = qr_kernels(filter);
  kernels.insert(kernels.end(), of_qr.begin(), of_qr.end());
  return kernels;
}

}  // namespace

std::vector<KernelSource> svd_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels = by_svd_kernels(filter);
  auto const add = [&](std::vector<KernelSource> const& some) { kernels.insert(kernels.end(), some.begin(), some.end()); };
  bool const relative = filter.wants_routine("gejsv");
  if ((!kernels.empty() || relative) && !filter.wants_routine("gesvd")) {
    if (relative) add(gejsv_kernels(filter));
    KernelFilter of_gesvd = filter;
    of_gesvd.routines = {"gesvd"};
    add(svd_kernels(of_gesvd));
    add(bidiagonal_kernels(of_gesvd));
    return kernels;
  }
  add(svd_tiny_kernels(filter));
  if (relative) add(gejsv_kernels(filter));
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    if (!filter.wants_dtype(dtype) || !filter.wants_routine("gesvd") || !filter.wants_size_above(tiny_largest)) continue;
    for (KernelName const& name :
         {gesvd_largest_kernel, gesvd_load_kernel, gesvd_scale_values_kernel, gesvd_place_kernel, gesvd_write_kernel, copy_matrices_kernel})
      kernels.push_back(source_of(name, dtype));
    for (int k = 0; k < svd_warp_count(dtype); ++k) kernels.push_back(source_of(svd_tiny_kernel, dtype, svd_warp_of(dtype, k)));
    for (KernelName const& name : {svd_tall_parts_kernel, svd_tall_stack_kernel}) kernels.push_back(source_of(name, dtype));
    kernels.push_back(source_of(svd_tall_values_kernel, dtype == Dtype::c32 ? Dtype::f32 : dtype == Dtype::c64 ? Dtype::f64 : dtype));
    int const bytes = static_cast<int>(element_bytes(dtype));
    for (int n = 8; n <= svd_tall_columns(bytes); n += 8)
      for (int const rows : {128, 256}) kernels.push_back(source_of(svd_tall_vectors_kernel, dtype, svd_tall_plan(rows, n)));
    if (bytes == 8)
      for (QrRegisters const& c : svd_tall_narrow) kernels.push_back(source_of(qr_registers_kernel, dtype, c));
    for (int k = 0; k < svd_block_count(dtype); ++k) kernels.push_back(source_of(svd_block_kernel, dtype, svd_block_of(dtype, k)));
    bool const is_single = dtype == Dtype::f32 || dtype == Dtype::c32;
    add(bdsdc_kernels(is_single ? Dtype::f32 : Dtype::f64, is_single ? 4 : 8));
    KernelFilter others = filter;
    others.dtypes = {dtype};
    others.routines = {"geqrf"};
    add(qr_kernels(others));
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void gesvd<T>(Queue&, GesvdTask<T> const&); \
  template void by_svd<T>(Queue&, BySvdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
