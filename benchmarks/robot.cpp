// SPDX-License-Identifier: Apache-2.0
#include "robot.hpp"

#include <cmath>
#include <fstream>
#include <random>
#include <stdexcept>

namespace bench {
namespace {

/// Numbers separated by white space, in the order of robot_text.py.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file), stream_(file) {}

  double number() {
    std::string word;
    stream_ >> word;
    ++count_;
    try {
      return std::stod(word);
    } catch (const std::exception&) {
      throw std::runtime_error(file_ + ": word " + std::to_string(count_) + " is '" + word + "'; valid: a number");
    }
  }
  int integer() { return static_cast<int>(number()); }
  Eigen::Vector3d vector() {
    const double x = number(), y = number(), z = number();
    return {x, y, z};
  }
  Eigen::Matrix3d matrix() {
    Eigen::Matrix3d m;
    for (int i = 0; i < 3; ++i) m.row(i) = vector().transpose();
    return m;
  }
  Eigen::VectorXd values(int n) {
    Eigen::VectorXd v(n);
    for (double& value : v) value = number();
    return v;
  }

 private:
  std::string file_;
  std::ifstream stream_;
  int count_ = 0;
};

int configurations(const Link& link) { return link.kind == Kind::kFree ? 7 : 1; }

Link read_link(Reader& reader) {
  Link link;
  link.parent = reader.integer();
  link.kind = static_cast<Kind>(reader.integer());
  link.axis = reader.vector();
  link.rotation = reader.matrix();
  link.translation = reader.vector();
  link.mass = reader.number();
  link.com = reader.vector();
  link.inertia = reader.matrix();
  return link;
}

/// Columns of values drawn evenly between bounds.
Eigen::MatrixXd draw(std::mt19937_64& source, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  Eigen::MatrixXd values(lower.size(), static_cast<Eigen::Index>(kStates));
  for (double& value : values.reshaped()) value = unit(source);
  return lower.replicate(1, values.cols()) + values.cwiseProduct((upper - lower).replicate(1, values.cols()));
}

/// A closed curve about the middle of the joint ranges, 0.02 rad wide, one sample a millisecond.
void follow_path(const Robot& robot, States& states) {
  constexpr double kAmplitude = 0.02, kPeriod = 1e-3 * kStates, kTwoPi = 6.283185307179586;
  states.path_q.resize(robot.n(), kStates);
  states.path_qd.resize(robot.n(), kStates);
  for (std::size_t k = 0; k < kStates; ++k) {
    for (int i = 0; i < robot.n(); ++i) {
      const double angle = kTwoPi * static_cast<double>(k) / kStates + i;
      const auto column = static_cast<Eigen::Index>(k);
      states.path_q(i, column) = 0.5 * (robot.lower[i] + robot.upper[i]) + kAmplitude * std::sin(angle);
      states.path_qd(i, column) = kAmplitude * kTwoPi / kPeriod * std::cos(angle);
    }
  }
}

}  // namespace

Robot read_robot(const std::string& file) {
  Reader reader(file);
  Robot robot;
  robot.links.resize(static_cast<std::size_t>(reader.integer()));
  robot.gravity = reader.vector();
  for (Link& link : robot.links) link = read_link(reader);
  robot.ee_link = reader.integer();
  robot.ee_rotation = reader.matrix();
  robot.ee_translation = reader.vector();
  int nq = 0, nv = 0;
  for (const Link& link : robot.links) {
    nq += configurations(link);
    nv += link.kind == Kind::kFree ? 6 : 1;
  }
  robot.lower = reader.values(nq);
  robot.upper = reader.values(nq);
  robot.velocity = reader.values(nv);
  return robot;
}

States make_states(const Robot& robot) {
  std::mt19937_64 source(20240229);
  const Eigen::VectorXd acceleration = Eigen::VectorXd::Constant(robot.velocity.size(), 5.0);
  States states;
  states.q = draw(source, robot.lower, robot.upper);
  Eigen::Index first = 0;
  for (const Link& link : robot.links) {
    if (link.kind == Kind::kFree) states.q.middleRows(first + 3, 4).colwise().normalize();
    first += configurations(link);
  }
  states.qd = draw(source, -robot.velocity, robot.velocity);
  states.qdd = draw(source, -acceleration, acceleration);
  states.qd_r = draw(source, -robot.velocity, robot.velocity);
  states.qdd_r = draw(source, -acceleration, acceleration);
  follow_path(robot, states);
  return states;
}

}  // namespace bench
