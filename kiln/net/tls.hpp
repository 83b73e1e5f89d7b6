// TLS turns sockets into streams that nobody on the way can read or change.
#pragma once
#include <memory>
#include <string>

#include "kiln/net/options.hpp"
#include "kiln/net/stream.hpp"

namespace kiln::net {

/// TlsContext has certificates and what is trusted, for any number of connections. It speaks TLS 1.2 at least.
class TlsContext {
 public:
  /// Throws IoError where a file cannot be read or a key does not fit its certificate, or in a build without OpenSSL;
  /// ArgumentError where a server has no certificate.
  static std::shared_ptr<TlsContext> client(const TlsOptions& options);
  static std::shared_ptr<TlsContext> server(const TlsOptions& options);
  /// Returns a server's context with a certificate that is made now, and which nobody can verify. It serves those who prove
  /// by other means whom they speak with (Stream::binding).
  static std::shared_ptr<TlsContext> server_of_now();
  /// Returns a client's context that believes any server, for the same purpose.
  static std::shared_ptr<TlsContext> client_of_all();

  virtual ~TlsContext() = default;
  /// Returns a stream over a connected socket, whose handshake is still to come. A client names the host that it means.
  virtual std::unique_ptr<Stream> over(Socket socket, std::string peer, const std::string& host = {}) = 0;
};

}  // namespace kiln::net
