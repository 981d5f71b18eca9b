#pragma once
/// Eigenvalues and eigenvectors of symmetric and Hermitian matrices.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// The eigenvalues of every symmetric (complex: Hermitian) matrix of the batch and, with Job::vectors, the eigenvectors: A = Q diag(w) Q^H.
///
/// a: n-by-n; only the triangle `uplo` of A, as it is viewed, is read, and the imaginary parts of its diagonal are taken as zero. With
/// Job::vectors all of A is overwritten by Q, column j of which belongs to w(j); with Job::values the content of that triangle is
/// unspecified afterwards, and the other one is kept. w: n-by-1, real, ascending; it may lie in any way (`vectors(w, n, count)`), but not
/// in A. A vector is determined up to a factor of modulus one, and where eigenvalues are equal (nearly equal) up to a rotation among
/// theirs.
///
/// Every result is that of a matrix A + E with norm(E) of the order of n u norm(A): small eigenvalues of a graded matrix are as accurate as
/// that. Matrices near overflow or underflow are scaled.
///
/// info: null or per matrix 0, or i > 0. A matrix whose triangle has NaN or infinity has info = n, and its w and, with Job::vectors, all of
/// A are NaN. Else i > 0 means that the iteration did not converge, which has not been seen: on the CPU i is LAPACK's, on a GPU the number
/// of off-diagonal elements that did not become zero; the matrix's results are then unspecified.
///
/// On a GPU a matrix has to fit into the shared memory of a block: up to 237, 167, 167 and 117 rows in s, d, c and z where that has 227 KB
/// (compute capability 9.0 and 10.0); larger ones throw Unavailable. Errors: BadArgument, positions of LAPACK syevd (jobz 1, uplo 2, n
/// 3, a 4, lda 5, w 6). Cost: 4/3 n^3 flops for values, about 9 n^3 with vectors (complex: four times that); reads n(n + 1)/2
/// elements (a GPU: all), writes n, with vectors n^2 + n. Source: LAPACK syevd, heevd; on a GPU Householder's reduction and implicit QL
/// (Wilkinson and Reinsch, Handbook for Automatic Computation II, 1971; Golub and Van Loan, Matrix Computations, 8.3).
template <Element T>
MYRIAD_API void syevd(Queue& queue, Job job, Uplo uplo, Batch<T> a, Batch<Real<T>> w, int* info);

/// The complex name of syevd.
template <Element T>
void heevd(Queue& queue, Job job, Uplo uplo, Batch<T> a, Batch<Real<T>> w, int* info) {
  syevd<T>(queue, job, uplo, a, w, info);
}

}  // namespace myriad
