#include "kiln/net/server_client.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/net/crypto.hpp"
#include "kiln/net/events.hpp"
#include "kiln/net/http_text.hpp"
#include "kiln/net/websocket_stream.hpp"

namespace kiln::net {
namespace {

constexpr std::size_t kPiece = 64 << 10, kMostTalk = 1 << 20;
constexpr double kFarewell = 1;  // seconds for a client to read the last response

int status_of(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::Shape:
    case ErrorKind::DType:
    case ErrorKind::Index:
    case ErrorKind::Argument:
    case ErrorKind::Data:
    case ErrorKind::Load:
    case ErrorKind::Config: return 400;
    default: return 500;
  }
}

Response called(const Handler& handler, const Request& request) {
  try {
    return handler(request);
  } catch (const Error& error) {
    // The server's calls tell a client nothing.
    return {.status = status_of(error), .body = text(without_calls(error.message()), '\n')};
  } catch (const std::exception& error) { return {.status = 500, .body = text(error.what(), '\n')}; } catch (...) {
    return {.status = 500, .body = "what computes this page has failed and says nothing about it\n"};
  }
}

/// Returns whether `word` is among the words of a list: "keep-alive, Upgrade".
bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view each = list.substr(0, comma);
    while (each.starts_with(' ')) each.remove_prefix(1);
    while (each.ends_with(' ')) each.remove_suffix(1);
    if (is_same_name(each, word)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

bool wants_websocket(const Request& request) {
  return request.method == "GET" && has_word(request.header("Connection"), "upgrade") &&
         has_word(request.header("Upgrade"), "websocket");
}

}  // namespace

void Client::begin(Does what) {
  since = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  does = what;
}

void Client::shut() const {
  if (const auto open = socket.lock()) shut_socket(open->get());
}

Response refusal_of(const Service& service, const Request& request) {
  const ServerOptions& options = service.options;
  const std::string_view host = request.header("Host"), origin = request.header("Origin");
  const std::string_view name =
      host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.rfind(':'));
  const bool known = is_loopback(name) || std::ranges::find(options.hosts, name) != options.hosts.end();
  if (is_loopback(service.address.host) && !known)
    return {.status = 403,
            .body = "this server is for programs of its own machine, as which the header Host does not name it\n"};
  if (host.empty()) return {.status = 400, .body = "the header Host is missing\n"};
  if (!origin.empty() && origin != text(service.tls ? "https://" : "http://", host) &&
      std::ranges::find(options.origins, origin) == options.origins.end())
    return {.status = 403, .body = "pages of other servers (by the header Origin) may ask nothing here\n"};
  if (!options.token.empty() && !constant_time_equal(request.header("Authorization"), bearer(options.token).second))
    return {.status = 401,
            .body = "this server asks for a token: send the header \"Authorization: Bearer TOKEN\"\n",
            .headers = {{"WWW-Authenticate", "Bearer"}}};
  return {};
}

void Conversation::run() noexcept {
  try {
    client_.begin(Client::Does::Reads);
    try {
      shake_hands(*stream_, Deadline(limits().handshake));
    } catch (const IoError&) { return farewell(); }  // so that the client hears why
    if (serve_one(limits().handshake))
      while (serve_one(limits().idle)) {}
  } catch (...) {  // the client has gone, or was too slow: it is told nothing any more
  }
}

/// Reads a request, or only its header where that is refused, and says in `refusal` why. Returns false if the client has
/// ended instead.
bool Conversation::read(HttpParser& parser, double patience, Response& refusal) {
  const Deadline header(patience);
  std::array<std::byte, kPiece> piece;
  bool checked = false;
  Deadline body = header;
  for (bool first = true;; first = false) {
    while (!parser.is_done() && !received_.empty()) {
      const std::size_t used = parser.put(received_);
      received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(used));
      if (used == 0) break;
    }
    const bool begins = parser.has_header() && !std::exchange(checked, true);
    if (begins) refusal = refusal_of(service_, parser.message());
    if (parser.is_done() || refusal.status != 200) return true;
    if (received_.size() > limits().header_bytes + kPiece)
      throw HttpError(400, "the body of the request cannot be read");
    if (begins) body = Deadline(limits().stalled);
    if (begins && has_word(parser.message().header("Expect"), "100-continue"))
      write_all(*stream_, "HTTP/1.1 100 Continue\r\n\r\n", limits().stalled);
    const std::size_t got =
        read_some(*stream_, piece, parser.has_header() ? Deadline::earlier(body, Deadline(limits().stalled)) : header);
    if (got == 0 && first) return false;
    if (got == 0) throw HttpError(400, "the request ends before its end");
    client_.begin(Client::Does::Reads);  // it is at work, and others are dropped first
    if (parser.has_header()) body.postpone(static_cast<double>(got) / limits().slowest);
    received_.insert(received_.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
  }
}

/// Serves a request, and returns whether the connection stays open for another one.
bool Conversation::serve_one(double patience) {
  client_.begin(Client::Does::Reads);
  const auto parser = HttpParser::of_request(limits());
  Response response;
  bool keeps_alive = false;
  try {
    if (!read(*parser, patience, response)) return false;
    Request& request = parser->message();
    request.peer = stream_->peer();
    keeps_alive = service_.options.keep_alive && parser->is_done() && parser->keeps_alive();
    const auto websocket = service_.routes.websockets_.find(request.path);
    if (response.status == 200 && websocket != service_.routes.websockets_.end() && wants_websocket(request)) {
      speak(websocket->second, request);
      return false;
    }
    client_.begin(Client::Does::Works);
    if (response.status == 200) response = answer(request);
  } catch (const HttpError& error) {
    response = {.status = error.status(), .body = text(error.what(), '\n')};
    keeps_alive = false;
  }
  keeps_alive = keeps_alive && !response.events;
  write(response, keeps_alive, parser->message().method == "HEAD");
  if (response.events) tell(*response.events);
  else if (!keeps_alive) farewell();
  return keeps_alive;
}

const Handler* Conversation::handler_of(const Request& request, Response& otherwise) const {
  const Routes& routes = service_.routes;
  const auto found = routes.handlers_.find(request.path);
  if (found != routes.handlers_.end()) {
    const auto method = found->second.find(request.method == "HEAD" ? "GET" : request.method);
    if (method != found->second.end()) return &method->second;
  }
  if (routes.otherwise_) return &routes.otherwise_;
  if (routes.websockets_.contains(request.path)) {
    otherwise = {.status = 426,
                 .body = "this path is a WebSocket's\n",
                 .headers = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}}};
  } else if (found != routes.handlers_.end()) {
    std::string methods;
    for (const auto& [method, handler] : found->second)
      methods += text(methods.empty() ? "" : ", ", method, method == "GET" ? ", HEAD" : "");
    otherwise = {
        .status = 405, .body = text("this path is asked for by ", methods, '\n'), .headers = {{"Allow", methods}}};
  } else {
    otherwise = {.status = 404, .body = "there is no such page\n"};
  }
  return nullptr;
}

Response Conversation::answer(const Request& request) const {
  Response response;
  const Handler* const handler = handler_of(request, response);
  return handler ? called(*handler, request) : response;
}

void Conversation::write(const Response& response, bool keeps_alive, bool without_body) {
  client_.begin(Client::Does::Writes);
  std::string all;
  try {
    all = head_text(response, service_.options.headers, keeps_alive);
  } catch (const Error& error) {  // a handler's headers
    write({.status = 500, .body = text(without_calls(error.message()), '\n')}, false, without_body);
    throw;
  }
  if (!without_body) all += response.body;
  for (std::string_view left = all; !left.empty(); left.remove_prefix(std::min(kPiece, left.size()))) {
    write_all(*stream_, left.substr(0, kPiece), limits().stalled);
    client_.begin(Client::Does::Writes);
  }
}

void Conversation::tell(EventStream& events) {
  client_.begin(Client::Does::Streams);
  const struct Leave {
    EventStream& events;
    ~Leave() { events.leave(); }
  } leave{events};
  std::array<std::byte, kPiece> piece;
  for (std::size_t said = 0; !events.is_over();) {
    write_all(*stream_, events.take(), limits().stalled);
    if (events.is_over()) break;
    wait_for(stream_->socket(), POLLIN, Deadline::never(), events.wakes());
    const Moved moved = stream_->read(piece);
    said += moved.bytes;
    // A client that keeps sending after its request is no browser.
    if (moved.ended || !moved.failure.empty() || said > kMostTalk) return;
  }
  stream_->finish();
}

/// A client that still sends would lose the response if the connection were simply closed.
void Conversation::farewell() {
  client_.begin(Client::Does::Reads);
  stream_->finish();
  drain(*stream_, kFarewell, false);
}

void Conversation::speak(const Routes::WebSocketRoute& route, const Request& request) {
  const std::string_view key = request.header("Sec-WebSocket-Key");
  if (request.header("Sec-WebSocket-Version") != "13" || key.size() != 24) {
    write({.status = 426,
           .body = "this server speaks version 13 of WebSockets, with a key of 16 bytes\n",
           .headers = {{"Sec-WebSocket-Version", "13"}}},
          false, false);
    return farewell();
  }
  client_.begin(Client::Does::Speaks);
  write_all(
      *stream_,
      text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ",
           websocket_accept(key), "\r\n\r\n"),
      limits().stalled);
  client_.kept = route.keeps_all;
  route.handler(websocket_over(std::move(stream_), End::Server, received_, limits(), slot_), request);
}

}  // namespace kiln::net
