#include "cholesky/cholesky_cpu.hpp"

#include <cmath>
#include <complex>
#include <limits>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/parallel.hpp"
#include "core/substitution.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

void set(int* info, std::int64_t k, Int value) {
  if (info) info[k] = static_cast<int>(value);
}

/// The lower triangle of matrix k as LAPACK gets it: where rows are what is contiguous, as the upper triangle of the transposed matrix, so
/// that nothing is copied.
template <typename T>
struct Triangle {
  Triangle(Batch<T> const& lower, std::int64_t k, Scratch<std::remove_const_t<T>>& scratch, Place place = Place::own_if_possible)
      : uplo(lower.row_stride_of(k) != 1 && lower.col_stride_of(k) == 1 ? Uplo::upper : Uplo::lower),
        matrix(uplo == Uplo::upper ? transposed(lower) : lower, k, scratch, part_of(uplo), place) {}

  [[nodiscard]] Int n() const { return matrix.rows(); }
  /// Right-hand sides that go with it.
  template <typename U>
  [[nodiscard]] Batch<U> beside(Batch<U> const& b) const {
    return uplo == Uplo::upper ? conjugated(b) : b;
  }

  Uplo uplo;
  LocalMatrix<T> matrix;
};

/// LAPACK's info. OpenBLAS does not take a NaN for a pivot that is not positive; from there on the diagonal is NaN.
template <typename T>
Int factor(Uplo uplo, Int n, T* a, Int lda) {
  Int const info = lapack::potrf<T>(uplo, n, a, lda);
  for (Int i = 0; info == 0 && i < n; ++i)
    if (std::isnan(std::real(a[i + static_cast<std::int64_t>(i) * lda]))) return i + 1;
  return info;
}
template <typename T>
Int factor(Triangle<T> const& a) {
  return factor<T>(a.uplo, a.n(), a.matrix.data(), a.matrix.ld());
}

/// A copy of that part of matrix k, column-major without gaps.
template <typename T>
T* copied(Batch<T const> const& batch, std::int64_t k, Part part, Scratch<T>& scratch) {
  std::int64_t const m = batch.rows_of(k), n = batch.cols_of(k), down = batch.row_stride_of(k), right = batch.col_stride_of(k);
  T* const copy = scratch.reserve(m * n);
  if (m == 0 || n == 0) return copy;
  T const* const from = batch.matrix(k);
  for_part(part, m, n, [&](auto i, auto j) { copy[i + j * m] = conjugate_if(batch.conjugated, from[i * down + j * right]); });
  return copy;
}

/// Solves with matrix k in copies of A and B. Returns info.
template <typename T>
Int solve_apart(PosvTask<T> const& task, std::int64_t k, Scratch<T>& scratch_a, Scratch<T>& scratch_x) {
  auto const n = static_cast<Int>(task.x.rows_of(k)), nrhs = static_cast<Int>(task.x.cols_of(k));
  T* const a = copied(task.a, k, Part::lower, scratch_a);
  Int const info = factor<T>(Uplo::lower, n, a, n);
  if (info != 0) {
    fill_with_nan(task.x, k);
    return info;
  }
  T* const x = copied(task.b, k, Part::all, scratch_x);
  solve_by_cholesky<T>(Uplo::lower, n, nrhs, a, n, x, n);
  for_part(Part::all, n, nrhs, [&](auto i, auto j) { *task.x.at(k, i, j) = conjugate_if(task.x.conjugated, x[i + j * n]); });
  return 0;
}

/// A + jitter I = L L^H in place of the lower triangle, with pivots that are at least the floor; the upper one is overwritten. By blocks of
/// columns: unblocked in the panel, then products. Returns info.
template <Element T>
Int factor_regularized(Int n, T* a, Int lda, Regularization<Real<T>> const& regularization, std::int64_t k) {
  using R = Real<T>;
  constexpr Int block = 48;
  R const jitter = regularization.jitter ? regularization.jitter[k] : R(0);
  R const floor = regularization.floor && regularization.floor[k] > 0 ? regularization.floor[k] : -std::numeric_limits<R>::infinity();
  int replaced = 0;
  auto const at = [&](Int i, Int j) -> T& { return a[i + static_cast<std::int64_t>(j) * lda]; };
  for (Int i = 0; i < n; ++i) at(i, i) = T(std::real(at(i, i)) + jitter);
  Int info = 0;
  for (Int first = 0; first < n && info == 0; first += block) {
    Int const last = std::min(first + block, n);
    for (Int c = first; c < last && info == 0; ++c) {
      R pivot = std::real(at(c, c));
      if (pivot < floor) {
        pivot = floor;
        ++replaced;
      }
      if (!(pivot > 0)) {
        info = c + 1;
        break;
      }
      R const root = std::sqrt(pivot);
      at(c, c) = T(root);
      for (Int i = c + 1; i < n; ++i) at(i, c) /= root;
      for (Int j = c + 1; j < last; ++j) {
        T const other = conjugate_if(true, at(j, c));
        for (Int i = j; i < n; ++i) at(i, j) -= at(i, c) * other;
      }
    }
    for (Int j = last; j < n && info == 0; j += block)
      lapack::gemm<T>(Op::none, Op::conjugate_transpose, n - j, std::min(block, n - j), last - first, T(-1), &at(j, first), lda,
                      &at(j, first), lda, T(1), &at(j, j), lda);
  }
  if (regularization.replaced) regularization.replaced[k] = replaced;
  return info;
}

/// potrf_regularized; posv_regularized where there is a task of it, which has the same A
template <Element T>
void factor_and_solve(Queue& queue, PotrfTask<T> const& task, PosvTask<T> const* solved = nullptr) {
  parallel_for(queue.threads(), task.a.count, lane_grain(task.a.rows * task.a.rows), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch_a, scratch_x;
    for (std::int64_t k = begin; k < end; ++k) {
      LocalMatrix<T> const a(task.a, k, scratch_a, Part::lower, Place::copy);
      Int const info = factor_regularized<T>(a.rows(), a.data(), a.ld(), task.regularization, k);
      if (solved && info == 0) {
        LocalMatrix<T> const x(solved->x, k, scratch_x);
        solve_by_cholesky<T>(Uplo::lower, a.rows(), x.cols(), a.data(), a.ld(), x.data(), x.ld());
        x.store();
      }
      a.store();
      set(task.info, k, info);
    }
  });
}

}  // namespace

template <Element T>
void potrf(Queue& queue, PotrfTask<T> const& task) {
  if (task.regularization.given()) return factor_and_solve(queue, task);
  run_by_size(
      queue, shapes(task.a), cholesky_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { potrf_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        Scratch<T> scratch;
        for (std::int64_t k = begin; k < end; ++k) {
          Triangle<T> const a(task.a, k, scratch);
          set(task.info, k, factor(a));
          a.matrix.store();
        }
      });
}

template <Element T>
void potrs(Queue& queue, PotrsTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a, task.b), cholesky_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { potrs_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        Scratch<T> scratch_a, scratch_b;
        for (std::int64_t k = begin; k < end; ++k) {
          Triangle<T const> const a(task.a, k, scratch_a);
          LocalMatrix<T> const b(a.beside(task.b), k, scratch_b);
          solve_by_cholesky<T>(a.uplo, a.n(), b.cols(), a.matrix.data(), a.matrix.ld(), b.data(), b.ld());
          b.store();
        }
      });
}

template <Element T>
void posv(Queue& queue, PosvTask<T> const& task) {
  if (task.regularization.given())
    return factor_and_solve(queue, PotrfTask<T>{.a = task.factor, .info = task.info, .regularization = task.regularization}, &task);
  bool const in_place = task.writes_factor();
  run_by_size(
      queue, shapes(task.a, task.x), in_place ? cholesky_fits_lanes<T> : cholesky_solve_fits_lanes<T>,
      [&](std::int64_t begin, std::int64_t end) { posv_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        Scratch<T> scratch_a, scratch_x;
        for (std::int64_t k = begin; k < end; ++k) {
          if (!in_place) {
            set(task.info, k, solve_apart(task, k, scratch_a, scratch_x));
            continue;
          }
          Triangle<T> const a(task.factor, k, scratch_a);
          Int const info = factor(a);
          if (info == 0) {
            LocalMatrix<T> const x(a.beside(task.x), k, scratch_x);
            solve_by_cholesky<T>(a.uplo, a.n(), x.cols(), a.matrix.data(), a.matrix.ld(), x.data(), x.ld());
            x.store();
          }
          a.matrix.store();
          set(task.info, k, info);
        }
      });
}

template <Element T>
void potri(Queue& queue, PotrfTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a), cholesky_inverse_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { potri_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        Scratch<T> scratch;
        for (std::int64_t k = begin; k < end; ++k) {
          Triangle<T> const a(task.a, k, scratch, Place::copy);
          Int const info = zero_on_diagonal(a.matrix);  // OpenBLAS would divide by it
          if (info == 0) {
            lapack::potri<T>(a.uplo, a.n(), a.matrix.data(), a.matrix.ld());
            a.matrix.store();
          }
          set(task.info, k, info);
        }
      });
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void potrf<T>(Queue&, PotrfTask<T> const&); \
  template void potrs<T>(Queue&, PotrsTask<T> const&); \
  template void posv<T>(Queue&, PosvTask<T> const&);   \
  template void potri<T>(Queue&, PotrfTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
