// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference_port.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/signals.hpp"

namespace thunder {
namespace {

constexpr double kRotationTolerance = 1e-6;  // far above rounding, far below what a law would notice

double dot(const double* a, const double* b) noexcept { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Column-major 3x3: orthonormal and right-handed.
bool is_rotation(const double* r) noexcept {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j <= i; ++j) {
      if (std::abs(dot(r + 3 * i, r + 3 * j) - (i == j ? 1.0 : 0.0)) > kRotationTolerance) return false;
    }
  }
  const double cross[3] = {r[1] * r[5] - r[2] * r[4], r[2] * r[3] - r[0] * r[5], r[0] * r[4] - r[1] * r[3]};
  return dot(cross, r + 6) > 0.0;
}

int offset_of(const thunder_law& law, const char* name) {
  return find_entry(law.reference, name, std::string(law.name) + ".reference").offset;
}

}  // namespace

ReferencePort::ReferencePort(std::shared_ptr<const Library> library, const thunder_law& law)
    : law_(&law),
      written_{default_values(law.reference), 0, 0},
      buffer_(written_),
      held_(static_cast<std::size_t>(law.reference.size), 0.0),
      values_(held_) {
  if (law.reference_kind == THUNDER_REFERENCE_CARTESIAN) {
    pose_.emplace(std::move(library), "T_0_ee", 16);
    position_offsets_ = {offset_of(law, "position"), offset_of(law, "rotation")};
  } else {
    position_offsets_ = {offset_of(law, "q")};
  }
}

void ReferencePort::check_entry(const thunder_entry& entry, const double* values) const {
  const std::string where = std::string(law_->name) + ".reference";
  check_values(entry, values, where);
  const bool is_orientation =
      law_->reference_kind == THUNDER_REFERENCE_CARTESIAN && std::strcmp(entry.name, "rotation") == 0;
  if (is_orientation && !is_rotation(values)) {
    throw HostError(ErrorKind::law, "is no rotation", where + ".rotation",
                    "RᵀR = 1 to 1e-6 and det R = 1, nine values column-major");
  }
}

void ReferencePort::write(const double* values, int size) {
  if (size != law_->reference.size) {
    throw HostError(ErrorKind::dimension, "got " + std::to_string(size) + " values",
                    std::string(law_->name) + ".reference", std::to_string(law_->reference.size));
  }
  for (int i = 0; i < law_->reference.n_entries; ++i) {
    const thunder_entry& entry = law_->reference.entries[i];
    check_entry(entry, values + entry.offset);
  }
  std::copy_n(values, size, written_.values.begin());
  written_.given = ~std::uint64_t{0};
  publish();
}

void ReferencePort::write_entry(const std::string& name, const std::vector<double>& values) {
  const std::string where = std::string(law_->name) + ".reference";
  const thunder_entry& entry = find_entry(law_->reference, name, where);
  std::vector<double> candidate = written_.values;
  thunder::write_entry(entry, values, where, candidate);
  check_entry(entry, candidate.data() + entry.offset);
  written_.values = std::move(candidate);
  written_.given |= std::uint64_t{1} << (&entry - law_->reference.entries);
  publish();
}

void ReferencePort::hold() noexcept {
  written_.given = 0;
  ++written_.holds;
  publish();
}

void ReferencePort::publish() noexcept {
  Message& slot = buffer_.slot();
  std::copy(written_.values.begin(), written_.values.end(), slot.values.begin());
  slot.given = written_.given;
  slot.holds = written_.holds;
  buffer_.publish();
}

bool ReferencePort::capture(const double* q) noexcept {
  if (!pose_) {
    std::copy_n(q, values_.size() / 3, held_.begin() + position_offsets_[0]);
    return true;
  }
  if (!pose_->evaluate(q)) return false;
  const double* pose = pose_->result();
  std::copy_n(pose + 12, 3, held_.begin() + position_offsets_[0]);
  for (int column = 0; column < 3; ++column) {
    std::copy_n(pose + 4 * column, 3, held_.begin() + position_offsets_[1] + 3 * column);
  }
  return true;
}

bool ReferencePort::take(const double* q) noexcept {
  const Message& message = buffer_.value();
  if (message.holds != holds_taken_ && !capture(q)) return false;
  holds_taken_ = message.holds;
  for (int i = 0; i < law_->reference.n_entries; ++i) {
    const thunder_entry& entry = law_->reference.entries[i];
    const std::vector<double>& source = (message.given >> i) & 1u ? message.values : held_;
    std::copy_n(source.begin() + entry.offset, entry_size(entry), values_.begin() + entry.offset);
  }
  is_pending_ = false;
  is_stale_ = false;
  return true;
}

bool ReferencePort::restart(const double* q) noexcept {
  buffer_.fetch();
  stamp_.reset();
  return capture(q) && take(q);
}

ReferenceState ReferencePort::refresh(double t, const double* q, double timeout) noexcept {
  is_pending_ = buffer_.fetch() || is_pending_;
  if (is_pending_) {
    if (!take(q)) return ReferenceState::failed;
    stamp_ = t;
  }
  if (!stamp_ || t < *stamp_) stamp_ = t;  // the first update, or the clock was set back
  if (!is_stale_ && buffer_.value().given != 0 && t - *stamp_ > timeout) {
    if (!capture(q)) return ReferenceState::failed;
    std::copy(held_.begin(), held_.end(), values_.begin());
    is_stale_ = true;
  }
  return is_stale_ ? ReferenceState::stale : ReferenceState::fresh;
}

}  // namespace thunder
