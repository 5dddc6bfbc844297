// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace thunder {

/// Which branch of the exception tree an error belongs to; the Python binding raises the class of that name.
enum class ErrorKind {
  build,           ///< The library cannot be loaded, or its metadata contradict each other (`BuildError`).
  law,             ///< A law is parametrised wrongly or driven through a forbidden transition (`LawError`).
  name_not_found,  ///< No law, function, gain, state or argument of that name (`NameNotFoundError`).
  dimension,       ///< A vector or array has the wrong number of elements (`DimensionError`).
};

/// Every error of the host: what is wrong, where, and what would be valid.
class HostError : public std::runtime_error {
 public:
  HostError(ErrorKind kind, const std::string& wrong, const std::string& where, const std::string& valid = {})
      : std::runtime_error(where + ": " + wrong + (valid.empty() ? "" : "; valid: " + valid)),
        kind_(kind),
        wrong_(wrong),
        where_(where),
        valid_(valid) {}

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& wrong() const noexcept { return wrong_; }
  const std::string& where() const noexcept { return where_; }
  /// Empty if there is nothing useful to say.
  const std::string& valid() const noexcept { return valid_; }

 private:
  ErrorKind kind_;
  std::string wrong_;
  std::string where_;
  std::string valid_;
};

}  // namespace thunder
