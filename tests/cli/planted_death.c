/* Preloaded by tests: ends a process by SIGKILL when it writes to an unfinished result file.

   PLANTED_DEATH_RANK: rank that dies; any if it is not set. PLANTED_DEATH_AFTER: file; the process first waits until a chunk is recorded
   there. PLANTED_DEATH_WRITE: number of the write that it dies at, from 1; each one before takes a second. PLANTED_DEATH_RENAME: it dies
   before this rename of a result file, from 1, instead of at a write. PLANTED_GATE: a write waits until this file exists, and
   nothing dies. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void sleep_for(long milliseconds) {
  struct timespec const pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

static int has_a_chunk(char const* path) {
  char line[65536] = {0};
  FILE* const file = fopen(path, "r");
  if (!file) return 0;
  size_t const got = fread(line, 1, sizeof line - 1, file);
  fclose(file);
  line[got] = 0;
  return strstr(line, "\"first\"") != NULL;
}

static void die_if_planned(int fd) {
  char const* const gate = getenv("PLANTED_GATE");
  char const *const rank = getenv("PLANTED_DEATH_RANK"), *const mine = getenv("OMPI_COMM_WORLD_RANK");
  char const *const after = getenv("PLANTED_DEATH_AFTER"), *const number = getenv("PLANTED_DEATH_WRITE");
  static int writes = 0;
  char link[64], name[4096] = {0};
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t const length = readlink(link, name, sizeof name - 1);
  if (length < 5 || strcmp(name + length - 5, ".part") != 0) return;
  for (int i = 0; gate && i < 12000 && access(gate, F_OK) != 0; ++i) sleep_for(10);
  if (gate || getenv("PLANTED_DEATH_RENAME") || (rank && (!mine || strcmp(rank, mine) != 0))) return;
  if (++writes < (number ? atoi(number) : 1)) {
    sleep_for(1050);
    return;
  }
  for (int i = 0; after && i < 12000 && !has_a_chunk(after); ++i) sleep_for(10);
  if (rank && !after) sleep_for(2000); /* the others have begun by then */
  kill(getpid(), SIGKILL);
}

ssize_t pwrite(int fd, void const* data, size_t size, off_t offset) {
  die_if_planned(fd);
  ssize_t (*original)(int, void const*, size_t, off_t);
  *(void**)&original = dlsym(RTLD_NEXT, "pwrite");
  return original(fd, data, size, offset);
}

int rename(char const* from, char const* to) {
  static int renames = 0;
  char const* const number = getenv("PLANTED_DEATH_RENAME");
  if (number && ++renames == atoi(number)) kill(getpid(), SIGKILL);
  int (*original)(char const*, char const*);
  *(void**)&original = dlsym(RTLD_NEXT, "rename");
  return original(from, to);
}
