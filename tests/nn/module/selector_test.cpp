// Some of a model's parameters, by pattern, type, rank or any function of them, and combinations of these.
#include "kiln/nn/module/selector.hpp"

#include <gtest/gtest.h>

#include "kiln/core/config/config.hpp"
#include "kiln/kiln.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff;

struct Block {
  nn::LayerNorm norm;
  nn::Linear expand, project;
};
struct Net {
  nn::Embedding embedding;
  std::vector<Block> blocks;
  nn::Linear head;
};

const Net& net() {
  static const Net made = [] {
    const auto linear = [](std::int64_t in, std::int64_t out) { return nn::LinearConfig{in, out}.init(autodiff); };
    const auto block = [&] { return Block{nn::LayerNormConfig{2}.init(autodiff), linear(2, 4), linear(4, 2)}; };
    return Net{nn::EmbeddingConfig{.count = 3, .size = 2}.init(autodiff), {block(), block()}, linear(2, 3)};
  }();
  return made;
}

/// Numbers of the selected ones among all: 0 embedding.weight, 1 to 6 and 7 to 12 the blocks' norm.weight, norm.bias,
/// expand.weight, expand.bias, project.weight, project.bias, 13 head.weight, 14 head.bias.
std::vector<int> numbers(const Selector& selector) {
  const nn::Paths paths = selected_params(net(), selector);
  std::vector<int> numbers;
  int number = 0;
  visit_params(net(), [&](const std::string& path, const auto&) {
    if (paths.contains(path)) numbers.push_back(number);
    ++number;
  });
  EXPECT_EQ(paths.size(), numbers.size());
  return numbers;
}
using Ints = std::vector<int>;

TEST(Selector, NamesModulesAndParameters) {
  EXPECT_EQ(numbers("head"), (Ints{13, 14}));
  EXPECT_EQ(numbers("head.bias"), Ints{14});
  EXPECT_EQ(numbers("blocks.1"), (Ints{7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(numbers("blocks").size(), 12u);
  EXPECT_EQ(numbers(Selector::all()).size(), 15u);
  EXPECT_TRUE(numbers(Selector::none()).empty());
}

TEST(Selector, TakesPatterns) {
  EXPECT_EQ(numbers("blocks.*.norm"), (Ints{1, 2, 7, 8}));
  EXPECT_EQ(numbers("**.bias"), (Ints{2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(numbers("*.bias"), Ints{14});
  EXPECT_TRUE(Selector("**.bias").matches("bias"));
  EXPECT_EQ(numbers("**"), numbers(Selector::all()));
  EXPECT_EQ(numbers("blocks.**"), numbers("blocks"));
  EXPECT_EQ(numbers("blocks.**.weight"), (Ints{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(numbers("**.p*t.weight"), (Ints{5, 11}));
  EXPECT_EQ(numbers("**.{expand,project}.weight"), (Ints{3, 5, 9, 11}));
  EXPECT_EQ(numbers("blocks.[1-9].norm.?ias"), Ints{8});
  EXPECT_EQ(numbers("blocks.[!1].norm.bias"), Ints{2});
  EXPECT_FALSE(Selector("a.b").matches("axb"));
  EXPECT_FALSE(Selector("head").matches("header.weight"));
  EXPECT_TRUE(Selector("a(b|c)+").matches("a(b|c)+.weight"));
}

TEST(Selector, TakesRegularExpressionsTypesRanksAndFunctions) {
  EXPECT_EQ(numbers(Selector::regex("blocks\\.\\d+\\.norm\\.(weight|bias)")), (Ints{1, 2, 7, 8}));
  EXPECT_EQ(numbers(Selector::type("LayerNorm")), (Ints{1, 2, 7, 8}));
  EXPECT_EQ(numbers(Selector::type("Block")), numbers("blocks"));
  EXPECT_EQ(numbers(Selector::rank(2)), (Ints{0, 3, 5, 9, 11, 13}));
  EXPECT_EQ(numbers(Selector::rank(1, 2)).size(), 15u);
  EXPECT_EQ(numbers(Selector::where([](const Candidate& c) { return c.value.dim(0) == 3; })), (Ints{0, 13, 14}));
}

TEST(Selector, IsCombined) {
  EXPECT_EQ(numbers(!Selector("blocks")), (Ints{0, 13, 14}));
  EXPECT_EQ(numbers(Selector("head") || "embedding"), (Ints{0, 13, 14}));
  EXPECT_EQ(numbers(Selector::rank(2) && !Selector("blocks") && !Selector::type("Embedding")), Ints{13});
  EXPECT_EQ(text(Selector::rank(2) && !(Selector("a") || Selector::type("B"))), "(rank 2 && !('a' || type B))");
}

TEST(Selector, GoesThroughJson) {
  const Selector selectors[] = {
      "blocks.*.norm",          Selector::regex("a\\.(b|c)"),
      Selector::type("Linear"), Selector::rank(2),
      Selector::rank(0, 1),     Selector::all(),
      Selector::none(),         !Selector("head") && (Selector("blocks") || Selector::rank(1))};
  const char* const texts[] = {
      R"("blocks.*.norm")",    R"x({"regex": "a\\.(b|c)"})x",
      R"({"type": "Linear"})", R"({"rank": 2})",
      R"({"rank": [0, 1]})",   R"({"all": []})",
      R"({"any": []})",        R"({"all": [{"not": "head"}, {"any": ["blocks", {"rank": 1}]}]})"};
  for (std::size_t i = 0; i < std::size(selectors); ++i) {
    EXPECT_EQ(write_json(selectors[i].to_json()), write_json(parse_json(texts[i], "test")));
    EXPECT_EQ(text(Selector::from_json(parse_json(texts[i], "test"), {"test", "freeze"})), text(selectors[i]));
  }
}

TEST(Selector, IsAConfigByItself) {
  const Selector selector = from_json<Selector>(R"({"all": ["blocks", {"not": "head"}]})", "run.json");
  EXPECT_EQ(text(selector), text(Selector("blocks") && !Selector("head")));
  EXPECT_EQ(text(from_json<Selector>(to_json(selector), "run.json")), text(selector));
  EXPECT_EQ(sentence_of([] { from_json<Selector>("3", "run.json"); }),
            "ConfigError: run.json: the config must be a pattern or an object with one of the keys regex, type, rank, "
            "all, any, not, "
            "got 3");
  EXPECT_EQ(sentence_of([] { from_json<Selector>(R"({"rank": [2, 1]})", "run.json"); }),
            "ConfigError: run.json: Selector: ranks from 2 to 1");
  EXPECT_EQ(sentence_of([] { from_json<Selector>(R"({"type": 3})", "run.json"); }),
            "ConfigError: run.json: 'type' must be a string, got 3");

  using Lists = std::map<std::string, std::vector<std::optional<Selector>>>;
  const auto lists = from_json<Lists>(R"({"a": ["head", null], "b": []})", "run.json");
  EXPECT_EQ(write_json(to_json(lists)), write_json(parse_json(R"({"a": ["head", null], "b": []})", "test")));
  EXPECT_EQ(sentence_of([] { from_json<Lists>(R"({"a": ["head", 3]})", "run.json"); }).substr(0, 42),
            "ConfigError: run.json: 'a[1]' must be a pa");
}

TEST(Selector, SaysWhatIsWrongWithJson) {
  const auto sentence = [](const char* json) {
    return sentence_of([&] { Selector::from_json(parse_json(json, "run.json"), {"run.json", "freeze"}); });
  };
  EXPECT_EQ(
      sentence("3"),
      "ConfigError: run.json: 'freeze' must be a pattern or an object with one of the keys regex, type, rank, all, "
      "any, not, got 3");
  EXPECT_EQ(sentence(R"({"nots": "a"})"), "ConfigError: run.json: unknown key 'freeze.nots' (did you mean 'not'?)");
  EXPECT_EQ(sentence(R"({"all": ["a", {"type": 3}]})"),
            "ConfigError: run.json: 'freeze.all[1].type' must be a string, got 3");
  EXPECT_EQ(sentence(R"({"regex": "a("})"),
            "ConfigError: run.json: 'freeze': the pattern 'a(' has a ( that is not closed at character 3");
  EXPECT_EQ(sentence(R"({"rank": [2]})"), "ConfigError: run.json: 'freeze.rank' must have 2 elements, got 1");
  EXPECT_EQ(sentence(R"({"rank": [2, 1]})"), "ConfigError: run.json: 'freeze': Selector: ranks from 2 to 1");
  EXPECT_EQ(sentence(R"("")"),
            "ConfigError: run.json: 'freeze': Selector: an empty pattern; Selector::all() selects everything");
  EXPECT_EQ(sentence_of([] { (void)(!Selector::where([](const Candidate&) { return true; })).to_json(); }),
            "ConfigError: a selector that is a function cannot be written as JSON");
}

TEST(Selector, SaysThatANameIsWrong) {
  EXPECT_EQ(sentence_of([] { selected_params(net(), "blocks.0.expnad"); }),
            "ArgumentError: selected_params: 'blocks.0.expnad' selects none of the model's parameters (did you mean "
            "'blocks.0.expand'?)");
  EXPECT_EQ(sentence_of([] { Selector("{a,b"); }), "ArgumentError: the pattern '{a,b' has a { that is not closed");
}

struct Visitor {
  std::vector<std::string>& lines;

  void enter(const nn::PartPath& place, const nn::ModuleView& module) {
    lines.push_back(text("enter ", place.path, " ", place.types.back()));
    if (const auto* norm = module.get<nn::LayerNorm>()) lines.push_back(text("epsilon ", norm->epsilon));
  }
  void leave(const nn::PartPath& place, const nn::ModuleView&) { lines.push_back(text("leave ", place.path)); }
  void operator()(const nn::PartPath& place, const nn::AnyLeaf&) {
    std::string types;
    for (const auto type : place.types) types += text('/', type);
    lines.push_back(text(place.path, ' ', types));
  }
};

TEST(Walk, KnowsTheTypesOfTheModulesAround) {
  std::vector<std::string> lines;
  struct Small {
    std::map<std::string, nn::Sequential<nn::LayerNorm>> parts;
  };
  const Small small{{{"one", nn::Sequential(nn::LayerNormConfig{2}.init(autodiff))}}};
  nn::walk(small, Visitor{lines});
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "enter  Small", "enter parts.one Sequential", "enter parts.one.0 LayerNorm", "epsilon 1e-05",
                       "parts.one.0.weight /Small/Sequential/LayerNorm", "parts.one.0.bias /Small/Sequential/LayerNorm",
                       "leave parts.one.0", "leave parts.one", "leave "}));
}

}  // namespace
}  // namespace kiln
