/* Metadata of the library of robot $robot, generated. The interface is documented in thunder/thunder_abi.h. */
#include <math.h>
#include <stddef.h>

#include "${robot}_gen.h"
#include "thunder/thunder_abi.h"

$declarations$constants
$functions
$laws
$groups
static const double thunder__rotors[] = {$rotors};

static const thunder_library thunder__library = {
  THUNDER_ABI_VERSION, "$robot", $version, $hash, $n_joints, thunder__joint_names, thunder__link_names,
  $limits,
  $pi, thunder__rotors, $n_functions, thunder__functions, $n_laws, thunder__laws, $n_groups, thunder__parameter_groups,
  $lanes, $single_lanes
};

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const thunder_library* thunder_library_get(void);

const thunder_library* thunder_library_get(void) { return &thunder__library; }
