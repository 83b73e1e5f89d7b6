#include "kiln/backend/cuda/library.hpp"

#include <dlfcn.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::cuda {

Library::Library(std::string_view purpose, std::initializer_list<const char*> names, std::string_view remedy)
    : remedy_(remedy) {
  std::string tried;
  for (const char* const name : names) {
    name_ = name;
    handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_) return;
    const char* const reason = ::dlerror();
    tried += text(tried.empty() ? "" : "; ", reason ? shown(reason) : shown(name));
  }
  fail<DeviceError>("cuda: there is no library that ", purpose, " (", tried, "); ", remedy);
}

void* Library::find_address(const char* name) const { return ::dlsym(handle_, name); }

void* Library::address_of(const char* name) const {
  void* const address = find_address(name);
  require<DeviceError>(address != nullptr, "cuda: ", name_, " has no function ", name, ", so it is too old; ", remedy_);
  return address;
}

}  // namespace kiln::cuda
