// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/estimates_file.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include "thunder/host/error.hpp"

namespace thunder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRobot = "robot";
constexpr const char* kLaw = "law";
constexpr const char* kLinks = "links";
constexpr const char* kSaved = "a file of ~/save_estimates";
constexpr std::uintmax_t kLargestFile = 4 << 20;  // [byte] estimates of a robot of 70 joints take a hundredth of it

[[noreturn]] void refuse(const std::string& wrong, const std::string& where, const std::string& valid) {
  throw HostError(ErrorKind::law, wrong, where, valid);
}

std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

/// What a key has: one text, or a list of them; a quoted text is no number.
struct Value {
  bool is_list = false;
  std::vector<std::string> texts = {};
  std::vector<bool> are_quoted = {};
};
using Document = std::map<std::string, Value>;

/// Reads a document from its text.
class Reader {
 public:
  Reader(std::string text, std::string path) : text_(std::move(text)), path_(std::move(path)) {}

  Document read() {
    Document document;
    while (skip_blank()) {
      Value key;
      if (!is_at_line_start()) wrong("a key must begin its line");
      read_text(key, ":");
      if (peek() != ':' || !(is_end(at_ + 1) || is_space(text_[at_ + 1]))) wrong("no 'key: value'");
      ++at_;
      if (!document.emplace(key.texts[0], read_value()).second) wrong(in_quotes(key.texts[0]) + " stands twice");
    }
    if (document.empty()) refuse("no mapping", path_, kSaved);
    return document;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\r' || c == '\n'; }
  bool is_end(std::size_t at) const { return at >= text_.size(); }
  char peek() const { return is_end(at_) ? '\n' : text_[at_]; }
  bool is_at_line_start() const { return at_ == 0 || text_[at_ - 1] == '\n'; }

  [[noreturn]] void wrong(const std::string& what) const {
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size()));
    refuse(what, path_ + ":" + std::to_string(1 + std::count(text_.begin(), end, '\n')), kSaved);
  }

  /// To the next sign that says something, comments left out: on this line, or on any. False where there is none.
  bool skip_blank(bool stays_on_line = false) {
    while (!is_end(at_)) {
      const bool begins_comment = text_[at_] == '#' && (at_ == 0 || is_space(text_[at_ - 1]));
      if (begins_comment) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (!is_space(text_[at_]) || (stays_on_line && text_[at_] == '\n')) {
        break;
      } else {
        ++at_;
      }
    }
    return !is_end(at_) && text_[at_] != '\n';
  }

  /// A text that is quoted, or that ends at one of these signs, a comment or the end of the line.
  void read_text(Value& value, const char* ends) {
    const bool is_quoted = peek() == '"' || peek() == '\'';
    std::string text;
    if (is_quoted) {
      read_quoted(text);
    } else {
      for (; peek() != '\n' && !std::strchr(ends, peek()); ++at_) {
        if (peek() == '#' && is_space(text_[at_ - 1])) break;
        text += peek();
      }
      while (!text.empty() && is_space(text.back())) text.pop_back();
      const bool is_item = text == "-" || text.substr(0, 2) == "- ";
      if (text.empty() || is_item || std::strchr("[]{}&*!|>%@`", text[0])) wrong("no text or number");
    }
    value.texts.push_back(text);
    value.are_quoted.push_back(is_quoted);
    skip_blank(true);
  }

  void read_quoted(std::string& text) {
    const char quote = text_[at_++];
    for (; peek() != '\n'; ++at_) {
      if (peek() == quote) {
        ++at_;
        if (quote == '"' || peek() != quote) return;  // in single quotes two of them are one
      } else if (quote == '"' && peek() == '\\') {
        ++at_;
        if (peek() == 'x') {
          unsigned code = 0;
          const std::string digits = text_.substr(at_ + 1, 2);
          const char* end = digits.data() + digits.size();
          const bool is_number = digits.size() == 2 && std::from_chars(digits.data(), end, code, 16).ptr == end;
          if (!is_number || code > 127) wrong("an unknown escape");
          text += static_cast<char>(code);
          at_ += 2;
          continue;
        }
        if (peek() != '"' && peek() != '\\') wrong("an unknown escape");
      }
      text += peek();
    }
    wrong("a quote has no end");
  }

  Value read_value() {
    Value value;
    if (!skip_blank(true)) {
      value.is_list = true;
      while (skip_blank() && peek() == '-' && !is_end(at_ + 1) && is_space(text_[at_ + 1])) {
        ++at_;
        if (!skip_blank(true)) wrong("an empty item");
        read_text(value, "");
        if (peek() != '\n') wrong("more than a text or number");
      }
      if (value.texts.empty()) wrong("a key without a value");
      return value;
    }
    if (peek() == '[') {
      value.is_list = true;
      read_list(value);
    } else {
      read_text(value, "");
    }
    if (skip_blank(true)) wrong("more than one value");
    return value;
  }

  void read_list(Value& value) {
    ++at_;
    while (skip_blank() && peek() != ']') {
      read_text(value, ",]");
      skip_blank();
      if (peek() == ',') {
        ++at_;
      } else if (peek() != ']') {
        wrong("a list has no end");
      }
    }
    if (peek() != ']') wrong("a list has no end");
    ++at_;
  }

  std::string text_;
  std::string path_;
  std::size_t at_ = 0;
};

Document read_document(const fs::path& path) {
  // A pipe would be waited for, and a device never ends.
  std::error_code missing;
  if (!fs::is_regular_file(path, missing)) refuse("cannot be read: there is no regular file", path.string(), kSaved);
  if (fs::file_size(path, missing) > kLargestFile) refuse("is too large", path.string(), kSaved);
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) refuse("cannot be read", path.string(), kSaved);
  return Reader(std::move(text), path.string()).read();
}

/// The entries of the state that are estimates.
std::vector<const thunder_entry*> estimates_of(const thunder_law& law) {
  std::vector<const thunder_entry*> entries;
  for (int i = 0; i < law.state.n_entries; ++i) {
    if ((law.state.entries[i].flags & THUNDER_ENTRY_ADAPTED) != 0) entries.push_back(&law.state.entries[i]);
  }
  return entries;
}

std::string shown(const Value& value) {
  return value.is_list ? "[" + (value.texts.empty() ? "" : join(value.texts)) + "]" : in_quotes(value.texts[0]);
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

void check_owner(const Document& document, const char* key, const Value& expected, const std::string& where) {
  const Value& value = document.at(key);
  if (value.is_list == expected.is_list && value.texts == expected.texts) return;
  refuse(std::string(key) + " is " + shown(value), where, shown(expected));
}

std::vector<double> numbers(const Value& value, const thunder_entry& entry, const std::string& where) {
  const auto size = static_cast<std::size_t>(entry_size(entry));
  if (!value.is_list) refuse("no list of numbers", where, std::to_string(size) + " numbers");
  if (value.texts.size() != size) refuse(std::to_string(value.texts.size()) + " values", where, std::to_string(size));
  std::vector<double> found;
  for (std::size_t k = 0; k < size; ++k) {
    const std::optional<double> number = value.are_quoted[k] ? std::nullopt : parse_number(value.texts[k]);
    if (!number) refuse(in_quotes(value.texts[k]) + " is no finite number", where, std::to_string(size) + " numbers");
    if (!(entry.lower[k] <= *number && *number <= entry.upper[k])) {
      refuse("element " + std::to_string(k) + " is " + format(*number), where,
             format(entry.lower[k]) + " to " + format(entry.upper[k]));
    }
    found.push_back(*number);
  }
  return found;
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
  check_owner(document, kRobot, {false, {configuration.robot()}}, where);
  check_owner(document, kLaw, {false, {configuration.law}}, where);
  check_owner(document, kLinks, {true, configuration.links}, where);
  NamedValues values;
  for (const thunder_entry* entry : entries) {
    values[entry->name] = numbers(document.at(entry->name), *entry, where + ": " + entry->name);
  }
  return values;
}

void save_estimates(const fs::path& path, const Configuration& configuration,
                    const std::vector<double>& state) {
  const int reason = replace(path, estimates_text(configuration, state));
  if (reason != 0) {
    refuse(std::string("cannot be written: ") + std::strerror(reason), path.string(), "a writable file");
  }
}

}  // namespace thunder
