// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "thunder/host/error.hpp"

namespace thunder {

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) noexcept : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  ~Descriptor();

  /// Negative if there is none.
  int get() const noexcept { return value_; }
  int release() noexcept { return std::exchange(value_, -1); }
  /// Write all of it. Returns 0, or the reason as errno has it.
  int write(std::string_view content) const noexcept;

 private:
  int value_;
};

/// A file that anybody may have written: the one door for all that the host reads, and what it says of what it refuses.
///
/// What lies there is looked at when it is open, before a byte is read: a pipe would be waited for, a device may never
/// end, a file of any size fills memory.
struct ForeignFile {
  std::filesystem::path path;
  ErrorKind kind;
  std::string valid;

  /// Throws HostError.
  [[noreturn]] void refuse(const std::string& wrong) const;
  /// Open a file or folder to read it, and say what it is.
  ///
  /// Args: folder, below which the path is looked up, or AT_FDCWD; name, there; flags, more of them for openat;
  /// type, S_IFREG or S_IFDIR. Throws HostError if it cannot be opened or is of another type.
  Descriptor open(int folder, const std::string& name, int flags, mode_t type, struct stat& status) const;
  /// The content of an open file. Throws HostError if that is larger, or grows beyond it while it is read.
  std::string read(const Descriptor& file, off_t largest) const;
  /// The content of a regular file of at most so many bytes. Throws HostError.
  std::string read(off_t largest) const;
};

/// Write a file that appears whole or not at all and outlasts a loss of power, with the mode of the one it replaces.
///
/// A link in its place is replaced, never followed; anything else that is no file stays. Returns 0, or the reason as
/// errno has it: what stood there stands, and nothing is left beside it.
int write_whole(const std::filesystem::path& path, std::string_view content);

}  // namespace thunder
