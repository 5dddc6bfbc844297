// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer: the files that the host reads as texts, saved estimates and SHA256SUMS. The first byte says which.
// THUNDER_FUZZ_LIBRARIES: the library whose estimates are read. Run it in a folder that it may write, on a file system in memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.hpp"
#include "thunder/host/law/estimates_file.hpp"

namespace {

void write(const char* path, const std::uint8_t* data, std::size_t size) {
  const thunder::Descriptor file(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  CHECK(file.write({reinterpret_cast<const char*>(data), size}) == 0);
}

void read_estimates(const thunder::Configuration& configuration) {
  thunder::NamedValues values;
  if (test::is_refused([&] { values = thunder::read_estimates("estimates.yaml", configuration); })) return;
  const thunder_law& law = configuration.law_data();
  for (const auto& [name, flat] : values) {
    CHECK(thunder::is_valid(thunder::find_entry(law.state, name, "state"), flat.data()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto library = thunder::Library::load(test::environment("THUNDER_FUZZ_LIBRARIES"));
  static const thunder::Configuration configuration =
      thunder::make_configuration(library, "", library->law_names().front(), {});
  if (size == 0) return 0;
  if (data[0] % 4 != 0) {
    write("estimates.yaml", data + 1, size - 1);
    read_estimates(configuration);
    return 0;
  }
  mkdir("package", 0700);
  write("package/SHA256SUMS", data + 1, size - 1);
  write("package/libarm.so", data, 1);
  CHECK(test::is_refused([] { thunder::verify_library("package"); }));  // no input knows its own SHA-256
  return 0;
}
