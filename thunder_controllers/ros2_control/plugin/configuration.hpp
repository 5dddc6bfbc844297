// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/options.hpp"

namespace thunder_controllers {

/// Names of the frames that poses are given in, and of.
struct Frames {
  std::string base;
  std::string ee;
};

/// What is to run, made of the parameters and checked; constant from on_configure to on_cleanup.
struct Configuration {
  std::shared_ptr<const thunder::Library> library;
  std::string law;
  std::vector<std::string> joints;  ///< names of the interfaces, in the library's order
  std::vector<std::string> links;   ///< whose parameters the law estimates
  thunder::Options options;
  Frames frames;

  const thunder_law& law_data() const { return library->law(law); }
  /// Whether the law follows poses.
  bool is_cartesian() const { return law_data().reference_kind == THUNDER_REFERENCE_CARTESIAN; }
};

}  // namespace thunder_controllers
