#include "cli/commands.hpp"
#include "cli/generated.hpp"
#include "cli/sizes.hpp"
#include "cli/statistics.hpp"
#include "cli/table.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/backend_test.hpp"
#include "kiln/onnx/summary.hpp"
#include "kiln/store/format/source.hpp"

namespace kiln::cli {
namespace {

/// "tensor(float) [batch, 3]"
std::string type_text(const onnx::TypeProto& type) {
  using Kind = onnx::TypeProto::Kind;
  const std::string inner = type.inner ? type_text(*type.inner) : "anything";
  switch (type.kind) {
    case Kind::None: return "anything";
    case Kind::Sequence: return "sequence of " + inner;
    case Kind::Optional: return "optional " + inner;
    case Kind::Map: return "map to " + inner;
    case Kind::Tensor:
    case Kind::SparseTensor: break;
  }
  std::string out = text(type.kind == Kind::Tensor ? "" : "sparse ", onnx::name(type.element), ' ');
  if (!type.shape) return out + "of any rank";
  out += '[';
  for (const onnx::DimProto& dim : *type.shape) {
    if (out.back() != '[') out += ", ";
    out += dim.value ? text(*dim.value) : dim.param.empty() ? "?" : shown(dim.param);
  }
  return out + ']';
}

}  // namespace

std::string describe_onnx(const OnnxOptions& options) {
  const std::string& file = options.file;
  const FileBytes begin = map_file(file);
  for (const Format& format : formats())
    require<ArgumentError>(!format.matches(begin), "onnx: ", shown(file), " is a file of tensors (", format.name,
                           "), not an ONNX model: kiln inspect says what it holds");
  const onnx::Sizes sizes = sizes_of(options.sizes, "onnx");
  const onnx::Summary summary = onnx::summarize(file, Device::cpu(), sizes);
  std::string sets;
  for (const onnx::OperatorSetId& set : summary.operator_sets)
    sets += text(", ", set.domain.empty() ? "ai.onnx" : shown(set.domain), ' ', set.version);
  std::string out = text(shown(file), ": ONNX", sets);
  if (!summary.producer.empty()) out += text(", by ", shown(summary.producer));
  out += text("\n", summary.nodes, " nodes, ", summary.parameters, " parameters (", bytes_text(summary.parameter_bytes),
              "), ");
  std::string given;
  for (const auto& [name, size] : sizes) given += text(given.empty() ? "" : ", ", shown(name), " is ", size);
  if (given.empty()) given = "free sizes are 1";
  out += summary.flops ? text(short_number(*summary.flops), " FLOPs where ", given, '\n')
                       : text("FLOPs unknown: ", summary.why_no_flops, '\n');
  std::vector<Row> values;
  for (const onnx::ValueInfo& input : summary.inputs)
    values.push_back({"input", shown(input.name), type_text(input.type)});
  for (const onnx::ValueInfo& output : summary.outputs)
    values.push_back({"output", shown(output.name), type_text(output.type)});
  std::vector<Row> operators = {{"operator", "nodes"}};
  for (const auto& [name, count] : summary.operators) operators.push_back({shown(name), text(count)});
  out += table(values) + table(operators);
  for (const std::string& line : summary.unsupported) out += text("unsupported: ", line, '\n');
  return out;
}

bool test_onnx(const OnnxTestOptions& options, const Print& print) {
  if (options.generated) return test_generated(options, print);
  const auto print_line = [&](const std::string& line) { print(line + '\n'); };
  return onnx::run_backend_tests(options.directories, Device::parse(options.device), print_line,
                                 {.simplify = !options.plain}) == 0;
}

}  // namespace kiln::cli
