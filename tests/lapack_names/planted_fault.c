/* Preloaded before libmyriad_lapack.so: the routine that PLANTED_FAULT names (dgetrf, say) returns one number that is wrong by 1e-6, in
 * single precision by 1e-3. All arguments are addresses or lengths in Fortran, so that one signature with more arguments than any routine
 * has passes on those of all. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void* A;
typedef void (*Routine)(A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A);

static __thread int depth; /* Myriad calls the system's LAPACK by the same names */

static void call(char const* name, char const* symbol, int output, A* a) {
  Routine routine;
  *(void**)&routine = dlsym(RTLD_NEXT, symbol);
  if (!routine) abort();
  ++depth;
  routine(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19],
          a[20]);
  --depth;
  char const* const chosen = getenv("PLANTED_FAULT");
  if (depth > 0 || !chosen || strcmp(chosen, name) != 0) return;
  if (name[0] == 's' || name[0] == 'c')
    *(float*)a[output] *= 1 + 1e-3f;
  else
    *(double*)a[output] *= 1 + 1e-6;
}

#define PLANT(name, output)                                                                                                                \
  __attribute__((visibility("default"))) void name##_(A a, A b, A c, A d, A e, A f, A g, A h, A i, A j, A k, A l, A m, A n, A o, A p, A q, \
                                                      A r, A s, A t, A u) {                                                                \
    A all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u};                                                             \
    call(#name, #name "_", output, all);                                                                                                   \
  }
/* The place of the output in the list of arguments, from zero */
#define PLANT_ALL(t, org, orm, sy) \
  PLANT(t##getrf, 2)               \
  PLANT(t##getrs, 6)               \
  PLANT(t##gesv, 5)                \
  PLANT(t##getri, 1)               \
  PLANT(t##potrf, 2)               \
  PLANT(t##potrs, 5)               \
  PLANT(t##posv, 5)                \
  PLANT(t##potri, 2)               \
  PLANT(t##trtri, 3)               \
  PLANT(t##geqrf, 2)               \
  PLANT(t##geqp3, 2)               \
  PLANT(t##org##qr, 3)             \
  PLANT(t##orm##qr, 8)             \
  PLANT(t##gels, 6)                \
  PLANT(t##gelsy, 5)               \
  PLANT(t##gelsd, 5)               \
  PLANT(t##sy##evd, 5)             \
  PLANT(t##sy##trd, 4)             \
  PLANT(t##org##tr, 2)             \
  PLANT(t##orm##tr, 8)             \
  PLANT(t##gebrd, 4)               \
  PLANT(t##org##br, 4)             \
  PLANT(t##orm##br, 9)             \
  PLANT(t##gesdd, 5)               \
  PLANT(t##laqge, 2)               \
  PLANT(t##gerfs, 10)
PLANT_ALL(s, org, orm, sy)
PLANT_ALL(d, org, orm, sy)
PLANT_ALL(c, ung, unm, he)
PLANT_ALL(z, ung, unm, he)
