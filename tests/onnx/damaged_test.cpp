// Small models cut at every length, and changed in many thousand ways: taken or refused, never a crash.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "kiln/onnx/model.hpp"
#include "tests/onnx/model_writer.hpp"

namespace kiln::onnx::test {
namespace {

const Device kDevice = Device::cpu();

std::vector<std::string> samples() {
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

// Inputs of the declared types; sizes that are free or absurd are 4.
std::vector<Datum> inputs_of(const Model& model) {
  std::vector<Datum> in;
  for (const ValueInfo& info : model.inputs()) {
    Shape shape;
    if (info.type.shape)
      for (const DimProto& dim : *info.type.shape) {
        if (shape.size() == kMaxRank) break;
        shape.push_back(dim.value && *dim.value > 0 && *dim.value < 64 ? *dim.value : 4);
      }
    const bool numbers = is_known(info.type.element) && info.type.element != Element::String && numel(shape) < 4096;
    in.push_back(numbers ? Datum(zeros(shape, kDevice, dtype_of(info.type.element)), info.type.element)
                         : Datum(zeros({4}, kDevice)));
  }
  return in;
}

// Loads, and runs where that works. Whether it was taken.
bool is_taken(const std::string& bytes, bool run) {
  try {
    const Model model = load(bytes_of(bytes), "m.onnx", "", kDevice);
    if (run)
      for (const Datum& out : model.run(inputs_of(model)))
        if (out.is_tensor() && out.value().numel() < 1 << 20) out.value().data();
    return true;
  } catch (const Error&) { return false; }
}

TEST(Damaged, ModelsCutAtEveryLengthAreTakenOrRefused) {
  for (const std::string& bytes : samples()) {
    EXPECT_TRUE(is_taken(bytes, true));
    int taken = 0;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::vector<char> exact(bytes.begin(),
                                    bytes.begin() + static_cast<std::ptrdiff_t>(length));  // nothing lies behind it
      taken += is_taken(std::string(exact.begin(), exact.end()), false);
    }
    EXPECT_LT(taken, static_cast<int>(bytes.size()) / 8);  // whole but for operator sets at the end
  }
}

TEST(Damaged, ChangedModelsAreTakenOrRefused) {
  const char* const wanted = std::getenv("KILN_MUTATIONS");
  const int count = wanted ? std::atoi(wanted) : 5000;
  kDevice.set_memory_limit(std::int64_t{1} << 30);
  const std::vector<std::string> models = samples();
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int taken = 0;
  for (int i = 0; i < count; ++i) {
    const std::string& from = models[below(models.size())];
    std::string bytes = from;
    for (std::size_t change = 1 + below(3); change-- > 0;) {
      const std::size_t at = below(bytes.size());
      switch (below(6)) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
        case 2: bytes.erase(at, 1 + below(8)); break;
        case 3: bytes.insert(at, bytes.substr(below(bytes.size()), below(16))); break;
        case 4: bytes[at] = static_cast<char>(std::string_view("\xff\x7f\x80\x00\x01", 5)[below(5)]); break;
        default: bytes.replace(at, 1 + below(12), models[below(models.size())].substr(below(64), below(24)));
      }
      if (bytes.empty()) bytes = from;
    }
    taken += is_taken(bytes, true);
  }
  EXPECT_GT(taken, count / 200);  // some changes reach the run time
  EXPECT_LT(taken, count);
}

}  // namespace
}  // namespace kiln::onnx::test
