#include "tests/data/http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln::test {

HttpServer::HttpServer(std::function<std::string(const Request&)> answer) : answer_(std::move(answer)) {
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  KILN_CHECK(listening_ >= 0 && ::bind(listening_, name, length) == 0 && ::listen(listening_, 8) == 0);
  KILN_CHECK(::getsockname(listening_, name, &length) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this] { serve(); });
}

HttpServer::~HttpServer() {
  ::shutdown(listening_, SHUT_RDWR);  // ends accept()
  thread_.join();
  ::close(listening_);
}

std::string HttpServer::url(const std::string& path) const { return text("http://127.0.0.1:", port_, path); }

std::vector<Request> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::serve() {
  for (int connection; (connection = ::accept(listening_, nullptr, nullptr)) >= 0; ::close(connection)) {
    std::string head;
    char buffer[4096];
    while (head.find("\r\n\r\n") == std::string::npos) {
      const auto got = ::recv(connection, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      head.append(buffer, static_cast<std::size_t>(got));
    }
    Request request;
    if (const auto space = head.find(' '); space != std::string::npos)
      request.path = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
    request.method = head.substr(0, head.find(' '));
    const auto header = [&](const std::string& name) {
      const auto at = head.find("\r\n" + name + ": ");
      if (at == std::string::npos) return std::string();
      const auto first = at + name.size() + 4;
      return head.substr(first, head.find('\r', first) - first);
    };
    request.range = header("Range");
    request.authorization = header("Authorization");
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const std::string answer = answer_(request);
    for (std::size_t sent = 0; sent < answer.size();) {
      const auto wrote = ::send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (wrote <= 0) break;
      sent += static_cast<std::size_t>(wrote);
    }
    ::shutdown(connection, SHUT_WR);
    while (::recv(connection, buffer, sizeof buffer, 0) > 0) {}  // until the client has read it all
  }
}

std::string response(const std::string& status, const std::string& body, long length, const std::string& headers) {
  const std::string content_length = length >= 0 ? text("Content-Length: ", length, "\r\n") : "";
  return text("HTTP/1.1 ", status, "\r\nConnection: close\r\n", content_length, headers, "\r\n", body);
}

std::string served(const Request& request, const std::string& contents) {
  const auto size = static_cast<long>(contents.size());
  if (request.range.empty()) return response("200 OK", contents, size);
  const long start = std::stol(request.range.substr(sizeof "bytes=" - 1));
  if (start >= size) return response("416 Range Not Satisfiable", "", 0, text("Content-Range: bytes */", size, "\r\n"));
  return response("206 Partial Content", contents.substr(static_cast<std::size_t>(start)), size - start,
                  text("Content-Range: bytes ", start, "-", size - 1, "/", size, "\r\n"));
}

}  // namespace kiln::test
