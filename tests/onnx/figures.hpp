// Single nodes and what ONNX Runtime gives for them: the data files that figures.py writes, and a test that compares.
#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <span>

#include "kiln/onnx/model.hpp"
#include "tests/onnx/model_writer.hpp"
#include "tests/support/figures.hpp"

namespace kiln::onnx::test {

struct Figure {
  Element element = Element::Undefined;  // Undefined: absent
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  Strings words = {};

  Datum datum() const {
    const Shape size(shape.begin(), shape.end());
    if (element == Element::String) return Datum::of_strings(size, words, Device::cpu());
    return from_data(TensorData::of<double>(size, std::span(values)).to(dtype_of(element)), Device::cpu());
  }
};

struct FigureCase {
  std::string op;
  std::vector<Message> attributes;
  std::vector<Figure> inputs, outputs;
};

inline Message tensor_attribute(std::string_view name, const Figure& figure) {
  Message tensor;
  for (const std::int64_t size : figure.shape) tensor.number(1, size);
  tensor.number(2, static_cast<std::int64_t>(figure.element));
  const TensorData data = figure.datum().value().data();
  tensor.text(9, std::string_view(reinterpret_cast<const char*>(data.bytes().data()), data.bytes().size()));
  return Message().text(1, name).message(5, tensor).number(20, 4);
}

/// The type of that name, as name() has it.
inline Element element_of(std::string_view word) {
  for (std::int32_t i = 1; i < 64; ++i)
    if (name(Element{i}) == word) return Element{i};
  fail<DataError>("figures: there is no element type '", word, "'");
}

/// A tensor of a data file: numbers or strings.
struct StoredTensor {
  std::string element;
  std::vector<std::int64_t> shape;
  std::optional<std::vector<kiln::test::Number>> values;
  std::optional<Strings> strings;

  Figure figure() const {
    Figure figure{element_of(element), shape, {}, {}};
    if (values) figure.values.assign(values->begin(), values->end());
    if (strings) figure.words = *strings;
    return figure;
  }
};

/// An attribute of a data file: one value, in the field that AttributeProto has for its type.
struct StoredAttribute {
  std::string name;
  std::optional<std::int64_t> i;
  std::optional<kiln::test::Number> f;
  std::optional<std::string> s;
  std::optional<StoredTensor> t;
  std::optional<std::vector<std::int64_t>> ints;
  std::optional<std::vector<kiln::test::Number>> floats;
  std::optional<Strings> strings;

  Message message() const {
    if (i) return attribute(name, *i);
    if (f) return attribute(name, static_cast<float>(*f));
    if (s) return attribute(name, *s);
    if (t) return tensor_attribute(name, t->figure());
    if (ints) return ints_attribute(name, *ints);
    if (floats) return floats_attribute(name, {floats->begin(), floats->end()});
    if (strings) return words_attribute(name, *strings);
    fail<DataError>("figures: the attribute '", name, "' has no value");
  }
};

struct StoredCase {
  std::string op;
  std::vector<StoredAttribute> attributes;
  std::vector<std::optional<StoredTensor>> inputs, outputs;  // null: absent
};

struct StoredCases {
  std::string made_with;  // the library and its version
  std::vector<StoredCase> cases;
};

/// Returns the cases of a file of tests/onnx. Throws IoError or ConfigError where it is missing or damaged, and DataError
/// where it has no case.
inline std::vector<FigureCase> figures_of(const std::string& name) {
  const std::string file = KILN_SOURCE_DIR "/tests/onnx/" + name;
  std::vector<FigureCase> cases;
  for (const auto& [op, attributes, inputs, outputs] : load_config<StoredCases>(file).cases) {
    FigureCase& each = cases.emplace_back(FigureCase{.op = op, .attributes = {}, .inputs = {}, .outputs = {}});
    for (const StoredAttribute& attribute : attributes) each.attributes.push_back(attribute.message());
    for (const auto& input : inputs) each.inputs.push_back(input ? input->figure() : Figure());
    for (const auto& output : outputs) each.outputs.push_back(output ? output->figure() : Figure());
  }
  if (cases.empty()) fail<DataError>(file, ": has no case");
  return cases;
}

inline Message type_of(const std::string& name, const Figure& figure) {
  const Message tensor = Message().number(1, static_cast<std::int64_t>(figure.element));
  return Message().text(1, name).message(2, Message().message(1, tensor));
}

/// A file of the one node, whose inputs are "i0", "i1", ... and whose outputs "o0", ....
inline std::string model_of(const FigureCase& each, const std::string& domain, int version) {
  Message node, graph;
  for (std::size_t i = 0; i < each.inputs.size(); ++i) {
    const bool given = each.inputs[i].element != Element::Undefined;
    node.text(1, given ? text("i", i) : "");
    if (given) graph.message(11, type_of(text("i", i), each.inputs[i]));
  }
  for (std::size_t i = 0; i < each.outputs.size(); ++i) {
    const bool given = each.outputs[i].element != Element::Undefined;
    node.text(2, given ? text("o", i) : "");
    if (given) graph.message(12, type_of(text("o", i), each.outputs[i]));
  }
  node.text(3, each.op + "_node").text(4, each.op).text(7, domain);
  for (const Message& attribute : each.attributes) node.message(5, attribute);
  graph.message(1, node).text(2, "main");
  Message file = Message().number(1, 8).message(7, graph);
  if (!domain.empty()) file.message(8, opset(17));
  return file.message(8, opset(version, domain)).bytes();
}

/// The node gives what was stored.
inline void compare(const FigureCase& each, const std::string& domain, int version,
                    const Tolerance& usual = {2e-5, 2e-5}) {
  NamedInputs inputs;
  for (std::size_t i = 0; i < each.inputs.size(); ++i)
    if (each.inputs[i].element != Element::Undefined) inputs[text("i", i)] = each.inputs[i].datum();
  const Outputs out = load(bytes_of(model_of(each, domain, version)), "m.onnx", "", Device::cpu()).run(inputs);
  for (std::size_t i = 0; i < each.outputs.size(); ++i) {
    const Figure& expected = each.outputs[i];
    if (expected.element == Element::Undefined) continue;
    const Datum& actual = out[text("o", i)];
    ASSERT_EQ(actual.element(), expected.element) << "output " << i;
    if (actual.is_string()) {
      EXPECT_EQ(actual.value().shape(), expected.datum().value().shape());
      EXPECT_EQ(actual.strings(), expected.words) << "output " << i;
      continue;
    }
    // Where a number falls between two steps, ONNX Runtime's tables may round the other way.
    const bool steps = actual.element() == Element::Uint8 || actual.element() == Element::Int8;
    const Tolerance tolerance = steps ? Tolerance{.relative = 0, .absolute = 1} : usual;
    EXPECT_EQ(
        difference(actual.value().data().to(DType::F64), expected.datum().value().data().to(DType::F64), tolerance), "")
        << "output " << i;
  }
}

}  // namespace kiln::onnx::test
