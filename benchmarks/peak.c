// SPDX-License-Identifier: Apache-2.0
// Prints how many operations a core does in a nanosecond at most: scalar ones, then with LANES doubles in a register.
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>

typedef double lanes __attribute__((vector_size(8 * LANES)));

enum { kChains = 16, kRounds = 20000, kBatches = 200 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Independent multiplications, each with an addition, as many at once as hide how long one takes; the best batch. */
#define PEAK(name, type, width)                                                  \
  static double name(void) {                                                     \
    double best = 0.0;                                                           \
    int batch, round, k;                                                         \
    for (batch = 0; batch < kBatches; ++batch) {                                 \
      type x[kChains], a = {0}, b = {0};                                                    \
      double begun, rate;                                                        \
      a = a + 0.5, b = b + 1.0;                                                  \
      for (k = 0; k < kChains; ++k) x[k] = b;                                    \
      begun = now();                                                             \
      for (round = 0; round < kRounds; ++round) {                                \
        _Pragma("GCC unroll 16") for (k = 0; k < kChains; ++k) {                 \
          x[k] = x[k] * a + b;                                                   \
          __asm__ volatile("" : "+x"(x[k]));                                     \
        }                                                                        \
      }                                                                          \
      rate = 2.0 * width * kChains * kRounds / (now() - begun);                  \
      if (rate > best) best = rate;                                              \
    }                                                                            \
    return best;                                                                 \
  }

PEAK(scalar, double, 1)
PEAK(vector, lanes, LANES)

int main(void) {
  printf("%.9g %.9g\n", scalar(), vector());
  return 0;
}
