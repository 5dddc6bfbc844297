// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/estimates_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <map>
#include <sstream>

#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates.hpp"
#include "thunder/host/library/file.hpp"

namespace thunder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRobot = "robot";
constexpr const char* kLaw = "law";
constexpr const char* kLinks = "links";
constexpr const char* kSaved = "a file of ~/save_estimates";
constexpr off_t kLargestFile = 4 << 20;  // [byte] estimates of a robot of 70 joints take a hundredth of it

[[noreturn]] void refuse(const std::string& wrong, const std::string& where, const std::string& valid) {
  throw HostError(ErrorKind::law, wrong, where, valid);
}

std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

bool is_control(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte < 32 || byte == 127;
}

/// A quoted text is no number.
struct Text {
  std::string text;
  bool is_quoted = false;
};

/// What a key has: one text, or a list of them.
struct Value {
  bool is_list = false;
  std::vector<Text> texts = {};
};
using Document = std::map<std::string, Value>;

/// A text in double quotes, or a plain one that ends before one of these signs.
Text read_text(std::istream& stream, const std::string& ends) {
  Text read;
  read.is_quoted = (stream >> std::ws).peek() == '"';
  if (read.is_quoted) {
    stream >> std::quoted(read.text);
    return read;
  }
  for (int next = stream.peek(); next != EOF && ends.find(static_cast<char>(next)) == std::string::npos;
       next = stream.peek()) {
    read.text += static_cast<char>(stream.get());
  }
  read.text.erase(read.text.find_last_not_of(' ') + 1);
  return read;
}

/// What stands behind a key on its line.
Value read_value(const std::string& line, const std::string& where) {
  std::istringstream stream(line);
  Value value;
  value.is_list = (stream >> std::ws).peek() == '[';
  char sign = stream.peek() == '[' ? static_cast<char>(stream.get()) : ' ';
  do {
    value.texts.push_back(read_text(stream, value.is_list ? ",]" : ""));
  } while (value.is_list && stream >> sign && sign == ',');
  if (value.is_list && sign != ']') refuse("a list has no end", where, kSaved);
  std::string rest;
  if (!stream || stream >> rest) refuse("no single value", where, kSaved);
  const bool is_empty = value.texts[0].text.empty() && !value.texts[0].is_quoted;
  if (is_empty && value.texts.size() == 1) value.texts.clear();
  return value;
}

Document read_document(const fs::path& path) {
  std::istringstream stream(ForeignFile{path, ErrorKind::law, kSaved}.read(kLargestFile));
  Document document;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string where = path.string() + ":" + std::to_string(number);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (std::any_of(line.begin(), line.end(), is_control)) refuse("a control character", where, kSaved);
    if (line.find_first_not_of(' ') == std::string::npos || line[0] == '#') continue;
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) refuse("no 'key: value'", where, kSaved);
    const std::string key = line.substr(0, colon);
    if (!document.emplace(key, read_value(line.substr(colon + 1), where)).second) {
      refuse(in_quotes(key) + " stands twice", where, kSaved);
    }
  }
  if (document.empty()) refuse("no mapping", path.string(), kSaved);
  return document;
}

/// The entries of the state that are estimates.
std::vector<const thunder_entry*> estimates_of(const thunder_law& law) {
  std::vector<const thunder_entry*> entries;
  for (const thunder_entry& entry : Entries{law.state}) {
    if ((entry.flags & THUNDER_ENTRY_ADAPTED) != 0) entries.push_back(&entry);
  }
  return entries;
}

void check_keys(const Document& document, const std::vector<std::string>& known, const std::string& where) {
  for (const auto& [key, value] : document) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse("unknown key " + in_quotes(key), where, join(known));
    }
  }
  for (const std::string& name : known) {
    if (document.count(name) == 0) refuse(in_quotes(name) + " is missing", where, join(known));
  }
}

std::string shown(const std::vector<std::string>& texts, bool is_list) {
  if (!is_list) return in_quotes(join(texts));
  return "[" + (texts.empty() ? "" : join(texts)) + "]";
}

std::vector<std::string> texts_of(const Value& value) {
  std::vector<std::string> texts;
  for (const Text& one : value.texts) texts.push_back(one.text);
  return texts;
}

void check_owner(const Document& document, const char* key, const std::string& expected, const std::string& where) {
  const Value& value = document.at(key);
  const std::vector<std::string> texts = texts_of(value);
  if (!value.is_list && texts == std::vector<std::string>{expected}) return;
  refuse(std::string(key) + " is " + shown(texts, value.is_list), where, in_quotes(expected));
}

std::vector<double> numbers(const Value& value, const thunder_entry& entry, const std::string& where) {
  const auto size = static_cast<std::size_t>(entry_size(entry));
  if (!value.is_list) refuse("no list of numbers", where, std::to_string(size) + " numbers");
  if (value.texts.size() != size) refuse(std::to_string(value.texts.size()) + " values", where, std::to_string(size));
  std::vector<double> found;
  for (std::size_t k = 0; k < size; ++k) {
    const auto& [text, is_quoted] = value.texts[k];
    const std::optional<double> number = is_quoted ? std::nullopt : parse_number(text);
    if (!number) refuse(in_quotes(text) + " is no finite number", where, std::to_string(size) + " numbers");
    if (!(entry.lower[k] <= *number && *number <= entry.upper[k])) {
      refuse("element " + std::to_string(k) + " is " + format(*number), where,
             format(entry.lower[k]) + " to " + format(entry.upper[k]));
    }
    found.push_back(*number);
  }
  return found;
}

/// The bodies of links, a block of numbers each, in the order of the configuration.
Value ordered(const Value& value, const std::vector<std::size_t>& order) {
  const std::size_t size = value.texts.size() / std::max<std::size_t>(order.size(), 1);
  if (!value.is_list || order.empty() || value.texts.size() % order.size() != 0) return value;
  Value sorted{true};
  for (const std::size_t place : order) {
    const auto block = value.texts.begin() + static_cast<std::ptrdiff_t>(place * size);
    sorted.texts.insert(sorted.texts.end(), block, block + static_cast<std::ptrdiff_t>(size));
  }
  return sorted;
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

/// A name as YAML: in quotes it cannot be taken for anything else.
std::string name_text(const std::string& name) {
  std::ostringstream text;
  text << std::quoted(name);
  return text.str();
}

template <class Values, class Write>
std::string list_text(const Values& values, Write write) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + write(value);
  return "[" + text + "]";
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

}  // namespace

NamedValues read_estimates(const fs::path& path, const Configuration& configuration) {
  const Document document = read_document(path);
  const std::string where = path.string();
  const std::vector<const thunder_entry*> entries = estimates_of(configuration.law_data());
  std::vector<std::string> known = {kRobot, kLaw, kLinks};
  for (const thunder_entry* entry : entries) known.emplace_back(entry->name);
  check_keys(document, known, where);
  check_owner(document, kRobot, configuration.robot(), where);
  check_owner(document, kLaw, configuration.law, where);
  const Value& links = document.at(kLinks);
  if (!links.is_list) refuse(std::string(kLinks) + " is " + shown(texts_of(links), false), where, "a list of names");
  const std::vector<std::size_t> order = order_of(texts_of(links), configuration.links, where + ": " + kLinks);
  NamedValues values;
  for (const thunder_entry* entry : entries) {
    const Value& value = document.at(entry->name);
    const bool is_of_links = entry->name == std::string(kEstimateEntry);
    values[entry->name] = numbers(is_of_links ? ordered(value, order) : value, *entry, where + ": " + entry->name);
  }
  return values;
}

void save_estimates(const fs::path& path, const Configuration& configuration,
                    const std::vector<double>& state) {
  const int reason = write_whole(path, estimates_text(configuration, state));
  if (reason != 0) {
    refuse(std::string("cannot be written: ") + std::strerror(reason), path.string(), "a writable file");
  }
}

}  // namespace thunder
