// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "thunder/host/library/library.hpp"
#include "thunder/host/motion/circles.hpp"
#include "thunder/host/motion/player.hpp"
#include "thunder/host/options.hpp"
#include "thunder/host/reference/channel.hpp"
#include "thunder/host/reference/place.hpp"
#include "thunder/host/reference/reach.hpp"
#include "thunder/host/reference/stream.hpp"
#include "thunder/host/reference/stream_rates.hpp"
#include "thunder/host/safety/limits.hpp"

namespace thunder {

/// What the updating thread found when it refreshed the reference.
enum class ReferenceState {
  fresh,   ///< As written, holding, or moving by request.
  stale,   ///< A stream was silent for longer than the timeout, see Rhythm: coming to rest, or resting after that.
  failed,  ///< The place to hold could not be computed.
};

/// The reference of a law, which follows what the ReferenceWriter hands over; updating thread, allocates nothing.
///
/// Until something is written, and after a hold, it is the place where the robot is found. What is written is a stream,
/// which may jump, see Stream; joint references are cut to the limits. Motions begin at the sample in effect and end at
/// rest; their end is then held. A stream that falls silent goes to its newest sample if that is at rest and reached
/// soon, as the last place of a stream of places is; otherwise it is braked. What turns out not to be reached is given up, see Reach: the place where the robot is
/// then is held, until something else is asked for, or the stream comes near it.
class ReferenceFollower {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q) or J_ee(q). The channel outlives this.
  ReferenceFollower(const std::shared_ptr<const Library>& library, const thunder_law& law, const Options& options,
                    const Limits& limits, ReferenceChannel& channel);

  /// At activation: take what was written; hold at q what was not. False if that place has no pose.
  bool restart(const double* q) noexcept;
  /// Take what was asked for, with t as its time stamp [s], and let dt [s] of a motion pass.
  ReferenceState refresh(double t, const Reach::Motion& motion, double dt, double timeout) noexcept;
  /// The flat reference in effect.
  const std::vector<double>& values() const noexcept { return values_; }
  /// The place that was found last, as a reference at rest.
  const std::vector<double>& place() noexcept { return place_.values(); }
  /// The number of the request that it follows; 0 before the first update.
  std::uint64_t request() const noexcept { return taken_; }
  /// What it follows.
  ReferenceSource source() const noexcept { return source_; }
  /// Whether the last refresh has cut it to limits, or what is written is being approached.
  bool is_limited() const noexcept { return is_limited_; }
  /// Whether a stream is followed, and late, see Stream.
  bool is_late() const noexcept { return source_ == ReferenceSource::stream && stream_.is_late(); }
  /// Whether the reference was given up, or is as near as joints come to it, see Reach.
  bool is_unreached() const noexcept {
    return is_given_up_ || (source_ == ReferenceSource::stream && reach_.is_beyond());
  }
  /// Whether the robot does not even come to rest where it was held after that.
  bool is_restless() const noexcept { return is_restless_; }

 private:
  static constexpr double kStreamMargins = 2.0;  ///< nearer to a limit, a soft stop would work against the law

  void show(const double* q) noexcept;
  bool hold(const double* q) noexcept;
  void take_further() noexcept;
  bool take(const double* q) noexcept;
  void take_written(const ReferenceMessage& message) noexcept;
  void take_sample(double t, double dt) noexcept;
  void rest_at_sample(double t, double dt) noexcept;
  void stop() noexcept;
  void advance_motion(double dt) noexcept;
  void settle() noexcept;
  void give_up(const Reach::Motion& motion, double dt) noexcept;
  void remember() noexcept;
  bool cut(double margins, const double* from, double* reference) const noexcept;
  const ReferenceMessage& message() const noexcept { return channel_.messages.value(); }

  const thunder_law* law_;
  SampleLayout layout_;
  Circles circles_;
  ReferenceChannel& channel_;
  Place place_;
  Limits limits_;
  StreamRates rates_;
  Stream stream_;
  MotionPlayer player_;
  Reach reach_;
  std::vector<double> values_;
  std::vector<double> before_;  ///< those when the newest request came
  std::vector<double> wanted_;  ///< what is written, before it is approached, or what a motion makes
  std::vector<double> at_;  ///< positions of the joints in the update before
  ReferenceSource source_ = ReferenceSource::hold;
  std::uint64_t holds_taken_ = 0;
  std::uint64_t given_ = 0;  ///< entries, of the request
  std::uint64_t taken_ = 0;  ///< number of the request; 0 before the first update
  bool is_cut_ = false;      ///< what is written, to the limits
  bool is_stale_ = false;
  bool is_limited_ = false;
  bool is_given_up_ = false;
  bool is_restless_ = false;
  std::optional<double> stamp_;  ///< of the newest request; none before the first update
};

}  // namespace thunder
