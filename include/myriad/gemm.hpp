#pragma once
/// Products of matrices.

#include <span>

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// C = alpha A B + beta C for every matrix of the batch.
///
/// A is m-by-k, B k-by-n, C m-by-n; op(A) is a view (`transposed`, `conjugated`). A or B with batch_stride 0 is one matrix used by
/// all. beta = 0 never reads C (NaN there is no harm); alpha = 0 or k = 0 never reads A and B. C overlaps neither A nor B.
/// Errors: BadArgument, positions of BLAS gemm (m 3, n 4, k 5, alpha 6, a 7, lda 8, b 9, ldb 10, beta 11, c 12, ldc 13).
/// Cost: 2 m n k flops (complex: 8); reads mk + kn + mn, writes mn elements a matrix. Source: BLAS gemm.
template <Element T>
MYRIAD_API void gemm(Queue& queue, std::type_identity_t<T> alpha, In<T> a, In<T> b, std::type_identity_t<T> beta, Batch<T> c);

/// C = alpha A B + beta C of float matrices with another arithmetic on the tensor cores of a GPU. `tf32` rounds each element of A and B to
/// 11 bits, which an error of 2^-10 abs(A) abs(B) comes from; `tf32x3` takes each as the sum of two such numbers and sums three of their
/// four products, 2^-20 abs(A) abs(B). Sums are of single precision, and may cut off where floats are rounded to nearest. Numbers nearer to
/// the largest float than 2^-11 of it become infinite, and where there is an infinite one NaN may be the result. Factors below 2^-126
/// (tf32x3: 2^-114) have an absolute error of 2^-137 instead. Where no tensor cores serve it (the CPU, GPUs before compute capability 8.0,
/// interleaved batches, matrices whose elements are nowhere side by side) the arithmetic is the standard one, which is more accurate.
/// Errors: as above, and arithmetic 14 unless it is standard or T float.
template <Element T>
MYRIAD_API void gemm(Queue& queue, std::type_identity_t<T> alpha, In<T> a, In<T> b, std::type_identity_t<T> beta, Batch<T> c,
                     Arithmetic arithmetic);

/// C = alpha A B + beta C of matrices of numbers of 16 bits (half, bfloat16, complex_half). Alpha, beta and the sums are of type
/// Compute<T>, float or std::complex<float>; each element of C is rounded once, at the end. On a GPU tensor cores sum, which may cut off
/// where floats are rounded to nearest. Cost: as above, and on the CPU each thread has room for products in single precision, mk + kn + mn
/// elements each, as many as take up 32 KiB or one.
template <HalfElement T>
MYRIAD_API void gemm(Queue& queue, Compute<T> alpha, In<T> a, In<T> b, Compute<T> beta, Batch<T> c);

/// C = alpha A B + beta C of matrices of numbers of 16 bits with a C of type Compute<T>, which is not rounded:
/// `gemm<half>(queue, 1, a, b, 0, c)` with a Batch<float> c.
template <HalfElement T>
MYRIAD_API void gemm(Queue& queue, Compute<T> alpha, In<T> a, In<T> b, Compute<T> beta, Batch<Compute<T>> c);

/// One group of `gemm_grouped`: the arguments of a `gemm`.
template <typename T, typename Output = T>
struct GemmGroup {
  Compute<T> alpha;  ///< factor of A B
  Batch<T const> a;  ///< left factor
  Batch<T const> b;  ///< right factor
  Compute<T> beta;   ///< factor of C as it was
  Batch<Output> c;   ///< result
};

/// Products of several groups of matrices in one call, each group with sizes, strides, views, alpha and beta of its own:
/// `gemm_grouped<double>(queue, groups)` is `gemm(queue, g.alpha, g.a, g.b, g.beta, g.c)` for each of an array of groups, with the same
/// bits. A group is any batch, one matrix or many, strided, behind pointers, or ragged. All groups are checked, and on a GPU all kernels
/// found, before anything is written. On the CPU threads share the work of all groups, but for numbers of 16 bits. On a GPU small groups
/// that have alpha, beta and the direction of lines in common are computed together, for which the queue's pool gives 72 bytes a matrix, at
/// most 151 MB, and others one after the other.
///
/// No matrix of C overlaps a matrix of another group, which is not checked. The array itself may go when the call has returned; the memory
/// that batches name must live until the work has run. Errors: BadArgument as gemm's, with the number of the group, from 0 on, in the text.
template <Element T>
MYRIAD_API void gemm_grouped(Queue& queue, std::span<GemmGroup<T> const> groups);
template <HalfElement T>
MYRIAD_API void gemm_grouped(Queue& queue, std::span<GemmGroup<T> const> groups);  ///< for numbers of 16 bits
template <HalfElement T>
MYRIAD_API void gemm_grouped(Queue& queue, std::span<GemmGroup<T, Compute<T>> const> groups);  ///< 16 bits, C not rounded

}  // namespace myriad
