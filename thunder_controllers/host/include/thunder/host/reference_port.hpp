// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thunder/host/evaluator.hpp"
#include "thunder/host/triple_buffer.hpp"

namespace thunder {

/// What the updating thread found when it refreshed the reference.
enum class ReferenceState {
  fresh,   ///< As written, or holding by request.
  stale,   ///< Nothing was written for longer than the timeout: the place is held.
  failed,  ///< The place to hold could not be computed.
};

/// The reference of a law: checked and written by the configuring thread, read by the updating thread.
///
/// Until something is written, and after `hold`, the reference is the place where the updating thread finds the robot:
/// joint laws hold q, cartesian laws the pose T_0_ee(q); velocities and accelerations are zero. Entries written
/// one by one after that replace their part; the others keep holding.
class ReferencePort {
 public:
  /// Throws HostError(build) if a cartesian law comes with a library without T_0_ee(q).
  ReferencePort(std::shared_ptr<const Library> library, const thunder_law& law);

  /// Configuring thread: the whole flat reference, law.reference.size values.
  ///
  /// Throws HostError(dimension) for another size, HostError(law) for values that are not finite, out of bounds, or no
  /// rotation (RᵀR = 1 to 1e-6, det R > 0); the reference is then unchanged.
  void write(const double* values, int size);
  /// Configuring thread: one entry; throws as above and as find_entry does.
  void write_entry(const std::string& name, const std::vector<double>& values);
  /// Configuring thread: hold the place where the next update finds the robot.
  void hold() noexcept;

  /// Updating thread, at activation: take what was written; hold at q what was not. False if that place has no pose.
  bool restart(const double* q) noexcept;
  /// Updating thread: take what was written, with t as its time stamp [s], or hold at q.
  ReferenceState refresh(double t, const double* q, double timeout) noexcept;
  /// Updating thread: the flat reference in effect.
  const std::vector<double>& values() const noexcept { return values_; }

 private:
  struct Message {
    std::vector<double> values;
    std::uint64_t given = 0;  ///< bit i: entry i was written since the last hold
    std::uint64_t holds = 0;  ///< how many holds were asked for
  };

  void check_entry(const thunder_entry& entry, const double* values) const;
  void publish() noexcept;
  bool capture(const double* q) noexcept;
  bool take(const double* q) noexcept;

  const thunder_law* law_;
  std::optional<PositionFunction> pose_;
  std::vector<int> position_offsets_;

  Message written_;
  TripleBuffer<Message> buffer_;

  std::vector<double> held_;
  std::vector<double> values_;
  std::uint64_t holds_taken_ = 0;
  bool is_pending_ = false;
  bool is_stale_ = false;
  std::optional<double> stamp_;
};

}  // namespace thunder
