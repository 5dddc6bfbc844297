// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thunder/thunder_abi.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "robot.hpp"

namespace bench {

/// A function of the C core that is linked into this program, with its own result and scratch.
class Compiled {
 public:
  /// Throws std::runtime_error if there is no such function, or it takes something else than the states.
  Compiled(const std::string& name, const States& states);

  void call(std::size_t state) {
    const double* arguments[kMaximum];
    for (std::size_t i = 0; i < count_; ++i) arguments[i] = first_[i] + stride_ * state;
    double* results[] = {result_.data()};
    function_->eval(arguments, results, nullptr, work_.data(), 0);
  }
  const Eigen::MatrixXd& result() const { return result_; }

 private:
  static constexpr std::size_t kMaximum = 5;
  const thunder_function* function_;
  std::array<const double*, kMaximum> first_{};
  std::size_t count_ = 0, stride_ = 0;
  Eigen::MatrixXd result_;
  std::vector<double> work_;
};

/// Rows of the linked C core, of its Eigen class, and of the control law in each of the libraries.
///
/// `libraries` are pairs of a label and the path of a generated lib<robot>.so. The states must outlive the rows.
std::vector<Row> compiled_rows(const States& states, const std::vector<std::pair<std::string, std::string>>& libraries);

}  // namespace bench
