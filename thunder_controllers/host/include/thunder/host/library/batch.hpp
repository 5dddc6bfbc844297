// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "thunder/thunder_abi.h"

namespace thunder {

/// The values of an argument at many states: those of state i begin at data + i * stride; stride 0: the same at all.
template <class Real>
struct RowsOf {
  const Real* data;
  std::size_t stride;
};
using Rows = RowsOf<double>;

/// Values to write, of several: those of number i begin at data + i * stride.
template <class Value>
struct RowsOut {
  Value* data;
  std::size_t stride;
};

/// How results of many states follow one another: the values of a state together, or of as many states as there are lanes
/// value by value, [state / lanes][value][state % lanes]; the last state fills what is left of the last block.
enum class BatchLayout { rows, blocks };

/// Evaluate a function at `count` states, in threads: in lanes where it has them, one state after the other elsewhere.
///
/// `out` has a pointer per result, to its values at all states. `lanes` is the library's; without any a block is one
/// state. False if the function failed, which leaves the results undefined.
bool evaluate_batch(const thunder_function& function, int lanes, const std::vector<Rows>& in,
                    const std::vector<double*>& out, std::size_t count, std::size_t threads,
                    BatchLayout layout = BatchLayout::rows);

/// The same in single precision, which there is in lanes alone: `lanes` are thunder_library.single_lanes, not 0.
bool evaluate_batch(const thunder_function& function, int lanes, const std::vector<RowsOf<float>>& in,
                    const std::vector<float*>& out, std::size_t count, std::size_t threads,
                    BatchLayout layout = BatchLayout::rows);

/// The step of a law as a function of its signals, each of them flat, with the defaults of their entries.
class StepFunction {
 public:
  StepFunction(const thunder_law& law, int n_joints);

  // The function points into the entries.
  StepFunction(const StepFunction&) = delete;
  StepFunction& operator=(const StepFunction&) = delete;

  const thunder_function& get() const noexcept { return function_; }

 private:
  thunder_entry flat(const char* name, const thunder_signal& signal);
  thunder_entry zeros(const char* name, int size);
  thunder_entry entry(const char* name, std::vector<double> defaults);

  std::vector<std::vector<double>> values_;
  std::vector<thunder_entry> in_;
  std::vector<thunder_entry> out_;
  thunder_function function_{};
};

}  // namespace thunder
