// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/lanes.hpp"

#include <algorithm>
#include <utility>

namespace thunder {

LawLanes::LawLanes(std::shared_ptr<const Library> library, const thunder_law& law)
    : library_(std::move(library)),
      law_(&law),
      width_(law.step_lanes != nullptr ? static_cast<std::size_t>(std::max(1, library_->lanes())) : 1),
      iw_(static_cast<std::size_t>(law.size_iw)),
      w_(aligned(width_ * static_cast<std::size_t>(law.size_w))) {
  const auto size = [](int count) { return static_cast<std::size_t>(count); };
  const std::size_t n = size(library_->n_joints());
  sizes_ = {n, n, n, size(law.measurements.size), size(law.reference.size), size(law.state.size), size(law.gains.size), 1};
  result_sizes_ = {n, size(law.state.size), size(law.telemetry.size)};
  for (const std::size_t one : sizes_) {
    taken_.push_back(aligned(width_ * one));
    std::fill_n(taken_.back().get(), width_ * one, 0.0);  // of lanes that nobody fills
  }
  for (const std::size_t one : result_sizes_) given_.push_back(aligned(width_ * one));
}

void LawLanes::step(Item* items, std::size_t count) noexcept {
  if (width_ == 1) {
    for (std::size_t i = 0; i < count; ++i) items[i].stepped = items[i].inputs && items[i].runner->step(*items[i].inputs);
    return;
  }
  for (std::size_t lane = 0; lane < count; ++lane) {
    Item& item = items[lane];
    item.stepped = item.inputs && item.runner->begin(*item.inputs);
    if (!item.stepped) continue;
    const Arguments from = item.runner->arguments(*item.inputs);
    for (std::size_t k = 0; k < from.size(); ++k) {
      double* to = taken_[k].get() + lane;
      for (std::size_t i = 0; i < sizes_[k]; ++i) to[i * width_] = from[k][i];
    }
  }
  Arguments arguments;
  Results results;
  for (std::size_t k = 0; k < arguments.size(); ++k) arguments[k] = taken_[k].get();
  for (std::size_t k = 0; k < results.size(); ++k) results[k] = given_[k].get();
  const bool succeeded = law_->step_lanes(arguments.data(), results.data(), iw_.data(), w_.get(), 0) == 0;
  for (std::size_t lane = 0; lane < count; ++lane) {
    Item& item = items[lane];
    if (!item.stepped) continue;
    const Results to = item.runner->results();
    for (std::size_t k = 0; k < to.size(); ++k) {
      const double* from = given_[k].get() + lane;
      for (std::size_t i = 0; i < result_sizes_[k]; ++i) to[k][i] = from[i * width_];
    }
    item.stepped = succeeded && item.runner->end();
  }
}

}  // namespace thunder
