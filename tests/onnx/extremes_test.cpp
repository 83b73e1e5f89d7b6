// Every operator of the table, with every integer that it is told at its extremes: attributes, whether a file names them or
// not, and tensors of integers, which are sizes, places and counts. Each gives a result or a sentence, within a memory limit.
// What a sanitizer finds in it, is found here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "kiln/onnx/attributes.hpp"
#include "kiln/onnx/backend_test.hpp"
#include "kiln/onnx/call.hpp"
#include "kiln/onnx/passes/passes.hpp"
#include "tests/onnx/figures.hpp"
#include "tests/store/temporary.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

namespace fs = std::filesystem;
using kiln::test::cpu;
using Type = AttributeProto::Type;

constexpr std::int64_t kExtremes[] = {INT64_MIN,
                                      -(std::int64_t{1} << 32),
                                      INT32_MIN,
                                      -1,
                                      0,
                                      1000,
                                      1 << 20,
                                      INT32_MAX,
                                      std::int64_t{1} << 32,
                                      std::int64_t{1} << 62,
                                      INT64_MAX};

/// A model that runs, and what it runs on.
struct Seed {
  std::string name;
  ModelProto model;
  std::vector<Datum> inputs;
};

void add_figures(const std::vector<FigureCase>& cases, const std::string& domain, int version,
                 std::vector<Seed>& seeds) {
  for (const FigureCase& each : cases) {
    Seed seed{each.op, parse_model(bytes_of(model_of(each, domain, version)), "seed"), {}};
    for (const Figure& input : each.inputs)
      if (input.element != Element::Undefined) seed.inputs.push_back(input.datum());
    seeds.push_back(std::move(seed));
  }
}

/// The standard's tests of single operators, where they are: those in $KILN_ONNX_TESTS, or in the archive.
void add_standard(const TemporaryFile& place, std::vector<Seed>& seeds) {
  std::string directory = place.directory;
  if (const char* const given = std::getenv("KILN_ONNX_TESTS")) directory = given;
  else {
    const fs::path archive = fs::path(KILN_SOURCE_DIR) / "../shared/data/onnx/onnx-backend-tests.tar.gz";
    const std::string unpack = "tar xzf '" + archive.string() + "' -C '" + directory + "'";
    if (!fs::exists(archive) || std::system(unpack.c_str()) != 0) {
      std::cout << "KILN_ONNX_TESTS names no directory, and there is no " << archive << ": fewer operators are tried\n";
      return;
    }
  }
  for (const std::string& test : find_backend_tests({directory})) try {
      const std::string path = test + "/model.onnx", data = test + "/test_data_set_0";
      if (fs::file_size(path) > 1 << 16 || !fs::exists(data)) continue;
      const FileBytes file = map_file(path);
      Seed seed{fs::path(test).filename().string(), parse_model(file.bytes, path), {}};
      seed.inputs = read_inputs(data, load(path, cpu).inputs(), cpu);
      seeds.push_back(std::move(seed));
    } catch (const Error&) {}  // what Kiln does not load, is no seed
}

/// Runs it to its last element. Whether it gave a result; false for a sentence.
bool runs(const ModelProto& proto, const std::vector<Datum>& inputs, bool simplified) try {
  Graph graph = build(proto, {.file = "m.onnx", .directory = "/nowhere"}, cpu);
  if (simplified) simplify(graph, {cpu, "m.onnx", 1 << 10});
  const Model model(std::make_shared<Graph>(std::move(graph)), cpu, "m.onnx", 1 << 10);
  for (const Datum& out : model.run(inputs))
    if (out.is_tensor()) (void)out.value().data();
  return true;
} catch (const Error& error) {
  EXPECT_NE(std::string_view(error.what()), "");
  return false;
}

/// The integer attributes that the seed's nodes ask for on these inputs: those that cannot be words.
std::map<std::size_t, std::vector<std::pair<std::string, Type>>> asked(const Seed& seed) {
  std::map<std::size_t, std::vector<std::pair<std::string, Type>>> found;
  for (std::size_t n = 0; n < seed.model.graph.node.size(); ++n)
    for (const auto& [name, type] : integer_attributes()) {
      Graph graph = build(seed.model, {.file = "m.onnx", .directory = ""}, cpu);
      if (n >= graph.nodes.size() || graph.nodes[n].op != seed.model.graph.node[n].op_type) continue;
      Attribute words;
      words.type = Type::String;
      graph.nodes[n].attributes[name] = words;
      try {
        std::vector<Datum> inputs = seed.inputs;
        run_graph(graph, std::move(inputs), nullptr, {cpu, "m.onnx", 1 << 10});
      } catch (const Error& error) {
        if (std::string_view(error.what()).find("attribute '" + name + "' is a string") != std::string_view::npos)
          found[n].emplace_back(name, type);
      }
    }
  return found;
}

AttributeProto& attribute_of(NodeProto& node, const std::string& name, Type type) {
  for (AttributeProto& each : node.attribute)
    if (each.name == name) return each;
  AttributeProto fresh;
  fresh.name = name;
  fresh.type = type;
  return node.attribute.emplace_back(std::move(fresh));
}

struct Count {
  int results = 0, sentences = 0;
  void add(bool result) { (result ? results : sentences) += 1; }
};

void try_attributes(const Seed& seed, const std::map<std::size_t, std::vector<std::pair<std::string, Type>>>& asked,
                    Count& count) {
  for (const auto& [n, attributes] : asked)
    for (const auto& [name, type] : attributes)
      for (const std::int64_t extreme : kExtremes) {
        SCOPED_TRACE(text(seed.name, ": ", name, " = ", extreme));
        ModelProto changed = seed.model;
        AttributeProto& attribute = attribute_of(changed.graph.node[n], name, type);
        if (type == Type::Int) {
          attribute.i = extreme;
          count.add(runs(changed, seed.inputs, false));
          continue;
        }
        const std::vector<std::int64_t> before = attribute.ints;
        for (std::size_t i = 0; i < std::max<std::size_t>(before.size(), 1); ++i) {
          attribute.ints = before.empty() ? std::vector<std::int64_t>(2, extreme) : before;
          if (!before.empty()) attribute.ints[i] = extreme;
          count.add(runs(changed, seed.inputs, false));
        }
        if (before.size() < 2) continue;
        attribute.ints.assign(before.size(), extreme);
        count.add(runs(changed, seed.inputs, true));
      }
}

Datum with_element(const Datum& x, std::int64_t place, std::int64_t number) {
  std::vector<std::int64_t> numbers = x.value().data().to_vector<std::int64_t>();
  numbers[static_cast<std::size_t>(place)] = number;
  const DType type = x.value().dtype();
  return {from_data(TensorData::of<std::int64_t>(x.value().shape(), numbers).to(type), cpu), x.element()};
}

void try_inputs(const Seed& seed, Count& count) {
  for (std::size_t i = 0; i < seed.inputs.size(); ++i) {
    const Datum& input = seed.inputs[i];
    if (!input.is_tensor() || input.is_string() || is_narrow(input.element())) continue;
    const DType type = input.value().dtype();
    if ((type != DType::I64 && type != DType::I32) || input.value().numel() > 8) continue;
    for (std::int64_t place = 0; place < input.value().numel(); ++place)
      for (const std::int64_t extreme : kExtremes) {
        SCOPED_TRACE(text(seed.name, ": input ", i, " has ", extreme, " at ", place));
        std::vector<Datum> inputs = seed.inputs;
        inputs[i] = with_element(input, place, extreme);
        count.add(runs(seed.model, inputs, false));
      }
  }
}

TEST(Extremes, EveryIntegerOfEveryOperatorGivesAResultOrASentence) {
  std::vector<Seed> seeds;
  add_figures(figures_of("microsoft_figures.json"), "com.microsoft", 1, seeds);
  add_figures(figures_of("ml_figures.json"), "ai.onnx.ml", 3, seeds);
  const TemporaryFile place("tests");
  add_standard(place, seeds);
  const std::int64_t limit = cpu.memory().limit;
  cpu.set_memory_limit(std::int64_t{1} << 25);
  const char* const given = std::getenv("KILN_TEST_LONG");
  const bool is_long = given && std::string_view(given) == "1";
  std::map<std::string, int> seen;  // seeds of an operator
  Count count;
  std::size_t tried = 0, looked = 0;  // one operator in four, where the tests are to be quick
  for (const Seed& seed : seeds) {
    std::string ops;
    for (const NodeProto& node : seed.model.graph.node) ops += text(node.domain, '.', node.op_type, ' ');
    if (++seen[ops] > (is_long ? 1000 : 1) || seed.model.graph.node.size() > 4) continue;
    if (++looked % 4 != 0 && !is_long) continue;
    if (!runs(seed.model, seed.inputs, false)) continue;
    ++tried;
    try_attributes(seed, asked(seed), count);
    try_inputs(seed, count);
  }
  cpu.set_memory_limit(limit);
  std::cout << count.results << " results and " << count.sentences << " sentences, of " << tried << " models\n";
  EXPECT_GT(count.results, 100);
  EXPECT_GT(count.sentences, 100);
}

}  // namespace
}  // namespace kiln::onnx::test
