// A profile of a remote device shows what the server ran, and the server's memory.
#include "kiln/backend/inspect/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/ops/functions.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::remote_device;

/// The rows with that name.
std::vector<ProfileRow> named(const Profile& profile, std::string_view name) {
  std::vector<ProfileRow> rows = profile.rows();
  std::erase_if(rows, [&](const ProfileRow& row) { return row.name != name; });
  return rows;
}

TEST(RemoteProfile, ShowsTheServersKernels) {
  remote::Host host({Device::cpu()});
  const Profile profile(remote_device(host));
  const Device& device = profile.device();
  const Value x = full({64, 32}, 1, device, DType::F32), w = full({32, 16}, 2, device, DType::F32);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(matmul(x, w).data().at(0), 64);
  const auto products = named(profile, "matmul");
  ASSERT_EQ(products.size(), 1u);
  EXPECT_EQ(products[0].calls, 3);
  EXPECT_EQ(products[0].shapes, "[64, 32] x [32, 16] -> [64, 16]");
  EXPECT_EQ(products[0].device, "remote:this program");
  EXPECT_EQ(products[0].bytes, 3 * 4 * (64 * 32 + 32 * 16 + 64 * 16));
  EXPECT_EQ(products[0].flops, 3 * 2.0 * 64 * 32 * 16);
  EXPECT_GT(products[0].seconds, 0);
  // Both sides copy: the server from its device, and this program from the server.
  const auto reads = named(profile, "read");
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_NE(reads[0].device.empty(), reads[1].device.empty());
  EXPECT_EQ(reads[0].calls, 3);
  EXPECT_EQ(reads[1].calls, 3);
  EXPECT_NE(profile.table().find("matmul [64, 32] x [32, 16] -> [64, 16], on remote:this program"), std::string::npos)
      << profile.table();
  EXPECT_GE(device.memory().in_use, 4 * (64 * 32 + 32 * 16));
}

TEST(RemoteProfile, ShowsFusedKernelsAndWaitsForNoCall) {
  remote::Host host({Device::cpu()});
  const Profile profile(remote_device(host));
  const Value x = full({1000}, 2, profile.device(), DType::F32);
  const std::int64_t before = host.counters().sessions.at(0).frames;
  EXPECT_EQ((exp(x * 0) + 1).data().at(0), 2);
  EXPECT_LE(host.counters().sessions.at(0).frames - before, 2);  // calls travel together, as they do without a profile
  const std::vector<ProfileRow> rows = profile.rows();
  EXPECT_TRUE(std::ranges::any_of(rows, [](const ProfileRow& row) {
    return row.name.find('+') != std::string::npos && row.name.find("exp") != std::string::npos;
  })) << profile.table();
}

TEST(RemoteProfile, BeginsAnewAndEnds) {
  remote::Host host({Device::cpu()});
  const Device device = remote_device(host);
  const Value x = full({64, 64}, 1, device, DType::F32);
  {
    Profile profile(device);
    const Value y = to_device(x, profile.device());
    (void)matmul(y, y).data();
    EXPECT_EQ(named(profile, "matmul").size(), 1u);
    profile.reset();
    EXPECT_EQ(named(profile, "matmul").size(), 0u);
    const Profile another(device);  // two at once
    (void)matmul(y, y).data();
    EXPECT_EQ(named(profile, "matmul").size(), 1u);
    EXPECT_EQ(named(another, "matmul").size(), 1u);
  }
  (void)matmul(x, x).data();
  // The sessions of others are not seen.
  const Profile profile(device);
  const Device other = remote_device(host);
  (void)matmul(full({8, 8}, 1, other, DType::F32), full({8, 8}, 1, other, DType::F32)).data();
  EXPECT_EQ(named(profile, "matmul").size(), 0u);
}

TEST(RemoteProfile, OfASessionThatIsLostSaysSo) {
  remote::Host host({Device::cpu()});
  const Profile profile(remote_device(host));
  host.drain(1);
  EXPECT_EQ(sentence_of([&] { (void)profile.rows(); }),
            "DeviceError: remote device at this program: the server was shut down");
}

}  // namespace
}  // namespace kiln
