// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/configuration.hpp"

#include <algorithm>
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

using Names = std::vector<std::string>;

/// The names without what all of them begin and end with: joint1 of fr3_joint1 and fr3_joint2 is 1.
Names without_common_ends(Names names) {
  const auto strip = [&names](auto same_end, auto cut) {
    const auto has_same = [&](const std::string& name) { return !name.empty() && same_end(name) == same_end(names[0]); };
    while (std::all_of(names.begin(), names.end(), has_same)) std::for_each(names.begin(), names.end(), cut);
  };
  if (names.size() < 2) return Names(names.size());
  strip([](const std::string& name) { return name.front(); }, [](std::string& name) { name.erase(0, 1); });
  strip([](const std::string& name) { return name.back(); }, [](std::string& name) { name.pop_back(); });
  return names;
}

/// What the joints are called, in the library's order. Names of its own are found by themselves, others by what tells
/// them apart, such as the number behind a prefix; where that says nothing they are in the library's order.
Names choose_joints(const Library& library, const Names& wanted) {
  const Names own(library.data().joint_names, library.data().joint_names + library.n_joints());
  if (wanted.empty()) return own;
  const std::set<std::string> different(wanted.begin(), wanted.end());
  const auto is_own = [&](const std::string& name) { return std::find(own.begin(), own.end(), name) != own.end(); };
  if (different.size() != own.size() || wanted.size() != own.size() || std::any_of(wanted.begin(), wanted.end(), is_own)) {
    order_of(wanted, own, "parameter joints");
    return own;
  }
  const Names given = without_common_ends(wanted), ours = without_common_ends(own);
  if (!std::is_permutation(given.begin(), given.end(), ours.begin(), ours.end())) return wanted;
  Names sorted;
  for (const std::size_t place : order_of(given, ours, "parameter joints")) sorted.push_back(wanted[place]);
  return sorted;
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
