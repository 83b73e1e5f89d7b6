#include "kiln/net/options.hpp"

#include <charconv>
#include <cstdlib>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/net/websocket.hpp"

namespace kiln::net {

Address Address::parse(std::string_view text, int port_otherwise) {
  const auto wrong = [&](const char* why) {
    fail<ArgumentError>("net: ", shown(text), " is no address: ", why, R"(. Write "host:3000" or "[::1]:3000")");
  };
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) wrong("the ] is missing");
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port[0] != ':') wrong("a : must follow the ]");
  } else if (const std::size_t colon = text.rfind(':'); colon != text.npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
    if (host.find(':') != host.npos) wrong("an address of IPv6 stands in []");
  }
  if (host.empty()) wrong("the host is missing");
  if (host.find_first_of(" \t\r\n/@?#") != host.npos || host.find('\0') != host.npos) wrong("no host is called so");
  if (port.empty()) {
    if (port_otherwise < 0) wrong("the port is missing");
    return {std::string(host), port_otherwise};
  }
  int number = 0;
  const auto [end, error] = std::from_chars(port.data() + 1, port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number < 0 || number > 65535)
    wrong("the port must be a number of 0 to 65535");
  return {std::string(host), number};
}

std::string Address::text() const {
  return host.find(':') == host.npos ? kiln::text(host, ':', port) : kiln::text('[', host, "]:", port);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

void require_token(std::string_view host, std::string_view token, std::string_view remedy) {
  require<ArgumentError>(!token.empty() || is_loopback(host), "a server at ", shown(host), " lets others in: ", remedy);
}

std::string token_for(std::string_view host, const char* variable) {
  const char* const set = std::getenv(variable);
  const std::string token = set ? set : "";
  require_token(host, token, text("set ", variable, ", which they then send as \"Authorization: Bearer TOKEN\""));
  return token;
}

void Limits::check() const {
  require<ArgumentError>(message_bytes > 0 && header_bytes >= 256 && connections > 0, "net: limits of ", message_bytes,
                         " bytes a message, ", header_bytes, " bytes a header and ", connections,
                         " connections let nobody through: they must be at least 1, 256 and 1");
  require<ArgumentError>(slowest > 0, "net: a body of ", slowest,
                         " bytes a second never comes: it must be more than 0");
  require<ArgumentError>(handshake > 0 && idle > 0 && stalled > 0 && silence >= 0, "net: limits of ", handshake,
                         " s for a handshake, ", idle, " s between requests, ", stalled, " s without progress and ",
                         silence, " s of silence: the first three must be positive, and none may be negative");
}

void ConnectOptions::check() const {
  limits.check();
  require<ArgumentError>(timeout > 0, "net: a timeout of ", timeout, " s is no time to connect in");
  require<ArgumentError>(path.starts_with('/') && path.find_first_of(" \r\n\t#") == std::string::npos,
                         "net: ", shown(path), " is no path: it begins with / and has no spaces");
}

std::pair<std::string, std::string> bearer(std::string_view token) { return {"Authorization", text("Bearer ", token)}; }

}  // namespace kiln::net
