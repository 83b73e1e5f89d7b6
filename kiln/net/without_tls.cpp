#include "kiln/core/error/error.hpp"
#include "kiln/net/crypto.hpp"
#include "kiln/net/tls.hpp"

namespace kiln::net {
namespace {

[[noreturn]] void fail_without() {
  fail<IoError>(
      "net: this Kiln was built without OpenSSL and Boost, so it has no TLS, no secrets and no WebSockets: install "
      "them "
      "(Debian: libboost-dev, libssl-dev) and configure again with KILN_NET=ON");
}

}  // namespace

std::shared_ptr<TlsContext> TlsContext::client(const TlsOptions&) { fail_without(); }
std::shared_ptr<TlsContext> TlsContext::server(const TlsOptions&) { fail_without(); }
std::shared_ptr<TlsContext> TlsContext::server_of_now() { fail_without(); }
std::shared_ptr<TlsContext> TlsContext::client_of_all() { fail_without(); }
Digest hmac_sha256(std::span<const std::byte>, std::span<const std::byte>) { fail_without(); }
std::string websocket_accept(std::string_view) { fail_without(); }

}  // namespace kiln::net
