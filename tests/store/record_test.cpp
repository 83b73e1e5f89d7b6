// Saving and loading models and optimizers: exact round trips, conversions, and one sentence for every misfit.
#include "kiln/store/record.hpp"

#include <gtest/gtest.h>

#include "kiln/nn.hpp"
#include "kiln/optim.hpp"
#include "kiln/store/save.hpp"

#include "temporary.hpp"

namespace kiln {
namespace {

struct Block {
  nn::Linear linear;
  nn::BatchNorm norm;
};
struct Model {
  nn::Embedding embedding;
  std::vector<Block> blocks;
  nn::Sequential<nn::Linear, nn::Relu, nn::Linear> mlp;
};

Model make_model(const Device& device, std::int64_t width = 4) {
  const nn::LinearConfig linear{.in = width, .out = width};
  const auto block = [&] { return Block{linear.init(device), nn::BatchNormConfig{.channels = width}.init(device)}; };
  return {.embedding = nn::EmbeddingConfig{.count = 5, .size = width}.init(device),
          .blocks = {block(), block()},
          .mlp = nn::Sequential(linear.init(device), nn::Relu{}, nn::LinearConfig{width, 2, false}.init(device))};
}

TensorFileView view_of(const TensorFile& file) {
  TensorFileView view{.tensors = {}, .metadata = file.metadata};
  for (const auto& [name, data] : file.tensors)
    view.tensors.emplace(name, TensorView{data.shape(), data.dtype(), data.bytes()});
  return view;
}

template <class T>
std::string load_error(const TensorFile& file, T object) {
  try {
    from_record(view_of(file), std::move(object), "m.safetensors");
  } catch (const LoadError& error) { return std::string(error.message()); }
  return "no error";
}

void expect_same(const TensorFile& actual, const TensorFile& expected) {
  ASSERT_EQ(actual.tensors.size(), expected.tensors.size());
  for (const auto& [name, data] : expected.tensors)
    EXPECT_EQ(difference(actual.tensors.at(name), data, {0, 0}), "") << name;
}

TEST(Record, NamesTensorsByTheirPlaceInTheModel) {
  std::vector<std::string> names;
  for (const auto& [name, data] : record_of(make_model(Device::cpu())).tensors) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"blocks.0.linear.bias", "blocks.0.linear.weight", "blocks.0.norm.bias",
                                      "blocks.0.norm.running_mean", "blocks.0.norm.running_var", "blocks.0.norm.weight",
                                      "blocks.1.linear.bias", "blocks.1.linear.weight", "blocks.1.norm.bias",
                                      "blocks.1.norm.running_mean", "blocks.1.norm.running_var", "blocks.1.norm.weight",
                                      "embedding.weight", "mlp.0.bias", "mlp.0.weight", "mlp.2.weight"}));
}

TEST(Record, BringsAModelBackExactlyWithItsMetadata) {
  const TemporaryFile file("model.safetensors");
  const Device device = Device::cpu().autodiff();
  const Model model = make_model(device);
  model.blocks[1].norm.running_mean.set(Tensor<1>::of({1, 2, 3, 4}, device));
  save(model, file.path, {{"epoch", "3"}});
  const Model loaded = load(file.path, make_model(device));
  expect_same(record_of(loaded), record_of(model));
  EXPECT_EQ(loaded.blocks[1].norm.running_mean.get().to_vector(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(load_metadata(file.path), (Metadata{{"epoch", "3"}}));
}

TEST(Record, LoadedParametersAreLeavesOnAnAutodiffDeviceAndUntrackedOnAPlainOne) {
  const TemporaryFile file("model.safetensors");
  save(make_model(Device::cpu()), file.path);
  visit_params(load(file.path, make_model(Device::cpu().autodiff())),
               [](const std::string& path, const auto& param) { EXPECT_TRUE(param.tracked()) << path; });
  visit_params(load(file.path, make_model(Device::cpu())),
               [](const std::string& path, const auto& param) { EXPECT_FALSE(param.tracked()) << path; });
}

TEST(Record, ConvertsFloatsToTheModulesElementType) {
  TensorFile file;
  file.tensors.emplace("weight", TensorData::of<F16>({1, 2}, {F16(0.5), F16(-1.25)}));
  file.tensors.emplace("bias", TensorData::of<BF16>({1}, {BF16(3.)}));
  const nn::Linear linear = from_record(view_of(file), nn::LinearConfig{.in = 2, .out = 1}.init(Device::cpu()), "half");
  EXPECT_EQ(linear.weight.dtype(), DType::F32);
  EXPECT_EQ(linear.weight.to_vector(), (std::vector<float>{0.5, -1.25}));
  EXPECT_EQ(linear.bias.to_vector(), (std::vector<float>{3}));

  const nn::Linear half = map_params(linear, [](const auto&, const Value& v) { return cast(v, DType::BF16); });
  file.tensors.at("weight") = TensorData::of<float>({1, 2}, {1.00390625f, 2});  // between two bfloat16: to even
  const nn::Linear rounded = from_record(view_of(file), half, "full");
  EXPECT_EQ(rounded.weight.dtype(), DType::BF16);
  EXPECT_EQ(rounded.weight.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Record, NamesAMissingTensorAndTheOneThatWasPerhapsMeant) {
  TensorFile file = record_of(make_model(Device::cpu()));
  auto node = file.tensors.extract("mlp.2.weight");
  EXPECT_EQ(load_error(file, make_model(Device::cpu())), "m.safetensors: 'mlp.2.weight' is missing");
  node.key() = "mlp.fc.weight";
  file.tensors.insert(std::move(node));
  EXPECT_EQ(load_error(file, make_model(Device::cpu())),
            "m.safetensors: does not fit the module:\n"
            "  'mlp.2.weight' is missing (did you mean 'mlp.fc.weight'?)\n"
            "  'mlp.fc.weight' is unexpected, the module has none");
}

/// A model around another, as those who fine-tune write it.
struct Around {
  Model body;
  nn::Linear head;
};
struct Listed {
  std::vector<Model> bodies;
  nn::Linear head;
};

TEST(Record, SaysWhereTheNamesFitIfOneBeginningIsAllThatDiffers) {
  const Device cpu = Device::cpu();
  const Around around{make_model(cpu), nn::LinearConfig{.in = 2, .out = 2}.init(cpu)};
  EXPECT_EQ(load_error(record_of(make_model(cpu)), around),
            "m.safetensors: all its names lack 'body.': load into that member, load(model.body, ...)");
  EXPECT_EQ(
      load_error(record_of(around), make_model(cpu)),
      "m.safetensors: the module's names are all below 'body.' there: LoadOptions::under = \"body\" selects them");

  // Names that the file does not have, but that a change has made, are below no key of the file.
  TensorFile renamed;
  for (auto& [name, data] : record_of(make_model(cpu)).tensors)
    renamed.tensors.emplace("net-body." + name, std::move(data));
  const LoadOptions options{.rename = {{"^net-", ""}}};
  const auto error_of = [&](const LoadOptions& edits) {
    try {
      (void)from_record(view_of(renamed), make_model(cpu), "m.safetensors", edits);
    } catch (const LoadError& error) { return std::string(error.message()); }
    return std::string();
  };
  EXPECT_EQ(
      error_of(options),
      "m.safetensors: the module's names are all below 'body.' there, once they are changed: {R\"(^body\\.)\", \"\"} "
      "as the last of LoadOptions::rename removes it");
  EXPECT_EQ(error_of({.rename = {{"^net-", ""}, {R"(^body\.)", ""}}}), "");  // from_record() edits, too
  EXPECT_EQ(error_of({.under = "net-body"}), "");

  // What is advised can be written so, however long it is.
  const std::string longer = text("body", std::string(100, 'y'), "(1).");
  const std::string pattern = text("^body", std::string(100, 'y'), R"(\(1\)\.)");
  TensorFile longer_names;
  for (auto& [name, data] : record_of(make_model(cpu)).tensors)
    longer_names.tensors.emplace(text("net-", longer, name), std::move(data));
  std::swap(renamed, longer_names);
  EXPECT_NE(error_of(options).find(text("{R\"(", pattern, ")\", \"\"}")), std::string::npos) << error_of(options);
  EXPECT_EQ(error_of({.rename = {{"^net-", ""}, {pattern, ""}}}), "");
  const std::string under = text("net-", longer.substr(0, longer.size() - 1));
  EXPECT_NE(error_of({}).find(text("LoadOptions::under = \"", under, "\"")), std::string::npos) << error_of({});
  EXPECT_EQ(error_of({.under = under}), "");

  // A list's member has no call that could be shown, and a key that was given stays before the one that is wanted.
  const Listed listed{{make_model(cpu)}, nn::LinearConfig{.in = 2, .out = 2}.init(cpu)};
  EXPECT_EQ(load_error(record_of(make_model(cpu)), listed),
            "m.safetensors: all its names lack 'bodies.0.': load into that member");
  const TemporaryFile saved("listed.safetensors");
  save(listed, saved.path);
  try {
    (void)load(saved.path, make_model(cpu), {.under = "bodies"});
    ADD_FAILURE() << "loaded";
  } catch (const LoadError& error) {
    EXPECT_NE(error.message().find("LoadOptions::under = \"bodies.0\" selects them"), std::string_view::npos)
        << error.message();
  }

  TensorFile file = record_of(make_model(cpu));  // one name that does not fit: the list says which
  file.tensors.emplace("other", TensorData());
  EXPECT_NE(load_error(file, around).find("\n  'other' is unexpected, the module has none"), std::string::npos);
}

TEST(Record, NamesEveryMisfitInOneError) {
  TensorFile file = record_of(nn::LinearConfig{.in = 3, .out = 2}.init(Device::cpu()));
  EXPECT_EQ(load_error(file, nn::LinearConfig{.in = 4, .out = 2}.init(Device::cpu())),
            "m.safetensors: tensor 'weight' has shape [2, 3], the module expects [2, 4]");
  EXPECT_EQ(
      load_error(file, nn::LinearConfig{.in = 2, .out = 3}.init(Device::cpu())),
      "m.safetensors: does not fit the module:\n"
      "  tensor 'weight' has shape [2, 3], the module expects [3, 2]\n"
      "  tensor 'bias' has shape [2], the module expects [3]\n"
      "  make the module by the config that it was saved with, or LoadOptions::allow_mismatched leaves these as they "
      "are");
  file.tensors.at("bias") = TensorData({2}, DType::I64);
  file.tensors.emplace("optimizer_settings", TensorData());
  EXPECT_EQ(load_error(file, nn::LinearConfig{.in = 4, .out = 2}.init(Device::cpu())),
            "m.safetensors: does not fit the module:\n"
            "  tensor 'weight' has shape [2, 3], the module expects [2, 4]\n"
            "  tensor 'bias' is int64, the module expects float32\n"
            "  'optimizer_settings' is unexpected, the module has none");
}

TEST(Record, MayHoldMoreWhereThatIsAllowed) {
  TensorFile file = record_of(nn::BatchNormConfig{.channels = 1}.init(Device::cpu()));
  file.tensors.emplace("num_batches_tracked", TensorData({}, DType::I64));  // PyTorch's batch norms save it
  file.tensors.at("bias") = TensorData::of<float>({1}, {5});
  const nn::BatchNorm norm = from_record(view_of(file), nn::BatchNormConfig{.channels = 1}.init(Device::cpu()), "torch",
                                         {.allow_unexpected = true});
  EXPECT_EQ(norm.bias.to_vector(), (std::vector<float>{5}));
}

// One step on gradients of ones times `factor`.
template <class Optim>
nn::Linear step(Optim& optimizer, nn::Linear model, double factor) {
  const auto [loss, grads] =
      value_and_grad(model, [&](const nn::Linear& m) { return (m.weight.sum() + m.bias.square().sum()) * factor; });
  return optimizer.step(0.1, std::move(model), grads);
}

TEST(Record, AnOptimizerGoesOnExactlyWhereItWasSaved) {
  const TemporaryFile file("optimizer.safetensors");
  const Device device = Device::cpu().autodiff();
  nn::Linear model = nn::LinearConfig{.in = 3, .out = 2}.init(device);
  auto optimizer = AdamWConfig{.weight_decay = 0.1}.init(model);
  for (int i = 0; i < 3; ++i) model = step(optimizer, std::move(model), 1.0 + i);
  save(optimizer, file.path);

  auto restored = load(file.path, AdamWConfig{.weight_decay = 0.1}.init(model));
  EXPECT_EQ(restored.states().at("weight").steps, 3);
  expect_same(record_of(restored), record_of(optimizer));
  expect_same(record_of(step(restored, model, 0.5)), record_of(step(optimizer, model, 0.5)));
}

TEST(Record, AnOptimizersStateMustFitToo) {
  const Device device = Device::cpu().autodiff();
  const auto optimizer = SgdConfig{.momentum = 0.9}.init(nn::LinearConfig{3, 2}.init(device));
  EXPECT_EQ(
      load_error(record_of(optimizer), SgdConfig{.momentum = 0.9}.init(nn::LinearConfig{3, 2, false}.init(device))),
      "m.safetensors: does not fit the optimizer:\n"
      "  'bias.steps' is unexpected, the optimizer has none\n"
      "  'bias.velocity' is unexpected, the optimizer has none");
}

TEST(Record, AnOptimizersHasAVersionOfItsOwn) {
  const auto optimizer = AdamConfig{}.init(nn::LinearConfig{3, 2}.init(Device::cpu().autodiff()));
  TensorFile record = record_of(optimizer, {{"epoch", "3"}});
  EXPECT_EQ(record.metadata, (Metadata{{"epoch", "3"}, {"optimizer_version", "1"}}));
  record.metadata["optimizer_version"] = "2";
  EXPECT_EQ(
      load_error(record, optimizer),
      "m.safetensors: an optimizer's record of version 2, which a later Kiln wrote; this one reads up to version 1");
  for (const char* damaged : {"", "0", "-1", "1x", "99999999999999999999"}) {
    record.metadata["optimizer_version"] = damaged;
    EXPECT_EQ(
        load_error(record, optimizer),
        text("m.safetensors: the version of an optimizer's record must be a number of 1 or more, not '", damaged, "'"));
  }
  record.metadata.erase("optimizer_version");  // from before there was one
  EXPECT_EQ(load_error(record, optimizer), "no error");
}

TEST(Record, AFileThatIsNoneOrDamagedIsNamed) {
  const TemporaryFile file("damaged.safetensors");
  EXPECT_THROW(load(file.path, make_model(Device::cpu())), IoError);
  write_text(file.path, "not tensors");
  try {
    load(file.path, make_model(Device::cpu()));
    FAIL();
  } catch (const DataError& error) { EXPECT_TRUE(error.message().starts_with(file.path)) << error.what(); }
}

}  // namespace
}  // namespace kiln
