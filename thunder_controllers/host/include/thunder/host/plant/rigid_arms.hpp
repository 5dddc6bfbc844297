// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "thunder/host/library/aligned.hpp"
#include "thunder/host/library/batch.hpp"
#include "thunder/host/library/library.hpp"

namespace thunder {

/// What arms of one robot differ in, a row for each: par_DYN and par_Ia of its library, and a value for each joint.
struct ArmProperties {
  std::size_t count;
  Rows bodies;
  Rows rotors;
  Rows offsets;
  Rows coulomb;
  std::vector<Rows> viscous;  ///< Dl_1, Dl_2, …
};

/// Arms that move by M q̈ + C q̇ + G = τ − o − τ_f, with τ_f = Dl_1 q̇ + Dl_2 |q̇| q̇ + … + Fc tanh(q̇/v_s).
///
/// Integrated by Runge–Kutta of order four, as many at once as the library has lanes. A step has as many parts as are
/// stable at rest, where friction damps joints at M⁻¹D, D = Dl_1 + Fc/v_s: a joint that sticks would oscillate otherwise,
/// and be measured at speeds that it does not have. An arm whose M is singular moves to what is not finite.
class RigidArms {
 public:
  /// `smoothing` is v_s; `longest` is the longest part of a step, in times 1/λ of a damped joint's λ. The properties are
  /// read whenever the arms move. Throws HostError(name_not_found) unless the library has forward_dynamics and M_inv.
  RigidArms(std::shared_ptr<const Library> library, ArmProperties properties, double smoothing, double longest);

  /// Advance by so many steps [s] under constant efforts: q, qd and effort have a row of n_joints values for each arm.
  void advance(RowsOut<double> q, RowsOut<double> qd, Rows effort, double step, std::size_t steps);

  /// q̈ under efforts.
  void accelerate(Rows q, Rows qd, Rows effort, RowsOut<double> qdd);

  /// In how many parts each arm would make a step from there.
  void count_parts(Rows q, double step, RowsOut<double> parts);

  std::size_t count() const noexcept { return properties_.count; }
  std::size_t n_joints() const noexcept { return n_; }

 private:
  /// A function with one result, value by value of all lanes, as its arguments are.
  struct InLanes {
    InLanes(const thunder_function& function, std::size_t width);
    /// Use the values there, if it takes an argument of that name.
    void set(const char* name, const double* values) noexcept;
    const double* evaluate() noexcept;

    const thunder_function& function;
    thunder_eval eval;
    std::vector<const double*> arguments;
    Aligned result;
    std::vector<long long> iw;
    Aligned w;
  };

  void begin(std::size_t first);
  void take(Rows rows, std::size_t size, double* to) const;
  void give(const double* from, RowsOut<double> rows) const;
  void step(double step);
  void integrate();
  const double* acceleration(const double* q, const double* qd) noexcept;
  double find_parts(const double* q, double step) noexcept;

  std::shared_ptr<const Library> library_;
  ArmProperties properties_;
  double smoothing_;
  double longest_;
  std::size_t n_;
  std::size_t width_;
  InLanes forward_;
  InLanes inverse_;
  std::size_t first_ = 0;  ///< Arm of the block, whose arms are those of the lanes.
  std::size_t filled_ = 0;
  bool is_damped_ = false;
  Aligned bodies_, rotors_, offsets_, coulomb_, damping_, effort_, torque_, q_, qd_, rate_, at_, change_, parts_, h_;
  std::vector<Aligned> viscous_;
};

}  // namespace thunder
