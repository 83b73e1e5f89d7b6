// ONNX files, compiled: int8 weights, sizes that are free, and a sample of the standard's tests.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "kiln/compile/onnx.hpp"
#include "kiln/onnx/backend_test.hpp"
#include "tests/compile/boards.hpp"
#include "tests/onnx/model_writer.hpp"

namespace kiln::compile {
namespace {

namespace fs = std::filesystem;
using onnx::test::Message;

Message int8_tensor(std::string_view name, std::initializer_list<std::int64_t> sizes, std::string_view bytes) {
  Message made;
  for (const std::int64_t size : sizes) made.number(1, size);
  return made.number(2, 3).text(8, name).text(9, bytes);
}

std::string bytes_of(std::size_t count, int step) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(static_cast<int>(i) * step % 251 - 125);
  return bytes;
}

/// x [batch, 32] quantised, times int8 weights [32, 24], as ONNX Runtime's quantiser writes it.
std::string quantised_file(std::string_view batch) {
  using onnx::test::node, onnx::test::tensor, onnx::test::value;
  return onnx::test::model(onnx::test::graph(
      {{node("QuantizeLinear", {"x", "xs", "xz"}, {"xq"}), node("DequantizeLinear", {"xq", "xs", "xz"}, {"xd"}),
        node("DequantizeLinear", {"w", "ws", "wz"}, {"wd"}, {onnx::test::attribute("axis", std::int64_t{1})}),
        node("MatMul", {"xd", "wd"}, {"y"}), node("Relu", {"y"}, {"z"})},
       {int8_tensor("w", {32, 24}, bytes_of(32 * 24, 37)), int8_tensor("xz", {}, "\x05"),
        int8_tensor("wz", {24}, std::string(24, '\0')), tensor("xs", {}, std::vector<float>{0.0125f}),
        tensor("ws", {24}, std::vector<float>(24, 0.0025f))},
       {value("x", {batch, "32"})},
       {value("z", {batch, "24"})}}));
}

/// A convolution of int8 with a scale for each channel, a pool and a product: digits of 8 x 8.
std::string quantised_convolution() {
  using onnx::test::node, onnx::test::tensor, onnx::test::value;
  const Message axis = onnx::test::attribute("axis", std::int64_t{0});
  return onnx::test::model(onnx::test::graph(
      {{node("QuantizeLinear", {"x", "xs", "xz"}, {"xq"}), node("DequantizeLinear", {"xq", "xs", "xz"}, {"xd"}),
        node("DequantizeLinear", {"w", "ws", "wz"}, {"wd"}, {axis}),
        node("Conv", {"xd", "wd"}, {"c"}, {onnx::test::attribute("pads", {1, 1, 1, 1})}), node("Relu", {"c"}, {"r"}),
        node("QuantizeLinear", {"r", "rs", "xz"}, {"rq"}), node("DequantizeLinear", {"rq", "rs", "xz"}, {"rd"}),
        node("MaxPool", {"rd"}, {"p"},
             {onnx::test::attribute("kernel_shape", {2, 2}), onnx::test::attribute("strides", {2, 2})}),
        node("Flatten", {"p"}, {"f"}), node("DequantizeLinear", {"v", "rs", "xz"}, {"vd"}),
        node("MatMul", {"f", "vd"}, {"m"}), node("Softmax", {"m"}, {"y"})},
       {int8_tensor("w", {4, 2, 3, 3}, bytes_of(72, 53)), int8_tensor("v", {64, 10}, bytes_of(640, 29)),
        int8_tensor("xz", {}, "\x03"), int8_tensor("wz", {4}, std::string(4, '\0')),
        tensor("xs", {}, std::vector<float>{0.01f}), tensor("rs", {}, std::vector<float>{0.02f}),
        tensor("ws", {4}, std::vector<float>{0.001f, 0.002f, 0.003f, 0.004f})},
       {value("x", {"1", "2", "8", "8"})},
       {value("y", {"1", "10"})}}));
}

/// What ONNX Runtime's dynamic quantiser makes of a product.
std::string integer_product() {
  using onnx::test::node, onnx::test::tensor, onnx::test::value;
  return onnx::test::model(onnx::test::graph(
      {{node("DynamicQuantizeLinear", {"x"}, {"xq", "xs", "xz"}), node("MatMulInteger", {"xq", "w", "xz"}, {"i"}),
        node("Cast", {"i"}, {"c"}, {onnx::test::attribute("to", std::int64_t{1})}), node("Mul", {"xs", "s"}, {"t"}),
        node("Mul", {"c", "t"}, {"y"})},
       {int8_tensor("w", {32, 24}, bytes_of(32 * 24, 41)), tensor("s", {}, std::vector<float>{0.003f})},
       {value("x", {"3", "32"})},
       {value("y", {"3", "24"})}}));
}

struct OnnxFile {
  explicit OnnxFile(const std::string& bytes) : file("model.onnx") { write_text(file.path, bytes); }
  TemporaryFile file;
};

TEST(CompiledOnnx, KeepsIntegersOfQuantisedFiles) {
  if (!has_c_compiler()) GTEST_SKIP() << "there is no C compiler";
  const OnnxFile file(quantised_file("batch"));
  const Source source = onnx_source(file.file.path, {{"batch", 3}});
  const CompiledCode code = compile(source);
  EXPECT_LT(code.constant_bytes, 32 * 24 + 300);          // a byte for each weight
  EXPECT_LT(code.arena_bytes, 3 * 32 + 3 * 24 * 4 + 64);  // and for each activation that is quantised
  const Library library(code, source);
  const Device device = Device::parse("cpu");
  const Value x = uniform({3, 32}, -1, 1, device, DType::F32, Key{3});
  std::vector<TensorData> outputs;
  ASSERT_EQ(library.run({x.data()}, outputs), 0);
  const onnx::Model model = onnx::load(file.file.path, device, {.simplify = false});
  EXPECT_EQ(difference(outputs[0], model.run({onnx::Datum(x)})[0].value().data(), {.relative = 1e-4, .absolute = 1e-5}),
            "");
}

struct Quantised {
  Source source;
  TensorData input, expected;
};
/// A file with the input and the output that Kiln's interpreter gives for the nodes as they stand.
Quantised quantised(const std::string& bytes, const Shape& shape) {
  const OnnxFile file(bytes);
  const Value x = uniform(shape, -1, 1, cpu(), DType::F32, Key{4});
  const onnx::Model model = onnx::load(file.file.path, cpu(), {.simplify = false});
  return {onnx_source(file.file.path), x.data(), model.run({onnx::Datum(x)})[0].value().data()};
}

TEST(CompiledOnnx, ComputesQuantisedConvolutionsAndIntegerProducts) {
  KILN_NEEDS_COMPILER();
  for (const Quantised& file :
       {quantised(quantised_convolution(), {1, 2, 8, 8}), quantised(integer_product(), {3, 32})}) {
    for (const std::string target : {"host", "m4"}) {
      const CompiledCode code = compile(file.source, {.target = target});
      EXPECT_LT(code.constant_bytes, 1000);
      if (target == "m4") { EXPECT_NE(code.files.at("model.c").find("int sum"), std::string::npos); }
      const Library library(code, file.source);
      std::vector<TensorData> outputs;
      ASSERT_EQ(library.run({file.input}, outputs), 0);
      EXPECT_EQ(difference(outputs[0], file.expected, {.relative = 1e-4, .absolute = 1e-5}), "");
    }
  }
}

TEST(CompiledOnnx, RunsQuantisedOnACortexM0) {
  const Quantised file = quantised(quantised_convolution(), {1, 2, 8, 8});
  expect_right_on("m0", file.source, file.input, file.expected);
}

TEST(CompiledOnnx, AsksForFreeSizesByName) {
  const OnnxFile file(quantised_file("batch"));
  const std::string text = said([&] { (void)onnx_source(file.file.path); });
  EXPECT_NE(text.find("batch"), std::string::npos) << text;
  EXPECT_NE(text.find("--size 'batch=1'"), std::string::npos) << text;
  EXPECT_NE(
      said([&] { (void)onnx_source(file.file.path, {{"batch", 1}, {"length", 2}}); }).find("no free size 'length'"),
      std::string::npos);
  EXPECT_NE(said([&] { (void)onnx_source(file.file.path, {{"batch", -1}}); }).find("must be positive"),
            std::string::npos);
  EXPECT_EQ(said([&] { (void)onnx_source(file.file.path, {{"batch", 1}}); }), "nothing was thrown");
}

// A shape that is an input cannot be known when the program is compiled, unless its value is given.
TEST(CompiledOnnx, TakesTheValuesOfInputs) {
  using onnx::test::node, onnx::test::value;
  const OnnxFile file(
      onnx::test::model(onnx::test::graph({{node("Reshape", {"x", "shape"}, {"y"})},
                                           {},
                                           {value("x", {"2", "6"}), value("shape", {"count"}, onnx::Element::Int64)},
                                           {value("y", {"a", "b"})}})));
  const auto source_with = [&](const FixedInputs& fixed, const onnx::Sizes& sizes = {}) {
    return onnx_source(file.file.path, sizes, fixed);
  };
  const auto refusal = [&](const FixedInputs& fixed, const onnx::Sizes& sizes = {}) {
    return said([&] { (void)source_with(fixed, sizes); });
  };
  EXPECT_NE(refusal({}, {{"count", 2}}).find("--value 'shape=2,3'"), std::string::npos) << refusal({}, {{"count", 2}});
  EXPECT_NE(refusal({{"form", {3, 4}}}).find("no input 'form'"), std::string::npos);
  EXPECT_NE(refusal({{"shape", {3, 4.5}}}).find("int64 does not hold"), std::string::npos)
      << refusal({{"shape", {3, 4.5}}});
  EXPECT_NE(refusal({{"x", {1, 2, 3}}, {"shape", {3, 4}}}).find("has 3 elements"), std::string::npos);
  const Source source = source_with({{"shape", {3, 4}}});
  EXPECT_EQ(source.graph.inputs().size() - source.bound.size(), 1u);
  EXPECT_EQ(source.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(source.graph.outputs()[0].shape, (Shape{3, 4}));
  KILN_NEEDS_COMPILER();
  const Library library(compile(source), source);
  std::vector<TensorData> outputs;
  const TensorData x = TensorData::of<float>({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  ASSERT_EQ(library.run({x}, outputs), 0);
  EXPECT_EQ(outputs[0].at(7), 7);
}

/// Every `each`-th test of the standard: how many agree, how many are refused. None may give other numbers.
class Suite {
 public:
  void run(const std::string& test) {
    const std::string name = fs::path(test).filename().string();
    const Device device = Device::parse("cpu");
    std::optional<Source> source;
    std::optional<CompiledCode> code;
    std::vector<bool> is_fixed;
    try {
      source = source_of(test, is_fixed);
      code = compile(*source);
    } catch (const Error& error) {
      ++refused;
      say("refused", name, std::string(error.message()));
      return;
    }
    const Library library(*code, *source);
    const auto run = [&](const std::vector<onnx::Datum>& inputs) {
      std::vector<TensorData> data, outputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (i < is_fixed.size() && is_fixed[i]) continue;
        const Desc desc = source->graph.inputs()[data.size()];
        data.push_back(inputs[i].value().data());
        require<ShapeError>(data.back().shape() == desc.shape && data.back().dtype() == desc.dtype, "other inputs");
      }
      const int status = library.run(data, outputs);
      require<IndexError>(status == 0, "step ", status, " met an index out of range");
      std::vector<onnx::Datum> results;
      for (TensorData& output : outputs) results.emplace_back(from_data(std::move(output), device));
      return results;
    };
    try {
      const onnx::BackendTestResult result = onnx::run_backend_test(test, device, {}, run);
      const bool passed = result.outcome == onnx::BackendTestResult::Outcome::Passed;
      agree += passed;
      say(passed ? "agrees" : "differs", name);
      EXPECT_TRUE(passed) << name << ": " << result.reason;
    } catch (const Error& error) { ADD_FAILURE() << name << ": " << error.message(); }
  }
  int agree = 0, refused = 0, with_values = 0;

 private:
  /// The program for the sizes of the first data set; with the values of inputs where nothing else can be compiled: first of
  /// integers, which are shapes, axes and sizes, then of all inputs but the first that have one dimension or none.
  Source source_of(const std::string& test, std::vector<bool>& is_fixed) {
    const std::string path = test + "/model.onnx";
    try {
      return onnx_source(path);
    } catch (const Error&) {}
    const onnx::Model model = onnx::load(path, cpu());
    const std::vector<onnx::ValueInfo> infos = model.inputs();
    const auto inputs = onnx::read_inputs(test + "/test_data_set_0", infos, cpu());
    const auto with_lists = [&](bool integers_alone) {
      FixedInputs fixed;
      is_fixed.clear();
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        is_fixed.push_back(is_list(inputs[i]) && (integers_alone ? is_integer(inputs[i].value().dtype()) : i > 0));
        if (is_fixed.back()) fixed[infos[i].name] = inputs[i].value().data().to_vector<double>();
      }
      Source source = onnx_source(path, sizes_of(infos, inputs, is_fixed), fixed);
      with_values += !fixed.empty();
      return source;
    };
    try {
      return with_lists(true);
    } catch (const Error&) {}
    return with_lists(false);
  }
  static bool is_list(const onnx::Datum& input) {
    return input.is_tensor() && !input.is_string() && input.value().shape().size() <= 1;
  }
  /// Sizes that the file leaves free, from inputs that are not fixed.
  static onnx::Sizes sizes_of(const std::vector<onnx::ValueInfo>& infos, const std::vector<onnx::Datum>& inputs,
                              const std::vector<bool>& is_fixed) {
    onnx::Sizes sizes;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_fixed[i] || !infos[i].type.shape || !inputs[i].is_tensor() || inputs[i].is_string()) continue;
      for (std::size_t d = 0; d < infos[i].type.shape->size(); ++d) {
        const onnx::DimProto& dim = (*infos[i].type.shape)[d];
        if (!dim.value || *dim.value <= 0)
          sizes[dim.param.empty() ? text(infos[i].name, '[', d, ']') : dim.param] =
              inputs[i].value().dim(static_cast<int>(d));
      }
    }
    return sizes;
  }
  static void say(const char* what, const std::string& name, const std::string& why = "") {
    if (!std::getenv("KILN_VERBOSE")) return;
    std::printf("%s %s %s\n", what, name.c_str(), why.c_str());
    std::fflush(stdout);
  }
};

TEST(CompiledOnnx, AgreesWithTheStandardsTests) {
  if (!has_c_compiler()) GTEST_SKIP() << "there is no C compiler";
  const TemporaryFile folder("x");
  std::string directory = folder.directory;
  if (const char* const given = std::getenv("KILN_ONNX_TESTS")) {
    directory = given;
  } else {
    const fs::path archive = fs::path(KILN_SOURCE_DIR) / "../shared/data/onnx/onnx-backend-tests.tar.gz";
    if (!fs::exists(archive)) GTEST_SKIP() << "KILN_ONNX_TESTS names no directory, and there is no " << archive;
    ASSERT_EQ(failure_of("tar xzf '" + archive.string() + "' -C '" + directory + "'"), "");
  }
  const std::vector<std::string> tests = onnx::find_backend_tests({directory});
  const char* const wanted = std::getenv("KILN_COMPILE_EACH");  // 1: all of them
  const std::size_t each = wanted ? static_cast<std::size_t>(std::atoi(wanted)) : 67;
  Suite suite;
  int tried = 0;
  for (std::size_t i = 0; i < tests.size(); i += each) {
    if (tests[i].find("/light/") != std::string::npos) continue;  // large networks, whose weights would be text
    suite.run(tests[i]);
    ++tried;
  }
  std::printf("%d tests: %d agree, %d of them with the values of inputs, %d are refused\n", tried, suite.agree,
              suite.with_values, suite.refused);
  EXPECT_GE(suite.agree * 2, tried);
}

}  // namespace
}  // namespace kiln::compile
