// Boost.Beast's own WebSockets as the other end of ours.
#include <gtest/gtest.h>

#include <utility>  // Boost.Asio 1.74 does not include it

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <string>
#include <thread>

#include "kiln/core/error/error.hpp"
#include "kiln/net/websocket.hpp"
#include "tests/net/net_support.hpp"

namespace kiln::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Beast = beast::websocket::stream<asio::ip::tcp::socket>;

Message received(Beast& socket) {
  beast::flat_buffer buffer;
  socket.read(buffer);
  EXPECT_TRUE(socket.got_binary());
  const auto* const begin = static_cast<const std::byte*>(buffer.cdata().data());
  return {begin, begin + buffer.size()};
}
void send(Beast& socket, const Message& message) {
  socket.binary(true);
  socket.write(asio::buffer(message.data(), message.size()));
}

TEST(Beast, IsServed) {
  const auto listener = listen({"127.0.0.1", 0}, {.path = "/path"});
  asio::io_context context;
  Beast client(context);
  client.next_layer().connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(listener->port())});
  client.handshake("localhost", "/path");
  const auto connection = listener->accept();
  std::thread echo([&] {
    while (const auto message = connection->receive()) connection->send(*message);
  });
  client.write_buffer_bytes(100);  // large messages go in many frames
  for (const bool divided : {true, false}) {
    client.auto_fragment(divided);
    for (const std::size_t size : {0u, 1u, 125u, 126u, 65'535u, 65'536u, 300'000u}) {
      send(client, pattern(size));
      EXPECT_EQ(received(client), pattern(size));
    }
  }
  bool answered = false;
  client.control_callback([&](beast::websocket::frame_type type, beast::string_view said) {
    answered = type == beast::websocket::frame_type::pong && said == "are you there";
  });
  client.ping("are you there");
  send(client, pattern(3));
  EXPECT_EQ(received(client), pattern(3));
  EXPECT_TRUE(answered);
  client.close(beast::websocket::close_code::normal);
  echo.join();
}

TEST(Beast, IsConnectedWith) {
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  std::thread server([&] {
    Beast socket(acceptor.accept());
    socket.auto_fragment(true);
    socket.write_buffer_bytes(100);
    socket.accept();
    boost::system::error_code error;
    for (int i = 0;; ++i) {
      beast::flat_buffer buffer;
      socket.read(buffer, error);
      if (error) break;
      if (i == 2) socket.ping("now");
      socket.binary(true);
      socket.write(buffer.cdata());
    }
    EXPECT_EQ(error, beast::websocket::error::closed) << error.message();
    EXPECT_EQ(socket.reason().code, beast::websocket::close_code::normal);
  });
  const auto connection = connect({"127.0.0.1", acceptor.local_endpoint().port()});
  for (const std::size_t size : {0u, 1u, 125u, 126u, 65'535u, 65'536u, 300'000u}) {
    connection->send(pattern(size));
    EXPECT_EQ(connection->receive(), pattern(size));
  }
  connection->close();
  server.join();
}

}  // namespace
}  // namespace kiln::net
