// SPDX-License-Identifier: Apache-2.0
//
// What the plugin reads of a file of estimates, from the command line: estimates_file LIBRARY LAW FROM TO. Starts from
// FROM and saves to TO, in the language of the environment; what is refused is the output of a run with status 1.
#include <iostream>
#include <locale>

#include "thunder/host/error.hpp"
#include "thunder/host/session.hpp"
#include "yaml_document.hpp"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  std::locale::global(std::locale(""));
  const auto configuration = thunder::make_configuration(thunder::Library::load(argv[1]), "", argv[2], {});
  try {
    const auto document = thunder_controllers::read_document(argv[3]);
    const auto estimates = thunder::read_estimates(document, configuration, argv[3]);
    thunder::ControlSession session(configuration, thunder::Options(), {}, estimates);
    thunder::save_estimates(argv[4], configuration, session.snapshot().state);
  } catch (const thunder::HostError& error) {
    std::cout << error.what() << "\n";
    return 1;
  }
  return 0;
}
