/* Robot $robot, generated: kinematics, dynamics and regressors as an Eigen class over the C core of lib$robot.so. */
#ifndef THUNDER_${robot}_H
#define THUNDER_${robot}_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "${robot}_gen.h"

namespace thunder_${robot}_parts {

using Groups = std::map<std::string, std::vector<double>>;

template <typename Target>
void assign(Target& target, const Eigen::Ref<const Eigen::VectorXd>& value, const char* where) {
  if (value.size() != target.size())
    throw std::invalid_argument(std::string(where) + ": " + std::to_string(value.size()) + " values; valid: " +
                                std::to_string(target.size()));
  for (Eigen::Index i = 0; i < value.size(); ++i)
    if (!std::isfinite(value[i])) throw std::invalid_argument(std::string(where) + ": value " + std::to_string(i) + " is not finite; valid: finite numbers");
  target = value;
}

/* With 17 digits, from which the number comes back bit for bit; with a point, whatever the locale. */
inline std::string number_text(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 17).ptr);
}

inline void write_group(std::string& text, const char* name, const Eigen::Ref<const Eigen::VectorXd>& values) {
  text += std::string(name) + ": [";
  for (Eigen::Index i = 0; i < values.size(); ++i) text += (i ? ", " : "") + number_text(values[i]);
  text += "]\n";
}

inline const std::vector<double>* find(const Groups& groups, const char* name) {
  const auto found = groups.find(name);
  return found == groups.end() ? nullptr : &found->second;
}

inline Eigen::Map<const Eigen::VectorXd> map(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

[[noreturn]] inline void fail(const std::string& file, int line, const std::string& what) {
  throw std::runtime_error(file + ":" + std::to_string(line) + ": " + what);
}

inline std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

inline std::vector<std::string> items(const std::string& list, const std::string& file, int line) {
  if (list.size() < 2 || list.front() != '[' || list.back() != ']')
    fail(file, line, "'" + list + "' is no list; valid: [number, number, ...] on one line");
  std::vector<std::string> parts;
  const std::string inside = list.substr(1, list.size() - 2);
  for (std::size_t start = 0; start <= inside.size();) {
    const std::size_t comma = std::min(inside.find(',', start), inside.size());
    parts.push_back(trimmed(inside.substr(start, comma - start)));
    start = comma + 1;
  }
  return parts;
}

inline std::vector<double> numbers(const std::string& list, const std::string& file, int line) {
  std::vector<double> values;
  for (const std::string& item : items(list, file, line)) {
    const bool has_plus = item.size() > 1 && item[0] == '+' && item[1] != '-';
    const char* const end = item.data() + item.size();
    double value = 0.0;
    const auto [rest, error] = std::from_chars(item.data() + has_plus, end, value);
    if (error != std::errc() || rest != end || !std::isfinite(value))
      fail(file, line, "'" + item + "' is no finite number");
    values.push_back(value);
  }
  return values;
}

/* The text of a regular file of at most 4 MiB: a pipe would be waited for, and a device may never end. */
inline std::istringstream read_file(const std::string& file, const char* valid) {
  struct stat status;
  std::string text;
  const int handle = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  bool is_read = handle >= 0 && ::fstat(handle, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= 4 << 20;
  if (is_read) {
    text.resize(static_cast<std::size_t>(status.st_size));
    is_read = ::read(handle, &text[0], text.size()) == status.st_size;
  }
  if (handle >= 0) ::close(handle);
  if (!is_read) throw std::runtime_error(file + ": cannot be read; valid: a file that " + valid + " wrote");
  return std::istringstream(text);
}

/* A file that appears whole or not at all and is on the disk then, with the permissions of the one that it replaces.
   A link in its place is replaced, never followed; anything else that is no file stays. */
inline void write_file(const std::string& file, const std::string& text) {
  struct stat status;
  const bool exists = ::lstat(file.c_str(), &status) == 0, replaces = exists && S_ISREG(status.st_mode);
  const bool is_free = !exists || replaces || S_ISLNK(status.st_mode);
  const std::string partial = file + ".part";
  if (is_free) std::remove(partial.c_str());
  const int handle = is_free ? ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
  bool is_done = handle >= 0 && ::write(handle, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (is_done && replaces) is_done = ::fchmod(handle, status.st_mode & 0777) == 0;
  is_done = is_done && ::fsync(handle) == 0;
  if (handle >= 0 && ::close(handle) != 0) is_done = false;
  if (!is_done || std::rename(partial.c_str(), file.c_str()) != 0) {
    if (handle >= 0) std::remove(partial.c_str());
    throw std::runtime_error(file + ": cannot be written");
  }
  const std::size_t slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  const int folder = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

inline constexpr const char* from_robot_file = $from_robot_file;
inline constexpr const char* link_names[] = {$link_names};
inline const std::array<std::size_t, $n_symbolic> symbolic_entries = {$symbolic};

$inertial_files$estimates_parts/** Kinematics, dynamics and regressors of $robot. SI units, world frame, linear parts first.
 *
 * Set the arguments, then get what is needed of them. Results up to 128 KB are fixed-size; nothing else allocates after
 * construction, except what reads and writes files. Setters throw std::invalid_argument for a wrong size or a non-finite value, and then
 * leave the object as it was. One object serves one thread.
 */
class thunder_$robot {
 public:
  /** Sizes, by the names of the established interface. */
$constants
  thunder_$robot();

  int get_numJoints() const { return num_joints; }
  int get_numParDYN() const { return numParDYN; }
  int get_numParREG() const { return numParREG; }

$setters
  /** Set q, dq, dq_r and ddq_r at once. */
  void setArguments(const Eigen::Ref<const Eigen::VectorXd>& q, const Eigen::Ref<const Eigen::VectorXd>& dq,
                    const Eigen::Ref<const Eigen::VectorXd>& dq_r, const Eigen::Ref<const Eigen::VectorXd>& ddq_r);

  /** Read run-time parameters from a file as save_conf writes it: all of it is checked before anything is set.
   * Throws std::runtime_error naming file, line and what would be valid. Groups that are not in the file keep their values.
   * A controller's saved estimates, which name their law, are accepted too: pi_hat takes the place of the inertial
   * parameters of the links it is of, as far as these are symbolic; everything else of the law is passed over. */
  void load_conf(const std::string& file);

  /** Write all run-time parameters; the file appears whole or not at all. */
  void save_conf(const std::string& file) const;

  /** Read par_REG of all links from a file as save_par_REG writes it: all of it is checked before anything is set, which
   * is the symbolic entries. Throws std::runtime_error naming file, line and what would be valid.
   * @return get_par_REG(). */
  $par_REG_type load_par_REG(const std::string& file);

  /** Write par_REG of all links, symbolic and numeric entries alike, in the order of the robot. */
  void save_par_REG(const std::string& file) const;

  /** The same of par_DYN: inertias about the centres of mass. */
  void save_par_DYN(const std::string& file) const;

  /** save_conf; returns 1. */
  int save_par(const std::string& file) const;

$getters
 private:
$members
  mutable std::array<double, $work> work_;
};

inline thunder_$robot::thunder_$robot() {
$initial
}

$setter_definitions
$conversions
inline void thunder_$robot::setArguments(const Eigen::Ref<const Eigen::VectorXd>& q, const Eigen::Ref<const Eigen::VectorXd>& dq,
                                  const Eigen::Ref<const Eigen::VectorXd>& dq_r, const Eigen::Ref<const Eigen::VectorXd>& ddq_r) {
  set_q(q);
  set_dq(dq);
  set_dq_r(dq_r);
  set_ddq_r(ddq_r);
}

inline void thunder_$robot::load_conf(const std::string& file) {
  std::istringstream stream = read_file(file, "save_conf");
  std::vector<std::pair<std::string, std::size_t>> known;
$check
  Groups groups;
  std::string text;
  bool has_law = false;  // a controller's saved estimates: what is no group is the state of its law
$estimates_declared  for (int line = 1; std::getline(stream, text); ++line) {
    text = trimmed(text.substr(0, text.find('#')));
    if (text.empty()) continue;
    const auto colon = text.find(':');
    if (colon == std::string::npos) fail(file, line, "'" + text + "' is no 'group: [values]'");
    const std::string key = trimmed(text.substr(0, colon)), value = trimmed(text.substr(colon + 1));
    if (key == "robot") {
      if (value != "$robot") fail(file, line, "parameters of robot '" + value + "'; valid: $robot");
      continue;
    }
    if (key == "law") {
      has_law = true;
      continue;
    }
    std::string valid;
    const std::pair<std::string, std::size_t>* group = nullptr;
    for (const auto& candidate : known) {
      valid += (valid.empty() ? "" : ", ") + candidate.first;
      if (candidate.first == key) group = &candidate;
    }
$estimates_read    if (!group && has_law) continue;
    if (!group) fail(file, line, "no group '" + key + "'; valid: robot" + (valid.empty() ? "" : ", " + valid) + from_robot_file);
    if (groups.count(key)) fail(file, line, "group '" + key + "' stands twice");
    groups[key] = numbers(value, file, line);
    if (groups[key].size() != group->second)
      fail(file, line, std::to_string(groups[key].size()) + " values in '" + key + "'; valid: " + std::to_string(group->second));
  }
  thunder_$robot loaded = *this;
$load$estimates_set  *this = loaded;
}

inline void thunder_$robot::save_conf(const std::string& file) const {
  std::string text = "robot: $robot\n";
$save  write_file(file, text);
}

inline $par_REG_type thunder_$robot::load_par_REG(const std::string& file) {
$load_par_REG}

inline void thunder_$robot::save_par_REG(const std::string& file) const {
$all_REG  write_file(file, inertial_text(out, 0));
}

inline void thunder_$robot::save_par_DYN(const std::string& file) const {
  write_file(file, inertial_text(map(all_DYN($par_DYN)), 2));
}

inline int thunder_$robot::save_par(const std::string& file) const {
  save_conf(file);
  return 1;
}

$getter_definitions
}  // namespace thunder_${robot}_parts

using thunder_${robot}_parts::thunder_$robot;

#endif
