// SPDX-License-Identifier: Apache-2.0
#include "configure.hpp"

#include <yaml-cpp/yaml.h>

#include <ament_index_cpp/get_package_prefix.hpp>
#include <ament_index_cpp/get_package_share_directory.hpp>
#include <cstdlib>
#include <set>

#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder_controllers {
namespace {

namespace fs = std::filesystem;
using thunder::ErrorKind;
using thunder::HostError;

constexpr const char* kPackage = "thunder_controllers";
constexpr const char* kScheme = "package://";
constexpr const char* kManifest = "manifest.json";

fs::path share_folder(const std::string& package, const std::string& uri) {
  try {
    return ament_index_cpp::get_package_share_directory(package);
  } catch (const std::exception&) {
    throw HostError(ErrorKind::build, "there is no package '" + package + "'", uri,
                    "a package in the ament index (AMENT_PREFIX_PATH)");
  }
}

bool climbs(const fs::path& path) {
  for (const fs::path& part : path) {
    if (part == "..") return true;
  }
  return false;
}

/// The library of a generated folder; its manifest is JSON, which YAML contains.
fs::path library_in(const fs::path& folder) {
  try {
    return folder / YAML::LoadFile((folder / kManifest).string())["library"].as<std::string>();
  } catch (const YAML::Exception&) {
    throw HostError(ErrorKind::build, "no generated library", folder.string(),
                    std::string("a folder with ") + kManifest + ", or the path of a lib<robot>.so");
  }
}

/// The library that `colcon build` has installed for a robot of this package.
fs::path installed_library(const std::string& robot) {
  const fs::path path =
      fs::path(ament_index_cpp::get_package_prefix(kPackage)) / "lib" / ("lib" + robot + ".so");
  if (fs::is_regular_file(path)) return path;
  throw HostError(ErrorKind::build, "there is no " + path.string(), "parameter robot",
                  "a robot of THUNDER_ROBOTS when the package was built, or the parameter library");
}

fs::path find_library(const Parameters& parameters) {
  if (parameters.library.empty() && parameters.robot.empty()) {
    throw HostError(ErrorKind::build, "neither library nor robot is given", "parameter library",
                    "a generated library or its folder, or a robot that is installed with this package");
  }
  if (parameters.library.empty()) return installed_library(parameters.robot);
  const fs::path path = resolve_path(parameters.library);
  return fs::is_directory(path) ? library_in(path) : path;
}

std::string choose_law(const thunder::Library& library, const std::string& wanted) {
  const std::vector<std::string> names = library.law_names();
  if (!wanted.empty()) return library.law(wanted).name;
  if (names.size() == 1) return names.front();
  throw HostError(ErrorKind::name_not_found,
                  names.empty() ? "the library has no law" : "the library has several laws", "parameter law",
                  thunder::join(names));
}

std::vector<std::string> choose_joints(const thunder::Library& library, const std::vector<std::string>& wanted) {
  const auto n = static_cast<std::size_t>(library.n_joints());
  if (wanted.empty()) return {library.data().joint_names, library.data().joint_names + n};
  if (wanted.size() == n && std::set<std::string>(wanted.begin(), wanted.end()).size() == n) return wanted;
  throw HostError(ErrorKind::dimension, "the joints are " + thunder::join(wanted), "parameter joints",
                  std::to_string(n) + " different names");
}

thunder::Options make_options(const Parameters& parameters, unsigned int update_rate) {
  if (update_rate == 0) {
    throw HostError(ErrorKind::law, "the update rate is 0 Hz", "parameter update_rate",
                    "that of the controller manager");
  }
  thunder::Options options;
  options.gravity_compensated_by_robot = parameters.gravity_compensated_by_robot;
  options.measurement_timeout = parameters.measurement_timeout;
  options.nominal_dt = 1.0 / update_rate;
  options.reference_timeout = parameters.reference_timeout;
  options.saturation_freezes_adaptation = parameters.saturation_freezes_adaptation;
  options.effort_limit = parameters.effort_limit;
  options.effort_rate_limit = parameters.effort_rate_limit;
  options.velocity_limit = parameters.velocity_limit;
  options.velocity_patience = parameters.velocity_patience;
  options.velocity_stop_ratio = parameters.velocity_stop_ratio;
  return options;
}

}  // namespace

Configuration make_configuration(const Parameters& parameters, unsigned int update_rate) {
  Configuration made;
  made.library = thunder::Library::load(find_library(parameters).string());
  const thunder_library& data = made.library->data();
  if (!parameters.robot.empty() && parameters.robot != data.robot) {
    throw HostError(ErrorKind::build, std::string("the library is of robot '") + data.robot + "'",
                    made.library->path(), "'" + parameters.robot + "', parameter robot");
  }
  made.law = choose_law(*made.library, parameters.law);
  made.joints = choose_joints(*made.library, parameters.joints);
  made.links = thunder::estimated_links(data, made.law_data());
  made.options = make_options(parameters, update_rate);
  thunder::check_options(made.options, made.library->n_joints());
  made.frames = {parameters.base_frame, parameters.ee_frame};
  return made;
}

thunder::MotionLimits motion_limits(const Parameters& parameters) {
  const std::vector<double>& linear = parameters.path.linear_limits;
  const std::vector<double>& angular = parameters.path.angular_limits;
  return {linear[0], linear[1], linear[2], angular[0], angular[1], angular[2], parameters.path.joint_acceleration};
}

std::filesystem::path resolve_path(const std::string& text) {
  const std::string scheme = kScheme;
  if (text.compare(0, scheme.size(), scheme) == 0) {
    const std::size_t slash = text.find('/', scheme.size());
    const std::string package = text.substr(scheme.size(), slash - scheme.size());
    const fs::path relative = slash == std::string::npos ? "" : text.substr(slash + 1);
    if (package.empty() || relative.empty() || climbs(relative)) {
      throw HostError(ErrorKind::build, "incomplete or climbing URI", text, "package://<package>/<path>");
    }
    return share_folder(package, text) / relative;
  }
  const char* home = std::getenv("HOME");
  const bool is_of_home = text == "~" || text.compare(0, 2, "~/") == 0;
  if (home && is_of_home) return fs::path(home) / text.substr(text.size() > 1 ? 2 : 1);
  return fs::absolute(text);
}

std::filesystem::path estimates_path(const Parameters& parameters, const Configuration& configuration) {
  if (!parameters.estimates_file.empty()) return resolve_path(parameters.estimates_file);
  return resolve_path(std::string(configuration.library->data().robot) + "_" + configuration.law + "_estimates.yaml");
}

}  // namespace thunder_controllers
