// WebSocket frames written by hand (RFC 6455, 5), right and wrong ones, cut at every place.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/net/crypto.hpp"
#include "kiln/net/websocket.hpp"
#include "tests/net/net_support.hpp"

namespace kiln::net {
namespace {

using namespace std::string_literals;

const std::string kHandshake =
    "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
// "Hello", masked: the example of RFC 6455, 5.7.
const std::string kHello = "\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s;

Message bytes(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

/// What a server's end receives of bytes after the handshake: messages, and the error or the end.
std::vector<std::string> received(WebSocketListener& listener, const std::string& frames,
                                  std::string* answer = nullptr) {
  Raw client(listener.port(), kHandshake + frames);
  client.finish();
  std::vector<std::string> all;
  {
    const auto connection = listener.accept();
    try {
      while (const auto message = connection->receive())
        all.emplace_back(reinterpret_cast<const char*>(message->data()), message->size());
      all.emplace_back("closed");
    } catch (const IoError& error) {
      const std::string said(error.message());
      all.push_back(said.find(" is lost") != said.npos ? "lost" : said.substr(said.find(" has ") + 5));
    }
  }
  if (answer) {
    client.read_to("\r\n\r\n");
    *answer = client.read_all();
  }
  return all;
}

using Said = std::vector<std::string>;

TEST(Frames, AreReadAsTheStandardSays) {
  const auto listener = listen({"127.0.0.1", 0}, {.limits = {.message_bytes = 1000}});
  std::string answer;
  EXPECT_EQ(received(*listener, kHello + "\x88\x80\1\2\3\4"s, &answer), (Said{"Hello", "closed"}));
  EXPECT_EQ(answer, "\x88\x02\x03\xe8");  // closes as well: 1000
  // In three parts, with a ping and a pong between them; the mask is nought.
  EXPECT_EQ(
      received(*listener, "\x02\x82\0\0\0\0He\x89\x81\0\0\0\0?\x00\x80\0\0\0\0\x8a\x80\0\0\0\0\x80\x83\0\0\0\0llo"s,
               &answer),
      (Said{"Hello", "lost"}));
  EXPECT_EQ(answer.substr(0, 3), "\x8a\x01?");
  // Lengths of two bytes and of eight.
  EXPECT_EQ(received(*listener, "\x82\xfe\0\x7e\0\0\0\0"s + std::string(126, 'a')),
            (Said{std::string(126, 'a'), "lost"}));
  EXPECT_EQ(received(*listener, "\x88\x87\0\0\0\0\x03\xf1never"s),
            (Said{"closed the connection with code 1009: never"}));
  EXPECT_EQ(received(*listener, "\x88\x82\0\0\0\0\x03\xe9"s), (Said{"closed"}));  // going away
}

TEST(Frames, ThatNoClientMaySendEndTheConnection) {
  const auto listener = listen({"127.0.0.1", 0}, {.limits = {.message_bytes = 1000}});
  struct Wrong {
    std::string frame, said;
    char code;  // 1000 + code is in the answer
  };
  const std::vector<Wrong> all = {
      {"\x82\x05Hello", "sent a frame without a mask", 2},
      {"\xc2\x80\0\0\0\0"s, "sent a frame of an extension", 2},
      {"\x83\x80\0\0\0\0"s, "sent a frame of an unknown kind", 2},
      {"\x8b\x80\0\0\0\0"s, "sent a frame of an unknown kind", 2},
      {"\x09\x80\0\0\0\0"s, "sent a long or divided control frame", 2},
      {"\x89\xfe\0\x7e\0\0\0\0"s, "sent a long or divided control frame", 2},
      {"\x80\x80\0\0\0\0"s, "sent a part of a message that does not follow", 2},
      {"\x02\x80\0\0\0\0\x82\x80\0\0\0\0"s, "sent a part of a message that does not follow", 2},
      {"\x81\x80\0\0\0\0"s, "sent a text message", 3},
      {"\x82\xfe\0\x05\0\0\0\0Hello"s, "sent a length that is not written as it must be", 2},
      {"\x82\xff\0\0\0\0\0\0\0\x05\0\0\0\0Hello"s, "sent a length that is not written as it must be", 2},
      {"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"s, "sent a length that is not written as it must be", 2},
      {"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"s, "sent a message that is longer than the 1000 bytes", 9},
      {"\x02\xfe\x03\xe8\0\0\0\0"s + std::string(1000, 'x') + "\x80\x81\0\0\0\0x"s, "sent a message that is longer", 9},
      {"\x88\x81\0\0\0\0x"s, "sent a last frame of one byte", 2},
  };
  for (const Wrong& wrong : all) {
    std::string answer;
    const Said said = received(*listener, wrong.frame, &answer);
    ASSERT_EQ(said.size(), 1u) << wrong.said;
    EXPECT_EQ(said[0].substr(0, wrong.said.size()), wrong.said);
    EXPECT_EQ(answer[0], '\x88') << wrong.said;
    const int code = static_cast<unsigned char>(answer[2]) << 8 | static_cast<unsigned char>(answer[3]);
    EXPECT_EQ(code, 1000 + wrong.code) << wrong.said;
  }
}

TEST(Frames, CutAtAnyPlaceAreALostConnection) {
  const auto listener = listen({"127.0.0.1", 0});
  const std::string frames = kHello + "\x82\xfe\0\x7e\0\0\0\0"s + std::string(126, 'a');
  for (std::size_t size = 0; size < frames.size(); ++size) {
    const Said expected = size < kHello.size() ? Said{"lost"} : Said{"Hello", "lost"};
    EXPECT_EQ(received(*listener, frames.substr(0, size)), expected) << size;
  }
}

TEST(Handshake, CutAtAnyPlaceHoldsUpNobody) {
  const auto listener = listen({"127.0.0.1", 0});
  for (std::size_t size = 0; size < kHandshake.size(); ++size) {
    Raw client(listener->port(), std::string_view(kHandshake).substr(0, size));
    client.finish();
    const std::string said = client.read_all();
    EXPECT_TRUE(said.empty() || said.starts_with("HTTP/1.1 400")) << size << said;
  }
  EXPECT_EQ(received(*listener, kHello), (Said{"Hello", "lost"}));
}

TEST(Handshake, AnAnswerCutAtAnyPlaceIsAnError) {
  const std::string answer =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
      "x\r\n\r\n";
  std::size_t size = 0;
  const Peer peer([&](int client) {
    (void)::send(client, answer.data(), size, MSG_NOSIGNAL);
    ::shutdown(client, SHUT_WR);
    return "";
  });
  for (; size <= answer.size(); ++size) EXPECT_THROW(connect({"127.0.0.1", peer.port()}), IoError) << size;
}

/// What a client makes of a server's bytes after a right answer to its handshake.
std::string heard(const std::string& frames, const Limits& limits = {}) {
  const Peer peer([&](int client) {
    std::string request;
    char letter = 0;
    while (!request.ends_with("\r\n\r\n") && ::recv(client, &letter, 1, 0) == 1) request += letter;
    const std::string name = "Sec-WebSocket-Key: ";
    const std::size_t at = request.find(name) + name.size();
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
           websocket_accept(request.substr(at, request.find("\r\n", at) - at)) + "\r\n\r\n" + frames;
  });
  const auto connection = connect({"127.0.0.1", peer.port()}, {.limits = limits});
  const std::string error = sentence([&] {
    const auto message = connection->receive();
    if (message)
      fail<IoError>("received ", std::string_view(reinterpret_cast<const char*>(message->data()), message->size()));
  });
  return error;
}

TEST(Frames, OfServersAreCheckedToo) {
  EXPECT_EQ(heard("\x82\x05Hello"), "received Hello");
  EXPECT_NE(heard(kHello).find("a frame with a mask"), std::string::npos);
  EXPECT_NE(heard("\x82\x7f\0\0\0\1\0\0\0\0"s).find("longer than the 1073741824 bytes"), std::string::npos);
  EXPECT_NE(heard("\x82\x0bHello again"s, {.message_bytes = 10}).find("longer than the 10 bytes"), std::string::npos);
}

TEST(Secrets, AreComparedAndProved) {
  EXPECT_TRUE(constant_time_equal("abc", "abc"));
  EXPECT_FALSE(constant_time_equal("abc", "abd"));
  EXPECT_FALSE(constant_time_equal("abc", "ab"));
  // RFC 4231, test cases 1 and 2, and Python's hmac.new(b"", b"", "sha256").
  const auto hex = [](const Digest& digest) {
    std::string all;
    for (const std::byte byte : digest) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", std::to_integer<unsigned>(byte));
      all += two;
    }
    return all;
  };
  EXPECT_EQ(hex(hmac_sha256(Message(20, std::byte{0x0b}), bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256({}, {})), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  EXPECT_EQ(random_hex(16).size(), 32u);
  EXPECT_NE(random_hex(16), random_hex(16));
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{// RFC 4648, 10
                                                                                       {"", ""},
                                                                                       {"f", "Zg=="},
                                                                                       {"fo", "Zm8="},
                                                                                       {"foo", "Zm9v"},
                                                                                       {"foob", "Zm9vYg=="},
                                                                                       {"foobar", "Zm9vYmFy"}})
    EXPECT_EQ(base64(bytes(text)), expected);
}

}  // namespace
}  // namespace kiln::net
