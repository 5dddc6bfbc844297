// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/law/estimates.hpp"

#include <algorithm>
#include <cmath>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

std::string stripped(const std::string& text, const char* characters) {
  const std::size_t first = text.find_first_not_of(characters);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(characters) - first + 1);
}

/// What stands behind the last " of ", divided at its commas.
std::vector<std::string> names_at_end(const std::string& description) {
  const std::string separator = " of ";
  const std::size_t found = description.rfind(separator);
  std::string rest = stripped(found == std::string::npos ? description : description.substr(found + separator.size()),
                              ". ");
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= rest.size();) {
    const std::size_t end = std::min(rest.find(',', begin), rest.size());
    names.push_back(stripped(rest.substr(begin, end - begin), " "));
    begin = end + 1;
  }
  return names;
}

/// The links that an entry's description ends with; none if one is no link of the library.
std::vector<std::string> links_at_end(const thunder_library& library, const thunder_entry& entry) {
  std::vector<std::string> names = names_at_end(entry.description);
  const bool known = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return find_link(library, name) < library.n_joints;
  });
  return known ? names : std::vector<std::string>();
}

/// Topic of a link's estimate. A byte of a letter that is not ASCII is two hexadecimal digits, as names in such a script
/// would share a topic otherwise.
std::string estimate_topic(const std::string& link) {
  static const char* const kDigits = "0123456789abcdef";
  std::string topic = "estimates/";
  for (std::size_t i = 0; i < link.size(); ++i) {
    const auto c = static_cast<unsigned char>(link[i]);
    const bool begins = topic.back() == '/';
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool divides = c == '/' && !begins && i + 1 < link.size() && link[i + 1] != '/';
    if ((is_digit || c > 127) && begins) topic += '_';
    if (c > 127) topic += kDigits[c >> 4];
    topic += c > 127 ? kDigits[c & 15] : is_digit || is_letter || divides ? link[i] : '_';
  }
  return topic;
}

}  // namespace

int find_link(const thunder_library& library, const std::string& name) noexcept {
  const char* const* first = library.link_names;
  return static_cast<int>(std::find(first, first + library.n_joints, name) - first);
}

std::vector<std::string> estimated_links(const thunder_library& library, const thunder_law& law) {
  const thunder_entry* entry = entry_if_any(law.state, kEstimateEntry);
  if (!entry || entry_size(*entry) % kInertialParameters != 0) return {};
  const auto count = static_cast<std::size_t>(entry_size(*entry) / kInertialParameters);
  std::vector<std::string> names = links_at_end(library, *entry);
  if (names.size() == count) return names;
  names.clear();
  for (std::size_t i = 1; i <= count; ++i) names.push_back("body_" + std::to_string(i));
  return names;
}

std::string carrying_link(const thunder_library& library, const thunder_law& law) {
  const thunder_entry* entry = entry_if_any(law.telemetry, kPickedUpEntry);
  if (!entry || entry_size(*entry) != kInertialParameters || !entry_if_any(law.telemetry, kChangeEntry)) return {};
  const std::vector<std::string> names = links_at_end(library, *entry);
  return names.size() == 1 ? names.front() : std::string();
}

std::vector<std::string> estimate_topics(const std::vector<std::string>& links) {
  std::vector<std::string> topics;
  for (const std::string& link : links) {
    const std::string topic = estimate_topic(link);
    const auto other = std::find(topics.begin(), topics.end(), topic);
    if (other != topics.end()) {
      const std::string& first = links[static_cast<std::size_t>(other - topics.begin())];
      throw HostError(ErrorKind::law, "the links '" + first + "' and '" + link + "' share the topic " + topic,
                      "adapted links", "names that differ in letters, digits or /");
    }
    topics.push_back(topic);
  }
  return topics;
}

void about_com(const double* pi, double* dyn) noexcept {
  const double mass = pi[0];
  if (dyn != pi) std::copy_n(pi, kInertialParameters, dyn);
  if (!(std::abs(mass) >= kSmallestMass)) {
    std::fill_n(dyn + 1, 3, 0.0);
    return;
  }
  const double x = pi[1] / mass, y = pi[2] / mass, z = pi[3] / mass;
  dyn[1] = x;
  dyn[2] = y;
  dyn[3] = z;
  dyn[4] -= mass * (y * y + z * z);
  dyn[5] += mass * x * y;
  dyn[6] += mass * x * z;
  dyn[7] -= mass * (x * x + z * z);
  dyn[8] += mass * y * z;
  dyn[9] -= mass * (x * x + y * y);
}

}  // namespace thunder
