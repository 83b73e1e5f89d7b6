// Kernels that are chosen by measuring, with a clock of the test's own.
#include "kiln/backend/gpu/tune/choices.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/simulated/profiles.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"
#include "kiln/core/file.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::gpu {
namespace {

/// A folder of the test's own, and whether choices are measured.
class Choosing : public ::testing::Test {
 protected:
  Choosing() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~Choosing() override {
    ::unsetenv("KILN_AUTOTUNE");
    std::filesystem::remove_all(folder_);
  }
  static void measure(bool on) { on ? ::setenv("KILN_AUTOTUNE", "1", 1) : ::unsetenv("KILN_AUTOTUNE"); }
  std::string path(std::string_view name) const { return text(folder_, "/", name); }
  void write(std::string_view name, std::string_view lines) const { std::ofstream(path(name)) << lines; }

  /// Asks three ways, of which each run takes so long, on a device.
  int choose(std::vector<double> costs, std::optional<std::string> file = {}, std::string device = "a device") {
    double now = 0;
    ran_ = 0;
    Choices choices(
        std::move(device),
        [&](FunctionRef<void()> work) {
          const double start = now;
          work();
          return now - start;
        },
        CodeCache(std::filesystem::path(path("kept"))), std::move(file));
    const std::vector<std::string> names{"wide", "tall", "small"};
    return choices.choose("a product", names, [&](int i) {
      ++ran_;
      now += costs[static_cast<std::size_t>(i)];
      return costs[static_cast<std::size_t>(i)] > 0;
    });
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "kiln_choosing_XXXXXX").string();
  int ran_ = 0;
};

TEST_F(Choosing, TakesTheFirstWayWhereNothingIsMeasured) {
  EXPECT_EQ(choose({3, 2, 1}), 0);
  EXPECT_EQ(ran_, 0);
}

TEST_F(Choosing, MeasuresOnceAndKeepsTheQuickest) {
  measure(true);
  EXPECT_EQ(choose({3, 1, 2}), 1);
  EXPECT_GT(ran_, 0);
  EXPECT_EQ(choose({1, 2, 3}), 1);  // another process, which finds what is kept
  EXPECT_EQ(ran_, 0);
  measure(false);
  EXPECT_EQ(choose({1, 2, 3}), 1);
  EXPECT_EQ(choose({1, 2, 3}, {}, "another device"), 0);
}

TEST_F(Choosing, PrefersAnEarlierWayToOneThatIsHardlyQuicker) {
  measure(true);
  EXPECT_EQ(choose({1, 0.99, 1.5}), 0);
}

TEST_F(Choosing, LeavesOutWaysThatCannotRun) {
  measure(true);
  EXPECT_EQ(choose({0, 0, 5}), 2);
  EXPECT_EQ(choose({0, 0, 0}, {}, "a device without any"), 0);
}

TEST_F(Choosing, ReadsTheFileOfAProgramBeforeAllElse) {
  write("shipped", "# a comment\n\nkiln 2 on a device: a product = small\n");
  EXPECT_EQ(choose({1, 2, 3}, path("shipped")), 2);
  measure(true);
  EXPECT_EQ(choose({1, 2, 3}, path("shipped")), 2);
  EXPECT_EQ(ran_, 0);
  // A way that is no longer there is measured again, and the file is brought up to date.
  write("shipped", "kiln 2 on a device: a product = huge\nkiln 2 on a device: another = x\n");
  EXPECT_EQ(choose({3, 2, 1}, path("shipped")), 2);
  EXPECT_EQ(read_text_file(path("shipped")),
            "# Kernels that were measured to be the quickest (KILN_AUTOTUNE=1).\n"
            "kiln 2 on a device: a product = small\nkiln 2 on a device: another = x\n");
}

TEST_F(Choosing, WritesAFileToShip) {
  measure(true);
  EXPECT_EQ(choose({3, 2, 1}, path("made")), 2);
  measure(false);
  std::filesystem::remove_all(path("kept"));
  EXPECT_EQ(choose({1, 2, 3}, path("made")), 2);
}

TEST_F(Choosing, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(sentence_of([&] { return choose({1, 2, 3}, path("missing")); }),
            text("ArgumentError: KILN_CHOICES names ", path("missing"),
                 ", which cannot be read; let it name a file of choices, or let KILN_AUTOTUNE=1 write one"));
  write("bad", "# fine\nno choice\n");
  EXPECT_EQ(sentence_of([&] { return choose({1, 2, 3}, path("bad")); }),
            text("ArgumentError: KILN_CHOICES: line 2 of ", path("bad"),
                 " is no choice, which is \"KEY = CHOICE\"; delete it"));
}

/// The bytes of a product by the tile that a clock finds the quickest: the one that it is asked about in call `which`.
std::vector<std::byte> product(std::string_view device, DType dtype, int which, int& calls) {
  calls = 0;
  auto choices = std::make_unique<Choices>(
      "a device",
      [&calls, which](FunctionRef<void()> work) {
        work();
        return calls++ == which ? 60.0 : 100.0;  // so slow that each is asked about once
      },
      CodeCache(std::nullopt), std::nullopt);
  const Profile& profile = *std::ranges::find(profiles(), device, &Profile::name);
  const Device on(make_ref<Gpu>(make_simulated(profile), std::move(choices)));
  on.seed(3);
  const Value a = cast(normal({66, 40}, 0, 1, on, DType::F32), dtype),
              b = cast(normal({40, 72}, 0, 1, on, DType::F32), dtype);
  const TensorData made = matmul(a, b).data();
  return {made.bytes().begin(), made.bytes().end()};
}

TEST_F(Choosing, KeepsTheBitsOfProducts) {
  measure(true);
  const std::pair<std::string_view, DType> kinds[] = {
      {"simulated:cuda", DType::F32}, {"simulated:cuda", DType::F16}, {"simulated:vulkan32", DType::BF16}};
  for (const auto& [device, dtype] : kinds) {
    int ways = 0, calls = 0;
    const std::vector<std::byte> expected = product(device, dtype, 0, ways);
    EXPECT_GT(ways, 2);
    for (const int which : {1, ways / 2, ways - 1})
      EXPECT_EQ(product(device, dtype, which, calls), expected) << device << ", " << which;
  }
}

}  // namespace
}  // namespace kiln::gpu
