#include "kiln/data/download.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <exception>
#include <memory>
#include <optional>
#include <span>

#include <curl/curl.h>

#include "kiln/core/error/error.hpp"
#include "kiln/data/part_file.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

struct CloseCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
using Curl = std::unique_ptr<CURL, CloseCurl>;

Curl open_curl() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  Curl curl(ready == CURLE_OK ? curl_easy_init() : nullptr);
  require<IoError>(curl != nullptr, "download: libcurl does not start");
  return curl;
}

/// Where a header line `Content-Range: bytes 100-199/200` says that the data begins.
std::optional<std::int64_t> range_start(std::string_view header) {
  constexpr std::string_view kPrefix = "content-range: bytes ";
  const bool matches = header.size() > kPrefix.size() &&
                       std::equal(kPrefix.begin(), kPrefix.end(), header.begin(), [](char expected, char letter) {
                         return expected == std::tolower(static_cast<unsigned char>(letter));
                       });
  std::int64_t start = 0;
  if (!matches ||
      std::from_chars(header.data() + kPrefix.size(), header.data() + header.size(), start).ec != std::errc())
    return std::nullopt;
  return start;
}

/// How an attempt went wrong; `again` where another one at the same url may go better.
struct Failure {
  std::string why;
  bool again = false, wrong_content = false;
};

/// One request, for all of the file or for what the part lacks.
class Transfer {
 public:
  Transfer(const Download& file, PartFile& part, const Progress& progress, std::string_view name)
      : file_(file), part_(part), progress_(progress), name_(name), curl_(open_curl()) {}

  std::optional<Failure> run(const std::string& url) {
    CURL* curl = curl_.get();
    start_ = part_.size();
    char reason[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);  // signals and threads do not mix
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(file_.stall_seconds));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(file_.stall_seconds));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    // CURLOPT_RESUME_FROM would give up where the server ignores the range; we start anew there.
    const std::string range = text(start_, "-");
    if (start_ > 0) curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transfer::on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);

    const CURLcode code = curl_easy_perform(curl);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
    if (thrown_) std::rethrow_exception(thrown_);
    if (!failure_ && !answered_) answer();  // an answer without a body
    if (failure_) return failure_;
    if (code != CURLE_OK) return Failure{*reason ? reason : curl_easy_strerror(code), answered_};
    if (part_.size() < file_.bytes)
      return Failure{text("the server sent ", part_.size(), " of ", file_.bytes, " bytes"), part_.size() > start_};
    return std::nullopt;
  }

 private:
  /// Looks at the status once the headers are there: does the body belong behind what the part holds?
  void answer() {
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status == 0) return;  // no answer at all
    if (status == 200) {
      part_.clear();  // all of the file, whatever we asked for
    } else if (start_ > 0 && (status == 416 || (status == 206 && range_start_ != start_))) {
      part_.clear();
      failure_ = {"the server has another file than the one begun", true};
    } else if (status != 206) {
      failure_ = {text("the server answered ", status)};
    }
    answered_ = !failure_;
  }

  void receive(std::span<const std::byte> bytes) {
    if (!answered_) answer();
    if (failure_) return;
    if (static_cast<std::int64_t>(bytes.size()) > file_.bytes - part_.size()) {
      part_.clear();
      failure_ = {text("the server sends more than the ", file_.bytes, " bytes of the file"), false, true};
      return;
    }
    part_.append(bytes);
    if (progress_) progress_(name_, part_.size(), file_.bytes);
  }

  static std::size_t on_header(char* line, std::size_t, std::size_t size, void* self) {
    const std::string_view header(line, size);
    auto& start = static_cast<Transfer*>(self)->range_start_;
    if (header.starts_with("HTTP/")) start.reset();  // the next answer, after a redirection
    if (const auto found = range_start(header)) start = found;
    return size;
  }

  static std::size_t on_data(char* data, std::size_t, std::size_t size, void* object) {
    auto& self = *static_cast<Transfer*>(object);
    try {
      self.receive(std::as_bytes(std::span(data, size)));
    } catch (...) {  // nothing may be thrown through libcurl
      self.thrown_ = std::current_exception();
    }
    return self.thrown_ || self.failure_ ? CURL_WRITEFUNC_ERROR : size;
  }

  const Download& file_;
  PartFile& part_;
  const Progress& progress_;
  std::string_view name_;
  Curl curl_;
  std::int64_t start_ = 0;
  std::optional<std::int64_t> range_start_;
  bool answered_ = false;
  std::optional<Failure> failure_;
  std::exception_ptr thrown_;
};

/// Completes the part from `url` and publishes it, or says why not.
std::optional<Failure> fetch(const std::string& url, const Download& file, PartFile& part, const fs::path& target,
                             const Progress& progress) {
  if (part.size() > file.bytes) part.clear();
  const bool resumed = part.size() > 0;
  const std::string name = target.filename().string();
  if (part.size() < file.bytes)
    if (auto failure = Transfer(file, part, progress, name).run(url)) return failure;
  const std::string digest = part.sha256();
  if (digest != file.sha256) {
    part.clear();
    // What was there before may be to blame: once more, from the start.
    return Failure{text("SHA-256 is ", digest, ", expected ", file.sha256), resumed, true};
  }
  part.publish(target);
  return std::nullopt;
}

}  // namespace

void download(const Download& file, const fs::path& target, const Progress& progress) {
  std::error_code ignored, problem;
  if (fs::exists(target, ignored)) return;
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), problem);
  require<IoError>(!problem, "download: ", target.parent_path().string(), " cannot be made: ", problem.message());
  PartFile part(fs::path(target) += ".part");
  if (fs::exists(target, ignored)) return part.remove();  // another process has finished it meanwhile

  std::string failures;
  bool wrong_content = false;
  for (const auto& url : file.urls) {
    std::optional<Failure> failure = Failure{"", true};
    for (int attempt = 0; attempt < file.attempts && failure->again; ++attempt)
      if (failure = fetch(url, file, part, target, progress); !failure) return;
    failures += text(failures.empty() ? "" : "; ", url, ": ", failure->why);
    wrong_content |= failure->wrong_content;
  }
  if (part.size() == 0) part.remove();
  const std::string sentence = text("download of ", target.string(), ": ", failures);
  if (wrong_content) fail<DataError>(sentence);
  fail<IoError>(sentence);
}

}  // namespace kiln
