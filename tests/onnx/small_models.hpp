// Small models of many kinds of things that a file may hold: what tests damage, and libFuzzer begins with.
#pragma once
#include "tests/onnx/model_writer.hpp"

namespace kiln::onnx::test {

inline std::vector<std::string> small_models() {
  const Message slope = Message().text(1, "alpha").text(21, "slope").number(20, 1);
  const Message then_branch = graph({{node("Neg", {"x"}, {"t"})}, {}, {}, {value("t", {"n"})}});
  const Message else_branch = graph({{node("Relu", {"x"}, {"e"})}, {}, {}, {value("e", {"n"})}});
  const Message step = graph({{node("Add", {"s", "part"}, {"next"}), node("Identity", {"next"}, {"seen"})},
                              {},
                              {value("s", {}), value("part", {})},
                              {value("next", {}), value("seen", {})}});
  const Message words = Message().number(1, 2).number(2, 8).text(6, "one").text(6, "two").text(8, "words");
  const Message packed = Message().number(1, 3).number(2, 22).text(8, "q").text(9, std::string_view("\x21\x03", 2));
  return {
      model(graph({{node("Conv", {"x", "w"}, {"c"}, {attribute("pads", {1, 1, 1, 1}), attribute("strides", {2, 2})}),
                    node("BatchNormalization", {"c", "s", "s", "s", "s"}, {"b"}),
                    node("MaxPool", {"b"}, {"p"}, {attribute("kernel_shape", {2, 2})}), node("Flatten", {"p"}, {"y"})},
                   {tensor("w", {1, 1, 3, 3}, std::vector<float>(9, 1)), tensor("s", {1}, std::vector<float>{1})},
                   {value("x", {"n", "1", "6", "6"})},
                   {value("y", {"n", "m"})}})),
      model(graph({{node("Bend", {"x"}, {"a"}, {attribute("slope", 0.5f)}, "test"),
                    node("If",
                         {
                             "c",
                         },
                         {"y"},
                         {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)})},
                   {},
                   {value("x", {"n"}), value("c", {}, Element::Bool)},
                   {value("y", {"n"}), value("a", {"n"})}}),
            17, {function("Bend", "test", {"a"}, {"b"}, {node("LeakyRelu", {"a"}, {"b"}, {slope})}, {"slope"})}),
      model(graph({{node("Scan", {"zero", "x"}, {"sum", "sums"},
                         {attribute("num_scan_inputs", std::int64_t{1}), graph_attribute("body", step)})},
                   {tensor("zero", {}, std::vector<float>{0})},
                   {value("x", {"n"})},
                   {value("sum", {}), value("sums", {"n"})}})),
      model(graph({{node("Shape", {"x"}, {"s"}), node("Gather", {"s", "i"}, {"g"}),
                    node("Concat", {"g", "m"}, {"t"}, {attribute("axis", std::int64_t{0})}),
                    node("Reshape", {"x", "t"}, {"y"}), node("DequantizeLinear", {"q", "scale"}, {"z"}),
                    node("Concat", {"words", "words"}, {"v"}, {attribute("axis", std::int64_t{0})})},
                   {tensor("i", {1}, std::vector<std::int64_t>{0}), tensor("m", {1}, std::vector<std::int64_t>{-1}),
                    words, packed, tensor("scale", {}, std::vector<float>{0.5})},
                   {value("x", {"n", "3", "2"})},
                   {value("y", {"n", "6"}), value("z", {"3"}), value("v", {"4"}, Element::String)}}),
            21),
      model(
          graph({{node("Slice", {"x", "a", "b", "a", "c"}, {"s"}),
                  node("Pad", {"s", "p"}, {"d"}, {attribute("mode", "reflect")}), node("TopK", {"d", "k"}, {"y", "z"})},
                 {tensor("a", {1}, std::vector<std::int64_t>{0}), tensor("b", {1}, std::vector<std::int64_t>{4}),
                  tensor("c", {1}, std::vector<std::int64_t>{2}), tensor("p", {2}, std::vector<std::int64_t>{1, 1}),
                  tensor("k", {1}, std::vector<std::int64_t>{2})},
                 {value("x", {"n"})},
                 {value("y", {"m"}), value("z", {"m"}, Element::Int64)}})),
  };
}

}  // namespace kiln::onnx::test
