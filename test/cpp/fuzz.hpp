// SPDX-License-Identifier: Apache-2.0
//
// What the libFuzzer programs share: the bytes of an input as choices and numbers, and what a refusal must say.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "check.hpp"
#include "thunder/host/error.hpp"

namespace test {

/// The bytes of an input; zeros after its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}

  bool is_empty() const { return next_ == end_; }
  std::uint8_t byte() { return next_ == end_ ? 0 : *next_++; }
  int below(int count) { return byte() % count; }
  bool flag() { return (byte() & 1) != 0; }

  template <class Number>
  Number raw() {
    std::uint8_t bytes[sizeof(Number)];
    for (std::uint8_t& one : bytes) one = byte();
    Number value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }

  /// Most often near a centre; else what numbers can be at their worst, or any 64 bits.
  double number(double centre, double spread) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kWorst[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 0.0, -0.0, 5e-324,
                                 -5e-324, 2.3e-308, 1.7e308, -1.7e308, 1e9, -1e9, 1e-9, 1.0, -1.0, 1e18, 1e300};
    constexpr int kWorstCount = static_cast<int>(sizeof kWorst / sizeof *kWorst);
    const int choice = byte();
    if (choice < 225) return centre + spread * (choice - 112) / 112.0;
    if (choice - 225 < kWorstCount) return kWorst[choice - 225];
    return raw<double>();
  }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

/// Whether an action was refused; by an error that says what and where, in a line of printable text.
template <class Action>
bool is_refused(Action action) {
  try {
    action();
  } catch (const thunder::HostError& error) {
    CHECK(!error.where().empty() && !error.wrong().empty() && std::strlen(error.what()) < 4000);
    return true;
  }
  return false;
}

/// The environment variable, or the end of the program.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  CHECK(value != nullptr);
  return value;
}

}  // namespace test
