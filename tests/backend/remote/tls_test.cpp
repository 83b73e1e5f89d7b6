// The remote device over TLS: whom a client trusts, ends that speak something else, and a network that changes bytes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kiln/backend/remote/address.hpp"
#include "kiln/backend/remote/hosting.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/net/certificates.hpp"
#include "tests/support/faulty_proxy.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

class RemoteTls : public testing::Test {
 protected:
  static void SetUpTestSuite() { made_ = new net::Certificates(); }
  static void TearDownTestSuite() { delete std::exchange(made_, nullptr); }
  ~RemoteTls() override { ::unsetenv("KILN_REMOTE_AUTHORITY"); }

  static std::unique_ptr<Hosting> hosting(const net::TlsOptions& tls) {
    return host(Device::cpu(), {.port = 0, .certificate = tls.certificate, .key = tls.key});
  }
  static Device device_at(const std::string& address) {
    return Device(make_ref<remote::Remote>(remote::dial_of(address), remote::ClientSettings{.window = 20}));
  }
  static void trust(const std::string& file) { ::setenv("KILN_REMOTE_AUTHORITY", file.c_str(), 1); }
  static std::string refusal(const std::string& address) {
    return sentence_of([&] { (void)full({2}, 1, device_at(address), DType::F32).data(); });
  }
  static bool has(const std::string& said, const char* words) { return said.find(words) != std::string::npos; }

  static net::Certificates* made_;
};
net::Certificates* RemoteTls::made_ = nullptr;

TEST_F(RemoteTls, ARightCertificateLetsADeviceCompute) {
  const auto running = hosting(made_->signed_for("IP:127.0.0.1,DNS:localhost"));
  trust(made_->authority());
  const Device device = Device::parse(text("remote:tls:127.0.0.1:", running->port()));
  EXPECT_EQ(sum(full({1000, 1000}, 2, device, DType::F32)).item(), 2'000'000);
  TensorData data(Shape{500, 1000}, DType::F32);
  for (std::size_t i = 0; i < 500'000; ++i) data.as<float>()[i] = static_cast<float>(i % 1013);
  const TensorData expected = data;
  EXPECT_EQ(difference(from_data(std::move(data), device).data(), expected, {0, 0}), "");
  EXPECT_EQ(refusal(text("tls:localhost:", running->port())), "");
}

TEST_F(RemoteTls, AProgramEndsWellWhileItDialsAServerThatIsGone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ends = [] {
    auto running = hosting(made_->signed_for("IP:127.0.0.1"));
    trust(made_->authority());
    const Device device = Device::parse(text("remote:tls:127.0.0.1:", running->port()));
    (void)sum(full({10}, 2, device, DType::F32)).item();
    running.reset();
    std::exit(0);  // the device lives to the end of the program, and dials again
  };
  EXPECT_EXIT(ends(), testing::ExitedWithCode(0), "");
}

TEST_F(RemoteTls, NobodyElseIsTrusted) {
  const auto good = hosting(made_->signed_for("IP:127.0.0.1"));
  const auto elsewhere = hosting(made_->signed_for("IP:127.0.0.2"));
  const auto expired = hosting(made_->signed_for("IP:127.0.0.1", -1));
  const auto at = [](const Hosting& running) { return text("tls:127.0.0.1:", running.port()); };
  trust(made_->authority());
  EXPECT_EQ(refusal(at(*good)), "");
  EXPECT_TRUE(has(refusal(at(*elsewhere)), "its certificate is for another name")) << refusal(at(*elsewhere));
  EXPECT_TRUE(has(refusal(at(*expired)), "its certificate is not valid any more")) << refusal(at(*expired));
  trust(made_->self_signed("IP:127.0.0.1").certificate);
  EXPECT_TRUE(has(refusal(at(*good)), "its certificate is not trusted")) << refusal(at(*good));
  EXPECT_EQ(elsewhere->counters().opened + expired->counters().opened, 0);
}

TEST_F(RemoteTls, PlainAndSecureEndsTellEachOther) {
  const auto secure = hosting(made_->signed_for("IP:127.0.0.1"));
  const auto plain = host(Device::cpu(), {.port = 0});
  trust(made_->authority());
  EXPECT_TRUE(has(refusal(text("127.0.0.1:", secure->port())), "this port speaks TLS"));
  EXPECT_TRUE(has(refusal(text("tls:127.0.0.1:", plain->port())), "does not speak TLS"));
  // Both serve whoever comes next.
  EXPECT_EQ(refusal(text("tls:127.0.0.1:", secure->port())), "");
  EXPECT_EQ(refusal(text("127.0.0.1:", plain->port())), "");
}

// TLS finds what the network changes; the client comes back and finds its tensors.
TEST_F(RemoteTls, ANetworkThatDoublesAndMovesBytesChangesNothing) {
  const auto running = hosting(made_->signed_for("IP:127.0.0.1"));
  trust(made_->authority());
  test::FaultyProxy proxy(running->port());
  const Device device = device_at(text("tls:127.0.0.1:", proxy.port()));
  Value x = full({500}, 0, device, DType::F32);
  EXPECT_EQ(x.data().at(0), 0);
  int round = 0;
  for (const auto& [there, back] : std::vector<std::pair<test::Faults, test::Faults>>{{{.double_at = 20'000}, {}},
                                                                                      {{}, {.double_at = 20'000}},
                                                                                      {{.swap_at = 20'000}, {}},
                                                                                      {{}, {.swap_at = 20'000}}}) {
    const int before = dynamic_cast<remote::Remote&>(device.backend()).counters().reconnections;
    proxy.set(there, back);
    proxy.drop();
    for (int i = 0; i < 40; ++i) {
      TensorData more(Shape{500}, DType::F32);
      for (float& each : more.as<float>()) each = 1;
      x = x + from_data(std::move(more), device);
      EXPECT_EQ(x.data().at(499), 40 * round + i + 1);
    }
    EXPECT_GT(dynamic_cast<remote::Remote&>(device.backend()).counters().reconnections, before + 1) << round;
    ++round;
  }
  EXPECT_EQ(running->counters().broken, 0);
}

}  // namespace
}  // namespace kiln
