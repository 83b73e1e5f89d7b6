// What comes over a socket before any protocol of Kiln's own: HTTP, and the frames of WebSockets.
#include <sys/socket.h>

#include <cstring>

#include "kiln/core/random.hpp"
#include "kiln/net/http_parser.hpp"
#include "kiln/net/server_client.hpp"
#include "kiln/net/websocket_frame.hpp"
#include "kiln/net/websocket_stream.hpp"
#include "tests/fuzz/changes.hpp"
#include "tests/fuzz/message_readers.hpp"

namespace kiln::test {
namespace {

constexpr std::size_t kMostBytes = 1 << 16;  // of a body, and of a WebSocket's message
const net::Limits kLimits{.message_bytes = kMostBytes, .body_bytes = kMostBytes, .handshake = 20, .stalled = 20};

/// A stream that ends behind these bytes, and the other end of it.
std::unique_ptr<net::Stream> stream_of(std::span<const std::byte> bytes, net::Socket& other) {
  int ends[2] = {-1, -1};
  const int room = 8 << 20;
  expect(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
         "there is no pair of sockets");
  for (const int end : ends) ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  other = net::Socket(ends[1]);
  // A file that is longer than what the system keeps ends earlier.
  if (!bytes.empty() && ::send(ends[1], bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0)
    expect(false, "nothing can be sent");
  ::shutdown(ends[1], SHUT_WR);
  return net::tcp_stream(net::Socket(ends[0]), "a program");
}

std::string sent_to(const net::Socket& socket) {
  std::string all;
  char part[4096];
  for (ssize_t got = 0; (got = ::recv(socket.get(), part, sizeof part, 0)) > 0;)
    all.append(part, static_cast<std::size_t>(got));
  return all;
}

/// The messages that come through, until the other end closes or an error.
std::vector<net::Message> received(net::Connection& connection) {
  std::vector<net::Message> all;
  while (std::optional<net::Message> message = connection.receive()) all.push_back(std::move(*message));
  return all;
}

// ---- HTTP

constexpr std::string_view kHandshake =
    "GET /socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

Files http_files() {
  Files files;
  for (const std::string_view text :
       {std::string_view("GET /a?b=c HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        std::string_view("POST /echo HTTP/1.1\r\nHost: localhost:80\r\nContent-Length: 5\r\n\r\nhello"
                         "GET / HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"),
        std::string_view("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "3\r\nabc\r\n1f;x=y\r\n0123456789012345678901234567890\r\n0\r\nTrailer: z\r\n\r\n"),
        std::string_view("PUT /echo HTTP/1.1\r\nHost: [::1]\r\nExpect: 100-continue\r\nOrigin: http://[::1]\r\n"
                         "Authorization: Bearer secret\r\nContent-Length: 3\r\n\r\nxyz"),
        std::string_view("HEAD / HTTP/1.1\r\nhost: localhost\r\nAccept: */*,\r\n text/html\r\n\r\n"),
        std::string_view("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: abc\r\n\r\n"),
        std::string_view("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nX: y\r\n\r\nnone"),
        std::string_view("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n")})
    files.push_back(contents_of(text));
  FileContents socket = contents_of(kHandshake);
  for (const char byte : std::string_view("\x82\x83\1\2\3\4abc\x88\x80\1\2\3\4", 15))
    socket.push_back(static_cast<std::byte>(byte));
  files.push_back(std::move(socket));
  return files;
}

struct Parsed {
  std::string method, path, query, body;
  net::Headers headers;
  std::size_t used = 0;
  bool done = false;
  friend bool operator==(const Parsed&, const Parsed&) = default;
};

/// What a parser makes of bytes that come in pieces of this size.
Parsed parsed(net::HttpParser& parser, std::span<const std::byte> file, std::size_t piece) {
  Parsed found;
  FileContents waiting;
  for (std::size_t came = 0; !parser.is_done();) {
    const std::size_t used = waiting.empty() ? 0 : parser.put(waiting);
    expect(used <= waiting.size(), "a parser uses more than there is");
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(used));
    found.used += used;
    if (used > 0 || parser.is_done()) continue;
    if (came == file.size()) break;
    const auto more = file.subspan(came, std::min(piece, file.size() - came));
    waiting.insert(waiting.end(), more.begin(), more.end());
    came += more.size();
  }
  if (!parser.is_done()) parser.end();
  const net::Request& message = parser.message();
  found.method = message.method, found.path = message.path, found.query = message.query;
  found.body = message.body, found.headers = message.headers;
  found.done = parser.is_done();
  return found;
}

template <class Make>
void read_message(Make make, std::span<const std::byte> file) {
  try {
    const Parsed whole = parsed(*make(kLimits), file, file.size() + 1);
    expect(whole.body.size() <= kMostBytes, "a body is longer than its limit");
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}})
      expect(parsed(*make(kLimits), file, piece) == whole, "a message depends on the pieces in which it comes");
  } catch (const net::HttpError& error) { fail<DataError>(error.what()); }
}

/// A server's whole conversation with a client that sends the file.
void serve(std::span<const std::byte> file) {
  static const net::Service service = [] {
    net::Service made;
    made.options.limits = kLimits;
    made.address = {"127.0.0.1", 80};
    made.routes.get("/", [](const net::Request&) { return net::Response{.body = "page"}; });
    made.routes.post("/echo", [](const net::Request& request) { return net::Response{.body = request.body}; });
    made.routes.websocket("/socket", [](std::unique_ptr<net::Connection> client, const net::Request&) {
      for (const net::Message& message : received(*client)) client->send(message);
    });
    return made;
  }();
  net::Socket other;
  net::Client client;
  net::Conversation(service, client, stream_of(file, other), nullptr).run();
  const std::string answer = sent_to(other);
  expect(answer.empty() || answer.starts_with("HTTP/1.1 "), "a server answers with what is no response");
}

void read_http(std::span<const std::byte> file) {
  serve(file);
  Ways ways;
  ways.take([&] { read_message(net::HttpParser::of_request, file); });
  ways.take([&] { read_message(net::HttpParser::of_response, file); });
  ways.finish();
}

// ---- WebSockets

void append_frame(FileContents& file, net::FrameHead head, std::string_view payload) {
  std::array<std::byte, net::kMostHead> place;
  head.length = payload.size();
  const std::size_t size = net::write_head(head, place);
  file.insert(file.end(), place.begin(), place.begin() + static_cast<std::ptrdiff_t>(size));
  FileContents bytes = contents_of(payload);
  if (head.mask) net::apply_mask(bytes, bytes.data(), *head.mask, 0);
  file.insert(file.end(), bytes.begin(), bytes.end());
}

Files websocket_files() {
  using net::Opcode;
  const net::Mask mask{std::byte{1}, std::byte{200}, std::byte{3}, std::byte{77}};
  Files files;
  for (const bool masked : {true, false}) {
    const auto head = [&](Opcode opcode, bool final = true) {
      net::FrameHead made{.final = final, .opcode = opcode};
      if (masked) made.mask = mask;
      return made;
    };
    const std::string_view end("\x03\xe8", 2);
    FileContents file;
    append_frame(file, head(Opcode::Binary), "hello");
    append_frame(file, head(Opcode::Binary), std::string(300, 'a'));
    append_frame(file, head(Opcode::Close), end);
    files.push_back(std::exchange(file, {}));
    append_frame(file, head(Opcode::Binary, false), "he");
    append_frame(file, head(Opcode::Ping), "ping");
    append_frame(file, head(Opcode::Continuation, false), "");
    append_frame(file, head(Opcode::Pong), "");
    append_frame(file, head(Opcode::Continuation), std::string(5000, 'b'));
    append_frame(file, head(Opcode::Close), "");
    files.push_back(std::exchange(file, {}));
    append_frame(file, head(Opcode::Binary), std::string(65'536, 'c'));
    append_frame(file, head(Opcode::Close), end);
    files.push_back(std::move(file));
  }
  return files;
}

void read_websocket(std::span<const std::byte> file) {
  Ways ways;
  for (const net::End end : {net::End::Server, net::End::Client})
    ways.take([&] {
      net::Socket other;
      const auto connection = net::websocket_over(stream_of(file, other), end, {}, kLimits);
      for (const net::Message& message : received(*connection))
        expect(message.size() <= kMostBytes, "a message is longer than its limit");
    });
  ways.finish();
}

/// Another head of one frame: opcode, end, mask, length.
void change_frames(FileContents& file, Random& random) {
  std::vector<std::size_t> heads;
  for (std::size_t at = 0; at < file.size();) {
    const net::ReadHead read = net::read_head(std::span(file).subspan(at));
    if (read.wrong || read.size == 0 || read.head.length > file.size()) break;
    heads.push_back(at);
    at += read.size + static_cast<std::size_t>(read.head.length);
  }
  if (heads.empty()) return;
  const std::size_t at = heads[one_of(heads.size(), random)];
  const net::ReadHead read = net::read_head(std::span(file).subspan(at));
  net::FrameHead head = read.head;
  switch (random.below(4)) {
    case 0: head.opcode = static_cast<net::Opcode>(random.below(16)); break;
    case 1: head.final = !head.final; break;
    case 2:
      if (head.mask) head.mask.reset();
      else head.mask.emplace();
      break;
    default: head.length = static_cast<std::uint64_t>(extreme(random));
  }
  std::array<std::byte, net::kMostHead> place;
  const std::size_t size = net::write_head(head, place);
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
  const auto rest = file.erase(begin, begin + static_cast<std::ptrdiff_t>(read.size));
  file.insert(rest, place.begin(), place.begin() + static_cast<std::ptrdiff_t>(size));
}

constexpr Reader kNetReaders[] = {
    {.name = "http", .sound = http_files, .read = read_http, .text = true},
    {.name = "websocket", .sound = websocket_files, .read = read_websocket, .change = change_frames},
};

}  // namespace

std::span<const Reader> net_readers() { return kNetReaders; }

}  // namespace kiln::test
