#include "kiln/core/system/shared_library.hpp"

#include <dlfcn.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

void* opened(const char* name) { return ::dlopen(name, RTLD_NOW | RTLD_LOCAL); }

}  // namespace

SharedLibrary::SharedLibrary(std::string_view device, std::string_view purpose, std::span<const char* const> names,
                             std::string_view remedy)
    : device_(device), remedy_(remedy) {
  std::string tried;
  for (const char* const name : names) {
    name_ = name;
    handle_ = opened(name);
    if (handle_) return;
    const char* const reason = ::dlerror();
    tried += text(tried.empty() ? "" : "; ", reason ? shown(reason) : shown(name));
  }
  fail<DeviceError>(device_, ": there is no library that ", purpose, " (", tried, "); ", remedy);
}

void* SharedLibrary::find_address(const char* name) const { return ::dlsym(handle_, name); }

void* SharedLibrary::address_of(const char* name) const {
  void* const address = find_address(name);
  require<DeviceError>(address != nullptr, device_, ": ", name_, " has no function ", name, ", so it is too old; ",
                       remedy_);
  return address;
}

OptionalLibrary::OptionalLibrary(std::string_view known_as, std::initializer_list<const char*> names,
                                 std::string_view package)
    : known_as_(known_as) {
  for (const char* const name : names)
    if (!handle_) handle_ = opened(name);
  if (!handle_) problem_ = text("this machine has no ", known_as, " (Debian: ", package, ")");
}

void* OptionalLibrary::address_of(const char* name) {
  void* const address = handle_ ? ::dlsym(handle_, name) : nullptr;
  if (!address && problem_.empty()) problem_ = text("this machine's ", known_as_, " has no ", name);
  return address;
}

}  // namespace kiln
