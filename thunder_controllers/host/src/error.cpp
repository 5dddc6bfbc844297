// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/error.hpp"

namespace thunder {

HostError::HostError(ErrorKind kind, const std::string& wrong, const std::string& where, const std::string& valid)
    : std::runtime_error(where + ": " + wrong + (valid.empty() ? "" : "; valid: " + valid)),
      kind_(kind),
      wrong_(wrong),
      where_(where),
      valid_(valid) {}

}  // namespace thunder
