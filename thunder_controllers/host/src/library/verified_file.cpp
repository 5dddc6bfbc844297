// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/library/verified_file.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "thunder/host/error.hpp"

namespace thunder {
namespace {

namespace fs = std::filesystem;

constexpr char kSums[] = "SHA256SUMS";
constexpr off_t kLargestSums = 1 << 20;
constexpr off_t kLargestLibrary = 1 << 30;  ///< A thousand times what a robot of ten joints takes.
constexpr std::size_t kDigits = 64;
constexpr char kAgain[] = "a folder that `thunder gen` of this version made; generate it again";

[[noreturn]] void refuse(const std::string& wrong, const fs::path& where, const std::string& valid = kAgain) {
  throw HostError(ErrorKind::build, wrong, where.string(), valid);
}

/// The path without symbolic links, which colcon's --symlink-install makes.
fs::path existing(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
    refuse("there is no such file", path, "the path of a generated lib<robot>.so, or of its folder");
  }
  if (error) refuse("cannot be found: " + error.message(), path);
  return found;
}

/// Neither another user nor a group may have put there what is about to run.
void check_owner(const struct stat& status, const fs::path& path) {
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    refuse("belongs to user " + std::to_string(status.st_uid), path,
           "a file of user " + std::to_string(geteuid()) + ", who runs this, or of root");
  }
  if (status.st_mode & (S_IWGRP | S_IWOTH)) {
    refuse("others than its owner may write it", path, "chmod go-w " + path.string());
  }
}

/// Open what nobody else could have written, a file or folder below `folder`.
Descriptor open_checked(int folder, const std::string& name, const fs::path& path, mode_t type) {
  struct stat status;
  Descriptor file = ForeignFile{path, ErrorKind::build, kAgain}.open(folder, name, O_NOFOLLOW, type, status);
  check_owner(status, path);
  return file;
}

std::string read_checked(int folder, const std::string& name, const fs::path& path, off_t largest) {
  return ForeignFile{path, ErrorKind::build, kAgain}.read(open_checked(folder, name, path, S_IFREG), largest);
}

/// Digests by name, from lines `<64 digits>  <name>`.
std::map<std::string, std::string> parse_sums(const std::string& text, const fs::path& path) {
  std::map<std::string, std::string> sums;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    const bool is_sum = end != std::string::npos && line.size() > kDigits + 2 &&
                        line.find_first_not_of("0123456789abcdef") == kDigits && line.compare(kDigits, 2, "  ") == 0 &&
                        line.find('\0') == std::string::npos;
    if (!is_sum || !sums.emplace(line.substr(kDigits + 2), line.substr(0, kDigits)).second) {
      refuse("line " + std::to_string(number) + " is no checksum, or is of a file listed before", path);
    }
    begin = end + 1;
  }
  return sums;
}

/// The only lib<robot>.so that is listed.
std::string library_among(const std::map<std::string, std::string>& sums, const fs::path& path) {
  std::string found;
  for (const auto& [name, digest] : sums) {
    const bool is_library = name.compare(0, 3, "lib") == 0 && name.size() > 6 &&
                            name.compare(name.size() - 3, 3, ".so") == 0 && name.find('/') == std::string::npos;
    if (is_library && !found.empty()) refuse("lists both " + found + " and " + name, path);
    if (is_library) found = name;
  }
  if (found.empty()) refuse("lists no lib<robot>.so", path);
  return found;
}

/// SHA-256 in hexadecimal.
std::string digest_of(const std::string& content, const fs::path& path) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    refuse("its SHA-256 cannot be computed", path, "a libcrypto that has SHA-256");
  }
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

}  // namespace

VerifiedFile verify_library(const std::string& path) {
  fs::path file = existing(path);
  const bool is_folder = fs::is_directory(file);
  const fs::path folder = (is_folder ? existing((file / kSums).string()) : file).parent_path();
  const fs::path sums_path = folder / kSums;
  const Descriptor opened = open_checked(AT_FDCWD, folder.string(), folder, S_IFDIR);
  const auto sums = parse_sums(read_checked(opened.get(), kSums, sums_path, kLargestSums), sums_path);
  if (is_folder) file = folder / library_among(sums, sums_path);
  const std::string name = file.filename().string();
  const auto listed = sums.find(name);
  if (listed == sums.end()) refuse("lists no " + name, sums_path);
  const std::string content = read_checked(opened.get(), name, file, kLargestLibrary);
  const std::string digest = digest_of(content, file);
  if (digest != listed->second) {
    refuse("is not the file that was generated: its SHA-256 is " + digest + ", " + kSums + " has " + listed->second,
           file);
  }
  Descriptor memory(memfd_create(name.substr(0, 200).c_str(), MFD_CLOEXEC));
  const int reason = memory.get() < 0 ? errno : memory.write(content);
  if (reason != 0) refuse(std::string("cannot be copied to memory: ") + std::strerror(reason), file, "free memory");
  return {file.string(), std::move(memory)};
}

}  // namespace thunder
