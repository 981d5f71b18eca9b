#include "lu/lu_cpu.hpp"

#include <algorithm>
#include <vector>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "core/substitution.hpp"
#include "lu/single.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// Pivots of one matrix, contiguous as LAPACK wants them.
class LocalPivots {
 public:
  explicit LocalPivots(std::int64_t steps) : pivots_(static_cast<std::size_t>(steps)) {}
  [[nodiscard]] Int* data() { return pivots_.data(); }

  void store(Batch<int> const& batch, std::int64_t b) const {
    if (!batch.data && !batch.pointers) return;
    for (std::size_t k = 0; k < pivots_.size(); ++k) *batch.at(b, static_cast<std::int64_t>(k), 0) = pivots_[k];
  }
  /// Without pivots every row stays in its place.
  void load(Batch<int const> const& batch, std::int64_t b) {
    for (std::size_t k = 0; k < pivots_.size(); ++k)
      pivots_[k] = batch.data || batch.pointers ? *batch.at(b, static_cast<std::int64_t>(k), 0) : static_cast<Int>(k + 1);
  }

 private:
  std::vector<Int> pivots_;
};

void set(int* info, std::int64_t b, Int value) {
  if (info) info[b] = static_cast<int>(value);
}

template <typename T>
bool is_middle_sized(Batch<T> const& a, std::int64_t b) {
  return std::max(a.rows_of(b), a.cols_of(b)) <= single_largest;
}

/// Workspace of the kernels for single matrices.
template <typename T>
class SingleWorkspace {
 public:
  Real<T>* reserve(std::int64_t m, std::int64_t n) { return memory_.reserve(single_workspace<T>(m, n)); }

 private:
  Scratch<Real<T>> memory_;
};

/// LU by blocks of columns: unblocked in the panel, then trsm and gemm. Without `pivots` no rows are interchanged. Pivots are divided by,
/// not multiplied with their reciprocals. Returns info.
template <Element T>
Int factor_by_columns(Int m, Int n, T* a, Int lda, Int* pivots) {
  constexpr Int block = 32;
  Int info = 0;
  Int const steps = std::min(m, n);
  auto const at = [&](Int i, Int j) -> T& { return a[i + static_cast<std::int64_t>(j) * lda]; };
  for (Int k0 = 0; k0 < steps; k0 += block) {
    Int const k1 = std::min(k0 + block, steps);
    for (Int k = k0; k < k1; ++k) {
      if (pivots) {
        Int row = k;
        for (Int i = k + 1; i < m; ++i)
          if (abs1(at(i, k)) > abs1(at(row, k))) row = i;
        pivots[k] = row + 1;
        for (Int j = 0; j < n && row != k; ++j) std::swap(at(k, j), at(row, j));
      }
      bool const zero = at(k, k) == T(0);
      if (zero && info == 0) info = k + 1;
      for (Int i = k + 1; i < m && !(zero && pivots); ++i) at(i, k) = divide(at(i, k), at(k, k));
      for (Int j = k + 1; j < k1; ++j)
        for (Int i = k + 1; i < m; ++i) at(i, j) -= at(i, k) * at(k, j);
    }
    if (k1 >= n) continue;
    lapack::trsm<T>(Side::left, Uplo::lower, Op::none, Diag::unit, k1 - k0, n - k1, T(1), &at(k0, k0), lda, &at(k0, k1), lda);
    if (k1 < m)
      lapack::gemm<T>(Op::none, Op::none, m - k1, n - k1, k1 - k0, T(-1), &at(k1, k0), lda, &at(k0, k1), lda, T(1), &at(k1, k1), lda);
  }
  return info;
}

/// Whether LAPACK divided by the pivots on the diagonal of U without loss, as far as A let it: BLAS multiplies by their reciprocals.
template <typename T>
bool divides_well(Int m, Int n, T const* lu, Int lda, T const* a, Int ld) {
  bool ordinary = true;
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    T const pivot = lu[k + k * lda];
    ordinary &= pivot == T(0) || has_ordinary_reciprocal(pivot);
  }
  if (ordinary) return true;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i)
      if (!is_finite(a[i + j * ld])) return true;
  return false;
}

/// PA = LU by LAPACK, which works on a copy: where it lost something, A is factored by columns.
template <Element T>
Int factor_large(Int m, Int n, T* a, Int lda, Int* pivots, Scratch<T>& scratch) {
  if (m == 0 || n == 0) return 0;
  T* const lu = scratch.reserve(static_cast<std::int64_t>(m) * n);
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(a + j * lda, m, lu + j * m);
  Int const info = lapack::getrf<T>(m, n, lu, m, pivots);
  if (!divides_well<T>(m, n, lu, m, a, lda)) return factor_by_columns<T>(m, n, a, lda, pivots);
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(lu + j * m, m, a + j * lda);
  return info;
}

/// Scratch memory of one thread.
template <typename T>
struct LuScratch {
  Scratch<T> a, lu, x;
  SingleWorkspace<T> workspace;
};

/// PA = LU of matrix b, in place.
template <Element T>
Int factor(Batch<T> const& batch, std::int64_t b, Int* pivots, LuScratch<T>& scratch) {
  if (is_middle_sized(batch, b)) {
    Int info = 0;
    Real<T>* const workspace = scratch.workspace.reserve(batch.rows_of(b), batch.cols_of(b));
    factor_single(SingleFactorTask<T>{.a = batch, .index = b, .workspace = workspace, .pivots = pivots, .info = &info}, 0, 1);
    return info;
  }
  LocalMatrix<T> const a(batch, b, scratch.a);
  Int const info = factor_large<T>(a.rows(), a.cols(), a.data(), a.ld(), pivots, scratch.lu);
  a.store();
  return info;
}

/// A square matrix in an array.
template <typename T>
Batch<T> column_major(T* a, Int n, Int lda) {
  return batch(a, n, n, {.ld = lda, .count = 1});
}
/// PA = LU of a square matrix in an array, which may be `scratch.a`.
template <Element T>
Int factor_square(Int n, T* a, Int lda, Int* pivots, LuScratch<T>& scratch) {
  if (n > single_largest) return factor_large<T>(n, n, a, lda, pivots, scratch.lu);
  return factor<T>(column_major(a, n, lda), 0, pivots, scratch);
}

/// Copies matrix b of a batch to a column-major array.
template <Element T>
void copy_in(Batch<T const> const& batch, std::int64_t b, T* to) {
  std::int64_t const m = batch.rows_of(b);
  for_part(Part::all, m, batch.cols_of(b), [&](auto i, auto j) { to[i + j * m] = conjugate_if(batch.conjugated, *batch.at(b, i, j)); });
}

template <Element T>
void copy_out(T const* from, Batch<T> const& batch, std::int64_t b) {
  std::int64_t const m = batch.rows_of(b);
  for_part(Part::all, m, batch.cols_of(b), [&](auto i, auto j) { *batch.at(b, i, j) = conjugate_if(batch.conjugated, from[i + j * m]); });
}

/// The inverse of matrix b, or of what its factors and the pivots stand for. Returns info; above zero, nothing is written.
template <Element T>
Int invert(InverseTask<T> const& task, std::int64_t b, Int* pivots, LuScratch<T>& scratch) {
  auto const n = static_cast<Int>(task.a.rows_of(b));
  Int info = 0;
  if (is_middle_sized(task.a, b)) {
    invert_single(SingleInverseTask<T>{.a = task.a,
                                       .x = task.x,
                                       .index = b,
                                       .factor = task.factor,
                                       .workspace = scratch.workspace.reserve(n, n),
                                       .pivots = pivots,
                                       .info = &info},
                  0, 1);
    return info;
  }
  T* const a = scratch.a.reserve(static_cast<std::int64_t>(n) * n);
  copy_in<T>(task.a, b, a);
  if (task.factor) info = factor_large<T>(n, n, a, n, pivots, scratch.lu);
  if (info == 0) info = zero_on_diagonal(n, a, n);
  if (info != 0) return info;
  T* inverse = a;
  // LAPACK's getri takes the last pivot to be n.
  if (has_ordinary_diagonal(n, a, n) && (n == 0 || pivots[n - 1] == n)) {
    lapack::getri<T>(n, a, n, pivots, scratch.x.reserve(64 * std::int64_t{n}), 64 * n);
  } else {
    inverse = scratch.x.reserve(static_cast<std::int64_t>(n) * n);
    std::fill_n(inverse, static_cast<std::int64_t>(n) * n, T(0));
    for (std::int64_t k = 0; k < n; ++k) inverse[k + k * n] = T(1);
    solve_factored<T>(Op::none, n, n, a, n, pivots, inverse, n);
  }
  copy_out<T>(inverse, task.x, b);
  return 0;
}

}  // namespace

template <Element T>
void getrf(Queue& queue, GetrfTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a), lu_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { getrf_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        LuScratch<T> scratch;
        for (std::int64_t b = begin; b < end; ++b) {
          if (task.pivoting) {
            LocalPivots pivots(std::min(task.a.rows_of(b), task.a.cols_of(b)));
            set(task.info, b, factor<T>(task.a, b, pivots.data(), scratch));
            pivots.store(task.pivots, b);
          } else {
            LocalMatrix<T> const a(task.a, b, scratch.a);
            set(task.info, b, factor_by_columns<T>(a.rows(), a.cols(), a.data(), a.ld(), nullptr));
            a.store();
          }
        }
      });
}

template <Element T>
void getrs(Queue& queue, GetrsTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a, task.b), lu_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { getrs_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        Scratch<T> scratch_a, scratch_b;
        for (std::int64_t k = begin; k < end; ++k) {
          LocalMatrix<T const> const a(task.a, k, scratch_a);
          LocalMatrix<T> const b(task.b, k, scratch_b);
          LocalPivots pivots(a.rows());
          pivots.load(task.pivots, k);
          solve_factored<T>(task.op, a.rows(), b.cols(), a.data(), a.ld(), pivots.data(), b.data(), b.ld());
          b.store();
        }
      });
}

template <Element T>
void gesv(Queue& queue, GesvTask<T> const& task) {
  bool const in_place = task.factors.data || task.factors.pointers;
  run_by_size(
      queue, shapes(task.a, task.x), lu_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { gesv_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        LuScratch<T> scratch;
        for (std::int64_t k = begin; k < end; ++k) {
          auto const n = static_cast<Int>(task.x.rows_of(k));
          auto const nrhs = static_cast<Int>(task.x.cols_of(k));
          LocalPivots pivots(n);
          // X is made in a copy, so that it is not disturbed where the matrix turns out to be singular.
          T* const x = scratch.x.reserve(static_cast<std::int64_t>(n) * nrhs);
          copy_in<T>(task.b, k, x);
          Int info = 0;
          auto const work = [&](T* a, Int lda) {
            info = factor_square<T>(n, a, lda, pivots.data(), scratch);
            if (info == 0) solve_factored<T>(Op::none, n, nrhs, a, lda, pivots.data(), x, std::max<Int>(n, 1));
          };
          if (in_place) {
            LocalMatrix<T> const a(task.factors, k, scratch.a);
            work(a.data(), a.ld());
            a.store();
          } else {
            T* const a = scratch.a.reserve(static_cast<std::int64_t>(n) * n);
            copy_in<T>(task.a, k, a);
            work(a, std::max<Int>(n, 1));
          }
          if (info == 0)
            copy_out<T>(x, task.x, k);
          else if (task.nan_where_singular)
            fill_with_nan<T>(task.x, k);
          pivots.store(task.pivots, k);
          set(task.info, k, info);
        }
      });
}

template <Element T>
void inverse(Queue& queue, InverseTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a), lu_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { inverse_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        LuScratch<T> scratch;
        for (std::int64_t b = begin; b < end; ++b) {
          LocalPivots pivots(task.a.rows_of(b));
          if (!task.factor) pivots.load(task.pivots, b);
          Int const info = invert<T>(task, b, pivots.data(), scratch);
          if (info != 0 && task.factor) fill_with_nan<T>(task.x, b);
          set(task.info, b, info);
        }
      });
}

template <Element T>
void det(Queue& queue, DetTask<T> const& task) {
  run_by_size(
      queue, shapes(task.a), lu_fits_lanes<T>, [&](std::int64_t begin, std::int64_t end) { det_lanes(task, begin, end); },
      [&](std::int64_t begin, std::int64_t end) {
        LuScratch<T> scratch;
        for (std::int64_t b = begin; b < end; ++b) {
          auto const n = static_cast<Int>(task.a.rows_of(b));
          LocalPivots pivots(n);
          T* const a = scratch.a.reserve(static_cast<std::int64_t>(n) * n);
          copy_in<T>(task.a, b, a);
          factor_square<T>(n, a, n, pivots.data(), scratch);
          DiagonalProduct<T> product(task.logabs != nullptr);
          for (Int k = 0; k < n; ++k) {
            product.multiply(a[k + static_cast<std::int64_t>(k) * n]);
            if (pivots.data()[k] != k + 1) product.negate();
          }
          task.sign_or_det[b] = product.sign_or_det();
          if (task.logabs) task.logabs[b] = product.logabs();
        }
      });
}

#define MYRIAD_INSTANTIATE(T)                              \
  template void getrf<T>(Queue&, GetrfTask<T> const&);     \
  template void getrs<T>(Queue&, GetrsTask<T> const&);     \
  template void gesv<T>(Queue&, GesvTask<T> const&);       \
  template void inverse<T>(Queue&, InverseTask<T> const&); \
  template void det<T>(Queue&, DetTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
