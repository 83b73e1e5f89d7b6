// op::Epilogue: a product and the operations that are its only readers. Libraries add a bias and apply some functions
// in the same call; anything else runs after the product.
#include <algorithm>
#include <optional>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/product/product.hpp"
#include "kiln/ops/composite.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::gpu::family {
namespace {

using op::Program;

/// An epilogue that a library implements: f(product + bias).
struct LibraryEpilogue {
  std::optional<std::size_t> bias;  // the index of the program's input
  Product::Function function = Product::Function::None;
};

std::optional<LibraryEpilogue> finish_of(const Program& program, std::size_t product) {
  using Operand = op::ProgramOperand;
  LibraryEpilogue finish;
  Operand made{Operand::Input, static_cast<std::uint16_t>(product)};
  const auto is_made = [&](const Operand& from) { return from.from == made.from && from.index == made.index; };
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const op::ProgramStep& step = program.steps[i];
    const auto* const binary = std::get_if<op::Binary>(&step.op);
    const auto* const unary = std::get_if<op::Unary>(&step.op);
    if (finish.function != Product::Function::None || step.dtype != program.inputs[product]) return std::nullopt;
    if (binary && binary->fn == op::BinaryFn::Add && i == 0) {
      const std::size_t other = is_made(step.in[0]) ? 1 : 0;
      if (!is_made(step.in[1 - other]) || step.in[other].from != Operand::Input || is_made(step.in[other]))
        return std::nullopt;
      finish.bias = step.in[other].index;
    } else if (unary && is_made(step.in[0]) && unary->fn == op::UnaryFn::Relu) {
      finish.function = Product::Function::Relu;
    } else if (unary && is_made(step.in[0]) && unary->fn == op::UnaryFn::GeluTanh) {
      finish.function = Product::Function::GeluTanh;
    } else {
      return std::nullopt;
    }
    made = {Operand::Result, static_cast<std::uint16_t>(i)};
  }
  if (program.outputs.size() != 1 || program.outputs[0] != made.index) return std::nullopt;
  return finish;
}

bool run_by_library(Gpu& gpu, const op::Epilogue& op, Call call) {
  const std::optional<LibraryEpilogue> finish = finish_of(*op.program, op.input);
  if (!finish || numel(op.result.shape) == 0) return false;
  const Array a = read(call.in[0]), b = read(call.in[1]);
  if (a.shape.back() == 0) return false;
  Array bias{};
  Value held;
  if (finish->bias) {
    const Value& value = call.in[op.operands + *finish->bias - (*finish->bias > op.input)];
    const std::int64_t n = op.result.shape.back();
    if (!value.node() || value.dtype() != op.result.dtype || value.numel() != n || value.rank() == 0 ||
        value.shape().back() != n || op.program->shape.back() != n)
      return false;
    bias = gpu.read_contiguous(value, held);
  }
  // Results that already have memory in another order keep it.
  Array c = gpu.allocate(call.out[0]);
  c.shape = op.result.shape;
  c.strides = contiguous_strides(c.shape);
  Matrices product = matrices(a, b, c);
  join_batch(product);
  product.bias = bias.data;
  product.function = finish->function;
  return multiply_by_library(gpu, product);
}

/// Is it a layer norm whose result is only needed in halves?
bool is_rounded_norm(const op::Epilogue& op) {
  const Program& program = *op.program;
  const auto* const cast = program.steps.size() == 1 ? std::get_if<op::Cast>(&program.steps[0].op) : nullptr;
  return std::holds_alternative<op::LayerNorm>(op.product) && size_of(op.result.dtype) > 2 && cast &&
         op::is_half(cast->to);
}

}  // namespace

bool accepts(const op::Epilogue& op) {
  return is_rounded_norm(op) || (std::holds_alternative<op::Matmul>(op.product) && finish_of(*op.program, op.input));
}

bool run(Gpu& gpu, const op::Epilogue& op, Call call) {
  if (is_rounded_norm(op)) return run(gpu, std::get<op::LayerNorm>(op.product), call);
  if (accepts(op) && run_by_library(gpu, op, call)) return true;
  const Device device{Ref<Backend>(&gpu)};
  Value product(make_ref<Node>(op.result, device));
  gpu.run(std::visit([](const auto& each) { return op::Op(each); }, op.product),
          {call.in.first(op.operands), {&product, 1}});
  if (op.result.shape != op.program->shape) {
    Value seen(make_ref<Node>(Desc{op.program->shape, op.result.dtype}, device));
    strided::alias(seen, product, contiguous_strides(op.program->shape), 0);
    product = std::move(seen);
  }
  SpareValues inputs = op.inputs(call.in, product);
  product = Value();
  // Input i of the program is operand i of the rest, or i - 1 if i comes after the product.
  const std::uint64_t rest = op.operands < 64 ? call.last_uses >> op.operands : 0;
  const std::uint64_t before = (std::uint64_t{1} << std::min<int>(op.input, 63)) - 1;
  const std::uint64_t last_uses = (rest & before) | (before + 1) | (rest & ~before) << 1;
  gpu.run(op::Fused{op.program}, {inputs, call.out, last_uses});
  return true;
}

}  // namespace kiln::gpu::family
