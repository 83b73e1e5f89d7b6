// Products whose algorithm is measured and kept.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kiln/backend/cuda/products.hpp"
#include "kiln/core/tensor_data.hpp"
#include "tests/backend/cuda/machine.hpp"

namespace kiln::cuda::test {
namespace {

/// Which algorithm the fake library ran last, and how many products it made; nothing where it is a real one.
std::optional<std::pair<int, int>> fake_products() {
  void* const library = ::dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  const auto state = reinterpret_cast<void (*)(int*, int*)>(::dlsym(library, "kiln_fake_cublas_state"));
  if (!state) return std::nullopt;
  std::pair<int, int> found;
  state(&found.first, &found.second);
  return found;
}

struct Folder {
  Folder() { EXPECT_NE(::mkdtemp(name.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(name); }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    for (const auto& file : std::filesystem::directory_iterator(name)) all.push_back(file.path());
    return all;
  }
  std::string name = (std::filesystem::temp_directory_path() / "kiln_choices_XXXXXX").string();
};

/// The product of [2, 3] x [3, `n`], by a device of its own that starts anew.
std::vector<float> multiply(const Folder& folder, const char* autotune, std::int64_t n = 2) {
  autotune ? ::setenv("KILN_AUTOTUNE", autotune, 1) : ::unsetenv("KILN_AUTOTUNE");
  const Ref<Stream> stream = make_ref<Stream>(driver_api(), 0);
  Products products(stream, driver().budget(), Choices(stream, gpu::CodeCache(std::filesystem::path(folder.name))));
  ::unsetenv("KILN_AUTOTUNE");
  const std::vector<float> a{1, 2, 3, 4, 5, 6}, b(static_cast<std::size_t>(3 * n), 2);
  Driver& memory = driver();
  const std::size_t bytes = static_cast<std::size_t>(2 * n) * sizeof(float);
  const Block a_block(memory, 4096), b_block(memory, 4096), c_block(memory, 4096);
  memory.upload(a_block.start(), std::as_bytes(std::span(a)));
  memory.upload(b_block.start(), std::as_bytes(std::span(b)));
  memory.synchronize();
  EXPECT_TRUE(products.multiply({.m = 2,
                                 .n = n,
                                 .k = 3,
                                 .a = {a_block.start(), 3, 0, false},
                                 .b = {b_block.start(), n, 0, false},
                                 .c = c_block.start(),
                                 .c_stride = n}));
  stream->check(stream->api().stream_synchronize(stream->handle()), "waiting");
  std::vector<float> c(static_cast<std::size_t>(2 * n));
  memory.download(c_block.start(), bytes)->wait(reinterpret_cast<std::byte*>(c.data()));
  return c;
}

const std::vector<float> kExpected{12, 12, 30, 30};

#define KILN_NEEDS_PRODUCTS() \
  KILN_NEEDS_DEVICE();        \
  try {                       \
    (void)cublas::api();      \
  } catch (const Error& error) { GTEST_SKIP() << error.what(); }

TEST(CudaChoices, AreMeasuredOnceAndKept) {
  KILN_NEEDS_PRODUCTS();
  const Folder folder;
  EXPECT_EQ(multiply(folder, "1"), kExpected);
  EXPECT_EQ(folder.files().size(), 1u);
  const auto first = fake_products();
  if (first) { EXPECT_EQ(first->first, 2); }  // the quickest
  EXPECT_EQ(multiply(folder, "1"), kExpected);
  EXPECT_EQ(folder.files().size(), 1u);
  if (first) { EXPECT_EQ(fake_products(), (std::pair{2, first->second + 1})); }  // the product alone
  EXPECT_EQ(multiply(folder, "1", 3), (std::vector<float>{12, 12, 12, 30, 30, 30}));
  EXPECT_EQ(folder.files().size(), 2u) << "another question";
}

TEST(CudaChoices, AreNotAskedForWhereTheEnvironmentDoesNotSaySo) {
  KILN_NEEDS_PRODUCTS();
  const Folder folder;
  const auto before = fake_products();
  for (const char* const said : {static_cast<const char*>(nullptr), "0"}) EXPECT_EQ(multiply(folder, said), kExpected);
  EXPECT_TRUE(folder.files().empty());
  if (before) { EXPECT_EQ(fake_products(), (std::pair{0, before->second + 2})); }
}

TEST(CudaChoices, ThatAreDamagedAreMadeAnew) {
  KILN_NEEDS_PRODUCTS();
  const Folder folder;
  EXPECT_EQ(multiply(folder, "1"), kExpected);
  const std::filesystem::path file = folder.files().at(0);
  const auto size = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, size / 2);
  EXPECT_EQ(multiply(folder, "1"), kExpected);
  EXPECT_EQ(std::filesystem::file_size(file), size);
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(-4, std::ios::end);
    bytes.put('\x7f');
  }
  const auto before = fake_products();
  EXPECT_EQ(multiply(folder, "1"), kExpected);
  if (before) {
    EXPECT_EQ(fake_products()->first, 2);
    EXPECT_GT(fake_products()->second, before->second + 1) << "it was not measured again";
  }
}

TEST(CudaChoices, ThatAreNoLongerTakenAreMadeAnew) {
  KILN_NEEDS_PRODUCTS();
  if (!fake_products()) GTEST_SKIP() << "a real library, whose algorithms are its own affair";
  const Folder folder;
  EXPECT_EQ(multiply(folder, "1"), kExpected);
  const auto before = fake_products();
  ::setenv("KILN_FAKE_CHECK", "refuses", 1);
  EXPECT_EQ(multiply(folder, "1"), kExpected);
  ::unsetenv("KILN_FAKE_CHECK");
  EXPECT_GT(fake_products()->second, before->second + 1) << "it was not measured again";
}

TEST(CudaChoices, AreOfOneVersionAndOneQuestion) {
  KILN_NEEDS_DEVICE();
  const Folder folder;
  const Choices choices(make_ref<Stream>(driver_api(), 0), gpu::CodeCache(std::filesystem::path(folder.name)));
  const std::uint64_t question[] = {1, 2}, other[] = {1, 3};
  choices.keep(question, 7, {{1, 2, 3, 4, 99, 0, 0, 0}});
  ASSERT_TRUE(choices.find(question, 7));
  EXPECT_EQ(choices.find(question, 7)->data[4], 99u);
  EXPECT_FALSE(choices.find(question, 8));
  EXPECT_FALSE(choices.find(other, 7));
}

}  // namespace
}  // namespace kiln::cuda::test
