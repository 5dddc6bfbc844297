// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates_file.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder_controllers {

/// The number that a scalar is, NaN for one that is not finite; none for a quoted one, and for what is no number.
/// yaml-cpp itself would read it by the locale of the process.
inline std::optional<double> number_of(const YAML::Node& node) {
  if (!node.IsScalar() || node.Tag() == "!") return std::nullopt;
  const std::string& text = node.Scalar();
  const bool is_infinite = YAML::conversion::IsInfinity(text) || YAML::conversion::IsNegativeInfinity(text);
  if (is_infinite || YAML::conversion::IsNaN(text)) return std::numeric_limits<double>::quiet_NaN();
  return thunder::parse_number(text);
}

inline thunder::DocumentValue value_of(const YAML::Node& node) {
  if (node.IsScalar() && !number_of(node)) return node.Scalar();
  std::vector<std::string> texts;
  std::vector<double> numbers;
  for (const YAML::Node& item : node.IsSequence() ? node : YAML::Node()) {
    if (const auto number = number_of(item)) {
      numbers.push_back(*number);
    } else if (item.IsScalar()) {
      texts.push_back(item.Scalar());
    }
  }
  if (node.IsSequence() && texts.size() == node.size()) return texts;
  if (node.IsSequence() && numbers.size() == node.size()) return numbers;
  return thunder::OtherValue{YAML::Dump(node)};
}

/// [byte] Estimates of a robot of 70 joints take a hundredth of it.
constexpr std::uintmax_t kLargestDocument = 4 << 20;

/// What a YAML file of estimates holds. Throws HostError(law) if it cannot be read, or holds no mapping.
inline thunder::Document read_document(const std::string& path) {
  const auto refuse = [&path](const std::string& wrong) {
    throw thunder::HostError(thunder::ErrorKind::law, wrong, path, "a file of ~/save_estimates");
  };
  // A pipe would be waited for, and a device never ends.
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing)) refuse("cannot be read: there is no regular file");
  if (std::filesystem::file_size(path, missing) > kLargestDocument) refuse("is too large");
  YAML::Node data;
  try {
    data = YAML::LoadFile(path);
  } catch (const YAML::BadFile&) {
    refuse("cannot be read");
  } catch (const YAML::Exception& error) {
    refuse(std::string("no YAML: ") + error.what());
  }
  if (!data.IsMap()) refuse("no mapping");
  thunder::Document document;
  for (const auto& pair : data) document[pair.first.Scalar()] = value_of(pair.second);
  return document;
}

}  // namespace thunder_controllers
