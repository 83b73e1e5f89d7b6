// Questions to a hub's server about one repository.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/data/curl/http.hpp"
#include "kiln/data/hub/hub.hpp"

namespace kiln::hub {

/// HubOptions with what the environment says.
struct Settings {
  std::string endpoint;  // without a slash at the end
  std::filesystem::path cache;
  std::string token;
  bool offline = false;
};
/// Throws ArgumentError for a setting that cannot be, and if no cache is known.
Settings settings_of(const HubOptions& options);

struct Listing {
  std::string commit;
  std::vector<std::string> files;
};

struct RemoteFile {
  std::string etag;    // the blob's name
  std::string sha256;  // of large files; otherwise empty
  std::int64_t bytes = 0;
  std::string url;            // where the contents are
  bool is_elsewhere = false;  // on another host, which gets no token
};

class Remote {
 public:
  Remote(const Settings& settings, HubKind kind, std::string_view repository, const HubOptions& options)
      : settings_(settings), kind_(kind), repository_(repository), options_(options) {}

  /// See hub_file() for what is thrown.
  Listing list() const;
  RemoteFile find(std::string_view commit, std::string_view path) const;
  /// Puts the contents at `target`.
  void fetch(const RemoteFile& file, std::string_view path, const std::filesystem::path& target) const;

 private:
  HttpAnswer ask_hub(std::string url, bool head_only, std::string_view about) const;
  std::vector<std::string> headers_for(std::string_view url) const;
  [[noreturn]] void refuse(const HttpAnswer& answer, std::string_view about) const;
  /// Without the token, wherever it may stand.
  std::string redacted(std::string_view text) const;

  const Settings& settings_;
  HubKind kind_;
  std::string_view repository_;
  const HubOptions& options_;
};

}  // namespace kiln::hub
