// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/estimates_file.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "thunder/host/error.hpp"

namespace thunder {
namespace {

constexpr const char* kRobot = "robot";
constexpr const char* kLaw = "law";
constexpr const char* kLinks = "links";

[[noreturn]] void refuse(const std::string& wrong, const std::string& where, const std::string& valid) {
  throw HostError(ErrorKind::law, wrong, where, valid);
}

/// The entries of the state that are estimates.
std::vector<const thunder_entry*> estimates_of(const thunder_law& law) {
  std::vector<const thunder_entry*> entries;
  for (int i = 0; i < law.state.n_entries; ++i) {
    if ((law.state.entries[i].flags & THUNDER_ENTRY_ADAPTED) != 0) entries.push_back(&law.state.entries[i]);
  }
  return entries;
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string shown(const DocumentValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* names = std::get_if<std::vector<std::string>>(&value)) return "[" + join(*names) + "]";
  if (const auto* other = std::get_if<OtherValue>(&value)) return other->text;
  return "a list of numbers";
}

void check_keys(const Document& document, const std::vector<std::string>& known, const std::string& where) {
  for (const auto& [key, value] : document) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse("unknown key " + quoted(key), where, join(known));
    }
  }
  for (const std::string& name : known) {
    if (document.count(name) == 0) refuse(quoted(name) + " is missing", where, join(known));
  }
}

void check_owner(const Document& document, const char* key, const DocumentValue& expected, const std::string& where) {
  const DocumentValue& value = document.at(key);
  const bool is_equal = std::visit(
      [&](const auto& wanted) {
        using Kind = std::decay_t<decltype(wanted)>;
        if constexpr (std::is_same_v<Kind, OtherValue>) return false;
        else return std::holds_alternative<Kind>(value) && std::get<Kind>(value) == wanted;
      },
      expected);
  if (!is_equal) refuse(std::string(key) + " is " + shown(value), where, shown(expected));
}

std::vector<double> numbers(const DocumentValue& value, const thunder_entry& entry, const std::string& where) {
  const auto size = static_cast<std::size_t>(entry_size(entry));
  const auto* names = std::get_if<std::vector<std::string>>(&value);
  const auto* values = std::get_if<std::vector<double>>(&value);
  if (!values && !(names && names->empty())) refuse("no list of numbers", where, std::to_string(size) + " numbers");
  const std::size_t count = values ? values->size() : 0;
  if (count != size) refuse(std::to_string(count) + " values", where, std::to_string(size));
  if (!all_finite(values->data(), static_cast<int>(size))) refuse("a value is not finite", where, "numbers");
  for (std::size_t k = 0; k < size; ++k) {
    if (entry.lower[k] <= (*values)[k] && (*values)[k] <= entry.upper[k]) continue;
    refuse("element " + std::to_string(k) + " is " + format((*values)[k]), where,
           format(entry.lower[k]) + " to " + format(entry.upper[k]));
  }
  return *values;
}

/// The shortest text that is this number, with a point: YAML 1.1 takes 1e-05 for a word.
std::string number_text(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  const std::size_t exponent = text.find('e');
  if (text.find('.') == std::string::npos) text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  return text;
}

/// A name as YAML: plain where it cannot be taken for anything else, else in double quotes.
std::string name_text(const std::string& name) {
  static const std::array<const char*, 9> words = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  std::string lower;
  bool is_plain = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  for (const char character : name) {
    const auto byte = static_cast<unsigned char>(character);
    is_plain = is_plain && byte < 128 && (std::isalnum(byte) != 0 || byte == '_');
    lower += static_cast<char>(std::tolower(byte));
  }
  if (is_plain && std::find(words.begin(), words.end(), lower) == words.end()) return name;
  std::string text = "\"";
  for (const char character : name) {
    std::array<char, 8> escaped{};
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 32 || byte == 127) {
      std::snprintf(escaped.data(), escaped.size(), "\\x%02x", byte);
      text += escaped.data();
      continue;
    }
    if (character == '"' || character == '\\') text += '\\';
    text += character;
  }
  return text + "\"";
}

template <class Values, class Write>
std::string list_text(const Values& values, Write write) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + write(value);
  return "[" + text + "]";
}

bool write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  return true;
}

/// Write beside the path, then rename. Returns 0, or the reason as errno has it; nothing is left beside the path then.
int replace(const std::filesystem::path& path, const std::string& text) {
  std::string partial = (path.parent_path() / ("." + path.filename().string() + "_XXXXXX")).string();
  const int file = ::mkstemp(partial.data());
  if (file < 0) return errno;
  int reason = write_all(file, text) ? 0 : errno;
  if (::close(file) != 0 && reason == 0) reason = errno;
  if (reason == 0 && std::rename(partial.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) std::remove(partial.c_str());
  return reason;
}

}  // namespace

NamedValues read_estimates(const Document& document, const Configuration& configuration, const std::string& where) {
  const std::vector<const thunder_entry*> entries = estimates_of(configuration.law_data());
  std::vector<std::string> known = {kRobot, kLaw, kLinks};
  for (const thunder_entry* entry : entries) known.emplace_back(entry->name);
  check_keys(document, known, where);
  check_owner(document, kRobot, configuration.robot(), where);
  check_owner(document, kLaw, configuration.law, where);
  check_owner(document, kLinks, configuration.links, where);
  NamedValues values;
  for (const thunder_entry* entry : entries) {
    values[entry->name] = numbers(document.at(entry->name), *entry, where + ": " + entry->name);
  }
  return values;
}

std::string estimates_text(const Configuration& configuration, const std::vector<double>& state) {
  std::string text = std::string(kRobot) + ": " + name_text(configuration.robot()) + "\n";
  text += std::string(kLaw) + ": " + name_text(configuration.law) + "\n";
  text += std::string(kLinks) + ": " + list_text(configuration.links, name_text) + "\n";
  for (const thunder_entry* entry : estimates_of(configuration.law_data())) {
    text += std::string(entry->name) + ": " + list_text(read_entry(*entry, state.data()), number_text) + "\n";
  }
  return text;
}

void save_estimates(const std::filesystem::path& path, const Configuration& configuration,
                    const std::vector<double>& state) {
  const int reason = replace(path, estimates_text(configuration, state));
  if (reason != 0) {
    refuse(std::string("cannot be written: ") + std::strerror(reason), path.string(), "a writable file");
  }
}

}  // namespace thunder
