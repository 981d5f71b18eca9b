/* The C interface from C99: layouts, results, info, errors. Every expectation that fails is printed; the exit status is the number of them.
 */
#include <complex.h>
#include <math.h>
#include <myriad/myriad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int good, char const* what, int line) {
  if (good) return;
  ++failures;
  fprintf(stderr, "line %d: %s\n", line, what);
}
#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)

static int near(double x, double y) { return fabs(x - y) <= 1e-13 * (1 + fabs(y)); }

enum { count = 3 };

/* Matrix b is {{0, 2 + b}, {1, 3}}, its right-hand side {2 (2 + b), 7}, its solution {1, 2}. Row 2 is the first pivot. */
static double element(int b, int i, int j) { return i == 0 ? (j == 0 ? 0.0 : 2.0 + b) : (j == 0 ? 1.0 : 3.0); }
static double right_side(int b, int i) { return i == 0 ? 2.0 * (2.0 + b) : 7.0; }

/* Solves in the layout of these descriptors, filling and reading through myriad_at. */
static void solves(myriad_queue* queue, myriad_batch a, myriad_batch x) {
  int pivots[2 * count] = {0};
  int info[count] = {-1, -1, -1};
  myriad_batch const p = myriad_vectors(MYRIAD_INT, 2, pivots, 0, count);
  for (int b = 0; b < count; ++b)
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) *(double*)myriad_at(a, b, i, j) = element(b, i, j);
      *(double*)myriad_at(x, b, i, 0) = right_side(b, i);
    }
  EXPECT(myriad_gesv(queue, &a, &p, &x, info) == MYRIAD_OK);
  EXPECT(myriad_queue_wait(queue) == MYRIAD_OK);
  for (int b = 0; b < count; ++b) {
    EXPECT(near(*(double*)myriad_at(x, b, 0, 0), 1.0));
    EXPECT(near(*(double*)myriad_at(x, b, 1, 0), 2.0));
    EXPECT(info[b] == 0);
    EXPECT(pivots[2 * b] == 2 && pivots[2 * b + 1] == 2);
    EXPECT(near(*(double*)myriad_at(a, b, 1, 1), 2.0 + b)); /* U(2, 2) */
  }
}

static void test_layouts(myriad_queue* queue) {
  double a[4 * count];
  double x[2 * count];
  double* a_pointers[count];
  double* x_pointers[count];
  for (int b = 0; b < count; ++b) {
    a_pointers[b] = a + 4 * (count - 1 - b);
    x_pointers[b] = x + 2 * (count - 1 - b);
  }
  solves(queue, myriad_strided(MYRIAD_F64, 2, 2, a, 2, 4, count), myriad_strided(MYRIAD_F64, 2, 1, x, 2, 2, count));
  solves(queue, myriad_strided(MYRIAD_F64, 2, 2, a, 0, 0, count), myriad_strided(MYRIAD_F64, 2, 1, x, 0, 0, count));
  solves(queue, myriad_row_major(MYRIAD_F64, 2, 2, a, 2, 4, count), myriad_row_major(MYRIAD_F64, 2, 1, x, 1, 2, count));
  solves(queue, myriad_interleaved(MYRIAD_F64, 2, 2, a, count), myriad_interleaved(MYRIAD_F64, 2, 1, x, count));
  solves(queue, myriad_pointers(MYRIAD_F64, 2, 2, (void* const*)a_pointers, 2, count),
         myriad_pointers(MYRIAD_F64, 2, 1, (void* const*)x_pointers, 2, count));
  solves(queue, myriad_row_major_pointers(MYRIAD_F64, 2, 2, (void* const*)a_pointers, 2, count),
         myriad_vectors(MYRIAD_F64, 2, x, 2, count));
  solves(queue, myriad_transposed(myriad_row_major(MYRIAD_F64, 2, 2, a, 2, 4, count)), myriad_vectors(MYRIAD_F64, 2, x, 2, count));

  double big[6 * 6 * count];
  for (int k = 0; k < 6 * 6 * count; ++k) big[k] = -7.0;
  myriad_batch const whole = myriad_strided(MYRIAD_F64, 6, 6, big, 6, 36, count);
  solves(queue, myriad_block(whole, 1, 2, 2, 2), myriad_columns(myriad_rows(whole, 4, 2), 5, 1));
  int touched = 0;
  for (int k = 0; k < 6 * 6 * count; ++k) touched += big[k] != -7.0;
  EXPECT(touched == 6 * count);
}

static void test_ragged(myriad_queue* queue) {
  double a[4 * count] = {4.0, 0, 0, 0, 0, 1, 2, 3, 5.0, 0, 0, 0};
  double x[2 * count] = {8.0, -7.0, 4.0, 7.0, 10.0, -7.0};
  int64_t const sizes[count] = {1, 2, 1};
  myriad_batch matrices = myriad_strided(MYRIAD_F64, 2, 2, a, 2, 4, count);
  myriad_batch sides = myriad_vectors(MYRIAD_F64, 2, x, 2, count);
  matrices.row_sizes = matrices.col_sizes = sides.row_sizes = sizes;
  EXPECT(myriad_gesv(queue, &matrices, NULL, &sides, NULL) == MYRIAD_OK);
  EXPECT(near(x[0], 2.0) && near(x[2], 1.0) && near(x[3], 2.0) && near(x[4], 2.0));
  EXPECT(x[1] == -7.0 && x[5] == -7.0);
}

static void test_complex_product(myriad_queue* queue) {
  double complex a[4] = {1.0 + 2.0 * I, 0.0, 3.0, 1.0 * I}; /* columns (1+2i, 0), (3, i) */
  double complex c[4] = {100.0, 100.0, 100.0, 100.0};
  double complex const alpha = 2.0, beta = 0.5;
  myriad_batch const x = myriad_strided(MYRIAD_C64, 2, 2, a, 2, 4, 1);
  myriad_batch const xh = myriad_conjugate_transposed(x);
  myriad_batch const y = myriad_strided(MYRIAD_C64, 2, 2, c, 2, 4, 1);
  EXPECT(myriad_gemm(queue, &alpha, &xh, &x, &beta, &y) == MYRIAD_OK); /* 2 A^H A + C / 2 */
  EXPECT(cabs(c[0] - (10.0 + 50.0)) < 1e-13);
  EXPECT(cabs(c[1] - (6.0 + 12.0 * I + 50.0)) < 1e-13);
  EXPECT(cabs(c[2] - (6.0 - 12.0 * I + 50.0)) < 1e-13);
  EXPECT(cabs(c[3] - (20.0 + 50.0)) < 1e-13);
}

static void test_singular_is_info(myriad_queue* queue) {
  double a[8] = {1.0, 2.0, 2.0, 4.0, 1.0, 0.0, 0.0, 2.0}; /* the first is singular, the second is not */
  double b[4] = {1.0, 1.0, 3.0, 4.0};
  int info[2] = {-1, -1};
  myriad_batch const matrices = myriad_strided(MYRIAD_F64, 2, 2, a, 2, 4, 2);
  myriad_batch const sides = myriad_vectors(MYRIAD_F64, 2, b, 2, 2);
  EXPECT(myriad_gesv(queue, &matrices, NULL, &sides, info) == MYRIAD_OK);
  EXPECT(info[0] == 2 && info[1] == 0);
  EXPECT(b[0] == 1.0 && b[1] == 1.0 && near(b[2], 3.0) && near(b[3], 2.0));
}

static void test_errors(myriad_queue* queue) {
  double a[4] = {1.0, 0.0, 0.0, 1.0};
  float b[2] = {1.0F, 1.0F};
  myriad_batch const matrix = myriad_strided(MYRIAD_F64, 2, 2, a, 2, 4, 1);
  myriad_batch const single = myriad_vectors(MYRIAD_F32, 2, b, 2, 1);
  EXPECT(myriad_gesv(queue, &matrix, NULL, &single, NULL) == MYRIAD_BAD_ARGUMENT);
  EXPECT(myriad_last_error_position(queue) == 6);
  EXPECT(strstr(myriad_last_error(queue), "gesv") && strstr(myriad_last_error(queue), "(b)") && strstr(myriad_last_error(queue), "f32"));

  myriad_batch const short_ld = myriad_strided(MYRIAD_F64, 2, 2, a, 1, 4, 1);
  EXPECT(myriad_getrf_nopiv(queue, &short_ld, NULL) == MYRIAD_BAD_ARGUMENT);
  EXPECT(myriad_last_error_position(queue) == 4);

  EXPECT(myriad_gesv(NULL, &matrix, NULL, &single, NULL) == MYRIAD_BAD_ARGUMENT);
  EXPECT(strstr(myriad_last_error(NULL), "queue"));

  myriad_queue* none = queue;
  EXPECT(myriad_queue_create(&none, MYRIAD_CPU, -1) == MYRIAD_BAD_ARGUMENT);
  EXPECT(none == NULL && strstr(myriad_last_error(NULL), "threads"));

  EXPECT(a[0] == 1.0 && a[1] == 0.0 && b[0] == 1.0F);
  EXPECT(myriad_getrf_nopiv(queue, &matrix, NULL) == MYRIAD_OK); /* the queue is still good */
}

static myriad_status fail_if_called(myriad_queue* queue, void* user) {
  (void)queue;
  ++*(int*)user;
  return MYRIAD_FAILED;
}

static void test_memory(myriad_queue* queue) {
  double const from[4] = {1, 2, 3, 4};
  double to[4] = {0, 0, 0, 0};
  myriad_memory *first = NULL, *second = NULL, *none = NULL;
  EXPECT(myriad_allocate(queue, sizeof(from), &first) == MYRIAD_OK);
  EXPECT(myriad_allocate_pinned(queue, sizeof(from), &second) == MYRIAD_OK);
  EXPECT(myriad_copy(queue, from, sizeof(from), myriad_address(first)) == MYRIAD_OK);
  EXPECT(myriad_copy(queue, myriad_address(first), sizeof(from), myriad_address(second)) == MYRIAD_OK);
  EXPECT(myriad_copy(queue, myriad_address(second), sizeof(from), to) == MYRIAD_OK);
  EXPECT(myriad_queue_wait(queue) == MYRIAD_OK);
  EXPECT(memcmp(from, to, sizeof(from)) == 0);
  EXPECT(myriad_allocate(queue, 0, &none) == MYRIAD_OK && none && !myriad_address(none));
  myriad_free(none);
  EXPECT(myriad_allocate(queue, -1, &none) == MYRIAD_BAD_ARGUMENT && !none);
  EXPECT(myriad_copy(queue, NULL, 8, to) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 2);
  EXPECT(myriad_copy(queue, NULL, 0, NULL) == MYRIAD_OK);
  myriad_free(first);
  myriad_free(second);
  myriad_free(NULL);
  EXPECT(myriad_address(NULL) == NULL);

  int calls = 0;
  if (myriad_queue_backend(queue) == MYRIAD_CPU) {
    EXPECT(myriad_prepare(queue, fail_if_called, &calls) == MYRIAD_OK && calls == 0);
  } else {
    EXPECT(myriad_prepare(queue, fail_if_called, &calls) == MYRIAD_FAILED && calls == 1);
  }
  int64_t bytes = 7;
  calls = 0;
  if (myriad_queue_backend(queue) == MYRIAD_CPU) {
    EXPECT(myriad_workspace(queue, fail_if_called, &calls, &bytes) == MYRIAD_OK && calls == 0 && bytes == 0);
  } else {
    EXPECT(myriad_workspace(queue, fail_if_called, &calls, &bytes) == MYRIAD_FAILED && calls == 1 && bytes == 0);
  }
  EXPECT(myriad_workspace(queue, NULL, NULL, &bytes) == MYRIAD_BAD_ARGUMENT);
  EXPECT(myriad_workspace(queue, fail_if_called, &calls, NULL) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 4);
  EXPECT(myriad_prepare(queue, NULL, NULL) == MYRIAD_BAD_ARGUMENT);
  EXPECT(myriad_prepare(NULL, fail_if_called, &calls) == MYRIAD_BAD_ARGUMENT);
}

static myriad_status solve_chunk(myriad_queue* queue, myriad_batch const* arguments, void* user) {
  *(int*)user += 1;
  return myriad_solve(queue, &arguments[0], &arguments[1], &arguments[2], (int*)arguments[3].data);
}
static myriad_status fail_in_chunk(myriad_queue* queue, myriad_batch const* arguments, void* user) {
  (void)user;
  return myriad_gemm(queue, NULL, &arguments[0], &arguments[1], NULL, &arguments[2]);
}

static void test_stream(myriad_queue* queue) {
  double const a[8] = {2, 0, 0, 4, 0, 0, 0, 1}, b[4] = {2, 4, 1, 1};
  double x[4] = {0};
  int info[2] = {-1, -1}, calls = 0;
  myriad_operand operands[4] = {{myriad_strided(MYRIAD_F64, 2, 2, (void*)a, 2, 4, 2), MYRIAD_IN},
                                {myriad_strided(MYRIAD_F64, 2, 1, (void*)b, 2, 2, 2), MYRIAD_IN},
                                {myriad_strided(MYRIAD_F64, 2, 1, x, 2, 2, 2), MYRIAD_OUT},
                                {myriad_strided(MYRIAD_INT, 1, 1, info, 1, 1, 2), MYRIAD_OUT}};
  myriad_stream_report report;
  EXPECT(myriad_stream(queue, 0, operands, 4, solve_chunk, &calls, &report) == MYRIAD_OK);
  EXPECT(calls == 1 && report.chunks == 1 && report.seconds > 0);
  EXPECT(x[0] == 1 && x[1] == 1 && info[0] == 0 && info[1] == 1);
  EXPECT(myriad_stream(queue, 0, operands, 4, fail_in_chunk, NULL, NULL) == MYRIAD_BAD_ARGUMENT);
  EXPECT(strstr(myriad_last_error(queue), "gemm: argument 6 (alpha) is a null pointer") != NULL);
  EXPECT(myriad_stream(queue, -1, operands, 4, solve_chunk, &calls, NULL) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 2);
  EXPECT(myriad_stream(queue, 0, NULL, 4, solve_chunk, &calls, NULL) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 3);
  EXPECT(myriad_stream(queue, 0, operands, 0, solve_chunk, &calls, NULL) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 4);
  EXPECT(myriad_stream(queue, 0, operands, 4, NULL, &calls, NULL) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 5);
  EXPECT(myriad_stream(NULL, 0, operands, 4, solve_chunk, &calls, NULL) == MYRIAD_BAD_ARGUMENT);
  operands[2].batch.count = 1;
  EXPECT(myriad_stream(queue, 0, operands, 4, solve_chunk, &calls, NULL) == MYRIAD_BAD_ARGUMENT);
  EXPECT(strstr(myriad_last_error(queue), "operand 3") != NULL && myriad_last_error_position(queue) == 5);
  operands[1].use = (myriad_use)7;
  EXPECT(myriad_stream(queue, 0, operands, 4, solve_chunk, &calls, NULL) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 4);
  EXPECT(calls == 1);
}

static int count_calls(int64_t problem, int64_t problems, double done, void* user) {
  (void)problem, (void)problems, (void)done;
  *(int*)user += 1;
  return 1;
}
static void count_found(myriad_tuned_config const* entry, void* user) {
  if (entry->seconds <= entry->planned_seconds) *(int*)user += 1;
}

static void test_tune(myriad_queue* queue) {
  int calls = 0;
  myriad_tune_options options = {0};
  options.progress = count_calls;
  options.found = count_found;
  EXPECT(myriad_tune(NULL, fail_if_called, &calls, &options) == MYRIAD_BAD_ARGUMENT);
  EXPECT(myriad_tune(queue, NULL, &calls, NULL) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 2);
  options.candidates = -1;
  EXPECT(myriad_tune(queue, fail_if_called, &calls, &options) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 3);
  options.candidates = 0;
  options.threads = -1;
  EXPECT(myriad_tune(queue, fail_if_called, &calls, &options) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 3);
  options.threads = 0;
  EXPECT(calls == 0);
  if (myriad_queue_backend(queue) == MYRIAD_CPU) {
    EXPECT(myriad_tune(queue, fail_if_called, &calls, &options) == MYRIAD_BAD_ARGUMENT && myriad_last_error_position(queue) == 1);
    EXPECT(strstr(myriad_last_error(queue), "is on the CPU") != NULL && calls == 0);
  } else {
    EXPECT(myriad_tune(queue, fail_if_called, &calls, &options) == MYRIAD_FAILED && calls == 1);
  }
}

int main(void) {
  myriad_queue* queue = NULL;
  if (myriad_queue_create(&queue, MYRIAD_CPU, 2) != MYRIAD_OK) {
    fprintf(stderr, "%s\n", myriad_last_error(NULL));
    return EXIT_FAILURE;
  }
  EXPECT(strcmp(myriad_last_error(queue), "") == 0);
  EXPECT(strcmp(myriad_version(), MYRIAD_VERSION) == 0);
  test_layouts(queue);
  test_ragged(queue);
  test_complex_product(queue);
  test_singular_is_info(queue);
  test_errors(queue);
  test_memory(queue);
  test_stream(queue);
  test_tune(queue);
  myriad_queue_destroy(queue);
  myriad_queue_destroy(NULL);
  if (failures == 0) puts("all good");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
