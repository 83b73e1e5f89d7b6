// This file has the requests and responses of HTTP/1.1 as handlers see them.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "kiln/net/options.hpp"

namespace kiln::net {

class EventStream;

struct Request {
  std::string method;  // "GET"
  std::string path;    // "/events", as it was sent: not decoded
  std::string query;   // what follows the first "?"
  Headers headers;
  std::string body;
  std::string peer;  // "127.0.0.1:51234"

  /// Returns the value of a header, whose name has capitals or not; empty where it was not sent.
  std::string_view header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body = {};
  Headers headers = {};
  /// These follow the body: server-sent events (kiln/net/events.hpp), until they end or the client goes.
  std::shared_ptr<EventStream> events = {};
};

}  // namespace kiln::net
