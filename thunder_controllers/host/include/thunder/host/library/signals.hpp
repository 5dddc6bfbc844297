// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thunder/thunder_abi.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/error.hpp"

namespace thunder {

/// Values by entry name, each flattened column-major; one value stands for every element of its entry.
using NamedValues = std::map<std::string, std::vector<double>>;

inline int entry_size(const thunder_entry& entry) noexcept { return entry.rows * entry.cols; }

/// A number as a message shows it: shortest form with so many significant digits, whatever the locale.
std::string format(double value, int digits = 6);
/// With as many more digits as it takes to look other than another number.
std::string format_apart(double value, double other);

/// The finite number that a text is, all of it, whatever the locale; none if it is none.
std::optional<double> parse_number(const std::string& text) noexcept;

/// Names separated by commas; "none" if there are none.
std::string join(const std::vector<std::string>& names);

/// The place among `known` of each of the given names: lists meet by names, never by places.
///
/// Throws HostError(name_not_found) that says which names are unknown or given twice.
std::vector<std::size_t> places_of(const std::vector<std::string>& given, const std::vector<std::string>& known,
                                   const std::string& where);

/// The place among `given` of each of the wanted names, which are all there, each once. Throws as places_of does, also
/// for names that are missing.
std::vector<std::size_t> order_of(const std::vector<std::string>& given, const std::vector<std::string>& wanted,
                                  const std::string& where);

/// True if none of the values is infinite or NaN.
bool all_finite(const double* values, int count) noexcept;

template <class Item>
std::vector<std::string> names_of(const Item* items, int count) {
  std::vector<std::string> names;
  for (const Item* item = items; item != items + count; ++item) names.emplace_back(item->name);
  return names;
}

/// The item of that name, or null.
template <class Item>
const Item* find_if_any(const Item* items, int count, const std::string& name) noexcept {
  const Item* found = std::find_if(items, items + count, [&](const Item& item) { return name == item.name; });
  return found == items + count ? nullptr : found;
}

/// The item of that name. Throws HostError(name_not_found) that lists the names there are.
template <class Item>
const Item& find_named(const Item* items, int count, const std::string& name, const std::string& noun,
                       const std::string& where) {
  if (const Item* found = find_if_any(items, count, name)) return *found;
  throw HostError(ErrorKind::name_not_found, "there is no " + noun + " '" + name + "'", where,
                  join(names_of(items, count)));
}

/// The entries of a signal, to go through.
struct Entries {
  const thunder_signal& signal;
  const thunder_entry* begin() const noexcept { return signal.entries; }
  const thunder_entry* end() const noexcept { return signal.entries + signal.n_entries; }
};

/// The entry of that name. Throws as find_named does.
inline const thunder_entry& find_entry(const thunder_signal& signal, const std::string& name, const std::string& where) {
  return find_named(signal.entries, signal.n_entries, name, "entry", where);
}

/// The entry of that name, or null.
inline const thunder_entry* entry_if_any(const thunder_signal& signal, const std::string& name) noexcept {
  return find_if_any(signal.entries, signal.n_entries, name);
}

/// The flat vector that holds every entry's defaults.
std::vector<double> default_values(const thunder_signal& signal);

/// The index of the first value that is not finite or out of the entry's bounds; its size if there is none.
int find_invalid(const thunder_entry& entry, const double* values) noexcept;

inline bool is_valid(const thunder_entry& entry, const double* values) noexcept {
  return find_invalid(entry, values) == entry_size(entry);
}

/// Throws HostError(law) if a value is not finite or out of the entry's bounds.
void check_values(const thunder_entry& entry, const double* values, const std::string& where);

/// Check the values and write them into the entry's place of the flat vector, which is unchanged if they are refused.
///
/// Throws HostError(dimension) unless there are as many values as the entry has elements, or one; see check_values.
void write_entry(const thunder_entry& entry, const std::vector<double>& values, const std::string& where,
                 std::vector<double>& flat);

/// Write several entries by name. Throws as find_entry and write_entry do.
void write_entries(const thunder_signal& signal, const NamedValues& values, const std::string& where,
                   std::vector<double>& flat);

/// The elements of one entry of a flat vector.
std::vector<double> read_entry(const thunder_entry& entry, const double* flat);

}  // namespace thunder
