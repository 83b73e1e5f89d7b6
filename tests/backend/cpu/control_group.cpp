// What a process's control groups leave it, from files as Linux writes them: containers of both versions, services, and
// what is not limited.
#include "kiln/backend/memory/control_group.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace kiln {
namespace {

namespace fs = std::filesystem;

class ControlGroup : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "kiln_groups_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    place_ = name;
  }
  void TearDown() override { fs::remove_all(place_); }
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((place_ / file).parent_path());
    std::ofstream(place_ / file) << text;
  }
  /// The process's files, `mounts` with PLACE for the folder of this test.
  std::optional<std::size_t> with(const std::string& groups, std::string mounts) const {
    for (std::size_t at; (at = mounts.find("PLACE")) != mounts.npos;) mounts.replace(at, 5, place_.string());
    write("proc/cgroup", groups);
    write("proc/mountinfo", mounts);
    return control_group_memory(place_ / "proc");
  }
  fs::path place_;
};

constexpr const char* kSecond = "30 23 0:26 / PLACE/groups rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST_F(ControlGroup, IsNoneWhereNothingIsSaid) {
  EXPECT_EQ(control_group_memory(place_ / "nowhere"), std::nullopt);
  EXPECT_EQ(with("", ""), std::nullopt);
  EXPECT_EQ(with("0::/\n", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"), std::nullopt);
  EXPECT_EQ(with("0::/a\n", kSecond), std::nullopt);
  write("groups/a/memory.max", "max\n");
  EXPECT_EQ(with("0::/a\n", kSecond), std::nullopt);
  for (const char* odd : {"", "\n", "0\n", "-1\n", "12x\n", "99999999999999999999999\n"}) {
    write("groups/a/memory.max", odd);
    EXPECT_EQ(with("0::/a\n", kSecond), std::nullopt) << odd;
  }
}

TEST_F(ControlGroup, IsTheLeastOfItsOwnAndOfThoseAbove) {
  write("groups/system.slice/own.service/memory.max", "3000\n");
  EXPECT_EQ(with("0::/system.slice/own.service\n", kSecond), 3000u);
  write("groups/system.slice/memory.max", "max\n");
  EXPECT_EQ(with("0::/system.slice/own.service\n", kSecond), 3000u);
  write("groups/system.slice/memory.max", "2000\n");
  EXPECT_EQ(with("0::/system.slice/own.service\n", kSecond), 2000u);
  write("groups/system.slice/other.service/memory.max", "7\n");
  EXPECT_EQ(with("0::/system.slice/own.service\n", kSecond), 2000u);
  EXPECT_EQ(with("0::/system.slice\n", kSecond), 2000u);
}

// A container of version 2 sees its own group as the root; without a namespace of its own it sees the machine's path.
TEST_F(ControlGroup, OfAContainerStandsAtTheRoot) {
  write("groups/memory.max", "536870912\n");
  EXPECT_EQ(with("0::/\n", kSecond), 536870912u);
  EXPECT_EQ(with("0::/../other\n", kSecond), 536870912u);
  EXPECT_EQ(with("0::/docker/abc\n", "30 23 0:26 /docker/abc PLACE/groups rw - cgroup2 cgroup rw\n"), 536870912u);
  write("groups/part/memory.max", "4096\n");
  EXPECT_EQ(with("0::/docker/abc/part\n", "30 23 0:26 /docker/abc PLACE/groups rw - cgroup2 cgroup rw\n"), 4096u);
}

TEST_F(ControlGroup, OfTheFirstVersionIsThatOfMemory) {
  const std::string mounts =
      "31 23 0:28 / PLACE rw - tmpfs tmpfs rw,mode=755\n"
      "32 31 0:29 / PLACE/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 / PLACE/some\\040memory rw,relatime - cgroup cgroup rw,memory\n"
      "41 31 0:38 / PLACE/unified rw,relatime - cgroup2 cgroup2 rw\n";
  const std::string groups = "9:name=systemd:/\n4:memory:/api/e7\n3:cpu,cpuacct:/api\n0::/\n";
  write("cpu/api/memory.limit_in_bytes", "5\n");
  EXPECT_EQ(with(groups, mounts), std::nullopt);
  write("some memory/memory.limit_in_bytes", "9223372036854771712\n");  // the kernel's way to say: none
  EXPECT_EQ(with(groups, mounts), 9223372036854771712u);
  write("some memory/api/e7/memory.limit_in_bytes", "25769803776\n");
  EXPECT_EQ(with(groups, mounts), 25769803776u);
  write("some memory/api/memory.limit_in_bytes", "1000\n");
  EXPECT_EQ(with(groups, mounts), 1000u);
}

}  // namespace
}  // namespace kiln
