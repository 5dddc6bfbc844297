/* Metadata of the library of robot $robot, generated. The interface is documented in thunder/thunder_abi.h. */
#include <math.h>
#include <stddef.h>

#include "${robot}_gen.h"
#include "thunder/thunder_abi.h"

$declarations$constants
static const thunder_library thunder__library = $library;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const thunder_library* thunder_library_get(void);

const thunder_library* thunder_library_get(void) { return &thunder__library; }
