#pragma once
/// Eigenvalues and eigenvectors of symmetric and Hermitian matrices.

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// The eigenvalues of every symmetric (complex: Hermitian) matrix of the batch and, with Job::vectors, the eigenvectors: A = Q diag(w) Q^H.
///
/// a: n-by-n; only the triangle `uplo` of A, as viewed, is read, and the imaginary parts of its diagonal are taken as zero. With
/// Job::vectors all of A is overwritten by Q; column j is the eigenvector of w(j). With Job::values the content of that triangle is
/// unspecified afterwards, and the other one is not changed. w: n-by-1, real, ascending, in any layout (`vectors(w, n, count)`); it must
/// not overlap A. An eigenvector is unique up to a factor of modulus one. Those of equal or nearly equal eigenvalues are unique up to a
/// rotation.
///
/// Results are those of a matrix A + E with norm(E) of the order of n u norm(A), so small eigenvalues of a graded matrix may have no
/// relative accuracy. Matrices near overflow or underflow are scaled.
///
/// The CPU computes matrices of up to 32 rows (complex types with vectors: 27) side by side in SIMD lanes, larger ones by LAPACK.
/// The small ones are always scaled by a power of two: multiplying A by a power of two multiplies w by it, and keeps the bits of the
/// vectors.
///
/// info: null or one per matrix: 0, or i > 0. If the triangle has NaN or infinity, info = n, and w and, with Job::vectors, all of A are
/// NaN. Otherwise i > 0 means that the iteration did not converge, which has not been observed, and the matrix's results are unspecified.
/// On the CPU i is LAPACK's; on a GPU it is the number of off-diagonal elements that did not become zero.
///
/// On a GPU one block computes a matrix that fits into its shared memory: up to 237, 167, 167 and 117 rows in s, d, c and z with 227 KB
/// (compute capability 9.0 and 10.0). Larger matrices take many blocks each (see sytrd). As many of these run at a time as a gigabyte of
/// workspace holds, but at least one: with vectors each needs a little more than 3 n^2 real elements, beside the workspace of sytrd and
/// ormtr. With Job::values their eigenvalues are found by bisection, each with an error of the order of u norm(A) beside that of the
/// reduction.
/// Errors: BadArgument, positions of LAPACK syevd (jobz 1, uplo 2, n 3, a 4, lda 5, w 6).
/// Cost: 4/3 n^3 flops for values, about 9 n^3 with vectors (complex: four times that); reads n(n + 1)/2 elements (GPU: all elements of
/// small matrices), writes n, with vectors n^2 + n. Source: LAPACK syevd, heevd; on a GPU, and for small matrices on the CPU, Householder
/// reduction and implicit QL (Wilkinson and Reinsch, Handbook for Automatic Computation II, 1971; Golub and Van Loan, Matrix Computations,
/// 8.3), on a GPU from 33 rows on divide and conquer (Cuppen 1981, Gu and Eisenstat 1995).
template <Element T>
MYRIAD_API void syevd(Queue& queue, Job job, Uplo uplo, Batch<T> a, Batch<Real<T>> w, int* info);

/// The complex name of syevd.
template <Element T>
void heevd(Queue& queue, Job job, Uplo uplo, Batch<T> a, Batch<Real<T>> w, int* info) {
  syevd<T>(queue, job, uplo, a, w, info);
}

/// The reduction of every symmetric (complex: Hermitian) matrix to a real tridiagonal one: A = Q T Q^H.
///
/// a: n-by-n; only the triangle `uplo` of A, as viewed, is read and written, and the imaginary parts of its diagonal are taken as zero. d:
/// n-by-1, the diagonal of T; e: (n - 1)-by-1, its off-diagonal; tau: (n - 1)-by-1. The reflectors are LAPACK's: with Uplo::lower Q = H(1)
/// ... H(n - 1), H(i) = I - tau(i) v v^H with zeros up to v(i), v(i + 1) = 1 and the rest of v below the subdiagonal of column i; with
/// Uplo::upper Q = H(n - 1) ... H(1), v(i) = 1, zeros beyond, and the rest of v above the superdiagonal of column i + 1. The diagonal of A
/// and the adjacent off-diagonal hold T.
///
/// On a GPU one block reduces a matrix of up to 240, 176, 176 and 128 rows in s, d, c and z in its registers. Larger ones, up to 2521,
/// 1716, 1716 and 1188 rows in s, d, c and z on an H200, are kept in the shared memory of several blocks, as many matrices at a time as the
/// multiprocessors have room for. Each needs n^2 + 8 n elements of workspace, and waiting matrices up to a gigabyte. Matrices larger than
/// that are reduced one after the other by the whole GPU, with n^2 + 64 n elements of workspace and that of the product with A. If a matrix
/// has NaN or infinity, all of its results are NaN.
/// Errors: BadArgument (uplo 1, n 2, a 3, lda 4, d 5, e 6, tau 7).
/// Cost: 4/3 n^3 flops (complex: 16/3); reads n(n + 1)/2, writes n(n + 1)/2 + 3n elements per matrix. Source: LAPACK sytrd, hetrd, latrd;
/// the product with A: Nath, Tomov, Dong, Dongarra 2011.
template <Element T>
MYRIAD_API void sytrd(Queue& queue, Uplo uplo, Batch<T> a, Batch<Real<T>> d, Batch<Real<T>> e, Batch<T> tau);

/// The complex name of sytrd.
template <Element T>
void hetrd(Queue& queue, Uplo uplo, Batch<T> a, Batch<Real<T>> d, Batch<Real<T>> e, Batch<T> tau) {
  sytrd<T>(queue, uplo, a, d, e, tau);
}

/// Q of sytrd, in place: a is n-by-n and holds the reflectors in its triangle `uplo`. The rest is not read; all of a is overwritten.
///
/// On a GPU reflectors are applied two at a time up to 65 rows, and in blocks of 128 (complex: 64) beyond. A block needs 256 n + 16384
/// elements of workspace, and 128 more per column of Q or C (complex: 128 n + 4096, and 64). As many blocks and matrices are in progress as
/// half a gigabyte holds, but at least one.
/// Errors: BadArgument (uplo 1, n 2, a 3, lda 4, tau 5).
/// Cost: 4/3 n^3 flops (complex: 16/3); reads n(n + 1)/2, writes n^2 elements per matrix. Source: LAPACK orgtr, ungtr.
template <Element T>
MYRIAD_API void orgtr(Queue& queue, Uplo uplo, Batch<T> a, In<T> tau);

/// The complex name of orgtr.
template <Element T>
void ungtr(Queue& queue, Uplo uplo, Batch<T> a, In<T> tau) {
  orgtr<T>(queue, uplo, a, tau);
}

/// C = op(Q) C (left) or C op(Q) (right) with the Q of sytrd.
///
/// C is m-by-n; a is m-by-m (left) or n-by-n (right); only its reflectors are read. Op::transpose is for real types,
/// Op::conjugate_transpose for all. On a GPU as orgtr.
/// Errors: BadArgument (side 1, uplo 2, trans 3, m 4, n 5, a 6, lda 7, tau 8, c 9, ldc 10).
/// Cost: 2 m^2 n flops (left; complex: four times that). Source: LAPACK ormtr, unmtr; blocks of reflectors: Schreiber, Van Loan 1989.
template <Element T>
MYRIAD_API void ormtr(Queue& queue, Side side, Uplo uplo, Op op, In<T> a, In<T> tau, Batch<T> c);

/// The complex name of ormtr.
template <Element T>
void unmtr(Queue& queue, Side side, Uplo uplo, Op op, In<T> a, In<T> tau, Batch<T> c) {
  ormtr<T>(queue, side, uplo, op, a, tau, c);
}

}  // namespace myriad
