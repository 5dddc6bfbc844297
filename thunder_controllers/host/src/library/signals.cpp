// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/library/signals.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace thunder {
namespace {

/// The place among `known` of each of the given names, which are different ones, and all of them if asked for.
std::vector<std::size_t> places(const std::vector<std::string>& given, const std::vector<std::string>& known,
                                const std::string& where, bool are_all) {
  std::vector<std::string> missing = known;
  std::vector<std::string> unknown;
  std::vector<std::string> twice;
  std::vector<std::size_t> found;
  for (const std::string& name : given) {
    const auto left = std::find(missing.begin(), missing.end(), name);
    const auto place = std::find(known.begin(), known.end(), name);
    if (place == known.end()) {
      unknown.push_back(name);
    } else if (left == missing.end()) {
      twice.push_back(name);
    } else {
      missing.erase(left);
      found.push_back(static_cast<std::size_t>(place - known.begin()));
    }
  }
  std::vector<std::string> wrong;
  if (are_all && !missing.empty()) wrong.push_back("missing " + join(missing));
  if (!unknown.empty()) wrong.push_back("unknown " + join(unknown));
  if (!twice.empty()) wrong.push_back("twice " + join(twice));
  if (wrong.empty()) return found;
  throw HostError(ErrorKind::name_not_found, join(wrong), where, join(known) + (are_all ? ", each once" : ""));
}

}  // namespace

std::string format(double value, int digits) {
  std::array<char, 32> buffer{};
  const auto general = std::chars_format::general;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, general, digits).ptr;
  return std::string(buffer.data(), end);
}

std::string format_apart(double value, double other) {
  int digits = 6;
  while (value != other && digits < 17 && format(value, digits) == format(other, digits)) ++digits;
  return format(value, digits);
}

std::optional<double> parse_number(const std::string& text) noexcept {
  const bool has_plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char* const end = text.data() + text.size();
  double value = 0.0;
  const auto [rest, error] = std::from_chars(text.data() + (has_plus ? 1 : 0), end, value);
  if (error != std::errc() || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string join(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) text += ", " + names[i];
  return text;
}

std::vector<std::size_t> places_of(const std::vector<std::string>& given, const std::vector<std::string>& known,
                                   const std::string& where) {
  return places(given, known, where, false);
}

std::vector<std::size_t> order_of(const std::vector<std::string>& given, const std::vector<std::string>& wanted,
                                  const std::string& where) {
  const std::vector<std::size_t> found = places(given, wanted, where, true);
  std::vector<std::size_t> order(found.size());
  for (std::size_t k = 0; k < found.size(); ++k) order[found[k]] = k;
  return order;
}

bool all_finite(const double* values, int count) noexcept {
  for (int i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) return false;
  }
  return true;
}

std::vector<double> default_values(const thunder_signal& signal) {
  std::vector<double> flat;
  flat.reserve(static_cast<std::size_t>(signal.size));
  for (const thunder_entry& entry : Entries{signal}) {
    flat.insert(flat.end(), entry.defaults, entry.defaults + entry_size(entry));
  }
  return flat;
}

int find_invalid(const thunder_entry& entry, const double* values) noexcept {
  int i = 0;
  while (i < entry_size(entry) && std::isfinite(values[i]) && entry.lower[i] <= values[i] && values[i] <= entry.upper[i]) {
    ++i;
  }
  return i;
}

void check_values(const thunder_entry& entry, const double* values, const std::string& where) {
  const int i = find_invalid(entry, values);
  if (i == entry_size(entry)) return;
  throw HostError(ErrorKind::law, "element " + std::to_string(i) + " is " + format(values[i]),
                  where + "." + entry.name,
                  "finite, in [" + format(entry.lower[i]) + ", " + format(entry.upper[i]) + "] " + entry.unit);
}

void write_entry(const thunder_entry& entry, const std::vector<double>& values, const std::string& where,
                 std::vector<double>& flat) {
  const auto size = static_cast<std::size_t>(entry_size(entry));
  if (values.size() != size && values.size() != 1) {
    throw HostError(ErrorKind::dimension, "got " + std::to_string(values.size()) + " values", where + "." + entry.name,
                    size == 1 ? "one value" : "one value, or " + std::to_string(size));
  }
  const std::vector<double> full = values.size() == size ? values : std::vector<double>(size, values.front());
  check_values(entry, full.data(), where);
  std::copy(full.begin(), full.end(), flat.begin() + entry.offset);
}

void write_entries(const thunder_signal& signal, const NamedValues& values, const std::string& where,
                   std::vector<double>& flat) {
  for (const auto& [name, value] : values) write_entry(find_entry(signal, name, where), value, where, flat);
}

std::vector<double> read_entry(const thunder_entry& entry, const double* flat) {
  return {flat + entry.offset, flat + entry.offset + entry_size(entry)};
}

}  // namespace thunder
