#include "scale_add/scale_add_gpu.hpp"

#include <utility>

#include "core/dtype.hpp"
#include "runtime/kernel_name.hpp"
#include "scale_add/lines.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName name_of_sum{"scale_add/scale_add"}, name_of_lines{"scale_add/scale_add_lines"};

/// Whether elements of a row are closer together than those of a column.
template <typename T>
bool is_by_rows(Batch<T> const& x) {
  if (!x.row_strides == !x.col_strides) return x.col_stride < x.row_stride;
  return x.row_strides && x.col_stride == 1;
}

/// Whether matrices are side by side, element by element.
template <typename T>
bool is_interleaved(Batch<T> const& x) {
  return !x.pointers && !x.row_strides && !x.col_strides && x.batch_stride == 1 && x.count > 1 && x.row_stride != 1 && x.col_stride != 1;
}

/// Whether all elements of all matrices are computed and at equal distances, as scale_add_lines needs it.
template <typename S, typename Output>
bool is_of_lines(ScaleAddTask<S, Output> const& task) {
  Batch<Output> const& c = task.c;
  return task.written == Written::whole && !task.of_two && !c.pointers && !c.ragged() && !c.row_strides && !c.col_strides &&
         !task.terms.ragged();
}

}  // namespace

template <typename S, typename Output>
Batch<S> product_like(Batch<Output> const& c, S* memory) {
  bool const interleaved = is_interleaved(c), by_rows = is_by_rows(c);
  std::int64_t const apart = interleaved ? c.count : 1;
  Batch<S> out{.data = memory,
               .rows = c.rows,
               .cols = c.cols,
               .row_stride = apart * (by_rows ? c.cols : 1),
               .col_stride = apart * (by_rows ? 1 : c.rows),
               .batch_stride = interleaved ? 1 : c.rows * c.cols,
               .count = c.count,
               .row_sizes = c.row_sizes,
               .col_sizes = c.col_sizes};
  if (!c.ragged()) return out;
  // Sizes are those of the matrices that C is a view of.
  out.row_offset = c.row_offset;
  out.col_offset = c.col_offset;
  out.data -= c.row_offset * out.row_stride + c.col_offset * out.col_stride;
  return out;
}

template <typename S, typename Output>
Kernel const& scale_add_kernel(Queue& queue, ScaleAddTask<S, Output> const& task) {
  return kernel_of(queue, is_of_lines(task) ? name_of_lines : name_of_sum, dtype_of<S>, dtype_of<Output>);
}

template <typename S, typename Output>
void scale_add(Queue& queue, Kernel const& kernel, ScaleAddTask<S, Output> const& task, Batch<S> const& product) {
  auto const run = [&](std::int64_t work, auto const& args) {
    launch(queue, kernel, {.blocks = (work + scale_add_of_block - 1) / scale_add_of_block, .threads = scale_add_threads}, args);
  };
  Batch<Output> c = task.c;
  Batch<S> p = product;
  if (is_of_lines(task)) {
    auto args = lines_of(matrices_of(Batch<S const>(p)), matrices_of(c));
    args.alpha = task.alpha;
    args.beta = task.beta;
    args.has_terms = task.terms.cols > 0;
    std::int64_t const width = args.wide ? scale_add_width<DeviceElement<S>> : 1;
    run((args.sizes[0] + width - 1) / width * args.sizes[1] * args.sizes[2], args);
    return;
  }
  // A triangle becomes the lower one; a whole matrix gets columns whose elements are close together.
  if (task.written == Written::whole ? is_by_rows(c) : task.uplo == Uplo::upper) {
    c = transposed(c);
    p = transposed(p);
  }
  ScaleAddArguments<DeviceElement<S>, DeviceElement<Output>> const args{
      .alpha = task.alpha,
      .beta = task.beta,
      .p = matrices_of(Batch<S const>(p)),
      .c = matrices_of(c),
      .written = task.written,
      .of_two = task.of_two,
      .interleaved = is_interleaved(c),
      .terms = task.terms.cols,
      .term_sizes = reinterpret_cast<simt::Index const*>(task.terms.col_sizes),
      .term_offset = task.terms.col_offset};
  run(c.rows * c.cols * c.count, args);
}

std::vector<KernelSource> scale_add_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  auto const wanted = [&](auto... routines) { return (filter.wants_routine(routines) || ...); };
  if (!wanted("gemm", "gemv", "ger", "symv", "hemv", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trsm", "trmm")) return kernels;
  for (auto const& [output, computed] : {std::pair{Dtype::f32, Dtype::f32},
                                         {Dtype::f64, Dtype::f64},
                                         {Dtype::c32, Dtype::c32},
                                         {Dtype::c64, Dtype::c64},
                                         {Dtype::f16, Dtype::f32},
                                         {Dtype::bf16, Dtype::f32},
                                         {Dtype::c16, Dtype::c32}})
    if (filter.wants_dtype(output) && (!is_half(output) || filter.wants_routine("gemm")))
      for (KernelName const& name : {name_of_sum, name_of_lines}) kernels.push_back(source_of(name, computed, output));
  return kernels;
}

#define MYRIAD_INSTANTIATE_SUM(S, Output)                                          \
  template Batch<S> product_like(Batch<Output> const&, S* memory);                 \
  template Kernel const& scale_add_kernel(Queue&, ScaleAddTask<S, Output> const&); \
  template void scale_add(Queue&, Kernel const&, ScaleAddTask<S, Output> const&, Batch<S> const&);
#define MYRIAD_INSTANTIATE(T) MYRIAD_INSTANTIATE_SUM(T, T)
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE
#define MYRIAD_INSTANTIATE(T) MYRIAD_INSTANTIATE_SUM(Compute<T>, T)
MYRIAD_FOR_EACH_HALF_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE
#undef MYRIAD_INSTANTIATE_SUM

}  // namespace myriad::gpu
