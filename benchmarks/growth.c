/* Times functions of a generated library: growth LIBRARY FUNCTION... prints nanoseconds of processor time a call. */
#define _POSIX_C_SOURCE 199309L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "thunder/thunder_abi.h"

enum { kStates = 16, kBatches = 15 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Median of batches of at least 2 ms, over states that change from call to call. */
static double time_function(const thunder_function* f) {
  const size_t results = (size_t)(f->out[0].rows * f->out[0].cols);
  double *out = calloc(results, sizeof *out), *work = calloc((size_t)f->size_w + 1, sizeof *work), times[kBatches];
  double** states = calloc((size_t)f->n_in + 1, sizeof *states);
  const double** arg = calloc((size_t)f->n_in + 1, sizeof *arg);
  long calls = 1;
  int k, b;
  for (k = 0; k < f->n_in; ++k) {
    const size_t size = kStates * (size_t)(f->in[k].rows * f->in[k].cols);
    size_t i;
    states[k] = calloc(size, sizeof **states);
    for (i = 0; i < size; ++i) states[k][i] = 2.0 * rand() / RAND_MAX - 1.0;
  }
  for (b = 0; b < kBatches;) {
    const double start = now();
    long i;
    for (i = 0; i < calls; ++i) {
      for (k = 0; k < f->n_in; ++k) arg[k] = states[k] + (i % kStates) * f->in[k].rows * f->in[k].cols;
      f->eval(arg, &out, NULL, work, 0);
    }
    times[b] = (now() - start) / (double)calls;
    if (times[b] * (double)calls < 2e6) calls *= 2;
    else ++b;
  }
  qsort(times, kBatches, sizeof *times, compare);
  return times[kBatches / 2];
}

int main(int argc, char** argv) {
  void* handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  const thunder_library* (*get)(void) = NULL;
  int k, i;
  if (!handle) return 1;
  *(void**)&get = dlsym(handle, "thunder_library_get");
  for (k = 2; k < argc; ++k)
    for (i = 0; i < get()->n_functions; ++i)
      if (strcmp(get()->functions[i].name, argv[k]) == 0) printf("%s %.1f\n", argv[k], time_function(&get()->functions[i]));
  return 0;
}
