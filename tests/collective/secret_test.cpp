// Ranks that ask each other for a secret, with TLS and without; here threads, which do not know it.
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kiln/collective/mesh.hpp"
#include "kiln/collective/socket_ranks.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/net/stream.hpp"
#include "kiln/net/tls.hpp"
#include "tests/support/own_loopback.hpp"

namespace kiln {
namespace {

const std::string kSecret = "0123456789abcdef0123456789abcdef";

Launch launch_of(int size, bool encrypted) {
  static int port = 32'000;
  return {.size = size, .address = own_loopback(), .port = ++port, .secret = kSecret, .encrypted = encrypted};
}
Launch of_rank(int rank, Launch launch) {
  launch.rank = rank;
  return launch;
}

/// The sentence in which a call ends, or nothing.
std::string said_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) { return std::string(without_calls(error.message())); }
  return "";
}

/// All send each other pieces of different sizes, whose bytes say from whom and to whom.
void exchange_all(const Ranks& ranks, std::size_t unit) {
  std::vector<std::vector<std::byte>> out, in;
  for (int other = 0; other < ranks->size(); ++other) {
    const auto size = [&](int from, int to) { return unit * static_cast<std::size_t>((from + 2 * to) % 3); };
    out.emplace_back(size(ranks->rank(), other), static_cast<std::byte>(16 * ranks->rank() + other));
    in.emplace_back(size(other, ranks->rank()));
  }
  ranks->exchange(text("pieces of ", unit), {out.begin(), out.end()}, {in.begin(), in.end()});
  for (int other = 0; other < ranks->size(); ++other)
    for (const std::byte byte : in[static_cast<std::size_t>(other)])
      ASSERT_EQ(byte, static_cast<std::byte>(16 * other + ranks->rank()));
}

class SecretRanks : public testing::TestWithParam<bool> {
 protected:
  Launch next(int size) const { return launch_of(size, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Ranks, SecretRanks, testing::Bool(),
                         [](const auto& info) { return info.param ? "overTls" : "plain"; });

/// What each rank's thread ends with.
std::vector<std::string> each(const Launch& launch, const std::function<void(const Ranks&)>& run, double timeout = 60) {
  std::vector<std::string> said(static_cast<std::size_t>(launch.size));
  std::vector<std::jthread> threads;
  for (int rank = launch.size - 1; rank >= 0; --rank)
    threads.emplace_back([&, rank] {
      said[static_cast<std::size_t>(rank)] =
          said_by([&] { run(socket_ranks(of_rank(rank, launch), {.timeout = timeout})); });
    });
  threads.clear();
  return said;
}

TEST_P(SecretRanks, CarryPiecesOfAnySize) {
  for (const int size : {2, 4}) {
    const auto said = each(next(size), [](const Ranks& ranks) {
      for (const std::size_t unit : {1, 1000, 3'000'000, 0, 17}) exchange_all(ranks, unit);
    });
    EXPECT_EQ(said, std::vector<std::string>(static_cast<std::size_t>(size)));
  }
}

TEST_P(SecretRanks, SayWhoHasLeftAndWhoIsLate) {
  const auto left = each(next(3), [](const Ranks& ranks) {
    exchange_all(ranks, 10);
    if (ranks->rank() == 1) return ranks->leave("the disk is full");
    exchange_all(ranks, 10);
  });
  for (const std::size_t rank : {0u, 2u})
    EXPECT_EQ(left[rank].find("pieces of 10: rank 1 has left: the disk is full"), 0u) << left[rank];
  const auto late = each(
      next(2),
      [](const Ranks& ranks) {
        if (ranks->rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(1));
        exchange_all(ranks, 5);
      },
      0.2);
  EXPECT_EQ(late[0].find("pieces of 5: rank 1 has not arrived within 0.2"), 0u) << late[0];
  EXPECT_EQ(late[1].find("pieces of 5: rank 0 has left: it was in pieces of 5, to which rank 1 arrived too late"), 0u)
      << late[1];
}

TEST_P(SecretRanks, TurnAwayWhoDoesNotKnowIt) {
  const Launch launch = next(2);
  std::jthread first([&] { exchange_all(socket_ranks(of_rank(0, launch)), 1000); });
  Launch wrong = of_rank(1, launch), other_way = of_rank(1, launch), without = of_rank(1, launch);
  wrong.secret[3] = 'x';
  other_way.encrypted = !launch.encrypted;
  without.secret.clear();
  const std::string cause = "do not agree on their secret", remedy = "the same KILN_RANK_SECRET and KILN_RANK_TLS";
  for (const Launch& stranger : {wrong, other_way}) {
    const std::string said = said_by([&] { const Mesh mesh(stranger, 3); });  // one comes again until then
    EXPECT_NE(said.find(cause), std::string::npos) << said;
    EXPECT_NE(said.find(remedy), std::string::npos) << said;
  }
  EXPECT_NE(said_by([&] { const Mesh mesh(without, 30); }), "");
  exchange_all(socket_ranks(of_rank(1, launch)), 1000);  // and the one that was missing comes
}

TEST_P(SecretRanks, SayThatSomebodyCameWithAnotherSecret) {
  const Launch launch = next(2);
  std::string said;
  std::jthread first([&] { said = said_by([&] { const Mesh mesh(of_rank(0, launch), 1); }); });
  Launch wrong = of_rank(1, launch);
  wrong.secret += 'x';
  EXPECT_NE(said_by([&] { const Mesh mesh(wrong, 30); }), "");
  first.join();
  EXPECT_NE(said.find("rank 1 has not connected"), std::string::npos) << said;
  EXPECT_NE(said.find(" came with another secret"), std::string::npos) << said;
}

net::Socket connected(const Launch& launch) {
  for (;;) {
    try {
      return net::tcp_connect({launch.address, launch.port}, net::Deadline(30));
    } catch (const IoError&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
  }
}

TEST_P(SecretRanks, AreKeptByNoStranger) {
  const Launch launch = next(2);
  std::jthread first([&] { exchange_all(socket_ranks(of_rank(0, launch)), 1000); });
  std::vector<net::Socket> open;
  std::string hello = "kilnauth";
  hello += std::string("\1\0\0\0\2\0\0\0\1\1\0\0", 12);
  for (const std::string& said : {std::string(), std::string("k"), hello, hello + std::string(32, 'n'),
                                  hello + std::string(64, 'n'), std::string("\x16\x03\x01\x00\xff", 5)})
    for (int i = 0; i < 15; ++i) {
      open.push_back(connected(launch));
      (void)::send(open.back().get(), said.data(), said.size(), MSG_NOSIGNAL);
    }
  exchange_all(socket_ranks(of_rank(1, launch)), 1000);
}

/// Passes on what two streams say to each other.
void relay(net::Stream& one, net::Stream& other) {
  const auto pass = [](net::Stream& from, net::Stream& to) {
    try {
      std::array<std::byte, 4096> place;
      while (const std::size_t got = net::read_some(from, place, net::Deadline(30)))
        net::write_all(to, std::span(place).first(got), 30);
    } catch (const IoError&) {  // an end has gone
    }
    from.shut();
    to.shut();
  };
  std::jthread back([&] { pass(other, one); });
  pass(one, other);
}

TEST_P(SecretRanks, ComeAgainToOneThatIsAskedByTooMany) {
  const Launch launch = next(2);
  Launch seen = of_rank(1, launch);
  const net::Socket listening = net::tcp_listen({launch.address, 0});
  seen.port = net::own_address(listening.get()).port;
  std::jthread middle([&] {
    for (int i = 0; i < 3; ++i) {
      net::wait_for(listening.get(), POLLIN, net::Deadline(30));
      net::Socket socket(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK));
      if (i < 2) continue;  // which ends the connection
      const auto here = net::tcp_stream(std::move(socket), "rank 1");
      const auto there = net::tcp_stream(connected(launch), "rank 0");
      relay(*here, *there);
    }
  });
  std::jthread first([&] { exchange_all(socket_ranks(of_rank(0, launch)), 1000); });
  exchange_all(socket_ranks(seen), 1000);
}

// Somebody in the middle speaks TLS with both ends and passes on all that they say, the proofs too.
TEST(RanksOverTls, TrustNobodyInTheMiddle) {
  const Launch launch = launch_of(2, true);
  Launch seen = of_rank(1, launch);
  const net::Socket listening = net::tcp_listen({launch.address, 0});
  seen.port = net::own_address(listening.get()).port;
  std::jthread middle([&] {
    net::wait_for(listening.get(), POLLIN, net::Deadline(30));
    net::Socket socket(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK));
    const auto here = net::TlsContext::server_of_now()->over(std::move(socket), "rank 1");
    const auto there = net::TlsContext::client_of_all()->over(connected(launch), "rank 0");
    net::shake_hands(*here, net::Deadline(30));
    net::shake_hands(*there, net::Deadline(30));
    relay(*here, *there);
  });
  std::string said;
  std::jthread first([&] { said = said_by([&] { const Mesh mesh(of_rank(0, launch), 2); }); });
  const std::string other = said_by([&] { const Mesh mesh(seen, 30); });
  EXPECT_NE(other.find("do not agree on their secret"), std::string::npos) << other;
  first.join();
  EXPECT_NE(said.find("came with another secret"), std::string::npos) << said;
}

TEST(RanksWithSecrets, RefuseOneThatCanBeGuessed) {
  Launch launch = launch_of(2, true);
  launch.secret = "password";
  EXPECT_NE(said_by([&] { socket_ranks(launch); }).find("a secret of 8 characters can be guessed"), std::string::npos);
}

TEST(RanksWithSecrets, ReadThemFromTheEnvironment) {
  ::setenv("KILN_RANK_SECRET", kSecret.c_str(), 1);
  EXPECT_EQ(Launch::from_environment().secret, kSecret);
  EXPECT_TRUE(Launch::from_environment().encrypted);
  ::setenv("KILN_RANK_TLS", "0", 1);
  EXPECT_FALSE(Launch::from_environment().encrypted);
  ::setenv("KILN_RANK_TLS", "yes", 1);
  EXPECT_NE(said_by([] { Launch::from_environment(); }).find("KILN_RANK_TLS must be 0 or 1, got yes"),
            std::string::npos);
  ::setenv("KILN_RANK_TLS", "1", 1);
  ::unsetenv("KILN_RANK_SECRET");
  EXPECT_NE(said_by([] { Launch::from_environment(); }).find("KILN_RANK_TLS=1 without a secret"), std::string::npos);
  ::unsetenv("KILN_RANK_TLS");
}

}  // namespace
}  // namespace kiln
