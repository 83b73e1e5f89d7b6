#include "kiln/core/config/config.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <variant>

#include "kiln/core/dtype.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/random.hpp"
#include "kiln/core/shape.hpp"

#include "tests/support/peak_memory.hpp"

namespace kiln {
namespace {

enum class Schedule { Constant, Cosine, Linear };

struct Adam {
  double lr;
  double beta1 = 0.9;
  bool amsgrad = false;
  friend bool operator==(const Adam&, const Adam&) = default;
};

struct Gpt {
  std::int64_t vocabulary, context = 256;
  std::int32_t warmup = 0;
  std::uint8_t depth = 6;
  float dropout = 0.1f;
  Schedule schedule = Schedule::Cosine;
  DType dtype = DType::F32;
  Adam optimizer = {.lr = 1e-3};
  std::optional<double> clip = {};
  std::string name = "gpt";
  Shape kernel = {3, 3};
  std::array<int, 2> window = {1, 2};
};

struct Lists {
  std::vector<Adam> stages;
  std::vector<std::string> tags = {"none"};
};

struct Mapped {
  std::map<std::string, int> sizes;
  int width = 0;
  int height;
  bool tied = false;
  Schedule schedule;
};

template <class T>
std::string error_of(std::string_view json) {
  try {
    from_json<T>(json, "gpt.json");
  } catch (const ConfigError& error) { return error.what(); }
  return "no error";
}

struct None {};
struct StepConfig {
  int every;
  double factor = 0.1;
};
struct Chosen {
  std::variant<None, StepConfig, Adam> rule = StepConfig{.every = 3};
  Dim dim = -1;
};

TEST(Config, KeepsTheDefaultsOfKeysThatAreMissing) {
  const auto gpt = from_json<Gpt>(R"({"vocabulary": 100, "optimizer": {"beta1": 0.8}})", "gpt.json");
  EXPECT_EQ(gpt.vocabulary, 100);
  EXPECT_EQ(gpt.context, 256);
  EXPECT_EQ(gpt.dropout, 0.1f);
  EXPECT_EQ(gpt.optimizer, (Adam{1e-3, 0.8, false}));
  EXPECT_EQ(gpt.clip, std::nullopt);
  EXPECT_EQ(gpt.kernel, (Shape{3, 3}));
  EXPECT_EQ(gpt.name, "gpt");
}

TEST(Config, ReadsEveryKindOfField) {
  const auto gpt = from_json<Gpt>(R"({
    "vocabulary": 9223372036854775807, "context": -5, "warmup": 7, "depth": 255, "dropout": 1, "schedule": "Linear",
    "dtype": "bfloat16", "optimizer": {"lr": 0.5, "beta1": 0, "amsgrad": true}, "clip": 2, "name": "gr\u00f6\u00dfer",
    "kernel": [1, 2, 3], "window": [8, 9]})",
                                  "gpt.json");
  EXPECT_EQ(gpt.vocabulary, INT64_MAX);
  EXPECT_EQ(gpt.context, -5);
  EXPECT_EQ(gpt.warmup, 7);
  EXPECT_EQ(gpt.depth, 255);
  EXPECT_EQ(gpt.dropout, 1);
  EXPECT_EQ(gpt.schedule, Schedule::Linear);
  EXPECT_EQ(gpt.dtype, DType::BF16);
  EXPECT_EQ(gpt.optimizer, (Adam{0.5, 0, true}));
  EXPECT_EQ(gpt.clip, 2);
  EXPECT_EQ(gpt.name, "gr\u00f6\u00dfer");
  EXPECT_EQ(gpt.kernel, (Shape{1, 2, 3}));
  EXPECT_EQ(gpt.window, (std::array<int, 2>{8, 9}));
  EXPECT_EQ(from_json<Gpt>(R"({"vocabulary": 1, "clip": null})", "x").clip, std::nullopt);

  const auto lists = from_json<Lists>(R"({"stages": [{"lr": 1}, {"lr": 2, "beta1": 0.5}]})", "x");
  EXPECT_EQ(lists.stages, (std::vector<Adam>{{1, 0.9, false}, {2, 0.5, false}}));
  const auto mapped = from_json<Mapped>(R"({"sizes": {"a": 1, "b": 2}, "height": 3, "schedule": "Linear"})", "x");
  EXPECT_EQ(mapped.sizes, (std::map<std::string, int>{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(mapped.width, 0);
}

TEST(Config, AFieldWithoutADefaultMustBeThere) {
  EXPECT_EQ(error_of<Gpt>("{}"), "ConfigError: gpt.json: 'vocabulary' is missing");
  EXPECT_EQ(error_of<Adam>("{}"), "ConfigError: gpt.json: 'lr' is missing");
  EXPECT_EQ(error_of<Lists>("{}"), "ConfigError: gpt.json: 'stages' is missing");
  EXPECT_EQ(error_of<Lists>(R"({"stages": [{"lr": 1}, {}]})"), "ConfigError: gpt.json: 'stages[1].lr' is missing");
  EXPECT_EQ(error_of<Mapped>(R"({"sizes": {"a": 1}})"), "ConfigError: gpt.json: 'height' is missing");

  EXPECT_EQ(error_of<Mapped>(R"({"sizes": {"a": 1}, "height": 0})"), "ConfigError: gpt.json: 'schedule' is missing");

  struct Outer {
    Adam optimizer;
    int steps = 5;
  };
  EXPECT_EQ(error_of<Outer>("{}"), "ConfigError: gpt.json: 'optimizer.lr' is missing");
  struct Named {
    std::string path;
  };
  struct OuterNamed {
    Named file;
  };
  EXPECT_EQ(error_of<OuterNamed>("{}"), "ConfigError: gpt.json: 'file.path' is missing");
  struct Nested {
    OuterNamed given = {{"a.bin"}};
  };
  EXPECT_EQ(from_json<Nested>("{}", "x").given.file.path, "a.bin");
}

TEST(Config, SaysWhatIsWrongAndWhere) {
  const auto with = [](std::string_view member) { return text("{\"vocabulary\": 1, ", member, "}"); };
  const auto expect = [&](std::string_view member, std::string_view sentence) {
    EXPECT_EQ(error_of<Gpt>(with(member)), text("ConfigError: gpt.json: ", sentence));
  };
  expect(R"("optimizer": {"beta1": "high"})", R"('optimizer.beta1' must be a number, got "high")");
  expect(R"("optimizer": {"amsgrad": 1})", "'optimizer.amsgrad' must be true or false, got 1");
  expect(R"("optimizer": [1])", "'optimizer' must be an object, got a list");
  expect(R"("context": 1.5)", "'context' must be an integer, got 1.5");
  expect(R"("context": null)", "'context' must be an integer, got null");
  expect(R"("depth": 256)", "'depth' must be an integer from 0 to 255, got 256");
  expect(R"("depth": -1)", "'depth' must be an integer from 0 to 255, got -1");
  expect(R"("context": 18446744073709551615)",
         "'context' must be an integer from -9223372036854775808 to 9223372036854775807, got 18446744073709551615");
  expect(R"("context": 123456789012345678901234567890)", "'context' must be an integer, got 1.23456789e+29");
  expect(R"("dropout": 1e300)", "'dropout' must be a number from -3.40282347e+38 to 3.40282347e+38, got 1e+300");
  expect(R"("schedule": "Cosin")",
         R"('schedule' must be one of "Constant", "Cosine", "Linear", got "Cosin" (did you mean 'Cosine'?))");
  expect(R"("schedule": 1)", "'schedule' must be a string, got 1");
  expect(R"("kernel": [1, 2, "x"])", R"('kernel[2]' must be an integer, got "x")");
  expect(R"("kernel": [1, 2, 3, 4, 5, 6, 7, 8, 9])", "'kernel' must have at most 8 elements, got 9");
  expect(R"("window": [1])", "'window' must have 2 elements, got 1");
  expect(R"("name": {})", "'name' must be a string, got an object");
  expect(R"("contxet": 1)", "unknown key 'contxet' (did you mean 'context'?)");
  expect(R"("optimizer": {"bta1": 1})", "unknown key 'optimizer.bta1' (did you mean 'beta1'?)");
  expect(R"("zebra": 1)", "unknown key 'zebra'");
  EXPECT_EQ(error_of<Gpt>("[]"), "ConfigError: gpt.json: the config must be an object, got a list");
}

TEST(Config, WhatIsWrittenReadsBackTheSame) {
  Gpt gpt{.vocabulary = -3};
  gpt.dropout = 0.3f;
  gpt.optimizer.lr = 0.1 + 0.2;
  gpt.clip = 1e-300;
  gpt.name = "quote \" and line\n";
  gpt.schedule = Schedule::Linear;
  const auto text = write_json(to_json(gpt));
  EXPECT_TRUE(reflect::equal(from_json<Gpt>(text, "x"), gpt)) << text;
  const Lists lists{.stages = {{1, 2, true}}, .tags = {}};
  EXPECT_TRUE(reflect::equal(from_json<Lists>(write_json(to_json(lists)), "x"), lists));
  EXPECT_EQ(write_json(to_json(Adam{0.5, 0.25, true})),
            "{\n  \"lr\": 0.5,\n  \"beta1\": 0.25,\n  \"amsgrad\": true\n}\n");
}

TEST(Config, WhatJsonCannotHoldIsRefused) {
  EXPECT_THROW(write_json(to_json(Adam{.lr = std::nan("")})), ConfigError);
  EXPECT_THROW(write_json(to_json(Adam{.lr = std::numeric_limits<double>::infinity()})), ConfigError);
  EXPECT_THROW(write_json({std::string("\xff\xfe")}), ConfigError);
  EXPECT_THROW(to_json(static_cast<Schedule>(77)), ConfigError);
}

TEST(Config, LoadsAndSavesFiles) {
  const auto path = (std::filesystem::temp_directory_path() / text("kiln-config-", getpid(), ".json")).string();
  save_config(Adam{.lr = 0.25}, path);
  EXPECT_EQ(load_config<Adam>(path).lr, 0.25);
  EXPECT_THROW(save_config(Adam{.lr = std::nan("")}, path), ConfigError);
  EXPECT_EQ(load_config<Adam>(path).lr, 0.25);
  std::ofstream(path) << "{\"lr\": tru}";
  try {
    load_config<Adam>(path);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find("ConfigError: " + path + ": parse error at line 1"), 0u) << error.what();
  }
  std::filesystem::remove(path);
  EXPECT_THROW(load_config<Adam>(path), IoError);
}

/// "[0, 1, ...", whose entries `entry` names.
template <class Entry>
std::string list_of(std::size_t count, const Entry& entry) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text += std::string(i ? "," : "") + entry(i);
  return text + "]";
}

TEST(Json, LongListsOfNumbersKeepEachAsItStands) {
  for (const std::size_t count : {1u, 255u, 256u, 257u, 70'000u, 140'000u}) {
    const auto entry = [](std::size_t i) -> std::string {
      if (i % 5 == 1) return std::to_string(i) + ".5";
      if (i % 5 == 2) return "18446744073709551615";
      return std::string(i % 2 ? "-" : "") + std::to_string(i);
    };
    const Json json = parse_json(list_of(count, entry), "x");
    const auto& list = std::get<Json::List>(json.is);
    ASSERT_EQ(list.size(), count);
    Json room;
    const Json copy = json;
    for (std::size_t i = 0; i < count; ++i) {
      const auto right = [&](const Json& one) {
        if (i % 5 == 1) return std::get<double>(one.is) == static_cast<double>(i) + 0.5;
        if (i % 5 == 2) return std::get<std::uint64_t>(one.is) == ~std::uint64_t{0};
        return std::get<std::int64_t>(one.is) == static_cast<std::int64_t>(i) * (i % 2 ? -1 : 1);
      };
      ASSERT_TRUE(right(list.element(i, room)) && right(list[i])) << count << ", " << i;
      ASSERT_TRUE(right(std::get<Json::List>(copy.is).begin()[i]));
    }
    Json::List longer = list;
    longer.push_back({"more"});
    ASSERT_EQ(longer.size(), count + 1);
    EXPECT_EQ(describe(longer[count]), "\"more\"");
    EXPECT_EQ(describe(longer[0]), "0");
  }
}

TEST(Json, ALongListMayGoOnWithSomethingElse) {
  for (const std::string last : {"\"a\"", "[1]", "{\"b\": 2}", "null", "true"}) {
    const auto entry = [&](std::size_t i) { return i == 300 ? last : std::to_string(i); };
    const Json json = parse_json(list_of(302, entry), "x");
    const auto& list = std::get<Json::List>(json.is);
    ASSERT_EQ(list.size(), 302u);
    EXPECT_EQ(std::get<std::int64_t>(list[299].is), 299);
    EXPECT_EQ(list[300].is.index(), parse_json(last, "x").is.index());
    EXPECT_EQ(std::get<std::int64_t>(list[301].is), 301);
  }
  const auto numbers =
      from_json<std::vector<double>>(list_of(1000, [](std::size_t i) { return std::to_string(i); }), "x");
  EXPECT_EQ(numbers[999], 999);
  const auto wrong = list_of(1000, [](std::size_t i) { return i == 700 ? "0.5" : std::to_string(i); });
  EXPECT_THROW(from_json<std::vector<int>>(wrong, "x"), ConfigError);
}

// 2 MB of "1,": a value of its own for each would be twenty times as much.
TEST(Json, ListsOfNumbersTakeFewTimesTheirText) {
  const std::string text = list_of(1'000'000, [](std::size_t) { return "1"; });
  const std::int64_t peak = test::peak_memory([&] { parse_json(text, "x"); });
  EXPECT_GE(peak, 0);
  EXPECT_LT(peak, 6 * std::ssize(text));
}

TEST(Json, HostileTextIsAConfigError) {
  const std::string deep(100000, '['), deep_objects = [] {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += "{\"a\":";
    return text;
  }();
  for (const std::string& text : {std::string(),
                                  std::string("{"),
                                  std::string("{\"a\": 1"),
                                  std::string("nan"),
                                  std::string("[NaN]"),
                                  std::string("[Infinity]"),
                                  std::string("[1e999]"),
                                  std::string("[-1e999]"),
                                  std::string("[1,]"),
                                  std::string("{\"a\": 1} x"),
                                  std::string("[\"\xff\"]"),
                                  std::string("[\"\\ud800\"]"),
                                  std::string("[01]"),
                                  std::string("\0", 1),
                                  std::string("{'a': 1}"),
                                  std::string("[1 // note\n]"),
                                  std::string("\"open"),
                                  deep,
                                  deep_objects,
                                  deep + std::string(100000, ']')})
    EXPECT_THROW(parse_json(text, "x"), ConfigError) << text.substr(0, 30);
  EXPECT_EQ(error_of<Adam>(deep), "ConfigError: gpt.json: nested deeper than 64 levels");
  EXPECT_EQ(error_of<Adam>(R"({"lr": 1, "lr": 2})"), "ConfigError: gpt.json: key 'lr' occurs twice");
  EXPECT_LT(error_of<Adam>("[" + std::string(100000, 'x')).size(), 300u);
  EXPECT_NO_THROW(parse_json(std::string(64, '[') + std::string(64, ']'), "x"));
}

TEST(Json, MutatedTextIsReadOrRefused) {
  const std::string original = write_json(to_json(Gpt{.vocabulary = 12, .clip = 0.5}));
  Random random(std::uint64_t{11});
  int refused = 0;
  for (int round = 0; round < 10000; ++round) {
    std::string mutated = original;
    for (std::int64_t edits = 1 + random.below(3); edits > 0 && !mutated.empty(); --edits) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(mutated.size())));
      switch (random.below(4)) {
        case 0: mutated[at] = static_cast<char>(random.below(256)); break;
        case 1: mutated.erase(at, static_cast<std::size_t>(random.below(8))); break;
        case 2: mutated.insert(at, original.substr(static_cast<std::size_t>(random.below(200)), 9)); break;
        default: mutated.resize(at + 1);
      }
    }
    try {
      from_json<Gpt>(mutated, "x");
    } catch (const ConfigError&) { ++refused; }
  }
  EXPECT_GT(refused, 5000);
  EXPECT_LT(refused, 10000);
}

TEST(Enumerators, AreNamedByTheirNameOrTheirIdentifier) {
  using reflect::enumerators;
  EXPECT_EQ(enumerators<Schedule>(),
            (std::vector<std::pair<Schedule, std::string_view>>{
                {Schedule::Constant, "Constant"}, {Schedule::Cosine, "Cosine"}, {Schedule::Linear, "Linear"}}));
  const auto dtypes = enumerators<DType>();
  EXPECT_EQ(dtypes.size(), 13u);
  EXPECT_EQ(dtypes[3].second, "bfloat16");
  enum class Sparse { First = 5, Last = 127 };
  EXPECT_EQ(enumerators<Sparse>().size(), 2u);
}

TEST(Suggest, FindsTheNearestName) {
  const std::vector<std::string_view> names = {"width", "height", "depth", "lr"};
  EXPECT_EQ(nearest_name("widht", names), "width");
  EXPECT_EQ(nearest_name("heigt", names), "height");
  EXPECT_EQ(nearest_name("Depth", names), "depth");
  EXPECT_EQ(nearest_name("lt", names), "lr");
  EXPECT_EQ(nearest_name("x", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("momentum", names), "");
  EXPECT_EQ(nearest_name(std::string(1000000, 'w'), names), "");
  EXPECT_EQ(did_you_mean("widht", names), " (did you mean 'width'?)");
  EXPECT_EQ(did_you_mean("momentum", names), "");
}

TEST(Config, ReadsOneOfSeveralStructsByItsName) {
  const auto read = [](std::string_view json) { return from_json<Chosen>(json, "gpt.json"); };
  EXPECT_EQ(std::get<StepConfig>(read("{}").rule).every, 3);
  EXPECT_EQ(read(R"({"rule": "None"})").rule.index(), 0u);
  EXPECT_EQ(read(R"({"rule": {"None": {}}})").rule.index(), 0u);
  EXPECT_EQ(std::get<StepConfig>(read(R"({"rule": {"Step": {"every": 7}}})").rule).every, 7);
  EXPECT_EQ(std::get<Adam>(read(R"({"rule": {"Adam": {"lr": 1, "beta1": 0.5}}})").rule), (Adam{1, 0.5, false}));
  EXPECT_EQ(static_cast<int>(read(R"({"dim": 2})").dim), 2);
  for (const char* json : {R"({"rule":"None","dim":-1})", R"({"rule":{"Step":{"every":5,"factor":0.5}},"dim":0})"})
    EXPECT_EQ(write_json(to_json(from_json<Chosen>(to_json(read(json)), "again"))), write_json(to_json(read(json))));
}

TEST(Config, SaysWhichStructsThereAre) {
  EXPECT_EQ(
      error_of<Chosen>(R"({"rule": "Setp"})"),
      "ConfigError: gpt.json: 'rule' must be one of \"None\", \"Step\", \"Adam\", got \"Setp\" (did you mean 'Step'?)");
  EXPECT_EQ(error_of<Chosen>(R"({"rule": 3})"),
            "ConfigError: gpt.json: 'rule' must be one of \"None\", \"Step\", \"Adam\", or an object with one of them "
            "for its key, got 3");
  EXPECT_EQ(error_of<Chosen>(R"({"rule": {"None": {}, "Step": {"every": 1}}})"),
            "ConfigError: gpt.json: 'rule' must be one of \"None\", \"Step\", \"Adam\", or an object with one of them "
            "for its key, got an "
            "object");
  EXPECT_EQ(error_of<Chosen>(R"({"rule": "Step"})"), "ConfigError: gpt.json: 'rule.Step.every' is missing");
  EXPECT_EQ(error_of<Chosen>(R"({"rule": {"Step": {"every": "x"}}})"),
            "ConfigError: gpt.json: 'rule.Step.every' must be an integer, got \"x\"");
  EXPECT_EQ(error_of<Chosen>(R"({"dim": true})"), "ConfigError: gpt.json: 'dim' must be an integer, got true");
}

}  // namespace
}  // namespace kiln
