// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "thunder/host/library/file.hpp"

namespace thunder {

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
