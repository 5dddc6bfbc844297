// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thunder/host/controller.hpp"
#include "thunder/host/law/lanes.hpp"
#include "thunder/host/library/batch.hpp"

namespace thunder {

/// Controllers of one law of one library, updated together: each as by itself, the law's steps in lanes.
class Fleet {
 public:
  /// The controllers must outlive this. Throws HostError(law) unless there is one, and all have this law.
  explicit Fleet(std::vector<Controller*> controllers);

  /// Controller::update of each at one time: q, qd and effort have a row of n_joints values each.
  ///
  /// Throws HostError(law) if a controller was configured for something else meanwhile.
  void update(double t, Rows q, Rows qd, double dt, RowsOut<double> effort, RowsOut<GuardBits> guards);

  const std::vector<Controller*>& controllers() const noexcept { return controllers_; }
  const thunder_law& law() const noexcept { return *law_; }

 private:
  void check() const;

  std::vector<Controller*> controllers_;
  std::shared_ptr<const Library> library_;
  const thunder_law* law_;
  LawLanes lanes_;
  std::vector<Controller::Update> begun_;
  std::vector<LawLanes::Item> items_;
};

}  // namespace thunder
