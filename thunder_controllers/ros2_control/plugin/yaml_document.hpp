// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <vector>

#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates_file.hpp"

namespace thunder_controllers {

/// The number that a scalar is; none for a quoted one, and for what is no number.
inline std::optional<double> number_of(const YAML::Node& node) {
  double value = 0.0;
  if (node.IsScalar() && node.Tag() != "!" && YAML::convert<double>::decode(node, value)) return value;
  return std::nullopt;
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

/// What a YAML file of estimates holds. Throws HostError(law) if it cannot be read, or holds no mapping.
inline thunder::Document read_document(const std::string& path) {
  const auto refuse = [&path](const std::string& wrong) {
    throw thunder::HostError(thunder::ErrorKind::law, wrong, path, "a file of ~/save_estimates");
  };
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
