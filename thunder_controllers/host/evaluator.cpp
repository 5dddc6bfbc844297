// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/evaluator.hpp"

#include <cstring>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/signals.hpp"

namespace thunder {

Evaluator::Evaluator(std::shared_ptr<const Library> library, const std::string& function)
    : library_(std::move(library)),
      function_(&library_->function(function)),
      arguments_(static_cast<std::size_t>(function_->n_in)),
      iw_(static_cast<std::size_t>(function_->size_iw)),
      w_(static_cast<std::size_t>(function_->size_w)) {
  for (int i = 0; i < function_->n_in; ++i) set_default(i);
  std::size_t size = 0;
  for (int i = 0; i < function_->n_out; ++i) size += static_cast<std::size_t>(entry_size(function_->out[i]));
  values_.resize(size);
  double* next = values_.data();
  for (int i = 0; i < function_->n_out; ++i) {
    results_.push_back(next);
    next += entry_size(function_->out[i]);
  }
}

int Evaluator::input(const std::string& name) const {
  std::vector<std::string> names;
  for (int i = 0; i < function_->n_in; ++i) {
    if (name == function_->in[i].name) return i;
    names.emplace_back(function_->in[i].name);
  }
  throw HostError(ErrorKind::name_not_found, "there is no input '" + name + "'", function_->name, join(names));
}

void Evaluator::set_default(int index) noexcept { set_input(index, function_->in[index].defaults); }

bool Evaluator::evaluate() noexcept {
  return function_->eval(arguments_.data(), results_.data(), iw_.data(), w_.data(), 0) == 0;
}

Evaluator evaluator_of_position(std::shared_ptr<const Library> library, const std::string& function, int output_size) {
  const std::string path = library->path();
  const int n_joints = library->n_joints();
  const std::string valid = "a library with " + function + "(q), " + std::to_string(output_size) + " elements";
  for (const std::string& name : library->function_names()) {
    if (name != function) continue;
    Evaluator evaluator(std::move(library), function);
    const int q = evaluator.input("q");
    const bool fits = entry_size(evaluator.function().in[q]) == n_joints &&
                      entry_size(evaluator.function().out[0]) == output_size;
    if (!fits) throw HostError(ErrorKind::build, "the function " + function + " has another shape", path, valid);
    return evaluator;
  }
  throw HostError(ErrorKind::build, "the host needs the function " + function, path, valid);
}

}  // namespace thunder
