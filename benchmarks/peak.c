/* SPDX-License-Identifier: Apache-2.0
 * Prints how many operations a core does in a nanosecond at most: one at a time, then with LANES doubles in a register. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>

#ifdef __x86_64__
#define IN_REGISTER "+x"
#else
#define IN_REGISTER "+w"
#endif

typedef double lanes __attribute__((vector_size(8 * LANES)));

enum { kChains = 16, kRounds = 20000, kBatches = 200 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Multiplications with an addition each, in as many chains as hide how long one takes; the best batch. */
#define PEAK(name, type, width)                                              \
  static double name(void) {                                                 \
    const type half = (type){0} + 0.5, one = (type){0} + 1.0;                \
    double best = 0.0;                                                       \
    for (int batch = 0; batch < kBatches; ++batch) {                         \
      type x[kChains];                                                       \
      for (int k = 0; k < kChains; ++k) x[k] = one;                          \
      const double begun = now();                                            \
      for (int round = 0; round < kRounds; ++round) {                        \
        _Pragma("GCC unroll 16") for (int k = 0; k < kChains; ++k) {         \
          x[k] = x[k] * half + one;                                          \
          __asm__ volatile("" : IN_REGISTER(x[k]));                          \
        }                                                                    \
      }                                                                      \
      const double rate = 2.0 * width * kChains * kRounds / (now() - begun); \
      if (rate > best) best = rate;                                          \
    }                                                                        \
    return best;                                                             \
  }

PEAK(one_at_a_time, double, 1)
PEAK(in_lanes, lanes, LANES)

int main(void) {
  printf("%.9g %.9g\n", one_at_a_time(), in_lanes());
  return 0;
}
