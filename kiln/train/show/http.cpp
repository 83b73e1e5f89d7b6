#include "kiln/train/show/http.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln::http {
namespace {

constexpr std::size_t kMostClients = 64, kMostRequest = 16 << 10, kMostWaiting = 4 << 20, kMostTalk = 1 << 20;
constexpr double kPatience = 10;  // seconds for a whole request, and for a response to be read
constexpr double kDeaf = 0.2;     // seconds without accepting, after descriptors ran out
constexpr int kAtOnce = 16;       // clients accepted, and pieces read from one, before others get their turn

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The value of a header, by its lower-case name.
std::string header(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    const bool found = line.size() > name.size() && line[name.size()] == ':' &&
                       std::ranges::equal(line.substr(0, name.size()), name, [](char a, char b) {
                         return std::tolower(static_cast<unsigned char>(a)) == b;
                       });
    if (!found) continue;
    const std::size_t first = line.find_first_not_of(' ', name.size() + 1);
    return first == std::string_view::npos ? "" : std::string(line.substr(first));
  }
  return "";
}

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    default: return "Error";
  }
}

std::string bytes_of(const Response& response) {
  std::string head = text("HTTP/1.1 ", response.status, ' ', reason(response.status),
                          "\r\nContent-Type: ", response.stream ? "text/event-stream" : response.type,
                          "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: "
                          "DENY\r\nReferrer-Policy: no-referrer\r\n"
                          "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src "
                          "'unsafe-inline'; connect-src 'self'; img-src data:\r\nConnection: ",
                          response.stream ? "keep-alive" : "close", "\r\n");
  if (!response.stream) head += text("Content-Length: ", response.body.size(), "\r\n");
  return head + "\r\n" + response.body;
}

}  // namespace

bool are_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
  return differs == 0;
}

std::string event_text(std::string_view event, std::string_view text) {
  return kiln::text("event: ", event, "\ndata: ", text, "\n\n");
}

Server::Server(int port, bool everywhere) : everywhere_(everywhere) {
  require<ArgumentError>(port >= 0 && port <= 65535, "web: the port ", port, " must be 0 to 65535");
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(everywhere ? INADDR_ANY : INADDR_LOOPBACK);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (listening_ < 0 || ::bind(listening_, name, length) != 0 || ::listen(listening_, 16) != 0 ||
      ::getsockname(listening_, name, &length) != 0) {
    const std::string why = std::strerror(errno);
    if (listening_ >= 0) ::close(listening_);
    fail<IoError>("web: cannot listen on port ", port, ": ", why);
  }
  port_ = ntohs(address.sin_port);
}

Server::~Server() {
  for (const Client& client : clients_) ::close(client.socket);
  ::close(listening_);
}

std::size_t Server::streams() const {
  return static_cast<std::size_t>(std::ranges::count_if(clients_, &Client::stream));
}

bool Server::is_welcome(std::string_view host) const {
  const std::string_view name = host.substr(0, host.rfind(':'));
  return everywhere_ || name == "127.0.0.1" || name == "localhost";
}

void Server::serve(int milliseconds, const std::function<Response(const Request&)>& answer) {
  // While no client can be accepted, those that wait must not end each poll at once.
  const bool hears = now() >= accept_paused_until_;
  std::vector<pollfd> waits = {{hears ? listening_ : -1, POLLIN, 0}};
  for (const Client& client : clients_)
    waits.push_back({client.socket, static_cast<short>(POLLIN | (client.out.empty() ? 0 : POLLOUT)), 0});
  if (::poll(waits.data(), waits.size(), milliseconds) < 0) return;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const short events = waits[i + 1].revents;
    if (events & (POLLIN | POLLHUP | POLLERR)) read(clients_[i], answer);
    if (!clients_[i].out.empty()) write(clients_[i]);
  }
  if (waits[0].revents & POLLIN) accept_clients(answer);
  const double time = now();
  std::erase_if(clients_, [time](const Client& client) {
    const bool gone = client.closing && client.out.empty();
    const bool slow = client.out.size() > kMostWaiting || (!client.stream && time - client.heard > kPatience);
    if (gone || slow) ::close(client.socket);
    return gone || slow;
  });
}

void Server::accept_clients(const std::function<Response(const Request&)>& answer) {
  for (int i = 0; i < kAtOnce; ++i) {
    const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        accept_paused_until_ = now() + kDeaf;
        drop_idle_client();
      }
      return;
    }
    if (clients_.size() >= kMostClients) drop_idle_client();
    Client& client = clients_.emplace_back(Client{.socket = socket, .in = {}, .out = {}, .heard = now()});
    read(client, answer);  // the request has usually arrived
    if (!client.out.empty()) write(client);
  }
}

/// Silent clients must not keep others out: closes the one that was silent for longest; streams, which reconnect by
/// themselves, only if there is no other.
void Server::drop_idle_client() {
  const auto silent = std::ranges::min_element(
      clients_, {}, [](const Client& client) { return std::pair(client.stream, client.heard); });
  if (silent == clients_.end()) return;
  ::close(silent->socket);
  clients_.erase(silent);
}

void Server::read(Client& client, const std::function<Response(const Request&)>& answer) {
  char buffer[4096];
  for (int i = 0; i < kAtOnce; ++i) {
    const auto got = ::recv(client.socket, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    // A client that keeps sending after its request is not a browser.
    client.said += static_cast<std::size_t>(std::max<std::ptrdiff_t>(got, 0));
    if (got <= 0 || client.said > kMostTalk) {
      client.closing = true;
      client.out.clear();
      return;
    }
    if (!client.stream && !client.closing) client.in.append(buffer, static_cast<std::size_t>(got));
    if (client.in.size() > kMostRequest) break;
  }
  if (client.stream || client.closing) return;
  const std::size_t end = client.in.find("\r\n\r\n");
  if (end == std::string::npos && client.in.size() <= kMostRequest) return;
  const std::string_view head = std::string_view(client.in).substr(0, end);
  const std::size_t method = head.find(' '), path = head.find(' ', method + 1), line = head.find("\r\n");
  Response response{.status = 400, .body = "this is no request\n"};
  if (end != std::string::npos && method != std::string_view::npos && path != std::string_view::npos && path < line) {
    const Request request{std::string(head.substr(0, method)), std::string(head.substr(method + 1, path - method - 1)),
                          header(head, "host"), header(head, "origin")};
    const bool own = request.origin.empty() || request.origin == "http://" + request.host;
    if (!is_welcome(request.host) || !own)
      response = {.status = 403, .body = "this page is for programs of the machine that the training runs on\n"};
    else response = answer(request);
  }
  client.in.clear();
  client.out = bytes_of(response);
  client.stream = response.stream;
  client.closing = !response.stream;
  client.heard = now();
}

void Server::write(Client& client) {
  while (!client.out.empty()) {
    const auto sent = ::send(client.socket, client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent <= 0) {
      client.closing = true;
      client.out.clear();
      return;
    }
    client.out.erase(0, static_cast<std::size_t>(sent));
  }
}

void Server::broadcast(std::string_view event, std::string_view text) {
  const std::string message = event_text(event, text);
  for (Client& client : clients_) {
    if (!client.stream || client.closing) continue;
    client.out += message;
    write(client);
  }
}

}  // namespace kiln::http
