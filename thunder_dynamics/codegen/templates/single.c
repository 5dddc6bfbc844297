/* Functions and laws of robot $robot in lanes of single precision, generated: the same text of another type. */
#define THUNDER_SINGLE
#define THUNDER_WIDE
#include "${robot}_gen.c"
