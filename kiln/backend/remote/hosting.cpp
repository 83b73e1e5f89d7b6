#include "kiln/backend/remote/hosting.hpp"

#include <signal.h>

#include "kiln/backend/remote/address.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/net/options.hpp"
#include "kiln/net/server.hpp"

namespace kiln {
namespace {

using remote::HostCounters;

class WebHosting final : public Hosting {
 public:
  WebHosting(const std::vector<Device>& devices, const HostOptions& options)
      : token_(options.token), host_(devices, settings_of(options)), server_(server_options(options), routes()) {}

  int port() const override { return server_.port(); }
  HostCounters counters() const override { return host_.counters(); }
  void drain(double seconds) override { host_.drain(seconds); }
  void wait() override {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    int which = 0;
    sigwait(&ends, &which);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    drain(10);
  }

 private:
  static remote::HostSettings settings_of(const HostOptions& options) {
    remote::HostSettings settings{.token = options.token,
                                  .window = options.window,
                                  .most_sessions = options.most_sessions,
                                  .limits = options.limits};
    if (options.sends_to_servers) settings.dial = [](const std::string& address) { return remote::dial_of(address)(); };
    return settings;
  }
  static net::ServerOptions server_options(const HostOptions& options) {
    require<ArgumentError>(options.certificate.empty() == options.key.empty(),
                           "host: TLS takes a certificate and its key, got one of them");
    net::require_token(options.address, options.token,
                       "give it HostOptions::token, which their programs then have in KILN_REMOTE_TOKEN");
    net::ServerOptions server{.address = {options.address, options.port}, .origins = options.origins};
    if (!options.certificate.empty()) {
      server.tls.emplace();
      server.tls->certificate = options.certificate;
      server.tls->key = options.key;
    }
    server.limits.message_bytes = remote::kMostBytes;
    server.limits.connections = 1024;
    return server;
  }
  net::Routes routes() {
    net::Routes routes;
    routes.websocket(std::string(remote::kPath), [this](std::unique_ptr<net::Connection> client, const net::Request&) {
      host_.attach(std::move(client));
    });
    routes.get("/", guarded([this] {
                 return net::Response{.type = "text/html; charset=utf-8", .body = page_of(counters())};
               }));
    routes.get("/metrics", guarded([this] { return net::Response{.body = prometheus_text(counters())}; }));
    return routes;
  }
  template <class Answer>
  net::Handler guarded(Answer answer) {
    return [this, answer](const net::Request& request) {
      if (!token_.empty() && !remote::is_same_secret(request.query, "token=" + token_))
        return net::Response{.status = 403, .body = "this page wants ?token=..., the server's token\n"};
      return answer();
    };
  }

  const std::string token_;
  remote::Host host_;
  net::Server server_;  // the last member: its handlers use the others
};

}  // namespace

std::unique_ptr<Hosting> host(const std::vector<Device>& devices, const HostOptions& options) {
  return std::make_unique<WebHosting>(devices, options);
}

}  // namespace kiln
