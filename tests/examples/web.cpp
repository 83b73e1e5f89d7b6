// What the pages stand on: files that a server hands out, drawings as the network sees them, reading, training.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/web/digits/drawing.hpp"
#include "examples/web/digits/reader.hpp"
#include "examples/web/digits/training.hpp"
#include "examples/web/files.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WebFiles : public testing::Test {
 protected:
  WebFiles() {
    fs::create_directories(folder_ / "pages/inner");
    fs::create_directories(folder_ / "other");
    std::ofstream(folder_ / "secret.txt") << "secret";
    std::ofstream(folder_ / "pages/.hidden") << "secret";
    std::ofstream(folder_ / "pages/a b.js") << "script";
    std::ofstream(folder_ / "pages/inner/index.html") << "page";
    std::ofstream(folder_ / "other/x.wasm") << "module";
    places_ = {{"/", folder_ / "pages"}, {"/inner/deep/", folder_ / "other"}};
  }
  ~WebFiles() override { fs::remove_all(folder_); }

  net::Response ask(const std::string& method, const std::string& path) {
    net::Request request;
    request.method = method;
    request.path = path;
    return web::answer(request, places_);
  }
  net::Response get(const std::string& path) { return ask("GET", path); }

  const fs::path folder_ = fs::temp_directory_path() / ("kiln-web-" + std::to_string(::getpid()));
  std::vector<web::Place> places_;
};

TEST_F(WebFiles, HandsOutWhatIsInTheFolders) {
  EXPECT_EQ(get("/a%20b.js").body, "script");
  EXPECT_EQ(get("/a%20b.js").type, "text/javascript; charset=utf-8");
  EXPECT_EQ(get("/inner/").body, "page");
  EXPECT_EQ(get("/inner").status, 301);
  EXPECT_EQ(get("/inner").headers, (net::Headers{{"Location", "/inner/"}}));
  EXPECT_EQ(get("/inner/deep/x.wasm").body, "module");  // of the longest prefix
  EXPECT_EQ(get("/inner/deep/x.wasm").type, "application/wasm");
}

TEST_F(WebFiles, HandsOutNothingElse) {
  for (const char* const path : {"/none", "/../secret.txt", "/%2e%2e/secret.txt", "/inner/../../secret.txt", "/.hidden",
                                 "/inner/%2e./secret.txt", "//etc/passwd", "/%00", "/a%2", "/a%zz",
                                 "/inner/deep/../../../secret.txt", "/inner/deep/"})
    EXPECT_EQ(get(path).status, 404) << path;
  EXPECT_EQ(ask("POST", "/a%20b.js").status, 405);
}

TensorData blank(std::int64_t side) { return {{side, side}, DType::F32}; }

TEST(WebDrawing, IsCentredAndScaled) {
  // A bar at a corner, 60 x 12 of 200: 20 pixels high and 4 wide in the middle.
  TensorData drawing = blank(200);
  for (int y = 10; y < 70; ++y)
    for (int x = 5; x < 17; ++x) drawing.as<float>()[static_cast<std::size_t>(y * 200 + x)] = 1;
  const Image image = digits::centred(drawing);
  ASSERT_EQ(image.pixels.size(), 784u);
  for (int y = 0; y < 28; ++y)
    for (int x = 0; x < 28; ++x)
      EXPECT_NEAR(image.pixels[static_cast<std::size_t>(y * 28 + x)], y >= 4 && y < 24 && x >= 12 && x < 16 ? 1 : 0,
                  1e-5)
          << y << ' ' << x;
  // Bytes say the same.
  TensorData bytes({200, 200}, DType::U8);
  for (int i = 0; i < 40000; ++i)
    bytes.as<std::uint8_t>()[static_cast<std::size_t>(i)] =
        drawing.as<float>()[static_cast<std::size_t>(i)] > 0 ? 255 : 0;
  EXPECT_EQ(digits::centred(bytes).pixels, image.pixels);
}

TEST(WebDrawing, TakesWhateverIsDrawn) {
  EXPECT_EQ(digits::centred(blank(10)).pixels, std::vector<float>(784));
  TensorData odd = blank(1);
  odd.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(digits::centred(odd).pixels, std::vector<float>(784));
  odd.as<float>()[0] = std::numeric_limits<float>::infinity();
  for (const float pixel : digits::centred(odd).pixels) EXPECT_TRUE(pixel >= 0 && pixel <= 1.0001f);
  EXPECT_THROW(digits::centred(TensorData({28}, DType::F32)), ArgumentError);
  EXPECT_THROW(digits::centred(TensorData({0, 4}, DType::F32)), ArgumentError);
  EXPECT_THROW(digits::centred(TensorData({4, 4}, DType::I64)), ArgumentError);
}

TEST(WebDigits, AreReadByTheNetworkOfThePage) {
  const std::string file = KILN_SOURCE_DIR "/examples/web/digits/digits.safetensors";
  const guide::Model model = digits::model_from(read_file(file), file, Device::cpu());
  TensorData one = blank(100);
  for (int y = 20; y < 80; ++y)
    for (int x = 46; x < 54; ++x) one.as<float>()[static_cast<std::size_t>(y * 100 + x)] = 1;
  const digits::Reading reading = digits::read(model, one);
  EXPECT_EQ(reading.digit, 1);
  EXPECT_GT(reading.probabilities[1], 0.9f);
  EXPECT_EQ(digits::read(model, blank(100)).digit, std::nullopt);

  std::vector<std::byte> wrong = read_file(file);
  wrong.resize(wrong.size() / 2);
  EXPECT_THROW(static_cast<void>(digits::model_from(wrong, "cut", Device::cpu())), DataError);
}

TEST(WebDigits, AreLearntAFewStepsAtATime) {
  const auto drawn = [](std::uint64_t seed) { return cached(Digits({.count = 640, .seed = seed})); };
  digits::Training training(drawn(1), drawn(2), {.epochs = 2, .hidden_size = 16}, Device::cpu());
  std::vector<std::int64_t> steps;
  double first = 0, last = 0;
  const auto note = [&](const digits::Progress& progress) {
    steps.push_back(progress.step);
    (progress.step == 1 ? first : last) = progress.loss;
    EXPECT_EQ(progress.steps, 20);
    return progress.step != 3;
  };
  EXPECT_TRUE(training.run(100, note));  // until it is told to stop
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_TRUE(training.run(9, note));  // over the end of an epoch
  EXPECT_FALSE(training.run(100, note));
  EXPECT_EQ(steps.size(), 20u);
  EXPECT_FALSE(training.run(100, note));
  EXPECT_EQ(steps.size(), 20u);
  EXPECT_LT(last, first);
  EXPECT_GE(training.test_accuracy(640), 0);

  // What was learnt goes to a file and back.
  const guide::Model model = training.model();
  const guide::Model again = digits::model_from(digits::file_of(model), "again", Device::cpu());
  const Image image = Digits({.count = 1, .seed = 3}).get(0);
  const auto before = digits::probabilities(model, {&image, 1}).to_vector(),
             after = digits::probabilities(again, {&image, 1}).to_vector();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(after[i], before[i], 2e-3);
  EXPECT_THROW(digits::Training(drawn(1), drawn(2), {.epochs = 0}, Device::cpu()), ArgumentError);
  EXPECT_THROW(digits::Training(drawn(1), drawn(2), {.learning_rate = std::nan("")}, Device::cpu()), ArgumentError);
}

}  // namespace
}  // namespace kiln
