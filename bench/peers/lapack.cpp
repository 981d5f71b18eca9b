#include "core/lapack.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cholesky/case.hpp"
#include "core/dtype.hpp"
#include "eigen/case.hpp"
#include "eigen/tridiagonal/tridiagonal_case.hpp"
#include "gemm/case.hpp"
#include "lu/case.hpp"
#include "peers/loop.hpp"
#include "peers/peer.hpp"
#include "qr/case.hpp"
#include "refine/case.hpp"
#include "svd/bidiagonal/bidiagonal_case.hpp"
#include "svd/case.hpp"
#include "symm/case.hpp"
#include "symv/case.hpp"
#include "syrk/case.hpp"
#include "trsm/case.hpp"

namespace myriad::bench {
namespace {

using namespace cases;
using lapack::Int;

/// Workspace of the calling thread.
template <typename T, int Slot = 0>
T* workspace(std::int64_t size) {
  thread_local std::vector<T> memory;
  if (static_cast<std::size_t>(size) > memory.size()) memory.resize(static_cast<std::size_t>(size));
  return memory.data();
}
constexpr std::int64_t block = 64;  // at least LAPACK's block sizes

Int as_int(std::int64_t x) { return static_cast<Int>(x); }

/// Matrix b in LAPACK's form.
template <typename T>
struct Matrix {
  T* data;
  Int m, n, ld;
  Matrix(Batch<T> const& a, std::int64_t b, Op op = Op::none)
      : data(a.matrix(b)), m(as_int(a.rows_of(b))), n(as_int(a.cols_of(b))), ld(stored_ld(a, b, op)) {}
  void copy_to(T* to) const {
    for (Int j = 0; j < n; ++j) std::copy_n(data + std::int64_t{j} * ld, m, to + std::int64_t{j} * std::max(m, 1));
  }
};

/// The stored triangle of a view: a transposed view swaps it.
Uplo stored(Op op, Uplo uplo) { return op == Op::none ? uplo : uplo == Uplo::lower ? Uplo::upper : Uplo::lower; }

template <typename T>
std::function<void()> work(GemmCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const x(c.a.view(), i, p.op), y(c.b.view(), i, p.op_b), z(c.c.view(), i);
      lapack::gemm(p.op, p.op_b, z.m, z.n, x.n, c.alpha, x.data, x.ld, y.data, y.ld, c.beta, z.data, z.ld);
    });
  };
}

template <typename T>
void gemv(CBLAS_TRANSPOSE op, Int m, Int n, T alpha, T const* a, Int lda, T const* x, T beta, T* y) {
  if constexpr (is_complex<T>)
    MYRIAD_LAPACK(T, cblas_sgemv, cblas_dgemv, cblas_cgemv, cblas_zgemv, CblasColMajor, op, m, n, &alpha, a, lda, x, 1, &beta, y, 1);
  else
    MYRIAD_LAPACK(T, cblas_sgemv, cblas_dgemv, cblas_cgemv, cblas_zgemv, CblasColMajor, op, m, n, alpha, a, lda, x, 1, beta, y, 1);
}

template <typename T>
std::function<void()> work(GemvCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i, p.op), x(c.x.view(), i), y(c.y.view(), i);
      if (a.n == 0)  // BLAS then leaves y as it is
        lapack::gemm(Op::none, Op::none, y.m, 1, 0, c.alpha, a.data, std::max(y.m, 1), x.data, 1, c.beta, y.data, y.ld);
      else if (p.op == Op::none)
        gemv(CblasNoTrans, a.m, a.n, c.alpha, a.data, a.ld, x.data, c.beta, y.data);
      else
        gemv(lapack::cblas(p.op), a.n, a.m, c.alpha, a.data, a.ld, x.data, c.beta, y.data);
    });
  };
}

template <typename T>
std::function<void()> work(GerCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), x(c.x.view(), i), y(c.y.view(), i, p.op);
      Int const step = p.op == Op::none ? 1 : y.ld;
      if constexpr (!is_complex<T>)
        MYRIAD_LAPACK(T, cblas_sger, cblas_dger, cblas_cgeru, cblas_zgeru, CblasColMajor, a.m, a.n, c.alpha, x.data, 1, y.data, step,
                      a.data, a.ld);
      else if (p.op == Op::conjugate_transpose)
        MYRIAD_LAPACK(T, cblas_sger, cblas_dger, cblas_cgerc, cblas_zgerc, CblasColMajor, a.m, a.n, &c.alpha, x.data, 1, y.data, step,
                      a.data, a.ld);
      else
        MYRIAD_LAPACK(T, cblas_sger, cblas_dger, cblas_cgeru, cblas_zgeru, CblasColMajor, a.m, a.n, &c.alpha, x.data, 1, y.data, step,
                      a.data, a.ld);
    });
  };
}

template <typename T>
std::function<void()> work(SymvCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), x(c.x.view(), i), y(c.y.view(), i);
      lapack::symv<T>(p.uplo, a.n, c.alpha, a.data, a.ld, x.data, c.beta, y.data);
    });
  };
}

template <typename T>
std::function<void()> work(HemvCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), x(c.x.view(), i), y(c.y.view(), i);
      lapack::hemv<T>(p.uplo, a.n, c.alpha, a.data, a.ld, x.data, c.beta, y.data);
    });
  };
}

template <typename T, Symmetry symmetry>
std::function<void()> work(SymmetricMatrixProductCase<T, symmetry>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), x(c.b.view(), i), y(c.c.view(), i);
      auto const side = lapack::cblas(p.side);
      auto const uplo = lapack::cblas(p.uplo);
      if (symmetry == Symmetry::hermitian)
        MYRIAD_LAPACK(T, cblas_ssymm, cblas_dsymm, cblas_chemm, cblas_zhemm, CblasColMajor, side, uplo, y.m, y.n, lapack::cblas(c.alpha),
                      a.data, a.ld, x.data, x.ld, lapack::cblas(c.beta), y.data, y.ld);
      else
        MYRIAD_LAPACK(T, cblas_ssymm, cblas_dsymm, cblas_csymm, cblas_zsymm, CblasColMajor, side, uplo, y.m, y.n, lapack::cblas(c.alpha),
                      a.data, a.ld, x.data, x.ld, lapack::cblas(c.beta), y.data, y.ld);
    });
  };
}
template <typename T>
std::function<void()> work(SymmCase<T>& c, int threads) {
  return work<T, Symmetry::symmetric>(c, threads);
}
template <typename T>
std::function<void()> work(HemmCase<T>& c, int threads) {
  return work<T, Symmetry::hermitian>(c, threads);
}

/// Whether syrk (herk for a Hermitian C) has this operation.
template <typename T>
bool has_op(Op op, Symmetry symmetry) {
  return op == Op::none || !is_complex<T> || op == (symmetry == Symmetry::hermitian ? Op::conjugate_transpose : Op::transpose);
}

template <typename T, Symmetry symmetry>
std::function<void()> work(SymmetricUpdateCase<T, symmetry, false>& c, int threads) {
  if (!has_op<T>(c.problem().op, symmetry)) return {};
  return [&c, threads] {
    auto const& p = c.problem();
    auto const uplo = lapack::cblas(p.uplo);
    auto const op = lapack::cblas(p.op);
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i, p.op), z(c.c.view(), i);
      if constexpr (symmetry == Symmetry::hermitian)
        MYRIAD_LAPACK(T, cblas_ssyrk, cblas_dsyrk, cblas_cherk, cblas_zherk, CblasColMajor, uplo, op, a.m, a.n, std::real(c.alpha), a.data,
                      a.ld, std::real(c.beta), z.data, z.ld);
      else
        MYRIAD_LAPACK(T, cblas_ssyrk, cblas_dsyrk, cblas_csyrk, cblas_zsyrk, CblasColMajor, uplo, op, a.m, a.n, lapack::cblas(c.alpha),
                      a.data, a.ld, lapack::cblas(c.beta), z.data, z.ld);
    });
  };
}
template <typename T>
std::function<void()> work(SyrkCase<T>& c, int threads) {
  return work<T, Symmetry::symmetric>(c, threads);
}
template <typename T>
std::function<void()> work(HerkCase<T>& c, int threads) {
  return work<T, Symmetry::hermitian>(c, threads);
}

template <typename T, Symmetry symmetry>
std::function<void()> work(SymmetricUpdateCase<T, symmetry, true>& c, int threads) {
  if (!has_op<T>(c.problem().op, symmetry) || c.problem().op != c.problem().op_b) return {};
  return [&c, threads] {
    auto const& p = c.problem();
    auto const uplo = lapack::cblas(p.uplo);
    auto const op = lapack::cblas(p.op);
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i, p.op), b(c.b.view(), i, p.op), z(c.c.view(), i);
      if constexpr (symmetry == Symmetry::hermitian)
        MYRIAD_LAPACK(T, cblas_ssyr2k, cblas_dsyr2k, cblas_cher2k, cblas_zher2k, CblasColMajor, uplo, op, a.m, a.n, lapack::cblas(c.alpha),
                      a.data, a.ld, b.data, b.ld, std::real(c.beta), z.data, z.ld);
      else
        MYRIAD_LAPACK(T, cblas_ssyr2k, cblas_dsyr2k, cblas_csyr2k, cblas_zsyr2k, CblasColMajor, uplo, op, a.m, a.n, lapack::cblas(c.alpha),
                      a.data, a.ld, b.data, b.ld, lapack::cblas(c.beta), z.data, z.ld);
    });
  };
}
template <typename T>
std::function<void()> work(Syr2kCase<T>& c, int threads) {
  return work<T, Symmetry::symmetric>(c, threads);
}
template <typename T>
std::function<void()> work(Her2kCase<T>& c, int threads) {
  return work<T, Symmetry::hermitian>(c, threads);
}

template <typename T>
std::function<void()> work(TrsmCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i, p.op), b(c.b.view(), i);
      lapack::trsm(p.side, stored(p.op, p.uplo), p.op, p.diag, b.m, b.n, c.alpha, a.data, a.ld, b.data, b.ld);
    });
  };
}

template <typename T>
std::function<void()> work(TrmmCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i, p.op), b(c.b.view(), i);
      lapack::trmm(p.side, stored(p.op, p.uplo), p.op, p.diag, b.m, b.n, c.alpha, a.data, a.ld, b.data, b.ld);
    });
  };
}

template <typename T>
std::function<void()> work(TrsvCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i, p.op), x(c.b.view(), i);
      MYRIAD_LAPACK(T, cblas_strsv, cblas_dtrsv, cblas_ctrsv, cblas_ztrsv, CblasColMajor, lapack::cblas(stored(p.op, p.uplo)),
                    lapack::cblas(p.op), lapack::cblas(p.diag), a.n, a.data, a.ld, x.data, 1);
    });
  };
}

template <typename T>
std::function<void()> work(TrmvCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i, p.op), x(c.b.view(), i);
      lapack::trmv<T>(stored(p.op, p.uplo), p.op, p.diag, a.n, a.data, a.ld, x.data);
    });
  };
}

template <typename T>
std::function<void()> work(TrtriCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      c.info.data()[i] = lapack::trtri(p.uplo, p.diag, a.n, a.data, a.ld);
    });
  };
}

template <typename T>
std::function<void()> work(GetrfCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      c.info.data()[i] = lapack::getrf(a.m, a.n, a.data, a.ld, c.pivots.view().matrix(i));
    });
  };
}

template <typename T>
std::function<void()> work(GetrsCase<T>& c, int threads) {
  if (!c.problem().pivots) return {};
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), b(c.b.view(), i);
      lapack::getrs(c.problem().op, a.n, b.n, a.data, a.ld, c.pivots.view().matrix(i), b.data, b.ld);
    });
  };
}

template <typename T>
Int gesv(Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb) {
  if (nrhs == 0) return lapack::getrf(n, n, a, lda, pivots);  // OpenBLAS returns at once
  return MYRIAD_LAPACK(T, LAPACKE_sgesv_work, LAPACKE_dgesv_work, LAPACKE_cgesv_work, LAPACKE_zgesv_work, LAPACK_COL_MAJOR, n, nrhs, a, lda,
                       pivots, b, ldb);
}

template <typename T>
std::function<void()> work(GesvCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), b(c.b.view(), i);
      int* const pivots = c.problem().pivots ? c.pivots.view().matrix(i) : workspace<int>(a.n);
      c.info.data()[i] = gesv(a.n, b.n, a.data, a.ld, pivots, b.data, b.ld);
    });
  };
}

template <typename T>
void fill_nan(Matrix<T> const& x) {
  for (Int j = 0; j < x.n; ++j) std::fill_n(x.data + std::int64_t{j} * x.ld, x.m, T(std::numeric_limits<Real<T>>::quiet_NaN()));
}

template <typename T>
std::function<void()> work(SolveCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Batch<T> const& views = c.a.view();
      Matrix<T> const a(views, i), b(c.b.view(), i), x(c.x.view(), i);
      T* const factors = workspace<T>(std::int64_t{a.n} * a.n);
      a.copy_to(factors);
      for (Int j = 0; j < b.n; ++j) std::copy_n(b.data + std::int64_t{j} * b.ld, b.m, x.data + std::int64_t{j} * x.ld);
      c.info.data()[i] = gesv(a.n, b.n, factors, std::max(a.n, 1), workspace<int>(a.n), x.data, x.ld);
      if (c.info.data()[i] > 0) fill_nan(x);
    });
  };
}

template <typename T>
std::function<void()> work(GetriCase<T>& c, int threads) {
  if (!c.problem().pivots) return {};
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      c.info.data()[i] =
          lapack::getri(a.n, a.data, a.ld, c.pivots.view().matrix(i), workspace<T>(a.n * block + 1), as_int(a.n * block + 1));
    });
  };
}

template <typename T>
std::function<void()> work(InverseCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), x(c.x.view(), i);
      for (Int j = 0; j < a.n; ++j) std::copy_n(a.data + std::int64_t{j} * a.ld, a.m, x.data + std::int64_t{j} * x.ld);
      int* const pivots = workspace<int>(a.n);
      int info = lapack::getrf(a.n, a.n, x.data, x.ld, pivots);
      if (info == 0)
        info = lapack::getri(a.n, x.data, x.ld, pivots, workspace<T>(a.n * block + 1), as_int(a.n * block + 1));
      else
        fill_nan(x);
      c.info.data()[i] = info;
    });
  };
}

/// Calls f(u(i, i), whether row i was interchanged) for the pivots of a copy of A.
template <typename T, typename F>
void for_pivots(Matrix<T> const& a, F const& f) {
  T* const factors = workspace<T>(std::int64_t{a.n} * a.n);
  int* const pivots = workspace<int>(a.n);
  a.copy_to(factors);
  lapack::getrf(a.n, a.n, factors, std::max(a.n, 1), pivots);
  for (Int i = 0; i < a.n; ++i) f(factors[i + std::int64_t{i} * a.n], pivots[i] != i + 1);
}

template <typename T>
std::function<void()> work(DetCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      T product = 1;
      for_pivots(Matrix<T>(c.a.view(), i), [&](T u, bool swapped) { product *= swapped ? -u : u; });
      c.determinant.data()[i] = product;
    });
  };
}

template <typename T>
std::function<void()> work(LogdetCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      T sign = 1;
      Real<T> sum = 0;
      for_pivots(Matrix<T>(c.a.view(), i), [&](T u, bool swapped) {
        Real<T> const size = std::abs(u);
        sign *= size == 0 ? T(0) : (swapped ? -u : u) / size;
        sum += std::log(size);
      });
      c.sign.data()[i] = sign;
      c.log_abs.data()[i] = sum;
    });
  };
}

template <typename T>
std::function<void()> work(PotrfCase<T>& c, int threads) {
  return [&c, threads] {
    char const uplo = static_cast<char>(c.problem().uplo);
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      c.info.data()[i] = MYRIAD_LAPACK(T, LAPACKE_spotrf_work, LAPACKE_dpotrf_work, LAPACKE_cpotrf_work, LAPACKE_zpotrf_work,
                                       LAPACK_COL_MAJOR, uplo, a.n, a.data, a.ld);
    });
  };
}

template <typename T>
std::function<void()> work(PotrsCase<T>& c, int threads) {
  return [&c, threads] {
    char const uplo = static_cast<char>(c.problem().uplo);
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), b(c.b.view(), i);
      MYRIAD_LAPACK(T, LAPACKE_spotrs_work, LAPACKE_dpotrs_work, LAPACKE_cpotrs_work, LAPACKE_zpotrs_work, LAPACK_COL_MAJOR, uplo, a.n, b.n,
                    a.data, a.ld, b.data, b.ld);
    });
  };
}

template <typename T>
std::function<void()> work(PosvCase<T>& c, int threads) {
  return [&c, threads] {
    char const uplo = static_cast<char>(c.problem().uplo);
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), b(c.b.view(), i);
      c.info.data()[i] = MYRIAD_LAPACK(T, LAPACKE_sposv_work, LAPACKE_dposv_work, LAPACKE_cposv_work, LAPACKE_zposv_work, LAPACK_COL_MAJOR,
                                       uplo, a.n, b.n, a.data, a.ld, b.data, b.ld);
    });
  };
}

template <typename T>
std::function<void()> work(SolvePositiveDefiniteCase<T>& c, int threads) {
  return [&c, threads] {
    char const uplo = static_cast<char>(c.problem().uplo);
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), b(c.b.view(), i), x(c.x.view(), i);
      T* const factor = workspace<T>(std::int64_t{a.n} * a.n);
      a.copy_to(factor);
      for (Int j = 0; j < b.n; ++j) std::copy_n(b.data + std::int64_t{j} * b.ld, b.m, x.data + std::int64_t{j} * x.ld);
      c.info.data()[i] = MYRIAD_LAPACK(T, LAPACKE_sposv_work, LAPACKE_dposv_work, LAPACKE_cposv_work, LAPACKE_zposv_work, LAPACK_COL_MAJOR,
                                       uplo, a.n, b.n, factor, std::max(a.n, 1), x.data, x.ld);
      if (c.info.data()[i] > 0) fill_nan(x);
    });
  };
}

template <typename T>
std::function<void()> work(PotriCase<T>& c, int threads) {
  return [&c, threads] {
    char const uplo = static_cast<char>(c.problem().uplo);
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      c.info.data()[i] = MYRIAD_LAPACK(T, LAPACKE_spotri_work, LAPACKE_dpotri_work, LAPACKE_cpotri_work, LAPACKE_zpotri_work,
                                       LAPACK_COL_MAJOR, uplo, a.n, a.data, a.ld);
    });
  };
}

template <typename T>
std::function<void()> work(GeqrfCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      T* const tau = c.tau.view().matrix(i);
      Int const size = as_int(a.n * block + 1);
      MYRIAD_LAPACK(T, LAPACKE_sgeqrf_work, LAPACKE_dgeqrf_work, LAPACKE_cgeqrf_work, LAPACKE_zgeqrf_work, LAPACK_COL_MAJOR, a.m, a.n,
                    a.data, a.ld, tau, workspace<T>(size), size);
    });
  };
}

template <typename T>
std::function<void()> work(OrmqrCase<T>& c, int threads) {
  return [&c, threads] {
    char const side = static_cast<char>(c.problem().side);
    char const op = static_cast<char>(c.op() == Op::none ? Op::none : is_complex<T> ? Op::conjugate_transpose : Op::transpose);
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), x(c.c.view(), i);
      T* const tau = c.tau.view().matrix(i);
      Int const k = as_int(c.tau.rows(i));
      Int const size = as_int((std::max(x.m, x.n) + block + 1) * block + 1);
      MYRIAD_LAPACK(T, LAPACKE_sormqr_work, LAPACKE_dormqr_work, LAPACKE_cunmqr_work, LAPACKE_zunmqr_work, LAPACK_COL_MAJOR, side, op, x.m,
                    x.n, k, a.data, a.ld, tau, x.data, x.ld, workspace<T>(size), size);
    });
  };
}

template <typename T>
std::function<void()> work(OrgqrCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      Int const k = as_int(c.tau.rows(i));
      Int const size = as_int(a.n * block + 1);
      MYRIAD_LAPACK(T, LAPACKE_sorgqr_work, LAPACKE_dorgqr_work, LAPACKE_cungqr_work, LAPACKE_zungqr_work, LAPACK_COL_MAJOR, a.m, a.n, k,
                    a.data, a.ld, c.tau.view().matrix(i), workspace<T>(size), size);
    });
  };
}

template <typename T>
std::function<void()> work(GelsCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), b(c.b.view(), i);
      Int const size = as_int(std::min(a.m, a.n) + std::max({a.m, a.n, b.n, 1}) * block + 1);
      c.info.data()[i] = MYRIAD_LAPACK(T, LAPACKE_sgels_work, LAPACKE_dgels_work, LAPACKE_cgels_work, LAPACKE_zgels_work, LAPACK_COL_MAJOR,
                                       'N', a.m, a.n, b.n, a.data, a.ld, b.data, b.ld, workspace<T>(size), size);
    });
  };
}

template <typename T>
std::function<void()> work(SyevdCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      Int const size = as_int(2 * std::int64_t{a.n} * a.n + (6 + block) * std::int64_t{a.n} + 1), int_size = as_int(5 * a.n + 3);
      c.info.data()[i] = lapack::syevd<T>(p.job, p.uplo, a.n, a.data, a.ld, c.w.view().matrix(i), workspace<T>(size), size,
                                          workspace<Real<T>, 1>(size), size, workspace<Int>(int_size), int_size);
    });
  };
}

template <typename T>
std::function<void()> work(SytrdCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      // LAPACK does not write some of the imaginary parts that it does not read.
      for (Int k = 0; k < a.n && is_complex<T>; ++k) a.data[k + std::int64_t{k} * a.ld] = std::real(a.data[k + std::int64_t{k} * a.ld]);
      Int const size = as_int(a.n * block + 1);
      lapack::sytrd<T>(p.uplo, a.n, a.data, a.ld, c.d.view().matrix(i), c.e.view().matrix(i), c.tau.view().matrix(i), workspace<T>(size),
                       size);
    });
  };
}

template <typename T>
std::function<void()> work(OrgtrCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      Int const size = as_int(a.n * block + 1);
      lapack::orgtr<T>(p.uplo, a.n, a.data, a.ld, c.tau.view().matrix(i), workspace<T>(size), size);
    });
  };
}

template <typename T>
std::function<void()> work(OrmtrCase<T>& c, int threads) {
  return [&c, threads] {
    auto const& p = c.problem();
    for_each_matrix(threads, p.count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), x(c.c.view(), i);
      if (x.m == 0 || x.n == 0) return;
      Int const size = as_int((std::max(x.m, x.n) + block + 1) * block + 1);
      lapack::ormtr<T>(p.side, p.uplo, c.op(), x.m, x.n, a.data, a.ld, c.tau.view().matrix(i), x.data, x.ld, workspace<T>(size), size);
    });
  };
}

/// LAPACK has no job for one side alone.
template <typename T>
std::function<void()> work(GesvdCase<T>& c, int threads) {
  SvdJob const what = c.problem().svd_job;
  if (what == SvdJob::left || what == SvdJob::right) return {};
  return [&c, threads, what] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), u(c.u.view(), i), vt(c.vt.view(), i);
      std::int64_t const k = std::min(a.m, a.n), most = std::max(a.m, a.n);
      if (k == 0) {  // LAPACK then leaves the unit matrices to the caller
        for (Matrix<T> const* const x : {&u, &vt})
          for (Int j = 0; j < x->n; ++j)
            for (Int r = 0; r < x->m; ++r) x->data[r + std::int64_t{j} * x->ld] = T(r == j ? 1 : 0);
        c.info.data()[i] = 0;
        return;
      }
      Int const size = as_int(4 * k * k + 2 * k * most + 71 * (k + most) + 1);
      Real<T>* const real_work = workspace<Real<T>, 1>(5 * k * k + 7 * k + 2 * most * k + 2 * k * k + 1);
      c.info.data()[i] = lapack::gesdd<T>(static_cast<char>(what), a.m, a.n, a.data, a.ld, c.s.view().matrix(i), u.data, u.ld, vt.data,
                                          std::max(vt.ld, 1), workspace<T>(size), size, real_work, workspace<Int>(8 * k + 1));
    });
  };
}

/// LAPACK's gejsv takes no wide matrices, and returns V.
template <typename T>
std::function<void()> work(GejsvCase<T>& c, int threads) {
  SvdJob const what = c.problem().svd_job;
  if (what == SvdJob::left || what == SvdJob::right) return {};
  for (std::int64_t i = 0; i < c.problem().count; ++i)
    if (c.a.rows(i) < c.a.cols(i) || c.a.cols(i) == 0) return {};
  return [&c, threads, what] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), u(c.u.view(), i), vt(c.vt.view(), i);
      Int const n = a.n;
      lapack::GejsvSizes const sizes(a.m, n, what != SvdJob::values);
      T* const v = workspace<T, 1>(std::int64_t{n} * n);
      Real<T>* const s = c.s.view().matrix(i);
      Real<T> factor{};
      c.info.data()[i] =
          lapack::gejsv<T>(static_cast<char>(what), a.m, n, a.data, a.ld, s, u.data, std::max(u.ld, 1), v, n, workspace<T>(sizes.work),
                           workspace<Real<T>, 2>(sizes.reals), workspace<Int>(sizes.integers), factor);
      for (Int j = 0; j < n; ++j) s[j] *= factor;
      if (what == SvdJob::values) return;
      for (Int j = 0; j < n; ++j)
        for (Int r = 0; r < n; ++r) vt.data[j + std::int64_t{r} * vt.ld] = conjugate(v[r + std::int64_t{j} * n]);
    });
  };
}

template <typename T>
std::function<void()> work(GelsdCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), b(c.b.view(), i);
      std::int64_t const k = std::min(a.m, a.n), most = std::max(a.m, a.n);
      Int const sides = std::max<Int>(b.n, 1);
      int& rank = c.rank.data()[i];
      c.info.data()[i] = rank = 0;
      if (k == 0) {  // LAPACK then leaves B
        for (Int j = 0; j < b.n; ++j) std::fill_n(b.data + std::int64_t{j} * b.ld, a.n, T(0));
        return;
      }
      // LAPACK needs a right-hand side.
      T* const right = b.n > 0 ? b.data : std::fill_n(workspace<T, 2>(most), most, T(0)) - most;
      Int const ld = b.n > 0 ? b.ld : as_int(most);
      constexpr std::int64_t leaf = 25, levels = 32;
      Int const size =
          as_int(3 * k + std::max(most, k * sides) + (9 + 2 * leaf + 8 * levels + block) * (k + most) + (leaf + 1) * (leaf + 1));
      Int* const integers = workspace<Int>(3 * k * levels + 11 * k);
      auto const rcond = static_cast<Real<T>>(GelsdCase<T>::rcond);
      Real<T>* const s = c.s.view().matrix(i);
      if constexpr (is_complex<T>) {
        Real<T>* const reals = workspace<Real<T>, 1>((10 + 2 * leaf + 8 * levels) * k + 3 * leaf * sides + (leaf + 1) * (leaf + 1) +
                                                     k * (1 + sides) + 2 * sides);
        if constexpr (sizeof(T) == 8)
          c.info.data()[i] = LAPACKE_cgelsd_work(LAPACK_COL_MAJOR, a.m, a.n, sides, a.data, a.ld, right, ld, s, rcond, &rank,
                                                 workspace<T>(size), size, reals, integers);
        else
          c.info.data()[i] = LAPACKE_zgelsd_work(LAPACK_COL_MAJOR, a.m, a.n, sides, a.data, a.ld, right, ld, s, rcond, &rank,
                                                 workspace<T>(size), size, reals, integers);
      } else if constexpr (sizeof(T) == 4)
        c.info.data()[i] = LAPACKE_sgelsd_work(LAPACK_COL_MAJOR, a.m, a.n, sides, a.data, a.ld, right, ld, s, rcond, &rank,
                                               workspace<T>(size), size, integers);
      else
        c.info.data()[i] = LAPACKE_dgelsd_work(LAPACK_COL_MAJOR, a.m, a.n, sides, a.data, a.ld, right, ld, s, rcond, &rank,
                                               workspace<T>(size), size, integers);
    });
  };
}

template <typename T>
std::function<void()> work(GebrdCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i);
      Int const size = as_int((std::int64_t{a.m} + a.n) * block + 1);
      lapack::gebrd<T>(a.m, a.n, a.data, a.ld, c.d.view().matrix(i), c.e.view().matrix(i), c.tauq.view().matrix(i), c.taup.view().matrix(i),
                       workspace<T>(size), size);
    });
  };
}

template <typename T>
std::function<void()> work(GerfsCase<T>& c, int threads) {
  if (!c.problem().pivots) return {};
  return [&c, threads] {
    char const op = static_cast<char>(c.problem().op);
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      Matrix<T> const a(c.a.view(), i), af(c.af.view(), i), b(c.b.view(), i), x(c.x.view(), i);
      int const* const pivots = c.pivots.view().matrix(i);
      auto* const ferr = c.ferr.view().matrix(i);
      auto* const berr = c.berr.view().matrix(i);
      T* const w = workspace<T>(3 * a.n + 1);
      if constexpr (is_complex<T>)
        MYRIAD_LAPACK(T, LAPACKE_sgerfs_work, LAPACKE_dgerfs_work, LAPACKE_cgerfs_work, LAPACKE_zgerfs_work, LAPACK_COL_MAJOR, op, a.n, b.n,
                      a.data, a.ld, af.data, af.ld, pivots, b.data, b.ld, x.data, x.ld, ferr, berr, w, workspace<Real<T>>(a.n + 1));
      else
        MYRIAD_LAPACK(T, LAPACKE_sgerfs_work, LAPACKE_dgerfs_work, LAPACKE_cgerfs_work, LAPACKE_zgerfs_work, LAPACK_COL_MAJOR, op, a.n, b.n,
                      a.data, a.ld, af.data, af.ld, pivots, b.data, b.ld, x.data, x.ld, ferr, berr, w, workspace<int>(a.n + 1));
    });
  };
}

class LapackPeer final : public Peer {
 public:
  [[nodiscard]] std::string_view name() const override { return "lapack"; }
  [[nodiscard]] std::string label() const override {
    std::string const config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_AFFINITY ..."
    auto const end = config.find(' ', config.find(' ') + 1);
    return "LAPACK (" + config.substr(0, end) + ")";
  }
  [[nodiscard]] std::function<void()> prepare(CaseRun& run, int threads) const override {
    openblas_set_num_threads(1);
    if (is_half(run.problem().dtype)) return {};
    return with_dtype(run.problem().dtype, [&]<typename T>() -> std::function<void()> {
      std::function<void()> found;
      for_case_of<T, GemmCase, GemvCase, GerCase, SymvCase, HemvCase, SymmCase, HemmCase, SyrkCase, HerkCase, Syr2kCase, Her2kCase,
                  TrsmCase, TrmmCase, TrsvCase, TrmvCase, TrtriCase, GetrfCase, GetrsCase, GesvCase, SolveCase, GetriCase, InverseCase,
                  DetCase, LogdetCase, PotrfCase, PotrsCase, PosvCase, SolvePositiveDefiniteCase, PotriCase, GeqrfCase, OrmqrCase,
                  OrgqrCase, GelsCase, SyevdCase, SytrdCase, OrgtrCase, OrmtrCase, GesvdCase, GejsvCase, GelsdCase, GebrdCase, GerfsCase>(
          run, [&](auto& c) { found = work(c, threads); });
      return found;
    });
  }
};

}  // namespace

std::unique_ptr<Peer> make_lapack_peer() { return std::make_unique<LapackPeer>(); }

}  // namespace myriad::bench
