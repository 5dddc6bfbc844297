// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/feedback_margin.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates.hpp"
#include "thunder/host/law/gain_port.hpp"
#include "thunder/host/measurement.hpp"

namespace thunder {
namespace {

constexpr int kPoses = 20;
constexpr int kPlaces = 12;           // of a joint that a sweep of the search looks at
constexpr int kSweeps = 4;            // over all joints, at most
constexpr double kProgress = 1e-3;    // of the share, without which a search is over
constexpr double kAddsEnergy = 1e-3;  // of the fastest feedback: what rounding may make of none
constexpr double kInside = 0.05;      // of a joint's range at either end, where soft stops may act: no pose there
constexpr double kDifference = 1e-5;  // [rad or m, per second, N·m or N] of central differences
constexpr const char* kPosture = "q_home";
constexpr const char* kMotorPosition = "motor_position";
constexpr const char* kObserverBandwidth = "observer_bandwidth";
constexpr std::size_t kMoments[] = {4, 7, 9};  // of a link's parameters: Ixx, Iyy, Izz

/// A joint's position at a place from 0 to 1 of its range.
double position_at(const Limits& limits, std::size_t joint, double place) {
  const double lower = std::isfinite(limits.position_lower[joint]) ? limits.position_lower[joint] : -EIGEN_PI;
  const double upper = std::isfinite(limits.position_upper[joint]) ? limits.position_upper[joint] : EIGEN_PI;
  return lower + (kInside + (1.0 - 2.0 * kInside) * place) * (upper - lower);
}

/// Additive recurrence with the powers of the root of xⁿ⁺¹ = x + 1: as even as chance is not, in any dimension.
std::vector<double> pose_within(const Limits& limits, int index) {
  std::vector<double> q(limits.position_lower.size());
  const auto n = static_cast<double>(q.size());
  double root = 1.0;
  for (int i = 0; i < 50; ++i) root = std::pow(1.0 + root, 1.0 / (n + 1.0));
  for (std::size_t i = 0; i < q.size(); ++i) {
    const double step = std::pow(root, -static_cast<double>(i + 1));
    q[i] = position_at(limits, i, std::fmod(0.5 + index * step, 1.0));
  }
  return q;
}

/// The joint that does most of a mode.
int joint_of(const Eigen::MatrixXd& damping, const Eigen::VectorXcd& v, double sign) {
  Eigen::Index joint = 0;
  (sign * v.conjugate().cwiseProduct(damping * v).real()).maxCoeff(&joint);
  return static_cast<int>(joint);
}

/// The initial estimates, but moments of inertia are at the state's upper bounds, where it has any. Not the mass: gravity
/// shows what is wrong with it, and nothing shows a moment at rest.
std::vector<double> largest_estimates(const thunder_law& law, const thunder_entry& entry,
                                      const NamedValues& initial_state) {
  std::vector<double> state = default_values(law.state);
  write_entries(law.state, initial_state, law.name, state);
  std::vector<double> estimates = read_entry(entry, state.data());
  for (std::size_t link = 0; link < estimates.size(); link += kInertialParameters) {
    for (const std::size_t i : kMoments) {
      if (std::isfinite(entry.upper[link + i])) estimates[link + i] = entry.upper[link + i];
    }
  }
  return estimates;
}

/// Indices of the states that are not adapted.
std::vector<std::size_t> own_states(const thunder_law& law) {
  std::vector<std::size_t> found;
  for (const thunder_entry& entry : Entries{law.state}) {
    if ((entry.flags & THUNDER_ENTRY_ADAPTED) != 0) continue;
    for (int i = 0; i < entry_size(entry); ++i) found.push_back(static_cast<std::size_t>(entry.offset + i));
  }
  return found;
}

std::vector<double> all_gains(const thunder_law& law, const NamedValues& gains) {
  return changed_gains(law, default_values(law.gains), gains);
}

std::optional<FeedbackMargin> margin_at_bounds(const std::shared_ptr<const Library>& library, const std::string& law,
                                               const NamedValues& gains, const NamedValues& initial_state,
                                               const Options& options) {
  const thunder_law& data = library->law(law);
  const thunder_entry* entry = entry_if_any(data.state, kEstimateEntry);
  if (!entry || entry_size(*entry) % kInertialParameters != 0) return std::nullopt;
  RestingLaw resting(library, law, all_gains(data, gains), initial_state, options);
  return resting.adapt(*entry, largest_estimates(data, *entry, initial_state)) ? resting.find_fastest() : std::nullopt;
}

std::string three_digits(double value) { return format(value, 3); }

std::string share_at(const FeedbackMargin& margin, const Library& library, const char* does) {
  std::string pose;
  for (const double value : margin.q) pose += (pose.empty() ? "" : " ") + three_digits(value);
  return three_digits(std::abs(margin.share)) + " times the speed of " + library.data().joint_names[margin.joint] + does +
         "in each period at q = " + pose;
}

std::string finding(const FeedbackMargin& margin, const Library& library, const Options& options) {
  return "takes " + share_at(margin, library, " away ") + ", and with the " +
         three_digits(1e3 * total_delay(options)) + " ms by which measurements and drives are late at most " +
         three_digits(largest_feedback_share(options)) + " is stable";
}

/// What to lower, all by one factor: M̂K_o of an observer is a feedback of the velocity, as K_d is.
std::string lowered_gains(const thunder_law& law) {
  return entry_if_any(law.gains, kObserverBandwidth) ? std::string("damping gains and ") + kObserverBandwidth : "damping gains";
}

void require_stable(const FeedbackMargin& margin, const Library& library, const std::string& law, double period) {
  if (margin.share <= kStableFeedbackShare) return;
  throw HostError(ErrorKind::law,
                  "the velocity feedback takes " + share_at(margin, library, " away ") + ", which is unstable at " +
                      format(1.0 / period) + " Hz without any delay",
                  law + ".gains",
                  "at most " + three_digits(kStableFeedbackShare) + ": " + lowered_gains(library.law(law)) + " lower by a factor of " +
                      three_digits(margin.share / kStableFeedbackShare) +
                      ", rotors that the robot file leaves out stated there (rotor), or accepts_unstable_gains");
}

}  // namespace

double largest_feedback_share(const Options& options) {
  return 2.0 * std::sin(0.25 * EIGEN_PI * options.nominal_dt / total_delay(options));
}

bool minds_springs(const thunder_law& law) noexcept { return entry_if_any(law.measurements, kMotorPosition) != nullptr; }

std::optional<Note> springs_note(const Library& library, const std::string& law) {
  if (library.n_elastic() == 0 || minds_springs(library.law(law))) return std::nullopt;
  const bool all = library.n_elastic() == library.n_joints();
  const std::string which = all ? "all" : std::to_string(library.n_elastic());
  return Note{"rigid_law", which + " of the " + std::to_string(library.n_joints()) + " joints are elastic, and " + law +
         " takes them for rigid ones with the inertia of their motors: feedback from the links makes undamped springs " +
         "swing at any gain; slotine_li_elastic is for springs"};
}

std::vector<std::vector<double>> margin_poses(const Library& library, int count, int first, const Options& options) {
  if (count < 1 || first < 0) {
    throw HostError(ErrorKind::law, std::to_string(count) + " poses from number " + std::to_string(first), "poses",
                    "at least one, from number 0 or later");
  }
  const Limits limits = limits_of(options, library.data());
  std::vector<std::vector<double>> poses;
  for (int i = 0; i < count; ++i) poses.push_back(pose_within(limits, first + i));
  return poses;
}

RestingLaw::RestingLaw(const std::shared_ptr<const Library>& library, const std::string& law, std::vector<double> gains,
                       const NamedValues& initial_state, const Options& options)
    : limits_(limits_of(options, library->data())),
      dt_(options.nominal_dt),
      gains_(std::move(gains)),
      posture_(entry_if_any(library->law(law).gains, kPosture)),
      law_(library, library->law(law), initial_state),
      joints_(library->n_joints()),
      states_(own_states(library->law(law))),
      place_(library, library->law(law)),
      inertia_(library, library->moved_inertia(), library->n_joints() * library->n_joints()),
      gravity_(library, "G", library->n_joints()),
      qd_(limits_.effort.size(), 0.0),
      applied_effort_(qd_),
      measurements_(default_values(library->law(law).measurements)) {
  std::iota(joints_.begin(), joints_.end(), std::size_t{0});
  if (posture_ && entry_size(*posture_) != library->n_joints()) posture_ = nullptr;
}

void RestingLaw::set_gains(const NamedValues& gains) { gains_ = changed_gains(law(), gains_, gains); }

std::optional<Feedback> RestingLaw::feedback(const std::vector<double>& q) {
  Feedback found;
  std::vector<double> moved = q;
  if (!hold(q) || !step(q)) return std::nullopt;
  law_.commit(true);
  if (!differentiate(moved, moved, joints_, found.position, &found.input) ||
      !differentiate(moved, qd_, joints_, found.velocity, &found.input) ||
      !differentiate(moved, applied_effort_, joints_, found.effort, &found.input) ||
      !differentiate(moved, law_.state(), states_, found.output, &found.transition)) {
    return std::nullopt;
  }
  return found;
}

std::optional<FeedbackMargin> RestingLaw::find_fastest() {
  FeedbackMargin fastest{-std::numeric_limits<double>::infinity(), 0, {}};
  for (int i = 0; i < kPoses; ++i) look(pose_within(limits_, i), fastest);
  if (fastest.q.empty()) return std::nullopt;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const double before = fastest.share;
    for (std::size_t joint = 0; joint < fastest.q.size(); ++joint) sweep_joint(joint, fastest);
    if (fastest.share <= (1.0 + kProgress) * before) break;
  }
  return fastest;
}

bool RestingLaw::adapt(const thunder_entry& entry, const std::vector<double>& values) {
  const std::vector<double> q = pose_within(limits_, 0);
  if (!hold(q) || !step(q)) return false;
  law_.commit(false);
  law_.put(entry, values);
  if (!step(q)) return false;
  law_.commit(false);
  return true;
}

void RestingLaw::sweep_joint(std::size_t joint, FeedbackMargin& fastest) {
  std::vector<double> q = fastest.q;
  for (int place = 0; place <= kPlaces; ++place) {
    q[joint] = position_at(limits_, joint, static_cast<double>(place) / kPlaces);
    look(q, fastest);
  }
}

/// Take a pose whose feedback is faster than that of the others, or adds more energy.
void RestingLaw::look(const std::vector<double>& q, FeedbackMargin& fastest) {
  const auto n = static_cast<Eigen::Index>(q.size());
  std::vector<double> held = q;
  if (!inertia_.evaluate(q.data()) || !hold(q) || !differentiate(held, qd_, joints_, velocity_)) return;
  const Eigen::LLT<Eigen::MatrixXd> factor(Eigen::Map<const Eigen::MatrixXd>(inertia_.result(), n, n));
  if (factor.info() != Eigen::Success) return;
  const Eigen::MatrixXd damping = -Eigen::Map<const Eigen::MatrixXd>(velocity_.data(), n, n);
  const Eigen::EigenSolver<Eigen::MatrixXd> found(factor.solve(damping));
  if (found.info() != Eigen::Success || !found.eigenvalues().allFinite()) return;
  Eigen::Index fast = 0, slow = 0;
  const double share = dt_ * found.eigenvalues().real().maxCoeff(&fast);
  const double least = dt_ * found.eigenvalues().real().minCoeff(&slow);
  if (share > fastest.share) fastest = {share, joint_of(damping, found.eigenvectors().col(fast), 1.0), q};
  if (least < std::min(-kAddsEnergy * std::abs(share), adding_ ? adding_->share : 0.0)) {
    adding_ = {least, joint_of(damping, found.eigenvectors().col(slow), -1.0), q};
  }
}

bool RestingLaw::hold(const std::vector<double>& q) {
  if (posture_) std::copy(q.begin(), q.end(), gains_.begin() + posture_->offset);
  law_.reset(true);
  if (!gravity_.evaluate(q.data()) || !place_.find(q.data())) return false;
  std::copy_n(gravity_.result(), applied_effort_.size(), applied_effort_.begin());
  return true;
}

bool RestingLaw::step(const std::vector<double>& q) {
  return law_.step({q.data(), qd_.data(), applied_effort_.data(), measurements_.data(), place_.values().data(),
                    gains_.data(), dt_, false});
}

/// ∂τ of the step at q by one of its inputs, which is changed and then as before; columns of ∂x⁺ are added to `of_state`.
bool RestingLaw::differentiate(std::vector<double>& q, std::vector<double>& input, const std::vector<std::size_t>& inputs,
                               std::vector<double>& slope, std::vector<double>* of_state) {
  const std::size_t n = q.size(), m = states_.size();
  slope.assign(n * inputs.size(), 0.0);
  for (std::size_t column = 0; column < inputs.size(); ++column) {
    double& value = input[inputs[column]];
    const double before = value;
    const std::size_t first = of_state ? of_state->size() : 0;
    if (of_state) of_state->resize(first + m, 0.0);
    for (const double sign : {-1.0, 1.0}) {
      value = before + sign * kDifference;
      const bool is_finite = step(q);
      value = before;
      if (!is_finite) return false;
      const double scale = sign / (2.0 * kDifference);
      for (std::size_t i = 0; i < n; ++i) slope[column * n + i] += scale * law_.effort()[i];
      for (std::size_t i = 0; of_state && i < m; ++i) (*of_state)[first + i] += scale * law_.next_state()[states_[i]];
    }
  }
  return true;
}

void check_feedback(const std::shared_ptr<const Library>& library, const std::string& law,
                    const std::vector<double>& gains, const NamedValues& initial_state, const Options& options) {
  if (minds_springs(library->law(law))) return;
  const auto fastest = RestingLaw(library, law, gains, initial_state, options).find_fastest();
  if (fastest) require_stable(*fastest, *library, law, options.nominal_dt);
}

std::optional<Note> feedback_note(const std::shared_ptr<const Library>& library, const std::string& law,
                                  const NamedValues& gains, const NamedValues& initial_state, const Options& options) {
  if (minds_springs(library->law(law))) return std::nullopt;
  RestingLaw resting(library, law, all_gains(library->law(law), gains), initial_state, options);
  const std::optional<FeedbackMargin> first = resting.find_fastest();
  if (!first) return std::nullopt;
  if (!options.accepts_unstable_gains) require_stable(*first, *library, law, options.nominal_dt);
  if (resting.adding()) {
    return Note{"feedback_adds_energy",
                "the velocity feedback adds energy: it adds " + share_at(*resting.adding(), *library, " ") +
                    "; friction that a law compensates without being there does that, or the sign of a damping gain"};
  }
  const std::string rate = format(1.0 / options.nominal_dt) + " Hz";
  const double largest = largest_feedback_share(options);
  if (first->share > largest) {
    return Note{"feedback_margin",
                "the velocity feedback leaves no margin at " + rate + ": it " + finding(*first, *library, options) +
                    "; lower it (" + lowered_gains(library->law(law)) + ") by a factor of " +
                    three_digits(first->share / largest) + " or more; `thunder gains ROBOT --law " + law +
                    " --rate " + format(1.0 / options.nominal_dt) + "` shows it"};
  }
  const std::optional<FeedbackMargin> last = margin_at_bounds(library, law, gains, initial_state, options);
  if (!last || !(last->share > largest)) return std::nullopt;
  const double nearer = (last->share - first->share) / (largest - first->share);
  return Note{"bounds_margin",
              "the bounds of the estimates leave no margin at " + rate + ": with moments of inertia there, the " +
                  "velocity feedback " + finding(*last, *library, options) + "; bring the bounds (pi_upper) nearer to the " +
                  "estimates by a factor of " + three_digits(nearer) + " or more, or lower the gains"};
}

}  // namespace thunder
