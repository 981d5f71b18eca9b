/* Calls LAPACK by its Fortran names: dgesv of Myriad, dsyev of the system's LAPACK. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void dgesv_(int const* n, int const* nrhs, double* a, int const* lda, int* ipiv, double* b, int const* ldb, int* info);
void dsyev_(char const* jobz, char const* uplo, int const* n, double* a, int const* lda, double* w, double* work, int const* lwork,
            int* info, size_t length_of_jobz, size_t length_of_uplo);

int main(void) {
  int const n = 2, nrhs = 1, lwork = 16;
  double a[4] = {2.0, 0.0, 0.0, 4.0}, b[2] = {2.0, 8.0}, w[2] = {0.0, 0.0}, work[16];
  int ipiv[2], info = 1, info_of_dsyev = 1;
  dgesv_(&n, &nrhs, a, &n, ipiv, b, &n, &info);
  dsyev_("N", "L", &n, a, &n, w, work, &lwork, &info_of_dsyev, 1, 1);
  printf("%g %g; %g %g\n", b[0], b[1], w[0], w[1]);
  return info != 0 || info_of_dsyev != 0 || b[0] != 1.0 || b[1] != 2.0 || w[0] != 2.0 || w[1] != 4.0;
}
