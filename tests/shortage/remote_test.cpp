// Memory that runs out in a client of a remote device, and in its server's own thread.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "kiln/ops/functions.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/backend/remote/raw_client.hpp"
#include "tests/shortage/shortage.hpp"

namespace kiln::test {
namespace {

constexpr int kValues = 5000;  // whose entries take several messages

std::int64_t tensors(const remote::Host& host) {
  const remote::HostCounters all = host.counters();
  return all.sessions.empty() ? 0 : all.sessions[0].tensors;
}

/// Lets the client's thread fail at its allocation number `at` while it frees values. Returns whether it has failed.
bool frees(std::int64_t at) {
  remote::Host host({Device::cpu()}, {.limits = {.tensors = 20'000}});
  const Device device = remote_device(host);
  const Value x = full({2}, 1, device, DType::F32);
  std::vector<Value> many;
  for (int i = 0; i < kValues; ++i) many.push_back(x + 1);
  device.sync();
  bool came_through = true;
  {
    const Shortage shortage(at, Fails::Once, Threads::This);
    many.clear();  // a destructor may not throw
    try {
      (void)(x * 2);
    } catch (const std::bad_alloc&) { came_through = false; } catch (const MemoryError&) {
      came_through = false;
    }
  }
  const bool failed = has_failed();
  EXPECT_TRUE(came_through || failed) << at;
  std::string said;
  try {
    device.sync();
    EXPECT_EQ(tensors(host), 1) << at;
    EXPECT_EQ((x + 1).data().at(1), 2);
  } catch (const Error& error) { said = error.what(); }
  // What was begun to be written cannot be taken back: then the session has ended, and says why.
  EXPECT_EQ(remote_of(device).is_lost(), !said.empty()) << at << said;
  EXPECT_TRUE(said.empty() || (failed && said.find("had no memory left for a message") != std::string::npos)) << said;
  return failed;
}

TEST(RemoteShortage, FreesEachValueOnceOrEndsTheSession) {
  std::int64_t at = 1;
  while (frees(at) && !testing::Test::HasFailure()) ++at;
  EXPECT_GT(at, 10);
}

void wait_until(const std::function<bool()>& is_so) {
  for (int i = 0; i < 500 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(is_so());
}

/// The thread that looks after sessions and connections would end the program by an exception.
TEST(RemoteShortage, EndsSessionsWithoutMemory) {
  remote::Host host({Device::cpu()}, {.window = 0.3});
  {
    RawClient client(host);
    client.hello();
    ASSERT_TRUE(client.receive());
  }
  wait_until([&] { return !host.counters().sessions.at(0).connected; });
  {
    const Shortage shortage(1, Fails::FromThenOn);
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
  }
  EXPECT_TRUE(host.counters().sessions.empty());
}

}  // namespace
}  // namespace kiln::test
