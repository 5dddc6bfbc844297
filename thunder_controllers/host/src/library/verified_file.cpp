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
#include <memory>
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

/// Open a file or folder below `folder` for reading. O_NONBLOCK: opening a pipe would wait for its writer.
Descriptor open_checked(int folder, const std::string& name, const fs::path& path, mode_t kind, off_t largest) {
  Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) refuse(std::string("cannot be opened: ") + std::strerror(errno), path);
  struct stat status;
  if (fstat(file.get(), &status) != 0) refuse(std::string("cannot be read: ") + std::strerror(errno), path);
  if ((status.st_mode & S_IFMT) != kind) refuse("is not a regular file", path);
  check_owner(status, path);
  if (kind == S_IFREG && status.st_size > largest) refuse("is larger than any that is generated", path);
  return file;
}

/// Read a file to its end, or to one byte beyond `largest`, in pieces that `take` gets.
template <class Take>
void read_pieces(int file, const fs::path& path, off_t largest, Take&& take) {
  std::array<char, 1 << 16> piece;
  for (off_t total = 0; total <= largest;) {
    const ssize_t count = read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::string("cannot be read: ") + std::strerror(errno), path);
    if (count == 0) return;
    take(piece.data(), static_cast<std::size_t>(count));
    total += count;
  }
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

std::map<std::string, std::string> read_sums(int folder, const fs::path& path) {
  const Descriptor file = open_checked(folder, kSums, path, S_IFREG, kLargestSums);
  std::string text;
  read_pieces(file.get(), path, kLargestSums, [&](const char* data, std::size_t count) { text.append(data, count); });
  return parse_sums(text, path);
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

void append(int memory, const char* data, std::size_t count, const fs::path& path) {
  while (count > 0) {
    const ssize_t written = write(memory, data, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(std::string("cannot be copied to memory: ") + std::strerror(errno), path, "free memory");
    data += written;
    count -= static_cast<std::size_t>(written);
  }
}

/// Copy a file to memory; returns the SHA-256 of the copy, in hexadecimal.
std::string copy_and_digest(int file, int memory, const fs::path& path) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  bool is_good = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  read_pieces(file, path, kLargestLibrary, [&](const char* data, std::size_t count) {
    is_good = is_good && EVP_DigestUpdate(context.get(), data, count) == 1;
    append(memory, data, count, path);
  });
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (!is_good || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) {
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

Descriptor::~Descriptor() {
  if (value_ >= 0) close(value_);
}

VerifiedFile verify_library(const std::string& path) {
  fs::path file = existing(path);
  const bool is_folder = fs::is_directory(file);
  const fs::path folder = (is_folder ? existing((file / kSums).string()) : file).parent_path();
  const fs::path sums_path = folder / kSums;
  const Descriptor opened = open_checked(AT_FDCWD, folder.string(), folder, S_IFDIR, 0);
  const auto sums = read_sums(opened.get(), sums_path);
  if (is_folder) file = folder / library_among(sums, sums_path);
  const std::string name = file.filename().string();
  const auto listed = sums.find(name);
  if (listed == sums.end()) refuse("lists no " + name, sums_path);
  const Descriptor source = open_checked(opened.get(), name, file, S_IFREG, kLargestLibrary);
  Descriptor memory(memfd_create(name.substr(0, 200).c_str(), MFD_CLOEXEC));
  if (memory.get() < 0) refuse(std::string("cannot be copied to memory: ") + std::strerror(errno), file, "memfd_create");
  const std::string digest = copy_and_digest(source.get(), memory.get(), file);
  if (digest != listed->second) {
    refuse("is not the file that was generated: its SHA-256 is " + digest + ", " + kSums + " has " + listed->second,
           file);
  }
  return {file.string(), std::move(memory)};
}

}  // namespace thunder
