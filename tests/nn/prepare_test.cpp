// Scalers and label encoders. Figures are worked out by hand, by the definitions of scikit-learn's StandardScaler,
// MinMaxScaler, MaxAbsScaler and RobustScaler; the quartiles of the first column are 1.75 and 5.5.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "kiln/kiln.hpp"
#include "kiln/nn/prepare/label_encoder.hpp"
#include "kiln/nn/prepare/scaler.hpp"
#include "tests/support/said_by.hpp"

namespace kiln {
namespace {

Tensor<2> table() { return Tensor<2>::of({{1, -2, 5}, {2, 0, 5}, {4, 6, 5}, {10, 1, 5}}, Device::cpu()); }

void expect_near(const std::vector<float>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6) << i;
}

TEST(Scaler, MeasuresAsScikitLearn) {
  const auto fitted = [](nn::Scaling kind) { return nn::ScalerConfig{.kind = kind}.fit(table()); };
  const nn::Scaler standard = fitted(nn::Scaling::Standard);
  expect_near(standard.shift.get().to_vector<float>(), {4.25, 1.25, 5});
  expect_near(standard.scale.get().to_vector<float>(), {3.4910600109422356, 2.947456530637899, 1});
  const nn::Scaler range = fitted(nn::Scaling::MinMax);
  expect_near(range.shift.get().to_vector<float>(), {1, -2, 5});
  expect_near(range.scale.get().to_vector<float>(), {9, 8, 1});
  const nn::Scaler magnitude = fitted(nn::Scaling::MaxAbs);
  expect_near(magnitude.scale.get().to_vector<float>(), {10, 6, 5});
  const nn::Scaler robust = fitted(nn::Scaling::Robust);
  expect_near(robust.shift.get().to_vector<float>(), {3, 0.5, 5});
  expect_near(robust.scale.get().to_vector<float>(), {3.75, 2.75, 1});
  expect_near(range.forward(table()).to_vector<float>(), {0, 0, 0, 1. / 9, .25, 0, 3. / 9, 1, 0, 1, .375, 0});
  expect_near(robust.inverse(robust.forward(table())).to_vector<float>(), {1, -2, 5, 2, 0, 5, 4, 6, 5, 10, 1, 5});
}

TEST(Scaler, LeavesNanOutAndRefusesWhatItCannotMeasure) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto holes = nn::ScalerConfig{}.fit(Tensor<2>::of({{1, nan}, {3, 4}, {nan, 6}}, Device::cpu()));
  expect_near(holes.shift.get().to_vector<float>(), {2, 5});
  expect_near(holes.scale.get().to_vector<float>(), {1, 1});
  EXPECT_EQ(said_by([&] { (void)nn::ScalerConfig{}.fit(Tensor<2>::of({{1, nan}}, Device::cpu())); }),
            "ScalerConfig: column 1 has no value");
  EXPECT_EQ(said_by([&] { (void)nn::ScalerConfig{}.fit(Tensor<2>::of({{1, inf}}, Device::cpu())); }),
            "ScalerConfig: row 0 of column 1 is inf");
  const Tensor<2> wide = Tensor<2>::of({{-3e38f}, {3e38f}}, Device::cpu());
  EXPECT_EQ(sentence_of([&] { (void)nn::ScalerConfig{.kind = nn::Scaling::MinMax}.fit(wide); }),
            "DataError: ScalerConfig: the numbers of column 0 exceed what float32 holds: scale the column down first");
  EXPECT_EQ(said_by([&] { (void)holes.forward(table()); }),
            "Scaler: the last dimension of [4, 3] is not its 2 columns");
  EXPECT_EQ(said_by([] { (void)nn::Scaler{}.forward(table()); }),
            "Scaler: has no numbers: fit() or init() a ScalerConfig");
  EXPECT_EQ(said_by([] { (void)nn::ScalerConfig{}.init(Device::cpu()); }),
            "ScalerConfig: columns = 0 must be positive");
}

struct Prepared {
  nn::Scaler inputs;
  nn::LabelEncoder labels;
  nn::Linear linear;
};

TEST(Prepare, IsSavedWithTheModel) {
  const Device device = Device::cpu().autodiff();
  const nn::LabelEncoderConfig labels{.classes = 3, .bytes = 8};
  const std::vector<std::string> words = {"owl", "cat", "löwe", "cat"};
  const Prepared model{nn::ScalerConfig{}.fit(table()), labels.fit(words, device),
                       nn::LinearConfig{.in = 3, .out = 3}.init(device)};
  const std::string file = (std::filesystem::temp_directory_path() / "kiln_prepared.safetensors").string();
  save(model, file);
  Prepared loaded{nn::ScalerConfig{.columns = 3}.init(device), labels.init(device),
                  nn::LinearConfig{.in = 3, .out = 3}.init(device)};
  load(loaded, file);
  std::filesystem::remove(file);
  EXPECT_EQ(loaded.labels.names(), (std::vector<std::string>{"cat", "löwe", "owl"}));
  EXPECT_EQ(loaded.inputs.forward(table()).to_vector<float>(), model.inputs.forward(table()).to_vector<float>());
  EXPECT_EQ(num_params(model), 12);  // the rest is not trained
}

TEST(LabelEncoder, EncodesAndDecodes) {
  const Device device = Device::cpu();
  const std::vector<std::string> words = {"owl", "cat", "dog", "cat"};
  const nn::LabelEncoder encoder = nn::LabelEncoderConfig{.classes = 3}.fit(words, device);
  const Tensor<1, Int> numbers = encoder.encode(words, device);
  EXPECT_EQ(numbers.to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 0, 1, 0}));
  EXPECT_EQ(encoder.decode(numbers), words);
  EXPECT_EQ(said_by([&] { (void)encoder.encode(std::vector<std::string>{"cats"}, device); }),
            "LabelEncoder: 'cats' is none of the 3 classes (did you mean 'cat'?)");
  EXPECT_EQ(said_by([&] { (void)encoder.encode(std::vector<std::string>{"castle"}, device); }),
            "LabelEncoder: 'castle' is none of the 3 classes: 'cat', 'dog', 'owl'");
  EXPECT_EQ(said_by([&] { (void)encoder.decode(Tensor<1, Int>::of({3}, device)); }),
            "LabelEncoder: there is no class 3 of 3");
  const nn::LabelEncoder unnamed = nn::LabelEncoderConfig{.classes = 3}.init(device);
  EXPECT_EQ(said_by([&] { (void)unnamed.encode(std::vector<std::string>{""}, device); }),
            "LabelEncoder: class 0 has no name: fit() a LabelEncoderConfig, or load a saved encoder");
  const auto fit = [&](nn::LabelEncoderConfig config, const std::vector<std::string>& given) {
    return said_by([&] { (void)config.fit(given, device); });
  };
  EXPECT_EQ(fit({.classes = 4}, words), "LabelEncoderConfig: there are 3 distinct words for classes = 4");
  EXPECT_EQ(fit({.classes = 3, .bytes = 2}, words), "LabelEncoderConfig: 'cat' has 3 bytes, more than bytes = 2");
  EXPECT_EQ(fit({.classes = 2}, {"", "a"}),
            "LabelEncoderConfig: '' cannot be the name of a class: it is empty or contains a zero byte");
  EXPECT_EQ(fit({.classes = 0}, words), "LabelEncoderConfig: classes = 0 and bytes = 64 must be positive");
}

}  // namespace
}  // namespace kiln
