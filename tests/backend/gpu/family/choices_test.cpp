// Kernels that are chosen by measuring, with a clock of the test's own.
#include "kiln/backend/gpu/tune/choices.hpp"
#include "kiln/autodiff/backward.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/simulated/profiles.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"
#include "kiln/core/file.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "tests/backend/gpu/family/watched.hpp"
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
  write("shipped", "# a comment\n\nkiln 3 on a device: a product = small\n");
  EXPECT_EQ(choose({1, 2, 3}, path("shipped")), 2);
  measure(true);
  EXPECT_EQ(choose({1, 2, 3}, path("shipped")), 2);
  EXPECT_EQ(ran_, 0);
  // A way that is no longer there is measured again, and the file is brought up to date.
  write("shipped", "kiln 3 on a device: a product = huge\nkiln 3 on a device: another = x\n");
  EXPECT_EQ(choose({3, 2, 1}, path("shipped")), 2);
  EXPECT_EQ(read_text_file(path("shipped")),
            "# Kernels that were measured to be the quickest (KILN_AUTOTUNE=1).\n"
            "kiln 3 on a device: a product = small\nkiln 3 on a device: another = x\n");
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

struct Sizes {
  std::int64_t rows, depth, columns;
};

/// The bytes of a product on a device that chooses so.
std::vector<std::byte> product(std::string_view device, DType dtype, const Sizes& sizes,
                               std::unique_ptr<Choices> choices) {
  // With one multiprocessor all sizes keep the device busy: large tiles are among the ways.
  Profile profile = *std::ranges::find(profiles(), device, &Profile::name);
  profile.has.multiprocessors = 1;
  const Device on(make_ref<Gpu>(make_simulated(profile), std::move(choices)));
  on.seed(3);
  const Value a = cast(normal({sizes.rows, sizes.depth}, 0, 1, on, DType::F32), dtype),
              b = cast(normal({sizes.depth, sizes.columns}, 0, 1, on, DType::F32), dtype);
  const TensorData made = matmul(a, b).data();
  return {made.bytes().begin(), made.bytes().end()};
}

/// The same by the tile that a clock finds the quickest: the one that it is asked about in call `which`.
std::vector<std::byte> timed_product(std::string_view device, DType dtype, int which, int& calls) {
  calls = 0;
  return product(device, dtype, {66, 40, 72},
                 std::make_unique<Choices>(
                     "a device",
                     [&calls, which](FunctionRef<void()> work) {
                       work();
                       return calls++ == which ? 60.0 : 100.0;  // so slow that each is asked about once
                     },
                     CodeCache(std::nullopt), std::nullopt));
}

TEST_F(Choosing, KeepsTheBitsOfProducts) {
  measure(true);
  const std::pair<std::string_view, DType> kinds[] = {
      {"simulated:cuda", DType::F32}, {"simulated:cuda", DType::F16}, {"simulated:vulkan32", DType::BF16}};
  for (const auto& [device, dtype] : kinds) {
    int ways = 0, calls = 0;
    const std::vector<std::byte> expected = timed_product(device, dtype, 0, ways);
    EXPECT_GT(ways, 2);
    for (const int which : {1, ways / 2, ways - 1})
      EXPECT_EQ(timed_product(device, dtype, which, calls), expected) << device << ", " << which;
  }
}

// Tiles past the ends of the matrices, and an odd number of steps; and tiles that are all whole.
TEST_F(Choosing, KeepsTheBitsOfLargeProducts) {
  measure(true);
  struct Kind {
    std::string_view device;
    DType dtype;
    std::string_view loads;
    std::initializer_list<std::string_view> tiles;
  };
  const std::initializer_list<std::string_view> of_warps{"64x64x32 of 4x8", "128x256x16 of 8x16 two ahead",
                                                         "128x128x64 of 8x16 in one stage",
                                                         "128x128x16 of 8x16 two ahead"};
  const Kind kinds[] = {{"simulated:cuda",
                         DType::F32,
                         "deep 4 by wide 4",
                         {"128x128x8 of 8x8", "128x128x8 of 8x8 blocked", "128x128x16 of 8x8 in one stage blocked",
                          "128x256x8 of 8x16 blocked", "64x128x16 of 8x8 blocked", "128x64x16 of 8x8 blocked"}},
                        {"simulated:cuda", DType::F16, "deep 8 by wide 8", of_warps},
                        {"simulated:vulkan32", DType::BF16, "deep 8 by wide 8", of_warps}};
  for (const Kind& kind : kinds)
    for (const Sizes& sizes : {Sizes{130, 72, 136}, Sizes{256, 128, 256}}) {
      const auto by = [&](std::string_view tile) {
        write("shipped", text("kiln 3 on a device: product of ", kind.dtype, ", up to 2^8 x 2^8 x 2^7, 2^0 times, ",
                              kind.loads, " = ", tile, "\n"));
        return product(kind.device, kind.dtype, sizes,
                       std::make_unique<Choices>(
                           "a device",
                           [&](FunctionRef<void()>) {
                             ADD_FAILURE() << kind.device << " has no tile " << tile;
                             return 1.0;
                           },
                           CodeCache(std::nullopt), path("shipped")));
      };
      const std::vector<std::byte> expected = by(*kind.tiles.begin());
      for (const std::string_view tile : kind.tiles)
        EXPECT_EQ(by(tile), expected) << kind.device << ", " << sizes.rows << ", " << tile;
    }
}

// Rows of an odd length are loaded one element at a time, for which not all tiles have the threads.
TEST_F(Choosing, LeavesOutTilesWhoseThreadsCannotShareLoads) {
  const auto made = [] {
    return product("simulated:cuda", DType::F16, {64, 16, 511},
                   std::make_unique<Choices>(
                       "a device",
                       [](FunctionRef<void()> work) {
                         work();
                         return 100.0;
                       },
                       CodeCache(std::nullopt), std::nullopt));
  };
  measure(false);
  const std::vector<std::byte> expected = made();
  measure(true);
  EXPECT_EQ(made(), expected);
}

/// Choices as a file says them, which all that is measured is written to.
std::unique_ptr<Choices> shipped(const std::string& file) {
  return std::make_unique<Choices>(
      "a device",
      [](FunctionRef<void()> work) {
        work();
        return 100.0;
      },
      CodeCache(std::nullopt), file);
}

std::vector<std::byte> bytes_of(const Value& value) {
  const TensorData made = value.data();
  return {made.bytes().begin(), made.bytes().end()};
}

/// What a device asked about, and what it chose.
std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> all;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') all.push_back(line);
  return all;
}

TEST_F(Choosing, KeepsTheBitsOfConvolutionsAndAttention) {
  const auto run = [](std::unique_ptr<Choices> choices) {
    const Device on(make_ref<Gpu>(make_simulated(), std::move(choices)));
    on.seed(5);
    const Value x = normal({2, 40, 12, 12}, 0, 1, on, DType::F32), w = normal({48, 40, 3, 3}, 0, 1, on, DType::F32);
    const auto heads = [&] { return cast(normal({1, 2, 80, 40}, 0, 1, on, DType::F32), DType::F16); };
    const Value q = heads(), k = heads(), v = heads();
    return std::vector{bytes_of(conv(x, w, {})), bytes_of(attention(q, k, v, {.causal = true}))};
  };
  measure(true);
  const auto expected = run(shipped(path("made")));
  const std::vector<std::string> asked = lines_of(path("made"));  // in the order of their letters
  ASSERT_EQ(asked.size(), 2u);                                    // each has several ways
  const auto key = [&](std::size_t i) { return asked[i].substr(0, asked[i].rfind(" = ")); };
  for (const char* const way : {"32 rows 64 deep in one stage", "128 rows 32 deep in one stage", "64 rows 16 deep"})
    for (const char* const tile : {"64x64x16 of 8x4", "32x64x16 of 4x4"}) {
      const std::vector<std::string> wanted{text(key(0), " = ", way), text(key(1), " = ", tile)};
      write("chosen", text(wanted[0], "\n", wanted[1], "\n"));
      EXPECT_EQ(run(shipped(path("chosen"))), expected) << way << ", " << tile;
      EXPECT_EQ(lines_of(path("chosen")), wanted);  // they are known, and nothing was measured
    }
}

TEST_F(Choosing, KeepsTheBitsOfGradientsOfAttention) {
  const auto run = [](std::unique_ptr<Choices> choices) {
    const Device on = Device(make_ref<Gpu>(make_simulated(), std::move(choices))).autodiff();
    on.seed(5);
    const auto heads = [&] {
      return cast(normal({1, 2, 80, 40}, 0, 1, on, DType::F32), DType::F16).detach().require_grad();
    };
    const Value q = heads(), k = heads(), v = heads();
    const Gradients found = backward(sum(cast(attention(q, k, v, {.causal = true}), DType::F32)));
    return std::vector{bytes_of(found.of(q)), bytes_of(found.of(k)), bytes_of(found.of(v))};
  };
  measure(true);
  const auto expected = run(shipped(path("made")));
  const std::vector<std::string> asked = lines_of(path("made"));
  ASSERT_EQ(asked.size(), 3u);  // the forward pass, and the gradients of queries and of keys
  for (const char* const way : {"64 rows 16 deep", "64 rows 32 deep in one stage", "128 rows 16 deep"}) {
    std::vector<std::string> wanted;
    std::string file;
    for (const std::string& line : asked) {
      wanted.push_back(line.substr(0, line.rfind(" = ")) + " = " + way);
      file += wanted.back() + "\n";
    }
    write("chosen", file);
    EXPECT_EQ(run(shipped(path("chosen"))), expected) << way;
    EXPECT_EQ(lines_of(path("chosen")), wanted);  // they are known, and nothing was measured
  }
}

/// exp(x - max) / sum of rows, and the kernels that it took.
std::pair<std::vector<double>, std::vector<std::string>> softmax_by_hand(const test::WatchedDevice& on,
                                                                         const Value& x) {
  (void)on.launches();
  const Value powers = exp(x - max(x, {1}, true));
  const Value y = powers / sum(powers, {1}, true);
  std::vector<std::string> launches = on.launches();
  return {y.data().to_vector<double>(), std::move(launches)};
}
std::pair<std::vector<double>, std::vector<std::string>> softmax_by_hand(std::unique_ptr<Choices> choices) {
  const test::WatchedDevice on(std::move(choices));
  return softmax_by_hand(on, on.of({7, 33}));
}

TEST_F(Choosing, TakesPartsOfAFusedKernelWhereTheyAreQuicker) {
  measure(true);
  const std::vector<double> expected = softmax_by_hand(shipped(path("made"))).first;
  const std::vector<std::string> asked = lines_of(path("made"));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0], "kiln 3 on a device: rows of max, sub+exp, div in 2^3, float32 2^3 apart 2^6 = fused");
  measure(false);
  EXPECT_EQ(softmax_by_hand(shipped(path("made"))), std::pair(expected, std::vector<std::string>{"row_program"}));
  write("parts", "kiln 3 on a device: rows of max, sub+exp, div in 2^3, float32 2^3 apart 2^6 = parts\n");
  const auto [numbers, launches] = softmax_by_hand(shipped(path("parts")));
  EXPECT_GT(launches.size(), 1u);
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_NEAR(numbers[i], expected[i], 1e-6);  // sums have other orders
}

// One plan runs with operands that lie in memory in two ways.
TEST_F(Choosing, AsksForPartsByHowOperandsLie) {
  write("both",
        "kiln 3 on a device: rows of max, sub+exp, div in 2^3, float32 2^3 apart 2^6 = fused\n"
        "kiln 3 on a device: rows of max, sub+exp, div in 2^3, float32 2^3 2^6 apart = parts\n");
  const test::WatchedDevice on(shipped(path("both")));
  const Value rows = on.of({7, 33}), columns = transpose(on.of({33, 7}), 0, 1);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(softmax_by_hand(on, rows).second, std::vector<std::string>{"row_program"});
    const std::vector<std::string> launches = softmax_by_hand(on, columns).second;
    EXPECT_EQ(std::ranges::count(launches, "row_program"), 0) << ::testing::PrintToString(launches);
  }
}

}  // namespace
}  // namespace kiln::gpu
