// The operators of ai.onnx.ml against figures of ONNX Runtime (ml_figures.py).
#include "tests/onnx/figures.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

TEST(Ml, OperatorsAgreeWithOnnxRuntime) {
  const std::vector<FigureCase> cases = figures_of("ml_figures.json");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(text("case ", i, ": ", cases[i].op));
    compare(cases[i], "ai.onnx.ml", cases[i].op == "TreeEnsemble" ? 5 : 3, {2e-4, 2e-4});  // of erfinv
  }
}

// ---- maps, with what ONNX Runtime gives for the same ones ---------------------------------------------------------
Datum number(double value, DType type = DType::F32) { return Datum(full({}, value, cpu, type)); }

Datum run_ml(const std::string& op, const Datum& x, const std::vector<Message>& attributes, const Message& input) {
  Message node = Message().text(1, "x").text(2, "y").text(4, op).text(7, "ai.onnx.ml");
  for (const Message& each : attributes) node.message(5, each);
  const Message graph =
      Message().message(1, node).text(2, "main").message(11, input).message(12, Message().text(1, "y"));
  const std::string bytes =
      Message().number(1, 8).message(7, graph).message(8, opset(17)).message(8, opset(1, "ai.onnx.ml")).bytes();
  return load(bytes_of(bytes), "m.onnx", "", cpu).run({{"x", x}})["y"];
}

/// An input that is a map of floats.
Message map_input(Element key) {
  const Message floats = Message().message(1, Message().number(1, 1).message(2, Message()));
  const Message map = Message().number(1, static_cast<std::int64_t>(key)).message(2, floats);
  return Message().text(1, "x").message(2, Message().message(5, map));
}

void expect_row(const Datum& actual, Element element, const std::vector<double>& numbers) {
  EXPECT_EQ(actual.element(), element);
  EXPECT_EQ(actual.value().shape(), (Shape{1, static_cast<std::int64_t>(numbers.size())}));
  EXPECT_EQ(actual.value().data().to_vector<double>(), numbers);
}

TEST(Ml, AMapBecomesARow) {
  const Datum x =
      Datum::map({{std::int64_t{3}, number(1.5)}, {std::int64_t{0}, number(-2.5)}, {std::int64_t{5}, number(7)}});
  const Message input = map_input(Element::Int64);
  const Message sparse = attribute("map_form", "SPARSE");
  expect_row(run_ml("CastMap", x, {}, input), Element::Float, {-2.5, 1.5, 7});
  expect_row(run_ml("CastMap", x, {attribute("cast_to", "TO_INT64")}, input), Element::Int64, {-2, 1, 7});
  expect_row(run_ml("CastMap", x, {sparse, attribute("max_map", std::int64_t{7})}, input), Element::Float,
             {-2.5, 0, 0, 1.5, 0, 7, 0});
  // What lies beyond the row's end is left out.
  expect_row(run_ml("CastMap", x, {sparse, attribute("max_map", std::int64_t{4})}, input), Element::Float,
             {-2.5, 0, 0, 1.5});
}

TEST(Ml, DictionariesAreRowsByTheirVocabulary) {
  const Message vocabulary = words_attribute("string_vocabulary", {"c", "a", "b"});
  const Datum known = Datum::map({{"b", number(2.5)}, {"a", number(1.5)}});
  expect_row(run_ml("DictVectorizer", known, {vocabulary}, map_input(Element::String)), Element::Float, {0, 1.5, 2.5});
  const Datum strange = Datum::map({{"z", number(2.5)}, {"a", number(1.5)}});  // 'z' is no word of it
  expect_row(run_ml("DictVectorizer", strange, {vocabulary}, map_input(Element::String)), Element::Float, {0, 1.5, 0});
  const Datum numbered = Datum::map({{std::int64_t{7}, number(2.5)}, {std::int64_t{-1}, number(1.5)}});
  expect_row(run_ml("DictVectorizer", numbered, {attribute("int64_vocabulary", {-1, 0, 7})}, map_input(Element::Int64)),
             Element::Float, {1.5, 0, 2.5});
}

TEST(Ml, RowsBecomeMaps) {
  const Message input = type_of("x", {Element::Float, {}, {}});
  const Value x = from_data(TensorData::of<float>({2, 2}, {1, 2, 3, 4}), cpu);
  const auto value_of = [](const Datum& maps, std::size_t row, const Datum::Key& key) {
    return maps.items().at(row).entries().at(key).value().item();
  };
  const Datum numbered = run_ml("ZipMap", x, {attribute("classlabels_int64s", {5, -1})}, input);
  ASSERT_EQ(numbered.items().size(), 2u);
  EXPECT_EQ(value_of(numbered, 0, std::int64_t{5}), 1);
  EXPECT_EQ(value_of(numbered, 1, std::int64_t{-1}), 4);
  const Datum named = run_ml("ZipMap", x, {words_attribute("classlabels_strings", {"a", "b"})}, input);
  EXPECT_EQ(value_of(named, 0, "b"), 2);
  EXPECT_EQ(value_of(named, 1, "a"), 3);
}

}  // namespace
}  // namespace kiln::onnx::test
