/* Functions and laws of robot $robot in lanes, generated: the same text of another type. */
#define THUNDER_WIDE
#include "${robot}_gen.c"
