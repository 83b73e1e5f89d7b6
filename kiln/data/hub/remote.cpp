#include "kiln/data/hub/remote.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "kiln/core/config/json.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/data/hub/names.hpp"

namespace kiln::hub {
namespace {

constexpr int kMostRedirections = 5;

const Json* member(const Json& json, std::string_view key) {
  const auto* const object = std::get_if<Json::Object>(&json.is);
  if (!object) return nullptr;
  const auto found = std::ranges::find(*object, key, &Json::Object::value_type::first);
  return found == object->end() ? nullptr : &found->second;
}

const std::string* text_member(const Json& json, std::string_view key) {
  const Json* const found = member(json, key);
  return found ? std::get_if<std::string>(&found->is) : nullptr;
}

/// 'W/"abc"' is abc.
std::string etag_of(std::string_view header) {
  if (header.starts_with("W/")) header.remove_prefix(2);
  if (header.size() >= 2 && header.front() == '"' && header.back() == '"') header = header.substr(1, header.size() - 2);
  return std::string(header);
}

/// "https://host:port" of an address.
std::string origin_of(std::string_view url) {
  const std::size_t host = url.find("://");
  return std::string(url.substr(0, url.find('/', host == url.npos ? 0 : host + 3)));
}

/// The number that a header is; none if it is anything else.
std::optional<std::int64_t> number_of(const std::string& header) {
  std::int64_t number = 0;
  const char* const end = header.data() + header.size();
  const auto [behind, problem] = std::from_chars(header.data(), end, number);
  return problem == std::errc() && behind == end ? std::optional(number) : std::nullopt;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

std::string Remote::redacted(std::string_view text) const {
  std::string out(text);
  if (settings_.token.empty()) return out;
  for (std::size_t at = 0; (at = out.find(settings_.token, at)) != out.npos;)
    out.replace(at, settings_.token.size(), "***");
  return out;
}

std::vector<std::string> Remote::headers_for(std::string_view url) const {
  std::vector<std::string> headers{"Accept-Encoding: identity"};
  // A prefix that ends in a slash: no other host can have it.
  if (!settings_.token.empty() && url.starts_with(settings_.endpoint + '/'))
    headers.push_back("Authorization: Bearer " + settings_.token);
  return headers;
}

void Remote::refuse(const HttpAnswer& answer, std::string_view about) const {
  const std::string start = text("hub: ", about, ": ");
  const std::string words = answer.header("x-error-message");
  const std::string said = words.empty() ? "" : text(" (", shown(redacted(words)), ")");
  if (answer.status == 401 || answer.status == 403)
    fail<IoError>(start, "the hub answered ", answer.status, said, ": ",
                  settings_.token.empty()
                      ? "there is no such repository, or it needs a token: set HF_TOKEN to one that may read it"
                      : "the token of HF_TOKEN or HubOptions::token may not read it, or its terms were not accepted");
  if (answer.status == 404)
    fail<IoError>(start, "the hub answered 404", said, ": it has no such repository, revision or file");
  if (answer.status == 429) {
    const std::string wait = answer.header("retry-after");
    fail<IoError>(start, "the hub answered 429", said, ": too many requests; ",
                  wait.empty() ? "try again later" : text("try again after ", shown(redacted(wait)), " s"),
                  ", and what has arrived is kept");
  }
  fail<IoError>(start, "the hub answered ", answer.status, said);
}

HttpAnswer Remote::ask_hub(std::string url, bool head_only, std::string_view about) const {
  try {
    return ask(
        {.url = url, .head_only = head_only, .headers = headers_for(url), .stall_seconds = options_.stall_seconds});
  } catch (const IoError& error) {
    fail<IoError>("hub: ", about, ": ", url.substr(0, url.find('?')), ": ", redacted(error.message()),
                  "; HF_HUB_OFFLINE=1 uses what is in the cache");
  }
}

Listing Remote::list() const {
  const std::string about = text(repository_, " at ", shown(options_.revision));
  const std::string url = text(settings_.endpoint, "/api/", kind_ == HubKind::Model ? "models/" : "datasets/",
                               repository_, "/revision/", in_url(options_.revision, false));
  const HttpAnswer answer = ask_hub(url, false, about);
  if (answer.status != 200) refuse(answer, about);
  Listing listing;
  const Json root = parse_json(answer.body, url);
  const std::string* const commit = text_member(root, "sha");
  require<DataError>(commit && is_commit(*commit), "hub: ", about, ": the hub's answer has no commit: is ",
                     settings_.endpoint, " a hub?");
  listing.commit = *commit;
  const Json* const siblings = member(root, "siblings");
  const auto* const files = siblings ? std::get_if<Json::List>(&siblings->is) : nullptr;
  require<DataError>(files, "hub: ", about, ": the hub's answer has no list of files");
  for (const Json& file : *files) {
    const std::string* const path = text_member(file, "rfilename");
    require<DataError>(path && is_inner_path(*path), "hub: ", about,
                       ": the hub names a file that cannot be: ", path ? shown(redacted(*path)) : "");
    listing.files.push_back(*path);
  }
  std::ranges::sort(listing.files);
  return listing;
}

RemoteFile Remote::find(std::string_view commit, std::string_view path) const {
  const std::string about = text(repository_, ": ", shown(path));
  RemoteFile file;
  std::optional<std::int64_t> bytes;
  file.url = text(settings_.endpoint, kind_ == HubKind::Model ? "/" : "/datasets/", repository_, "/resolve/", commit,
                  "/", in_url(path, true));
  for (int redirections = 0;; ++redirections) {
    const HttpAnswer answer = ask_hub(file.url, true, about);
    // What the hub itself says of the file, before it sends to where the contents are.
    for (const char* const name : {"x-linked-etag", "etag"})
      if (file.etag.empty()) file.etag = etag_of(answer.header(name));
    if (!bytes) bytes = number_of(answer.header("x-linked-size"));
    if (answer.status == 200) {
      if (!bytes) bytes = number_of(answer.header("content-length"));
      break;
    }
    const std::string location = answer.header("location");
    if (answer.status < 300 || answer.status >= 400 || location.empty()) refuse(answer, about);
    require<IoError>(redirections < kMostRedirections, "hub: ", about, ": the hub redirects more than ",
                     kMostRedirections, " times");
    const bool has_host = location.starts_with("https://") || location.starts_with("http://");
    require<IoError>(has_host || (location.starts_with("/") && !location.starts_with("//")), "hub: ", about,
                     ": the hub redirects to ", shown(redacted(location.substr(0, location.find('?')))),
                     ", which is no address");
    require<IoError>(!file.url.starts_with("https:") || !location.starts_with("http:"), "hub: ", about,
                     ": the hub redirects from https to http, where anybody could change the file");
    file.url = has_host ? location : origin_of(file.url) + location;
    if (!file.url.starts_with(settings_.endpoint + '/') && bytes && !file.etag.empty()) break;
  }
  file.is_elsewhere = !file.url.starts_with(settings_.endpoint + '/');
  require<DataError>(is_plain_name(file.etag), "hub: ", about, ": the hub names its contents '",
                     shown(redacted(file.etag)), "', which is no ETag");
  require<IoError>(bytes.has_value(), "hub: ", about, ": the hub does not say how large the file is");
  file.bytes = *bytes;
  require<DataError>(file.bytes >= 0, "hub: ", about, ": the hub says that it has ", file.bytes, " bytes");
  if (is_sha256(file.etag)) file.sha256 = file.etag;
  return file;
}

void Remote::fetch(const RemoteFile& file, std::string_view path, const std::filesystem::path& target) const {
  const auto progress = [&](std::string_view, std::int64_t received, std::int64_t total) {
    if (options_.progress) options_.progress(path, received, total);
  };
  Download wanted{.urls = {file.url},
                  .sha256 = file.sha256,
                  .bytes = file.bytes,
                  .attempts = options_.attempts,
                  .stall_seconds = options_.stall_seconds};
  if (!file.is_elsewhere) wanted.headers = headers_for(file.url);
  download(wanted, target, progress);
}

}  // namespace kiln::hub
