// Models of branches, loops, scans and functions, each with weights of its own under names that others have as well:
// what generated code must not mix up. With inputs that run every body, and what each then gives, multiplied out here.
#pragma once
#include <algorithm>

#include "kiln/onnx/datum.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/onnx/model_writer.hpp"

namespace kiln::onnx::test {

struct BodyModel {
  struct Set {
    std::vector<Datum> inputs, outputs;
  };
  std::string name, bytes;
  std::vector<Set> sets;
};

inline std::vector<BodyModel> body_models() {
  using Matrix =
      std::vector<float>;  // five by five, row by row: small enough for sums to be exact, too large for literals
  constexpr int kSize = 5;
  const auto matrix = [](int seed) {
    Matrix made;
    for (int i = 0; i < kSize * kSize; ++i) made.push_back(static_cast<float>((i * i * 3 + i * seed) % 7 - 3));
    return made;
  };
  const Matrix first = matrix(1), second = matrix(2), third = matrix(4), x = matrix(5);
  const auto times = [](const Matrix& a, const Matrix& b) {
    Matrix made(a.size());
    for (std::size_t i = 0; i < kSize; ++i)
      for (std::size_t j = 0; j < kSize; ++j)
        for (std::size_t k = 0; k < kSize; ++k) made[i * kSize + j] += a[i * kSize + k] * b[k * kSize + j];
    return made;
  };
  const auto plus = [](Matrix a, const Matrix& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  };
  const auto named = [](Message made, std::string_view name) { return made.text(3, name); };  // the last name counts
  const auto weight = [](const Matrix& w) { return tensor("w", {5, 5}, w); };
  // A node Constant of this name.
  const auto constant = [&](std::string_view name, std::string_view result, const Matrix& w) {
    return named(node("Constant", {}, {result}, {Message().text(1, "value").message(5, weight(w)).number(20, 4)}),
                 name);
  };
  // Graphs that take nothing: x, which is seen from outside, times a constant; or times an initializer.
  const auto branch = [&](std::string_view name, const Matrix& w) {
    return graph({{constant(name, "k", w), node("MatMul", {"x", "k"}, {"r"})}, {}, {}, {value("r", {"5", "5"})}});
  };
  const auto initialized = [&](const Matrix& w) {
    return graph({{node("MatMul", {"x", "w"}, {"r"})}, {weight(w)}, {}, {value("r", {"5", "5"})}});
  };
  const auto choice = [](const Message& yes, const Message& no) {
    return node("If", {"c"}, {"y"}, {graph_attribute("then_branch", yes), graph_attribute("else_branch", no)});
  };
  const Message takes_c = value("c", {}, Element::Bool), takes_n = value("n", {}, Element::Int64),
                takes_x = value("x", {"5", "5"}), gives_y = value("y", {"5", "5"});
  const auto datum = [](const Matrix& m) { return Datum(from_data(TensorData::of<float>({5, 5}, m), Device::cpu())); };
  const auto flag = [](bool is) { return Datum(full({}, is, Device::cpu(), DType::Bool)); };
  const auto count = [](std::int64_t n) { return Datum(full({}, n, Device::cpu(), DType::I64)); };
  const std::vector<BodyModel::Set> both = {{{flag(true), datum(x)}, {datum(times(x, first))}},
                                            {{flag(false), datum(x)}, {datum(times(x, second))}}};
  std::vector<BodyModel> list;
  const auto add = [&](std::string name, const Message& main, std::vector<BodyModel::Set> sets,
                       const std::vector<Message>& functions = {}) {
    list.push_back({std::move(name), model(main, 17, functions), std::move(sets)});
  };
  add("branches_unnamed", graph({{choice(branch("", first), branch("", second))}, {}, {takes_c, takes_x}, {gives_y}}),
      both);
  add("branches_same_name",
      graph({{choice(branch("w", first), branch("w", second))}, {}, {takes_c, takes_x}, {gives_y}}), both);
  add("branches_initializers",
      graph({{choice(initialized(first), initialized(second))}, {}, {takes_c, takes_x}, {gives_y}}), both);

  // s = s w in every step.
  const auto step = [&](const Matrix& w) {
    return graph({{constant("", "k", w), node("MatMul", {"s", "k"}, {"next"}), node("Identity", {"c"}, {"go_on"})},
                  {},
                  {value("i", {}, Element::Int64), value("c", {}, Element::Bool), value("s", {"5", "5"})},
                  {value("go_on", {}, Element::Bool), value("next", {"5", "5"})}});
  };
  add("loops",
      graph({{node("Loop", {"n", "", "x"}, {"u"}, {graph_attribute("body", step(first))}),
              node("Loop", {"n", "", "u"}, {"y"}, {graph_attribute("body", step(second))})},
             {},
             {takes_n, takes_x},
             {gives_y}}),
      {{{count(2), datum(x)}, {datum(times(times(times(times(x, first), first), second), second))}},
       {{count(0), datum(x)}, {datum(x)}}});

  // The body's own initializer is read by the branches of an If inside, one of which has a constant besides.
  const Message inner_yes = graph({{node("MatMul", {"s", "w"}, {"r"})}, {}, {}, {value("r", {"5", "5"})}});
  const Message inner_no =
      graph({{constant("", "k", third), node("Add", {"w", "k"}, {"both"}), node("MatMul", {"s", "both"}, {"r"})},
             {},
             {},
             {value("r", {"5", "5"})}});
  const Message around =
      graph({{node("If", {"c"}, {"next"},
                   {graph_attribute("then_branch", inner_yes), graph_attribute("else_branch", inner_no)}),
              node("Identity", {"go"}, {"go_on"})},
             {weight(second)},
             {value("i", {}, Element::Int64), value("go", {}, Element::Bool), value("s", {"5", "5"})},
             {value("go_on", {}, Element::Bool), value("next", {"5", "5"})}});
  add("branch_in_a_loop",
      graph({{node("Loop", {"two", "", "x"}, {"y"}, {graph_attribute("body", around)})},
             {tensor("two", {}, std::vector<std::int64_t>{2})},
             {takes_c, takes_x},
             {gives_y}}),
      {{{flag(true), datum(x)}, {datum(times(times(x, second), second))}},
       {{flag(false), datum(x)}, {datum(times(times(x, plus(second, third)), plus(second, third)))}}});

  // y = the sum of rows of x, each times a matrix, by two Scans.
  const auto scan = [&](std::string_view result, const Matrix& w) {
    const Message body = graph({{constant("Constant", "k", w), node("MatMul", {"row", "k"}, {"turned"}),
                                 node("Add", {"s", "turned"}, {"next"})},
                                {},
                                {value("s", {"5"}), value("row", {"5"})},
                                {value("next", {"5"})}});
    return node("Scan", {"zero", "x"}, {result},
                {attribute("num_scan_inputs", std::int64_t{1}), graph_attribute("body", body)});
  };
  std::vector<float> of_rows;
  const Matrix a = times(x, first), b = times(x, second);
  for (std::size_t j = 0; j < kSize; ++j) {
    float sum_a = 0, sum_b = 0;
    for (std::size_t i = 0; i < kSize; ++i) sum_a += a[i * kSize + j], sum_b += b[i * kSize + j];
    of_rows.push_back(sum_a * sum_b);
  }
  add("scans",
      graph({{scan("a", first), scan("b", second), node("Mul", {"a", "b"}, {"y"})},
             {tensor("zero", {5}, std::vector<float>(5, 0))},
             {takes_x},
             {value("y", {"5"})}}),
      {{{datum(x)}, {Datum(from_data(TensorData::of<float>({5}, of_rows), Device::cpu()))}}});

  // One function, called twice by nodes of one name with a tensor each; a function whose branches see an operand that is
  // absent.
  const auto call = [&](std::string_view from, std::string_view to, const Matrix& w) {
    return named(node("Turn", {from}, {to}, {Message().text(1, "by").message(5, weight(w)).number(20, 4)}, "test"),
                 "call");
  };
  const Message turn = function("Turn", "test", {"a"}, {"b"},
                                {node("Constant", {}, {"k"}, {Message().text(1, "value").text(21, "by").number(20, 4)}),
                                 node("MatMul", {"a", "k"}, {"b"})},
                                {"by"});
  add("function_twice", graph({{call("x", "u", first), call("u", "y", second)}, {}, {takes_x}, {gives_y}}),
      {{{datum(x)}, {datum(times(times(x, first), second))}}}, {turn});
  Matrix clipped_x = x;
  for (float& each : clipped_x) each = std::min(each, 1.0f);
  const auto clipped = [&](const Message& more) {
    return graph({{more, node("Clip", {"a", "low", "high"}, {"r"})}, {}, {}, {value("r", {"5", "5"})}});
  };
  const Message maybe = function(
      "Maybe", "test", {"c", "a", "low", "high"}, {"b"},
      {node("If", {"c"}, {"b"},
            {graph_attribute("then_branch", clipped(node("Identity", {"a"}, {"unused"}))),
             graph_attribute("else_branch", graph({{constant("", "k", third), node("MatMul", {"a", "k"}, {"r"})},
                                                   {},
                                                   {},
                                                   {value("r", {"5", "5"})}}))})});
  add("absent_inside",
      graph({{node("Maybe", {"c", "x", "", "one"}, {"y"}, {}, "test")},
             {tensor("one", {}, std::vector<float>{1})},
             {takes_c, takes_x},
             {gives_y}}),
      {{{flag(true), datum(x)}, {datum(clipped_x)}}, {{flag(false), datum(x)}, {datum(times(x, third))}}}, {maybe});
  return list;
}

}  // namespace kiln::onnx::test
