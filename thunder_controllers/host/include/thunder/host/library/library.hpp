// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thunder/thunder_abi.h>

#include <memory>
#include <string>
#include <vector>

#include "thunder/host/library/verified_file.hpp"

namespace thunder {

/// A generated robot library, loaded, checked and constant.
///
/// Everything it hands out points into the loaded library and lives as long as this object; keep the shared pointer.
class Library {
 public:
  /// Verify a library, the file or the generated folder that holds it (see `verify_library`), load the very bytes that
  /// were verified (dlopen with RTLD_NOW | RTLD_LOCAL), and check all its metadata.
  ///
  /// Checked: the ABI version; no null pointers; sizes; entries that partition their signals in order and without
  /// gaps; ordered bounds; defaults inside bounds; positive limits; unique names; the reference of each law; the
  /// content hash, if one is given.
  ///
  /// Throws HostError(build) naming the file and the part that is wrong.
  static std::shared_ptr<const Library> load(const std::string& path, const std::string& hash = {});

  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// Of the file on disk, absolute and without symbolic links.
  const std::string& path() const noexcept { return path_; }
  int n_joints() const noexcept { return data_->n_joints; }
  int lanes() const noexcept { return data_->lanes; }
  int single_lanes() const noexcept { return data_->single_lanes; }
  const thunder_library& data() const noexcept { return *data_; }

  /// The law or function of that name. Throws HostError(name_not_found) that lists the names there are.
  const thunder_law& law(const std::string& name) const;
  const thunder_function& function(const std::string& name) const;

  /// Name of the function q -> inertia that efforts move: M, or M_rigid, with the motors, where joints are elastic.
  const char* moved_inertia() const noexcept;
  /// How many joints are elastic.
  int n_elastic() const noexcept;

  std::vector<std::string> law_names() const;
  std::vector<std::string> function_names() const;

 private:
  struct Unloader {
    int descriptor;
    void operator()(void* handle) const noexcept;
  };

  Library(VerifiedFile file, const std::string& hash);

  std::string path_;
  std::unique_ptr<void, Unloader> handle_;
  const thunder_library* data_ = nullptr;
};

/// Check the metadata of a library. Throws HostError(build), `where` starting with the given path.
void check_metadata(const thunder_library& library, const std::string& path);

}  // namespace thunder
