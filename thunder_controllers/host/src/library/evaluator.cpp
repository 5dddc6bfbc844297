// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/library/evaluator.hpp"

#include <cstring>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

/// An evaluator whose absence is the library's fault, not the caller's.
Evaluator required(const std::shared_ptr<const Library>& library, const std::string& function) {
  try {
    return Evaluator(library, function);
  } catch (const HostError& error) {
    throw HostError(ErrorKind::build, "the host needs the function " + function + ": " + error.wrong(), error.where(),
                    "a library that has it");
  }
}

}  // namespace

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
  const thunder_entry& found = find_named(function_->in, function_->n_in, name, "input", function_->name);
  return static_cast<int>(&found - function_->in);
}

void Evaluator::set_default(int index) noexcept { set_input(index, function_->in[index].defaults); }

bool Evaluator::evaluate() noexcept {
  return function_->eval(arguments_.data(), results_.data(), iw_.data(), w_.data(), 0) == 0;
}

PositionFunction::PositionFunction(std::shared_ptr<const Library> library, const std::string& function,
                                   int output_size)
    : evaluator_(required(library, function)), output_size_(output_size) {
  const thunder_function& found = evaluator_.function();
  q_ = evaluator_.input("q");
  if (entry_size(found.in[q_]) != library->n_joints() || entry_size(found.out[0]) != output_size) {
    throw HostError(ErrorKind::build, "the function " + function + " has another shape than the host needs",
                    library->path(), "q of one value per joint, an output of " + std::to_string(output_size));
  }
}

bool PositionFunction::evaluate(const double* q) noexcept {
  evaluator_.set_input(q_, q);
  return evaluator_.evaluate() && all_finite(evaluator_.result(0), output_size_);
}

}  // namespace thunder
