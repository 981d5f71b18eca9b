#pragma once
/// The singular value decomposition, what is computed with it (pseudoinverse, least squares of any rank, rank, condition number, norm), and
/// reduction to bidiagonal form.

#include <algorithm>
#include <cstdint>

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// Results of gesvd beside the singular values, with k = min(m, n).
enum class SvdJob : char {
  values = 'N',  ///< singular values only
  thin = 'S',    ///< the first k columns of U and rows of V^H
  full = 'A',    ///< all m columns of U and n rows of V^H
  left = 'U',    ///< the first k columns of U only
  right = 'V',   ///< the first k rows of V^H only
};

/// A factor of gebrd: Q from the left (A = Q B P^H) or P from the right.
enum class Vect : char { q = 'Q', p = 'P' };

/// A size that is the same for all matrices or, in ragged batches, differs from matrix to matrix.
struct RaggedSize {
  std::int64_t bound = 0;               ///< the size of every matrix; ragged: an upper bound
  std::int64_t const* sizes = nullptr;  ///< ragged: the size of each matrix, or null

  RaggedSize() = default;
  RaggedSize(std::int64_t size, std::int64_t const* each = nullptr) : bound(size), sizes(each) {}
  /// The size of matrix b.
  [[nodiscard]] std::int64_t of(std::int64_t b) const noexcept { return sizes ? std::clamp<std::int64_t>(sizes[b], 0, bound) : bound; }
};

/// The singular value decomposition of every matrix of the batch: A = U diag(s) V^H.
///
/// a: m-by-n; its content is unspecified afterwards. s: k-by-1 with k = min(m, n), real, descending, not negative (zeros are +0), in any
/// layout. u: m-by-k (thin, left) or m-by-m (full); vt = V^H: k-by-n (thin, right) or n-by-n (full); one that `job` does not ask for is not
/// used and may be `{}`. Outputs must not overlap A or each other. Columns of U and rows of V^H are orthonormal whatever the rank. A pair
/// of singular vectors is unique up to a common factor of modulus one; those of equal or nearly equal values are unique up to a rotation.
///
/// Results are those of a matrix A + E with norm(E) of the order of max(m, n) u norm(A), so small singular values of a graded matrix may
/// have no relative accuracy; those of small matrices have (docs/accuracy.md). Matrices are scaled by a power of two, so that
/// neither overflow nor underflow matters.
///
/// info: null or one per matrix: 0, or i > 0. If A has NaN or infinity, info = k, and s, u and vt are NaN. Otherwise i > 0 means that the
/// iteration did not converge, which has not been observed, and the matrix's results are unspecified.
/// One launch on a GPU decomposes matrices of up to 32 rows and columns. Tall ones with up to 32 columns (double complex: 16), and wide
/// ones with as few rows, are factored in place by QR of parts where all have one size and strides and no full U or V is asked for; their
/// workspace holds R and U of the parts. Other ones are copied to the workspace, as many at a time as a gigabyte holds, but at least one,
/// and reduced by gebrd; much taller or wider ones by QR first. Each step takes up to half a gigabyte more, or what one matrix needs.
/// Errors: BadArgument, positions of LAPACK gesdd (jobz 1, m 2, n 3, a 4, lda 5, s 6, u 7, ldu 8, vt 9, ldvt 10).
/// Cost for m >= n: 4 n^2 (m - n / 3) flops for values, about 4 m n^2 + 8 n^3 more with thin vectors (complex: four times that). Source:
/// LAPACK gesdd; small matrices one-sided Jacobi with column pivoting (Demmel and Veselic 1992, Drmac and Veselic 2008); on a GPU divide
/// and conquer for bidiagonal matrices (Gu and Eisenstat 1995), values alone by counts and Newton's method (Aberth 1973).
template <Element T>
MYRIAD_API void gesvd(Queue& queue, SvdJob job, Batch<T> a, Batch<Real<T>> s, Batch<T> u, Batch<T> vt, int* info);

/// gesvd with high relative accuracy: where A = B D (m >= n) or A = D B (m <= n) with any diagonal D, every singular value has a relative
/// error of the order of max(m, n) u cond(B), down to 1e-150 (single: 1e-18) of the largest. gesvd has it for small matrices alone
/// (docs/accuracy.md).
///
/// Arguments, results, info and errors: those of gesvd. Larger matrices have their rows sorted by size and are reduced by QR with column
/// pivoting; one-sided Jacobi rotates the columns of R^H, on a GPU by a block each. Workspace on a GPU: for values alone up to three times
/// that of gesvd, with vectors less than gesvd's. LAPACK's iteration may end with info > 0, which has not been observed.
/// Cost: on a CPU 1.2 to 1.5 times that of gesvd; on a GPU that of QR with column pivoting, and of about ten sweeps, each 3 k^3
/// multiplications and additions, or 6 k^3 with the vectors of the longer side, k = min(m, n). Source: LAPACK gejsv (Drmac and Veselic
/// 2008), with gesvd's arguments.
template <Element T>
MYRIAD_API void gejsv(Queue& queue, SvdJob job, Batch<T> a, Batch<Real<T>> s, Batch<T> u, Batch<T> vt, int* info);

/// The pseudoinverse (Moore-Penrose) of every matrix: X = V diag(1 / s(i) where s(i) > rcond s(1), else 0) U^H with the singular value
/// decomposition A = U diag(s) V^H.
///
/// a: m-by-n, only read; x: n-by-m, in any layout. rcond < 0 stands for max(m, n) eps, with eps twice the unit roundoff. rank: null or one
/// per matrix, the number of singular values above rcond s(1). info: null or one per matrix: that of gesvd. If A has NaN or infinity, X is
/// NaN and the rank 0. Matrices are scaled by a power of two, so overflow and underflow matter for X alone.
///
/// Workspace: some matrices at a time with their factors, as many as 32 MiB hold on the CPU and a gigabyte on a GPU, but at least one; on a
/// GPU also that of gesvd. The same holds for gelsd.
/// Errors: BadArgument (m 1, n 2, a 3, lda 4, rcond 5, x 6, ldx 7, rank 8).
/// Cost: that of gesvd with thin vectors, and 2 m n min(m, n) flops. Source: Golub and Van Loan, Matrix Computations, 5.5.2; as
/// numpy.linalg.pinv and torch.linalg.pinv, with torch's default of rcond.
template <Element T>
MYRIAD_API void pinv(Queue& queue, In<T> a, Real<T> rcond, Batch<T> x, int* rank, int* info);

/// Least squares for A of any rank: X of the smallest norm among those that minimize |B - A X|, by the singular value decomposition.
/// Singular values s(i) <= rcond s(1) count as zero.
///
/// a: m-by-n; its content is unspecified afterwards. b: max(m, n)-by-nrhs, as for gels: the first m rows hold B. On return the first n rows
/// hold X, and for m > n > 0 the sum of squares of rows n to m - 1 of a column is its squared residual norm, whatever the rank. s: the
/// singular values, min(m, n)-by-1, real, descending, in any layout, or `{}`. rank: null or one per matrix, the number of singular values
/// above rcond s(1). info: null or one per matrix: that of gesvd.
///
/// rcond < 0 stands for the unit roundoff, LAPACK's machine epsilon. Then singular values may count that are rounding errors: NumPy's
/// default is max(m, n) eps, as for pinv, but with the eps of double for every type. rcond = 0 lets all count but exact zeros. With
/// rcond >= 1 none counts: rank and X are zero, where LAPACK takes the unit roundoff instead.
///
/// If A has NaN or infinity, X and s are NaN and the rank is 0. For m = 0 X is zero, for n = 0 B keeps its content. A and every column of
/// B are scaled by powers of two, so overflow and underflow matter for X, residual norms and s alone, and a column of B with NaN or
/// infinity matters for its own X alone.
///
/// Errors: BadArgument (m 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, s 8, rcond 9, rank 10). Cost: that of gesvd with thin vectors, and
/// 2 (m + n) min(m, n) nrhs flops, for m > n 2 m n nrhs more. Source: LAPACK gelsd.
template <Element T>
MYRIAD_API void gelsd(Queue& queue, Batch<T> a, Batch<T> b, Batch<Real<T>> s, Real<T> rcond, int* rank, int* info);

/// The rank of every matrix: the number of singular values above both atol and rtol s(1).
///
/// a: m-by-n, only read. rtol < 0 stands for max(m, n) eps, with eps twice the unit roundoff, or for 0 if atol > 0. rank: one per matrix; 0
/// if A has NaN or infinity. info: null or one per matrix: that of gesvd.
///
/// Workspace: copies of some matrices, as for pinv. The same holds for cond and norm2.
/// Errors: BadArgument (m 1, n 2, a 3, lda 4, atol 5, rtol 6, rank 7). Cost: that of gesvd with values. Source: as
/// numpy.linalg.matrix_rank and torch.linalg.matrix_rank.
template <Element T>
MYRIAD_API void matrix_rank(Queue& queue, In<T> a, Real<T> atol, Real<T> rtol, int* rank, int* info);

/// The condition number of every matrix in the 2-norm: s(1) / s(k) with k = min(m, n); infinity if s(k) is zero.
///
/// a: m-by-n, only read. condition: one per matrix; NaN if A has NaN or infinity, 0 if A has no elements. info: null or one per matrix:
/// that of gesvd. A condition number above about 1 / (max(m, n) eps) is that of a matrix nearby: see gesvd.
///
/// Errors: BadArgument (m 1, n 2, a 3, lda 4, cond 5). Cost: that of gesvd with values. Source: as numpy.linalg.cond.
template <Element T>
MYRIAD_API void cond(Queue& queue, In<T> a, Real<T>* condition, int* info);

/// The 2-norm of every matrix: its largest singular value.
///
/// a: m-by-n, only read. norm: one per matrix; NaN if A has NaN or infinity, 0 if A has no elements. info: null or one per matrix: that of
/// gesvd.
///
/// Errors: BadArgument (m 1, n 2, a 3, lda 4, norm 5). Cost: that of gesvd with values. Source: as numpy.linalg.norm(A, 2).
template <Element T>
MYRIAD_API void norm2(Queue& queue, In<T> a, Real<T>* norm, int* info);

/// The reduction of every matrix to a real bidiagonal one: A = Q B P^H, B upper bidiagonal for m >= n and lower for m < n.
///
/// a: m-by-n, overwritten by B and the reflectors; d: k-by-1, the diagonal of B, k = min(m, n); e: (k - 1)-by-1, its off-diagonal; tauq,
/// taup: k-by-1. The reflectors are LAPACK's: Q = H(1) H(2) ... with H(i) = I - tauq(i) v v^H and P = G(1) G(2) ... with G(i) = I - taup(i)
/// w w^H. For m >= n v(i) = 1 and the rest of v is below the diagonal of column i; w(i + 1) = 1 and the rest of w, for complex types its
/// conjugate, is in row i beyond the superdiagonal; taup(n) = 0. For m < n v(i + 1) = 1 and the rest of v is below the subdiagonal of
/// column i; w(i) = 1 and the rest of w, or its conjugate, is in row i beyond the diagonal; tauq(m) = 0. If a matrix has NaN or infinity,
/// its results hold at least one NaN or infinity.
///
/// On a GPU a block reduces a matrix of up to 240, 160, 160 and 112 rows and columns in s, d, c and z. Larger matrices are reduced by
/// panels in the workspace, which a block finishes. All results of a matrix with NaN or infinity are NaN there. Errors: BadArgument (m 1, n
/// 2, a 3, lda 4, d 5, e 6, tauq 7, taup 8). Cost for m >= n: 4 n^2 (m - n / 3) flops (complex: four times that); reads m n, writes m n + 4
/// k elements per matrix. Source: LAPACK gebrd; Dongarra, Sorensen, Hammarling 1989.
template <Element T>
MYRIAD_API void gebrd(Queue& queue, Batch<T> a, Batch<Real<T>> d, Batch<Real<T>> e, Batch<T> tauq, Batch<T> taup);

/// Q or P^H of gebrd, in place.
///
/// k: the number of columns (Vect::q) or rows (Vect::p) of the matrix that gebrd reduced; in ragged batches of each, `{bound, sizes}`.
/// With Vect::q a is m-by-n with min(m, k) <= n <= m and receives the first n columns of Q, an m-by-m matrix; with Vect::p a is m-by-n with
/// min(n, k) <= m <= n and receives the first m rows of P^H, an n-by-n matrix. a holds the reflectors as gebrd left them; the rest is not
/// read. tau: min(m, k) (q) or min(n, k) (p) by 1, tauq or taup.
/// Errors: BadArgument (vect 1, m 2, n 3, k 4, a 5, lda 6, tau 7).
/// Cost: that of orgqr. Source: LAPACK orgbr, ungbr.
template <Element T>
MYRIAD_API void orgbr(Queue& queue, Vect vect, RaggedSize k, Batch<T> a, In<T> tau);

/// The complex name of orgbr.
template <Element T>
void ungbr(Queue& queue, Vect vect, RaggedSize k, Batch<T> a, In<T> tau) {
  orgbr<T>(queue, vect, k, a, tau);
}

/// C = op(Q) C or op(P) C (left), C op(Q) or C op(P) (right) with the Q or P of gebrd.
///
/// C is m-by-n, and r = m (left) or n (right) the order of Q or P. k: the number of columns (Vect::q) or rows (Vect::p) of the matrix that
/// gebrd reduced; in ragged batches of each, `{bound, sizes}`. a: r-by-min(r, k) (q) or min(r, k)-by-r (p); only its reflectors are read.
/// tau: min(r, k)-by-1. Op::transpose is for real types, Op::conjugate_transpose for all.
/// Errors: BadArgument (vect 1, side 2, trans 3, m 4, n 5, k 6, a 7, lda 8, tau 9, c 10, ldc 11).
/// Cost: that of ormqr. Source: LAPACK ormbr, unmbr.
template <Element T>
MYRIAD_API void ormbr(Queue& queue, Vect vect, Side side, Op op, RaggedSize k, In<T> a, In<T> tau, Batch<T> c);

/// The complex name of ormbr.
template <Element T>
void unmbr(Queue& queue, Vect vect, Side side, Op op, RaggedSize k, In<T> a, In<T> tau, Batch<T> c) {
  ormbr<T>(queue, vect, side, op, k, a, tau, c);
}

}  // namespace myriad
