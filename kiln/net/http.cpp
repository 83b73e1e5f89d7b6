#include "kiln/net/http.hpp"

#include <algorithm>
#include <cctype>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/net/http_text.hpp"

namespace kiln::net {
namespace {

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 426: return "Upgrade Required";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return status < 400 ? "OK" : "Error";
  }
}

bool is_token(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) ||
         std::string_view("!#$%&'*+-.^_`|~").find(letter) != std::string_view::npos;
}

}  // namespace

bool is_same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view Request::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [&](const auto& each) { return is_same_name(each.first, name); });
  return found == headers.end() ? std::string_view() : found->second;
}

std::string header_lines(const Headers& headers) {
  std::string lines;
  for (const auto& [name, value] : headers) {
    require<ArgumentError>(
        !name.empty() && std::ranges::all_of(name, is_token) &&
            std::ranges::none_of(value, [](unsigned char letter) { return letter < ' ' && letter != '\t'; }),
        "net: the header ", shown(name), " with the value ", shown(value),
        " cannot be sent: names are letters, digits and -, and values have no line breaks");
    lines += text(name, ": ", value, "\r\n");
  }
  return lines;
}

std::string head_text(const Response& response, const Headers& more, bool keeps_alive) {
  std::string head = text("HTTP/1.1 ", response.status, ' ', reason(response.status), "\r\n",
                          header_lines({{"Content-Type", response.events ? "text/event-stream" : response.type}}),
                          header_lines(response.headers), header_lines(more),
                          "Connection: ", keeps_alive ? "keep-alive" : "close", "\r\n");
  if (!response.events) head += text("Content-Length: ", response.body.size(), "\r\n");
  return head + "\r\n";
}

}  // namespace kiln::net
