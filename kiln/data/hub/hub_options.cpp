// What the environment says of a hub.
#include <cstdlib>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/data/hub/names.hpp"
#include "kiln/data/hub/remote.hpp"

namespace kiln::hub {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

/// True for 1, true, yes and on, as in Hugging Face's library.
bool is_on(const char* name) {
  std::string value = environment(name);
  for (char& c : value) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (value.empty() || value == "0" || value == "FALSE" || value == "NO" || value == "OFF") return false;
  require<ArgumentError>(value == "1" || value == "TRUE" || value == "YES" || value == "ON", name, "=", shown(value),
                         ": it must be 0 or 1");
  return true;
}

fs::path cache_of(const HubOptions& options) {
  if (!options.cache.empty()) return options.cache;
  if (const std::string folder = environment("HF_HUB_CACHE"); !folder.empty()) return folder;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "huggingface/hub";
  const std::string home = environment("HOME");
  require<ArgumentError>(!home.empty(), "hub: no folder is known for its files: set HF_HUB_CACHE or HubOptions::cache");
  return fs::path(home) / ".cache/huggingface/hub";
}

}  // namespace

Settings settings_of(const HubOptions& options) {
  Settings settings;
  settings.endpoint = !options.endpoint.empty() ? options.endpoint : environment("HF_ENDPOINT");
  if (settings.endpoint.empty()) settings.endpoint = kHubEndpoint;
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  const std::string& endpoint = settings.endpoint;
  const bool is_address = endpoint.starts_with("https://") || endpoint.starts_with("http://");
  require<ArgumentError>(is_address && endpoint.find_first_of("@?#\\ ") == endpoint.npos, "hub: the endpoint '",
                         shown(endpoint.substr(endpoint.rfind('@') + 1)), "' is no address like ", kHubEndpoint);
  settings.token = !options.token.empty() ? options.token : environment("HF_TOKEN");
  for (const char c : settings.token)
    require<ArgumentError>(c > 32 && c < 127,
                           "hub: the token has spaces, ends of lines or other characters that no token has");
  settings.offline = options.offline ? *options.offline : is_on("HF_HUB_OFFLINE");
  settings.cache = cache_of(options);
  return settings;
}

}  // namespace kiln::hub
