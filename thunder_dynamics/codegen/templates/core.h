/* Functions and laws of robot $robot, generated: thunder_eval of thunder/thunder_abi.h each. */
#ifndef THUNDER_${robot}_GEN_H
#define THUNDER_${robot}_GEN_H

/* Doubles that a register of this processor holds: states that THUNDER_WIDE computes at once. */
#if defined(__AVX512F__)
#define THUNDER_LANES 8
#elif defined(__AVX__)
#define THUNDER_LANES 4
#else
#define THUNDER_LANES 2
#endif

#ifdef THUNDER_SINGLE
#define thunder_real float
#elif defined(THUNDER_WIDE)
typedef double thunder_real __attribute__((vector_size(8 * THUNDER_LANES), may_alias));
$others#else
#define thunder_real double
#endif

#ifdef __cplusplus
extern "C" {
#endif

$declarations
#ifdef __cplusplus
}
#endif

#endif
