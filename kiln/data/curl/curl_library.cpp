#include "kiln/data/curl/curl_library.hpp"

#include <type_traits>

#include <dlfcn.h>

#include "kiln/core/error/error.hpp"

namespace kiln::curl {

Library::Library() {
  void* handle = nullptr;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"})
    if (!handle) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    problem = "this machine has no libcurl (Debian: libcurl4)";
    return;
  }
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (!function) problem = text("this machine's libcurl has no ", name);
  };
  find("curl_global_init", global_init);
  find("curl_easy_init", init);
  find("curl_easy_setopt", set);
  find("curl_easy_perform", perform);
  find("curl_easy_getinfo", get);
  find("curl_easy_strerror", message);
  find("curl_easy_cleanup", cleanup);
  find("curl_slist_append", append);
  find("curl_slist_free_all", free_all);
  if (problem.empty() && global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) problem = "libcurl does not start";
}

const Library& library() {
  static const Library opened;
  return opened;
}

Curl open_curl() {
  Curl curl(library().init());
  require<IoError>(curl != nullptr, "download: libcurl does not start");
  return curl;
}

HeaderList::HeaderList(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    curl_slist* const longer = library().append(first_, line.c_str());
    if (!longer) {
      library().free_all(first_);
      fail<IoError>("download: libcurl has no memory for a request");
    }
    first_ = longer;
  }
}

HeaderList::~HeaderList() { library().free_all(first_); }

}  // namespace kiln::curl
