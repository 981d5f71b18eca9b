#include <algorithm>
#include <limits>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "svd/bidiagonal/bidiagonal.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// Matrices per piece of work of `flops` operations each: enough to hide scheduling.
std::int64_t grain(double flops) { return static_cast<std::int64_t>(std::max(65536 / (flops + 1), 1.0)); }

/// Elements of workspace for LAPACK's blocked algorithms, with blocks of 64 as far as its integers hold the size.
Int work_size(std::int64_t length) {
  return static_cast<Int>(std::min<std::int64_t>(std::max<std::int64_t>(length, 1) * 64, std::numeric_limits<Int>::max()));
}

/// m n k in double, since a product of integers may overflow.
double product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

}  // namespace

template <Element T>
void gebrd(Queue& queue, GebrdTask<T> const& task) {
  std::int64_t const m = task.a.rows, n = task.a.cols;
  parallel_for(queue.threads(), task.a.count, grain(product(m, n, std::min(m, n))), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch, scratch_tau, work;
    Scratch<Real<T>> scratch_d;
    for (std::int64_t b = begin; b < end; ++b) {
      LocalMatrix<T> const a(task.a, b, scratch, Part::all, Place::copy);
      Int const k = std::min(a.rows(), a.cols()), size = work_size(std::int64_t{a.rows()} + a.cols());
      if (k == 0) continue;
      Real<T>*const d = scratch_d.reserve(2 * k), *const e = d + k;
      T *const tauq = scratch_tau.reserve(2 * k), *const taup = tauq + k;
      lapack::gebrd<T>(a.rows(), a.cols(), a.data(), a.ld(), d, e, tauq, taup, work.reserve(size), size);
      a.store();
      for (Int i = 0; i < k; ++i) {
        *task.d.at(b, i, 0) = d[i];
        if (i + 1 < k) *task.e.at(b, i, 0) = e[i];
        *task.tauq.at(b, i, 0) = conjugate_if(task.tauq.conjugated, tauq[i]);
        *task.taup.at(b, i, 0) = conjugate_if(task.taup.conjugated, taup[i]);
      }
    }
  });
}

template <Element T>
void orgbr(Queue& queue, OrgbrTask<T> const& task) {
  std::int64_t const m = task.a.rows, n = task.a.cols;
  parallel_for(queue.threads(), task.a.count, grain(product(m, n, n)), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch, scratch_tau, work;
    for (std::int64_t b = begin; b < end; ++b) {
      LocalMatrix<T> const a(task.a, b, scratch, Part::all, Place::copy);
      if (a.rows() == 0 || a.cols() == 0) continue;
      BidiagonalReflectors const reflectors = task.reflectors(b);
      T const* const tau = load_vector<T>(task.tau, b, reflectors.count(), scratch_tau);
      // LAPACK's rule for Q, which forms P from columns, too
      Int const k = static_cast<Int>(reflectors.shift() != 0 ? reflectors.order + 1 : reflectors.k), size = work_size(a.cols());
      lapack::orgbr<T>(a.rows(), a.cols(), k, a.data(), a.ld(), tau, work.reserve(size), size);
      a.store();
    }
  });
}

template <Element T>
void ormbr(Queue& queue, OrmbrTask<T> const& task) {
  parallel_for(queue.threads(), task.c.count, grain(product(task.a.rows, task.a.cols, task.c.cols)),
               [&](std::int64_t begin, std::int64_t end) {
                 Scratch<T> scratch_a, scratch_c, scratch_tau, work;
                 for (std::int64_t b = begin; b < end; ++b) {
                   BidiagonalReflectors const reflectors = task.reflectors(b);
                   auto const k = static_cast<Int>(reflectors.count()), shift = static_cast<Int>(reflectors.shift());
                   LocalMatrix<T const> const a(task.a, b, scratch_a, Part::lower, Place::copy);
                   LocalMatrix<T> const c(task.c, b, scratch_c, Part::all, Place::copy);
                   if (k == 0 || c.cols() == 0) continue;
                   T const* const tau = load_vector<T>(task.tau, b, k, scratch_tau);
                   Int const size = lapack::size_to_apply(k, c.cols());
                   // Always from the left: from the right the last bits depend on the leading dimension.
                   lapack::ormqr<T>(Side::left, task.adjoint ? Op::conjugate_transpose : Op::none, c.rows() - shift, c.cols(), k,
                                    a.data() + shift, a.ld(), tau, c.data() + shift, c.ld(), work.reserve(size), size);
                   c.store();
                 }
               });
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void gebrd<T>(Queue&, GebrdTask<T> const&); \
  template void orgbr<T>(Queue&, OrgbrTask<T> const&); \
  template void ormbr<T>(Queue&, OrmbrTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
