// The HTTP server, asked by plain sockets: what it answers, and whom it does not let hold it up.
#include "kiln/net/server.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/net/events.hpp"
#include "kiln/net/websocket.hpp"
#include "tests/net/net_support.hpp"

namespace kiln::net {
namespace {

Routes hello() {
  return Routes()
      .get("/", [](const Request&) { return Response{.body = "hello"}; })
      .get("/query", [](const Request& request) { return Response{.body = request.query}; })
      .post("/echo", [](const Request& request) { return Response{.body = request.body}; })
      .get("/wrong", [](const Request&) -> Response { fail<ShapeError>("no such shape"); })
      .get("/broken", [](const Request&) -> Response { throw std::runtime_error("something else"); })
      .get("/split", [](const Request&) { return Response{.headers = {{"A", "b\r\nC: d"}}}; })
      .websocket("/socket", [](std::unique_ptr<Connection>, const Request&) {});
}

std::string asked(int port, const std::string& request) { return Raw(port, request).read_all(); }
/// The answer to a request of one line, after which the server closes.
std::string line(int port, const std::string& line, const std::string& headers = "Host: localhost\r\n") {
  return asked(port, line + " HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
}
std::string status(const std::string& answer) { return answer.substr(0, std::min<std::size_t>(answer.size(), 12)); }
std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

TEST(Server, AnswersByRoutes) {
  const Server server({}, hello());
  const int port = server.port();
  EXPECT_EQ(line(port, "GET /"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: "
            "5\r\n\r\nhello");
  EXPECT_EQ(body(line(port, "GET /query?a=1&b=%20")), "a=1&b=%20");
  EXPECT_EQ(
      line(port, "HEAD /"),
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(status(line(port, "GET /other")), "HTTP/1.1 404");
  EXPECT_EQ(status(line(port, "POST /")), "HTTP/1.1 405");
  EXPECT_EQ(status(line(port, "GET /socket")), "HTTP/1.1 426");
  EXPECT_EQ(status(line(port, "GET /wrong")), "HTTP/1.1 400");
  EXPECT_EQ(body(line(port, "GET /wrong")).substr(0, 13), "no such shape");
  EXPECT_EQ(status(line(port, "GET /broken")), "HTTP/1.1 500");
  EXPECT_EQ(line(port, "GET /split").find("C: d\r\n"), std::string::npos);
  EXPECT_EQ(status(line(port, "GET /split")), "HTTP/1.1 500");
}

TEST(Server, TakesBodiesOfAnyKindWithinLimits) {
  const Server server({.limits = {.body_bytes = 100'000}}, hello());
  const int port = server.port();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  const std::string large(100'000, 'x');
  EXPECT_EQ(body(asked(port, head + "Content-Length: 100000\r\n\r\n" + large)), large);
  EXPECT_EQ(body(asked(port, head + "Content-Length: 0\r\n\r\n")), "");
  EXPECT_EQ(body(asked(port, head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")),
            "abcde");
  EXPECT_EQ(status(asked(port, head + "Content-Length: 100001\r\n\r\n" + large + 'x')), "HTTP/1.1 413");
  EXPECT_EQ(status(asked(port, head + "Content-Length: 99999999999999999999999\r\n\r\n")), "HTTP/1.1 400");
  EXPECT_EQ(status(asked(port, head + "Content-Length: -1\r\n\r\n")), "HTTP/1.1 400");
  EXPECT_EQ(status(asked(port, head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")), "HTTP/1.1 400");
  EXPECT_EQ(status(asked(port, head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")),
            "HTTP/1.1 400");
  EXPECT_EQ(status(asked(port, head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n")), "HTTP/1.1 400");
  std::string chunks;
  for (int i = 0; i < 11; ++i) chunks += "2710\r\n" + std::string(10'000, 'y') + "\r\n";
  EXPECT_EQ(status(asked(port, head + "Transfer-Encoding: chunked\r\n\r\n" + chunks)), "HTTP/1.1 413");
  // A body that is shorter than it says.
  Raw liar(port, head + "Content-Length: 10\r\n\r\nabc");
  liar.finish();
  EXPECT_EQ(status(liar.read_all()), "HTTP/1.1 400");
  Raw careful(port, head + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(careful.read_to("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  careful.send("abc");
  EXPECT_EQ(body(careful.read_all()), "abc");
}

// What follows a body in chunks is no header, whether it comes with the header or later.
TEST(Server, TrailersAreNoHeaders) {
  Routes routes;
  routes.post("/headers", [](const Request& request) {
    return Response{.body = "sent:" + std::string(request.header("X-Sent")) + "|"};
  });
  const Server server({}, std::move(routes));
  const std::string head = "POST /headers HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
                    rest = "1\r\na\r\n0\r\nX-Sent: yes\r\n\r\n";
  Raw together(server.port(), head + rest);
  EXPECT_NE(together.read_to("|").find("sent:|"), std::string::npos);
  Raw apart(server.port(), head);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  apart.send(rest);
  EXPECT_NE(apart.read_to("|").find("sent:|"), std::string::npos);
}

TEST(Server, RefusesWhatIsNoRequest) {
  const Server server({.limits = {.header_bytes = 1000}}, hello());
  const int port = server.port();
  const std::string long_header = "GET / HTTP/1.1\r\nHost: localhost\r\nA: " + std::string(2000, 'a');
  EXPECT_EQ(status(asked(port, long_header)), "HTTP/1.1 431");
  EXPECT_EQ(status(asked(port, std::string(2000, 'G'))), "HTTP/1.1 400");
  EXPECT_EQ(status(asked(port, "\x16\x03\x01\x02")), "HTTP/1.1 400");  // TLS begins so
  EXPECT_EQ(status(asked(port, "nonsense\r\n\r\n")), "HTTP/1.1 400");
  EXPECT_EQ(status(asked(port, "GET / HTTP/1.1\r\nNo colon\r\n\r\n")), "HTTP/1.1 400");
  EXPECT_EQ(status(asked(port, "GET / HTTP/7.1\r\nHost: localhost\r\n\r\n")).substr(0, 9), "HTTP/1.1 ");
  EXPECT_EQ(status(asked(port, "GET / HTTP/1.1\r\nHost: localhost\r\n A: folded\r\n: b\r\n\r\n")), "HTTP/1.1 400");
  EXPECT_EQ(body(line(port, "GET /")), "hello");
}

TEST(Server, KeepsConnectionsOpenForMoreRequests) {
  const Server server({}, hello());
  Raw client(server.port());
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (int i = 0; i < 3; ++i) {
    client.send(request);
    EXPECT_NE(client.read_to("hello").find("200 OK"), std::string::npos);
  }
  client.send(request + request);  // one after the other, before the first is answered
  EXPECT_NE(client.read_to("hello").find("200 OK"), std::string::npos);
  EXPECT_NE(client.read_to("hello").find("200 OK"), std::string::npos);
  EXPECT_EQ(body(asked(server.port(), "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")), "hello");  // and ends
}

TEST(Server, RefusesPagesFromElsewhere) {
  const Server server({}, hello());
  const int port = server.port();
  EXPECT_EQ(status(line(port, "GET /", "Host: evil.example\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(status(line(port, "GET /", "Host: 127.evil.example\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(status(line(port, "GET /", "")), "HTTP/1.1 403");
  EXPECT_EQ(status(line(port, "GET /", "Host: localhost\r\nOrigin: http://evil.example\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(status(line(port, "GET /", "Host: localhost:1\r\nOrigin: http://localhost:1\r\n")), "HTTP/1.1 200");
  EXPECT_EQ(status(line(port, "GET /", "Host: [::1]:80\r\n")), "HTTP/1.1 200");
  const std::string socket =
      "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  EXPECT_EQ(status(line(port, "GET /socket", "Host: localhost\r\nOrigin: http://evil.example\r\n" + socket)),
            "HTTP/1.1 403");
  // The example of RFC 6455, 1.3.
  EXPECT_NE(line(port, "GET /socket", "Host: localhost\r\n" + socket)
                .find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
            std::string::npos);
  const Server all({.address = {"0.0.0.0", 0}, .hosts = {"my.example"}}, hello());
  EXPECT_EQ(status(line(all.port(), "GET /", "Host: anything.example\r\n")), "HTTP/1.1 200");
  EXPECT_EQ(status(line(all.port(), "GET /", "")), "HTTP/1.1 400");
  const Server named({.hosts = {"my.example"}}, hello());
  EXPECT_EQ(status(line(named.port(), "GET /", "Host: my.example:8000\r\n")), "HTTP/1.1 200");
}

TEST(Server, LetsPagesInWhoseOriginsItIsTold) {
  const Server server({.origins = {"https://kiln.example", "http://127.0.0.1:8000", "http://[::1]"}}, hello());
  const auto asked_from = [&](std::string_view origin) {
    return status(line(server.port(), "GET /", text("Host: localhost\r\nOrigin: ", origin, "\r\n")));
  };
  for (const char* const origin : {"https://kiln.example", "http://127.0.0.1:8000", "http://[::1]"})
    EXPECT_EQ(asked_from(origin), "HTTP/1.1 200") << origin;
  for (const char* const origin :
       {"http://kiln.example", "https://kiln.example:444", "https://kiln.example.evil.example", "https://evil.example",
        "http://127.0.0.1:8001", "http://127.0.0.1", "null"})
    EXPECT_EQ(asked_from(origin), "HTTP/1.1 403") << origin;
  // The name of the server itself has to be right all the same.
  EXPECT_EQ(status(line(server.port(), "GET /", "Host: evil.example\r\nOrigin: https://kiln.example\r\n")),
            "HTTP/1.1 403");
  for (const char* const wrong :
       {"", "*", "null", "kiln.example", "https://", "https://kiln.example/", "ftp://kiln.example", "https://*.example",
        "https://Kiln.example", "http://a.example,http://b.example", "https://kiln.example:443",
        "http://kiln.example:80"})
    EXPECT_NE(sentence([&] { Server({.origins = {wrong}}, hello()); }).find("is no origin of pages"), std::string::npos)
        << wrong;
}

TEST(Server, AsksForItsToken) {
  const Server server({.token = "secret"}, hello());
  const std::string host = "Host: localhost\r\n";
  EXPECT_EQ(status(line(server.port(), "GET /", host)), "HTTP/1.1 401");
  EXPECT_EQ(status(line(server.port(), "GET /", host + "Authorization: Bearer wrong\r\n")), "HTTP/1.1 401");
  EXPECT_EQ(status(line(server.port(), "GET /", host + "Authorization: Bearer secret\r\n")), "HTTP/1.1 200");
  EXPECT_EQ(status(line(server.port(), "GET /other", host)), "HTTP/1.1 401");  // what there is, is not told either
}

TEST(Server, SaysThatAHandlerHasFailed) {
  const Server server({}, hello()
                              .get("/number", [](const Request&) -> Response { throw 7; })
                              .get("/echo", [](const Request&) { return Response{}; })
                              .websocket("/fails", [](std::unique_ptr<Connection> client, const Request&) {
                                (void)client->receive();
                                throw 7;
                              }));
  EXPECT_EQ(status(line(server.port(), "GET /number")), "HTTP/1.1 500");
  EXPECT_NE(line(server.port(), "PUT /echo").find("Allow: GET, HEAD, POST\r\n"), std::string::npos);
  const auto client = connect({"127.0.0.1", server.port()}, {.path = "/fails"});
  client->send(pattern(1));
  EXPECT_NE(sentence([&] { return client->receive(); }).find("code 1011"), std::string::npos);
}

TEST(Server, RefusesBeforeItReadsABody) {
  const Server server({.token = "secret"}, hello());
  const std::string head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n";
  for (const char* const more : {"", "Expect: 100-continue\r\n"}) {
    Raw stranger(server.port(), head + more + "\r\n");
    const std::string said = stranger.read_all();
    EXPECT_EQ(status(said), "HTTP/1.1 401");
    EXPECT_NE(said.find("Connection: close\r\n"), std::string::npos);
  }
}

TEST(Server, IsHeldUpByNobodyWhoSaysNothing) {
  const Server server({.limits = {.connections = 16}}, hello());
  std::vector<std::unique_ptr<Raw>> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(std::make_unique<Raw>(server.port(), i % 2 ? "G" : ""));
  EXPECT_EQ(body(line(server.port(), "GET /")), "hello");
}

TEST(Server, ForgetsThoseWhoAreSilentForTooLong) {
  const Server server({.limits = {.handshake = 0.05, .idle = 0.05, .stalled = 0.05}}, hello());
  EXPECT_EQ(asked(server.port(), "GET / HT"), "");
  Raw body_missing(server.port(), "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(body_missing.read_all(), "");
  Raw idle(server.port(), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(idle.read_all().find("hello"), std::string::npos);  // and then ends
}

// Each part comes in time, and the whole never would.
TEST(Server, WaitsForNoBodyThatComesInDrops) {
  std::atomic<int> bodies{0};
  Routes routes = hello();
  routes.post("/slow", [&](const Request& request) {
    ++bodies;
    return Response{.body = std::to_string(request.body.size())};
  });
  const Server server({.limits = {.stalled = 0.3, .slowest = 1e6}}, std::move(routes));
  const std::string head = "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n";
  Raw slow(server.port(), head);
  int sent = 0;
  while (sent < 1000 && slow.send("x")) {
    ++sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(sent, 1000);
  EXPECT_EQ(bodies, 0);
  Raw fast(server.port(), head + std::string(1000, 'x'));
  EXPECT_NE(fast.read_to("1000").find("200"), std::string::npos);
}

TEST(Server, TheBusiestAddressMakesRoomFirst) {
  const Server server({.limits = {.connections = 4}}, hello());
  const auto greeting = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  Raw other(server.port(), greeting, 2);  // the oldest, of 127.0.0.2
  EXPECT_NE(other.read_to("hello").find("200"), std::string::npos);
  std::vector<std::unique_ptr<Raw>> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(std::make_unique<Raw>(server.port(), greeting));
    EXPECT_NE(many.back()->read_to("hello").find("200"), std::string::npos);
  }
  EXPECT_TRUE(other.send(greeting));
  EXPECT_NE(other.read_to("hello").find("200"), std::string::npos);
}

TEST(Server, ASlowReaderHoldsUpNobody) {
  const std::string much(50 << 20, 'm');
  Routes routes = hello();
  routes.get("/much", [&](const Request&) { return Response{.body = much}; });
  auto server = std::make_unique<Server>(ServerOptions{}, std::move(routes));
  std::vector<std::unique_ptr<Raw>> slow;
  for (int i = 0; i < 5; ++i)
    slow.push_back(std::make_unique<Raw>(server->port(), "GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  for (const auto& each : slow)
    EXPECT_NE(each->read_to("\r\n\r\n").find("Content-Length: 52428800"), std::string::npos);
  EXPECT_EQ(body(line(server->port(), "GET /")), "hello");
  server.reset();  // and the end of the server either
}

TEST(Server, SendsEvents) {
  Events events(1 << 20);
  Routes routes = hello();
  routes.get("/events", [&](const Request&) { return Response{.events = events.subscribe(event_text("first", "1"))}; });
  const Server server({}, std::move(routes));
  Raw page(server.port(), "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(page.read_to("\r\n\r\n").find("Content-Type: text/event-stream"), std::string::npos);
  EXPECT_EQ(page.read_to("\n\n"), "event: first\ndata: 1\n\n");
  events.send("news", "2");
  EXPECT_EQ(page.read_to("\n\n"), "event: news\ndata: 2\n\n");
  {
    const Raw gone(server.port(), "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (events.streams() < 2) std::this_thread::yield();
  }
  while (events.streams() > 1) std::this_thread::yield();
  // One that does not read is given up, and holds up nobody.
  Raw slow(server.port(), "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  while (events.streams() < 2) std::this_thread::yield();
  const std::string much(100'000, 'e');
  std::thread reader([&] {
    while (page.read_to("\n\n") != event_text("end", "")) {}
  });
  while (events.streams() > 1) {
    events.send("much", much);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  events.send("end", "");
  reader.join();
  events.finish(5);
  EXPECT_EQ(page.read_all(), "");
}

TEST(Server, EndsAClientThatNeverStopsTalking) {
  Events events;
  Routes routes = hello();
  routes.get("/events", [&](const Request&) { return Response{.events = events.subscribe("x")}; });
  const Server server({}, std::move(routes));
  const Raw flood(server.port(), "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string much(1 << 16, 'x');
  while (flood.send(much)) {}
  EXPECT_EQ(body(line(server.port(), "GET /")), "hello");
}

TEST(Server, OpenStreamsGiveWayLast) {
  Events events;
  Routes routes = hello();
  routes.get("/events", [&](const Request&) { return Response{.events = events.subscribe("x\n")}; });
  const Server server({.limits = {.connections = 8}}, std::move(routes));
  std::vector<std::unique_ptr<Raw>> streams;
  for (std::size_t i = 0; i < 4; ++i) {
    streams.push_back(std::make_unique<Raw>(server.port(), "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    streams.back()->read_to("x\n");
  }
  std::vector<std::unique_ptr<Raw>> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<Raw>(server.port()));
  EXPECT_EQ(body(line(server.port(), "GET /")), "hello");
  EXPECT_EQ(events.streams(), 4u);
  for (std::size_t i = 0; i < 40; ++i) {
    streams.push_back(std::make_unique<Raw>(server.port(), "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    streams.back()->read_to("x\n");
  }
  EXPECT_EQ(body(line(server.port(), "GET /")), "hello");
}

TEST(Server, TurnsOthersAwayWhereAllAreAtWork) {
  std::promise<std::unique_ptr<Connection>> kept;
  Routes routes = hello();
  routes.websocket(
      "/keep", [&](std::unique_ptr<Connection> connection, const Request&) { kept.set_value(std::move(connection)); });
  const Server server({.limits = {.connections = 1}}, std::move(routes));
  Raw socket(
      server.port(),
      "GET /keep HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
      "13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  socket.read_to("\r\n\r\n");
  EXPECT_EQ(status(asked(server.port(), "")), "HTTP/1.1 503");
  EXPECT_EQ(server.connections(), 1);
  socket.send("\x88\x80\1\2\3\4");  // closes
  kept.get_future().get().reset();
  EXPECT_EQ(body(line(server.port(), "GET /")), "hello");
}

TEST(Server, GoesOnWhereDescriptorsRanOut) {
  const Server server({}, hello());
  std::vector<std::unique_ptr<Raw>> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(std::make_unique<Raw>(server.port()));
  Raw late(server.port());
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::dup(0);
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(body(line(server.port(), "GET /")), "hello");
}

TEST(Server, EndsWithClientsThatSayNothingAndHandlersThatWait) {
  std::atomic<bool> ended = false;
  auto server = std::make_unique<Server>(
      ServerOptions{}, hello().websocket("/wait", [&](std::unique_ptr<Connection> connection, const Request&) {
        EXPECT_THROW(connection->receive(), IoError);
        ended = true;
      }));
  const Raw silent(server->port()), half(server->port(), "GET / HTTP/1.1\r\n");
  Raw socket(
      server->port(),
      "GET /wait HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
      "13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  socket.read_to("\r\n\r\n");
  server.reset();
  EXPECT_TRUE(ended);
}

TEST(Server, RefusesOptionsWithoutMeaning) {
  const Server server({}, hello());
  EXPECT_THROW(Server({.address = {"127.0.0.1", server.port()}}, hello()), IoError);
  EXPECT_THROW(Server({.address = {"127.0.0.1", -1}}, hello()), ArgumentError);
  EXPECT_THROW(Server({.limits = {.connections = 0}}, hello()), ArgumentError);
  EXPECT_THROW(Server({.limits = {.handshake = 0}}, hello()), ArgumentError);
  EXPECT_THROW(Server({.headers = {{"A b", "c"}}}, hello()), ArgumentError);
  EXPECT_THROW(Routes().get("no slash", nullptr), ArgumentError);
  EXPECT_THROW(Server({.tls = TlsOptions{}}, hello()), ArgumentError);
}

}  // namespace
}  // namespace kiln::net
