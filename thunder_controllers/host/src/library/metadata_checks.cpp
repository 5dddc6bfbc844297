// SPDX-License-Identifier: Apache-2.0
//
// What a library says about itself is checked once, at load time, so that the update path can trust every size.
#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "thunder/host/error.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr int kMostReferenceEntries = 64;
/// Bounds of what is counted, far beyond any robot: products and sums of sizes stay in an int, and no more is read than
/// a library can hold.
constexpr int kMostItems = 4096;
constexpr int kMostElements = 1 << 24;
constexpr int kMostScratch = 1 << 28;
constexpr std::size_t kLongestName = 256;  ///< Names stand in messages.

[[noreturn]] void refuse(const std::string& where, const std::string& wrong, const std::string& valid = {}) {
  throw HostError(ErrorKind::build, wrong, where, valid);
}

void require(bool holds, const std::string& where, const char* wrong, const char* valid = "") {
  if (!holds) refuse(where, wrong, valid);
}

void check_text(const char* text, const std::string& where, const char* what) {
  if (!text) refuse(where, std::string("the ") + what + " is missing");
}

void check_name(const char* name, const std::string& where) {
  check_text(name, where, "name");
  require(*name != '\0', where, "the name is empty");
  require(strnlen(name, kLongestName + 1) <= kLongestName, where, "a name is too long", "at most 256 characters");
}

void check_unique(std::set<std::string>& seen, const char* name, const std::string& where) {
  check_name(name, where);
  if (!seen.insert(name).second) refuse(where, std::string("the name '") + name + "' appears twice");
}

/// As many items as counted, of different names, each of which passes its own check.
template <class Item, class Check>
void check_items(const Item* items, int count, const std::string& where, Check check) {
  require(count >= 0, where, "the count is negative");
  require(count <= kMostItems, where, "the count is larger than that of any robot", "at most 4096");
  require(count == 0 || items, where, "the entries are missing");
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) {
    check_unique(names, items[i].name, where);
    check(items[i]);
  }
}

/// Bounds ordered and not NaN; defaults inside them, except for outputs, which have no meaningful default.
void check_bounds(const thunder_entry& entry, const std::string& where, bool check_defaults) {
  require(entry.defaults && entry.lower && entry.upper, where, "defaults or bounds are missing");
  for (int i = 0; i < entry_size(entry); ++i) {
    if (!(entry.lower[i] <= entry.upper[i])) {
      refuse(where, "bounds [" + format(entry.lower[i]) + ", " + format(entry.upper[i]) + "] are not ordered");
    }
    if (!check_defaults) continue;
    const double value = entry.defaults[i];
    if (!(std::isfinite(value) && entry.lower[i] <= value && value <= entry.upper[i])) {
      refuse(where, "the default " + format(value) + " is out of bounds",
             "[" + format(entry.lower[i]) + ", " + format(entry.upper[i]) + "]");
    }
  }
}

void check_entry(const thunder_entry& entry, const std::string& where, bool check_defaults) {
  const std::string here = where + "." + entry.name;
  check_text(entry.unit, here, "unit");
  check_text(entry.description, here, "description");
  require(entry.rows >= 1 && entry.cols >= 1, here, "the size is not positive", "rows >= 1 and cols >= 1");
  require(entry.rows <= kMostElements / entry.cols, here, "it is larger than any robot has", "at most 16777216 elements");
  check_bounds(entry, here, check_defaults);
}

void check_signal(const thunder_signal& signal, const std::string& where, bool check_defaults) {
  int offset = 0;
  check_items(signal.entries, signal.n_entries, where, [&](const thunder_entry& entry) {
    check_entry(entry, where, check_defaults);
    if (entry.offset != offset) {
      refuse(where + "." + entry.name, "the offset is " + std::to_string(entry.offset), std::to_string(offset));
    }
    offset += entry_size(entry);
    require(offset <= kMostElements, where, "it is larger than any robot has", "at most 16777216 elements");
  });
  if (offset != signal.size) {
    refuse(where, "the entries hold " + std::to_string(offset) + " values, the signal " + std::to_string(signal.size));
  }
}

void check_reference_entry(const thunder_signal& signal, int index, const char* name, int rows, int cols,
                           const std::string& where) {
  if (index < signal.n_entries) {
    const thunder_entry& entry = signal.entries[index];
    if (std::strcmp(entry.name, name) == 0 && entry.rows == rows && entry.cols == cols) return;
  }
  refuse(where, "the reference has no entry like the one expected",
         std::string(name) + " (" + std::to_string(rows) + "x" + std::to_string(cols) + ")");
}

/// The standard entries come first, in this order; entries are numbered by the bits of a word.
void check_reference(const thunder_law& law, int n_joints, const std::string& where) {
  if (law.reference_kind == THUNDER_REFERENCE_JOINT) {
    int index = 0;
    for (const char* name : {"q", "qd", "qdd"}) check_reference_entry(law.reference, index++, name, n_joints, 1, where);
  } else if (law.reference_kind == THUNDER_REFERENCE_CARTESIAN) {
    check_reference_entry(law.reference, 0, "position", 3, 1, where);
    check_reference_entry(law.reference, 1, "rotation", 3, 3, where);
    check_reference_entry(law.reference, 2, "twist", 6, 1, where);
    check_reference_entry(law.reference, 3, "acceleration", 6, 1, where);
  } else {
    refuse(where, "the reference kind " + std::to_string(law.reference_kind) + " is unknown",
           "0 (joint), 1 (cartesian)");
  }
  require(law.reference.n_entries <= kMostReferenceEntries, where, "the reference has too many entries", "at most 64");
}

void check_initial(const thunder_law& law, const std::string& where) {
  for (const thunder_entry& entry : Entries{law.state}) {
    if ((entry.flags & THUNDER_ENTRY_INITIAL) == 0) continue;
    const std::string here = where + ".state." + entry.name;
    require(law.initial != nullptr, here, "it starts from what is measured, but the function is missing");
    require((entry.flags & THUNDER_ENTRY_ADAPTED) == 0, here, "an estimate starts from what is measured");
  }
}

void check_ages(const thunder_law& law, const std::string& where) {
  const thunder_entry* before = nullptr;
  for (const thunder_entry& entry : Entries{law.measurements}) {
    if ((entry.flags & THUNDER_ENTRY_AGE) != 0) {
      const bool follows = before && (before->flags & THUNDER_ENTRY_AGE) == 0;
      require(follows && entry_size(entry) == 1, where + ".measurements." + entry.name, "it is no age of an entry before it");
    }
    before = &entry;
  }
}

void check_scratch(int size_iw, int size_w, const std::string& where) {
  require(size_iw >= 0 && size_w >= 0, where, "a work size is negative");
  require(size_iw <= kMostScratch && size_w <= kMostScratch, where, "a work size is larger than any", "at most 268435456");
}

void check_law(const thunder_law& law, int n_joints, const std::string& where) {
  check_text(law.description, where, "description");
  require(law.step != nullptr, where, "the step function is missing");
  check_scratch(law.size_iw, law.size_w, where);
  check_signal(law.measurements, where + ".measurements", true);
  check_signal(law.reference, where + ".reference", true);
  check_signal(law.state, where + ".state", true);
  check_signal(law.gains, where + ".gains", true);
  check_signal(law.telemetry, where + ".telemetry", false);
  check_reference(law, n_joints, where);
  check_initial(law, where);
  check_ages(law, where);
}

void check_function(const thunder_function& function, const std::string& where) {
  check_text(function.description, where, "description");
  require(function.eval != nullptr, where, "the function pointer is missing");
  require(function.n_out >= 1, where, "it has no output");
  check_scratch(function.size_iw, function.size_w, where);
  check_items(function.in, function.n_in, where + ".in",
              [&](const thunder_entry& entry) { check_entry(entry, where + ".in", true); });
  check_items(function.out, function.n_out, where + ".out",
              [&](const thunder_entry& entry) { check_entry(entry, where + ".out", false); });
}

void check_positive(const double* values, int count, const std::string& where) {
  require(values != nullptr, where, "the values are missing");
  for (int i = 0; i < count; ++i) {
    if (!(values[i] > 0.0)) refuse(where, "element " + std::to_string(i) + " is " + format(values[i]), "positive");
  }
}

void check_topology(const thunder_library& library, const std::string& where) {
  require(library.joint_topology != nullptr, where, "the values are missing");
  for (int i = 0; i < library.n_joints; ++i) {
    const int topology = library.joint_topology[i];
    const std::string here = where + " of " + library.joint_names[i];
    if (topology != THUNDER_TOPOLOGY_LINE && topology != THUNDER_TOPOLOGY_CIRCLE) {
      refuse(here, "it is " + std::to_string(topology), "0 (line), 1 (circle)");
    }
    const bool has_limits = std::isfinite(library.position_lower[i]) || std::isfinite(library.position_upper[i]);
    require(topology == THUNDER_TOPOLOGY_LINE || !has_limits, here, "a joint on a circle has position limits", "none");
  }
}

void check_joints(const thunder_library& library, const std::string& path) {
  const int n = library.n_joints;
  require(n >= 1, path + ": n_joints", "there is no joint");
  require(n <= kMostItems, path + ": n_joints", "there are more joints than any robot has", "at most 4096");
  require(library.joint_names && library.link_names, path, "names of joints or links are missing");
  require(library.position_lower && library.position_upper, path, "position limits are missing");
  std::set<std::string> joints;
  std::set<std::string> links;
  for (int i = 0; i < n; ++i) {
    check_unique(joints, library.joint_names[i], path + ": joint_names");
    check_unique(links, library.link_names[i], path + ": link_names");
    require(library.position_lower[i] < library.position_upper[i], path + ": position limits of " +
            library.joint_names[i], "lower is not below upper");
  }
  check_positive(library.velocity_limit, n, path + ": velocity_limit");
  check_positive(library.acceleration_limit, n, path + ": acceleration_limit");
  check_positive(library.effort_limit, n, path + ": effort_limit");
  check_positive(library.effort_rate_limit, n, path + ": effort_rate_limit");
  check_positive(library.velocity_deceleration, n, path + ": velocity_deceleration");
  check_positive(library.effort_no_load_velocity, n, path + ": effort_no_load_velocity");
  require(library.velocity_offset && library.effort_corner_velocity, path, "limits by position or speed are missing");
  for (int i = 0; i < n; ++i) {
    const double offset = library.velocity_offset[i], corner = library.effort_corner_velocity[i];
    const double no_load = library.effort_no_load_velocity[i];
    const bool valid = offset >= 0.0 && std::isfinite(offset);
    if (!valid) refuse(path + ": velocity_offset of " + library.joint_names[i], "it is " + format(offset), "finite, 0 or more");
    if ((corner >= 0.0 && corner < no_load && std::isfinite(no_load)) || (std::isinf(corner) && corner == no_load)) continue;
    refuse(path + ": effort_corner_velocity of " + library.joint_names[i], "it is " + format(corner),
           "from 0 to below effort_no_load_velocity, or both infinite");
  }
  require(library.pi != nullptr, path + ": pi", "the values are missing");
  for (int i = 0; i < 10 * n; ++i) require(std::isfinite(library.pi[i]), path + ": pi", "a value is not finite");
  require(library.rotor_inertia != nullptr, path + ": rotor_inertia", "the values are missing");
  for (int i = 0; i < n; ++i) {
    const double rotor = library.rotor_inertia[i];
    const bool valid = std::isnan(rotor) || (rotor >= 0.0 && std::isfinite(rotor));
    if (!valid) refuse(path + ": rotor_inertia of " + library.joint_names[i], "it is " + format(rotor), "0 or more, or NaN");
  }
  check_topology(library, path + ": joint_topology");
}

constexpr int kMostLanes = 64;

void check_lanes(const thunder_library& library, thunder_eval in_lanes, thunder_eval_single in_single_lanes,
                 const std::string& where) {
  require((in_lanes != nullptr) == (library.lanes > 0) && (in_single_lanes != nullptr) == (library.single_lanes > 0),
          where, "it is in lanes where the library is not, or not where it is");
}

void check_hash(const char* hash, const std::string& path) {
  check_text(hash, path, "hash");
  const bool valid = *hash != '\0' && std::strspn(hash, "0123456789abcdef") == std::strlen(hash);
  require(valid, path + ": hash", "it is not lower-case hexadecimal");
}

}  // namespace

void check_metadata(const thunder_library& library, const std::string& path) {
  if (library.abi_version != THUNDER_ABI_VERSION) {
    refuse(path, "the ABI version is " + std::to_string(library.abi_version),
           std::to_string(THUNDER_ABI_VERSION) + "; generate the library again");
  }
  check_name(library.robot, path + ": robot");
  check_text(library.generator, path, "generator");
  check_hash(library.hash, path);
  check_joints(library, path);
  for (const int lanes : {library.lanes, library.single_lanes}) {
    if (lanes < 0 || lanes > kMostLanes || lanes % 2 != 0) {
      refuse(path + ": lanes", "there are " + std::to_string(lanes), "an even number, 0 to 64");
    }
  }
  check_items(library.functions, library.n_functions, path + ": functions", [&](const thunder_function& function) {
    check_function(function, path + ": " + function.name);
    check_lanes(library, function.eval_lanes, function.eval_single_lanes, path + ": " + function.name);
  });
  check_items(library.laws, library.n_laws, path + ": laws",
              [&](const thunder_law& law) {
                check_law(law, library.n_joints, path + ": " + law.name);
                check_lanes(library, law.step_lanes, law.step_single_lanes, path + ": " + law.name);
              });
  const std::string groups = path + ": parameter_groups";
  check_items(library.parameter_groups, library.n_parameter_groups, groups, [&](const thunder_parameter_group& group) {
    check_name(group.entry.name, groups);
    check_entry(group.entry, groups, true);
  });
}

}  // namespace thunder
