#include "kiln/nn/module/layer_table.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "kiln/backend/capture/body.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/record.hpp"

namespace kiln {
namespace {

using Params = std::vector<nn::ParamWithPaths>;

using Sources = std::vector<const nn::ParamWithPaths*>;

/// The parameters that a tensor is, or is computed from.
Sources sources_of(const Value& value, const Params& params) {
  for (const nn::ParamWithPaths& param : params)
    if (param.value.node() == value.node()) return {&param};
  Sources sources;
  std::vector<const Record*> open;
  if (value.tracked()) open.push_back(value.tape().get());
  std::unordered_set<const Record*> seen;
  while (!open.empty()) {
    const Record* const record = open.back();
    open.pop_back();
    if (!seen.insert(record).second) continue;
    for (const nn::ParamWithPaths& param : params)
      if (param.value.tracked() && param.value.tape().get() == record) sources.push_back(&param);
    for (std::size_t i = record->in.size(); i-- > 0;)
      if (record->in[i].tracked()) open.push_back(record->in[i].tape().get());
  }
  return sources;
}

/// A tensor with that description and no contents, for an op's flops().
Value like(const Desc& desc, const Device& device) { return Value(make_ref<Node>(desc, device)); }

class Reader {
 public:
  Reader(const Params& params, const GraphBody& body) : body_(body) {
    for (const Desc& desc : body.inputs) add(like(desc, body.device), {});
    for (const Value& constant : body.constants) add(constant.detach(), sources_of(constant, params));
  }

  std::vector<LayerRow> rows() && {
    for (const GraphStep& step : body_.steps) read(step);
    return std::move(rows_);
  }

 private:
  void add(Value value, Sources sources) {
    values_.push_back(std::move(value));
    sources_.push_back(std::move(sources));
  }

  void read(const GraphStep& step) {
    Values in, out;
    Sources sources;
    for (const auto& operand : step.in) {
      if (operand.id >= 0) {
        const auto id = static_cast<std::size_t>(operand.id);
        in.push_back(values_[id]);
        sources.insert(sources.end(), sources_[id].begin(), sources_[id].end());
      } else {
        in.push_back(operand.id == GraphOperand::kNumber ? Value(operand.number) : Value());
      }
    }
    for (const Desc& desc : step.results) out.push_back(like(desc, body_.device));
    const bool view = is_view(step.op);
    // A view of a parameter still counts as the parameter.
    for (const Value& value : out) add(value, view ? sources : Sources());
    if (view) return;

    LayerRow& row = row_for(step, sources);
    row.output = out[0].shape();
    row.dtype = out[0].dtype();
    row.flops += op::visit(step.op, [&](const auto& op) { return flops_of(op, in, out); });
    for (const Value& value : out) row.bytes += value.numel() * static_cast<std::int64_t>(size_of(value.dtype()));
    for (const nn::ParamWithPaths* const param : sources)
      if (counted_.insert(param).second) row.parameters += param->value.numel();
  }

  /// Returns the last row if it belongs to the same module, or a new one.
  LayerRow& row_for(const GraphStep& step, const Sources& sources) {
    if (sources.empty()) {
      rows_.push_back({.path = {}, .type = function_name(step), .output = {}});
      return rows_.back();
    }
    const nn::PartPath& place = sources[0]->places[0];
    const std::size_t dot = place.path.rfind('.');
    const std::string path = dot == std::string::npos ? std::string() : place.path.substr(0, dot);
    const std::string type(place.types.empty() ? std::string_view() : place.types.back());
    if (rows_.empty() || rows_.back().path != path || rows_.back().type != type)
      rows_.push_back({.path = path, .type = type, .output = {}});
    return rows_.back();
  }

  const GraphBody& body_;
  Values values_;  // by number
  std::vector<Sources> sources_;
  std::vector<LayerRow> rows_;
  std::unordered_set<const nn::ParamWithPaths*> counted_;
};

/// 6230000 -> "6.23 M"
std::string shortened(double number) {
  static constexpr std::string_view kUnits[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  for (; std::abs(number) >= 1000 && unit + 1 < std::size(kUnits); ++unit) number /= 1000;
  return text(std::round(number * 100) / 100, kUnits[unit]);
}
std::string memory(std::int64_t bytes) {
  if (bytes < 1024) return text(bytes, " B");
  const double kib = static_cast<double>(bytes) / 1024;
  if (kib < 1024) return text(std::round(kib * 10) / 10, " KiB");
  return text(std::round(kib / 1024 * 10) / 10, " MiB");
}

using Line = std::vector<std::string>;

void append_aligned(std::string& out, const std::vector<Line>& lines) {
  std::vector<std::size_t> widths(lines[0].size());
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) row += line[i] + std::string(widths[i] - line[i].size() + 3, ' ');
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + '\n';
  }
}

}  // namespace

namespace nn {

LayerTable layer_table(const Params& params, const Graph& graph) {
  LayerTable table{.rows = Reader(params, graph.body()).rows()};
  for (const ParamWithPaths& param : params) {
    table.parameters += param.value.numel();
    table.parameter_bytes += param.value.numel() * static_cast<std::int64_t>(size_of(param.value.dtype()));
  }
  table.trained = table.parameters;
  return table;
}

}  // namespace nn

double LayerTable::flops() const {
  double sum = 0;
  for (const LayerRow& row : rows) sum += row.flops;
  return sum;
}
std::int64_t LayerTable::bytes() const {
  std::int64_t sum = 0;
  for (const LayerRow& row : rows) sum += row.bytes;
  return sum;
}

void append(std::string& out, const LayerTable& table) {
  std::vector<Line> lines{{"layer", "output", "parameters", "FLOPs", "memory"}};
  for (const LayerRow& row : table.rows) {
    const std::string shape = row.dtype == DType::F32 ? text(row.output) : text(row.output, ' ', row.dtype);
    lines.push_back({row.path.empty() ? row.type : text(row.path, ": ", row.type), shape,
                     row.parameters ? nn::grouped(row.parameters) : "", row.flops > 0 ? shortened(row.flops) : "",
                     memory(row.bytes)});
  }
  append_aligned(out, lines);
  out += text(nn::grouped(table.parameters), " parameters (", memory(table.parameter_bytes), "), ",
              nn::grouped(table.trained), " trained; ", shortened(table.flops()), " FLOPs; results of ",
              memory(table.bytes()), "\n");
}

}  // namespace kiln
