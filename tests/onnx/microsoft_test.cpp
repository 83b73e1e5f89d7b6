// The operators of com.microsoft against figures of ONNX Runtime (microsoft_figures.py).
#include <cmath>

#include "kiln/onnx/apply.hpp"
#include "tests/onnx/figures.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

TEST(Microsoft, OperatorsAgreeWithOnnxRuntime) {
  const std::vector<FigureCase> cases = figures_of("microsoft_figures.json");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(text("case ", i, ": ", cases[i].op));
    compare(cases[i], "com.microsoft", 1);
  }
}

// What the processor's ONNX Runtime does not do: the same as what it does with the parts.
TEST(Microsoft, PackedHeadsAreTheSameAsThoseApart) {
  const auto noise = [](const Shape& shape, std::uint64_t seed) {
    return normal(shape, 0, 1, cpu, DType::F32, Key(seed));
  };
  const auto run = [](std::vector<Datum> in) {
    return Datum(apply("com.microsoft.MultiHeadAttention", 1, std::move(in), {{"num_heads", 2}})).value().data();
  };
  const Value q = noise({2, 3, 4}, 1), k = noise({2, 3, 4}, 2), v = noise({2, 3, 4}, 3);
  const auto heads = [](const Value& x) { return reshape(x, {2, 3, 2, 2}); };
  const TensorData apart = run({q, k, v});
  EXPECT_EQ(difference(run({stack(Values{heads(q), heads(k), heads(v)}, 3)}), apart, {1e-6, 1e-6}), "");
  EXPECT_EQ(difference(run({q, stack(Values{heads(k), heads(v)}, 3)}), apart, {1e-6, 1e-6}), "");
}

TEST(Microsoft, AttentionTurnsQueriesAndKeys) {
  // One head of four, of which two are turned, of the word at place 1 after that at place 0: in plain numbers.
  const std::vector<double> x{0.5, -1, 2, 0.25}, past_key{1, 0.5, -0.5, 2}, past_value{1, 2, 3, 4};
  std::vector<float> weights(4 * 12, 0);  // queries, keys and values are x, 2 x and 3 x
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t part = 0; part < 3; ++part) weights[i * 12 + part * 4 + i] = static_cast<float>(part + 1);
  const auto turned = [](std::vector<double> of) {
    const double a = of[0], b = of[1];
    of[0] = a * std::cos(1.0) - b * std::sin(1.0), of[1] = a * std::sin(1.0) + b * std::cos(1.0);
    return of;
  };
  const std::vector<double> query = turned(x), &key = query;
  double now = 0, before = 0;
  for (std::size_t i = 0; i < 4; ++i)
    now += query[i] * 2 * key[i] / 2, before += query[i] * past_key[i] / 2;  // over the root of 4
  const double share = 1 / (1 + std::exp(before - now));
  std::vector<double> expected;
  for (std::size_t i = 0; i < 4; ++i) expected.push_back(share * 3 * x[i] + (1 - share) * past_value[i]);
  std::vector<double> both = past_key;
  both.insert(both.end(), past_value.begin(), past_value.end());
  const auto floats = [](const Shape& shape, const std::vector<double>& numbers) {
    return Datum(from_data(TensorData::of<double>(shape, std::span(numbers)).to(DType::F32), cpu));
  };
  const Datum w(from_data(TensorData::of<float>({4, 12}, weights), cpu));
  const Datum y = apply("com.microsoft.Attention", 1, {floats({1, 1, 4}, x), w, {}, {}, floats({2, 1, 1, 1, 4}, both)},
                        {{"num_heads", 1}, {"do_rotary", 1}, {"rotary_embedding_dim", 2}});
  EXPECT_EQ(
      difference(y.value().data().to(DType::F64), TensorData::of<double>({1, 1, 4}, std::span(expected)), {1e-5, 1e-5}),
      "");
}

TEST(Microsoft, MeansOfQuantisedNumbers) {
  const Datum x(from_data(TensorData::of<std::uint8_t>({2, 2}, {100, 104, 90, 140}), cpu));
  const Datum scale(full({}, 0.5, cpu, DType::F32)), zero(full({}, 100, cpu, DType::U8)),
      out(full({}, 0.25, cpu, DType::F32)), other(full({}, 10, cpu, DType::U8));
  // (0 + 2) / 2 = 1 and (-5 + 20) / 2 = 7.5, in steps of 0.25 from 10 on.
  const Datum means =
      apply("com.microsoft.QLinearReduceMean", 1, {x, scale, zero, out, other}, {{"axes", Ints{1}}, {"keepdims", 0}});
  EXPECT_EQ(means.value().data().to_vector<double>(), (std::vector<double>{14, 40}));
}

TEST(Microsoft, WhatIsNotThereIsSaidOnLoading) {
  const auto refusal = [](const std::string& op, std::size_t inputs, const Message& attribute) {
    FigureCase each{op, {attribute}, {}, {{Element::Float, {}, {}}}};
    for (std::size_t i = 0; i < inputs; ++i) each.inputs.push_back({Element::Float, {}, {}});
    try {
      load(bytes_of(model_of(each, "com.microsoft", 1)), "m.onnx", "", cpu);
    } catch (const LoadError& error) { return std::string(error.what()); }
    return std::string("taken");
  };
  const std::string begin = "LoadError: m.onnx: Kiln does not have these operators: com.microsoft 1 ";
  EXPECT_EQ(refusal("Attention", 6, attribute("past_present_share_buffer", std::int64_t{1})),
            begin + "Attention with past_present_share_buffer (node 'Attention_node')");
  EXPECT_EQ(refusal("Attention", 7, attribute("do_rotary", std::int64_t{0})),
            begin + "Attention with input 6 (node 'Attention_node')");
  EXPECT_EQ(refusal("Attention", 6, attribute("do_rotary", std::int64_t{0})), "taken");
  EXPECT_EQ(refusal("FusedConv", 2, attribute("activation", "Mish")),
            begin + "FusedConv with activation Mish (node 'FusedConv_node')");
  EXPECT_EQ(refusal("MatMulNBits", 3, attribute("bits", std::int64_t{3})),
            begin + "MatMulNBits with bits = 3 (node 'MatMulNBits_node')");
  EXPECT_EQ(refusal("GroupQueryAttention", 13, attribute("scale", 1.0f)),
            begin + "GroupQueryAttention with input 12 (node 'GroupQueryAttention_node')");
  EXPECT_EQ(refusal("GroupQueryAttention", 7, attribute("k_quant_type", "PER_TENSOR")),
            begin + "GroupQueryAttention with k_quant_type (node 'GroupQueryAttention_node')");
}

TEST(Microsoft, SizesThatDoNotFitAreRefused) {
  const std::vector<std::pair<std::string, std::vector<Message>>> wrong = {
      {"MatMulNBits",
       {attribute("K", std::int64_t{64}), attribute("N", std::int64_t{3}), attribute("block_size", std::int64_t{16})}},
      {"MatMulNBits", {attribute("K", std::int64_t{1} << 62), attribute("N", std::int64_t{1} << 62)}},
      {"GroupQueryAttention", {attribute("num_heads", std::int64_t{2}), attribute("kv_num_heads", std::int64_t{0})}},
      {"QAttention", {attribute("num_heads", std::int64_t{1})}},
      {"QLinearConv", {attribute("channels_last", std::int64_t{1})}},
      {"FusedConv", {attribute("activation", "Clip")}},
      {"Attention", {attribute("num_heads", std::int64_t{0})}},
      {"Attention",
       {attribute("num_heads", std::int64_t{2}),
        attribute("qkv_hidden_sizes", {std::int64_t{1} << 62, std::int64_t{1} << 62, 4})}},
      {"EmbedLayerNormalization", {}},
      {"RotaryEmbedding", {}},
      {"QLinearConcat", {}},
      {"QLinearGlobalAveragePool", {}},
      {"SkipLayerNormalization", {}},
      {"FusedMatMul", {attribute("transBatchA", std::int64_t{1})}},
  };
  for (const auto& [op, attributes] : wrong) {
    Message node, graph;
    std::vector<Datum> inputs;
    for (const char* name : {"a", "b", "c"}) {
      node.text(1, name);
      graph.message(11, type_of(name, {Element::Float, {}, {}}));
      inputs.emplace_back(ones({2, 4}, cpu));
    }
    node.text(2, "y").text(4, op).text(7, "com.microsoft");
    for (const Message& each : attributes) node.message(5, each);
    graph.message(1, node).text(2, "main").message(12, type_of("y", {Element::Float, {}, {}}));
    const std::string bytes =
        Message().number(1, 8).message(7, graph).message(8, opset(17)).message(8, opset(1, "com.microsoft")).bytes();
    EXPECT_THROW((void)load(bytes_of(bytes), "m.onnx", "", cpu).run(inputs)[0].value().data(), Error) << op;
  }
}

}  // namespace
}  // namespace kiln::onnx::test
