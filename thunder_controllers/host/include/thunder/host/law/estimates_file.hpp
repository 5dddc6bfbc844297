// SPDX-License-Identifier: Apache-2.0
//
// The YAML file that estimates are saved to and started from:
//
//     robot: "panda"
//     law: "cartesian_backstepping"
//     links: ["panda_link7"]
//     pi_hat: [0.73, 0.007, …]
//
// Entries of the law's state that are estimates, flat and column-major, SI units; `links` says whose parameters pi_hat
// holds. The host reads it itself, as neither a wheel nor a C++ program brings a YAML library along: a line for each key,
// which has a text or a list in brackets, texts plain or in double quotes; lines of comment.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "thunder/host/law/configuration.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {

/// The estimates of a file by state entry, checked against the configuration.
///
/// Throws HostError(law) that names the file, and the line of what cannot be read: for a file that is not regular, too
/// large or of another form; for unknown or missing keys, another robot, law or links, and for values that are no finite
/// numbers, not as many as the entry has, or out of its bounds.
NamedValues read_estimates(const std::filesystem::path& path, const Configuration& configuration);

/// Write the estimates of a flat state, all of them or, if that fails, none: the file is replaced in one step. Numbers
/// come back bit for bit.
///
/// Throws HostError(law) if the file cannot be written; what was there before is left then, and nothing beside it.
void save_estimates(const std::filesystem::path& path, const Configuration& configuration,
                    const std::vector<double>& state);

}  // namespace thunder
