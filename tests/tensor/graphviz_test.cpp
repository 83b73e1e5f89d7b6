// Drawings of captured programs, read back.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/capture.hpp"
#include "kiln/tensor/create.hpp"

namespace kiln {
namespace {

struct Drawn {
  std::map<std::string, std::string> labels;  // of nodes, as they are written
  std::multiset<std::pair<std::string, std::string>> arrows;
};

/// Takes no more of the language than is written; every line must be one of these.
Drawn read_back(const std::string& drawing) {
  static const std::regex node("  (\\w+) \\[label=\"((?:[^\"\\\\]|\\\\.)*)\", shape=(?:box|ellipse)\\];");
  static const std::regex arrow("  (\\w+) -> (\\w+)(?: \\[label=\"\\d+\"\\])?;");
  Drawn drawn;
  std::istringstream lines(drawing);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "digraph program {");
  bool closed = false;
  while (std::getline(lines, line)) {
    std::smatch found;
    EXPECT_FALSE(closed) << line;
    if (std::regex_match(line, found, node)) EXPECT_TRUE(drawn.labels.emplace(found[1], found[2]).second) << line;
    else if (std::regex_match(line, found, arrow)) drawn.arrows.emplace(found[1], found[2]);
    else EXPECT_TRUE(closed = line == "}") << line;
  }
  EXPECT_TRUE(closed);
  for (const auto& [from, to] : drawn.arrows) EXPECT_TRUE(drawn.labels.contains(from) && drawn.labels.contains(to));
  return drawn;
}

TEST(Graphviz, DrawsWhatEachOperationReads) {
  const Device device = Device::cpu();
  const auto x = ones({2, 3}, device), w = ones({3, 4}, device);
  const auto graph = capture([&](const Tensor<2>& in) { return (in.matmul(w) * 2).relu(); }, x);
  const Drawn drawn = read_back(graph.graphviz({.constants = {"head \"w\"\\"}}));
  EXPECT_EQ(drawn.labels.at("value0"), "input 0\\nfloat32 [2, 3]");
  EXPECT_EQ(drawn.labels.at("value1"), "head \\\"w\\\"\\\\\\nfloat32 [3, 4]");
  EXPECT_EQ(drawn.labels.at("step0"), "matmul\\nfloat32 [2, 4]");
  EXPECT_EQ(drawn.labels.at("step1"), "mul 2\\nfloat32 [2, 4]");
  EXPECT_EQ(drawn.labels.at("step2"), "relu\\nfloat32 [2, 4]");
  EXPECT_EQ(drawn.labels.at("output0"), "output 0");
  EXPECT_EQ(
      drawn.arrows,
      (std::multiset<std::pair<std::string, std::string>>{
          {"value0", "step0"}, {"value1", "step0"}, {"step0", "step1"}, {"step1", "step2"}, {"step2", "output0"}}));
}

TEST(Graphviz, TellsResultsOfOneOperationApart) {
  const Device device = Device::cpu();
  const auto x = ones({4}, device);
  const auto graph = capture(
      [](const Tensor<1>& in) {
        const auto [values, indices] = in.topk(2);
        return std::tuple(values, indices);
      },
      x);
  const Drawn drawn = read_back(graph.graphviz());
  EXPECT_EQ(drawn.labels.count("output1"), 1u);
  EXPECT_NE(graph.graphviz().find(" -> output1 [label=\"1\"];"), std::string::npos) << graph.graphviz();
}

}  // namespace
}  // namespace kiln
