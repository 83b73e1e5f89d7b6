#include "kiln/train/show/page.hpp"

#include "kiln/core/text.hpp"

namespace kiln::page {

std::optional<net::Response> answer(std::string_view path) {
  const auto file = [](std::string type, std::string_view body) {
    return net::Response{.type = std::move(type), .body = std::string(body)};
  };
  if (path == "/") return file("text/html; charset=utf-8", html());
  if (path == "/page.js") return file("text/javascript; charset=utf-8", script());
  if (path == "/page.css") return file("text/css; charset=utf-8", style());
  if (path == "/dygraph.js") return file("text/javascript; charset=utf-8", library());
  if (path == "/dygraph.css") return file("text/css; charset=utf-8", library_style());
  if (path == "/dygraph.txt") return file("text/plain; charset=utf-8", library_licence());
  return std::nullopt;
}

net::Headers headers() {
  return {
      {"Cache-Control", "no-store"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:"}};
}

}  // namespace kiln::page
