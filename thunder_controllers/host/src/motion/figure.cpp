// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/motion/figure.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/circles.hpp"

namespace thunder {
namespace {

constexpr double kFrequencies[] = {0.1, 0.2, 0.15, 0.25};  // [Hz] neighbours move differently, all repeat after 20 s
constexpr double kSamePhase = 1e-9;  // of a turn: rounding of decimal frequencies over thousands of turns

void check_values(const std::vector<double>& values, std::size_t n, const std::string& where) {
  if (values.empty() || (values.size() > n && values.size() % n != 0)) {
    throw HostError(ErrorKind::dimension, "has " + std::to_string(values.size()) + " values", where,
                    "1 to " + std::to_string(n) + ", one per coordinate, or a multiple of " + std::to_string(n));
  }
  if (all_finite(values.data(), static_cast<int>(values.size()))) return;
  throw HostError(ErrorKind::law, "is not finite", where, "numbers");
}

}  // namespace

ScalarSample Figure::at(std::size_t k, std::size_t n, const ScalarSample& clock) const noexcept {
  ScalarSample sum{0.0, 0.0, 0.0};
  for (std::size_t i = k; i < amplitude.size(); i += n) {
    const double rate = kTurn * frequency[i], angle = rate * clock.value + phase[i];
    const double sine = amplitude[i] * std::sin(angle), slope = amplitude[i] * rate * std::cos(angle);
    sum.value += sine - amplitude[i] * std::sin(phase[i]);
    sum.velocity += slope * clock.velocity;
    sum.acceleration += slope * clock.acceleration - rate * rate * sine * clock.velocity * clock.velocity;
  }
  return sum;
}

double Figure::period(double longest) const noexcept {
  std::vector<double> moving;
  for (std::size_t i = 0; i < amplitude.size(); ++i) {
    if (amplitude[i] * frequency[i] != 0.0) moving.push_back(frequency[i]);
  }
  if (moving.empty()) return 0.0;
  const double slowest = *std::min_element(moving.begin(), moving.end());
  for (double turns = 1.0; turns / slowest <= longest; ++turns) {
    const auto begins_anew = [&](double f) {
      const double all = turns * f / slowest;
      return std::abs(all - std::round(all)) <= kSamePhase * all;
    };
    if (std::all_of(moving.begin(), moving.end(), begins_anew)) return turns / slowest;
  }
  return std::numeric_limits<double>::infinity();
}

std::shared_ptr<const Figure> prepare_figure(const Figure& given, int n) {
  const auto coordinates = static_cast<std::size_t>(n);
  Figure figure = given;
  for (std::size_t k = 0; given.frequency.empty() && k < coordinates; ++k) {
    figure.frequency.push_back(kFrequencies[k % std::size(kFrequencies)]);
  }
  const std::pair<const char*, const std::vector<double>*> kinds[] = {
      {"amplitude", &figure.amplitude}, {"frequency", &figure.frequency}, {"phase", &figure.phase}};
  std::size_t count = coordinates;
  for (const auto& [name, values] : kinds) {
    check_values(*values, coordinates, std::string("trace: ") + name);
    count = std::max(count, values->size());
  }
  if (*std::min_element(figure.frequency.begin(), figure.frequency.end()) < 0.0) {
    throw HostError(ErrorKind::law, "is negative", "trace: frequency", "zero or more [Hz]");
  }
  if (!(std::isfinite(figure.ramp_time) && figure.ramp_time > 0.0)) {
    throw HostError(ErrorKind::law, "is " + format(figure.ramp_time), "trace: ramp_time", "positive and finite [s]");
  }
  const auto whole = [count](const std::vector<double>& values) {
    std::vector<double> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = values[i % values.size()];
    return all;
  };
  return std::make_shared<const Figure>(
      Figure{whole(figure.amplitude), whole(figure.frequency), whole(figure.phase), figure.ramp_time});
}

}  // namespace thunder
