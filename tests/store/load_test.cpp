// Loading what was not saved from the same model: other formats, names, layouts and types, and parts of models.
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "kiln/core/error/trace.hpp"
#include "kiln/nn.hpp"
#include "kiln/optim.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/save.hpp"

#include "formats/samples.hpp"
#include "temporary.hpp"

namespace kiln {
namespace {

struct Model {
  nn::Conv2d conv;
  nn::BatchNorm norm;
  nn::Linear head;
};

Model make_model(std::int64_t classes = 3) {
  const Device device = Device::cpu();
  return {.conv = nn::Conv2dConfig{.in = 2, .out = 4, .kernel = {3}}.init(device),
          .norm = nn::BatchNormConfig{.channels = 4}.init(device),
          .head = nn::LinearConfig{.in = 4, .out = classes}.init(device)};
}

TensorSource source_of(const Model& model) { return detail::source_of(detail::parts_of(model), {}); }

void expect_same(const Model& actual, const Model& expected) {
  const TensorFile a = record_of(actual), b = record_of(expected);
  for (const auto& [name, data] : b.tensors) EXPECT_EQ(difference(a.tensors.at(name), data, {0, 0}), "") << name;
}

class AnyFormat : public testing::TestWithParam<std::string_view> {};

TEST_P(AnyFormat, BringsAModelBackWithoutACopy) {
  const TemporaryFile file(text("model", GetParam()));
  const Model model = make_model();
  save(model, file.path);
  EXPECT_EQ(open_tensors(file.path).format, format_for_writing(file.path).name);
  Model loaded = make_model();
  const std::int64_t uploads = Device::cpu().memory().uploads;
  const LoadReport report = load(loaded, file.path);
  EXPECT_EQ(Device::cpu().memory().uploads, uploads);
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.loaded.size(), 8u);
  expect_same(loaded, model);
  std::filesystem::remove(file.path);  // the mapping stays
  expect_same(loaded, model);
}
INSTANTIATE_TEST_SUITE_P(Formats, AnyFormat, testing::Values(".safetensors", ".kiln", ".gguf", ".pt", ".npz"));

TEST(Load, TakesTheDotsAndNamesOfOthersApart) {
  const TemporaryFile file("theirs.pt");
  const Model model = make_model();
  const std::vector<Rename> theirs = {{"^norm.weight", "norm.gamma"},    {"^norm.bias", "norm.beta"},
                                      {"^head", "module.classifier"},    {"running_", "moving_"},
                                      {"moving_var", "moving_variance"}, {"^", "state_dict.model."}};
  TensorSource source = renamed(source_of(model), theirs);
  source.tensors.emplace("optimizer.step", stored(TensorData({}, DType::I64)));
  write_tensors(source, file.path);
  LoadOptions options{.under = "state_dict.model", .rename = {{R"(^module\.classifier\.)", "head."}}};
  options.rename.insert(options.rename.end(), norm_names().begin(), norm_names().end());
  Model loaded = make_model();
  EXPECT_TRUE(load(loaded, file.path, options).complete());
  expect_same(loaded, model);
}

TEST(Load, NamesTheOptionThatLeavesOutWhatPytorchCounts) {
  const TemporaryFile file("theirs.pt");
  Model model = make_model();
  TensorSource source = source_of(model);
  source.tensors.emplace("norm.num_batches_tracked", stored(TensorData({}, DType::I64)));
  write_tensors(source, file.path);
  EXPECT_EQ(error_of([&] { load(model, file.path); }),
            text("LoadError: ", file.path,
                 ": 'norm.num_batches_tracked' is unexpected, the module has none\n"
                 "  LoadOptions::pytorch_layers reads layers by the names of PyTorch's, as here"));
  EXPECT_TRUE(load(model, file.path, {.pytorch_layers = true}).complete());
}

TEST(Load, LayoutsOfOtherFrameworksAreTurned) {
  const TemporaryFile file("theirs.npz");
  const Model model = make_model();
  TensorSource source = source_of(model);
  source = with_layout(source, {"head.weight", {1, 0}});        // [in, out]
  source = with_layout(source, {"conv.weight", {2, 3, 1, 0}});  // [height, width, in, out]
  write_tensors(source, file.path);
  Model loaded = make_model();
  EXPECT_THROW(load(loaded, file.path), LoadError);
  load(loaded, file.path, {.layouts = {transposed_linear("head.weight"), from_hwio("conv.weight")}});
  expect_same(loaded, model);
}

struct Parts {
  nn::Param<2> query, key;
  nn::Param<1> first, second;
};

TEST(Load, OneTensorMayBeSeveralOfTheModels) {
  const TemporaryFile file("joined.safetensors");
  TensorSource source;
  source.tensors.emplace("qk.w", stored(TensorData::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})));
  source.tensors.emplace("fs.b", stored(TensorData::of<float>({4}, {1, 2, 3, 4})));
  write_tensors(source, file.path);
  const auto empty = [] { return Tensor<2>::zeros({2, 2}, Device::cpu()); };
  Parts parts{nn::Param(empty()), nn::Param(empty()), nn::Param(empty()(0)), nn::Param(empty()(0))};
  const Parts before = parts;
  const LoadOptions options{.split = {{"^qk\\.w$", {"query", "key"}, -1}, {"^fs\\.b$", {"first", "second"}}}};
  EXPECT_TRUE(load(parts, file.path, options).complete());
  EXPECT_EQ(parts.query.to_vector(), (std::vector<float>{1, 2, 5, 6}));
  EXPECT_EQ(parts.key.to_vector(), (std::vector<float>{3, 4, 7, 8}));
  EXPECT_EQ(parts.second.to_vector(), (std::vector<float>{3, 4}));

  parts = before;
  const auto refusal = [&](const TensorSplit& rule) -> std::string {
    try {
      load(parts, file.path, {.split = {rule}});
    } catch (const Error& error) { return std::string(without_calls(error.message())); }
    return "";
  };
  EXPECT_EQ(refusal({"w", {"a", "b", "c"}}),
            file.path + ": tensor 'qk.w' of shape [2, 4] is not 3 equal parts along dimension 0");
  EXPECT_EQ(refusal({"w", {}}), file.path + ": tensor 'qk.w' of shape [2, 4] is not 0 equal parts along dimension 0");
  EXPECT_EQ(refusal({"w", {"same", "same"}}), "rename: 'qk.w' and another tensor would both be 'qk.same'");
  EXPECT_NE(refusal({"(", {"a"}}).find("the pattern"), std::string::npos);
  EXPECT_NE(refusal({"w", {"a", "b"}, 2}).find("dimension 2"), std::string::npos);
}

TEST(Load, APartOfAModelLeavesTheRest) {
  const TemporaryFile file("model.safetensors");
  const Model old = make_model(3), fresh = make_model(5);
  save(old, file.path);
  Model model = fresh;
  EXPECT_THROW(load(model, file.path), LoadError);
  expect_same(model, fresh);
  const LoadReport report = load(model, file.path, {.except = "head"});
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.loaded.size(), 6u);
  EXPECT_EQ(model.conv.weight.to_vector(), old.conv.weight.to_vector());
  EXPECT_EQ(model.head.weight.to_vector(), fresh.head.weight.to_vector());

  Model other = fresh;
  const LoadReport mismatched = load(other, file.path, {.allow_mismatched = true});
  EXPECT_EQ(mismatched.mismatched,
            (std::vector<std::string>{"tensor 'head.weight' has shape [3, 4], the module expects [5, 4]",
                                      "tensor 'head.bias' has shape [3], the module expects [5]"}));
  EXPECT_EQ(other.head.bias.to_vector(), fresh.head.bias.to_vector());
  EXPECT_EQ(other.norm.weight.to_vector(), old.norm.weight.to_vector());
}

/// Of make_model(3)'s eight parts, those that are loaded into another model with these options.
std::vector<std::string> loaded_parts(const LoadOptions& options) {
  const TemporaryFile file("model.safetensors");
  const Model from = make_model(), before = make_model();
  save(from, file.path);
  Model model = before;
  const LoadReport report = load(model, file.path, options);
  EXPECT_TRUE(report.complete());
  const TensorFile now = record_of(model), old = record_of(before), wanted = record_of(from);
  for (const auto& [name, data] : now.tensors) {
    const bool loaded = std::ranges::find(report.loaded, name) != report.loaded.end();
    EXPECT_EQ(difference(data, (loaded ? wanted : old).tensors.at(name), {0, 0}), "") << name;
  }
  return report.loaded;
}
using Names = std::vector<std::string>;

TEST(Load, PartsAreSaidBySelectors) {
  EXPECT_EQ(loaded_parts({.only = "head"}), (Names{"head.weight", "head.bias"}));
  EXPECT_EQ(loaded_parts({.only = "**.bias"}), (Names{"conv.bias", "norm.bias", "head.bias"}));
  EXPECT_EQ(loaded_parts({.only = Selector::regex("(conv|head)\\.w.*")}), (Names{"conv.weight", "head.weight"}));
  EXPECT_EQ(loaded_parts({.only = Selector::type("Linear")}), (Names{"head.weight", "head.bias"}));
  EXPECT_EQ(loaded_parts({.only = Selector::rank(4) || "head.bias"}), (Names{"conv.weight", "head.bias"}));
  EXPECT_EQ(loaded_parts({.only = !Selector("norm"), .except = "**.bias"}), (Names{"conv.weight", "head.weight"}));
  EXPECT_EQ(loaded_parts({.only = Selector::where([](const Candidate& part) { return part.value.numel() == 12; })}),
            Names{"head.weight"});
  EXPECT_TRUE(loaded_parts({.only = Selector::none()}).empty());
  EXPECT_EQ(error_of([] { loaded_parts({.only = "haed"}); }),
            "ArgumentError: load: 'haed' selects none of the module's parts (did you mean 'head'?)");
}

TEST(Load, WhatIsNotSelectedIsNeitherMissingNorUnexpected) {
  const TemporaryFile file("head.safetensors");
  Model other = make_model(), model = make_model();
  save(other, file.path, {}, "head");
  EXPECT_EQ(open_tensors(file.path).tensors.size(), 2u);
  EXPECT_THROW(load(model, file.path), LoadError);
  EXPECT_TRUE(load(model, file.path, {.only = "head"}).complete());
  EXPECT_EQ(model.head.weight.to_vector(), other.head.weight.to_vector());
  EXPECT_EQ(error_of([&] { load(model, file.path, {.only = "{head,norm.bias}"}); }),
            text("LoadError: ", file.path, ": 'norm.bias' is missing"));

  TensorSource more = source_of(other);
  more.tensors.emplace("lm_head.weight", stored(TensorData({2}, DType::F32)));
  write_tensors(more, file.path);
  EXPECT_EQ(error_of([&] { load(model, file.path); }),
            text("LoadError: ", file.path, ": 'lm_head.weight' is unexpected, the module has none"));
  EXPECT_TRUE(load(model, file.path, {.except = "lm_head"}).complete());
  EXPECT_EQ(error_of([&] { save(model, file.path, {}, "nrom"); }),
            "ArgumentError: save: 'nrom' selects none of the module's parts (did you mean 'norm'?)");
}

struct Sequence {
  nn::Lstm lstm;
  nn::Linear head;
};
Sequence make_sequence() {
  return {nn::LstmConfig{.in = 2, .hidden = 3}.init(Device::cpu()),
          nn::LinearConfig{.in = 3, .out = 1}.init(Device::cpu())};
}

// As Kiln 0.1 wrote an Lstm, which had one layer alone, with the names of PyTorch's LSTMCell.
TEST(Load, SaysHowAnLstmOfOldIsRead) {
  const TemporaryFile file("old.safetensors");
  TensorSource source;
  for (const auto& [name, shape] : {std::pair("lstm.weight_ih", Shape{12, 2}),
                                    {"lstm.weight_hh", Shape{12, 3}},
                                    {"lstm.bias_ih", Shape{12}},
                                    {"lstm.bias_hh", Shape{12}},
                                    {"head.weight", Shape{1, 3}},
                                    {"head.bias", Shape{1}}})
    source.tensors.emplace(name, stored(TensorData(shape, DType::F32)));
  write_tensors(source, file.path);
  Sequence model = make_sequence();
  const std::string said = error_of([&] { load(model, file.path); });
  EXPECT_NE(said.find("'lstm.layers.0.weight_ih' is missing"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with(
      "\n  LoadOptions::rename by the rules of old_recurrent_names() reads recurrent layers by the names "
      "that they had while they were single, as here"))
      << said;
  LoadOptions options;
  options.rename.assign(old_recurrent_names().begin(), old_recurrent_names().end());
  EXPECT_TRUE(load(model, file.path, options).complete());
  EXPECT_EQ(model.lstm.layers[0].weight_hh.value().data().to_vector<float>(), std::vector<float>(36));
  // No hint where none would help.
  source.tensors.clear();
  source.tensors.emplace("other.weight_ih", stored(TensorData({1}, DType::F32)));
  write_tensors(source, file.path);
  EXPECT_EQ(error_of([&] { load(model, file.path); }).find("LoadOptions::"), std::string::npos);
}

// A tensor that cannot be read is missing, and the sentence says why.
TEST(Load, SaysWhyATensorIsLeftOut) {
  const TemporaryFile file("float8.safetensors");
  const std::string header = R"({"weight":{"dtype":"F8_E4M3","shape":[1,3],"data_offsets":[0,3]},)"
                             R"("bias":{"dtype":"F32","shape":[1],"data_offsets":[3,7]}})";
  std::string bytes;
  append_number(bytes, std::uint64_t{header.size()});
  write_text(file.path, bytes + header + std::string(7, '\0'));
  nn::Linear linear = nn::LinearConfig{.in = 3, .out = 1}.init(Device::cpu());
  EXPECT_EQ(
      error_of([&] { load(linear, file.path); }),
      text("LoadError: ", file.path, ": 'weight' is missing: the file's 'weight' is of type F8_E4M3 and shape [1, 3]: ",
           "Kiln has no such type"));
  EXPECT_EQ(load(linear, file.path, {.allow_missing = true}).loaded, std::vector<std::string>{"bias"});
}

TEST(Load, SaysAllThatItDid) {
  const TemporaryFile file("model.safetensors");
  TensorSource source = renamed(source_of(make_model()), std::vector<Rename>{{"^head", "haed"}});
  write_tensors(source, file.path);
  Model model = make_model();
  const LoadReport report = load(model, file.path, {.allow_unexpected = true, .allow_missing = true});
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(text(report),
            "6 loaded\n"
            "'head.weight' is missing (did you mean 'haed.weight'?)\n"
            "'head.bias' is missing (did you mean 'haed.bias'?)\n"
            "'haed.bias' is in the file and not used\n"
            "'haed.weight' is in the file and not used\n");
}

TEST(Load, WarnsOfNumbersThatAreNone) {
  const TemporaryFile file("model.safetensors");
  Model model = make_model();
  model.norm.bias = nn::Param<1>(Tensor<1>::of({1, NAN, 3, 4}, Device::cpu()));
  model.head.bias = nn::Param<1>(Tensor<1>::of({1, 2, INFINITY}, Device::cpu()));
  save(model, file.path);
  const std::vector<std::string> warnings = {"tensor 'norm.bias' holds NaN", "tensor 'head.bias' holds an infinity"};
  EXPECT_EQ(load(model, file.path).warnings, warnings);
  EXPECT_TRUE(load(model, file.path, {.check_elements = 1}).warnings.empty());
  testing::internal::CaptureStderr();
  load(file.path, make_model());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            text("kiln: ", file.path, ": ", warnings[0], "\nkiln: ", file.path, ": ", warnings[1], "\n"));
}

TEST(Load, TheFilesFloatsOrTheModels) {
  const TemporaryFile file("half.kiln");
  const Model model = make_model();
  write_tensors(with_floats(source_of(model), DType::BF16), file.path);
  Model loaded = make_model();
  load(loaded, file.path);
  EXPECT_EQ(loaded.conv.weight.dtype(), DType::F32);
  load(loaded, file.path, {.floats = FloatPolicy::AsFile});
  EXPECT_EQ(loaded.conv.weight.dtype(), DType::BF16);
  EXPECT_EQ(loaded.conv.weight.value().data().to(DType::F32).at(5),
            model.conv.weight.value().data().to(DType::BF16).at(5));
}

TEST(Load, ADamagedTensorLeavesTheModelAsItWas) {
  const TemporaryFile file("model.kiln");
  save(make_model(), file.path);
  {
    std::fstream damaged(file.path, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(64 + 4);
    damaged.put('\x55');
  }
  const Model before = make_model();
  Model model = before;
  EXPECT_THROW(load(model, file.path), DataError);
  expect_same(model, before);
}

}  // namespace
}  // namespace kiln
