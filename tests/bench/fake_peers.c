/* cuBLAS and cuSOLVER that do nothing: every function that gpu_bench calls is there, says that all is well, and wants no workspace. */
#include <stddef.h>

#define NOTHING(name) \
  int name(void) { return 0; }
#define HANDLE(name)           \
  int name(void** handle) {    \
    static int made;           \
    return *handle = &made, 0; \
  }
#define OF_TYPES(begin, end) NOTHING(begin##S##end) NOTHING(begin##D##end) NOTHING(begin##C##end) NOTHING(begin##Z##end)

HANDLE(cublasCreate_v2)
HANDLE(cusolverDnCreate)
HANDLE(cusolverDnCreateSyevjInfo)
HANDLE(cusolverDnCreateParams)
NOTHING(cublasDestroy_v2)
NOTHING(cusolverDnDestroy)
NOTHING(cusolverDnDestroySyevjInfo)
NOTHING(cusolverDnDestroyParams)
NOTHING(cublasSetStream_v2)
NOTHING(cusolverDnSetStream)
NOTHING(cublasGetVersion_v2)
NOTHING(cusolverGetVersion)

NOTHING(cublasGemmStridedBatchedEx)
NOTHING(cublasGemmBatchedEx)
NOTHING(cublasGemmGroupedBatchedEx)
OF_TYPES(cublas, gemmStridedBatched)
OF_TYPES(cublas, gemmBatched)
OF_TYPES(cublas, gemmGroupedBatched)
OF_TYPES(cublas, gemvStridedBatched)
OF_TYPES(cublas, symv_v2)
OF_TYPES(cublas, hemv_v2)
OF_TYPES(cublas, trmv_v2)
OF_TYPES(cublas, trsv_v2)
OF_TYPES(cublas, trsmBatched)
OF_TYPES(cublas, getrfBatched)
OF_TYPES(cublas, getrsBatched)
OF_TYPES(cublas, getriBatched)
OF_TYPES(cublas, matinvBatched)
OF_TYPES(cublas, geqrfBatched)
OF_TYPES(cublas, gelsBatched)

NOTHING(cusolverDnXsyevd)
NOTHING(cusolverDnXsyevd_bufferSize)
NOTHING(cusolverDnXsyevBatched)
NOTHING(cusolverDnXsyevBatched_bufferSize)
OF_TYPES(cusolverDn, potrfBatched)
OF_TYPES(cusolverDn, potrsBatched)
OF_TYPES(cusolverDn, syevjBatched)
OF_TYPES(cusolverDn, syevjBatched_bufferSize)
OF_TYPES(cusolverDn, heevjBatched)
OF_TYPES(cusolverDn, heevjBatched_bufferSize)
OF_TYPES(cusolverDn, sytrd)
OF_TYPES(cusolverDn, sytrd_bufferSize)
OF_TYPES(cusolverDn, hetrd)
OF_TYPES(cusolverDn, hetrd_bufferSize)
OF_TYPES(cusolverDn, orgtr)
OF_TYPES(cusolverDn, orgtr_bufferSize)
OF_TYPES(cusolverDn, ungtr)
OF_TYPES(cusolverDn, ungtr_bufferSize)
OF_TYPES(cusolverDn, ormtr)
OF_TYPES(cusolverDn, ormtr_bufferSize)
OF_TYPES(cusolverDn, unmtr)
OF_TYPES(cusolverDn, unmtr_bufferSize)
