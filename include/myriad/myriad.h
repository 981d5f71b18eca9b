#ifndef MYRIAD_MYRIAD_H
#define MYRIAD_MYRIAD_H
/// Myriad: dense linear algebra for a myriad of small matrices. The C interface; C99, and C++.
///
///     myriad_queue* queue;
///     if (myriad_queue_create(&queue, MYRIAD_CPU, 0) != MYRIAD_OK) { fputs(myriad_last_error(NULL), stderr); exit(1); }
///     myriad_batch a = myriad_strided(MYRIAD_F64, n, n, a_data, n, n * n, count);
///     myriad_batch b = myriad_strided(MYRIAD_F64, n, nrhs, b_data, n, n * nrhs, count);
///     if (myriad_gesv(queue, &a, NULL, &b, info) != MYRIAD_OK) fputs(myriad_last_error(queue), stderr);
///     myriad_queue_destroy(queue);
///
/// Routines have the names of BLAS and LAPACK without the type letter, and the arguments of the C++ interface in the same order. The
/// element type is part of the batch; all operands of a call have the same one, unless its description says otherwise.
///
/// A routine returns MYRIAD_OK, or a status and leaves a text with the cause in myriad_last_error(queue); nothing has been written then.
/// What happened to a single matrix (singular, not positive definite) is no error: it is in `info`, an array of one int per matrix, or
/// NULL.
///
/// `position`s are those of LAPACK's argument list, without its type letter, counted from one.

#include <stdint.h>

#include "myriad/export.h"
#include "myriad/version.hpp"

#ifdef __cplusplus
extern "C" {
// With a fixed type an enumeration may hold any value of it, so that a wrong one can be looked at and refused.
#define MYRIAD_ENUM_TYPE : int
#else
#define MYRIAD_ENUM_TYPE
#endif

// ---- Statuses and errors
// -------------------------------------------------------------------------------------------------------------------

/// The status of a call.
typedef enum myriad_status MYRIAD_ENUM_TYPE {
  MYRIAD_OK = 0,
  MYRIAD_BAD_ARGUMENT = 1,   ///< myriad_last_error names it, myriad_last_error_position has its place
  MYRIAD_UNAVAILABLE = 2,    ///< not in this build or on this machine: a GPU queue without a GPU, say
  MYRIAD_OUT_OF_MEMORY = 3,  ///< the queue stays usable
  MYRIAD_FAILED = 4          ///< anything else; the text says what
} myriad_status;

/// Where work runs; see myriad_queue_create. Opaque.
typedef struct myriad_queue myriad_queue;

/// The text of the last call that failed on this queue, or "" if none did. With NULL: in the last call of this thread that failed
/// without a queue (myriad_queue_create, a NULL queue). The text lives until the next failing call.
MYRIAD_API char const* myriad_last_error(myriad_queue const* queue);

/// Position of the argument that the last MYRIAD_BAD_ARGUMENT was about, 0 if the last failure was of another kind.
MYRIAD_API int myriad_last_error_position(myriad_queue const* queue);

/// MYRIAD_VERSION of the library that runs, which may be newer than the header.
MYRIAD_API char const* myriad_version(void);

// ---- Small enumerations, with the letters of LAPACK
// ----------------------------------------------------------------------------------------

/// Element types: float, double, float _Complex, double _Complex (or std::complex), and int for pivots. Of 16 bits, for myriad_gemm: IEEE
/// 754 binary16 (_Float16), the upper half of a float (bfloat16), and two binary16 that are a complex number.
typedef enum myriad_dtype MYRIAD_ENUM_TYPE {
  MYRIAD_F32 = 0,
  MYRIAD_F64 = 1,
  MYRIAD_C32 = 2,
  MYRIAD_C64 = 3,
  MYRIAD_INT = 4,
  MYRIAD_F16 = 5,
  MYRIAD_BF16 = 6,
  MYRIAD_C16 = 7
} myriad_dtype;
/// The triangle of the (viewed) matrix that is used.
typedef enum myriad_uplo MYRIAD_ENUM_TYPE { MYRIAD_UPPER = 'U', MYRIAD_LOWER = 'L' } myriad_uplo;
/// On which side of B the matrix A stands.
typedef enum myriad_side MYRIAD_ENUM_TYPE { MYRIAD_LEFT = 'L', MYRIAD_RIGHT = 'R' } myriad_side;
/// Whether the diagonal of a triangular matrix is taken as one and not read.
typedef enum myriad_diag MYRIAD_ENUM_TYPE { MYRIAD_NON_UNIT = 'N', MYRIAD_UNIT = 'U' } myriad_diag;
/// Results of an eigenproblem: the values alone, or values and vectors.
typedef enum myriad_job MYRIAD_ENUM_TYPE { MYRIAD_VALUES = 'N', MYRIAD_VECTORS = 'V' } myriad_job;
/// The operation on a factored matrix. Plain matrices are transposed by a view instead.
typedef enum myriad_op MYRIAD_ENUM_TYPE { MYRIAD_NONE = 'N', MYRIAD_TRANSPOSE = 'T', MYRIAD_CONJUGATE_TRANSPOSE = 'C' } myriad_op;
/// Arithmetic of products of single numbers (myriad_gemm_by).
typedef enum myriad_arithmetic MYRIAD_ENUM_TYPE { MYRIAD_STANDARD = 0, MYRIAD_TF32 = 1, MYRIAD_TF32X3 = 2 } myriad_arithmetic;
/// Kinds of processors that a queue may run on.
typedef enum myriad_backend MYRIAD_ENUM_TYPE { MYRIAD_AUTOMATIC = 0, MYRIAD_CPU = 1, MYRIAD_GPU = 2 } myriad_backend;

// ---- Queues
// --------------------------------------------------------------------------------------------------------------------------------

/// Makes a queue on the CPU (MYRIAD_CPU), on the first GPU (MYRIAD_GPU), or on the first GPU where it can be used and else on the CPU
/// (MYRIAD_AUTOMATIC; myriad_queue_gpu_problem says why not). On a GPU batches are in memory that it reaches: myriad_allocate,
/// myriad_copy. `threads`: CPU threads; 0: from MYRIAD_NUM_THREADS, else as many as OpenMP would take. On failure *queue is NULL and the
/// text is in myriad_last_error(NULL).
///
/// Any number of threads may use different queues at the same time; one queue is used by one thread at a time.
MYRIAD_API myriad_status myriad_queue_create(myriad_queue** queue, myriad_backend backend, int threads);
/// Makes a queue on a GPU. `device`: which one, as the CUDA driver counts them from 0. `stream`: a stream of that GPU (CUstream or
/// cudaStream_t), which the caller keeps alive longer than the queue, MYRIAD_LEGACY_STREAM or MYRIAD_PER_THREAD_STREAM; NULL: one of the
/// queue's own. `threads` as above. MYRIAD_UNAVAILABLE, with what was looked for, where no GPU can be used.
MYRIAD_API myriad_status myriad_queue_create_on(myriad_queue** queue, int device, void* stream, int threads);
/// CUDA's default streams. PyTorch and CuPy call the legacy one 0, which here would be a stream of the queue's own.
#define MYRIAD_LEGACY_STREAM ((void*)(uintptr_t)1)
#define MYRIAD_PER_THREAD_STREAM ((void*)(uintptr_t)2)  ///< CUDA's per-thread stream
/// Waits for the work of the queue and frees it; a stream of the caller's is not waited for. NULL is fine.
MYRIAD_API void myriad_queue_destroy(myriad_queue* queue);
/// Returns when all work given to the queue is done. A call on the CPU returns when its work is done, a call on a GPU when its work is
/// enqueued: arguments stay alive, and results are read, after this.
MYRIAD_API myriad_status myriad_queue_wait(myriad_queue* queue);
/// Runs `calls(queue, user)` such that the GPU kernels of the routines called in it are loaded, compiled if need be, and nothing else
/// happens. On the CPU, which has nothing to load, `calls` is not run. Returns the status of `calls`.
MYRIAD_API myriad_status myriad_prepare(myriad_queue* queue, myriad_status (*calls)(myriad_queue* queue, void* user), void* user);
/// As myriad_prepare, and sets `bytes` to how many bytes of GPU memory the routines called in `calls` take from the queue's pool at a time
/// at most, beside their arguments; on the CPU, and where something fails, to 0.
MYRIAD_API myriad_status myriad_workspace(myriad_queue* queue, myriad_status (*calls)(myriad_queue* queue, void* user), void* user,
                                          int64_t* bytes);
/// CPU threads of the queue; 0 for NULL.
MYRIAD_API int myriad_queue_threads(myriad_queue const* queue);
/// Why a queue made with MYRIAD_AUTOMATIC is on the CPU; empty on a GPU, where the CPU was asked for, and for NULL.
MYRIAD_API char const* myriad_queue_gpu_problem(myriad_queue const* queue);
/// MYRIAD_CPU or MYRIAD_GPU; MYRIAD_AUTOMATIC for NULL.
MYRIAD_API myriad_backend myriad_queue_backend(myriad_queue const* queue);

// ---- Memory
// --------------------------------------------------------------------------------------------------------------------------------
//
// All arguments of a routine on a GPU queue, arrays of pointers and sizes included, are in memory that the GPU reaches. On a CPU queue
// all of it is plain host memory, so that one program runs on both.

/// A piece of memory that was taken from a queue. Opaque.
typedef struct myriad_memory myriad_memory;

/// Memory of the queue's processor, for `bytes` bytes, not initialised; taken and given back in the order of the queue's other work.
/// *memory is NULL on failure. The address is myriad_address(*memory).
MYRIAD_API myriad_status myriad_allocate(myriad_queue* queue, int64_t bytes, myriad_memory** memory);
/// Host memory that a GPU copies from and to at full speed and without the host waiting.
MYRIAD_API myriad_status myriad_allocate_pinned(myriad_queue* queue, int64_t bytes, myriad_memory** memory);
/// Its address; NULL for NULL and for 0 bytes.
MYRIAD_API void* myriad_address(myriad_memory const* memory);
/// Gives it back; its queue may be gone. For pinned memory this waits for the queue. NULL is fine.
MYRIAD_API void myriad_free(myriad_memory* memory);
/// Copies bytes between host and GPU memory, either way or within one, in the order of the queue's other work. `from` stays as it is, and
/// `to` is read, after myriad_queue_wait.
MYRIAD_API myriad_status myriad_copy(myriad_queue* queue, void const* from, int64_t bytes, void* to);

// ---- Batches
// -------------------------------------------------------------------------------------------------------------------------------

/// The one descriptor for every batch of matrices.
///
/// Element (i, j) of matrix b lies at data[b*batch_stride + i*row_stride + j*col_stride] or, with an array of pointers, at
/// pointers[b][i*row_stride + j*col_stride]. Strides count elements. Column-major has row_stride = 1, row-major col_stride = 1, interleaved
/// ("compact") batch_stride = 1; a batch_stride of zero is one matrix for all, where it is only read.
///
/// A descriptor owns nothing. The memory that it names, size and stride arrays included, lives until the work that uses it has run. It is
/// not const even for inputs: a routine writes what its description names as output and nothing else. Members that are left zero have no
/// effect.
typedef struct myriad_batch {
  void* data;                  ///< first element of matrix 0, unless `pointers` is set
  void* const* pointers;       ///< one pointer per matrix, or NULL
  int64_t rows;                ///< rows of every matrix; of a ragged batch an upper bound
  int64_t cols;                ///< columns of every matrix; of a ragged batch an upper bound
  int64_t row_stride;          ///< distance from (i, j) to (i + 1, j)
  int64_t col_stride;          ///< distance from (i, j) to (i, j + 1)
  int64_t batch_stride;        ///< distance from matrix b to matrix b + 1; unused with `pointers`
  int64_t count;               ///< number of matrices
  int64_t const* row_sizes;    ///< ragged: rows of each matrix, or NULL
  int64_t const* col_sizes;    ///< ragged: columns of each matrix, or NULL
  int64_t const* row_strides;  ///< ragged: row stride of each matrix, or NULL for `row_stride`
  int64_t const* col_strides;  ///< ragged: column stride of each matrix, or NULL for `col_stride`
  int64_t row_offset;          ///< first row of the view, see myriad_block
  int64_t col_offset;          ///< first column of the view
  int conjugated;              ///< not 0: the matrix is the elementwise conjugate of what is stored
  myriad_dtype dtype;          ///< type of the elements
} myriad_batch;

// The constructors only keep the address that they get; compilers that warn of reading what has not been written are told so.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define MYRIAD_KEEPS_ADDRESS(argument) __attribute__((access(none, argument)))
#else
#define MYRIAD_KEEPS_ADDRESS(argument)
#endif

/// Column-major matrices at equal distances, the LAPACK way. `ld` 0: rows. `stride` 0: ld * cols.
MYRIAD_API MYRIAD_KEEPS_ADDRESS(4) myriad_batch
    myriad_strided(myriad_dtype dtype, int64_t rows, int64_t cols, void const* data, int64_t ld, int64_t stride, int64_t count);
/// Row-major matrices at equal distances, as C, NumPy and PyTorch keep them. `ld`, the distance between rows, 0: cols. `stride` 0: ld *
/// rows.
MYRIAD_API MYRIAD_KEEPS_ADDRESS(4) myriad_batch
    myriad_row_major(myriad_dtype dtype, int64_t rows, int64_t cols, void const* data, int64_t ld, int64_t stride, int64_t count);
/// Interleaved ("compact") matrices: element (i, j) of all `count` matrices side by side, columns after rows.
MYRIAD_API MYRIAD_KEEPS_ADDRESS(4) myriad_batch
    myriad_interleaved(myriad_dtype dtype, int64_t rows, int64_t cols, void const* data, int64_t count);
/// Column-major matrices behind an array of pointers: myriad_pointers(MYRIAD_F64, n, n, (void* const*)matrices, n, count). `ld` 0: rows.
MYRIAD_API myriad_batch myriad_pointers(myriad_dtype dtype, int64_t rows, int64_t cols, void* const* pointers, int64_t ld, int64_t count);
/// Row-major matrices behind an array of pointers. `ld` 0: cols.
MYRIAD_API myriad_batch myriad_row_major_pointers(myriad_dtype dtype, int64_t rows, int64_t cols, void* const* pointers, int64_t ld,
                                                  int64_t count);
/// One vector per matrix (pivots, tau, scalings): a batch of length-by-1 matrices. `stride` 0: length.
MYRIAD_API MYRIAD_KEEPS_ADDRESS(3) myriad_batch
    myriad_vectors(myriad_dtype dtype, int64_t length, void const* data, int64_t stride, int64_t count);

/// The same memory seen as the transposed matrices.
MYRIAD_API myriad_batch myriad_transposed(myriad_batch a);
/// The same memory seen as the conjugate matrices; nothing changes for real types.
MYRIAD_API myriad_batch myriad_conjugated(myriad_batch a);
/// The same memory seen as the conjugate transposes.
MYRIAD_API myriad_batch myriad_conjugate_transposed(myriad_batch a);
/// The m-by-n block that starts at row i and column j (from zero) of every matrix; of a ragged batch what there is of it.
MYRIAD_API myriad_batch myriad_block(myriad_batch a, int64_t i, int64_t j, int64_t m, int64_t n);
/// Rows i to i + m - 1 of every matrix.
MYRIAD_API myriad_batch myriad_rows(myriad_batch a, int64_t i, int64_t m);
/// Columns j to j + n - 1 of every matrix.
MYRIAD_API myriad_batch myriad_columns(myriad_batch a, int64_t j, int64_t n);
/// Matrices b to b + count - 1.
MYRIAD_API myriad_batch myriad_matrices(myriad_batch a, int64_t b, int64_t count);
/// Address of element (i, j) of matrix b; NULL for a dtype that does not exist.
MYRIAD_API void* myriad_at(myriad_batch a, int64_t b, int64_t i, int64_t j);

// ---- Products and triangular systems
// -------------------------------------------------------------------------------------------------------

/// C = alpha A B + beta C. A m-by-k, B k-by-n, C m-by-n; op(A) is a view. alpha and beta point at one element of the batches' type.
///
/// beta = 0 never reads C, alpha = 0 or k = 0 never reads A and B; C overlaps neither A nor B.
/// Elements of 16 bits are computed with in single precision: alpha and beta point at a float (MYRIAD_C16: two floats, a complex number),
/// and c is of the type of a, rounded once, or MYRIAD_F32 (of MYRIAD_C16 MYRIAD_C32). Positions: m 3, n 4, k 5, alpha 6, a 7, lda 8, b 9,
/// ldb 10, beta 11, c 12, ldc 13. Cost: 2 m n k flops (complex: 8). Source: BLAS gemm.
MYRIAD_API myriad_status myriad_gemm(myriad_queue* queue, void const* alpha, myriad_batch const* a, myriad_batch const* b, void const* beta,
                                     myriad_batch const* c);

/// C = alpha A B + beta C of MYRIAD_F32 by another arithmetic on the tensor cores of a GPU: MYRIAD_TF32 rounds each element of A and B to
/// 11 bits, which an error of 2^-10 abs(A) abs(B) comes from; MYRIAD_TF32X3 takes each as the sum of two such numbers, 2^-20 abs(A) abs(B).
/// Where no tensor cores serve it (the CPU, GPUs before compute capability 8.0, interleaved batches, matrices whose elements are nowhere
/// side by side) the arithmetic is the standard one, which is more accurate. Positions: as above, arithmetic 14.
MYRIAD_API myriad_status myriad_gemm_by(myriad_queue* queue, void const* alpha, myriad_batch const* a, myriad_batch const* b,
                                        void const* beta, myriad_batch const* c, myriad_arithmetic arithmetic);

/// One group of myriad_gemm_grouped: the arguments of a myriad_gemm.
typedef struct myriad_gemm_group {
  void const* alpha;      ///< factor of A B; points at one element
  myriad_batch const* a;  ///< left factor
  myriad_batch const* b;  ///< right factor
  void const* beta;       ///< factor of C as it was; points at one element
  myriad_batch const* c;  ///< result
} myriad_gemm_group;

/// Products of `count` groups of matrices in one call, each group with sizes, strides, views, alpha and beta of its own: what myriad_gemm
/// gives for each of them, with the same bits. All groups are of one element type, and of elements of 16 bits all c are of one type. All
/// are checked before anything is written; no matrix of C overlaps a matrix of another group, which is not checked.
/// The groups, alpha and beta may go when the call has returned. Positions: groups 1, count 2; else as above, with the number of the group,
/// from 0 on, in the text.
MYRIAD_API myriad_status myriad_gemm_grouped(myriad_queue* queue, myriad_gemm_group const* groups, int64_t count);

/// y = alpha A x + beta y. A m-by-n, x n-by-1, y m-by-1; op(A) is a view. alpha and beta point at one element of the batches' type.
///
/// beta = 0 never reads y, alpha = 0 or n = 0 never reads A and x, and leaves beta y; y overlaps neither A nor x.
/// Positions: m 2, n 3, alpha 4, a 5, lda 6, x 7, incx 8, beta 9, y 10, incy 11. Cost: 2 mn flops (complex: 8). Source: BLAS gemv.
MYRIAD_API myriad_status myriad_gemv(myriad_queue* queue, void const* alpha, myriad_batch const* a, myriad_batch const* x, void const* beta,
                                     myriad_batch const* y);

/// A = alpha x y^T + A, in place. x m-by-1, y n-by-1, A m-by-n. Complex: geru, and gerc with myriad_conjugated(y). alpha points at one
/// element.
///
/// alpha = 0 leaves A alone and reads nothing; A overlaps neither x nor y. Positions: m 1, n 2, alpha 3, x 4, incx 5, y 6, incy 7, a 8,
/// lda 9. Cost: 2 mn flops (complex: 8). Source: BLAS ger, geru, gerc.
MYRIAD_API myriad_status myriad_ger(myriad_queue* queue, void const* alpha, myriad_batch const* x, myriad_batch const* y,
                                    myriad_batch const* a);

/// y = alpha A x + beta y, A n-by-n symmetric (myriad_symv) or Hermitian (myriad_hemv; of real types the same), x and y n-by-1. alpha and
/// beta point at one element of the batches' type.
///
/// `uplo` names the triangle of A as it is viewed that is read; the other one may hold anything, and of a Hermitian A imaginary parts of
/// the diagonal are taken as zero. beta = 0 never reads y, alpha = 0 never reads A and x, and leaves beta y; y overlaps neither A nor x.
/// Positions: uplo 1, n 2, alpha 3, a 4, lda 5, x 6, incx 7, beta 8, y 9, incy 10. Cost: 2 n^2 flops (complex: 8 n^2). Source: BLAS symv,
/// hemv.
MYRIAD_API myriad_status myriad_symv(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, myriad_batch const* x,
                                     void const* beta, myriad_batch const* y);
/// y = alpha A x + beta y with a Hermitian A; see myriad_symv.
MYRIAD_API myriad_status myriad_hemv(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, myriad_batch const* x,
                                     void const* beta, myriad_batch const* y);

/// C = alpha A B + beta C (MYRIAD_LEFT) or C = alpha B A + beta C (MYRIAD_RIGHT), A symmetric (myriad_symm) or Hermitian (myriad_hemm; of
/// real types the same). alpha and beta point at one element of the batches' type.
///
/// B and C m-by-n; A m-by-m or n-by-n, of which the triangle `uplo` is read, as myriad_symv does. beta = 0 never reads C, alpha = 0 never
/// reads A and B; C overlaps neither A nor B. Positions: side 1, uplo 2, m 3, n 4, alpha 5, a 6, lda 7, b 8, ldb 9, beta
/// 10, c 11, ldc 12. Cost: 2 m^2 n or 2 m n^2 flops (complex: four times that). Source: BLAS symm, hemm.
MYRIAD_API myriad_status myriad_symm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                                     myriad_batch const* b, void const* beta, myriad_batch const* c);
/// The product with a Hermitian A; see myriad_symm.
MYRIAD_API myriad_status myriad_hemm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                                     myriad_batch const* b, void const* beta, myriad_batch const* c);

/// C = alpha A A^T + beta C with a symmetric C (myriad_syrk), or C = alpha A A^H + beta C with a Hermitian C (myriad_herk; of real types
/// the same). A n-by-k as it is viewed, C n-by-n. alpha and beta point at one element of the batches' type, of myriad_herk at one of the
/// real type that goes with it.
///
/// The triangle `uplo` of C is read and written, and imaginary parts of a Hermitian diagonal become zero. beta = 0 never reads C; alpha = 0
/// or k = 0 never reads A, and with beta = 1 leaves C alone; C does not overlap A. Positions: uplo 1, n 3, k 4, alpha 5,
/// a 6, lda 7, beta 8, c 9, ldc 10. Cost: n(n + 1) k flops (complex: four times that). Source: BLAS syrk, herk.
MYRIAD_API myriad_status myriad_syrk(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, void const* beta,
                                     myriad_batch const* c);
/// C = alpha A A^H + beta C with a Hermitian C; see myriad_syrk.
MYRIAD_API myriad_status myriad_herk(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, void const* beta,
                                     myriad_batch const* c);

/// C = alpha (A B^T + B A^T) + beta C with a symmetric C (myriad_syr2k), or C = alpha A B^H + conj(alpha) B A^H + beta C with a Hermitian C
/// (myriad_her2k; of real types the same). alpha points at one element of the batches' type, and so does beta, but that of myriad_her2k at
/// one of the real type that goes with it.
///
/// A and B n-by-k as they are viewed; else as myriad_syrk. Positions: uplo 1, n 3, k 4, alpha 5, a 6, lda 7, b 8, ldb 9, beta 10, c 11, ldc
/// 12. Cost: 2 n(n + 1) k flops (complex: four times that). Source: BLAS syr2k, her2k.
MYRIAD_API myriad_status myriad_syr2k(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                                      myriad_batch const* b, void const* beta, myriad_batch const* c);
/// The update of a Hermitian C; see myriad_syr2k.
MYRIAD_API myriad_status myriad_her2k(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                                      myriad_batch const* b, void const* beta, myriad_batch const* c);

/// Solves A X = alpha B (MYRIAD_LEFT) or X A = alpha B (MYRIAD_RIGHT) with a triangular A; X replaces B. alpha points at one element.
///
/// B m-by-n; A m-by-m or n-by-n. `uplo` names the triangle of A as it is viewed; the other one, and the diagonal with MYRIAD_UNIT, are not
/// read. A singular A gives Inf or NaN in its own X. alpha = 0 sets B to zero without reading A. Positions: side 1, uplo 2, diag 4, m 5, n
/// 6, alpha 7, a 8, lda 9, b 10, ldb 11. Cost: m^2 n or m n^2 flops. Source: BLAS trsm.
MYRIAD_API myriad_status myriad_trsm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_diag diag, void const* alpha,
                                     myriad_batch const* a, myriad_batch const* b);

/// B = alpha A B (MYRIAD_LEFT) or B = alpha B A (MYRIAD_RIGHT) with a triangular A, in place. alpha points at one element.
///
/// Shapes, what is read, and positions: as myriad_trsm. NaN or infinity in B may spread to other rows (MYRIAD_RIGHT: columns) of that B.
/// Cost: m^2 n or m n^2 flops (complex: four times that). Source: BLAS trmm.
MYRIAD_API myriad_status myriad_trmm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_diag diag, void const* alpha,
                                     myriad_batch const* a, myriad_batch const* b);

/// x = A x (myriad_trmv), or the solution of A x = b, which replaces b (myriad_trsv), with a triangular A. A n-by-n, x n-by-1.
///
/// `uplo` names the triangle of A as it is viewed; the other one, and the diagonal with MYRIAD_UNIT, are not used. A singular A gives Inf
/// or NaN in its own solution. x does not overlap A. Positions: uplo 1, diag 3, n 4, a 5, lda 6, x 7,
/// incx 8. Cost: n^2 flops (complex: four times that). Source: BLAS trmv, trsv.
MYRIAD_API myriad_status myriad_trmv(myriad_queue* queue, myriad_uplo uplo, myriad_diag diag, myriad_batch const* a, myriad_batch const* x);
/// Solves A x = b with a triangular A; see myriad_trmv.
MYRIAD_API myriad_status myriad_trsv(myriad_queue* queue, myriad_uplo uplo, myriad_diag diag, myriad_batch const* a, myriad_batch const* x);

/// The inverse of a triangular A, in place. a: n-by-n, of which the triangle `uplo` is read and overwritten, but for the diagonal with
/// MYRIAD_UNIT.
///
/// info: 0, or i > 0 where element (i, i), counted from one, is the first zero on the diagonal; that matrix is left as it was.
/// Positions: uplo 1, diag 2, n 3, a 4, lda 5. Cost: n^3 / 3 flops (complex: four times that). Source: LAPACK trtri.
MYRIAD_API myriad_status myriad_trtri(myriad_queue* queue, myriad_uplo uplo, myriad_diag diag, myriad_batch const* a, int* info);

// ---- LU, linear systems, inverses, determinants
// --------------------------------------------------------------------------------------------
//
// info: 0, or i > 0 where U(i, i), counted from one, is exactly zero (the first such i). The factorization is then complete, but no
// solution or inverse is computed: that matrix of X is left as it was (in-place routines) or filled with NaN (X apart from the inputs).
// pivots: a batch of MYRIAD_INT vectors with min(m, n) entries. Row i was interchanged with row pivots[i], counted from one.

/// PA = LU with partial pivoting, in place: L unit lower trapezoidal below the diagonal, U on and above it. a: m-by-n.
///
/// Positions: m 1, n 2, a 3, lda 4, ipiv 5. Cost: 2/3 n^3 flops for m = n. Source: LAPACK getrf; ties take the lowest row.
MYRIAD_API myriad_status myriad_getrf(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, int* info);

/// A = LU without pivoting, in place. info = i > 0: U(i, i) is exactly zero. Stable for diagonally dominant matrices and the like only.
///
/// Positions: m 1, n 2, a 3, lda 4. Cost: as getrf. Source: MAGMA getrf_nopiv.
MYRIAD_API myriad_status myriad_getrf_nopiv(myriad_queue* queue, myriad_batch const* a, int* info);

/// Solves op(A) X = B with the factors of getrf; X replaces B. pivots NULL: factors of getrf_nopiv. a: n-by-n, b: n-by-nrhs.
///
/// Positions: trans 1, n 2, nrhs 3, a 4, lda 5, ipiv 6, b 7, ldb 8. Zeros on the diagonal of U give Inf or NaN. Cost: 2 n^2 nrhs flops.
/// Source: LAPACK getrs.
MYRIAD_API myriad_status myriad_getrs(myriad_queue* queue, myriad_op trans, myriad_batch const* a, myriad_batch const* pivots,
                                      myriad_batch const* b);

/// Solves A X = B: A is overwritten by its factors, B by X. pivots may be NULL when they are not wanted.
///
/// Positions: n 1, nrhs 2, a 3, lda 4, ipiv 5, b 6, ldb 7. Cost: 2/3 n^3 + 2 n^2 nrhs flops. Source: LAPACK gesv.
MYRIAD_API myriad_status myriad_gesv(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, myriad_batch const* b,
                                     int* info);

/// Solves A X = B and keeps A and B. x may be the very batch b. A singular matrix has info > 0 and its X filled with NaN.
///
/// Positions: n 1, nrhs 2, a 3, lda 4, b 5, ldb 6, x 7, ldx 8. Cost: as gesv.
MYRIAD_API myriad_status myriad_solve(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, myriad_batch const* x, int* info);

/// The inverse from the factors of getrf, in place. pivots NULL: factors of getrf_nopiv. info = i > 0: U(i, i) is zero, that matrix is
/// kept.
///
/// Positions: n 1, a 2, lda 3, ipiv 4. Cost: 4/3 n^3 flops. Source: LAPACK getri.
MYRIAD_API myriad_status myriad_getri(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, int* info);

/// X = A^-1, with partial pivoting. x may be the very batch a. A singular matrix has info > 0 and its X filled with NaN. On a GPU info may
/// differ from that of myriad_getrf where only rounding decides whether a pivot is zero.
///
/// Positions: n 1, a 2, lda 3, x 4, ldx 5. Cost: 2 n^3 flops. Source: LAPACK getrf and getri.
MYRIAD_API myriad_status myriad_inverse(myriad_queue* queue, myriad_batch const* a, myriad_batch const* x, int* info);

/// det(A) of every matrix; A is kept. determinant: one element of a's type per matrix. It overflows where the product of the pivots does.
///
/// Positions: n 1, a 2, lda 3, det 4. Cost: 2/3 n^3 flops.
MYRIAD_API myriad_status myriad_det(myriad_queue* queue, myriad_batch const* a, void* determinant);

/// det(A) = sign * exp(logabs). sign: one element of a's type per matrix, 0 or of modulus one; logabs: one real per matrix (float for
/// MYRIAD_F32 and MYRIAD_C32, else double), -infinity for a singular matrix.
///
/// Positions: n 1, a 2, lda 3, sign 4, logabs 5. Cost: 2/3 n^3 flops. As numpy.linalg.slogdet.
MYRIAD_API myriad_status myriad_logdet(myriad_queue* queue, myriad_batch const* a, void* sign, void* logabs);

// ---- Cholesky
// ------------------------------------------------------------------------------------------------------------------------------
//
// Only the triangle `uplo` of A, as it is viewed, is read and written. info: 0, or i > 0 where the leading minor of order i is not positive
// definite (NaN counts as not positive definite).

/// A = L L^H (MYRIAD_LOWER) or U^H U (MYRIAD_UPPER), in place. With info > 0 the content of that triangle is unspecified.
///
/// Positions: uplo 1, n 2, a 3, lda 4. Cost: n^3 / 3 flops. Source: LAPACK potrf.
MYRIAD_API myriad_status myriad_potrf(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, int* info);

/// Solves A X = B with the factor of potrf; X replaces B.
///
/// Positions: uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7. Cost: 2 n^2 nrhs flops. Source: LAPACK potrs.
MYRIAD_API myriad_status myriad_potrs(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b);

/// Solves A X = B: A is overwritten by its factor, B by X; where info > 0, B is kept.
///
/// Positions: uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7. Cost: n^3 / 3 + 2 n^2 nrhs flops. Source: LAPACK posv.
MYRIAD_API myriad_status myriad_posv(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b, int* info);

/// Solves A X = B and keeps A and B. x may be the very batch b. A matrix that is not positive definite has info > 0 and its X filled with
/// NaN.
///
/// Positions: uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, x 8, ldx 9. Cost: as posv; n (n + 1) / 2 + 2 n nrhs elements moved.
MYRIAD_API myriad_status myriad_solve_positive_definite(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b,
                                                        myriad_batch const* x, int* info);

/// The triangle `uplo` of A^-1 from the factor of potrf, in place. info = i > 0: element (i, i) of the factor is zero, that matrix is kept.
///
/// Positions: uplo 1, n 2, a 3, lda 4. Cost: 2/3 n^3 flops. Source: LAPACK potri.
MYRIAD_API myriad_status myriad_potri(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, int* info);

// ---- QR and least squares
// ------------------------------------------------------------------------------------------------------------------

/// A = Q R in place: R on and above the diagonal, Householder vectors below. a: m-by-n; tau: vectors with min(m, n) entries.
///
/// Positions: m 1, n 2, a 3, lda 4, tau 5. Cost: 2 n^2 (m - n / 3) flops for m >= n. Source: LAPACK geqrf.
MYRIAD_API myriad_status myriad_geqrf(myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau);

/// C = op(Q) C (MYRIAD_LEFT) or C op(Q) (MYRIAD_RIGHT) with the reflectors of geqrf in the first k columns of a, where tau has k rows.
///
/// c: m-by-n; a has m or n rows. MYRIAD_TRANSPOSE is for real types. Positions: side 1, trans 2, m 3, n 4, k 5, a 6, lda 7, tau 8, c 9,
/// ldc 10. Cost: 4 m n k - 2 n k^2 flops (left). Source: LAPACK ormqr.
MYRIAD_API myriad_status myriad_ormqr(myriad_queue* queue, myriad_side side, myriad_op trans, myriad_batch const* a,
                                      myriad_batch const* tau, myriad_batch const* c);
/// The complex name of myriad_ormqr.
MYRIAD_API myriad_status myriad_unmqr(myriad_queue* queue, myriad_side side, myriad_op trans, myriad_batch const* a,
                                      myriad_batch const* tau, myriad_batch const* c);

/// The first n columns of Q, in place: a is m-by-n with m >= n and holds the k <= n reflectors of geqrf, where tau has k rows.
///
/// Positions: m 1, n 2, k 3, a 4, lda 5, tau 6. Cost: 4 m n k - 2 (m + n) k^2 + 4/3 k^3 flops. Source: LAPACK orgqr.
MYRIAD_API myriad_status myriad_orgqr(myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau);
/// The complex name of myriad_orgqr.
MYRIAD_API myriad_status myriad_ungqr(myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau);

/// Least squares (m >= n) or minimum norm (m < n) for A of full rank. a: m-by-n, overwritten by its factorization (of A times a power of
/// two where A is near either end of the range). b: max(m, n)-by-nrhs; its first m rows hold B, on return its first n rows hold X.
///
/// info: 0, or i > 0 where element (i, i) of the triangular factor is exactly zero; that X is not computed.
/// Positions: m 2, n 3, nrhs 4, a 5, lda 6, b 7, ldb 8. Cost: 2 n^2 (m - n / 3) + 4 m n nrhs flops. Source: LAPACK gels (op is a view).
MYRIAD_API myriad_status myriad_gels(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, int* info);

// ---- Eigenvalues
// ---------------------------------------------------------------------------------------------------------------------------

/// The eigenvalues of every symmetric (complex: Hermitian) matrix and, with MYRIAD_VECTORS, the eigenvectors: A = Q diag(w) Q^H.
///
/// a: n-by-n, of which the triangle `uplo` is read, without the imaginary parts of the diagonal; overwritten by Q, or, with MYRIAD_VALUES,
/// unspecified in that triangle. w: n-by-1 of the real type that goes with a, ascending. info: 0; n where the triangle has NaN or infinity,
/// and then w and, with MYRIAD_VECTORS, a are NaN; i > 0 where the iteration did not converge. Positions: jobz 1, uplo 2, n 3, a 4, lda 5,
/// w 6. Cost: 4/3 n^3 flops, about 9 n^3 with vectors (complex: four times that). Source: LAPACK syevd, heevd.
MYRIAD_API myriad_status myriad_syevd(myriad_queue* queue, myriad_job job, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* w,
                                      int* info);
/// The complex name of myriad_syevd.
MYRIAD_API myriad_status myriad_heevd(myriad_queue* queue, myriad_job job, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* w,
                                      int* info);

/// The reduction of every symmetric (complex: Hermitian) matrix to a real tridiagonal one: A = Q T Q^H.
///
/// a: n-by-n, of which the triangle `uplo` is read and overwritten by T and LAPACK's reflectors. d: n-by-1, e: (n - 1)-by-1, of the real
/// type that goes with a; tau: (n - 1)-by-1. Positions: uplo 1, n 2, a 3, lda 4, d 5, e 6, tau 7. Cost: 4/3 n^3 flops
/// (complex: four times that). Source: LAPACK sytrd, hetrd.
MYRIAD_API myriad_status myriad_sytrd(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* d,
                                      myriad_batch const* e, myriad_batch const* tau);
/// The complex name of myriad_sytrd.
MYRIAD_API myriad_status myriad_hetrd(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* d,
                                      myriad_batch const* e, myriad_batch const* tau);

/// Q of myriad_sytrd, in place of its reflectors. Positions: uplo 1, n 2, a 3, lda 4, tau 5. Cost: 4/3 n^3 flops (complex: four
/// times that). Source: LAPACK orgtr, ungtr.
MYRIAD_API myriad_status myriad_orgtr(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* tau);
/// The complex name of myriad_orgtr.
MYRIAD_API myriad_status myriad_ungtr(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* tau);

/// C = op(Q) C (left) or C op(Q) (right) with the Q of myriad_sytrd. MYRIAD_TRANSPOSE is for real types. Positions: side 1, uplo 2, trans
/// 3, m 4, n 5, a 6, lda 7, tau 8, c 9, ldc 10. Cost: 2 m^2 n flops (left; complex: four times that). Source: LAPACK ormtr, unmtr.
MYRIAD_API myriad_status myriad_ormtr(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_op trans, myriad_batch const* a,
                                      myriad_batch const* tau, myriad_batch const* c);
/// The complex name of myriad_ormtr.
MYRIAD_API myriad_status myriad_unmtr(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_op trans, myriad_batch const* a,
                                      myriad_batch const* tau, myriad_batch const* c);

// ---- Equilibration, refinement, backward errors
// --------------------------------------------------------------------------------------------
//
// r, c, ferr and berr are vectors of the real type that goes with a: MYRIAD_F32 for MYRIAD_C32, MYRIAD_F64 for MYRIAD_C64.

/// Scalings r, c, all powers of two, such that the largest element of every row and column of diag(r) A diag(c) is near one.
///
/// a: m-by-n; r: m, c: n entries. rowcnd, colcnd: ratio of smallest to largest scaling, amax: largest abs element; NULL or one real per
/// matrix. info: 0, i in 1..m: row i is zero, m + j: column j is zero (r and c are then 1 for that matrix). Positions: m 1, n 2, a 3, lda
/// 4, r 5, c 6. Cost: mn elements read. Source: LAPACK geequb.
MYRIAD_API myriad_status myriad_geequ(myriad_queue* queue, myriad_batch const* a, myriad_batch const* r, myriad_batch const* c,
                                      void* rowcnd, void* colcnd, void* amax, int* info);

/// A = diag(r) A diag(c), in place. r or c NULL: ones. Positions: m 1, n 2, a 3, lda 4, r 5, c 6. Source: LAPACK laqge, lascl2.
MYRIAD_API myriad_status myriad_laqge(myriad_queue* queue, myriad_batch const* a, myriad_batch const* r, myriad_batch const* c);

/// Improves X, the solution of op(A) X = B from the factors af and pivots of getrf, until its componentwise backward error stops falling.
///
/// a, af: n-by-n; b, x: n-by-nrhs; ferr, berr: nrhs entries, or NULL. pivots NULL: factors of getrf_nopiv. Positions: trans 1, n 2, nrhs 3,
/// a 4, lda 5, af 6, ldaf 7, ipiv 8, b 9, ldb 10, x 11, ldx 12, ferr 13, berr 14. Cost: 6 n^2 nrhs flops a sweep, mostly one or
/// two, as many solves again for ferr. Source: LAPACK gerfs, which stops earlier.
MYRIAD_API myriad_status myriad_gerfs(myriad_queue* queue, myriad_op trans, myriad_batch const* a, myriad_batch const* af,
                                      myriad_batch const* pivots, myriad_batch const* b, myriad_batch const* x, myriad_batch const* ferr,
                                      myriad_batch const* berr);

/// The componentwise backward error of X as a solution of A X = B, with the residual in twice the precision; everything else is kept.
///
/// a: m-by-n, x: n-by-nrhs, b: m-by-nrhs, berr: nrhs entries. Positions: m 1, n 2, nrhs 3, a 4, lda 5, x 6, ldx 7, b 8, ldb 9, berr 10.
/// Cost: 4 m n nrhs flops. Source: Oettli and Prager 1964.
MYRIAD_API myriad_status myriad_backward_error(myriad_queue* queue, myriad_batch const* a, myriad_batch const* x, myriad_batch const* b,
                                               myriad_batch const* berr);

// ---- Streams
// -------------------------------------------------------------------------------------------------------------------------------

/// The direction in which an operand of a stream is copied: to the GPU, back from it, or both.
typedef enum myriad_use MYRIAD_ENUM_TYPE { MYRIAD_IN = 0, MYRIAD_OUT = 1, MYRIAD_IN_OUT = 2 } myriad_use;

/// A batch in host memory. An array with one number per matrix is a batch of 1-by-1 matrices: myriad_strided(MYRIAD_INT, 1, 1, info, 1, 1,
/// count).
typedef struct myriad_operand {
  myriad_batch batch;  ///< in host memory
  myriad_use use;      ///< which way it is copied
} myriad_operand;

/// The work of a stream.
typedef struct myriad_stream_report {
  int64_t chunks;        ///< number of chunks
  int64_t bytes_in;      ///< copied to the GPU
  int64_t bytes_out;     ///< copied from it
  int64_t bytes_staged;  ///< of these, what went through pinned memory of the library's own
  double seconds;        ///< from call to return
} myriad_stream_report;

/// Takes batches in host memory through the queue's GPU in chunks, three of which are there at a time, so that copies in, computing and
/// copies out go on at the same time. For every chunk calls work(queue, arguments, user): `arguments` are the operands on the GPU, with as
/// many matrices as the chunk has, and `queue` is one of the stream's own, whose wait and destruction are not the callback's business.
/// Returns when all results are in host memory. A status of `work` other than MYRIAD_OK ends the stream and is returned, with the text
/// that `queue` had. On a CPU queue `work` gets the queue and the operands themselves, once.
///
/// chunk_bytes: most bytes of a chunk; 0: chosen. report: NULL or what was done. Positions: chunk_bytes 2, operand k, counted from 1, k
/// + 2. See myriad/stream.hpp.
MYRIAD_API myriad_status myriad_stream(myriad_queue* queue, int64_t chunk_bytes, myriad_operand const* operands, int operand_count,
                                       myriad_status (*work)(myriad_queue* queue, myriad_batch const* arguments, void* user), void* user,
                                       myriad_stream_report* report);

// ---- Tuning
// --------------------------------------------------------------------------------------------------------------------------------

/// The fastest config for a kernel, a type and sizes. It lives during the callback that gets it.
typedef struct myriad_tuned_config {
  char const* kernel;        ///< "gemm_pipelined"
  myriad_dtype dtype;        ///< element type
  int64_t sizes[3];          ///< m, n, k of a product
  int value_count;           ///< names and values of the config, those of the plan where nothing was faster
  char const* const* names;  ///< value_count of them
  int const* values;         ///< value_count of them
  double seconds;            ///< median of a call
  double planned_seconds;    ///< the same with the values of the plan
  int64_t tried;             ///< configs that were timed
} myriad_tuned_config;

/// Options of myriad_tune; zeros are the defaults.
typedef struct myriad_tune_options {
  double budget;       ///< seconds for everything, compiling included; 0: 60
  int64_t candidates;  ///< how many configs of a problem are tried at most; 0: 40
  int threads;         ///< compilations at the same time; 0: as many as there are cores
  int again;           ///< not 0: also what the user's table has already
  /// Puts back what a call changes, before each; not timed. NULL: nothing. A status other than MYRIAD_OK ends the search.
  myriad_status (*refresh)(myriad_queue* queue, void* user);
  /// Told which problem of how many is at hand, from 0, and which part of it is done, from 0 to 1. Returns 0 to stop. NULL: nobody.
  int (*progress)(int64_t problem, int64_t problems, double done, void* user);
  /// Told of each problem that was tuned, at the end. NULL: nobody.
  void (*found)(myriad_tuned_config const* entry, void* user);
} myriad_tune_options;

/// Tries the configs of the kernels that calls(queue, user) comes to, and keeps the fastest in this process and in the user's table.
///
/// `calls` only calls routines, on the queue that it is given, and returns the first status that is not MYRIAD_OK. It is called several
/// times, and by several threads at once with queues that are not the callback's to wait for or to destroy; only one of these runs
/// anything. What it takes has to be larger than the caches several times over. A failure of its own ends the search and is returned; a
/// kernel that cannot be had, or does not run, is left out.
///
/// options: NULL or how. Positions: queue 1 (is on the CPU, or being prepared or captured), calls 2, options 3. See myriad/tune.hpp and
/// docs/tuning.md.
MYRIAD_API myriad_status myriad_tune(myriad_queue* queue, myriad_status (*calls)(myriad_queue* queue, void* user), void* user,
                                     myriad_tune_options const* options);

#ifdef __cplusplus
}
#endif

#endif
