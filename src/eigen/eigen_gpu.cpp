#include "eigen/eigen_gpu.hpp"

#include <algorithm>

#include "core/dtype.hpp"
#include "eigen/divide_and_conquer/stedc_gpu.hpp"
#include "eigen/eigen_plan.hpp"
#include "eigen/eigen_tiny_space.hpp"
#include "eigen/tridiagonal/tridiagonal_gpu.hpp"
#include "reflectors/reflectors_gpu.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName eigen_tiny_kernel{"eigen/eigen_tiny"};
constexpr KernelName eigen_block_kernel{"eigen/eigen_block"};

template <typename T>
int largest_in_block(Queue& queue) {
  return eigen_block_largest(sizeof(T), sizeof(Real<T>), static_cast<int>(queue.device().shared_memory_per_block));
}

template <typename T>
void by_blocks(Queue& queue, EigenJob job, EigenArguments<DeviceElement<T>> const& args) {
  int const n = static_cast<int>(args.a.rows);
  EigenBlock c = eigen_block_plan(job, n);
  if (simt::is_by_rows(layout_of(args.a))) c.access = EigenAccess::rows;
  Kernel const& kernel = kernel_of(queue, eigen_block_kernel, dtype_of<T>, c);
  // A and w hold the tridiagonal matrix and the reflectors in between. The next kernel computes matrices of up to 32 rows alone.
  TridiagonalInBlocks<T> reduction(queue, {.a = args.a,
                                           .d = args.w,
                                           .e = {},
                                           .tau = {},
                                           .lower = args.lower,
                                           .result = c.vectors() ? TridiagonalResult::vectors : TridiagonalResult::values,
                                           .above = tiny_largest});
  reduction.launch(queue);
  launch(queue, kernel,
         {.blocks = args.a.count, .threads = c.threads(), .shared_bytes = EigenBlockMemory(sizeof(T), sizeof(Real<T>), c, n).bytes}, args);
}

constexpr KernelName sizes_kernel{"eigen/eigen_large", "eigen_sizes"}, largest_kernel{"eigen/eigen_large", "eigen_largest"},
    scale_kernel{"eigen/eigen_large", "eigen_scale"}, widen_kernel{"eigen/eigen_large", "eigen_widen"},
    write_kernel{"eigen/eigen_large", "eigen_write"};

/// Reduction, tridiagonal problem and back-transformation, for as many matrices at a time as the workspace holds. In a ragged batch
/// matrices that fit in a block go to eigen_block.
template <typename T>
void by_levels(QueueMachine& machine, SyevdTask<T> const& task) {
  using D = DeviceElement<T>;
  using R = Real<T>;
  bool const vectors = task.job == Job::vectors, ragged = task.a.ragged();
  std::int64_t const n = task.a.rows;
  int const limit = largest_in_block<T>(machine.queue()), multiprocessors = machine.device().multiprocessors;
  using Work = EigenLargeWorkspace<T>;
  auto const bytes = [&](std::int64_t count) {
    return bytes_of<Work>(n, stedc_leaf, count, vectors, eigen_large_parts(count, multiprocessors));
  };
  std::int64_t const some = most_at_once(task.a.count, eigen_large_workspace, bytes(1));
  auto const memory = machine.memory(bytes(some));
  for (std::int64_t b = 0; b < task.a.count; b += some) {
    std::int64_t const count = std::min(some, task.a.count - b);
    int const parts = eigen_large_parts(count, multiprocessors);
    auto const workspace = placed<Work>(memory.data(), n, stedc_leaf, count, vectors, parts);
    Batch<T> a = matrices(task.a, b, count);
    a.conjugated = false;  // see syevd
    Batch<R> const w = matrices(task.w, b, count);
    int* const info = task.info ? task.info + b : nullptr;
    StedcWork<R> work = workspace.tridiagonal;
    work.w = matrices_of(w);
    work.info = info;
    if (ragged) {
      std::int64_t* const sizes = workspace.sizes;
      auto const of_device = [](std::int64_t* p) { return reinterpret_cast<simt::Index*>(p); };
      simt::Matrices<D> const all = matrices_of(a);
      machine.run(sizes_kernel, {.blocks = (count + eigen_large_threads - 1) / eigen_large_threads, .threads = eigen_large_threads},
                  EigenSizes<D>{.a = all,
                                .limit = limit,
                                .small_rows = of_device(sizes),
                                .small_columns = of_device(sizes + count),
                                .large_rows = of_device(sizes + 2 * count),
                                .large_columns = of_device(sizes + 3 * count),
                                .large = of_device(sizes + 4 * count)},
                  dtype_of<T>);
      Batch<T> small = a;
      small.rows = small.cols = limit;
      small.row_sizes = sizes;
      small.col_sizes = sizes + count;
      by_blocks<T>(machine.queue(), vectors ? EigenJob::vectors : EigenJob::values,
                   {.a = matrices_of(small), .w = work.w, .info = info, .lower = task.uplo == Uplo::lower});
      a.row_sizes = sizes + 2 * count;
      a.col_sizes = sizes + 3 * count;
      work.sizes = of_device(sizes + 4 * count);
    }
    Batch<T> const v = batch(is_complex<T> ? reinterpret_cast<T*>(work.gathered) : reinterpret_cast<T*>(work.q), n, n,
                             {.ld = work.ld, .stride = work.stride, .count = count});
    EigenLarge<D> const large{.a = matrices_of(a),
                              .lower = task.uplo == Uplo::lower,
                              .tridiagonal = work,
                              .vectors = reinterpret_cast<D*>(v.data),
                              .vectors_stride = v.batch_stride,
                              .largest = workspace.largest,
                              .parts = parts};
    auto const run = [&](KernelName const& kernel, std::int64_t blocks, std::int64_t shared_bytes) {
      machine.run(kernel, {.blocks = blocks, .threads = eigen_large_threads, .shared_bytes = shared_bytes}, large, dtype_of<T>);
    };
    run(largest_kernel, parts * count, 128);
    run(scale_kernel, parts * count, 128);
    sytrd<T>(machine.queue(), {.uplo = task.uplo,
                               .a = a,
                               .d = myriad::vectors(workspace.d, n, count),
                               .e = myriad::vectors(workspace.e, n - 1, count, n),
                               .tau = myriad::vectors(workspace.tau, n - 1, count, n)});
    stedc<R>(machine, work, vectors);
    if (!vectors) continue;
    if (is_complex<T>) run(widen_kernel, n * count, 0);
    Batch<T> c = v;
    if (ragged) c.row_sizes = c.col_sizes = reinterpret_cast<std::int64_t const*>(work.sizes);
    ormtr<T>(machine.queue(),
             {.uplo = task.uplo, .adjoint = false, .a = a, .tau = myriad::vectors<T const>(workspace.tau, n - 1, count, n), .c = c});
    std::int64_t const across = (n + eigen_large_side - 1) / eigen_large_side;
    run(write_kernel, across * across * count, eigen_large_side * (eigen_large_side + 1) * std::int64_t{sizeof(T)});
  }
}

}  // namespace

template <typename T>
void syevd(Queue& queue, SyevdTask<T> const& task) {
  if (task.a.count == 0) return;
  if (task.a.rows == 0) return clear(queue, task.info, task.a.count);
  // conj(A) has the same values and conjugated vectors, so the stored matrix is used.
  EigenArguments<DeviceElement<T>> const args{
      .a = matrices_of(task.a), .w = matrices_of(task.w), .info = task.info, .lower = task.uplo == Uplo::lower};
  EigenJob const job = task.job == Job::vectors ? EigenJob::vectors : EigenJob::values;
  if (task.a.rows > largest_in_block<T>(queue)) return run_blocked(queue, [&](QueueMachine& machine) { by_levels<T>(machine, task); });
  if (task.a.rows > tiny_largest) return by_blocks<T>(queue, job, args);
  int const n = static_cast<int>(task.a.rows);
  bool const few = eigen_tiny_are_few(task.a.count, n, queue.device().multiprocessors);
  EigenTinySpace const space{job, dtype_of<T>, n, few};
  bool const interleaved = layout_of(args.a) == simt::Layout::interleaved;
  EigenTiny c = interleaved ? eigen_tiny_interleaved(space.plan(), sizeof(T), sizeof(Real<T>)) : tuning::planned(queue, space);
  c.a = layout_of(args.a);
  Kernel const& kernel = kernel_of(queue, eigen_tiny_kernel, dtype_of<T>, c);
  launch(queue, kernel,
         {.blocks = (args.a.count + c.matrices - 1) / c.matrices,
          .threads = c.threads(),
          .shared_bytes = EigenTinyMemory(sizeof(T), sizeof(Real<T>), c).bytes},
         args);
}

std::vector<KernelSource> eigen_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  struct Type {
    Dtype dtype;
    int bytes, real_bytes;
  };
  for (auto const [dtype, bytes, real_bytes] : {Type{Dtype::f32, 4, 4}, {Dtype::f64, 8, 8}, {Dtype::c32, 8, 4}, {Dtype::c64, 16, 8}}) {
    bool const complex = bytes != real_bytes;
    if (!filter.wants_dtype(dtype) || !(filter.wants_routine("syevd") || (complex && filter.wants_routine("heevd")))) continue;
    for (int n = 1; n <= tiny_largest; ++n)
      for (EigenJob const job : {EigenJob::values, EigenJob::vectors})
        for (bool const few : {false, true})
          if (filter.wants_size(n) && (!few || n > 1))
            for (EigenTiny const& c : tuning::shipped(EigenTinySpace{job, dtype, n, few}, filter.candidates))
              kernels.push_back(source_of(eigen_tiny_kernel, dtype, c));
    if (!filter.wants_size_above(tiny_largest)) continue;
    int const in_block = eigen_block_largest(bytes, real_bytes, most_shared_bytes);
    for (int n = 64; n - 31 <= in_block; n += 32)
      for (EigenJob const job : {EigenJob::values, EigenJob::vectors})
        kernels.push_back(source_of(eigen_block_kernel, dtype, eigen_block_plan(job, n)));
    auto const add = [&](std::vector<KernelSource> const& some) { kernels.insert(kernels.end(), some.begin(), some.end()); };
    add(tridiagonal_block_kernels(filter, dtype, bytes, complex, tiny_largest));
    if (!filter.wants_size_above(in_block)) continue;
    for (KernelName const& name : {sizes_kernel, largest_kernel, scale_kernel, widen_kernel, write_kernel})
      kernels.push_back(source_of(name, dtype));
    add(stedc_kernels(real_bytes == 4 ? Dtype::f32 : Dtype::f64, real_bytes));
    KernelFilter others = filter;
    others.dtypes = {dtype};
    others.routines = {"sytrd", "ormtr"};
    add(tridiagonal_kernels(others));
    add(reflectors_kernels(others));
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void syevd<T>(Queue&, SyevdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
