/* Functions and laws of robot $robot, generated: thunder_eval of thunder/thunder_abi.h each. */
#ifndef THUNDER_${robot}_GEN_H
#define THUNDER_${robot}_GEN_H

/* [bytes] A register of this processor. */
#if defined(__AVX512F__)
#define THUNDER_REGISTER 64
#elif defined(__AVX__)
#define THUNDER_REGISTER 32
#else
#define THUNDER_REGISTER 16
#endif

#ifdef THUNDER_SINGLE
#define THUNDER_NUMBER float
#else
#define THUNDER_NUMBER double
#endif

/* States that THUNDER_WIDE computes at once. */
#define THUNDER_LANES (THUNDER_REGISTER / (int)sizeof(THUNDER_NUMBER))

#ifdef THUNDER_WIDE
typedef THUNDER_NUMBER thunder_real __attribute__((vector_size(THUNDER_REGISTER), may_alias));
#ifdef THUNDER_SINGLE
#define THUNDER_IN_LANES(name) name##__single
#else
#define THUNDER_IN_LANES(name) name##__lanes
#endif
$others#else
#define thunder_real THUNDER_NUMBER
#endif

#ifdef __cplusplus
extern "C" {
#endif

$declarations
#ifdef __cplusplus
}
#endif

#endif
