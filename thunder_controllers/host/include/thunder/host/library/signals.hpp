// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thunder/thunder_abi.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace thunder {

/// Values by entry name, each flattened column-major; one value stands for every element of its entry.
using NamedValues = std::map<std::string, std::vector<double>>;

inline int entry_size(const thunder_entry& entry) noexcept { return entry.rows * entry.cols; }

/// A number as a message shows it: shortest form with so many significant digits, whatever the locale.
std::string format(double value, int digits = 6);

/// The finite number that a text is, all of it, whatever the locale; none if it is none.
std::optional<double> parse_number(const std::string& text) noexcept;

/// Names separated by commas; "none" if there are none.
std::string join(const std::vector<std::string>& names);

/// True if none of the values is infinite or NaN.
bool all_finite(const double* values, int count) noexcept;

/// The entry of that name. Throws HostError(name_not_found) that lists the names there are.
const thunder_entry& find_entry(const thunder_signal& signal, const std::string& name, const std::string& where);

/// The entry of that name, or null.
const thunder_entry* entry_if_any(const thunder_signal& signal, const std::string& name) noexcept;

/// The flat vector that holds every entry's defaults.
std::vector<double> default_values(const thunder_signal& signal);

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
