// What tests of kiln/net share: patterns of bytes, and other ends that are plain sockets.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/net/connection.hpp"

namespace kiln::net {

inline Message pattern(std::size_t size) {
  Message message(size);
  for (std::size_t i = 0; i < size; ++i) message[i] = static_cast<std::byte>((i * 31 + size) % 251);
  return message;
}

/// The sentence of the error in which a call ends; empty if it ends in none.
template <class F>
std::string sentence(F&& call) {
  try {
    (void)call();
  } catch (const Error& error) { return std::string(without_calls(error.message())); }
  return "";
}

inline sockaddr_in loopback(int port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  return name;
}

/// A client that is a plain socket.
class Raw {
 public:
  /// `from`: the loopback address that it has, 127.0.0.1 for 1.
  explicit Raw(int port, std::string_view bytes = {}, unsigned from = 1) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in name = loopback(port);
    sockaddr_in own = loopback(0);
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + from);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    const timeval patience{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    if (!bytes.empty()) send(bytes);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  ~Raw() { ::close(socket_); }

  /// False where the other side has gone.
  bool send(std::string_view bytes) const {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes);
  }
  void finish() const { ::shutdown(socket_, SHUT_WR); }
  /// All up to `end` and it, of what was not read yet; to the connection's end where that does not come.
  std::string read_to(std::string_view end) {
    char buffer[4096];
    for (std::size_t at; (at = left_.find(end)) == std::string::npos;) {
      const auto got = ::recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) return std::exchange(left_, {});
      left_.append(buffer, static_cast<std::size_t>(got));
    }
    const std::size_t size = left_.find(end) + end.size();
    const std::string part = left_.substr(0, size);
    left_.erase(0, size);
    return part;
  }
  std::string read_all() { return read_to("\1 never"); }

 private:
  int socket_;
  std::string left_;
};

/// A server that accepts one client after another, says something at once, and reads until the client goes.
class Peer {
 public:
  explicit Peer(std::function<std::string(int client)> says) : listening_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in name = loopback(0);
    socklen_t length = sizeof name;
    EXPECT_EQ(::bind(listening_, reinterpret_cast<const sockaddr*>(&name), length), 0);
    EXPECT_EQ(::listen(listening_, 8), 0);
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&name), &length);
    port_ = ntohs(name.sin_port);
    thread_ = std::thread([this, says = std::move(says)] {
      for (int client; (client = ::accept(listening_, nullptr, nullptr)) >= 0; ::close(client)) {
        const std::string said = says(client);
        (void)::send(client, said.data(), said.size(), MSG_NOSIGNAL);
        char dropped[4096];
        while (::recv(client, dropped, sizeof dropped, 0) > 0) {}
      }
    });
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  int port() const { return port_; }

 private:
  int listening_, port_ = 0;
  std::thread thread_;
};

}  // namespace kiln::net
