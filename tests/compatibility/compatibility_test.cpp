// Files that an earlier version of Kiln wrote are read as that version read them. Whoever changes a format keeps these files
// and this test, and adds files of the new format beside them.
#include <gtest/gtest.h>

#include "kiln/core/file.hpp"
#include "tests/train/fresh_directory.hpp"

#include "program.hpp"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

const fs::path kFiles = KILN_COMPATIBILITY_FILES;

// Other processors may round sums otherwise; a part that was not read differs far more.
constexpr Tolerance kRounding{1e-4, 1e-5};

const TensorFile& expected() {
  static const TensorFile all = load_tensors((kFiles / "expected.safetensors").string());
  return all;
}

void expect_tensors(const std::string& prefix, const Net& model, const std::string& which) {
  const TensorFile found = record_of(model);
  std::size_t count = 0;
  for (const auto& [name, data] : expected().tensors) count += name.starts_with(prefix);
  ASSERT_EQ(found.tensors.size(), count) << which;
  for (const auto& [name, data] : found.tensors) {
    // The batch norm after the convolution removes any bias, so the bias has a gradient of rounding errors alone, which
    // Adam scales up to whole steps.
    if (name == "conv.bias" || name == "norm.running_mean") continue;
    EXPECT_EQ(difference(data, expected().tensors.at(prefix + name), kRounding), "") << which << ": " << name;
  }
}

TEST(Compatibility, ATrainingContinuesFromItsCheckpoint) {
  const fs::path copy = fresh_directory("compatibility");
  fs::create_directories(copy);
  fs::copy(kFiles / "training", copy, fs::copy_options::recursive);
  expect_tensors("trained.", trained(copy, 3), "training");
}

TEST(Compatibility, ModelsInEveryFormatComputeTheSame) {
  const Device device = Device::cpu();
  for (const char* name : {"model.safetensors", "model.pt", "model.npz", "model.gguf", "model.kiln", "record.kiln"}) {
    Net model = net(device);
    if (std::string_view(name) == "record.kiln") load_record(model, (kFiles / name).string());
    else load(model, (kFiles / name).string());
    const auto [scores, products, best] = program(still(model), pictures(device), table(device));
    EXPECT_EQ(difference(scores.data(), expected().tensors.at("scores"), kRounding), "") << name;
  }
}

// The state of three steps with the gradient 2 w, by Adam's formulas, and the step after them.
TEST(Compatibility, AnOptimizerContinues) {
  Net model = net(Device::cpu().autodiff());
  load_record(model, (kFiles / "record.kiln").string());
  AdamW adam = AdamWConfig{}.init(model);
  load_record(adam, (kFiles / "optimizer.kiln").string());
  const ParamState& state = adam.states().at("hidden.weight");
  EXPECT_EQ(state.steps, 3);
  const Tensor<2> gradient = model.hidden.weight.detach() * 2;
  EXPECT_EQ(difference(state.slots.at(0).data(), (gradient * (1 - std::pow(0.9, 3))).data(), kRounding), "");
  EXPECT_EQ(difference(state.slots.at(1).data(), (gradient.square() * (1 - std::pow(0.999, 3))).data(), kRounding), "");
  auto [loss, grads] = value_and_grad(model, size_of);
  expect_tensors("stepped.", adam.step(0.01, model, grads), "the next step");
}

TEST(Compatibility, AGraphRuns) {
  const Device device = Device::cpu();
  const auto graph = load_graph<std::tuple<Tensor<2>, Tensor<2>, Tensor<1, Int>>(Tensor<4>, Tensor<2>)>(
      (kFiles / "graph.safetensors").string(), device);
  const auto [scores, products, best] = graph(pictures(device), table(device));
  EXPECT_EQ(difference(scores.data(), expected().tensors.at("scores"), kRounding), "");
  EXPECT_EQ(difference(products.data(), expected().tensors.at("products"), kRounding), "");
  EXPECT_EQ(difference(best.data(), expected().tensors.at("best"), kRounding), "");
}

// A field that has another name today must still read its old key.
TEST(Compatibility, ConfigsMeanTheSame) {
  const std::string path = (kFiles / "configs.json").string();
  const Json all = parse_json(read_text_file(path), path);
  std::size_t read = 0;
  each_config([&]<class Config>(const char* name, const Config& config) {
    for (const auto& [key, json] : std::get<Json::Object>(all.is)) {
      if (key != name) continue;
      EXPECT_EQ(write_json(to_json(from_json<Config>(json, path))), write_json(to_json(config))) << name;
      ++read;
    }
  });
  EXPECT_EQ(read, std::get<Json::Object>(all.is).size());
}

}  // namespace
}  // namespace kiln::test
