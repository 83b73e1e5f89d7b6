#include "kiln/data/curl/curl_library.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/core/system/shared_library.hpp"

namespace kiln::curl {

Library::Library() {
  OptionalLibrary opened("libcurl", {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"}, "libcurl4");
  opened.find("curl_global_init", global_init);
  opened.find("curl_easy_init", init);
  opened.find("curl_easy_setopt", set);
  opened.find("curl_easy_perform", perform);
  opened.find("curl_easy_getinfo", get);
  opened.find("curl_easy_strerror", message);
  opened.find("curl_easy_cleanup", cleanup);
  opened.find("curl_slist_append", append);
  opened.find("curl_slist_free_all", free_all);
  problem = opened.problem();
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
