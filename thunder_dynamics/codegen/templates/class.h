/* Robot $robot, generated: kinematics, dynamics and regressors as an Eigen class over the C core. */
#ifndef THUNDER_${robot}_H
#define THUNDER_${robot}_H

#include <array>
#include <string>

#include <Eigen/Core>

/** Kinematics, dynamics and regressors of $robot. SI units, world frame, linear parts first.
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

#endif
