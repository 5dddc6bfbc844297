// SPDX-License-Identifier: Apache-2.0
#include "compiled.hpp"

#include <stdexcept>

#include "thunder/host/controller.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder_panda.h"

extern "C" const thunder_library* thunder_library_get(void);

namespace bench {
namespace {

const thunder_function& find_function(const std::string& name) {
  const thunder_library& library = *thunder_library_get();
  for (int i = 0; i < library.n_functions; ++i) {
    if (name == library.functions[i].name) return library.functions[i];
  }
  throw std::runtime_error("no function '" + name + "' in the library of " + library.robot);
}

const Eigen::MatrixXd& argument(const std::string& name, const States& s) {
  if (name == "q") return s.q;
  if (name == "dq") return s.qd;
  if (name == "ddq") return s.qdd;
  if (name == "dq_r") return s.qd_r;
  if (name == "ddq_r") return s.qdd_r;
  throw std::runtime_error("no states for the argument '" + name + "'; valid: q, dq, ddq, dq_r, ddq_r");
}

Row function_row(const std::string& name, const States& states) {
  auto function = std::make_shared<Compiled>(name, states);
  return {name + ": C core", [function](std::size_t k) { function->call(k); }};
}

/// The way a C++ program goes: arguments checked and copied in, the matrix returned by value.
Row class_row(const States& s) {
  struct Object {
    thunder_panda robot;
    decltype(robot.get_Yr()) Yr;
  };
  auto object = std::make_shared<Object>();
  return {"Yr: Eigen class, setArguments + get_Yr", [object, &s](std::size_t k) {
            const auto c = static_cast<Eigen::Index>(k);
            object->robot.setArguments(s.q.col(c), s.qd.col(c), s.qd_r.col(c), s.qdd_r.col(c));
            object->Yr = object->robot.get_Yr();
          }};
}

/// Adaptation slowed to nothing: the path is no response to the effort, so estimates would run away.
const thunder::NamedValues kGains = {{"gamma", {1e6}}};

/// What a Cartesian law would be streamed on the path, one column per state: pose, twist J q̇, and its differences.
Eigen::MatrixXd stream_of(const thunder_law& law, const States& s) {
  States path;
  path.q = s.path_q;
  path.qd = s.path_qd;
  Compiled pose("T_0_ee", path), jacobian("J_ee", path);
  const thunder::SampleLayout layout(law, static_cast<int>(s.path_q.rows()));
  const auto states = static_cast<Eigen::Index>(kStates);
  Eigen::MatrixXd samples = Eigen::MatrixXd::Zero(layout.size, states);
  for (Eigen::Index k = 0; k < states; ++k) {
    pose.call(static_cast<std::size_t>(k));
    jacobian.call(static_cast<std::size_t>(k));
    const Eigen::Matrix3d rotation = pose.result().topLeftCorner<3, 3>();
    samples.col(k).segment<3>(layout.position) = pose.result().topRightCorner<3, 1>();
    samples.col(k).segment<9>(layout.rotation) = Eigen::Map<const Eigen::Matrix<double, 9, 1>>(rotation.data());
    samples.col(k).segment<6>(layout.velocity) = jacobian.result() * s.path_qd.col(k);
  }
  for (Eigen::Index k = 0; k < states; ++k) {
    const auto twist = [&](Eigen::Index at) { return samples.col(at % states).segment<6>(layout.velocity); };
    samples.col(k).segment<6>(layout.acceleration) = (twist(k + 1) - twist(k + states - 1)) / 2e-3;
  }
  return samples;
}

/// A controller of the C++ host that is streamed the path on which the arm is, and the time of its next update: one
/// that held a place would stop an arm that does not stay there.
struct Hosted {
  Hosted(const std::string& path, const States& states) : library(thunder::Library::load(path)) {
    controller.configure(library, "cartesian_backstepping", kGains);
    controller.activate(states.path_q.data(), states.path_qd.data());
    effort.resize(static_cast<std::size_t>(library->n_joints()));
    stream = stream_of(controller.law(), states);
  }

  std::shared_ptr<const thunder::Library> library;
  thunder::Controller controller;
  std::vector<double> effort;
  Eigen::MatrixXd stream;
  double t = 0.0;
};

/// The step of a law as the C ABI offers it, all results into preallocated arrays.
struct Stepped {
  explicit Stepped(const Hosted& hosted)
      : law(hosted.controller.law()),
        reference(hosted.controller.reference()),
        state(hosted.controller.state()),
        gains(hosted.controller.gains()),
        effort(hosted.effort),
        next_state(state),
        applied_effort(effort),
        telemetry(static_cast<std::size_t>(law.telemetry.size)),
        work(static_cast<std::size_t>(law.size_w)) {}

  void call(const double* q, const double* qd) {
    const double* arguments[] = {q,  qd, applied_effort.data(), nullptr, reference.data(), state.data(), gains.data(),
                                 &dt};
    double* results[] = {effort.data(), next_state.data(), telemetry.data()};
    law.step(arguments, results, nullptr, work.data(), 0);
  }

  const thunder_law& law;
  std::vector<double> reference, state, gains, effort, next_state, applied_effort, telemetry, work;
  double dt = 1e-3;
};

void add_law_rows(const std::string& label, const std::string& path, const States& s, std::vector<Row>& rows) {
  auto hosted = std::make_shared<Hosted>(path, s);
  auto stepped = std::make_shared<Stepped>(*hosted);
  const auto n = static_cast<std::size_t>(s.q.rows());
  rows.push_back({"control step, " + label + ": C ABI", [hosted, stepped, &s, n](std::size_t k) {
                    stepped->call(s.path_q.data() + n * k, s.path_qd.data() + n * k);
                  }});
  rows.push_back({"control step, " + label + ": host update", [hosted, &s, n](std::size_t k) {
                    hosted->t += 1e-3;
                    const auto sample = hosted->stream.col(static_cast<Eigen::Index>(k));
                    hosted->controller.set_reference(sample.data(), static_cast<int>(sample.size()));
                    const auto guards = hosted->controller.update(hosted->t, s.path_q.data() + n * k,
                                                                  s.path_qd.data() + n * k, 1e-3, hosted->effort.data());
                    if ((guards & thunder::kBlockingGuards) != 0) throw std::runtime_error("a guard blocked the law");
                  }});
}

}  // namespace

Compiled::Compiled(const std::string& name, const States& states)
    : function_(&find_function(name)), work_(static_cast<std::size_t>(function_->size_w)) {
  count_ = static_cast<std::size_t>(function_->n_in);
  if (count_ > kMaximum || function_->n_out != 1) throw std::runtime_error(name + ": takes or gives too much");
  for (std::size_t i = 0; i < count_; ++i) first_[i] = argument(function_->in[i].name, states).data();
  stride_ = static_cast<std::size_t>(states.q.rows());
  result_.resize(function_->out[0].rows, function_->out[0].cols);
}

std::vector<Row> compiled_rows(const States& states,
                               const std::vector<std::pair<std::string, std::string>>& libraries) {
  std::vector<Row> rows;
  for (const char* name : {"J_ee", "J_ee_dot", "M", "C", "G", "inverse_dynamics", "M_dot", "Y", "Yr"}) {
    rows.push_back(function_row(name, states));
  }
  rows.push_back(class_row(states));
  for (const auto& [label, path] : libraries) add_law_rows(label, path, states, rows);
  return rows;
}

}  // namespace bench
