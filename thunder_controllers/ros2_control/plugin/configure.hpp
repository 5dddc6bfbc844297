// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <thunder_controllers/thunder_adaptive_controller_parameters.hpp>

#include "configuration.hpp"
#include "thunder/host/motion/motion.hpp"

namespace thunder_controllers {

using Parameters = thunder_adaptive_controller::Params;

/// Load the library and check what is asked of it; update_rate in [Hz].
///
/// Throws HostError that says which parameter is wrong, and what would be valid.
Configuration make_configuration(const Parameters& parameters, unsigned int update_rate);

/// Limits of the motions that the host makes itself.
thunder::MotionLimits motion_limits(const Parameters& parameters);

/// A path as users write it: plain, with ~, or package://<package>/<path in its share folder>; made absolute.
///
/// Throws HostError for a URI without a path, or of a package that is not installed.
std::filesystem::path resolve_path(const std::string& text);

/// Where ~/save_estimates writes.
std::filesystem::path estimates_path(const Parameters& parameters, const Configuration& configuration);

}  // namespace thunder_controllers
