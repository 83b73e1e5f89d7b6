// A server for the script beside it: peer CERTIFICATE KEY prints the ports of a plain and of a secure server, and ends
// when its standard input does.
#include <cstdio>
#include <memory>
#include <optional>

#include "kiln/net/events.hpp"
#include "kiln/net/server.hpp"

using namespace kiln;

namespace {

net::Routes routes(net::Events& events) {
  return net::Routes()
      .get("/hello", [](const net::Request&) { return net::Response{.body = "hello"}; })
      .post("/echo",
            [](const net::Request& request) {
              return net::Response{.type = std::string(request.header("content-type")), .body = request.body};
            })
      .get("/events",
           [&events](const net::Request&) {
             const auto stream = events.subscribe(net::event_text("news", "1"));
             stream->push(net::event_text("news", "2"));
             stream->end();
             return net::Response{.events = stream};
           })
      .websocket("/socket", [](std::unique_ptr<net::Connection> client, const net::Request&) {
        while (const auto message = client->receive()) client->send(*message);
      });
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  net::Events events;
  const net::Server plain({}, routes(events));
  const net::Server secure({.tls = net::TlsOptions{.certificate = arguments[1], .key = arguments[2]}}, routes(events));
  std::printf("%d %d\n", plain.port(), secure.port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {}
}
