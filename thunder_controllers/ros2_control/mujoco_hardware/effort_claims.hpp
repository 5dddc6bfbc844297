// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace thunder {

/// Which joints a controller commands. All or none: an arm of which some joints are held and some are not is no plant.
///
/// Interfaces are named `<joint>/effort`; those of other hardware are ignored.
class EffortClaims {
 public:
  explicit EffortClaims(const std::vector<std::string>& joints);

  /// Throws PlantError if a switch would leave some joints commanded and some not.
  void check(const std::vector<std::string>& start, const std::vector<std::string>& stop) const;

  /// Take a switch over; neither allocates nor throws. True if it starts a command of any joint of ours.
  bool apply(const std::vector<std::string>& start, const std::vector<std::string>& stop) noexcept;

  /// No joint is commanded.
  void clear() noexcept;

  /// Whether all joints are commanded.
  bool are_complete() const noexcept;

 private:
  bool claimed_after(std::size_t joint, const std::vector<std::string>& start,
                     const std::vector<std::string>& stop) const noexcept;

  std::vector<std::string> interfaces_;
  std::unique_ptr<std::atomic<bool>[]> claimed_;  // checked in one thread, applied in another
};

}  // namespace thunder
