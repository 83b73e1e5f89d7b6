// Writing: what is loaded again gives the same bits; names, free dimensions, weights beside the file; what cannot be
// written is told, all of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "kiln/core/error/trace.hpp"
#include "kiln/core/file.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/onnx/print.hpp"
#include "kiln/onnx/save/writing.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/expression/rows.hpp"
#include "kiln/ops/op.hpp"
#include "tests/onnx/save_samples.hpp"
#include "tests/store/temporary.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

std::vector<Datum> data_of(const Values& values) { return {values.begin(), values.end()}; }

void expect_same_bits(const Sample& sample, const Values& inputs, const Model& model) {
  const Values expected = sample.function(inputs);
  const Outputs actual = model.run(data_of(inputs));
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(difference(actual[i].value().data(), expected[i].data(), {.relative = 0, .absolute = 0}), "")
        << sample.name << ", output " << i;
}

TEST(Save, LoadedAgainItGivesTheSameBits) {
  for (const Sample& sample : samples(cpu))
    for (const Weights weights : {Weights::Inside, Weights::Beside}) {
      SCOPED_TRACE(sample.name);
      const TemporaryFile file("model.onnx");
      SaveOptions options = sample.options;
      options.weights = weights;
      save(sample.function, sample.examples, file.path, options);
      const Model model = load(file.path, cpu);
      expect_same_bits(sample, sample.examples, model);
      if (!sample.others.empty()) expect_same_bits(sample, sample.others, model);
    }
}

Sample sample_named(const std::string& name) {
  for (Sample& sample : samples(cpu))
    if (sample.name == name) return sample;
  return {};
}
/// Its weights point into the file, which is closed: names and shapes alone are to be looked at.
ModelProto saved(const Sample& sample, const std::string& path) {
  save(sample.function, sample.examples, path, sample.options);
  const FileBytes file = map_file(path);
  return parse_model(file.bytes, path);
}
Strings operators_of(const ModelProto& model) {
  Strings list;
  for (const NodeProto& node : model.graph.node) list.push_back(node.op_type);
  return list;
}

TEST(Save, WeightsAndNodesHaveTheirModulesPaths) {
  const TemporaryFile file("model.onnx");
  const ModelProto model = saved(sample_named("mlp"), file.path);
  Strings weights, nodes;
  for (const TensorProto& tensor : model.graph.initializer) weights.push_back(tensor.name);
  for (const NodeProto& node : model.graph.node) nodes.push_back(node.name);
  for (const char* name : {"first.weight", "first.bias", "second.weight", "second.bias"})
    EXPECT_EQ(std::count(weights.begin(), weights.end(), name), 1) << name;
  for (const char* name : {"/first/MatMul", "/first/Add", "/Relu", "/second/MatMul"})
    EXPECT_EQ(std::count(nodes.begin(), nodes.end(), name), 1) << name;
  EXPECT_EQ(model.graph.input.at(0).type.shape->at(0).param, "batch");
  EXPECT_EQ(model.graph.output.at(0).type.shape->at(0).param, "batch");
  EXPECT_EQ(model.graph.output.at(0).type.shape->at(1).value, 3);
}

TEST(Save, LayersAreOneNode) {
  const TemporaryFile file("model.onnx");
  const auto count = [&](const char* sample, const char* op) {
    const Strings operators = operators_of(saved(sample_named(sample), file.path));
    return std::count(operators.begin(), operators.end(), op);
  };
  EXPECT_EQ(count("lstm", "LSTM"), 4);
  EXPECT_EQ(count("gru", "GRU"), 1);
  EXPECT_EQ(count("transformer", "Attention"), 1);
  EXPECT_EQ(count("transformer", "LayerNormalization"), 2);
  EXPECT_EQ(count("causal_transformer", "RMSNormalization"), 2);
  EXPECT_EQ(count("mlp", "Shape"), 0);  // a free batch needs no arithmetic
}

TEST(Save, OlderOperatorSetsSpellOutWhatTheyLack) {
  for (const char* name : {"transformer", "causal_transformer", "conv_net", "norms", "masked_attention"}) {
    Sample sample = sample_named(name);
    const TemporaryFile file("model.onnx");
    sample.options.opset = 17;
    const ModelProto proto = saved(sample, file.path);
    EXPECT_EQ(proto.opset_import.at(0).version, 17);
    const Outputs out = load(file.path, cpu).run(data_of(sample.examples));
    const Values expected = sample.function(sample.examples);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(difference(out[i].value().data(), expected[i].data(), {1e-4, 1e-5}), "") << name;
  }
}

/// The line of docs/onnx.md that begins so lists these and no others.
void expect_documented(const std::string& begin, const Strings& names) {
  const std::string page = read_text_file(std::string(KILN_SOURCE_DIR) + "/docs/onnx.md");
  std::string line = "| " + begin + " | ";
  for (std::size_t i = 0; i < names.size(); ++i) line += text(i ? ", `" : "`", names[i], "`");
  EXPECT_NE(page.find(line + " |"), std::string::npos) << "docs/onnx.md lacks this line:\n" << line << " |";
}

// Every function of elementwise.def, as an operator or as its expression; what has neither is known by name.
TEST(Save, EveryElementwiseFunction) {
  const Value x = from_data(TensorData::of<float>({7}, {-2.5f, -1, -0.25f, 0.1f, 0.5f, 1.5f, 3}), cpu);
  const Value y = from_data(TensorData::of<float>({7}, {0.5f, 2, -1.5f, 0.75f, 0.5f, -2, 1.25f}), cpu);
  Strings refused;
  const auto check = [&](std::string_view name, const std::function<Values(const Values&)>& function, Values in) {
    const TemporaryFile file("model.onnx");
    try {
      save(function, in, file.path);
    } catch (const ArgumentError&) {
      refused.emplace_back(name);
      return;
    }
    const Value expected = function(in)[0];
    const Outputs out = load(file.path, cpu).run(data_of(in));
    EXPECT_EQ(difference(out[0].value().data(), expected.data(), {2e-5, 2e-6}), "") << name;
  };
  for (std::size_t i = 0; i < enumerator_count(op::UnaryFn()); ++i) {
    const auto fn = static_cast<op::UnaryFn>(i);
    const Value in = op::domain(fn) == op::Domain::Integer ? cast(x, DType::I32)
                     : op::domain(fn) == op::Domain::Bool  ? gt(x, 0)
                                                           : x;
    check(op::name(fn), [fn](const Values& v) { return Values{emit(op::Unary{fn}, {v[0]})}; }, {in});
  }
  for (std::size_t i = 0; i < enumerator_count(op::BinaryFn()); ++i) {
    const auto fn = static_cast<op::BinaryFn>(i);
    const auto typed = [&](const Value& v) {
      return op::domain(fn) == op::Domain::Integer ? cast(v, DType::I32)
             : op::domain(fn) == op::Domain::Bool  ? gt(v, 0)
                                                   : v;
    };
    check(op::name(fn), [fn](const Values& v) { return Values{emit(op::Binary{fn}, {v[0], v[1]})}; },
          {typed(x), typed(y)});
    if (op::domain(fn) == op::Domain::Bool) continue;
    check(op::name(fn), [fn](const Values& v) { return Values{emit(op::Binary{fn}, {v[0], 2})}; }, {typed(x)});
  }
  std::sort(refused.begin(), refused.end());
  refused.erase(std::unique(refused.begin(), refused.end()), refused.end());
  EXPECT_EQ(refused, (Strings{"atan2", "copysign", "digamma", "erfinv", "i0", "i1", "lgamma", "polygamma", "shift_left",
                              "shift_right", "signbit"}));
  expect_documented("functions that are not written", refused);
}

// Operations that have neither a row nor parts, which have one; those that only a planner or a program of a user's own
// makes, and gradients, aside.
template <class... T>
Strings operations_without_form(const std::variant<T...>*) {
  Strings list;
  const auto look = [&]<class One>(const One* /*op*/) {
    const std::string name(One::kName);
    if constexpr (!op::Composite<One> && std::is_default_constructible_v<One>)
      if (name != "custom" && !name.ends_with("_grad") && !find_save_row(op::Op(One{}))) list.push_back(name);
  };
  (look(static_cast<const T*>(nullptr)), ...);
  std::sort(list.begin(), list.end());
  return list;
}

TEST(Save, TheDocumentationListsTheOperationsThatHaveNoForm) {
  expect_documented("operations that are not written",
                    operations_without_form(static_cast<const op::Op::Alternatives*>(nullptr)));
}

std::string error_of(const std::function<Values(const Values&)>& function, const Values& examples,
                     const SaveOptions& options = {}) {
  const TemporaryFile file("model.onnx");
  write_text(file.path, "as it was");
  try {
    save(function, examples, file.path, options);
  } catch (const ArgumentError& error) {
    EXPECT_EQ(read_text_file(file.path), "as it was");
    return std::string(without_calls(error.what()));
  }
  return "none";
}

TEST(Save, WhatHasNoFormIsToldAllAtOnce) {
  const Value x = ones({4, 4}, cpu);
  const std::string error = error_of(
      [](const Values& in) { return Values{dropout(erfinv(in[0]), 0.5), shift_left(cast(in[0], DType::I32), 1)}; },
      {x});
  EXPECT_NE(error.find("onnx::save: these operations have no equivalent in ONNX"), std::string::npos) << error;
  for (const char* part : {"dropout: its numbers are random", "; save valid(model), which drops nothing", "erfinv",
                           "shift_left: ONNX shifts unsigned integers alone"})
    EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Save, OptionsThatDoNotFitAreRefused) {
  const auto twice = [](const Values& in) { return Values{in[0] * 2}; };
  const Value x = ones({2, 3}, cpu);
  EXPECT_NE(error_of(twice, {x}, {.opset = 16}).find("operator set 16 is not one of 17 to"), std::string::npos);
  EXPECT_NE(error_of(twice, {x}, {.free = {{"n", 1, 0}}}).find("dimension of input 1, but there are 1"),
            std::string::npos);
  EXPECT_NE(error_of(twice, {x}, {.free = {{"n", 0, 0}, {"n", 0, 1}}}).find("'n' is 2 in one place, and 3"),
            std::string::npos);
  EXPECT_NE(error_of(twice, {x}, {.inputs = {"a", "b"}}).find("more names than the 1 inputs"), std::string::npos);
  EXPECT_NE(error_of(twice, {x}, {.inputs = {"a"}, .outputs = {"a"}}).find("'a' of output 0 occurs twice"),
            std::string::npos);
  EXPECT_NE(error_of([](const Values&) { return Values{}; }, {x}).find("the function returns nothing"),
            std::string::npos);
  EXPECT_NE(error_of(twice, {x}, {.outputs = {""}}).find("'' of output 0 is empty"), std::string::npos);
  EXPECT_NE(error_of(
                [&](const Values& in) {
                  return Values{reshape(in[0], {-1}) + arange(0, 2 * in[0].dim(0) * 3 / 2, 1, cpu, DType::F32) * 2};
                },
                {x}, {.free = {{"n", 0, 0}}})
                .find("other sizes where free dimensions do"),
            std::string::npos);
  EXPECT_NE(error_of([](const Values& in) { return in[0].dim(0) > 2 ? Values{in[0] * 2} : Values{exp(in[0])}; }, {x},
                     {.free = {{"n", 0, 0}}})
                .find("with other sizes of the free dimensions the function runs other operations"),
            std::string::npos);
}

TEST(Save, NamesAreThoseAskedFor) {
  const TemporaryFile file("model.onnx");
  const Value x = ones({2}, cpu);
  save([](const Values& in) { return Values{in[0] * 2, in[0], in[0] * 2}; }, {x}, file.path,
       {.inputs = {"a"}, .outputs = {"b", "c", "d"}});
  const Outputs out = load(file.path, cpu).run({{"a", x}});
  EXPECT_EQ(out["b"].value().data().at(1), 2);
  EXPECT_EQ(out["c"].value().data().at(1), 1);
  EXPECT_EQ(out["d"].value().data().at(0), 2);
}

TEST(Print, IsReadAsTheSameAgain) {
  for (const Sample& sample : samples(cpu)) {
    const TemporaryFile file("model.onnx");
    save(sample.function, sample.examples, file.path, sample.options);
    const FileBytes mapped = map_file(file.path);
    EXPECT_EQ(print_model(parse_model(mapped.bytes, file.path)), read_text_file(file.path)) << sample.name;
  }
}

}  // namespace
}  // namespace kiln::onnx::test
