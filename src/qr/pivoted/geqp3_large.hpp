#pragma once
/// QR with column pivoting of matrices of any size: see blocked/machine.hpp.

#include <algorithm>
#include <cstdint>

#include "blocked/arena.hpp"
#include "blocked/copy_matrices.hpp"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "qr/pivoted/geqp3_plan.hpp"
#include "qr/qr.hpp"
#include "runtime/views.hpp"

namespace myriad {

inline constexpr gpu::KernelName geqp3_kernel{"qr/pivoted/geqp3"};

/// Workspace for matrices that no block holds, which limits the matrices at a time, but at least one.
inline constexpr std::int64_t geqp3_workspace = std::int64_t{512} << 20;

template <typename T>
struct Geqp3Workspace {
  char* arrays;
  T* copies;

  Geqp3Workspace(Arena& arena, std::int64_t m, std::int64_t n, std::int64_t count, bool copied)
      : arrays(arena.take<char>(count * Geqp3Arrays<gpu::DeviceElement<T>>::bytes(n))), copies(arena.take<T>(copied ? count * m * n : 0)) {}
};

/// `exponents`: null, or where the powers of two go by which the kernel has multiplied matrices; else R is scaled back.
template <typename T, Machine<T> M>
void geqp3_large(M& machine, Geqp3Task<T> task, short* exponents = nullptr) {
  using D = gpu::DeviceElement<T>;
  // The factors of the conjugate are conjugate.
  task.tau.conjugated = task.tau.conjugated != task.a.conjugated;
  task.a.conjugated = false;
  std::int64_t const m = task.a.rows, n = task.a.cols, count = task.a.count;
  if (count == 0 || n == 0) return;
  bool const in_shared_memory = geqp3_holds<D>(m, n, machine.device().shared_memory_per_block);
  Geqp3 const c = geqp3_plan(in_shared_memory ? Geqp3In::shared_memory : Geqp3In::global_memory);
  int const threads = geqp3_threads(m, n);
  auto const run = [&](Batch<T> const& a, std::int64_t first, char* arrays) {
    machine.run(geqp3_kernel, {.blocks = a.count, .threads = threads, .shared_bytes = Geqp3Memory<D>::bytes(c, m, n)},
                Geqp3Arguments<D>{.a = gpu::matrices_of(a),
                                  .tau = gpu::matrices_of(rows(matrices(task.tau, first, a.count), 0, std::min(m, n))),
                                  .jpvt = gpu::matrices_of(rows(matrices(task.jpvt, first, a.count), 0, n)),
                                  .threads = threads,
                                  .arrays = arrays,
                                  .exponents = exponents ? exponents + first : nullptr},
                dtype_of<T>, c);
  };
  if (in_shared_memory) return run(task.a, 0, nullptr);
  bool const copied = task.a.row_stride != 1 || task.a.row_strides;
  auto const bytes = [&](std::int64_t some) { return bytes_of<Geqp3Workspace<T>>(m, n, some, copied); };
  std::int64_t const some = most_at_once(count, geqp3_workspace, bytes(1));
  auto memory = machine.memory(bytes(some));
  auto const work = placed<Geqp3Workspace<T>>(memory.data(), m, n, some, copied);
  for (std::int64_t b = 0; b < count; b += some) {
    Batch<T> const a = matrices(task.a, b, std::min(some, count - b));
    if (!copied) {
      run(a, b, work.arrays);
      continue;
    }
    Batch<T> const copy = workspace_like(a, work.copies);
    copy_matrices<T>(machine, a, copy);
    run(copy, b, work.arrays);
    copy_matrices<T>(machine, copy, a);
  }
}

}  // namespace myriad
