// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/library/library.hpp"

#include <dlfcn.h>

#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

/// What dlopen calls an object that it loads from a descriptor.
std::string name_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

constexpr const char* kRigid = "M_rigid";

const thunder_function* function_if_any(const thunder_library& library, const std::string& name) noexcept {
  for (int i = 0; i < library.n_functions; ++i) {
    if (name == library.functions[i].name) return &library.functions[i];
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const Library> Library::load(const std::string& path, const std::string& hash) {
  return std::shared_ptr<const Library>(new Library(verify_library(path), hash));
}

Library::Library(VerifiedFile file, const std::string& hash) : path_(std::move(file.path)) {
  void* const handle = dlopen(name_of(file.memory.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    throw HostError(ErrorKind::build, std::string("cannot be loaded: ") + (reason ? reason : "unknown reason"), path_,
                    "a generated library for this machine");
  }
  handle_ = {handle, Unloader{file.memory.release()}};
  const auto getter = reinterpret_cast<thunder_library_getter>(dlsym(handle, THUNDER_LIBRARY_SYMBOL));
  if (!getter) {
    throw HostError(ErrorKind::build, "has no symbol " THUNDER_LIBRARY_SYMBOL, path_,
                    "a library made by `thunder gen`");
  }
  data_ = getter();
  if (!data_) throw HostError(ErrorKind::build, THUNDER_LIBRARY_SYMBOL " returned nothing", path_);
  check_metadata(*data_, path_);
  if (!hash.empty() && hash != data_->hash) {
    throw HostError(ErrorKind::build, std::string("is another build, ") + data_->hash, path_, hash);
  }
}

Library::~Library() = default;

void Library::Unloader::operator()(void* handle) const noexcept {
  dlclose(handle);
  // An object that cannot be unloaded keeps its name: dlopen would give it for another file with this descriptor.
  if (!dlopen(name_of(descriptor).c_str(), RTLD_LAZY | RTLD_NOLOAD)) Descriptor{descriptor};
}

const thunder_law& Library::law(const std::string& name) const {
  return find_named(data_->laws, data_->n_laws, name, "law", path_);
}

const thunder_function& Library::function(const std::string& name) const {
  return find_named(data_->functions, data_->n_functions, name, "function", path_);
}

int Library::n_elastic() const noexcept {
  const thunder_function* motors = function_if_any(*data_, "Mm");
  return motors && function_if_any(*data_, kRigid) ? motors->out[0].rows : 0;
}

const char* Library::moved_inertia() const noexcept { return n_elastic() > 0 ? kRigid : "M"; }

std::vector<std::string> Library::law_names() const { return names_of(data_->laws, data_->n_laws); }

std::vector<std::string> Library::function_names() const { return names_of(data_->functions, data_->n_functions); }

}  // namespace thunder
