// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace thunder {

/// The error of the simulated robot: what is wrong, where, and what would be valid.
class PlantError : public std::runtime_error {
 public:
  PlantError(const std::string& wrong, const std::string& where, const std::string& valid)
      : std::runtime_error(where + ": " + wrong + " (valid: " + valid + ")") {}
};

/// Names separated by commas; "none" if there are none.
inline std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace thunder
