// Histograms, matrices and pictures of a training, and the lines that logs have of them.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/core/file.hpp"
#include "kiln/data/first_batches.hpp"
#include "kiln/data/png.hpp"
#include "kiln/optim/rules/sgd.hpp"
#include "kiln/train/log/files.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/heard.hpp"
#include "tests/train/line.hpp"

namespace kiln {
namespace {

TEST(Figures, CountValues) {
  const Histogram four = histogram_of(std::vector<float>{0, 1, 1.5f, 2, 4, NAN, INFINITY}, 4);
  EXPECT_EQ(four.edges, (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(four.counts, (std::vector<double>{1, 2, 1, 1}));
  EXPECT_EQ(four.count(), 5);
  EXPECT_EQ(four.sum, 8.5);
  EXPECT_EQ(four.squares, 1 + 2.25 + 4 + 16);
  EXPECT_EQ(four.not_finite, 2);
  EXPECT_EQ(json_of(histogram_of(std::vector<float>{0, 2}, 1)), R"({"edges":[0,2],"counts":[2]})");
  EXPECT_TRUE(histogram_of(std::vector<float>{NAN}).counts.empty());
  EXPECT_EQ(histogram_of(std::vector<float>(7, 3.0f)).count(), 7);
  EXPECT_EQ(sentence_of([] { (void)histogram_of({}, 0); }),
            "ArgumentError: histogram: 0 ranges; there must be 1 to 10000");
}

TEST(Figures, AreJson) {
  const Matrix matrix{1, 2, {3, 0.5}, {"<a>", "\""}};
  EXPECT_EQ(json_of(matrix), R"({"rows":1,"columns":2,"cells":[3,0.5],"names":["<a>","\""]})");
  const PngPicture picture{1, 2, 3, "\x89PNG\r\n\x1a\n"};
  EXPECT_EQ(json_of(picture), R"({"height":1,"width":2,"png":"iVBORw0KGgo="})");  // as Python's base64 has it
  EXPECT_EQ(image_of({2, 2, {1, 3, 0, 0}, {}}).pixels.at(0), 0.25f);              // a quarter of the row
  EXPECT_EQ(png_of(Image{{0, 1}, 1, 2, 0}).bytes.substr(0, 4), "\x89PNG");
  const auto says = [](const Matrix& wrong) { return sentence_of([&] { (void)image_of(wrong); }); };
  EXPECT_EQ(says({2, 2, {1, 2, 3}, {}}), "ShapeError: matrix: 3 cells are not 2 rows of 2");
  EXPECT_EQ(says({-1, -1, {1}, {}}), "ShapeError: matrix: 1 cells are not -1 rows of -1");
}

TEST(Figures, OfWeightsAndGradients) {
  const Heard heard;
  auto data = loader(16, {.batch_size = 4});
  const Line model = line();
  Learner learner(model, SgdConfig{}.init(model), fit_points, {.steps = 3});
  learner.rate(0.1).histograms({.every = 2, .which = "linear"}).add(heard).fit(data);
  const auto seen = heard.of<training::Distribution>();
  ASSERT_EQ(seen.size(), 8u);  // steps 1 and 3; a weight, a bias and their gradients
  EXPECT_EQ(seen[0].name, "weights/linear.weight");
  EXPECT_EQ(seen[1].name, "gradients/linear.weight");
  EXPECT_EQ(seen[0].at.step, 1);
  EXPECT_EQ(seen[4].at.step, 3);
  EXPECT_NEAR(seen[0].histogram.sum, weights(model)[0], 1e-6);
  // The gradient of the mean square of w x + b - y, by hand.
  const Points batch = first_batches(data, 1)[0];
  double gradient = 0;
  for (std::size_t i = 0; i < 4; ++i)
    gradient += 2 * (weights(model)[0] * batch.x[i] + weights(model)[1] - batch.y[i]) * batch.x[i] / 4;
  EXPECT_NEAR(seen[1].histogram.sum, gradient, 1e-5);

  EXPECT_NE(sentence_of([&] { learner.histograms({.which = "linaer"}); }).find("did you mean 'linear'"),
            std::string::npos);
  EXPECT_EQ(sentence_of([&] { learner.histograms({.every = 0}); }),
            "ArgumentError: histograms: every is 0, it must be positive");
}

TEST(Figures, OfAPictureAtEachEvaluation) {
  const Heard heard;
  auto data = loader(16, {.batch_size = 4}), valid = loader(8, {.batch_size = 4});
  auto learner = line_learner({.epochs = 2});
  const auto draw = [](const Line& m) { return Image{{0, m.dropout.mode == nn::Mode::Valid ? 1.0f : 0}, 1, 2, 0}; };
  learner.pictures("samples", draw).add(heard).fit(data, valid);
  const auto seen = heard.of<training::Drawing>();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].name, "samples");
  EXPECT_EQ(seen[0].at.step, 4);
  EXPECT_EQ(seen[0].picture.bytes, png_of(Image{{0, 1}, 1, 2, 0}).bytes);
  EXPECT_EQ(sentence_of([&] { learner.pictures("samples", draw); }),
            "ArgumentError: training: there are two pictures called 'samples'");
}

TEST(Figures, OfAConfusionMatrix) {
  MetricSet<ClassificationOutput> metrics;
  metrics.add(metric::ConfusionMatrix{.classes = 2, .names = {"cat", "dog"}}, "confusion",
              metric::feed<metric::ConfusionMatrix, ClassificationOutput>);
  const Device cpu = Device::cpu();
  metrics.update({Tensor<0>(), Tensor<2>::of({{1, 0}, {0, 1}, {3, 2}}, cpu), Tensor<1, Int>::of({0, 1, 1}, cpu)}, 0);
  const Reading reading = metrics.readings().at(1);
  EXPECT_NEAR(reading.value, 2. / 3, 1e-9);
  ASSERT_TRUE(reading.matrix);
  EXPECT_EQ(reading.matrix->cells, (std::vector<double>{1, 0, 1, 1}));
  EXPECT_EQ(reading.matrix->names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_FALSE(metrics.readings().at(0).matrix);
}

TEST(Figures, AreLinesOfARun) {
  const auto directory = fresh_directory("figures");
  const auto file = [&] { return read_text_file((directory / "figures.jsonl").string()); };
  const auto tell = [](auto& logger, std::int64_t step) {
    logger.on(training::Distribution{{.step = step}, "weights/b", histogram_of(std::vector<float>{0, 1}, 1)});
    logger.on(training::Evaluation{.at = {.step = step},
                                   .split = "valid",
                                   .readings = {{.name = "m", .value = 1, .matrix = Matrix{1, 1, {step * 1.0}, {}}}}});
    logger.on(training::Drawing{{.step = step}, "p", {1, 1, 1, "abc"}});
  };
  RunDirectory first(directory);
  first.on(training::Begin{});
  tell(first, 1);
  const std::string one =
      "{\"step\":1,\"event\":\"histogram\",\"epoch\":0,\"name\":\"weights/"
      "b\",\"content\":{\"edges\":[0,1],\"counts\":[2]}}\n"
      "{\"step\":1,\"event\":\"matrix\",\"epoch\":0,\"name\":\"valid "
      "m\",\"content\":{\"rows\":1,\"columns\":1,\"cells\":[1],"
      "\"names\":[]}}\n"
      "{\"step\":1,\"event\":\"picture\",\"epoch\":0,\"name\":\"p\",\"content\":{\"height\":1,\"width\":1,\"png\":"
      "\"YWJj\"}}\n";
  EXPECT_EQ(file(), one);
  tell(first, 2);
  EXPECT_EQ(file().size(), 2 * one.size());
  RunDirectory resumed(directory);  // takes back what came after the checkpoint
  resumed.on(training::Begin{.at = {.step = 1}});
  EXPECT_EQ(file(), one);
  tell(resumed, 2);
  EXPECT_EQ(file().size(), 2 * one.size());
  RunDirectory anew(directory);
  anew.on(training::Begin{});
  EXPECT_FALSE(std::filesystem::exists(directory / "figures.jsonl"));
}

TEST(Figures, ReplaceNoFileOfSomeoneElse) {
  const auto directory = fresh_directory("figures_of_someone");
  const std::string file = (directory / "figures.jsonl").string();
  std::filesystem::create_directories(directory);
  write_file_atomically(file, "mine");
  EXPECT_EQ(sentence_of([&] { RunDirectory(directory).on(training::Begin{}); }),
            "ConfigError: " + file + " exists already, and no training was logged here: choose another directory");
  EXPECT_EQ(read_text_file(file), "mine");
}

}  // namespace
}  // namespace kiln
