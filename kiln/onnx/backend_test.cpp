#include "kiln/onnx/backend_test.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/table.hpp"

namespace kiln::onnx {
namespace fs = std::filesystem;
namespace {

using Outcome = BackendTestResult::Outcome;

Datum read_datum(const std::string& path, TypeProto::Kind kind, const Device& device) {
  const FileBytes file = map_file(path);
  TensorReader reader(path, "");
  switch (kind) {
    case TypeProto::Kind::Sequence: return datum_of(parse_sequence(file.bytes, path), reader, device);
    case TypeProto::Kind::Optional: return datum_of(parse_optional(file.bytes, path), reader, device);
    default: return datum_of(parse_tensor(file.bytes, path), reader, device);
  }
}

using Comparison = DataSetComparison;

// Empty where they agree.
std::string difference_of(const Datum& actual, const Datum& expected, const Comparison& how) {
  if (expected.kind() == Datum::Kind::Optional || actual.kind() == Datum::Kind::Optional) {
    const bool wrapped = actual.kind() == Datum::Kind::Optional;
    const Datum* const have = wrapped ? actual.held() : &actual;
    const Datum* const want = expected.kind() == Datum::Kind::Optional ? expected.held() : &expected;
    if (!have || !want) return have == want ? "" : text("there is ", actual, ", expected ", expected);
    return difference_of(*have, *want, how);
  }
  if (actual.kind() != expected.kind() || (expected.is_tensor() && actual.element() != expected.element()))
    return text("there is ", actual, ", expected ", expected);
  if (expected.kind() == Datum::Kind::Sequence) {
    if (actual.items().size() != expected.items().size()) return text("there is ", actual, ", expected ", expected);
    for (std::size_t i = 0; i < expected.items().size(); ++i) {
      const std::string found = difference_of(actual.items()[i], expected.items()[i], how);
      if (!found.empty()) return text("element ", i, ": ", found);
    }
    return "";
  }
  if (actual.value().shape() != expected.value().shape()) return text("there is ", actual, ", expected ", expected);
  if (how.shapes_alone) return "";
  if (expected.is_string()) {
    const Strings have = actual.strings(), want = expected.strings();
    for (std::size_t i = 0; i < want.size(); ++i)
      if (have[i] != want[i]) return text("element ", i, " is '", shown(have[i]), "', expected '", shown(want[i]), "'");
    return "";
  }
  const TensorData want = expected.value().data();
  Tolerance tolerance{.relative = 1e-3, .absolute = 1e-7};
  if (expected.element() == Element::Bfloat16) tolerance.relative = 0x1p-6;
  if (!is_float(want.dtype())) tolerance = {.relative = 0, .absolute = 0};
  if (how.to_largest)
    for (std::int64_t i = 0; i < want.numel(); ++i)
      tolerance.absolute = std::max(tolerance.absolute, 1e-3 * std::abs(want.at(i)));
  return difference(actual.value().data(), want, tolerance);
}

// Does a Dropout of the graph drop anything, with these inputs? Then what it keeps is random.
bool drops(const Graph& graph, const std::vector<Datum>& in) {
  const auto number = [&](const Node& node, std::size_t i, double otherwise) {
    if (i >= node.inputs.size() || node.inputs[i] == kAbsent) return otherwise;
    const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), node.inputs[i]);
    const auto constant = graph.constants.find(node.inputs[i]);
    const Datum* const datum = input != graph.inputs.end() ? &in[static_cast<std::size_t>(input - graph.inputs.begin())]
                               : constant != graph.constants.end() ? &constant->second
                                                                   : nullptr;
    return datum && datum->is_tensor() && datum->value().numel() == 1 ? datum->value().data().at(0) : otherwise;
  };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.op == "Dropout" && node.version >= 12 && number(node, 2, 0) != 0 && number(node, 1, 0.5) != 0;
  });
}

// arange(n) / n, shaped as the graph says.
Datum light_input(const ValueInfo& info, const Device& device) {
  Shape shape;
  if (info.type.shape)
    for (const DimProto& dim : *info.type.shape) shape.push_back(dim.value.value_or(1));
  std::vector<float> numbers(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i) / static_cast<float>(numbers.size());
  return from_data(TensorData::of<float>(shape, numbers), device);
}

std::string run_data_set(const fs::path& directory, const std::vector<ValueInfo>& inputs,
                         const std::vector<ValueInfo>& outputs, const Runner& run, const Graph* graph,
                         const Device& device, Comparison how) {
  const std::vector<Datum> in = read_inputs(directory.string(), inputs, device);
  how.shapes_alone = how.shapes_alone || (graph && drops(*graph, in));
  for (const char* const when : {"", "the second time, "}) {
    const std::vector<Datum> out = run(in);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const fs::path path = directory / text("output_", i, ".pb");
      if (!fs::exists(path)) continue;
      const Datum expected = read_datum(path.string(), outputs[i].type.kind, device);
      const std::string found = difference_of(out.at(i), expected, how);
      if (!found.empty()) return text(when, "output ", i, ": ", found);
    }
  }
  return "";
}

// The first difference in the data sets of a test, empty where they agree; nothing where there is no data set.
std::optional<std::string> run_data_sets(const std::string& directory, const std::vector<ValueInfo>& inputs,
                                         const std::vector<ValueInfo>& outputs, const Runner& run, const Graph* graph,
                                         const Device& device, const Comparison& how) {
  std::optional<std::string> found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!entry.is_directory() || !entry.path().filename().string().starts_with("test_data_set_")) continue;
    found = run_data_set(entry.path(), inputs, outputs, run, graph, device, how);
    if (!found->empty()) break;
  }
  return found;
}

std::string first_line(const std::string& all) { return all.substr(0, all.find('\n', all.find('\n') + 1)); }

}  // namespace

std::vector<std::string> find_backend_tests(const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    if (fs::exists(fs::path(path) / "model.onnx")) found.push_back(path);
    else if (fs::is_directory(path))
      for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.path().filename() == "model.onnx") found.push_back(entry.path().parent_path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Datum> read_inputs(const std::string& data_set, const std::vector<ValueInfo>& inputs,
                               const Device& device) {
  std::vector<Datum> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const fs::path path = fs::path(data_set) / text("input_", i, ".pb");
    in.push_back(fs::exists(path) ? read_datum(path.string(), inputs[i].type.kind, device)
                                  : light_input(inputs[i], device));
  }
  return in;
}

std::string compare_data_sets(const std::string& directory, const std::vector<TypeProto::Kind>& inputs,
                              const std::vector<TypeProto::Kind>& outputs, const Runner& run, const Device& device,
                              const DataSetComparison& how) {
  const auto infos = [](const std::vector<TypeProto::Kind>& kinds) {
    std::vector<ValueInfo> list(kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) list[i].type.kind = kinds[i];
    return list;
  };
  return run_data_sets(directory, infos(inputs), infos(outputs), run, nullptr, device, how)
      .value_or(text("there is no test_data_set_0 in ", shown(directory)));
}

BackendTestResult run_backend_test(const std::string& directory, const Device& device, const LoadOptions& options,
                                   const Runner& run) {
  const std::string path = (fs::path(directory) / "model.onnx").string();
  try {
    {
      const FileBytes file = map_file(path);
      const ModelProto proto = parse_model(file.bytes, path);
      std::string list;
      for (const std::string& line : unsupported_operators(proto, {.file = path, .directory = directory}, device))
        list += (list.empty() ? "" : "; ") + line;
      if (!list.empty()) return {Outcome::Unsupported, list};
    }
    const Model model = load(path, device, options);
    Comparison how;
    how.shapes_alone = any_node(model.graph(), [](const Node& node) { return node.row && node.row->traits.random; });
    how.to_largest = any_node(model.graph(), [](const Node& node) { return node.op == "DFT" || node.op == "STFT"; });
    const Runner of_model = [&](const std::vector<Datum>& in) {
      const Outputs out = model.run(in);
      return std::vector<Datum>(out.begin(), out.end());
    };
    const std::string found =
        run_data_sets(directory, model.inputs(), model.outputs(), run ? run : of_model, &model.graph(), device, how)
            .value_or("there is no test_data_set_0");
    return {found.empty() ? Outcome::Passed : Outcome::Failed, first_line(found)};
  } catch (const std::exception& error) { return {Outcome::Failed, error.what()}; }
}

int run_backend_tests(const std::vector<std::string>& paths, const Device& device,
                      const std::function<void(const std::string&)>& print, const LoadOptions& options) {
  const std::vector<std::string> tests = find_backend_tests(paths);
  int passed = 0;
  for (const std::string& test : tests) {
    const BackendTestResult result = run_backend_test(test, device, options);
    const bool fine = result.outcome == Outcome::Passed;
    passed += fine;
    print(text(fine                                ? "passed "
               : result.outcome == Outcome::Failed ? "failed "
                                                   : "unsupported ",
               test, fine ? "" : ": ", result.reason));
  }
  print(text("passed ", passed, " of ", tests.size()));
  return static_cast<int>(tests.size()) - passed;
}

}  // namespace kiln::onnx
