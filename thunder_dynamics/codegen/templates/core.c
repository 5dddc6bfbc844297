/* Functions and laws of robot $robot, generated: C99, libm alone. The interface is that of thunder/thunder_abi.h. */
#include "${robot}_gen.h"

#include <math.h>
#if defined(THUNDER_WIDE) && defined(__AVX__)
#include <immintrin.h>
#endif

#ifdef THUNDER_SINGLE
#define THUNDER_SCALAR(name) name##f
#else
#define THUNDER_SCALAR(name) name
#endif

/* The pieces of a split function must stay pieces: a compiler would join static functions that are called once. */
#if defined(__GNUC__)
#define THUNDER_NOINLINE __attribute__((noinline))
#define THUNDER_INLINE static inline __attribute__((unused))
#else
#define THUNDER_NOINLINE
#define THUNDER_INLINE static inline
#endif

/* Code that has left the caches comes line by line as it runs, and in half the time if all of it is asked for at once. The
 * linker of ELF says where a section begins and ends whose name is one of C. */
#if defined(__GNUC__) && defined(__linux__) && !defined(THUNDER_WIDE)
#define THUNDER_LONG(name)                                                                    \
  extern const char __start_code_##name[] __attribute__((visibility("hidden")));                   \
  extern const char __stop_code_##name[] __attribute__((visibility("hidden")));
#define THUNDER_SECTION(name) __attribute__((section("code_" #name)))
#define THUNDER_AHEAD(name)                                                                   \
  if (mem) {                                                                                  \
    const char *line = __start_code_##name, *end = __stop_code_##name;                                  \
    for (; line < end; line += 64) __builtin_prefetch(line, 0, 3);                            \
  }
#else
#define THUNDER_LONG(name)
#define THUNDER_SECTION(name)
#define THUNDER_AHEAD(name)
#endif

/* A mask is what a comparison gives; `thunder_pick` takes x where it is true. */
#ifdef THUNDER_WIDE
#define THUNDER_ANGLES 1
typedef __typeof__((thunder_real){0} < (thunder_real){0}) thunder_mask;

#define thunder_all(x) ((x) - (thunder_real){0})

THUNDER_INLINE thunder_real thunder_pick(thunder_mask m, thunder_real x, thunder_real y) {
  return (thunder_real)((m & (thunder_mask)x) | (~m & (thunder_mask)y));
}

THUNDER_INLINE int thunder_any(thunder_mask m) {
  int k, any = 0;
  for (k = 0; k < THUNDER_LANES; ++k) any |= m[k] != 0;
  return any;
}

/* What has no instruction for all lanes is computed in one after the other. */
#define THUNDER_LIBM(name) thunder_##name
#define THUNDER_EACH(name)                                                           \
  THUNDER_INLINE thunder_real thunder_##name(thunder_real x) {                       \
    int k;                                                                           \
    for (k = 0; k < THUNDER_LANES; ++k) x[k] = THUNDER_SCALAR(name)(x[k]);           \
    return x;                                                                        \
  }
#define THUNDER_EACH_PAIR(name)                                                      \
  THUNDER_INLINE thunder_real thunder_##name(thunder_real x, thunder_real y) {       \
    int k;                                                                           \
    for (k = 0; k < THUNDER_LANES; ++k) x[k] = THUNDER_SCALAR(name)(x[k], y[k]);     \
    return x;                                                                        \
  }
$each
THUNDER_INLINE thunder_real thunder_fabs(thunder_real x) {
  return (thunder_real)((thunder_mask)x & ~(thunder_mask)thunder_all(-0.0));
}

THUNDER_INLINE thunder_real thunder_sqrt(thunder_real x) {
#if defined(__AVX512F__) && defined(THUNDER_SINGLE)
  return (thunder_real)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX512F__)
  return (thunder_real)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX__) && defined(THUNDER_SINGLE)
  return (thunder_real)_mm256_sqrt_ps((__m256)x);
#elif defined(__AVX__)
  return (thunder_real)_mm256_sqrt_pd((__m256d)x);
#else
  int k;
  for (k = 0; k < THUNDER_LANES; ++k) x[k] = THUNDER_SCALAR(sqrt)(x[k]);
  return x;
#endif
}
#else
#define THUNDER_ANGLES 4
#define THUNDER_LIBM(name) THUNDER_SCALAR(name)
#define thunder_all(x) (x)
typedef int thunder_mask;

THUNDER_INLINE thunder_real thunder_pick(thunder_mask m, thunder_real x, thunder_real y) { return m ? x : y; }

THUNDER_INLINE int thunder_any(thunder_mask m) { return m; }
#endif

THUNDER_INLINE thunder_real thunder_is(thunder_mask m) { return thunder_pick(m, thunder_all(1.0), thunder_all(0.0)); }
THUNDER_INLINE thunder_real thunder_if_else_zero(thunder_mask m, thunder_real x) {
  return thunder_pick(m, x, thunder_all(0.0));
}
/* Those of libm are calls and drop a NaN; a comparison is one instruction and lets a NaN in x through. */
THUNDER_INLINE thunder_real thunder_fmin(thunder_real x, thunder_real y) { return thunder_pick(x > y, y, x); }
THUNDER_INLINE thunder_real thunder_fmax(thunder_real x, thunder_real y) { return thunder_pick(x < y, y, x); }
THUNDER_INLINE thunder_real thunder_sign(thunder_real x) {
  return thunder_pick(x < 0.0, thunder_all(-1.0), thunder_pick(x > 0.0, thunder_all(1.0), x));
}

/* Sines and cosines of n angles, whose arrays have room for the next multiple of THUNDER_ANGLES: of eight a compiler for
 * vectors makes what two calls of libm take.
 *
 * x = k pi/2 + r + tail by Cody and Waite, pi/2 in two parts of 33 bits and a rest, so that k times either part is exact;
 * polynomials through Chebyshev nodes of [0, (pi/4)^2] in r^2, of relative error below 3e-17. Below one unit in the last
 * place for |x| <= 1e5; beyond that libm. In lanes of single precision parts of 12 bits and a relative error of 1.2e-8:
 * below one unit, or below 3e-11 where that is more, for |x| <= 6e3. In single precision without lanes libm. */
#ifdef THUNDER_SINGLE
#define THUNDER_FAR 6e3
#define THUNDER_ROUND 12582912.0 /* 1.5 * 2^23 */
#define THUNDER_FIRST_PART 1.5703125
#define THUNDER_SECOND_PART 0.0004837512969970703
#define THUNDER_REST 7.549790126404332e-08
#define THUNDER_ODD(z) (-0.166666641831398 + z * (0.008332747034728527 + z * -0.00019587638962548226))
#define THUNDER_EVEN(z) (0.0416666641831398 + z * (-0.0013888301327824593 + z * 2.4547689463361166e-05))
#else
#define THUNDER_FAR 1e5
#define THUNDER_ROUND 6755399441055744.0 /* 1.5 * 2^52 */
#define THUNDER_FIRST_PART 1.5707963267341256
#define THUNDER_SECOND_PART 6.077100506303966e-11
#define THUNDER_REST 2.0222662487959506e-21
#define THUNDER_ODD(z)                 \
  (-0.16666666666666666 +              \
   z * (0.008333333333330925 +         \
        z * (-0.00019841269836722418 + \
             z * (2.755731608381636e-06 + z * (-2.5051127944014188e-08 + z * 1.5917848524808262e-10)))))
#define THUNDER_EVEN(z)                \
  (0.041666666666666664 +              \
   z * (-0.0013888888888887382 +       \
        z * (2.480158729874307e-05 +   \
             z * (-2.7557317260008837e-07 + z * (2.0876143827993133e-09 + z * -1.1382456778061306e-11)))))
#endif
static THUNDER_NOINLINE void thunder_sincos(const thunder_real* restrict x, thunder_real* restrict s,
                                            thunder_real* restrict c, int n) {
  int i, j;
#if defined(THUNDER_SINGLE) && !defined(THUNDER_WIDE)
  const int is_far = 1;
#else
  thunder_mask far = x[0] != x[0]; /* or not a number */
  int is_far;
  for (i = 0; i < n; ++i) far |= (x[i] < -THUNDER_FAR) | (x[i] > THUNDER_FAR) | (x[i] != x[i]);
  is_far = thunder_any(far);
#endif
  if (is_far) {
    for (i = 0; i < n; ++i) {
      s[i] = THUNDER_LIBM(sin)(x[i]);
      c[i] = THUNDER_LIBM(cos)(x[i]);
    }
    return;
  }
  for (i = 0; i < n; i += THUNDER_ANGLES)
    for (j = i; j < i + THUNDER_ANGLES; ++j) {
      /* what is added and taken off rounds to the nearest whole number; of k/4 - 3/8 that is the one below k/4 */
      const thunder_real k = (x[j] * 0.6366197723675814 + THUNDER_ROUND) - THUNDER_ROUND;
      const thunder_real turns = (0.25 * k - 0.375 + THUNDER_ROUND) - THUNDER_ROUND, quarter = k - 4.0 * turns;
      const thunder_real near = x[j] - k * THUNDER_FIRST_PART, part = k * THUNDER_SECOND_PART;
#ifdef THUNDER_SINGLE /* whose rest is no longer small */
      const thunder_real most = near - part, rest = k * THUNDER_REST, r = most - rest;
      const thunder_real tail = ((near - most) - part) + ((most - r) - rest);
#else
      const thunder_real r = near - part, tail = ((near - r) - part) - k * THUNDER_REST;
#endif
      const thunder_real z = r * r, half = 0.5 * z, one = 1.0 - half;
      const thunder_real sine = r + (r * z * THUNDER_ODD(z) + tail * one);
      const thunder_real cosine = one + (((1.0 - one) - half) + (z * z * THUNDER_EVEN(z) - r * tail));
      const thunder_mask is_odd = (quarter == 1.0) | (quarter == 3.0);
      const thunder_real first = thunder_pick(is_odd, cosine, sine), second = thunder_pick(is_odd, sine, cosine);
      s[j] = thunder_pick(quarter >= 2.0, -first, first);
      c[j] = thunder_pick((quarter == 1.0) | (quarter == 2.0), -second, second);
    }
}

$definitions