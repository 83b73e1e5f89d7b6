// Tables of vectors, what two vectors give, and how weights begin.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/embedding/embedding.hpp"
#include "kiln/nn/identity.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/nn/similarity.hpp"

#include "differences.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

TEST(Embedding, LeavesItsPaddingAlone) {
  const nn::Embedding table = nn::EmbeddingConfig{.count = 4, .size = 2, .padding_index = 1}.init(autodiff);
  EXPECT_EQ(table.weight.at(0, 1).to_vector(), (std::vector<float>{0, 0}));
  EXPECT_NE(table.weight.at(0, 0).to_vector(), (std::vector<float>{0, 0}));
  const auto indices = Tensor<2, Int>::of({{1, 2}, {2, 1}}, autodiff);
  const auto grads = value_and_grad(table, [&](const nn::Embedding& m) { return m.forward(indices).sum(); }).grads;
  EXPECT_EQ(grads.find("weight")->data().to_vector<float>(), (std::vector<float>{0, 0, 0, 0, 2, 2, 0, 0}));
  EXPECT_EQ(sentence_of([] { nn::EmbeddingConfig{.count = 4, .size = 2, .padding_index = 4}.init(cpu); }),
            "ArgumentError: EmbeddingConfig: padding_index = 4 is none of the 4 rows");
}

TEST(EmbeddingBag, ReducesBags) {
  nn::EmbeddingBag table = nn::EmbeddingBagConfig{.count = 4, .size = 2}.init(autodiff);
  table.weight = nn::Param<2>(Tensor<2>::of({{1, 2}, {3, 5}, {-1, 7}, {4, 0}}, autodiff));
  const auto bags = Tensor<2, Int>::of({{0, 2}, {3, 3}}, cpu);
  expect_values(table.forward(bags), {2, 2}, {0, 4.5, 4, 0});
  table.mode = BagMode::Max;
  expect_values(table.forward(bags), {2, 2}, {1, 7, 4, 0});
  table.mode = BagMode::Sum;
  expect_values(table.forward(bags, Tensor<2>::of({{1, 0.5}, {2, 1}}, cpu)), {2, 2}, {0.5, 5.5, 12, 0});
  table.padding_index = 3;
  const auto flat = Tensor<1, Int>::of({0, 1, 3, 2}, cpu), offsets = Tensor<1, Int>::of({0, 3, 3}, cpu);
  expect_values(table.forward(flat, offsets), {3, 2}, {4, 7, 0, 0, -1, 7});
  expect_right_gradients(nn::EmbeddingBagConfig{.count = 3, .size = 2}.init(autodiff), [&](const nn::EmbeddingBag& m) {
    return weighted(m.forward(Tensor<2, Int>::of({{0, 1, 1}, {2, 0, 1}}, autodiff)).tanh());
  });
}

TEST(Bilinear, JoinsTwoVectorsByAMatrixForEachOutput) {
  const nn::Bilinear layer = nn::BilinearConfig{.in_a = 3, .in_b = 2, .out = 4}.init(autodiff);
  const auto a = sines_of<3>({2, 1, 3}), b = sines_of<3>({2, 1, 2}, 0.8, 0.3);
  const auto x = a.to_vector<double>(), y = b.to_vector<double>(), w = layer.weight.to_vector<double>(),
             bias = layer.bias.to_vector<double>();
  const auto found = layer.forward(a, b);
  EXPECT_EQ(found.shape(), (Shape{2, 1, 4}));
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t k = 0; k < 4; ++k) {
      double sum = bias[k];
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 2; ++j) sum += x[row * 3 + i] * w[(k * 3 + i) * 2 + j] * y[row * 2 + j];
      EXPECT_NEAR(found.to_vector<double>()[row * 4 + k], sum, 1e-5);
    }
  expect_right_gradients(
      layer, [](const nn::Bilinear& m) { return weighted(m.forward(input<2>({3, 3}), input<2>({3, 2})).tanh()); });
  EXPECT_EQ(layer.forward(sines_of<2>({0, 3}), sines_of<2>({0, 2})).shape(), (Shape{0, 4}));
  EXPECT_EQ(sentence_of([&] { return layer.forward(sines_of<2>({2, 3}), sines_of<2>({3, 2})); }),
            "ShapeError: Bilinear: [2, 3] and [3, 2] do not fit the weight [4, 3, 2], which is [out, in_a, in_b]");
  const Value number = Tensor<1>::of({1, 2}, cpu).sum().value();
  EXPECT_EQ(sentence_of([&] { return layer.apply(number, number); }),
            "ShapeError: Bilinear: [] and [] do not fit the weight [4, 3, 2], which is [out, in_a, in_b]");
  EXPECT_EQ(sentence_of([] { nn::BilinearConfig{.in_a = 1, .in_b = 0, .out = 1}.init(cpu); }),
            "ArgumentError: BilinearConfig: in_a = 1, in_b = 0 and out = 1 must be positive");
}

TEST(Similarity, OfVectors) {
  const auto a = Tensor<2>::of({{3, 4}, {1, 0}}, cpu), b = Tensor<2>::of({{4, 3}, {0, 2}}, cpu);
  expect_values(nn::CosineSimilarity{}.forward(a, b), {2}, {24.0 / 25, 0});
  expect_values(nn::CosineSimilarity{.dim = 0}.forward(a, b), {2},
                {12 / (std::sqrt(10.0) * 4), 12 / (4 * std::sqrt(13.0))});
  expect_values(nn::PairwiseDistance{}.forward(a, b), {2}, {std::sqrt(2.0), std::sqrt(5.0)});
  expect_values(nn::PairwiseDistance{.p = 1}.forward(a, b), {2}, {2, 3});
  EXPECT_EQ(nn::Identity{}.forward(a).to_vector(), a.to_vector());
}

std::vector<double> drawn(const nn::Initializer& initializer, const Shape& shape) {
  return nn::initialize(initializer, shape, nn::fans_of(shape), cpu).data().to(DType::F64).to_vector<double>();
}

TEST(Initializer, OrthogonalGivesRowsOrColumnsAtRightAngles) {
  cpu.seed(1);
  for (const Shape& shape : {Shape{4, 6}, Shape{6, 4}, Shape{5, 5}, Shape{3, 2, 2, 2}}) {
    const auto w = drawn(nn::init::Orthogonal{.gain = 2}, shape);
    const auto rows = static_cast<std::size_t>(shape[0]), columns = w.size() / rows;
    const bool tall = rows > columns;
    const std::size_t count = tall ? columns : rows, length = tall ? rows : columns;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < count; ++j) {
        double dot = 0;
        for (std::size_t k = 0; k < length; ++k)
          dot += tall ? w[k * columns + i] * w[k * columns + j] : w[i * columns + k] * w[j * columns + k];
        EXPECT_NEAR(dot, i == j ? 4 : 0, 1e-5);
      }
  }
  EXPECT_NE(drawn(nn::init::Orthogonal{}, {3, 3}), drawn(nn::init::Orthogonal{}, {3, 3}));
  EXPECT_THROW(nn::initialize(nn::init::Orthogonal{}, {3}, {}, cpu), ShapeError);
}

TEST(Initializer, SparseLeavesOutSomeOfEachColumn) {
  cpu.seed(2);
  const auto w = drawn(nn::init::Sparse{.sparsity = 0.25, .deviation = 0.5}, {10, 40});
  std::set<std::vector<std::size_t>> places;
  double squares = 0;
  for (std::size_t j = 0; j < 40; ++j) {
    std::vector<std::size_t> zeros;
    for (std::size_t i = 0; i < 10; ++i) {
      if (w[i * 40 + j] == 0) zeros.push_back(i);
      squares += w[i * 40 + j] * w[i * 40 + j];
    }
    EXPECT_EQ(zeros.size(), 3u);  // a quarter of ten, rounded up
    places.insert(zeros);
  }
  EXPECT_GT(places.size(), 20u);
  EXPECT_NEAR(std::sqrt(squares / 280), 0.5, 0.06);
  EXPECT_THROW(drawn(nn::init::Sparse{.sparsity = 2}, {3, 3}), ArgumentError);
}

TEST(Initializer, DiracHandsOnItsChannels) {
  const auto w = drawn(nn::init::Dirac{.groups = 2}, {4, 3, 3});
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::size_t out = i / 9, in = i / 3 % 3, place = i % 3;
    EXPECT_EQ(w[i], out % 2 == in && place == 1 ? 1 : 0) << i;
  }
  EXPECT_THROW(drawn(nn::init::Dirac{}, {3, 3}), ShapeError);
  EXPECT_THROW(drawn(nn::init::Dirac{.groups = 2}, {3, 3, 3}), ArgumentError);
}

TEST(Initializer, LecunAndTruncatedNormalHaveTheirVariances) {
  cpu.seed(3);
  const auto deviation = [](const std::vector<double>& w) {
    double squares = 0;
    for (const double x : w) squares += x * x;
    return std::sqrt(squares / static_cast<double>(w.size()));
  };
  EXPECT_NEAR(deviation(drawn(nn::init::LecunNormal{}, {300, 50})), 1 / std::sqrt(50.0), 0.004);
  EXPECT_NEAR(deviation(drawn(nn::init::LecunUniform{}, {300, 50})), 1 / std::sqrt(50.0), 0.004);
  const auto bounded = drawn(nn::init::TruncatedNormal{.deviation = 0.02, .low = -0.04, .high = 0.04}, {300, 50});
  for (const double x : bounded) EXPECT_LE(std::abs(x), 0.04);
  EXPECT_NEAR(deviation(bounded), 0.8796 * 0.02, 0.001);  // of a normal distribution cut at two deviations
}

TEST(Initializer, IsNamedByAConfig) {
  const auto config = from_json<nn::LinearConfig>(
      std::string_view(R"({"in": 3, "out": 2, "initializer": {"Orthogonal": {"gain": 0.5}}})"), "layer.json");
  EXPECT_EQ(std::get<nn::init::Orthogonal>(config.initializer).gain, 0.5);
  EXPECT_EQ(write_json(to_json(from_json<nn::LinearConfig>(to_json(config), "layer.json"))),
            write_json(to_json(config)));
  EXPECT_EQ(
      from_json<nn::LinearConfig>(std::string_view(R"({"in": 3, "out": 2})"), "layer.json").init(cpu).weight.shape(),
      (Shape{2, 3}));
}

}  // namespace
}  // namespace kiln
