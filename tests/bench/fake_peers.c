/* cuBLAS and cuSOLVER that do nothing: every function that gpu_bench calls is there, says that all is well, and wants no workspace. With
   FAKE_GESVDA cusolverDnDgesvdaStridedBatched decomposes its matrices: "right", or "wrong": with a relative error of 1e-6 in the last
   singular value. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
HANDLE(cusolverDnCreateGesvdjInfo)
HANDLE(cusolverDnCreateParams)
NOTHING(cublasDestroy_v2)
NOTHING(cusolverDnDestroy)
NOTHING(cusolverDnDestroySyevjInfo)
NOTHING(cusolverDnDestroyGesvdjInfo)
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
NOTHING(cusolverDnSgesvdaStridedBatched)
NOTHING(cusolverDnCgesvdaStridedBatched)
NOTHING(cusolverDnZgesvdaStridedBatched)
OF_TYPES(cusolverDn, gesvdaStridedBatched_bufferSize)
OF_TYPES(cusolverDn, gesvdjBatched)
OF_TYPES(cusolverDn, gesvdjBatched_bufferSize)
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

static double dot(double const* x, double const* y, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * y[i];
  return sum;
}
static void rotate(double* x, double* y, int count, double c, double s) {
  for (int i = 0; i < count; ++i) {
    double const old = x[i];
    x[i] = c * old - s * y[i];
    y[i] = s * old + c * y[i];
  }
}
/* Rotates pairs of columns of A and V until those of A are orthogonal (one-sided Jacobi). */
static void decompose(int m, int n, double const* a, double* s, double* u, double* v) {
  memcpy(u, a, sizeof(double) * (size_t)m * (size_t)n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) v[j * n + i] = i == j;
  for (int sweep = 0; sweep < 30; ++sweep)
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        double *const x = u + p * m, *const y = u + q * m;
        double const angle = 0.5 * atan2(2 * dot(x, y, m), dot(y, y, m) - dot(x, x, m));
        rotate(x, y, m, cos(angle), sin(angle));
        rotate(v + p * n, v + q * n, n, cos(angle), sin(angle));
      }
  for (int j = 0; j < n; ++j) {
    s[j] = sqrt(dot(u + j * m, u + j * m, m));
    for (int i = 0; i < m; ++i) u[j * m + i] /= s[j];
  }
}
int cusolverDnDgesvdaStridedBatched(void* handle, int job, int rank, int m, int n, double* a, int lda, long long stride_a, double* s,
                                    long long stride_s, double* u, int ldu, long long stride_u, double* v, int ldv, long long stride_v,
                                    double* work, int elements, int* info, double* residuals, int count) {
  char const* const how = getenv("FAKE_GESVDA");
  for (int k = 0; how && k < count; ++k) {
    decompose(m, n, a + k * stride_a, s + k * stride_s, u + k * stride_u, v + k * stride_v);
    if (strcmp(how, "wrong") == 0) s[k * stride_s + n - 1] *= 1 + 1e-6;
  }
  (void)handle, (void)job, (void)rank, (void)lda, (void)ldu, (void)ldv, (void)work, (void)elements, (void)info, (void)residuals;
  return 0;
}
