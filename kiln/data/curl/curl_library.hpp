// libcurl, which is opened when the first transfer begins: a program that downloads nothing does not load it and the
// thirty libraries that it needs.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <curl/curl.h>

namespace kiln::curl {

/// The functions of the library that are used.
struct Library {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) init;
  decltype(&curl_easy_setopt) set;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_getinfo) get;
  decltype(&curl_easy_strerror) message;
  decltype(&curl_easy_cleanup) cleanup;
  decltype(&curl_slist_append) append;
  decltype(&curl_slist_free_all) free_all;

  std::string problem;  // why it cannot be used; empty if it can

  Library();
};
const Library& library();

struct CloseCurl {
  void operator()(CURL* curl) const { library().cleanup(curl); }
};
using Curl = std::unique_ptr<CURL, CloseCurl>;

/// Throws IoError.
Curl open_curl();

/// Lines of a request's head, which live as long as this. Throws IoError where there is no memory.
class HeaderList {
 public:
  explicit HeaderList(const std::vector<std::string>& lines);
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList();
  curl_slist* get() const { return first_; }

 private:
  curl_slist* first_ = nullptr;
};

}  // namespace kiln::curl
