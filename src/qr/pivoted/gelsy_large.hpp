#pragma once
/// Least squares of any rank, matrices of any size: see blocked/machine.hpp.

#include "qr/pivoted/gelsy_config.cuh"
#include "qr/pivoted/geqp3_large.hpp"

namespace myriad {

inline constexpr gpu::KernelName gelsy_kernel{"qr/pivoted/gelsy"};

/// `a_copied`, `b_copied`: whether A and B, of m rows and n columns and max(m, n) rows, are copied.
template <typename T>
struct GelsyWorkspace {
  T *tau, *memory, *a, *b;
  short* exponents;

  GelsyWorkspace(Arena& arena, std::int64_t m, std::int64_t n, std::int64_t columns, std::int64_t count, bool a_copied, bool b_copied)
      : tau(arena.take<T>(std::min(m, n) * count)),
        memory(arena.take<T>(gelsy_elements(std::min(m, n), n) * count)),
        a(arena.take<T>(a_copied ? m * n * count : 0)),
        b(arena.take<T>(b_copied ? std::max(m, n) * columns * count : 0)),
        exponents(arena.take<short>(count)) {}
};

template <typename T, Machine<T> M>
void gelsy_large(M& machine, GelsyTask<T> task) {
  using D = gpu::DeviceElement<T>;
  // conj(A) X = B is A conj(X) = conj(B).
  task.b.conjugated = task.b.conjugated != task.a.conjugated;
  task.a.conjugated = false;
  std::int64_t const m = task.a.rows, n = task.a.cols, columns = task.b.cols, count = task.a.count;
  if (count == 0) return;
  auto const by_columns = [](Batch<T> const& x) { return x.row_stride == 1 && !x.row_strides && !x.conjugated; };
  bool const a_copied = !task.a.empty() && !by_columns(task.a), b_copied = !task.b.empty() && !by_columns(task.b);
  auto const bytes = [&](std::int64_t some) { return bytes_of<GelsyWorkspace<T>>(m, n, columns, some, a_copied, b_copied); };
  std::int64_t const some = most_at_once(count, geqp3_workspace, bytes(1));
  auto memory = machine.memory(bytes(some));
  auto const work = placed<GelsyWorkspace<T>>(memory.data(), m, n, columns, some, a_copied, b_copied);
  int const threads = geqp3_threads(m, std::max(n, columns));
  for (std::int64_t first = 0; first < count; first += some) {
    std::int64_t const here = std::min(some, count - first);
    Batch<T> const given_a = matrices(task.a, first, here), given_b = matrices(task.b, first, here);
    Batch<int> const jpvt = matrices(task.jpvt, first, here);
    Batch<T> const a = a_copied ? workspace_like(given_a, work.a) : given_a, b = b_copied ? workspace_like(given_b, work.b) : given_b;
    if (a_copied) copy_matrices<T>(machine, given_a, a);
    if (b_copied) copy_matrices<T>(machine, given_b, b);
    geqp3_large<T>(machine, {.a = a, .jpvt = jpvt, .tau = vectors(work.tau, std::min(m, n), here)}, work.exponents);
    machine.run(gelsy_kernel, {.blocks = here, .threads = threads, .shared_bytes = gelsy_shared_bytes},
                GelsyArguments<D>{.a = gpu::matrices_of(a),
                                  .b = gpu::matrices_of(b),
                                  .jpvt = gpu::matrices_of(rows(jpvt, 0, n)),
                                  .tau = reinterpret_cast<D const*>(work.tau),
                                  .exponents = work.exponents,
                                  .memory = reinterpret_cast<D*>(work.memory),
                                  .rank = task.rank ? task.rank + first : nullptr,
                                  .rcond = task.rcond,
                                  .threads = threads},
                dtype_of<T>);
    if (a_copied) copy_matrices<T>(machine, a, given_a);
    if (b_copied) copy_matrices<T>(machine, b, given_b);
  }
}

}  // namespace myriad
