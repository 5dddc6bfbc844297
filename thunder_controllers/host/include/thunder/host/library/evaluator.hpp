// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thunder/host/library/library.hpp"

namespace thunder {

/// One function of a library with its own scratch and results: evaluating allocates nothing.
///
/// Inputs that are not set keep their defaults (the robot file's values for `par_…` inputs). Not for use from two
/// threads at once; make one evaluator per thread.
class Evaluator {
 public:
  /// Throws HostError(name_not_found) if the library has no such function.
  Evaluator(std::shared_ptr<const Library> library, const std::string& function);

  // The results point into the values, so a copy would write into the original.
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  Evaluator(Evaluator&&) noexcept = default;
  Evaluator& operator=(Evaluator&&) noexcept = default;

  const thunder_function& function() const noexcept { return *function_; }

  /// The index of an input. Throws HostError(name_not_found).
  int input(const std::string& name) const;

  /// Use the values there, column-major; they must stay there until `evaluate` has returned.
  void set_input(int index, const double* values) noexcept { arguments_[static_cast<std::size_t>(index)] = values; }
  void set_default(int index) noexcept;

  /// Compute all outputs. False if the function failed, which leaves the results undefined.
  bool evaluate() noexcept;

  /// The output's elements, column-major; valid until the next evaluation.
  const double* result(int index) const noexcept { return results_[static_cast<std::size_t>(index)]; }

 private:
  std::shared_ptr<const Library> library_;
  const thunder_function* function_;
  std::vector<double> values_;
  std::vector<const double*> arguments_;
  std::vector<double*> results_;
  std::vector<long long> iw_;
  std::vector<double> w_;
};

/// A function q -> one output; further inputs keep their defaults. Evaluating allocates nothing.
class PositionFunction {
 public:
  /// Throws HostError(build) if the library has no such function, or one whose output has another size.
  PositionFunction(std::shared_ptr<const Library> library, const std::string& function, int output_size);

  /// Evaluate at n_joints positions. False if the function failed or gave something that is not finite.
  bool evaluate(const double* q) noexcept;
  /// The output, column-major.
  const double* result() const noexcept { return evaluator_.result(0); }

 private:
  Evaluator evaluator_;
  int output_size_;
  int q_ = 0;
};

}  // namespace thunder
