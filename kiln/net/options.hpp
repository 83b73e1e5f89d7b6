// Programs say here where a connection goes, how it is protected, and how much it may take.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::net {

/// Address is a host, by name or number, and a port.
struct Address {
  std::string host;
  int port = 0;

  /// Parses "host:3000", "127.0.0.1:3000" or "[::1]:3000"; also "host" if there is a `port_otherwise`. Throws
  /// ArgumentError.
  static Address parse(std::string_view text, int port_otherwise = -1);
  /// Returns "host:3000" or "[::1]:3000".
  std::string text() const;
};

/// Returns whether connections to this host stay on this machine: "localhost", "127.0.0.1", "::1".
bool is_loopback(std::string_view host);

/// TlsOptions names files in PEM format, and says what is asked of the other end. A server needs a certificate and its
/// key; a client needs neither.
struct TlsOptions {
  std::string certificate = {};  // the own certificate, followed by those of intermediate authorities
  std::string key = {};          // the private key of `certificate`
  std::string authority =
      {};                 // certificates to trust; without it a client trusts the system's, and a server asks for none
  bool verify = true;     // false: whoever answers is believed, so that only listeners are kept out
  std::string name = {};  // the name that the server's certificate must have; empty: the host of the address
};

/// Limits say what a connection may take of this program. Times are in seconds.
struct Limits {
  std::size_t message_bytes = std::size_t{1} << 30;  // of a WebSocket message, in either direction
  std::size_t header_bytes = 16 << 10;               // of the first lines of a request or response
  std::size_t body_bytes = 64 << 20;                 // of a request's body
  int connections = 64;                              // of a server, at once
  double handshake = 10;                             // for TLS, and for the header of a client's first request
  double idle = 60;                                  // for the header of a further request on an open connection
  double stalled = 60;                               // for a client to send or take any part of a body
  double slowest = 1000;  // bytes a second of a request's body, on the whole, after the first `stalled` seconds
  double silence = 0;     // for a WebSocket's other end to send anything while receive() waits; 0: for ever

  /// Throws ArgumentError for limits that let nothing through.
  void check() const;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Throws ArgumentError where others reach a server at this host and its token is empty; `remedy` says how it gets one.
void require_token(std::string_view host, std::string_view token, std::string_view remedy);

/// Returns the token that clients of a server at this host must show: what the environment's `variable` has. Throws
/// ArgumentError where others reach the host and the variable is empty.
std::string token_for(std::string_view host, const char* variable);

/// Returns the header that proves to a server that the client knows its token: {"Authorization", "Bearer ..."}.
std::pair<std::string, std::string> bearer(std::string_view token);

}  // namespace kiln::net
