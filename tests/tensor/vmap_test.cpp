// vmap against a loop that calls the function on one example after the other: values, and gradients by xs and by what
// the function captures.
#include "kiln/tensor/function/vmap.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/resample.hpp"
#include "kiln/tensor/activation.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/function/derivative.hpp"
#include "kiln/tensor/gradient.hpp"
#include "kiln/tensor/linalg.hpp"
#include "kiln/tensor/normalization.hpp"
#include "kiln/tensor/random.hpp"
#include "kiln/tensor/special.hpp"

#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

const Device plain = Device::cpu(), learning = plain.autodiff();

/// Different numbers between 0.1 and 0.9.
Value numbers(const Shape& shape, double shift = 0) {
  TensorData data(shape, DType::F64);
  double i = shift;
  for (double& x : data.as<double>()) x = 0.1 + 0.8 * std::fmod(++i * 0.6180339887498949, 1.0);
  return from_data(std::move(data), learning).require_grad();
}

struct Case {
  std::string name;
  std::function<Value(const Value& x, const Value& w)> function;  // x [3, 4], w [3, 4]
  bool together = true;                                           // all operations run once for all examples
  bool slopes = true;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"elementwise", [](const Value& x, const Value& w) { return exp(x) * w + sin(x) / 2.0; }},
      {"a lower rank that broadcasts",
       [](const Value& x, const Value& w) { return w * at(x, 0, 1) + at(w, 0, 0) * x; }},
      {"a number", [](const Value& x, const Value& w) { return w * sum(x); }},
      {"where", [](const Value& x, const Value& w) { return where(gt(at(x, 0, 0), 0.4), x, w); }},
      {"special", [](const Value& x, const Value& w) { return bessel_j0(x) + ndtr(at(x, 0, 0) * w); }},
      {"cast", [](const Value& x, const Value& w) { return cast(cast(x, DType::F32), DType::F64) * w; }},
      {"sum", [](const Value& x, const Value& w) { return sum(x * w, {0}) + mean(x, {-1}, true); }},
      {"max", [](const Value& x, const Value& w) { return max(x * w, {1}); }},
      {"argmax", [](const Value& x, const Value& w) { return cast(argmax(x * w, -1), DType::F64); }, true, false},
      {"cumsum", [](const Value& x, const Value& w) { return cumsum(x * w, 0); }},
      {"sort", [](const Value& x, const Value& w) { return sort(x, 1).values * w; }},
      {"topk", [](const Value& x, const Value&) { return topk(x, 2, -1).values; }},
      {"softmax", [](const Value& x, const Value& w) { return softmax(x * w, 0) + log_softmax(x, 1); }},
      {"views",
       [](const Value& x, const Value& w) { return reshape(transpose(x, 0, 1), {2, 6}) * at(flatten(w), 0, 3); }},
      {"expand", [](const Value& x, const Value&) { return expand(at(x, 0, 1), {2, 3, 4}); }},
      {"slice", [](const Value& x, const Value& w) { return narrow(x, 1, 1, 2) * narrow(w, 1, 0, 2); }},
      {"flip", [](const Value& x, const Value& w) { return flip(x, {0}) * w; }},
      {"unfold", [](const Value& x, const Value&) { return unfold(x, 1, 2, 1); }},
      {"cat", [](const Value& x, const Value& w) { return cat(Values{x, w, x}, 1); }},
      {"stack", [](const Value& x, const Value& w) { return stack(Values{w, x}, -1); }},
      {"matmul", [](const Value& x, const Value& w) { return matmul(transpose(w, 0, 1), x); }},
      {"matmul of both", [](const Value& x, const Value&) { return matmul(x, transpose(x, 0, 1)); }},
      {"matmul of ranks",
       [](const Value& x, const Value& w) { return matmul(stack(Values{w, w}, 0), transpose(x, 0, 1)); }},
      {"gather", [](const Value& x, const Value& w) { return gather(w, 1, argsort(x, 1)); }},
      {"select",
       [](const Value& x, const Value&) {
         return select(x, 0, from_data(TensorData::of<std::int64_t>({2}, {2, 0}), plain));
       }},
      {"select by each", [](const Value& x, const Value& w) { return select(w, 0, argmax(x, 0)); }, false},
      {"layer_norm", [](const Value& x, const Value& w) { return layer_norm(x, at(w, 0, 0), at(w, 0, 1), 1e-5); }},
      {"conv",
       [](const Value& x, const Value& w) {
         return conv(reshape(x, {1, 1, 3, 4}), reshape(narrow(w, 0, 0, 1), {1, 1, 2, 2}), {}, {});
       }},
      {"conv by each",
       [](const Value& x, const Value& w) {
         return conv(reshape(w, {1, 1, 3, 4}), reshape(narrow(x, 0, 0, 1), {1, 1, 2, 2}), {}, {});
       },
       false},
      {"pools",
       [](const Value& x, const Value&) {
         const Value picture = reshape(x, {1, 1, 3, 4});
         return max_pool(picture, {.kernel = {2, 2}, .stride = {1, 1}}) +
                avg_pool(picture, {.kernel = {2, 2}, .stride = {1, 1}});
       }},
      {"interpolate",
       [](const Value& x, const Value&) {
         return interpolate(reshape(x, {1, 1, 3, 4}), {.size = {5, 2}, .mode = Interpolation::Linear});
       }},
      {"scatter", [](const Value& x, const Value& w) { return scatter_add(w, 1, argsort(x, 1), x * 2.0); }},
      {"slice_assign",
       [](const Value& x, const Value& w) {
         return slice_assign(w, std::array{Range{.from = 1, .to = 3, .step = 1}, Range{.from = 0, .to = 2, .step = 1}},
                             narrow(narrow(x, 0, 0, 2), 1, 1, 2)) *
                x;
       }},
      {"gradients of windows",
       [](const Value& x, const Value& w) {
         const Value picture = reshape(x, {1, 1, 3, 4}), kernel = reshape(narrow(w, 0, 0, 1), {1, 1, 2, 2});
         const PoolOptions window{.kernel = {2, 2}, .stride = {1, 1}};
         const Value loss = sum(square(unfold(x, 1, 2, 1))) + sum(square(max_pool(picture, window))) +
                            sum(square(avg_pool(picture, window))) + sum(square(conv(picture, kernel, {}, {}))) +
                            sum(square(cumprod(x, 1)));
         return grad(loss, {&x, 1}, {.create_graph = true})[0];
       }},
      {"cholesky",
       [](const Value& x, const Value& w) {
         return cholesky(matmul(x, transpose(x, 0, 1)) + eye({3, 3}, plain, DType::F64)) * at(w, 0, 0).dim(0);
       },
       false},
      {"of the captured alone", [](const Value&, const Value& w) { return w * 2.0; }},
      {"random",
       [](const Value& x, const Value& w) { return x * w + uniform({3, 4}, 0, 1, plain, DType::F64, Key{3}); }},
      {"of its gradient",
       [](const Value& x, const Value& w) {
         const Value leaf = x;
         const Value loss = sum(square(matmul(x, transpose(w, 0, 1))));
         return grad(loss, {&leaf, 1}, {.create_graph = true})[0];
       }},
  };
  return all;
}

class Vmap : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, Vmap, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
});

TEST_P(Vmap, IsALoop) {
  const auto& [name, function, together, slopes] = GetParam();
  const Value xs = numbers({5, 3, 4}), w = numbers({3, 4}, 100);
  Values parts;
  for (std::int64_t i = 0; i < 5; ++i) parts.push_back(function(at(xs, 0, i), w));
  const Value loop = stack(parts, 0);

  const Value example = at(xs.detach(), 0, 0).require_grad();
  const Graph graph =
      capture_graph([&, f = &function](const Values& in) { return Values{(*f)(in[0], w)}; }, {&example, 1});
  const Value batched = batched_replay(graph, {&xs, 1})[0];
  EXPECT_EQ(difference(batched.data(), loop.data(), {1e-12, 1e-12}), "");

  // The number of operations tells whether each ran for all examples at once: a view or two more for some.
  const Graph all = capture_graph([&](const Values& in) { return batched_replay(graph, {&in[0], 1}); }, {&xs, 1});
  if (together) EXPECT_LT(all.size(), 3 * graph.size() + 1) << text(all);
  else EXPECT_GE(all.size(), graph.size() + 8) << text(all);

  if (!slopes) return;
  const Value weights = numbers(loop.shape(), 7).detach();
  const auto gradients = [&](const Value& y) { return grad(sum(y * weights), Values{xs, w}); };
  const Values actual = gradients(batched), expected = gradients(loop);
  EXPECT_EQ(difference(actual[0].data(), expected[0].data(), {1e-12, 1e-12}), "") << "by the examples";
  EXPECT_EQ(difference(actual[1].data(), expected[1].data(), {1e-12, 1e-12}), "") << "by what is captured";
}

TEST(VmapOfTensors, HasTypesAndSeveralResults) {
  const auto xs = Tensor<2>::of({{1, 2}, {3, 5}}, plain), ys = Tensor<2>::of({{1, 1}, {2, 0}}, plain);
  const auto [sums, products] = vmap(
      [](const Tensor<1>& x, const Tensor<1>& y) { return std::tuple((x * y).sum(), x.unsqueeze(1) * y); }, xs, ys);
  static_assert(std::is_same_v<decltype(sums), const Tensor<1>> && std::is_same_v<decltype(products), const Tensor<3>>);
  EXPECT_EQ(sums.to_vector(), (std::vector<float>{3, 6}));
  EXPECT_EQ(products.to_vector(), (std::vector<float>{1, 1, 2, 2, 6, 0, 10, 0}));
}

TEST(VmapOfTensors, GivesGradientsOfEachExample) {
  const Tensor<2> xs = Tensor<2>::of({{1, 2}, {3, 5}, {0, 1}}, plain);
  const Tensor<1> w = Tensor<1>::of({2, -1}, learning).require_grad();
  // The gradient of (w x)^2 by w is 2 (w x) x.
  const Tensor<2> slopes = vmap([&](const Tensor<1>& x) { return grad((w * x).sum().square(), w); }, xs);
  EXPECT_EQ(slopes.to_vector(), (std::vector<float>{0, 0, 6, 10, 0, -2}));
}

TEST(VmapOfTensors, Nests) {
  const Tensor<3> xs = Tensor<3>::of({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, plain);
  const Tensor<3> twice =
      vmap([](const Tensor<2>& rows) { return vmap([](const Tensor<1>& x) { return x * x.sum(); }, rows); }, xs);
  EXPECT_EQ(twice.to_vector(), (std::vector<float>{3, 6, 21, 28, 55, 66, 105, 120}));
}

TEST(VmapOfTensors, TakesNoExamples) {
  const Tensor<3> none = zeros({0, 3, 3}, plain);
  EXPECT_EQ(vmap([](const Tensor<2>& x) { return cholesky(x).sum(0); }, none).shape(), (Shape{0, 3}));
}

TEST(VmapOfTensors, RefusesWhatFitsNothing) {
  const Tensor<1> two = zeros({2}, plain), three = zeros({3}, plain);
  EXPECT_EQ(sentence_of([&] { return vmap([](const Tensor<0>& x, const Tensor<0>& y) { return x + y; }, two, three); }),
            "ShapeError: vmap: input 1 has 3 examples, input 0 has 2");
  EXPECT_EQ(sentence_of([&] { return vmap([](const Tensor<0>& x) { return x * x.item(); }, two); }).substr(0, 20),
            "DeviceError: capture");
  const Tensor<8> deep = Tensor<8>::zeros({1, 1, 1, 1, 1, 1, 1, 1}, plain);
  EXPECT_EQ(sentence_of([&] {
              return vmap([](const Tensor<7>& x) { return Tensor<0>(Typed{sum(unsqueeze(x.value(), 0))}); }, deep);
            }),
            "ShapeError: vmap: reshape gives [1, 1, 1, 1, 1, 1, 1, 1], to which no dimension can be added");
}

}  // namespace
}  // namespace kiln
