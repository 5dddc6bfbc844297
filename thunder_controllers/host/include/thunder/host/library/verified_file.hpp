// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

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

/// A copy in memory of a library on disk, whose content is what `SHA256SUMS` beside it says.
///
/// What was compared is what is loaded: whatever becomes of the file afterwards, the copy stays as it is.
struct VerifiedFile {
  std::string path;  ///< Of the file on disk, absolute and without symbolic links.
  Descriptor memory;
};

/// Read the library at `path`, the file itself or the generated folder that holds it, and verify it.
///
/// Checked: file, its folder and SHA256SUMS belong to this process's user or root, and neither group nor others may
/// write them; SHA256SUMS has the form that `sha256sum -c` takes and lists the file; the file's SHA-256 is the one
/// listed. Folders further up are not checked: all is read through the one folder that was opened.
///
/// Throws HostError(build) naming the file and what is wrong with it.
VerifiedFile verify_library(const std::string& path);

}  // namespace thunder
