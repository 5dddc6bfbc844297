// SPDX-License-Identifier: Apache-2.0
//
// The plugin's file of estimates, from the command line: estimates_file LIBRARY LAW FROM TO. Loads FROM and writes it to
// TO; what is refused is the output of a run with status 1.
#include "estimates_file.hpp"

#include <algorithm>
#include <iostream>

#include "thunder/host/error.hpp"
#include "thunder/host/law/estimates.hpp"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  thunder_controllers::Configuration owner;
  owner.library = thunder::Library::load(argv[1]);
  owner.law = argv[2];
  owner.links = thunder::estimated_links(owner.library->data(), owner.law_data());
  std::vector<double> state(static_cast<std::size_t>(owner.law_data().state.size), 0.0);
  try {
    for (const auto& [name, values] : thunder_controllers::load_estimates(argv[3], owner)) {
      const thunder_entry& entry = thunder::find_entry(owner.law_data().state, name, "state");
      std::copy(values.begin(), values.end(), state.begin() + entry.offset);
    }
    thunder_controllers::save_estimates(argv[4], owner, state);
  } catch (const thunder::HostError& error) {
    std::cout << error.what() << "\n";
    return 1;
  }
  return 0;
}
