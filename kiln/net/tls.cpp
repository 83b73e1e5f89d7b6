#include "kiln/net/tls.hpp"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::net {
namespace {

template <auto free>
struct Freed {
  template <class T>
  void operator()(T* what) const {
    free(what);
  }
};
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freed<SSL_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;

constexpr std::string_view kSpeaksTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    "this port speaks TLS: use https:// or wss://\n";

/// OpenSSL would free what it holds when main() has returned, while other threads may still dial or use connections.
[[gnu::constructor]] void keep_openssl() { ::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

std::string last_reason() {
  const char* const reason = ::ERR_reason_error_string(::ERR_peek_last_error());
  return reason ? reason : "unknown";
}

// OpenSSL's own BIO of a socket would let the system end the program by SIGPIPE where the other end has gone.
struct Pipe {
  int socket;
  bool ended = false;
};
Pipe& pipe_of(BIO* bio) { return *static_cast<Pipe*>(::BIO_get_data(bio)); }

int write_to(BIO* bio, const char* bytes, int size) {
  ::BIO_clear_retry_flags(bio);
  const auto sent = ::send(pipe_of(bio).socket, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) ::BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}
int read_from(BIO* bio, char* place, int size) {
  ::BIO_clear_retry_flags(bio);
  const auto got = ::recv(pipe_of(bio).socket, place, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) ::BIO_set_retry_read(bio);
  if (got == 0) pipe_of(bio).ended = true;
  return static_cast<int>(got);
}
long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return pipe_of(bio).ended;
  return command == BIO_CTRL_FLUSH;
}
BIO_METHOD* method() {
  static BIO_METHOD* const made = [] {
    BIO_METHOD* const kiln = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "kiln");
    ::BIO_meth_set_write(kiln, write_to);
    ::BIO_meth_set_read(kiln, read_from);
    ::BIO_meth_set_ctrl(kiln, control);
    return kiln;
  }();
  return made;
}

class TlsStream final : public Stream {
 public:
  TlsStream(Socket socket, std::string peer, SSL_CTX* context, bool accepts)
      : Stream(std::move(socket), std::move(peer)),
        pipe_{this->socket()},
        session_(::SSL_new(context)),
        accepts_(accepts) {
    BIO* const bio = ::BIO_new(method());
    require<IoError>(session_ && bio, "tls: no memory for a connection");
    ::BIO_set_data(bio, &pipe_);
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(session_.get(), bio, bio);
    if (accepts) ::SSL_set_accept_state(session_.get());
    else ::SSL_set_connect_state(session_.get());
  }

  SSL* session() const { return session_.get(); }

  Moved handshake() override {
    return attempt([&] { return ::SSL_do_handshake(session_.get()); });
  }
  Moved read(std::span<std::byte> place) override {
    std::size_t bytes = 0;
    Moved moved = attempt([&] { return ::SSL_read_ex(session_.get(), place.data(), place.size(), &bytes); });
    moved.bytes = bytes;
    return moved;
  }
  Moved write(std::span<const std::byte> bytes) override {
    if (bytes.empty()) return {};
    std::size_t sent = 0;
    Moved moved = attempt([&] { return ::SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent); });
    moved.bytes = sent;
    if (moved.ended) moved.failure = "the other end has closed it";
    return moved;
  }
  void finish() noexcept override {
    const std::lock_guard lock(mutex_);
    ::ERR_clear_error();
    if (::SSL_is_init_finished(session_.get())) ::SSL_shutdown(session_.get());
    ::ERR_clear_error();
    ::shutdown(socket(), SHUT_WR);
  }
  Digest binding() const override {
    constexpr std::string_view kLabel = "EXPORTER-Channel-Binding";
    const std::lock_guard lock(mutex_);
    Digest binding{};
    const int made = ::SSL_export_keying_material(session_.get(), reinterpret_cast<unsigned char*>(binding.data()),
                                                  binding.size(), kLabel.data(), kLabel.size(), nullptr, 0, 0);
    require<IoError>(made == 1, "tls: ", peer_, ": the connection has no secret yet");
    return binding;
  }

 private:
  template <class Call>
  Moved attempt(Call call) {
    const std::lock_guard lock(mutex_);
    ::ERR_clear_error();
    const int result = call();
    if (result > 0) return {};
    const int error = errno;
    switch (::SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_WANT_READ: return {.waits = POLLIN};
      case SSL_ERROR_WANT_WRITE: return {.waits = POLLOUT};
      case SSL_ERROR_ZERO_RETURN: return {.ended = true};
      case SSL_ERROR_SYSCALL:
        return {.failure = pipe_.ended || error == 0 ? "the other end closed it while TLS began: does it speak TLS?"
                                                     : std::strerror(error)};
      default: return {.failure = failure()};
    }
  }

  /// Returns the sentence for what OpenSSL reports.
  std::string failure() const {
    const unsigned long error = ::ERR_peek_last_error();
    const int reason = ERR_GET_REASON(error);
    if (const long verdict = ::SSL_get_verify_result(session_.get());
        verdict != X509_V_OK && reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
      return untrusted(verdict);
    switch (reason) {
      case SSL_R_HTTP_REQUEST:
        if (accepts_) (void)::send(socket(), kSpeaksTls.data(), kSpeaksTls.size(), MSG_NOSIGNAL);
        return "it speaks plain HTTP, and this port TLS: use https:// or wss://";
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_PACKET_LENGTH_TOO_LONG:
      case SSL_R_UNKNOWN_PROTOCOL:
        return "it does not speak TLS: connect without TLS, or give the server a certificate and key";
      case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return "a client needs a certificate there: set TlsOptions::certificate and key";
      case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return text("it does not trust the certificate of this program (", last_reason(),
                    "): give it the authority that signed the certificate");
      default: return text("TLS failed: ", last_reason());
    }
  }
  static std::string untrusted(long verdict) {
    const std::string why = ::X509_verify_cert_error_string(verdict);
    switch (verdict) {
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return text("its certificate is for another name (", why,
                    "): connect by a name of the certificate, or set TlsOptions::name");
      case X509_V_ERR_CERT_HAS_EXPIRED: return text("its certificate is not valid any more (", why, "): renew it");
      case X509_V_ERR_CERT_NOT_YET_VALID:
        return text("its certificate is not valid yet (", why, "): are the machines' clocks right?");
      default:
        return text("its certificate is not trusted (", why,
                    "): name the certificate of the authority that signed it in TlsOptions::authority");
    }
  }

  Pipe pipe_;
  mutable std::mutex mutex_;  // OpenSSL lets one thread at a time into a session
  Session session_;
  const bool accepts_;
};

class OpenSslContext final : public TlsContext {
 public:
  explicit OpenSslContext(bool accepts, int version = TLS1_2_VERSION)
      : context_(::SSL_CTX_new(accepts ? ::TLS_server_method() : ::TLS_client_method())), accepts_(accepts) {
    require<IoError>(context_ != nullptr, "tls: OpenSSL gives no context: ", last_reason());
    ::SSL_CTX_set_min_proto_version(get(), version);
    ::SSL_CTX_set_options(get(), SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_COMPRESSION);
    ::SSL_CTX_set_mode(get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    ::SSL_CTX_set_session_cache_mode(get(), SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_num_tickets(get(), 0);
    // A key with a pass phrase would ask for it at the terminal.
    ::SSL_CTX_set_default_passwd_cb(get(), [](char*, int, int, void*) { return 0; });
    ::SSL_CTX_set_verify(get(), SSL_VERIFY_NONE, nullptr);
  }

  SSL_CTX* get() const { return context_.get(); }

  void use_certificate(const TlsOptions& options) {
    ::ERR_clear_error();
    require<IoError>(::SSL_CTX_use_certificate_chain_file(get(), options.certificate.c_str()) == 1,
                     "tls: the certificate ", shown(options.certificate), " cannot be read: ", last_reason(),
                     ". It must be a file in PEM format");
    require<IoError>(::SSL_CTX_use_PrivateKey_file(get(), options.key.c_str(), SSL_FILETYPE_PEM) == 1, "tls: the key ",
                     shown(options.key), " cannot be read, or is not that of ", shown(options.certificate), ": ",
                     last_reason(), ". It must be a file in PEM format, without a pass phrase");
  }
  void trust(const std::string& authority) {
    ::ERR_clear_error();
    require<IoError>(::SSL_CTX_load_verify_locations(get(), authority.c_str(), nullptr) == 1, "tls: the authority ",
                     shown(authority), " cannot be read: ", last_reason(), ". It must be a file in PEM format");
  }
  void verify(int mode, std::string name = {}) {
    ::SSL_CTX_set_verify(get(), mode, nullptr);
    verifies_ = true;
    name_ = std::move(name);
  }

  std::unique_ptr<Stream> over(Socket socket, std::string peer, const std::string& host) override {
    auto stream = std::make_unique<TlsStream>(std::move(socket), std::move(peer), get(), accepts_);
    const std::string& name = name_.empty() ? host : name_;
    if (accepts_ || name.empty()) return stream;
    X509_VERIFY_PARAM* const parameters = ::SSL_get0_param(stream->session());
    const bool is_number = ::X509_VERIFY_PARAM_set1_ip_asc(parameters, name.c_str()) == 1;
    if (!is_number) {
      ::SSL_set_tlsext_host_name(stream->session(), name.c_str());
      if (verifies_)
        require<ArgumentError>(::SSL_set1_host(stream->session(), name.c_str()) == 1, "tls: ", shown(name),
                               " is no name that a certificate could have");
    }
    return stream;
  }

 private:
  Context context_;
  const bool accepts_;
  bool verifies_ = false;
  std::string name_;
};

/// This is a key, and a certificate that it has signed itself.
std::pair<Key, Certificate> new_certificate() {
  Key key(EVP_EC_gen("P-256"));
  Certificate certificate(::X509_new());
  require<IoError>(key && certificate, "tls: OpenSSL makes no key: ", last_reason());
  ::X509_set_version(certificate.get(), X509_VERSION_3);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate.get()), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(certificate.get()), -24 * 3600L);
  ::X509_gmtime_adj(::X509_getm_notAfter(certificate.get()), 365 * 24 * 3600L);
  ::X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* const name = ::X509_get_subject_name(certificate.get());
  ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("kiln"), -1, -1, 0);
  ::X509_set_issuer_name(certificate.get(), name);
  require<IoError>(::X509_sign(certificate.get(), key.get(), ::EVP_sha256()) > 0,
                   "tls: OpenSSL signs nothing: ", last_reason());
  return {std::move(key), std::move(certificate)};
}

}  // namespace

std::shared_ptr<TlsContext> TlsContext::client(const TlsOptions& options) {
  auto context = std::make_shared<OpenSslContext>(false);
  require<ArgumentError>(options.certificate.empty() == options.key.empty(),
                         "tls: a certificate and its key are given together or not at all");
  if (!options.certificate.empty()) context->use_certificate(options);
  if (!options.verify) return context;
  if (options.authority.empty()) ::SSL_CTX_set_default_verify_paths(context->get());
  else context->trust(options.authority);
  context->verify(SSL_VERIFY_PEER, options.name);
  return context;
}

std::shared_ptr<TlsContext> TlsContext::server(const TlsOptions& options) {
  require<ArgumentError>(!options.certificate.empty() && !options.key.empty(),
                         "tls: a server needs a certificate and its key: set TlsOptions::certificate and key");
  auto context = std::make_shared<OpenSslContext>(true);
  context->use_certificate(options);
  if (options.authority.empty() || !options.verify) return context;
  context->trust(options.authority);
  ::SSL_CTX_set_client_CA_list(context->get(), ::SSL_load_client_CA_file(options.authority.c_str()));
  context->verify(SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
  return context;
}

std::shared_ptr<TlsContext> TlsContext::server_of_now() {
  auto context = std::make_shared<OpenSslContext>(true, TLS1_3_VERSION);
  const auto [key, certificate] = new_certificate();
  require<IoError>(::SSL_CTX_use_certificate(context->get(), certificate.get()) == 1 &&
                       ::SSL_CTX_use_PrivateKey(context->get(), key.get()) == 1,
                   "tls: OpenSSL does not take a certificate of its own: ", last_reason());
  return context;
}

std::shared_ptr<TlsContext> TlsContext::client_of_all() {
  return std::make_shared<OpenSslContext>(false, TLS1_3_VERSION);
}

}  // namespace kiln::net
