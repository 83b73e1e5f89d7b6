#include "kiln/compile/lower.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "kiln/backend/capture/replay.hpp"
#include "kiln/compile/lowering.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::compile {

int Lowering::add_buffer(DType dtype, const Shape& shape) {
  Buffer buffer;
  buffer.dtype = dtype;
  buffer.count = numel(shape);
  program.buffers.push_back(std::move(buffer));
  return static_cast<int>(program.buffers.size()) - 1;
}

int Lowering::add_constant(TensorData data) {
  const std::span<const std::byte> bytes = std::as_const(data).bytes();
  const std::size_t hash = std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto [first, last] = constants_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const Buffer& buffer = program[known->second];
    if (buffer.dtype == data.dtype() && std::ranges::equal(buffer.data.bytes(), bytes)) return known->second;
  }
  const int buffer = add_buffer(data.dtype(), data.shape());
  program[buffer].place = Buffer::Place::Constant;
  program[buffer].data = std::move(data);
  constants_.emplace(hash, buffer);
  return buffer;
}

void Lowering::add(Loop loop) {
  loop.layer = layer;
  program.loops.push_back(std::move(loop));
}

Access whole(const View& plain) { return plain.access(); }

void Lowering::store(const View& view, const Access& to) {
  Loop loop;
  loop.sizes = Counts(view.shape.begin(), view.shape.end());
  loop.kept = view.shape.size();
  loop.value = view.value;
  loop.out = {to};
  add(std::move(loop));
}

View Lowering::buffer_for(const Desc& desc) {
  return buffer_view(add_buffer(desc.dtype, desc.shape), desc.dtype, desc.shape);
}

std::optional<View> Lowering::stored_with_gaps(const View& view) {
  constexpr int kSpatial = 2;  // the first dimension of rows
  if (!tiles || view.shape.size() <= kSpatial || view.dtype() != DType::F32 || numel(view.shape) == 0) return {};
  Counts rows;
  for (const Operand& operand : view.value.in) {
    if (operand.is_number) continue;
    const Counts own(operand.access.strides.begin() + kSpatial, operand.access.strides.end());
    if (operand.access.index >= 0) return {};
    if (std::ranges::all_of(own, [](std::int64_t stride) { return stride == 0; })) continue;
    if (!rows.empty() && own != rows) return {};
    rows = own;
  }
  if (rows.empty() || rows.back() != 1) return {};
  std::int64_t places = 1, useful = 1;
  for (int dim = view.shape.size(); dim-- > kSpatial; useful *= view.shape[dim]) {
    const std::int64_t stride = rows[static_cast<std::size_t>(dim - kSpatial)];
    if (stride < places) return {};
    places += (view.shape[dim] - 1) * stride;
  }
  if (places == useful) return {};
  const View result = buffer_for({{view.shape[0], view.shape[1], places}, view.dtype()});
  View row = view;
  row.shape = Shape{view.shape[0], view.shape[1], places};
  for (Operand& operand : row.value.in) {
    Counts& strides = operand.access.strides;
    if (operand.is_number) continue;
    const bool moves = strides.back() != 0;
    strides.resize(kSpatial + 1);
    strides.back() = moves ? 1 : 0;
  }
  store(row, whole(result));
  View out = result;
  out.shape = view.shape;
  Counts& strides = out.value.in[out.value.value.index].access.strides;
  strides.resize(kSpatial);
  strides.insert(strides.end(), rows.begin(), rows.end());
  return out;
}

View Lowering::stored(const View& view) {
  const View result = buffer_for({view.shape, view.dtype()});
  store(view, whole(result));
  return result;
}

View Lowering::filled(DType dtype, const Shape& shape, const Scalar& number) {
  return stored(number_view(number, dtype, shape));
}

namespace {

/// How often each value is read.
std::vector<int> reads(const GraphBody& body) {
  std::vector<int> count(static_cast<std::size_t>(body.count));
  const auto read = [&](const std::vector<GraphOperand>& operands) {
    for (const GraphOperand& operand : operands)
      if (operand.id >= 0) ++count[static_cast<std::size_t>(operand.id)];
  };
  for (const GraphStep& step : body.steps) read(step.in);
  read(body.outputs);
  return count;
}

class Lower {
 public:
  Lower(const GraphBody& body, std::size_t inputs, const std::vector<Value>& bound, bool tiles, bool halves)
      : body_(body), reads_(reads(body)), views_(static_cast<std::size_t>(body.count)) {
    to_.tiles = tiles;
    to_.program.halves = halves;
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      const Desc& desc = body.inputs[i];
      if (i < inputs) {
        const int buffer = to_.add_buffer(desc.dtype, desc.shape);
        to_.program[buffer].place = Buffer::Place::Input;
        to_.program[buffer].position = static_cast<int>(i);
        to_.program.inputs.push_back(desc);
        to_.program.input_buffers.push_back(buffer);
        views_[i] = buffer_view(buffer, desc.dtype, desc.shape);
      } else {
        views_[i] = constant(bound[i - inputs]);
      }
    }
    for (std::size_t i = 0; i < body.constants.size(); ++i)
      views_[body.inputs.size() + i] = constant(body.constants[i]);
  }

  Program run() {
    for (const GraphStep& step : body_.steps) lower(step);
    require_all_known();
    for (std::size_t i = 0; i < body_.outputs.size(); ++i) write_output(static_cast<int>(i));
    return std::move(to_.program);
  }

 private:
  View constant(const Value& value) {
    if (value.numel() == 1) {  // a number in the code, of its own type
      const Scalar number = value.dtype() == DType::Bool ? Scalar(value.item() != 0)
                            : is_float(value.dtype())    ? Scalar(value.item())
                                                         : Scalar(value.data().to_vector<std::int64_t>().front());
      return number_view(number, value.dtype(), value.shape());
    }
    return buffer_view(to_.add_constant(value.data()), value.dtype(), value.shape());
  }

  View operand(const GraphStep& step, std::size_t i) {
    const GraphOperand& from = step.in[i];
    if (from.id == GraphOperand::kNothing) return {};
    if (from.id == GraphOperand::kNumber) {
      // A number beside a tensor has the tensor's type.
      DType dtype = step.results[0].dtype;
      if (std::holds_alternative<op::Binary>(step.op.is))
        for (const GraphOperand& other : step.in)
          if (other.id >= 0) dtype = views_[static_cast<std::size_t>(other.id)].dtype();
      return number_view(from.number, dtype);
    }
    return views_[static_cast<std::size_t>(from.id)];
  }

  /// A range between numbers, as a constant; an expansion may make one.
  bool is_constant(const GraphStep& step) const {
    return std::holds_alternative<op::Arange>(step.op.is) &&
           std::ranges::all_of(step.in, [](const GraphOperand& each) { return each.id == GraphOperand::kNumber; });
  }
  void keep(const GraphStep& step) {
    Values numbers;
    for (const GraphOperand& each : step.in) numbers.emplace_back(each.number);
    views_[static_cast<std::size_t>(step.first)] = constant(run_step(step, numbers, Device::parse("cpu")).at(0));
  }

  void lower(const GraphStep& step) {
    if (is_constant(step)) return keep(step);
    Site site{.step = step, .in = {}};
    for (std::size_t i = 0; i < step.in.size(); ++i) {
      site.in.push_back(operand(step, i));
      const std::int32_t id = step.in[i].id;
      if (id >= 0 && views_[static_cast<std::size_t>(id)].value.in.empty()) return skip(step);  // it was refused
    }
    to_.layer = function_name(step);
    bool known = false;
    for (const auto family :
         {lower_elementwise, lower_view, lower_reduction, lower_product, lower_window, lower_index, lower_blend})
      known = known || family(to_, site);
    if (!known) {
      const std::string attributes = op::attributes(step.op);
      ++to_.refused[attributes.empty() ? to_.layer : text(to_.layer, " (", attributes, ")")];
      return skip(step);
    }
    for (int i = 0; i < step.results.size(); ++i) {
      const auto id = static_cast<std::size_t>(step.first + i);
      View& view = site.out.at(static_cast<std::size_t>(i));
      if (!view.value.in.empty() && must_be_stored(view, reads_[id])) view = to_.stored(view);
      views_[id] = std::move(view);
    }
  }
  void skip(const GraphStep& step) {
    for (int i = 0; i < step.results.size(); ++i) views_[static_cast<std::size_t>(step.first + i)] = {};
  }

  bool must_be_stored(const View& view, int reads) const {
    constexpr std::size_t kMostOperands = 12;
    if (view.is_plain() || view.is_number()) return false;
    if (view.value.steps.size() > kMostSteps || view.value.in.size() > kMostOperands) return true;
    if (is_quantised(view)) return true;
    return reads > 1 && !view.is_cheap(to_.program);
  }
  /// Whether the last step makes a narrow integer of a float: what follows reads a quarter of the memory.
  static bool is_quantised(const View& view) {
    if (view.value.steps.empty()) return false;
    const op::ProgramStep& last = view.value.steps.back();
    return std::holds_alternative<op::Cast>(last.op) && size_of(last.dtype) == 1 && last.dtype != DType::Bool &&
           is_float(view.value.dtype_of(last.in[0]));
  }

  void require_all_known() const {
    if (to_.refused.empty()) return;
    std::string list;
    for (const auto& [name, count] : to_.refused)
      list += text(list.empty() ? "" : "; ", name, count > 1 ? text(" in ", count, " places") : "");
    fail<ArgumentError>("compile: these operations have no form as loops without a heap: ", list,
                        ". Leave them out of the graph, or compute them before and after it");
  }

  void write_output(int i) {
    const GraphOperand& from = body_.outputs[static_cast<std::size_t>(i)];
    const Desc& desc = body_.output_descs[static_cast<std::size_t>(i)];
    View& view = views_[static_cast<std::size_t>(from.id)];
    to_.program.outputs.push_back(desc);
    if (view.is_plain() && !desc.shape.empty()) {
      Buffer& buffer = to_.program[view.access().buffer];
      const Dims strides(view.access().strides.begin(), view.access().strides.end());
      const bool all = buffer.place == Buffer::Place::Arena && view.access().offset == 0 &&
                       buffer.count == numel(desc.shape) && strides == contiguous_strides(desc.shape);
      if (all) {
        buffer.place = Buffer::Place::Output;
        buffer.position = i;
        to_.program.output_buffers.push_back(view.access().buffer);
        return;
      }
    }
    to_.layer = "output";
    const int buffer = to_.add_buffer(desc.dtype, desc.shape);
    to_.program[buffer].place = Buffer::Place::Output;
    to_.program[buffer].position = i;
    to_.program.output_buffers.push_back(buffer);
    to_.store(view, whole(buffer_view(buffer, desc.dtype, desc.shape)));
  }

  const GraphBody& body_;
  std::vector<int> reads_;
  Lowering to_;
  std::vector<View> views_;
};

}  // namespace

Program lowered(const Graph& graph, std::size_t inputs, const std::vector<Value>& bound, bool tiles, bool halves) {
  return Lower(graph.body(), inputs, bound, tiles, halves).run();
}

}  // namespace kiln::compile
