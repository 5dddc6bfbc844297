// SPDX-License-Identifier: Apache-2.0
//
// The file that estimates are saved to and started from, the same as thunder_controllers/ros/controller/estimates_file.py has:
//
//     robot: panda
//     law: cartesian_backstepping
//     links: [panda_link7]
//     pi_hat: [0.73, 0.007, …]
//
// Entries of the law's state that are estimates, flat and column-major, SI units; `links` says whose parameters pi_hat
// holds.
#pragma once

#include <filesystem>

#include "configuration.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder_controllers {

/// Write the estimates of a flat state, all of them or, if that fails, none: the file is replaced in one step.
///
/// Throws HostError if the file cannot be written.
void save_estimates(const std::filesystem::path& path, const Configuration& owner, const std::vector<double>& state);

/// Read estimates by state entry.
///
/// Throws HostError if the file cannot be read, is no such file, belongs to another robot, law or links, or holds
/// something that is no number; bounds are the host's business.
thunder::NamedValues load_estimates(const std::filesystem::path& path, const Configuration& owner);

}  // namespace thunder_controllers
