// SPDX-License-Identifier: Apache-2.0
//
// Repeats a recorded run: the same configuration, the same inputs; writes what the host answers, bit for bit.
// Usage: host_replay <library.so> <configuration.txt> <inputs.bin> <outputs.bin>
//
// Configuration, one item per line, numbers as hexadecimal floats:
//   law NAME | gain NAME VALUES… | state NAME VALUES… | option NAME VALUES… | freeze 0 or 1 | start q qd held_effort
// Inputs: per step t, dt, q, qd, reference. Outputs: per step effort, state, telemetry, guards. All are doubles.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "check.hpp"
#include "thunder/host/controller.hpp"

namespace {

using Values = std::vector<double>;

struct Configuration {
  std::string law;
  thunder::NamedValues gains, state;
  std::map<std::string, Values> options;
  bool freeze = false;
  Values start;
};

/// The rest of a line; `strtod`, because streams do not read hexadecimal floats.
Values read_values(std::istringstream& line) {
  Values values;
  for (std::string word; line >> word;) values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

std::string read_name(std::istringstream& line) {
  std::string name;
  CHECK(line >> name);
  return name;
}

Configuration read_configuration(const char* path) {
  std::ifstream file(path);
  Configuration configuration;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    const std::string key = read_name(line);
    if (key == "law") {
      configuration.law = read_name(line);
    } else if (key == "gain" || key == "state") {
      const std::string name = read_name(line);
      (key == "gain" ? configuration.gains : configuration.state)[name] = read_values(line);
    } else if (key == "option") {
      const std::string name = read_name(line);
      configuration.options[name] = read_values(line);
    } else if (key == "freeze") {
      configuration.freeze = read_values(line).at(0) != 0.0;
    } else {
      CHECK(key == "start");
      configuration.start = read_values(line);
    }
  }
  return configuration;
}

void assign(bool& option, const Values& given) { option = given.at(0) != 0.0; }
void assign(double& option, const Values& given) { option = given.at(0); }
void assign(Values& option, const Values& given) { option = given; }

/// What is not given keeps its default.
thunder::Options make_options(const std::map<std::string, Values>& given) {
  thunder::Options options;
  options.nominal_dt = given.at("nominal_dt").at(0);
  for (const thunder::OptionInfo& option : thunder::option_list()) {
    const auto found = given.find(option.name);
    if (found == given.end()) continue;
    std::visit([&](auto member) { assign(options.*member, found->second); }, option.member);
  }
  return options;
}

Values read_doubles(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  Values values(static_cast<std::size_t>(file.tellg()) / sizeof(double));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(double)));
  CHECK(file);
  return values;
}

void append(Values& output, const Values& values) { output.insert(output.end(), values.begin(), values.end()); }

Values replay(thunder::Controller& controller, const Configuration& configuration, const Values& inputs) {
  const auto n = static_cast<std::size_t>(controller.library()->n_joints());
  const int reference_size = controller.law().reference.size;
  const std::size_t width = 2 + 2 * n + static_cast<std::size_t>(reference_size);
  CHECK(!inputs.empty() && inputs.size() % width == 0 && configuration.start.size() == 3 * n);
  const double* start = configuration.start.data();
  controller.set_reference(inputs.data() + 2 + 2 * n, reference_size);
  controller.freeze_adaptation(configuration.freeze);
  controller.activate(start, start + n, start + 2 * n);
  Values outputs, effort(n);
  for (const double* row = inputs.data(); row != inputs.data() + inputs.size(); row += width) {
    controller.set_reference(row + 2 + 2 * n, reference_size);
    const thunder::GuardBits guards = controller.update(row[0], row + 2, row + 2 + n, row[1], effort.data());
    append(outputs, effort);
    append(outputs, controller.state());
    append(outputs, controller.telemetry());
    outputs.push_back(guards);
  }
  return outputs;
}

}  // namespace

int main(int count, char** arguments) {
  CHECK(count == 5);
  const Configuration configuration = read_configuration(arguments[2]);
  thunder::Controller controller;
  controller.configure(thunder::Library::load(arguments[1]), configuration.law, configuration.gains,
                       configuration.state, make_options(configuration.options));
  const Values outputs = replay(controller, configuration, read_doubles(arguments[3]));
  std::ofstream file(arguments[4], std::ios::binary);
  file.write(reinterpret_cast<const char*>(outputs.data()),
             static_cast<std::streamsize>(outputs.size() * sizeof(double)));
  file.close();
  CHECK(file);
  return 0;
}
