#include "kiln/onnx/save.hpp"

#include <algorithm>
#include <filesystem>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/onnx/print.hpp"
#include "kiln/onnx/save/rows.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMostInside = 1'900'000'000;  // bytes; a protobuf message has at most 2^31 - 1
constexpr std::int64_t kLeastBeside = 1024, kAlignment = 4096;

const std::vector<SaveRow>& rows() {
  static const auto all = [] {
    std::vector<SaveRow> list;
    for (const auto family : {elementwise_save_rows(), view_save_rows(), reduce_save_rows(), index_save_rows(),
                              spatial_save_rows(), norm_save_rows(), sequence_save_rows(), create_save_rows()})
      list.insert(list.end(), family.begin(), family.end());
    return list;
  }();
  return all;
}

// Why an operation is not written; empty where it is.
std::string refusal(const Program& program, const Program::Line& line, int opset) {
  const SaveRow* const row = find_save_row(line.op);
  if (!row)
    return op::name(line.op) == "random" || op::name(line.op) == "dropout" ? "its numbers are random" : "no operator";
  return row->refuses ? row->refuses(line.op, program, line, opset) : "";
}

// Weights go to a file of their own, each where pages of memory begin.
void move_beside(ModelProto& model, const std::string& path) {
  const std::string beside = path + ".data";
  write_file_atomically(beside, [&](FileReplacement& file) {
    std::int64_t at = 0;
    for (TensorProto& tensor : model.graph.initializer) {
      const Bytes bytes = *tensor.raw_data;
      if (static_cast<std::int64_t>(bytes.size()) < kLeastBeside) continue;
      const std::int64_t gap = (kAlignment - at % kAlignment) % kAlignment;
      file.write(std::string(static_cast<std::size_t>(gap), '\0'));
      file.write(bytes);
      tensor.raw_data.reset();
      tensor.external = true;
      tensor.external_data = {{"location", std::filesystem::path(beside).filename().string()},
                              {"offset", text(at + gap)},
                              {"length", text(bytes.size())}};
      at += gap + static_cast<std::int64_t>(bytes.size());
    }
  });
}

}  // namespace

const SaveRow* find_save_row(const op::Op& op) {
  const auto found =
      std::find_if(rows().begin(), rows().end(), [&](const SaveRow& row) { return row.op == op::name(op); });
  return found == rows().end() ? nullptr : &*found;
}

void save(FunctionRef<Values(const Values&)> function, const Values& examples, const std::string& path,
          const SaveOptions& options) try {
  require<ArgumentError>(options.opset >= 17 && options.opset <= kNewestOpset, "onnx::save: operator set ",
                         options.opset, " is not one of 17 to ", kNewestOpset);
  const NoGrad pause;
  const Symbols symbols(options.free, examples);
  std::vector<Program> captures;
  for (const Values& each : symbols.captures(examples))
    captures.push_back(
        program_of(capture_graph(function, each), [&](const Program& program, const Program::Line& line) {
          return refusal(program, line, options.opset).empty();
        }));
  const std::size_t results = captures.front().outputs.size();
  require<ArgumentError>(results > 0, "onnx::save: the function returns nothing");
  require<ArgumentError>(options.inputs.size() <= examples.size() && options.outputs.size() <= results,
                         "onnx::save: there are more names than the ", examples.size(), " inputs and ", results,
                         " outputs");
  Writing out(std::move(captures), symbols, options);
  const Program& program = out.program();
  for (std::size_t i = 0; i < program.lines.size(); ++i) {
    const Program::Line& line = program.lines[i];
    if (const std::string why = refusal(program, line, options.opset); !why.empty()) {
      out.complain(i, why);
      for (int k = 0; k < line.results.size(); ++k) out.set_name(line.first + k, "?");
      continue;
    }
    find_save_row(line.op)->write(line.op, {out, line, i});
  }
  ModelProto model = out.finish();
  std::int64_t bytes = 0;
  for (const TensorProto& tensor : model.graph.initializer) bytes += static_cast<std::int64_t>(tensor.raw_data->size());
  if (options.weights == Weights::Beside || bytes > kMostInside) move_beside(model, path);
  write_file_atomically(path, print_model(model));
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace kiln::onnx
