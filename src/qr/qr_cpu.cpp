#include "qr/qr_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "core/substitution.hpp"
#include "qr/pivoted/lapack_pivoted.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// Elements of workspace for LAPACK's blocked factorizations of `length` columns or rows.
Int work_size(Int length) { return std::max<Int>(length, 1) * 64; }

/// By which power of two the matrix is scaled (see QrRange).
template <typename T>
Real<T> range_scale(std::int64_t m, std::int64_t n, T const* a, std::int64_t lda) {
  using R = Real<T>;
  R most = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) most = std::max({most, std::abs(std::real(a[i + j * lda])), std::abs(std::imag(a[i + j * lda]))});
  if (most > 0 && most < QrRange<R>::smallest) return QrRange<R>::up;
  return most > QrRange<R>::largest && std::isfinite(most) ? QrRange<R>::down : R(1);
}

/// Multiplies an m-by-n matrix by a power of two.
template <typename T>
void scale_by(Real<T> factor, std::int64_t m, std::int64_t n, T* a, std::int64_t lda) {
  if (factor != 1) for_part(Part::all, m, n, [&](auto i, auto j) { a[i + j * lda] *= factor; });
}

/// The n rows of X, and what is left of B below them, without the scales of A and B.
template <typename T>
void scale_back(Real<T> a_scale, Real<T> b_scale, Int m, Int n, LocalMatrix<T> const& b) {
  if (a_scale != b_scale) {  // equal scales cancel; applied one after the other they could overflow between
    scale_by(a_scale, n, b.cols(), b.data(), b.ld());
    scale_by(1 / b_scale, n, b.cols(), b.data(), b.ld());
  }
  scale_by(1 / b_scale, std::max<Int>(m - n, 0), b.cols(), b.data() + n, b.ld());
}

/// Least squares (m >= n) or minimum norm (m < n) of one matrix. Returns info; B is then as it was.
template <typename T>
Int gels(LocalMatrix<T> const& a, LocalMatrix<T> const& b, Scratch<T>& scratch_tau, Scratch<T>& scratch_work) {
  Int const m = a.rows(), n = a.cols(), nrhs = b.cols();
  T* const tau = scratch_tau.reserve(std::min(m, n));
  Int const size = std::max(work_size(std::max(m, n)), lapack::size_to_apply(std::min(m, n), nrhs));
  T* const work = scratch_work.reserve(size);
  Real<T> const a_scale = range_scale(m, n, a.data(), a.ld());
  scale_by(a_scale, m, n, a.data(), a.ld());
  if (m >= n)
    lapack::geqrf<T>(m, n, a.data(), a.ld(), tau, work, size);
  else
    lapack::gelqf<T>(m, n, a.data(), a.ld(), tau, work, size);
  if (Int const info = zero_on_diagonal(a)) return info;
  if (nrhs == 0) return 0;
  Real<T> const b_scale = range_scale(m, nrhs, b.data(), b.ld());
  scale_by(b_scale, m, nrhs, b.data(), b.ld());
  if (m >= n) {
    lapack::ormqr<T>(Side::left, Op::conjugate_transpose, m, nrhs, n, a.data(), a.ld(), tau, b.data(), b.ld(), work, size);
    solve_triangle<T>(Side::left, Uplo::upper, Op::none, Diag::non_unit, n, nrhs, T(1), a.data(), a.ld(), b.data(), b.ld());
  } else {
    solve_triangle<T>(Side::left, Uplo::lower, Op::none, Diag::non_unit, m, nrhs, T(1), a.data(), a.ld(), b.data(), b.ld());
    for (Int j = 0; j < nrhs; ++j) std::fill_n(b.data() + m + static_cast<std::int64_t>(j) * b.ld(), n - m, T(0));
    lapack::ormlq<T>(Side::left, Op::conjugate_transpose, n, nrhs, m, a.data(), a.ld(), tau, b.data(), b.ld(), work, size);
  }
  scale_back(a_scale, b_scale, m, n, b);
  return 0;
}

/// Matrices of a piece of a parallel loop with about a million operations each.
std::int64_t grain_of(std::int64_t m, std::int64_t n) {
  return std::max<std::int64_t>(1, (1 << 20) / std::max<std::int64_t>(m * n * std::min(m, n), 1));
}

/// Moves the columns with places[j] != 0 to the front, in their order; places become the numbers of the columns.
template <typename T>
void move_fixed_columns(LocalMatrix<T> const& a, Int* places) {
  Int fixed = 0;
  for (Int j = 0; j < a.cols(); ++j) {
    bool const is_fixed = places[j] != 0;
    places[j] = j + 1;
    if (!is_fixed) continue;
    if (j != fixed) std::swap(places[j], places[fixed]);
    if (j != fixed && a.rows() > 0) {
      auto const column = [&](Int l) { return a.data() + static_cast<std::int64_t>(l) * a.ld(); };
      std::swap_ranges(column(j), column(j) + a.rows(), column(fixed));
    }
    ++fixed;
  }
}

/// QR with column pivoting of a finite matrix, not scaled back; of others QR, since norms that are NaN lead LAPACK's search astray.
template <typename T>
void geqp3(LocalMatrix<T> const& a, Int* places, T* tau, bool finite, Scratch<T>& scratch_work, Scratch<Real<T>>& scratch_real) {
  Int const m = a.rows(), n = a.cols(), size = work_size(n);
  if (m == 0 || !finite) move_fixed_columns(a, places);
  if (m == 0) return;
  T* const work = scratch_work.reserve(size);
  if (finite)
    lapack::geqp3<T>(m, n, a.data(), a.ld(), places, tau, work, size, scratch_real.reserve(2 * n));
  else
    lapack::geqrf<T>(m, n, a.data(), a.ld(), tau, work, size);
}

template <typename T>
bool all_finite(std::int64_t m, std::int64_t n, T const* a, std::int64_t lda) {
  bool finite = true;
  for_part(Part::all, m, n, [&](auto i, auto j) {
    T const x = a[i + j * lda];
    finite = finite && std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
  });
  return finite;
}

template <typename T>
T not_a_number() {
  T value(std::numeric_limits<Real<T>>::quiet_NaN());
  if constexpr (is_complex<T>) value.imag(value.real());
  return value;
}

/// X and the rank of one matrix.
template <typename T>
Int gelsy(LocalMatrix<T> const& a, LocalMatrix<T> const& b, Int* places, Real<T> rcond, Scratch<T>& scratch_work,
          Scratch<Real<T>>& scratch_real, std::vector<Int>& not_finite) {
  Int const m = a.rows(), n = a.cols(), nrhs = b.cols(), least = std::min(m, n);
  auto const set_right = [&](T value, std::int64_t rows) {
    for_part(Part::all, rows, nrhs, [&](auto i, auto j) { b.data()[i + j * b.ld()] = value; });
  };
  bool const finite = all_finite(m, n, a.data(), a.ld());
  Real<T> const a_scale = range_scale(m, n, a.data(), a.ld());
  bool zero = true;
  for_part(Part::all, m, n, [&](auto i, auto j) { zero = zero && a.data()[i + j * a.ld()] == T(0); });
  if (zero || !finite) {
    move_fixed_columns(a, places);
    set_right(finite ? T(0) : not_a_number<T>(), finite && least > 0 ? b.rows() : n);
    return 0;
  }
  scale_by(a_scale, m, n, a.data(), a.ld());
  // LAPACK scales all columns by the largest element, so infinity in one of them would reach the others.
  auto const set_column = [&](Int j, T value, std::int64_t rows) { std::fill_n(b.data() + std::int64_t{j} * b.ld(), rows, value); };
  not_finite.clear();
  for (Int j = 0; j < nrhs; ++j)
    if (!all_finite(m, 1, b.data() + std::int64_t{j} * b.ld(), b.ld())) {
      not_finite.push_back(j);
      set_column(j, T(0), m);
    }
  Real<T> const b_scale = range_scale(m, nrhs, b.data(), b.ld());
  scale_by(b_scale, m, nrhs, b.data(), b.ld());
  std::int64_t const wanted = least + 2 * std::int64_t{n} + 65 * (std::max<std::int64_t>(n, nrhs) + 1) + 2 * least;
  Int const size = static_cast<Int>(std::min<std::int64_t>(wanted, std::numeric_limits<Int>::max()));
  Int rank = 0;
  if (nrhs > 0) {
    lapack::gelsy<T>(m, n, nrhs, a.data(), a.ld(), b.data(), b.ld(), places, rcond, &rank, scratch_work.reserve(size), size,
                     scratch_real.reserve(2 * std::int64_t{n}));
  } else {  // LAPACK does nothing without right-hand sides
    std::vector<T> right(static_cast<std::size_t>(std::max(m, n)));
    lapack::gelsy<T>(m, n, 1, a.data(), a.ld(), right.data(), std::max(m, n), places, rcond, &rank, scratch_work.reserve(size), size,
                     scratch_real.reserve(2 * std::int64_t{n}));
  }
  if (a_scale != 1) for_part(Part::upper, rank, rank, [&](auto i, auto j) { a.data()[i + j * a.ld()] *= 1 / a_scale; });
  if (nrhs == 0) return rank;
  scale_back(a_scale, b_scale, m, n, b);
  for (Int const j : not_finite) set_column(j, not_a_number<T>(), std::max(m, n));
  return rank;
}

}  // namespace

template <Element T>
void geqp3(Queue& queue, Geqp3Task<T> const& task) {
  parallel_for(queue.threads(), task.a.count, grain_of(task.a.rows, task.a.cols), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch, scratch_tau, work;
    Scratch<Real<T>> real_work;
    Scratch<Int> scratch_places;
    for (std::int64_t b = begin; b < end; ++b) {
      LocalMatrix<T> const a(task.a, b, scratch, Part::all, Place::copy);
      Int const m = a.rows(), n = a.cols();
      if (n == 0) continue;
      Int* const places = scratch_places.reserve(n);
      for (Int j = 0; j < n; ++j) places[j] = *task.jpvt.at(b, j, 0);
      T* const tau = scratch_tau.reserve(std::min(m, n));
      Real<T> const scale = range_scale(m, n, a.data(), a.ld());
      scale_by(scale, m, n, a.data(), a.ld());
      geqp3<T>(a, places, tau, all_finite(m, n, a.data(), a.ld()), work, real_work);
      if (scale != 1) for_part(Part::upper, m, n, [&](auto i, auto j) { a.data()[i + j * a.ld()] *= 1 / scale; });
      a.store();
      for (Int k = 0; k < std::min(m, n); ++k) *task.tau.at(b, k, 0) = conjugate_if(task.tau.conjugated, tau[k]);
      for (Int j = 0; j < n; ++j) *task.jpvt.at(b, j, 0) = places[j];
    }
  });
}

template <Element T>
void gelsy(Queue& queue, GelsyTask<T> const& task) {
  parallel_for(queue.threads(), task.a.count, grain_of(task.a.rows, task.a.cols), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch_a, scratch_b, work;
    Scratch<Real<T>> real_work;
    Scratch<Int> scratch_places;
    std::vector<Int> not_finite;
    for (std::int64_t k = begin; k < end; ++k) {
      LocalMatrix<T> const a(task.a, k, scratch_a, Part::all, Place::copy), b(task.b, k, scratch_b, Part::all, Place::copy);
      Int* const places = scratch_places.reserve(a.cols());
      for (Int j = 0; j < a.cols(); ++j) places[j] = *task.jpvt.at(k, j, 0);
      Int const rank = gelsy<T>(a, b, places, task.rcond, work, real_work, not_finite);
      a.store();
      b.store();
      for (Int j = 0; j < a.cols(); ++j) *task.jpvt.at(k, j, 0) = places[j];
      if (task.rank) task.rank[k] = static_cast<int>(rank);
    }
  });
}

template <Element T>
void geqrf(Queue& queue, GeqrfTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a), geqrf_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { geqrf_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        Scratch<T> scratch, scratch_tau, work;
        Scratch<Real<T>> scratch_scales;
        for (std::int64_t b = begin; b < end; ++b) {
          LocalMatrix<T> const a(task.a, b, scratch);
          std::int64_t const steps = std::min(a.rows(), a.cols());
          T* const tau = scratch_tau.reserve(steps);
          Int const size = work_size(a.cols());
          // Columns near the ends of the range are scaled, and those of R scaled back: reflectors do not depend on it.
          Real<T>* const scales = scratch_scales.reserve(a.cols());
          auto const column = [&](std::int64_t j) { return a.data() + j * a.ld(); };
          for (Int j = 0; j < a.cols(); ++j) {
            scales[j] = range_scale(a.rows(), 1, column(j), a.ld());
            scale_by(scales[j], a.rows(), 1, column(j), a.ld());
          }
          lapack::geqrf<T>(a.rows(), a.cols(), a.data(), a.ld(), tau, work.reserve(size), size);
          for (Int j = 0; j < a.cols(); ++j) scale_by(1 / scales[j], std::min(j + 1, a.rows()), 1, column(j), a.ld());
          a.store();
          for (std::int64_t k = 0; k < steps; ++k) *task.tau.at(b, k, 0) = conjugate_if(task.tau.conjugated, tau[k]);
        }
      });
}

template <Element T>
void ormqr(Queue& queue, OrmqrTask<T> const& task) {
  run_by_size(
      queue, ormqr_shapes<T>(task.a, task.tau, task.c), ormqr_fits_lanes<T>,
      [&](std::int64_t begin, std::int64_t end) { ormqr_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        Scratch<T> scratch_a, scratch_c, scratch_tau, work;
        for (std::int64_t b = begin; b < end; ++b) {
          LocalMatrix<T const> const a(task.a, b, scratch_a, Part::lower, Place::copy);
          // A row-major or conjugated matrix is worked on from the other side, where it needs no copy.
          bool const flip = task.c.row_stride_of(b) != 1 && task.c.col_stride_of(b) == 1;
          LocalMatrix<T> const c(flip ? conjugate_transposed(task.c) : task.c, b, scratch_c);
          auto const k = static_cast<Int>(reflectors_of<T>(task.a, task.tau, b));
          if (k == 0 || c.rows() == 0 || c.cols() == 0) continue;
          T const* const tau = load_vector<T>(task.tau, b, k, scratch_tau);
          Int const size = lapack::size_to_apply(k, flip ? c.rows() : c.cols());
          lapack::ormqr<T>(flip ? Side::right : Side::left, task.adjoint != flip ? Op::conjugate_transpose : Op::none, c.rows(), c.cols(),
                           k, a.data(), a.ld(), tau, c.data(), c.ld(), work.reserve(size), size);
          c.store();
        }
      });
}

template <Element T>
void orgqr(Queue& queue, OrgqrTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a, task.tau), geqrf_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { orgqr_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        Scratch<T> scratch, scratch_tau, work;
        for (std::int64_t b = begin; b < end; ++b) {
          LocalMatrix<T> const a(task.a, b, scratch);
          auto const k = static_cast<Int>(reflectors_of<T>(task.a, task.tau, b));
          T const* const tau = load_vector<T>(task.tau, b, k, scratch_tau);
          Int const size = work_size(a.cols());
          lapack::orgqr<T>(a.rows(), a.cols(), k, a.data(), a.ld(), tau, work.reserve(size), size);
          a.store();
        }
      });
}

template <Element T>
void gels(Queue& queue, GelsTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a, task.b), gels_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { gels_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        Scratch<T> scratch_a, scratch_b, scratch_tau, work;
        for (std::int64_t k = begin; k < end; ++k) {
          bool const by_rows = task.a.rows_of(k) < task.a.cols_of(k);
          LocalMatrix<T> const a(task.a, k, scratch_a, Part::all, by_rows ? Place::copy : Place::own_if_possible);
          LocalMatrix<T> const b(task.b, k, scratch_b);
          Int const info = gels<T>(a, b, scratch_tau, work);
          a.store();
          if (info == 0) b.store();
          if (task.info) task.info[k] = static_cast<int>(info);
        }
      });
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void geqrf<T>(Queue&, GeqrfTask<T> const&); \
  template void ormqr<T>(Queue&, OrmqrTask<T> const&); \
  template void orgqr<T>(Queue&, OrgqrTask<T> const&); \
  template void gels<T>(Queue&, GelsTask<T> const&);   \
  template void geqp3<T>(Queue&, Geqp3Task<T> const&); \
  template void gelsy<T>(Queue&, GelsyTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
