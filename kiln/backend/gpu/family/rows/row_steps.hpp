// What op::Blocked without blocks computes, as kernels of rows see it.
#pragma once
#include "kiln/backend/gpu/family/program.hpp"
#include "kiln/backend/gpu/family/rows/row.hpp"
#include "kiln/ops/planned/rows.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::gpu::family {

/// A step as kernels see it. Values are counted through: the inputs of the call, then what each step makes.
struct RowStep {
  enum class Kind : std::uint8_t { Program, Reduce, Softmax, LogSoftmax, Dropout, Same } kind;
  std::vector<std::uint16_t> in{};
  std::uint16_t first = 0;  // what it makes, from this value on
  std::shared_ptr<const op::Program> program{};
  std::vector<Reduction> reductions{};  // that it ends with; one says the type of what is neither program nor reduction
};

/// What a sequence computes, whatever the shape.
struct RowSteps {
  static constexpr bool kPlain = true;
  std::vector<RowStep> steps;
  std::vector<DType> inputs;  // of tensors
  std::vector<bool> numbers;
  struct Output {
    std::uint16_t value;
    DType dtype;
    bool full;  // an element for each of a row's; else one for all
  };
  std::vector<Output> outputs;
  std::int64_t held = 1;  // rows that are alive at a time
  std::vector<std::uint32_t> words;
  friend bool operator==(const RowSteps& a, const RowSteps& b) { return a.words == b.words; }
  friend std::uint64_t hash_value(const RowSteps& steps) { return reflect::hash(steps.words); }
};

/// None where it has a step that no kernel of rows knows.
std::optional<RowSteps> row_steps(const op::Sequence& sequence, const Call& call);

/// The shape in which a step sees its operands, and where a row begins in it.
std::pair<Shape, int> seen_by(const op::Sequence::Step& step, const Shape& operand, const Shape& result,
                              const op::RowForm& form);

}  // namespace kiln::gpu::family
