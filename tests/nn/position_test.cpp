// Positions against their formulas in float64, and rotary scaling against figures of NumPy:
//
//   yarn: low, high = floor and ceil of dim log(L / (2 pi beta)) / (2 log base); ramp = clip((i - low) / (high - low), 0, 1)
//   f / factor * ramp + f * (1 - ramp), with f = base ** (-2 i / dim) (github.com/jquesnelle/yarn)
//   llama3: f where 2 pi / f < L / high, f / factor where > L / low, else (1 - s) f / factor + s f with
//   s = (L f / (2 pi) - low) / (high - low) (github.com/meta-llama/llama-models)
#include "kiln/nn/attention/position.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/module.hpp"

#include "differences.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

namespace scaling = nn::scaling;
using test::autodiff, test::cpu;

TEST(PositionalEncoding, AddsSinesAndCosines) {
  const nn::PositionalEncoding positions = nn::PositionalEncodingConfig{.width = 4, .length = 9}.init(cpu);
  const auto x = sines_of<3>({2, 3, 4});
  const auto in = x.to_vector<double>(), out = positions.forward(x, 5).to_vector<double>();
  for (std::size_t i = 0; i < 24; ++i) {
    const std::size_t time = i / 4 % 3, pair = i % 4 / 2;
    const double position = 5 + static_cast<double>(time);
    const double angle = position * std::pow(10000.0, -static_cast<double>(pair) / 2);
    EXPECT_NEAR(out[i] - in[i], i % 2 ? std::cos(angle) : std::sin(angle), 1e-6);
  }
  EXPECT_EQ(num_params(positions), 0);
  EXPECT_EQ(sentence_of([&] { return positions.forward(x, 7); }),
            "ShapeError: PositionalEncoding: positions 7 to 9 are not all in the table, which has 9");
}

TEST(LearnedPositions, AddsARowForEachPosition) {
  const nn::LearnedPositions positions = nn::LearnedPositionsConfig{.length = 5, .width = 2}.init(autodiff);
  const auto x = sines_of<3>({1, 2, 2});
  const auto rows = positions.weight.narrow(0, 3, 2).to_vector(), in = x.to_vector(),
             out = positions.forward(x, 3).to_vector();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(out[i], in[i] + rows[i]);
  EXPECT_THROW(positions.forward(x, 4), ShapeError);
  EXPECT_THROW(positions.forward(x, -1), ShapeError);
}

std::vector<double> turned(const std::vector<double>& row, const std::vector<double>& speeds, double position,
                           RotaryPairs pairs) {
  std::vector<double> result = row;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const std::size_t a = pairs == RotaryPairs::Halves ? i : 2 * i,
                      b = pairs == RotaryPairs::Halves ? i + speeds.size() : 2 * i + 1;
    const double c = std::cos(position * speeds[i]), s = std::sin(position * speeds[i]);
    result[a] = row[a] * c - row[b] * s;
    result[b] = row[b] * c + row[a] * s;
  }
  return result;
}

TEST(RotaryEncoding, TurnsPairsByTheirPosition) {
  const std::vector<double> speeds{1, 0.01};
  for (const RotaryPairs pairs : {RotaryPairs::Halves, RotaryPairs::Neighbours}) {
    const nn::RotaryEncoding rotary = nn::RotaryEncodingConfig{.width = 4, .length = 12, .pairs = pairs}.init(cpu);
    // Heads of six, of which the last two elements stay.
    const auto x = sines_of<4>({1, 2, 3, 6});
    const auto in = x.to_vector<double>(), out = rotary.forward(x, 7).to_vector<double>();
    const auto positions = Tensor<2, Int>::of({{7, 8, 9}}, cpu);
    EXPECT_EQ(rotary.forward(x, positions).to_vector(), rotary.forward(x, 7).to_vector());
    for (std::size_t row = 0; row < 6; ++row) {
      const std::vector<double> head(in.begin() + static_cast<std::ptrdiff_t>(6 * row),
                                     in.begin() + static_cast<std::ptrdiff_t>(6 * row + 4));
      const auto right = turned(head, speeds, 7 + static_cast<double>(row % 3), pairs);
      for (std::size_t i = 0; i < 6; ++i)
        EXPECT_NEAR(out[row * 6 + i], i < 4 ? right[i] : in[row * 6 + i], 1e-6) << row << ' ' << i;
    }
  }
}

TEST(RotaryEncoding, KeepsItsDigitsFarOut) {
  const nn::RotaryEncoding rotary = nn::RotaryEncodingConfig{.width = 2, .length = 100001}.init(cpu);
  EXPECT_NEAR(rotary.cosine.at(0, 100000).to_vector()[0], std::cos(100000.0), 1e-6);
}

void expect_speeds(const nn::RotaryFrequencies& found, const std::vector<double>& right) {
  ASSERT_EQ(found.radians.size(), right.size());
  for (std::size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(found.radians[i] / right[i], 1, 1e-12) << i;
}

TEST(RotaryScaling, MatchesItsFormulas) {
  expect_speeds(nn::rotary_frequencies(4, 10000, scaling::None{}), {1, 0.01});
  expect_speeds(nn::rotary_frequencies(4, 10000, scaling::Linear{.factor = 4}), {0.25, 0.0025});
  // The lowest frequency is divided by the factor, the highest stays.
  expect_speeds(nn::rotary_frequencies(6, 10000, scaling::Ntk{.factor = 8}),
                {1, std::pow(10000, -1.0 / 3) / std::sqrt(8.0), std::pow(10000, -2.0 / 3) / 8});
  expect_speeds(nn::rotary_frequencies(2, 10000, scaling::Ntk{.factor = 8}), {1});
  const auto yarn = nn::rotary_frequencies(16, 10000, scaling::Yarn{.factor = 4});
  expect_speeds(yarn, {1.0, 0.31622776601683794, 0.1, 0.02569350598886808, 0.00625, 0.0013834964763236662, 0.00025,
                       7.905694150420948e-05});
  EXPECT_NEAR(yarn.amplitude, 0.1 * std::log(4) + 1, 1e-15);
  EXPECT_EQ(nn::rotary_frequencies(16, 10000, scaling::Yarn{.factor = 4, .attention = 2.0}).amplitude, 2);
  expect_speeds(nn::rotary_frequencies(16, 10000, scaling::Yarn{.factor = 4, .original_length = 4}),
                {1.0, 0.07905694150420949, 0.025, 0.007905694150420948, 0.0025, 0.000790569415042095, 0.00025,
                 7.905694150420948e-05});
  expect_speeds(nn::rotary_frequencies(16, 500000, scaling::Llama3{}),
                {1.0, 0.19392274474868576, 0.03760603093086393, 0.0072926647372171085, 0.0005248461609929547,
                 3.428102195952591e-05, 6.647869871181236e-06, 1.2891731721515574e-06});
}

TEST(RotaryScaling, ReachesTheTables) {
  const nn::RotaryEncoding rotary =
      nn::RotaryEncodingConfig{.width = 16, .length = 64, .scaling = scaling::Yarn{.factor = 4}}.init(cpu);
  const double amplitude = 0.1 * std::log(4) + 1;
  EXPECT_NEAR(rotary.cosine.at(0, 63).to_vector()[3], amplitude * std::cos(63 * 0.02569350598886808), 1e-6);
  EXPECT_NEAR(rotary.sine.at(0, 63).to_vector()[3], amplitude * std::sin(63 * 0.02569350598886808), 1e-6);
  const auto config = from_json<nn::RotaryEncodingConfig>(
      std::string_view(R"({"width": 8, "base": 500000, "scaling": {"Llama3": {"factor": 32}}})"), "model.json");
  EXPECT_EQ(std::get<scaling::Llama3>(config.scaling).factor, 32);
}

TEST(RotaryScaling, GrowsWithTheSequence) {
  const nn::RotaryEncoding rotary =
      nn::RotaryEncodingConfig{.width = 6, .length = 4, .scaling = scaling::DynamicNtk{.factor = 2}}.init(cpu);
  const auto x = sines_of<4>({1, 1, 10, 6});
  const auto in = x.to_vector<double>();
  // Within the table nothing changes; at 10 moments of 4 the base is 10000 (2 * 10 / 4 - 1)^(6 / 4).
  const nn::RotaryEncoding plain = nn::RotaryEncodingConfig{.width = 6, .length = 4}.init(cpu);
  EXPECT_EQ(rotary.forward(x.narrow(2, 0, 4)).to_vector(), plain.forward(x.narrow(2, 0, 4)).to_vector());
  const double base = 10000 * std::pow(4.0, 1.5);
  const std::vector<double> speeds{1, std::pow(base, -1.0 / 3), std::pow(base, -2.0 / 3)};
  const auto expect_row = [&](const Tensor<4>& found, std::size_t row, std::size_t position) {
    const auto out = found.to_vector<double>();
    const std::vector<double> head(in.begin() + static_cast<std::ptrdiff_t>(6 * position),
                                   in.begin() + static_cast<std::ptrdiff_t>(6 * position + 6));
    const auto right = turned(head, speeds, static_cast<double>(position), RotaryPairs::Halves);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(out[6 * row + i], right[i], 1e-6) << position << ' ' << i;
  };
  for (std::size_t position = 0; position < 10; ++position) expect_row(rotary.forward(x), position, position);
  for (std::size_t row = 0; row < 3; ++row) expect_row(rotary.forward(x.narrow(2, 7, 3), 7), row, row + 7);
  expect_row(rotary.forward(x.narrow(2, 1, 1), 1, 10), 0, 1);
  EXPECT_EQ(sentence_of([&] { return rotary.forward(x, Tensor<2, Int>::of({{0}}, cpu)); }),
            "ArgumentError: RotaryEncoding: positions do not give the length of a sequence, which DynamicNtk and "
            "LongRope need");
  EXPECT_EQ(sentence_of([&] { return rotary.forward(x, -1); }),
            "ShapeError: RotaryEncoding: positions begin at 0, got -1");
  EXPECT_EQ(
      sentence_of([] { nn::RotaryEncodingConfig{.width = 6, .scaling = scaling::DynamicNtk{.factor = 0}}.init(cpu); }),
      "ArgumentError: RotaryScaling: DynamicNtk has an option that is not positive: 0");
}

TEST(RotaryScaling, OfLongRopeHasOtherSpeedsBeyondTheOriginalLength) {
  const scaling::LongRope scaling{
      .short_factors = {1, 2, 4}, .long_factors = {1, 8, 64}, .original_length = 4, .attention = 1.5};
  const nn::RotaryEncoding rotary =
      nn::RotaryEncodingConfig{.width = 6, .length = 10, .base = 1000, .scaling = scaling}.init(cpu);
  const auto x = sines_of<4>({1, 1, 10, 6});
  const auto in = x.to_vector<double>();
  const auto expect_rows = [&](std::int64_t count, const std::vector<double>& speeds) {
    const auto out = rotary.forward(x.narrow(2, 0, count)).to_vector<double>();
    for (std::int64_t position = 0; position < count; ++position) {
      const auto row = in.begin() + 6 * position;
      const auto right = turned({row, row + 6}, speeds, static_cast<double>(position), RotaryPairs::Halves);
      for (std::size_t i = 0; i < 6; ++i)
        EXPECT_NEAR(out[static_cast<std::size_t>(6 * position) + i], 1.5 * right[i], 1e-6) << position << ' ' << i;
    }
  };
  expect_rows(4, {1, 0.1 / 2, 0.01 / 4});
  expect_rows(5, {1, 0.1 / 8, 0.01 / 64});
  expect_rows(10, {1, 0.1 / 8, 0.01 / 64});
  // What a cache holds and its memory beyond, of a sequence that is short so far.
  const auto early = rotary.forward(x, 0, 4).to_vector(), near = rotary.forward(x.narrow(2, 0, 4)).to_vector();
  for (std::size_t i = 0; i < near.size(); ++i) EXPECT_NEAR(early[i], near[i], 1e-6) << i;
  expect_speeds(nn::rotary_frequencies(6, 1000, scaling::Divided{{1, 2, 5}}), {1, 0.05, 0.002});
  EXPECT_EQ(sentence_of([] { nn::rotary_frequencies(6, 1000, scaling::Divided{{1, 2}}); }),
            "ArgumentError: RotaryScaling: Divided has 2 factors for 3 frequencies");
  EXPECT_EQ(sentence_of([] { nn::rotary_frequencies(6, 1000, scaling::Divided{{1, 2, 0}}); }),
            "ArgumentError: RotaryScaling: Divided has an option that is not positive: 0");
}

TEST(RotaryEncoding, SaysWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { nn::RotaryEncodingConfig{.width = 3}.init(cpu); }),
            "ArgumentError: RotaryEncoding: the width must be positive and even, got 3");
  EXPECT_EQ(sentence_of([] { nn::rotary_frequencies(4, 10000, scaling::Linear{.factor = 0}); }),
            "ArgumentError: RotaryScaling: Linear has an option that is not positive: 0");
  EXPECT_EQ(sentence_of([] { nn::rotary_frequencies(4, 10000, scaling::Llama3{.low = 4, .high = 4}); }),
            "ArgumentError: RotaryScaling: Llama3 needs low = 4 below high = 4");
  const nn::RotaryEncoding rotary = nn::RotaryEncodingConfig{.width = 4, .length = 4}.init(cpu);
  EXPECT_EQ(sentence_of([&] {
              return rotary.forward(sines_of<4>({1, 1, 1, 4}), Tensor<2, Int>::of({{4}}, cpu)).data();
            }).substr(0, 10),
            "IndexError");
}

}  // namespace
}  // namespace kiln
