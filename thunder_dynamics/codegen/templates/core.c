/* Functions and laws of robot $robot, generated: C99, libm alone. The interface is that of thunder/thunder_abi.h. */
#include "${robot}_gen.h"

#include <math.h>

#ifdef THUNDER_SINGLE
#define THUNDER_LIBM(name) name##f
#else
#define THUNDER_LIBM(name) name
#endif

/* The pieces of a split function must stay pieces: a compiler would join static functions that are called once. */
#if defined(__GNUC__)
#define THUNDER_NOINLINE __attribute__((noinline))
#else
#define THUNDER_NOINLINE
#endif

/* Sines and cosines of n angles, n a multiple of four: of eight a compiler for vectors makes what two calls of libm take.
 *
 * x = k pi/2 + r + tail by Cody and Waite, pi/2 in two parts of 33 bits and a rest, so that k times either part is exact;
 * polynomials through Chebyshev nodes of [0, (pi/4)^2] in r^2, of relative error below 3e-17. Below one unit in the last
 * place for |x| <= 1e5; beyond that, and in single precision, libm. */
static THUNDER_NOINLINE void thunder_sincos(const thunder_real* restrict x, thunder_real* restrict s,
                                            thunder_real* restrict c, int n) {
  int i, j, is_far = 0;
#ifdef THUNDER_SINGLE
  is_far = 1;
#else
  for (i = 0; i < n; ++i) is_far |= !(x[i] >= -1e5 && x[i] <= 1e5);
#endif
  if (is_far) {
    for (i = 0; i < n; ++i) {
      s[i] = THUNDER_LIBM(sin)(x[i]);
      c[i] = THUNDER_LIBM(cos)(x[i]);
    }
    return;
  }
  for (i = 0; i < n; i += 4)
    for (j = i; j < i + 4; ++j) {
      const thunder_real k = THUNDER_LIBM(floor)(x[j] * 0.6366197723675814 + 0.5);
      const thunder_real near = x[j] - k * 1.5707963267341256, part = k * 6.077100506303966e-11;
      const thunder_real r = near - part, tail = ((near - r) - part) - k * 2.0222662487959506e-21;
      const thunder_real z = r * r, half = 0.5 * z, one = 1.0 - half;
      const thunder_real odd =
          -0.16666666666666666 +
          z * (0.008333333333330925 +
               z * (-0.00019841269836722418 +
                    z * (2.755731608381636e-06 + z * (-2.5051127944014188e-08 + z * 1.5917848524808262e-10))));
      const thunder_real even =
          0.041666666666666664 +
          z * (-0.0013888888888887382 +
               z * (2.480158729874307e-05 +
                    z * (-2.7557317260008837e-07 + z * (2.0876143827993133e-09 + z * -1.1382456778061306e-11))));
      const thunder_real sine = r + (r * z * odd + tail * one);
      const thunder_real cosine = one + (((1.0 - one) - half) + (z * z * even - r * tail));
      const thunder_real quarter = k - 4.0 * THUNDER_LIBM(floor)(0.25 * k);
      const int is_odd = quarter == 1.0 || quarter == 3.0;
      const thunder_real first = is_odd ? cosine : sine, second = is_odd ? sine : cosine;
      s[j] = quarter >= 2.0 ? -first : first;
      c[j] = quarter == 1.0 || quarter == 2.0 ? -second : second;
    }
}

static inline thunder_real thunder_sign(thunder_real x) { return x < 0.0 ? -1.0 : (x > 0.0 ? 1.0 : x); }

$definitions