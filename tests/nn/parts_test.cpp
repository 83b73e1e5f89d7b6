// What a module may be made of: whatever holds parameters is visited, counted, trained, moved and saved.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "kiln/kiln.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff;

nn::Linear linear(std::int64_t in, std::int64_t out) { return nn::LinearConfig{.in = in, .out = out}.init(autodiff); }

/// With private parts, which it names itself.
class Scaled {
 public:
  explicit Scaled(double factor) : factor_(full({2}, factor, autodiff)) {}
  auto layers() { return std::tie(factor_); }
  auto layers() const { return std::tie(factor_); }
  Tensor<2> forward(const Tensor<2>& x) const { return x * factor_; }

 private:
  nn::Param<1> factor_;
};

/// Cannot be looked into, and says that there is nothing to see.
class Vocabulary {
 public:
  static constexpr bool kHoldsNoTensors = true;
  explicit Vocabulary(std::vector<std::string> words) : words_(std::move(words)) {}

 private:
  std::vector<std::string> words_;
};

enum class Task { Words, Names };

struct Collections {
  std::map<std::string, nn::Linear> named;
  std::unordered_map<int, nn::Linear> numbered;
  std::map<Task, nn::Param<1>> by_task;
  std::pair<nn::Linear, double> pair;
  std::tuple<int, nn::Linear> tuple;
  std::unique_ptr<nn::Linear> pointer, nothing;
  std::deque<nn::Linear> deque;
  std::optional<std::vector<std::unique_ptr<nn::Linear>>> nested;
  Scaled scaled{3};
  // Options.
  std::string name = "collections";
  std::function<double(double)> activation = [](double x) { return x; };
  std::map<std::string, std::vector<int>> tables;
  std::shared_ptr<const std::string> text;
  Device home;
  Vocabulary vocabulary{{"a", "b"}};
};

Collections collections() {
  Collections model;
  model.named.emplace("b", linear(2, 1));
  model.named.emplace("a", linear(2, 1));
  for (const int key : {12, 7, 100}) model.numbered.emplace(key, linear(2, 1));
  model.by_task.emplace(Task::Names, nn::Param(ones({2}, autodiff)));
  model.pair.first = linear(2, 1);
  std::get<1>(model.tuple) = linear(2, 1);
  model.pointer = std::make_unique<nn::Linear>(linear(2, 1));
  model.deque.push_back(linear(2, 1));
  model.nested.emplace().push_back(std::make_unique<nn::Linear>(linear(2, 1)));
  return model;
}

std::vector<std::string> paths_of(const Collections& model) {
  std::vector<std::string> paths;
  visit_params(model, [&](const std::string& path, const auto&) { paths.push_back(path); });
  return paths;
}

TEST(Parts, OfEveryCollectionAreVisited) {
  EXPECT_EQ(
      paths_of(collections()),
      (std::vector<std::string>{"named.a.weight",      "named.a.bias",      "named.b.weight",     "named.b.bias",
                                "numbered.100.weight", "numbered.100.bias", "numbered.12.weight", "numbered.12.bias",
                                "numbered.7.weight",   "numbered.7.bias",   "by_task.Names",      "pair.0.weight",
                                "pair.0.bias",         "tuple.1.weight",    "tuple.1.bias",       "pointer.weight",
                                "pointer.bias",        "deque.0.weight",    "deque.0.bias",       "nested.0.weight",
                                "nested.0.bias",       "scaled.0"}));
  EXPECT_EQ(num_params(collections()), 10 * 3 + 2 + 2);
}

TEST(Parts, OfEveryCollectionAreTrainedAndSaved) {
  Collections model = collections();
  const std::size_t parts = record_of(model).tensors.size();
  EXPECT_EQ(parts, paths_of(model).size());
  const auto before = record_of(model);
  auto [loss, grads] = value_and_grad(model, [](const Collections& m) {
    Tensor<0> total = m.scaled.forward(ones({1, 2}, autodiff)).sum();
    visit_params(m,
                 [&](const std::string&, const nn::AnyLeaf& p) { total = total + Tensor<0>(sum(square(p.value()))); });
    return total;
  });
  EXPECT_EQ(grads.by_path.size(), parts);
  Sgd sgd = SgdConfig{}.init(model);
  model = sgd.step(0.1, std::move(model), grads);
  const auto after = record_of(model);
  for (const auto& [name, tensor] : before.tensors)
    EXPECT_NE(difference(after.tensors.at(name), tensor), "") << name << " was not trained";
}

TEST(Parts, OfAConstModuleBehindAPointerAreConst) {
  const Collections model = collections();
  visit_params(model, []<class P>(const std::string& path, P&) { EXPECT_TRUE(std::is_const_v<P>) << path; });
}

TEST(Parts, AreNamedOnce) {
  std::map<std::string, nn::Linear> model;
  model.emplace("a.b", linear(1, 1));
  EXPECT_EQ(sentence_of([&] { return num_params(model); }),
            "ArgumentError: a module's part cannot be named 'a.b': names are parts of dotted paths, each once");
}

TEST(Parts, OfCollectionsArePrinted) {
  std::map<std::string, nn::Linear> model;
  model.emplace("head", linear(2, 1));
  EXPECT_EQ(summary(model), "3 parameters\n  head: Linear, 3 parameters\n    weight [1, 2]\n    bias [1]\n");
}

}  // namespace
}  // namespace kiln
