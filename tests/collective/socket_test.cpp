// Ranks that are connected by sockets; here threads, which do not know it.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "kiln/collective/mesh.hpp"
#include "kiln/collective/socket_ranks.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "tests/support/own_loopback.hpp"

namespace kiln {
namespace {

Launch next_launch(int size) {
  static int port = 31'000;
  return {.size = size, .address = own_loopback(), .port = ++port};
}
Launch of_rank(int rank, Launch launch) {
  launch.rank = rank;
  return launch;
}

/// What each rank's thread ends with: a sentence, or nothing.
std::vector<std::string> each(int size, const std::function<void(const Ranks&)>& run, double timeout = 60) {
  const Launch launch = next_launch(size);
  std::vector<std::string> said(static_cast<std::size_t>(size));
  std::vector<std::jthread> threads;
  for (int rank = size - 1; rank >= 0; --rank)
    threads.emplace_back([&, rank] {
      try {
        run(socket_ranks(of_rank(rank, launch), {.timeout = timeout}));
      } catch (const Error& error) {
        said[static_cast<std::size_t>(rank)] = std::string(without_calls(error.message()));
      }
    });
  threads.clear();
  return said;
}

std::byte expected(int from, int to, std::size_t i) {
  return static_cast<std::byte>(31 * static_cast<std::size_t>(from) + 7 * static_cast<std::size_t>(to) + i % 251);
}

/// All send each other pieces of different sizes, none among them.
void exchange_all(const Ranks& ranks, std::size_t unit) {
  const auto size_of = [&](int from, int to) { return unit * static_cast<std::size_t>((from + 2 * to) % 3); };
  std::vector<std::vector<std::byte>> out, in;
  for (int other = 0; other < ranks->size(); ++other) {
    auto& piece = out.emplace_back(size_of(ranks->rank(), other));
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = expected(ranks->rank(), other, i);
    in.emplace_back(size_of(other, ranks->rank()));
  }
  ranks->exchange(text("pieces of ", unit), {out.begin(), out.end()}, {in.begin(), in.end()});
  for (int other = 0; other < ranks->size(); ++other)
    for (std::size_t i = 0; i < in[static_cast<std::size_t>(other)].size(); ++i)
      ASSERT_EQ(in[static_cast<std::size_t>(other)][i], expected(other, ranks->rank(), i)) << other << ' ' << i;
}

TEST(SocketRanks, CarryPiecesOfAnySize) {
  for (const int size : {1, 2, 3, 5}) {
    const auto said = each(size, [](const Ranks& ranks) {
      for (const std::size_t unit : {1, 1000, 3'000'000, 0, 17}) exchange_all(ranks, unit);
    });
    EXPECT_EQ(said, std::vector<std::string>(static_cast<std::size_t>(size)));
  }
}

TEST(SocketRanks, SayWhoHasLeftAndWhy) {
  const auto left = each(3, [](const Ranks& ranks) {
    exchange_all(ranks, 10);
    if (ranks->rank() == 1) return ranks->leave("the disk is full");
    exchange_all(ranks, 10);
  });
  EXPECT_EQ(left[1], "");
  for (const std::size_t rank : {0u, 2u})
    EXPECT_EQ(left[rank].find("pieces of 10: rank 1 has left: the disk is full"), 0u) << left[rank];

  const auto other =
      each(2, [](const Ranks& ranks) { exchange_all(ranks, static_cast<std::size_t>(5 + ranks->rank())); });
  EXPECT_EQ(other[0].find("pieces of 5: rank 1 has reached another call, pieces of 6"), 0u) << other[0];

  const auto late = each(
      2,
      [](const Ranks& ranks) {
        if (ranks->rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(2));
        exchange_all(ranks, 5);
      },
      0.2);
  EXPECT_EQ(late[0].find("pieces of 5: rank 1 has not arrived within 0.2"), 0u) << late[0];
  // It said that it came before it went.
  EXPECT_EQ(late[1].find("pieces of 5: rank 0 has left: it was in pieces of 5, to which rank 1 arrived too late"), 0u)
      << late[1];
}

TEST(SocketRanks, KnowWithoutWaitingWhoIsMissing) {
  const auto said = each(3, [](const Ranks& ranks) {
    exchange_all(ranks, 10);
    EXPECT_EQ(ranks->missing(), std::nullopt);
    exchange_all(ranks, 20);
    if (ranks->rank() == 1) return;
    std::optional<std::string> missing;
    while (!(missing = ranks->missing())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(missing->ends_with(" has left: it sends nothing any more")) << *missing;
  });
  EXPECT_EQ(said, std::vector<std::string>(3));
}

/// A connection with rank 0's port, made as soon as somebody listens there, and where something is said.
int disturbed(const Launch& launch, const std::string& words) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = ::inet_addr(launch.address.c_str());
  name.sin_port = htons(static_cast<std::uint16_t>(launch.port));
  for (int i = 0; i < 500; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) {
      EXPECT_EQ(::send(socket, words.data(), words.size(), MSG_NOSIGNAL), std::ssize(words));
      return socket;
    }
    ::close(socket);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "nobody listens at port " << launch.port;
  return -1;
}
/// The same, and waits until it is sent away.
void disturb(const Launch& launch, const std::string& words) {
  const int socket = disturbed(launch, words);
  ::shutdown(socket, SHUT_WR);
  char answer = 0;
  while (::recv(socket, &answer, 1, 0) > 0) {}
  ::close(socket);
}

TEST(SocketRanks, SendStrangersAway) {
  const Launch launch = next_launch(2);
  const auto come = [&](int rank) {
    return std::jthread([&, rank] { exchange_all(socket_ranks(of_rank(rank, launch), {.timeout = 60}), 1000); });
  };
  const auto first = come(0);
  disturb(launch, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  disturb(launch, "");
  disturb(launch, "kilnrank");  // and then nothing
  const auto second = come(1);
}

/// What a process says first that claims to be a rank.
std::string hello(std::int32_t rank, std::int32_t size) {
  std::string bytes = "kilnrank";
  bytes.append(reinterpret_cast<const char*>(&rank), sizeof rank);
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  return bytes + std::string(4, '\1');
}

// However many they are, whatever they say, and also where they claim to be a rank that is none.
TEST(SocketRanks, AreKeptByNoStranger) {
  const Launch launch = next_launch(3);
  const auto come = [&](int rank) {
    return std::jthread([&, rank] { exchange_all(socket_ranks(of_rank(rank, launch), {.timeout = 60}), 1000); });
  };
  struct Sockets : std::vector<int> {
    ~Sockets() {
      for (const int socket : *this) ::close(socket);
    }
  } open;  // until the ranks are done
  const auto first = come(0);
  for (const std::string& said : {std::string(), std::string("k"), std::string("kilnrank"), hello(7, 3), hello(1, 2),
                                  hello(-1, 3), hello(0, 3), std::string("kilnrant") + hello(1, 3).substr(8)})
    for (int i = 0; i < 12; ++i) open.push_back(disturbed(launch, said));
  const auto second = come(1);
  for (int i = 0; i < 80; ++i) open.push_back(disturbed(launch, ""));
  const auto third = come(2);
}

TEST(SocketRanks, AreThoseOfOneLaunch) {
  const Launch launch = next_launch(2);
  std::string said;
  std::jthread first([&] {
    try {
      const Mesh mesh(of_rank(0, launch), 1);
    } catch (const IoError& error) { said = error.message(); }
  });
  Launch larger = of_rank(1, launch);
  larger.size = 3;
  EXPECT_THROW(Mesh(larger, 1), IoError);
  first.join();
  EXPECT_EQ(said,
            text("ranks: rank 1 has not connected to port ", launch.port,
                 " in time; rank 1 of 3 came where rank 1 of 2 was expected: another launch has the same port, or "
                 "two processes the same rank"));
}

TEST(SocketRanks, AreNoMoreThanAProcessCanMeet) {
  Launch launch = next_launch(std::numeric_limits<int>::max());
  for (const int rank : {0, 1}) {
    std::string said;
    try {
      socket_ranks(of_rank(rank, launch), {.timeout = 1});
    } catch (const IoError& error) { said = error.message(); }
    EXPECT_EQ(said.find("ranks: a launch of 2147483647 needs as many connections a process"), 0u) << said;
  }
}

}  // namespace
}  // namespace kiln
