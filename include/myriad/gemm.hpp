#pragma once
/// Matrix products: gemm, with other arithmetics, 16-bit types, and groups of batches.

#include <span>

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"
#include "myriad/scalar.hpp"

namespace myriad {

/// C = alpha A B + beta C for every matrix of the batch.
///
/// A is m-by-k, B k-by-n, C m-by-n; op(A) is a view (`transposed`, `conjugated`). batch_stride 0 of A or B shares one matrix for the whole
/// batch. beta = 0 never reads C (NaN in it is ignored); the number alpha = 0 or k = 0 never reads A and B. C must overlap
/// neither A nor B.
/// Errors: BadArgument, positions of BLAS gemm (m 3, n 4, k 5, alpha 6, a 7, lda 8, b 9, ldb 10, beta 11, c 12, ldc 13).
/// Cost: 2 m n k flops (complex: 8); reads mk + kn + mn, writes mn elements per matrix. Source: BLAS gemm.
template <Element T>
MYRIAD_API void gemm(Queue& queue, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c);

/// C = alpha A B + beta C of float matrices on the tensor cores of a GPU. `tf32` rounds each element of A and B to 11 bits, with an error
/// of 2^-10 abs(A) abs(B). `tf32x3` splits each element into the sum of two such numbers and sums three of their four products, with an
/// error of 2^-20 abs(A) abs(B). Sums are in single precision and may be truncated rather than rounded. Elements within 2^-11 (relative) of
/// the largest float become infinite, and infinite elements may give NaN. Elements below 2^-126 (tf32x3: 2^-114) have an absolute error of
/// 2^-137 instead. Without suitable tensor cores (on the CPU, GPUs before compute capability 8.0, interleaved batches, matrices without a
/// unit stride) the arithmetic is the standard one, which is more accurate.
/// Errors: as above, and arithmetic 14 unless it is standard or T is float.
template <Element T>
MYRIAD_API void gemm(Queue& queue, Scalar<T> alpha, In<T> a, In<T> b, Scalar<T> beta, Batch<T> c, Arithmetic arithmetic);

/// C = alpha A B + beta C of matrices of 16-bit types (half, bfloat16, complex_half). alpha, beta and the sums are of type Compute<T>,
/// float or std::complex<float>; each element of C is rounded once, at the end. On a GPU tensor cores sum, and may truncate rather than
/// round.
/// Cost: as above. On the CPU each thread also has a buffer of mk + kn + mn elements in single precision per product, for as many products
/// as fit in 32 KiB and at least one.
template <HalfElement T>
MYRIAD_API void gemm(Queue& queue, Scalar<Compute<T>> alpha, In<T> a, In<T> b, Scalar<Compute<T>> beta, Batch<T> c);

/// C = alpha A B + beta C of matrices of 16-bit types with a C of type Compute<T>, which is not rounded: `gemm<half>(queue, 1, a, b, 0, c)`
/// with a Batch<float> c.
template <HalfElement T>
MYRIAD_API void gemm(Queue& queue, Scalar<Compute<T>> alpha, In<T> a, In<T> b, Scalar<Compute<T>> beta, Batch<Compute<T>> c);

/// One group of `gemm_grouped`: the arguments of a `gemm`.
template <typename T, typename Output = T>
struct GemmGroup {
  Scalar<Compute<T>> alpha;  ///< factor of A B
  Batch<T const> a;          ///< left factor
  Batch<T const> b;          ///< right factor
  Scalar<Compute<T>> beta;   ///< factor of the input C
  Batch<Output> c;           ///< result
};

/// Products of several groups of matrices in one call. Each group has its own sizes, strides, views, alpha and beta:
/// `gemm_grouped<double>(queue, groups)` is `gemm(queue, g.alpha, g.a, g.b, g.beta, g.c)` for each g of `groups`, with the same bits. A
/// group is any batch: one matrix or many, strided, an array of pointers, or ragged. All groups are checked, and on a GPU all kernels
/// loaded, before anything is written. On the CPU threads share the work of all groups, except for 16-bit types. On a GPU small groups with
/// equal alpha, beta and storage order are computed together, with workspace of 72 bytes per matrix (at most 151 MB) from the queue's pool.
/// Other groups run one after the other, those with alpha or beta in memory last.
///
/// No matrix of C may overlap a matrix of another group; this is not checked. The array of groups may be freed when the call returns; the
/// memory of the batches must stay valid until the work has run.
/// Errors: BadArgument as for gemm, with the number of the group, from 0, in the text.
template <Element T>
MYRIAD_API void gemm_grouped(Queue& queue, std::span<GemmGroup<T> const> groups);
template <HalfElement T>
MYRIAD_API void gemm_grouped(Queue& queue, std::span<GemmGroup<T> const> groups);  ///< for 16-bit types
template <HalfElement T>
MYRIAD_API void gemm_grouped(Queue& queue, std::span<GemmGroup<T, Compute<T>> const> groups);  ///< 16 bits, C not rounded

}  // namespace myriad
