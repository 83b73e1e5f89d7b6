// What is kept on disk.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/backend/vulkan/machine.hpp"

namespace kiln::vulkan::test {
namespace {

namespace fs = std::filesystem;

/// A folder of this test's own, removed at the end.
class Folder {
 public:
  explicit Folder(const char* name) : path_(fs::path(::testing::TempDir()) / ("kiln_vulkan_" + std::string(name))) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& each : fs::recursive_directory_iterator(path_))
      if (each.is_regular_file()) all.push_back(each.path());
    return all;
  }

 private:
  const fs::path path_;
};

Ref<Driver> driver_with(const fs::path& folder) {
  return make_ref<Driver>(Instance::get(), 0, ContextOptions{}, gpu::CodeCache(folder));
}

void expect_scales(Driver& driver, const std::string& name) {
  const Ref<gpu::Code> code = driver.compile(scale_kernel(name));
  const Block x(driver, 512), y(driver, 512);
  x.fill(std::vector<float>(128, 3));
  const std::uint64_t arguments[] = {y.address(), x.address(), 128, bits(2)};
  driver.launch(*code, 1, arguments);
  EXPECT_EQ(y.read<float>(128), std::vector<float>(128, 6));
}

TEST(VulkanCache, KeepsWhatItCompiled) {
  KILN_NEEDS_DEVICE();
  const Folder folder("kept");
  expect_scales(*driver_with(folder.path()), "kept");
  const std::vector<fs::path> files = folder.files();
  ASSERT_FALSE(files.empty());
  const auto written = fs::last_write_time(files[0]);
  expect_scales(*driver_with(folder.path()), "kept");
  EXPECT_EQ(folder.files(), files);
  EXPECT_EQ(fs::last_write_time(files[0]), written);
}

TEST(VulkanCache, CompilesAgainWhatIsDamaged) {
  KILN_NEEDS_DEVICE();
  const Folder folder("damaged");
  expect_scales(*driver_with(folder.path()), "damaged");
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{5000}}) {
    for (const fs::path& each : folder.files()) std::ofstream(each, std::ios::binary) << std::string(length, 'x');
    expect_scales(*driver_with(folder.path()), "damaged");
  }
  // One byte in the middle of what is kept.
  for (const fs::path& each : folder.files()) {
    std::fstream file(each, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(each) - 9));
    file.put('\x7f');
  }
  expect_scales(*driver_with(folder.path()), "damaged");
}

TEST(VulkanCache, DoesWithoutAFolderThatItCannotWriteTo) {
  KILN_NEEDS_DEVICE();
  const Folder folder("file");
  std::ofstream(folder.path()) << "this is no folder";
  expect_scales(*driver_with(folder.path() / "below"), "unkept");
  EXPECT_TRUE(fs::is_regular_file(folder.path()));
}

// Processes share a folder as drivers do: each has caches of its own.
TEST(VulkanCache, IsSharedBySeveralAtOnce) {
  KILN_NEEDS_DEVICE();
  const Folder folder("shared");
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      const Ref<Driver> driver = driver_with(folder.path());
      for (int kernel = 0; kernel < 10; ++kernel) expect_scales(*driver, "shared_" + std::to_string(kernel));
    });
  for (std::thread& each : threads) each.join();
  const std::size_t files = folder.files().size();
  const Ref<Driver> driver = driver_with(folder.path());
  for (int kernel = 0; kernel < 10; ++kernel) expect_scales(*driver, "shared_" + std::to_string(kernel));
  EXPECT_EQ(folder.files().size(), files);
}

}  // namespace
}  // namespace kiln::vulkan::test
