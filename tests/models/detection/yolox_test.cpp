// YOLOX against PyTorch's figures (yolox_figures.py), and what it finds and refuses.
#include <gtest/gtest.h>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/module/uninitialized.hpp"
#include "kiln/tensor/create.hpp"
#include "models/detection/yolox_loss.hpp"
#include "tests/store/temporary.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/sentence.hpp"

#include "tests/models/agreement.hpp"

namespace kiln::models {
namespace {

using test::autodiff;
using test::cpu;

struct Figures {
  std::map<std::string, Shape> state;
  std::vector<double> raw, losses, raw_after_step;  // losses: the sum, then boxes, objectness, classes and distances
  std::int64_t assigned = 0, parameters = 0;
};
struct AllFigures {
  std::string made_with;
  Figures plain, depthwise;
};

const AllFigures& figures() {
  static const auto all = load_config<AllFigures>(KILN_SOURCE_DIR "/tests/models/detection/yolox_figures.json");
  return all;
}

// The boxes that yolox_figures.py has.
const std::vector<std::vector<Box>> kTruth = {
    {{8, 10, 32, 28, 0}, {50, 20, 40, 40, 2}},
    {},
    {{-10, -6, 24, 18, 1}, {30, 16, 32, 32, 1}, {34, 18, 26, 26, 0}, {70, 40, 8, 6, 2}}};

void expect_as_in_pytorch(const YoloxConfig& config, const Figures& right) {
  const TemporaryFile file("yolox.safetensors");
  write_tensors(state_dict(right.state), file.path);
  Yolox model = config.init(autodiff);
  EXPECT_TRUE(load_yolox(model, file.path).complete());
  EXPECT_EQ(num_params(model), right.parameters);
  const Tensor<4> images = wave_tensor<4>("images", {3, 3, 64, 96});
  expect_figures(valid(model).forward(images).raw.at(0, 0).to_vector<double>(), right.raw);
  YoloxLosses losses;
  step(model, [&](const Yolox& m) {
    losses = YoloxLoss{.distance_weight = 1}.forward(m.forward(images), kTruth);
    return losses.loss * 0.01;  // a whole step would lead to numbers beyond comparison
  });
  // Norms of eighteen numbers enlarge what float32 rounds: the distances of the second model differ by 4e-4 here, and by
  // 6e-5 in PyTorch's own float32.
  expect_figures({losses.loss.item(), losses.boxes.item(), losses.objectness.item(), losses.classes.item(),
                  losses.distances.item()},
                 right.losses, 1e-3);
  EXPECT_EQ(losses.assigned, right.assigned);
  expect_figures(valid(model).forward(images).raw.at(0, 0).to_vector<double>(), right.raw_after_step, 1e-3);
}

TEST(Yolox, LearnsAsInPyTorch) {
  expect_as_in_pytorch({.classes = 3, .width = 0.0625}, figures().plain);
  expect_as_in_pytorch({.classes = 3, .depth = 2.0 / 3, .width = 0.0625, .depthwise = true}, figures().depthwise);
}

// The figures stand in YOLOX's own description, in millions.
TEST(Yolox, CountsAsManyParameters) {
  const auto millions = [](std::string_view name) {
    return static_cast<double>(num_params(uninitialized(yolox(name), cpu))) / 1e6;
  };
  EXPECT_NEAR(millions("nano"), 0.91, 0.005);
  EXPECT_NEAR(millions("tiny"), 5.06, 0.005);
  EXPECT_NEAR(millions("s"), 9.0, 0.05);
  EXPECT_NEAR(millions("m"), 25.3, 0.05);
  EXPECT_NEAR(millions("l"), 54.2, 0.05);
  EXPECT_NEAR(millions("x"), 99.1, 0.05);
}

TEST(Yolox, KeepsItsOtherWeightsWhereClassesDiffer) {
  const TemporaryFile file("yolox.safetensors");
  write_tensors(state_dict(figures().plain.state), file.path);
  Yolox model = YoloxConfig{.classes = 5, .width = 0.0625}.init(cpu);
  const std::vector<float> before = model.heads[1].classes.weight.to_vector();
  const std::string said = sentence_of([&] { return load_yolox(model, file.path); });
  EXPECT_NE(said.find("'heads.0.classes.weight' has shape [3, 16, 1, 1], the module expects [5, 16, 1, 1]"),
            std::string::npos)
      << said;
  const LoadReport report = load_yolox(model, file.path, {.except = "heads.*.classes.*"});
  EXPECT_TRUE(report.mismatched.empty());
  EXPECT_EQ(model.heads[1].classes.weight.to_vector(), before);
  const TensorData theirs = parameter("head.reg_preds.1.weight", model.heads[1].boxes.weight.shape());
  EXPECT_EQ(model.heads[1].boxes.weight.to_vector(), theirs.to_vector<float>());
}

TEST(Yolox, NamesTheCellsOfAllMaps) {
  const std::vector<YoloxCells::Cell> cells = YoloxCells{32, 64}.list();
  ASSERT_EQ(cells.size(), 32 + 8 + 2);
  EXPECT_EQ(cells[9].column, 1);
  EXPECT_EQ(cells[9].row, 1);
  EXPECT_EQ(cells[32].stride, 16);
  EXPECT_EQ(cells[41].column, 1);
  EXPECT_EQ(cells[41].stride, 32);
}

}  // namespace
}  // namespace kiln::models
