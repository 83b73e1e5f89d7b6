// A server in another process: it is killed and started again, and it knows operations of a user's own, or does not.
#include <gtest/gtest.h>

#include "kiln/backend/remote/address.hpp"
#include "kiln/backend/remote/remote.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/remote/own_ops.hpp"
#include "tests/backend/remote/server_process.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::ServerProcess;

Device device_at(int port, double window = 5) {
  return Device(
      make_ref<remote::Remote>(remote::dial_of(text("127.0.0.1:", port)), remote::ClientSettings{.window = window}));
}
remote::ClientCounters counters_of(const Device& device) {
  return dynamic_cast<const remote::Remote&>(device.backend()).counters();
}

TEST(Killed, AServerThatIsStartedAgainHasLostTheTensors) {
  auto server = std::make_unique<ServerProcess>();
  const int port = server->port();
  const std::string name = text("remote:127.0.0.1:", port);
  const Device device = Device::parse(name);
  const Value x = full({4}, 3, device, DType::F32);
  EXPECT_EQ(x.data().at(0), 3);
  server->kill();
  server = std::make_unique<ServerProcess>(port);
  const std::string lost = text(
      "DeviceError: remote device at 127.0.0.1:", port,
      ": the server has no session 1: it was started anew, or has waited too long for this client: the tensors on it "
      "are lost");
  EXPECT_EQ(sentence_of([&] { (void)x.data(); }), lost);
  EXPECT_EQ(sentence_of([&] { (void)(x + 1).data(); }), lost);
  EXPECT_EQ(sentence_of([&] { (void)full({4}, 3, device, DType::F32); }), lost);
  // Whoever asks for the device again goes on with new tensors.
  const Device anew = Device::parse(name);
  EXPECT_FALSE(anew == device);
  EXPECT_EQ(anew, Device::parse(name));
  EXPECT_EQ((full({4}, 3, anew, DType::F32) + 1).data().at(0), 4);
}

TEST(Killed, AServerThatStaysAwayIsWaitedForForTheWindow) {
  ServerProcess server;
  const Device device = device_at(server.port(), 0.2);
  const Value x = full({4}, 3, device, DType::F32);
  device.sync();
  server.kill();
  const std::string said = sentence_of([&] { (void)x.data(); });
  EXPECT_TRUE(said.starts_with(text("DeviceError: remote device at 127.0.0.1:", server.port(),
                                    ": the connection to 127.0.0.1:", server.port(),
                                    " was lost and did not come back within 0.2 seconds (")))
      << said;
  EXPECT_TRUE(said.ends_with("): the tensors there are lost")) << said;
}

TEST(Killed, WhoeverWaitsForAnAnswerIsTold) {
  ServerProcess server;
  const Device device = device_at(server.port(), 0.2);
  Value x = full({300, 300}, 1e-3, device, DType::F32);
  for (int i = 0; i < 2000; ++i) x = matmul(x, x);
  auto reading = device.backend().start_read({&x, 1});
  server.kill();
  EXPECT_NE(sentence_of([&] { (void)reading->wait(); }).find("the tensors there are lost"), std::string::npos);
}

struct Known {
  bool here;
  std::vector<std::string> there;
  bool travels;
};

class OwnOps : public testing::TestWithParam<Known> {};

/// The child registers nothing of its own before it is started; each case is a process of its own under ctest, but not
/// where the whole program runs, so that this program registers last.
TEST_P(OwnOps, RunThereWhereBothKnowThemAndAreExpandedOtherwise) {
  const Known& known = GetParam();
  if (known.here) register_custom_op<test::Shift>("remote_test.shift");
  const ServerProcess server(0, known.there);
  const Device device = device_at(server.port());
  const op::Op shift = op::Custom{make_ref<const UserOpFace<test::Shift>>(test::Shift{2.5})};
  EXPECT_EQ(device.backend().has_kernel(shift), known.travels);
  const auto x = Tensor<1>::of(std::vector<float>{1, 2}, {2}, device);
  const std::int64_t before = counters_of(device).calls;
  const auto y = custom(test::Shift{2.5}, x);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{6, 7}));
  EXPECT_EQ(counters_of(device).calls - before, known.travels ? 1 : 2);
}
INSTANTIATE_TEST_SUITE_P(Sides, OwnOps,
                         testing::Values(Known{false, {"shift"}, false}, Known{false, {}, false},
                                         Known{true, {}, false}, Known{true, {"other-shift"}, false},
                                         Known{true, {"shift"}, true}));

}  // namespace
}  // namespace kiln
