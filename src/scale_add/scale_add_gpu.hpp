#pragma once
/// Products and solves on a GPU with alpha and beta in memory: by a product with alpha = 1 and beta = 0, and a kernel that adds.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "myriad/batch.hpp"
#include "myriad/scalar.hpp"
#include "runtime/kernel_filter.hpp"
#include "runtime/launch.hpp"
#include "runtime/views.hpp"
#include "scale_add/scale_add_config.cuh"

namespace myriad::gpu {

/// alpha or beta of elements of type S, for which they may be real numbers.
template <typename S, typename Number>
Factor<DeviceElement<S>> factor_of(ScalarArgument<Number> const& x) {
  Factor<DeviceElement<S>> out{.value = {}, .at = nullptr, .real_at = nullptr};
  if (!x.in_memory())
    out.value = std::bit_cast<DeviceElement<S>>(S(x.value()));
  else if constexpr (std::is_same_v<S, Number>)
    out.at = reinterpret_cast<DeviceElement<S> const*>(x.address());
  else
    out.real_at = x.address();
  return out;
}

/// C = alpha P + beta C; see ScaleAddArguments.
template <typename S, typename Output = S>
struct ScaleAddTask {
  Factor<DeviceElement<S>> alpha, beta;
  Batch<Output> c;
  Batch<char const> terms{.cols = 1};  ///< has as many columns as P has terms; nothing else of it is used
  Written written = Written::whole;    ///< parts of a triangle are those of `uplo`
  Uplo uplo = Uplo::lower;
  bool of_two = false;
};

/// The number of terms of products: the columns of A.
template <typename T>
Batch<char const> terms_of(Batch<T> const& a) {
  return {.rows = a.rows, .cols = a.cols, .count = a.count, .col_sizes = a.col_sizes, .col_offset = a.col_offset};
}

/// Whether alpha or beta have to be read by the GPU of the queue.
template <typename Alpha, typename Beta>
bool reads_scalars(Queue const& queue, ScalarArgument<Alpha> const& alpha, ScalarArgument<Beta> const& beta) {
  return on_gpu(queue) && (alpha.in_memory() || beta.in_memory());
}

/// The kernel of the task, whatever part of its matrices is computed.
template <typename S, typename Output>
Kernel const& scale_add_kernel(Queue& queue, ScaleAddTask<S, Output> const& task);

/// Enqueues it. P is as product_like() returns it, or C.
template <typename S, typename Output>
void scale_add(Queue& queue, Kernel const& kernel, ScaleAddTask<S, Output> const& task, Batch<S> const& p);

/// Matrices of the sizes of C in workspace, in its order.
template <typename S, typename Output>
Batch<S> product_like(Batch<Output> const& c, S* memory);

/// Bytes of products at a time. More of them mean fewer launches, which saves more than the L2 cache does: on an H200 gemm of 8 to 128 rows
/// in single and double takes 1.3 to 1.7 times as long as with numbers at 1 GiB, 1.5 to 2.1 times at 32 MiB, 2.1 to 3.2 times at 8 MiB.
inline constexpr std::int64_t scale_add_bytes = std::int64_t{256} << 20;

/// C = alpha P + beta C, where `multiply(first, count, p)` enqueues the computation of P for `count` matrices from number `first` on.
template <typename S, typename Output, typename Multiply>
void add_product(Queue& queue, ScaleAddTask<S, Output> const& task, Multiply const& multiply) {
  std::int64_t const bytes = task.c.rows * task.c.cols * static_cast<std::int64_t>(sizeof(S));
  std::int64_t const at_a_time = std::min(std::max<std::int64_t>(scale_add_bytes / bytes, 1), task.c.count);
  Kernel const& kernel = scale_add_kernel(queue, task);
  auto const calls = [&] {
    Workspace const workspace(queue, bytes * at_a_time);
    // While the queue is prepared there is no memory; nothing is read at this address, which is aligned like memory.
    S* const memory = workspace.as<S>() ? workspace.as<S>() : reinterpret_cast<S*>(256);
    for (std::int64_t first = 0; first < task.c.count; first += at_a_time) {
      std::int64_t const count = std::min(at_a_time, task.c.count - first);
      ScaleAddTask<S, Output> some = task;
      some.c = matrices(task.c, first, count);
      some.terms = matrices(task.terms, first, count);
      Batch<S> const p = product_like(some.c, memory);
      multiply(first, count, p);
      scale_add(queue, kernel, some, p);
    }
  };
  // A single part changes C last.
  at_a_time < task.c.count ? run_at_once(queue, calls) : calls();
}

/// B = alpha B, in place, after `solve()`, which enqueues the computation of B.
template <typename S, typename Solve>
void scale_after(Queue& queue, ScalarArgument<S> const& alpha, Batch<S> const& b, Solve const& solve) {
  ScaleAddTask<S> const task{.alpha = factor_of<S>(alpha), .beta = factor_of<S>(ScalarArgument<S>(S(0))), .c = b};
  Kernel const& kernel = scale_add_kernel(queue, task);  // before B is changed
  solve();
  scale_add(queue, kernel, task, b);
}

/// The kernels of this room that a pack holds.
std::vector<KernelSource> scale_add_kernels(KernelFilter const& filter);

}  // namespace myriad::gpu
