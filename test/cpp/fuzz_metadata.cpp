// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer: what a library says about itself, from a real one with anything in it changed; `check_metadata` refuses it, or
// whatever it counts and points to can be used. As many items are there as are counted, up to what no robot has: a
// pointer alone does not say how far it reaches.
// THUNDER_FUZZ_LIBRARIES: the library that is changed.
#include <deque>
#include <memory>
#include <vector>

#include "fuzz.hpp"
#include "thunder/host/library/library.hpp"
#include "thunder/host/library/signals.hpp"

namespace {

using test::Bytes;

constexpr int kMost = 5000;  ///< Items that are made for a count; a larger one must be refused unread.

/// A deep copy of a library's metadata with changes.
class Spoilt {
 public:
  Spoilt(const thunder_library& from, Bytes& bytes) : bytes_(bytes), library_(from) {
    const int n = changed(library_.n_joints);
    library_.n_joints = n;
    const int given = from.n_joints;
    for (const double* thunder_library::*field :
         {&thunder_library::position_lower, &thunder_library::position_upper, &thunder_library::velocity_limit,
          &thunder_library::acceleration_limit, &thunder_library::effort_limit, &thunder_library::effort_rate_limit,
          &thunder_library::rotor_inertia, &thunder_library::velocity_offset, &thunder_library::velocity_deceleration,
          &thunder_library::effort_corner_velocity, &thunder_library::effort_no_load_velocity}) {
      library_.*field = numbers(from.*field, given, n);
    }
    library_.joint_topology = topology(from.joint_topology, given, n);
    library_.pi = numbers(from.pi, 10 * given, 10L * n);
    library_.joint_names = names(from.joint_names, given, n);
    library_.link_names = names(from.link_names, given, n);
    library_.abi_version = changed(library_.abi_version);
    library_.lanes = changed(library_.lanes);
    library_.robot = text(from.robot);
    library_.generator = text(from.generator);
    library_.hash = text(from.hash);
    library_.functions = items(from.functions, from.n_functions, library_.n_functions, [this](thunder_function& one) {
      one.name = text(one.name);
      one.description = text(one.description);
      one.in = entries(one.in, one.n_in, one.n_in);
      one.out = entries(one.out, one.n_out, one.n_out);
      if (rarely()) one.eval = nullptr;
      one.size_iw = changed(one.size_iw);
      one.size_w = changed(one.size_w);
    });
    library_.laws = items(from.laws, from.n_laws, library_.n_laws, [this](thunder_law& one) {
      one.name = text(one.name);
      one.description = text(one.description);
      one.reference_kind = changed(one.reference_kind);
      for (thunder_signal thunder_law::*signal : {&thunder_law::measurements, &thunder_law::reference, &thunder_law::state,
                                                  &thunder_law::gains, &thunder_law::telemetry}) {
        (one.*signal).size = changed((one.*signal).size);
        (one.*signal).entries = entries((one.*signal).entries, (one.*signal).n_entries, (one.*signal).n_entries);
      }
      if (rarely()) one.step = nullptr;
      if (rarely()) one.initial = nullptr;
      one.size_iw = changed(one.size_iw);
      one.size_w = changed(one.size_w);
    });
    library_.parameter_groups =
        items(from.parameter_groups, from.n_parameter_groups, library_.n_parameter_groups,
              [this](thunder_parameter_group& one) {
                one.name = text(one.name);
                change(one.entry);
              });
  }

  const thunder_library& library() const { return library_; }

 private:
  /// One in 64, and never where the input has ended.
  bool rarely() { return !bytes_.is_empty() && (skip_ > 0 ? skip_-- == 1 : (skip_ = bytes_.byte() & 63) == 1); }

  int changed(int value) {
    if (!rarely()) return value;
    constexpr int kWorst[] = {-1, 0, 1, 2, 3, 7, 64, 65, 1000, 46341, 65536, 1 << 20, 1 << 30, 0x7fffffff, -0x7fffffff - 1};
    const int choice = bytes_.byte();
    if (choice < 15) return kWorst[choice];
    return choice < 128 ? value + choice - 70 : bytes_.raw<std::int32_t>();
  }

  const char* text(const char* from) {
    if (!rarely()) return from;
    const int choice = bytes_.below(6);
    if (choice == 0) return nullptr;
    texts_.emplace_back(choice == 1 ? "" : choice == 2 ? "q" : choice == 3 ? std::string(70000, 'x') : from);
    if (choice > 3 && !texts_.back().empty()) texts_.back()[0] = static_cast<char>(bytes_.byte() | 1);
    return texts_.back().c_str();
  }

  const double* numbers(const double* from, int given, long size) {
    if (rarely()) return nullptr;
    if (!from || size < 0 || size > 10L * kMost) size = given;
    arrays_.emplace_back(from, from + (from ? given : 0));
    std::vector<double>& values = arrays_.back();
    values.resize(static_cast<std::size_t>(size), values.empty() ? 1.0 : values.back());
    for (double& value : values) {
      if (rarely()) value = bytes_.number(value, 1.0);
    }
    values.shrink_to_fit();  // so that the sanitizer sees a read beyond
    return from ? values.data() : nullptr;
  }

  const int* topology(const int* from, int given, long size) {
    if (rarely()) return nullptr;
    auto made = std::make_shared<std::vector<int>>(from, from + given);
    made->resize(static_cast<std::size_t>(size < 0 || size > kMost ? given : size), 0);
    for (int& value : *made) value = changed(value);
    kept_.push_back(made);
    return made->data();
  }

  const char* const* names(const char* const* from, int given, long size) {
    if (rarely()) return nullptr;
    if (size < 0 || size > kMost) size = given;
    names_.emplace_back();
    for (long i = 0; i < size; ++i) {
      if (i >= given) texts_.emplace_back("name" + std::to_string(i));
      names_.back().push_back(i < given ? text(from[i]) : texts_.back().c_str());
    }
    names_.back().shrink_to_fit();
    return names_.back().data();
  }

  void change(thunder_entry& entry) {
    const int given = entry.rows * entry.cols;
    entry.name = text(entry.name);
    entry.unit = text(entry.unit);
    entry.description = text(entry.description);
    entry.rows = changed(entry.rows);
    entry.cols = changed(entry.cols);
    entry.offset = changed(entry.offset);
    entry.flags = changed(entry.flags);
    long size = static_cast<long>(entry.rows) * entry.cols;
    if (size > 10L * kMost && size <= 1L << 24) size = entry.rows = entry.cols = 1;  // valid, and takes long to make
    entry.defaults = numbers(entry.defaults, given, size);
    entry.lower = numbers(entry.lower, given, size);
    entry.upper = numbers(entry.upper, given, size);
  }

  const thunder_entry* entries(const thunder_entry* from, int given, int& count) {
    return items(from, given, count, [this](thunder_entry& entry) { change(entry); });
  }

  template <class Item, class Change>
  const Item* items(const Item* from, int given, int& count, Change change) {
    count = changed(count);
    if (rarely()) return nullptr;
    auto made = std::make_shared<std::vector<Item>>(from, from + given);
    kept_.push_back(made);
    if (count >= 0 && count <= kMost && (given > 0 || count == 0)) {
      for (int i = given; i < count; ++i) {
        made->push_back((*made)[static_cast<std::size_t>(i % given)]);
        texts_.emplace_back("item" + std::to_string(i));
        made->back().name = texts_.back().c_str();
      }
      made->resize(static_cast<std::size_t>(count));
    } else if (count > 0 && count <= kMost) {
      count = 0;
    }
    for (int i = 0; i < std::min<int>(given, static_cast<int>(made->size())); ++i) change((*made)[static_cast<std::size_t>(i)]);
    made->shrink_to_fit();
    return made->empty() ? nullptr : made->data();
  }

  Bytes& bytes_;
  int skip_ = 0;
  thunder_library library_;
  std::deque<std::string> texts_;
  std::deque<std::vector<double>> arrays_;
  std::deque<std::vector<const char*>> names_;
  std::vector<std::shared_ptr<void>> kept_;
};

/// What the host does with metadata that it has taken.
void use(const thunder_library& library) {
  double sum = 0.0;
  for (int k = 0; k < library.n_laws; ++k) {
    const thunder_law& law = library.laws[k];
    for (const thunder_signal* signal : {&law.measurements, &law.reference, &law.state, &law.gains, &law.telemetry}) {
      const std::vector<double> flat = thunder::default_values(*signal);
      CHECK(flat.size() == static_cast<std::size_t>(signal->size));
      for (const thunder_entry& entry : thunder::Entries{*signal}) {
        for (const double value : thunder::read_entry(entry, flat.data())) sum += value;
      }
    }
  }
  for (int i = 0; i < 10 * library.n_joints; ++i) sum += library.pi[i];
  CHECK(!(sum == 12345.678));  // it is used
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto library = thunder::Library::load(test::environment("THUNDER_FUZZ_LIBRARIES"));
  Bytes bytes(data, size);
  const Spoilt spoilt(library->data(), bytes);
  if (!test::is_refused([&] { thunder::check_metadata(spoilt.library(), "lib.so"); })) use(spoilt.library());
  return 0;
}
