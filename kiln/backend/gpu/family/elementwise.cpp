// Programs of elementwise steps: a thread takes as many neighbours as it can load at once, wherever they lie.
#include <algorithm>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/pointwise.hpp"
#include "kiln/backend/gpu/family/program.hpp"
#include "kiln/ops/expression/rows.hpp"

namespace kiln::gpu::family {
namespace {

using op::Program;

struct ProgramKernel {
  ProgramKey program;
  PointwiseShape shape;

  Kernel kernel() const {
    const Program& p = *program.program;
    Builder k("elementwise", Pointwise::kThreads);
    std::vector<DType> outputs;
    for (const std::uint16_t step : p.outputs) outputs.push_back(p.steps[step].dtype);
    Pointwise pointwise(k, shape, p.inputs, outputs);
    pointwise.run([&](std::span<const Expr> loaded) {
      const std::vector<Expr> all = steps(k, program, loaded);
      std::vector<Expr> made;
      for (const std::uint16_t step : p.outputs) made.push_back(all[step]);
      return made;
    });
    return k.finish();
  }
};

/// The kernels of a program by how its operands lie, so that a launch need not look at the program.
struct Known {
  struct Entry {
    std::vector<Lies> inputs;
    DType index;
    int rank, width;
    bool in_place;
    Ref<Code> code;
  };
  explicit Known(ProgramKey program) : key(std::move(program)) {}
  const ProgramKey key;
  mutable std::mutex mutex;
  mutable std::vector<Entry> entries;
};

void run_program(Gpu& gpu, const Known& known, const Shape& shape, Call call) {
  const Program& program = *known.key.program;
  const Dims order = strided::follow_order(shape, call.in);
  bool in_place = false;
  std::vector<Array> arrays;
  std::vector<Dims> strides;
  for (const Value& value : call.in) {
    if (!value.node()) continue;
    arrays.push_back(read(value));
    strides.push_back(strided::broadcast_strides(arrays.back().shape, arrays.back().strides, shape));
  }
  for (Value& out : call.out) {
    bool taken = false;
    for (std::size_t i = 0; i < call.in.size() && !taken; ++i)
      taken = call.in[i].node() && gpu.take_memory(out, order, call, i);
    in_place |= taken;
    gpu.allocate(out, order);
  }
  const std::int64_t count = numel(shape);
  if (count == 0) return;

  // All results lie in the same order.
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (call.in[i].node()) arguments.emplace_back(read(call.in[i]));
    else arguments.emplace_back(call.in[i].scalar(), program.inputs[i]);
  }
  for (const Value& out : call.out) arguments.emplace_back(read(out));
  strides.push_back(read(call.out[0]).strides);
  const Loop loop = merged(shape, strides);
  for (const Value& out : call.out) arrays.push_back(read(out));
  const std::size_t tensors = strides.size() - 1;
  Loop wide = loop;
  wide.strides.resize(arrays.size(), loop.strides.back());
  const int width = width_of(wide, arrays);

  std::vector<Lies> inputs;
  for (std::size_t i = 0, a = 0; i < call.in.size(); ++i) {
    if (!call.in[i].node()) {
      inputs.push_back(Lies::Number);
      continue;
    }
    const std::int64_t inner = loop.sizes.empty() ? 1 : loop.strides[a].back();
    inputs.push_back(width == 1 ? Lies::Apart : inner == 0 ? Lies::Repeated : Lies::InLine);
    ++a;
  }
  KILN_CHECK(tensors + call.out.size() == arrays.size());
  arguments.emplace_back(count / width);
  Places::append(arguments, loop);

  const DType index = index_type(loop);
  const int rank = loop.sizes.size();
  const auto find = [&]() -> Ref<Code> {
    const std::lock_guard lock(known.mutex);
    for (const Known::Entry& entry : known.entries)
      if (entry.width == width && entry.rank == rank && entry.index == index && entry.in_place == in_place &&
          entry.inputs == inputs)
        return entry.code;
    Ref<Code> code = gpu.find(ProgramKernel{known.key, {inputs, index, rank, width, in_place}});
    known.entries.push_back({inputs, index, rank, width, in_place, code});
    return code;
  };
  gpu.launch(*find(), blocks_for(count / width, Pointwise::kThreads), arguments);
}

/// A program of one step.
struct StepKey {
  int kind, fn;
  std::vector<DType> inputs;
  DType result;
};

template <class T>
bool run_step(Gpu& gpu, const T& op, int fn, Call call) {
  const DType result = call.out[0].dtype();
  StepKey key{static_cast<int>(op::Elementwise(op).index()), fn, {}, result};
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Value& value = call.in[i];
    if (value.node()) key.inputs.push_back(value.dtype());
    else if constexpr (std::is_same_v<T, op::Where>) key.inputs.push_back(i == 0 ? DType::Bool : result);
    else key.inputs.push_back(call.in[1 - i].dtype());
  }
  const auto& known = gpu.made<Known>(key, [&] {
    Program program;
    for (const DType dtype : key.inputs) program.inputs.push_back(dtype);
    Program::Step step{.op = op, .dtype = result};
    for (std::size_t i = 0; i < key.inputs.size(); ++i)
      step.in[i] = {Program::Operand::Input, static_cast<std::uint16_t>(i)};
    program.steps.push_back(step);
    program.outputs.push_back(0);
    return std::make_shared<const Known>(ProgramKey(program));
  });
  run_program(gpu, known, call.out[0].shape(), call);
  return true;
}

/// A program that is a tree.
struct TreeKey {
  bool special;
  int fn;
  std::uint64_t inputs;
  DType dtype;
};

bool run_tree(Gpu& gpu, const TreeKey& key, const expr::Tree& tree, Call call) {
  const auto& known =
      gpu.made<Known>(key, [&] { return std::make_shared<const Known>(ProgramKey(tree, call.in.size(), key.dtype)); });
  run_program(gpu, known, call.out[0].shape(), call);
  return true;
}

}  // namespace

bool run(Gpu& gpu, const op::Unary& op, Call call) { return run_step(gpu, op, static_cast<int>(op.fn), call); }
bool run(Gpu& gpu, const op::Binary& op, Call call) { return run_step(gpu, op, static_cast<int>(op.fn), call); }
bool run(Gpu& gpu, const op::Where& op, Call call) { return run_step(gpu, op, 0, call); }
bool run(Gpu& gpu, const op::Cast& op, Call call) { return run_step(gpu, op, static_cast<int>(op.to), call); }

bool run(Gpu& gpu, const op::Special& op, Call call) {
  return run_tree(gpu, {true, static_cast<int>(op.fn), call.in.size(), call.out[0].dtype()}, expr::tree(op.fn), call);
}
bool run(Gpu& gpu, const op::Gcd&, Call call) {
  return run_tree(gpu, {false, 0, call.in.size(), call.out[0].dtype()}, expr::greatest_common_divisor(), call);
}

bool run(Gpu& gpu, const op::Fused& op, Call call) {
  if (!op.program->folds.empty()) return run_folds(gpu, *op.program, call), true;
  using Made = std::shared_ptr<const Known>;
  const Made& known =
      op.program->made<Made>(gpu.id(), [&] { return std::make_shared<const Known>(ProgramKey(*op.program)); });
  run_program(gpu, *known, op.program->shape, call);
  return true;
}

}  // namespace kiln::gpu::family
