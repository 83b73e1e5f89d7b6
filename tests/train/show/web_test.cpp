// The page of a training, asked for by a plain client.
#include "kiln/train/show/web.hpp"

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/core/config/json.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/train/recorded.hpp"
#include "tests/net/net_support.hpp"

namespace kiln {
namespace {

int port_of(const WebDashboard& web) {
  const std::string address = web.address();
  return std::stoi(address.substr(address.rfind(':') + 1));
}
/// "/", or where the page is for all "/9f86.../".
std::string root_of(const WebDashboard& web) {
  const std::string address = web.address();
  return address.substr(address.find('/', address.rfind(':')));
}

/// The page's own paths: "GET" and "events".
std::string line(const WebDashboard& web, const std::string& method, const std::string& name = "") {
  return text(method, ' ', root_of(web), name);
}
std::string asked(int port, const std::string& line, const std::string& headers = "Host: localhost\r\n") {
  net::Raw connection(port);
  connection.send(line + " HTTP/1.1\r\n" + headers + "\r\n");
  return connection.read_all();
}

/// The next event's data as a value.
Json::Object news(net::Raw& connection) {
  EXPECT_EQ(connection.read_to("data: "), "event: news\ndata: ");
  return std::get<Json::Object>(parse_json(connection.read_to("\n\n"), "news").is);
}
const Json& member(const Json::Object& object, std::string_view key) {
  for (const auto& [name, value] : object)
    if (name == key) return value;
  ADD_FAILURE() << "no " << key;
  return object.front().second;
}
std::size_t length(const Json& list) { return std::get<Json::List>(list.is).size(); }

training::Step step(std::int64_t number, double loss) {
  return {
      .at = {.epoch = 0, .batch = number, .step = number}, .loss = loss, .rates = {0.1}, .items = 8, .seconds = 0.01};
}

TEST(WebDashboard, ServesItsPage) {
  const WebDashboard web;
  const std::string page = asked(port_of(web), line(web, "GET"));
  EXPECT_EQ(page.find("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"), 0u);
  EXPECT_NE(page.find("<script src=\"page.js\""), std::string::npos);
  EXPECT_NE(asked(port_of(web), line(web, "GET", "page.js")).find("new EventSource(\"events\")"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);  // nothing from elsewhere
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_NE(page.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
  EXPECT_EQ(asked(port_of(web), line(web, "GET", "other")).find("HTTP/1.1 404"), 0u);
}

TEST(WebDashboard, SendsWhatHappens) {
  WebDashboard web;
  training::Begin begin{.batches = 10, .epochs = 2, .parameters = 3};
  web.on(begin);
  web.on(step(1, 0.5));
  net::Raw page(port_of(web));
  page.send(line(web, "GET", "events") + " HTTP/1.1\r\nhost: 127.0.0.1:80\r\n\r\n");
  EXPECT_NE(page.read_to("\r\n\r\n").find("Content-Type: text/event-stream"), std::string::npos);
  const Json::Object all = news(page);
  EXPECT_EQ(length(member(all, "points")), 2u);  // loss and rate
  EXPECT_EQ(length(member(all, "said")), 1u);
  EXPECT_EQ(std::get<std::int64_t>(member(all, "step").is), 1);
  EXPECT_NE(std::get<std::string>(member(all, "machine").is).find("GiB"), std::string::npos);

  web.on(step(2, 0.25));
  web.on(training::Evaluation{.at = {.step = 2}, .split = "valid", .readings = {{"accuracy", 0.75}, {"f1", NAN}}});
  std::size_t points = 0;
  while (points < 4) points += length(member(news(page), "points"));
  EXPECT_EQ(points, 4u);
  web.on(training::RunEnd{.at = {.step = 2}, .reason = "done \"so\""});
  EXPECT_EQ(std::get<std::string>(member(news(page), "ended").is), "done \"so\"");
  // One that comes later is told everything, once.
  net::Raw other(port_of(web));
  other.send(line(web, "GET", "events") + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  other.read_to("\r\n\r\n");
  EXPECT_EQ(length(member(news(other), "points")), 5u);  // two steps and the accuracy; NaN is no point
}

TEST(WebDashboard, SendsTenTimesASecondAtMost) {
  WebDashboard web;
  web.on(training::Begin{.batches = 100'000});
  net::Raw page(port_of(web));
  page.send(line(web, "GET", "events") + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  page.read_to("\r\n\r\n");
  news(page);
  const auto begin = std::chrono::steady_clock::now();
  std::jthread training([&] {
    for (int i = 1; i <= 500; ++i) {
      web.on(step(i, 1.0 / i));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::size_t points = 0, messages = 0;
  for (; points < 1000; ++messages) points += length(member(news(page), "points"));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(points, 1000u);
  EXPECT_LE(static_cast<double>(messages), seconds * 10 + 2);
}

TEST(WebDashboard, StopsAndSavesForThisMachineAlone) {
  WebDashboard web;
  training::Begin begin{.batches = 10};
  web.on(begin);
  const int port = port_of(web);
  // A name that somebody else has lead here, another page's script, a link.
  EXPECT_EQ(asked(port, line(web, "POST", "stop"), "Host: evil.example\r\n").find("HTTP/1.1 403"), 0u);
  EXPECT_EQ(
      asked(port, line(web, "POST", "stop"), "Host: localhost\r\nOrigin: http://evil.example\r\n").find("HTTP/1.1 403"),
      0u);
  EXPECT_EQ(asked(port, line(web, "POST", "stop"), "").find("HTTP/1.1 403"), 0u);
  EXPECT_EQ(asked(port, line(web, "GET", "stop")).find("HTTP/1.1 405"), 0u);
  EXPECT_FALSE(begin.control.should_stop());
  EXPECT_EQ(asked(port, line(web, "POST", "save")).find("HTTP/1.1 200"), 0u);
  EXPECT_TRUE(begin.control.take_save());
  EXPECT_EQ(asked(port, line(web, "POST", "stop"), "Host: localhost:1\r\nOrigin: http://localhost:1\r\n")
                .find("HTTP/1.1 200"),
            0u);
  EXPECT_EQ(begin.control.reason(), "stopped by the web page");
}

TEST(WebDashboard, StopsForWhoeverKnowsTheAddressWhereAllCanReachIt) {
  WebDashboard web({.everywhere = true}), other({.everywhere = true});
  training::Begin begin{.batches = 10};
  web.on(begin);
  const int port = port_of(web);
  const std::string root = root_of(web), host = "Host: trainer.example:80\r\n";
  EXPECT_EQ(root.size(), 34u);
  EXPECT_NE(root, root_of(other));
  EXPECT_EQ(root_of(WebDashboard()).size(), 34u);  // a machine has more users than one
  std::string near = root;
  near[5] = near[5] == '0' ? '1' : '0';
  for (const std::string& guessed : {std::string("/"), root.substr(0, 33), near}) {
    EXPECT_EQ(asked(port, "POST " + guessed + "stop", host).find("HTTP/1.1 404"), 0u) << guessed;
    EXPECT_EQ(asked(port, "GET " + guessed + "events", host).find("HTTP/1.1 404"), 0u) << guessed;
  }
  EXPECT_EQ(asked(port, "GET /", host).find("HTTP/1.1 404"), 0u);
  EXPECT_FALSE(begin.control.should_stop());
  EXPECT_EQ(asked(port, "GET " + root, host).find("HTTP/1.1 200"), 0u);
  EXPECT_EQ(asked(port, "POST " + root + "stop", host + "Origin: http://evil.example\r\n").find("HTTP/1.1 403"), 0u);
  EXPECT_FALSE(begin.control.should_stop());
  EXPECT_EQ(asked(port, "POST " + root + "stop", host).find("HTTP/1.1 200"), 0u);
  EXPECT_EQ(begin.control.reason(), "stopped by the web page");
}

TEST(WebDashboard, TellsOtherUsersOfTheMachineNothing) {
  WebDashboard web;
  training::Begin begin{.batches = 10};
  web.on(begin);
  const int port = port_of(web);
  const std::string root = root_of(web);
  for (const std::string& path : std::vector<std::string>{"/", "", "//", root.substr(0, 33), root.substr(1),
                                                          (root[1] == '0' ? "/1" : "/0") + root.substr(2)})
    for (const char* const name : {"", "events", "stop", "save"})
      if (path + name != root)
        for (const char* const method : {"GET ", "POST "}) {
          const std::string said = asked(port, method + path + name);
          EXPECT_TRUE(said.starts_with("HTTP/1.1 404") || said.starts_with("HTTP/1.1 400")) << path << name << said;
          EXPECT_EQ(said.find("<script"), std::string::npos) << path << name;
        }
  EXPECT_FALSE(begin.control.should_stop());
  EXPECT_FALSE(begin.control.take_save());
}

TEST(WebDashboard, ShowsTheCurvesOfACheckpoint) {
  WebDashboard before;
  before.on(training::Begin{.batches = 10});
  before.on(step(1, 0.5));
  before.on(step(2, 0.25));
  RecordedObjects written, read;
  written.add_optional("curves", before.seen);
  WebDashboard after;
  read.add_optional("curves", after.seen);
  read.restore(written.snapshot({}), "a checkpoint");
  after.on(training::Begin{.at = {.step = 2}, .batches = 10});
  net::Raw page(port_of(after));
  page.send(line(after, "GET", "events") + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  page.read_to("\r\n\r\n");
  EXPECT_EQ(write_json(member(news(page), "points")),
            write_json(parse_json(
                R"([["step","loss",1,0.5],["step","loss",2,0.25],["step","rate",1,0.1],["step","rate",2,0.1]])",
                "expected")));
}

TEST(WebDashboard, OutlivesBadClients) {
  WebDashboard web;
  const int port = port_of(web);
  EXPECT_EQ(asked(port, std::string(20'000, 'x')).find("HTTP/1.1 400"), 0u);
  EXPECT_EQ(asked(port, "nonsense\r\n").find("HTTP/1.1 400"), 0u);
  for (int i = 0; i < 100; ++i) net::Raw(port).send("GET");  // and goes
  net::Raw silent(port);
  EXPECT_EQ(asked(port, line(web, "GET")).find("HTTP/1.1 200"), 0u);
  EXPECT_THROW(WebDashboard({.port = port}), IoError);
  EXPECT_THROW(WebDashboard({.port = 70'000}), ArgumentError);
}

}  // namespace
}  // namespace kiln
