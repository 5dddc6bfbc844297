// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/library/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

namespace thunder {
namespace {

constexpr mode_t kPermissions = 0777;

/// Fill a new file and put it in its place, below an open folder.
int replace(int folder, const std::string& partial, const std::string& name, std::string_view content, mode_t mode) {
  Descriptor file(::openat(folder, partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return errno;
  int reason = file.write(content);
  if (reason == 0 && mode != 0 && ::fchmod(file.get(), mode) != 0) reason = errno;
  if (reason == 0 && ::fsync(file.get()) != 0) reason = errno;
  if (::close(file.release()) != 0 && reason == 0) reason = errno;
  if (reason == 0 && ::renameat(folder, partial.c_str(), folder, name.c_str()) != 0) reason = errno;
  if (reason != 0) {
    ::unlinkat(folder, partial.c_str(), 0);
    return reason;
  }
  return ::fsync(folder) == 0 ? 0 : errno;
}

}  // namespace

Descriptor::~Descriptor() {
  if (value_ >= 0) close(value_);
}

int Descriptor::write(std::string_view content) const noexcept {
  while (!content.empty()) {
    const ssize_t written = ::write(value_, content.data(), content.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void ForeignFile::refuse(const std::string& wrong) const { throw HostError(kind, wrong, path.string(), valid); }

Descriptor ForeignFile::open(int folder, const std::string& name, int flags, mode_t type, struct stat& status) const {
  Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
  if ((status.st_mode & S_IFMT) != type) refuse("is not a regular file");
  return file;
}

std::string ForeignFile::read(const Descriptor& file, off_t largest) const {
  std::array<char, 1 << 16> piece;
  std::string content;
  struct stat status;
  if (::fstat(file.get(), &status) != 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
  while (status.st_size <= largest && static_cast<off_t>(content.size()) <= largest) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    if (count == 0) return content;
    content.append(piece.data(), static_cast<std::size_t>(count));
  }
  refuse("is larger than " + std::to_string(largest >> 10) + " KiB");
}

std::string ForeignFile::read(off_t largest) const {
  struct stat status;
  return read(open(AT_FDCWD, path.string(), 0, S_IFREG, status), largest);
}

int write_whole(const std::filesystem::path& path, std::string_view content) {
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  const Descriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return errno;
  const std::string name = path.filename().string();
  struct stat status;
  const bool exists = ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && S_ISDIR(status.st_mode)) return EISDIR;
  if (exists && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) return EINVAL;
  std::array<char, 16> random{};
  std::snprintf(random.data(), random.size(), "%08x", std::random_device()());
  const mode_t mode = exists && S_ISREG(status.st_mode) ? status.st_mode & kPermissions : 0;
  return replace(folder.get(), "." + name + "." + random.data(), name, content, mode);
}

}  // namespace thunder
