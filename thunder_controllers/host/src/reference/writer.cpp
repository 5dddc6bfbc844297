// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/reference/writer.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/points.hpp"

namespace thunder {
namespace {

constexpr double kRotationTolerance = 1e-6;  // far above rounding, far below what a law would notice

/// Column-major 3x3: orthonormal and right-handed.
bool is_rotation(const double* values) noexcept {
  const Eigen::Map<const Eigen::Matrix3d> R(values);
  return R.isUnitary(kRotationTolerance) && R.determinant() > 0.0;
}

}  // namespace

ReferenceWriter::ReferenceWriter(const std::shared_ptr<const Library>& library, const thunder_law& law,
                                 const Options& options, const Limits& limits, ReferenceChannel& channel)
    : law_(&law),
      layout_(law, library->n_joints()),
      circles_(library->data()),
      channel_(channel),
      written_(ReferenceChannel::first_message(law)) {
  if (options.rehearses_motions) rehearsal_.emplace(library, law, layout_, options, limits);
}

void ReferenceWriter::check_entry(const thunder_entry& entry, const double* values) const {
  const auto where = [this] { return std::string(law_->name) + ".reference"; };  // only then: samples may not allocate
  if (find_invalid(entry, values) != entry_size(entry)) check_values(entry, values, where());
  if (layout_.is_cartesian && entry.offset == layout_.rotation && !is_rotation(values)) {
    throw HostError(ErrorKind::law, "is no rotation", where() + ".rotation",
                    "RᵀR = 1 to 1e-6 and det R = 1, nine values column-major");
  }
}

void ReferenceWriter::check_pose(const Vector3& position, const Quaternion& orientation) const {
  const std::string where = std::string(law_->name) + ".reference";
  double rotation[9];
  to_matrix(orientation, rotation);
  check_entry(find_entry(law_->reference, "position", where), position.data());
  check_entry(find_entry(law_->reference, "rotation", where), rotation);
}

void ReferenceWriter::require_kind(bool is_cartesian, const char* what) const {
  if (layout_.is_cartesian == is_cartesian) return;
  const char* followed = is_cartesian ? " follows joints" : " follows poses";
  throw HostError(ErrorKind::law, std::string("the law ") + law_->name + followed, what,
                  is_cartesian ? "a cartesian law" : "a joint law");
}

void ReferenceWriter::write(const double* values, int size, std::optional<double> due) {
  if (size != layout_.size && size != layout_.standard) {
    const std::string standard = layout_.size == layout_.standard ? "" : std::to_string(layout_.standard) + " or ";
    throw HostError(ErrorKind::dimension, "got " + std::to_string(size) + " values",
                    std::string(law_->name) + ".reference", standard + std::to_string(layout_.size));
  }
  for (int i = 0; i < law_->reference.n_entries; ++i) {
    const thunder_entry& entry = law_->reference.entries[i];
    if (entry.offset < size) check_entry(entry, values + entry.offset);
  }
  if (due && !std::isfinite(*due)) {
    throw HostError(ErrorKind::law, "is " + format(*due), std::string(law_->name) + ".reference: time", "a finite time [s]");
  }
  std::copy_n(values, size, written_.values.begin());
  begin_request(ReferenceMessage::Request::write);
  written_.due = due;
  written_.given = ~std::uint64_t{0};
  publish();
}

void ReferenceWriter::write_entry(const std::string& name, const std::vector<double>& values) {
  const std::string where = std::string(law_->name) + ".reference";
  const thunder_entry& entry = find_entry(law_->reference, name, where);
  std::vector<double> candidate = written_.values;
  thunder::write_entry(entry, values, where, candidate);
  check_entry(entry, candidate.data() + entry.offset);
  if (entry.offset < layout_.standard) {
    begin_request(ReferenceMessage::Request::write);
    written_.given |= std::uint64_t{1} << (&entry - law_->reference.entries);
  }
  written_.values = std::move(candidate);
  publish();
}

void ReferenceWriter::hold() noexcept {
  begin_request(ReferenceMessage::Request::write);
  written_.given = 0;
  ++written_.holds;
  channel_.in_effect.fetch();  // what was in effect until now is no start any more
  start_is_known_ = false;
  publish();
}

void ReferenceWriter::set_limits(const MotionLimits& limits) {
  check_limits(limits);
  ++requests_;
  written_.motion.limits = limits;
  publish();
}

MotionPlan ReferenceWriter::plan(const double position[3], const double orientation[4]) {
  require_kind(true, "move_to_pose");
  MotionPlan plan = plan_from_here();
  plan.motion.target = {{position[0], position[1], position[2]},
                        checked_orientation(orientation, "move_to_pose: orientation")};
  check_pose(plan.motion.target.position, plan.motion.target.orientation);
  return plan;
}

MotionPlan ReferenceWriter::plan(const std::vector<TimedPose>& points) {
  require_kind(true, "follow poses");
  MotionPlan plan = plan_from_here();
  plan.motion.knots = prepare_knots(points, layout_, plan.q.empty() ? nullptr : plan.reference.data());
  for (const TimedPose& point : points) check_pose(point.position, point.orientation);
  return plan;
}

MotionPlan ReferenceWriter::plan(const std::vector<TimedJoints>& points) {
  require_kind(false, "follow joints");
  MotionPlan plan = plan_from_here();
  plan.motion.knots = prepare_knots(points, layout_, circles_, plan.q.empty() ? nullptr : plan.reference.data());
  const thunder_entry& entry = find_entry(law_->reference, "q", law_->name);
  for (const TimedJoints& point : points) check_entry(entry, point.q.data());
  return plan;
}

MotionPlan ReferenceWriter::plan(const Figure& figure) {
  MotionPlan plan = plan_from_here();
  plan.motion.figure = prepare_figure(figure, layout_.is_cartesian ? 3 : layout_.n_joints);
  return plan;
}

MotionPlan ReferenceWriter::plan_from_here() {
  MotionPlan plan;
  plan.motion.limits = written_.motion.limits;
  plan.requests = requests_;
  if (const ReferenceInEffect* start = find_start()) {
    plan.q = start->q;
    plan.reference = start->values;
  }
  return plan;
}

/// Without a known start the points are all that can be looked at.
void ReferenceWriter::rehearse(MotionPlan& plan) {
  if (rehearsal_ && !plan.q.empty()) rehearsal_->check(plan);
}

std::uint64_t ReferenceWriter::begin(MotionPlan plan) {
  if (plan.requests != requests_) {
    throw HostError(ErrorKind::law, "something else was asked for while the motion was rehearsed", "motion",
                    "ask for it again");
  }
  begin_request(ReferenceMessage::Request::move);
  written_.motion = std::move(plan.motion);
  publish();
  return written_.number;
}

void ReferenceWriter::stop() noexcept {
  begin_request(ReferenceMessage::Request::stop);
  publish();
}

/// What is in effect, as the configuring thread knows it; null if it does not.
const ReferenceInEffect* ReferenceWriter::find_start() {
  if (channel_.in_effect.fetch()) start_is_known_ = true;
  return start_is_known_ ? &channel_.in_effect.value() : nullptr;
}

void ReferenceWriter::begin_request(ReferenceMessage::Request request) noexcept {
  written_.request = request;
  ++requests_;
  ++written_.number;
  written_.due.reset();
  // A stop is on the way of the motion that it ends.
  if (request != ReferenceMessage::Request::stop) written_.motion = {{}, nullptr, nullptr, written_.motion.limits, 1.0};
  if (request != ReferenceMessage::Request::write) written_.given = 0;
}

void ReferenceWriter::publish() noexcept {
  ReferenceMessage& slot = channel_.messages.slot();
  slot = written_;  // vectors of equal size are copied without allocation; old knots are freed here
  channel_.messages.publish();
}

}  // namespace thunder
