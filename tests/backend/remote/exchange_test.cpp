// Tickets: a value goes to the server that made its ticket, once, from whom the client has named, and within a time.
#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/ops/functions.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/backend/remote/raw_client.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using remote::Entry;
using remote::Frame;
using remote::Ticket;
using test::RawClient;

/// A connection that notes what was sent.
class Tapped final : public net::Connection {
 public:
  Tapped(std::unique_ptr<net::Connection> inner, std::vector<net::Message>& sent)
      : inner_(std::move(inner)), sent_(sent) {}
  void send(std::span<const std::byte> message) override {
    sent_.emplace_back(message.begin(), message.end());
    inner_->send(message);
  }
  std::optional<net::Message> receive() override { return inner_->receive(); }
  void close() noexcept override { inner_->close(); }
  std::string peer() const override { return inner_->peer(); }

 private:
  const std::unique_ptr<net::Connection> inner_;
  std::vector<net::Message>& sent_;
};

const Desc kFour{Shape{4}, DType::F32};

struct Tickets : testing::Test {
  remote::Host receiver{{Device::cpu()}, {.token = "the receiver's"}};
  remote::Host* leads_to = &receiver;
  std::vector<net::Message> sent;  // by the giver
  remote::Host giver{{Device::cpu()}, {.token = "the giver's", .dial = [this](const std::string&) {
                                         auto [here, there] = net::connected_pair();
                                         leads_to->attach(std::move(there));
                                         return std::make_unique<Tapped>(std::move(here), sent);
                                       }}};
  Device here = test::remote_device(giver, {.token = "the giver's"});

  bool was_sent(std::string_view words) const {
    return std::ranges::any_of(sent, [&](const net::Message& message) {
      return std::string_view(reinterpret_cast<const char*>(message.data()), message.size()).find(words) !=
             std::string_view::npos;
    });
  }

  /// A ticket of a session of the receiver's, whose client stays.
  Ticket ticket_of(RawClient& client, const Desc& desc = kFour) {
    client.hello({.token = "the receiver's"});
    client.work([&](wire::Writer& out) { test::write_expect(out, desc); });
    while (const auto message = client.receive()) {
      wire::Reader in("the server", *message);
      if (static_cast<Frame>(in.byte()) != Frame::Answer) continue;
      for (int i = 0; i < 4; ++i) (void)in.whole();  // Progress, and the request's number
      Ticket ticket;
      wire::read_field(in, ticket);
      return ticket;
    }
    return {};
  }

  /// What the giver's client is told when it has the value 0 sent.
  std::string given(const Ticket& ticket, const Desc& desc = kFour) {
    RawClient client(giver);
    client.hello({.token = "the giver's"});
    client.work([&](wire::Writer& out) {
      test::write_upload(out, desc, static_cast<std::size_t>(remote::bytes_of(desc)));
      remote::begin(out, Entry::Give), out.whole(1), out.whole(0);
      out.text("elsewhere");
      wire::write_field(out, ticket);
    });
    client.bye();
    return client.told();
  }
  std::string taken(RawClient& client, const Ticket& ticket) {
    client.work([&](wire::Writer& out) {
      remote::begin(out, Entry::Take);
      wire::write_desc(out, kFour);
      out.text(ticket.id);
    });
    client.bye();
    return client.told();
  }
};

TEST_F(Tickets, CarryAValueAndNoToken) {
  const Device there = test::remote_device(receiver, {.token = "the receiver's"});
  const Value x = full({300, 1000}, 3, here, DType::F32);
  const Value moved = to_device(x + 1, there);
  EXPECT_EQ(sum(moved).item(), 1'200'000);
  EXPECT_GT(sent.size(), 4u);
  EXPECT_FALSE(was_sent("the giver's") || was_sent("the receiver's"));
}

TEST_F(Tickets, AreGoodForOneValue) {
  RawClient client(receiver);
  const Ticket ticket = ticket_of(client);
  EXPECT_EQ(given(ticket), "");
  EXPECT_FALSE(was_sent(ticket.key));
  const std::string again = given(ticket);
  EXPECT_NE(
      again.find("goes on: the server elsewhere: the server has made no such ticket, or it was used before, or its "
                 "time is over"),
      std::string::npos)
      << again;
  EXPECT_EQ(taken(client, ticket), "");
}

TEST_F(Tickets, AreGoodAtTheServerThatMadeThem) {
  remote::Host third({Device::cpu()});
  RawClient client(receiver);
  const Ticket ticket = ticket_of(client);
  leads_to = &third;
  EXPECT_NE(given(ticket).find("has made no such ticket"), std::string::npos);
  EXPECT_EQ(sent.size(), 1u);  // a hello
  leads_to = &receiver;
  Ticket forged = ticket;
  forged.key.back() = forged.key.back() == '0' ? '1' : '0';
  // The receiver cannot prove itself by another key: nothing of the value has left.
  sent.clear();
  EXPECT_NE(given(forged).find("has not made the ticket of this value: the value is not sent to it"),
            std::string::npos);
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_EQ(given(ticket), "");
}

TEST_F(Tickets, WantTheKeyFromWhomeverShowsThem) {
  RawClient client(receiver);
  const Ticket ticket = ticket_of(client);
  RawClient thief(receiver);
  thief.hello({.ticket = ticket.id, .nonce = "n"});
  const auto offer = thief.receive();
  ASSERT_TRUE(offer);
  EXPECT_EQ(static_cast<Frame>(offer->front()), Frame::Offer);
  wire::Writer out;
  out.text("no proof");
  wire::write_desc(out, kFour);
  thief.send(out.take());
  EXPECT_NE(thief.told().find("does not have the ticket's key"), std::string::npos);
  EXPECT_EQ(given(ticket), "");  // it is still good
  EXPECT_EQ(taken(client, ticket), "");
}

TEST_F(Tickets, AreGoodForTheValueThatTheyDescribe) {
  RawClient client(receiver);
  const Ticket ticket = ticket_of(client);
  EXPECT_NE(given(ticket, {Shape{5}, DType::F32}).find("the value is another one than its ticket says"),
            std::string::npos);
  EXPECT_NE(taken(client, ticket).find("the session has no such ticket, or the value did not come in time"),
            std::string::npos);
}

TEST_F(Tickets, BelongToTheirSession) {
  RawClient client(receiver), other(receiver);
  const Ticket ticket = ticket_of(client);
  (void)ticket_of(other);
  EXPECT_EQ(given(ticket), "");
  EXPECT_NE(taken(other, ticket).find("goes on: the session has no such ticket"), std::string::npos);
  EXPECT_EQ(taken(client, ticket), "");
}

TEST_F(Tickets, EndWithTheirSessionAndInTime) {
  RawClient client(receiver);
  const Ticket ticket = ticket_of(client);
  client.bye();
  (void)client.told();  // until the server has closed
  EXPECT_NE(given(ticket).find("has made no such ticket"), std::string::npos);
  remote::Host hasty({Device::cpu()}, {.token = "the receiver's", .ticket = 0});
  RawClient late(hasty);
  leads_to = &hasty;
  EXPECT_NE(given(ticket_of(late)).find("its time is over"), std::string::npos);
}

TEST_F(Tickets, AreLimited) {
  remote::Host small({Device::cpu()}, {.token = "the receiver's", .limits = {.memory = 1000}});
  RawClient client(small);
  client.hello({.token = "the receiver's"});
  const auto expects = [](const Desc& desc, int count) {
    return [=](wire::Writer& out) {
      for (int i = 0; i < count; ++i) test::write_expect(out, desc);
    };
  };
  client.work(expects({Shape{100}, DType::F32}, 3));
  client.bye();
  EXPECT_EQ(client.told(), "goes on: values of 1.1 KiB would be on their way to a session that may hold 1000 bytes");
  RawClient many(receiver);
  many.hello({.token = "the receiver's"});
  many.work(expects({Shape{}, DType::F32}, 65));
  many.bye();
  EXPECT_EQ(many.told(), "goes on: too many values are on their way to this server: wait for some of them");
}

}  // namespace
}  // namespace kiln
