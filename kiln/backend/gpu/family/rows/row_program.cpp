// op::RowFused: reductions of rows and the elementwise steps before, between and after them, as one kernel with the row
// in registers.
#include <algorithm>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/rows/row_steps.hpp"
#include "kiln/backend/gpu/family/words.hpp"
#include "kiln/ops/expression/draw.hpp"

namespace kiln::gpu::family {
namespace {

/// The most elements that a thread can hold: of one row, and of several that are alive at a time.
constexpr std::int64_t kMostOfOne = 32, kMostOfAll = 64;

/// The layout of an input: contiguous elements, or one per row; and the dimensions that enumerate rows.
struct RowInput {
  Layout layout;
  int rank;
};

struct RowProgramKernel {
  RowSteps steps;
  std::vector<RowInput> inputs;
  bool in_place;
  RowShape shape;

  Kernel kernel() const;
};

/// The values of a kernel while it is built: as many as a thread has elements, or one for the row.
class RowBody {
 public:
  RowBody(Builder& k, const RowProgramKernel& of) : k_(k), of_(of) {
    for (std::size_t i = 0; i < of.inputs.size(); ++i)
      buffers_.push_back(of.steps.numbers[i] ? Buffer() : k.input(of.steps.inputs[i]));
    for (const RowSteps::Output& output : of.steps.outputs)
      outputs_.push_back(of.in_place ? k.both(output.dtype) : k.output(output.dtype));
    row_.emplace(k, of.shape);
    for (const RowInput& input : of.inputs)
      places_.push_back(input.rank ? std::optional(Offsets(k, of.shape.index, input.rank, 1)) : std::nullopt);
    all_.resize(of.inputs.size());
  }

  void run() {
    for (const RowStep& step : of_.steps.steps) {
      if (all_.size() < step.first) all_.resize(step.first);
      take(step);
      for (std::size_t i = 0; i < outputs_.size(); ++i)
        if (of_.steps.outputs[i].value >= step.first && of_.steps.outputs[i].value < all_.size()) store(i);
    }
  }

 private:
  /// Loaded on first use.
  const Exprs& value(std::uint16_t i) {
    if (!all_[i].empty()) return all_[i];
    const Expr base = places_[i] ? places_[i]->of(row_->number())[0] : k_.literal(of_.shape.index, 0);
    all_[i] = of_.inputs[i].layout == Layout::InLine ? row_->load(buffers_[i], base) : Exprs{buffers_[i][base]};
    return all_[i];
  }
  Exprs spread(const Exprs& value) const { return value.size() == 1 ? Exprs(row_->size(), value[0]) : value; }

  void take(const RowStep& step) {
    switch (step.kind) {
      case RowStep::Kind::Same: all_.push_back(Exprs(value(step.in[0]))); break;
      case RowStep::Kind::Reduce: fold(step, {spread(value(step.in[0]))}); break;
      case RowStep::Kind::Softmax:
      case RowStep::Kind::LogSoftmax: softmax(step); break;
      case RowStep::Kind::Dropout: dropout(step); break;
      case RowStep::Kind::Program: program(step); break;
    }
  }

  // The generator makes the words for eight elements at a time, two per word; a vector is a part of these.
  void dropout(const RowStep& step) {
    const DType dtype = step.reductions[0].dtype;
    const Expr scale = k_.number(dtype), threshold = k_.number(DType::U32);
    const KeyWords key(k_);
    const Exprs x = spread(value(step.in[op::Dropout::x]));
    const int width = of_.shape.width;
    Exprs made;
    for (const Expr& place : row_->places()) {
      const Expr first = row_->number() * row_->length() + place, within = (first % 8).as(DType::I32);
      const std::vector<Expr> words = words_of(k_, key, first / 8);
      for (int i = 0; i < width; ++i) {
        const Expr at = width == 8 ? k_.literal(DType::I32, i) : within + i;
        Expr word = words[0];
        for (int pair = 1; pair < 4; ++pair) word = select(at / 2 == pair, words[static_cast<std::size_t>(pair)], word);
        const Expr in[] = {x[made.size()], scale, threshold, word, at % 2 == 1};
        made.push_back(k_.narrow(k_.tree(expr::dropout(), dtype, in), dtype));
      }
    }
    all_.push_back(std::move(made));
  }

  void program(const RowStep& step) {
    const op::Program& p = *step.program;
    std::vector<Exprs> in;
    std::size_t count = step.reductions.empty() ? 1 : row_->size();
    for (std::size_t i = 0; i < step.in.size(); ++i) {
      const std::uint16_t from = step.in[i];
      const bool number = from < of_.inputs.size() && of_.steps.numbers[from];
      in.push_back(number ? Exprs{k_.number(p.inputs[i])} : value(from));
      count = std::max(count, in.back().size());
    }
    std::vector<Exprs> made(p.outputs.size()), folded(p.folds.size());
    for (std::size_t lane = 0; lane < count; ++lane) {
      Exprs elements;
      for (const Exprs& each : in) elements.push_back(each.size() == 1 ? each[0] : each[lane]);
      const Exprs all = steps(k_, p, elements);
      for (std::size_t i = 0; i < made.size(); ++i) made[i].push_back(all[p.outputs[i]]);
      for (std::size_t i = 0; i < folded.size(); ++i) folded[i].push_back(all[p.folds[i].step]);
    }
    for (Exprs& each : made) all_.push_back(std::move(each));
    if (!folded.empty()) fold(step, folded);
  }

  void fold(const RowStep& step, const std::vector<Exprs>& lists) {
    const Exprs states = row_->fold(reductions(k_, step.reductions), lists);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const Reduction& reduction = step.reductions[i];
      const Expr count = row_->length().as(states[i].type());
      const Expr result = finished(k_, reduction, states[i], count, reduction.dtype);
      all_.push_back({k_.narrow(result, reduction.dtype)});
    }
  }

  void softmax(const RowStep& step) {
    const DType dtype = step.reductions[0].dtype, type = expr::computed_in(dtype);
    const Exprs x = spread(value(step.in[0]));
    const Expr most = row_->largest(x);
    const Exprs shifted = Row::each([&](const Expr& each) { return each - most; }, x);
    const Exprs powers = Row::each([&](const Expr& each) { return k_.call("exp", type, {each}); }, shifted);
    const Expr total = row_->sum(powers);
    const bool log = step.kind == RowStep::Kind::LogSoftmax;
    const Expr by = log ? k_.call("log", type, {total}) : 1.0 / total;
    all_.push_back(Row::each([&](const Expr& each) { return k_.narrow(log ? each - by : each * by, dtype); },
                             log ? shifted : powers));
  }

  void store(std::size_t output) {
    const RowSteps::Output& to = of_.steps.outputs[output];
    if (to.full) return row_->store(outputs_[output], spread(all_[to.value]));
    k_.when(row_->tells(), [&] { outputs_[output].store(row_->number(), all_[to.value][0]); });
  }

  Builder& k_;
  const RowProgramKernel& of_;
  std::vector<Buffer> buffers_, outputs_;
  std::optional<Row> row_;
  std::vector<std::optional<Offsets>> places_;  // one per input
  std::vector<Exprs> all_;
};

Kernel RowProgramKernel::kernel() const {
  Builder k("row_program", shape.threads());
  RowBody(k, *this).run();
  return k.finish();
}

// ---- launches ------------------------------------------------------------------------------------------------------

/// An input of a step whose result has a shape in which the dimensions from `kept` on are a row.
struct ProgramPlan {
  RowInput input;
  Loop rows;
};
std::optional<ProgramPlan> find(const Array& array, const Shape& shape, int kept) {
  const Dims strides = strided::broadcast_strides(array.shape, array.strides, shape);
  const Shape outer(shape.begin(), shape.begin() + kept), inner(shape.begin() + kept, shape.end());
  const Dims outer_strides[] = {Dims(strides.begin(), strides.begin() + kept)},
             inner_strides[] = {Dims(strides.begin() + kept, strides.end())};
  const Loop along = merged(inner, inner_strides);
  Loop rows = merged(outer, outer_strides);
  if (along.sizes.size() > 1) return std::nullopt;
  const std::int64_t stride = along.sizes.empty() ? 0 : along.strides[0][0];
  if (stride != 0 && stride != 1) return std::nullopt;
  if (std::ranges::all_of(rows.strides[0], [](std::int64_t each) { return each == 0; })) rows = {{}, {{}}};
  return ProgramPlan{{stride ? Layout::InLine : Layout::Repeated, rows.sizes.size()}, std::move(rows)};
}

}  // namespace

bool run(Gpu& gpu, const op::RowFused& op, Call call) {
  const op::Sequence& sequence = *op.sequence;
  const op::RowForm form = op::form_of(op, call.in);
  if (form.count() == 0) return false;
  const auto& known =
      sequence.cached<std::optional<RowSteps>>(gpu.id(), [&] { return row_steps(sequence, form, call); });
  if (!known) return false;
  RowProgramKernel kernel{*known, {}, false, {}};

  // The layout of each input, as the first step that reads it sees it.
  std::vector<Array> arrays(call.in.size());
  std::vector<Value> held(call.in.size());
  std::vector<Loop> rows(call.in.size(), Loop{{}, {{}}});
  std::vector<std::size_t> first_reader(call.in.size(), sequence.steps.size());
  kernel.inputs.assign(call.in.size(), {Layout::Number, 0});
  std::size_t smallest = 8, result = 0;
  for (std::size_t s = 0; s < sequence.steps.size(); result += sequence.steps[s++].results)
    for (const op::SequenceOperand from : sequence.steps[s].in) {
      if (from.from != op::SequenceOperand::Input || !call.in[from.index].node()) continue;
      if (first_reader[from.index] != sequence.steps.size()) continue;
      first_reader[from.index] = s;
      Array& array = arrays[from.index];
      array = read(call.in[from.index]);
      const auto [shape, kept] = seen_by(sequence.steps[s], array.shape, sequence.results[result].shape, form);
      std::optional<ProgramPlan> found = find(array, shape, kept);
      if (!found) {
        array = gpu.read_contiguous(call.in[from.index], held[from.index]);
        found = find(array, shape, kept);
      }
      if (!found) return false;
      kernel.inputs[from.index] = found->input;
      rows[from.index] = std::move(found->rows);
      if (found->input.layout == Layout::InLine) smallest = std::min(smallest, size_of(array.dtype));
    }

  std::vector<Array> outputs;
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const RowSteps::Output& output = known->outputs[i];
    const Dims order = contiguous_strides(call.out[i].shape());
    // A result may replace a row that the same threads read before, unless a later step is the first to read it.
    const auto maker =
        std::ranges::find_if(known->steps, [&](const RowStep& step) { return step.first > output.value; });
    const auto made_by = static_cast<std::size_t>(maker - known->steps.begin()) - 1;
    for (std::size_t operand = 0; operand < call.in.size() && output.full; ++operand)
      if (call.in[operand].node() && call.in[operand].numel() == form.count() && first_reader[operand] <= made_by &&
          !held[operand].node() && gpu.take_memory(call.out[i], order, call, operand)) {
        kernel.in_place = true;
        break;
      }
    outputs.push_back(gpu.allocate(call.out[i]));
    if (output.full) smallest = std::min(smallest, size_of(output.dtype));
  }

  const auto fits = [&](int width) {
    const auto fits_width = [&](const Array& array) {
      return is_aligned(array, size_of(array.dtype) * static_cast<std::size_t>(width));
    };
    if (form.length % width != 0) return false;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (kernel.inputs[i].layout == Layout::InLine &&
          (!fits_width(arrays[i]) ||
           !std::ranges::all_of(rows[i].strides[0], [&](std::int64_t each) { return each % width == 0; })))
        return false;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (known->outputs[i].full && !fits_width(outputs[i])) return false;
    return true;
  };
  const bool drops =
      std::ranges::any_of(known->steps, [](const RowStep& step) { return step.kind == RowStep::Kind::Dropout; });
  int width = drops ? 8 : static_cast<int>(std::min<std::size_t>(16 / smallest, 8));
  while (width > 1 && !fits(width)) width /= 2;
  const std::int64_t room = std::min(kMostOfOne, (kMostOfAll + known->held - 1) / known->held),
                     most = (room + width - 1) / width;
  const std::optional<RowShape> shape = RowShape::of(gpu, form.rows, form.length, width, most);
  if (!shape) return false;
  kernel.shape = *shape;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows[i].strides[0].empty() && index_type(rows[i]) == DType::I64) kernel.shape.index = DType::I64;

  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (call.in[i].node()) arguments.emplace_back(arrays[i]);
  for (const Array& output : outputs) arguments.emplace_back(output);
  Row::append(arguments, form.rows, form.length);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (kernel.inputs[i].rank) Offsets::append(arguments, rows[i]);
  for (const RowStep& step : known->steps) {
    if (step.kind == RowStep::Kind::Dropout) {
      const DropoutThreshold drops(call.in[step.in[op::Dropout::probability]].scalar().to<double>());
      arguments.emplace_back(Scalar(drops.scale), step.reductions[0].dtype);
      arguments.emplace_back(static_cast<std::int64_t>(drops.threshold));
      KeyWords::append(arguments, call.in[step.in[op::Dropout::key]]);
    }
    if (!step.program) continue;
    for (std::size_t i = 0; i < step.in.size(); ++i)
      if (step.in[i] < call.in.size() && known->numbers[step.in[i]])
        arguments.emplace_back(call.in[step.in[i]].scalar(), step.program->inputs[i]);
  }
  gpu.launch(kernel, kernel.shape.blocks(form.rows), arguments);
  return true;
}

}  // namespace kiln::gpu::family
