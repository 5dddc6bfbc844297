// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "thunder/host/library/library.hpp"

namespace thunder {

/// What of a library is to run.
struct Configuration {
  std::shared_ptr<const Library> library;
  std::string law;
  std::vector<std::string> joints;  ///< Names that measurements and commands have, in the library's order.
  std::vector<std::string> links;   ///< Whose parameters the law estimates.
  std::string carrying_link;        ///< That carries what the law tells of bodies picked up; empty if it tells of none.

  std::string robot() const { return library->data().robot; }
  const thunder_law& law_data() const { return library->law(law); }
  /// Whether the law follows poses.
  bool is_cartesian() const { return law_data().reference_kind == THUNDER_REFERENCE_CARTESIAN; }
  /// The file that a node, by its full name, saves estimates to where no other is named: below ROS_HOME, or ~/.ros.
  std::filesystem::path estimates_path(const std::string& node) const;
};

/// Choose what is to run, and check it against the library.
///
/// Args: robot, its name, empty for any; law, empty for the only one; joints, empty for the library's names: these in any
/// order, or as many others, matched by what tells each apart from the rest (fr3_joint2 is panda_joint2), else by place.
/// Throws HostError(build) for another robot, HostError(name_not_found) for a law that is not there, or where there is
/// not exactly one to choose, and for joints that are missing, unknown or given twice.
Configuration make_configuration(std::shared_ptr<const Library> library, const std::string& robot,
                                 const std::string& law, const std::vector<std::string>& joints);

}  // namespace thunder
