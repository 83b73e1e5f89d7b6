#include "kiln/backend/remote/hosting.hpp"

#include <signal.h>

#include "kiln/backend/remote/address.hpp"
#include "kiln/net/server.hpp"

namespace kiln {
namespace {

using remote::HostCounters;
using remote::SessionRow;

std::string page_of(const HostCounters& counters) {
  std::string out =
      "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=2><title>Kiln: lent devices</title>"
      "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.3em "
      ".8em;text-align:right;"
      "border-bottom:1px solid #ccc}</style><h1>Lent devices</h1>";
  out += text("<p>", counters.sessions.size(), " sessions now, ", counters.opened, " so far; ", counters.resumed,
              " reconnections, ", counters.refused, " refused, ", counters.broken, " broken",
              counters.draining ? "; draining" : "",
              "</p><table><tr><th>session<th>client<th>device<th>connected<th>tensors<th>memory<th>operations<th>per "
              "second<th>seconds<th>received<th>sent</tr>");
  for (const SessionRow& row : counters.sessions) {
    const double rate = row.seconds > 0 ? static_cast<double>(row.calls) / row.seconds : 0;
    out += text("<tr><td>", row.number, "<td>", row.peer, "<td>", row.device, "<td>", row.connected ? "yes" : "no",
                "<td>", row.tensors, "<td>", text_of_bytes(row.bytes_held), "<td>", row.calls, "<td>",
                static_cast<std::int64_t>(rate), "<td>", row.seconds, "<td>", text_of_bytes(row.bytes_in), "<td>",
                text_of_bytes(row.bytes_out), "</tr>");
  }
  return out + "</table>";
}

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
    net::ServerOptions server{.address = {options.address, options.port}};
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
