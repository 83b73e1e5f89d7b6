// Transfers by libcurl.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <exception>
#include <span>

#include <curl/curl.h>

#include "kiln/core/error/error.hpp"
#include "kiln/data/curl/curl_library.hpp"
#include "kiln/data/curl/transfer.hpp"
#include "kiln/data/part_file.hpp"

namespace kiln {
namespace {

using namespace curl;

/// The start of the data according to a header line `Content-Range: bytes 100-199/200`.
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

/// One request, for the whole file or the missing part.
class Transfer {
 public:
  Transfer(const Download& file, PartFile& part, const DownloadProgress& progress, std::string_view name)
      : file_(file), part_(part), progress_(progress), name_(name), curl_(open_curl()) {}

  std::optional<TransferFailure> run(const std::string& url) {
    CURL* const curl = curl_.get();
    start_ = part_.size();
    char reason[CURL_ERROR_SIZE] = "";
    library().set(curl, CURLOPT_URL, url.c_str());
    library().set(curl, CURLOPT_ERRORBUFFER, reason);
    library().set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    library().set(curl, CURLOPT_REDIR_PROTOCOLS_STR, redirect_protocols(url));
    // The headers are for this server alone.
    library().set(curl, CURLOPT_FOLLOWLOCATION, file_.headers.empty() ? 1L : 0L);
    library().set(curl, CURLOPT_MAXREDIRS, 5L);
    const HeaderList headers(file_.headers);
    library().set(curl, CURLOPT_HTTPHEADER, headers.get());
    library().set(curl, CURLOPT_NOSIGNAL, 1L);  // signals and threads do not mix
    library().set(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(file_.stall_seconds));
    library().set(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(file_.stall_seconds));
    library().set(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    // CURLOPT_RESUME_FROM would fail if the server ignores the range; here the download starts again.
    const std::string range = text(start_, "-");
    if (start_ > 0) library().set(curl, CURLOPT_RANGE, range.c_str());
    library().set(curl, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    library().set(curl, CURLOPT_HEADERDATA, this);
    library().set(curl, CURLOPT_WRITEFUNCTION, &Transfer::on_data);
    library().set(curl, CURLOPT_WRITEDATA, this);

    const CURLcode code = library().perform(curl);
    library().set(curl, CURLOPT_ERRORBUFFER, nullptr);
    library().set(curl, CURLOPT_HTTPHEADER, nullptr);
    if (thrown_) std::rethrow_exception(thrown_);
    if (!failure_ && !answered_) answer();  // a response without a body
    if (failure_) return failure_;
    if (code != CURLE_OK) return TransferFailure{*reason ? reason : library().message(code), answered_};
    if (part_.size() < file_.bytes)
      return TransferFailure{text("the server sent ", part_.size(), " of ", file_.bytes, " bytes"),
                             part_.size() > start_};
    return std::nullopt;
  }

 private:
  /// Checks the status after the headers: does the body continue the partial file?
  void answer() {
    long status = 0;
    library().get(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status == 0) return;  // no response at all
    if (status == 200) {
      part_.clear();  // the whole file, whatever was requested
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
    if (header.starts_with("HTTP/")) start.reset();  // the next response, after a redirection
    if (const auto found = range_start(header)) start = found;
    return size;
  }

  static std::size_t on_data(char* data, std::size_t, std::size_t size, void* object) {
    auto& self = *static_cast<Transfer*>(object);
    try {
      self.receive(std::as_bytes(std::span(data, size)));
    } catch (...) {  // no exception may pass through libcurl
      self.thrown_ = std::current_exception();
    }
    return self.thrown_ || self.failure_ ? CURL_WRITEFUNC_ERROR : size;
  }

  const Download& file_;
  PartFile& part_;
  const DownloadProgress& progress_;
  std::string_view name_;
  Curl curl_;
  std::int64_t start_ = 0;
  std::optional<std::int64_t> range_start_;
  bool answered_ = false;
  std::optional<TransferFailure> failure_;
  std::exception_ptr thrown_;
};

}  // namespace

std::optional<TransferFailure> transfer(const std::string& url, const Download& file, PartFile& part,
                                        const DownloadProgress& progress, std::string_view name) {
  if (!library().problem.empty()) return TransferFailure{library().problem};
  return Transfer(file, part, progress, name).run(url);
}

}  // namespace kiln
