/* Solves with an installed Myriad from C. */
#include <myriad/myriad.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  float a[4] = {2.0F, 0.0F, 0.0F, 4.0F};
  float b[2] = {2.0F, 8.0F};
  myriad_queue* queue;
  if (myriad_queue_create(&queue, MYRIAD_CPU, 1) != MYRIAD_OK) return 1;
  myriad_batch const matrix = myriad_strided(MYRIAD_F32, 2, 2, a, 2, 4, 1);
  myriad_batch const side = myriad_vectors(MYRIAD_F32, 2, b, 2, 1);
  myriad_status const status = myriad_gesv(queue, &matrix, NULL, &side, NULL);
  if (status != MYRIAD_OK) fprintf(stderr, "%s\n", myriad_last_error(queue));
  myriad_queue_destroy(queue);
  printf("Myriad %s: %g %g\n", myriad_version(), b[0], b[1]);
  return status != MYRIAD_OK || b[0] != 1.0F || b[1] != 2.0F || strcmp(myriad_version(), MYRIAD_VERSION) != 0;
}
