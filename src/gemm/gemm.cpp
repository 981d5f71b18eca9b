#include "gemm/gemm.hpp"

#include <fmt/format.h>

#include <span>
#include <type_traits>
#include <vector>

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "core/local_matrix.hpp"
#include "gemm/gemm_cpu.hpp"
#include "gemm/gemm_gpu.hpp"
#include "myriad/blas2.hpp"
#include "myriad/error.hpp"
#include "runtime/backend.hpp"
#include "scale_add/scale_add_gpu.hpp"

namespace myriad {
namespace {

/// Conjugates both sides where C is a conjugated view: conj(C) = conj(alpha) conj(A) conj(B) + conj(beta) conj(C).
template <typename T, typename Output>
void make_as_stored(GemmTask<T, Output>& task) {
  if (!task.c.conjugated) return;
  task.alpha = conjugate_if(true, task.alpha);
  task.beta = conjugate_if(true, task.beta);
  task.a = conjugated(task.a);
  task.b = conjugated(task.b);
  task.c = conjugated(task.c);
}

/// C = alpha A B + beta C, after the arguments have been checked.
template <typename T, typename Output>
void multiply(Queue& queue, GemmTask<T, Output> task, Arithmetic arithmetic = Arithmetic::standard) {
  if (task.c.empty()) return;
  make_as_stored(task);
  if constexpr (std::is_same_v<T, float>) {
    if (arithmetic != Arithmetic::standard && gpu::on_gpu(queue)) {
      gpu::gemm_on_tensor_cores(queue, task, arithmetic);
      return;
    }
  }
  gpu::on_gpu(queue) ? gpu::gemm(queue, task) : cpu::gemm(queue, task);
}

void check(Queue const& queue, UntypedBatch const& a, UntypedBatch const& b, UntypedBatch const& c) {
  Check("gemm", queue)
      .matrix(a, {3, "m"}, {5, "k"}, {7, "a"}, {8, "lda"}, Access::read)
      .matrix(b, {5, "k"}, {4, "n"}, {9, "b"}, {10, "ldb"}, Access::read)
      .matrix(c, {3, "m"}, {4, "n"}, {12, "c"}, {13, "ldc"}, Access::write)
      .same_count(c, a, {7, "a"})
      .same_count(c, b, {9, "b"})
      .same(rows(a), rows(c), {3, "m"})
      .same(cols(b), cols(c), {4, "n"})
      .same(cols(a), rows(b), {5, "k"})
      .disjoint(c, a, {12, "c"}, "a")
      .disjoint(c, b, {12, "c"}, "b");
}

/// The operands of C = alpha A B + beta C.
template <typename T, typename Output>
struct Product {
  Scalar<Compute<T>> alpha;
  Batch<T const> a, b;
  Scalar<Compute<T>> beta;
  Batch<Output> c;
};

/// The same where alpha and beta may be in memory.
template <typename T, typename Output>
void multiply(Queue& queue, Product<T, Output> const& x, Arithmetic arithmetic = Arithmetic::standard) {
  using S = Compute<T>;
  if (x.c.empty()) return;
  if (!gpu::reads_scalars(queue, x.alpha, x.beta)) {
    multiply(queue, GemmTask<T, Output>{.alpha = x.alpha.value(), .a = x.a, .b = x.b, .beta = x.beta.value(), .c = x.c}, arithmetic);
    return;
  }
  gpu::add_product<S, Output>(
      queue, {.alpha = gpu::factor_of<S>(x.alpha), .beta = gpu::factor_of<S>(x.beta), .c = x.c, .terms = gpu::terms_of(x.a)},
      [&](std::int64_t first, std::int64_t count, Batch<S> const& p) {
        GemmTask<T, S> const task{.alpha = S(1), .a = matrices(x.a, first, count), .b = matrices(x.b, first, count), .beta = S(0), .c = p};
        multiply(queue, task, arithmetic);
      });
}

template <typename T, typename Output>
void checked_gemm(Queue& queue, Product<T, Output> const& x, Arithmetic arithmetic = Arithmetic::standard) {
  check(queue, x.a, x.b, x.c);
  Check("gemm", queue).scalar(x.alpha, {6, "alpha"}, x.c, "c").scalar(x.beta, {11, "beta"}, x.c, "c");
  multiply(queue, x, arithmetic);
}

template <typename T, typename Output>
void multiply_groups(Queue& queue, std::span<GemmGroup<T, Output> const> groups) {
  std::vector<GemmTask<T, Output>> tasks;
  std::vector<Product<T, Output>> with_scalars_in_memory;
  tasks.reserve(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto const& [alpha, a, b, beta, c] = groups[g];
    try {
      check(queue, a, b, c);
      Check("gemm", queue).scalar(alpha, {6, "alpha"}, c, "c").scalar(beta, {11, "beta"}, c, "c");
    } catch (BadArgument const& error) {
      throw BadArgument("gemm_grouped", error.position(), error.argument(), fmt::format("of group {}: {}", g, error.what()));
    }
    if (c.empty()) continue;
    if (gpu::reads_scalars(queue, alpha, beta)) {
      with_scalars_in_memory.push_back({.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c});
    } else {
      tasks.push_back({.alpha = alpha.value(), .a = a, .b = b, .beta = beta.value(), .c = c});
      make_as_stored(tasks.back());
    }
  }
  if (!with_scalars_in_memory.empty()) {
    gpu::run_at_once(queue, [&] {
      gpu::gemm_grouped(queue, tasks);
      for (Product<T, Output> const& product : with_scalars_in_memory) multiply(queue, product);
    });
  } else if (gpu::on_gpu(queue)) {
    gpu::gemm_grouped(queue, tasks);
  } else if constexpr (HalfElement<T>) {
    for (GemmTask<T, Output> const& task : tasks) multiply(queue, task);
  } else {
    cpu::gemm_grouped<T>(queue, tasks);
  }
}

}  // namespace

template <Element T>
void gemm(Queue& queue, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c) {
  checked_gemm<T, T>(queue, {.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c});
}

template <Element T>
void gemm(Queue& queue, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c, Arithmetic arithmetic) {
  if (arithmetic != Arithmetic::standard) {
    if (arithmetic != Arithmetic::tf32 && arithmetic != Arithmetic::tf32x3)
      throw BadArgument("gemm", 14, "arithmetic",
                        fmt::format("must be standard (0), tf32 (1) or tf32x3 (2), is {}", static_cast<int>(arithmetic)));
    if (!std::is_same_v<T, float>) throw BadArgument("gemm", 14, "arithmetic", "must be standard for matrices of other types than float");
  }
  checked_gemm<T, T>(queue, {.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c}, arithmetic);
}

template <HalfElement T>
void gemm(Queue& queue, Scalar<Compute<T>> alpha, In<T> a, In<T> b, Scalar<Compute<T>> beta, Batch<T> c) {
  checked_gemm<T, T>(queue, {.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c});
}

template <HalfElement T>
void gemm(Queue& queue, Scalar<Compute<T>> alpha, In<T> a, In<T> b, Scalar<Compute<T>> beta, Batch<Compute<T>> c) {
  checked_gemm<T, Compute<T>>(queue, {.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c});
}

template <Element T>
void gemv(Queue& queue, Scalar<T> alpha, In<T> a, In<T> x, Scalar<T> beta, Batch<T> y) {
  Check("gemv", queue)
      .matrix(a, {2, "m"}, {3, "n"}, {5, "a"}, {6, "lda"}, Access::read)
      .vector(x, {3, "n"}, {7, "x"}, {8, "incx"}, Access::read)
      .vector(y, {2, "m"}, {10, "y"}, {11, "incy"}, Access::write)
      .same_count(y, a, {5, "a"})
      .same_count(y, x, {7, "x"})
      .same(rows(a), rows(y), {2, "m"})
      .same(cols(a), rows(x), {3, "n"})
      .disjoint(y, a, {10, "y"}, "a")
      .disjoint(y, x, {10, "y"}, "x")
      .scalar(alpha, {4, "alpha"}, y, "y")
      .scalar(beta, {9, "beta"}, y, "y");
  multiply(queue, Product<T, T>{.alpha = alpha, .a = a, .b = x, .beta = beta, .c = y});
}

template <Element T>
void ger(Queue& queue, Scalar<T> alpha, In<T> x, In<T> y, Batch<T> a) {
  Check("ger", queue)
      .vector(x, {1, "m"}, {4, "x"}, {5, "incx"}, Access::read)
      .vector(y, {2, "n"}, {6, "y"}, {7, "incy"}, Access::read)
      .matrix(a, {1, "m"}, {2, "n"}, {8, "a"}, {9, "lda"}, Access::write)
      .same_count(a, x, {4, "x"})
      .same_count(a, y, {6, "y"})
      .same(rows(x), rows(a), {1, "m"})
      .same(rows(y), cols(a), {2, "n"})
      .disjoint(a, x, {8, "a"}, "x")
      .disjoint(a, y, {8, "a"}, "y")
      .scalar(alpha, {3, "alpha"}, a, "a");
  if (!gpu::reads_scalars(queue, alpha, alpha) && alpha.value() == T(0))
    return;  // A stays as it is; a product with beta = 1 would read and write it
  multiply(queue, Product<T, T>{.alpha = alpha, .a = x, .b = transposed(y), .beta = T(1), .c = a});
}

template <Element T>
void gemm_grouped(Queue& queue, std::span<GemmGroup<T> const> groups) {
  multiply_groups<T, T>(queue, groups);
}
template <HalfElement T>
void gemm_grouped(Queue& queue, std::span<GemmGroup<T> const> groups) {
  multiply_groups<T, T>(queue, groups);
}
template <HalfElement T>
void gemm_grouped(Queue& queue, std::span<GemmGroup<T, Compute<T>> const> groups) {
  multiply_groups<T, Compute<T>>(queue, groups);
}

#define MYRIAD_INSTANTIATE(T)                                                              \
  template void gemm_grouped<T>(Queue&, std::span<GemmGroup<T> const>);                    \
  template void gemm<T>(Queue&, Scalar<T>, In<T>, In<T>, Scalar<T>, Batch<T>);             \
  template void gemm<T>(Queue&, Scalar<T>, In<T>, In<T>, Scalar<T>, Batch<T>, Arithmetic); \
  template void gemv<T>(Queue&, Scalar<T>, In<T>, In<T>, Scalar<T>, Batch<T>);             \
  template void ger<T>(Queue&, Scalar<T>, In<T>, In<T>, Batch<T>);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

#define MYRIAD_INSTANTIATE(T)                                                                    \
  template void gemm_grouped<T>(Queue&, std::span<GemmGroup<T> const>);                          \
  template void gemm_grouped<T>(Queue&, std::span<GemmGroup<T, Compute<T>> const>);              \
  template void gemm<T>(Queue&, Scalar<Compute<T>>, In<T>, In<T>, Scalar<Compute<T>>, Batch<T>); \
  template void gemm<T>(Queue&, Scalar<Compute<T>>, In<T>, In<T>, Scalar<Compute<T>>, Batch<Compute<T>>);
MYRIAD_FOR_EACH_HALF_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
