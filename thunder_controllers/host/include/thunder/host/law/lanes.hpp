// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "thunder/host/law/runner.hpp"
#include "thunder/host/library/aligned.hpp"

namespace thunder {

/// Steps several runners of one law at once, in the lanes of its library.
class LawLanes {
 public:
  LawLanes(std::shared_ptr<const Library> library, const thunder_law& law);

  /// One runner and what its step is given; nothing: it is not stepped.
  struct Item {
    LawRunner* runner;
    const LawInputs* inputs;
    bool stepped;  ///< What LawRunner::step would have returned.
  };

  /// How many `step` takes.
  std::size_t width() const noexcept { return width_; }
  /// As LawRunner::step of each of at most `width` items.
  void step(Item* items, std::size_t count) noexcept;

 private:
  std::shared_ptr<const Library> library_;
  const thunder_law* law_;
  std::size_t width_;
  std::array<std::size_t, std::tuple_size_v<Arguments>> sizes_;
  std::array<std::size_t, std::tuple_size_v<Results>> result_sizes_;
  std::vector<Aligned> taken_;
  std::vector<Aligned> given_;
  std::vector<long long> iw_;
  Aligned w_;
};

}  // namespace thunder
