// One question to a web server, whose answer fits into memory.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct HttpQuestion {
  std::string url;                                // http or https
  bool head_only = false;                         // HEAD instead of GET
  std::vector<std::string> headers{};             // lines: "Accept: text/plain"
  std::size_t most_bytes = std::size_t{1} << 26;  // of the body
  int stall_seconds = 30;
};

struct HttpAnswer {
  long status = 0;
  std::map<std::string, std::string, std::less<>> headers{};  // by lower-case names
  std::string body{};

  /// Empty if there is none.
  std::string header(std::string_view name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// Redirections are answers like others: none is followed. Throws IoError that says why there is no answer.
HttpAnswer ask(const HttpQuestion& question);

}  // namespace kiln
