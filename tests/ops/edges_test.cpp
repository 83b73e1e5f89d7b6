// Values and gradients at the points where a formula divides by zero, subtracts infinities or takes a root of nothing.
// Where a slope has to be chosen it is 0, and the slope of that slope is a number too.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/resample.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
using Numbers = std::vector<double>;

struct Tensor {
  Shape shape;
  Numbers elements;
};
Value on(const Device& device, DType dtype, const Tensor& x) {
  return from_data(TensorData::of<double>(x.shape, std::span<const double>(x.elements)).to(dtype), device);
}

template <class Check>
void on_each_device_and_float(Check check) {
  for (const char* name : {"cpu", "reference"})
    for (const DType dtype : {DType::F32, DType::F64}) {
      SCOPED_TRACE(text(name, " ", dtype));
      check(Device::parse(name).autodiff(), dtype);
    }
}

void expect_numbers(const Value& found, const Numbers& expected, DType dtype, const std::string& what) {
  const Numbers numbers = found.data().to_vector<double>();
  ASSERT_EQ(numbers.size(), expected.size()) << what;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (std::isnan(expected[i])) EXPECT_TRUE(std::isnan(numbers[i])) << what << ", element " << i;
    else if (std::isinf(expected[i]) || expected[i] == 0)
      EXPECT_EQ(numbers[i], expected[i]) << what << ", element " << i;
    else EXPECT_NEAR(numbers[i] / expected[i], 1, dtype == DType::F64 ? 1e-12 : 1e-5) << what << ", element " << i;
  }
}

// ---- values --------------------------------------------------------------------------------------------------------

TEST(Edges, LogAddExpOfEqualInfinitiesIsTheInfinity) {
  on_each_device_and_float([](const Device& device, DType dtype) {
    // Long enough for a whole vector and a rest.
    Numbers x, y, expected;
    for (int i = 0; i < 5; ++i)
      for (const auto& [a, b, sum] : std::vector<std::array<double, 3>>{{kInf, kInf, kInf},
                                                                        {-kInf, -kInf, -kInf},
                                                                        {kInf, -kInf, kInf},
                                                                        {-kInf, 2, 2},
                                                                        {3, 3, 3 + std::log(2)},
                                                                        {kNan, kInf, kNan}})
        x.push_back(a), y.push_back(b), expected.push_back(sum);
    expect_numbers(logaddexp(on(device, dtype, {{30}, x}), on(device, dtype, {{30}, y})), expected, dtype, "logaddexp");
  });
}

// Figures from mpmath with 40 digits.
TEST(Edges, SpecialFunctionsReachTheEndsOfFloat64) {
  for (const char* name : {"cpu", "reference"}) {
    const Device device = Device::parse(name);
    expect_numbers(lgamma(on(device, DType::F64, {{7}, {-1e-160, -1e-300, 1e-300, -1e-20, -0.25, -0.499, 1e-160}})),
                   {368.4136148790473, 690.7755278982137, 690.7755278982137, 46.051701859880914, 1.589575312551186,
                    1.2655530807296502, 368.4136148790473},
                   DType::F64, "lgamma");
    const Tensor far{{4}, {713.5, 713.9, 1.7976931348623157e308, -1.7976931348623157e308}};
    expect_numbers(i0(on(device, DType::F64, far)), {1.1051012081178279e+308, 1.6481551866951379e+308, kInf, kInf},
                   DType::F64, "i0");
    expect_numbers(i1(on(device, DType::F64, far)), {1.1043265136795952e+308, 1.6470004499232343e+308, kInf, -kInf},
                   DType::F64, "i1");
    EXPECT_EQ(i0(on(device, DType::F32, {{1}, {3.4028234663852886e38}})).item(), kInf);
  }
}

TEST(Edges, CosineSimilarityBroadcastsBeforeItTakesLengths) {
  on_each_device_and_float([](const Device& device, DType dtype) {
    const Value x = on(device, dtype, {{1, 2, 1}, {3, 4}}), one = on(device, dtype, {{1, 1, 1}, {1}});
    expect_numbers(cosine_similarity(x, one, 1), {7 / (5 * std::sqrt(2.0))}, dtype, "[1, 2, 1] and [1, 1, 1]");
    expect_numbers(cosine_similarity(one, x, 1), {7 / (5 * std::sqrt(2.0))}, dtype, "[1, 1, 1] and [1, 2, 1]");
    expect_numbers(cosine_similarity(x, on(device, dtype, {{}, {2}}), 1), {7 / (5 * std::sqrt(2.0))}, dtype, "rank 0");
    // dim 0 of the common shape [2, 2]; the vector stands for both rows.
    expect_numbers(cosine_similarity(on(device, dtype, {{2, 2}, {3, 1, 4, 0}}), on(device, dtype, {{2}, {1, 2}}), 0),
                   {7 / (5 * std::sqrt(2.0)), 1 / std::sqrt(2.0)}, dtype, "ranks 2 and 1");
  });
}

TEST(Edges, LinearWithoutInputFeaturesGivesTheBias) {
  for (const char* name : {"cpu", "reference"}) {
    const Device device = Device::parse(name).autodiff();
    for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{2, 5, 0}, Shape{0, 2, 0}}) {
      const Value weight = zeros({4, 0}, device).require_grad(), bias = (arange(0, 4, 1, device, DType::F32));
      const Value y = linear(zeros(shape, device), weight, bias);
      Shape expected = shape;
      expected.back() = 4;
      ASSERT_EQ(y.shape(), expected);
      EXPECT_EQ(all(eq(y, bias)).item(), 1);
      EXPECT_EQ(backward(sum(y)).of(weight).shape(), (Shape{4, 0}));
    }
  }
}

TEST(Edges, OptionsWithoutAMeaningAreRefused) {
  const Device device = Device::cpu();
  const Value x = ones({2, 2, 3}, device), one = ones({3}, device), two = ones({2}, device);
  EXPECT_EQ(sentence_of([&] { return soft_shrink(x, -0.5); }),
            "ArgumentError: soft_shrink: the bound must not be negative, got -0.5");
  const std::pair<const char*, std::function<Value()>> norms[] = {
      {"layer_norm", [&] { return layer_norm(x, one, one, -1); }},
      {"group_norm", [&] { return group_norm(x, 1, {}, {}, -1); }},
      {"batch_norm", [&] { return batch_norm_training(x, {}, {}, {}, {}, {.epsilon = -1}).output; }},
      {"batch_norm", [&] { return batch_norm(x, two, two, {}, {}, -1); }}};
  for (const auto& [name, call] : norms)
    EXPECT_EQ(sentence_of(call), text("ArgumentError: ", name, ": epsilon must not be negative, got -1"));
}

TEST(Edges, BinaryCrossEntropyRefusesWhatIsNoProbability) {
  on_each_device_and_float([](const Device& device, DType dtype) {
    const Value t = on(device, dtype, {{3}, {1, 1, 0}}), p = on(device, dtype, {{3}, {1, 0, kNan}});
    expect_numbers(binary_cross_entropy(p, t, {}, Reduction::None), {0, 100, kNan}, dtype, "loss");
    for (const double outside : {2.0, -0.5, kInf, -kInf}) {
      const Value wrong = on(device, dtype, {{3}, {0.5, outside, 1}}).require_grad();
      const std::string sentence = text("ArgumentError: binary_cross_entropy: ", outside, " is outside [0, 1]");
      EXPECT_EQ(sentence_of([&] { binary_cross_entropy(wrong, t).item(); }), sentence);
      EXPECT_EQ(sentence_of([&] { backward(binary_cross_entropy(wrong, t)).of(wrong).data(); }), sentence);
    }
  });
}

TEST(Edges, WithinLooksAtEveryElement) {
  on_each_device_and_float([](const Device& device, DType dtype) {
    constexpr std::int64_t kRows = 300, kColumns = 301;
    const Value fine = full({kRows, kColumns}, 0.5, device, dtype);
    EXPECT_EQ(sum(within(transpose(fine), 0.5, 0.5)).item(), kRows * kColumns / 2.0);
    for (const std::int64_t place : {std::int64_t{0}, std::int64_t{255}, std::int64_t{256}, kRows * kColumns - 1}) {
      const Value index = from_data(TensorData::of<std::int64_t>({1}, {place}), device);
      const Value bad = reshape(index_fill(reshape(fine, {-1}), 0, index, 0.75), {kRows, kColumns});
      for (const Value& x : {bad, transpose(bad)})
        EXPECT_EQ(sentence_of([&] { within(x, 0, 0.5).data(); }), "ArgumentError: within: 0.75 is outside [0, 0.5]");
    }
    EXPECT_EQ(sentence_of([&] { within(fine, 1, 0); }), "ArgumentError: within: the bounds 1 and 0 are not in order");
  });
}

TEST(Edges, IgnoredRowsCountForNothingWhateverTheyHold) {
  on_each_device_and_float([](const Device& device, DType dtype) {
    for (const double hazard : {-kInf, kInf, kNan, 3.0}) {
      const Value logits = on(device, dtype, {{3, 2}, {hazard, 0, 0, 0, hazard, hazard}}).require_grad();
      const Value targets = from_data(TensorData::of<std::int64_t>({3}, {-100, 1, -100}), device);
      for (const double smoothing : {0.0, 0.5}) {
        const Value loss =
            cross_entropy(logits, targets, {.ignore = -100, .label_smoothing = smoothing}, Reduction::Mean);
        expect_numbers(loss, {std::log(2)}, dtype, text("cross_entropy of ", hazard));
        const double share = 0.5 - smoothing / 2;
        expect_numbers(backward(loss).of(logits), {0, 0, share, -share, 0, 0}, dtype, text("gradient of ", hazard));
      }
      const Value nll = nll_loss(logits, targets, {.ignore = -100}, Reduction::Mean);
      expect_numbers(nll, {0}, dtype, text("nll_loss of ", hazard));
      expect_numbers(backward(nll).of(logits), {0, 0, 0, -1, 0, 0}, dtype, text("gradient of nll_loss ", hazard));

      const Value table = on(device, dtype, {{2, 2}, {hazard, hazard, 2, 3}}).require_grad();
      const Value indices = from_data(TensorData::of<std::int64_t>({1, 3}, {0, 1, 1}), device);
      for (const BagMode mode : {BagMode::Sum, BagMode::Mean, BagMode::Max}) {
        const double scale = mode == BagMode::Sum ? 2 : 1;
        const EmbeddingBagOptions options{.mode = mode, .padding_index = 0};
        expect_numbers(embedding_bag(table, indices, options), {2 * scale, 3 * scale}, dtype, "embedding_bag");
        const Value offsets = from_data(TensorData::of<std::int64_t>({1}, {0}), device);
        const Value bags = embedding_bag(table, flatten(indices), offsets, options);
        expect_numbers(bags, {2 * scale, 3 * scale}, dtype, "embedding_bag with offsets");
        expect_numbers(backward(sum(bags)).of(table), {0, 0, scale, scale}, dtype, "gradient of embedding_bag");
      }
    }
  });
}

TEST(Edges, SolutionsOfWhatIsNoNumberAreNone) {
  on_each_device_and_float([](const Device& device, DType dtype) {
    for (const Numbers& elements : {Numbers{kNan, kNan, kNan, kNan}, Numbers{1, 0, 0, kNan}, Numbers{2, kNan, 0, 3}}) {
      const Value a = on(device, dtype, {{2, 2}, elements});
      expect_numbers(inverse(a), {kNan, kNan, kNan, kNan}, dtype, "inverse");
      expect_numbers(solve(a, on(device, dtype, {{2}, {0, 1}})), {kNan, kNan}, dtype, "solve");
    }
    expect_numbers(inverse(on(device, dtype, {{2, 2}, {2, 0, 0, 4}})), {0.5, 0, 0, 0.25}, dtype, "inverse");
  });
}

TEST(Edges, ImagesAreResizedByWholeFactorsExactly) {
  on_each_device_and_float([](const Device& device, DType dtype) {
    const Value x = on(device, dtype, {{1, 1, 3}, {0, 1, 2}});
    for (const Interpolation mode : {Interpolation::Nearest, Interpolation::NearestExact, Interpolation::Linear})
      expect_numbers(interpolate(x, {.scale = {1.3}, .mode = mode}), {0, 1, 2}, dtype, "to its own size");
    for (const double factor : {49.0, 98.0, 103.0}) {  // whose reciprocals are rounded down
      Numbers expected;
      for (const double number : {0.0, 1.0, 2.0})
        expected.insert(expected.end(), static_cast<std::size_t>(factor), number);
      expect_numbers(interpolate(x, {.scale = {factor}}), expected, dtype, text("nearest, times ", factor));
    }
  });
}

// ---- slopes --------------------------------------------------------------------------------------------------------

struct Slope {
  std::string name;
  std::vector<Tensor> operands;
  std::function<Value(const Values&)> function;
  std::vector<Numbers> expected;  // the gradient of the sum of the results by each operand
  bool second = true;             // are second-order gradients numbers?
};

std::vector<Slope> slopes() {
  std::vector<Slope> list;
  for (const double p : {0.5, -1.0, -2.0, 0.0, 1.0, 1.5, 2.0, 3.0, kInf, -kInf})
    list.push_back({text("vector_norm of zeros, p = ", p),
                    {{{3}, {0, 0, 0}}},
                    [p](const Values& in) { return vector_norm(in[0], p); },
                    {{0, 0, 0}}});
  list.push_back(
      {"vector_norm, p = 1/2", {{{2}, {0, 1}}}, [](const Values& in) { return vector_norm(in[0], 0.5); }, {{0, 1}}});
  list.push_back({"vector_norm, p = -1",
                  {{{2}, {2, -4}}},
                  [](const Values& in) { return vector_norm(in[0], -1); },
                  {{4.0 / 9, -1.0 / 9}}});
  list.push_back({"vector_norm with a zero, p = -1",
                  {{{3}, {0, 2, -4}}},
                  [](const Values& in) { return vector_norm(in[0], -1); },
                  {{0, 0, 0}}});
  for (const double p : {0.5, 1.5, 3.0}) {
    list.push_back({text("pairwise_distance of equals, p = ", p),
                    {{{1, 2}, {1, 2}}, {{1, 2}, {1, 2}}},
                    [p](const Values& in) { return pairwise_distance(in[0], in[1], p); },
                    {{0, 0}, {0, 0}}});
    list.push_back({text("lp_loss of equals, p = ", p),
                    {{{2}, {1, 2}}, {{2}, {1, 2}}},
                    [p](const Values& in) { return lp_loss(in[0], in[1], p, Reduction::Sum); },
                    {{0, 0}, {0, 0}}});
    list.push_back({text("lp_pool of zeros, p = ", p),
                    {{{1, 1, 4}, {0, 0, 0, 4}}},
                    [p](const Values& in) { return narrow(lp_pool(in[0], p, {.kernel = {2}}), 2, 0, 1); },
                    {{0, 0, 0, 0}}});
  }
  list.push_back({"l2_norm of zeros and others",
                  {{{2, 2}, {0, 0, 3, 4}}},
                  [](const Values& in) { return l2_norm(in[0], 1); },
                  {{0, 0, 0.6, 0.8}}});
  list.push_back({"atan2",
                  {{{3}, {0, 1, 0}}, {{3}, {0, 1, -2}}},
                  [](const Values& in) { return atan2(in[0], in[1]); },
                  {{0, 0.5, -0.5}, {0, -0.5, 0}}});
  list.push_back(
      {"angle", {{{2, 2}, {0, 0, 1, 1}}}, [](const Values& in) { return angle(in[0]); }, {{0, 0, -0.5, 0.5}}});
  list.push_back({"complex_abs",
                  {{{2, 2}, {0, 0, 3, 4}}},
                  [](const Values& in) { return complex_abs(in[0]); },
                  {{0, 0, 0.6, 0.8}}});
  list.push_back({"hypot",
                  {{{2}, {0, 3}}, {{2}, {0, 4}}},
                  [](const Values& in) { return hypot(in[0], in[1]); },
                  {{0, 0.6}, {0, 0.8}}});
  list.push_back({"pow of 0",
                  {{{3}, {0, 0, 0}}, {{3}, {0, 1, 2}}},
                  [](const Values& in) { return pow(in[0], in[1]); },
                  {{0, 1, 0}, {0, 0, 0}}});
  list.push_back(
      {"pow of the number 0", {{{3}, {0, 1, 2.5}}}, [](const Values& in) { return pow(0.0, in[0]); }, {{0, 0, 0}}});
  list.push_back({"pow of 0, by the exponent",
                  {{{4}, {0, 0.5, 1, 2}}},
                  [](const Values& in) { return pow(zeros_like(in[0]), in[0]); },
                  {{0, 0, 0, 0}}});
  list.push_back({"pow of 0 below 0",
                  {{{1}, {-1}}},
                  [](const Values& in) { return pow(zeros_like(in[0]), in[0]); },
                  {{-kInf}},
                  false});
  list.push_back(
      {"pow with the number 0", {{{3}, {0, 2, -3}}}, [](const Values& in) { return pow(in[0], 0); }, {{0, 0, 0}}});
  list.push_back({"xlogy",
                  {{{2}, {0, 2}}, {{2}, {0, 4}}},
                  [](const Values& in) { return xlogy(in[0], in[1]); },
                  {{0, std::log(4)}, {0, 0.5}}});
  list.push_back({"logaddexp",
                  {{{5}, {kInf, -kInf, -kInf, kInf, 1}}, {{5}, {kInf, -kInf, 2, 2, 1}}},
                  [](const Values& in) { return logaddexp(in[0], in[1]); },
                  {{0.5, 0.5, 0, 1, 0.5}, {0.5, 0.5, 1, 0, 0.5}}});
  list.push_back({"deviation of equals",
                  {{{2, 3}, {5, 5, 5, 1, 2, 3}}},
                  [](const Values& in) { return deviation(in[0], {1}); },
                  {{0, 0, 0, -0.5, 0, 0.5}}});
  list.push_back({"nanstd of equals",
                  {{{4}, {5, 5, kNan, 5}}},
                  [](const Values& in) { return nanstd(in[0], {0}); },
                  {{0, 0, 0, 0}}});
  list.push_back({"vector_normalize of zeros",
                  {{{2}, {0, 0}}},
                  [](const Values& in) { return vector_normalize(in[0], 2, 0, 0.5); },
                  {{2, 2}}});
  list.push_back({"cosine_similarity of zeros",
                  {{{2}, {0, 0}}, {{2}, {3, 4}}},
                  [](const Values& in) { return cosine_similarity(in[0], in[1], 0, 0.5); },
                  {{1.2, 1.6}, {0, 0}}});
  list.push_back({"huber_loss at infinity",
                  {{{3}, {kInf, -kInf, 1}}},
                  [](const Values& in) { return huber_loss(in[0], zeros_like(in[0]), 2, Reduction::None); },
                  {{2, -2, 1}}});
  list.push_back({"huber_loss without a bound",
                  {{{3}, {3, -4, 0}}},
                  [](const Values& in) { return huber_loss(in[0], zeros_like(in[0]), kInf, Reduction::None); },
                  {{3, -4, 0}}});
  list.push_back({"smooth_l1_loss without a bound",
                  {{{3}, {3, -4, 0}}},
                  [](const Values& in) { return smooth_l1_loss(in[0], zeros_like(in[0]), kInf, Reduction::None); },
                  {{0, 0, 0}}});
  list.push_back({"smooth_l1_loss at infinity",
                  {{{3}, {kInf, -kInf, 1}}},
                  [](const Values& in) { return smooth_l1_loss(in[0], zeros_like(in[0]), 2, Reduction::None); },
                  {{1, -1, 0.5}}});
  list.push_back({"sigmoid_focal_loss of the certain",
                  {{{2}, {1000, -1000}}},
                  [](const Values& in) { return sigmoid_focal_loss(in[0], gt(in[0], 0), -1, 0.5, Reduction::None); },
                  {{0, 0}}});
  list.push_back({"sinc of whole numbers",
                  {{{4}, {0, 1e5, 65537, 1e10}}},
                  [](const Values& in) { return sinc(in[0]); },
                  {{0, 1e-5, -1.0 / 65537, 1e-10}}});
  list.push_back({"i1",
                  {{{4}, {0, 1e-40, 1e4, -1e4}}},
                  [](const Values& in) { return i1(in[0]); },
                  {{0.5, 0.5, kInf, kInf}},
                  false});
  list.push_back({"matrix_power 0",
                  {{{2, 2}, {1, kInf, kNan, 2}}},
                  [](const Values& in) { return matrix_power(in[0], 0); },
                  {{0, 0, 0, 0}}});
  list.push_back({"interp with one point",
                  {{{3}, {0, 1, 2}}, {{1}, {1}}, {{1}, {5}}},
                  [](const Values& in) { return interp(in[0], in[1], in[2]); },
                  {{0, 0, 0}, {0}, {3}}});
  return list;
}

TEST(Edges, SlopesThatHaveToBeChosenAreZeroAndHaveSlopesThemselves) {
  on_each_device_and_float([](const Device& device, DType dtype) {
    for (const Slope& slope : slopes()) {
      Values in;
      for (const Tensor& operand : slope.operands) in.push_back(on(device, dtype, operand).require_grad());
      const Value result = slope.function(in);
      ASSERT_TRUE(result.tracked()) << slope.name;
      const Values first = grad(sum(result), in, {.create_graph = true});
      Value total = full({}, 0, device, dtype);
      for (std::size_t i = 0; i < in.size(); ++i) {
        expect_numbers(first[i], slope.expected[i], dtype, text(slope.name, ", operand ", i));
        total = total + sum(first[i]);
      }
      if (!slope.second || !total.tracked()) continue;
      const Gradients second = backward(total);
      for (const Value& x : in) {
        const Value found = second.find(x).value_or(zeros_like(x));
        EXPECT_EQ(all(is_finite(found)).item(), 1) << slope.name << ", of second order";
      }
    }
  });
}

TEST(Edges, AnglesOfTheLargestAndSmallestNumbersHaveSlopes) {
  for (const char* name : {"cpu", "reference"}) {
    const Device device = Device::parse(name).autodiff();
    const Value y = on(device, DType::F64, {{2}, {1e200, 1e-200}}).require_grad();
    const Value x = on(device, DType::F64, {{2}, {1e200, 1e-200}});
    expect_numbers(backward(sum(atan2(y, x))).of(y), {5e-201, 5e199}, DType::F64, name);
  }
}

}  // namespace
}  // namespace kiln
