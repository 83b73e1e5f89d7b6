#include <algorithm>
#include <cctype>
#include <new>
#include <string_view>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/data/curl/curl_library.hpp"
#include "kiln/data/curl/http.hpp"

namespace kiln {
namespace {

using namespace curl;

constexpr std::size_t kMostHeaders = 1 << 18;  // bytes

struct Answering {
  const HttpQuestion& question;
  HttpAnswer answer{};
  std::size_t header_bytes = 0;
  bool too_long = false, no_memory = false;

  void header(std::string_view line) {
    if (line.starts_with("HTTP/")) answer.headers.clear();  // the next answer, after "100 Continue"
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return;
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t first = line.find_first_not_of(kSpace, colon + 1);
    answer.headers[name] =
        first == line.npos ? "" : std::string(line.substr(first, line.find_last_not_of(kSpace) + 1 - first));
  }

  // No exception may pass through libcurl.
  static std::size_t on_header(char* line, std::size_t, std::size_t size, void* object) {
    auto& self = *static_cast<Answering*>(object);
    try {
      if ((self.header_bytes += size) > kMostHeaders) return self.too_long = true, 0;
      self.header({line, size});
      return size;
    } catch (...) { return self.no_memory = true, 0; }
  }
  static std::size_t on_data(char* data, std::size_t, std::size_t size, void* object) {
    auto& self = *static_cast<Answering*>(object);
    try {
      if (size > self.question.most_bytes - self.answer.body.size()) return self.too_long = true, CURL_WRITEFUNC_ERROR;
      self.answer.body.append(data, size);
      return size;
    } catch (...) { return self.no_memory = true, CURL_WRITEFUNC_ERROR; }
  }
};

}  // namespace

HttpAnswer ask(const HttpQuestion& question) {
  const Library& curl = library();
  require<IoError>(curl.problem.empty(), curl.problem);
  const Curl handle = open_curl();
  const HeaderList headers(question.headers);
  Answering answering{question};
  char reason[CURL_ERROR_SIZE] = "";
  curl.set(handle.get(), CURLOPT_URL, question.url.c_str());
  curl.set(handle.get(), CURLOPT_ERRORBUFFER, reason);
  curl.set(handle.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl.set(handle.get(), CURLOPT_FOLLOWLOCATION, 0L);
  curl.set(handle.get(), CURLOPT_NOBODY, question.head_only ? 1L : 0L);
  curl.set(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl.set(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl.set(handle.get(), CURLOPT_CONNECTTIMEOUT, static_cast<long>(question.stall_seconds));
  curl.set(handle.get(), CURLOPT_LOW_SPEED_TIME, static_cast<long>(question.stall_seconds));
  curl.set(handle.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl.set(handle.get(), CURLOPT_HEADERFUNCTION, &Answering::on_header);
  curl.set(handle.get(), CURLOPT_HEADERDATA, &answering);
  curl.set(handle.get(), CURLOPT_WRITEFUNCTION, &Answering::on_data);
  curl.set(handle.get(), CURLOPT_WRITEDATA, &answering);
  const CURLcode code = curl.perform(handle.get());
  if (answering.no_memory) throw std::bad_alloc();
  require<IoError>(!answering.too_long, "the server's answer is longer than ", question.most_bytes, " bytes");
  require<IoError>(code == CURLE_OK, *reason ? reason : curl.message(code));
  curl.get(handle.get(), CURLINFO_RESPONSE_CODE, &answering.answer.status);
  return std::move(answering.answer);
}

}  // namespace kiln
