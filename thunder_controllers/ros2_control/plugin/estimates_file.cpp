// SPDX-License-Identifier: Apache-2.0
#include "estimates_file.hpp"

#include <stdlib.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "thunder/host/error.hpp"

namespace thunder_controllers {
namespace {

using thunder::ErrorKind;
using thunder::HostError;

/// Calls `use` with every entry of the state that is an estimate.
template <class Use>
void for_each_estimate(const thunder_law& law, Use use) {
  for (int i = 0; i < law.state.n_entries; ++i) {
    const thunder_entry& entry = law.state.entries[i];
    if ((entry.flags & THUNDER_ENTRY_ADAPTED) != 0) use(entry);
  }
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

std::string text_of(const Configuration& owner, const std::vector<double>& state) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "robot" << YAML::Value << owner.library->data().robot;
  out << YAML::Key << "law" << YAML::Value << owner.law;
  out << YAML::Key << "links" << YAML::Value << YAML::Flow << owner.links;
  for_each_estimate(owner.law_data(), [&](const thunder_entry& entry) {
    out << YAML::Key << entry.name << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const double value : thunder::read_entry(entry, state.data())) out << number_text(value);
    out << YAML::EndSeq;
  });
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

[[noreturn]] void refuse(const std::string& wrong, const std::string& where, const std::string& valid) {
  throw HostError(ErrorKind::law, wrong, where, valid);
}

std::vector<double> numbers(const YAML::Node& node, const thunder_entry& entry, const std::string& where) {
  const auto size = static_cast<std::size_t>(thunder::entry_size(entry));
  if (!node.IsSequence() || node.size() != size) {
    refuse("no list of that size", where, std::to_string(size) + " numbers");
  }
  std::vector<double> values;
  for (const YAML::Node& item : node) {
    double value = 0.0;
    const bool is_number = item.IsScalar() && item.Tag() != "!" && YAML::convert<double>::decode(item, value);
    if (!is_number || !std::isfinite(value)) refuse("a value is no finite number", where, "numbers");
    values.push_back(value);
  }
  return values;
}

YAML::Node read(const std::string& where) {
  YAML::Node data;
  try {
    data = YAML::LoadFile(where);
  } catch (const YAML::BadFile&) {
    refuse("cannot be read", where, "a file of ~/save_estimates");
  } catch (const YAML::Exception& error) {
    refuse(std::string("no YAML: ") + error.what(), where, "a file of ~/save_estimates");
  }
  if (!data.IsMap()) refuse("no mapping", where, "a file of ~/save_estimates");
  return data;
}

void check_keys(const YAML::Node& data, const std::vector<std::string>& known, const std::string& where) {
  for (const auto& pair : data) {
    const std::string key = pair.first.Scalar();
    bool found = false;
    for (const std::string& name : known) found = found || name == key;
    if (!found) refuse("unknown key '" + key + "'", where, thunder::join(known));
  }
  for (const std::string& name : known) {
    if (!data[name]) refuse("'" + name + "' is missing", where, thunder::join(known));
  }
}

void check_owner(const YAML::Node& data, const Configuration& owner, const std::string& where) {
  const std::string robot = owner.library->data().robot;
  if (data["robot"].Scalar() != robot) refuse("robot is '" + data["robot"].Scalar() + "'", where, "'" + robot + "'");
  if (data["law"].Scalar() != owner.law) refuse("law is '" + data["law"].Scalar() + "'", where, "'" + owner.law + "'");
  std::vector<std::string> links;
  for (const YAML::Node& link : data["links"]) links.push_back(link.Scalar());
  if (links != owner.links) refuse("links are " + thunder::join(links), where, thunder::join(owner.links));
}

/// Removes a file unless told to keep it.
class Partial {
 public:
  explicit Partial(std::string path) : path_(std::move(path)) {}
  ~Partial() {
    if (!path_.empty()) std::remove(path_.c_str());
  }
  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

bool write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

void save_estimates(const std::filesystem::path& path, const Configuration& owner, const std::vector<double>& state) {
  const std::string text = text_of(owner, state);
  std::string name = (path.parent_path() / ("." + path.filename().string() + "_XXXXXX")).string();
  const int file = ::mkstemp(name.data());
  bool done = file >= 0;
  int reason = errno;
  if (done) {
    Partial partial(name);
    done = write_all(file, text);
    done = ::close(file) == 0 && done;
    done = done && std::rename(name.c_str(), path.c_str()) == 0;
    reason = errno;
    if (done) partial.keep();
  }
  if (!done) refuse(std::string("cannot be written: ") + std::strerror(reason), path.string(), "a writable file");
}

thunder::NamedValues load_estimates(const std::filesystem::path& path, const Configuration& owner) {
  const std::string where = path.string();
  const YAML::Node data = read(where);
  std::vector<std::string> known = {"robot", "law", "links"};
  for_each_estimate(owner.law_data(), [&](const thunder_entry& entry) { known.emplace_back(entry.name); });
  check_keys(data, known, where);
  check_owner(data, owner, where);
  thunder::NamedValues values;
  for_each_estimate(owner.law_data(), [&](const thunder_entry& entry) {
    values[entry.name] = numbers(data[entry.name], entry, where + ": " + entry.name);
  });
  return values;
}

}  // namespace thunder_controllers
