// SPDX-License-Identifier: Apache-2.0
#include "effort_claims.hpp"

#include <algorithm>

#include "plant/error.hpp"

namespace thunder {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

EffortClaims::EffortClaims(const std::vector<std::string>& joints)
    : claimed_(std::make_unique<std::atomic<bool>[]>(joints.size())) {
  for (const std::string& joint : joints) interfaces_.push_back(joint + "/effort");
  clear();
}

void EffortClaims::check(const std::vector<std::string>& start, const std::vector<std::string>& stop) const {
  std::vector<std::string> idle;
  for (std::size_t i = 0; i < interfaces_.size(); ++i) {
    if (!claimed_after(i, start, stop)) idle.push_back(interfaces_[i]);
  }
  if (idle.empty() || idle.size() == interfaces_.size()) return;
  throw PlantError("nothing would command " + join_names(idle), "switch of controllers",
                   "controllers that command all joints, or none");
}

bool EffortClaims::apply(const std::vector<std::string>& start, const std::vector<std::string>& stop) noexcept {
  bool is_start = false;
  for (std::size_t i = 0; i < interfaces_.size(); ++i) {
    is_start = is_start || contains(start, interfaces_[i]);
    claimed_[i] = claimed_after(i, start, stop);
  }
  return is_start;
}

void EffortClaims::clear() noexcept {
  for (std::size_t i = 0; i < interfaces_.size(); ++i) claimed_[i] = false;
}

bool EffortClaims::are_complete() const noexcept {
  const std::atomic<bool>* first = claimed_.get();
  return std::all_of(first, first + interfaces_.size(), [](const auto& claim) { return claim.load(); });
}

bool EffortClaims::claimed_after(std::size_t joint, const std::vector<std::string>& start,
                                 const std::vector<std::string>& stop) const noexcept {
  if (contains(start, interfaces_[joint])) return true;
  return claimed_[joint] && !contains(stop, interfaces_[joint]);
}

}  // namespace thunder
