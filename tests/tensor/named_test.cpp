// Named tensors against the same calls by number.
#include "kiln/tensor/named.hpp"

#include <gtest/gtest.h>

#include "kiln/tensor/create.hpp"
#include "kiln/tensor/products.hpp"
#include "kiln/tensor/random.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::cpu;
using Activations = Named<Tensor<3>, "batch", "time", "feature">;

Activations activations() { return Activations(randn({2, 3, 4}, cpu, Key{1}, DType::F64)); }

void expect_same(const auto& named, const auto& tensor) {
  EXPECT_EQ(difference(named.tensor().data(), tensor.data(), {1e-12, 1e-12}), "");
}

TEST(Named, ReducesAndOrdersByName) {
  const Activations x = activations();
  EXPECT_EQ(x.size<"time">(), 3);
  EXPECT_EQ(text(x), "float64 [batch 2, time 3, feature 4]");
  static_assert(std::is_same_v<decltype(x.sum<"time">()), Named<Tensor<2>, "batch", "feature">>);
  expect_same(x.sum<"time">(), x.tensor().sum(1));
  expect_same(x.mean<"feature", "batch">(), x.tensor().mean(0, 2));
  expect_same(x.max<"batch">(), x.tensor().max(0));
  expect_same(x.min<"batch", "time", "feature">(), x.tensor().min());
  const auto turned = x.transpose<"feature", "batch", "time">();
  static_assert(std::is_same_v<decltype(turned), const Named<Tensor<3>, "feature", "batch", "time">>);
  expect_same(turned, x.tensor().permute(2, 0, 1));
  expect_same(turned.sum<"time">(), x.tensor().sum(1).transpose());
  expect_same(x.softmax<"time">(), x.tensor().softmax(1));
  expect_same(x.at<"time">(2), Tensor<2>(Typed{at(x.value(), 1, 2)}));
  expect_same(x.exp().sum<"batch">(), x.tensor().exp().sum(0));
  static_assert(std::is_same_v<decltype(x.rename<"time", "step">()), Named<Tensor<3>, "batch", "step", "feature">>);
  static_assert(std::is_same_v<decltype(x.is_nan()), Named<Tensor<3, Bool>, "batch", "time", "feature">>);
}

TEST(Named, BroadcastsByName) {
  const Activations x = activations();
  const Named<Tensor<1>, "time"> weight(Tensor<1>::of({1, 2, 3}, cpu, DType::F64));
  expect_same(x * weight, x.tensor() * weight.tensor().unsqueeze(-1));
  expect_same(weight - x, weight.tensor().unsqueeze(-1).unsqueeze(0).permute(1, 0, 2) - x.tensor().permute(1, 0, 2));
  static_assert(std::is_same_v<decltype(weight - x), Named<Tensor<3>, "time", "batch", "feature">>);
  const Named<Tensor<1, Int>, "class"> classes(arange(5, cpu));
  const auto outer = weight + classes;
  static_assert(std::is_same_v<decltype(outer), const Named<Tensor<2>, "time", "class">>);
  expect_same(outer, weight.tensor().unsqueeze(-1) + classes.tensor());
  expect_same(2 / x.transpose<"time", "feature", "batch">() + x, (2 / x.tensor() + x.tensor()).permute(1, 2, 0));
  static_assert(std::is_same_v<decltype(x < 1.5), Named<Tensor<3, Bool>, "batch", "time", "feature">>);
  static_assert(std::is_same_v<decltype(classes == classes), Named<Tensor<1, Bool>, "class">>);
}

TEST(Named, ContractsAName) {
  const Activations x = activations();
  const Named<Tensor<2>, "class", "feature"> w(randn({5, 4}, cpu, Key{2}, DType::F64));
  const auto scores = contract<"feature">(x, w);
  static_assert(std::is_same_v<decltype(scores), const Named<Tensor<3>, "batch", "time", "class">>);
  expect_same(scores, x.tensor().matmul(w.tensor().transpose()));
  // "batch" is of both: a product for each.
  const Named<Tensor<3>, "feature", "batch", "head"> heads(randn({4, 2, 6}, cpu, Key{3}, DType::F64));
  const auto each = contract<"feature">(x, heads);
  static_assert(std::is_same_v<decltype(each), const Named<Tensor<3>, "batch", "time", "head">>);
  expect_same(each, x.tensor().matmul(heads.tensor().permute(1, 0, 2)));
  const Named<Tensor<1>, "feature"> v(Tensor<1>::of({1, 2, 3, 4}, cpu, DType::F64));
  expect_same(contract<"feature">(v, v), (v.tensor() * v.tensor()).sum());
}

TEST(Named, RefusesSizesThatDiffer) {
  const Named<Tensor<1>, "time"> two(zeros({2}, cpu)), three(zeros({3}, cpu)), one(zeros({1}, cpu));
  const char* const sentence = "ShapeError: named tensors: the dimension 'time' has the sizes 2 and 3";
  EXPECT_EQ(sentence_of([&] { return (two + three).tensor(); }), sentence);
  EXPECT_EQ(sentence_of([&] { return contract<"time">(two, three).tensor(); }), sentence);
  EXPECT_EQ(sentence_of([&] { return (two + one).tensor(); }).substr(0, 10), "ShapeError");
}

}  // namespace
}  // namespace kiln
