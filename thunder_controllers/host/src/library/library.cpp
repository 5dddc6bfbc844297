// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/library/library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "thunder/host/error.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

/// An absolute path, because dlopen searches the system's folders for a name without a slash.
std::string existing_file(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error || !std::filesystem::is_regular_file(absolute, error)) {
    throw HostError(ErrorKind::build, "there is no such file", path, "the path of a generated lib<robot>.so");
  }
  return absolute.string();
}

template <class Item>
std::vector<std::string> names_of(const Item* items, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(items[i].name);
  return names;
}

template <class Item>
const Item& find(const Item* items, int count, const std::string& name, const std::string& noun,
                 const std::string& where) {
  for (int i = 0; i < count; ++i) {
    if (name == items[i].name) return items[i];
  }
  throw HostError(ErrorKind::name_not_found, "there is no " + noun + " '" + name + "'", where,
                  join(names_of(items, count)));
}

}  // namespace

std::shared_ptr<const Library> Library::load(const std::string& path) {
  return std::shared_ptr<const Library>(new Library(existing_file(path)));
}

Library::Library(std::string path) : path_(std::move(path)) {
  handle_.reset(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!handle_) {
    const char* reason = dlerror();
    throw HostError(ErrorKind::build, std::string("cannot be loaded: ") + (reason ? reason : "unknown reason"), path_,
                    "a generated library for this machine");
  }
  const auto getter = reinterpret_cast<thunder_library_getter>(dlsym(handle_.get(), THUNDER_LIBRARY_SYMBOL));
  if (!getter) {
    throw HostError(ErrorKind::build, "has no symbol " THUNDER_LIBRARY_SYMBOL, path_,
                    "a library made by `thunder gen`");
  }
  data_ = getter();
  if (!data_) throw HostError(ErrorKind::build, THUNDER_LIBRARY_SYMBOL " returned nothing", path_);
  check_metadata(*data_, path_);
}

Library::~Library() = default;

void Library::Unloader::operator()(void* handle) const noexcept { dlclose(handle); }

const thunder_law& Library::law(const std::string& name) const {
  return find(data_->laws, data_->n_laws, name, "law", path_);
}

const thunder_function& Library::function(const std::string& name) const {
  return find(data_->functions, data_->n_functions, name, "function", path_);
}

std::vector<std::string> Library::law_names() const { return names_of(data_->laws, data_->n_laws); }

std::vector<std::string> Library::function_names() const { return names_of(data_->functions, data_->n_functions); }

}  // namespace thunder
