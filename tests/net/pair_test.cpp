#include <gtest/gtest.h>

#include <thread>

#include "kiln/core/error/error.hpp"
#include "kiln/net/connection.hpp"

namespace kiln::net {
namespace {

Message bytes(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

TEST(ConnectedPair, DeliversMessagesWholeAndInOrder) {
  auto [here, there] = connected_pair();
  here->send(bytes("one"));
  here->send({});
  there->send(bytes("back"));
  EXPECT_EQ(there->receive(), bytes("one"));
  EXPECT_EQ(there->receive(), Message{});
  EXPECT_EQ(here->receive(), bytes("back"));
}

TEST(ConnectedPair, SenderWaitsForASlowReader) {
  auto [here, there] = connected_pair(8);
  std::thread sender([&] {
    for (int i = 0; i < 100; ++i) here->send(bytes("four" + std::to_string(i % 10)));
    here->close();
  });
  int count = 0;
  while (const auto message = there->receive()) EXPECT_EQ(*message, bytes("four" + std::to_string(count++ % 10)));
  EXPECT_EQ(count, 100);
  sender.join();
}

TEST(ConnectedPair, ClosingEndsWhoeverWaits) {
  auto [here, there] = connected_pair(1);
  std::thread reader([&] { EXPECT_EQ(here->receive(), std::nullopt); });
  there->close();
  reader.join();
  EXPECT_THROW(here->send(bytes("late")), IoError);
}

}  // namespace
}  // namespace kiln::net
