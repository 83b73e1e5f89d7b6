#include "kiln/onnx/save/program.hpp"

#include <algorithm>
#include <bit>

#include "kiln/core/error/shown.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::onnx {
namespace {

using LineOperand = Program::LineOperand;

/// A tensor like that, which holds one element however many it shows.
Value example_of(const Desc& desc, const Device& device) {
  return expand(zeros(Shape::filled(desc.shape.size(), 1), device, desc.dtype), desc.shape);
}

Values expansion_of(const op::Op& op, Inputs in) {
  return op::visit(op, [&]<class T>(const T& o) -> Values {
    if constexpr (op::Composite<T>) return o.expand(in);
    else fail<ArgumentError>(T::kName, " is not composed of other operations");
  });
}

class Flattening {
 public:
  explicit Flattening(FunctionRef<bool(const Program&, const Program::Line&)> keeps) : keeps_(keeps) {}

  Program flattened(const GraphBody& body) {
    std::vector<LineOperand> in;
    for (const Desc& desc : body.inputs) in.push_back({.id = define(desc)});
    program_.inputs = body.inputs;
    program_.outputs = add(body, in);
    return std::move(program_);
  }

 private:
  std::int32_t define(const Desc& desc) {
    program_.descs[count_] = desc;
    return count_++;
  }

  /// The lines of a body whose inputs are `in`: the operands that its outputs are.
  std::vector<LineOperand> add(const GraphBody& body, std::vector<LineOperand> in) {
    std::vector<LineOperand> numbers = std::move(in);  // operands by the body's numbers
    for (const Value& constant : body.constants) {
      numbers.push_back({.id = define({constant.shape(), constant.dtype()})});
      program_.constants.emplace(numbers.back().id, constant);
    }
    const auto here = [&](const LineOperand& operand) {
      return operand.id >= 0 ? numbers[static_cast<std::size_t>(operand.id)] : operand;
    };
    for (const GraphStep& step : body.steps) {
      Program::Line line{step.op, {}, step.results, 0};
      for (const LineOperand& operand : step.in) line.in.push_back(here(operand));
      if (is_composite(step.op) && !keeps_(program_, line)) {
        const std::vector<LineOperand> results = add_expansion(line, body.device);
        numbers.insert(numbers.end(), results.begin(), results.end());
        continue;
      }
      line.first = count_;
      for (const Desc& desc : step.results) {
        program_.lines_of[count_] = program_.lines.size();
        numbers.push_back({.id = define(desc)});
      }
      program_.lines.push_back(std::move(line));
    }
    std::vector<LineOperand> outputs;
    for (const LineOperand& output : body.outputs) outputs.push_back(here(output));
    return outputs;
  }

  std::vector<LineOperand> add_expansion(const Program::Line& line, const Device& device) {
    Values examples;
    std::vector<LineOperand> tensors;
    for (const LineOperand& operand : line.in)
      if (operand.id >= 0) {
        examples.push_back(example_of(program_.desc(operand), device));
        tensors.push_back(operand);
      }
    const kiln::Graph parts = capture_graph(
        [&](const Values& given) {
          Values in;
          std::size_t next = 0;
          for (const LineOperand& operand : line.in)
            in.push_back(operand.id >= 0                      ? given[next++]
                         : operand.id == LineOperand::kNumber ? Value(operand.number)
                                                              : Value());
          return expansion_of(line.op, in);
        },
        examples);
    return add(parts.body(), std::move(tensors));
  }

  FunctionRef<bool(const Program&, const Program::Line&)> keeps_;
  Program program_;
  std::int32_t count_ = 0;
};

}  // namespace

const Program::Line* Program::maker(const LineOperand& operand) const {
  const auto found = lines_of.find(operand.id);
  return found == lines_of.end() ? nullptr : &lines[found->second];
}

int Program::readers(std::int32_t value) const {
  const auto reads = [&](const LineOperand& operand) { return operand.id == value; };
  std::int64_t count = std::count_if(outputs.begin(), outputs.end(), reads);
  for (const Line& line : lines) count += std::count_if(line.in.begin(), line.in.end(), reads);
  return static_cast<int>(count);
}

Program program_of(const kiln::Graph& graph, FunctionRef<bool(const Program&, const Program::Line&)> keeps) {
  const NoGrad pause;
  const Autocast off(DType::F32);
  return Flattening(keeps).flattened(graph.body());
}

int Size::symbol() const {
  return offset == 0 && factor == 1 && std::has_single_bit(symbols) ? std::countr_zero(symbols) : -1;
}

Size operator-(const Size& a, const Size& b) {
  Size size{a.offset - b.offset, a.factor, a.symbols, a.base - b.base};
  if (b.is_fixed()) return size;
  if (a.symbols == b.symbols && a.factor == b.factor) return {size.offset, 0, 0, size.base};
  size.factor = a.factor - b.factor;
  size.symbols = a.symbols | b.symbols;
  return size;
}

Symbols::Symbols(const std::vector<FreeDim>& dims, const Values& examples) : dims_(dims) {
  for (FreeDim& dim : dims_) {
    require<ArgumentError>(dim.input < examples.size(), "onnx::save: '", shown(dim.name), "' is a dimension of input ",
                           dim.input, ", but there are ", examples.size(), " inputs");
    const Shape& shape = examples[dim.input].shape();
    dim.dim = wrap_dim("onnx::save", dim.dim, shape.size());
    require<ArgumentError>(!dim.name.empty(), "onnx::save: dimension ", dim.dim, " of input ", dim.input,
                           " needs a name");
    const std::int64_t size = std::max<std::int64_t>(shape[dim.dim], 2);
    const int known = number_of(dim.name);
    if (known < 0) {
      require<ArgumentError>(names_.size() < 16, "onnx::save: at most 16 dimensions may be free");
      names_.push_back(dim.name);
      sizes_.push_back(size);
    } else {
      require<ArgumentError>(sizes_[static_cast<std::size_t>(known)] == size, "onnx::save: '", shown(dim.name), "' is ",
                             sizes_[static_cast<std::size_t>(known)], " in one place, and ", size, " in dimension ",
                             dim.dim, " of input ", dim.input);
    }
  }
}

int Symbols::number_of(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? -1 : static_cast<int>(found - names_.begin());
}

std::vector<Values> Symbols::captures(const Values& examples) const {
  if (names_.empty()) return {examples};
  std::vector<Values> all;
  const std::size_t count = names_.size();
  for (std::size_t c = 0; c < count + 2; ++c) {
    Values these = examples;
    for (std::size_t i = 0; i < these.size(); ++i) {
      Desc desc{these[i].shape(), these[i].dtype()};
      for (const FreeDim& dim : dims_) {
        if (dim.input != i) continue;
        const auto symbol = static_cast<std::size_t>(number_of(dim.name));
        desc.shape[dim.dim] = sizes_[symbol] * (c == count + 1 ? 3 : c == symbol + 1 ? 2 : 1);
      }
      if (desc.shape == these[i].shape()) continue;
      these[i] = example_of(desc, these[i].device());
    }
    all.push_back(std::move(these));
  }
  return all;
}

std::optional<Size> Symbols::fit(const std::vector<std::int64_t>& values) const {
  Size size{values[0], 0, 0, values[0]};
  std::int64_t product = 1;
  for (std::size_t k = 0; k < names_.size(); ++k)
    if (values[k + 1] != values[0]) {
      size.symbols |= 1u << k;
      product *= sizes_[k];
    }
  if (names_.empty()) return size;
  if (size.symbols) {
    const bool one = std::has_single_bit(size.symbols);
    const std::int64_t change =
        one ? values[static_cast<std::size_t>(std::countr_zero(size.symbols)) + 1] - values[0] : values[0];
    if (change % product) return {};
    size.factor = change / product;
    size.offset = values[0] - size.factor * product;
  }
  for (std::size_t c = 0; c < values.size(); ++c) {
    std::int64_t expected = size.symbols ? size.factor : 0;
    for (std::size_t k = 0; k < names_.size(); ++k)
      if (size.symbols >> k & 1u) expected *= sizes_[k] * (c == names_.size() + 1 ? 3 : c == k + 1 ? 2 : 1);
    if (expected + size.offset != values[c]) return {};
  }
  return size;
}

}  // namespace kiln::onnx
