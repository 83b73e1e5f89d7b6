// Elementwise programs: a thread takes as many neighbours as it can load at once, for any strides.
#include <algorithm>
#include <cmath>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/pointwise.hpp"
#include "kiln/backend/gpu/family/program.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/expression/program.hpp"
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

bool calls_functions(const Program& program) {
  return std::ranges::any_of(program.steps, [&](const op::ProgramStep& step) {
    if (std::holds_alternative<op::Where>(step.op) || std::holds_alternative<op::Cast>(step.op)) return false;
    return std::ranges::any_of(expr::tree_of(program, step)->nodes,
                               [](const expr::Node& node) { return node.kind == expr::Node::Kind::Call; });
  });
}

std::vector<std::uint16_t> divisors_of(const ProgramKey& key) {
  const Program& program = *key.program;
  std::vector<std::uint16_t> divisors;
  for (std::uint16_t input = 0; !key.tree && input < program.inputs.size(); ++input) {
    bool divides = false, other = !is_float(program.inputs[input]);
    for (const op::ProgramStep& step : program.steps)
      for (int i = 0; i < op::arity(step.op); ++i) {
        const op::ProgramOperand& from = step.in[static_cast<std::size_t>(i)];
        if (from.from != op::ProgramOperand::Input || from.index != input) continue;
        const auto* const binary = std::get_if<op::Binary>(&step.op);
        const bool as_divisor = i == 1 && binary && binary->fn == op::BinaryFn::Div && is_float(step.dtype);
        (as_divisor ? divides : other) = true;
      }
    if (divides && !other) divisors.push_back(input);
  }
  return divisors;
}

/// Is x / number equal to x * (1 / number) for every x?
bool has_exact_reciprocal(const Scalar& number) {
  int exponent = 0;
  const double value = number.to<double>();
  return std::isfinite(value) && std::abs(std::frexp(value, &exponent)) == 0.5 && std::abs(exponent) < 100;
}

/// A program's kernels, cached by the layout of its operands, so that a launch need not inspect the program.
struct CachedProgram {
  explicit CachedProgram(ProgramKey program)
      : key(std::move(program)), takes_time(key.tree || calls_functions(*key.program)), divisors(divisors_of(key)) {}
  const ProgramKey key;
  const bool takes_time;                      // is computation more than loads and stores?
  const std::vector<std::uint16_t> divisors;  // inputs that steps only divide by
  mutable std::mutex mutex;
  mutable std::vector<std::pair<PointwiseShape, Ref<Code>>> kernels;
  mutable std::vector<std::pair<std::vector<std::uint16_t>, std::unique_ptr<CachedProgram>>> multiplying;

  /// The program that multiplies by the reciprocals of these inputs instead.
  const CachedProgram& by_multiplying(const std::vector<std::uint16_t>& factors) const {
    const std::lock_guard lock(mutex);
    for (const auto& [known, made] : multiplying)
      if (known == factors) return *made;
    Program program;
    program.inputs = key.program->inputs;
    program.steps = key.program->steps;
    program.outputs = key.program->outputs;
    for (op::ProgramStep& step : program.steps)
      if (auto* const binary = std::get_if<op::Binary>(&step.op);
          binary && step.in[1].from == op::ProgramOperand::Input && std::ranges::count(factors, step.in[1].index))
        binary->fn = op::BinaryFn::Mul;
    return *multiplying.emplace_back(factors, std::make_unique<CachedProgram>(ProgramKey(program))).second;
  }

  Ref<Code> find(Gpu& gpu, const PointwiseShape& shape) const {
    const std::lock_guard lock(mutex);
    for (const auto& [known, code] : kernels)
      if (known == shape) return code;
    return kernels.emplace_back(shape, gpu.find(ProgramKernel{key, shape})).second;
  }
};

void run_program(Gpu& gpu, const CachedProgram& program, const Shape& shape, Call call) {
  const Dims order = strided::result_order(*program.key.program, shape, call.in).value_or(contiguous_strides(shape));
  std::vector<std::uint16_t> factors;
  for (const std::uint16_t i : program.divisors)
    if (!call.in[i].node() && has_exact_reciprocal(call.in[i].scalar())) factors.push_back(i);
  const CachedProgram& known = factors.empty() ? program : program.by_multiplying(factors);
  std::vector<PointwiseOperand> inputs;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Value& value = call.in[i];
    if (value.node()) inputs.push_back({.array = read(value)});
    else if (std::ranges::count(factors, i))
      inputs.push_back({.number = Argument(Scalar(1 / value.scalar().to<double>()), known.key.program->inputs[i])});
    else inputs.push_back({.number = Argument(value.scalar(), known.key.program->inputs[i])});
  }
  bool in_place = false;
  std::vector<Array> outputs;
  for (Value& out : call.out) {
    bool taken = false;
    for (std::size_t i = 0; i < call.in.size() && !taken; ++i)
      taken = call.in[i].node() && gpu.take_memory(out, order, call, i);
    in_place |= taken;
    outputs.push_back(gpu.allocate(out, order));
  }
  if (numel(shape) == 0) return;
  PointwiseLaunch launch(shape, inputs, outputs);
  launch.shape.in_place = in_place;
  if (known.takes_time) launch.take_two();
  gpu.launch(*known.find(gpu, launch.shape), launch.blocks, launch.arguments);
}

/// A program of one step.
struct StepKey {
  int kind, fn;
  std::vector<DType> inputs;
  DType result;
};

int function_of(const op::Unary& op) { return static_cast<int>(op.fn); }
int function_of(const op::Binary& op) { return static_cast<int>(op.fn); }
int function_of(const op::Where&) { return 0; }
int function_of(const op::Cast& op) { return static_cast<int>(op.to); }

template <class T>
const CachedProgram& known_step(Gpu& gpu, const T& op, const Call& call) {
  const DType result = call.out[0].dtype();
  StepKey key{static_cast<int>(op::Elementwise(op).index()), function_of(op), {}, result};
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Value& value = call.in[i];
    if (value.node()) key.inputs.push_back(value.dtype());
    else if constexpr (std::is_same_v<T, op::Where>) key.inputs.push_back(i == 0 ? DType::Bool : result);
    else key.inputs.push_back(call.in[1 - i].dtype());
  }
  return gpu.made<CachedProgram>(key, [&] {
    Program program;
    for (const DType dtype : key.inputs) program.inputs.push_back(dtype);
    op::ProgramStep step{.op = op, .dtype = result};
    for (std::size_t i = 0; i < key.inputs.size(); ++i)
      step.in[i] = {op::ProgramOperand::Input, static_cast<std::uint16_t>(i)};
    program.steps.push_back(step);
    program.outputs.push_back(0);
    return std::make_shared<const CachedProgram>(ProgramKey(program));
  });
}

template <class T>
bool run_step(Gpu& gpu, const T& op, Call call) {
  run_program(gpu, known_step(gpu, op, call), call.out[0].shape(), call);
  return true;
}

const CachedProgram& known_program(Gpu& gpu, const Program& program) {
  using Made = std::shared_ptr<const CachedProgram>;
  return *program.cached<Made>(gpu.id(), [&] { return std::make_shared<const CachedProgram>(ProgramKey(program)); });
}

/// A program that is a tree.
struct TreeKey {
  bool special;
  int fn;
  std::uint64_t inputs;
  DType dtype;
};

bool run_tree(Gpu& gpu, const TreeKey& key, const expr::Tree& tree, Call call) {
  const auto& known = gpu.made<CachedProgram>(
      key, [&] { return std::make_shared<const CachedProgram>(ProgramKey(tree, call.in.size(), key.dtype)); });
  run_program(gpu, known, call.out[0].shape(), call);
  return true;
}

}  // namespace

bool run(Gpu& gpu, const op::Unary& op, Call call) { return run_step(gpu, op, call); }
bool run(Gpu& gpu, const op::Binary& op, Call call) { return run_step(gpu, op, call); }
bool run(Gpu& gpu, const op::Where& op, Call call) { return run_step(gpu, op, call); }
bool run(Gpu& gpu, const op::Cast& op, Call call) { return run_step(gpu, op, call); }

bool run(Gpu& gpu, const op::Special& op, Call call) {
  return run_tree(gpu, {true, static_cast<int>(op.fn), call.in.size(), call.out[0].dtype()}, expr::tree(op.fn), call);
}
bool run(Gpu& gpu, const op::Gcd&, Call call) {
  return run_tree(gpu, {false, 0, call.in.size(), call.out[0].dtype()}, expr::greatest_common_divisor(), call);
}

bool run(Gpu& gpu, const op::Fused& op, Call call) {
  if (!op.program->folds.empty()) return run_folds(gpu, *op.program, call), true;
  run_program(gpu, known_program(gpu, *op.program), op.program->shape, call);
  return true;
}

const ProgramKey* program_of(Gpu& gpu, const op::Op& op, const Call& call) {
  return op::visit(op, [&]<class T>(const T& o) -> const ProgramKey* {
    if constexpr (op::is_elementwise<T>) return &known_step(gpu, o, call).key;
    else if constexpr (std::is_same_v<T, op::Fused>)
      return o.program->folds.empty() ? &known_program(gpu, *o.program).key : nullptr;
    else return nullptr;
  });
}

}  // namespace kiln::gpu::family
