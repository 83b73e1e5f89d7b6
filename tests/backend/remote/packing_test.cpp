// Messages in fewer bytes: what comes back, and what is refused.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "kiln/backend/remote/packing.hpp"
#include "kiln/backend/remote/protocol.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/backend/remote/raw_client.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using remote::is_packed;
using remote::packed;
using remote::unpacked;

net::Message joined(const net::Message& begin, const net::Message& end) {
  net::Message whole = begin;
  whole.insert(whole.end(), end.begin(), end.end());
  return whole;
}
/// Floats that grow: their highest bytes hardly change.
net::Message growing(std::size_t count) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(1000 + static_cast<float>(i) / 64);
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}
net::Message random_bytes(std::size_t count) {
  std::mt19937 random(3);
  net::Message bytes(count);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

/// Floats that have so many values, each as often as another, in no order.
net::Message graded(std::size_t count, std::size_t values) {
  std::mt19937 random(7);
  std::vector<float> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back((static_cast<float>(i < values ? i : random() % values) / 255 - 0.1307f) / 0.3081f);
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

TEST(Packing, GivesBackTheSameInFewerBytes) {
  const net::Message begin(9, std::byte{1});
  for (const std::size_t element : {1u, 2u, 4u, 8u, 16u})
    for (const std::size_t cut : {0u, 1u, 3u}) {
      net::Message end = growing(50'000);
      end.resize(end.size() - cut);
      const auto fewer = packed(begin, end, element);
      ASSERT_TRUE(is_packed(fewer)) << element;
      EXPECT_LT(fewer.size(), end.size() * 7 / 8);
      EXPECT_EQ(unpacked(fewer, 1 << 20), joined(begin, end)) << element << ' ' << cut;
    }
  EXPECT_LT(packed(begin, growing(50'000), 4).size(), packed(begin, growing(50'000), 1).size() * 3 / 4);
  EXPECT_TRUE(packed(begin, random_bytes(100'000), 4).empty());  // they have no fewer
  EXPECT_TRUE(packed(random_bytes(2000), {}, 1).empty());
  const net::Message pictures = graded(50'000, 256);  // nothing about them but that they have 256 values
  EXPECT_LT(packed(begin, pictures, 4).size(), pictures.size() / 4 + 2000);
  EXPECT_GT(packed(begin, graded(50'000, 257), 4).size(), pictures.size() / 3);
  for (const std::size_t element : {2u, 4u, 8u})
    for (const std::size_t cut : {0u, 1u, 3u})
      for (const std::size_t values : {1u, 2u, 256u, 257u}) {
        net::Message end = graded(5000, values);
        end.resize(end.size() - cut);
        const net::Message fewer = packed(begin, end, element);
        ASSERT_TRUE(!fewer.empty() || (element != 4 && values > 2)) << values;  // halves and pairs are more than 256
        if (fewer.empty()) continue;
        EXPECT_EQ(unpacked(fewer, 1 << 20), joined(begin, end)) << element << ' ' << cut;
      }
  const net::Message calls(5000, std::byte{7});
  EXPECT_EQ(unpacked(packed(calls, {}, 1), 5000), calls);
}

// Numbers whose products with the hash's factor are small all meet in the first place.
TEST(Packing, GivesUpValuesThatMeetInOnePlace) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;
  std::uint64_t inverse = kFactor;
  for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
  ASSERT_EQ(kFactor * inverse, 1u);
  std::mt19937 random(5);
  std::vector<std::uint64_t> numbers(50'000);
  for (std::uint64_t& number : numbers) number = inverse * (random() % 256);
  EXPECT_TRUE(packed({}, std::as_bytes(std::span(numbers)), 8).empty());
}

TEST(Packing, RefusesWhatNobodyPacks) {
  const net::Message fewer = packed({}, net::Message(100'000, std::byte{2}), 4);
  const auto said = [](const net::Message& message, std::size_t most = 1 << 20) {
    return sentence_of([&] { (void)unpacked(message, most); });
  };
  EXPECT_EQ(said(fewer), "");
  EXPECT_NE(said(fewer, 99'999).find("more than 99999 bytes"), std::string::npos);
  for (std::size_t size = 1; size < fewer.size(); ++size)
    EXPECT_NE(said({fewer.begin(), fewer.begin() + static_cast<std::ptrdiff_t>(size)}), "") << size;
  // What is packed are one value of 4 bytes and 25,000 numbers.
  const auto made = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t element, std::uint64_t values = 1) {
    wire::Writer out;
    remote::begin(out, remote::Frame::Packed);
    for (const std::uint64_t each : {begin, end, element, values}) out.whole(each);
    const auto bytes = out.take();
    net::Message message = joined(bytes, {fewer.begin() + 7, fewer.end()});
    return message;
  };
  EXPECT_EQ(said(made(0, 100'000, 4)), "");
  EXPECT_NE(said(made(0, 100'001, 4)).find("does not unpack to 25005 bytes"), std::string::npos);
  EXPECT_NE(said(made(0, 99'996, 4)).find("does not unpack to 25003 bytes"), std::string::npos);
  EXPECT_EQ(said(made(0, 25'004, 4, 0)), "");
  EXPECT_NE(said(made(0, 25'003, 4, 0)).find("does not unpack to 25003 bytes"), std::string::npos);
  EXPECT_NE(said(made(0, 100'000, 4, 257)).find("257 values of 25000 elements"), std::string::npos);
  EXPECT_NE(said(made(0, 4, 4, 2)).find("2 values of 1 elements"), std::string::npos);
  EXPECT_NE(said(made(0, 100'000, 16)).find("1 values of 6250 elements"), std::string::npos);
  EXPECT_NE(said(made(0, 100'000, 4, ~std::uint64_t{0})).find("values of 25000 elements"), std::string::npos);
  EXPECT_NE(said(made(25'000, 4, 4, 1)).find("does not unpack to 25005 bytes"), std::string::npos);
  // The second half of that value, 2 and 2, are numbers then.
  EXPECT_NE(said(made(0, 50'004, 2, 1)).find("a value that is not there"), std::string::npos);
  EXPECT_NE(said(made(0, ~std::uint64_t{0}, 4)).find("more than"), std::string::npos);
  EXPECT_NE(said(made(~std::uint64_t{0}, 2, 4)).find("more than"), std::string::npos);
  EXPECT_NE(said(made(0, 100'000, 0)).find("elements of 0 bytes"), std::string::npos);
  EXPECT_NE(said(made(0, 100'000, 17)).find("elements of 17 bytes"), std::string::npos);
  EXPECT_NE(said(packed({}, net::Message(5000, std::byte{static_cast<std::uint8_t>(remote::Frame::Packed)}), 1))
                .find("packed twice"),
            std::string::npos);
}

// A client finds out that packing pays while it sends a tensor, between two of its pieces.
TEST(Packing, MayBeginWithinAnUpload) {
  remote::Host host{{Device::cpu()}};
  test::RawClient client(host);
  client.hello();
  const auto half = [](wire::Writer& out) {
    out.whole(4);
    for (int i = 0; i < 4; ++i) out.byte(0);
  };
  client.work([&](wire::Writer& out) {
    remote::begin(out, remote::Entry::Upload);
    wire::write_desc(out, {Shape{2}, DType::F32});
    half(out);
  });
  client.work([](wire::Writer& out) { remote::begin(out, remote::Entry::Pack); });
  client.work([&](wire::Writer& out) {
    remote::begin(out, remote::Entry::Piece);
    half(out);
    remote::begin(out, remote::Entry::Read), out.whole(1), out.whole(1), out.whole(0);
  });
  client.bye();
  EXPECT_EQ(client.told(), "");
}

TEST(Packing, MakesUploadsAndReadsShorter) {
  remote::Host host{{Device::cpu()}};
  const auto bytes_for = [&](remote::Compression compression, const TensorData& data) {
    const Device device = test::remote_device(host, {.compression = compression});
    const Value x = from_data(data, device);
    EXPECT_EQ(difference((x + 1).data(), (from_data(data, Device::cpu()) + 1).data(), {0, 0}), "");
    const remote::ClientCounters counters = test::remote_of(device).counters();
    // The server counts the same bytes, those of the link; what it has just sent is counted a moment later.
    const auto differs = [&] {
      const remote::SessionRow row = host.counters().sessions.back();
      const auto away = [](std::int64_t counted, std::uint64_t known) {
        return std::abs(counted - static_cast<std::int64_t>(known));
      };
      return std::max(away(row.bytes_in, counters.bytes_sent), away(row.bytes_out, counters.bytes_received));
    };
    for (int i = 0; i < 400 && differs() > 1000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_LE(differs(), 1000);  // the first messages
    return std::pair(counters.bytes_sent, counters.bytes_received);
  };
  TensorData even(Shape{300'000}, DType::F32), noise(Shape{300'000}, DType::F32);
  std::mt19937 random(5);
  for (std::size_t i = 0; i < 300'000; ++i) {
    even.as<float>()[i] = static_cast<float>(i % 100);
    noise.as<float>()[i] = static_cast<float>(random());
  }
  const auto [sent, received] = bytes_for(remote::Compression::Never, even);
  EXPECT_GT(sent, 1'200'000u);
  EXPECT_GT(received, 1'200'000u);
  const auto [fewer_sent, fewer_received] = bytes_for(remote::Compression::Always, even);
  EXPECT_LT(fewer_sent, sent / 4);
  EXPECT_LT(fewer_received, received / 4);
  EXPECT_LT(bytes_for(remote::Compression::Always, noise).first, 1'210'000u);
  EXPECT_GT(bytes_for(remote::Compression::Automatic, even).first, 1'200'000u);  // it stays on this machine
}

/// A connection to another machine that carries 26 MB/s at most.
class Slow final : public net::Connection {
 public:
  explicit Slow(std::unique_ptr<net::Connection> inner) : inner_(std::move(inner)) {}
  void send(std::span<const std::byte> message) override {
    if (message.size() >= remote::kPiece) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    inner_->send(message);
  }
  std::optional<net::Message> receive() override { return inner_->receive(); }
  void close() noexcept override { inner_->close(); }
  std::string peer() const override { return "192.0.2.1:3000"; }

 private:
  const std::unique_ptr<net::Connection> inner_;
};

TEST(Packing, BeginsByItselfWhereALinkIsSlow) {
  remote::Host host{{Device::cpu()}};
  TensorData even(Shape{300'000}, DType::F32);
  for (std::size_t i = 0; i < 300'000; ++i) even.as<float>()[i] = static_cast<float>(i % 100);
  const test::Dialer dialer{&host};
  const auto bytes_for = [&](remote::Compression compression) {
    const Device device(make_ref<remote::Remote>([dialer] { return std::make_unique<Slow>(dialer()); },
                                                 remote::ClientSettings{.compression = compression}));
    for (int i = 0; i < 5; ++i) {
      const Value x = from_data(even, device);
      device.sync();  // what is confirmed tells the rate
      EXPECT_EQ(difference(x.data(), even, {0, 0}), "");
    }
    const remote::ClientCounters counters = test::remote_of(device).counters();
    return std::pair(counters.bytes_sent, counters.bytes_received);
  };
  const auto [sent, received] = bytes_for(remote::ClientSettings().compression);
  EXPECT_GT(sent, 1'200'000u);  // the first one shows the rate
  EXPECT_LT(sent, 4'000'000u);
  EXPECT_LT(received, 4'000'000u);
  EXPECT_GT(bytes_for(remote::Compression::Never).first, 6'000'000u);
}

}  // namespace
}  // namespace kiln
