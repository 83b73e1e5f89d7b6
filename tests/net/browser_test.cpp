// The WebSockets of browsers (kiln/net/browser/socket.cpp), with this file in the browser's place.
#include "kiln/net/browser/socket.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "kiln/net/browser/imports.hpp"
#include "tests/net/net_support.hpp"
#include "tests/support/backends/worker.hpp"

namespace kiln::net::browser {
namespace {

/// The number of the socket that was opened last.
std::atomic<int> opened{0};

/// What a browser does later.
test::Worker& later() {
  static test::Worker& only = *new test::Worker;
  return only;
}

}  // namespace

extern "C" {
int kiln_socket_lacks() { return 0; }
void kiln_socket_origin(char* to, std::size_t) { *to = 0; }
void kiln_socket_open(int socket, const char*) {
  opened = socket;
  kiln_socket_opened(socket);
}
void kiln_socket_send(int, const std::byte*, std::size_t) {}
double kiln_socket_buffered(int) { return 0; }
void kiln_socket_close(int socket) {
  later().add([socket] { kiln_socket_closed(socket, nullptr); });
}
void kiln_socket_later(int) {}
}

namespace {

std::shared_ptr<Socket> opened_socket(std::size_t message_bytes) {
  auto socket = Socket::open("ws://there", "there", {.message_bytes = message_bytes});
  socket->wait_until_open(10);
  return socket;
}
/// Whether the page takes a message of so many bytes, all of that value.
bool arrives(std::size_t bytes, int value) {
  std::byte* const place = kiln_socket_place(opened, bytes);
  if (!place) return false;
  std::fill_n(place, bytes, static_cast<std::byte>(value));
  kiln_socket_received(opened);
  return true;
}

TEST(BrowserSocket, GivesMessagesInTheirOrder) {
  const auto socket = opened_socket(1 << 20);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(arrives(static_cast<std::size_t>(i), i));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(socket->receive(), Message(i, static_cast<std::byte>(i)));
  socket->close();
  EXPECT_EQ(socket->receive(), std::nullopt);
}

TEST(BrowserSocket, EndsWhereMoreComesThanIsReceived) {
  const auto socket = opened_socket(1 << 20);
  int count = 0;
  while (count < 400 && arrives(1 << 20, count)) ++count;
  ASSERT_EQ(count, 256);
  for (int i = 0; i < count; ++i) EXPECT_EQ(socket->receive().value().at(0), static_cast<std::byte>(i));
  EXPECT_EQ(
      sentence([&] { (void)socket->receive(); }),
      "net: the connection with there is lost: it sends more than is received here: more than 268435456 bytes wait");
  socket->close();
}

TEST(BrowserSocket, EndsWhereMoreMessagesComeThanAreReceived) {
  const auto socket = opened_socket(1 << 20);
  int count = 0;
  while (count < 2 << 20 && arrives(0, 0)) ++count;
  ASSERT_EQ(count, 1 << 20);
  for (int i = 0; i < count; ++i) ASSERT_TRUE(socket->receive().value().empty());
  EXPECT_EQ(sentence([&] { (void)socket->receive(); }),
            "net: the connection with there is lost: it sends more than is received here: 1048576 messages wait");
  socket->close();
}

TEST(BrowserSocket, TakesAnyAmountThatIsReceived) {
  const auto socket = opened_socket(100 << 20);
  EXPECT_TRUE(arrives(100 << 20, 1));
  EXPECT_EQ(socket->receive().value().size(), std::size_t{100} << 20);
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(arrives(1 << 20, i));
    ASSERT_TRUE(socket->receive());
  }
  EXPECT_FALSE(arrives((100 << 20) + 1, 1));
  EXPECT_EQ(
      sentence([&] { (void)socket->receive(); }),
      "net: the connection with there is lost: it has sent a message of 104857601 bytes, and at most 104857600 are "
      "taken here");
  socket->close();
}

}  // namespace
}  // namespace kiln::net::browser
