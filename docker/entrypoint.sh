#!/usr/bin/env bash
# Sources ROS 2 and the workspace, then becomes the command.
set -euo pipefail

# The set-up files read variables that are not set.
set +u
# shellcheck source=/dev/null
source /workspace/install/setup.bash
set -u

exec "$@"
