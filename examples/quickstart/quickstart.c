/* Solves 10 000 systems of 8 equations in one call. */
#include <math.h>
#include <myriad/myriad.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int const n = 8, count = 10000;
  double* a = malloc(sizeof(double) * n * n * count);
  double* b = malloc(sizeof(double) * n * count);
  int* info = malloc(sizeof(int) * count);
  if (!a || !b || !info) return 1;
  for (int i = 0; i < n * n * count; ++i) a[i] = sin(1.0 * i * i); /* any matrices, one behind the other, column-major */
  for (int i = 0; i < n * count; ++i) b[i] = cos(1.0 * i);

  myriad_queue* queue;
  myriad_status status = myriad_queue_create(&queue, MYRIAD_CPU, 0);
  if (status == MYRIAD_OK) {
    myriad_batch const matrices = myriad_strided(MYRIAD_F64, n, n, a, n, n * n, count);
    myriad_batch const right_sides = myriad_strided(MYRIAD_F64, n, 1, b, n, n, count);
    status = myriad_gesv(queue, &matrices, NULL, &right_sides, info); /* the solutions replace b, the factors a */
    if (status == MYRIAD_OK) status = myriad_queue_wait(queue);
  }
  if (status != MYRIAD_OK) {
    fprintf(stderr, "%s\n", myriad_last_error(queue));
    return 1;
  }

  int singular = 0;
  for (int k = 0; k < count; ++k) singular += info[k] != 0;
  printf("%d systems, %d singular, first solution begins with %.6f\n", count, singular, b[0]);
  myriad_queue_destroy(queue);
  free(a);
  free(b);
  free(info);
  return singular;
}
