#pragma once
/// LAPACKE's geqp3 and gelsy overloaded on the element type: see core/lapack.hpp.

#include "core/lapack.hpp"

namespace myriad::lapack {

/// real_work: 2 n numbers, for complex types only.
template <Element T>
Int geqp3(Int m, Int n, T* a, Int lda, Int* jpvt, T* tau, T* work, Int lwork, Real<T>* real_work) {
  if constexpr (is_complex<T>)
    return MYRIAD_LAPACK(T, LAPACKE_sgeqp3_work, LAPACKE_dgeqp3_work, LAPACKE_cgeqp3_work, LAPACKE_zgeqp3_work, LAPACK_COL_MAJOR, m, n, a,
                         lda, jpvt, tau, work, lwork, real_work);
  else
    return MYRIAD_LAPACK(T, LAPACKE_sgeqp3_work, LAPACKE_dgeqp3_work, LAPACKE_cgeqp3_work, LAPACKE_zgeqp3_work, LAPACK_COL_MAJOR, m, n, a,
                         lda, jpvt, tau, work, lwork);
}

/// real_work: 2 n numbers, for complex types only.
template <Element T>
Int gelsy(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Int* jpvt, Real<T> rcond, Int* rank, T* work, Int lwork,
          Real<T>* real_work) {
  if constexpr (is_complex<T>)
    return MYRIAD_LAPACK(T, LAPACKE_sgelsy_work, LAPACKE_dgelsy_work, LAPACKE_cgelsy_work, LAPACKE_zgelsy_work, LAPACK_COL_MAJOR, m, n,
                         nrhs, a, lda, b, ldb, jpvt, rcond, rank, work, lwork, real_work);
  else
    return MYRIAD_LAPACK(T, LAPACKE_sgelsy_work, LAPACKE_dgelsy_work, LAPACKE_cgelsy_work, LAPACKE_zgelsy_work, LAPACK_COL_MAJOR, m, n,
                         nrhs, a, lda, b, ldb, jpvt, rcond, rank, work, lwork);
}

}  // namespace myriad::lapack
