// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/configuration.hpp"

#include <cstdlib>
#include <set>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

std::string choose_law(const Library& library, const std::string& wanted) {
  if (!wanted.empty()) return library.law(wanted).name;
  const std::vector<std::string> names = library.law_names();
  if (names.size() == 1) return names.front();
  throw HostError(ErrorKind::name_not_found,
                  "the library has " + (names.empty() ? "no law" : std::to_string(names.size()) + " laws"),
                  "parameter law", names.empty() ? "a library with a law" : join(names));
}

std::vector<std::string> choose_joints(const Library& library, const std::vector<std::string>& wanted) {
  const auto n = static_cast<std::size_t>(library.n_joints());
  if (wanted.empty()) return {library.data().joint_names, library.data().joint_names + n};
  if (wanted.size() == n && std::set<std::string>(wanted.begin(), wanted.end()).size() == n) return wanted;
  throw HostError(ErrorKind::dimension, "the joints are " + join(wanted), "parameter joints",
                  std::to_string(n) + " different names");
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::filesystem::path Configuration::estimates_path(const std::string& node) const {
  std::filesystem::path root = variable("ROS_HOME");
  if (root.empty()) root = std::filesystem::path(variable("HOME")) / ".ros";
  return root / std::filesystem::path(node).relative_path() / (robot() + "_" + law + "_estimates.yaml");
}

Configuration make_configuration(std::shared_ptr<const Library> library, const std::string& robot,
                                 const std::string& law, const std::vector<std::string>& joints) {
  const thunder_library& data = library->data();
  if (!robot.empty() && robot != data.robot) {
    throw HostError(ErrorKind::build, std::string("the library is of robot '") + data.robot + "'", library->path(),
                    "'" + robot + "', parameter robot");
  }
  Configuration made;
  made.law = choose_law(*library, law);
  made.joints = choose_joints(*library, joints);
  made.links = estimated_links(data, library->law(made.law));
  made.carrying_link = carrying_link(data, library->law(made.law));
  made.library = std::move(library);
  return made;
}

}  // namespace thunder
