#pragma once
/// LAPACKE and CBLAS overloaded on the element type: column-major, one matrix per call, without checks and NaN scans.

#include <cblas.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>

// LAPACKE uses these complex types if they are defined before it is included.
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include "myriad/types.hpp"

// The names of LAPACK begin with a prefix in scipy-openblas32 (CMake's MYRIAD_LAPACK), and with nothing in the system's OpenBLAS.
#ifndef MYRIAD_LAPACK_PREFIX
#define MYRIAD_LAPACK_PREFIX
#endif
#define MYRIAD_LAPACK_JOIN(prefix, name) prefix##name
#define MYRIAD_LAPACK_EXPAND(prefix, name) MYRIAD_LAPACK_JOIN(prefix, name)
/// The function `name` of LAPACKE, CBLAS, LAPACK or OpenBLAS
#define MYRIAD_LAPACK_NAME(name) MYRIAD_LAPACK_EXPAND(MYRIAD_LAPACK_PREFIX, name)

// LAPACK has these, but neither LAPACKE nor CBLAS. The last argument is the length of `uplo`, as Fortran passes it.
extern "C" {
void MYRIAD_LAPACK_NAME(csymv_)(char const* uplo, lapack_int const* n, std::complex<float> const* alpha, std::complex<float> const* a,
                                lapack_int const* lda, std::complex<float> const* x, lapack_int const* incx,
                                std::complex<float> const* beta, std::complex<float>* y, lapack_int const* incy, std::size_t uplo_length);
void MYRIAD_LAPACK_NAME(zsymv_)(char const* uplo, lapack_int const* n, std::complex<double> const* alpha, std::complex<double> const* a,
                                lapack_int const* lda, std::complex<double> const* x, lapack_int const* incx,
                                std::complex<double> const* beta, std::complex<double>* y, lapack_int const* incy, std::size_t uplo_length);
}

namespace myriad::lapack {

/// LAPACK's integers. Matrices of more than 2^31 - 1 rows are not supported.
using Int = lapack_int;

/// Calls `s` for float, `d` for double, `c` and `z` for the complex types.
#define MYRIAD_LAPACK(T, s, d, c, z, ...)                      \
  [&] {                                                        \
    if constexpr (std::is_same_v<T, float>)                    \
      return MYRIAD_LAPACK_NAME(s)(__VA_ARGS__);               \
    else if constexpr (std::is_same_v<T, double>)              \
      return MYRIAD_LAPACK_NAME(d)(__VA_ARGS__);               \
    else if constexpr (std::is_same_v<T, std::complex<float>>) \
      return MYRIAD_LAPACK_NAME(c)(__VA_ARGS__);               \
    else                                                       \
      return MYRIAD_LAPACK_NAME(z)(__VA_ARGS__);               \
  }()

template <Element T>
Int getrf(Int m, Int n, T* a, Int lda, Int* pivots) {
  return MYRIAD_LAPACK(T, LAPACKE_sgetrf_work, LAPACKE_dgetrf_work, LAPACKE_cgetrf_work, LAPACKE_zgetrf_work, LAPACK_COL_MAJOR, m, n, a,
                       lda, pivots);
}

template <Element T>
Int getrs(Op op, Int n, Int nrhs, T const* a, Int lda, Int const* pivots, T* b, Int ldb) {
  return MYRIAD_LAPACK(T, LAPACKE_sgetrs_work, LAPACKE_dgetrs_work, LAPACKE_cgetrs_work, LAPACKE_zgetrs_work, LAPACK_COL_MAJOR,
                       static_cast<char>(op), n, nrhs, a, lda, pivots, b, ldb);
}

template <Element T>
Int getri(Int n, T* a, Int lda, Int const* pivots, T* work, Int lwork) {
  return MYRIAD_LAPACK(T, LAPACKE_sgetri_work, LAPACKE_dgetri_work, LAPACKE_cgetri_work, LAPACKE_zgetri_work, LAPACK_COL_MAJOR, n, a, lda,
                       pivots, work, lwork);
}

template <Element T>
Int potrf(Uplo uplo, Int n, T* a, Int lda) {
  return MYRIAD_LAPACK(T, LAPACKE_spotrf_work, LAPACKE_dpotrf_work, LAPACKE_cpotrf_work, LAPACKE_zpotrf_work, LAPACK_COL_MAJOR,
                       static_cast<char>(uplo), n, a, lda);
}

template <Element T>
Int potrs(Uplo uplo, Int n, Int nrhs, T const* a, Int lda, T* b, Int ldb) {
  return MYRIAD_LAPACK(T, LAPACKE_spotrs_work, LAPACKE_dpotrs_work, LAPACKE_cpotrs_work, LAPACKE_zpotrs_work, LAPACK_COL_MAJOR,
                       static_cast<char>(uplo), n, nrhs, a, lda, b, ldb);
}

template <Element T>
Int potri(Uplo uplo, Int n, T* a, Int lda) {
  return MYRIAD_LAPACK(T, LAPACKE_spotri_work, LAPACKE_dpotri_work, LAPACKE_cpotri_work, LAPACKE_zpotri_work, LAPACK_COL_MAJOR,
                       static_cast<char>(uplo), n, a, lda);
}

template <Element T>
Int trtri(Uplo uplo, Diag diag, Int n, T* a, Int lda) {
  return MYRIAD_LAPACK(T, LAPACKE_strtri_work, LAPACKE_dtrtri_work, LAPACKE_ctrtri_work, LAPACKE_ztrtri_work, LAPACK_COL_MAJOR,
                       static_cast<char>(uplo), static_cast<char>(diag), n, a, lda);
}

template <Element T>
Int geqrf(Int m, Int n, T* a, Int lda, T* tau, T* work, Int lwork) {
  return MYRIAD_LAPACK(T, LAPACKE_sgeqrf_work, LAPACKE_dgeqrf_work, LAPACKE_cgeqrf_work, LAPACKE_zgeqrf_work, LAPACK_COL_MAJOR, m, n, a,
                       lda, tau, work, lwork);
}

template <Element T>
Int gelqf(Int m, Int n, T* a, Int lda, T* tau, T* work, Int lwork) {
  return MYRIAD_LAPACK(T, LAPACKE_sgelqf_work, LAPACKE_dgelqf_work, LAPACKE_cgelqf_work, LAPACKE_zgelqf_work, LAPACK_COL_MAJOR, m, n, a,
                       lda, tau, work, lwork);
}

/// Elements of workspace for ormqr, ormlq and ormtr to apply reflectors in blocks of 32 to a matrix with `others` rows or columns on the
/// other side. They need another 65 times 64.
inline Int size_to_apply(std::int64_t reflectors, std::int64_t others) {
  constexpr std::int64_t block = 32, beside = 65 * 64;
  std::int64_t const size = std::max<std::int64_t>(others, 1) * std::clamp<std::int64_t>(reflectors, 1, block) + beside;
  return static_cast<Int>(std::min<std::int64_t>(size, std::numeric_limits<Int>::max()));
}

/// ormqr, unmqr. The conjugate transpose of a real Q is its transpose.
template <Element T>
Int ormqr(Side side, Op op, Int m, Int n, Int k, T const* a, Int lda, T const* tau, T* c, Int ldc, T* work, Int lwork) {
  char const trans = op == Op::none ? 'N' : is_complex<T> ? 'C' : 'T';
  return MYRIAD_LAPACK(T, LAPACKE_sormqr_work, LAPACKE_dormqr_work, LAPACKE_cunmqr_work, LAPACKE_zunmqr_work, LAPACK_COL_MAJOR,
                       static_cast<char>(side), trans, m, n, k, a, lda, tau, c, ldc, work, lwork);
}

/// ormlq, unmlq
template <Element T>
Int ormlq(Side side, Op op, Int m, Int n, Int k, T const* a, Int lda, T const* tau, T* c, Int ldc, T* work, Int lwork) {
  char const trans = op == Op::none ? 'N' : is_complex<T> ? 'C' : 'T';
  return MYRIAD_LAPACK(T, LAPACKE_sormlq_work, LAPACKE_dormlq_work, LAPACKE_cunmlq_work, LAPACKE_zunmlq_work, LAPACK_COL_MAJOR,
                       static_cast<char>(side), trans, m, n, k, a, lda, tau, c, ldc, work, lwork);
}

/// orgqr, ungqr
template <Element T>
Int orgqr(Int m, Int n, Int k, T* a, Int lda, T const* tau, T* work, Int lwork) {
  return MYRIAD_LAPACK(T, LAPACKE_sorgqr_work, LAPACKE_dorgqr_work, LAPACKE_cungqr_work, LAPACKE_zungqr_work, LAPACK_COL_MAJOR, m, n, k, a,
                       lda, tau, work, lwork);
}

/// sytrd, hetrd
template <Element T>
Int sytrd(Uplo uplo, Int n, T* a, Int lda, Real<T>* d, Real<T>* e, T* tau, T* work, Int lwork) {
  return MYRIAD_LAPACK(T, LAPACKE_ssytrd_work, LAPACKE_dsytrd_work, LAPACKE_chetrd_work, LAPACKE_zhetrd_work, LAPACK_COL_MAJOR,
                       static_cast<char>(uplo), n, a, lda, d, e, tau, work, lwork);
}

/// Eigenvalues of a tridiagonal matrix to d; e is destroyed. Uses QL and QR with shifts: sterf, which is faster, loses several digits in
/// OpenBLAS 0.3.21 if elements are zero or tiny. Returns info.
template <typename R>
Int steqr(Int n, R* d, R* e) {
  if constexpr (sizeof(R) == 4)
    return MYRIAD_LAPACK_NAME(LAPACKE_ssteqr_work)(LAPACK_COL_MAJOR, 'N', n, d, e, nullptr, 1, nullptr);
  else
    return MYRIAD_LAPACK_NAME(LAPACKE_dsteqr_work)(LAPACK_COL_MAJOR, 'N', n, d, e, nullptr, 1, nullptr);
}

/// orgtr, ungtr
template <Element T>
Int orgtr(Uplo uplo, Int n, T* a, Int lda, T const* tau, T* work, Int lwork) {
  return MYRIAD_LAPACK(T, LAPACKE_sorgtr_work, LAPACKE_dorgtr_work, LAPACKE_cungtr_work, LAPACKE_zungtr_work, LAPACK_COL_MAJOR,
                       static_cast<char>(uplo), n, a, lda, tau, work, lwork);
}

/// ormtr, unmtr. The conjugate transpose of a real Q is its transpose.
template <Element T>
Int ormtr(Side side, Uplo uplo, Op op, Int m, Int n, T const* a, Int lda, T const* tau, T* c, Int ldc, T* work, Int lwork) {
  char const trans = op == Op::none ? 'N' : is_complex<T> ? 'C' : 'T';
  return MYRIAD_LAPACK(T, LAPACKE_sormtr_work, LAPACKE_dormtr_work, LAPACKE_cunmtr_work, LAPACKE_zunmtr_work, LAPACK_COL_MAJOR,
                       static_cast<char>(side), static_cast<char>(uplo), trans, m, n, a, lda, tau, c, ldc, work, lwork);
}

/// syevd, heevd. work: `lwork` elements; real_work: `lrwork` real numbers, for complex types only.
template <Element T>
Int syevd(Job job, Uplo uplo, Int n, T* a, Int lda, Real<T>* w, T* work, Int lwork, Real<T>* real_work, Int lrwork, Int* int_work,
          Int liwork) {
  char const jobz = static_cast<char>(job), letter = static_cast<char>(uplo);
  if constexpr (is_complex<T>)
    return MYRIAD_LAPACK(T, LAPACKE_ssyevd_work, LAPACKE_dsyevd_work, LAPACKE_cheevd_work, LAPACKE_zheevd_work, LAPACK_COL_MAJOR, jobz,
                         letter, n, a, lda, w, work, lwork, real_work, lrwork, int_work, liwork);
  else
    return MYRIAD_LAPACK(T, LAPACKE_ssyevd_work, LAPACKE_dsyevd_work, LAPACKE_cheevd_work, LAPACKE_zheevd_work, LAPACK_COL_MAJOR, jobz,
                         letter, n, a, lda, w, work, lwork, int_work, liwork);
}

/// gebrd
template <Element T>
Int gebrd(Int m, Int n, T* a, Int lda, Real<T>* d, Real<T>* e, T* tauq, T* taup, T* work, Int lwork) {
  return MYRIAD_LAPACK(T, LAPACKE_sgebrd_work, LAPACKE_dgebrd_work, LAPACKE_cgebrd_work, LAPACKE_zgebrd_work, LAPACK_COL_MAJOR, m, n, a,
                       lda, d, e, tauq, taup, work, lwork);
}

/// orgbr, ungbr with vect = Q
template <Element T>
Int orgbr(Int m, Int n, Int k, T* a, Int lda, T const* tau, T* work, Int lwork) {
  return MYRIAD_LAPACK(T, LAPACKE_sorgbr_work, LAPACKE_dorgbr_work, LAPACKE_cungbr_work, LAPACKE_zungbr_work, LAPACK_COL_MAJOR, 'Q', m, n,
                       k, a, lda, tau, work, lwork);
}

/// gesdd. real_work is for complex types only.
template <Element T>
Int gesdd(char job, Int m, Int n, T* a, Int lda, Real<T>* s, T* u, Int ldu, T* vt, Int ldvt, T* work, Int lwork, Real<T>* real_work,
          Int* int_work) {
  if constexpr (is_complex<T>)
    return MYRIAD_LAPACK(T, LAPACKE_sgesdd_work, LAPACKE_dgesdd_work, LAPACKE_cgesdd_work, LAPACKE_zgesdd_work, LAPACK_COL_MAJOR, job, m, n,
                         a, lda, s, u, ldu, vt, ldvt, work, lwork, real_work, int_work);
  else
    return MYRIAD_LAPACK(T, LAPACKE_sgesdd_work, LAPACKE_dgesdd_work, LAPACKE_cgesdd_work, LAPACKE_zgesdd_work, LAPACK_COL_MAJOR, job, m, n,
                         a, lda, s, u, ldu, vt, ldvt, work, lwork, int_work);
}

/// gesvd with one job for U and V. real_work: 5 min(m, n) numbers, for complex types only.
template <Element T>
Int gesvd(char job, Int m, Int n, T* a, Int lda, Real<T>* s, T* u, Int ldu, T* vt, Int ldvt, T* work, Int lwork, Real<T>* real_work) {
  if constexpr (is_complex<T>)
    return MYRIAD_LAPACK(T, LAPACKE_sgesvd_work, LAPACKE_dgesvd_work, LAPACKE_cgesvd_work, LAPACKE_zgesvd_work, LAPACK_COL_MAJOR, job, job,
                         m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, real_work);
  else
    return MYRIAD_LAPACK(T, LAPACKE_sgesvd_work, LAPACKE_dgesvd_work, LAPACKE_cgesvd_work, LAPACKE_zgesvd_work, LAPACK_COL_MAJOR, job, job,
                         m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork);
}

/// Workspace of gejsv, in elements; `reals` is for complex types only.
struct GejsvSizes {
  std::int64_t work, reals, integers;
  GejsvSizes(std::int64_t m, std::int64_t n, bool vectors)  // with blocks of 64 columns
      : work((vectors ? 2 * n * n : 0) + 70 * (m + n) + 7), reals(4 * (m + n) + 7), integers(2 * (m + 3 * n) + 7) {}
};
/// gejsv of an m-by-n matrix with m >= n: 'A' vectors (u: m-by-m), 'S' vectors (u: m-by-n), 'N' none. v: n-by-n, V itself. Relative
/// accuracy for matrices D1 B D2. `factor` scales the values back. jobv is 'J', V from the rotations: 'V' of LAPACK 3.11 gave V that was
/// far from orthonormal for 4 of 1600 matrices of low rank in single precision.
template <Element T>
Int gejsv(char job, Int m, Int n, T* a, Int lda, Real<T>* s, T* u, Int ldu, T* v, Int ldv, T* work, Real<T>* real_work, Int* int_work,
          Real<T>& factor) {
  char const of_u = job == 'A' ? 'F' : job == 'S' ? 'U' : 'N', of_v = job == 'N' ? 'N' : 'J';
  GejsvSizes const sizes(m, n, job != 'N');
  Real<T>* numbers = real_work;
  Int info = 0;
  if constexpr (is_complex<T>) {
    info = MYRIAD_LAPACK(T, LAPACKE_sgejsv_work, LAPACKE_dgejsv_work, LAPACKE_cgejsv_work, LAPACKE_zgejsv_work, LAPACK_COL_MAJOR, 'F', of_u,
                         of_v, 'N', 'N', 'N', m, n, a, lda, s, u, ldu, v, ldv, work, static_cast<Int>(sizes.work), real_work,
                         static_cast<Int>(sizes.reals), int_work);
  } else {
    numbers = work;
    info = MYRIAD_LAPACK(T, LAPACKE_sgejsv_work, LAPACKE_dgejsv_work, LAPACKE_cgejsv_work, LAPACKE_zgejsv_work, LAPACK_COL_MAJOR, 'F', of_u,
                         of_v, 'N', 'N', 'N', m, n, a, lda, s, u, ldu, v, ldv, work, static_cast<Int>(sizes.work), int_work);
  }
  factor = numbers[0] == numbers[1] ? Real<T>(1) : numbers[0] / numbers[1];
  return info;
}

/// One step of the estimate of a matrix's 1-norm by reverse communication: v, x: n elements, signs: n integers (real types only), kase: 0
/// at first and when the estimate is ready; 1: multiply x by the matrix, 2: by its adjoint. state: 3 integers.
template <Element T>
void lacn2(Int n, T* v, T* x, Int* signs, Real<T>& estimate, Int& kase, Int* state) {
  if constexpr (is_complex<T>) {
    if constexpr (sizeof(T) == 8)
      MYRIAD_LAPACK_NAME(LAPACKE_clacn2_work)(n, v, x, &estimate, &kase, state);
    else
      MYRIAD_LAPACK_NAME(LAPACKE_zlacn2_work)(n, v, x, &estimate, &kase, state);
  } else if constexpr (sizeof(T) == 4) {
    MYRIAD_LAPACK_NAME(LAPACKE_slacn2_work)(n, v, x, signs, &estimate, &kase, state);
  } else {
    MYRIAD_LAPACK_NAME(LAPACKE_dlacn2_work)(n, v, x, signs, &estimate, &kase, state);
  }
}

inline CBLAS_TRANSPOSE cblas(Op op) { return op == Op::none ? CblasNoTrans : op == Op::transpose ? CblasTrans : CblasConjTrans; }
inline CBLAS_UPLO cblas(Uplo uplo) { return uplo == Uplo::upper ? CblasUpper : CblasLower; }
inline CBLAS_SIDE cblas(Side side) { return side == Side::left ? CblasLeft : CblasRight; }
inline CBLAS_DIAG cblas(Diag diag) { return diag == Diag::unit ? CblasUnit : CblasNonUnit; }

/// A scalar for CBLAS, which takes complex ones by pointer.
template <Element T>
auto cblas(T const& x) {
  if constexpr (is_complex<T>)
    return &x;
  else
    return x;
}

template <Element T>
void trsm(Side side, Uplo uplo, Op op, Diag diag, Int m, Int n, T alpha, T const* a, Int lda, T* b, Int ldb) {
  MYRIAD_LAPACK(T, cblas_strsm, cblas_dtrsm, cblas_ctrsm, cblas_ztrsm, CblasColMajor, cblas(side), cblas(uplo), cblas(op), cblas(diag), m,
                n, cblas(alpha), a, lda, b, ldb);
}

template <Element T>
void trmm(Side side, Uplo uplo, Op op, Diag diag, Int m, Int n, T alpha, T const* a, Int lda, T* b, Int ldb) {
  MYRIAD_LAPACK(T, cblas_strmm, cblas_dtrmm, cblas_ctrmm, cblas_ztrmm, CblasColMajor, cblas(side), cblas(uplo), cblas(op), cblas(diag), m,
                n, cblas(alpha), a, lda, b, ldb);
}

/// x = op(A) x; x has increment 1.
template <Element T>
void trmv(Uplo uplo, Op op, Diag diag, Int n, T const* a, Int lda, T* x) {
  MYRIAD_LAPACK(T, cblas_strmv, cblas_dtrmv, cblas_ctrmv, cblas_ztrmv, CblasColMajor, cblas(uplo), cblas(op), cblas(diag), n, a, lda, x, 1);
}

template <Element T>
void gemm(Op op_a, Op op_b, Int m, Int n, Int k, T alpha, T const* a, Int lda, T const* b, Int ldb, T beta, T* c, Int ldc) {
  MYRIAD_LAPACK(T, cblas_sgemm, cblas_dgemm, cblas_cgemm, cblas_zgemm, CblasColMajor, cblas(op_a), cblas(op_b), m, n, k, cblas(alpha), a,
                lda, b, ldb, cblas(beta), c, ldc);
}

/// y = alpha A x + beta y, A symmetric; x and y have increment 1.
template <Element T>
void symv(Uplo uplo, Int n, T alpha, T const* a, Int lda, T const* x, T beta, T* y) {
  Int const one = 1;
  char const letter = static_cast<char>(uplo);
  if constexpr (std::is_same_v<T, std::complex<float>>)
    MYRIAD_LAPACK_NAME(csymv_)(&letter, &n, &alpha, a, &lda, x, &one, &beta, y, &one, 1);
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    MYRIAD_LAPACK_NAME(zsymv_)(&letter, &n, &alpha, a, &lda, x, &one, &beta, y, &one, 1);
  else if constexpr (std::is_same_v<T, float>)
    MYRIAD_LAPACK_NAME(cblas_ssymv)(CblasColMajor, cblas(uplo), n, alpha, a, lda, x, 1, beta, y, 1);
  else
    MYRIAD_LAPACK_NAME(cblas_dsymv)(CblasColMajor, cblas(uplo), n, alpha, a, lda, x, 1, beta, y, 1);
}

/// The same with a Hermitian A; symv for real types.
template <Element T>
void hemv(Uplo uplo, Int n, T alpha, T const* a, Int lda, T const* x, T beta, T* y) {
  if constexpr (std::is_same_v<T, std::complex<float>>)
    MYRIAD_LAPACK_NAME(cblas_chemv)(CblasColMajor, cblas(uplo), n, &alpha, a, lda, x, 1, &beta, y, 1);
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    MYRIAD_LAPACK_NAME(cblas_zhemv)(CblasColMajor, cblas(uplo), n, &alpha, a, lda, x, 1, &beta, y, 1);
  else
    symv<T>(uplo, n, alpha, a, lda, x, beta, y);
}

}  // namespace myriad::lapack
