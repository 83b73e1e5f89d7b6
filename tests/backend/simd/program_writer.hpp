// Writes programs whose steps run alone as well: by the kernels for single ops, or by those of the reference.
#pragma once
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/ops/op.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {

enum class StepsBy : std::uint8_t { Kernels, Reference };

/// A program on its way: every value is there as an operand of the program, and as what the step alone made.
class Writer {
  using Program = op::Program;
  using Steps = std::variant<op::Unary, op::Binary, op::Where, op::Cast>;

 public:
  explicit Writer(const Shape& shape, StepsBy alone = StepsBy::Kernels) : alone_(alone) { program_->shape = shape; }

  int input(const Value& value, DType dtype) {
    program_->inputs.push_back(dtype);
    in_.push_back(value);
    return add({op::ProgramOperand::Input, static_cast<std::uint16_t>(in_.size() - 1)}, value, dtype);
  }
  int input(const Value& tensor) { return input(tensor, tensor.dtype()); }

  int step(const Steps& op, const std::vector<int>& operands) {
    op::ProgramStep step{op, {}, DType::F32};
    std::vector<Value> in;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      step.in[i] = at(operands[i]).operand;
      in.push_back(at(operands[i]).alone);
    }
    const Value alone = std::visit([&](const auto& o) { return run_alone(o, in); }, op);
    step.dtype = alone.dtype();
    program_->steps.push_back(step);
    return add({op::ProgramOperand::Result, static_cast<std::uint16_t>(program_->steps.size() - 1)}, alone, step.dtype);
  }

  void output(int value) {
    program_->outputs.push_back(at(value).operand.index);
    outputs_.push_back(at(value).alone);
  }
  void fold(int value, op::ReduceFn fn, const Dims& dims) {
    program_->folds.push_back({at(value).operand.index, fn, dims});
    folded_.push_back(at(value).alone);
  }

  DType dtype(int value) const { return at(value).dtype; }
  const Value& alone(int value) const { return at(value).alone; }
  bool is_number(int value) const { return at(value).alone.is_scalar(); }
  int size() const { return static_cast<int>(values_.size()); }
  const Shape& shape() const { return program_->shape; }

  /// The outputs, then what is folded. Nothing where the outputs lie in several orders if their steps run alone.
  std::vector<Value> run_fused() const {
    std::vector<Value> out;
    for (const Value& output : outputs_) out.push_back(Value(make_ref<Node>(Desc{shape(), output.dtype()}, Device{})));
    for (const Program::Fold& fold : program_->folds) {
      Shape kept = shape();
      for (const std::int64_t dim : fold.dims) kept[static_cast<int>(dim)] = 1;
      out.push_back(Value(make_ref<Node>(Desc{kept, program_->steps[fold.step].dtype}, Device{})));
    }
    const bool streams = program_->steps.size() % 2 == 0;  // which changes no bits
    const bool ran = run(op::Fused{program_, streams}, Call{in_, out});
    EXPECT_EQ(ran, lie_in_one_order());
    return ran ? out : std::vector<Value>();
  }

  /// In what order an output lies if its step runs alone; a smaller one is repeated in row-major order.
  Dims order_alone(std::size_t output) const {
    const Value& alone = outputs_[output];
    return alone.shape() == shape() ? read(alone).strides : contiguous_strides(shape());
  }
  bool lie_in_one_order() const {
    for (std::size_t i = 1; i < outputs_.size(); ++i)
      if (!strided::same_order(shape(), order_alone(i), order_alone(0))) return false;
    return true;
  }

  void expect_same_bits() const {
    const std::vector<Value> fused = run_fused();
    if (fused.empty()) return;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      EXPECT_TRUE(strided::same_order(shape(), read(fused[i]).strides, order_alone(i))) << description();
      // A step's operands may all be smaller than the program, which then repeats what it makes.
      const std::vector<double> found = numbers(fused[i]);
      const std::vector<double> expected = numbers(expanded(outputs_[i], shape()));
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (std::isnan(found[k]) && std::isnan(expected[k])) continue;
        ASSERT_EQ(std::bit_cast<std::uint64_t>(found[k]), std::bit_cast<std::uint64_t>(expected[k]))
            << text("output ", i, " of ", outputs_.size(), ", element ", k, " of ", shape(), ": ", found[k], ", alone ",
                    expected[k], description());
      }
    }
  }

 private:
  struct Known {
    op::ProgramOperand operand;
    Value alone;
    DType dtype;
  };
  template <class Op>
  Value run_alone(const Op& op, const std::vector<Value>& in) const {
    if (alone_ == StepsBy::Kernels) return run_op(op, in);
    std::vector<Value> out{Value(make_ref<Node>(op.infer(in)[0], Device{}))};
    reference::run(op, Call{in, out});
    return out[0];
  }
  const Known& at(int value) const { return values_[static_cast<std::size_t>(value)]; }
  int add(op::ProgramOperand operand, const Value& alone, DType dtype) {
    values_.push_back({operand, alone, dtype});
    return size() - 1;
  }
  std::string description() const {
    std::string lines;
    for (const op::ProgramStep& step : program_->steps) {
      lines += text("\n  ", std::visit([](const auto& op) { return std::string(op::function_name(op)); }, step.op));
      for (std::size_t i = 0; i < static_cast<std::size_t>(op::arity(step.op)); ++i)
        lines += text(step.in[i].from == op::ProgramOperand::Input ? " input " : " step ", step.in[i].index);
    }
    return lines;
  }

  const StepsBy alone_;
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::vector<Value> in_;
  std::vector<Known> values_;
  std::vector<Value> outputs_, folded_;
};

}  // namespace kiln::cpu::simd
