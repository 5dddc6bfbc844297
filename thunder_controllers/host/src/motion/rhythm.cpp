// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/rhythm.hpp"

#include <algorithm>

namespace thunder {
namespace {

constexpr double kPeriods = 4.0;   // of a fast stream, of which three samples may be lost,
constexpr double kMostLost = 0.4;  // [s] but no longer than this, or than is known
constexpr double kLate = 1.5;      // jitter of 25 % makes a gap longer by half
constexpr double kMemory = 1.0;    // [s] for which a gap is remembered,
constexpr double kPauses = 20.0;   // or so many times its length, if that is longer: through a chunk until the next pause

double faded(double longest, double gap) noexcept {
  return longest * (1.0 - gap / std::max(kMemory, kPauses * longest));
}

}  // namespace

void Rhythm::begin() noexcept { seen_ = longest_ = known_ = 0.0; }

bool Rhythm::take(double gap, bool goes_on) noexcept {
  if (gap > kLongest) {
    begin();
    return false;
  }
  const bool is_known = goes_on && gap <= kLate * seen_;
  const bool belongs = gap <= kPrompt || is_known || gap <= patience();
  known_ = std::max(is_known ? gap : 0.0, faded(known_, gap));
  longest_ = belongs ? std::max(gap, faded(longest_, gap)) : 0.0;
  seen_ = std::max(gap, faded(seen_, gap));
  return belongs;
}

double Rhythm::patience() const noexcept { return std::min(kLate * known_, kLongest); }

double Rhythm::horizon() const noexcept { return std::max(std::min(kPeriods * longest_, kMostLost), patience()); }

}  // namespace thunder
