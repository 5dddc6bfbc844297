// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace thunder {

/// Something that a person should know before the arm moves.
struct Note {
  const char* code;  ///< for programs, in snake case
  std::string text;  ///< a sentence for people
};

}  // namespace thunder
