// SPDX-License-Identifier: Apache-2.0
#include "plant/model.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "plant/error.hpp"

namespace thunder {
namespace {

constexpr const char* kStartKey = "start";
constexpr const char* kOwnInertia = "own_inertia:";
constexpr int kOwnInertiaSize = 11;  // mass, CoM (3), principal axes (4), principal moments (3)

std::string name_of(const mjModel& model, mjtObj kind, int index) {
  const char* name = mj_id2name(&model, kind, index);
  return name == nullptr ? std::string() : name;
}

/// MuJoCo's message in one line.
std::string one_line(const char* text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line.empty() ? "no reason given" : line;
}

void check_joint_set(const mjModel& model, const std::vector<std::string>& names, const std::string& file) {
  std::vector<std::string> found;
  for (int i = 0; i < model.njnt; ++i) found.push_back(name_of(model, mjOBJ_JOINT, i));
  if (std::is_permutation(found.begin(), found.end(), names.begin(), names.end())) return;
  throw PlantError("the model's joints are " + join_names(found), file, "the description's: " + join_names(names));
}

/// Whether ctrl of this actuator is the torque or force on that joint.
bool is_motor_of(const mjModel& model, int actuator, int joint) {
  return model.actuator_trntype[actuator] == mjTRN_JOINT && model.actuator_trnid[2 * actuator] == joint &&
         model.actuator_dyntype[actuator] == mjDYN_NONE && model.actuator_gaintype[actuator] == mjGAIN_FIXED &&
         model.actuator_biastype[actuator] == mjBIAS_NONE && model.actuator_gainprm[actuator * mjNGAIN] == 1.0 &&
         model.actuator_gear[actuator * 6] == 1.0;
}

JointAddress find_joint(const mjModel& model, const std::string& name, const std::string& file) {
  const int joint = mj_name2id(&model, mjOBJ_JOINT, name.c_str());
  if (model.jnt_type[joint] != mjJNT_HINGE && model.jnt_type[joint] != mjJNT_SLIDE) {
    throw PlantError("joint " + name + " neither turns nor slides", file, "joints of one degree of freedom");
  }
  const int motor = mj_name2id(&model, mjOBJ_ACTUATOR, name.c_str());
  if (motor < 0 || !is_motor_of(model, motor, joint)) {
    throw PlantError("joint " + name + " has no torque motor of its name", file, "a file written by `thunder mjcf`");
  }
  return {model.jnt_qposadr[joint], model.jnt_dofadr[joint], motor};
}

void restore_own_inertia(mjModel& model, int numeric, const std::string& link, const std::string& file) {
  const int body = mj_name2id(&model, mjOBJ_BODY, link.c_str());
  if (body < 0 || model.numeric_size[numeric] != kOwnInertiaSize) {
    throw PlantError(std::string("numeric ") + kOwnInertia + link + " names no link, or has another size", file,
                     "a link and " + std::to_string(kOwnInertiaSize) + " numbers");
  }
  const mjtNum* values = model.numeric_data + model.numeric_adr[numeric];
  model.body_mass[body] = values[0];
  std::copy(values + 1, values + 4, model.body_ipos + 3 * body);
  std::copy(values + 4, values + 8, model.body_iquat + 4 * body);
  std::copy(values + 8, values + 11, model.body_inertia + 3 * body);
}

}  // namespace

ModelPtr load_model(const std::string& file) {
  if (!std::filesystem::is_regular_file(file)) {
    throw PlantError("there is no file '" + file + "'", "model", "a file written by `thunder mjcf`");
  }
  std::array<char, 1000> reason{};
  const bool is_binary = std::filesystem::path(file).extension() == ".mjb";
  ModelPtr model(is_binary ? mj_loadModel(file.c_str(), nullptr)
                           : mj_loadXML(file.c_str(), nullptr, reason.data(), static_cast<int>(reason.size())));
  if (model) {
    // MuJoCo would put a lost state back to the zero positions and go on, with nothing to tell by.
    model->opt.disableflags |= mjDSBL_AUTORESET;
    return model;
  }
  throw PlantError("MuJoCo " + std::string(mj_versionString()) + " cannot read it: " + one_line(reason.data()), file,
                   is_binary ? "an .mjb file of the same release, or an .xml file" : "an MJCF file");
}

DataPtr make_data(const mjModel& model, const std::string& file) {
  DataPtr data(mj_makeData(&model));
  if (!data) throw PlantError("not enough memory to simulate it", file, "a smaller model");
  return data;
}

std::vector<JointAddress> find_joints(const mjModel& model, const std::vector<std::string>& names,
                                      const std::string& file) {
  check_joint_set(model, names, file);
  std::vector<JointAddress> addresses;
  for (const std::string& name : names) addresses.push_back(find_joint(model, name, file));
  if (model.nu != static_cast<int>(names.size())) {
    throw PlantError("the model has " + std::to_string(model.nu) + " motors", file, "one per joint");
  }
  return addresses;
}

std::vector<double> start_positions(const mjModel& model, const std::vector<JointAddress>& joints) {
  const int key = mj_name2id(&model, mjOBJ_KEY, kStartKey);
  const mjtNum* source = key < 0 ? model.qpos0 : model.key_qpos + key * model.nq;
  std::vector<double> positions;
  for (const JointAddress& joint : joints) positions.push_back(source[joint.position]);
  return positions;
}

ModelPtr without_payloads(const mjModel& model, const std::string& file) {
  ModelPtr own(mj_copyModel(nullptr, &model));
  if (!own) throw PlantError("not enough memory to copy it", file, "a smaller model");
  const std::size_t prefix = std::string(kOwnInertia).size();
  for (int i = 0; i < own->nnumeric; ++i) {
    const std::string name = name_of(*own, mjOBJ_NUMERIC, i);
    if (name.rfind(kOwnInertia, 0) == 0) restore_own_inertia(*own, i, name.substr(prefix), file);
  }
  const DataPtr scratch = make_data(*own, file);
  mj_setConst(own.get(), scratch.get());  // masses of subtrees follow from those of the bodies
  return own;
}

}  // namespace thunder
