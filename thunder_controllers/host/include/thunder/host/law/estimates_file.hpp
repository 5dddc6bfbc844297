// SPDX-License-Identifier: Apache-2.0
//
// The YAML file that estimates are saved to and started from:
//
//     robot: panda
//     law: cartesian_backstepping
//     links: [panda_link7]
//     pi_hat: [0.73, 0.007, …]
//
// Entries of the law's state that are estimates, flat and column-major, SI units; `links` says whose parameters pi_hat
// holds. The host reads no YAML: the caller hands over what its library has read.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "thunder/host/law/configuration.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {

/// Something in a document that is neither a text nor a list of texts or numbers, as a message shows it.
struct OtherValue {
  std::string text;
};

/// What a file holds, by key. A list without elements is one of texts.
using DocumentValue = std::variant<std::string, std::vector<std::string>, std::vector<double>, OtherValue>;
using Document = std::map<std::string, DocumentValue>;

/// Check a document against the configuration, and return its estimates by state entry.
///
/// `where` names the file in messages. Throws HostError(law) for unknown or missing keys, another robot, law or links,
/// and for values that are no numbers, not as many as the entry has, not finite, or out of its bounds.
NamedValues read_estimates(const Document& document, const Configuration& configuration, const std::string& where);

/// The file's text. Numbers come back bit for bit.
std::string estimates_text(const Configuration& configuration, const std::vector<double>& state);

/// Write the estimates of a flat state, all of them or, if that fails, none: the file is replaced in one step.
///
/// Throws HostError(law) if the file cannot be written; what was there before is left then, and nothing beside it.
void save_estimates(const std::filesystem::path& path, const Configuration& configuration,
                    const std::vector<double>& state);

}  // namespace thunder
