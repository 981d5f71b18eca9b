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
/// element type is a member of the batch; all operands of a call have the same type unless stated otherwise.
///
/// A routine returns MYRIAD_OK or an error status. On an error nothing has been written, and myriad_last_error(queue) has the cause as
/// text. A singular or indefinite matrix is not an error: it is reported in `info`, an array of one int per matrix, or NULL.
///
/// "Positions" are the argument numbers in LAPACK's routine, from one, by which a MYRIAD_BAD_ARGUMENT is reported.

#include <stdint.h>

#include "myriad/export.h"
#include "myriad/version.hpp"

#ifdef __cplusplus
extern "C" {
// With a fixed underlying type an enumeration may hold any int, so that invalid values can be detected and refused.
#define MYRIAD_ENUM_TYPE : int
#else
#define MYRIAD_ENUM_TYPE
#endif

// ---- Statuses and errors ------------------------------------------------------------------------

/// The status of a call.
typedef enum myriad_status MYRIAD_ENUM_TYPE {
  MYRIAD_OK = 0,
  MYRIAD_BAD_ARGUMENT = 1,   ///< see myriad_last_error and myriad_last_error_position
  MYRIAD_UNAVAILABLE = 2,    ///< not in this build or on this machine, such as a GPU queue without a GPU
  MYRIAD_OUT_OF_MEMORY = 3,  ///< the queue stays usable
  MYRIAD_FAILED = 4          ///< anything else; see myriad_last_error
} myriad_status;

/// A queue runs calls in order, on the CPU or a GPU; see myriad_queue_create. Opaque.
typedef struct myriad_queue myriad_queue;

/// The error text of the last failed call on this queue, or "" if none failed. With NULL: of this thread's last failed call without a queue
/// (myriad_queue_create, a NULL queue). The text is valid until the next failing call.
MYRIAD_API char const* myriad_last_error(myriad_queue const* queue);

/// Position of the argument of the last MYRIAD_BAD_ARGUMENT; 0 if the last failure was of another kind.
MYRIAD_API int myriad_last_error_position(myriad_queue const* queue);

/// MYRIAD_VERSION of the library at run time, which may be newer than the header.
MYRIAD_API char const* myriad_version(void);

// ---- Small enumerations, with the letters of LAPACK ---------------------------------------------

/// Element types: float, double, float _Complex, double _Complex (or std::complex), and int for pivots. 16-bit types, for myriad_gemm and
/// myriad_gemm_grouped only: IEEE 754 binary16 (_Float16), bfloat16 (the upper half of a float), and complex numbers of two binary16.
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
/// Triangle of the (viewed) matrix that is used.
typedef enum myriad_uplo MYRIAD_ENUM_TYPE { MYRIAD_UPPER = 'U', MYRIAD_LOWER = 'L' } myriad_uplo;
/// Side of B from which A multiplies.
typedef enum myriad_side MYRIAD_ENUM_TYPE { MYRIAD_LEFT = 'L', MYRIAD_RIGHT = 'R' } myriad_side;
/// Whether a triangular matrix has a unit diagonal, which is then not read.
typedef enum myriad_diag MYRIAD_ENUM_TYPE { MYRIAD_NON_UNIT = 'N', MYRIAD_UNIT = 'U' } myriad_diag;
/// Results of an eigenproblem: eigenvalues only, or eigenvalues and eigenvectors.
typedef enum myriad_job MYRIAD_ENUM_TYPE { MYRIAD_VALUES = 'N', MYRIAD_VECTORS = 'V' } myriad_job;
/// Results of myriad_gesvd beside the singular values, with k = min(m, n): none, the first k columns of U and rows of V^H, all of them, the
/// first k columns of U only, or the first k rows of V^H only.
typedef enum myriad_svd_job MYRIAD_ENUM_TYPE {
  MYRIAD_SVD_VALUES = 'N',
  MYRIAD_SVD_THIN = 'S',
  MYRIAD_SVD_FULL = 'A',
  MYRIAD_SVD_LEFT = 'U',
  MYRIAD_SVD_RIGHT = 'V'
} myriad_svd_job;
/// Factor of myriad_gebrd.
typedef enum myriad_vect MYRIAD_ENUM_TYPE { MYRIAD_Q = 'Q', MYRIAD_P = 'P' } myriad_vect;
/// Operation on a factored matrix. Other matrices are transposed by a view.
typedef enum myriad_op MYRIAD_ENUM_TYPE { MYRIAD_NONE = 'N', MYRIAD_TRANSPOSE = 'T', MYRIAD_CONJUGATE_TRANSPOSE = 'C' } myriad_op;
/// Arithmetic of products of float matrices (myriad_gemm_by).
typedef enum myriad_arithmetic MYRIAD_ENUM_TYPE { MYRIAD_STANDARD = 0, MYRIAD_TF32 = 1, MYRIAD_TF32X3 = 2 } myriad_arithmetic;
/// Place of alpha or beta: in memory of the host, or in memory that the queue's processor reads when the work runs.
typedef enum myriad_pointer_mode MYRIAD_ENUM_TYPE { MYRIAD_POINTER_MODE_HOST = 0, MYRIAD_POINTER_MODE_DEVICE = 1 } myriad_pointer_mode;
/// Processor of a queue.
typedef enum myriad_backend MYRIAD_ENUM_TYPE { MYRIAD_AUTOMATIC = 0, MYRIAD_CPU = 1, MYRIAD_GPU = 2 } myriad_backend;

// ---- Queues -------------------------------------------------------------------------------------

/// Makes a queue on the CPU (MYRIAD_CPU), on the first GPU (MYRIAD_GPU), or on the first GPU if it can be used and else on the CPU
/// (MYRIAD_AUTOMATIC; myriad_queue_gpu_problem says why). Batches of a GPU queue must be in memory that the GPU can access:
/// myriad_allocate, myriad_copy. `threads`: CPU threads; 0: MYRIAD_NUM_THREADS, OMP_NUM_THREADS or all cores. On failure *queue is NULL and
/// the text is in myriad_last_error(NULL).
///
/// Different threads may use different queues at the same time; one queue must be used by one thread at a time.
MYRIAD_API myriad_status myriad_queue_create(myriad_queue** queue, myriad_backend backend, int threads);
/// Makes a queue on a GPU. `device`: its number, from 0, as the CUDA driver counts. `stream`: a stream of that GPU (CUstream or
/// cudaStream_t), which must outlive the queue, or MYRIAD_LEGACY_STREAM or MYRIAD_PER_THREAD_STREAM; NULL: the queue makes its own, which
/// does not synchronize with the legacy default stream.
/// `threads`: as above. If no GPU can be used, returns MYRIAD_UNAVAILABLE, and the text says what was looked for.
MYRIAD_API myriad_status myriad_queue_create_on(myriad_queue** queue, int device, void* stream, int threads);
/// CUDA's default streams. PyTorch and CuPy give the legacy default stream as 0: to myriad_queue_set_stream that is the same, but
/// myriad_queue_create_on makes a stream owned by the queue.
#define MYRIAD_LEGACY_STREAM ((void*)(uintptr_t)1)
#define MYRIAD_PER_THREAD_STREAM ((void*)(uintptr_t)2)  ///< of the calling thread, which must then make all calls on the queue
/// Continues on another stream of the same GPU, as cublasSetStream does. `stream`: MYRIAD_LEGACY_STREAM or NULL, the legacy default stream;
/// MYRIAD_PER_THREAD_STREAM; or any other stream (CUstream or cudaStream_t), which must exist until the queue continues elsewhere or is
/// destroyed. Returns at once if it is the current stream.
///
/// Work given to the queue later waits for its earlier work, by an event; the host does not wait. For streams that are to run at the same
/// time use a queue for each. No such order is made while one of the two streams is being captured: only the queue's own memory stays safe,
/// and a stream that was left during its capture must exist until the queue is next used after it.
/// Positions: stream 1. A queue on the CPU takes no stream.
MYRIAD_API myriad_status myriad_queue_set_stream(myriad_queue* queue, void* stream);
/// The current stream of a queue on a GPU, which may be one that the queue owns; NULL on the CPU and for NULL.
MYRIAD_API void* myriad_queue_stream(myriad_queue const* queue);
/// Number of the GPU of a queue; -1 on the CPU and for NULL.
MYRIAD_API int myriad_queue_device(myriad_queue const* queue);
/// Takes all workspace of routines from the caller's allocator, such as that of PyTorch or XLA, instead of the queue's pool.
///
/// `allocate` returns `bytes` bytes of the queue's GPU at an address that is a multiple of 256, for work that is enqueued on `stream` from
/// now on, or NULL if there is no memory. `release` takes memory back in stream order: work that was enqueued on `stream` before may still
/// use it; NULL: the caller frees the memory after the call. Both get `user`, must not throw, and are called by the thread that calls the
/// routine, with the GPU's primary context current, also while the stream is captured. Both NULL: back to the pool.
///
/// A routine allocates before it launches anything that changes an argument: if `allocate` returns NULL it returns MYRIAD_OUT_OF_MEMORY,
/// and nothing is written. myriad_allocate and myriad_stream keep to the pools of queues. Without effect on the CPU.
/// Positions: allocate 1, release 2.
MYRIAD_API myriad_status myriad_queue_set_allocator(myriad_queue* queue, void* (*allocate)(int64_t bytes, void* stream, void* user),
                                                    void (*release)(void* memory, int64_t bytes, void* stream, void* user), void* user);
/// Says where the alpha and beta of later calls on this queue are, as cublasSetPointerMode does; both are on the host at first. Queues that
/// myriad_stream, myriad_stream_on_gpus and myriad_tune give to callbacks have the modes of the caller's queue (of the same GPU).
///
/// Routines: myriad_gemm, gemm_by, gemm_grouped, gemv, ger, symv, hemv, symm, hemm, syrk, herk, syr2k, her2k, trmm and trsm. The types are
/// those of numbers on the host: alpha and beta of herk and beta of her2k are real, and 16-bit types have floats (MYRIAD_C16: two). The
/// array of groups of myriad_gemm_grouped stays on the host; the modes are those of the addresses in it.
///
/// MYRIAD_POINTER_MODE_HOST: a call reads the number before it returns. MYRIAD_POINTER_MODE_DEVICE: the number is read when the work runs.
/// It may be the result of earlier work of the queue, and each launch of a captured CUDA graph reads it again. On a GPU queue it must be in
/// memory that the GPU can access, aligned to its size, and stay valid and unchanged until the work has run. On the CPU the call reads it.
/// It must not be in an element of the output.
///
/// GPUs then compute a product with alpha = 1 and beta = 0 into workspace, and a second kernel adds it to C. The workspace is in
/// addition to that of the product and at most 256 MiB or one C. A and B are read whatever alpha is, also where a routine says that alpha =
/// 0 does not read them, but have no effect then, even if they hold NaN. Triangular products and solves are multiplied by alpha in place
/// afterwards, unless it is one. Positions: alpha 1, beta 2.
MYRIAD_API myriad_status myriad_queue_set_pointer_mode(myriad_queue* queue, myriad_pointer_mode alpha, myriad_pointer_mode beta);
/// Waits for the work of the queue, unless the stream is the caller's, and frees the queue. NULL is allowed.
MYRIAD_API void myriad_queue_destroy(myriad_queue* queue);
/// Blocks until all work given to the queue is done. A call on the CPU returns when its work is done, a call on a GPU when its work is
/// enqueued: keep arguments alive until this returns, and read results after it.
MYRIAD_API myriad_status myriad_queue_wait(myriad_queue* queue);
/// Runs `calls(queue, user)` only to load (and, if necessary, compile) the GPU kernels of the routines that it calls. On the CPU there is
/// nothing to load, and `calls` is not run. Returns the status of `calls`.
MYRIAD_API myriad_status myriad_prepare(myriad_queue* queue, myriad_status (*calls)(myriad_queue* queue, void* user), void* user);
/// Workspace query. As myriad_prepare, and sets `bytes` to the peak number of bytes that the routines called in `calls` allocate from the
/// queue's pool or the caller's allocator, beside their arguments. 0 on the CPU and on failure.
MYRIAD_API myriad_status myriad_workspace(myriad_queue* queue, myriad_status (*calls)(myriad_queue* queue, void* user), void* user,
                                          int64_t* bytes);
/// Adds a folder in which NVRTC, the compiler of GPU kernels, is looked for before all other places, unless MYRIAD_NVRTC is set: one that
/// holds libnvrtc.so, a CUDA toolkit, or the folder with Python's packages (site-packages). Folders are searched in the order in which they
/// were added. NVRTC is looked for once per process, when the first queue on a GPU is made; after that this returns MYRIAD_FAILED.
/// Positions: folder 1. The error text is that of a call without a queue.
MYRIAD_API myriad_status myriad_search_nvrtc(char const* folder);
/// Adds a folder whose *.pack files are searched for compiled kernels after those of MYRIAD_PACK. Folders are searched in the order in
/// which they were added; one that does not exist has no packs. Packs are opened once per process, when the first queue on a GPU is made;
/// after that this returns MYRIAD_FAILED. Positions: folder 1. The error text is that of a call without a queue.
MYRIAD_API myriad_status myriad_search_packs(char const* folder);
/// Compiles the kernels that programs used into the pack `path`; needs no GPU, but NVRTC. `archs`: architectures, separated by commas:
/// sm_80, sm_90, ..., and compute_90 for PTX, which drivers compile for newer GPUs. `list`: a file that programs wrote with the environment
/// variable MYRIAD_KERNEL_LIST. `threads`: concurrent compilations; 0: number of cores. Sets `kernels`, which may be NULL, to the number of
/// compiled kernels; if it is 0, nothing is written. A kernel takes 0.1 to 2 s on one core. MYRIAD_UNAVAILABLE without NVRTC.
/// Positions: archs 1, list 2, threads 3, path 4. The error text is that of a call without a queue.
MYRIAD_API myriad_status myriad_build_pack(char const* archs, char const* list, int threads, char const* path, int64_t* kernels);
/// CPU threads of the queue; 0 for NULL.
MYRIAD_API int myriad_queue_threads(myriad_queue const* queue);
/// Why a queue made with MYRIAD_AUTOMATIC is on the CPU. Empty on a GPU, if the CPU was requested, and for NULL.
MYRIAD_API char const* myriad_queue_gpu_problem(myriad_queue const* queue);
/// MYRIAD_CPU or MYRIAD_GPU; MYRIAD_AUTOMATIC for NULL.
MYRIAD_API myriad_backend myriad_queue_backend(myriad_queue const* queue);

// ---- Memory -------------------------------------------------------------------------------------
//
// All arguments of a routine on a GPU queue, including arrays of pointers and sizes, must be in memory that the GPU can access. On a CPU
// queue all of it is plain host memory, so that the same program runs on both.

/// Memory allocated from a queue. Opaque.
typedef struct myriad_memory myriad_memory;

/// Allocates `bytes` bytes in memory of the queue's processor, not initialised; allocated and freed in stream order. *memory is NULL on
/// failure. The address is myriad_address(*memory).
MYRIAD_API myriad_status myriad_allocate(myriad_queue* queue, int64_t bytes, myriad_memory** memory);
/// Allocates pinned host memory: copies from and to the GPU run at full speed and do not block the host.
MYRIAD_API myriad_status myriad_allocate_pinned(myriad_queue* queue, int64_t bytes, myriad_memory** memory);
/// Address of the memory; NULL for NULL and for 0 bytes.
MYRIAD_API void* myriad_address(myriad_memory const* memory);
/// Frees the memory; its queue may already be destroyed. For pinned memory this waits for the queue. NULL is allowed.
MYRIAD_API void myriad_free(myriad_memory* memory);
/// Copies bytes between or within host and GPU memory, in stream order. Change `from` and read `to` only after myriad_queue_wait.
MYRIAD_API myriad_status myriad_copy(myriad_queue* queue, void const* from, int64_t bytes, void* to);

// ---- Batches ------------------------------------------------------------------------------------

/// Descriptor of a batch of matrices.
///
/// Element (i, j) of matrix b lies at data[b*batch_stride + i*row_stride + j*col_stride] or, with an array of pointers, at
/// pointers[b][i*row_stride + j*col_stride]. Strides count elements. Column-major has row_stride = 1, row-major col_stride = 1, interleaved
/// ("compact") batch_stride = 1; a batch_stride of zero shares one matrix for the whole batch, for inputs only.
///
/// A descriptor owns nothing. The memory that it points to, including size and stride arrays, must stay valid until the work that uses it
/// has run. Pointers are not const even for inputs; a routine writes only to its outputs. Members that are zero have no effect.
typedef struct myriad_batch {
  void* data;                  ///< first element of matrix 0, unless `pointers` is set
  void* const* pointers;       ///< one pointer per matrix, or NULL
  int64_t rows;                ///< rows of every matrix; ragged: an upper bound
  int64_t cols;                ///< columns of every matrix; ragged: an upper bound
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
  int conjugated;              ///< not 0: the matrix is the elementwise conjugate of the stored one
  myriad_dtype dtype;          ///< type of the elements
} myriad_batch;

// The constructors only store the address. The attribute tells compilers so, which would else warn of reading uninitialised memory.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define MYRIAD_KEEPS_ADDRESS(argument) __attribute__((access(none, argument)))
#else
#define MYRIAD_KEEPS_ADDRESS(argument)
#endif

/// Column-major matrices as in LAPACK, `stride` elements apart. `ld` 0: rows. `stride` 0: ld * cols.
MYRIAD_API MYRIAD_KEEPS_ADDRESS(4) myriad_batch
    myriad_strided(myriad_dtype dtype, int64_t rows, int64_t cols, void const* data, int64_t ld, int64_t stride, int64_t count);
/// Row-major matrices as in C, NumPy and PyTorch, `stride` elements apart. `ld`, the distance between rows, 0: cols. `stride` 0: ld * rows.
MYRIAD_API MYRIAD_KEEPS_ADDRESS(4) myriad_batch
    myriad_row_major(myriad_dtype dtype, int64_t rows, int64_t cols, void const* data, int64_t ld, int64_t stride, int64_t count);
/// Interleaved ("compact") matrices: element (i, j) of all `count` matrices is contiguous; rows vary faster than columns.
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
/// The m-by-n block that starts at row i and column j (from zero) of every matrix. Ragged: clipped to each matrix.
MYRIAD_API myriad_batch myriad_block(myriad_batch a, int64_t i, int64_t j, int64_t m, int64_t n);
/// Rows i to i + m - 1 of every matrix.
MYRIAD_API myriad_batch myriad_rows(myriad_batch a, int64_t i, int64_t m);
/// Columns j to j + n - 1 of every matrix.
MYRIAD_API myriad_batch myriad_columns(myriad_batch a, int64_t j, int64_t n);
/// Matrices b to b + count - 1.
MYRIAD_API myriad_batch myriad_matrices(myriad_batch a, int64_t b, int64_t count);
/// Address of element (i, j) of matrix b; NULL for a dtype that does not exist.
MYRIAD_API void* myriad_at(myriad_batch a, int64_t b, int64_t i, int64_t j);

// ---- Products and triangular systems ------------------------------------------------------------

/// C = alpha A B + beta C. A m-by-k, B k-by-n, C m-by-n; op(A) is a view. alpha and beta point at one element of the batches' type.
///
/// beta = 0 never reads C, alpha = 0 or k = 0 never reads A and B; C must overlap neither A nor B. 16-bit types are computed in single
/// precision: alpha and beta point at a float (MYRIAD_C16: two floats, a complex number). c has the type of a, rounded once, or MYRIAD_F32
/// (for MYRIAD_C16: MYRIAD_C32). Positions: m 3, n 4, k 5, alpha 6, a 7, lda 8, b 9, ldb 10, beta 11, c 12, ldc 13. Cost: 2 m n k flops
/// (complex: 8). Source: BLAS gemm.
MYRIAD_API myriad_status myriad_gemm(myriad_queue* queue, void const* alpha, myriad_batch const* a, myriad_batch const* b, void const* beta,
                                     myriad_batch const* c);

/// C = alpha A B + beta C of MYRIAD_F32 on the tensor cores of a GPU. MYRIAD_TF32 rounds each element of A and B to 11 bits, with an error
/// of 2^-10 abs(A) abs(B). MYRIAD_TF32X3 splits each element into the sum of two such numbers, with an error of 2^-20 abs(A) abs(B).
/// Without suitable tensor cores (on the CPU, GPUs before compute capability 8.0, interleaved batches, matrices without a unit stride) the
/// arithmetic is the standard one, which is more accurate.
/// Positions: as above, arithmetic 14.
MYRIAD_API myriad_status myriad_gemm_by(myriad_queue* queue, void const* alpha, myriad_batch const* a, myriad_batch const* b,
                                        void const* beta, myriad_batch const* c, myriad_arithmetic arithmetic);

/// One group of myriad_gemm_grouped: the arguments of a myriad_gemm.
typedef struct myriad_gemm_group {
  void const* alpha;      ///< factor of A B; points at one element
  myriad_batch const* a;  ///< left factor
  myriad_batch const* b;  ///< right factor
  void const* beta;       ///< factor of the input C; points at one element
  myriad_batch const* c;  ///< result
} myriad_gemm_group;

/// Products of `count` groups of matrices in one call. Each group has its own sizes, strides, views, alpha and beta, and gets the same bits
/// as from myriad_gemm. All groups must have the same element type, and for 16-bit types all c the same type. All groups are checked before
/// anything is written. No matrix of C may overlap a matrix of another group; this is not checked. The groups, and alpha and beta on the
/// host, may be freed when the call returns.
/// Positions: groups 1, count 2; otherwise as above, with the number of the group, from 0, in the text.
MYRIAD_API myriad_status myriad_gemm_grouped(myriad_queue* queue, myriad_gemm_group const* groups, int64_t count);

/// y = alpha A x + beta y. A m-by-n, x n-by-1, y m-by-1; op(A) is a view. alpha and beta point at one element of the batches' type.
///
/// beta = 0 never reads y, alpha = 0 or n = 0 never reads A and x, and gives beta y; y must overlap neither A nor x.
/// Positions: m 2, n 3, alpha 4, a 5, lda 6, x 7, incx 8, beta 9, y 10, incy 11. Cost: 2 mn flops (complex: 8). Source: BLAS gemv.
MYRIAD_API myriad_status myriad_gemv(myriad_queue* queue, void const* alpha, myriad_batch const* a, myriad_batch const* x, void const* beta,
                                     myriad_batch const* y);

/// A = alpha x y^T + A, in place. x m-by-1, y n-by-1, A m-by-n. Complex: geru, and gerc with myriad_conjugated(y). alpha points at one
/// element.
///
/// alpha = 0 reads nothing and does not change A; A must overlap neither x nor y.
/// Positions: m 1, n 2, alpha 3, x 4, incx 5, y 6, incy 7, a 8, lda 9. Cost: 2 mn flops (complex: 8). Source: BLAS ger, geru, gerc.
MYRIAD_API myriad_status myriad_ger(myriad_queue* queue, void const* alpha, myriad_batch const* x, myriad_batch const* y,
                                    myriad_batch const* a);

/// y = alpha A x + beta y, A n-by-n symmetric (myriad_symv) or Hermitian (myriad_hemv; the same for real types), x and y n-by-1. alpha and
/// beta point at one element of the batches' type.
///
/// `uplo` is the triangle of A as viewed that is read; the other one may hold anything. Imaginary parts of the diagonal of a Hermitian A
/// are taken as zero. beta = 0 never reads y, alpha = 0 never reads A and x, and gives beta y; y must overlap neither A nor x.
/// Positions: uplo 1, n 2, alpha 3, a 4, lda 5, x 6, incx 7, beta 8, y 9, incy 10.
/// Cost: 2 n^2 flops (complex: 8 n^2). Source: BLAS symv, hemv.
MYRIAD_API myriad_status myriad_symv(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, myriad_batch const* x,
                                     void const* beta, myriad_batch const* y);
/// y = alpha A x + beta y with a Hermitian A; see myriad_symv.
MYRIAD_API myriad_status myriad_hemv(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, myriad_batch const* x,
                                     void const* beta, myriad_batch const* y);

/// C = alpha A B + beta C (MYRIAD_LEFT) or C = alpha B A + beta C (MYRIAD_RIGHT), A symmetric (myriad_symm) or Hermitian (myriad_hemm; the
/// same for real types). alpha and beta point at one element of the batches' type.
///
/// B and C m-by-n; A m-by-m or n-by-n; its triangle `uplo` is read, as by myriad_symv. beta = 0 never reads C, alpha = 0 never reads A and
/// B; C must overlap neither A nor B.
/// Positions: side 1, uplo 2, m 3, n 4, alpha 5, a 6, lda 7, b 8, ldb 9, beta 10, c 11, ldc 12.
/// Cost: 2 m^2 n or 2 m n^2 flops (complex: four times that). Source: BLAS symm, hemm.
MYRIAD_API myriad_status myriad_symm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                                     myriad_batch const* b, void const* beta, myriad_batch const* c);
/// The product with a Hermitian A; see myriad_symm.
MYRIAD_API myriad_status myriad_hemm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                                     myriad_batch const* b, void const* beta, myriad_batch const* c);

/// C = alpha A A^T + beta C with a symmetric C (myriad_syrk), or C = alpha A A^H + beta C with a Hermitian C (myriad_herk; the same for
/// real types). A n-by-k as viewed, C n-by-n. alpha and beta point at one element of the batches' type (myriad_herk: of the corresponding
/// real type).
///
/// The triangle `uplo` of C is read and written, and imaginary parts of a Hermitian diagonal become zero. beta = 0 never reads C; alpha = 0
/// or k = 0 never reads A, and with beta = 1 does not change C; C must not overlap A.
/// Positions: uplo 1, n 3, k 4, alpha 5, a 6, lda 7, beta 8, c 9, ldc 10.
/// Cost: n(n + 1) k flops (complex: four times that). Source: BLAS syrk, herk.
MYRIAD_API myriad_status myriad_syrk(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, void const* beta,
                                     myriad_batch const* c);
/// C = alpha A A^H + beta C with a Hermitian C; see myriad_syrk.
MYRIAD_API myriad_status myriad_herk(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, void const* beta,
                                     myriad_batch const* c);

/// C = alpha (A B^T + B A^T) + beta C with a symmetric C (myriad_syr2k), or C = alpha A B^H + conj(alpha) B A^H + beta C with a Hermitian C
/// (myriad_her2k; the same for real types). alpha and beta point at one element of the batches' type (beta of myriad_her2k: of the
/// corresponding real type).
///
/// A and B n-by-k as viewed; otherwise as myriad_syrk.
/// Positions: uplo 1, n 3, k 4, alpha 5, a 6, lda 7, b 8, ldb 9, beta 10, c 11, ldc 12.
/// Cost: 2 n(n + 1) k flops (complex: four times that). Source: BLAS syr2k, her2k.
MYRIAD_API myriad_status myriad_syr2k(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                                      myriad_batch const* b, void const* beta, myriad_batch const* c);
/// The update of a Hermitian C; see myriad_syr2k.
MYRIAD_API myriad_status myriad_her2k(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                                      myriad_batch const* b, void const* beta, myriad_batch const* c);

/// Solves A X = alpha B (MYRIAD_LEFT) or X A = alpha B (MYRIAD_RIGHT) with a triangular A; X replaces B. alpha points at one element.
///
/// B m-by-n; A m-by-m or n-by-n. `uplo` is the triangle of A as viewed; the other one, and the diagonal with MYRIAD_UNIT, are not read. A
/// singular A gives Inf or NaN in its own X. alpha = 0 sets B to zero without reading A.
/// Positions: side 1, uplo 2, diag 4, m 5, n 6, alpha 7, a 8, lda 9, b 10, ldb 11. Cost: m^2 n or m n^2 flops. Source: BLAS trsm.
MYRIAD_API myriad_status myriad_trsm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_diag diag, void const* alpha,
                                     myriad_batch const* a, myriad_batch const* b);

/// B = alpha A B (MYRIAD_LEFT) or B = alpha B A (MYRIAD_RIGHT) with a triangular A, in place. alpha points at one element.
///
/// Shapes, elements read, and positions: as myriad_trsm. NaN or infinity in B may spread to other rows (MYRIAD_RIGHT: columns) of that B.
/// Cost: m^2 n or m n^2 flops (complex: four times that). Source: BLAS trmm.
MYRIAD_API myriad_status myriad_trmm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_diag diag, void const* alpha,
                                     myriad_batch const* a, myriad_batch const* b);

/// x = A x (myriad_trmv), or the solution of A x = b, which replaces b (myriad_trsv), with a triangular A. A n-by-n, x n-by-1.
///
/// `uplo` is the triangle of A as viewed; the other one, and the diagonal with MYRIAD_UNIT, are not used. A singular A gives Inf or NaN in
/// its own solution. x must not overlap A.
/// Positions: uplo 1, diag 3, n 4, a 5, lda 6, x 7, incx 8. Cost: n^2 flops (complex: four times that). Source: BLAS trmv, trsv.
MYRIAD_API myriad_status myriad_trmv(myriad_queue* queue, myriad_uplo uplo, myriad_diag diag, myriad_batch const* a, myriad_batch const* x);
/// Solves A x = b with a triangular A; see myriad_trmv.
MYRIAD_API myriad_status myriad_trsv(myriad_queue* queue, myriad_uplo uplo, myriad_diag diag, myriad_batch const* a, myriad_batch const* x);

/// The inverse of a triangular A, in place. a: n-by-n; the triangle `uplo` is read and overwritten, without the diagonal for MYRIAD_UNIT.
///
/// info: 0, or i > 0 if element (i, i), counted from one, is the first zero on the diagonal; that matrix is not changed.
/// Positions: uplo 1, diag 2, n 3, a 4, lda 5. Cost: n^3 / 3 flops (complex: four times that). Source: LAPACK trtri.
MYRIAD_API myriad_status myriad_trtri(myriad_queue* queue, myriad_uplo uplo, myriad_diag diag, myriad_batch const* a, int* info);

// ---- LU, linear systems, inverses, determinants -------------------------------------------------
//
// info: 0, or i > 0 if U(i, i), counted from one, is exactly zero (the first such i). The factorization is then complete, but no solution
// or inverse is computed: in-place routines keep that matrix, and a separate output X is filled with NaN. pivots: a batch of MYRIAD_INT
// vectors with min(m, n) entries. Row i was interchanged with row pivots[i], counted from one.

/// PA = LU with partial pivoting, in place: L unit lower trapezoidal below the diagonal, U on and above it. a: m-by-n.
///
/// Positions: m 1, n 2, a 3, lda 4, ipiv 5. Cost: 2/3 n^3 flops for m = n. Source: LAPACK getrf; ties take the lowest row.
MYRIAD_API myriad_status myriad_getrf(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, int* info);

/// A = LU without pivoting, in place. info = i > 0: U(i, i) is exactly zero. Stable only for matrices that need no pivoting, such as
/// diagonally dominant ones.
///
/// Positions: m 1, n 2, a 3, lda 4. Cost: as getrf. Source: MAGMA getrf_nopiv.
MYRIAD_API myriad_status myriad_getrf_nopiv(myriad_queue* queue, myriad_batch const* a, int* info);

/// Solves op(A) X = B with the factors of getrf; X replaces B. pivots NULL: factors of getrf_nopiv. a: n-by-n, b: n-by-nrhs.
///
/// Positions: trans 1, n 2, nrhs 3, a 4, lda 5, ipiv 6, b 7, ldb 8. Zeros on the diagonal of U give Inf or NaN.
/// Cost: 2 n^2 nrhs flops. Source: LAPACK getrs.
MYRIAD_API myriad_status myriad_getrs(myriad_queue* queue, myriad_op trans, myriad_batch const* a, myriad_batch const* pivots,
                                      myriad_batch const* b);

/// Solves A X = B: A is overwritten by its factors, B by X. pivots may be NULL when they are not wanted.
///
/// Positions: n 1, nrhs 2, a 3, lda 4, ipiv 5, b 6, ldb 7. Cost: 2/3 n^3 + 2 n^2 nrhs flops. Source: LAPACK gesv.
MYRIAD_API myriad_status myriad_gesv(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, myriad_batch const* b,
                                     int* info);

/// Solves A X = B and keeps A and B. x may be the same batch as b. A singular matrix has info > 0 and its X filled with NaN.
///
/// Positions: n 1, nrhs 2, a 3, lda 4, b 5, ldb 6, x 7, ldx 8. Cost: as gesv.
MYRIAD_API myriad_status myriad_solve(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, myriad_batch const* x, int* info);

/// The inverse from the factors of getrf, in place. pivots NULL: factors of getrf_nopiv. info = i > 0: U(i, i) is zero and that matrix is
/// not changed.
///
/// Positions: n 1, a 2, lda 3, ipiv 4. Cost: 4/3 n^3 flops. Source: LAPACK getri.
MYRIAD_API myriad_status myriad_getri(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, int* info);

/// X = A^-1, with partial pivoting. x may be the same batch as a. A singular matrix has info > 0 and its X filled with NaN. On a GPU info
/// may differ from that of myriad_getrf if only rounding decides whether a pivot is zero.
///
/// Positions: n 1, a 2, lda 3, x 4, ldx 5. Cost: 2 n^3 flops. Source: LAPACK getrf and getri.
MYRIAD_API myriad_status myriad_inverse(myriad_queue* queue, myriad_batch const* a, myriad_batch const* x, int* info);

/// det(A) of every matrix; A is kept. determinant: one element of a's type per matrix. It overflows only if the determinant itself does.
///
/// Positions: n 1, a 2, lda 3, det 4. Cost: 2/3 n^3 flops.
MYRIAD_API myriad_status myriad_det(myriad_queue* queue, myriad_batch const* a, void* determinant);

/// det(A) = sign * exp(logabs). sign: one element of a's type per matrix, 0 or of modulus one; logabs: one real per matrix (float for
/// MYRIAD_F32 and MYRIAD_C32, else double), -infinity for a singular matrix.
///
/// Positions: n 1, a 2, lda 3, sign 4, logabs 5. Cost: 2/3 n^3 flops. Like numpy.linalg.slogdet.
MYRIAD_API myriad_status myriad_logdet(myriad_queue* queue, myriad_batch const* a, void* sign, void* logabs);

// ---- Cholesky -----------------------------------------------------------------------------------
//
// Only the triangle `uplo` of A, as viewed, is read and written. info: 0, or i > 0 if the leading minor of order i is not positive definite
// (NaN counts as not positive definite).

/// A = L L^H (MYRIAD_LOWER) or U^H U (MYRIAD_UPPER), in place. With info > 0 the content of that triangle is unspecified.
///
/// Positions: uplo 1, n 2, a 3, lda 4. Cost: n^3 / 3 flops. Source: LAPACK potrf.
MYRIAD_API myriad_status myriad_potrf(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, int* info);

/// Solves A X = B with the factor of potrf; X replaces B.
///
/// Positions: uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7. Cost: 2 n^2 nrhs flops. Source: LAPACK potrs.
MYRIAD_API myriad_status myriad_potrs(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b);

/// Solves A X = B: A is overwritten by its factor, B by X; if info > 0, B is not changed.
///
/// Positions: uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7. Cost: n^3 / 3 + 2 n^2 nrhs flops. Source: LAPACK posv.
MYRIAD_API myriad_status myriad_posv(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b, int* info);

/// Solves A X = B and keeps A and B. x may be the same batch as b. A matrix that is not positive definite has info > 0 and its X filled
/// with NaN.
///
/// Positions: uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, x 8, ldx 9. Cost: as posv; n (n + 1) / 2 + 2 n nrhs elements moved.
MYRIAD_API myriad_status myriad_solve_positive_definite(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b,
                                                        myriad_batch const* x, int* info);

/// The triangle `uplo` of A^-1 from the factor of potrf, in place. info = i > 0: element (i, i) of the factor is zero and that matrix is
/// not changed.
///
/// Positions: uplo 1, n 2, a 3, lda 4. Cost: 2/3 n^3 flops. Source: LAPACK potri.
MYRIAD_API myriad_status myriad_potri(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, int* info);

/// A + jitter I + E = L L^H (MYRIAD_LOWER) or U^H U (MYRIAD_UPPER), in place. jitter, floor: NULL or one real number per matrix (float for
/// MYRIAD_F32 and MYRIAD_C32, else double), in the queue's memory. The jitter is added to the diagonal. A pivot d below a positive floor is
/// replaced by the floor: E is diagonal, floor - d in those places. replaced: NULL or how many pivots were, for each matrix.
///
/// Positions: uplo 1, n 2, a 3, lda 4, jitter 5, floor 6, replaced 7. Cost: as potrf. See myriad/cholesky.hpp.
MYRIAD_API myriad_status myriad_potrf_regularized(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, void const* jitter,
                                                  void const* floor, int* replaced, int* info);

/// Solves (A + jitter I + E) X = B with that factor, which overwrites A; X replaces B. Where info > 0, B is kept.
///
/// Positions: uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, jitter 8, floor 9, replaced 10. Cost: as posv.
MYRIAD_API myriad_status myriad_posv_regularized(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b,
                                                 void const* jitter, void const* floor, int* replaced, int* info);

// ---- Mixed precision ----------------------------------------------------------------------------
//
// A is factored in single precision and X refined in double; matrices for which that fails are solved in double, each for itself. iter:
// NULL or one entry per matrix: i >= 0: X is there after i refinements, A is as it was and info is 0; below zero: A, X, pivots and info are
// those of the plain routine, since -1: the elements are in single precision already, -2: a number was too large for single precision,
// -3: the factorization in single precision failed, -31: refinement did not converge, or A or B holds NaN. x may be the very batch b, which
// is kept otherwise. A matrix without a solution has info > 0 and its X filled with NaN. See myriad/mixed.hpp.

/// Solves A X = B by LU factorization. a: n-by-n; pivots: n per matrix, of the factorization that X comes from, or NULL; b, x: n-by-nrhs.
///
/// Positions: n 1, nrhs 2, a 3, lda 4, ipiv 5, b 6, ldb 7, x 8, ldx 9, iter 12. Source: LAPACK dsgesv, zcgesv.
MYRIAD_API myriad_status myriad_gesv_mixed(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, myriad_batch const* b,
                                           myriad_batch const* x, int* iter, int* info);

/// The same with a symmetric (Hermitian) positive definite A, of which the triangle `uplo` is read, and written where iter < 0.
///
/// Positions: uplo 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, x 8, ldx 9, iter 12. Source: LAPACK dsposv, zcposv.
MYRIAD_API myriad_status myriad_posv_mixed(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b,
                                           myriad_batch const* x, int* iter, int* info);

// ---- QR and least squares -----------------------------------------------------------------------

/// A = Q R in place: R on and above the diagonal, Householder vectors below. a: m-by-n; tau: vectors with min(m, n) entries.
///
/// Positions: m 1, n 2, a 3, lda 4, tau 5. Cost: 2 n^2 (m - n / 3) flops for m >= n. Source: LAPACK geqrf.
MYRIAD_API myriad_status myriad_geqrf(myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau);

/// A P = Q R with column pivoting, in place as geqrf. a: m-by-n; jpvt: vectors of int with n entries, read and written; tau: vectors with
/// min(m, n) entries. A column j with jpvt(j) != 0 goes to the front and is not pivoted: set jpvt to zero to pivot all. On return jpvt(k)
/// is the number, from one, of the column of A that is column k of A P.
///
/// Positions: m 1, n 2, a 3, lda 4, jpvt 5, tau 6. Cost: that of geqrf and 4 m n flops. Source: LAPACK geqp3.
MYRIAD_API myriad_status myriad_geqp3(myriad_queue* queue, myriad_batch const* a, myriad_batch const* jpvt, myriad_batch const* tau);

/// C = op(Q) C (MYRIAD_LEFT) or C op(Q) (MYRIAD_RIGHT) with the reflectors of geqrf in the first k columns of a; tau has k rows.
///
/// c: m-by-n; a has m or n rows. MYRIAD_TRANSPOSE is for real types.
/// Positions: side 1, trans 2, m 3, n 4, k 5, a 6, lda 7, tau 8, c 9, ldc 10. Cost: 4 m n k - 2 n k^2 flops (left). Source: LAPACK ormqr.
MYRIAD_API myriad_status myriad_ormqr(myriad_queue* queue, myriad_side side, myriad_op trans, myriad_batch const* a,
                                      myriad_batch const* tau, myriad_batch const* c);
/// The complex name of myriad_ormqr.
MYRIAD_API myriad_status myriad_unmqr(myriad_queue* queue, myriad_side side, myriad_op trans, myriad_batch const* a,
                                      myriad_batch const* tau, myriad_batch const* c);

/// The first n columns of Q, in place: a is m-by-n with m >= n and holds the k <= n reflectors of geqrf; tau has k rows.
///
/// Positions: m 1, n 2, k 3, a 4, lda 5, tau 6. Cost: 4 m n k - 2 (m + n) k^2 + 4/3 k^3 flops. Source: LAPACK orgqr.
MYRIAD_API myriad_status myriad_orgqr(myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau);
/// The complex name of myriad_orgqr.
MYRIAD_API myriad_status myriad_ungqr(myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau);

/// Least squares (m >= n) or minimum norm (m < n) for A of full rank. a: m-by-n, overwritten by its factorization (of A times a power of
/// two if A is near overflow or underflow). b: max(m, n)-by-nrhs; its first m rows hold B, on return its first n rows hold X.
///
/// info: 0, or i > 0 if element (i, i) of the triangular factor is exactly zero; that X is not computed.
/// Positions: m 2, n 3, nrhs 4, a 5, lda 6, b 7, ldb 8. Cost: 2 n^2 (m - n / 3) + 4 m n nrhs flops. Source: LAPACK gels (op is a view).
MYRIAD_API myriad_status myriad_gels(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, int* info);

/// Least squares for A of any rank: the X of least norm, from myriad_geqp3 and a complete orthogonal factorization, which replaces A. a, b:
/// as for myriad_gels. jpvt: as for myriad_geqp3, zero to pivot all columns. rank: NULL or one per matrix, the order of the largest leading
/// triangle of R whose estimated condition number is at most 1 / rcond. If A has NaN or infinity, its rank is 0 and its X NaN.
/// rcond is taken as it is: no negative number stands for a default as in gelsd.
///
/// Positions: m 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, jpvt 8, rcond 9, rank 10. Source: LAPACK gelsy.
MYRIAD_API myriad_status myriad_gelsy(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, myriad_batch const* jpvt,
                                      double rcond, int* rank);

// ---- Eigenvalues --------------------------------------------------------------------------------

/// The eigenvalues of every symmetric (complex: Hermitian) matrix and, with MYRIAD_VECTORS, the eigenvectors: A = Q diag(w) Q^H.
///
/// a: n-by-n; the triangle `uplo` is read, without the imaginary parts of the diagonal. With MYRIAD_VECTORS a is overwritten by Q; with
/// MYRIAD_VALUES that triangle is unspecified afterwards. w: n-by-1 of a's real type, ascending. info: 0; n if the triangle has NaN or
/// infinity (then w and, with MYRIAD_VECTORS, a are NaN); i > 0 if the iteration did not converge.
/// Positions: jobz 1, uplo 2, n 3, a 4, lda 5, w 6.
/// Cost: 4/3 n^3 flops, about 9 n^3 with vectors (complex: four times that). Source: LAPACK syevd, heevd.
MYRIAD_API myriad_status myriad_syevd(myriad_queue* queue, myriad_job job, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* w,
                                      int* info);
/// The complex name of myriad_syevd.
MYRIAD_API myriad_status myriad_heevd(myriad_queue* queue, myriad_job job, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* w,
                                      int* info);

/// The reduction of every symmetric (complex: Hermitian) matrix to a real tridiagonal one: A = Q T Q^H.
///
/// a: n-by-n; the triangle `uplo` is read and overwritten by T and LAPACK's reflectors. d: n-by-1, e: (n - 1)-by-1, of a's real type; tau:
/// (n - 1)-by-1.
/// Positions: uplo 1, n 2, a 3, lda 4, d 5, e 6, tau 7. Cost: 4/3 n^3 flops (complex: four times that). Source: LAPACK sytrd, hetrd.
MYRIAD_API myriad_status myriad_sytrd(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* d,
                                      myriad_batch const* e, myriad_batch const* tau);
/// The complex name of myriad_sytrd.
MYRIAD_API myriad_status myriad_hetrd(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* d,
                                      myriad_batch const* e, myriad_batch const* tau);

/// Forms Q of myriad_sytrd in place; overwrites the reflectors.
/// Positions: uplo 1, n 2, a 3, lda 4, tau 5. Cost: 4/3 n^3 flops (complex: four times that). Source: LAPACK orgtr, ungtr.
MYRIAD_API myriad_status myriad_orgtr(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* tau);
/// The complex name of myriad_orgtr.
MYRIAD_API myriad_status myriad_ungtr(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* tau);

/// C = op(Q) C (left) or C op(Q) (right) with the Q of myriad_sytrd. MYRIAD_TRANSPOSE is for real types.
/// Positions: side 1, uplo 2, trans 3, m 4, n 5, a 6, lda 7, tau 8, c 9, ldc 10.
/// Cost: 2 m^2 n flops (left; complex: four times that). Source: LAPACK ormtr, unmtr.
MYRIAD_API myriad_status myriad_ormtr(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_op trans, myriad_batch const* a,
                                      myriad_batch const* tau, myriad_batch const* c);
/// The complex name of myriad_ormtr.
MYRIAD_API myriad_status myriad_unmtr(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_op trans, myriad_batch const* a,
                                      myriad_batch const* tau, myriad_batch const* c);

// ---- Singular values ----------------------------------------------------------------------------

/// The singular value decomposition of every matrix: A = U diag(s) V^H.
///
/// a: m-by-n, unspecified afterwards. s: k-by-1 of a's real type, k = min(m, n), descending. u: m-by-k, or m-by-m with MYRIAD_SVD_FULL; vt
/// = V^H: k-by-n, or n-by-n; one that `job` does not ask for may be NULL. info: 0; k if A has NaN or infinity (then s, u and vt are NaN);
/// i > 0 if the iteration did not converge.
/// Positions: jobz 1, m 2, n 3, a 4, lda 5, s 6, u 7, ldu 8, vt 9, ldvt 10.
/// Cost for m >= n: 4 n^2 (m - n / 3) flops, about 4 m n^2 + 8 n^3 more with thin vectors (complex: four times that). Source: LAPACK gesdd.
MYRIAD_API myriad_status myriad_gesvd(myriad_queue* queue, myriad_svd_job job, myriad_batch const* a, myriad_batch const* s,
                                      myriad_batch const* u, myriad_batch const* vt, int* info);

/// myriad_gesvd with high relative accuracy: where A = B D (m >= n) or A = D B (m <= n) with a diagonal D, values have relative errors of
/// the order of max(m, n) u cond(B), by one-sided Jacobi. Cost: on a CPU 1.2 to 1.5 times that of myriad_gesvd, on a GPU more. Source:
/// LAPACK gejsv, with the arguments, results and positions of myriad_gesvd.
MYRIAD_API myriad_status myriad_gejsv(myriad_queue* queue, myriad_svd_job job, myriad_batch const* a, myriad_batch const* s,
                                      myriad_batch const* u, myriad_batch const* vt, int* info);

/// The pseudoinverse of every matrix: X = V diag(1 / s(i) where s(i) > rcond s(1), else 0) U^H.
///
/// a: m-by-n, only read; x: n-by-m. rcond < 0 stands for max(m, n) eps. rank: NULL or one per matrix, the number of singular values above
/// rcond s(1). info: that of myriad_gesvd.
/// Positions: m 1, n 2, a 3, lda 4, rcond 5, x 6, ldx 7, rank 8. Cost: that of myriad_gesvd, and 2 m n min(m, n) flops.
MYRIAD_API myriad_status myriad_pinv(myriad_queue* queue, myriad_batch const* a, double rcond, myriad_batch const* x, int* rank, int* info);

/// Least squares for A of any rank: X of the smallest norm among those that minimize |B - A X|. Singular values up to rcond s(1) count as
/// zero; rcond < 0 stands for the unit roundoff.
///
/// a: m-by-n, unspecified afterwards. b: max(m, n)-by-nrhs; its first m rows hold B, on return its first n rows hold X, and for m > n > 0
/// the sum of squares of the rest of a column is its squared residual norm. s: the singular values, min(m, n)-by-1 of a's real type, or
/// NULL. rank: NULL or one per matrix. info: that of myriad_gesvd.
/// Positions: m 1, n 2, nrhs 3, a 4, lda 5, b 6, ldb 7, s 8, rcond 9, rank 10. Cost: that of myriad_gesvd with thin vectors, and 2 (m + n)
/// min(m, n) nrhs flops. Source: LAPACK gelsd.
MYRIAD_API myriad_status myriad_gelsd(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, myriad_batch const* s,
                                      double rcond, int* rank, int* info);

/// The rank of every matrix: the number of singular values above atol and rtol s(1). rtol < 0 stands for max(m, n) eps, or for 0 if atol >
/// 0. rank: one per matrix, 0 for a matrix with NaN or infinity. info: that of myriad_gesvd. Positions: m 1, n 2, a 3, lda 4, atol 5, rtol
/// 6, rank 7. Cost: that of myriad_gesvd with values. Like numpy.linalg.matrix_rank.
MYRIAD_API myriad_status myriad_matrix_rank(myriad_queue* queue, myriad_batch const* a, double atol, double rtol, int* rank, int* info);

/// The condition number of every matrix in the 2-norm. condition: one real per matrix (float for MYRIAD_F32 and MYRIAD_C32); infinity if
/// the smallest singular value is computed as zero, 0 if A has no elements, NaN if it has NaN or infinity. info: that of myriad_gesvd.
/// Positions: m 1, n 2, a 3, lda 4, cond 5. Cost: that of myriad_gesvd with values. Like numpy.linalg.cond.
MYRIAD_API myriad_status myriad_cond(myriad_queue* queue, myriad_batch const* a, void* condition, int* info);

/// The 2-norm of every matrix, its largest singular value. norm: one real per matrix, as for myriad_cond. info: that of myriad_gesvd.
/// Positions: m 1, n 2, a 3, lda 4, norm 5. Cost: that of myriad_gesvd with values.
MYRIAD_API myriad_status myriad_norm2(myriad_queue* queue, myriad_batch const* a, void* norm, int* info);

/// The reduction of every matrix to a real bidiagonal one, upper for m >= n and lower for m < n: A = Q B P^H.
///
/// a: m-by-n, overwritten by B and LAPACK's reflectors. d: k-by-1, e: (k - 1)-by-1, of a's real type, k = min(m, n); tauq, taup: k-by-1.
/// Positions: m 1, n 2, a 3, lda 4, d 5, e 6, tauq 7, taup 8.
/// Cost for m >= n: 4 n^2 (m - n / 3) flops (complex: four times that). Source: LAPACK gebrd.
MYRIAD_API myriad_status myriad_gebrd(myriad_queue* queue, myriad_batch const* a, myriad_batch const* d, myriad_batch const* e,
                                      myriad_batch const* tauq, myriad_batch const* taup);

/// The first n columns of Q (MYRIAD_Q; min(m, k) <= n <= m) or the first m rows of P^H (MYRIAD_P; min(n, k) <= m <= n) of myriad_gebrd, in
/// place of the reflectors. k: the number of columns (MYRIAD_Q) or rows (MYRIAD_P) of the matrix that was reduced; k_sizes: NULL, or in
/// ragged batches that number for each, at most k. tau: min(m, k)-by-1 or min(n, k)-by-1.
/// Positions: vect 1, m 2, n 3, k 4, a 5, lda 6, tau 7. Cost: that of myriad_orgqr. Source: LAPACK orgbr, ungbr.
MYRIAD_API myriad_status myriad_orgbr(myriad_queue* queue, myriad_vect vect, int64_t k, int64_t const* k_sizes, myriad_batch const* a,
                                      myriad_batch const* tau);
/// The complex name of myriad_orgbr.
MYRIAD_API myriad_status myriad_ungbr(myriad_queue* queue, myriad_vect vect, int64_t k, int64_t const* k_sizes, myriad_batch const* a,
                                      myriad_batch const* tau);

/// C = op(Q) C or op(P) C (left), C op(Q) or C op(P) (right) with the Q or P of myriad_gebrd. a: r-by-min(r, k) (MYRIAD_Q) or
/// min(r, k)-by-r (MYRIAD_P), r being the order of Q or P; k, k_sizes: as in myriad_orgbr. MYRIAD_TRANSPOSE is for real types.
/// Positions: vect 1, side 2, trans 3, m 4, n 5, k 6, a 7, lda 8, tau 9, c 10, ldc 11.
/// Cost: that of myriad_ormqr. Source: LAPACK ormbr, unmbr.
MYRIAD_API myriad_status myriad_ormbr(myriad_queue* queue, myriad_vect vect, myriad_side side, myriad_op trans, int64_t k,
                                      int64_t const* k_sizes, myriad_batch const* a, myriad_batch const* tau, myriad_batch const* c);
/// The complex name of myriad_ormbr.
MYRIAD_API myriad_status myriad_unmbr(myriad_queue* queue, myriad_vect vect, myriad_side side, myriad_op trans, int64_t k,
                                      int64_t const* k_sizes, myriad_batch const* a, myriad_batch const* tau, myriad_batch const* c);

// ---- Equilibration, refinement, backward errors -------------------------------------------------
//
// r, c, ferr and berr are vectors of a's real type: MYRIAD_F32 for MYRIAD_C32, MYRIAD_F64 for MYRIAD_C64.

/// Scalings r, c, all powers of two, such that the largest element of every row and column of diag(r) A diag(c) is near one.
///
/// a: m-by-n; r: m, c: n entries. rowcnd, colcnd: ratio of smallest to largest scaling, amax: largest abs element; NULL or one real per
/// matrix. info: 0, i in 1..m: row i is zero, m + j: column j is zero (r and c are then 1 for that matrix).
/// Positions: m 1, n 2, a 3, lda 4, r 5, c 6. Cost: mn elements read. Source: LAPACK geequb.
MYRIAD_API myriad_status myriad_geequ(myriad_queue* queue, myriad_batch const* a, myriad_batch const* r, myriad_batch const* c,
                                      void* rowcnd, void* colcnd, void* amax, int* info);

/// A = diag(r) A diag(c), in place. r or c NULL means ones. Positions: m 1, n 2, a 3, lda 4, r 5, c 6. Source: LAPACK laqge, lascl2.
MYRIAD_API myriad_status myriad_laqge(myriad_queue* queue, myriad_batch const* a, myriad_batch const* r, myriad_batch const* c);

/// Refines X, a solution of op(A) X = B from the factors af and pivots of getrf, until its componentwise backward error stops falling.
///
/// a, af: n-by-n; b, x: n-by-nrhs; ferr, berr: nrhs entries, or NULL. pivots NULL: factors of getrf_nopiv.
/// Positions: trans 1, n 2, nrhs 3, a 4, lda 5, af 6, ldaf 7, ipiv 8, b 9, ldb 10, x 11, ldx 12, ferr 13, berr 14.
/// Cost: 6 n^2 nrhs flops per sweep, usually one or two sweeps; about as many solves again for ferr. Source: LAPACK gerfs, which stops
/// earlier.
MYRIAD_API myriad_status myriad_gerfs(myriad_queue* queue, myriad_op trans, myriad_batch const* a, myriad_batch const* af,
                                      myriad_batch const* pivots, myriad_batch const* b, myriad_batch const* x, myriad_batch const* ferr,
                                      myriad_batch const* berr);

/// The componentwise backward error of X as a solution of A X = B, with the residual in twice the precision. Only berr is written.
///
/// a: m-by-n, x: n-by-nrhs, b: m-by-nrhs, berr: nrhs entries.
/// Positions: m 1, n 2, nrhs 3, a 4, lda 5, x 6, ldx 7, b 8, ldb 9, berr 10. Cost: 4 m n nrhs flops. Source: Oettli and Prager 1964.
MYRIAD_API myriad_status myriad_backward_error(myriad_queue* queue, myriad_batch const* a, myriad_batch const* x, myriad_batch const* b,
                                               myriad_batch const* berr);

// ---- Streams ------------------------------------------------------------------------------------

/// The direction in which an operand of a stream is copied: to the GPU, back from it, or both.
typedef enum myriad_use MYRIAD_ENUM_TYPE { MYRIAD_IN = 0, MYRIAD_OUT = 1, MYRIAD_IN_OUT = 2 } myriad_use;

/// A batch in host memory. An array with one number per matrix is a batch of 1-by-1 matrices: myriad_strided(MYRIAD_INT, 1, 1, info, 1, 1,
/// count).
typedef struct myriad_operand {
  myriad_batch batch;  ///< in host memory
  myriad_use use;      ///< direction of the copies
} myriad_operand;

/// Statistics of a stream.
typedef struct myriad_stream_report {
  int64_t chunks;        ///< number of chunks
  int64_t bytes_in;      ///< copied to the GPU
  int64_t bytes_out;     ///< copied from it
  int64_t bytes_staged;  ///< of these, bytes that went through the library's pinned staging buffers
  double seconds;        ///< from call to return
} myriad_stream_report;

/// Streams batches in host memory through the queue's GPU in chunks, six at a time, so that copies in, computation and copies out
/// overlap. Calls work(queue, arguments, user) for every chunk: `arguments` are the chunk's part of the operands, in GPU memory. `queue`
/// belongs to the stream; the callback must not wait for or destroy it. Returns when all results are in host memory. A status of `work`
/// other than MYRIAD_OK ends the stream and is returned, with the error text of `queue`. On a CPU queue `work` is called once, with the
/// queue and the operands themselves.
///
/// chunk_bytes: maximum bytes of a chunk; 0: chosen by the library. report: NULL, or gets the statistics.
/// Positions: chunk_bytes 2, operand k, counted from 1, k + 2. See myriad/stream.hpp.
MYRIAD_API myriad_status myriad_stream(myriad_queue* queue, int64_t chunk_bytes, myriad_operand const* operands, int operand_count,
                                       myriad_status (*work)(myriad_queue* queue, myriad_batch const* arguments, void* user), void* user,
                                       myriad_stream_report* report);

/// How a stream on several GPUs goes on after an error of one of them: it fails, or the GPU's unfinished chunks go to the others.
typedef enum myriad_on_gpu_failure MYRIAD_ENUM_TYPE { MYRIAD_STOP = 0, MYRIAD_MOVE_TO_OTHERS = 1 } myriad_on_gpu_failure;

/// The part of one GPU in a stream.
typedef struct myriad_stream_share {
  int device;        ///< number of the GPU; -1: the CPU
  int64_t matrices;  ///< computed on it
  int failed;        ///< 1: an error took it out of the stream; myriad_last_error of its queue says which
} myriad_stream_share;

/// Streams through several GPUs, one queue each: a chunk goes to the GPU that has the fewest in flight. `work` is called by the calling
/// thread alone. An error of a GPU, also one that a routine gives to `work` and `work` returns, is handled as `on_gpu_failure` says;
/// the error text, which names the GPU, is that of queues[0]. All else is as in myriad_stream.
///
/// report: NULL, or gets the statistics. shares: NULL, or queue_count entries. complete: NULL, or one entry per matrix: 1 where all results
/// are in host memory, else 0, also if the stream fails after the operands were checked.
/// Positions: queues 1, chunk_bytes and on_gpu_failure 2, operand k, counted from 1, k + 2. See myriad/stream.hpp.
MYRIAD_API myriad_status myriad_stream_on_gpus(myriad_queue* const* queues, int queue_count, int64_t chunk_bytes,
                                               myriad_on_gpu_failure on_gpu_failure, myriad_operand const* operands, int operand_count,
                                               myriad_status (*work)(myriad_queue* queue, myriad_batch const* arguments, void* user),
                                               void* user, myriad_stream_report* report, myriad_stream_share* shares,
                                               unsigned char* complete);

// ---- Tuning -------------------------------------------------------------------------------------

/// The fastest config for a kernel, type and sizes. Valid during the callback that gets it.
typedef struct myriad_tuned_config {
  char const* kernel;        ///< "gemm_pipelined"
  myriad_dtype dtype;        ///< element type
  int64_t sizes[3];          ///< m, n, k of a product
  int value_count;           ///< number of names and values of the config; the plan's if nothing was faster
  char const* const* names;  ///< value_count of them
  int const* values;         ///< value_count of them
  double seconds;            ///< median time of a call
  double planned_seconds;    ///< the same with the plan's config
  int64_t tried;             ///< configs that were timed
} myriad_tuned_config;

/// Options of myriad_tune; zero members are defaults.
typedef struct myriad_tune_options {
  double budget;       ///< seconds for the whole search, including compilation; 0: 60
  int64_t candidates;  ///< maximum number of configs tried per problem; 0: 40
  int threads;         ///< concurrent compilations; 0: number of cores
  int again;           ///< not 0: also tune problems that the user's table has
  /// Restores what a call changes. Called before each call; not timed. May be NULL. A status other than MYRIAD_OK ends the search.
  myriad_status (*refresh)(myriad_queue* queue, void* user);
  /// Reports progress: index of the problem from 0, number of problems, and the part of the problem that is done, from 0 to 1. Return 0 to
  /// stop. May be NULL.
  int (*progress)(int64_t problem, int64_t problems, double done, void* user);
  /// Called at the end for each problem that was tuned. May be NULL.
  void (*found)(myriad_tuned_config const* entry, void* user);
} myriad_tune_options;

/// Times configs of the kernels that calls(queue, user) launches, and stores the fastest in this process and in the user's table.
///
/// `calls` must only call routines on its queue, and return the first status that is not MYRIAD_OK. It must not wait for or destroy the
/// queue. It is called repeatedly and by several threads at once, only one of which launches anything. The operands should be several times
/// larger than the caches. An error of `calls` ends the search and is returned; a kernel that does not compile or run is skipped.
///
/// options: may be NULL.
/// Positions: queue 1 (is on the CPU, or being prepared or captured), calls 2, options 3. See myriad/tune.hpp and docs/tuning.md.
MYRIAD_API myriad_status myriad_tune(myriad_queue* queue, myriad_status (*calls)(myriad_queue* queue, void* user), void* user,
                                     myriad_tune_options const* options);

#ifdef __cplusplus
}
#endif

#endif
