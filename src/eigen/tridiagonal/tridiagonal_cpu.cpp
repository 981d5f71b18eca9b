#include <algorithm>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "eigen/tridiagonal/tridiagonal.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// Elements of workspace for LAPACK's blocked algorithms on matrices of `length` rows.
Int work_size(Int length) { return std::max<Int>(length, 1) * 64; }

/// Matrices of order n, applied to `columns` columns, per piece of work: enough to hide scheduling.
std::int64_t grain(std::int64_t n, std::int64_t columns) {
  auto const size = static_cast<double>(n);
  return static_cast<std::int64_t>(std::max(65536 / (size * size * static_cast<double>(columns) + 1), 1.0));
}

}  // namespace

template <Element T>
void sytrd(Queue& queue, SytrdTask<T> const& task) {
  parallel_for(queue.threads(), task.a.count, grain(task.a.rows, task.a.rows), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch, scratch_tau, work;
    Scratch<Real<T>> scratch_d, scratch_e;
    for (std::int64_t b = begin; b < end; ++b) {
      LocalMatrix<T> const a(task.a, b, scratch, part_of(task.uplo), Place::copy);
      Int const n = a.rows();
      if (n == 0) continue;
      Real<T>*const d = scratch_d.reserve(n), *const e = scratch_e.reserve(n);
      T* const tau = scratch_tau.reserve(n);
      // LAPACK leaves some of the imaginary parts that it does not read, so they are cleared.
      if constexpr (is_complex<T>)
        for (std::int64_t i = 0; i < n; ++i) a.data()[i + i * a.ld()] = std::real(a.data()[i + i * a.ld()]);
      lapack::sytrd<T>(task.uplo, n, a.data(), a.ld(), d, e, tau, work.reserve(work_size(n)), work_size(n));
      a.store();
      for (Int i = 0; i < n; ++i) *task.d.at(b, i, 0) = d[i];
      for (Int i = 0; i + 1 < n; ++i) {
        *task.e.at(b, i, 0) = e[i];
        *task.tau.at(b, i, 0) = conjugate_if(task.tau.conjugated, tau[i]);
      }
    }
  });
}

template <Element T>
void orgtr(Queue& queue, OrgtrTask<T> const& task) {
  parallel_for(queue.threads(), task.a.count, grain(task.a.rows, task.a.rows), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch, scratch_tau, work;
    for (std::int64_t b = begin; b < end; ++b) {
      LocalMatrix<T> const a(task.a, b, scratch, part_of(task.uplo));
      Int const n = a.rows();
      if (n == 0) continue;
      T const* const tau = load_vector<T>(task.tau, b, n - 1, scratch_tau);
      lapack::orgtr<T>(task.uplo, n, a.data(), a.ld(), tau, work.reserve(work_size(n)), work_size(n));
      a.store(Part::all);
    }
  });
}

template <Element T>
void ormtr(Queue& queue, OrmtrTask<T> const& task) {
  parallel_for(queue.threads(), task.c.count, grain(task.a.rows, task.c.cols), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch_a, scratch_c, scratch_tau, work;
    for (std::int64_t b = begin; b < end; ++b) {
      LocalMatrix<T const> const a(task.a, b, scratch_a, part_of(task.uplo), Place::copy);
      LocalMatrix<T> const c(task.c, b, scratch_c);
      if (c.rows() == 0 || c.cols() == 0) continue;
      T const* const tau = load_vector<T>(task.tau, b, a.rows() - 1, scratch_tau);
      Int const size = lapack::size_to_apply(a.rows() - 1, c.cols());
      // Always from the left: from the right the last bits depend on the leading dimension.
      lapack::ormtr<T>(Side::left, task.uplo, task.adjoint ? Op::conjugate_transpose : Op::none, c.rows(), c.cols(), a.data(), a.ld(), tau,
                       c.data(), c.ld(), work.reserve(size), size);
      c.store();
    }
  });
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void sytrd<T>(Queue&, SytrdTask<T> const&); \
  template void orgtr<T>(Queue&, OrgtrTask<T> const&); \
  template void ormtr<T>(Queue&, OrmtrTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
