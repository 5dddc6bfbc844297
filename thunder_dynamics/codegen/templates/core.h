/* Functions and laws of robot $robot, generated: thunder_eval of thunder/thunder_abi.h each. */
#ifndef THUNDER_${robot}_GEN_H
#define THUNDER_${robot}_GEN_H

#ifdef THUNDER_SINGLE
#define thunder_real float
#else
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
